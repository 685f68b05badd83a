/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between fhook-rewrite and an architecture
 *
 * The files that implement this are built with headers of the kernel, as its relocators are.
 * The kernel's types have the names of those in lib/base.h, but may differ, so only types of
 * the C library may be used here.
 */
#ifndef FHOOK_REWRITE_ARCH_H
#define FHOOK_REWRITE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The maximum size of a copied instruction. */
#define REWRITE_COPY_MAX	48

enum rewrite_kind {
	INSN_BAD,		/* not an instruction */
	INSN_PLAIN,
	INSN_NOP,		/* no effect, or a breakpoint: padding if it cannot be reached */
	INSN_LANDING,		/* required at the target of an indirect branch */
	INSN_CALL,
	INSN_JUMP,
	INSN_CONDITIONAL,
	INSN_INDIRECT,		/* a jump to an address in a register */
	INSN_MEMORY,		/* a jump to an address in memory */
	INSN_TABLE,		/* the same, after adding an element of a table */
	INSN_RETURN,
	INSN_END,		/* execution does not continue after it */
};

#define MARK_TARGET	1	/* something may jump here */
#define MARK_TAKEN	2	/* its address is in data, or is computed */
#define MARK_PAD	4	/* exceptions arrive here */
#define MARK_WINDOW	8	/* part of a window */
#define MARK_FIXED	16	/* must not be changed */
#define MARK_USED	32	/* padding that is already used */
#define MARK_REGION	64	/* a function may begin here */
#define MARK_SHARED	128	/* another function jumps here, into the middle of a function */
#define MARK_NUMBER	256	/* its target is a number, an address only if code never moves */
#define MARK_FAULTS	512	/* it may fault: it uses memory, and not only that of the stack */
#define MARK_SWITCHES	1024	/* it enters the kernel, or loads the stack pointer */
#define MARK_ENTERED	2048	/* other files or the loader enter a function in its middle here */
#define MARK_TRAPS	4096	/* it may raise a signal: it uses any such memory, or divides */
#define MARK_PACKED	8192	/* data has its address, or looks so: the data is not aligned */

/**
 * struct rewrite_insn - an instruction
 * @address: address of the instruction
 * @target: target of a direct branch, or address that it computes; 0: none
 * @size: size in bytes
 * @kind: value of enum rewrite_kind
 * @marks: MARK_... bits
 * @window: index of its window, if it is marked so
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
	FLOW_COMPUTED,		/* the registers in WRITTEN have results of arithmetic after it */
	FLOW_CHOICE,		/* TO = BASE or INDEX */
	FLOW_ADDRESS,		/* TO = ADDRESS */
	FLOW_OFFSET,		/* TO = BASE + ADDRESS */
	FLOW_COPY,		/* TO = BASE, or its lower half with its sign */
	FLOW_SUM,		/* TO = BASE + INDEX, of which the second may be scaled */
	FLOW_ENTRY,		/* TO = less than eight bytes at BASE + scaled INDEX */
	FLOW_WORD,		/* TO = eight bytes of memory */
	FLOW_SLOT,		/* TO = eight bytes of the stack, at distance ADDRESS */
	FLOW_STORE,		/* memory = BASE */
	FLOW_JUMP,		/* a jump to BASE */
};

#define FLOW_REGISTERS	32
#define FLOW_NONE	0xff

/**
 * struct rewrite_flow - the effect of an instruction on registers
 * @address: address or distance
 * @written: bit mask of the registers that it writes
 * @kind: value of enum rewrite_flow_kind
 * @to: number of the written register
 * @base: number of a register that is read, or FLOW_NONE
 * @index: number of a second register that is read, or FLOW_NONE
 */
struct rewrite_flow {
	uint64_t address;
	uint32_t written;
	uint8_t kind;
	uint8_t to, base, index;
};

/* The kinds of code that a jump or call may lead to. */
enum rewrite_thunk {
	THUNK_NONE,
	THUNK_INDIRECT,		/* a jump to an address in a register */
	THUNK_RETURN,		/* a return */
};

/* Does execution not continue after the instruction? */
static inline bool rewrite_ends(const struct rewrite_insn *insn)
{
	return insn->kind == INSN_RETURN || insn->kind == INSN_JUMP ||
	       insn->kind == INSN_INDIRECT || insn->kind == INSN_MEMORY ||
	       insn->kind == INSN_TABLE || insn->kind == INSN_END;
}

/**
 * struct rewrite_arch - an architecture
 * @jump_size: size of a jump that reaches the new code
 * @reach: range of a jump
 * @short_size: size of a short jump, which needs a hop; 0 if there is none
 * @short_reach: range of a short jump
 * @stride: distance between stubs
 * @page: largest page size
 * @stack: number of the stack pointer
 * @frame: number of the frame pointer
 * @fill: filler byte that must not be executed, and traps if it is
 */
struct rewrite_arch {
	unsigned int jump_size;
	unsigned int reach;
	unsigned int short_size;
	unsigned int short_reach;
	unsigned int stride;
	unsigned int page;
	uint8_t stack, frame;
	uint8_t fill;

	/* Decode an instruction; returns its kind, or INSN_BAD. PREVIOUS may be NULL. */
	int (*read)(const uint8_t *bytes, size_t size, uint64_t address,
		    const uint8_t *previous, size_t previous_size, struct rewrite_insn *insn);
	/*
	 * Relocate an instruction, without a jump after it. Returns the length of the
	 * result, or a negative error.
	 */
	int (*copy)(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		    uint8_t *copy);
	/* Write a jump of jump_size bytes. Returns 0 or a negative error. */
	int (*jump)(uint64_t at, uint64_t target, uint8_t *bytes);
	/*
	 * The address of the word whose address an entry of the procedure linkage table
	 * jumps to, or a call leads to; or 0.
	 */
	uint64_t (*slot)(const uint8_t *bytes, size_t size, uint64_t address);
	/* The effect of an instruction on registers. */
	void (*flow)(const uint8_t *bytes, size_t size, uint64_t address,
		     struct rewrite_flow *flow);
	/*
	 * Does an instruction, at the target of a call within a function or in a thunk,
	 * replace or drop the pushed return address before a return? NULL: there are
	 * none.
	 */
	int (*thunk)(const uint8_t *bytes, size_t size);
	/* May the base of a table of distances be code of the function? */
	bool bases_in_code;
	/* Write a short jump. */
	void (*short_jump)(uint64_t at, uint64_t target, uint8_t *bytes);
};

/* Defined by each architecture, for its .copy and .jump. */
int rewrite_copy(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		 uint8_t *to_bytes);
int rewrite_jump(uint64_t at, uint64_t target, uint8_t *bytes);

extern const struct rewrite_arch rewrite_x86;
extern const struct rewrite_arch rewrite_arm64;

#endif /* FHOOK_REWRITE_ARCH_H */
