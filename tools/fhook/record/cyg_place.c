// SPDX-License-Identifier: GPL-2.0
/*
 * The object that is loaded at an address in which a thread runs
 *
 * A thread keeps the objects in which it has run. An object may be unloaded and another
 * one loaded in its place, so for each address the loader is asked for the current object,
 * without a lock, because this may run in any context. It is the same object if its size
 * and build id are the same. The code that asks is in the object, so that the object cannot
 * be unloaded meanwhile.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "cyg_place.h"
#include "lib/elf_image.h"

/* The first page of an object has its headers, and exists as long as the object. */
#define PAGE	4096

/* The address for code that the loader has not loaded: no stub has it, and print says so. */
#define NOT_LOADED	1

/**
 * struct place - an object in which a thread has run
 * @start: first address
 * @size: size in bytes
 * @shift: difference between addresses in the recording and in memory
 * @recorded: whether the map contains the object
 * @stays: whether it is the program, which is never unloaded
 * @id: build id, in memory, if it is in the first page
 * @id_size: size of the build id in bytes; 0 if the name identifies the object
 * @was: build id when the thread first ran there
 * @name: name of the object at that time
 */
struct place {
	u64 start, size, shift;
	bool recorded, stays;
	const u8 *id;
	size_t id_size;
	u8 was[BUILD_ID_MAX];
	char *name;
};

/* Find the build id of an object whose headers are at START. */
static void find_id(struct record_loaded *loaded)
{
	const Elf64_Ehdr *header = (void *)loaded->start;
	const Elf64_Phdr *segment, *end;

	loaded->id = NULL;
	loaded->id_size = 0;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_phoff + header->e_phnum * sizeof(*segment) > PAGE)
		return;
	segment = (void *)(loaded->start + header->e_phoff);
	for (end = segment + header->e_phnum; segment < end && !loaded->id; segment++)
		if (segment->p_type == PT_NOTE)
			loaded->id = elf_find_build_id((u8 *)(loaded->bias + segment->p_vaddr),
						       segment->p_memsz, &loaded->id_size);
}

static bool is_same(const struct place *place, const struct dl_find_object *found)
{
	if (place->start != (u64)found->dlfo_map_start ||
	    place->start + place->size != (u64)found->dlfo_map_end)
		return false;
	if (place->id_size)
		return !memcmp(place->id, place->was, place->id_size);
	return !strcmp(place->name, found->dlfo_link_map->l_name);
}

static bool in_first_page(const struct record_loaded *loaded)
{
	return loaded->id && (u64)loaded->id + loaded->id_size - loaded->start <= PAGE;
}

/* Add an object, in place of those that were at its addresses before. */
static struct place *replace(struct places *places, const struct record_loaded *loaded)
{
	struct place *place, *end = places->all + places->nr;

	for (place = places->all; place < end; place++)
		if (place->start - loaded->start < loaded->size ||
		    loaded->start - place->start < place->size)
			break;
	if (place == end) {
		if (grow(&places->all, &places->room, places->nr, sizeof(*place)))
			return NULL;
		place = &places->all[places->nr++];
		place->name = NULL;
	}
	free(place->name);
	*place = (struct place){
		.start = loaded->start, .size = loaded->size, .stays = !*loaded->name,
		.name = strdup(loaded->name),
	};
	if (!place->name) {
		*place = places->all[--places->nr];
		return NULL;
	}
	if (in_first_page(loaded)) {
		place->id = loaded->id;
		place->id_size = loaded->id_size;
		memcpy(place->was, loaded->id, loaded->id_size);
	}
	return place;
}

enum place_is places_find(struct places *places, u64 address, u64 *at,
			  struct record_loaded *loaded)
{
	struct place *place = places->all, *end = place + places->nr;
	struct dl_find_object found;

	for (; place < end; place++)
		if (address - place->start < place->size)
			break;
	if (place < end && place->stays) {
		*at = address + place->shift;
		return PLACE_KNOWN;
	}
	if (_dl_find_object((void *)address, &found)) {
		*at = NOT_LOADED;
		return PLACE_KNOWN;
	}
	if (place < end && is_same(place, &found)) {
		*at = address + place->shift;
		return place->recorded ? PLACE_KNOWN : PLACE_NONE;
	}
	*loaded = (struct record_loaded){
		.start = (u64)found.dlfo_map_start,
		.size = found.dlfo_map_end - found.dlfo_map_start,
		.bias = found.dlfo_link_map->l_addr, .name = found.dlfo_link_map->l_name,
	};
	find_id(loaded);
	return PLACE_NEW;
}

void places_add(struct places *places, const struct record_loaded *loaded, u64 shift,
		bool recorded)
{
	struct place *place = replace(places, loaded);

	if (!place)
		return;
	place->shift = shift;
	place->recorded = recorded;
}

void places_free(struct places *places)
{
	size_t i;

	for (i = 0; i < places->nr; i++)
		free(places->all[i].name);
	free(places->all);
	*places = (struct places){};
}
