// SPDX-License-Identifier: GPL-2.0
/*
 * Read the map of a call trace, and refuse invalid maps
 *
 * The text is read line by line into arrays; then the stubs are sorted and checked as
 * a whole, and each block gets a table with the first stub of each of its lines, so
 * that a look-up compares two or three stubs, however many there are. No contents of a
 * file are trusted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base.h"
#include "map.h"

const char *const map_kinds[STUB_KINDS] = {
	"entry", "exit", "tail", "land", "leaf", "switch", "task2", "task1", "task0", "turn",
};

/* The initial value of map->recent, so that a look-up always has a block. */
struct map_block map_no_block;

/**
 * struct reader - a map that is being read
 * @map: the resulting map
 * @name: name of the file for error sentences
 * @line: number of the line
 * @fault: receives the error sentence
 * @objects: index in the map plus 1, by number of the object
 */
struct reader {
	struct map *map;
	const char *name;
	unsigned long line;
	struct fault *fault;
	u32 *objects;
};

/* Write a sentence that begins with the file's name and the line's number; returns -1. */
static int __printf(2, 3) line_fault(struct reader *reader, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return fault_say(reader->fault, "%s:%lu: %s", reader->name, reader->line, text);
}

static u64 hash_string(const char *string)
{
	u64 hash = 14695981039346656037ULL;

	while (*string)
		hash = (hash ^ (u8)*string++) * 1099511628211ULL;
	return hash ^ hash >> 32;
}

static u64 hash_number(u64 number)
{
	number *= 0x9e3779b97f4a7c15ULL;
	return number ^ number >> 32;
}

/* Allocate a table at least half of which is free with USED entries, or NULL. */
static u32 *bigger_table(u32 *table, size_t *slots, size_t used)
{
	if (used * 2 < *slots)
		return NULL;
	*slots = *slots ? *slots * 2 : 256;
	free(table);
	return calloc(*slots, sizeof(*table));
}

static void put(u32 *table, size_t slots, u64 hash, u32 value)
{
	size_t slot = hash & (slots - 1);

	while (table[slot])
		slot = (slot + 1) & (slots - 1);
	table[slot] = value;
}

static int rehash_strings(struct map *map)
{
	size_t slots = map->string_slots, i;
	u32 *table = bigger_table(map->string_table, &slots, map->nr_strings + 1);

	if (slots == map->string_slots)
		return 0;
	map->string_table = table;
	map->string_slots = table ? slots : 0;
	if (!table)
		return -1;
	for (i = 0; i < map->nr_strings; i++)
		put(table, slots, hash_string(map->strings[i]), i + 1);
	return 0;
}

/* The index of a known string, or -1. */
static long find_string(const struct map *map, const char *string)
{
	const size_t mask = map->string_slots - 1;
	size_t slot;

	if (!map->string_slots)
		return -1;
	for (slot = hash_string(string) & mask; map->string_table[slot]; slot = (slot + 1) & mask)
		if (!strcmp(map->strings[map->string_table[slot] - 1], string))
			return map->string_table[slot] - 1;
	return -1;
}

/* The index of a string, which is added if it is new; -1 if there is no memory. */
static long add_string(struct map *map, const char *string)
{
	long index = find_string(map, string);

	if (index >= 0)
		return index;
	if (rehash_strings(map) ||
	    grow(&map->strings, &map->room_strings, map->nr_strings, sizeof(*map->strings)))
		return -1;
	index = map->nr_strings;
	map->strings[index] = strdup(string);
	if (!map->strings[index])
		return -1;
	map->nr_strings++;
	put(map->string_table, map->string_slots, hash_string(string), index + 1);
	return index;
}

static u64 hash_function(u64 entry, u32 object)
{
	return hash_number(entry ^ hash_number(object + 1));
}

static int rehash_functions(struct map *map)
{
	size_t slots = map->function_slots, i;
	u32 *table = bigger_table(map->function_table, &slots, map->nr_functions + 1);

	if (slots == map->function_slots)
		return 0;
	map->function_table = table;
	map->function_slots = table ? slots : 0;
	if (!table)
		return -1;
	for (i = 0; i < map->nr_functions; i++)
		put(table, slots, hash_function(map->functions[i].entry, map->functions[i].object),
		    i + 1);
	return 0;
}

static long find_function(const struct map *map, u64 entry, u32 object)
{
	const size_t mask = map->function_slots - 1;
	size_t slot = hash_function(entry, object) & mask;

	if (!map->function_slots)
		return -1;
	for (; map->function_table[slot]; slot = (slot + 1) & mask) {
		const struct map_function *function =
			&map->functions[map->function_table[slot] - 1];

		if (function->entry == entry && function->object == object)
			return map->function_table[slot] - 1;
	}
	return -1;
}

static long add_function(struct map *map, const char *name, u64 entry, u32 object)
{
	long index = find_function(map, entry, object), string;

	if (index >= 0)
		return index;
	string = add_string(map, name);
	if (string < 0 || rehash_functions(map) ||
	    grow(&map->functions, &map->room_functions, map->nr_functions,
		 sizeof(*map->functions)))
		return -1;
	index = map->nr_functions++;
	map->functions[index] = (struct map_function){
		.entry = entry, .name = string, .object = object,
	};
	put(map->function_table, map->function_slots, hash_function(entry, object), index + 1);
	return index;
}

static int no_memory(struct reader *reader)
{
	return fault_say(reader->fault, "%s: there is not enough memory for this map",
			 reader->name);
}

static long find_object(const struct reader *reader, u64 id)
{
	return (long)reader->objects[id] - 1;
}

/* The index of the object with the number in a word, or -1 and a sentence. */
static long object_of(struct reader *reader, const char *word)
{
	u64 id;
	long object;

	if (word_number(word, 10, 0xffff, &id))
		return line_fault(reader, "'%s' is not the number of an object", word);
	object = find_object(reader, id);
	if (object < 0)
		return line_fault(reader, "there is no line 'object %s' before this one", word);
	return object;
}

static bool is_build_id(const char *word)
{
	size_t length = strlen(word);

	return !strcmp(word, "-") ||
	       (length && length % 2 == 0 && length <= 128 &&
		strspn(word, "0123456789abcdef") == length);
}

static int read_object(struct reader *reader, char **words, int count)
{
	struct map *map = reader->map;
	struct map_object *object;
	u64 id;

	if (count != 4)
		return line_fault(reader, "an object has a number, a build id and a name");
	if (word_number(words[1], 10, 0xffff, &id))
		return line_fault(reader, "'%s' is not the number of an object", words[1]);
	if (find_object(reader, id) >= 0)
		return line_fault(reader, "object %s is there twice", words[1]);
	if (!is_build_id(words[2]))
		return line_fault(reader, "'%s' is no build id", words[2]);
	if (map->nr_objects > 0xffff)
		return line_fault(reader, "there are too many objects");
	if (grow(&map->objects, &map->room_objects, map->nr_objects, sizeof(*map->objects)))
		return no_memory(reader);
	object = &map->objects[map->nr_objects];
	object->id = id;
	object->build_id = strdup(words[2]);
	object->name = strdup(words[3]);
	map->nr_objects++;
	reader->objects[id] = map->nr_objects;
	if (!object->build_id || !object->name)
		return no_memory(reader);
	word_unescape(object->name);
	return 0;
}

static int read_block(struct reader *reader, char **words, int count)
{
	struct map *map = reader->map;
	u64 start, size;
	long object;

	if (count != 4)
		return line_fault(reader, "a block has a begin, a size and an object");
	if (word_number(words[1], 16, ~0ULL, &start))
		return line_fault(reader, "'%s' is no address", words[1]);
	if (word_number(words[2], 16, MAP_MAX_BLOCKS, &size) || !size || start + size - 1 < start)
		return line_fault(reader, "'%s' is no size of a block", words[2]);
	object = object_of(reader, words[3]);
	if (object < 0)
		return -1;
	if (grow(&map->blocks, &map->room_blocks, map->nr_blocks, sizeof(*map->blocks)))
		return no_memory(reader);
	map->blocks[map->nr_blocks++] = (struct map_block){
		.start = start, .memory = start, .size = size, .object = object,
	};
	return 0;
}

static int read_kind(struct reader *reader, const char *word)
{
	int kind;

	for (kind = 0; kind < STUB_KINDS; kind++)
		if (!strcmp(map_kinds[kind], word))
			return kind;
	return line_fault(reader, "'%s' is no kind of a stub", word);
}

/*
 * The target function of a tail stub is only known when all stubs have been read: until then
 * its target is the index of a string, which is the address, if there is one, or a name.
 */
static int read_target(struct reader *reader, struct map_stub *stub, char **words, int count)
{
	long target = add_string(reader->map, count > 7 ? words[count - 1] : "-");
	u64 entry;

	if (count > 8 && word_number(words[8], 16, ~0ULL, &entry))
		return line_fault(reader, "'%s' is no address", words[8]);
	if (target < 0)
		return no_memory(reader);
	stub->target = target;
	return 0;
}

static int read_function(struct reader *reader, struct map_stub *stub, char **words, int count)
{
	struct map *map = reader->map;
	const int most = stub->kind == STUB_TAIL ? 9 : 7;
	long function;
	u64 entry;

	if (count < 7 || word_number(words[6], 16, ~0ULL, &entry))
		return line_fault(reader,
				  "a stub of this kind has a function and its entry's address");
	if (count > most)
		return line_fault(reader, "'%s' is one word too many", words[most]);
	function = add_function(map, words[5], entry, stub->object);
	if (function < 0)
		return no_memory(reader);
	stub->function = function;
	map->functions[function].entered |= stub->kind == STUB_ENTRY || stub->kind == STUB_LEAF;
	return stub->kind == STUB_TAIL ? read_target(reader, stub, words, count) : 0;
}

static int read_stub(struct reader *reader, char **words, int count)
{
	struct map *map = reader->map;
	struct map_stub stub = { 0 };
	u64 size, number;
	int kind;
	long object;

	if (count < 6)
		return line_fault(reader,
				  "a stub has an address, a size, a kind, an object and a function");
	if (word_number(words[1], 16, ~0ULL, &stub.address))
		return line_fault(reader, "'%s' is no address", words[1]);
	if (word_number(words[2], 10, 4096, &size) || !size)
		return line_fault(reader, "'%s' is no size of a stub", words[2]);
	kind = read_kind(reader, words[3]);
	object = kind < 0 ? -1 : object_of(reader, words[4]);
	if (object < 0)
		return -1;
	stub.size = size;
	stub.kind = kind;
	stub.object = object;
	if (!map_is_context(&stub)) {
		if (read_function(reader, &stub, words, count))
			return -1;
	} else {
		if (word_number(words[5], 10, 255, &number))
			return line_fault(reader, "'%s' is not a number from 0 to 255", words[5]);
		if (count > 6)
			return line_fault(reader, "'%s' is one word too many", words[6]);
		stub.function = number;
	}
	if (map->nr_stubs >= 0x7fffffff ||
	    grow(&map->stubs, &map->room_stubs, map->nr_stubs, sizeof(*map->stubs)))
		return no_memory(reader);
	map->stubs[map->nr_stubs++] = stub;
	return 0;
}

/* The source line of a function whose stubs are above. */
static int read_source(struct reader *reader, char **words, int count)
{
	struct map_function *function;
	long object, index, file;
	u64 entry, line;

	if (count != 5 || word_number(words[2], 16, ~0ULL, &entry))
		return line_fault(reader, "a source has an object, a function, a line and a file");
	if (word_number(words[3], 10, 0x7fffffff, &line))
		return line_fault(reader, "'%s' is no line of a source", words[3]);
	object = object_of(reader, words[1]);
	if (object < 0)
		return -1;
	index = find_function(reader->map, entry, object);
	if (index < 0)
		return line_fault(reader, "no stub before this line belongs to a function at %s",
				  words[2]);
	word_unescape(words[4]);
	file = add_string(reader->map, words[4]);
	if (file < 0)
		return no_memory(reader);
	function = &reader->map->functions[index];
	function->file = file;
	function->line = line;
	return 0;
}

static int read_line(struct reader *reader, char *line)
{
	char *words[10];
	int count = words_split(line, words, ARRAY_SIZE(words));

	if (!count || *words[0] == '#')
		return 0;
	if (!strcmp(words[0], "stub"))
		return read_stub(reader, words, count);
	if (!strcmp(words[0], "block"))
		return read_block(reader, words, count);
	if (!strcmp(words[0], "object"))
		return read_object(reader, words, count);
	if (!strcmp(words[0], "source"))
		return read_source(reader, words, count);
	return line_fault(reader, "'%s' is none of object, block, stub and source", words[0]);
}

/*
 * The stubs of the kernel's modules are in the blocks of its first object, and all its
 * objects share one range of addresses: assign their stubs to the first object.
 */
static void find_spaces(struct map *map)
{
	struct map_object *object;
	size_t i;

	for (i = 0; i < map->nr_objects; i++)
		map->objects[i].space = map->nr_objects;
	for (i = 0; i < map->nr_blocks; i++)
		map->objects[map->blocks[i].object].space = map->blocks[i].object;
	for (i = 0; i < map->nr_objects; i++) {
		object = &map->objects[i];
		if (object->space == map->nr_objects)
			object->space = i ? object[-1].space : 0;
	}
	for (i = 0; i < map->nr_stubs; i++)
		map->stubs[i].object = map->objects[map->stubs[i].object].space;
}

static int compare_stubs(const void *one, const void *other)
{
	const struct map_stub *a = one, *b = other;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_blocks(const void *one, const void *other)
{
	const struct map_block *a = one, *b = other;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int sort_blocks(struct reader *reader)
{
	struct map *map = reader->map;
	u64 size = 0;
	size_t i;

	/* The size of the look-up table is a fraction of that of all blocks. */
	for (i = 0; i < map->nr_blocks; i++)
		size += map->blocks[i].size;
	if (size > MAP_MAX_BLOCKS)
		return fault_say(reader->fault,
				 "%s: the blocks have 0x%llx bytes together, and 0x%llx is the most",
				 reader->name, size, MAP_MAX_BLOCKS);
	if (map->nr_blocks)
		qsort(map->blocks, map->nr_blocks, sizeof(*map->blocks), compare_blocks);
	for (i = 1; i < map->nr_blocks; i++) {
		const struct map_block *a = &map->blocks[i - 1], *b = &map->blocks[i];

		if (a->object == b->object && b->start - a->start < a->size)
			return fault_say(reader->fault,
					 "%s: the blocks at 0x%llx and 0x%llx overlap",
					 reader->name, a->start, b->start);
	}
	return 0;
}

/*
 * Collect the stubs in a block. Stub I is the first stub that is not before the block.
 */
static int fill_block(struct reader *reader, struct map_block *block, size_t *i)
{
	const struct map *map = reader->map;
	const size_t lines = (block->size + MAP_LINE - 1) / MAP_LINE;
	size_t line = 0;

	block->lines = calloc(lines, sizeof(*block->lines));
	if (!block->lines)
		return no_memory(reader);
	for (; *i < map->nr_stubs; ++*i) {
		const struct map_stub *stub = &map->stubs[*i];
		u64 offset = stub->address - block->start, end = offset + stub->size;

		if (stub->object != block->object || offset >= block->size)
			break;
		if (end > block->size)
			return fault_say(reader->fault,
					 "%s: the stub at 0x%llx ends outside of its block",
					 reader->name, stub->address);
		while (line * MAP_LINE < end)
			block->lines[line++] = *i;
	}
	while (line < lines)
		block->lines[line++] = *i;
	return 0;
}

static int sort_stubs(struct reader *reader)
{
	struct map *map = reader->map;
	size_t i, block, next;

	if (map->nr_stubs)
		qsort(map->stubs, map->nr_stubs, sizeof(*map->stubs), compare_stubs);
	for (i = 1; i < map->nr_stubs; i++) {
		const struct map_stub *a = &map->stubs[i - 1], *b = &map->stubs[i];

		if (a->object == b->object && b->address - a->address < a->size)
			return fault_say(reader->fault,
					 "%s: the stubs at 0x%llx and 0x%llx overlap",
					 reader->name, a->address, b->address);
	}
	for (block = 0, next = 0; block < map->nr_blocks; block++)
		if (fill_block(reader, &map->blocks[block], &next))
			return -1;
	if (next < map->nr_stubs)
		return fault_say(reader->fault, "%s: the stub at 0x%llx is in no block",
				 reader->name, map->stubs[next].address);
	return 0;
}

/* A function with an entry stub, for look-ups by name. */
struct named {
	u32 name, space, function;
};

static int compare_named(const void *one, const void *other)
{
	const struct named *a = one, *b = other;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static struct named *sort_names(const struct map *map, size_t *count)
{
	struct named *named = malloc((map->nr_functions + 1) * sizeof(*named));
	size_t i;

	*count = 0;
	for (i = 0; named && i < map->nr_functions; i++) {
		const struct map_function *function = &map->functions[i];

		if (function->entered)
			named[(*count)++] = (struct named){
				.name = function->name, .function = i,
				.space = map->objects[function->object].space,
			};
	}
	if (*count)
		qsort(named, *count, sizeof(*named), compare_named);
	return named;
}

/* If several functions have this name, the target is ambiguous. */
static u32 find_named(const struct named *named, size_t count, u32 name, u32 space)
{
	const struct named key = { .name = name, .space = space };
	const struct named *found = bsearch(&key, named, count, sizeof(*named), compare_named);

	if (!found || (found > named && !compare_named(found - 1, &key)) ||
	    (found + 1 < named + count && !compare_named(found + 1, &key)))
		return TARGET_OUTSIDE;
	return found->function;
}

/* Of several objects that share their blocks, the first one with such an entry comes first. */
static int compare_entered(const void *one, const void *other, void *data)
{
	const struct map *map = data;
	const struct named *a = one, *b = other;
	const u64 entry_a = map->functions[a->function].entry;
	const u64 entry_b = map->functions[b->function].entry;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (entry_a != entry_b)
		return entry_a < entry_b ? -1 : 1;
	return map->functions[a->function].object - map->functions[b->function].object;
}

static u32 find_entered(const struct map *map, const struct named *entered, size_t count,
			u64 entry, u32 space)
{
	size_t low = first_index(count, i, entered[i].space < space ||
				 (entered[i].space == space &&
				  map->functions[entered[i].function].entry < entry));

	return low < count && entered[low].space == space &&
	       map->functions[entered[low].function].entry == entry ? entered[low].function :
	       TARGET_OUTSIDE;
}

/* Replace the strings of tail stubs by their target functions. */
static int resolve_targets(struct reader *reader)
{
	struct map *map = reader->map;
	size_t count, i;
	struct named *named = sort_names(map, &count), *entered;
	u64 entry;

	entered = malloc((count + 1) * sizeof(*entered));
	if (!named || !entered) {
		free(named);
		free(entered);
		return no_memory(reader);
	}
	if (count) {
		memcpy(entered, named, count * sizeof(*entered));
		qsort_r(entered, count, sizeof(*entered), compare_entered, map);
	}
	for (i = 0; i < map->nr_stubs; i++) {
		struct map_stub *stub = &map->stubs[i];

		if (stub->kind != STUB_TAIL)
			continue;
		if (word_number(map->strings[stub->target], 16, ~0ULL, &entry))
			stub->target = find_named(named, count, stub->target, stub->object);
		else
			stub->target = find_entered(map, entered, count, entry, stub->object);
	}
	free(named);
	free(entered);
	return 0;
}

static int read_lines(struct reader *reader, FILE *file)
{
	size_t room = 0;
	char *line = NULL;
	int result = 0;

	free(reader->objects);
	reader->objects = calloc(MAP_IDS, sizeof(*reader->objects));
	if (!reader->objects)
		return no_memory(reader);
	while (!result && line_read(&line, &room, file) >= 0) {
		reader->line++;
		if (reader->line == 1 && strcmp(line, "# calltrace map 1\n"))
			result = line_fault(reader, "this is not a call trace map of version 1");
		else
			result = read_line(reader, line);
	}
	if (!result && errno == EILSEQ) {
		reader->line++;
		result = line_fault(reader, "%s", line_error());
	} else if (!result && errno) {
		result = fault_say(reader->fault, "%s: %s", reader->name, line_error());
	}
	free(line);
	if (!result && !reader->line)
		result = fault_say(reader->fault, "%s: the map is empty", reader->name);
	return result;
}

static int read_file(struct reader *reader, const char *path)
{
	FILE *file = fopen(path, "r");
	int result;

	if (!file)
		return fault_say(reader->fault, "%s: %s", path, strerror(errno));
	reader->name = path;
	reader->line = 0;
	result = read_lines(reader, file);
	fclose(file);
	return result;
}

/* Index the objects by their numbers; several maps may use the same number. */
static int index_objects(struct reader *reader)
{
	struct map *map = reader->map;
	size_t i;

	map->nr_own = map->nr_blocks;
	map->by_id = calloc(MAP_IDS, sizeof(*map->by_id));
	if (!map->by_id)
		return no_memory(reader);
	for (i = 0; i < map->nr_objects; i++) {
		u32 *index = &map->by_id[map->objects[i].id];

		*index = *index ? MAP_AMBIGUOUS : i + 1;
	}
	return 0;
}

static int finish(struct reader *reader)
{
	if (sort_blocks(reader) || index_objects(reader))
		return -1;
	find_spaces(reader->map);
	return sort_stubs(reader) || resolve_targets(reader) ? -1 : 0;
}

static void begin(struct map *map)
{
	memset(map, 0, sizeof(*map));
	map->recent = &map_no_block;
}

int map_read(struct map *map, FILE *file, const char *name, struct fault *fault)
{
	struct reader reader = { .map = map, .name = name, .fault = fault };
	int result;

	begin(map);
	result = read_lines(&reader, file) ?: finish(&reader);
	free(reader.objects);
	if (result)
		map_free(map);
	return result;
}

int map_read_files(struct map *map, const char *const *paths, size_t count, struct fault *fault)
{
	struct reader reader = { .map = map, .fault = fault };
	int result = 0;
	size_t i;

	begin(map);
	for (i = 0; i < count && !result; i++)
		result = read_file(&reader, paths[i]);
	result = result ?: finish(&reader);
	free(reader.objects);
	if (result)
		map_free(map);
	return result;
}

int map_read_file(struct map *map, const char *path, struct fault *fault)
{
	return map_read_files(map, &path, 1, fault);
}

void map_clean_names(struct map *map)
{
	size_t i;

	for (i = 0; i < map->nr_strings; i++)
		text_clean(map->strings[i]);
	for (i = 0; i < map->nr_objects; i++)
		text_clean(map->objects[i].name);
}

void map_free(struct map *map)
{
	size_t i;

	for (i = 0; i < map->nr_objects; i++) {
		free(map->objects[i].build_id);
		free(map->objects[i].name);
	}
	for (i = 0; i < map->nr_blocks; i++)
		if (!map->blocks[i].copied)
			free(map->blocks[i].lines);
	for (i = 0; i < map->nr_strings; i++)
		free(map->strings[i]);
	free(map->objects);
	free(map->blocks);
	free(map->stubs);
	free(map->functions);
	free(map->strings);
	free(map->string_table);
	free(map->function_table);
	free(map->by_id);
	free(map->by_memory);
	memset(map, 0, sizeof(*map));
	map->recent = &map_no_block;
}
