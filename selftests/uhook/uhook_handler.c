// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program with a handler of its own, that hooks on it call.
 *
 *	uhook_handler offsets		where: the functions "work", "nested" and
 *					"outer", and the "handler"
 *	uhook_handler work N		work N times, in each of four threads
 *	uhook_handler jumps N		signals that leave the handler with a longjmp
 *	uhook_handler faults N		faults of the handler, which goes on or is left so
 *	uhook_handler forks N		signals that fork while it runs
 *	uhook_handler nested N		it is called by a signal's handler on the alternate
 *					stack, and another such signal comes
 *	uhook_handler outer N		it is called N times in a function of a thread whose
 *					stack is below all that hooks have
 *	uhook_handler deaths N		children that share the memory die in it, N times,
 *					and their stacks are unmapped
 *	uhook_handler hidden N FILE	work N times while FILE, which has a function that the
 *					hook calls, is executable, and while it is not
 *	uhook_handler guarded N FILE	work once, and N times when FILE has become guarded
 *					text, if there is any; "guarded N", or 0
 *
 * The handler looks at the registers that it is given, adds up the arguments in the
 * words that it is given, and makes the argument of "work" odd.  It prints
 * the number of calls and the expected words: NAME TIMES SUM.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/uhook.h>

#include "uhook_test.h"

#define THREADS	4

UHOOK_FUNCTION(handler_work);
UHOOK_FUNCTION(handler_nested);

#if defined(__x86_64__)
#define ARG(regs)	((regs)->rdi)
#define IP(regs)	((regs)->ip)
#define NO_VECTORS	__attribute__((target("general-regs-only")))

asm(".text\n"
	"handler_work:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rax\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.balign 16\n"
	"handler_nested:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	lea 1(%rdi), %rax\n"
	"	pop %rbp\n"
	"	ret\n");
#elif defined(__aarch64__)
#define ARG(regs)	((regs)->x[0])
#define IP(regs)	((regs)->pc)
#define NO_VECTORS	__attribute__((target("general-regs-only")))

asm(".text\n"
	"handler_work:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"handler_nested:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	add x0, x0, #1\n"
	"	ret\n");
#endif

static atomic_long wrong;
static volatile sig_atomic_t leaving;
static __thread volatile sig_atomic_t inside;
static __thread sigjmp_buf left;
/* Where the handler writes to, or NULL, and a signal that it raises. */
static volatile char *memory;
static volatile sig_atomic_t raising;
/* A process that is to die in it. */
static volatile pid_t doomed;

/* Nothing here calls it: hooks do, by its offset. */
NO_VECTORS __attribute__((used, noinline))
static void handler(struct uhook_user_regs *regs, __u64 *data)
{
	uint64_t arg = ARG(regs);
	int i;

	if (IP(regs) != (uint64_t)handler_work)
		atomic_fetch_add(&wrong, 1);
	__atomic_fetch_add(&data[0], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&data[1], arg, __ATOMIC_RELAXED);
	ARG(regs) = arg | 1;

	/* A site in a handler: its own hook is not called there. */
	if (handler_nested(arg) != (long)arg + 1)
		atomic_fetch_add(&wrong, 1);
	if (memory)
		memory[0]++;
	if (raising)
		raise(raising);
	if (doomed && doomed == getpid())
		kill(doomed, SIGKILL);
	inside = 1;
	for (i = 0; leaving && i < 2000; i++)
		asm volatile("" : : : "memory");
	inside = 0;
}

static void *work(void *times)
{
	long i;

	for (i = 0; i < (long)times; i++)
		if (handler_work(i) != i && handler_work(i) != (i | 1))
			fail("handler_work(%ld) is %ld", i, handler_work(i));

	return NULL;
}

static void *counted_work(void *times)
{
	long i, odd = 0;

	for (i = 0; i < (long)times; i++)
		odd += handler_work(2 * i) & 1;

	return (void *)odd;
}

static void in_threads(long times)
{
	pthread_t threads[THREADS];
	long odd = 0;
	void *ret;
	int i;

	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, counted_work, (void *)times), "no thread");
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &ret);
		odd += (long)ret;
	}
	/* Each was made odd, or none if there is no hook. */
	check(!odd || odd <= THREADS * times, "%ld are odd", odd);
	printf("work %ld %ld\nodd %ld\n", THREADS * times, THREADS * times * (times - 1), odd);
}

static void on_alarm(int sig)
{
	if (inside) {
		inside = 0;
		siglongjmp(left, sig);
	}
}

static void leave(long times)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	volatile long i, jumps = 0;

	leaving = 1;
	signal(SIGALRM, on_alarm);
	for (i = 0; i < times; i++) {
		if (sigsetjmp(left, 1)) {
			jumps++;
			continue;
		}
		setitimer(ITIMER_REAL, &often, NULL);
		work((void *)3);
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	leaving = 0;
	printf("jumps %ld\n", jumps);
	work((void *)10);
}

static volatile sig_atomic_t faulted, giving;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	check(info->si_addr == memory, "a fault at %p", info->si_addr);
	faulted++;
	if (!giving)
		siglongjmp(left, sig);
	check(!mprotect((void *)memory, getpagesize(), PROT_READ | PROT_WRITE), "mprotect");
}

static void fault(long times)
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	volatile long i, jumps = 0, odd = 0;

	memory = mmap(NULL, getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(memory != MAP_FAILED && !sigaction(SIGSEGV, &action, NULL), "no memory");
	for (i = 0; i < times; i++) {
		mprotect((void *)memory, getpagesize(), PROT_NONE);
		giving = i & 1;
		if (sigsetjmp(left, 1)) {
			jumps++;
			continue;
		}
		odd += handler_work(4) & 1;
	}
	printf("faults %d left %ld odd %ld\n", faulted, jumps, odd);
}

static volatile pid_t child;

static void on_fork(int sig)
{
	(void)sig;
	child = fork();
	check(child >= 0, "fork");
}

/* The child continues in the signal's handler, in the hook's handler, and after both. */
static void forks(long times)
{
	long i, odd = 0;
	int status;

	signal(SIGUSR1, on_fork);
	for (i = 0; i < times; i++) {
		child = 0;
		raising = SIGUSR1;
		odd += handler_work(6) & 1;
		raising = 0;
		if (!child) {
			work((void *)3);
			exit(odd <= i);
		}
		check(waitpid(child, &status, 0) == child && !status,
		      "the child has ended with %#x", status);
	}
	printf("children %ld odd %ld\n", times, odd);
}

static volatile long deeper;

/* The other signal's handler writes to its stack. */
static void on_nested(int sig)
{
	char block[2048];

	(void)sig;
	memset(block, 0xaa, sizeof(block));
	asm volatile("" : : "r"(block) : "memory");
	deeper++;
}

static void on_outer(int sig)
{
	char block[2048];
	size_t i;

	(void)sig;
	memset(block, 0x55, sizeof(block));
	asm volatile("" : : "r"(block) : "memory");
	raising = SIGUSR2;
	handler_work(6);
	raising = 0;
	asm volatile("" : : "r"(block) : "memory");
	for (i = 0; i < sizeof(block); i++)
		check(block[i] == 0x55, "the frame is overwritten at %zu", i);
}

static void nested(long times)
{
	static char stack[1 << 17];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction outer = { .sa_handler = on_outer, .sa_flags = SA_ONSTACK };
	const struct sigaction inner = { .sa_handler = on_nested, .sa_flags = SA_ONSTACK };
	long i;

	check(!sigaltstack(&alternate, NULL) && !sigaction(SIGUSR1, &outer, NULL) &&
	      !sigaction(SIGUSR2, &inner, NULL), "no signals");
	for (i = 0; i < times; i++)
		raise(SIGUSR1);
	printf("deeper %ld\n", deeper);
}

static __attribute__((noinline)) long outer(long arg)
{
	long ret = handler_work(arg);

	asm volatile("" : "+r"(ret));
	return ret + 1;
}

static void *call_outer(void *times)
{
	long i, odd = 0;

	for (i = 0; i < (long)times; i++)
		odd += !(outer(2 * i) & 1);

	return (void *)odd;
}

/* Hooks' stacks are near the program, and there is no room for them below this. */
static void below(long times)
{
	const size_t size = 0x20000;
	void *stack = mmap((void *)0x20000, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	void *odd;

	check(stack != MAP_FAILED, "no memory there");
	pthread_attr_init(&attr);
	check(!pthread_attr_setstack(&attr, stack, size) &&
	      !pthread_create(&thread, &attr, call_outer, (void *)times), "no thread");
	pthread_join(thread, &odd);
	printf("odd %ld\n", (long)odd);
}

static int die(void *unused)
{
	(void)unused;
	doomed = getpid();
	handler_work(4);
	return 0;
}

/* As posix_spawn() has them: with the thread pointer of the parent. */
static void deaths(long times)
{
	const size_t size = 0x10000;
	long i, odd = 0, died = 0;
	int status;

	for (i = 0; i < times; i++) {
		char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pid_t pid;

		check(stack != MAP_FAILED, "no stack");
		pid = clone(die, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		check(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
		died += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		doomed = 0;
		munmap(stack, size);
		odd += handler_work(6) & 1;
	}
	printf("died %ld odd %ld\n", died, odd);
}

static void hide(long times, const char *path)
{
	const int fd = open(path, O_RDONLY);
	const off_t size = lseek(fd, 0, SEEK_END);
	void *text = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	int i;

	check(text != MAP_FAILED, "%s is not mapped", path);
	for (i = 0; i < 4; i++) {
		check(!mprotect(text, size, i & 1 ? PROT_READ : PROT_READ | PROT_EXEC), "mprotect");
		work((void *)times);
	}
	printf("hidden %ld\n", 4 * times);
}

/* The function of the file has no landing pad: in guarded text its call is a SIGILL. */
static void guard(long times, const char *path)
{
	const int fd = open(path, O_RDONLY), prot_bti = 0x10;
	const off_t size = lseek(fd, 0, SEEK_END);
	void *text = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	bool guarded;

	check(text != MAP_FAILED, "%s is not mapped", path);
	handler_work(0);
	guarded = !mprotect(text, size, PROT_READ | PROT_EXEC | prot_bti);
	/* The kernel looks for the function again. */
	usleep(300000);
	work((void *)times);
	printf("guarded %ld\n", guarded ? times : 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("work", handler_work);
		say_offset("nested", handler_nested);
		say_offset("handler", handler);
		say_offset("outer", outer);
	} else if (argc == 3 && !strcmp(argv[1], "work")) {
		in_threads(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "jumps")) {
		leave(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "faults")) {
		fault(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "forks")) {
		forks(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "nested")) {
		nested(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "outer")) {
		below(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "deaths")) {
		deaths(atol(argv[2]));
	} else if (argc == 4 && !strcmp(argv[1], "hidden")) {
		hide(atol(argv[2]), argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "guarded")) {
		guard(atol(argv[2]), argv[3]);
	} else {
		fail("usage: %s offsets | ACTION N [FILE], as in the head of its source", argv[0]);
	}
	check(!wrong, "the handler was given something else %ld times", wrong);

	return 0;
}
