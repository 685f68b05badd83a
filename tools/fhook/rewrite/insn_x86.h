/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions of x86_64, for the kernel's relocators
 *
 * This has the part of the kernel's decoder that the relocators use, with its names: the parts
 * of an instruction, as they are in memory. Zydis decodes. It refuses some encodings that the
 * kernel's decoder accepts, and those that are of no use here: XOP, 3DNow! and APX.
 */
#ifndef FHOOK_REWRITE_INSN_X86_H
#define FHOOK_REWRITE_INSN_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_INSN_SIZE		15

#define X86_MODRM_MOD(modrm)	((modrm) >> 6)
#define X86_MODRM_REG(modrm)	((modrm) >> 3 & 7)

/* The only mode here. */
enum insn_mode { INSN_MODE_64 };

/**
 * struct insn_field - a part of an instruction
 * @value: number that the part is, with its sign
 * @bytes: first bytes of the part
 * @nbytes: size of the part; 0: the instruction does not have it
 */
struct insn_field {
	int64_t value;
	uint8_t bytes[4];
	uint8_t nbytes;
};

/**
 * struct insn - an instruction
 * @kaddr: its bytes
 * @prefixes: legacy prefixes
 * @rex_prefix: REX prefix
 * @vex_prefix: VEX or EVEX prefix
 * @opcode: opcode with the bytes that select its map, unless a VEX or EVEX prefix does that
 * @modrm: ModRM byte
 * @displacement: displacement of an operand in memory
 * @immediate: first immediate operand, or distance of a branch
 * @displacement_at: offset of the displacement
 * @addr_bytes: size of addresses
 * @length: size of the instruction
 */
struct insn {
	const void *kaddr;
	struct insn_field prefixes, rex_prefix, vex_prefix, opcode, modrm, displacement, immediate;
	uint8_t displacement_at;
	uint8_t addr_bytes;
	uint8_t length;
};

/* Returns 0 or a negative error. */
int insn_decode(struct insn *insn, const void *bytes, int size, enum insn_mode mode);

static inline bool insn_is_evex(const struct insn *insn)
{
	return insn->vex_prefix.nbytes == 4;
}

/* The map of the opcode that a VEX or EVEX prefix selects. */
static inline uint8_t insn_vex_m_bits(const struct insn *insn)
{
	if (insn->vex_prefix.nbytes == 2)
		return 1;
	return insn->vex_prefix.bytes[1] & (insn_is_evex(insn) ? 0x07 : 0x1f);
}

static inline bool insn_rip_relative(const struct insn *insn)
{
	return insn->modrm.nbytes && (insn->modrm.bytes[0] & 0xc7) == 0x05;
}

static inline int insn_offset_displacement(const struct insn *insn)
{
	return insn->displacement_at;
}

/* These have been refused by insn_decode(). */
static inline bool insn_is_rex2(const struct insn *insn)
{
	return false;
}

static inline bool insn_has_emulate_prefix(const struct insn *insn)
{
	return false;
}

#endif /* FHOOK_REWRITE_INSN_X86_H */
