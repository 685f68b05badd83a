// SPDX-License-Identifier: GPL-2.0
/*
 * The code that records hits of uhook in a program, on x86_64
 *
 * Three registers are needed, and flags are saved as a whole; all that is pushed
 * lies below the red zone. Where something is then is the same in all recorders:
 * a chosen register is either still in its place, or on the stack.
 *
 * x86 lets other processors see stores in their order, and neither a load of the
 * head nor one of the tail pass the other: the last store completes an entry, and
 * no barrier is needed. The tail is never older than the head that it is compared
 * with, so that a head that is out of date looks too small, and not like a full
 * ring; then it is not replaced, and all begins anew.
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

/* Registers as instructions number them. */
enum { RAX, RCX, RDX, RBX, RSP, REGS_COUNT = 16 };

/* Where things are on the stack while an entry is written. */
#define STACK_RDX	8
#define STACK_RCX	16
#define STACK_RAX	24
#define STACK_PROGRAM	(40 + 128)	/* what the program has there */

#define RING(field)	offsetof(struct uhook_ring, field)
#define ENTRY(field)	offsetof(struct uhook_ring_entry, field)

/* Displacements of entries have 8 bits, and the others are part of the code. */
static_assert(sizeof(struct uhook_ring_entry) == 128 && RING(head) == 0 && ENTRY(seq) == 0);
static_assert(UHOOK_RING_ENTRIES == 0x1000 && UHOOK_LANE_SIZE == 0x1000);
static_assert(ENTRY(unused) == ENTRY(id) + sizeof(u32) && !(ENTRY(id) % sizeof(u64)));

static void put_long(struct uhook_writer *w, u32 value)
{
	uhook_put(w, &value, sizeof(value));
}

#define ENTER_RING	12	/* where the address of the ring goes, relative */
#define ENTER_LOST	39	/* where that of the counter goes, of a full ring */
#define ENTER_RESTORE	44	/* where that of the end goes then */

/* To the stack, and get a number: then it is in RAX, and plus one on the stack. */
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

/* What all entries have; RCX becomes the address of this one. */
static const u8 begin_code[] = {
	0x25, 0xff, 0x0f, 0x00, 0x00,			/* and $ENTRIES-1,%eax */
	0xc1, 0xe0, 0x07,				/* shl $7,%eax */
	0x48, 0x8d, 0x8c, 0x01, 0x00, 0x10, 0, 0,	/* lea LANE(%rcx,%rax),%rcx */
	0x0f, 0x31,					/* rdtsc */
	0x48, 0xc1, 0xe2, 0x20,				/* shl $32,%rdx */
	0x48, 0x09, 0xd0,				/* or %rdx,%rax */
	0x48, 0x89, 0x41, ENTRY(time),			/* mov %rax,time(%rcx) */
	0xf3, 0x48, 0x0f, 0xae, 0xc0,			/* rdfsbase %rax */
	0x48, 0x89, 0x41, ENTRY(thread),		/* mov %rax,thread(%rcx) */
	0xb8,						/* mov $id,%eax */
};

/* The stack pointer, which RAX has then. */
static const u8 sp_code[] = {
	0x48, 0x89, 0x41, ENTRY(id),			/* mov %rax,id(%rcx) */
	0x48, 0x8d, 0x84, 0x24, STACK_PROGRAM, 0, 0, 0,	/* lea program(%rsp),%rax */
	0x48, 0x89, 0x41, ENTRY(sp),			/* mov %rax,sp(%rcx) */
};

/* How many bytes are in the page of the one below the stack pointer. */
static const u8 room_code[] = {
	0x48, 0x8b, 0x41, ENTRY(sp),			/* mov sp(%rcx),%rax */
	0xf7, 0xd8,					/* neg %eax */
	0x25, 0xff, 0x0f, 0x00, 0x00,			/* and $0xfff,%eax */
};

/* The entry becomes complete by the first of these. */
static const u8 leave_code[] = {
	0x8f, 0x01,					/* pop (%rcx) */
	0x5a,						/* restore: pop %rdx */
	0x59,						/* pop %rcx */
	0x58,						/* pop %rax */
	0x9d,						/* popfq */
	0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,		/* lea 0x80(%rsp),%rsp */
};

#define LEAVE_RESTORE	2

/* One of the registers to the entry; those that the code uses by way of RAX. */
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
 * The words at the stack pointer, and 0 for what is in another page than the red
 * zone: the stack may end there. That holds for all four when the stack pointer
 * is at the beginning of a page.
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

/* A displacement that ends an instruction: it counts from there. */
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
