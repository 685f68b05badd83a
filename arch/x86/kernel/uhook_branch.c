// SPDX-License-Identifier: GPL-2.0
/*
 * Relocating branches of an x86_64 program
 *
 * A jump becomes a jump with a 32-bit displacement to the same target, and needs no jump
 * back. A conditional jump is followed by the jump to the next instruction, which runs if
 * the condition is false: by then the copy has run.
 *
 * Calls are not moved: the return address that they leave on the stack, and on the shadow
 * stack, must be the program's. loop and jrcxz have no form with a 32-bit displacement.
 * With prefix 66, processors disagree about the displacement; with F2, a branch preserves
 * the MPX bounds registers. The copy omits branch hints.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <asm/insn.h>

#define JCC_SIZE	6

/* Only hint prefixes, which are the CS and DS segment prefixes. */
static bool is_plain(struct insn *insn)
{
	unsigned int i;

	if (insn_has_emulate_prefix(insn) || insn->vex_prefix.nbytes || insn->rex_prefix.nbytes)
		return false;
	for (i = 0; i < insn->prefixes.nbytes; i++) {
		const u8 prefix = ((const u8 *)insn->kaddr)[i];

		if (prefix != 0x2e && prefix != 0x3e)
			return false;
	}
	return true;
}

static bool is_jump(const struct insn *insn)
{
	const u8 *op = insn->opcode.bytes;

	return insn->opcode.nbytes == 1 && (op[0] == 0xe9 || op[0] == 0xeb);
}

static bool is_conditional(const struct insn *insn)
{
	const u8 *op = insn->opcode.bytes;

	if (insn->opcode.nbytes == 1)
		return op[0] >= 0x70 && op[0] <= 0x7f;
	return insn->opcode.nbytes == 2 && op[0] == 0x0f && op[1] >= 0x80 && op[1] <= 0x8f;
}

/* Like a jump, but with an opcode that is one byte longer. */
static int make_conditional(u8 condition, unsigned long to, unsigned long target,
			    unsigned long next, struct uhook_copy *copy)
{
	if (uhook_make_hop(to + 1, target, copy->bytes + 1) ||
	    uhook_make_hop(to + JCC_SIZE, next, copy->bytes + JCC_SIZE))
		return -ERANGE;
	copy->bytes[0] = 0x0f;
	copy->bytes[1] = 0x80 | condition;
	copy->copy_len = JCC_SIZE;
	copy->len = JCC_SIZE + UHOOK_JUMP_MAX;
	return 0;
}

int uhook_relocate_branch(const void *bytes, size_t size, unsigned long from, unsigned long to,
			  struct uhook_copy *copy)
{
	const int ret = uhook_relocate(bytes, size, from, to, copy);
	unsigned long next, target;
	struct insn insn;

	if (ret != -EOPNOTSUPP)
		return ret;
	if (size > MAX_INSN_SIZE)
		size = MAX_INSN_SIZE;
	if (insn_decode(&insn, bytes, size, INSN_MODE_64) || !is_plain(&insn))
		return -EOPNOTSUPP;

	next = from + insn.length;
	target = next + (long)insn.immediate.value;
	memset(copy, 0, sizeof(*copy));
	copy->insn_len = insn.length;
	if (is_conditional(&insn))
		return make_conditional(insn.opcode.bytes[insn.opcode.nbytes - 1] & 0x0f,
					to, target, next, copy);
	if (!is_jump(&insn))
		return -EOPNOTSUPP;
	copy->copy_len = UHOOK_JUMP_MAX;
	copy->len = UHOOK_JUMP_MAX;
	return uhook_make_hop(to, target, copy->bytes);
}
