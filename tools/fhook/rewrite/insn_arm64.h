/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions of arm64, for the kernel's relocators
 *
 * This has the part of the kernel's header that the relocators and fhook-rewrite use, with its
 * names. An instruction is recognized by the bits of a mask, as the architecture's manual has
 * them.
 */
#ifndef FHOOK_REWRITE_INSN_ARM64_H
#define FHOOK_REWRITE_INSN_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#define AARCH64_INSN_SIZE		4

/* DAIF, in the bits of an MRS instruction from 5 on. */
#define AARCH64_INSN_SPCLREG_DAIF	0xda11

#define ENCODING(name, mask, bits)						\
static inline bool aarch64_insn_is_##name(uint32_t insn)			\
{										\
	return (insn & (mask)) == (bits);					\
}										\
										\
static inline uint32_t aarch64_insn_get_##name##_value(void)			\
{										\
	return bits;								\
}

/* Branches. */
ENCODING(b,		0xfc000000, 0x14000000)
ENCODING(bl,		0xfc000000, 0x94000000)
ENCODING(bcond,		0xff000000, 0x54000000)
ENCODING(cbz,		0x7f000000, 0x34000000)
ENCODING(cbnz,		0x7f000000, 0x35000000)
ENCODING(tbz,		0x7f000000, 0x36000000)
ENCODING(tbnz,		0x7f000000, 0x37000000)
ENCODING(br,		0xfffffc1f, 0xd61f0000)
ENCODING(blr,		0xfffffc1f, 0xd63f0000)
ENCODING(ret,		0xfffffc1f, 0xd65f0000)

/* Addresses and constants. */
ENCODING(adr,		0x9f000000, 0x10000000)
ENCODING(adrp,		0x9f000000, 0x90000000)
ENCODING(add_imm,	0x7f000000, 0x11000000)
ENCODING(movz,		0x7f800000, 0x52800000)
ENCODING(movk,		0x7f800000, 0x72800000)

/* Memory: literals with any operation but that of vectors, exclusives, copies. */
ENCODING(literal,	0x3f000000, 0x18000000)
ENCODING(load_ex,	0x3f400000, 0x08400000)
ENCODING(exclusive,	0x3f800000, 0x08000000)
ENCODING(mops,		0x3b200c00, 0x19000400)

/* The system: a barrier is one of several operations in bits 5 to 7. */
ENCODING(class_branch_sys, 0x1c000000, 0x14000000)
ENCODING(hint,		0xfffff01f, 0xd503201f)
ENCODING(bti,		0xffffff3f, 0xd503241f)
ENCODING(mrs,		0xfff00000, 0xd5300000)
ENCODING(clrex,		0xfffff0ff, 0xd503305f)
ENCODING(dmb,		0xfffff0ff, 0xd50330bf)
ENCODING(dsb,		0xfffff0ff, 0xd503309f)
ENCODING(dsb_nxs,	0xfffff3ff, 0xd503323f)
ENCODING(isb,		0xfffff0ff, 0xd50330df)
ENCODING(sb,		0xffffffff, 0xd50330ff)

#undef ENCODING

static inline bool aarch64_insn_is_adr_adrp(uint32_t insn)
{
	return aarch64_insn_is_adr(insn) || aarch64_insn_is_adrp(insn);
}

static inline bool aarch64_insn_uses_literal(uint32_t insn)
{
	return aarch64_insn_is_literal(insn) || aarch64_insn_is_adr_adrp(insn);
}

static inline bool aarch64_insn_is_barrier(uint32_t insn)
{
	return aarch64_insn_is_dmb(insn) || aarch64_insn_is_dsb(insn) ||
	       aarch64_insn_is_dsb_nxs(insn) || aarch64_insn_is_isb(insn) ||
	       aarch64_insn_is_sb(insn) || aarch64_insn_is_clrex(insn);
}

/* Hints that do the same anywhere: NOP, BTI, and authentication of pointers with known inputs. */
static inline bool aarch64_insn_is_steppable_hint(uint32_t insn)
{
	switch (aarch64_insn_is_hint(insn) ? insn >> 5 & 0x7f : 0x7f) {
	case 0:				/* nop */
	case 7:				/* xpaclri */
	case 8:				/* pacia1716 */
	case 10:			/* pacib1716 */
	case 24 ... 27:			/* paciaz, paciasp, pacibz, pacibsp */
	case 32:			/* bti */
	case 34:			/* bti c */
	case 36:			/* bti j */
	case 38:			/* bti jc */
		return true;
	default:
		return false;
	}
}

#endif /* FHOOK_REWRITE_INSN_ARM64_H */
