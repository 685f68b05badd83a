// SPDX-License-Identifier: GPL-2.0
/*
 * The locations of a map's objects in memory
 *
 * The locations are added before addresses are looked up; then the blocks are sorted by
 * their locations.
 */
#include <stdlib.h>
#include "map.h"

static void place(struct map_block *block, u64 bias)
{
	block->memory = block->start + bias;
	block->loaded = true;
}

/* An object that is loaded again is at both locations. */
static int add_place(struct map *map, const struct map_block *block, u64 bias, struct fault *fault)
{
	struct map_block again = *block;

	if (map->nr_blocks - map->nr_own == MAP_MAX_COPIES)
		return fault_say(fault,
				 "objects were loaded again with more than %u blocks together: the recording is damaged",
				 MAP_MAX_COPIES);
	place(&again, bias);
	again.copied = true;
	map->recent = &map_no_block;
	if (grow(&map->blocks, &map->room_blocks, map->nr_blocks, sizeof(again)))
		return fault_say(fault, "there is not enough memory for the map");
	map->blocks[map->nr_blocks++] = again;
	return 0;
}

/* The index of an object's first block; blocks of additional locations come later. */
static size_t blocks_of(const struct map *map, u32 object)
{
	return first_index(map->nr_own, i, map->blocks[i].object < object);
}

static bool is_of(const struct map *map, size_t block, u32 object)
{
	return block < map->nr_own && map->blocks[block].object == object;
}

int map_load(struct map *map, u32 id, u64 bias, struct fault *fault)
{
	const u32 index = map->by_id && id < MAP_IDS ? map->by_id[id] : 0;
	size_t block;

	if (index == MAP_AMBIGUOUS)
		return fault_say(fault,
				 "object %u was loaded, and several of the maps have one of this number",
				 id);
	if (!index)
		return fault_say(fault,
				 "object %u was loaded, but the map has none of this number",
				 id);
	block = blocks_of(map, index - 1);
	/* All blocks of an object have the same bias. */
	if (is_of(map, block, index - 1) && map->blocks[block].loaded &&
	    map->blocks[block].memory == map->blocks[block].start + bias)
		return 0;
	for (; is_of(map, block, index - 1); block++) {
		if (!map->blocks[block].loaded)
			place(&map->blocks[block], bias);
		else if (add_place(map, &map->blocks[block], bias, fault))
			return -1;
	}
	free(map->by_memory);
	map->by_memory = NULL;
	return 0;
}

/* Of two blocks at the same location, the first one wins. */
static int compare_memory(const void *one, const void *other)
{
	const struct map_block *a = *(struct map_block *const *)one;
	const struct map_block *b = *(struct map_block *const *)other;

	if (a->memory != b->memory)
		return a->memory < b->memory ? -1 : 1;
	return a > b ? -1 : 1;
}

static bool sort_memory(struct map *map)
{
	size_t i;

	map->by_memory = calloc(map->nr_blocks + 1, sizeof(*map->by_memory));
	if (!map->by_memory)
		return false;
	for (i = 0; i < map->nr_blocks; i++)
		map->by_memory[i] = &map->blocks[i];
	qsort(map->by_memory, map->nr_blocks, sizeof(*map->by_memory), compare_memory);
	return true;
}

struct map_block *map_find_block(struct map *map, u64 address)
{
	size_t low;

	if (!map->by_memory && !sort_memory(map))
		return NULL;
	low = first_index(map->nr_blocks, i, map->by_memory[i]->memory <= address);
	if (!low || address - map->by_memory[low - 1]->memory >= map->by_memory[low - 1]->size)
		return NULL;
	map->recent = map->by_memory[low - 1];
	return map->recent;
}
