// SPDX-License-Identifier: GPL-2.0
/*
 * Compare a relocator with capstone
 *
 * Usage: relocate-ARCH [-s SEED] [-n RANDOM] [FILE...]
 *
 * Each instruction in the code of the files, and RANDOM generated ones, is
 * passed to uhook_relocate() with the slot near, at both edges of its reach,
 * and beyond. A copy must have the same effect as the original, as far as
 * capstone knows, and nearly every instruction that capstone considers movable
 * must be copied.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "relocate.h"

#define RANDOM_COUNT	2000000
#define NAMES_MAX	2048
#define NAMES_SHOWN	12

/* How often instructions of a name were refused. */
struct tally {
	struct {
		char name[CS_MNEMONIC_SIZE];
		unsigned long count;
	} entry[NAMES_MAX];
	size_t entries;
};

static struct {
	unsigned long seen;
	unsigned long accepted;
	unsigned long immovable;	/* for a reason that capstone sees */
	unsigned long far;		/* near, but out of reach of the data that they address */
	unsigned long misread;
	unsigned long unknown;		/* capstone sees no instruction */
	unsigned long unknown_accepted;
	struct tally refused;		/* for no reason that capstone sees */
	struct tally reasons;
} count;

static csh capstone;

static void add(struct tally *tally, const char *name)
{
	size_t i;

	for (i = 0; i < tally->entries && strcmp(tally->entry[i].name, name); i++)
		;
	if (i == NAMES_MAX)
		return;
	if (i == tally->entries) {
		snprintf(tally->entry[i].name, CS_MNEMONIC_SIZE, "%s", name);
		tally->entries++;
	}
	tally->entry[i].count++;
}

static void print_tally(const char *title, struct tally *tally)
{
	unsigned long others = 0;
	size_t i, shown;

	printf("  %s:", title);
	for (shown = 0; shown < tally->entries && shown < NAMES_SHOWN; shown++) {
		size_t most = 0;

		for (i = 1; i < tally->entries; i++) {
			if (tally->entry[i].count > tally->entry[most].count)
				most = i;
		}
		printf(" %s %lu", tally->entry[most].name, tally->entry[most].count);
		tally->entry[most].count = 0;
	}
	for (i = 0; i < tally->entries; i++)
		others += tally->entry[i].count;
	printf(others ? " others %lu\n" : "\n", others);
}

static void complain_of(const char *what, const u8 *bytes, const cs_insn *insn,
			const struct uhook_copy *copy)
{
	char name[CS_MNEMONIC_SIZE + 200] = "";

	if (insn)
		snprintf(name, sizeof(name), " %lx %s %s,",
			 (unsigned long)insn->address - CODE_BASE, insn->mnemonic, insn->op_str);
	complain("%s:%s%s%s%s", what, name, in_hex(bytes, insn ? insn->size : INSN_MAX),
		 copy ? "; copy" : "", copy ? in_hex(copy->bytes, copy->len) : "");
}

/* Only as many bytes as the instruction has are needed, and all of them are. */
static void check_size(const u8 *bytes, const cs_insn *insn, const struct uhook_copy *copy)
{
	const unsigned long from = insn->address;
	struct uhook_copy other;

	if (uhook_relocate(bytes, copy->insn_len - 1, from, from, &other) != -EOPNOTSUPP)
		complain_of("accepted without its end", bytes, insn, NULL);
	if (uhook_relocate(bytes, copy->insn_len, from, from, &other) ||
	    other.insn_len != copy->insn_len)
		complain_of("refused when nothing follows", bytes, insn, NULL);
}

static void check_slot(const u8 *bytes, size_t size, const cs_insn *insn, unsigned long to)
{
	struct uhook_copy copy;
	const char *wrong;
	int ret;

	ret = uhook_relocate(bytes, size, insn->address, to, &copy);
	if (ret != (relocate_arch.reaches(insn, to) ? 0 : -ERANGE)) {
		complain_of(ret ? "refused in reach" : "accepted out of reach", bytes, insn,
			    ret ? NULL : &copy);
		return;
	}
	wrong = ret ? NULL : relocate_arch.differs(capstone, insn, &copy, to);
	if (wrong)
		complain_of(wrong, bytes, insn, &copy);
}

/* A few slots at the edges of the reach, and some beyond. */
static void check_slots(const u8 *bytes, size_t size, const cs_insn *insn)
{
	const unsigned long reach = relocate_arch.reach, step = relocate_arch.step;
	const u64 r = random_next();
	unsigned long away;

	switch (r & 7) {
	case 0 ... 3:		/* the edge itself, some way to each side */
		away = reach - 64 + (r >> 8) % 128;
		break;
	case 4:			/* where data around the code comes into reach, or not */
		away = reach - (r >> 8) % 0x400000;
		break;
	case 5:
		away = (r >> 8) % reach;
		break;
	case 6:			/* only just too far, as 32 bits have it */
		away = 2 * reach + (r >> 8) % 4096;
		break;
	default:
		away = (r >> 8) % CODE_BASE;
		break;
	}
	away -= away % step;
	check_slot(bytes, size, insn, insn->address + away);
	check_slot(bytes, size, insn, insn->address - away);
	check_slot(bytes, size, insn, insn->address + 64);
}

static void check_accepted(const u8 *bytes, size_t size, const cs_insn *insn,
			   const struct uhook_copy *copy, unsigned long to)
{
	const char *wrong = relocate_arch.immovable(capstone, insn);

	count.accepted++;
	if (relocate_arch.misread(bytes, insn)) {
		count.misread++;
		return;
	}
	if (wrong) {
		complain_of(wrong, bytes, insn, copy);
		return;
	}
	wrong = relocate_arch.differs(capstone, insn, copy, to);
	if (wrong) {
		complain_of(wrong, bytes, insn, copy);
		return;
	}
	check_size(bytes, insn, copy);
	check_slots(bytes, size, insn);
}

static void check_refused(const u8 *bytes, const cs_insn *insn, int ret, unsigned long to)
{
	const char *reason = relocate_arch.immovable(capstone, insn);

	if (reason) {
		count.immovable++;
		add(&count.reasons, reason);
	} else if (ret == -ERANGE) {
		count.far++;
		if (relocate_arch.reaches(insn, to) && !relocate_arch.misread(bytes, insn))
			complain_of("refused in reach", bytes, insn, NULL);
	} else {
		add(&count.refused, insn->mnemonic);
	}
}

/* Returns the length of the instruction, or the distance to the next attempt. */
static size_t check_insn(const u8 *bytes, size_t size, unsigned long from, cs_insn *insn)
{
	const unsigned long to = from - 4096;
	const u8 *next = bytes;
	struct uhook_copy copy;
	u64 address = from;
	size_t left;
	int ret;

	if (size > INSN_MAX)
		size = INSN_MAX;
	left = size;
	ret = uhook_relocate(bytes, size, from, to, &copy);
	if (ret && ret != -EOPNOTSUPP && ret != -ERANGE)
		complain_of("an error that is none of those", bytes, NULL, NULL);
	count.seen++;
	if (!cs_disasm_iter(capstone, &next, &left, &address, insn)) {
		count.unknown++;
		count.unknown_accepted += !ret;
		return ret ? relocate_arch.step : copy.insn_len;
	}
	if (ret)
		check_refused(bytes, insn, ret, to);
	else
		check_accepted(bytes, size, insn, &copy, to);
	return insn->size;
}

static void check_file(const char *path, cs_insn *insn)
{
	size_t i, pieces, at;
	struct code *code;

	code = read_code(path, relocate_arch.machine, &pieces);
	if (!code) {
		complain("%s: this is no ELF file for %s", path, relocate_arch.name);
		return;
	}
	for (i = 0; i < pieces; i++) {
		for (at = 0; at < code[i].size;)
			at += check_insn(code[i].bytes + at, code[i].readable - at,
					 CODE_BASE + code[i].address + at, insn);
	}
	free(code);
}

static void check_cases(const struct relocate_case *c)
{
	unsigned long number = 0;
	struct uhook_copy copy;
	int ret;

	for (; c && c->name; c++, number++) {
		ret = uhook_relocate(c->bytes, c->size, CODE_BASE, CODE_BASE + 64, &copy);
		if (ret == c->ret && (ret || copy.insn_len == c->size))
			continue;
		complain("%s: %d, and not %d", c->name, ret, c->ret);
	}
	printf("%lu cases\n", number);
}

static void check_random(unsigned long number, cs_insn *insn)
{
	u8 bytes[INSN_MAX];

	while (number--) {
		relocate_arch.make(bytes);
		check_insn(bytes, sizeof(bytes), CODE_BASE, insn);
	}
}

/* Of a hundred that capstone sees no reason against. */
static double accepted_share(void)
{
	const unsigned long known = count.seen - count.unknown - count.immovable;

	return known ? 100.0 * count.accepted / known : 0;
}

static void report(const char *name)
{
	printf("%s: %lu seen, %lu accepted, %lu immovable, %lu too far\n", name,
	       count.seen, count.accepted, count.immovable, count.far);
	printf("  %.2f %% of what can be moved is accepted\n", accepted_share());
	printf("  capstone: %lu unknown (%lu accepted), %lu known to be misread\n",
	       count.unknown, count.unknown_accepted, count.misread);
	print_tally("immovable", &count.reasons);
	print_tally("refused otherwise", &count.refused);
}

int main(int argc, char **argv)
{
	unsigned long number = RANDOM_COUNT;
	cs_insn *insn;

	read_options(argc, argv, "n:", &number);
	capstone = open_capstone(relocate_arch.arch, relocate_arch.mode);
	insn = cs_malloc(capstone);

	check_cases(relocate_arch.cases);
	for (; optind < argc; optind++) {
		memset(&count, 0, sizeof(count));
		check_file(argv[optind], insn);
		report(argv[optind]);
		if (!count.accepted || accepted_share() < relocate_arch.share)
			complain("less than %u %% of what can be moved", relocate_arch.share);
	}
	memset(&count, 0, sizeof(count));
	check_random(number, insn);
	report("random bytes");
	return verdict();
}
