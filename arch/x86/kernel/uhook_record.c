// SPDX-License-Identifier: GPL-2.0
/*
 * The code that records hits in a program, on x86_64
 *
 * It needs three registers, and saves the flags as a whole, all below the red zone. The
 * stack layout is the same in all recorders: a selected register is either still
 * unchanged, or on the stack.
 *
 * x86 makes stores visible to other processors in order, and loads of head and tail are
 * not reordered. So the last store completes an entry, and no barrier is needed. The tail
 * is never older than the head that it is compared with: with a stale head the ring looks
 * too empty, but never full; then the compare-and-exchange of the head fails, and the
 * code starts again.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_ring.h>
#include <asm/uhook.h>

#include "uhook_writer.h"

/* Numbers of registers in instructions. */
enum { RAX, RCX, RDX, RBX, RSP, REGS_COUNT = 16 };

/* Offsets on the stack while an entry is written. */
#define STACK_RDX	8
#define STACK_RCX	16
#define STACK_RAX	24
#define STACK_PROGRAM	(40 + 128)	/* the program's stack pointer */

#define RING(field)	offsetof(struct uhook_ring, field)
#define ENTRY(field)	offsetof(struct uhook_ring_entry, field)

/* Displacements in entries have 8 bits; the other values are constants in the code. */
static_assert(sizeof(struct uhook_ring_entry) == 128 && RING(head) == 0 && ENTRY(seq) == 0);
static_assert(UHOOK_RING_ENTRIES == 0x1000 && UHOOK_LANE_SIZE == 0x1000);
static_assert(ENTRY(unused) == ENTRY(id) + sizeof(u32) && !(ENTRY(id) % sizeof(u64)));

static void put_long(struct uhook_writer *w, u32 value)
{
	uhook_put(w, &value, sizeof(value));
}

#define ENTER_RING	12	/* offset of the relative address of the ring */
#define ENTER_LOSE	35	/* offset of the instruction that counts a lost record */
#define ENTER_LOST	39	/* offset of the relative address of the lost counter */
#define ENTER_RESTORE	44	/* offset of the relative address of the end, for a full ring */

/* Save registers and take a number: it is left in RAX, and the number plus one on the stack. */
static const u8 enter_code[] = {
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -0x80(%rsp),%rsp */
	0x9c,						/* pushfq */
	0x50,						/* push %rax */
	0x51,						/* push %rcx */
	0x52,						/* push %rdx */
	0x48, 0x8d, 0x0d, 0, 0, 0, 0,			/* lea ring(%rip),%rcx */
	0x48, 0x8b, 0x01,				/* mov (%rcx),%rax */
	0x48, 0x89, 0xc2,				/* again: mov %rax,%rdx */
	0x48, 0x2b, 0x51, RING(tail),			/* sub tail(%rcx),%rdx */
	0x48, 0x81, 0xfa, 0x00, 0x10, 0x00, 0x00,	/* cmp $ENTRIES,%rdx */
	0x7c, 0x0d,					/* jl room */
	0xf0, 0x48, 0xff, 0x05, 0, 0, 0, 0,		/* lock incq lost(%rip) */
	0xe9, 0, 0, 0, 0,				/* jmp restore */
	0x48, 0x8d, 0x50, 0x01,				/* room: lea 1(%rax),%rdx */
	0xf0, 0x48, 0x0f, 0xb1, 0x11,			/* lock cmpxchg %rdx,(%rcx) */
	0x75, 0xd8,					/* jne again */
	0x52,						/* push %rdx */
};

/* From the end of turn_code back to the counting of a lost record */
#define TURN_LOSE	((u8)(ENTER_LOSE - (int)(sizeof(enter_code) + TURN_SIZE)))
#define TURN_SIZE	32

/* RCX becomes the address of the entry. If it is not the number's turn, the record is lost. */
static const u8 turn_code[] = {
	0x48, 0x89, 0xc2,				/* mov %rax,%rdx */
	0x48, 0xc1, 0xea, 0x0c,				/* shr $12,%rdx */
	0x25, 0xff, 0x0f, 0x00, 0x00,			/* and $ENTRIES-1,%eax */
	0xc1, 0xe0, 0x07,				/* shl $7,%eax */
	0x48, 0x8d, 0x8c, 0x01, 0x00, 0x10, 0, 0,	/* lea LANE(%rcx,%rax),%rcx */
	0x48, 0x3b, 0x51, ENTRY(turn),			/* cmp turn(%rcx),%rdx */
	0x74, 0x03,					/* je mine */
	0x5a,						/* pop %rdx */
	0xeb, TURN_LOSE,				/* jmp lose; mine: */
};

static_assert(sizeof(turn_code) == TURN_SIZE);

/* Members that all entries have. */
static const u8 begin_code[] = {
	0x0f, 0x31,					/* rdtsc */
	0x48, 0xc1, 0xe2, 0x20,				/* shl $32,%rdx */
	0x48, 0x09, 0xd0,				/* or %rdx,%rax */
	0x48, 0x89, 0x41, ENTRY(time),			/* mov %rax,time(%rcx) */
	0xf3, 0x48, 0x0f, 0xae, 0xc0,			/* rdfsbase %rax */
	0x48, 0x89, 0x41, ENTRY(thread),		/* mov %rax,thread(%rcx) */
	0xb8,						/* mov $id,%eax */
};

/* Store the stack pointer, and leave it in RAX. */
static const u8 sp_code[] = {
	0x48, 0x89, 0x41, ENTRY(id),			/* mov %rax,id(%rcx) */
	0x48, 0x8d, 0x84, 0x24, STACK_PROGRAM, 0, 0, 0,	/* lea program(%rsp),%rax */
	0x48, 0x89, 0x41, ENTRY(sp),			/* mov %rax,sp(%rcx) */
};

/* Number of bytes from the stack pointer to the end of the page of the byte below it. */
static const u8 room_code[] = {
	0x48, 0x8b, 0x41, ENTRY(sp),			/* mov sp(%rcx),%rax */
	0xf7, 0xd8,					/* neg %eax */
	0x25, 0xff, 0x0f, 0x00, 0x00,			/* and $0xfff,%eax */
};

/* The first instruction completes the entry. */
static const u8 leave_code[] = {
	0x8f, 0x01,					/* pop (%rcx) */
	0x5a,						/* restore: pop %rdx */
	0x59,						/* pop %rcx */
	0x58,						/* pop %rax */
	0x9d,						/* popfq */
	0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,		/* lea 0x80(%rsp),%rsp */
};

#define LEAVE_RESTORE	2

/* Store a selected register in the entry, through RAX if the code uses the register. */
static void put_arg(struct uhook_writer *w, u8 reg, u8 to)
{
	static const u8 saved[] = {
		[RAX] = STACK_RAX, [RCX] = STACK_RCX, [RDX] = STACK_RDX,
	};
	const u8 load[] = { 0x48, 0x8b, 0x44, 0x24, reg <= RDX ? saved[reg] : 0 };
	const u8 load_sp[] = { 0x48, 0x8d, 0x84, 0x24, STACK_PROGRAM, 0, 0, 0 };
	u8 store[] = { 0x48, 0x89, 0x41, to };

	if (reg <= RDX) {
		uhook_put(w, load, sizeof(load));
	} else if (reg == RSP) {
		uhook_put(w, load_sp, sizeof(load_sp));
	} else {
		store[0] |= reg >> 3 << 2;
		store[2] |= (reg & 7) << 3;
	}
	uhook_put(w, store, sizeof(store));
}

/*
 * Store the words at the stack pointer, and 0 for words on another page than the red
 * zone, because the stack may end there. These are all four if the stack pointer is at
 * the start of a page.
 */
static void put_stack(struct uhook_writer *w)
{
	unsigned int i;

	uhook_put(w, room_code, sizeof(room_code));
	for (i = 0; i < UHOOK_RECORD_STACK; i++) {
		const u8 at = i * sizeof(u64);
		const u8 code[] = {
			0x31, 0xd2,				/* xor %edx,%edx */
			0x83, 0xf8, at + sizeof(u64),		/* cmp $end,%eax */
			0x72, 0x08,				/* jb absent */
			0x48, 0x8b, 0x94, 0x24,			/* mov word(%rsp),%rdx */
			STACK_PROGRAM + at, 0, 0, 0,
			0x48, 0x89, 0x51, ENTRY(stack) + at,	/* absent: mov %rdx,to(%rcx) */
		};

		uhook_put(w, code, sizeof(code));
	}
}

/* A displacement at the end of an instruction is relative to its own end. */
static int put_relative(u8 *p, unsigned long at, unsigned long target)
{
	const long displacement = target - (at + sizeof(s32));
	const s32 value = displacement;

	if (displacement != value)
		return -ERANGE;
	memcpy(p, &value, sizeof(value));
	return 0;
}

static bool is_valid(const struct uhook_recorder *recorder)
{
	unsigned int i;

	if (recorder->nr_regs > UHOOK_RECORD_ARGS)
		return false;
	for (i = 0; i < recorder->nr_regs; i++) {
		if (recorder->regs[i] >= REGS_COUNT)
			return false;
	}
	return true;
}

int uhook_record_code(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder)
{
	struct uhook_writer w = { .code = code, .size = size };
	size_t restore;
	unsigned int i;

	if (!is_valid(recorder))
		return -EINVAL;

	uhook_put(&w, enter_code, sizeof(enter_code));
	uhook_put(&w, turn_code, sizeof(turn_code));
	uhook_put(&w, begin_code, sizeof(begin_code));
	put_long(&w, recorder->id);
	uhook_put(&w, sp_code, sizeof(sp_code));
	for (i = 0; i < recorder->nr_regs; i++)
		put_arg(&w, recorder->regs[i], ENTRY(args) + i * sizeof(u64));
	if (recorder->stack)
		put_stack(&w);
	restore = w.len + LEAVE_RESTORE;
	uhook_put(&w, leave_code, sizeof(leave_code));
	if (w.len > w.size)
		return -ENOSPC;

	if (put_relative(code + ENTER_RING, at + ENTER_RING, recorder->ring) ||
	    put_relative(code + ENTER_LOST, at + ENTER_LOST, recorder->lost) ||
	    put_relative(code + ENTER_RESTORE, at + ENTER_RESTORE, at + restore))
		return -ERANGE;
	return w.len;
}
