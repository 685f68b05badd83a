// SPDX-License-Identifier: GPL-2.0
/*
 * The code that calls functions in a program, on x86_64
 *
 * The code in a body moves the stack pointer below the red zone and calls the gate. The
 * call is followed by the addresses of handler, data, counter and site, which the gate
 * finds by its return address. Calls and returns are balanced, as shadow stacks require.
 *
 * The gate pushes the registers for the handler, and below them the mark: the address of
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
 * 0 before the owner word, while the stack pointer is still below the mark, but not in
 * the pool.
 *
 * Threads with the same word may find the same stack, and its handler may have ended and
 * begun again at the same address since its mark was read. So the gate reads the mark
 * again after it has changed the frame word. If the mark is there, the gate undoes the
 * change. If it is not, and the frame word is unchanged, no other thread has used the
 * stack, because a thread that leaves writes 0 first.
 *
 * Only the program's own alignment can be relied on. If AC is set, the gate is reached
 * only with an aligned stack; the handler runs with AC clear.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>

#include "uhook_writer.h"

/* Offsets from the saved registers. */
#define REG_FLAGS	0x78
#define REG_SP		0x80
#define REG_IP		0x88
#define RETURN		0x90	/* return address of the gate */
#define PROGRAM		0x118	/* the stack pointer at the site */
#define MARK		0xf8	/* the mark, by a signed byte: -8 */

static_assert(offsetof(struct uhook_user_regs, flags) == REG_FLAGS);
static_assert(offsetof(struct uhook_user_regs, sp) == REG_SP);
static_assert(offsetof(struct uhook_user_regs, ip) == REG_IP);
static_assert(sizeof(struct uhook_user_regs) == RETURN);

/* Offsets from the return address, which points to a jump of two bytes. */
#define CALL_HANDLER	2
#define CALL_DATA	10
#define CALL_MISSED	18
#define CALL_SITE	26

/* Distance from an owner word to its frame word, and size of all owner words. */
#define FRAMES		0x80

/* Shift from the offset of an owner word, which has 8 bytes, to the offset of its stack. */
#define STACK_SHIFT	13

static_assert(UHOOK_STACKS * sizeof(u64) == FRAMES);
static_assert(sizeof(u64) << STACK_SHIFT == UHOOK_STACK_SIZE);

/* Alignment of the XSAVE area. */
#define XSAVE_ALIGN	64

#define CALL_GATE	6	/* offset of the relative address of the gate */

/* Move below the red zone, and call the gate. */
static const u8 call_begin[] = {
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -0x80(%rsp),%rsp */
	0xe8, 0, 0, 0, 0,				/* call gate */
	0xeb, 0x20,					/* jmp over */
};

static const u8 call_end[] = {
	0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,		/* over: lea 0x80(%rsp),%rsp */
};

#define ENTER_POOL	86	/* offset of the relative address of the pool */
#define ENTER_SIZE	98	/* offset of the size of the pool */

/* Push the registers without changing flags, then test for recursion. */
static const u8 enter_code[] = {
	0x48, 0x8d, 0x64, 0x24, 0xf0,			/* lea -0x10(%rsp),%rsp */
	0x9c,						/* pushfq */
	0x50, 0x51, 0x52, 0x53,				/* push %rax, %rcx, %rdx, %rbx */
	0x55, 0x56, 0x57,				/* push %rbp, %rsi, %rdi */
	0x41, 0x50, 0x41, 0x51,				/* push %r8, %r9 */
	0x41, 0x52, 0x41, 0x53,				/* push %r10, %r11 */
	0x41, 0x54, 0x41, 0x55,				/* push %r12, %r13 */
	0x41, 0x56, 0x41, 0x57,				/* push %r14, %r15 */
	0xf7, 0x44, 0x24, REG_FLAGS, 0, 0x04, 0x04, 0,	/* testl $AC+DF,flags(%rsp) */
	0x74, 0x09,					/* je plain */
	0x9c,						/* pushfq */
	0x81, 0x24, 0x24, 0xff, 0xfb, 0xfb, 0xff,	/* andl $~(AC+DF),(%rsp) */
	0x9d,						/* popfq */
	0x48, 0x89, 0xe3,				/* plain: mov %rsp,%rbx */
	0x48, 0x8b, 0xab, RETURN, 0, 0, 0,		/* mov return(%rbx),%rbp */
	0x48, 0x8d, 0x83, PROGRAM & 0xff, PROGRAM >> 8, 0, 0, /* lea program(%rbx),%rax */
	0x48, 0x89, 0x83, REG_SP, 0, 0, 0,		/* mov %rax,sp(%rbx) */
	0x48, 0x8b, 0x45, CALL_SITE,			/* mov site(%rbp),%rax */
	0x48, 0x89, 0x83, REG_IP, 0, 0, 0,		/* mov %rax,ip(%rbx) */
	0x48, 0x8d, 0x35, 0, 0, 0, 0,			/* lea pool(%rip),%rsi */
	0x48, 0x89, 0xd8,				/* mov %rbx,%rax */
	0x48, 0x29, 0xf0,				/* sub %rsi,%rax */
	0x48, 0x3d, 0, 0, 0, 0,				/* cmp $SIZE,%rax */
	0x72, 0x4c,					/* jb missed */
};

#define TAKE_LEAVE	85	/* offset of the relative address of the end */
#define TAKE_TOP	178	/* offset of the distance to the top of the first stack */

/*
 * Take a stack. RSI is the pool, RDI the word of this thread, RDX walks the owner words
 * down to the first. R12 becomes the owner word of the stack: that of a free stack,
 * unless an abandoned one is found.
 */
static const u8 take_code[] = {
	0x56,						/* push %rsi */
	0xf3, 0x48, 0x0f, 0xae, 0xc7,			/* rdfsbase %rdi */
	0x48, 0x85, 0xff,				/* test %rdi,%rdi */
	0x75, 0x02,					/* jne scan */
	0xff, 0xc7,					/* inc %edi */
	0x45, 0x31, 0xe4,				/* scan: xor %r12d,%r12d */
	0x48, 0x8d, 0x96, FRAMES, 0, 0, 0,		/* lea frames(%rsi),%rdx */
	0x48, 0x83, 0xea, 0x08,				/* next: sub $8,%rdx */
	0x48, 0x8b, 0x02,				/* mov (%rdx),%rax */
	0x48, 0x85, 0xc0,				/* test %rax,%rax */
	0x4c, 0x0f, 0x44, 0xe2,				/* cmove %rdx,%r12 */
	0x48, 0x39, 0xf8,				/* cmp %rdi,%rax */
	0x74, 0x2f,					/* je own */
	0x48, 0x39, 0xf2,				/* go_on: cmp %rsi,%rdx */
	0x75, 0xe8,					/* jne next */
	0x4d, 0x85, 0xe4,				/* test %r12,%r12 */
	0x74, 0x18,					/* je missed */
	0x4c, 0x89, 0x63, MARK,				/* mov %r12,mark(%rbx) */
	0x31, 0xc0,					/* xor %eax,%eax */
	0xf0, 0x49, 0x0f, 0xb1, 0x3c, 0x24,		/* lock cmpxchg %rdi,(%r12) */
	0x75, 0xcb,					/* jne scan */
	0x49, 0x89, 0x9c, 0x24, FRAMES, 0, 0, 0,	/* mov %rbx,frame(%r12) */
	0xeb, 0x58,					/* jmp taken */

	0x48, 0x8b, 0x45, CALL_MISSED,			/* missed: mov missed(%rbp),%rax */
	0xf0, 0x48, 0xff, 0x00,				/* lock incq (%rax) */
	0xe9, 0, 0, 0, 0,				/* jmp leave */

	0x48, 0x8b, 0x82, FRAMES, 0, 0, 0,		/* own: mov frame(%rdx),%rax */
	0x48, 0x85, 0xc0,				/* test %rax,%rax */
	0x74, 0xc5,					/* je go_on */
	0x48, 0x89, 0x53, MARK,				/* mov %rdx,mark(%rbx) */
	0x48, 0x39, 0xd8,				/* cmp %rbx,%rax */
	0x74, 0x20,					/* je left */
	0x48, 0x39, 0x50, MARK,				/* cmp %rdx,mark(%rax) */
	0x74, 0xb6,					/* je go_on */
	0xf0, 0x48, 0x0f, 0xb1, 0x9a, FRAMES, 0, 0, 0,	/* lock cmpxchg %rbx,frame(%rdx) */
	0x75, 0xab,					/* jne go_on */
	0x48, 0x39, 0x50, MARK,				/* cmp %rdx,mark(%rax) */
	0x74, 0x0e,					/* je undo */
	0x48, 0x39, 0x9a, FRAMES, 0, 0, 0,		/* cmp %rbx,frame(%rdx) */
	0x75, 0x9c,					/* jne go_on */
	0x49, 0x89, 0xd4,				/* left: mov %rdx,%r12 */
	0xeb, 0x11,					/* jmp taken */
	0x48, 0x89, 0xc1,				/* undo: mov %rax,%rcx */
	0x48, 0x89, 0xd8,				/* mov %rbx,%rax */
	0xf0, 0x48, 0x0f, 0xb1, 0x8a, FRAMES, 0, 0, 0,	/* lock cmpxchg %rcx,frame(%rdx) */
	0xeb, 0x86,					/* jmp go_on */

	0x4c, 0x89, 0xe0,				/* taken: mov %r12,%rax */
	0x48, 0x29, 0xf0,				/* sub %rsi,%rax */
	0x48, 0xc1, 0xe0, STACK_SHIFT,			/* shl $SHIFT,%rax */
	0x48, 0x8d, 0xa4, 0x06, 0, 0, 0, 0,		/* lea top(%rsi,%rax),%rsp */
};

/*
 * The instruction in take_code, twice, that reads a mark. For another mark, execution
 * continues after the je.
 */
static const u8 look_code[] = {
	0x48, 0x39, 0x50, MARK,				/* cmp %rdx,mark(%rax) */
};

#define LOOK_SIZE	(sizeof(look_code) + 2)

/* XSAVE does not write the whole header, and XRSTOR requires zeros in the rest. */
static const u8 clear_code[] = {
	0x48, 0x8d, 0xbc, 0x24, 0, 0x02, 0, 0,		/* lea 0x200(%rsp),%rdi */
	0x31, 0xc0,					/* xor %eax,%eax */
	0x48, 0x89, 0x07,				/* mov %rax,(%rdi) */
	0x48, 0x89, 0x47, 0x08,				/* mov %rax,8(%rdi) */
	0x48, 0x89, 0x47, 0x10,				/* ... */
	0x48, 0x89, 0x47, 0x18,
	0x48, 0x89, 0x47, 0x20,
	0x48, 0x89, 0x47, 0x28,
	0x48, 0x89, 0x47, 0x30,
	0x48, 0x89, 0x47, 0x38,				/* mov %rax,0x38(%rdi) */
};

static const u8 xsave_code[] = {
	0x48, 0x0f, 0xae, 0x24, 0x24,			/* xsave64 (%rsp) */
};

static const u8 handler_code[] = {
	0x48, 0x89, 0xdf,				/* mov %rbx,%rdi */
	0x48, 0x8b, 0x75, CALL_DATA,			/* mov data(%rbp),%rsi */
	0xff, 0x55, CALL_HANDLER,			/* call *handler(%rbp) */
};

static const u8 xrstor_code[] = {
	0x48, 0x0f, 0xae, 0x2c, 0x24,			/* xrstor64 (%rsp) */
};

#define LEAVE_MISSED	18	/* start offset if no stack was taken */

/* Return the stack, after leaving it, and restore the registers. */
static const u8 leave_code[] = {
	0x48, 0x8d, 0x63, MARK,				/* lea mark(%rbx),%rsp */
	0x31, 0xc0,					/* xor %eax,%eax */
	0x49, 0x89, 0x84, 0x24, FRAMES, 0, 0, 0,	/* mov %rax,frame(%r12) */
	0x49, 0x89, 0x04, 0x24,				/* mov %rax,(%r12) */
	0x48, 0x89, 0xdc,				/* leave: mov %rbx,%rsp */
	0x41, 0x5f, 0x41, 0x5e,				/* pop %r15, %r14 */
	0x41, 0x5d, 0x41, 0x5c,				/* pop %r13, %r12 */
	0x41, 0x5b, 0x41, 0x5a,				/* pop %r11, %r10 */
	0x41, 0x59, 0x41, 0x58,				/* pop %r9, %r8 */
	0x5f, 0x5e, 0x5d,				/* pop %rdi, %rsi, %rbp */
	0x5b, 0x5a, 0x59, 0x58,				/* pop %rbx, %rdx, %rcx, %rax */
	0x9d,						/* popfq */
	0x48, 0x8d, 0x64, 0x24, 0x10,			/* lea 0x10(%rsp),%rsp */
	0xc3,						/* ret */
};

/* Set the component mask of XSAVE and XRSTOR. */
static void put_mask(struct uhook_writer *w, u64 mask)
{
	const u8 code[] = {
		0xb8, mask, mask >> 8, mask >> 16, mask >> 24,		/* mov $mask,%eax */
		0xba, mask >> 32, mask >> 40, mask >> 48, mask >> 56,	/* mov $mask,%edx */
	};

	uhook_put(w, code, sizeof(code));
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

static void set_long(u8 *p, u32 value)
{
	memcpy(p, &value, sizeof(value));
}

int uhook_gate_code(u8 *code, size_t size, unsigned long at, const struct uhook_gate *gate)
{
	struct uhook_writer w = { .code = code, .size = size };
	const size_t take = sizeof(enter_code);
	u32 top = gate->page_size + UHOOK_STACK_SIZE;
	size_t leave;

	uhook_put(&w, enter_code, sizeof(enter_code));
	uhook_put(&w, take_code, sizeof(take_code));
	if (gate->vectors) {
		top -= ALIGN(gate->xsave_size, XSAVE_ALIGN);
		uhook_put(&w, clear_code, sizeof(clear_code));
		put_mask(&w, gate->xsave_mask);
		uhook_put(&w, xsave_code, sizeof(xsave_code));
	}
	uhook_put(&w, handler_code, sizeof(handler_code));
	if (gate->vectors) {
		put_mask(&w, gate->xsave_mask);
		uhook_put(&w, xrstor_code, sizeof(xrstor_code));
	}
	leave = w.len + LEAVE_MISSED;
	uhook_put(&w, leave_code, sizeof(leave_code));
	if (w.len > w.size)
		return -ENOSPC;

	set_long(code + ENTER_SIZE, gate->page_size + UHOOK_STACKS * UHOOK_STACK_SIZE);
	set_long(code + take + TAKE_TOP, top);
	if (put_relative(code + take + TAKE_LEAVE, at + take + TAKE_LEAVE, at + leave) ||
	    put_relative(code + ENTER_POOL, at + ENTER_POOL, gate->pool))
		return -ERANGE;
	return w.len;
}

unsigned int uhook_gate_no_mark(const u8 *code, size_t size)
{
	return size >= LOOK_SIZE && !memcmp(code, look_code, sizeof(look_code)) ? LOOK_SIZE : 0;
}

int uhook_call_code(u8 *code, size_t size, unsigned long at, const struct uhook_call *call)
{
	const u64 words[] = { call->handler, call->data, call->missed, call->site };
	struct uhook_writer w = { .code = code, .size = size };

	uhook_put(&w, call_begin, sizeof(call_begin));
	uhook_put(&w, words, sizeof(words));
	uhook_put(&w, call_end, sizeof(call_end));
	if (w.len > w.size)
		return -ENOSPC;
	return put_relative(code + CALL_GATE, at + CALL_GATE, call->gate) ?: (int)w.len;
}
