// SPDX-License-Identifier: GPL-2.0
/*
 * Moving one x86_64 instruction of a program elsewhere
 *
 * The copy is the instruction as it stands, but for a displacement relative to
 * the instruction pointer, and behind it a jump to the next one.  So it must
 * not use its own address otherwise: a branch relative to it, a call or trap
 * that stores it, a transaction that remembers it.  A near return or an
 * indirect jump may move, the jump behind it never runs.  What changes segments
 * or the trap flag, or belongs to the kernel, stays where it is.
 *
 * Everything depends on the length: a copy that ends early runs into its jump.
 * The kernel's decoder is made for code that compilers emit, and guesses at the
 * rest without saying so: for an opcode or prefix that its table does not have,
 * it returns a length that leaves out ModRM and whatever follows that.  One-byte
 * opcodes are therefore accepted only by a list, and all others only when the
 * decoder found what the processor must find there.
 *
 * The x87 instruction pointer and what a debugger of hardware sees are those of
 * the copy, as they are when an instruction is stepped out of line.
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

/* The maps of opcodes by the numbers that VEX and EVEX give them. */
enum opcode_map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

/**
 * struct opcode - what says which instruction it is
 * @map: one of enum opcode_map, or what VEX or EVEX say
 * @byte: the opcode in that map
 * @has_modrm: whether there is a ModRM byte; if not, the rest is zero
 * @modrm: that byte
 * @memory: whether it names an operand in memory
 * @reg: the field of it that extends the opcode
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
 * Where a prefix is part of the opcode, the processor takes F2 or F3 before 66,
 * and the decoder takes the last of all prefixes, whatever it is.  But for 0F 78,
 * which is refused, what they may disagree about is equally long.
 */
static int decode(struct insn *insn, const void *bytes, size_t size)
{
	if (size > MAX_INSN_SIZE)
		size = MAX_INSN_SIZE;
	if (insn_decode(insn, bytes, size, INSN_MODE_64))
		return -EOPNOTSUPP;
	/* The names by which hypervisors ask to have an instruction emulated. */
	if (insn_has_emulate_prefix(insn))
		return -EOPNOTSUPP;
	/* Which of the two counts is not defined. */
	if (has_prefix(insn, 0xf2) && has_prefix(insn, 0xf3))
		return -EOPNOTSUPP;
	/* APX: no processor to test it on. */
	return insn_is_rex2(insn) ? -EOPNOTSUPP : 0;
}

/* No prefix that VEX and EVEX replace, nor bits of EVEX that only APX has. */
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

	if (insn_is_avx(insn))
		op->map = insn_vex_m_bits(insn);
	else if (insn->opcode.nbytes == 1)
		op->map = MAP_ONE;
	else if (insn->opcode.nbytes == 2)
		op->map = MAP_0F;
	else
		op->map = bytes[1] == 0x38 ? MAP_0F38 : MAP_0F3A;
}

/* Opcodes of one byte: what is not listed is a branch, a prefix or unknown. */
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
		/* AMD cuts the address off with 66, Intel does not. */
		return !has_prefix(insn, 0x66) && !has_prefix(insn, 0x67);
	case 0xff:					/* inc, dec, jump, push */
		if (op->reg == 4)
			return !has_prefix(insn, 0x66);
		return op->reg <= 1 || op->reg == 6;
	default:
		return false;
	}
}

/* Opcodes behind 0F with no ModRM: those that exist, of what may move. */
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

/* 0F 01 and 0F C7 hold a bit of everything. */
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

/* Opcodes behind 0F. */
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

/* The same opcodes and more in VEX and EVEX: nothing there branches. */
static bool vector_may_move(struct insn *insn, const struct opcode *op)
{
	if (!vector_is_plain(insn) || op->map < MAP_0F || op->map > MAP_0F3A)
		return false;
	/* A table shared with EVEX, and with what has no VEX. */
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
	/* Relative to EIP: the sum is cut off, wherever it is done. */
	if (insn_rip_relative(insn) && insn->addr_bytes != 8)
		return false;
	if (insn_is_avx(insn))
		return vector_may_move(insn, &op);

	switch (op.map) {
	case MAP_ONE:
		return one_byte_may_move(insn, &op);
	case MAP_0F:
		return two_bytes_may_move(insn, &op);
	case MAP_0F38:					/* but invept, invvpid, invpcid */
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
	/* The copy is as long as the original, so all distances change by this. */
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
