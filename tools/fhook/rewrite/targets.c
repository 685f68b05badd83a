// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: possible targets of jumps
 *
 * An instruction is a target if a branch leads there, if an instruction computes its
 * address, if a relocation or a word of data has its address, or if a table of distances
 * leads there. Such tables are those of switches: their address is computed in the
 * function, and they are read until an entry leads to no instruction. An unnecessary mark
 * only costs a window.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/symbol_part.h"
#include "rewrite.h"

#define SEQUENCE_SIZE	32

/* Types of sections for which the C library has no names: relocations of LLVM's linker. */
#define CREL		0x40000014
#define ANDROID_REL	0x60000001
#define ANDROID_RELA	0x60000002
#define ANDROID_RELR	0x6fffff00

/* Does a jump lead from one function into the middle of another one? */
static bool comes_from_elsewhere(const struct elf_image *image, const struct rewrite_insn *insn)
{
	const struct elf_symbol *from, *to;

	if (insn->kind != INSN_JUMP && insn->kind != INSN_CONDITIONAL)
		return false;
	to = elf_symbol_of(image, insn->target);
	if (!to || to->address == insn->target || insn->address - to->address < to->size)
		return false;
	from = elf_symbol_of(image, insn->address);
	return from && !symbol_part_of(from->name);
}

void targets_mark_branches(struct code *code)
{
	struct rewrite_insn *insn, *end = code->insns + code->nr_insns;

	for (insn = code->insns; insn < end; insn++) {
		if (!insn->target)
			continue;
		code_mark(code, insn->target,
			  insn->kind == INSN_PLAIN ? MARK_TARGET | MARK_TAKEN : MARK_TARGET);
	}
}

void targets_mark_shared(struct code *code)
{
	struct rewrite_insn *insn, *end = code->insns + code->nr_insns;

	for (insn = code->insns; insn < end; insn++) {
		if (insn->target && comes_from_elsewhere(code->image, insn))
			code_mark(code, insn->target, MARK_SHARED);
	}
}

/* A relocation gives the value of a word, and shows that the word is not an instruction. */
static void mark_relocations(struct rewrite *rw, const Elf64_Shdr *section)
{
	const u8 *data = elf_section_data(&rw->image, section);
	size_t i, count = section->sh_size / sizeof(Elf64_Rela);
	Elf64_Rela relocation;

	for (i = 0; i < count; i++) {
		memcpy(&relocation, data + i * sizeof(relocation), sizeof(relocation));
		code_mark(&rw->code, relocation.r_offset, MARK_FIXED);
		if (!ELF64_R_SYM(relocation.r_info))
			code_mark(&rw->code, relocation.r_addend, MARK_TARGET | MARK_TAKEN);
	}
}

/* Do all addresses in data have relocations? Then other words are not addresses. */
static bool has_addresses(const struct elf_image *image)
{
	size_t i;

	for (i = 0; i < image->nr_sections; i++) {
		if (image->sections[i].sh_type == SHT_RELR ||
		    image->sections[i].sh_type == ANDROID_RELR)
			return true;
	}
	return image->header->e_type != ET_DYN;
}

/*
 * Without relocations, the addresses in a packed structure may be anywhere, but few words that
 * are not aligned are addresses. With relocations that leave them in the data, all are aligned,
 * and so are Go's.
 */
static void mark_words(struct rewrite *rw, const Elf64_Shdr *section)
{
	const unsigned int marks = MARK_TARGET | (has_addresses(&rw->image) ? MARK_TAKEN : 0);
	const bool anywhere = rw->image.header->e_type != ET_DYN &&
			      !(section->sh_flags & SHF_EXECINSTR) && !go_is(&rw->image);
	const u64 first = rw->code.insns[0].address;
	const u64 last = rw->code.insns[rw->code.nr_insns - 1].address;
	const u8 *data = elf_section_data(&rw->image, section);
	size_t at = anywhere ? 0 : -section->sh_addr % 8;
	u64 word;

	for (; at + 8 <= section->sh_size; at += anywhere ? 1 : 8) {
		memcpy(&word, data + at, sizeof(word));
		if (word < first || word > last)
			continue;
		if ((section->sh_addr + at) % 8 == 0)
			code_mark(&rw->code, word, marks);
		else if (code_find(&rw->code, word) != NO_INSN)
			code_mark(&rw->code, word, MARK_TARGET | MARK_PACKED);
	}
}

/*
 * Restartable sequences: the kernel checks by its address whether a thread is in a sequence,
 * so no instruction of a sequence may be moved. A descriptor of a sequence has two numbers,
 * its start, its length, and the address at which an interrupted sequence continues.
 */
static int fix_sequences(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, "__rseq_cs");
	struct range *ranges;
	u64 at, start;
	size_t nr, i;

	if (!section || !elf_section_data(&rw->image, section))
		return 0;
	nr = section->sh_size / SEQUENCE_SIZE;
	ranges = calloc(nr + 1, sizeof(*ranges));
	if (!ranges)
		return -1;
	for (i = 0; i < nr; i++) {
		at = section->sh_addr + i * SEQUENCE_SIZE;
		start = relocations_word(rw, at + 8);
		ranges[i] = (struct range){ start, start + relocations_word(rw, at + 16) };
		code_mark(&rw->code, relocations_word(rw, at + 24), MARK_FIXED | MARK_TARGET);
	}
	code_fix(&rw->code, ranges, nr, 0);
	free(ranges);
	return 0;
}

/* Is it the name of a function that may return again, when longjmp or setcontext is called? */
static bool returns_twice(const char *name)
{
	static const char *const names[] = { "setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp" };
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return name && switches_name(name);
}

/* The name of the function, perhaps in a library, to which a call or jump leads; or NULL. */
static const char *callee_at(const struct rewrite *rw, u64 address)
{
	const struct elf_symbol *symbol = elf_symbol_of(&rw->image, address);
	const u8 *bytes = elf_at(&rw->image, address, 16);
	u64 slot = bytes && !symbol ? rw->code.arch->slot(bytes, 16, address) : 0;

	if (slot)
		return relocations_import(rw, slot);
	return symbol ? symbol->name : NULL;
}

/* A call without a target may lead to the address in a slot, as with -fno-plt. */
static const char *callee_in_slot(const struct rewrite *rw, const struct rewrite_insn *call)
{
	const u8 *bytes = code_bytes(&rw->code, call);
	u64 slot = bytes ? rw->code.arch->slot(bytes, call->size, call->address) : 0;

	return slot ? relocations_import(rw, slot) : NULL;
}

const char *targets_callee(const struct rewrite *rw, const struct rewrite_insn *call)
{
	return call->target ? callee_at(rw, call->target) : callee_in_slot(rw, call);
}

/* A longjmp arrives after the call of setjmp, another stack's code after that of getcontext. */
static int find_setjmps(struct rewrite *rw)
{
	const struct rewrite_insn *insn = rw->code.insns, *end = insn + rw->code.nr_insns;
	bool twice = false;
	u64 asked = 0;

	for (; insn < end; insn++) {
		if (insn->kind != INSN_CALL)
			continue;
		if (!insn->target || insn->target != asked)
			twice = returns_twice(targets_callee(rw, insn));
		asked = insn->target;
		if (!twice)
			continue;
		if (grow(&rw->pads, &rw->room_pads, rw->nr_pads, sizeof(u64)))
			return -1;
		rw->pads[rw->nr_pads++] = insn->address + insn->size;
	}
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The addresses that are in packed relocations are not known. */
static bool has_packed_relocations(const struct elf_image *image)
{
	size_t i;

	for (i = 0; i < image->nr_sections; i++) {
		const Elf64_Shdr *section = image->sections + i;

		if ((section->sh_flags & SHF_ALLOC) &&
		    (section->sh_type == CREL || section->sh_type == ANDROID_REL ||
		     section->sh_type == ANDROID_RELA))
			return true;
	}
	return false;
}

int targets_mark(struct rewrite *rw, struct fault *fault)
{
	size_t i;

	if (has_packed_relocations(&rw->image))
		return fault_say(fault, "%s has packed relocations: %s.", rw->image.path,
				 "link it with -Wl,--pack-dyn-relocs=none");
	for (i = 0; i < rw->image.nr_sections; i++) {
		const Elf64_Shdr *section = rw->image.sections + i;

		if (section->sh_type == SHT_REL)
			return fault_say(fault, "%s has relocations without addends.",
					 rw->image.path);
		if (section->sh_type == SHT_RELA && (section->sh_flags & SHF_ALLOC))
			mark_relocations(rw, section);
		if ((section->sh_flags & SHF_ALLOC) &&
		    (section->sh_type == SHT_PROGBITS || section->sh_type == SHT_INIT_ARRAY ||
		     section->sh_type == SHT_FINI_ARRAY))
			mark_words(rw, section);
	}
	if (fix_sequences(rw) || find_setjmps(rw))
		return fault_say(fault, "There is no memory.");
	if (rw->nr_pads)
		qsort(rw->pads, rw->nr_pads, sizeof(*rw->pads), compare_addresses);
	for (i = 0; i < rw->nr_pads; i++)
		code_mark(&rw->code, rw->pads[i], MARK_TARGET | MARK_PAD);
	return 0;
}

/* clang directs impossible cases of a switch to the end of the function. */
bool targets_is_end(const struct function *function, u64 address)
{
	size_t r;

	for (r = 0; r < function->nr_ranges; r++) {
		if (function->ranges[r].end == address)
			return true;
	}
	return false;
}

/*
 * A table of 32-bit distances from itself; returns the number of entries that lead into
 * code, and marks their targets if requested.
 */
static size_t read_table(struct rewrite *rw, const struct function *function, u64 table,
			 struct code *code)
{
	u64 at, target;
	size_t count = 0;
	const u8 *entry;
	s32 by;

	for (at = table; (entry = elf_at(&rw->image, at, sizeof(by))); at += sizeof(by)) {
		if (!rewrite_may_read(rw, sizeof(by)))
			break;
		memcpy(&by, entry, sizeof(by));
		target = table + by;
		if (code_find(&rw->code, target) != NO_INSN) {
			if (code)
				code_mark(code, target, MARK_TARGET);
			count++;
		} else if (!targets_is_end(function, target)) {
			break;
		}
	}
	return count;
}

bool targets_has_table(struct rewrite *rw, const struct function *function, u64 address)
{
	return !code_is_code(&rw->image, address) && read_table(rw, function, address, NULL);
}

/* Read the tables whose addresses the function computes. Returns their number. */
size_t targets_of_tables(struct rewrite *rw, const struct function *function)
{
	const struct code *code = &rw->code;
	size_t i, r, tables = 0;

	for (r = 0; r < function->nr_ranges; r++) {
		const struct range *range = function->ranges + r;

		i = code_find(code, range->start);
		for (; i < code->nr_insns && code->insns[i].address < range->end; i++) {
			const struct rewrite_insn *insn = code->insns + i;

			if (insn->kind == INSN_PLAIN && insn->target &&
			    !code_is_code(&rw->image, insn->target) &&
			    read_table(rw, function, insn->target, &rw->code))
				tables++;
		}
	}
	return tables;
}
