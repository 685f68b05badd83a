/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of a call trace: which stub says what
 *
 * A map is read once and then only looked at. Its text and its stubs have the
 * addresses of the files; map_load() says where an object is in memory, and
 * map_find() takes the addresses of a trace, which are those in memory.
 */
#ifndef FHOOK_MAP_H
#define FHOOK_MAP_H

#include <stdio.h>
#include "base.h"

enum stub_kind {
	STUB_ENTRY,
	STUB_EXIT,
	STUB_TAIL,
	STUB_LAND,
	/* From here on: of a context, and it has a number instead of a function. */
	STUB_TASK2,
	STUB_TASK1,
	STUB_TASK0,
	STUB_TURN,
	STUB_KINDS
};

/* A tail stub goes to what has no entry in the map, or nobody knows where. */
#define TARGET_OUTSIDE	0xffffffffu

/**
 * struct map_stub - one jump of a block
 * @address: where it is in its file
 * @size: in bytes
 * @function: index of its function, or the number of a context kind
 * @target: of a tail: index of a function, or TARGET_OUTSIDE
 * @object: index of its object, or of the one whose blocks that shares
 * @kind: enum stub_kind
 */
struct map_stub {
	u64 address;
	u32 size;
	u32 function;
	u32 target;
	u16 object;
	u16 kind;
};

/**
 * struct map_function - what is entered and left
 * @entry: its address in its file, which tells functions of one name apart
 * @name: its name, as the index of a string
 * @object: index of its object
 * @entered: it has an entry stub
 */
struct map_function {
	u64 entry;
	u32 name;
	u16 object;
	bool entered;
};

/**
 * struct map_block - a range of stubs
 * @start: in its file
 * @memory: where it is in memory
 * @size: in bytes
 * @object: index of its object
 * @lines: for each MAP_LINE bytes, the first stub that ends behind their begin
 * @loaded: it was said where it is in memory
 * @copied: it is another place of a block before, which has the lines
 */
struct map_block {
	u64 start;
	u64 memory;
	u64 size;
	u32 object;
	u32 *lines;
	bool loaded, copied;
};

/**
 * struct map_object - what functions are in
 * @id: its number in its file
 * @space: index of the object whose blocks it shares: itself, if it has any
 * @build_id: text, "-" where it is not known
 * @name: its name
 */
struct map_object {
	u32 id, space;
	char *build_id;
	char *name;
};

#define MAP_IDS		0x10000
#define MAP_AMBIGUOUS	0xffffffffu
#define MAP_LINE	32
#define MAP_MAX_BLOCKS	(256ULL << 20)

struct map {
	struct map_object *objects;
	struct map_block *blocks;
	struct map_stub *stubs;
	struct map_function *functions;
	char **strings;
	size_t nr_objects, nr_blocks, nr_own, nr_stubs, nr_functions, nr_strings;
	size_t room_objects, room_blocks, room_stubs, room_functions, room_strings;
	/* Of strings and functions, by their hash. */
	u32 *string_table, *function_table;
	size_t string_slots, function_slots;
	/* For each number of an object its index plus 1, or MAP_AMBIGUOUS. */
	u32 *by_id;
	/* The blocks by their addresses in memory; the first NR_OWN are not second places. */
	struct map_block **by_memory;
	/* The block of the last address that was looked up. */
	struct map_block *recent;
};

/* Read a map; a fault has the name that was given and the number of the line. */
int map_read(struct map *map, FILE *file, const char *name, struct fault *fault);
int map_read_file(struct map *map, const char *path, struct fault *fault);

/* Read several as one: the kernel's and a program's. The numbers of objects are each's own. */
int map_read_files(struct map *map, const char *const *paths, size_t count, struct fault *fault);
void map_free(struct map *map);

/*
 * The object with this ID is BIAS bytes above the addresses that the map has. It may be
 * at several places, one after the other.
 */
int map_load(struct map *map, u32 id, u64 bias, struct fault *fault);

extern const char *const map_kinds[STUB_KINDS];

static inline const char *map_name(const struct map *map, u32 function)
{
	return map->strings[map->functions[function].name];
}

static inline bool map_is_context(const struct map_stub *stub)
{
	return stub->kind >= STUB_TASK2;
}

/* What the last block is before there was one. */
extern struct map_block map_no_block;

struct map_block *map_find_block(struct map *map, u64 address);

/* The stub which has this address in memory, or NULL. */
static inline const struct map_stub *map_find(struct map *map, u64 address)
{
	struct map_block *block = map->recent;
	u64 offset = address - block->memory;
	const struct map_stub *stub;
	size_t i;

	if (offset >= block->size) {
		block = map_find_block(map, address);
		if (!block)
			return NULL;
		offset = address - block->memory;
	}
	address = block->start + offset;
	for (i = block->lines[offset / MAP_LINE]; i < map->nr_stubs; i++) {
		stub = &map->stubs[i];
		if (stub->object != block->object || address < stub->address)
			return NULL;
		if (address - stub->address < stub->size)
			return stub;
	}
	return NULL;
}

#endif /* FHOOK_MAP_H */
