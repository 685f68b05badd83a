// SPDX-License-Identifier: GPL-2.0
/*
 * Compare relocated branches of arm64 with capstone, and check jumps
 *
 * Usage: jump-arm64 [-s SEED] [-n RANDOM] [FILE...]
 *
 * Each word in the code of the files, and RANDOM made ones, goes through
 * uhook_relocate_branch(). The copy is read by capstone and followed: which register
 * gets which value, where execution continues, and on which condition. The effects
 * must be those that capstone reads in the original. All other instructions must be
 * treated as uhook_relocate() treats them.
 *
 * The limits of jumps, the code that counts, and code between exclusives follow.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/uhook_code.h>
#include "common.h"
#include "relocate.h"

#define WORD		4
#define B_REACH		0x8000000UL
#define RANDOM_COUNT	2000000
#define COPY_WORDS	(UHOOK_COPY_MAX / WORD)

enum kind { OTHER, BRANCH, CALL, CONDITION, ADDRESS, REGISTER, KINDS };

static const char *const kind_names[KINDS] = {
	"other", "branches", "calls", "conditions", "addresses", "to registers"
};

/* Effect of an instruction, or of its copy. */
struct effect {
	enum kind kind;
	int reg;		/* that it writes, or -1 */
	uint64_t value;
	char condition[48];	/* of a jump to @taken, or the register it goes to */
	uint64_t taken;
	uint64_t next;		/* next address otherwise, or 0 */
};

static csh capstone;
static unsigned long moved[KINDS], far[KINDS];

static void complain_of(const char *what, uint32_t word, uint64_t from, uint64_t to,
			const struct uhook_copy *copy)
{
	complain("%s: %08x at %lx, moved to %lx:%s", what, word, from, to,
		 copy ? in_hex(copy->bytes, copy->len) : "");
}

static void expect(const char *what, long is, long should)
{
	if (is != should)
		complain("%s: %ld (%lx), and not %ld (%lx)", what, is, is, should, should);
}

static cs_insn *read_word(const void *bytes, uint64_t at)
{
	cs_insn *insn;

	return cs_disasm(capstone, bytes, WORD, at, 1, &insn) == 1 ? insn : NULL;
}

/* 0 to 30, 31 for the zero register, -1 for all others. */
static int number_of(arm64_reg reg)
{
	const char *name = cs_reg_name(capstone, reg);

	if (name && !strcmp(name, "xzr"))
		return 31;
	if (reg == ARM64_REG_X29)
		return 29;
	if (reg == ARM64_REG_X30)
		return 30;
	return name && *name == 'x' ? atoi(name + 1) : -1;
}

static int64_t immediate(const cs_insn *insn)
{
	const cs_arm64 *detail = &insn->detail->arm64;

	return detail->operands[detail->op_count - 1].imm;
}

/* The condition in words, or its opposite. */
static void name_condition(const cs_insn *insn, bool opposite, char *name)
{
	static const char *const opposites[][2] = {
		{ "cbz", "cbnz" }, { "tbz", "tbnz" }, { "b.eq", "b.ne" }, { "b.hs", "b.lo" },
		{ "b.mi", "b.pl" }, { "b.vs", "b.vc" }, { "b.hi", "b.ls" }, { "b.ge", "b.lt" },
		{ "b.gt", "b.le" },
	};
	const char *mnemonic = insn->mnemonic, *comma = strrchr(insn->op_str, ',');
	size_t i, operands = comma ? comma - insn->op_str : 0;

	for (i = 0; opposite && i < sizeof(opposites) / sizeof(*opposites); i++) {
		if (!strcmp(mnemonic, opposites[i][0]))
			mnemonic = opposites[i][1];
		else if (!strcmp(mnemonic, opposites[i][1]))
			mnemonic = opposites[i][0];
		else
			continue;
		break;
	}
	sprintf(name, "%.8s %.*s", mnemonic, (int)operands, insn->op_str);
}

static bool is_condition(const cs_insn *insn)
{
	switch (insn->id) {
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		return true;
	case ARM64_INS_B:
		return !strncmp(insn->mnemonic, "b.", 2) && strcmp(insn->mnemonic, "b.al") &&
		       strcmp(insn->mnemonic, "b.nv");
	default:
		return false;
	}
}

static void read_branch(const cs_insn *insn, struct effect *effect)
{
	effect->kind = insn->id == ARM64_INS_BL ? CALL : BRANCH;
	effect->taken = immediate(insn);
	if (effect->kind == CALL) {
		effect->reg = 30;
		effect->value = insn->address + WORD;
	}
}

/* RET differs from BR, even with the same register. */
static void read_register(const cs_insn *insn, struct effect *effect)
{
	const cs_arm64 *detail = &insn->detail->arm64;
	int reg = detail->op_count ? number_of(detail->operands[0].reg) : 30;

	if (reg < 0 || (insn->id == ARM64_INS_BLR && reg == 30))
		return;
	effect->kind = REGISTER;
	sprintf(effect->condition, "%s x%d", insn->id == ARM64_INS_RET ? "ret" : "br", reg);
	if (insn->id == ARM64_INS_BLR) {
		effect->reg = 30;
		effect->value = insn->address + WORD;
	}
}

static void read_original(const cs_insn *insn, struct effect *effect)
{
	memset(effect, 0, sizeof(*effect));
	effect->reg = -1;
	if (insn->id == ARM64_INS_ADR || insn->id == ARM64_INS_ADRP) {
		effect->kind = ADDRESS;
		effect->reg = number_of(insn->detail->arm64.operands[0].reg);
		effect->value = immediate(insn);
		effect->next = insn->address + WORD;
		if (effect->reg == 31) {
			effect->reg = -1;
			effect->value = 0;
		}
	} else if (is_condition(insn)) {
		effect->kind = CONDITION;
		name_condition(insn, false, effect->condition);
		effect->taken = immediate(insn);
		effect->next = insn->address + WORD;
	} else if (!strcmp(insn->mnemonic, "b") || insn->id == ARM64_INS_BL) {
		read_branch(insn, effect);
	} else if (insn->id == ARM64_INS_BR || insn->id == ARM64_INS_BLR ||
		   insn->id == ARM64_INS_RET) {
		read_register(insn, effect);
	}
}

/* Follow part of a value: false if it depends on anything but the copy. */
static bool follow_value(const cs_insn *insn, struct effect *effect)
{
	const cs_arm64 *detail = &insn->detail->arm64;
	int reg = number_of(detail->operands[0].reg);
	unsigned int shift = detail->operands[detail->op_count - 1].shift.value;

	if (effect->reg >= 0 ? reg != effect->reg : reg == 31)
		return false;
	switch (insn->id) {
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
		effect->value = immediate(insn);
		break;
	case ARM64_INS_MOV:
	case ARM64_INS_MOVZ:
		if (detail->operands[1].type != ARM64_OP_IMM)
			return false;
		effect->value = (uint64_t)immediate(insn) << shift;
		break;
	case ARM64_INS_MOVK:
		if (effect->reg < 0)
			return false;
		effect->value &= ~(0xffffUL << shift);
		effect->value |= (uint64_t)immediate(insn) << shift;
		break;
	case ARM64_INS_ADD:
		if (effect->reg < 0 || number_of(detail->operands[1].reg) != reg ||
		    detail->operands[2].type != ARM64_OP_IMM)
			return false;
		effect->value += (uint64_t)immediate(insn) << shift;
		break;
	default:
		return false;
	}
	effect->reg = reg;
	return true;
}

/*
 * Find the effect of a copy. Returns the number of bytes that stand for the
 * instruction, or 0 if the copy has no valid form.
 */
static unsigned int follow(const struct uhook_copy *copy, uint64_t to, struct effect *effect)
{
	cs_insn *insn[COPY_WORDS] = {};
	unsigned int i, n = copy->len / WORD, len = 0;

	memset(effect, 0, sizeof(*effect));
	effect->reg = -1;
	for (i = 0; i < n; i++) {
		insn[i] = read_word(copy->bytes + i * WORD, to + i * WORD);
		if (!insn[i])
			goto out;
	}
	for (i = 0; i < n; i++) {
		if (insn[i]->id != ARM64_INS_NOP && !follow_value(insn[i], effect))
			break;
	}
	if (!i && n == 3 && is_condition(insn[0])) {
		if (immediate(insn[0]) != to + 2 * WORD || strcmp(insn[1]->mnemonic, "b") ||
		    strcmp(insn[2]->mnemonic, "b"))
			goto out;
		name_condition(insn[0], true, effect->condition);
		effect->taken = immediate(insn[1]);
		effect->next = immediate(insn[2]);
		len = 2 * WORD;
	} else if (i + 1 == n && !strcmp(insn[i]->mnemonic, "b")) {
		effect->taken = immediate(insn[i]);
		len = copy->len;
	} else if (i + 1 == n && (insn[i]->id == ARM64_INS_BR || insn[i]->id == ARM64_INS_RET)) {
		struct effect last;

		read_original(insn[i], &last);
		memcpy(effect->condition, last.condition, sizeof(last.condition));
		len = copy->len;
	}
out:
	for (i = 0; i < n && insn[i]; i++)
		cs_free(insn[i], 1);
	return len;
}

static const char *differs(const struct effect *original, const struct uhook_copy *copy,
			   uint64_t to)
{
	struct effect effect;
	unsigned int len;

	if (copy->len % WORD || copy->len > UHOOK_COPY_MAX || copy->insn_len != WORD)
		return "the length";
	len = follow(copy, to, &effect);
	/* The copy of ADR ends with the jump to the next instruction. */
	if (original->kind == ADDRESS) {
		len -= WORD;
		effect.next = effect.taken;
		effect.taken = 0;
	}
	if (!len || copy->copy_len != len)
		return "no such form, or its length";
	if (effect.reg != original->reg || (effect.reg >= 0 && effect.value != original->value))
		return "the register";
	if (strcmp(effect.condition, original->condition))
		return "the condition";
	if (effect.taken != original->taken)
		return "the target";
	return effect.next != original->next ? "the next one" : NULL;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b + B_REACH - COPY_WORDS * WORD < 2 * (B_REACH - COPY_WORDS * WORD);
}

/* Are all targets within reach from every word of the copy? */
static bool is_surely_near(const struct effect *effect, uint64_t from, uint64_t to)
{
	bool jumps = effect->kind == BRANCH || effect->kind == CALL || effect->kind == CONDITION;

	return (!jumps || is_near(effect->taken, to)) &&
	       (!effect->next || is_near(from + WORD, to));
}

/* An instruction that uhook_relocate_branch() has no other form for. */
static void check_other(uint32_t word, uint64_t from, uint64_t to, int ret,
			const struct uhook_copy *copy)
{
	struct uhook_copy other;
	int should = uhook_relocate(&word, WORD, from, to, &other);

	if (ret != should)
		complain_of("not as uhook_relocate() has it", word, from, to, copy);
	else if (!ret && (copy->len != other.len || copy->copy_len != other.copy_len ||
			  memcmp(copy->bytes, other.bytes, other.len)))
		complain_of("another copy than that of uhook_relocate()", word, from, to, copy);
}

static void check_word(uint32_t word, uint64_t from, uint64_t to)
{
	struct effect original = { .kind = OTHER };
	cs_insn *insn = read_word(&word, from);
	struct uhook_copy copy = {};
	const char *wrong;
	int ret;

	if (insn) {
		read_original(insn, &original);
		cs_free(insn, 1);
	}
	ret = uhook_relocate_branch(&word, WORD, from, to, &copy);
	if (original.kind == OTHER) {
		check_other(word, from, to, ret, ret ? NULL : &copy);
	} else if (ret == -ERANGE) {
		far[original.kind]++;
		if (is_surely_near(&original, from, to))
			complain_of("refused in reach", word, from, to, NULL);
	} else if (ret) {
		complain_of("refused", word, from, to, NULL);
	} else {
		moved[original.kind]++;
		wrong = differs(&original, &copy, to);
		if (wrong)
			complain_of(wrong, word, from, to, &copy);
	}
}

/* Near the edge of a jump's reach, or anywhere within it, or beyond all. */
static uint64_t random_place(uint64_t from)
{
	uint64_t r = random_next(), away;

	switch (r & 7) {
	case 0 ... 1:
		away = B_REACH - 64 + (r >> 8) % 128;
		break;
	case 2 ... 5:
		away = (r >> 8) % B_REACH;
		break;
	case 6:
		away = (r >> 8) % 0x1000;
		break;
	default:
		away = (r >> 8) % 0x200000000;
		break;
	}
	return (r & 0x80 ? from + away : from - away) & -WORD;
}

/* Kinds that pure chance hits too rarely, with their variable bits. */
static const struct word_kind unusual[] = {
	{ 0x10000000, 0xe0ffffff, "ADR, ADRP" },
	{ 0x14000000, 0x83ffffff, "B, BL" },
	{ 0x14000000, 0x80ffffff, "the same, not as far" },
	{ 0x54000000, 0x00ffffff, "B.cond" },
	{ 0x34000000, 0x83ffffff, "CBZ and all that" },
	{ 0x54000000, 0x01ffffff, "others of that kind" },
	{ 0xd61f0000, 0x00e003e0, "BR, BLR, RET and more" },
	{ 0xd6000000, 0x01fffc1f, "branches to registers" },
	{ 0x18000000, 0xc4ffffff, "loads of literals" },
	{ 0x08000000, 0xc0ffffff, "exclusives" },
	{ 0x14000000, 0xe3ffffff, "branches, exceptions, system" },
};

#define UNUSUAL (sizeof(unusual) / sizeof(*unusual))

static void check_random(unsigned long number)
{
	static const uint64_t places[] = {
		CODE_BASE, CODE_BASE, 0x400000, 0x8000000, 0xfffffffff000, 0xffffff8000000,
		0xf000000000, 0x123456789abc0000,
	};
	uint64_t from, r;
	uint32_t word;

	while (number--) {
		word = random_word(unusual, UNUSUAL, UNUSUAL + 1);
		r = random_next();
		from = places[r & 7] + (r >> 8) % 0x100000 * WORD;
		check_word(word, from, random_place(from));
	}
}

static void check_file(const char *path)
{
	size_t i, pieces, at;
	struct code *code = read_code(path, EM_AARCH64, &pieces);
	uint64_t from;
	uint32_t word;

	if (!code) {
		complain("%s: this is no ELF file for arm64", path);
		return;
	}
	for (i = 0; i < pieces; i++) {
		for (at = 0; at + WORD <= code[i].size; at += WORD) {
			memcpy(&word, code[i].bytes + at, WORD);
			from = CODE_BASE + code[i].address + at;
			check_word(word, from, from - 0x100000);
			check_word(word, from, random_place(from));
		}
	}
	free(code);
}

static void report(const char *name)
{
	unsigned int i;

	printf("%s:", name);
	for (i = BRANCH; i < KINDS; i++) {
		printf(" %lu %s (%lu too far)", moved[i], kind_names[i], far[i]);
		if (!moved[i])
			complain("there must be some of each kind");
	}
	printf("\n");
	memset(moved, 0, sizeof(moved));
	memset(far, 0, sizeof(far));
}

/* Instructions that must be taken, or must not. */
static const struct {
	const char *name;
	uint32_t word;
	int ret;
} cases[] = {
	{ "NOP", 0xd503201f, 0 },
	{ "STP", 0xa9bf7bfd, 0 },
	{ "ADR", 0x10000000, 0 },
	{ "ADR to the zero register", 0x1000001f, 0 },
	{ "ADRP", 0x90000000, 0 },
	{ "B", 0x14000001, 0 },
	{ "B to itself", 0x14000000, 0 },
	{ "BL", 0x94000001, 0 },
	{ "B.EQ", 0x54000020, 0 },
	{ "CBZ", 0x34000020, 0 },
	{ "TBNZ of bit 63", 0xb7f80020, 0 },
	{ "BR", 0xd61f0000, 0 },
	{ "BLR", 0xd63f0000, 0 },
	{ "RET", 0xd65f03c0, 0 },
	{ "RET X1", 0xd65f0020, 0 },
	{ "BLR X30", 0xd63f03c0, -EOPNOTSUPP },
	{ "B.AL", 0x5400002e, -EOPNOTSUPP },
	{ "B.NV", 0x5400002f, -EOPNOTSUPP },
	{ "BC.EQ", 0x54000030, -EOPNOTSUPP },
	{ "CBGT", 0x74000020, -EOPNOTSUPP },
	{ "LDR, literal", 0x58000040, -EOPNOTSUPP },
	{ "PRFM, literal", 0xd8000040, -EOPNOTSUPP },
	{ "BRAA", 0xd71f0801, -EOPNOTSUPP },
	{ "BLRAAZ", 0xd63f081f, -EOPNOTSUPP },
	{ "RETAA", 0xd65f0bff, -EOPNOTSUPP },
	{ "RETAASPPC", 0x5500001f, -EOPNOTSUPP },
	{ "ERET", 0xd69f03e0, -EOPNOTSUPP },
	{ "LDXR", 0xc85f7c00, -EOPNOTSUPP },
	{ "SVC", 0xd4000001, -EOPNOTSUPP },
	{ "BRK", 0xd4200000, -EOPNOTSUPP },
};

static void check_cases(void)
{
	struct uhook_copy copy;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		expect(cases[i].name, uhook_relocate_branch(&cases[i].word, WORD, CODE_BASE,
							    CODE_BASE + 64, &copy),
		       cases[i].ret);
		expect(cases[i].name, uhook_relocate_branch(&cases[i].word, WORD - 1, CODE_BASE,
							    CODE_BASE + 64, &copy),
		       -EOPNOTSUPP);
		expect(cases[i].name, uhook_relocate_branch(&cases[i].word, WORD, CODE_BASE,
							    CODE_BASE + 2, &copy),
		       -EOPNOTSUPP);
	}
	/* ADRP of address 0, from where another ADRP reaches all addresses. */
	check_word(0xb0800001, 0xfffff000, 0x105fff000);
	expect("an ADRP of nothing", moved[ADDRESS], 1);
	printf("%u cases\n", i);
}

/* A jump is made or refused, and capstone reads the right target. */
static void check_jump(unsigned long site, unsigned long target, int ret)
{
	static const uint8_t text[UHOOK_JUMP_MAX] = { 1, 2, 3, 4 };
	struct uhook_jump jump = {};
	uint8_t hop[UHOOK_JUMP_MAX];
	cs_insn *insn;

	expect("making a hop", uhook_make_hop(site, target, hop), ret);
	expect("making a jump", uhook_make_jump(site, text, WORD, target, &jump), ret);
	if (ret)
		return;
	expect("the length of a jump", jump.len, WORD);
	expect("what was there", memcmp(jump.before, text, WORD), 0);
	expect("the hop", memcmp(jump.bytes, hop, WORD), 0);
	insn = read_word(jump.bytes, site);
	if (!insn || strcmp(insn->mnemonic, "b"))
		expect("a jump", 0, 1);
	else
		expect("where it leads", immediate(insn), target);
	if (insn)
		cs_free(insn, 1);
}

static void check_jumps(void)
{
	static const unsigned long sites[] = {
		0, 4, 0x10000, 0x7fffffc, 0x8000000, 0x8000004, CODE_BASE, 0xffffffffffc,
		(1UL << 52) - 0x8000000, (1UL << 52) - 4,
	};
	static const uint8_t text[UHOOK_JUMP_MAX];
	struct uhook_targets targets;
	unsigned long site;
	unsigned int i;

	for (i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
		site = sites[i];
		expect("targets", uhook_jump_targets(site, text, WORD, &targets), 0);
		expect("whether they are forced", targets.forced, false);
		expect("the first", targets.first, site < B_REACH ? 0 : site - B_REACH);
		expect("the last", targets.last, (site + B_REACH < 1UL << 52 ?
						  site + B_REACH : 1UL << 52) - WORD);
		check_jump(site, targets.first, 0);
		check_jump(site, targets.last, 0);
		check_jump(site, site + 2, -ERANGE);
		check_jump(site, site + B_REACH, -ERANGE);
		check_jump(site, site - B_REACH - WORD, -ERANGE);
		check_jump(site, site + (1UL << 32), -ERANGE);
	}
	expect("targets of an odd site", uhook_jump_targets(CODE_BASE + 1, text, WORD, &targets),
	       -ERANGE);
	expect("targets beyond all", uhook_jump_targets(1UL << 52, text, WORD, &targets), -ERANGE);
	expect("targets in the kernel", uhook_jump_targets(-4096UL, text, WORD, &targets), -ERANGE);
}

/* Its length, from near to far, and with too little room; jump_run_arm64 runs it. */
static void check_count(void)
{
	static const struct {
		unsigned long away;
		int len;
	} cells[] = {
		{ 0x10000, 32 }, { 0xe0008, 32 }, { -0xf0000UL, 32 }, { 0x200000, 32 },
		{ 0x200008, 36 }, { -0x200000UL, 32 }, { 0xfff00008, 36 }, { -0xffff0000UL, 32 },
		{ 0x100010000, -ERANGE }, { -0x100010000UL, -ERANGE }, { 1UL << 40, -ERANGE },
	};
	uint8_t code[64];
	unsigned int i;
	int size, len;

	for (i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		len = uhook_count_code(code, sizeof(code), CODE_BASE, CODE_BASE + cells[i].away);
		expect("the length of what counts", len, cells[i].len);
		for (size = 0; size < len; size++)
			expect("its length in too little room",
			       uhook_count_code(code, size, CODE_BASE, CODE_BASE + cells[i].away),
			       -ENOSPC);
		if (len > 0)
			expect("its length in just enough room",
			       uhook_count_code(code, len, CODE_BASE, CODE_BASE + cells[i].away),
			       len);
	}
}

#define LDXR	0xc85f7c00
#define LDAXRB	0x085ffc00
#define LDXP	0xc87f0400
#define LDTXR	0xc95f7c00
#define STXR	0xc8017c00
#define STLXP	0xc8218400
#define STTXR	0xc9017c00
#define CLREX	0xd5033f5f
#define LDAR	0xc8dffc00
#define STLR	0xc89ffc00
#define CAS	0xc8a07c00
#define CASA	0xc8e07c00
#define CASPA	0x48607c82
#define CASP	0x48207c82
#define LDR	0xf9400000
#define NOP	0xd503201f
#define MOVPRFX	0x0420bc20	/* z0, z1 */
#define MOVPRFX_M	0x04912445	/* z5.s, p1/m, z2.s */
#define MOVPRFX_Z	0x04d03fe5	/* z5.d, p7/z, z31.d */
#define SVE_ADD	0x04a10000

static void check_atomic(void)
{
	static const struct {
		const char *name;
		uint32_t words[4];
		bool open;
	} cases[] = {
		{ "no exclusives", { NOP, LDR, NOP, NOP }, false },
		{ "LDXR last", { NOP, NOP, NOP, LDXR }, true },
		{ "LDXR first", { LDXR, NOP, LDR, NOP }, true },
		{ "LDAXRB", { NOP, LDAXRB, NOP, NOP }, true },
		{ "LDXP", { NOP, LDXP, NOP, NOP }, true },
		{ "LDTXR", { NOP, LDTXR, NOP, NOP }, true },
		{ "LDXR, STXR", { NOP, LDXR, STXR, NOP }, false },
		{ "LDXP, STLXP", { NOP, LDXP, STLXP, NOP }, false },
		{ "LDTXR, STTXR", { NOP, LDTXR, STTXR, NOP }, false },
		{ "LDXR, CLREX", { NOP, LDXR, NOP, CLREX }, false },
		{ "STXR, LDXR", { STXR, LDXR, NOP, NOP }, true },
		{ "LDXR, STXR, LDXR", { LDXR, STXR, LDXR, NOP }, true },
		{ "LDAR", { NOP, LDAR, NOP, NOP }, false },
		{ "CASA", { NOP, CASA, CASPA, NOP }, false },
		{ "LDXR, STLR", { LDXR, STLR, NOP, NOP }, true },
		{ "LDXR, CAS", { LDXR, CAS, CASP, NOP }, true },
		{ "MOVPRFX last", { NOP, NOP, NOP, MOVPRFX }, true },
		{ "MOVPRFX, merging", { NOP, NOP, NOP, MOVPRFX_M }, true },
		{ "MOVPRFX, zeroing", { NOP, NOP, NOP, MOVPRFX_Z }, true },
		{ "MOVPRFX of another", { NOP, MOVPRFX, SVE_ADD, NOP }, false },
		{ "ADD of vectors", { NOP, NOP, NOP, SVE_ADD }, false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(cases[i].name, uhook_is_atomic(cases[i].words, sizeof(cases[i].words)),
		       cases[i].open);
	/* Only the words given are searched. */
	expect("only behind LDXR", uhook_is_atomic(cases[2].words + 1, 3 * WORD), false);
	expect("nothing", uhook_is_atomic(cases[1].words, 0), false);
}

int main(int argc, char **argv)
{
	unsigned long number = RANDOM_COUNT;

	read_options(argc, argv, "n:", &number);
	capstone = open_capstone(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN);

	check_cases();
	check_jumps();
	check_count();
	check_atomic();
	for (; optind < argc; optind++) {
		check_file(argv[optind]);
		report(argv[optind]);
	}
	check_random(number);
	report("random words");
	return verdict();
}
