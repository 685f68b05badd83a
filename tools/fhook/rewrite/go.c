// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: programs in Go
 *
 * A function of Go begins by comparing the stack pointer with the end of its stack. If there is
 * no room, it calls runtime.morestack, which moves the stack, and jumps back to its first
 * instruction. An event there would be one for each turn, so the entry is after the check.
 *
 * Go's runtime looks for the function of an instruction that has faulted, to turn the fault into
 * a panic; moved code has none. So instructions that may fault stay where they are. For a
 * profiler's signal it unwinds the stack from the interrupted instruction, and dies if the
 * function that has this address cannot be at it. So jumps have no hops.
 *
 * The runtime needs the names of functions, so a stripped file has them too, in .gopclntab.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

/* The most instructions of a check, and of the block that calls runtime.morestack. */
#define CHECK_INSNS	16
#define GROWTH_INSNS	64

/* Of Go 1.18 and 1.20. */
#define MAGIC_18	0xfffffff0
#define MAGIC_20	0xfffffff1

/**
 * struct names_header - the start of .gopclntab
 * @magic: version of the format
 * @nr_functions: number of functions
 * @text: address of the first function, 0 if it is that of .text
 * @names: offset of the names
 * @functions: offset of the table of functions
 */
struct names_header {
	u32 magic;
	u8 zeros[2], unit, pointer_size;
	u64 nr_functions, nr_files;
	u64 text;
	u64 names;
	u64 units, files, numbers;
	u64 functions;
};

/* An element of the table of functions; the last one only has the end of the code. */
struct names_entry {
	u32 start;
	u32 description;
};

static const Elf64_Shdr *names_section(const struct elf_image *image)
{
	return elf_section(image, ".gopclntab") ?: elf_section(image, ".data.rel.ro.gopclntab");
}

bool go_is(const struct elf_image *image)
{
	return names_section(image);
}

/* The name of a function, or NULL if the table is damaged. */
static const char *name_of(const u8 *data, size_t size, const struct names_header *header,
			   u32 description)
{
	u64 at = header->functions + description;
	u32 offset;

	if (at > size || size - at < 2 * sizeof(offset))
		return NULL;
	memcpy(&offset, data + at + sizeof(offset), sizeof(offset));
	at = header->names + offset;
	return at < size && memchr(data + at, '\0', size - at) ? (const char *)data + at : NULL;
}

/* Read COUNT functions. Returns 0, or -1 if the table is damaged. */
static int read_functions(const u8 *data, size_t size, const struct names_header *header,
			  u64 text, struct elf_symbol *symbols, size_t count)
{
	struct names_entry entry, next;
	size_t i;

	for (i = 0; i < count; i++) {
		/* Of the element after the last one, only the start is used. */
		memcpy(&entry, data + header->functions + i * sizeof(entry), sizeof(entry));
		memcpy(&next.start, data + header->functions + (i + 1) * sizeof(entry),
		       sizeof(next.start));
		symbols[i] = (struct elf_symbol){
			.address = text + entry.start, .size = next.start - entry.start,
			.name = name_of(data, size, header, entry.description), .type = STT_FUNC,
		};
		if (next.start < entry.start || !symbols[i].name)
			return -1;
	}
	return 0;
}

static bool is_whole(const struct names_header *header, size_t size)
{
	const size_t entry = sizeof(struct names_entry);

	return header->functions < size && header->names < size &&
	       header->nr_functions < (size - header->functions) / entry;
}

int go_names(struct rewrite *rw, struct fault *fault)
{
	const Elf64_Shdr *section = names_section(&rw->image);
	const Elf64_Shdr *text = elf_section(&rw->image, ".text");
	const u8 *data = elf_section_data(&rw->image, section);
	struct names_header header = { };
	struct elf_symbol *symbols;
	int ret;

	if (data && section->sh_size >= sizeof(header))
		memcpy(&header, data, sizeof(header));
	if (header.magic != MAGIC_18 && header.magic != MAGIC_20)
		return 0;
	if (!is_whole(&header, section->sh_size))
		return fault_say(fault, "%s is damaged: its .gopclntab is.", rw->image.path);
	symbols = calloc(header.nr_functions + 1, sizeof(*symbols));
	if (!symbols)
		return fault_say(fault, "There is no memory.");
	if (read_functions(data, section->sh_size, &header,
			   header.text ?: text ? text->sh_addr : 0, symbols, header.nr_functions))
		ret = fault_say(fault, "%s is damaged: its .gopclntab is.", rw->image.path);
	else
		ret = elf_add_symbols(&rw->image, symbols, header.nr_functions, fault) ?:
		      instrument_note(&rw->run, fault, "The names of functions are those of %s.",
				      ".gopclntab");
	free(symbols);
	return ret;
}

static bool grows_stack(const struct code *code, const struct rewrite_insn *call)
{
	static const char name[] = "runtime.morestack";
	const struct elf_symbol *symbol = elf_symbol_of(code->image, call->target);

	return symbol && !strncmp(symbol->name, name, strlen(name));
}

/*
 * The index of the last instruction of a block that grows the stack and jumps back to an
 * address, or NO_INSN.
 */
static size_t end_of_growth(const struct code *code, size_t first, u64 back)
{
	bool grows = false;
	size_t i;

	for (i = first; i < code->nr_insns && i - first < GROWTH_INSNS; i++) {
		const struct rewrite_insn *insn = code->insns + i;

		if (i > first && (insn->marks & MARK_TARGET))
			return NO_INSN;
		if (insn->kind == INSN_JUMP)
			return grows && insn->target == back ? i : NO_INSN;
		if (insn->kind == INSN_CALL && (grows || !grows_stack(code, insn)))
			return NO_INSN;
		if (insn->kind != INSN_CALL && insn->kind != INSN_PLAIN && insn->kind != INSN_NOP)
			return NO_INSN;
		grows |= insn->kind == INSN_CALL;
	}
	return NO_INSN;
}

/*
 * Do all jumps of a function to the instructions from FIRST to LAST come from those from FROM to
 * TO? Those of other functions are calls.
 */
static bool only_from(const struct code *code, const struct function *function, size_t first,
		      size_t last, size_t from, size_t to)
{
	const u64 end = code->insns[last].address;
	size_t i;

	for (i = code_branches_to(code, code->insns[first].address); i < code->nr_branches; i++) {
		const size_t branch = code->branches[i];

		if (code->insns[branch].target > end)
			break;
		if (code->insns[branch].kind != INSN_CALL &&
		    code->insns[branch].kind != INSN_PLAIN && (branch < from || branch > to) &&
		    function_has(function, code->insns[branch].address))
			return false;
	}
	return true;
}

size_t go_after_check(const struct rewrite *rw, const struct function *function, size_t entry)
{
	size_t i, block, block_end, growth = NO_INSN, end = NO_INSN, last = NO_INSN;
	const struct code *code = &rw->code;

	/* A check of a large frame has two jumps to the same block. */
	for (i = entry; i < code->nr_insns && i - entry < CHECK_INSNS; i++) {
		const struct rewrite_insn *insn = code->insns + i;

		if (i > entry && (insn->marks & (MARK_TARGET | MARK_REGION)))
			break;
		if (insn->kind == INSN_CONDITIONAL) {
			block = code_find(code, insn->target);
			if (block == NO_INSN || (growth != NO_INSN && block != growth))
				break;
			block_end = end_of_growth(code, block, code->insns[entry].address);
			if (block_end == NO_INSN)
				break;
			growth = block;
			end = block_end;
			last = i;
		} else if (insn->kind != INSN_PLAIN && insn->kind != INSN_NOP) {
			break;
		}
	}
	if (last == NO_INSN || last + 1 >= code->nr_insns ||
	    (code->insns[last + 1].marks & (MARK_TARGET | MARK_REGION)) ||
	    !function_has(function, code->insns[last + 1].address) ||
	    !only_from(code, function, entry, entry, end, end) ||
	    !only_from(code, function, growth, end, entry, last))
		return NO_INSN;
	return last + 1;
}
