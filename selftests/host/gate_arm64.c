// SPDX-License-Identifier: GPL-2.0
/*
 * Run the gates of arm64
 *
 * A static arm64 program for qemu-aarch64. A site with a jump to a body, which
 * counts, calls a handler, does what an instruction does and jumps back, runs from
 * random registers, flags, vectors and memory. The handler checks the registers that
 * it gets, overwrites all that it may, and changes some registers. The result must be
 * that of the instruction with the changed registers, and the vectors must be unchanged.
 * The tests of gate.c follow.
 *
 * Usage: gate-arm64 [-s SEED]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "gate.h"
#include "run_state_arm64.h"
#include "uhook_code.h"

#define BODIES		6000

#define SITE		0x1000000000UL
#define BODY		(SITE + 0x100000)
#define BODY_SIZE	0x10000UL
#define LANES		(SITE + 0x200000)
#define CODE		(SITE + 0x300000)
#define POOL		(SITE + 0x60000000UL)
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
#define STACK		0x2000000000UL
#define STACK_SIZE	0x10000UL
/* So much below the stack pointer may change. */
#define SCRATCH		304UL

/* Instructions whose results depend on what a call could destroy, and branches. */
static const u32 samples[] = {
	0xa9bf7bfd,	/* stp	x29, x30, [sp, #-16]! */
	0xd10103ff,	/* sub	sp, sp, #64 */
	0x910003e9,	/* mov	x9, sp */
	0xf94007ea,	/* ldr	x10, [sp, #8] */
	0xba0a0129,	/* adcs	x9, x9, x10 */
	0xd53b4209,	/* mrs	x9, nzcv */
	0x4e080c00,	/* dup	v0.2d, x0 */
	0x10000109,	/* adr	x9, . + 32 */
	0x14000008,	/* b	. + 32 */
	0x54000104,	/* b.mi	. + 32 */
};

#define SAMPLES_COUNT	(sizeof(samples) / sizeof(*samples))

#define RET		"\xc0\x03\x5f\xd6"
#define NOP		"\x1f\x20\x03\xd5"
#define CASE(ret, name, bytes)	{ name, bytes, sizeof(bytes) - 1, ret }

static const struct gate_case cases[] = {
	CASE(0, "ret", RET),
	CASE(0, "bti c, paciasp, retaa", "\x5f\x24\x03\xd5\x3f\x23\x03\xd5\xff\x0b\x5f\xd6"),
	CASE(0, "b to itself", "\x00\x00\x00\x14"),
	CASE(0, "bl within", "\x02\x00\x00\x94" RET RET),
	CASE(0, "adr of itself", "\x00\x00\x00\x10" RET),
	CASE(0, "adr of the last byte", "\xe0\x00\x00\x70" RET NOP NOP NOP NOP NOP NOP RET),
	CASE(0, "ldr of a literal", "\x40\x00\x00\x18" RET RET),
	CASE(0, "ldxr and stxr", "\x20\x7c\x5f\xc8\x20\x7c\x02\xc8" RET),
	CASE(0, "tbz within", "\x20\x00\x00\x36" RET),
	/* As wide as that of the others, its offset would be elsewhere. */
	CASE(0, "tbz of another bit", "\x20\x00\x08\x36" RET),
	CASE(-EINVAL, "adr behind", "\x40\x00\x00\x10" RET),
	CASE(-EINVAL, "adr before", "\xe0\xff\xff\x70" RET),
	CASE(-EINVAL, "adrp", "\x00\x00\x00\x90" RET),
	CASE(-EINVAL, "ldr of a literal behind", "\x40\x00\x00\x18" RET),
	CASE(-EINVAL, "ldr of a literal before", "\xe0\xff\xff\x18" RET),
	CASE(-EINVAL, "ldr of 64 bits, half of it behind", "\x20\x00\x00\x58" RET),
	CASE(-EINVAL, "ldr of 128 bits, some of it behind", "\x20\x00\x00\x9c" RET RET RET),
	CASE(0, "ldr of 128 bits", "\x20\x00\x00\x9c" RET RET RET RET),
	CASE(-EINVAL, "b behind", "\x01\x00\x00\x14"),
	CASE(-EINVAL, "b before", "\xff\xff\xff\x17"),
	CASE(-EINVAL, "bl behind", "\x02\x00\x00\x94" RET),
	CASE(-EINVAL, "b.ne behind", "\x41\x00\x00\x54" RET),
	CASE(-EINVAL, "cbz behind", "\x40\x00\x00\xb4" RET),
	CASE(-EINVAL, "tbnz behind", "\x40\x00\x00\x37" RET),
	CASE(-EINVAL, "off the end", NOP),
	CASE(-EINVAL, "off the end with a condition", "\x01\x00\x00\x54"),
	CASE(-EINVAL, "off the end with a call", "\x00\x00\x00\x94"),
	CASE(-EINVAL, "truncated", RET "\xc0\x03"),
	CASE(-EOPNOTSUPP, "svc", "\x01\x00\x00\xd4" RET),
	CASE(-EOPNOTSUPP, "brk", "\x00\x00\x20\xd4" RET),
	CASE(-EOPNOTSUPP, "hlt", "\x00\x00\x40\xd4" RET),
	CASE(-EOPNOTSUPP, "br x1", "\x20\x00\x1f\xd6"),
	CASE(-EOPNOTSUPP, "blr x1", "\x20\x00\x3f\xd6" RET),
	CASE(-EOPNOTSUPP, "ret x1", "\x20\x00\x5f\xd6"),
	CASE(-EOPNOTSUPP, "eret", "\xe0\x03\x9f\xd6"),
	CASE(-EOPNOTSUPP, "msr fpcr", "\x00\x44\x1b\xd5" RET),
	CASE(-EOPNOTSUPP, "udf", "\0\0\0\0" RET),
	CASE(-EOPNOTSUPP, "literal that is none", "\x20\x00\x00\xdc" RET RET RET RET),
	{}
};

const struct gate_arch gate_arch = {
	.code = CODE,
	.pool = POOL,
	.ret = { 0xc0, 0x03, 0x5f, 0xd6 },
	.ret_len = 4,
	.cases = cases,
};

static u8 stack[STACK_SIZE];
static unsigned long runs, spared;
/* Registers that the handler must get, and those that it sets. */
static struct state given, changed;

struct uhook_gate gate_of(bool vectors)
{
	return (struct uhook_gate) {
		.pool = POOL, .page_size = GATE_PAGE, .vectors = vectors,
	};
}

u64 gate_call_bare(gate_site *call, u64 arg)
{
	register u64 x0 asm("x0") = arg;

	asm volatile("mrs x19, tpidr_el0\n\t"
		     "msr tpidr_el0, xzr\n\t"
		     "blr %1\n\t"
		     "msr tpidr_el0, x19"
		     : "+r"(x0) : "r"(call) : "x19", "x30", "memory", "cc");
	return x0;
}

static void set_up(void)
{
	map_breakpoints(SITE, PAGE);
	map_at(BODY, BODY_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map_at(LANES, LANES_SIZE, PROT_READ | PROT_WRITE);
	map_random(STACK, stack, STACK_SIZE);
	gate_set_up();
}

/* For a gate without vectors as well: nothing of the kind. */
static void __attribute__((target("general-regs-only")))
spare(struct uhook_user_regs *regs, u64 *data)
{
	unsigned int i;
	u64 wrong = (regs->sp ^ given.regs[SP]) | (regs->pc ^ given.pc) |
		    (regs->nzcv ^ given.flags);

	for (i = 0; i < SP; i++) {
		wrong |= regs->x[i] ^ given.regs[i];
		regs->x[i] = changed.regs[i];
	}
	regs->nzcv = changed.flags;
	regs->sp = 12345;
	regs->pc = 54321;
	data[0]++;
	data[7] += 5;
	data[1] += !!wrong;
}

static void spoil(struct uhook_user_regs *regs, u64 *data)
{
	volatile u8 deep[UHOOK_STACK_SIZE / 2];
	u64 sp;
	size_t i;

	for (i = 0; i < sizeof(deep); i += 64)
		deep[i] = i;
	asm volatile("mov %0, sp" : "=r"(sp));
	expect("the handler's stack", 0, sp % 16, 0);
	expect("the handler's data", 0, (u64)data, (u64)gate_data);
	spare(regs, data);
	asm volatile("msr fpcr, %0\n\tmsr fpsr, %1\n\t"
		     "movi v0.16b, #1\n\tmovi v1.16b, #2\n\tmovi v2.16b, #3\n\t"
		     "movi v3.16b, #4\n\tmovi v4.16b, #5\n\tmovi v5.16b, #6\n\t"
		     "movi v6.16b, #7\n\tmovi v7.16b, #8\n\tmovi v16.16b, #9\n\t"
		     "movi v17.16b, #1\n\tmovi v18.16b, #2\n\tmovi v19.16b, #3\n\t"
		     "movi v20.16b, #4\n\tmovi v21.16b, #5\n\tmovi v22.16b, #6\n\t"
		     "movi v23.16b, #7\n\tmovi v24.16b, #8\n\tmovi v25.16b, #9\n\t"
		     "movi v26.16b, #1\n\tmovi v27.16b, #2\n\tmovi v28.16b, #3\n\t"
		     "movi v29.16b, #4\n\tmovi v30.16b, #5\n\tmovi v31.16b, #6\n\t"
		     "ins v8.d[1], xzr\n\tins v9.d[1], xzr\n\tins v10.d[1], xzr\n\t"
		     "ins v11.d[1], xzr\n\tins v12.d[1], xzr\n\tins v13.d[1], xzr\n\t"
		     "ins v14.d[1], xzr\n\tins v15.d[1], xzr"
		     : : "r"(0x03000000UL), "r"(0x08000000UL));
}

/* [count][call][copy][jump] at @body; the same for @site in all of its runs. */
static void put_body(u32 word, unsigned long site, unsigned long body, unsigned long cell)
{
	const bool vectors = random_next() & 1;
	struct uhook_copy copy;
	unsigned long at = body;

	at += uhook_make_count((u8 *)at, 256, at, cell, true);
	at += gate_put_call(at, vectors, vectors ? spoil : spare, site);
	if (uhook_relocate_branch(&word, WORD, site, at, &copy)) {
		complain("%08x: not relocated", word);
		exit(1);
	}
	write_code(at, copy.bytes, copy.len);
	__builtin___clear_cache((void *)body, (void *)at);
	spared += !vectors;
}

static void make_states(unsigned long site)
{
	const u64 which = random_next();
	unsigned int i;

	make_state(&given, site, STACK + PAGE + random_next() % (STACK_SIZE - 2 * PAGE));
	changed = given;
	for (i = 0; i < SP; i++) {
		if (which >> i & 1)
			changed.regs[i] = random_next();
	}
	if (which >> 32 & 1)
		changed.flags = random_next() & FLAGS_MASK;
}

static void check_words(u32 word, unsigned long cell)
{
	u64 sum = 0, i;

	for (i = 0; i < LANES_SIZE; i += UHOOK_LANE_SIZE)
		sum += *(u64 *)(cell + i);
	expect("the count", word, sum, 1);
	expect("called", word, gate_data[0], 1);
	expect("wrong registers", word, gate_data[1], 0);
	expect("the last of the data", word, gate_data[7], 5);
	expect("missed", word, gate_missed, 0);
	expect("owned", word, gate_owned(), 0);
}

static void check_body(u32 word)
{
	static u8 memory[STACK_SIZE];
	const unsigned long site = SITE + (16 + random_next() % 512) * WORD;
	const unsigned long body = BODY + random_next() % 1000 * WORD;
	const unsigned long cell = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	struct state state, should;
	struct uhook_jump jump;

	put_body(word, site, body, cell);
	make_states(site);
	should = changed;
	write_code(site, &word, WORD);
	run(&should);
	memcpy(memory, (void *)STACK, STACK_SIZE);
	memcpy((void *)STACK, stack, STACK_SIZE);

	memset((void *)LANES, 0, LANES_SIZE);
	memset(gate_data, 0, sizeof(gate_data));
	if (uhook_make_jump(site, (void *)&word, WORD, body, &jump))
		complain("no jump");
	write_code(site, jump.bytes, jump.len);
	state = given;
	run(&state);
	word = BRK;
	write_code(site, &word, WORD);
	memcpy(&word, jump.before, WORD);
	expect_state(word, &state, &should);
	/* STP stores where the call did before. */
	expect_stack(word, STACK, STACK_SIZE, memory,
		     word == samples[0] ? should.regs[SP] : given.regs[SP], SCRATCH);
	check_words(word, cell);
	memcpy((void *)STACK, stack, STACK_SIZE);
	runs++;
}

int main(int argc, char **argv)
{
	unsigned int i;

	read_options(argc, argv, "");
	/* A gate that does not end ends the test. */
	run_set_up(300);
	set_up();

	for (i = 0; i < BODIES; i++)
		check_body(samples[i % SAMPLES_COUNT]);
	printf("%lu bodies run, %lu without vectors\n", runs, spared);
	gate_test();
	return verdict();
}
