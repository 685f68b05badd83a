// SPDX-License-Identifier: GPL-2.0
/*
 * Run whole bodies of x86_64 in the place of the instructions they stand for
 *
 * Usage: jump-run-x86 [-s SEED] [-r ROUNDS]
 *
 * A body consists of an optional detour through a stub, one or two counters, the
 * relocated instruction and the jump back.
 * It and the instruction run from the same registers, flags and stack, for all
 * flags that a program can set, and must have the same results: registers, flags,
 * memory above the end of the red zone, and the next address.  The counters are
 * incremented in the lane that the stack pointer selects, and nowhere else.
 *
 * All memory but the stubs is in the lowest 4 GiB, where nothing but the test is.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/uhook_code.h>
#include "run_state_x86.h"

#define BODIES		0x21000000UL
#define LANES		0x22000000UL
/* No displacement reaches this address. */
#define STUBS		0x500000000000UL
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)

/* Bytes below the red zone that the counter may use. */
#define BELOW		128

/* An instruction, and where it has a displacement or a branch's target, if so. */
struct sample {
	const char *name;
	u8 bytes[8];
	u8 len;
	u8 data;		/* where it has the displacement of data */
	u8 near;		/* where it has one of 32 bits to the branch's target */
};

#define SAMPLE(name, bytes)	{ name, bytes, sizeof(bytes) - 1, 0, 0 }

static const struct sample samples[] = {
	SAMPLE("nop", "\x90"),
	SAMPLE("push %rbp", "\x55"),
	SAMPLE("push %rcx", "\x51"),
	SAMPLE("push %rsp", "\x54"),
	SAMPLE("pushfq", "\x9c"),
	SAMPLE("lahf", "\x9f"),
	SAMPLE("cld", "\xfc"),
	SAMPLE("std", "\xfd"),
	SAMPLE("push %r12", "\x41\x54"),
	SAMPLE("endbr64", "\xf3\x0f\x1e\xfa"),
	SAMPLE("sub $0x18,%rsp", "\x48\x83\xec\x18"),
	SAMPLE("sub $0x188,%rsp", "\x48\x81\xec\x88\x01\x00\x00"),
	SAMPLE("mov %rsp,%rax", "\x48\x89\xe0"),
	SAMPLE("adc %rcx,%rdx", "\x48\x11\xca"),
	SAMPLE("seto %cl", "\x0f\x90\xc1"),
	SAMPLE("cmovs %rcx,%rax", "\x48\x0f\x48\xc1"),
	SAMPLE("mov -8(%rsp),%rcx", "\x48\x8b\x4c\x24\xf8"),
	SAMPLE("mov -0x80(%rsp),%rcx", "\x48\x8b\x4c\x24\x80"),
	SAMPLE("xchg %rcx,-0x78(%rsp)", "\x48\x87\x4c\x24\x88"),
	{ "mov data(%rip),%rcx", "\x48\x8b\x0d\x00\x00\x00\x00", 7, 3, 0 },
	{ "mov %rcx,data(%rip)", "\x48\x89\x0d\x00\x00\x00\x00", 7, 3, 0 },
	SAMPLE("pop %rcx", "\x59"),
	{ "jmp", "\xe9\x00\x00\x00\x00", 5, 0, 1 },
	SAMPLE("jmp, short", "\xeb\x40"),
};

#define SAMPLES_COUNT	(sizeof(samples) / sizeof(*samples))
#define CONDITIONS	16

/* How far a short branch goes. */
#define SHORT		0x40

static unsigned long runs, lanes_used;
static u8 lanes[LANES_SIZE];
static struct outcome original, moved;

static void put_displacement(unsigned long at, unsigned long target)
{
	const s32 displacement = target - (at + sizeof(s32));

	memcpy((void *)at, &displacement, sizeof(displacement));
}

/* The program: an instruction, and the ends of where it can go. */
static unsigned long put_site(const struct sample *sample)
{
	const unsigned long site = SITES + random_next() % (PAGE / 2);
	const unsigned long next = site + sample->len;

	memcpy((void *)site, sample->bytes, sample->len);
	put_end(next, 0);
	put_end(next + SHORT, 1);
	if (sample->data)
		put_displacement(site + sample->data, STACK + STACK_SIZE / 2);
	if (sample->near)
		put_displacement(site + sample->near, next + SHORT);
	return site;
}

/* Write a detour through a stub. */
static size_t put_stub(const struct sample *sample, unsigned long at)
{
	const unsigned long stub = STUBS + random_next() % (PAGE / UHOOK_STUB_SIZE) *
				   UHOOK_STUB_SIZE;

	/* Alignment may be checked. */
	if (at % sizeof(u64) || random_next() % 2)
		return 0;
	if (uhook_stub_code((u8 *)at, sample->bytes, stub) ||
	    uhook_stub_code((u8 *)stub, sample->bytes, at + UHOOK_STUB_SIZE)) {
		complain("%s: no stub", sample->name);
		exit(1);
	}
	return UHOOK_STUB_SIZE;
}

/* Write counters, for the given cells, and the copy of the instruction. */
static unsigned long put_body(const struct sample *sample, unsigned long site,
			      unsigned long *cells, size_t handlers)
{
	const unsigned long anywhere = BODIES + random_next() % (PAGE - UHOOK_BODY_SIZE);
	const unsigned long body = random_next() % 2 ? anywhere : anywhere & ~7UL;
	unsigned long at = body;
	struct uhook_copy copy;
	size_t i;

	at += put_stub(sample, at);
	for (i = 0; i < handlers; i++) {
		const int len = uhook_count_code((u8 *)at, body + UHOOK_BODY_SIZE - at, at,
						 cells[i]);

		if (len < 0) {
			complain("%s: no counter", sample->name);
			exit(1);
		}
		at += len;
	}
	if (uhook_relocate_branch(sample->bytes, sample->len, site, at, &copy)) {
		complain("%s: not relocated", sample->name);
		exit(1);
	}
	/* Relocate the bytes of the site: they have the displacements. */
	uhook_relocate_branch((void *)site, sample->len, site, at, &copy);
	memcpy((void *)at, copy.bytes, copy.len);
	return body;
}

static void check_state(const struct sample *sample)
{
	expect_outcome(sample->name, &moved, original.regs, original.stack, BELOW);
	if (original.ended != moved.ended)
		complain("%s: another end", sample->name);
}

/* The lanes must be as they were, but for one more in one of them. */
static void check_lanes(const struct sample *sample, const unsigned long *cells, size_t handlers)
{
	const unsigned long lane = (jump_wanted[RSP] - RED_ZONE - 16) % LANES_SIZE &
				   ~(UHOOK_LANE_SIZE - 1);
	size_t i;

	for (i = 0; i < handlers; i++)
		++*(u64 *)(lanes + (cells[i] - LANES) + lane);
	if (memcmp(lanes, (void *)LANES, LANES_SIZE)) {
		complain("%s: not counted once in its lane", sample->name);
		memcpy(lanes, (void *)LANES, LANES_SIZE);
	}
	lanes_used |= 1UL << lane / UHOOK_LANE_SIZE;
}

static void check(const struct sample *sample, u32 which)
{
	const size_t handlers = 1 + random_next() % 2;
	unsigned long cells[2];
	unsigned long site, body;

	cells[0] = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	cells[1] = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	site = put_site(sample);
	body = put_body(sample, site, cells, handlers);
	make_regs(which, random_sp());

	run(site, &original, jump_enter);
	/* The instruction itself must not run any more, only its ends. */
	memset((void *)site, 0xcc, sample->len);
	run(body, &moved, jump_enter);
	check_state(sample);
	check_lanes(sample, cells, handlers);
	runs++;
}

/* Both forms of a condition; each must have been true and false. */
static void check_condition(u8 condition, bool near)
{
	struct sample sample = { .name = near ? "near jcc" : "short jcc" };
	unsigned int ended[2] = {};
	u32 which;

	if (near) {
		sample.bytes[0] = 0x0f;
		sample.bytes[1] = 0x80 | condition;
		sample.near = 2;
		sample.len = 6;
	} else {
		sample.bytes[0] = 0x70 | condition;
		sample.bytes[1] = SHORT;
		sample.len = 2;
	}
	for (which = 0; which < 1 << FLAGS_COUNT; which++) {
		check(&sample, which);
		ended[original.ended]++;
	}
	if (!ended[0] || !ended[1])
		complain("%s: never true, or never false", sample.name);
}

static void set_up(void)
{
	size_t i;

	/* A body that does not end ends the test. */
	run_set_up(300);
	map_at(BODIES, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map_at(LANES, LANES_SIZE, PROT_READ | PROT_WRITE);
	map_at(STUBS, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	/* Counters of 64 bits: some are about to need the upper half. */
	for (i = 0; i < LANES_SIZE; i++)
		lanes[i] = i % 16 < 4 ? 0xff : random_next();
	memcpy((void *)LANES, lanes, LANES_SIZE);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1, round;
	size_t i;
	u32 which;

	read_options(argc, argv, "r:", &rounds);
	set_up();

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < SAMPLES_COUNT; i++) {
			for (which = 0; which < 1 << FLAGS_COUNT; which++)
				check(samples + i, which);
		}
		for (i = 0; i < CONDITIONS; i++) {
			check_condition(i, false);
			check_condition(i, true);
		}
	}
	if (lanes_used != (1UL << UHOOK_LANES) - 1)
		complain("not all lanes were used");
	printf("%lu bodies run\n", runs);
	return verdict();
}
