/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: a loop through probed instructions, and where a program may be.
 *
 * Each round counts once in a register and once in memory, with two instructions, so
 * that a skipped or repeated one is noticed.  None of the probed instructions is
 * emulated; all of them run in slots.  After the one called "long", emulators check for
 * interrupts, that is between the copy and the jump.
 */
#ifndef _UHOOK_LOOP_H
#define _UHOOK_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <linux/auxvec.h>
#include <ucontext.h>

#include "uhook_bodies.h"
#include "uhook_test.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#endif

/* Not from sys/auxv.h, which leaves no room for linux/elf.h. */
unsigned long getauxval(unsigned long type);

/* uhook_loop(rounds, sum): add ROUNDS to *SUM and return ROUNDS. */
unsigned long uhook_loop(unsigned long rounds, unsigned long *sum);
extern const char uhook_loop_add[], uhook_loop_load[], uhook_loop_store[];
extern const char uhook_loop_long[], uhook_loop_compare[], uhook_loop_end[];
extern const char etext[];

unsigned long uhook_loop_one = 1;

asm(".pushsection .text\n"
".globl uhook_loop, uhook_loop_add, uhook_loop_load, uhook_loop_store\n"
".globl uhook_loop_long, uhook_loop_compare, uhook_loop_end\n"
".type uhook_loop, %function\n"
".balign 64\n"
"uhook_loop:\n"
#if defined(__x86_64__)
"	xorl %r8d, %r8d\n"
"	xorl %eax, %eax\n"
"	xorl %edx, %edx\n"
"	leaq uhook_loop_state(%rip), %r9\n"
"1:\n"
"uhook_loop_add:\n"
"	addq $1, %r8\n"
"uhook_loop_load:\n"
"	movq uhook_loop_one(%rip), %rcx\n"
"uhook_loop_store:\n"
"	addq %rcx, (%rsi)\n"
"uhook_loop_long:\n"
"	xrstor (%r9)\n"			/* of no state at all */
"uhook_loop_compare:\n"
"	cmpq %rdi, %r8\n"
"	jb 1b\n"
"	movq %r8, %rax\n"
"	ret\n"
".local uhook_loop_state\n"
".comm uhook_loop_state, 1024, 64\n"
#elif defined(__aarch64__)
"	mov x2, #0\n"
"	adrp x4, uhook_loop_one\n"
"	add x4, x4, :lo12:uhook_loop_one\n"
"1:\n"
"uhook_loop_add:\n"
"	add x2, x2, #1\n"
"uhook_loop_load:\n"
"	ldr x3, [x4]\n"
"	ldr x5, [x1]\n"
"	add x5, x5, x3\n"
"uhook_loop_store:\n"
"	str x5, [x1]\n"
"uhook_loop_long:\n"
"	isb\n"
"uhook_loop_compare:\n"
"	cmp x2, x0\n"
"	b.lo 1b\n"
"	mov x0, x2\n"
"	ret\n"
#endif
"uhook_loop_end:\n"
".size uhook_loop, . - uhook_loop\n"
".popsection\n");

static inline void say_loop_offsets(void)
{
	say_offset("add", uhook_loop_add);
	say_offset("load", uhook_loop_load);
	say_offset("store", uhook_loop_store);
	say_offset("long", uhook_loop_long);
	say_offset("compare", uhook_loop_compare);
}

/* Print how often each point was run, which is the expected number of hits. */
static inline void say_loop_counts(unsigned long rounds)
{
	printf("add %lu\nload %lu\nstore %lu\nlong %lu\ncompare %lu\n",
	       rounds, rounds, rounds, rounds, rounds);
}

static inline bool in_loop(unsigned long ip)
{
	return ip >= (unsigned long)uhook_loop && ip < (unsigned long)uhook_loop_end;
}

/* Is this code of the program or the vdso, and not a copy made by the kernel? */
static inline bool in_program(unsigned long ip)
{
	return (ip >= (unsigned long)__executable_start && ip < (unsigned long)etext) ||
	       ip - getauxval(AT_SYSINFO_EHDR) < 0x4000;
}

/*
 * The same of another process, where the code that counts is accepted as well if it
 * has been told so: its handlers are nothing that others could finish.
 */
static inline bool in_program_of(pid_t pid, unsigned long ip)
{
	char maps[32];

	if (in_program(ip))
		return true;
	if (!getenv("UHOOK_HANDLERS"))
		return false;
	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);

	return in_handler(maps, ip);
}

#if defined(__x86_64__)
#define CONTEXT_ROUNDS(uc)	((uc)->uc_mcontext.gregs[REG_R8])
#elif defined(__aarch64__)
#define CONTEXT_ROUNDS(uc)	((uc)->uc_mcontext.regs[2])
#endif

/* The address that a signal came at. */
static inline unsigned long context_ip(const void *context)
{
	return CONTEXT_IP((const ucontext_t *)context);
}

/* How often uhook_loop() has added when a signal came in it. */
static inline unsigned long context_rounds(const void *context)
{
	unsigned long ip = context_ip(context);

	return ip < (unsigned long)uhook_loop_add ? 0 : CONTEXT_ROUNDS((const ucontext_t *)context);
}

#endif /* _UHOOK_LOOP_H */
