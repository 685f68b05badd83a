// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: addresses in code that are used from outside the code
 *
 * Other files may enter the program at its exported labels, the loader at its entry point and
 * its initialization. Tracers put breakpoints on USDT probes, LLVM's XRay puts jumps into the
 * entries and exits that it lists, and exceptions look for the addresses of instructions that
 * raise them.
 */
#include <string.h>
#include "rewrite.h"

#define NT_STAPSDT	3
#define SLED_SIZE	32

/* A function that is entered in its middle would have exits without an entry. */
static void mark_entered(struct rewrite *rw, u64 address)
{
	const struct elf_symbol *function = elf_symbol_of(&rw->image, address);
	const bool inside = function && function->address != address;

	code_mark(&rw->code, address, MARK_TARGET | (inside ? MARK_ENTERED : 0));
}

static void mark_exported(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".dynsym");
	const u8 *data = section ? elf_section_data(&rw->image, section) : NULL;
	Elf64_Sym symbol;
	u64 at;

	for (at = 0; data && at + sizeof(symbol) <= section->sh_size; at += sizeof(symbol)) {
		memcpy(&symbol, data + at, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
		    ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
			mark_entered(rw, symbol.st_value);
	}
}

static void mark_started(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".dynamic");
	const u8 *data = section ? elf_section_data(&rw->image, section) : NULL;
	Elf64_Dyn entry;
	u64 at;

	mark_entered(rw, rw->image.header->e_entry);
	for (at = 0; data && at + sizeof(entry) <= section->sh_size; at += sizeof(entry)) {
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.d_tag == DT_INIT || entry.d_tag == DT_FINI)
			mark_entered(rw, entry.d_un.d_ptr);
	}
}

void known_mark_entries(struct rewrite *rw)
{
	mark_exported(rw);
	mark_started(rw);
}

/* A breakpoint of a tracer would be in the middle of a jump. */
static void fix_probes(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".note.stapsdt");
	const Elf64_Shdr *base = elf_section(&rw->image, ".stapsdt.base");
	u8 *notes = section && section->sh_offset % 4 == 0 ?
		    elf_section_data(&rw->image, section) : NULL;
	size_t left = notes ? section->sh_size : 0;
	struct elf_note note;
	u64 numbers[2];

	while (notes && elf_next_note(&notes, &left, &note)) {
		if (note.type != NT_STAPSDT || note.size < sizeof(numbers))
			continue;
		memcpy(numbers, note.data, sizeof(numbers));
		if (base && numbers[1])
			numbers[0] += base->sh_addr - numbers[1];
		code_mark(&rw->code, numbers[0], MARK_FIXED);
	}
}

/* The first number of XRay's record is the distance from itself to the place. */
static void fix_sleds(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, "xray_instr_map");
	const u8 *data = section ? elf_section_data(&rw->image, section) : NULL;
	u64 at, distance;

	for (at = 0; data && at + SLED_SIZE <= section->sh_size; at += SLED_SIZE) {
		memcpy(&distance, data + at, sizeof(distance));
		code_mark(&rw->code, section->sh_addr + at + distance, MARK_FIXED);
	}
}

void known_fix(struct rewrite *rw)
{
	/* The kernel keeps probes and stubs apart, and signals show the program's addresses. */
	if (rw->at_run_time)
		return;
	/*
	 * With -fnon-call-exceptions, instructions that raise a signal may throw. The exception is
	 * caught only if it comes from the address in the table.
	 */
	code_fix(&rw->code, rw->tried, rw->nr_tried, MARK_TRAPS);
	fix_probes(rw);
	fix_sleds(rw);
}
