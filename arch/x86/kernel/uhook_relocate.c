// SPDX-License-Identifier: GPL-2.0
/*
 * Relocating one x86_64 instruction of a program
 *
 * The copy is the unchanged instruction, except for a displacement relative to the
 * instruction pointer, followed by a jump to the next instruction. So the instruction
 * must not use its own address in any other way, as relative branches do, calls and traps
 * that store it, or a transaction that remembers it. A near return or an indirect jump
 * may move; the jump after it never runs. Instructions that change segments or the trap
 * flag, or are privileged, are not moved.
 *
 * The length must be right: a copy that ends early runs into its jump. The kernel's
 * decoder is made for compiled code, and guesses the rest silently: for an opcode or
 * prefix that its table lacks, it returns a length without ModRM and the following bytes.
 * So one-byte opcodes are accepted only from a list, and all others only if the decoder
 * found the parts that the processor expects.
 *
 * The x87 instruction pointer, and addresses in hardware debuggers, are those of the
 * copy, as they are when an instruction is stepped out of line.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_relocate.h>
#include <asm/insn.h>

#define JMP_OPCODE	0xe9
#define JMP_SIZE	5

/* Opcode maps, by their numbers in VEX and EVEX. */
enum opcode_map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

/**
 * struct opcode - the parts that identify an instruction
 * @map: opcode map, one of enum opcode_map, or another number from VEX or EVEX
 * @byte: opcode in the map
 * @has_modrm: whether there is a ModRM byte; if not, the following members are 0
 * @modrm: the ModRM byte
 * @memory: whether ModRM selects an operand in memory
 * @reg: reg field of ModRM, which extends the opcode
 */
struct opcode {
	u8 map;
	u8 byte;
	bool has_modrm;
	u8 modrm;
	bool memory;
	u8 reg;
};

static bool has_prefix(const struct insn *insn, u8 prefix)
{
	return memchr(insn->kaddr, prefix, insn->prefixes.nbytes);
}

/*
 * If a prefix is part of the opcode, the processor prefers F2 or F3 over 66, but the
 * decoder uses the last of all prefixes. Where the two may disagree, the instructions
 * have the same length, except for 0F 78, which is refused.
 */
static int decode(struct insn *insn, const void *bytes, size_t size)
{
	if (size > MAX_INSN_SIZE)
		size = MAX_INSN_SIZE;
	if (insn_decode(insn, bytes, size, INSN_MODE_64))
		return -EOPNOTSUPP;
	/* Prefixes with which guests of hypervisors request the emulation of an instruction. */
	if (insn_has_emulate_prefix(insn))
		return -EOPNOTSUPP;
	/* It is undefined which of the two applies. */
	if (has_prefix(insn, 0xf2) && has_prefix(insn, 0xf3))
		return -EOPNOTSUPP;
	/* APX: untested for lack of a processor. */
	return insn_is_rex2(insn) ? -EOPNOTSUPP : 0;
}

/* No prefix that VEX and EVEX replace, and no bits of EVEX that only APX has. */
static bool vector_is_plain(struct insn *insn)
{
	const u8 *evex = insn->vex_prefix.bytes;

	if (insn->rex_prefix.nbytes || has_prefix(insn, 0x66) || has_prefix(insn, 0xf0) ||
	    has_prefix(insn, 0xf2) || has_prefix(insn, 0xf3))
		return false;
	return !insn_is_evex(insn) || (!(evex[1] & 0x08) && (evex[2] & 0x04));
}

static void get_opcode(struct insn *insn, struct opcode *op)
{
	const u8 *bytes = insn->opcode.bytes;

	op->byte = bytes[insn->opcode.nbytes - 1];
	op->has_modrm = insn->modrm.nbytes;
	op->modrm = insn->modrm.bytes[0];
	op->memory = op->has_modrm && X86_MODRM_MOD(op->modrm) != 3;
	op->reg = X86_MODRM_REG(op->modrm);

	if (insn->vex_prefix.nbytes)
		op->map = insn_vex_m_bits(insn);
	else if (insn->opcode.nbytes == 1)
		op->map = MAP_ONE;
	else if (insn->opcode.nbytes == 2)
		op->map = MAP_0F;
	else
		op->map = bytes[1] == 0x38 ? MAP_0F38 : MAP_0F3A;
}

/* One-byte opcodes. Those not listed are branches, prefixes or unknown. */
static bool one_byte_may_move(const struct insn *insn, const struct opcode *op)
{
	switch (op->byte) {
	case 0x00 ... 0x3f:				/* arithmetic */
		return (op->byte & 7) < 6;
	case 0x50 ... 0x5f:				/* push, pop */
	case 0x63:					/* movsxd */
	case 0x68 ... 0x6b:				/* push, imul */
	case 0x80 ... 0x81:
	case 0x83 ... 0x8d:				/* arithmetic, mov, lea */
	case 0x90 ... 0x99:				/* xchg, cbw, cwd */
	case 0x9b ... 0x9c:				/* fwait, pushf */
	case 0x9e ... 0x9f:				/* sahf, lahf */
	case 0xa0 ... 0xc1:				/* mov, strings, shifts */
	case 0xc8 ... 0xc9:				/* enter, leave */
	case 0xd0 ... 0xd3:				/* shifts */
	case 0xd7 ... 0xdf:				/* xlat, x87 */
	case 0xf5:					/* cmc */
	case 0xf8 ... 0xf9:				/* clc, stc */
	case 0xfc ... 0xfd:				/* cld, std */
		return true;
	case 0xf6 ... 0xf7:				/* not, mul ...; test */
		return op->reg > 1 || insn->immediate.nbytes;
	case 0x8f:					/* pop; others are XOP */
	case 0xc6 ... 0xc7:				/* mov; xabort, xbegin */
		return op->reg == 0;
	case 0xfe:					/* inc, dec */
		return op->reg <= 1;
	case 0xc2 ... 0xc3:				/* near return */
		/* AMD truncates the address with 66, Intel does not. */
		return !has_prefix(insn, 0x66) && !has_prefix(insn, 0x67);
	case 0xff:					/* inc, dec, jump, push */
		if (op->reg == 4)
			return !has_prefix(insn, 0x66);
		return op->reg <= 1 || op->reg == 6;
	default:
		return false;
	}
}

/* Valid opcodes after 0F without ModRM that may move. */
static bool has_no_modrm(const struct insn *insn, const struct opcode *op)
{
	switch (op->byte) {
	case 0x31:					/* rdtsc */
	case 0x77:					/* emms */
	case 0xa0:					/* push fs */
	case 0xa2:					/* cpuid */
	case 0xa8:					/* push gs */
	case 0xc8 ... 0xcf:				/* bswap */
		return !has_prefix(insn, 0xf2) && !has_prefix(insn, 0xf3);
	default:
		return false;
	}
}

/* Opcodes 0F 01 and 0F C7, which have a variety of instructions. */
static bool system_may_move(const struct insn *insn, const struct opcode *op)
{
	if (op->byte == 0xc7) {
		if (op->memory)				/* cmpxchg8b, xsavec */
			return op->reg == 1 || op->reg == 4;
		return op->reg >= 6;			/* rdrand, rdseed, rdpid */
	}
	if (has_prefix(insn, 0x66) || has_prefix(insn, 0xf2) || has_prefix(insn, 0xf3))
		return false;
	switch (op->modrm) {
	case 0xd0:					/* xgetbv */
	case 0xd6:					/* xtest */
	case 0xee ... 0xef:				/* rdpkru, wrpkru */
	case 0xf9:					/* rdtscp */
		return true;
	default:
		return false;
	}
}

/* Opcodes after 0F. */
static bool two_bytes_may_move(const struct insn *insn, const struct opcode *op)
{
	if (!op->has_modrm)
		return has_no_modrm(insn, op);

	switch (op->byte) {
	case 0x01:
	case 0xc7:
		return system_may_move(insn, op);
	case 0x00:					/* sldt ... ltr */
	case 0x0b:					/* ud2 */
	case 0x0f:					/* 3DNow!, an opcode at the end */
	case 0x20 ... 0x27:				/* mov with CR and DR: no mod there */
	case 0x78 ... 0x79:				/* vmread; two immediates in SSE4a */
	case 0x80 ... 0x8f:				/* jcc */
	case 0xa6 ... 0xa7:				/* PadLock */
	case 0xaa:					/* rsm */
	case 0xb2:					/* lss */
	case 0xb4 ... 0xb5:				/* lfs, lgs */
	case 0xb9:					/* ud1 */
	case 0xff:					/* ud0 */
		return false;
	case 0x71 ... 0x73:				/* shifts, all of them by a constant */
		return insn->immediate.nbytes;
	default:
		return true;
	}
}

/* VEX and EVEX have these opcodes and more, but no branches. */
static bool vector_may_move(struct insn *insn, const struct opcode *op)
{
	if (!vector_is_plain(insn) || op->map < MAP_0F || op->map > MAP_0F3A)
		return false;
	/* The decoder's table also serves EVEX and legacy instructions. */
	if (op->map == MAP_0F && (op->byte == 0x78 || op->byte == 0x79))
		return insn_is_evex(insn) && op->has_modrm;
	if (op->map == MAP_0F && op->byte == 0x77)	/* vzeroupper */
		return !insn_is_evex(insn) && !op->has_modrm;
	if (!op->has_modrm)
		return false;
	if (op->map == MAP_0F && op->byte >= 0x71 && op->byte <= 0x73)
		return insn->immediate.nbytes;
	return op->map != MAP_0F3A || insn->immediate.nbytes;
}

static bool may_move(struct insn *insn)
{
	struct opcode op;

	get_opcode(insn, &op);
	/* Relative to EIP: the sum is truncated to 32 bits. */
	if (insn_rip_relative(insn) && insn->addr_bytes != 8)
		return false;
	if (insn->vex_prefix.nbytes)
		return vector_may_move(insn, &op);

	switch (op.map) {
	case MAP_ONE:
		return one_byte_may_move(insn, &op);
	case MAP_0F:
		return two_bytes_may_move(insn, &op);
	case MAP_0F38:					/* except invept, invvpid, invpcid */
		return op.has_modrm && (op.byte < 0x80 || op.byte > 0x82);
	default:
		return op.has_modrm && insn->immediate.nbytes;
	}
}

static bool fits_s32(long value)
{
	return value == (s32)value;
}

static void put_s32(u8 *p, s32 value)
{
	memcpy(p, &value, sizeof(value));
}

int uhook_relocate(const void *bytes, size_t size, unsigned long from, unsigned long to,
		   struct uhook_copy *copy)
{
	/* The copy is as long as the original, so all distances change by this amount. */
	const long moved = from - to;
	struct insn insn;

	if (decode(&insn, bytes, size) || !may_move(&insn))
		return -EOPNOTSUPP;
	if (!fits_s32(moved - JMP_SIZE))
		return -ERANGE;

	memset(copy, 0, sizeof(*copy));
	copy->insn_len = insn.length;
	copy->copy_len = insn.length;
	copy->len = insn.length + JMP_SIZE;
	memcpy(copy->bytes, bytes, insn.length);

	if (insn_rip_relative(&insn)) {
		const long displacement = (s32)insn.displacement.value + moved;

		if (!fits_s32(displacement))
			return -ERANGE;
		put_s32(copy->bytes + insn_offset_displacement(&insn), displacement);
	}

	copy->bytes[copy->copy_len] = JMP_OPCODE;
	put_s32(copy->bytes + copy->copy_len + 1, moved - JMP_SIZE);
	return 0;
}
