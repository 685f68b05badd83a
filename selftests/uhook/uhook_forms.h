/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the blocks of instructions that uhook_forms runs, and the properties of
 * each instruction. The blocks are assembled twice, with labels and without.
 */
#ifndef _UHOOK_FORMS_H
#define _UHOOK_FORMS_H

#include <stdalign.h>
#include <stdbool.h>

/* Data of the instructions: x19 or %r15 points there. */
struct state {
	alignas(2048) unsigned long in[8];	/* 0 */
	unsigned long out[120];			/* OUT, 64 */
	unsigned char from[256];		/* FROM, 1024 */
	unsigned char to[256];			/* TO, 1280 */
	unsigned char cell[512];		/* CELL, 1536 */
	unsigned char zeroed[2048];		/* ZEROED, 2048 */
};

/* Data that they address relative to themselves. */
#define MEMORY	128

extern unsigned char probed_memory[MEMORY], plain_memory[MEMORY];

/* A block of them, in both forms. */
struct block {
	void (*probed)(struct state *state);
	void (*plain)(struct state *state);
	bool (*have)(void);
};

/* The probed ones make an entry each. */
struct form {
	const char *name;
	const void *addr;
	const char *how;
	unsigned long times;
	unsigned long stepped;
	unsigned long block;
};

extern const struct form __start_forms[], __stop_forms[];

#define BLOCK(name, have) { probed_ ## name, plain_ ## name, have }
#define DECLARE_BLOCK(name) void probed_ ## name(struct state *), plain_ ## name(struct state *)

/* The macros of the blocks, which form and blocks are made of. */
asm(".set OUT, 64\n"
	".set FROM, 1024\n"
	".set TO, 1280\n"
	".set CELL, 1536\n"
	".set ZEROED, 2048\n"
	".macro slot name, insn:vararg\n"
	"	form \\name, slot, 1, 1, \\insn\n"
	".endm\n"
	".macro emul name, insn:vararg\n"
	"	form \\name, emulated, 1, 1, \\insn\n"
	".endm\n"
	".macro noop name, insn:vararg\n"
	"	form \\name, noop, 1, 1, \\insn\n"
	".endm\n"
	".macro rest name, insn:vararg\n"
	"	form \\name, rest, 1, 1, \\insn\n"
	".endm\n"
	".macro place name, insn:vararg\n"
	"	form \\name, place, 1, 1, \\insn\n"
	".endm\n"
	".macro never name, insn:vararg\n"
	"	form \\name, never, 0, 0, \\insn\n"
	".endm\n");

#if defined(__x86_64__)
#include "uhook_forms_x86.h"
#elif defined(__aarch64__)
#include "uhook_forms_arm64.h"
#endif

asm(".text\n"
	".macro form name, how, times, stepped, insn:vararg\n"
	"probed_\\name:\n"
	"	\\insn\n"
	"	.pushsection .rodata\n"
	"881:	.asciz \"\\name\"\n"
	"882:	.asciz \"\\how\"\n"
	"	.popsection\n"
	"	.pushsection forms, \"aw\"\n"
	"	.balign 8\n"
	"	.quad 881b, probed_\\name, 882b, \\times, \\stepped, BLOCK\n"
	"	.popsection\n"
	".endm\n"
	"	blocks probed\n"
	".purgem form\n"
	".macro form name, how, times, stepped, insn:vararg\n"
	"	\\insn\n"
	".endm\n"
	"	blocks plain\n");

extern const char etext[];

#endif /* _UHOOK_FORMS_H */
