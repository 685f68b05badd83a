// SPDX-License-Identifier: GPL-2.0
/*
 * Patchable slots at function entries.
 *
 * The compiler reserves room for one or two 5-byte slots behind the ENDBR of
 * each function, as single-byte no-ops (gcc) or one long one (clang), and says
 * in __patchable_function_entries where each function begins, counting the
 * padding in front of it. notrace functions have the padding, hence a record,
 * but no room; so do assembly and Rust. This file takes a record for a slot
 * only where the no-ops are, writes one 5-byte no-op a slot, and emits the
 * tables: __mcount_loc for ftrace, whose slot is the first of two, and
 * .fhook_sites for fhook, whose slot is the last.
 */
#include <stdlib.h>
#include <string.h>

#include <objtool/arch.h>
#include <objtool/builtin.h>
#include <objtool/check.h>
#include <objtool/elf.h>
#include <objtool/hook_base.h>
#include <objtool/objtool.h>
#include <objtool/slots.h>
#include <objtool/warn.h>

#define SLOT_SIZE	5
#define SITES_SECTION	".fhook_sites"

static bool is_records_section(struct section *sec)
{
	return strstr(sec->name, "__patchable_function_entries") && sec->rsec;
}

/* The first instruction behind the ENDBR of the function of this record. */
static struct instruction *entry_insn(struct objtool_file *file,
				      struct reloc *record)
{
	struct section *sec = record->sym->sec;
	unsigned long offset;
	struct instruction *insn;
	struct symbol *func;

	offset = record->sym->offset + reloc_addend(record) + opts.slot_pad;
	func = find_func_containing(sec, offset);
	if (!func)
		return NULL;

	insn = find_insn(file, sec, func->offset);
	if (insn && insn->type == INSN_ENDBR)
		insn = next_insn_same_sec(file, insn);
	if (!insn || (offset != func->offset && offset != insn->offset))
		return NULL;

	return insn;
}

/*
 * Does the compiler's room for opts.slots slots begin at this instruction? The
 * no-ops of a jump label or of an alternative are somebody else's.
 */
static bool has_room(struct objtool_file *file, struct instruction *insn)
{
	unsigned long end = insn->offset + opts.slots * SLOT_SIZE;

	while (insn && insn->type == INSN_NOP && insn->offset < end) {
		if (insn->alts || insn->alt_group)
			return false;
		if (insn->offset + insn->len > end)
			return false;
		if (insn->offset + insn->len == end)
			return true;
		insn = next_insn_same_sec(file, insn);
	}

	return false;
}

static int write_slots(struct objtool_file *file, struct instruction *insn)
{
	int i, ret;

	for (i = 0; i < opts.slots; i++) {
		ret = elf_write_insn(file->elf, insn->sec,
				     insn->offset + i * SLOT_SIZE, SLOT_SIZE,
				     arch_nop_insn(SLOT_SIZE));
		if (ret)
			return ret;
	}

	return 0;
}

static int create_sites_section(struct objtool_file *file,
				struct instruction **entries, int nr)
{
	struct section *sec;
	int i;

	sec = elf_create_section_pair(file->elf, SITES_SECTION,
				      sizeof(unsigned int), nr, nr);
	if (!sec)
		return -1;

	sec->sh.sh_addralign = sizeof(unsigned int);

	for (i = 0; i < nr; i++) {
		if (!elf_init_reloc_text_sym(file->elf, sec,
					     i * sizeof(unsigned int), i,
					     entries[i]->sec,
					     entries[i]->offset +
					     (opts.slots - 1) * SLOT_SIZE))
			return -1;
	}

	return 0;
}

/* Collect the entries that have slots; returns how many, or -1. */
static int collect_entries(struct objtool_file *file,
			   struct instruction ***entries)
{
	struct instruction *insn;
	struct section *sec;
	struct reloc *record;
	int nr = 0, max = 0;

	hook_base_for_each_sec(file, sec) {
		if (is_records_section(sec))
			max += sec_num_entries(sec->rsec);
	}

	*entries = calloc(max + 1, sizeof(**entries));
	if (!*entries) {
		WARN("no memory for %d slot records", max);
		return -1;
	}

	hook_base_for_each_sec(file, sec) {
		if (!is_records_section(sec))
			continue;
		for_each_reloc(sec->rsec, record) {
			insn = entry_insn(file, record);
			if (insn && has_room(file, insn))
				(*entries)[nr++] = insn;
		}
	}

	return nr;
}

int create_slot_sections(struct objtool_file *file)
{
	struct instruction **entries;
	int i, nr, ret = -1;

	if (find_section_by_name(file->elf, SITES_SECTION)) {
		WARN("file already has " SITES_SECTION " section, skipping");
		return 0;
	}

	nr = collect_entries(file, &entries);
	if (nr <= 0) {
		free(entries);
		return nr;
	}

	for (i = 0; i < nr; i++) {
		if (write_slots(file, entries[i]))
			goto out;
		if (opts.mcount)
			list_add_tail(&entries[i]->call_node,
				      &file->mcount_loc_list);
	}

	ret = create_sites_section(file, entries, nr);
out:
	free(entries);
	return ret;
}
