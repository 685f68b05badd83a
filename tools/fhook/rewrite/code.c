// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: reading code
 *
 * Each section of code is decoded from start to end, and again wherever a symbol or
 * unwind information says that a function begins. A byte that is not an instruction
 * is skipped. So data in code may be taken for instructions: these only add targets,
 * and additional targets do no harm.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

static bool is_code_section(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_ALLOC) &&
	       (section->sh_flags & SHF_EXECINSTR);
}

bool code_is_code(const struct elf_image *image, u64 address)
{
	const Elf64_Shdr *section = elf_section_of(image, address);

	return section && is_code_section(section);
}

/* The first instruction that ends after an address. */
static size_t first_behind(const struct code *code, u64 address)
{
	return first_index(code->nr_insns, i,
			   code->insns[i].address + code->insns[i].size <= address);
}

size_t code_find(const struct code *code, u64 address)
{
	size_t i = first_behind(code, address);

	return i < code->nr_insns && code->insns[i].address == address ? i : NO_INSN;
}

bool code_region(const struct code *code, u64 address, struct range *region)
{
	size_t next = first_index(code->nr_regions, i, code->regions[i] <= address), end;

	if (code_find(code, address) == NO_INSN || next == code->nr_regions)
		return false;
	/* The next element may be the address of data. */
	end = first_behind(code, code->regions[next]);
	if (end == code->nr_insns)
		return false;
	region->start = code->regions[next - 1];
	region->end = code->insns[end].address;
	return true;
}

const u8 *code_bytes(const struct code *code, const struct rewrite_insn *insn)
{
	return elf_at(code->image, insn->address, insn->size);
}

/* If the address is inside an instruction, mark both: neither may be changed. */
void code_mark(struct code *code, u64 address, unsigned int mark)
{
	size_t i = first_behind(code, address);

	if (i == code->nr_insns || code->insns[i].address > address)
		return;
	code->insns[i].marks |= mark;
	if (code->insns[i].address != address)
		code->insns[i].marks |= MARK_FIXED | MARK_TARGET;
}

static int compare_starts(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void code_fix(struct code *code, struct range *ranges, size_t nr, unsigned int marks)
{
	struct rewrite_insn *insn = code->insns, *end = insn + code->nr_insns;
	u64 fixed_to = 0;
	size_t r = 0;

	if (!nr)
		return;
	qsort(ranges, nr, sizeof(*ranges), compare_starts);
	for (; insn < end; insn++) {
		for (; r < nr && ranges[r].start <= insn->address; r++) {
			if (ranges[r].end > fixed_to)
				fixed_to = ranges[r].end;
		}
		if (insn->address < fixed_to && (insn->marks & marks) == marks)
			insn->marks |= MARK_FIXED;
	}
}

/*
 * Does a jump lead to a veneer: an instruction or two that linkers move elsewhere, followed
 * by a jump back? (Erratum 843419 of Cortex-A53.)
 */
bool code_comes_back(const struct code *code, const struct rewrite_insn *jump)
{
	size_t first = code_find(code, jump->target), i;

	for (i = first; i < code->nr_insns && i - first <= VENEER_INSNS; i++) {
		if (code->insns[i].kind == INSN_JUMP)
			return i > first && code->insns[i].target == jump->address + jump->size;
		if (code->insns[i].kind != INSN_PLAIN)
			return false;
	}
	return false;
}

static int compare_addresses(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

int code_add_region(struct code *code, u64 start)
{
	if (grow(&code->regions, &code->room_regions, code->nr_regions, sizeof(u64)))
		return -1;
	code->regions[code->nr_regions++] = start;
	return 0;
}

static int add_regions(struct rewrite *rw)
{
	const struct elf_image *image = &rw->image;
	struct code *code = &rw->code;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		if (code_add_region(code, image->symbols[i].address))
			return -1;
	}
	for (i = 0; i < image->nr_sections; i++) {
		if (is_code_section(image->sections + i) &&
		    code_add_region(code, image->sections[i].sh_addr))
			return -1;
	}
	if (code->nr_regions)
		qsort(code->regions, code->nr_regions, sizeof(u64), compare_addresses);
	return 0;
}

/* Read instructions from START to END. */
static int read_run(struct code *code, u64 start, u64 end)
{
	const u8 *bytes = elf_at(code->image, start, end - start), *previous = NULL;
	struct rewrite_insn insn;
	size_t previous_size = 0;
	bool first = true;
	u64 at;

	for (at = start; bytes && at < end; at += insn.size, first = false) {
		memset(&insn, 0, sizeof(insn));
		if (code->arch->read(bytes + (at - start), end - at, at, previous, previous_size,
				     &insn) == INSN_BAD) {
			insn.size = 1;
			insn.target = 0;
			insn.kind = INSN_BAD;
		}
		insn.address = at;
		if ((insn.marks & MARK_NUMBER) && code->image->header->e_type == ET_DYN)
			insn.target = 0;
		insn.marks = (insn.marks & (MARK_FAULTS | MARK_TRAPS | MARK_SWITCHES)) |
			     (first ? MARK_REGION : 0);
		previous = bytes + (at - start);
		previous_size = insn.size;
		if (grow(&code->insns, &code->room_insns, code->nr_insns, sizeof(insn)))
			return -1;
		code->insns[code->nr_insns++] = insn;
	}
	return 0;
}

static size_t first_region(const struct code *code, u64 address)
{
	return first_index(code->nr_regions, i, code->regions[i] < address);
}

static int read_section(struct code *code, const Elf64_Shdr *section)
{
	u64 at = section->sh_addr, end = at + section->sh_size, next;
	size_t i = first_region(code, at);

	while (at < end) {
		while (i < code->nr_regions && code->regions[i] <= at)
			i++;
		next = i < code->nr_regions && code->regions[i] < end ? code->regions[i] : end;
		if (read_run(code, at, next))
			return -1;
		at = next;
	}
	return 0;
}

static int compare_insns(const void *a, const void *b)
{
	const struct rewrite_insn *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_targets(const void *a, const void *b, void *data)
{
	const struct rewrite_insn *insns = data;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (insns[x].target != insns[y].target)
		return insns[x].target < insns[y].target ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort_branches(struct code *code)
{
	size_t i, count = 0;

	for (i = 0; i < code->nr_insns; i++)
		count += code->insns[i].target != 0;
	code->branches = calloc(count + 1, sizeof(*code->branches));
	if (!code->branches)
		return -1;
	for (i = 0; i < code->nr_insns; i++) {
		if (code->insns[i].target)
			code->branches[code->nr_branches++] = i;
	}
	qsort_r(code->branches, code->nr_branches, sizeof(*code->branches), compare_targets,
		code->insns);
	return 0;
}

size_t code_branches_to(const struct code *code, u64 address)
{
	return first_index(code->nr_branches, i,
			   code->insns[code->branches[i]].target < address);
}

int code_read(struct rewrite *rw, struct fault *fault)
{
	struct code *code = &rw->code;
	size_t i;

	code->image = &rw->image;
	code->finds_functions = go_is(&rw->image) && !rw->at_run_time;
	code->arch = rw->image.header->e_machine == EM_X86_64 ? &rewrite_x86 : &rewrite_arm64;
	if (add_regions(rw))
		return fault_say(fault, "There is no memory.");
	for (i = 0; i < rw->image.nr_sections; i++) {
		if (is_code_section(rw->image.sections + i) &&
		    read_section(code, rw->image.sections + i))
			return fault_say(fault, "There is no memory.");
	}
	if (!code->nr_insns)
		return fault_say(fault, "%s has no code.", rw->image.path);
	qsort(code->insns, code->nr_insns, sizeof(*code->insns), compare_insns);
	if (sort_branches(code))
		return fault_say(fault, "There is no memory.");
	return 0;
}
