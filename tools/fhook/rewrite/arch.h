/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fhook-rewrite has to know of an architecture
 *
 * The files that implement this are built with headers of the kernel, as its relocators
 * are, whose names of types are those of lib/base.h and not always the same types: nothing
 * but the C library's own may stand here.
 */
#ifndef FHOOK_REWRITE_ARCH_H
#define FHOOK_REWRITE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A copy of an instruction, at the longest. */
#define REWRITE_COPY_MAX	48

enum rewrite_kind {
	INSN_BAD,		/* none */
	INSN_PLAIN,
	INSN_NOP,		/* nothing, or a breakpoint: padding if nobody comes there */
	INSN_LANDING,		/* what an indirect branch must find at its target */
	INSN_CALL,
	INSN_JUMP,
	INSN_CONDITIONAL,
	INSN_INDIRECT,		/* a jump to what a register says */
	INSN_MEMORY,		/* a jump to what memory says */
	INSN_TABLE,		/* that, and a sum with an element of a table was made before */
	INSN_RETURN,
	INSN_END,		/* nothing comes behind it */
};

#define MARK_TARGET	1	/* something may jump there */
#define MARK_TAKEN	2	/* its address is known to data, or computed */
#define MARK_PAD	4	/* exceptions land there */
#define MARK_WINDOW	8	/* it is in a window */
#define MARK_FIXED	16	/* it must stay as it is */
#define MARK_USED	32	/* padding that has been given away */
#define MARK_REGION	64	/* a function may begin here */
#define MARK_SHARED	128	/* another function jumps here, into the middle of one */
#define MARK_NUMBER	256	/* its target is a number, an address only if code never moves */

/**
 * struct rewrite_insn - one instruction
 * @address: its
 * @target: where a direct branch leads to, or what address it computes; 0: none
 * @size: in bytes
 * @kind: enum rewrite_kind
 * @marks: MARK_...
 * @window: index of the window that it is in, if it is marked so
 */
struct rewrite_insn {
	uint64_t address;
	uint64_t target;
	uint8_t size;
	uint8_t kind;
	uint16_t marks;
	uint32_t window;
};

enum rewrite_flow_kind {
	FLOW_OTHER,		/* the registers in WRITTEN have unknown values after it */
	FLOW_ADDRESS,		/* TO = ADDRESS */
	FLOW_OFFSET,		/* TO = BASE + ADDRESS */
	FLOW_COPY,		/* TO = BASE, or its lower half with its sign */
	FLOW_SUM,		/* TO = BASE + INDEX, of which the second may be scaled */
	FLOW_ENTRY,		/* TO = less than eight bytes at BASE + scaled INDEX */
	FLOW_WORD,		/* TO = eight bytes of memory */
	FLOW_SLOT,		/* TO = eight bytes of the stack, at distance ADDRESS */
	FLOW_JUMP,		/* a jump to BASE */
};

#define FLOW_REGISTERS	32
#define FLOW_NONE	0xff

/**
 * struct rewrite_flow - what an instruction computes, as far as jumps depend on it
 * @address: an address or a distance
 * @written: a bit for each register that it writes
 * @kind: enum rewrite_flow_kind
 * @to: number of the register that is written
 * @base: number of a register that is read, or FLOW_NONE
 * @index: number of another one, or FLOW_NONE
 */
struct rewrite_flow {
	uint64_t address;
	uint32_t written;
	uint8_t kind;
	uint8_t to, base, index;
};

/* What a jump or call of some code is, wherever it comes from. */
enum rewrite_thunk {
	THUNK_NONE,
	THUNK_INDIRECT,		/* a jump to what a register says */
	THUNK_RETURN,		/* a return */
};

/* Does nothing follow it? */
static inline bool rewrite_ends(const struct rewrite_insn *insn)
{
	return insn->kind == INSN_RETURN || insn->kind == INSN_JUMP ||
	       insn->kind == INSN_INDIRECT || insn->kind == INSN_MEMORY ||
	       insn->kind == INSN_TABLE || insn->kind == INSN_END;
}

/**
 * struct rewrite_arch - an architecture
 * @jump_size: of a jump that reaches the new code
 * @short_size: of a short one, which needs a hop; 0 if there is none
 * @short_reach: how far that goes
 * @stride: from stub to stub
 * @page: the largest page size
 * @fill: a byte that must not be run, and may be
 */
struct rewrite_arch {
	unsigned int jump_size;
	unsigned int short_size;
	unsigned int short_reach;
	unsigned int stride;
	unsigned int page;
	uint8_t fill;

	/* Read one instruction; returns its kind, or INSN_BAD. PREVIOUS may be NULL. */
	int (*read)(const uint8_t *bytes, size_t size, uint64_t address,
		    const uint8_t *previous, size_t previous_size, struct rewrite_insn *insn);
	/*
	 * What stands for an instruction elsewhere, without the jump behind it. Returns
	 * its length, or a negative error.
	 */
	int (*copy)(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		    uint8_t *copy);
	/* Write a jump of jump_size bytes. Returns 0 or a negative error. */
	int (*jump)(uint64_t at, uint64_t target, uint8_t *bytes);
	/* The word that an entry of the procedure linkage table jumps to, or 0. */
	uint64_t (*slot)(const uint8_t *bytes, size_t size, uint64_t address);
	/* What an instruction computes. */
	void (*flow)(const uint8_t *bytes, size_t size, uint64_t address,
		     struct rewrite_flow *flow);
	/*
	 * Is an instruction, of a call within a function or of a thunk, where the pushed
	 * return address is replaced or dropped before a return? NULL: there are none.
	 */
	int (*thunk)(const uint8_t *bytes, size_t size);
	/* May the base of a table of distances be code of the function? */
	bool bases_in_code;
	/* Write a short jump. */
	void (*short_jump)(uint64_t at, uint64_t target, uint8_t *bytes);
};

/* Of each architecture, for its .copy and .jump. */
int rewrite_copy(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		 uint8_t *to_bytes);
int rewrite_jump(uint64_t at, uint64_t target, uint8_t *bytes);

extern const struct rewrite_arch rewrite_x86;
extern const struct rewrite_arch rewrite_arm64;

#endif /* FHOOK_REWRITE_ARCH_H */
