// SPDX-License-Identifier: GPL-2.0
/*
 * Checking functions that uhook copies into programs, on x86_64
 *
 * This checks compiled code for mistakes: calls of functions outside of the code, data
 * elsewhere, code for another location. It is no protection against malicious code,
 * because its provider could do worse anyway. The code is decoded from beginning to end,
 * one instruction after the other, as an assembler writes it; computed values are not
 * checked.
 *
 * A function may contain the instructions that the relocator can move, except those that
 * lead elsewhere. Relative branches, which the relocator does not move, are decoded here:
 * without prefixes except hints, none of which changes their length.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_relocate.h>
#include <asm/insn.h>

/* Maximum length of a function, in bytes: handlers are small. */
#define FUNCTION_MAX	4096

/**
 * struct function - code that is being checked
 * @code: bytes of the code
 * @len: number of bytes
 * @starts: a bit for each byte, set if an instruction starts there
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

	if (insn->vex_prefix.nbytes || insn_is_rex2(insn) || insn->rex_prefix.nbytes ||
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

/* Instructions that the relocator moves, but that leave the function, except a plain return. */
static bool is_elsewhere(struct insn *insn)
{
	if (insn->vex_prefix.nbytes || insn->opcode.nbytes != 1)
		return false;
	if (insn->opcode.bytes[0] == 0xc2)		/* ret $n */
		return true;
	return insn->opcode.bytes[0] == 0xff && X86_MODRM_REG(insn->modrm.bytes[0]) == 4;
}

/* Whether a displacement, relative to the end of the instruction at @at, leads into the code. */
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

/* Check everything but the targets of branches. */
static int check_one(const struct function *f, size_t at, struct insn *insn)
{
	struct uhook_copy copy;
	int ret = decode(f, at, insn);

	if (ret)
		return ret;
	if (is_branch(insn))
		return is_inside(f, at, insn, insn->immediate.value) ? 0 : -EINVAL;
	/* The distance is 0, so -ERANGE is not possible. */
	ret = uhook_relocate(f->code + at, f->len - at, 0, 0, &copy);
	if (ret)
		return ret;
	if (is_elsewhere(insn))
		return -EOPNOTSUPP;
	if (insn_rip_relative(insn) && !is_inside(f, at, insn, insn->displacement.value))
		return -EINVAL;
	return 0;
}

/*
 * Whether the instruction never continues with the next one. With VEX, other instructions
 * have the same opcodes.
 */
static bool is_last(struct insn *insn)
{
	const u8 op = insn->opcode.bytes[0];

	return !insn->vex_prefix.nbytes && insn->opcode.nbytes == 1 &&
	       (op == 0xc3 || op == 0xe9 || op == 0xeb);
}

/* Check the targets of branches; all starts of instructions are known now. */
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
