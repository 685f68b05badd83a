// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a tracer looks at a loop through probed instructions.
 *
 *	uhook_ptrace offsets		the probed instructions
 *	uhook_ptrace interrupt ROUNDS	PTRACE_INTERRUPT at any time, then a few steps;
 *					so often ROUNDS until the loop was seen ENOUGH
 *	uhook_ptrace attach ROUNDS	likewise PTRACE_ATTACH and PTRACE_DETACH
 *	uhook_ptrace syscall ROUNDS	PTRACE_SYSCALL, a system call each round
 *	uhook_ptrace step ROUNDS	PTRACE_SINGLESTEP, and print each address
 *	uhook_ptrace flag ROUNDS	likewise by the trap flag (x86 only), in a handler
 *
 * The output is the same with probes and without, but for the number of lines.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "uhook_loop.h"

#define MAX_STEPS	4096
#define ENOUGH		20
#define MAX_PAUSE_US	10000

/*
 * STEPS are made after each interruption, and those that lead out of code that counts.
 * Not on arm64: a task that is stepped by a tracer and by uprobes continues unstepped
 * there, also without uhook.
 */
#if defined(__x86_64__)
#define STEPS		3
#define REGS_IP(regs)	((regs)->rip)
#elif defined(__aarch64__)
#define STEPS		0
#define REGS_IP(regs)	((regs)->pc)
#endif

static unsigned long looks, looks_in_loop, ip_of_look;

/* Shared with the tracee: its progress, and whether the loop was seen ENOUGH. */
static struct {
	unsigned long rounds;
	bool enough;
} *tracee;

static void pause_us(unsigned int us)
{
	struct timespec ts = { .tv_nsec = us * 1000L };

	nanosleep(&ts, NULL);
}

/* Trace, or fail; all requests that have no result. */
static void trace(int request, pid_t pid, long data)
{
	check(!ptrace(request, pid, NULL, data), "ptrace %d: %s", request, strerror(errno));
}

static unsigned long tracee_ip(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	check(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov), "GETREGSET: %s",
	      strerror(errno));

	return REGS_IP(&regs);
}

static void look(pid_t pid)
{
	unsigned long ip = tracee_ip(pid);

	check(in_program_of(pid, ip), "the tracer sees the program at 0x%lx, which is no code",
	      ip);
	ip_of_look = ip;
	looks++;
	looks_in_loop += in_loop(ip);
	if (looks_in_loop >= ENOUGH)
		__atomic_store_n(&tracee->enough, true, __ATOMIC_RELAXED);
}

/* Is it stopped? If not it has ended, well. */
static bool wait_stopped(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid, "waitpid: %s", strerror(errno));
	if (WIFSTOPPED(status))
		return true;
	check(WIFEXITED(status) && !WEXITSTATUS(status), "the tracee ended with 0x%x", status);

	return false;
}

/* Pause longer while the tracee makes no progress: on a slow machine it needs the time. */
static void pause_tracing(void)
{
	static unsigned long last_ip, us;

	if (ip_of_look != last_ip)
		us = 0;
	else if (us < MAX_PAUSE_US)
		us = 2 * us + 1;
	last_ip = ip_of_look;
	pause_us(us + looks % 97);
}

static pid_t fork_tracee(void)
{
	pid_t pid;

	tracee = mmap(NULL, sizeof(*tracee), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	check(tracee != MAP_FAILED, "mmap: %s", strerror(errno));
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);

	return pid;
}

static void count_in_tracee(unsigned long rounds)
{
	unsigned long sum = 0, ret = uhook_loop(rounds, &sum);

	check(ret == rounds && sum == rounds, "%lu rounds count %lu and %lu", rounds, ret, sum);
	tracee->rounds += rounds;
}

/* A child in the loop, until it was seen there ENOUGH. */
static pid_t start_busy_tracee(unsigned long rounds)
{
	pid_t pid = fork_tracee();

	if (pid)
		return pid;
	do {
		count_in_tracee(rounds);
	} while (!__atomic_load_n(&tracee->enough, __ATOMIC_RELAXED));
	_exit(0);
}

/* A child that waits for its tracer and then has ROUNDS, and system calls after EACH. */
static pid_t start_waiting_tracee(unsigned long rounds, unsigned long each)
{
	pid_t pid = fork_tracee();
	unsigned long i;

	if (pid) {
		check(waitpid(pid, NULL, WUNTRACED) == pid, "waitpid: %s", strerror(errno));
		return pid;
	}
	raise(SIGSTOP);
	for (i = 0; i < rounds; i += each) {
		count_in_tracee(each);
		if (each != rounds)
			syscall(SYS_getppid);
	}
	_exit(0);
}

/* Stepped further, it comes to the end of the code that counts. */
static bool is_to_step(pid_t pid, unsigned int steps)
{
	return steps < STEPS || (STEPS && !in_program(tracee_ip(pid)));
}

static void run_interrupt(unsigned long rounds)
{
	pid_t pid = start_busy_tracee(rounds);
	unsigned int i;

	trace(PTRACE_SEIZE, pid, 0);
	for (;; pause_tracing()) {
		/* It may have ended meanwhile. */
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
			check(errno == ESRCH, "PTRACE_INTERRUPT: %s", strerror(errno));
		if (!wait_stopped(pid))
			break;
		look(pid);
		for (i = 0; is_to_step(pid, i); i++) {
			check(i < MAX_STEPS, "%u steps lead nowhere", i);
			trace(PTRACE_SINGLESTEP, pid, 0);
			if (!wait_stopped(pid))
				return;
			look(pid);
		}
		trace(PTRACE_CONT, pid, 0);
	}
}

static void run_attach(unsigned long rounds)
{
	pid_t pid = start_busy_tracee(rounds);

	for (;; pause_tracing()) {
		/* Nothing of it can be seen once it has ended. */
		if (ptrace(PTRACE_ATTACH, pid, NULL, NULL)) {
			check(errno == EPERM || errno == ESRCH, "PTRACE_ATTACH: %s",
			      strerror(errno));
			check(!wait_stopped(pid), "what ended has stopped");
			break;
		}
		if (!wait_stopped(pid))
			break;
		look(pid);
		trace(PTRACE_DETACH, pid, 0);
	}
}

static void run_syscall(unsigned long rounds)
{
	pid_t pid = start_waiting_tracee(rounds, 1);
	unsigned long ip = 0, stops = 0;

	trace(PTRACE_SEIZE, pid, 0);
	trace(PTRACE_SETOPTIONS, pid, PTRACE_O_TRACESYSGOOD);
	kill(pid, SIGCONT);
	while (wait_stopped(pid)) {
		look(pid);
		if (ip == tracee_ip(pid))
			stops++;
		else if (stops < rounds)
			stops = 0;
		ip = tracee_ip(pid);
		trace(PTRACE_SYSCALL, pid, 0);
	}
	/* Entry and exit of each are after the same instruction. */
	check(stops >= 2 * rounds - 1, "%lu rounds had %lu stops in a row", rounds, stops);
}

static void run_step(unsigned long rounds)
{
	pid_t pid = start_waiting_tracee(rounds, rounds);

	trace(PTRACE_SEIZE, pid, 0);
	trace(PTRACE_INTERRUPT, pid, 0);
	kill(pid, SIGCONT);
	while (wait_stopped(pid)) {
		look(pid);
		if (in_loop(tracee_ip(pid)))
			printf("at 0x%lx\n", tracee_ip(pid) - (unsigned long)uhook_loop);
		trace(PTRACE_SINGLESTEP, pid, 0);
	}
}

#if defined(__x86_64__)
static unsigned long steps[MAX_STEPS];
static unsigned int nr_steps;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = context_ip(context);

	check(in_program_of(getpid(), ip), "a handler sees the program at 0x%lx, which is no code",
	      ip);
	looks++;
	if (!in_loop(ip) || nr_steps == MAX_STEPS)
		return;
	looks_in_loop++;
	steps[nr_steps++] = ip - (unsigned long)uhook_loop;
}

static void run_flag(unsigned long rounds)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned long sum = 0, ret;
	unsigned int i;

	check(!sigaction(SIGTRAP, &sa, NULL), "sigaction: %s", strerror(errno));
	asm volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; add $128, %%rsp"
		     ::: "memory", "cc");
	ret = uhook_loop(rounds, &sum);
	asm volatile("sub $128, %%rsp; pushf; andl $~0x100, (%%rsp); popf; add $128, %%rsp"
		     ::: "memory", "cc");

	check(ret == rounds && sum == rounds, "%lu rounds count %lu and %lu", rounds, ret, sum);
	for (i = 0; i < nr_steps; i++)
		printf("at 0x%lx\n", steps[i]);
}
#else
static void run_flag(unsigned long rounds)
{
	unsigned long sum = 0;

	looks_in_loop = uhook_loop(rounds, &sum);
}
#endif

static const struct {
	const char *name;
	void (*run)(unsigned long rounds);
} modes[] = {
	{ "interrupt", run_interrupt },
	{ "attach", run_attach },
	{ "syscall", run_syscall },
	{ "step", run_step },
	{ "flag", run_flag },
};

int main(int argc, char **argv)
{
	unsigned long rounds;
	unsigned int i;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_loop_offsets();
		return 0;
	}
	check(argc == 3, "it wants a mode and a number");

	/* The child must not print buffered output. */
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	rounds = strtoul(argv[2], NULL, 0);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run(rounds);
	}
	check(looks_in_loop || !strcmp(argv[1], "syscall"), "%lu looks, none in the loop", looks);
	say_loop_counts(tracee ? tracee->rounds : rounds);
	fprintf(stderr, "%s: %lu looks, %lu in the loop\n", argv[1], looks, looks_in_loop);

	return 0;
}
