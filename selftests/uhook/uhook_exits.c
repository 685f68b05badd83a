// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a function with two exits, which is left and resumed in unusual ways.
 *
 *	uhook_exits offsets	the entry, and the instructions that return
 *	uhook_exits HOW...	call the function as given, and print how often it returned
 *				from each exit: "odd N" and "even N"
 *
 * HOW is "calls", "coroutines", "longjmp", "unwind", "deep", "threads", "fork" or "wait".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <sys/wait.h>

#include "uhook_test.h"

#define CALLS		100
#define COROUTINES	4
#define ROUNDS		20
#define DEPTH		10000
#define STACK_SIZE	65536
#define THREADS		20

/* Calls inside(), and returns 2 * n if n is odd, otherwise n. */
long exit_choose(long n, void (*inside)(long n));
UHOOK_LABEL(exit_odd);
UHOOK_LABEL(exit_even);

asm(".pushsection .text\n"
".globl exit_choose, exit_odd, exit_even\n"
".type exit_choose, %function\n"
"exit_choose:\n"
"	.cfi_startproc\n"
#if defined(__x86_64__)
"	pushq %rbx\n"
"	.cfi_adjust_cfa_offset 8\n"
"	.cfi_rel_offset %rbx, 0\n"
"	movq %rdi, %rbx\n"
"	call *%rsi\n"
"	movq %rbx, %rax\n"
"	testl $1, %eax\n"
"	popq %rbx\n"
"	.cfi_adjust_cfa_offset -8\n"
"	.cfi_restore %rbx\n"
"	je 1f\n"
"	addq %rax, %rax\n"
"exit_odd:\n"
"	ret\n"
"1:	nop\n"
"exit_even:\n"
"	ret\n"
#elif defined(__aarch64__)
"	stp x29, x30, [sp, #-32]!\n"
"	.cfi_adjust_cfa_offset 32\n"
"	.cfi_rel_offset x29, 0\n"
"	.cfi_rel_offset x30, 8\n"
"	mov x29, sp\n"
"	str x19, [sp, #16]\n"
"	.cfi_rel_offset x19, 16\n"
"	mov x19, x0\n"
"	blr x1\n"
"	mov x0, x19\n"
"	ldr x19, [sp, #16]\n"
"	ldp x29, x30, [sp], #32\n"
"	.cfi_adjust_cfa_offset -32\n"
"	.cfi_restore x19\n"
"	.cfi_restore x29\n"
"	.cfi_restore x30\n"
"	tbz x0, #0, 1f\n"
"	add x0, x0, x0\n"
"exit_odd:\n"
"	ret\n"
"1:	nop\n"
"exit_even:\n"
"	ret\n"
#endif
"	.cfi_endproc\n"
"	.size exit_choose, . - exit_choose\n"
".popsection\n");

static unsigned long odd, even;

static void choose(long n, void (*inside)(long n))
{
	long ret = exit_choose(n, inside);

	check(ret == (n & 1 ? 2 * n : n), "exit_choose(%ld) is %ld", n, ret);
	if (n & 1)
		odd++;
	else
		even++;
}

static void do_nothing(long n)
{
}

static void calls(void)
{
	long i;

	for (i = 0; i < CALLS; i++)
		choose(i, do_nothing);
}

static ucontext_t scheduler, contexts[COROUTINES];
static int running;

static void yield(long n)
{
	int me = running;

	swapcontext(&contexts[me], &scheduler);
}

static void coroutine(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		choose(running + i, yield);
}

static void coroutines(void)
{
	static char stacks[COROUTINES][STACK_SIZE];
	int round, i;

	for (i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_SIZE;
		contexts[i].uc_link = &scheduler;
		makecontext(&contexts[i], coroutine, 0);
	}
	for (round = 0; round <= ROUNDS; round++) {
		for (running = 0; running < COROUTINES; running++)
			swapcontext(&scheduler, &contexts[running]);
	}
}

static jmp_buf out;

static void jump_out(long n)
{
	if (n % 3 == 0)
		longjmp(out, 1);
}

static void with_longjmp(void)
{
	volatile long i;

	for (i = 0; i < CALLS; i++) {
		if (!setjmp(out))
			choose(i, jump_out);
	}
}

/* As for an exception that main() would catch. */
static _Unwind_Reason_Code stop(int version, _Unwind_Action actions,
				_Unwind_Exception_Class class,
				struct _Unwind_Exception *exception,
				struct _Unwind_Context *context, void *end)
{
	check(!(actions & _UA_END_OF_STACK), "the stack ends too early");
	if (_Unwind_GetCFA(context) > (unsigned long)end)
		longjmp(out, 1);

	return _URC_NO_REASON;
}

static void *unwind_end;

static void unwind_out(long n)
{
	static struct _Unwind_Exception exception;

	if (n % 3 == 0)
		_Unwind_ForcedUnwind(&exception, stop, unwind_end);
}

static void unwinding(void)
{
	volatile long i;

	unwind_end = __builtin_frame_address(0);
	for (i = 0; i < CALLS; i++) {
		if (!setjmp(out))
			choose(i, unwind_out);
	}
}

static void deeper(long n)
{
	if (n)
		choose(n - 1, deeper);
}

static void deep(void)
{
	choose(DEPTH, deeper);
}

static pthread_barrier_t inside_all;

static void meet(long n)
{
	pthread_barrier_wait(&inside_all);
}

static void *meet_others(void *n)
{
	exit_choose((long)n, meet);

	return NULL;
}

/* All threads are in the function at the same time. */
static void threads(void)
{
	pthread_t others[THREADS];
	long i;

	pthread_barrier_init(&inside_all, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&others[i], NULL, meet_others, (void *)i),
		      "cannot start a thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(others[i], NULL);
	odd += THREADS / 2;
	even += THREADS / 2;
}

static pid_t child;

static void fork_inside(long n)
{
	child = fork();
}

/* The parent returns from the call, and the child as well. */
static void forking(void)
{
	choose(0, fork_inside);
	if (!child)
		_exit(0);
	check(waitpid(child, NULL, 0) == child, "the child is lost");
}

static void wait_for_line(long n)
{
	puts("inside");
	fflush(stdout);
	getchar();
}

static void waiting(void)
{
	choose(1, wait_for_line);
}

static const struct {
	const char	*name;
	void		(*run)(void);
} ways[] = {
	{ "calls", calls },
	{ "coroutines", coroutines },
	{ "longjmp", with_longjmp },
	{ "unwind", unwinding },
	{ "deep", deep },
	{ "threads", threads },
	{ "fork", forking },
	{ "wait", waiting },
};

static void run(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!strcmp(ways[i].name, name)) {
			ways[i].run();
			return;
		}
	}
	fail("there is no way %s", name);
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("choose", exit_choose);
		say_offset("odd", exit_odd);
		say_offset("even", exit_even);
		return 0;
	}
	for (i = 1; i < argc; i++)
		run(argv[i]);
	printf("odd %lu\neven %lu\n", odd, even);

	return 0;
}
