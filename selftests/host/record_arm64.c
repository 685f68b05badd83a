// SPDX-License-Identifier: GPL-2.0
/*
 * Run the recorders of arm64
 *
 * A static arm64 program for qemu-aarch64. A recorder runs from random registers
 * and flags, in each of its two forms, with random registers chosen, the stack
 * pointer often at the end of a page, and at the end of all that is mapped.
 * Registers, flags, vectors and the memory above the stack pointer must not change,
 * and the ring must agree with the model, even if it changes between any two
 * instructions. Bodies that count, record and execute an instruction follow, then
 * threads and errors.
 *
 * Usage: record-arm64 [-s SEED] [-r ROUNDS]
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "record.h"
#include "run_state_arm64.h"
#include "uhook_code.h"
#include "uhook_record.h"

#define RECORDERS	5000
#define BODIES		2400
#define THREAD_CALLS	20000

/* A site among breakpoints, bodies, and rings that ADR reaches and does not. */
#define SITE		0x1000000000UL
#define BODY		(SITE + 0x100000)
#define BODY_SIZE	0x10000UL
#define RING_NEAR	(BODY + BODY_SIZE)
#define LANES		(SITE + 0x200000)
#define RING_FAR	(SITE + 0x60000000UL)
/* Counters of the near ring are far, and those of the far one are near. */
#define COUNTERS_FAR	(SITE + 0x70000000UL)
#define COUNTERS_NEAR	(BODY - 0x10000)
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
/* The stack ends where mapped memory ends. */
#define STACK		0x2000000000UL
#define STACK_SIZE	0x10000UL
/* So much below the stack pointer may change. */
#define SCRATCH		32UL

const struct record_arch record_arch = {
	.regs = { 0, 1, 2, 3, 4, 5 },
	.nr_registers = 32,
	.reach = 0x100000000,
	.ret = { 0xc0, 0x03, 0x5f, 0xd6 },
	.ret_len = 4,
};

/* Instructions whose results depend on what a recorder could destroy, and branches. */
static const u32 samples[] = {
	0xa9bf7bfd,	/* stp	x29, x30, [sp, #-16]! */
	0xd10103ff,	/* sub	sp, sp, #64 */
	0x910003e9,	/* mov	x9, sp */
	0xf94007ea,	/* ldr	x10, [sp, #8] */
	0x8b0c0169,	/* add	x9, x11, x12 */
	0xba0a0129,	/* adcs	x9, x9, x10 */
	0x9a8a8129,	/* csel	x9, x9, x10, hi */
	0xd53b4209,	/* mrs	x9, nzcv */
	0x10000109,	/* adr	x9, . + 32 */
	0x14000008,	/* b	. + 32 */
	0x54000104,	/* b.mi	. + 32 */
	0xb6400109,	/* tbz	x9, #40, . + 32 */
};

#define SAMPLES_COUNT	(sizeof(samples) / sizeof(*samples))

static struct record_model near, far;
static u8 stack[STACK_SIZE];

u64 record_stamp(void)
{
	u64 stamp;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r"(stamp) : : "memory");
	return stamp;
}

u64 record_thread(void)
{
	u64 thread;

	asm volatile("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}

int record_make(u8 *code, size_t size, unsigned long at,
		const struct uhook_recorder *recorder, int form)
{
	return uhook_make_record(code, size, at, recorder, form);
}

static void set_up(void)
{
	const int data = PROT_READ | PROT_WRITE;

	map_breakpoints(SITE, PAGE);
	map_at(BODY, BODY_SIZE, data | PROT_EXEC);
	near.ring = map_at(RING_NEAR, RING_SIZE, data);
	near.counters = map_at(COUNTERS_FAR, COUNTERS_SIZE, data);
	far.ring = map_at(RING_FAR, RING_SIZE, data);
	far.counters = map_at(COUNTERS_NEAR, COUNTERS_SIZE, data);
	map_at(LANES, LANES_SIZE, data);
	map_random(STACK, stack, STACK_SIZE);
	map_at(STACK + STACK_SIZE, PAGE, PROT_NONE);
	record_fill(&near);
	record_fill(&far);
}

static struct record_model *choose(struct uhook_recorder *recorder)
{
	const u64 random = random_next();
	struct record_model *model = random >> 8 & 1 ? &near : &far;
	unsigned int i;

	recorder->ring = (unsigned long)model->ring;
	recorder->lost = record_counter(model);
	recorder->id = random_next() >> (random >> 16 & 31);
	recorder->nr_regs = random % (UHOOK_RECORD_ARGS + 1);
	recorder->stack = random >> 9 & 1;
	/* Half of them are registers that the code uses itself, or the stack pointer. */
	for (i = 0; i < UHOOK_RECORD_ARGS; i++) {
		const u64 reg = random_next();

		recorder->regs[i] = reg >> 8 & 1 ? 9 + reg % 4 : reg % 32;
		if (!(reg >> 16 & 7))
			recorder->regs[i] = SP;
	}
	return model;
}

static u64 random_sp(void)
{
	const u64 random = random_next();

	switch (random & 3) {
	case 0:
		return STACK + STACK_SIZE - (random >> 8) % 64;
	case 1:
		return STACK + (2 + (random >> 8) % 13) * PAGE + 32 - (random >> 16) % 96;
	default:
		return STACK + PAGE + (random >> 8) % (STACK_SIZE - PAGE);
	}
}

static void expect_hit(const struct uhook_recorder *recorder, const struct state *state,
		       struct record_hit *hit)
{
	record_expect(recorder, state->regs, state->regs[SP],
		      stack + state->regs[SP] - STACK, hit);
}

/* Run up to an instruction, if it is reached, and simulate a concurrent change there. */
static void run_until(struct state *state, unsigned long at,
		      struct record_model *model, const struct uhook_recorder *recorder)
{
	const u32 word = *(u32 *)at;

	write_word(at, BRK);
	run(state);
	write_word(at, word);
	if (state->pc == at && word != BRK) {
		record_meddle(model, recorder);
		run(state);
	}
}

/* A recorder, alone. */
static void check_recorder(void)
{
	const unsigned long at = BODY + random_next() % 1000 * WORD;
	const bool lse = random_next() & 1;
	struct uhook_recorder recorder;
	struct record_model *model = choose(&recorder);
	const int len = record_put(at, &recorder, lse);
	struct state state, should;
	struct record_hit hit;

	write_word(at + len, BRK);
	make_state(&state, at, random_sp());
	should = state;
	should.pc = at + len;
	should.signal = SIGTRAP;
	expect_hit(&recorder, &state, &hit);
	record_prepare(model, &recorder);

	hit.before = record_stamp();
	run_until(&state, at + random_next() % (len / WORD + 1) * WORD, model, &recorder);
	hit.after = record_stamp();
	expect_state(lse, &state, &should);
	expect_stack(lse, STACK, STACK_SIZE, stack, hit.sp, SCRATCH);
	record_check(model, &recorder, &hit);
	memcpy((void *)STACK, stack, STACK_SIZE);
}

/* A site, and [count][record][copy][jump] in a body with a jump to it. */
static void put_body(u32 word, unsigned long site, unsigned long cell,
		     const struct uhook_recorder *recorder, struct uhook_jump *jump)
{
	const unsigned long body = BODY + random_next() % 1000 * WORD;
	const bool lse = random_next() & 1;
	unsigned long at = body;
	struct uhook_copy copy;

	at += uhook_make_count((u8 *)at, RECORD_MAX, at, cell, lse);
	at += record_put(at, recorder, lse);
	if (uhook_relocate_branch(&word, WORD, site, at, &copy) ||
	    uhook_make_jump(site, (void *)&word, WORD, body, jump)) {
		complain("%08x: not relocated, or no jump", word);
		exit(1);
	}
	write_code(at, copy.bytes, copy.len);
	__builtin___clear_cache((void *)body, (void *)at);
	write_word(site, word);
}

/* One in the lanes of a counter, which begins at 0. */
static void check_count(u32 word, unsigned long cell)
{
	unsigned long i;
	u64 sum = 0;

	for (i = 0; i < LANES_SIZE; i += UHOOK_LANE_SIZE)
		sum += *(u64 *)(cell + i);
	expect("the count", word, sum, 1);
	memset((void *)LANES, 0, LANES_SIZE);
}

/* An instruction, and a jump to a body in its place. */
static void check_body(u32 word)
{
	static u8 memory[STACK_SIZE];
	const unsigned long site = SITE + (16 + random_next() % 512) * WORD;
	const unsigned long cell = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	struct uhook_recorder recorder;
	struct record_model *model = choose(&recorder);
	struct state state, should;
	struct uhook_jump jump;
	struct record_hit hit;

	put_body(word, site, cell, &recorder, &jump);
	make_state(&state, site, random_sp());
	/* The instruction must have something to load. */
	if (state.regs[SP] == STACK + STACK_SIZE)
		state.regs[SP] -= 16;
	should = state;
	expect_hit(&recorder, &state, &hit);
	record_prepare(model, &recorder);
	run(&should);
	memcpy(memory, (void *)STACK, STACK_SIZE);
	memcpy((void *)STACK, stack, STACK_SIZE);

	write_code(site, jump.bytes, jump.len);
	hit.before = record_stamp();
	run(&state);
	hit.after = record_stamp();
	write_word(site, BRK);
	expect_state(word, &state, &should);
	/* STP stores where the recorder did before. */
	expect_stack(word, STACK, STACK_SIZE, memory,
		     word == samples[0] ? should.regs[SP] : hit.sp, SCRATCH);
	record_check(model, &recorder, &hit);
	check_count(word, cell);
	memcpy((void *)STACK, stack, STACK_SIZE);
}

/* The shortest form, and how many instructions that is with two registers. */
static void say_lengths(void)
{
	struct uhook_recorder recorder = {
		.ring = RING_NEAR, .lost = COUNTERS_NEAR, .nr_regs = 2, .regs = { 0, 1 },
	};
	u8 code[RECORD_MAX];

	printf("%d instructions with LSE, %d without\n",
	       uhook_make_record(code, sizeof(code), BODY, &recorder, true) / WORD,
	       uhook_make_record(code, sizeof(code), BODY, &recorder, false) / WORD);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1, i;
	unsigned int lse;

	read_options(argc, argv, "r:", &rounds);
	/* A recorder that does not end ends the test. */
	run_set_up(300);
	set_up();
	say_lengths();

	for (i = 0; i < rounds * RECORDERS; i++)
		check_recorder();
	for (i = 0; i < rounds * BODIES; i++)
		check_body(samples[i % SAMPLES_COUNT]);
	record_report(4);
	for (lse = 0; lse < 2; lse++) {
		record_errors(lse);
		record_threads(BODY, RING_NEAR, rounds * THREAD_CALLS, false, lse);
		record_threads(BODY, RING_FAR, rounds * THREAD_CALLS, true, lse);
	}
	return verdict();
}
