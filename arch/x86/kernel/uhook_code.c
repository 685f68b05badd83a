// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps, counters and stubs of uhook, on x86_64
 *
 * A jump over an instruction is five bytes long, but only the bytes of the instruction
 * itself are written: no task is ever between two of these bytes, and no branch leads
 * there. For a shorter instruction, the bytes after it become the upper bytes of the
 * displacement, unchanged. They include the sign, so the possible targets form one range
 * without a gap.
 *
 * A near return that is followed by padding takes a plain jump, because padding is never
 * executed. Padding follows the end of a function, up to a multiple of 16; a no-op at
 * such a multiple may be the start of a function.
 *
 * The counter needs an address and one register, and flags are saved as a whole: this is
 * the shortest code, and the only way to save all flags. Everything that it writes is
 * below the red zone, after the stack pointer has moved there, so signals do not
 * overwrite it.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_code.h>

#define JMP_OPCODE	0xe9
#define INT3_OPCODE	0xcc
#define RET_OPCODE	0xc3
#define RET_IMM_OPCODE	0xc2

/* End of the user half with four levels of page tables; larger addresses are opt-in. */
#define USER_END	0x800000000000L

/* Reach of a jump's displacement, in both directions from the end of the jump. */
#define JUMP_REACH	0x80000000L

/* The lower 16 bits of the stack pointer are an offset into the lanes. */
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
static_assert(LANES_SIZE == 0x10000 && UHOOK_LANE_SIZE == 0x1000);

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

/* Whether a near return and the padding after it have room for a jump. */
static bool is_padded_return(const u8 *text, u8 insn_len)
{
	size_t at = insn_len;

	if (!(insn_len == 1 && text[0] == RET_OPCODE) &&
	    !(insn_len == 2 && text[0] == 0xf3 && text[1] == RET_OPCODE) &&
	    !(insn_len == 3 && text[0] == RET_IMM_OPCODE))
		return false;

	/* A no-op there may be the first instruction of a function. */
	for (; at < UHOOK_JUMP_MAX; at++) {
		if (text[at] != INT3_OPCODE)
			return false;
	}
	return true;
}

/* Number of bytes of the jump that are written; the others keep their values. */
static size_t written(const u8 *text, u8 insn_len)
{
	if (insn_len >= UHOOK_JUMP_MAX || is_padded_return(text, insn_len))
		return UHOOK_JUMP_MAX;
	return insn_len;
}

/* Target of the jump if the selectable bytes of the displacement are FILL. */
static long extreme(unsigned long site, const u8 *text, size_t len, u8 fill)
{
	u8 bytes[sizeof(s32)];
	s32 displacement;

	memcpy(bytes, text + 1, sizeof(bytes));
	memset(bytes, fill, len - 1);
	memcpy(&displacement, bytes, sizeof(displacement));
	return (long)(site + UHOOK_JUMP_MAX) + displacement;
}

int uhook_jump_targets(unsigned long site, const u8 *text, u8 insn_len,
		       struct uhook_targets *targets)
{
	size_t len;
	long first, last;

	if (!insn_len || site >= USER_END)
		return -ERANGE;

	len = written(text, insn_len);
	if (len == UHOOK_JUMP_MAX) {
		first = (long)(site + UHOOK_JUMP_MAX) - JUMP_REACH;
		last = (long)(site + UHOOK_JUMP_MAX) + JUMP_REACH - 1;
	} else {
		first = extreme(site, text, len, 0x00);
		last = extreme(site, text, len, 0xff);
	}
	if (last < 0 || first >= USER_END)
		return -ERANGE;

	targets->first = first < 0 ? 0 : first;
	targets->last = last < USER_END ? last : USER_END - 1;
	targets->forced = len < UHOOK_JUMP_MAX;
	return 0;
}

int uhook_make_jump(unsigned long site, const u8 *text, u8 insn_len, unsigned long target,
		    struct uhook_jump *jump)
{
	struct uhook_targets targets;
	u8 bytes[UHOOK_JUMP_MAX];

	if (uhook_jump_targets(site, text, insn_len, &targets) ||
	    target < targets.first || target > targets.last ||
	    uhook_make_hop(site, target, bytes))
		return -ERANGE;

	memset(jump, 0, sizeof(*jump));
	jump->len = written(text, insn_len);
	memcpy(jump->bytes, bytes, jump->len);
	memcpy(jump->before, text, jump->len);
	return 0;
}

int uhook_make_hop(unsigned long at, unsigned long target, u8 *bytes)
{
	bytes[0] = JMP_OPCODE;
	return put_relative(bytes + 1, at + 1, target);
}

#define COUNT_LANES	10	/* offset of the relative address of the lanes */
#define COUNT_CELL	28	/* offset of the offset of the counter in its lane */

static const u8 count_code[] = {
	0x48, 0x8d, 0x64, 0x24, 0x80,			/* lea -0x80(%rsp),%rsp */
	0x9c,						/* pushfq */
	0x51,						/* push %rcx */
	0x48, 0x8d, 0x0d, 0, 0, 0, 0,			/* lea lanes(%rip),%rcx */
	0x66, 0x89, 0xe1,				/* mov %sp,%cx */
	0x48, 0x81, 0xe1, 0x00, 0xf0, 0xff, 0xff,	/* and $-0x1000,%rcx */
	0xf0, 0x48, 0xff, 0x81, 0, 0, 0, 0,		/* lock incq cell(%rcx) */
	0x59,						/* pop %rcx */
	0x9d,						/* popfq */
	0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,		/* lea 0x80(%rsp),%rsp */
};

int uhook_count_code(u8 *code, size_t size, unsigned long at, unsigned long cell)
{
	const s32 offset = cell % LANES_SIZE;

	if (size < sizeof(count_code))
		return -ENOSPC;
	if (offset >= UHOOK_LANE_SIZE)
		return -ERANGE;

	memcpy(code, count_code, sizeof(count_code));
	memcpy(code + COUNT_CELL, &offset, sizeof(offset));
	if (put_relative(code + COUNT_LANES, at + COUNT_LANES, cell - offset))
		return -ERANGE;
	return sizeof(count_code);
}

/* jmp *2(%rip), two int3, and the target, which is aligned if the code is. */
int uhook_stub_code(u8 *code, const void *insn, unsigned long target)
{
	static const u8 jump[] = { 0xff, 0x25, 2, 0, 0, 0, INT3_OPCODE, INT3_OPCODE };
	const u64 address = target;

	static_assert(sizeof(jump) + sizeof(address) == UHOOK_STUB_SIZE);
	memcpy(code, jump, sizeof(jump));
	memcpy(code + sizeof(jump), &address, sizeof(address));
	return 0;
}
