// SPDX-License-Identifier: GPL-2.0
/*
 * What is loaded at an address that a thread comes to
 *
 * A thread keeps the places that it has come to. An object may go and another one come
 * to its place: each time an address is asked about, the loader tells what is there now,
 * without a lock, for this may be anywhere, and it is the same object if it is as large
 * and has the same build id. The code that asks is in the object, so it cannot go now.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "cyg_place.h"
#include "lib/elf_image.h"

/* The first page of an object has its headers, and is there as long as it is. */
#define PAGE	4096

/* The address of what the loader has not loaded: no stub has it, which print says. */
#define NOT_LOADED	1

/**
 * struct place - an object that a thread has come to
 * @start: its first address
 * @size: how many it has
 * @shift: what its addresses in the recording have more
 * @recorded: the map has it
 * @stays: it is the program, which never goes
 * @id: in memory: its build id, if that is in its first page
 * @id_size: how many bytes of it there are; 0: it is told by its name
 * @was: the same, when the thread first came there
 * @name: its name then
 */
struct place {
	u64 start, size, shift;
	bool recorded, stays;
	const u8 *id;
	size_t id_size;
	u8 was[BUILD_ID_MAX];
	char *name;
};

/* The build id of an object whose headers are at START. */
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

/* It is in the place of all that were there before. */
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
