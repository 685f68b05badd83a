// SPDX-License-Identifier: GPL-2.0
/* Sending the kernel's calls through stubs; the header describes the functions. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include "lib/kernel_files.h"
#include "lib/map.h"
#include "lib/map_join.h"
#include "lib/recording.h"
#include "stubs.h"
#include "lib/work.h"

#define DIRECTORY	"fhook/calltrace"
#define FUNCTIONS	DIRECTORY "/functions"
#define PROGRAMS	DIRECTORY "/programs"
#define ENABLE		DIRECTORY "/enable"

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory to record");
}

/*
 * Lock the directory until the recording ends: another recording would stop the announcements
 * of tasks, and restart their turns.
 */
static int lock(struct record_stubs *stubs, struct fault *fault)
{
	int result = 0;
	char *path;

	if (asprintf(&path, "%s/" DIRECTORY, kernel_files_path()) < 0)
		return no_memory(fault);
	stubs->lock = opendir(path);
	if (!stubs->lock || flock(dirfd(stubs->lock), LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			result = fault_say(fault,
					   "kernel functions are being recorded already: wait until that recording has ended");
		else
			result = fault_say(fault, "%s cannot be locked: %s", path, strerror(errno));
	}
	free(path);
	return result;
}

/* Remove comments, which explain functions that are not traced, so that the others remain. */
static void drop_comments(char *text)
{
	char *line, *rest = text, *to = text;

	while ((line = strsep(&rest, "\n"))) {
		const size_t length = strlen(line);

		if (!length || *line == '#')
			continue;
		memmove(to, line, length);
		to[length] = '\n';
		to += length + 1;
	}
	*to = '\0';
}

/* Print a message if some of the chosen functions cannot be traced. */
static void report_refused(const struct record_stubs *stubs)
{
	const char *example = NULL;
	unsigned long count = 0;
	char *text, *line, *rest;
	struct fault ignored;

	if (!stubs->functions)
		return;
	text = kernel_file_read(FUNCTIONS, &ignored);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line == '#' && !count++)
			example = line + 2;
	if (count)
		fprintf(stderr, "fhook: %lu of the functions cannot be traced, such as %s.\n",
			count, example);
	free(text);
}

static char *list_text(const struct list *list)
{
	char *text = NULL;
	size_t size, i;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (i = 0; i < list->nr_patterns; i++)
		fprintf(file, "%s%s\n", list->patterns[i].excludes ? "!" : "",
			list->patterns[i].text);
	fclose(file);
	return text;
}

/* While calls are traced, nothing else can be chosen. */
static int check_disabled(struct fault *fault)
{
	char *text = kernel_file_read(ENABLE, fault);
	bool enabled;

	if (!text)
		return -1;
	enabled = *text == '1';
	free(text);
	if (enabled)
		return fault_say(fault,
				 "calls are being traced: functions can be chosen when %s is 0",
				 ENABLE);
	return 0;
}

static int choose_functions(struct record_stubs *stubs, struct fault *fault)
{
	char *before, *text;
	int result;

	if (!stubs->record->functions.nr_patterns)
		return 0;
	if (check_disabled(fault))
		return -1;
	before = kernel_file_read(FUNCTIONS, fault);
	if (!before)
		return -1;
	drop_comments(before);
	text = list_text(&stubs->record->functions);
	result = text ? kernel_file_write(FUNCTIONS, text, fault) : no_memory(fault);
	free(text);
	if (result) {
		free(before);
		return -1;
	}
	stubs->functions = before;
	return 0;
}

static int add_block(struct record_stubs *stubs, u64 address, u64 size, struct fault *fault)
{
	if (grow(&stubs->blocks, &stubs->room_blocks, stubs->nr_blocks, sizeof(*stubs->blocks)))
		return no_memory(fault);
	stubs->blocks[stubs->nr_blocks++] = (struct record_block){ address, size };
	return 0;
}

/* Parse lines "ADDRESS SIZE". */
static int find_kernel_blocks(struct record_stubs *stubs, struct fault *fault)
{
	char *text = kernel_file_read("fhook/calltrace/block", fault), *rest = text, *line;
	unsigned long long address, size;
	int result = 0;

	if (!text)
		return -1;
	while (!result && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%llx %llx", &address, &size) == 2)
			result = add_block(stubs, address, size, fault);
	free(text);
	if (result || stubs->nr_blocks)
		return result;
	if (stubs->record->functions.nr_patterns)
		return fault_say(fault, "none of these functions can be traced: %s says why",
				 FUNCTIONS);
	return fault_say(fault,
			 "no functions are given: name them with --function, or write them to %s",
			 FUNCTIONS);
}

/* Count the words up to the end of a line. */
static u64 count_words(const char *text)
{
	u64 count = 0;

	while (*text && *text != '\n') {
		count += *text != ' ' && (text[1] == ' ' || text[1] == '\n' || !text[1]);
		text++;
	}
	return count;
}

/*
 * A map of another file, such as a rewritten one, is useless: its stubs are elsewhere. So is
 * the map of a program that has been attached again with other offsets.
 */
static int check_attached(const char *programs, const char *path, const struct map *map,
			  const struct map_block *block, struct fault *fault)
{
	const char *place;
	char word[30];

	snprintf(word, sizeof(word), " @0x%llx ", block->start);
	place = strstr(programs, word);
	if (!place)
		return fault_say(fault,
				 "%s: no program has been attached whose stubs are at 0x%llx: attach it first",
				 path, block->start);
	if (count_words(place + strlen(word)) != map->nr_stubs)
		return fault_say(fault,
				 "%s: it has %zu stubs, and the program at 0x%llx has others: this is not its map",
				 path, map->nr_stubs, block->start);
	return 0;
}

static bool has_block(const struct record_stubs *stubs, u64 address)
{
	size_t i;

	for (i = 0; i < stubs->nr_blocks; i++)
		if (stubs->blocks[i].address == address)
			return true;
	return false;
}

static int find_program_blocks(struct record_stubs *stubs, const char *path,
			       const char *programs, struct fault *fault)
{
	struct map map;
	int result;
	size_t i;

	if (map_read_file(&map, path, fault))
		return -1;
	result = map.nr_blocks ? 0 : fault_say(fault, "%s: there is no block in it", path);
	for (i = 0; i < map.nr_blocks && !result; i++) {
		const struct map_block *block = &map.blocks[i];

		result = check_attached(programs, path, &map, block, fault);
		if (!result && has_block(stubs, block->start))
			result = fault_say(fault, "%s: this map is given twice", path);
		if (!result)
			result = add_block(stubs, block->start, block->size, fault);
	}
	map_free(&map);
	return result;
}

static int find_programs(struct record_stubs *stubs, struct fault *fault)
{
	const struct record *record = stubs->record;
	char *programs;
	int result = 0;
	size_t i;

	if (!record->nr_maps)
		return 0;
	programs = kernel_file_read(PROGRAMS, fault);
	if (!programs)
		return -1;
	for (i = 0; i < record->nr_maps && !result; i++)
		result = find_program_blocks(stubs, record->maps[i], programs, fault);
	free(programs);
	return result;
}

int record_stubs_choose(struct record_stubs *stubs, struct fault *fault)
{
	if (!kernel_file_exists(FUNCTIONS))
		return fault_say(fault,
				 "this kernel cannot trace calls: there is no %s in tracefs; use --software",
				 FUNCTIONS);
	if (lock(stubs, fault) || choose_functions(stubs, fault) ||
	    find_kernel_blocks(stubs, fault) || find_programs(stubs, fault))
		return -1;
	record_say_way(stubs->record);
	report_refused(stubs);
	return 0;
}

static int join_maps(struct record_stubs *stubs, FILE *kernel, struct fault *fault)
{
	const struct record *record = stubs->record;
	struct map_join join = { .to = stubs->map_file };
	int result = map_join_add(&join, kernel);
	size_t i;

	for (i = 0; i < record->nr_maps && !result; i++) {
		FILE *program = fopen(record->maps[i], "r");

		result = program ? map_join_add(&join, program) : -1;
		if (program)
			fclose(program);
	}
	return result ? fault_say(fault, "the maps cannot be joined: %s", strerror(errno)) : 0;
}

int record_stubs_map(struct record_stubs *stubs, struct fault *fault)
{
	char *text = kernel_file_read("fhook/calltrace/map", fault);
	FILE *kernel = NULL;
	int result = -1;

	if (text && !*text) {
		fault_say(fault, "the kernel's map is empty");
	} else if (text) {
		kernel = fmemopen(text, strlen(text), "r");
		stubs->map_file = kernel ? recording_unnamed_file(true, &stubs->map) : NULL;
		result = stubs->map_file ? join_maps(stubs, kernel, fault) :
			 fault_say(fault, "there is no place for the map: %s", strerror(errno));
	}
	if (kernel)
		fclose(kernel);
	free(text);
	return result;
}

static int enable(struct record_stubs *stubs, struct fault *fault)
{
	stubs->enabled = kernel_file_read(ENABLE, fault);
	if (!stubs->enabled)
		return -1;
	/* "2": tasks are not announced yet, so that the recording has all turns of each task. */
	return kernel_file_write(ENABLE, "2", fault);
}

static void disable(struct record_stubs *stubs)
{
	if (stubs->enabled)
		kernel_file_restore(ENABLE, stubs->enabled);
	free(stubs->enabled);
	stubs->enabled = NULL;
}

/* Run the command while calls go through the blocks and the recorder records. */
static int run_command(struct record_stubs *stubs, struct fault *fault)
{
	struct pollfd fd = { .events = POLLIN };
	int result;

	/* The recorder records: let each CPU announce its task. */
	result = kernel_file_write(ENABLE, "1", fault);
	result = result ?: work_start(stubs->record->argv, fault);
	fd.fd = work_fd();
	while (!result && work_runs())
		poll(&fd, 1, 200);
	return result;
}

int record_stubs_run(struct record_stubs *stubs, const struct stubs_recorder *recorder,
		     void *data, struct fault *fault)
{
	int result = enable(stubs, fault);
	struct fault other;

	if (!result) {
		result = recorder->begin(data, fault);
		result = result ?: run_command(stubs, fault);
		if (recorder->end(data, result ? &other : fault))
			result = -1;
	}
	disable(stubs);
	return result;
}

void record_stubs_end(struct record_stubs *stubs)
{
	if (stubs->functions)
		kernel_file_restore(FUNCTIONS, stubs->functions);
	if (stubs->map_file)
		fclose(stubs->map_file);
	if (stubs->lock)
		closedir(stubs->lock);
	free(stubs->functions);
	free(stubs->blocks);
	free(stubs->map);
}
