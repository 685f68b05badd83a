// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: debuggers that read, write and step a program with jumps.
 *
 *	uhook_peek make FILE		make the file; prints NAME OFFSET of its point
 *	uhook_peek run FILE ROUNDS	look at a child that calls it, in all ways; prints
 *					"point TIMES"
 *	uhook_peek hold FILE ROUNDS	the same; then the child calls it once more while
 *					nobody looks; "held PID"; a line is read
 *
 * A debugger sees the program's bytes or a breakpoint, and never a jump.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "uhook_text.h"

#define NUMBER		0x31
#define CALLS		3
#define MAX_STEPS	20000

#if defined(__x86_64__)
#define REGS_IP(regs)	((regs)->rip)
#define INSN_SIZE	4
#elif defined(__aarch64__)
#define REGS_IP(regs)	((regs)->pc)
#define INSN_SIZE	4
#endif

extern const char etext[];
unsigned long getauxval(unsigned long type);

static const char *path;
static pid_t child;
static int to_child[2], from_child[2];
static unsigned long called;
static unsigned char code[16];
static size_t code_len;

/* Let /proc/PID/cmdline lead to the point. */
static void point_arguments_at_text(void)
{
	check(!prctl(PR_SET_MM, PR_SET_MM_ARG_START, HERE, 0, 0) &&
	      !prctl(PR_SET_MM, PR_SET_MM_ARG_END, HERE + sizeof(code), 0, 0),
	      "PR_SET_MM: %s", strerror(errno));
}

static void run_child(void)
{
	char c;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_text(path, 0, HERE, MAP_FIXED_NOREPLACE);
	point_arguments_at_text();
	while (read(to_child[0], &c, 1) == 1) {
		for (i = 0; i < CALLS; i++)
			check(call_text(HERE, i) == i + NUMBER, "the point returns 0x%lx",
			      call_text(HERE, i));
		check(write(from_child[1], &c, 1) == 1, "write: %s", strerror(errno));
	}
	_exit(0);
}

static void ask(void)
{
	char c = 0;

	check(write(to_child[1], &c, 1) == 1, "write: %s", strerror(errno));
	called += CALLS;
}

static void answered(void)
{
	char c;

	check(read(from_child[0], &c, 1) == 1, "the child has gone");
}

static void call_child(void)
{
	ask();
	answered();
}

static void stopped(void)
{
	int status;

	check(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "the child: 0x%x",
	      status);
}

static void attach(void)
{
	check(!ptrace(PTRACE_ATTACH, child, NULL, NULL), "PTRACE_ATTACH: %s", strerror(errno));
	stopped();
}

static void detach(void)
{
	check(!ptrace(PTRACE_DETACH, child, NULL, NULL), "PTRACE_DETACH: %s", strerror(errno));
}

/* Is that the program's text, perhaps with a breakpoint? */
static void check_bytes(const char *who, const unsigned char *seen)
{
#if defined(__x86_64__)
	const bool fine = (seen[0] == code[0] || seen[0] == 0xcc) &&
			  !memcmp(seen + 1, code + 1, INSN_SIZE - 1);
#elif defined(__aarch64__)
	const bool fine = !memcmp(seen, code, INSN_SIZE) || (seen[3] == 0xd4 && seen[2] == 0x20);
#endif

	check(fine, "%s sees %02x %02x %02x %02x", who, seen[0], seen[1], seen[2], seen[3]);
	check(seen[INSN_SIZE] == code[INSN_SIZE], "%s sees %02x behind it", who, seen[INSN_SIZE]);
}

static void peek(void)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, child, HERE, NULL);
	check(!errno, "PTRACE_PEEKTEXT: %s", strerror(errno));
	check_bytes("PEEKTEXT", (const unsigned char *)&word);
}

/* Other code after the point, with the same effect. */
static void change_code(int round)
{
#if defined(__x86_64__)
	static const unsigned char behind[2][4] = {
		{ 0xc3, 0, 0, 0 }, { 0x90, 0xc3, 0, 0 }
	};
	memcpy(code + INSN_SIZE, behind[round & 1], 4);
#elif defined(__aarch64__)
	static const unsigned int behind[2][2] = {
		{ 0xd65f03c0, 0 }, { 0xd503201f, 0xd65f03c0 }
	};
	memcpy(code + INSN_SIZE, behind[round & 1], 8);
#endif
}

static void poke(int round)
{
	long word;

	change_code(round);
	memcpy(&word, code + INSN_SIZE, sizeof(word));
	check(!ptrace(PTRACE_POKETEXT, child, HERE + INSN_SIZE, word), "PTRACE_POKETEXT: %s",
	      strerror(errno));
	peek();
}

#if defined(__x86_64__)
static bool is_programs(unsigned long ip)
{
	return (ip >= (unsigned long)__executable_start && ip < (unsigned long)etext) ||
	       ip - getauxval(AT_SYSINFO_EHDR) < 0x4000 || ip - (unsigned long)HERE < 16;
}

static void step(void)
{
	unsigned int steps, at_point = 0;

	ask();
	for (steps = 0; steps < MAX_STEPS && at_point < CALLS; steps++) {
		struct user_regs_struct regs;
		struct iovec iov = { &regs, sizeof(regs) };

		check(!ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), "PTRACE_SINGLESTEP: %s",
		      strerror(errno));
		stopped();
		check(!ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &iov), "PTRACE_GETREGSET: %s",
		      strerror(errno));
		check(is_programs(REGS_IP(&regs)), "the next one is at 0x%llx", REGS_IP(&regs));
		at_point += REGS_IP(&regs) == (unsigned long)HERE;
	}
	check(at_point == CALLS, "%u steps lead to the point %u times", steps, at_point);
	check(!ptrace(PTRACE_CONT, child, NULL, NULL), "PTRACE_CONT: %s", strerror(errno));
	answered();
	check(!kill(child, SIGSTOP), "kill: %s", strerror(errno));
	stopped();
}
#else
/* A task that is stepped at a breakpoint continues unstepped. */
static void step(void) { }
#endif

/* It is not traced, but its memory is read and written. */
static void use_mem(int round)
{
	unsigned char seen[16];
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", child);
	fd = open(name, O_RDWR);
	check(fd >= 0, "%s: %s", name, strerror(errno));
	check(pread(fd, seen, sizeof(seen), (off_t)HERE) == sizeof(seen), "%s: %s", name,
	      strerror(errno));
	check_bytes("/proc/PID/mem", seen);
	call_child();
	change_code(round);
	check(pwrite(fd, code + INSN_SIZE, 8, (off_t)HERE + INSN_SIZE) == 8, "%s: %s", name,
	      strerror(errno));
	close(fd);
	call_child();
}

static void use_vm_readv(void)
{
	unsigned char seen[16];
	struct iovec local = { seen, sizeof(seen) }, remote = { HERE, sizeof(seen) };
	ssize_t len = process_vm_readv(child, &local, 1, &remote, 1, 0);

	check(len == sizeof(seen) || errno == ENOSYS, "process_vm_readv: %s", strerror(errno));
	if (len == sizeof(seen))
		check_bytes("process_vm_readv", seen);
}

static void run(int rounds)
{
	int i;

	check(!pipe(to_child) && !pipe(from_child), "pipe: %s", strerror(errno));
	child = fork();
	check(child >= 0, "fork: %s", strerror(errno));
	if (!child)
		run_child();

	for (i = 0; i < rounds; i++) {
		call_child();
		attach();
		peek();
		detach();
		call_child();

		attach();
		poke(i);
		detach();
		call_child();

		attach();
		step();
		detach();
		call_child();

		use_mem(i + 1);
		call_child();
	}
}

int main(int argc, char **argv)
{
	check(argc >= 3, "usage: see the beginning of this file");
	path = argv[2];
	code_len = plain_code(code, NUMBER);
	if (!strcmp(argv[1], "make")) {
		make_text(path, NUMBER, NUMBER);
		puts("point 0x0");
		return 0;
	}

	check(argc == 4, "usage: see the beginning of this file");
	run(atoi(argv[3]));
	if (!strcmp(argv[1], "vm"))
		use_vm_readv();
	if (!strcmp(argv[1], "hold")) {
		printf("held %d\n", child);
		fflush(stdout);
		getchar();
	}
	close(to_child[1]);
	printf("point %lu\n", called);

	return 0;
}
