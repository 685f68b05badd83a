/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run code of arm64 from a state until a signal comes
 *
 * Nothing but signal frames sets and reads the registers: a breakpoint begins a run, and
 * each signal ends it. The code may lie anywhere, and may do anything to the registers.
 * Without SVE and SME a frame has all vectors that there are.
 */
#ifndef SELFTESTS_HOST_RUN_STATE_ARM64_H
#define SELFTESTS_HOST_RUN_STATE_ARM64_H

#include <linux/types.h>
#include "common.h"

#define WORD		4
#define BRK		0xd4200000
#define PAGE		4096UL

/* The last register of a state. */
#define SP		31
#define FLAGS_MASK	0xf0000000UL

/**
 * struct state - registers before a run, and after it
 * @regs: x0 to x30, and the stack pointer
 * @pc: where the code begins, and where it was left
 * @flags: NZCV, where they are in PSTATE
 * @fpsr: the register of this name
 * @fpcr: the register of this name
 * @v: the vectors
 * @signal: the signal that has ended the run
 */
struct state {
	u64 regs[32];
	u64 pc;
	u64 flags;
	u32 fpsr;
	u32 fpcr;
	__uint128_t v[32];
	int signal;
};

/* Catch signals; after SECONDS without an end, the test ends. */
void run_set_up(unsigned int seconds);

/* Run from a state until a signal comes, and store the final state in it. */
void run(struct state *state);

/* A random state that begins at @pc, with this stack pointer. */
void make_state(struct state *state, unsigned long pc, u64 sp);

/* Map a page of breakpoints, and memory with random contents, which are copied. */
void map_breakpoints(unsigned long address, size_t size);
void map_random(unsigned long address, void *copy, size_t size);

/* Complain if a number is not the expected one; @word is the instruction. */
void expect(const char *what, u32 word, u64 is, u64 should);

/* The same for all of a state. */
void expect_state(u32 word, const struct state *is, const struct state *should);

/*
 * Complain of other memory at @base than @should, but for the @scratch bytes below @sp.
 */
void expect_stack(u32 word, unsigned long base, size_t size, const u8 *should, u64 sp,
		  size_t scratch);

/* Write code that is run next. */
void write_code(unsigned long to, const void *code, size_t len);
void write_word(unsigned long to, u32 word);

#endif /* SELFTESTS_HOST_RUN_STATE_ARM64_H */
