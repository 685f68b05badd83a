/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run code of x86_64 from registers, flags and a stack until it reaches one of two ends
 *
 * All that is run lies in the lowest 4 GiB, where nothing but the test is, and is left
 * by one of two ends, which put_end() writes.
 */
#ifndef SELFTESTS_HOST_RUN_STATE_X86_H
#define SELFTESTS_HOST_RUN_STATE_X86_H

#include "common.h"
#include "jump_x86.h"

#define PAGE		4096UL

/* Twice as large as all lanes. */
#define STACK		0x10000000UL
#define STACK_SIZE	0x20000UL
/* A page of code, followed by the addresses of the ends. */
#define SITES		0x20000000UL

#define RED_ZONE	128

/**
 * struct outcome - state after a run
 * @regs: registers, in the order of their numbers, and flags
 * @ended: number of the end that was reached: 0 or 1
 * @stack: all of the stack
 */
struct outcome {
	u64 regs[REGS];
	u64 ended;
	u8 stack[STACK_SIZE];
};

/* The stack that each run begins with. */
extern u8 run_stack[STACK_SIZE];

/* Map the stack and the page of code; after SECONDS, the test ends. */
void run_set_up(unsigned int seconds);

/* Write the end with this number, 0 or 1. */
void put_end(unsigned long at, unsigned int which);

/* An offset in the stack that is not close to its ends. */
u64 random_sp(void);

/*
 * Want random registers, the flags that @flags chooses, and this stack pointer; it is
 * aligned when others fault.
 */
void make_regs(u64 flags, u64 sp);

/* Run from the registers that are wanted; @enter is jump_enter(), or calls it. */
void run(unsigned long start, struct outcome *outcome, void (*enter)(void));

/*
 * Complain of other registers or another stack than these. So much as @below under the
 * red zone may have changed.
 */
void expect_outcome(const char *what, const struct outcome *is, const u64 *regs,
		    const u8 *stack, size_t below);

#endif /* SELFTESTS_HOST_RUN_STATE_X86_H */
