// SPDX-License-Identifier: GPL-2.0
/*
 * Run the code that uhook puts into arm64 programs
 *
 * A static arm64 program for qemu-aarch64. It runs code from random
 * registers, flags and memory, and checks that:
 *
 * - the code that counts changes nothing but one counter, that of the stack
 *   pointer's lane, which is incremented;
 * - a site with a jump to a body has the same result as without, wherever a branch
 *   leads;
 * - if a copy is left at any point and the original runs instead, the result is that
 *   of the original;
 * - no count of four threads is lost;
 * - in a guarded page, a moved branch may lead to the same targets as before.
 *
 * A branch to an unmapped address ends a run as well, with the program counter there.
 *
 * Usage: jump-run-arm64 [-s SEED] [-r ROUNDS]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <linux/uhook_code.h>
#include "uhook_code.h"
#include "run_state_arm64.h"

#define COUNTS		5000
#define BODIES		16000
#define THREADS		4
#define CALLS		100000

#ifndef PROT_BTI
#define PROT_BTI	0x10
#endif

/*
 * The layout: a site among breakpoints, bodies followed by lanes on both sides of it,
 * and a stack that covers all lanes several times.
 */
#define SITE		0x1000000000UL
#define BODY_PAGES	0x10000UL
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
#define FAR_LANES	(SITE + 0x60000000UL)
#define GUARDED		0x3000000000UL
#define STUBS		0x4000000000UL
#define STACK		0x2000000000UL
#define STACK_SIZE	0x400000UL
/* Bytes that are compared on either side of the stack pointer. */
#define SEEN		2048UL
/* So much below it may change. */
#define SCRATCH		32UL

static const unsigned long bodies[] = {
	SITE - 0x7f00000, SITE - 0x20000, SITE + 0x100000, SITE + 0x7e00000
};

/* Leave no code that a wrong jump could run. */
static void clear_code(unsigned long at)
{
	static const unsigned char nothing[UHOOK_BODY_SIZE];

	write_code(at, nothing, sizeof(nothing));
}

static unsigned char pristine[STACK_SIZE];
/* Expected contents of the lanes. */
static uint64_t lanes[LANES_SIZE / sizeof(uint64_t)];

static void lay_out(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	unsigned long i, j;

	map_breakpoints(SITE, PAGE);
	for (i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		map_at(bodies[i], BODY_PAGES, all);
		map_at(bodies[i] + BODY_PAGES, LANES_SIZE, PROT_READ | PROT_WRITE);
	}
	map_at(FAR_LANES, LANES_SIZE, PROT_READ | PROT_WRITE);
	map_at(GUARDED, PAGE, all | PROT_BTI);
	map_at(STUBS, PAGE, all);
	map_random(STACK, pristine, STACK_SIZE);
	for (j = 0; j < sizeof(lanes) / sizeof(*lanes); j++)
		lanes[j] = random_next() % 16 ? random_next() : -1;
	for (i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		memcpy((void *)bodies[i] + BODY_PAGES, lanes, LANES_SIZE);
	memcpy((void *)FAR_LANES, lanes, LANES_SIZE);
}

/* Nothing, anything, or not far from the site: never where this program is. */
static uint64_t random_register(void)
{
	uint64_t random = random_next();

	switch (random & 3) {
	case 0:
		return 0;
	case 1:
		return SITE + (random >> 8) % 0x10000000;
	default:
		return random_next();
	}
}

static void set_state(struct state *s, unsigned long pc)
{
	unsigned int i;

	make_state(s, pc, STACK + SEEN + random_next() % (STACK_SIZE - 2 * SEEN));
	for (i = 0; i < SP; i++)
		s->regs[i] = random_register();
}

/* Memory may only have changed a little below the stack pointer. */
static void check_stack(uint64_t word, uint64_t sp)
{
	const unsigned char *should = pristine + (sp - SEEN - STACK);

	expect_stack(word, sp - SEEN, 2 * SEEN, should, sp, SCRATCH);
	memcpy((void *)sp - SEEN, should, 2 * SEEN);
}

/* One more in the lane of the stack pointer, and nothing else, nowhere. */
static void check_lanes(uint64_t word, unsigned long at, unsigned long cell, uint64_t sp,
			bool lse)
{
	unsigned int lane = (sp - (lse ? 16 : 32)) >> 16 & (UHOOK_LANES - 1);

	lanes[(lane * UHOOK_LANE_SIZE + (cell - at)) / sizeof(uint64_t)]++;
	if (memcmp((void *)at, lanes, LANES_SIZE)) {
		complain("%08lx: the counters, lane %u", word, lane);
		memcpy((void *)at, lanes, LANES_SIZE);
	}
	lanes[(lane * UHOOK_LANE_SIZE + (cell - at)) / sizeof(uint64_t)]--;
	*(uint64_t *)(cell + lane * UHOOK_LANE_SIZE) -= 1;
}

static unsigned long random_cell(unsigned long at)
{
	uint64_t random = random_next();

	return at + (random & 7 ? random % UHOOK_LANE_SIZE & -sizeof(uint64_t) : 0);
}

static void test_count(unsigned long times)
{
	static const int len[2][2] = { { 52, 48 }, { 36, 32 } };
	struct state state, should;
	unsigned int i;

	for (i = 0; i < times; i++) {
		uint64_t random = random_next();
		bool lse = random & 1, far = random & 2;
		unsigned long body = bodies[random >> 2 & 3] + (random >> 4) % 1000 * WORD;
		unsigned long at = far ? FAR_LANES : bodies[random >> 2 & 3] + BODY_PAGES;
		unsigned long cell = random_cell(at);
		unsigned char code[UHOOK_BODY_SIZE];
		int n = uhook_make_count(code, sizeof(code), body, cell, lse);

		expect("its length", lse, n, len[lse][!far || cell == at]);
		write_code(body, code, n);
		write_word(body + n, BRK);
		set_state(&state, body);
		should = state;
		should.pc = body + n;
		should.signal = SIGTRAP;
		run(&state);
		expect_state(lse, &state, &should);
		check_stack(lse, should.regs[SP]);
		check_lanes(lse, at, cell, should.regs[SP], lse);
		clear_code(body);
	}
	printf("%u times counted\n", i);
}

/* Rewritten instructions: branches and addresses, with their variable bits. */
static const struct word_kind kinds[] = {
	{ 0x10000000, 0x60ffffff, "ADR" },
	{ 0x90000000, 0x60ffffff, "ADRP" },
	{ 0x90000000, 0x600fffff, "ADRP, near" },
	{ 0x14000000, 0x03ffffff, "B" },
	{ 0x94000000, 0x03ffffff, "BL" },
	{ 0x94000000, 0x001fffff, "BL, near" },
	{ 0x54000000, 0x00ffffef, "B.cond" },
	{ 0x34000000, 0x80ffffff, "CBZ" },
	{ 0x35000000, 0x80ffffff, "CBNZ" },
	{ 0x36000000, 0x80ffffff, "TBZ" },
	{ 0x37000000, 0x80ffffff, "TBNZ" },
	{ 0xd61f0000, 0x000003e0, "BR" },
	{ 0xd63f0000, 0x000003e0, "BLR" },
	{ 0xd65f0000, 0x000003e0, "RET" },
	/* These two are copied. */
	{ 0x91000000, 0x000003ff, "ADD" },
	{ 0xb1000000, 0x003fffff, "ADDS" },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* How often each ended after the site, or elsewhere. */
static unsigned long ended[KINDS][2], left_early, left_behind;

/* The original, from a state. */
static void run_original(uint32_t word, unsigned long site, struct state *state)
{
	write_word(site, word);
	state->pc = site;
	run(state);
	write_word(site, BRK);
}

/*
 * Leave the copy at each of its words. Before its end the original must still lead
 * to the same result, and at the end the result must be there.
 */
static void test_leaving(uint32_t word, unsigned long site, const struct state *begin,
			 const struct state *should, unsigned long at,
			 const struct uhook_copy *copy)
{
	struct state state;
	unsigned int i;

	for (i = WORD; i < copy->len; i += WORD) {
		write_code(at, copy->bytes, copy->len);
		write_word(at + i, BRK);
		state = *begin;
		state.pc = at;
		run(&state);
		if (state.pc != at + i)
			continue;
		if (i < copy->copy_len) {
			run_original(word, site, &state);
			left_early++;
		} else {
			state.pc = site + WORD;
			left_behind++;
		}
		expect_state(word, &state, should);
		check_stack(word, begin->regs[SP]);
	}
}

/* Does a branch lead to code of the test? */
static bool is_in_the_way(uint64_t pc)
{
	unsigned int i;

	for (i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		if (pc - bodies[i] < BODY_PAGES + LANES_SIZE)
			return true;
	}
	return pc - GUARDED < PAGE;
}

/* The site with a jump to [count][copy][jump], against the site without. */
static void test_body(unsigned int kind, uint32_t word)
{
	uint64_t random = random_next();
	unsigned long site = SITE + WORD + random % 1000 * WORD;
	unsigned long at = bodies[random >> 16 & 3];
	unsigned long lanes_at = random & 1UL << 32 ? at + BODY_PAGES : FAR_LANES;
	unsigned long body = at + (random >> 20) % 1000 * WORD, cell = random_cell(lanes_at);
	bool lse = random >> 33 & 1;
	unsigned char code[UHOOK_BODY_SIZE];
	struct state begin, state, should;
	struct uhook_copy copy;
	struct uhook_jump jump;
	int n = uhook_make_count(code, sizeof(code), body, cell, lse);

	if (uhook_relocate_branch(&word, WORD, site, body + n, &copy))
		return;
	set_state(&begin, site);
	should = begin;
	run_original(word, site, &should);
	/* Skip branches that could loop forever. */
	if (is_in_the_way(should.pc))
		return;
	ended[kind][should.pc != site + WORD]++;

	if (uhook_make_jump(site, (void *)&word, WORD, body, &jump))
		complain("%08x: no jump from %lx to %lx", word, site, body);
	write_code(body, code, n);
	write_code(body + n, copy.bytes, copy.len);
	write_code(site, jump.bytes, jump.len);
	state = begin;
	state.pc = site;
	run(&state);
	write_word(site, BRK);
	expect_state(word, &state, &should);
	check_stack(word, begin.regs[SP]);
	check_lanes(word, lanes_at, cell, begin.regs[SP], lse);

	test_leaving(word, site, &begin, &should, body + n, &copy);
	clear_code(body);
}

/* A branch to itself, or into a loop with the code before the site. */
static bool is_endless(uint32_t word)
{
	uint32_t kind = word & 0x7c000000;

	if (kind == 0x14000000)
		return !(word & 0x03ffffff);
	if ((word & 0xfe000000) == 0x36000000 || (word & 0xfe000000) == 0xb6000000)
		return !(word & 0x7ffe0);
	return (kind == 0x34000000 || kind == 0x54000000) && !(word & 0xffffe0);
}

static void test_bodies(unsigned long times)
{
	unsigned int i, kind;
	uint32_t word;

	for (i = 0; i < times; i++) {
		kind = i % KINDS;
		word = random_word(kinds + kind, 1, 1);
		if (!is_endless(word))
			test_body(kind, word);
	}
	for (i = 0; i < KINDS; i++) {
		bool always = strchr("AB", kinds[i].name[0]) && !strchr(kinds[i].name, '.');
		bool both = !always && kinds[i].name[0] != 'R';

		printf("%s: %lu times to the next one, %lu times elsewhere\n", kinds[i].name,
		       ended[i][0], ended[i][1]);
		if (ended[i][0] + ended[i][1] < 250 ||
		    (both && (ended[i][0] < 50 || ended[i][1] < 50)))
			complain("too few of %s", kinds[i].name);
	}
	printf("%lu left early, %lu left behind\n", left_early, left_behind);
	if (left_early < 500 || left_behind < 500)
		complain("too few are left");
}

/* Count, many times, all at once, each thread on its own stack. */
static void *count_often(void *code)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		((void (*)(void))code)();
	return NULL;
}

/* The same with stack pointers that share one lane. */
static void *count_in_one(void *code)
{
	static char stacks[THREADS][16 << 16] __aligned(1 << 20);
	static unsigned int number;
	char *sp = stacks[__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) % THREADS] + 0x8000;
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		asm volatile("mov x19, sp\n\tmov sp, %0\n\tblr %1\n\tmov sp, x19"
			     : : "r"(sp), "r"(code) : "x19", "x30", "memory");
	return NULL;
}

static void test_threads(bool lse, void *(*calls)(void *code), unsigned int nr_lanes)
{
	unsigned long cell = bodies[0] + BODY_PAGES, i, sum = 0, used = 0;
	unsigned char code[UHOOK_BODY_SIZE];
	int n = uhook_make_count(code, sizeof(code), bodies[0], cell, lse);
	pthread_t threads[THREADS];
	uint64_t value;

	write_code(bodies[0], code, n);
	write_word(bodies[0] + n, 0xd65f03c0);	/* ret */
	memset((void *)cell, 0, LANES_SIZE);
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, calls, (void *)bodies[0]))
			exit(2);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < UHOOK_LANES; i++) {
		value = *(uint64_t *)(cell + i * UHOOK_LANE_SIZE);
		sum += value;
		used += !!value;
	}
	printf("%s: %lu counted by %d threads, in %lu lanes\n", lse ? "LSE" : "LL/SC", sum,
	       THREADS, used);
	expect("what threads count", lse, sum, THREADS * CALLS);
	expect("how many lanes they use", lse, used, nr_lanes);
}

/* The signal that ends a branch from @code, with its target in x1, into a guarded page. */
static int land(const void *code, size_t len, uint32_t word)
{
	const unsigned long target = GUARDED + 0x100;
	struct state state;

	write_word(target, word);
	write_word(target + WORD, BRK);
	write_word(target + 2 * WORD, BRK);
	write_code(bodies[1], code, len);
	set_state(&state, bodies[1]);
	state.regs[1] = target;
	state.regs[16] = target;
	run(&state);
	return state.signal;
}

static void test_guarded(void)
{
	static const uint32_t words[] = {
		0xd503241f,	/* bti */
		0xd503245f,	/* bti c */
		0xd503249f,	/* bti j */
		0xd50324df,	/* bti jc */
		0xd503233f,	/* paciasp */
		0xd503237f,	/* pacibsp */
		0xd50323bf,	/* autiasp */
		0xd503201f,	/* nop */
		0x910003fd,	/* mov x29, sp */
		0x14000001,	/* b to the next one */
		0x14000002,	/* b over it */
	};
	static const uint32_t blr = 0xd63f0020, br = 0xd61f0020, br16 = 0xd61f0200;
	unsigned int i, calls = 0, pads = 0;
	struct uhook_copy copy;

	expect("a BLR", blr, uhook_relocate_branch(&blr, WORD, SITE, bodies[1], &copy), 0);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		bool call = land(&blr, WORD, words[i]) == SIGTRAP;
		bool branch = land(&br, WORD, words[i]) == SIGTRAP ||
			      land(&br16, WORD, words[i]) == SIGTRAP;
		bool moved = land(copy.bytes, copy.len, words[i]) == SIGTRAP;

		if (call && !moved)
			complain("%08x: a BLR may lead there, and not when it was moved", words[i]);
		expect("a landing pad", words[i], uhook_is_landing_pad(&words[i]), call || branch);
		calls += call;
		pads += call || branch;
	}
	expect("a breakpoint in a guarded page", BRK, land(&blr, WORD, BRK), SIGTRAP);
	printf("in a guarded page, %u may be called and %u be branched to\n", calls, pads);
	expect("what may be called", 0, calls, 4);
	expect("what may be branched to", 0, pads, 5);
}

/* Through a stub and back: only a register that is free there may change. */
static void test_stubs(void)
{
	static const struct {
		uint32_t word;
		unsigned int reg;
	} exits[] = {
		{ 0xd65f03c0, 16 },	/* ret */
		{ 0xd65f0bff, 16 },	/* retaa */
		{ 0xd65f0200, 17 },	/* ret x16 */
		{ 0xd61f0200, 17 },	/* br x16 */
		{ 0xd61f0220, 16 },	/* br x17 */
		{ 0xd61f0a1f, 17 },	/* braaz x16 */
		{ 0xd71f0a30, 0 },	/* braa x17, x16 */
		{ 0x14000010, 16 },	/* b */
		{ 0xa9be7bfd, 16 },	/* stp x29, x30, [sp, #-32]! */
		{ 0xd503233f, 16 },	/* paciasp */
	};
	unsigned char to[UHOOK_STUB_SIZE], back[UHOOK_STUB_SIZE];
	struct state state, should;
	unsigned int i;

	for (i = 0; i < sizeof(exits) / sizeof(*exits); i++) {
		const uint32_t word = exits[i].word;
		const unsigned long body = bodies[i % 4] + i * WORD, end = body + UHOOK_STUB_SIZE;
		const unsigned long stub = STUBS + i * UHOOK_STUB_SIZE;
		const int ret = uhook_stub_code(to, &word, stub);

		expect("whether it can have a stub", word, !ret, !!exits[i].reg);
		if (ret || uhook_stub_code(back, &word, end))
			continue;
		write_code(body, to, sizeof(to));
		write_code(stub, back, sizeof(back));
		write_word(end, BRK);
		set_state(&state, body);
		should = state;
		should.regs[exits[i].reg] = end;
		should.pc = end;
		should.signal = SIGTRAP;
		run(&state);
		expect_state(word, &state, &should);
		write_word(end, 0);
		clear_code(body);
	}
	printf("%u ways by a stub\n", i);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1;
	unsigned int lse;

	read_options(argc, argv, "r:", &rounds);
	/* A jump that goes wrong may go round in circles. */
	run_set_up(300);
	lay_out();

	test_count(rounds * COUNTS);
	test_bodies(rounds * BODIES);
	test_guarded();
	test_stubs();
	for (lse = 0; lse < 2; lse++) {
		test_threads(lse, count_often, THREADS);
		test_threads(lse, count_in_one, 1);
	}
	return verdict();
}
