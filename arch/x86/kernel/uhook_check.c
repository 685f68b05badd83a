// SPDX-License-Identifier: GPL-2.0
/*
 * Which functions uhook copies into programs, on x86_64
 *
 * This is a check of what a compiler made, for mistakes: calls of what is not
 * there, data elsewhere, code of another place.  Who may offer code may do worse.
 * It is read from its beginning to its end as one instruction after the other, as
 * an assembler writes it, and nothing is done about what it computes.
 *
 * What the relocator knows well enough to move may be in a function, but for what
 * leads elsewhere.  Relative branches, which it does not move, are known here: with
 * no prefix but hints, of which none changes their length.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_relocate.h>
#include <asm/insn.h>

/* No function is longer, in bytes: a handler has something small to do. */
#define FUNCTION_MAX	4096

/**
 * struct function - code that is being checked
 * @code: its bytes
 * @len: how many
 * @starts: a bit for each of them: whether an instruction begins there
 */
struct function {
	const u8 *code;
	size_t len;
	u8 starts[FUNCTION_MAX / 8];
};

static bool is_start(const struct function *f, size_t at)
{
	return f->starts[at / 8] >> at % 8 & 1;
}

static void set_start(struct function *f, size_t at)
{
	f->starts[at / 8] |= 1 << at % 8;
}

static u8 last_opcode(const struct insn *insn)
{
	return insn->opcode.bytes[insn->opcode.nbytes - 1];
}

static bool is_hinted(const struct insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->prefixes.nbytes; i++) {
		const u8 prefix = ((const u8 *)insn->kaddr)[i];

		if (prefix != 0x2e && prefix != 0x3e)
			return false;
	}
	return true;
}

/* A branch with a displacement, conditional or not, or a call. */
static bool is_branch(struct insn *insn)
{
	const u8 op = last_opcode(insn);

	if (insn_is_avx(insn) || insn_is_rex2(insn) || insn->rex_prefix.nbytes ||
	    insn_has_emulate_prefix(insn) || !is_hinted(insn))
		return false;
	if (insn->opcode.nbytes == 2)
		return insn->opcode.bytes[0] == 0x0f && op >= 0x80 && op <= 0x8f;
	if (insn->opcode.nbytes != 1)
		return false;
	return (op >= 0x70 && op <= 0x7f) ||		/* jcc */
	       (op >= 0xe0 && op <= 0xe3) ||		/* loop, jrcxz */
	       op == 0xe8 || op == 0xe9 || op == 0xeb;	/* call, jmp */
}

/* What the relocator moves and does not come back, but for a plain return. */
static bool is_elsewhere(struct insn *insn)
{
	if (insn_is_avx(insn) || insn->opcode.nbytes != 1)
		return false;
	if (insn->opcode.bytes[0] == 0xc2)		/* ret $n */
		return true;
	return insn->opcode.bytes[0] == 0xff && X86_MODRM_REG(insn->modrm.bytes[0]) == 4;
}

/* Where a displacement leads: from the end of the instruction at @at. */
static bool is_inside(const struct function *f, size_t at, const struct insn *insn,
		      long displacement)
{
	const unsigned long target = at + insn->length + displacement;

	return target < f->len;
}

static int decode(const struct function *f, size_t at, struct insn *insn)
{
	const size_t left = f->len - at;
	const int ret = insn_decode(insn, f->code + at, left < MAX_INSN_SIZE ? left : MAX_INSN_SIZE,
				    INSN_MODE_64);

	if (ret == -ENODATA)
		return -EINVAL;
	return ret ? -EOPNOTSUPP : 0;
}

/* All but where branches lead. */
static int check_one(const struct function *f, size_t at, struct insn *insn)
{
	struct uhook_copy copy;
	int ret = decode(f, at, insn);

	if (ret)
		return ret;
	if (is_branch(insn))
		return is_inside(f, at, insn, insn->immediate.value) ? 0 : -EINVAL;
	/* To where it is: never too far. */
	ret = uhook_relocate(f->code + at, f->len - at, 0, 0, &copy);
	if (ret)
		return ret;
	if (is_elsewhere(insn))
		return -EOPNOTSUPP;
	if (insn_rip_relative(insn) && !is_inside(f, at, insn, insn->displacement.value))
		return -EINVAL;
	return 0;
}

/* Does nothing follow it?  With VEX, other instructions have the same opcodes. */
static bool is_last(struct insn *insn)
{
	const u8 op = insn->opcode.bytes[0];

	return !insn_is_avx(insn) && insn->opcode.nbytes == 1 &&
	       (op == 0xc3 || op == 0xe9 || op == 0xeb);
}

/* All starts are known now, and all instructions. */
static int check_branches(const struct function *f)
{
	struct insn insn;
	size_t at;

	for (at = 0; at < f->len; at += insn.length) {
		if (decode(f, at, &insn))
			return -EINVAL;
		if (is_branch(&insn) && !is_start(f, at + insn.length + insn.immediate.value))
			return -EINVAL;
	}
	return 0;
}

int uhook_check_code(const void *code, size_t len)
{
	struct function f = { .code = code, .len = len };
	struct insn insn;
	size_t at;

	if (!len || len > FUNCTION_MAX)
		return -EINVAL;
	for (at = 0; at < len; at += insn.length) {
		const int ret = check_one(&f, at, &insn);

		if (ret)
			return ret;
		set_start(&f, at);
	}
	if (!is_last(&insn))
		return -EINVAL;
	return check_branches(&f);
}
