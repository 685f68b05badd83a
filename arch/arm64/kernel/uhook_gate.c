// SPDX-License-Identifier: GPL-2.0
/*
 * The code that calls functions in a program, on arm64
 *
 * The code in a body pushes x29 and x30 and calls the gate. The call is followed by the
 * addresses of handler, data, counter and site, which the gate finds by its return
 * address.
 *
 * The gate stores the registers for the handler, and below them the mark: the address of
 * the owner word of the stack that it takes. The owner words are followed by as many
 * frame words: the address of the owner's saved registers. A thread that finds its own
 * word as an owner has left a handler by longjmp(), or is still in it: a signal handler
 * has a stack of its own, threads may share the word that identifies them, or a
 * user-space scheduler has suspended the handler. While a handler can continue, its mark
 * stays unchanged, and its stack is not taken again. If the saved registers of the new
 * call are at the same address as the old ones, the handler was left, whatever the mark
 * is.
 *
 * To take a free stack, the gate writes the mark, the owner word, and then the frame
 * word. Until then the frame word is 0, which means that the handler is active. To take
 * an abandoned stack, it changes only the frame word. At the end, the frame word becomes
 * 0 before the owner word, with the stack pointer at the mark, so that a signal frame
 * goes below the mark. Each of these stores is a release, and frame words are read after
 * their owner words. The mark is overwritten only after the frame word.
 *
 * Threads with the same word may find the same stack, and its handler may have ended and
 * begun again at the same address since its mark was read. So the gate reads the mark
 * again after it has changed the frame word. If the mark is there, the gate undoes the
 * change. If it is not, and the frame word is unchanged, no other thread has used the
 * stack, because a thread that leaves writes 0 first.
 *
 * No instruction between exclusives may fault or access memory.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include "uhook_code.h"

/* Offsets of registers that the code below has as numbers. */
static_assert(offsetof(struct uhook_user_regs, x[29]) == 232);
static_assert(offsetof(struct uhook_user_regs, sp) == 248);
static_assert(offsetof(struct uhook_user_regs, pc) == 256);
static_assert(offsetof(struct uhook_user_regs, nzcv) == 264);
static_assert(sizeof(struct uhook_user_regs) == 272);

/* Sizes that the code below has as numbers: an owner word has 8 bytes. */
static_assert(UHOOK_STACKS * sizeof(u64) == 128);
static_assert(sizeof(u64) << 13 == UHOOK_STACK_SIZE);

static const u32 push[] = {
	0xa9bf7bfd,	/* stp	x29, x30, [sp, #-16]! */
};

static const u32 pop[] = {
	0xa8c17bfd,	/* ldp	x29, x30, [sp], #16 */
};

/*
 * Store the registers. x19 becomes their address, x20 the return address: the addresses
 * of handler, data, counter and site start 4 bytes after it.
 */
static const u32 enter[] = {
	0xd10483ff,	/* sub	sp, sp, #288 */
	0xa90107e0,	/* stp	x0, x1, [sp, #16] */
	0xa9020fe2,	/* stp	x2, x3, [sp, #32] */
	0xa90317e4,	/* stp	x4, x5, [sp, #48] */
	0xa9041fe6,	/* stp	x6, x7, [sp, #64] */
	0xa90527e8,	/* stp	x8, x9, [sp, #80] */
	0xa9062fea,	/* stp	x10, x11, [sp, #96] */
	0xa90737ec,	/* stp	x12, x13, [sp, #112] */
	0xa9083fee,	/* stp	x14, x15, [sp, #128] */
	0xa90947f0,	/* stp	x16, x17, [sp, #144] */
	0xa90a4ff2,	/* stp	x18, x19, [sp, #160] */
	0xa90b57f4,	/* stp	x20, x21, [sp, #176] */
	0xa90c5ff6,	/* stp	x22, x23, [sp, #192] */
	0xa90d67f8,	/* stp	x24, x25, [sp, #208] */
	0xa90e6ffa,	/* stp	x26, x27, [sp, #224] */
	0xf9007bfc,	/* str	x28, [sp, #240] */
	0x910043f3,	/* add	x19, sp, #16 */
	0xaa1e03f4,	/* mov	x20, x30 */
	0xa9510660,	/* ldp	x0, x1, [x19, #272] */
	0xa90e8660,	/* stp	x0, x1, [x19, #x29] */
	0x91048260,	/* add	x0, x19, #288 */
	0xf841c281,	/* ldur	x1, [x20, #site] */
	0xa90f8660,	/* stp	x0, x1, [x19, #sp] */
	0xd53b4200,	/* mrs	x0, nzcv */
	0xf9008660,	/* str	x0, [x19, #nzcv] */
};

/* Offset of the registers from the pool, whose address is in x9. */
static const u32 locate[] = {
	0xcb09026a,	/* sub	x10, x19, x9 */
};

#define MOVZ_X11	0xd280000b
#define MOVK_X11_UPPER	0xf2a0000b

/*
 * Take a stack. x12 is the word of this thread, x13 walks the owner words down to the
 * first, x16 is the address of the frame word. x21 becomes the owner word of the stack:
 * that of a free stack, unless an abandoned one is found.
 */
static const u32 take[] = {
	0xeb0b015f,	/* cmp	x10, x11 */
	0x540006a3,	/* b.lo	missed */
	0xd53bd04c,	/* mrs	x12, tpidr_el0 */
	0xf100019f,	/* cmp	x12, #0 */
	0x9a9f158c,	/* csinc x12, x12, xzr, ne */
	0xd2800015,	/* scan: mov x21, #0 */
	0x9102012d,	/* add	x13, x9, #frames */
	0xf85f8dae,	/* next: ldr x14, [x13, #-8]! */
	0xf10001df,	/* cmp	x14, #0 */
	0x9a9501b5,	/* csel	x21, x13, x21, eq */
	0xeb0c01df,	/* cmp	x14, x12 */
	0x54000180,	/* b.eq	own */
	0xeb0901bf,	/* go_on: cmp x13, x9 */
	0x54ffff41,	/* b.ne	next */
	0xb4000515,	/* cbz	x21, missed */
	0xf81f0275,	/* stur	x21, [x19, #mark] */
	0x910202b0,	/* add	x16, x21, #frames */
	0xc85ffeae,	/* again: ldaxr x14, [x21] */
	0xb5fffe6e,	/* cbnz	x14, scan */
	0xc80ffeac,	/* stlxr w15, x12, [x21] */
	0x35ffffaf,	/* cbnz	w15, again */
	0xc89ffe13,	/* stlr	x19, [x16] */
	0x14000026,	/* b	taken */

	0xd50339bf,	/* own: dmb ishld */
	0x910201b0,	/* add	x16, x13, #frames */
	0xf940020e,	/* ldr	x14, [x16] */
	0xb4fffe4e,	/* cbz	x14, go_on */
	0xf81f026d,	/* stur	x13, [x19, #mark] */
	0xeb1301df,	/* cmp	x14, x19 */
	0x54000220,	/* b.eq	left */
	0xf85f01cf,	/* ldur	x15, [x14, #mark] */
	0xeb0d01ff,	/* cmp	x15, x13 */
	0x54fffd80,	/* b.eq	go_on */
	0xc85ffe0f,	/* retry: ldaxr x15, [x16] */
	0xeb0e01ff,	/* cmp	x15, x14 */
	0x54fffd21,	/* b.ne	go_on */
	0xc811fe13,	/* stlxr w17, x19, [x16] */
	0x35ffff91,	/* cbnz	w17, retry */
	0xd5033bbf,	/* dmb	ish */
	0xf85f01cf,	/* ldur	x15, [x14, #mark] */
	0xeb0d01ff,	/* cmp	x15, x13 */
	0x540000e0,	/* b.eq	undo */
	0xd50339bf,	/* dmb	ishld */
	0xf940020f,	/* ldr	x15, [x16] */
	0xeb1301ff,	/* cmp	x15, x19 */
	0x54fffbe1,	/* b.ne	go_on */
	0xaa0d03f5,	/* left: mov x21, x13 */
	0x1400000d,	/* b	taken */
	0xc85ffe0f,	/* undo: ldaxr x15, [x16] */
	0xeb1301ff,	/* cmp	x15, x19 */
	0x54fffb41,	/* b.ne	go_on */
	0xc811fe0e,	/* stlxr w17, x14, [x16] */
	0x35ffff91,	/* cbnz	w17, undo */
	0x17ffffd7,	/* b	go_on */

	0xf8414289,	/* missed: ldur x9, [x20, #missed] */
	0xc85f7d2a,	/* ldxr	x10, [x9] */
	0x9100054a,	/* add	x10, x10, #1 */
	0xc80b7d2a,	/* stxr	w11, x10, [x9] */
	0x35ffffab,	/* cbnz	w11, the ldxr */
	0,		/* b	leave */

	0xcb0902aa,	/* taken: sub x10, x21, x9 */
	0x8b0a3529,	/* add	x9, x9, x10, lsl #13 */
};

#define TAKE_LEAVE	59	/* index of the branch to the end */

/*
 * The instruction in take, twice, that reads a mark. For another mark, execution
 * continues after the b.eq.
 */
#define LOOK		0xf85f01cf	/* ldur	x15, [x14, #mark] */
#define LOOK_SIZE	(3 * AARCH64_INSN_SIZE)

#define ADD_SP_X9_PAGES	0x9140013f	/* add sp, x9, #0, lsl #12 */

/* Make room for the vectors, and save their control registers. */
static const u32 save_control[] = {
	0xd10843ff,	/* sub	sp, sp, #528 */
	0xd53b4420,	/* mrs	x0, fpsr */
	0xd53b4401,	/* mrs	x1, fpcr */
	0xa90007e0,	/* stp	x0, x1, [sp] */
};

static const u32 restore_control[] = {
	0xa94007e0,	/* ldp	x0, x1, [sp] */
	0xd51b4420,	/* msr	fpsr, x0 */
	0xd51b4401,	/* msr	fpcr, x1 */
};

/* Two vectors of 16 bytes; the first two are stored after the control registers. */
#define STP_Q0_Q1	0xad0087e0	/* stp	q0, q1, [sp, #16] */
#define LDP_Q0_Q1	0xad4087e0	/* ldp	q0, q1, [sp, #16] */
#define TWO_ON		(2 << 15 | 2 << 10 | 2)

static const u32 call_handler[] = {
	0xaa1303e0,	/* mov	x0, x19 */
	0xf840c281,	/* ldur	x1, [x20, #data] */
	0xf8404288,	/* ldur	x8, [x20, #handler] */
	0xd63f0100,	/* blr	x8 */
};

/* Return the stack, after leaving it. */
static const u32 give[] = {
	0xd100427f,	/* sub	sp, x19, #16 */
	0x910202a0,	/* add	x0, x21, #frames */
	0xf900001f,	/* str	xzr, [x0] */
	0xd5033abf,	/* dmb	ishst */
	0xc89ffebf,	/* stlr	xzr, [x21] */
};

/* Restore the registers; x29 and x30 go to the place from which the call pops them. */
static const u32 leave[] = {
	0xf9408660,	/* ldr	x0, [x19, #nzcv] */
	0xd51b4200,	/* msr	nzcv, x0 */
	0xa94e8660,	/* ldp	x0, x1, [x19, #x29] */
	0xa9110660,	/* stp	x0, x1, [x19, #272] */
	0xaa1403fe,	/* mov	x30, x20 */
	0xa94107e0,	/* ldp	x0, x1, [sp, #16] */
	0xa9420fe2,	/* ldp	x2, x3, [sp, #32] */
	0xa94317e4,	/* ldp	x4, x5, [sp, #48] */
	0xa9441fe6,	/* ldp	x6, x7, [sp, #64] */
	0xa94527e8,	/* ldp	x8, x9, [sp, #80] */
	0xa9462fea,	/* ldp	x10, x11, [sp, #96] */
	0xa94737ec,	/* ldp	x12, x13, [sp, #112] */
	0xa9483fee,	/* ldp	x14, x15, [sp, #128] */
	0xa94947f0,	/* ldp	x16, x17, [sp, #144] */
	0xa94a4ff2,	/* ldp	x18, x19, [sp, #160] */
	0xa94b57f4,	/* ldp	x20, x21, [sp, #176] */
	0xa94c5ff6,	/* ldp	x22, x23, [sp, #192] */
	0xa94d67f8,	/* ldp	x24, x25, [sp, #208] */
	0xa94e6ffa,	/* ldp	x26, x27, [sp, #224] */
	0xf9407bfc,	/* ldr	x28, [sp, #240] */
	0x910483ff,	/* add	sp, sp, #288 */
	0xd65f03c0,	/* ret */
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

/* Add an instruction for each pair of vectors, derived from the one for the first pair. */
static void add_vectors(struct writer *w, u32 insn)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		add_one(w, insn + i * TWO_ON);
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

/*
 * Add the code up to setting the stack pointer to the end of a stack. Return the offset
 * of a branch that is yet to be set to @leave.
 */
static size_t add_take(struct writer *w, const struct uhook_gate *gate)
{
	const u32 pool_size = gate->page_size + UHOOK_STACKS * UHOOK_STACK_SIZE;
	const u32 top = gate->page_size + UHOOK_STACK_SIZE;
	size_t jump;

	add(w, enter, ARRAY_SIZE(enter));
	w->error = w->error ?: uhook_add_address(&w->words, 9, gate->pool);
	add(w, locate, ARRAY_SIZE(locate));
	add_one(w, MOVZ_X11 | (pool_size & 0xffff) << 5);
	add_one(w, MOVK_X11_UPPER | pool_size >> 16 << 5);
	jump = w->words.len + TAKE_LEAVE * AARCH64_INSN_SIZE;
	add(w, take, ARRAY_SIZE(take));
	add_one(w, ADD_SP_X9_PAGES | top / SZ_4K << 10);
	return jump;
}

int uhook_gate_code(u8 *code, size_t size, unsigned long at, const struct uhook_gate *gate)
{
	struct writer w = { .words = { .bytes = code, .size = size, .at = at } };
	const size_t jump = add_take(&w, gate);

	if (gate->vectors) {
		add(&w, save_control, ARRAY_SIZE(save_control));
		add_vectors(&w, STP_Q0_Q1);
	}
	add(&w, call_handler, ARRAY_SIZE(call_handler));
	if (gate->vectors) {
		add(&w, restore_control, ARRAY_SIZE(restore_control));
		add_vectors(&w, LDP_Q0_Q1);
	}
	add(&w, give, ARRAY_SIZE(give));
	set_jump(&w, jump);
	add(&w, leave, ARRAY_SIZE(leave));
	return w.error ?: (int)w.words.len;
}

unsigned int uhook_gate_no_mark(const u8 *code, size_t size)
{
	return size >= LOOK_SIZE && get_unaligned_le32(code) == LOOK ? LOOK_SIZE : 0;
}

static void add_data(struct writer *w, u64 value)
{
	add_one(w, value);
	add_one(w, value >> 32);
}

int uhook_call_code(u8 *code, size_t size, unsigned long at, const struct uhook_call *call)
{
	struct writer w = { .words = { .bytes = code, .size = size, .at = at } };
	size_t over;
	u8 *bl;

	add(&w, push, ARRAY_SIZE(push));
	bl = code + w.words.len;
	w.error = w.error ?: uhook_add_jump(&w.words, call->gate);
	if (w.error)
		return w.error;
	/* A BL is a B with the highest bit set. */
	bl[3] |= 0x80;

	over = w.words.len;
	add_one(&w, 0);
	add_data(&w, call->handler);
	add_data(&w, call->data);
	add_data(&w, call->missed);
	add_data(&w, call->site);
	set_jump(&w, over);
	add(&w, pop, ARRAY_SIZE(pop));
	return w.error ?: (int)w.words.len;
}
