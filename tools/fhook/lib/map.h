/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of a call trace: the meaning of each stub
 *
 * A map is read once and not changed afterwards. Its text and its stubs have the addresses of
 * the files; map_load() sets the location of an object in memory, and map_find() takes the
 * addresses of a trace, which are those in memory.
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
	STUB_LEAF,	/* entry of a function whose exit has no stub, because it follows */
	STUB_SWITCH,	/* the function is about to change the stack */
	/*
	 * The kinds from here on belong to contexts; these stubs have a number instead of a
	 * function.
	 */
	STUB_TASK2,
	STUB_TASK1,
	STUB_TASK0,
	STUB_TURN,
	STUB_KINDS
};

/* The target of a tail stub has no entry in the map, or is unknown. */
#define TARGET_OUTSIDE	0xffffffffu

/**
 * struct map_stub - one jump of a block
 * @address: address in its file
 * @size: size in bytes
 * @function: index of the function, or the number of a context kind
 * @target: index of the target function of a tail, or TARGET_OUTSIDE
 * @object: index of the object, or of the object that owns the shared blocks
 * @kind: value of enum stub_kind
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
 * struct map_function - a function with stubs
 * @entry: address of the function in its file, which distinguishes functions of the same name
 * @name: index of the name among the strings
 * @file: index of the path of the source file among the strings
 * @line: line of the source in which the function begins; 0: the map does not have it
 * @object: index of the object
 * @entered: there is an entry stub
 */
struct map_function {
	u64 entry;
	u32 name;
	u32 file, line;
	u16 object;
	bool entered;
};

/**
 * struct map_block - a range of stubs
 * @start: address in its file
 * @memory: address in memory
 * @size: size in bytes
 * @object: index of the object
 * @lines: for each MAP_LINE bytes, the first stub that ends after their start
 * @loaded: the address in memory is known
 * @copied: the block is another location of an earlier block, which owns @lines
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
 * struct map_object - an object that contains functions
 * @id: number of the object in its file
 * @space: index of the object whose blocks this one uses: its own index if it has blocks
 * @build_id: build id as text, "-" if unknown
 * @name: name of the object
 */
struct map_object {
	u32 id, space;
	char *build_id;
	char *name;
};

#define MAP_IDS		0x10000
#define MAP_AMBIGUOUS	0xffffffffu
#define MAP_LINE	8
#define MAP_MAX_BLOCKS	(256ULL << 20)
/* Additional locations of blocks. Recorders write 1024 at most. */
#define MAP_MAX_COPIES	(1024 * 1024u)

struct map {
	struct map_object *objects;
	struct map_block *blocks;
	struct map_stub *stubs;
	struct map_function *functions;
	char **strings;
	size_t nr_objects, nr_blocks, nr_own, nr_stubs, nr_functions, nr_strings;
	size_t room_objects, room_blocks, room_stubs, room_functions, room_strings;
	/* Hash tables of strings and functions. */
	u32 *string_table, *function_table;
	size_t string_slots, function_slots;
	/* For each number of an object, its index plus 1, or MAP_AMBIGUOUS. */
	u32 *by_id;
	/*
	 * The blocks sorted by address in memory; the first NR_OWN are not additional
	 * locations.
	 */
	struct map_block **by_memory;
	/* The block of the last address that was found. */
	struct map_block *recent;
};

/* Read a map; a fault has the given name and the number of the line. */
int map_read(struct map *map, FILE *file, const char *name, struct fault *fault);
int map_read_file(struct map *map, const char *path, struct fault *fault);

/* Read several maps as one: the kernel's and a program's. Each has its own object numbers. */
int map_read_files(struct map *map, const char *const *paths, size_t count, struct fault *fault);
void map_free(struct map *map);

/* Replace control characters in names, which come from ELF files and would go to a terminal. */
void map_clean_names(struct map *map);

/*
 * The object with this ID is loaded BIAS bytes above the addresses in the map. It may be
 * loaded at several locations, one after the other.
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

/* The value of map->recent before the first look-up. */
extern struct map_block map_no_block;

struct map_block *map_find_block(struct map *map, u64 address);

/* The stub at an address in memory, or NULL. */
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
