// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the jumps and branches that uhook makes for x86_64 with capstone
 *
 * Usage: jump-x86 [-s SEED] [-n RANDOM] FILE...
 *
 * For each instruction of the files, a jump is written over its text and read
 * again: it must be a jump of five bytes to its target, and the bytes after the
 * instruction must be as before.  The bounds of its targets are those of jumps whose
 * free bytes are all 00 or FF.
 *
 * Each branch is relocated near and at the edges of its reach, and its copy must have
 * the same condition and lead to the same addresses.  For all other instructions, and
 * for RANDOM generated ones, uhook_relocate_branch() must return the same as
 * uhook_relocate().
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
#include "relocate_x86.h"

#define RANDOM_COUNT	1000000
#define USER_END	0x800000000000L
#define REACH		0x80000000L

/* Where programs that cannot be moved are, and where all addresses end. */
#define LOW_BASE	0x400000UL
#define HIGH_BASE	(USER_END - 0x10000000UL)

static struct {
	unsigned long plain;
	unsigned long forced;
	unsigned long padded;		/* returns that take a plain jump */
	unsigned long unpadded;		/* that could take a plain jump */
	unsigned long nowhere;
	unsigned long branches;
	unsigned long moved;		/* branches, near or far */
	unsigned long too_far;
} count;

static csh capstone;
static cs_insn *insn, *read_back;

static void complain_of(const char *what, const u8 *bytes, size_t len, unsigned long address)
{
	complain("%s: %lx:%s", what, address, in_hex(bytes, len));
}

static bool decode(const u8 *bytes, size_t size, unsigned long address, cs_insn *to)
{
	u64 at = address;

	return cs_disasm_iter(capstone, &bytes, &size, &at, to);
}

/* Read the target of a jump of five bytes; false if the bytes are no such jump. */
static bool jump_target(const u8 *bytes, unsigned long address, unsigned long *target)
{
	const cs_x86_op *op = read_back->detail->x86.operands;

	if (!decode(bytes, INSN_MAX, address, read_back) || read_back->id != X86_INS_JMP ||
	    read_back->size != UHOOK_JUMP_MAX || op->type != X86_OP_IMM)
		return false;
	*target = op->imm;
	return true;
}

/*
 * Jumps.
 */

/* A return, followed by breakpoints up to the end of a jump. */
static bool has_padding(const u8 *text, size_t readable)
{
	size_t at = insn->size;

	if (insn->id != X86_INS_RET)
		return false;
	while (at < UHOOK_JUMP_MAX) {
		if (!decode(text + at, readable - at, at, read_back) ||
		    read_back->id != X86_INS_INT3)
			return false;
		at += read_back->size;
	}
	return true;
}

static void check_target(unsigned long site, const u8 *text, unsigned long target, size_t len)
{
	struct uhook_jump jump;
	u8 patched[INSN_MAX];
	unsigned long read;

	if (uhook_make_jump(site, text, insn->size, target, &jump)) {
		complain_of("no jump to one of the targets", text, UHOOK_JUMP_MAX, site);
		return;
	}
	if (jump.len != len || memcmp(jump.before, text, len)) {
		complain_of("not what was there before", text, UHOOK_JUMP_MAX, site);
		return;
	}
	memcpy(patched, text, sizeof(patched));
	memcpy(patched, jump.bytes, jump.len);
	if (!jump_target(patched, site, &read) || read != target)
		complain_of("a jump to somewhere else", patched, UHOOK_JUMP_MAX, site);
}

/* The target of a jump whose free bytes are all @low, but the highest @high. */
static long bound(unsigned long site, const u8 *text, size_t len, u8 low, u8 high)
{
	unsigned long target = 0;
	u8 bytes[INSN_MAX];

	memcpy(bytes, text, sizeof(bytes));
	memset(bytes, low, len);
	bytes[0] = 0xe9;
	if (len == UHOOK_JUMP_MAX)
		bytes[len - 1] = high;
	if (!jump_target(bytes, site, &target))
		complain_of("capstone sees no jump", bytes, UHOOK_JUMP_MAX, site);
	return target;
}

static void check_bounds(unsigned long site, const u8 *text, size_t len,
			 const struct uhook_targets *targets)
{
	struct uhook_jump jump;
	const long first = bound(site, text, len, 0x00, 0x80);
	const long last = bound(site, text, len, 0xff, 0x7f);

	if (targets->first != (first < 0 ? 0 : first) ||
	    targets->last != (last < USER_END ? last : USER_END - 1))
		complain_of("other targets", text, UHOOK_JUMP_MAX, site);
	if (!uhook_make_jump(site, text, insn->size, targets->first - 1, &jump) ||
	    !uhook_make_jump(site, text, insn->size, targets->last + 1, &jump))
		complain_of("a jump to where none can lead", text, UHOOK_JUMP_MAX, site);
}

static void check_jump(unsigned long site, const u8 *text, size_t readable)
{
	const bool padded = insn->size < UHOOK_JUMP_MAX && has_padding(text, readable);
	struct uhook_targets targets;
	size_t len = insn->size;

	if (len > UHOOK_JUMP_MAX)
		len = UHOOK_JUMP_MAX;
	if (uhook_jump_targets(site, text, insn->size, &targets)) {
		if (bound(site, text, len, 0xff, 0x7f) >= 0 &&
		    bound(site, text, len, 0x00, 0x80) < USER_END)
			complain_of("no targets", text, UHOOK_JUMP_MAX, site);
		count.nowhere++;
		return;
	}
	if (!targets.forced && len < UHOOK_JUMP_MAX) {
		if (!padded)
			complain_of("a jump over the next instruction", text, INSN_MAX, site);
		count.padded++;
		len = UHOOK_JUMP_MAX;
	}
	count.unpadded += padded && targets.forced;
	if (targets.forced && len == UHOOK_JUMP_MAX)
		complain_of("forced, but long enough", text, UHOOK_JUMP_MAX, site);
	count.forced += targets.forced;
	count.plain += !targets.forced;

	check_bounds(site, text, len, &targets);
	check_target(site, text, targets.first, len);
	check_target(site, text, targets.last, len);
	check_target(site, text, targets.first +
		     random_next() % (targets.last - targets.first + 1), len);
}

/*
 * Branches.
 */

/* Whether capstone reads a branch that has a form with 32 bits. */
static bool is_branch(const cs_insn *of)
{
	switch (of->id) {
	case X86_INS_JCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JRCXZ:
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_XBEGIN:
		return false;
	}
	return cs_insn_group(capstone, of, CS_GRP_JUMP) &&
	       of->detail->x86.operands[0].type == X86_OP_IMM;
}

/* With no prefix but the hints. */
static bool is_plain(const u8 *bytes)
{
	while (*bytes == 0x2e || *bytes == 0x3e)
		bytes++;
	return (*bytes == 0x0f && (bytes[1] & 0xf0) == 0x80) || (*bytes & 0xf0) == 0x70 ||
	       *bytes == 0xe9 || *bytes == 0xeb;
}

static bool fits_s32(long value)
{
	return value >= -REACH && value < REACH;
}

static const char *branch_differs(const struct uhook_copy *copy, unsigned long to)
{
	const bool conditional = insn->id != X86_INS_JMP;
	const unsigned long target = insn->detail->x86.operands[0].imm;
	const size_t own = conditional ? 6 : 5;

	if (copy->insn_len != insn->size || copy->copy_len != own ||
	    copy->len != own + (conditional ? UHOOK_JUMP_MAX : 0))
		return "the length is wrong";
	if (!decode(copy->bytes, copy->copy_len, to, read_back) || read_back->size != own)
		return "no branch of that length";
	if (read_back->id != insn->id)
		return "another condition";
	if (read_back->detail->x86.operands[0].imm != target)
		return "a branch to somewhere else";
	if (!conditional)
		return NULL;
	if (!decode(copy->bytes + own, UHOOK_JUMP_MAX, to + own, read_back) ||
	    read_back->id != X86_INS_JMP || read_back->size != UHOOK_JUMP_MAX ||
	    read_back->detail->x86.operands[0].imm != insn->address + insn->size)
		return "not followed by the next instruction";
	return NULL;
}

static void check_branch_at(const u8 *bytes, size_t readable, unsigned long to)
{
	const bool conditional = insn->id != X86_INS_JMP;
	const unsigned long target = insn->detail->x86.operands[0].imm;
	const size_t own = conditional ? 6 : 5;
	const bool near = fits_s32(target - to - own) &&
			  (!conditional || fits_s32(insn->address + insn->size - to - own - 5));
	struct uhook_copy copy;
	const int ret = uhook_relocate_branch(bytes, readable, insn->address, to, &copy);
	const char *wrong = NULL;

	if (ret != (near ? 0 : -ERANGE))
		wrong = near ? "a branch stays" : "farther than a branch reaches";
	else if (near)
		wrong = branch_differs(&copy, to);
	if (wrong)
		complain_of(wrong, bytes, insn->size, insn->address);
	count.moved += !ret;
	count.too_far += ret == -ERANGE;
}

/* Both must return the same, except for a branch. */
static void check_other(const u8 *bytes, size_t readable)
{
	const unsigned long from = insn->address, to = from + random_next() % REACH;
	struct uhook_copy one, other;
	const int ret = uhook_relocate(bytes, readable, from, to, &one);

	if (uhook_relocate_branch(bytes, readable, from, to, &other) != ret ||
	    (!ret && memcmp(&one, &other, sizeof(one))))
		complain_of("not what uhook_relocate() says", bytes, insn->size, from);
}

static void check_branch(const u8 *bytes, size_t readable)
{
	const u64 r = random_next();
	const long target = insn->detail->x86.operands[0].imm;
	const long edge = (r >> 8) % 32 - 16 + ((r & 1) ? REACH : -REACH);

	if (!is_branch(insn) || !is_plain(bytes)) {
		check_other(bytes, readable);
		return;
	}
	count.branches++;
	check_branch_at(bytes, readable, insn->address + (s32)(r >> 32) / 2);
	check_branch_at(bytes, readable, target + edge);
	check_branch_at(bytes, readable, insn->address + insn->size + edge);
}

/*
 * All checks of an instruction.
 */
static void check_insn(const u8 *text, size_t readable)
{
	const unsigned long address = insn->address - CODE_BASE;
	const u64 r = random_next();

	check_branch(text, readable);
	check_jump(CODE_BASE + address, text, readable);
	if (r % 8 == 0)
		check_jump(LOW_BASE + address, text, readable);
	else if (r % 8 == 1)
		check_jump(HIGH_BASE + address, text, readable);
}

static void check_piece(const struct code *piece)
{
	const u8 *bytes = piece->bytes, *end = bytes + piece->size;
	u64 address = CODE_BASE + piece->address;

	while (bytes < end) {
		const size_t readable = piece->bytes + piece->readable - bytes;
		const u8 *text = bytes;
		size_t left = readable;

		/* At the end of a section, not all of a jump's bytes are there. */
		if (readable < INSN_MAX)
			break;
		if (cs_disasm_iter(capstone, &bytes, &left, &address, insn)) {
			check_insn(text, readable);
		} else {
			bytes++;
			address++;
		}
	}
}

static void check_file(const char *path)
{
	size_t i, pieces;
	struct code *code = read_code(path, relocate_arch.machine, &pieces);

	if (!code) {
		printf("%s: this is no ELF file for %s\n", path, relocate_arch.name);
		exit(2);
	}
	memset(&count, 0, sizeof(count));
	for (i = 0; i < pieces; i++)
		check_piece(code + i);
	free(code);

	printf("%s: %lu plain jumps, %lu forced, %lu to nowhere\n", path, count.plain,
	       count.forced, count.nowhere);
	printf("  padded returns: %lu plain, %lu forced\n", count.padded, count.unpadded);
	printf("  %lu branches: %lu moved, %lu too far\n", count.branches, count.moved,
	       count.too_far);
	/* Compilers pad with no-ops, so that there need be no padded return. */
	if (!count.nowhere || !count.branches || !count.too_far)
		complain("nothing of a kind");
}

/* A branch of any kind, with prefixes, as often as any other instruction. */
static void make(u8 *bytes)
{
	static const u8 prefixes[] = { 0x2e, 0x3e, 0x66, 0x67, 0xf2, 0xf3, 0x48, 0x64 };
	static const u8 opcodes[] = { 0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xea };
	u64 r = random_next();
	size_t n = 0;

	relocate_arch.make(bytes);
	if (r & 1)
		return;
	for (; (r & 2) && n < 3; r >>= 5)
		bytes[n++] = prefixes[(r >> 2) % 8];
	switch (r >> 60 & 3) {
	case 0:
		bytes[n] = 0x70 | (r >> 32 & 0xf);
		break;
	case 1:
		bytes[n++] = 0x0f;
		bytes[n] = 0x80 | (r >> 32 & 0xf);
		break;
	default:
		bytes[n] = opcodes[(r >> 32) % 8];
		break;
	}
}

static void check_random(unsigned long number)
{
	unsigned long unknown = 0;
	struct uhook_copy copy;
	u8 bytes[INSN_MAX];

	memset(&count, 0, sizeof(count));
	for (; number; number--) {
		make(bytes);
		if (decode(bytes, sizeof(bytes), CODE_BASE, insn)) {
			check_branch(bytes, sizeof(bytes));
			continue;
		}
		/* Bytes that capstone does not know must be no branch. */
		unknown++;
		if (!uhook_relocate_branch(bytes, sizeof(bytes), CODE_BASE, CODE_BASE, &copy) &&
		    uhook_relocate(bytes, sizeof(bytes), CODE_BASE, CODE_BASE, &copy))
			complain_of("a branch that capstone does not know", bytes, INSN_MAX, 0);
	}
	printf("random bytes: %lu branches, %lu moved, %lu too far, %lu unknown\n",
	       count.branches, count.moved, count.too_far, unknown);
}

/*
 * Cases that code and chance do not come to.
 */
static const struct {
	const char *name;
	u8 text[UHOOK_JUMP_MAX];
	u8 len;
	u8 site;		/* its last bits */
	bool forced;
} returns[] = {
	{ "ret, int3", { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc }, 1, 4, false },
	{ "ret, int3 at the beginning of a line", { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc }, 1, 15, false },
	{ "ret, nops", { 0xc3, 0x90, 0x90, 0x90, 0x90 }, 1, 4, true },
	{ "ret, nops of a function", { 0xc3, 0x90, 0x90, 0x90, 0x90 }, 1, 15, true },
	{ "ret, nop of a function", { 0xc3, 0x90, 0x90, 0x90, 0x90 }, 1, 12, true },
	{ "ret, nop and a byte", { 0xc3, 0x90, 0x90, 0x90, 0x55 }, 1, 4, true },
	{ "ret, nopl", { 0xc3, 0x0f, 0x1f, 0x40, 0x00 }, 1, 11, true },
	{ "ret, nopl of seven bytes", { 0xc3, 0x0f, 0x1f, 0x80, 0x00 }, 1, 8, true },
	{ "ret, nopl of three bytes and one", { 0xc3, 0x0f, 0x1f, 0x00, 0x90 }, 1, 8, true },
	{ "ret, nopl and a byte", { 0xc3, 0x0f, 0x1f, 0x00, 0x55 }, 1, 8, true },
	{ "ret, nopw", { 0xc3, 0x66, 0x2e, 0x0f, 0x1f }, 1, 6, true },
	{ "ret, a prefix more", { 0xc3, 0x66, 0x66, 0x2e, 0x0f }, 1, 5, true },
	{ "ret, xchg", { 0xc3, 0x66, 0x90, 0x66, 0x90 }, 1, 5, true },
	{ "ret, xchg, half of one", { 0xc3, 0x66, 0x90, 0x90, 0x66 }, 1, 5, true },
	{ "ret, endbr64", { 0xc3, 0xf3, 0x0f, 0x1e, 0xfa }, 1, 5, true },
	{ "ret, pause", { 0xc3, 0xf3, 0x90, 0xf3, 0x90 }, 1, 5, true },
	{ "ret, ud2", { 0xc3, 0x0f, 0x0b, 0xcc, 0xcc }, 1, 5, true },
	{ "ret, hint nop", { 0xc3, 0x0f, 0x1f, 0xc0, 0x90 }, 1, 5, true },
	{ "rep ret, nops", { 0xf3, 0xc3, 0x0f, 0x1f, 0x00 }, 2, 5, true },
	{ "rep ret, half a nop", { 0xf3, 0xc3, 0x66, 0x0f, 0x1f }, 2, 5, true },
	{ "rep ret, int3", { 0xf3, 0xc3, 0xcc, 0xcc, 0xcc }, 2, 5, false },
	{ "ret of 8, int3", { 0xc2, 0x08, 0x00, 0xcc, 0xcc }, 3, 5, false },
	{ "rep ret, code", { 0xf3, 0xc3, 0x90, 0x90, 0x55 }, 2, 5, true },
	{ "ret of 8, xchg", { 0xc2, 0x08, 0x00, 0x66, 0x90 }, 3, 5, true },
	{ "ret of 8, code", { 0xc2, 0x08, 0x00, 0x90, 0x55 }, 3, 5, true },
	{ "leave, nops", { 0xc9, 0x90, 0x90, 0x90, 0x90 }, 1, 5, true },
	{ "jmp, int3", { 0xeb, 0x00, 0xcc, 0xcc, 0xcc }, 2, 5, true },
	{ "mov, int3", { 0x89, 0xc3, 0xcc, 0xcc, 0xcc }, 2, 5, true },
	{ "far ret, int3", { 0xcb, 0xcc, 0xcc, 0xcc, 0xcc }, 1, 5, true },
};

static void check_returns(void)
{
	struct uhook_targets targets;
	struct uhook_jump jump;
	size_t i;

	for (i = 0; i < sizeof(returns) / sizeof(*returns); i++) {
		const unsigned long site = CODE_BASE + returns[i].site;
		const u8 *text = returns[i].text;
		const size_t len = returns[i].forced ? returns[i].len : UHOOK_JUMP_MAX;

		if (uhook_jump_targets(site, text, returns[i].len, &targets) ||
		    targets.forced != returns[i].forced)
			complain_of(returns[i].name, text, UHOOK_JUMP_MAX, site);
		else if (uhook_make_jump(site, text, returns[i].len, targets.first, &jump) ||
			 jump.len != len || memcmp(jump.before, text, len))
			complain_of(returns[i].name, jump.bytes, jump.len, site);
	}
}

static void check_code(void)
{
	const unsigned long at = CODE_BASE, lanes = at + 0x10000;
	u8 code[UHOOK_BODY_SIZE];
	const int len = uhook_count_code(code, sizeof(code), at, lanes + 8);

	if (len <= 0 || uhook_count_code(code, len, at, lanes + 8) != len ||
	    uhook_count_code(code, len - 1, at, lanes + 8) != -ENOSPC)
		complain_of("how much room the counter takes", code, 0, at);
	if (uhook_count_code(code, sizeof(code), at, lanes + UHOOK_LANE_SIZE) != -ERANGE ||
	    uhook_count_code(code, sizeof(code), at, lanes + REACH) != -ERANGE ||
	    uhook_count_code(code, sizeof(code), at, lanes - 2 * REACH) != -ERANGE)
		complain_of("a counter out of reach", code, 0, at);
	/* A body must have room for two counters, a copy and a jump. */
	if (2 * len + UHOOK_COPY_MAX > UHOOK_BODY_SIZE)
		complain_of("no room for two counters", code, 0, at);
}

static void check_hops(void)
{
	const unsigned long at = CODE_BASE, end = at + UHOOK_JUMP_MAX;
	u8 bytes[INSN_MAX] = {};
	unsigned long target;
	size_t i;

	for (i = 0; i < 1000; i++) {
		const unsigned long wanted = i == 0 ? end - REACH : i == 1 ? end + REACH - 1 :
					     end + (s32)random_next();

		if (uhook_make_hop(at, wanted, bytes) || !jump_target(bytes, at, &target) ||
		    target != wanted)
			complain_of("a hop to somewhere else", bytes, UHOOK_JUMP_MAX, at);
	}
	if (uhook_make_hop(at, end - REACH - 1, bytes) != -ERANGE ||
	    uhook_make_hop(at, end + REACH, bytes) != -ERANGE)
		complain_of("a hop too far", bytes, UHOOK_JUMP_MAX, at);
}

int main(int argc, char **argv)
{
	unsigned long random = RANDOM_COUNT;

	read_options(argc, argv, "n:", &random);
	capstone = open_capstone(relocate_arch.arch, relocate_arch.mode);
	insn = cs_malloc(capstone);
	read_back = cs_malloc(capstone);

	check_returns();
	check_hops();
	check_code();
	for (; optind < argc; optind++)
		check_file(argv[optind]);
	check_random(random);
	return verdict();
}
