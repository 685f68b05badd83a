// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT streams as processors may write them, and the expected events
 *
 * The streams are written here, packet by packet, by the processor's manual and its
 * lists of errata; the plugin's emitter has no part in it.
 *
 * Usage: synth-pt DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "synth.h"

/**
 * struct pt_case - a stream
 * @name: description of the stream
 * @write: writes it, after a PSB+ unless @raw
 * @events: expected events
 * @raw: it has no PSB+ at its begin
 * @model: of a processor with errata, or 0
 */
struct pt_case {
	const char *name;
	void (*write)(struct synth *s);
	const char *events;
	bool raw;
	unsigned int model;
};

#define ENTRY(i)	synth_stub(i, SYNTH_ENTRY)
#define EXIT(i)		synth_stub(i, SYNTH_EXIT)
#define TEXT(i)		(SYNTH_TEXT + 0x1000 * (i))

static void plain(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_event(s, 1, SYNTH_ENTRY);
	synth_event(s, 1, SYNTH_EXIT);
	synth_event(s, 0, SYNTH_EXIT);
}

static void psb_inside(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1));
	synth_psb(s, ENTRY(1));
	synth_pgd(s, TEXT(1));
	synth_event(s, 1, SYNTH_EXIT);
}

static void psb_everywhere(struct synth *s)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		synth_psb(s, 0);
		synth_pge(s, ENTRY(i));
		synth_psb(s, ENTRY(i));
		synth_psb(s, ENTRY(i));
		synth_pgd(s, TEXT(i));
		synth_psb(s, 0);
	}
}

static void interrupt(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1));
	synth_fup(s, ENTRY(1));
	synth_pgd(s, 0xffffffff81e00000);
	/* The handler has traced functions, too. */
	synth_event(s, 5, SYNTH_ENTRY);
	synth_event(s, 5, SYNTH_EXIT);
	synth_event(s, 1, SYNTH_ENTRY);
}

static void interrupt_bare(struct synth *s)
{
	synth_pge(s, ENTRY(1));
	synth_fup(s, ENTRY(1));
	synth_pgd_bare(s);
	synth_event(s, 1, SYNTH_ENTRY);
}

/* After the first instruction of a stub that has two. */
static void interrupt_middle(struct synth *s)
{
	synth_pge(s, EXIT(1));
	synth_fup(s, EXIT(1) + 4);
	synth_pgd(s, 0xffffffff81e00000);
	synth_pge(s, EXIT(1) + 4);
	synth_pgd(s, TEXT(1));
}

static void no_target(struct synth *s)
{
	synth_pge(s, ENTRY(0));
	synth_pgd_bare(s);
	synth_pge(s, ENTRY(1));
	synth_pgd_bare(s);
}

static void conditional(struct synth *s)
{
	/* Two conditional branches: the second one is taken, the first one was not. */
	synth_pge(s, ENTRY(0));
	synth_bytes(s, "\x04", 1);
	synth_pgd_bare(s);
	synth_pge(s, ENTRY(1));
	synth_pgd_bare(s);
}

static void indirect(struct synth *s)
{
	synth_pge(s, EXIT(0));
	synth_tip(s, EXIT(0) + 6);
	synth_pgd(s, TEXT(0));
	synth_event(s, 1, SYNTH_ENTRY);
}

static void overflow_outside(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_ovf(s);
	synth_event(s, 3, SYNTH_ENTRY);
}

static void overflow_inside(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1));
	synth_ovf(s);
	synth_fup(s, ENTRY(2));
	synth_pgd(s, TEXT(2));
	synth_event(s, 3, SYNTH_ENTRY);
}

static void overflow_left(struct synth *s)
{
	synth_pge(s, ENTRY(1));
	synth_ovf(s);
	synth_event(s, 3, SYNTH_ENTRY);
}

static void timing(struct synth *s)
{
	static const u8 tma[] = { 0x02, 0x73, 0x10, 0, 0, 0, 0 };
	unsigned int i;

	synth_bytes(s, tma, sizeof(tma));
	for (i = 0; i < 3; i++) {
		synth_bytes(s, "\x59\x05\x00\x00", 4);		/* MTC, two PADs */
		synth_bytes(s, "\x07\x04", 2);			/* CYC */
		synth_pge(s, ENTRY(i));
		synth_bytes(s, "\x13", 1);
		synth_bytes(s, "\x02\x03\x14\x00", 4);		/* CBR */
		synth_pgd(s, TEXT(i));
		synth_bytes(s, "\x19\x00\x00\x02\x00\x00\x00\x00", 8);
		synth_bytes(s, "\xff\xff\x02", 3);
	}
}

/* Packets that are lost by SKL062 and similar errata. */
static void enable_missing(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pgd(s, TEXT(1));
	synth_event(s, 2, SYNTH_ENTRY);
	synth_psb(s, 0);
	synth_event(s, 3, SYNTH_ENTRY);
}

static void disable_missing(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1));
	synth_pge(s, ENTRY(2));
	synth_pgd(s, TEXT(2));
	synth_psb(s, 0);
	synth_event(s, 3, SYNTH_ENTRY);
}

static void corrupt(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_bytes(s, "\x02\xff\xe5\x55", 4);
	synth_event(s, 1, SYNTH_ENTRY);
	synth_psb(s, 0);
	synth_event(s, 2, SYNTH_ENTRY);
}

/* The point where decoding can continue is in the middle of a stub. */
static void corrupt_resumed_inside(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_bytes(s, "\x02\xff\xe5\x55", 4);
	synth_psb(s, ENTRY(2));
	synth_pgd(s, TEXT(2));
	synth_event(s, 3, SYNTH_ENTRY);
}

static void truncated(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_bytes(s, "\x51\x00\x00", 3);
}

static void ends_inside(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1));
}

static void padded(struct synth *s)
{
	static const u8 zeros[512];

	plain(s);
	synth_bytes(s, zeros, sizeof(zeros));
}

static void garbage_first(struct synth *s)
{
	synth_event(s, 4, SYNTH_ENTRY);
	synth_psb(s, 0);
	plain(s);
}

static void nothing(struct synth *s __unused)
{
}

static void far_addresses(struct synth *s)
{
	synth_pge(s, ENTRY(0));
	synth_pgd(s, 0x7f0012345678);		/* six bytes */
	synth_pge(s, ENTRY(1));
	synth_pgd(s, 0x1234567812345678);	/* eight bytes */
	synth_event(s, 2, SYNTH_ENTRY);
}

static void strange(struct synth *s)
{
	synth_event(s, 0, SYNTH_ENTRY);
	synth_pge(s, SYNTH_BLOCK + 0x7f00);
	synth_pgd(s, TEXT(0));
	synth_pge(s, SYNTH_BLOCK + 0x7f10);	/* one gap for both */
	synth_pgd(s, TEXT(0));
	synth_event(s, 1, SYNTH_ENTRY);
	synth_pge(s, ENTRY(1) + 6);		/* after the stub, before the next one */
	synth_pgd(s, TEXT(1));
}

static const struct pt_case cases[] = {
	{ "entries and exits", plain, "E0 E1 X1 X0 " },
	{ "PSB+ in a stub", psb_inside, "E0 E1 X1 " },
	{ "PSB+ anywhere", psb_everywhere, "E0 E1 E2 " },
	{ "an interrupt on a stub", interrupt, "E0 E5 X5 E1 " },
	{ "an interrupt, no target", interrupt_bare, "E1 " },
	{ "an interrupt in the middle of a stub", interrupt_middle, "X1 " },
	{ "no targets", no_target, "E0 E1 " },
	{ "no targets, by erratum", no_target, "E0 E1 ", .model = 0x5e },
	{ "conditional branches", conditional, "E0 E1 " },
	{ "an indirect branch in a stub", indirect, "X0 E1 " },
	{ "overflow, resolved outside", overflow_outside, "E0 ! E3 " },
	{ "overflow, resolved in a stub", overflow_inside, "E0 ! E2 E3 " },
	{ "overflow in a stub", overflow_left, "! E3 " },
	{ "timing packets", timing, "E0 E1 E2 " },
	{ "an enable is missing", enable_missing, "E0 ! E2 E3 " },
	{ "a disable is missing", disable_missing, "E0 ! E2 E3 " },
	{ "no packet at all", corrupt, "E0 ! E2 " },
	{ "goes on in a stub", corrupt_resumed_inside, "E0 ! E2 E3 " },
	{ "cut off in a packet", truncated, "E0 ! " },
	{ "cut off in a stub", ends_inside, "E0 ! " },
	{ "zeros at the end", padded, "E0 E1 X1 X0 " },
	{ "something before the first PSB", garbage_first, "! E0 E1 X1 X0 ", .raw = true },
	{ "no PSB", plain, "! ", .raw = true },
	{ "an empty stream", nothing, "", .raw = true },
	{ "addresses of all sizes", far_addresses, "E0 E1 E2 " },
	{ "addresses of no stub", strange, "E0 ! E1 ! " },
};

struct seen {
	unsigned int events, gaps;
	u64 lost;
};

static void count_hit(struct sink *sink, struct thread *thread __unused,
		      const struct map_stub *stub __unused)
{
	((struct seen *)sink->data)->events++;
}

static void count_gap(struct sink *sink, struct thread *thread __unused,
		      const char *why __unused, u64 lost)
{
	struct seen *seen = sink->data;

	seen->gaps++;
	seen->lost += lost;
}

static const struct sink_ops sink_seen = { .hit = count_hit, .gap = count_gap };

static void ten_calls(struct synth *s)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		synth_event(s, i, SYNTH_ENTRY);
		synth_event(s, i, SYNTH_EXIT);
	}
}

/* No packet at all, then damaged points, and undamaged ones after them. */
static int damaged_points(const char *directory)
{
	const struct recording like = { .threads = true };
	struct seen seen = { 0 };
	struct sink sink = { .ops = &sink_seen, .data = &seen };
	struct synth synth;
	unsigned int i, j;

	synth_begin(directory, &like);
	synth_open(&synth, directory, 0);
	synth_psb(&synth, 0);
	ten_calls(&synth);
	synth_bytes(&synth, "\x02\xff", 2);
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 8; j++)
			synth_bytes(&synth, "\x02\x82", 2);
		synth_bytes(&synth, "\x02\xff", 2);
	}
	for (i = 0; i < 100; i++) {
		synth_psb(&synth, 0);
		ten_calls(&synth);
	}
	synth_close(&synth);
	if (synth_run(directory, &sink, -1))
		return 1;
	if (seen.events == 2020 && seen.gaps == 1 && seen.lost == 2 + 2 * 18)
		return 0;
	printf("damaged points: %u events, %u gaps of %llu bytes\n", seen.events, seen.gaps,
	       seen.lost);
	return 1;
}

int main(int argc, char **argv)
{
	char directory[4096], events[1000], calls[1000];
	unsigned int i, failed = 0;
	struct synth synth;

	if (argc != 2) {
		fprintf(stderr, "Usage: synth-pt DIRECTORY\n");
		return 1;
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recording like = { .threads = true, .model = cases[i].model };

		if (like.model)
			like.family = 6;
		snprintf(directory, sizeof(directory), "%s/pt.%u", argv[1], i);
		synth_begin(directory, &like);
		synth_open(&synth, directory, 0);
		if (!cases[i].raw)
			synth_psb(&synth, 0);
		cases[i].write(&synth);
		synth_close(&synth);
		if (!synth_decode(directory, -1, events, calls, sizeof(events)) &&
		    !strcmp(events, cases[i].events))
			continue;
		printf("%s: '%s' instead of '%s'\n", cases[i].name, events, cases[i].events);
		failed++;
	}
	snprintf(directory, sizeof(directory), "%s/pt.points", argv[1]);
	failed += damaged_points(directory);
	return failed ? 1 : 0;
}
