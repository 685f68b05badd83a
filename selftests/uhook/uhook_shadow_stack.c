// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks in a program that has a shadow stack, which the processor compares with each
 * return.
 *
 *	uhook_shadow_stack offsets	where: the function "work" and its "handler", and on
 *					x86_64 the calls in it: "call", which uprobes emulate,
 *					and "call_indirect", which they step
 *	uhook_shadow_stack kind		the name of what is tested
 *	uhook_shadow_stack work N	N calls with a shadow stack; prints the calls of the
 *					handler.  Exits with 4, and says why, where there is
 *					none.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "uhook_test.h"

#ifndef ARCH_SHSTK_ENABLE
#define ARCH_SHSTK_ENABLE	0x5001
#define ARCH_SHSTK_SHSTK	1
#endif

UHOOK_FUNCTION(shadow_work);

#if defined(__x86_64__)
asm(".text\n"
	"shadow_work:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	lea 2f(%rip), %rax\n"
	"shadow_call:\n"
	"	call 1f\n"
	"shadow_call_indirect:\n"
	"	call *%rax\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	ret\n"
	"2:	mov %rdi, %rax\n"
	"	ret\n");
extern const char shadow_call[], shadow_call_indirect[];

static void say_calls(void)
{
	say_offset("call", shadow_call);
	say_offset("call_indirect", shadow_call_indirect);
}

/* Inlined, because a function that began without a shadow stack cannot return with one. */
#define enable_shadow_stack()	syscall_arch_prctl(ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK)

static inline __attribute__((always_inline)) long syscall_arch_prctl(long code, long arg)
{
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "a" (SYS_arch_prctl), "D" (code), "S" (arg) : "rcx", "r11", "memory");

	return ret;
}
#elif defined(__aarch64__)
asm(".text\n"
	"shadow_work:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n");

static void say_calls(void) { }

/* The kernel has none for programs of arm64. */
#define enable_shadow_stack()	(-EOPNOTSUPP)
#endif

static volatile long handled;

/* Hooks call it, by its offset. */
__attribute__((used, noinline, target("general-regs-only")))
static void handler(void *regs, void *data)
{
	(void)regs;
	(void)data;
	handled++;
}

static __attribute__((noinline)) void work(long times)
{
	long i;

	for (i = 0; i < times; i++)
		check(shadow_work(i) == i, "shadow_work(%ld) is another number", i);
	printf("handled %ld\n", handled);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long err;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("work", shadow_work);
		say_offset("handler", handler);
		say_calls();
	} else if (argc == 2 && !strcmp(argv[1], "kind")) {
		printf("user shadow stack\n");
	} else if (argc == 3 && !strcmp(argv[1], "work")) {
		err = enable_shadow_stack();
		if (err) {
			printf("neither processor nor kernel offers programs a shadow stack (%s)\n",
			       strerror(-err));
			return 4;
		}
		work(atol(argv[2]));
		/* This function cannot return. */
		_exit(0);
	}

	return 0;
}
