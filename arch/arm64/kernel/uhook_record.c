// SPDX-License-Identifier: GPL-2.0
/*
 * The code that records hits in a program, on arm64
 *
 * It uses x9 to x12, which never hold arguments of functions, so that registers that are
 * likely to be selected can be stored directly. Flags are not changed: values are
 * compared by subtraction. As in the counter, the stack pointer is lowered before
 * anything is stored, and stays at a multiple of 16.
 *
 * Memory ordering: the tail is loaded after the head (LDAR), and so is never older than
 * the head. With a stale head the ring looks too empty, but never full; then the head is
 * not replaced, and the code starts again. The turn of the entry is loaded after the tail
 * (LDAR). Stores into the entry depend on branches on the tail and the head, so they
 * cannot pass the loads, and the store that completes the entry is a release (STLR).
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uhook_ring.h>
#include <asm/insn.h>
#include <asm/uhook.h>
#include "uhook_code.h"
#include "uhook_record.h"

/* Range of registers that the code uses, and number of the stack pointer. */
#define FIRST_USED	9
#define LAST_USED	12
#define SP		31

#define RING(field)	offsetof(struct uhook_ring, field)
#define ENTRY(field)	offsetof(struct uhook_ring_entry, field)

/* Offset fields of loads and stores, in words of 64 bits. */
#define OFFSET(bytes)	((bytes) / 8 << 10)
#define PAIR(bytes)	((bytes) / 8 << 15)

static_assert(sizeof(struct uhook_ring_entry) == 128 && RING(head) == 0 && ENTRY(seq) == 0);
static_assert(UHOOK_RING_ENTRIES == 0x1000);
/* These are stored in pairs. */
static_assert(ENTRY(thread) == ENTRY(time) + 8);
static_assert(ENTRY(unused) == ENTRY(id) + 4 && ENTRY(sp) == ENTRY(id) + 8);

static const u32 push[] = {
	0xa9be2be9,			/* stp	x9, x10, [sp, #-32]! */
	0xa90133eb,			/* stp	x11, x12, [sp, #16] */
};

/* x9 is the ring; x10 becomes the number, if there is room. */
static const u32 look[] = {
	0xc8dffd2a,			/* ldar	x10, [x9] */
	0x9100012b | RING(tail) << 10,	/* add	x11, x9, #tail */
	0xc8dffd6b,			/* ldar	x11, [x11] */
	0xcb0a016b,			/* sub	x11, x11, x10 */
	0x913ffd6b,			/* add	x11, x11, #ENTRIES - 1 */
};

#define TBZ_SIGN_X11	0xb6f8000b	/* tbz	x11, #63, */

/* x9 is the counter. */
static const u32 lose_lse[] = {
	0xd280002a,			/* mov	x10, #1 */
	0xf82a013f,			/* stadd x10, [x9] */
};

static const u32 lose_exclusive[] = {
	0xc85f7d2a,			/* ldxr	x10, [x9] */
	0x9100054a,			/* add	x10, x10, #1 */
	0xc80b7d2a,			/* stxr	w11, x10, [x9] */
	0x35ffffab,			/* cbnz	w11, the ldxr */
};

/* Write the number plus one to x12 and to the head. */
static const u32 take_lse[] = {
	0x9100054c,			/* add	x12, x10, #1 */
	0xaa0a03eb,			/* mov	x11, x10 */
	0xc8ab7d2c,			/* cas	x11, x12, [x9] */
	0xcb0a016b,			/* sub	x11, x11, x10 */
};

/* No instruction between the exclusives may fault or access memory. */
static const u32 take_exclusive[] = {
	0xc85f7d2b,			/* ldxr	x11, [x9] */
	0xcb0a016b,			/* sub	x11, x11, x10 */
	0xb500008b,			/* cbnz	x11, the last one */
	0x9100054c,			/* add	x12, x10, #1 */
	0xc80b7d2c,			/* stxr	w11, x12, [x9] */
	0x35ffff6b,			/* cbnz	w11, the ldxr */
};

#define CBNZ_X11	0xb500000b	/* cbnz	x11, */

/* x9 becomes the entry; x11 becomes 0 if it is the number's turn. */
static const u32 turn[] = {
	0xd34cfd4b,			/* lsr	x11, x10, #12 */
	0x92402d4a,			/* and	x10, x10, #ENTRIES - 1 */
	0x8b0a1d29,			/* add	x9, x9, x10, lsl #7 */
	0x91400129 | UHOOK_LANE_SIZE >> 12 << 10,	/* add	x9, x9, #LANE */
	0xf940012a | OFFSET(ENTRY(turn)),	/* ldr	x10, [x9, #turn] */
	0xcb0a016b,			/* sub	x11, x11, x10 */
};

static const u32 begin[] = {
	0xd53be04a,			/* mrs	x10, cntvct_el0 */
	0xd53bd04b,			/* mrs	x11, tpidr_el0 */
	0xa9002d2a | PAIR(ENTRY(time)),	/* stp	x10, x11, [x9, #time] */
};

#define MOVZ_X10	0xd280000a
#define MOVK_X10_UPPER	0xf2a0000a

/* Leaves the program's stack pointer in x11. */
static const u32 sp_code[] = {
	0x910083eb,			/* add	x11, sp, #32 */
	0xa9002d2a | PAIR(ENTRY(id)),	/* stp	x10, x11, [x9, #id] */
};

#define LDR_X10_SP	0xf94003ea	/* ldr	x10, [sp, #] */
#define STR_X9		0xf9000120	/* str	x?, [x9, #] */

/*
 * Store the words at the stack pointer, and 0 for words on another page of 4 KiB than the
 * byte below, because the stack may end there. These are all four if the stack pointer is
 * at the start of a page, and two if it is 16 bytes before the end of a page.
 */
static const u32 stack_code[] = {
	0xa9007d3f | PAIR(ENTRY(stack)),	/* stp	xzr, xzr, [x9, #stack] */
	0xa9007d3f | PAIR(ENTRY(stack[2])),	/* stp	xzr, xzr, [x9, #stack + 16] */
	0xcb0b03eb,			/* neg	x11, x11 */
	0xd3442d6b,			/* ubfx	x11, x11, #4, #8 */
	0xb400012b,			/* cbz	x11, the end */
	0xf94013ea,			/* ldr	x10, [sp, #32] */
	0xf900012a | OFFSET(ENTRY(stack)),	/* str	x10, [x9, #stack] */
	0xf94017ea,			/* ldr	x10, [sp, #40] */
	0xf900012a | OFFSET(ENTRY(stack[1])),	/* str	x10, [x9, #stack + 8] */
	0xd341fd6b,			/* lsr	x11, x11, #1 */
	0xb400006b,			/* cbz	x11, the end */
	0xa9432fea,			/* ldp	x10, x11, [sp, #48] */
	0xa9002d2a | PAIR(ENTRY(stack[2])),	/* stp	x10, x11, [x9, #stack + 16] */
};

static const u32 finish[] = {
	0xc89ffd2c,			/* stlr	x12, [x9] */
};

static const u32 pop[] = {
	0xa94133eb,			/* ldp	x11, x12, [sp, #16] */
	0xa8c22be9,			/* ldp	x9, x10, [sp], #32 */
};

/**
 * struct writer - code that is being written
 * @words: the code so far
 * @error: first error, after which nothing is added
 */
struct writer {
	struct uhook_words words;
	int error;
};

static void add_one(struct writer *w, u32 word)
{
	if (!w->error)
		w->error = uhook_add_word(&w->words, word);
}

static void add(struct writer *w, const u32 *word, unsigned int count)
{
	while (count--)
		add_one(w, *word++);
}

static void add_address(struct writer *w, unsigned long address)
{
	if (!w->error)
		w->error = uhook_add_address(&w->words, FIRST_USED, address);
}

/* Fill in a word that was left out, at an offset in bytes. */
static void set_word(struct writer *w, size_t place, u32 word)
{
	struct uhook_words words = {
		.bytes = w->words.bytes + place,
		.size = AARCH64_INSN_SIZE,
	};

	if (!w->error)
		w->error = uhook_add_word(&words, word);
}

/* Write a B at an offset, to the current end of the code. */
static void set_jump(struct writer *w, size_t place)
{
	struct uhook_words jump = {
		.bytes = w->words.bytes + place,
		.size = AARCH64_INSN_SIZE,
		.at = w->words.at + place,
	};

	if (!w->error)
		w->error = uhook_add_jump(&jump, w->words.at + w->words.len);
}

/* Offset field of TBZ and CBNZ, which reach all of a recorder. */
static u32 offset_field(size_t from, size_t to, unsigned int bits)
{
	const long words = ((long)to - (long)from) / AARCH64_INSN_SIZE;

	return (words & (BIT(bits) - 1)) << 5;
}

/*
 * Take a number, and look whether it is its turn. Return the offset of a B that is yet to be
 * set to the end of the recorder, for a lost record.
 */
static size_t add_take(struct writer *w, unsigned long lost, bool lse)
{
	const size_t again = w->words.len;
	size_t branch, full, lose;

	add(w, look, ARRAY_SIZE(look));
	branch = w->words.len;
	add_one(w, 0);
	lose = w->words.len;
	add_address(w, lost);
	if (lse)
		add(w, lose_lse, ARRAY_SIZE(lose_lse));
	else
		add(w, lose_exclusive, ARRAY_SIZE(lose_exclusive));
	full = w->words.len;
	add_one(w, 0);

	set_word(w, branch, TBZ_SIGN_X11 | offset_field(branch, w->words.len, 14));
	if (lse)
		add(w, take_lse, ARRAY_SIZE(take_lse));
	else
		add(w, take_exclusive, ARRAY_SIZE(take_exclusive));
	add_one(w, CBNZ_X11 | offset_field(w->words.len, again, 19));
	add(w, turn, ARRAY_SIZE(turn));
	add_one(w, CBNZ_X11 | offset_field(w->words.len, lose, 19));
	return full;
}

static void add_id(struct writer *w, u32 id)
{
	add_one(w, MOVZ_X10 | (id & 0xffff) << 5);
	if (id >> 16)
		add_one(w, MOVK_X10_UPPER | id >> 16 << 5);
	add(w, sp_code, ARRAY_SIZE(sp_code));
}

/* Store a selected register in the entry, through x10 if the code uses the register. */
static void add_arg(struct writer *w, unsigned int reg, size_t to)
{
	if (reg == SP) {
		reg = 11;
	} else if (reg >= FIRST_USED && reg <= LAST_USED) {
		add_one(w, LDR_X10_SP | OFFSET((reg - FIRST_USED) * sizeof(u64)));
		reg = 10;
	}
	add_one(w, STR_X9 | OFFSET(to) | reg);
}

static bool is_valid(const struct uhook_recorder *recorder)
{
	unsigned int i;

	if (recorder->nr_regs > UHOOK_RECORD_ARGS)
		return false;
	for (i = 0; i < recorder->nr_regs; i++) {
		if (recorder->regs[i] > SP)
			return false;
	}
	return true;
}

int uhook_make_record(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder, bool lse)
{
	struct writer w = { .words = { .bytes = code, .size = size, .at = at } };
	unsigned int i;
	size_t full;

	if (!is_valid(recorder))
		return -EINVAL;

	add(&w, push, ARRAY_SIZE(push));
	add_address(&w, recorder->ring);
	full = add_take(&w, recorder->lost, lse);
	add(&w, begin, ARRAY_SIZE(begin));
	add_id(&w, recorder->id);
	for (i = 0; i < recorder->nr_regs; i++)
		add_arg(&w, recorder->regs[i], ENTRY(args) + i * sizeof(u64));
	if (recorder->stack)
		add(&w, stack_code, ARRAY_SIZE(stack_code));
	add(&w, finish, ARRAY_SIZE(finish));
	set_jump(&w, full);
	add(&w, pop, ARRAY_SIZE(pop));
	return w.error ?: w.words.len;
}

int uhook_record_code(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder)
{
	return uhook_make_record(code, size, at, recorder, uhook_has_lse());
}
