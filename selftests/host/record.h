/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the tests of uhook's recorders, for both architectures
 *
 * record_ARCH.c generates the code and knows registers; record.c is independent of the
 * architecture: a model of the ring, and threads that fill it as fast as they can while
 * another one empties it.
 */
#ifndef SELFTESTS_HOST_RECORD_H
#define SELFTESTS_HOST_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/uhook_ring.h>
#include "common.h"

#define RING_SIZE	(UHOOK_LANE_SIZE + UHOOK_RING_ENTRIES * sizeof(struct uhook_ring_entry))

#define COUNTERS_SIZE	4096

/* More than the longest recorder has, in bytes. */
#define RECORD_MAX	512

/**
 * struct record_arch - the part of the tests that depends on the architecture
 * @regs: registers of the first six arguments of a function
 * @nr_registers: number of registers
 * @stack_first: whether a call leaves its return address at the stack pointer
 * @reach: maximum distance of a ring, or more, in bytes
 * @ret: instruction that returns
 * @ret_len: length of @ret in bytes
 */
struct record_arch {
	u8 regs[UHOOK_RECORD_ARGS];
	u8 nr_registers;
	bool stack_first;
	unsigned long reach;
	u8 ret[4];
	u8 ret_len;
};

/* Each record_ARCH.c has them. */
extern const struct record_arch record_arch;
u64 record_stamp(void);
u64 record_thread(void);

/*
 * The generator under test: uhook_record_code(), or one of its forms. @form is the
 * value that record_ARCH.c has passed to record.c.
 */
int record_make(u8 *code, size_t size, unsigned long at,
		const struct uhook_recorder *recorder, int form);

/**
 * struct record_model - a ring, and its expected contents
 * @ring: the actual ring
 * @counters: COUNTERS_SIZE bytes, one word of which each recorder uses
 * @expected: expected contents of the ring
 * @expected_counters: expected contents of @counters
 * @decided: whether the outcome of the hit is known
 * @recorded: whether the hit has an entry, if @decided
 * @number: number of that entry
 */
struct record_model {
	struct uhook_ring *ring;
	u64 *counters;
	u8 expected[RING_SIZE];
	u64 expected_counters[COUNTERS_SIZE / sizeof(u64)];
	bool decided;
	bool recorded;
	u64 number;
};

/* Fill a ring and the counters with nonsense. */
void record_fill(struct record_model *model);

/* The address of one of the counters. */
unsigned long record_counter(struct record_model *model);

/*
 * Set head, tail and the counter to something: to a full ring in one of four cases, and
 * to other extremes in some. Returns whether there is room.
 */
bool record_prepare(struct record_model *model, const struct uhook_recorder *recorder);

/*
 * The expected effects of a hit. @stack has the words at the stack pointer, wherever
 * they are; @before and @after are time stamps.
 */
struct record_hit {
	u64 before;
	u64 after;
	u64 sp;
	u64 args[UHOOK_RECORD_ARGS];
	u64 stack[UHOOK_RECORD_STACK];
};

/*
 * While a recorder stands between two instructions, others record and the ring is
 * emptied. A full one stays so, and others lose as well: whether it still is could
 * be known to the recorder, or not.
 */
void record_meddle(struct record_model *model, const struct uhook_recorder *recorder);

/* Whether the page of a word's end is that of the byte below the stack pointer. */
bool record_has_word(u64 sp, unsigned int word);

/* Expect a record of these registers; @stack is the memory at the stack pointer. */
void record_expect(const struct uhook_recorder *recorder, const u64 *regs, u64 sp,
		   const u8 *stack, struct record_hit *hit);

/* Write a recorder: its length. */
int record_put(unsigned long at, const struct uhook_recorder *recorder, int form);

void record_check(struct record_model *model, const struct uhook_recorder *recorder,
		  const struct record_hit *hit);

/*
 * Print the numbers of runs. Some hits must have been lost, most recorded, some at the end of a
 * page, and one in @share interrupted.
 */
void record_report(unsigned long share);

/* Threads record into a ring at @ring, by code at @code; both are mapped. */
void record_threads(unsigned long code, unsigned long ring, unsigned long calls, bool stack,
		    int form);

/* Errors, and that nothing is written beyond the size. */
void record_errors(int form);

/* Nanoseconds of a hit, by a single thread. */
double record_cost(unsigned long code, unsigned long ring, unsigned long calls,
		   const struct uhook_recorder *recorder, int form);

#endif /* SELFTESTS_HOST_RECORD_H */
