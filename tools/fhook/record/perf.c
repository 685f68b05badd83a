// SPDX-License-Identifier: GPL-2.0
/*
 * Record with the processor's trace, by perf, and import perf's recording
 *
 * The processor's filter gets the blocks of the map. perf filters user addresses only
 * in events of a single thread: the program's first thread is recorded, and not those
 * that it creates. This has not been run on a processor with Intel PT.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "calltrace.h"
#include "decode/perf_data.h"
#include "lib/elf_image.h"
#include "lib/map.h"
#include "record.h"
#include "lib/work.h"

/* Add "filter OFFSET/SIZE@PATH", perf's syntax for a range of a file. */
static int add_block(FILE *text, const struct map *map, const struct map_block *block,
		     struct fault *fault)
{
	const char *name = map->objects[block->object].name;
	char *path = realpath(name, NULL);
	const Elf64_Phdr *segment = NULL;
	struct elf_image image;
	int result = 0;

	if (!path)
		return fault_say(fault, "%s, which the map is of: %s", name, strerror(errno));
	if (strpbrk(path, " ,\n"))
		result = fault_say(fault,
				   "the kernel's filters take no path with blanks or commas: rename %s",
				   path);
	if (result || elf_open(&image, path, fault)) {
		free(path);
		return -1;
	}
	segment = elf_segment_of(&image, block->start);
	if (segment)
		fprintf(text, "%sfilter 0x%llx/0x%llx@%s", ftell(text) ? " , " : "",
			block->start - segment->p_vaddr + segment->p_offset, block->size, path);
	else
		result = fault_say(fault, "%s has nothing at 0x%llx: the map is of another build",
				   path, block->start);
	elf_close(&image);
	free(path);
	return result;
}

static int make_filter(const char *map_path, char **filter, struct fault *fault)
{
	struct map map;
	size_t size, i;
	FILE *text;
	int result = 0;

	if (map_read_file(&map, map_path, fault))
		return -1;
	text = open_memstream(filter, &size);
	if (!text)
		result = fault_say(fault, "there is not enough memory to record");
	for (i = 0; !result && i < map.nr_blocks; i++)
		result = add_block(text, &map, &map.blocks[i], fault);
	if (text)
		fclose(text);
	map_free(&map);
	return result;
}

/* Import the recording of perf, even if the program has failed. */
static int take_over(const struct record *record, const char *data, struct fault *fault)
{
	struct perf_losses losses;
	struct stat status;

	if (stat(data, &status) || !status.st_size)
		return fault_say(fault, "perf has recorded nothing: what it has said is above");
	if (perf_data_import(data, record->map, record->directory, &losses, fault))
		return -1;
	perf_losses_print(&losses);
	return 0;
}

/* Run perf, with an output file of ours next to the directory. */
static int run_perf(struct record *record, char *data, char *filter, struct fault *fault)
{
	/* Perf's default buffer size is available without root privileges. */
	char buffer[40] = "-q";
	char *const perf[] = {
		"perf", "record", "-q", buffer, "--per-thread", "-e",
		strcmp(record->profile, "cycles") ? "intel_pt//u" : "intel_pt/cyc/u",
		"--filter", filter, "-o", data, "--",
	};
	int count = 0, result, fd;
	char **argv;

	if (record->buffer_kb)
		snprintf(buffer, sizeof(buffer), "--mmap-pages=,%lluK", record->buffer_kb);
	while (record->argv[count])
		count++;
	argv = calloc(ARRAY_SIZE(perf) + count + 1, sizeof(*argv));
	if (!argv)
		return fault_say(fault, "there is not enough memory to record");
	memcpy(argv, perf, sizeof(perf));
	memcpy(argv + ARRAY_SIZE(perf), record->argv, count * sizeof(*argv));
	fd = mkstemp(data);
	if (fd < 0) {
		result = fault_say(fault, "%s: %s", data, strerror(errno));
	} else {
		close(fd);
		result = work_run(argv, fault) ?: take_over(record, data, fault);
		unlink(data);
	}
	free(argv);
	return result;
}

int record_check_profile(const struct record *record, struct fault *fault)
{
	if (!strcmp(record->profile, "target") || !strcmp(record->profile, "cycles"))
		return 0;
	return fault_say(fault,
			 "the profile '%s' is QEMU's plugin's: a processor decides what its packets have, and takes target or cycles",
			 record->profile);
}

int record_hardware(struct record *record, struct fault *fault)
{
	char *filter = NULL, *data = NULL;
	int result = record_check_profile(record, fault);

	if (!result)
		result = make_filter(record->map, &filter, fault);
	if (!result && asprintf(&data, "%s.perf-XXXXXX", record->directory) < 0)
		result = fault_say(fault, "there is not enough memory to record");
	if (!result)
		result = run_perf(record, data, filter, fault);
	free(data);
	free(filter);
	return result;
}

struct arguments {
	const char *data, *map, *directory;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'm':
		arguments->map = word;
		return 0;
	case 'o':
		arguments->directory = word;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->data)
			argp_usage(state);
		arguments->data = word;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->data || !arguments->map)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int calltrace_import(int argc, char **argv, struct fault *fault)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "DIRECTORY", 0, "The recording (default: calltrace.out)" },
		{ "map", 'm', "FILE", 0, "The map of the stubs, which is needed" },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-m MAP PERF.DATA",
		.doc = "Make a recording of what perf has recorded with Intel PT.",
	};
	struct arguments arguments = { .directory = "calltrace.out" };
	struct perf_losses losses;

	argv[0] = "fhook calltrace import";
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (perf_data_import(arguments.data, arguments.map, arguments.directory, &losses, fault))
		return -1;
	perf_losses_print(&losses);
	return 0;
}
