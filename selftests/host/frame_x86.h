/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run code of x86_64 from a state until a signal comes
 *
 * Registers are set and read in the frames of signals: a breakpoint begins a run,
 * and the next signal ends it. All memory that the code can address is in the lowest 4 GiB,
 * where nothing but the test is.
 */
#ifndef SELFTESTS_HOST_FRAME_X86_H
#define SELFTESTS_HOST_FRAME_X86_H

#include <ucontext.h>
#include <linux/types.h>

#define PAGE		4096UL
#define FP_MAX		16384
#define FP_HEADER	512
#define FLAGS_SEEN	0xcd5UL		/* CF PF AF ZF SF DF OF */

/**
 * struct state - registers of a program
 * @gregs: registers of the frame
 * @fp: its fpstate
 * @signal: the signal that ended the run
 */
struct state {
	greg_t gregs[NGREG];
	u8 fp[FP_MAX];
	int signal;
};

/* The state that a run begins with, and the size of its fpstate. */
extern struct state wanted;
extern unsigned int fp_size;

/* Catch signals, and learn the layout of a frame; after SECONDS, the test ends. */
void frame_set_up(unsigned int seconds);

/* Run at @address from the wanted state, and leave the outcome in @outcome. */
void frame_run(unsigned long address, struct state *outcome);

#endif /* SELFTESTS_HOST_FRAME_X86_H */
