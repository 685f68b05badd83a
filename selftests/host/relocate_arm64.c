// SPDX-License-Identifier: GPL-2.0
/*
 * The part of the relocators' test that depends on arm64
 *
 * capstone 4 knows ARMv8.0, and no newer instructions: for those the relocator is compared
 * with mainline's uprobes, by relocate_mainline_arm64, and with binutils, in
 * relocate_arm64.awk.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "relocate.h"

#define WORD	4
#define B_REACH	0x8000000L

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, WORD);
	return word;
}

/*
 * Versions of capstone differ in the hints to which they give names. Uprobes step NOP, BTI,
 * and instructions that sign or strip a pointer.
 */
static bool is_other_hint(uint32_t word)
{
	const unsigned int hint = word >> 5 & 0x7f;
	static const uint64_t steppable = 1ULL << 0 | 1ULL << 7 | 1ULL << 8 | 1ULL << 10 |
		0xfULL << 24 | 1ULL << 32 | 1ULL << 34 | 1ULL << 36 | 1ULL << 38;

	if ((word & 0xfffff01f) != 0xd503201f)
		return false;
	return hint >= 64 || !(steppable >> hint & 1);
}

static bool is_exclusive(unsigned int id)
{
	switch (id) {
	case ARM64_INS_LDXR:
	case ARM64_INS_LDXRB:
	case ARM64_INS_LDXRH:
	case ARM64_INS_LDXP:
	case ARM64_INS_LDAXR:
	case ARM64_INS_LDAXRB:
	case ARM64_INS_LDAXRH:
	case ARM64_INS_LDAXP:
	case ARM64_INS_STXR:
	case ARM64_INS_STXRB:
	case ARM64_INS_STXRH:
	case ARM64_INS_STXP:
	case ARM64_INS_STLXR:
	case ARM64_INS_STLXRB:
	case ARM64_INS_STLXRH:
	case ARM64_INS_STLXP:
	case ARM64_INS_CLREX:
		return true;
	default:
		return false;
	}
}

static bool is_branch(csh capstone, const cs_insn *insn)
{
	return cs_insn_group(capstone, insn, CS_GRP_JUMP) ||
	       cs_insn_group(capstone, insn, CS_GRP_CALL) ||
	       cs_insn_group(capstone, insn, CS_GRP_RET) ||
	       cs_insn_group(capstone, insn, CS_GRP_IRET) ||
	       cs_insn_group(capstone, insn, CS_GRP_BRANCH_RELATIVE);
}

/* A load or prefetch that names an address and no base register. */
static bool is_literal(const cs_insn *insn)
{
	const cs_arm64 *detail = &insn->detail->arm64;
	int i;

	if (insn->id != ARM64_INS_LDR && insn->id != ARM64_INS_LDRSW &&
	    insn->id != ARM64_INS_PRFM)
		return false;
	for (i = 0; i < detail->op_count; i++) {
		if (detail->operands[i].type == ARM64_OP_MEM)
			return false;
	}
	return true;
}

static const char *immovable(csh capstone, const cs_insn *insn)
{
	if (is_branch(capstone, insn))
		return "branch";
	if (is_literal(insn))
		return "literal";
	if (is_exclusive(insn->id))
		return "exclusive";
	if (is_other_hint(word_at(insn->bytes)))
		return "hint";
	/* UDF, which capstone 4 does not know. */
	if (word_at(insn->bytes) <= 0xffff)
		return "exception";

	switch (insn->id) {
	case ARM64_INS_ADR:
		/* SVE has others of that name, which know nothing of the program counter. */
		return (word_at(insn->bytes) & 0x9f000000) == 0x10000000 ? "address" : NULL;
	case ARM64_INS_ADRP:
		return "address";
	case ARM64_INS_SVC:
	case ARM64_INS_HVC:
	case ARM64_INS_SMC:
	case ARM64_INS_BRK:
	case ARM64_INS_HLT:
	case ARM64_INS_DCPS1:
	case ARM64_INS_DCPS2:
	case ARM64_INS_DCPS3:
		return "exception";
	case ARM64_INS_ERET:
	case ARM64_INS_DRPS:
		return "return from an exception";
	case ARM64_INS_MSR:
	case ARM64_INS_SYSL:
	case ARM64_INS_AT:
	case ARM64_INS_TLBI:
		return "system";
	}
	return NULL;
}

static bool reaches(const cs_insn *insn, unsigned long to)
{
	long distance = insn->address - to;

	return distance >= -B_REACH && distance < B_REACH;
}

static const char *differs(csh capstone, const cs_insn *insn, const struct uhook_copy *copy,
			   unsigned long to)
{
	const char *what = NULL;
	cs_insn *jump;

	if (copy->insn_len != WORD || copy->copy_len != WORD || copy->len != 2 * WORD)
		return "the lengths";
	if (memcmp(copy->bytes, insn->bytes, WORD))
		return "the copied instruction";
	if (cs_disasm(capstone, copy->bytes + WORD, WORD, to + WORD, 1, &jump) != 1)
		return "the jump is no instruction";
	if (jump->id != ARM64_INS_B || strcmp(jump->mnemonic, "b"))
		what = "the jump is none";
	else if ((uint64_t)jump->detail->arm64.operands[0].imm != insn->address + WORD)
		what = "the jump goes elsewhere";
	cs_free(jump, 1);
	return what;
}

/* Barriers newer than capstone, which takes them for writes of unknown registers. */
static bool misread(const uint8_t *bytes, const cs_insn *insn)
{
	uint32_t word = word_at(bytes);

	(void)insn;
	/* SB, and DSB with nXS */
	return word == 0xd50330ff || (word & 0xfffff3ff) == 0xd503323f;
}

/* The groups that pure chance hits too rarely, with their variable bits. */
static const struct word_kind unusual[] = {
	{ 0x10000000, 0xe0ffffff, "ADR, ADRP" },
	{ 0x18000000, 0xc4ffffff, "loads of literals" },
	{ 0x08000000, 0xc0ffffff, "exclusives, ordered accesses, CAS" },
	{ 0x19000400, 0xc4dff3ff, "memory copy and set" },
	{ 0x38200000, 0xc0dffdff, "atomics" },
	{ 0x14000000, 0xe3ffffff, "branches, exceptions, system" },
	{ 0xd4000000, 0x00e0ffe3, "exceptions" },
	{ 0xd5000000, 0x003fffff, "system" },
	{ 0xd5032000, 0x00000fff, "hints" },
	{ 0xd5033000, 0x00000fff, "barriers" },
	{ 0xd50b7000, 0x00000fff, "cache maintenance" },
	{ 0xd53b0000, 0x0000ffff, "MRS of registers that programs may read" },
	{ 0xd6000000, 0x01fffc1f, "branches to registers" },
	{ 0xdac10000, 0x0000ffff, "pointer authentication" },
	{ 0x00000000, 0x0000ffff, "UDF" },
	{ 0x0420bc00, 0x000003ff, "MOVPRFX" },
};

#define UNUSUAL (sizeof(unusual) / sizeof(*unusual))

static void make(uint8_t *bytes)
{
	unsigned int i;

	for (i = 0; i < INSN_MAX; i += WORD) {
		const uint32_t word = random_word(unusual, UNUSUAL, UNUSUAL * 3 / 2);

		memcpy(bytes + i, &word, WORD);
	}
}

/*
 * Instructions that must be taken, or must not.  AUTIASP could be taken, but is not:
 * mainline's uprobes refuse a probe there.
 */
#define CASE(name, word, ret) { name, (const char *)(const uint32_t[]){ word }, WORD, ret }
#define TAKEN(name, word) CASE(name, word, 0)
#define REFUSED(name, word) CASE(name, word, -EOPNOTSUPP)

static const struct relocate_case cases[] = {
	TAKEN("NOP", 0xd503201f),
	TAKEN("BTI C", 0xd503245f),
	TAKEN("BTI JC", 0xd50324df),
	TAKEN("PACIASP", 0xd503233f),
	TAKEN("PACIBSP", 0xd503237f),
	TAKEN("XPACLRI", 0xd50320ff),
	TAKEN("STP, pre-indexed", 0xa9bf7bfd),
	TAKEN("LDP, post-indexed", 0xa8c17bfd),
	TAKEN("MOV from SP", 0x910003fd),
	TAKEN("LDR", 0xf9400000),
	TAKEN("LDADDAL", 0xf8e00020),
	TAKEN("CASAL", 0xc8e0fc20),
	TAKEN("LDAR", 0xc8dffc00),
	TAKEN("STLR", 0xc89ffc00),
	TAKEN("MRS of TPIDR_EL0", 0xd53bd040),
	TAKEN("MRS of NZCV", 0xd53b4200),
	TAKEN("DMB ISH", 0xd5033bbf),
	TAKEN("DSB SY NXS", 0xd5033e3f),
	TAKEN("ISB", 0xd5033fdf),
	TAKEN("SB", 0xd50330ff),
	TAKEN("DC ZVA", 0xd50b7420),
	TAKEN("AUTIA of a register", 0xdac11020),
	TAKEN("LDRAA", 0xf8200420),
	TAKEN("SVE ADD", 0x04200000),
	TAKEN("SVE ADR", 0x04a0a000),
	TAKEN("FCADD", 0x6e40e400),

	REFUSED("ADR", 0x10000000),
	REFUSED("ADRP", 0x90000000),
	REFUSED("LDR W, literal", 0x18000040),
	REFUSED("LDR X, literal", 0x58000040),
	REFUSED("LDRSW, literal", 0x98000040),
	REFUSED("PRFM, literal", 0xd8000040),
	REFUSED("LDR S, literal", 0x1c000040),
	REFUSED("LDR D, literal", 0x5c000040),
	REFUSED("LDR Q, literal", 0x9c000040),
	REFUSED("B", 0x14000001),
	REFUSED("BL", 0x94000001),
	REFUSED("B.EQ", 0x54000020),
	REFUSED("BC.EQ", 0x54000030),
	REFUSED("CBZ", 0x34000020),
	REFUSED("CBNZ", 0xb5000020),
	REFUSED("TBZ", 0x36000020),
	REFUSED("TBNZ", 0x37000020),
	REFUSED("CBGT", 0x74000020),
	REFUSED("BR", 0xd61f0000),
	REFUSED("BLR", 0xd63f0000),
	REFUSED("RET", 0xd65f03c0),
	REFUSED("BRAA", 0xd71f0801),
	REFUSED("BLRAAZ", 0xd63f081f),
	REFUSED("RETAA", 0xd65f0bff),
	REFUSED("RETAASPPC", 0x5500001f),
	REFUSED("ERET", 0xd69f03e0),
	REFUSED("DRPS", 0xd6bf03e0),
	REFUSED("LDXR", 0xc85f7c00),
	REFUSED("STXR", 0xc8017c00),
	REFUSED("LDAXR", 0xc85ffc00),
	REFUSED("STLXR", 0xc801fc00),
	REFUSED("LDXP", 0xc87f0400),
	REFUSED("STXP", 0xc8210400),
	REFUSED("CASP", 0x48207c82),
	REFUSED("CLREX", 0xd5033f5f),
	REFUSED("CPYFP", 0x19010440),
	REFUSED("SETP", 0x19c10440),
	REFUSED("MOVPRFX", 0x0420bc00),
	REFUSED("MOVPRFX, predicated", 0x04112000),
	REFUSED("SVC", 0xd4000001),
	REFUSED("HVC", 0xd4000002),
	REFUSED("SMC", 0xd4000003),
	REFUSED("BRK", 0xd4200000),
	REFUSED("HLT", 0xd4400000),
	REFUSED("DCPS1", 0xd4a00001),
	REFUSED("UDF", 0x00000000),
	REFUSED("TCANCEL", 0xd4600000),
	REFUSED("TSTART", 0xd5233060),
	REFUSED("MSR of NZCV", 0xd51b4200),
	REFUSED("MSR of TPIDR_EL0", 0xd51bd040),
	REFUSED("MRS of DAIF", 0xd53b4220),
	REFUSED("CFINV", 0xd500401f),
	REFUSED("SMSTART", 0xd503477f),
	REFUSED("YIELD", 0xd503203f),
	REFUSED("WFE", 0xd503205f),
	REFUSED("WFI", 0xd503207f),
	REFUSED("CSDB", 0xd503229f),
	REFUSED("AUTIASP", 0xd50323bf),
	REFUSED("AUTIA1716", 0xd503219f),
	REFUSED("PACM", 0xd50324ff),
	REFUSED("WFET", 0xd5031000),
	REFUSED("PACIASPPC", 0xdac1a3fe),
	REFUSED("AUTIASPPCR", 0xdac1901e),
	REFUSED("AUTIASPPC", 0xf380001f),
	REFUSED("TLBI", 0xd508871f),
	REFUSED("SYSL", 0xd52b7720),
	{}
};

const struct relocate_arch relocate_arch = {
	.name = "arm64",
	.machine = EM_AARCH64,
	.arch = CS_ARCH_ARM64,
	.mode = CS_MODE_LITTLE_ENDIAN,
	.step = WORD,
	.reach = B_REACH,
	.share = 99,
	.immovable = immovable,
	.reaches = reaches,
	.differs = differs,
	.misread = misread,
	.make = make,
	.cases = cases,
};
