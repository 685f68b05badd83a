// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: words that the loader writes into the data of a program
 *
 * All relocations are read once and sorted by the word that they change: each call and
 * each restartable sequence looks up some of them, and a large library has hundreds of
 * thousands of both.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

/**
 * struct relocation - a word that the loader changes
 * @at: address of the word
 * @order: index in the file: if several change one word, the first counts
 * @addend: value of the word, if no symbol is added to it
 * @name: name of the symbol whose address it is, or NULL
 */
struct relocation {
	u64 at;
	size_t order;
	u64 addend;
	const char *name;
};

static const char *symbol_of(const struct elf_image *image, const Elf64_Shdr *section, u64 number)
{
	const Elf64_Shdr *symbols = image->sections + section->sh_link;
	Elf64_Sym symbol;

	if (section->sh_link >= image->nr_sections || symbols->sh_link >= image->nr_sections ||
	    number >= symbols->sh_size / sizeof(symbol) || !elf_section_data(image, symbols))
		return NULL;
	memcpy(&symbol, elf_section_data(image, symbols) + number * sizeof(symbol),
	       sizeof(symbol));
	return elf_string(image, image->sections + symbols->sh_link, symbol.st_name);
}

static int add(struct relocations *list, u64 at, u64 addend, const char *name)
{
	if (grow(&list->array, &list->room, list->nr, sizeof(*list->array)))
		return -1;
	list->array[list->nr] = (struct relocation){
		.at = at, .order = list->nr, .addend = addend, .name = name,
	};
	list->nr++;
	return 0;
}

static int read_section(struct rewrite *rw, const Elf64_Shdr *section)
{
	const u8 *data = elf_section_data(&rw->image, section);
	size_t i, count = section->sh_size / sizeof(Elf64_Rela);
	Elf64_Rela relocation;
	const char *name;
	u64 number;

	for (i = 0; data && i < count; i++) {
		memcpy(&relocation, data + i * sizeof(relocation), sizeof(relocation));
		number = ELF64_R_SYM(relocation.r_info);
		if (!number && (section->sh_flags & SHF_ALLOC) &&
		    add(&rw->words, relocation.r_offset, relocation.r_addend, NULL))
			return -1;
		name = number ? symbol_of(&rw->image, section, number) : NULL;
		if (name && add(&rw->imports, relocation.r_offset, 0, name))
			return -1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int relocations_read(struct rewrite *rw)
{
	size_t i;

	for (i = 0; i < rw->image.nr_sections; i++) {
		if (rw->image.sections[i].sh_type == SHT_RELA &&
		    read_section(rw, rw->image.sections + i))
			return -1;
	}
	if (rw->words.nr)
		qsort(rw->words.array, rw->words.nr, sizeof(*rw->words.array), compare);
	if (rw->imports.nr)
		qsort(rw->imports.array, rw->imports.nr, sizeof(*rw->imports.array), compare);
	return 0;
}

/* The first relocation of a word, or NULL. */
static const struct relocation *find(const struct relocations *list, u64 at)
{
	size_t low = first_index(list->nr, i, list->array[i].at < at);

	return low < list->nr && list->array[low].at == at ? list->array + low : NULL;
}

u64 relocations_word(const struct rewrite *rw, u64 address)
{
	const struct relocation *relocation = find(&rw->words, address);
	const u8 *data = elf_at(&rw->image, address, sizeof(u64));
	u64 word = 0;

	if (relocation)
		return relocation->addend;
	if (data)
		memcpy(&word, data, sizeof(word));
	return word;
}

const char *relocations_import(const struct rewrite *rw, u64 slot)
{
	const struct relocation *relocation = find(&rw->imports, slot);

	return relocation ? relocation->name : NULL;
}
