// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-attach: let the kernel put the stubs of a call trace into running programs
 *
 * Usage: fhook-attach -F PATTERN [-o MAP] FILE
 *
 * The file is disassembled as by fhook-rewrite, and not changed. The offsets of the
 * entries and exits of its functions are written to fhook/calltrace/programs in tracefs;
 * the kernel sends these instructions, in all processes, through stubs in a block that is
 * at the same address in each. The map is written after the kernel has accepted the line,
 * and has addresses in memory. A function is traced with all of its entries and exits, or
 * refused.
 *
 * With --print nothing is attached: the line for the kernel goes to standard output. It
 * needs an address, and may be for a file with another path elsewhere.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fhook_calltrace_stub.h"
#include "lib/elf_image.h"
#include "rewrite.h"

#define PROGRAMS	"/sys/kernel/tracing/fhook/calltrace/programs"
/* These are the values of the kernel. */
#define STUB_SIZE	16
#define STUBS_MAX	65536
#define BLOCK_ALIGN	0x10000

/**
 * struct attach - options of the command line
 * @address: address of the block; 0 if not given
 * @path: path of the file for the kernel; NULL for its actual path
 * @print: only print the line for the kernel
 */
static struct attach {
	u64 address;
	const char *path;
	bool print;
} attach;

static const struct argp_option options[] = {
	{ "address", 'a', "ADDRESS", 0,
	  "Where the stubs are to be in programs, a multiple of 64 KiB, if not where the kernel says",
	  0 },
	{ "path", 'p', "PATH", 0, "What the kernel is to take for the file", 0 },
	{ "print", 'n', NULL, 0, "Attach nothing, and print what would be written to the kernel",
	  0 },
	{ }
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	char *end;

	switch (key) {
	case 'a':
		attach.address = strtoull(text, &end, 0);
		if (*end || !attach.address || attach.address % BLOCK_ALIGN)
			argp_failure(state, 1, 0, "'%s' is no multiple of 64 KiB", text);
		return 0;
	case 'p':
		attach.path = text;
		return 0;
	case 'n':
		attach.print = true;
		return 0;
	case ARGP_KEY_END:
		if (attach.print && !attach.address)
			argp_error(state, "--print needs an --address");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *kind_name(u32 kind)
{
	switch (kind) {
	case FHOOK_STUB_ENTRY:
		return "entry";
	case FHOOK_STUB_EXIT:
		return "exit";
	case FHOOK_STUB_TAIL:
		return "tail";
	case FHOOK_STUB_LEAF:
		return "leaf";
	case FHOOK_STUB_SWITCH:
		return "switch";
	default:
		return "land";
	}
}

static u64 address_of(const struct rewrite *rw, const struct point *point)
{
	return rw->code.insns[point->insn].address;
}

static int check_points(const struct rewrite *rw, struct fault *fault)
{
	size_t i;

	if (rw->nr_points > STUBS_MAX)
		return fault_say(fault, "%zu stubs are more than the kernel gives a program, %u.",
				 rw->nr_points, STUBS_MAX);
	for (i = 0; i < rw->nr_points; i++) {
		const u64 address = address_of(rw, rw->points + i);

		if (!elf_segment_of(&rw->image, address))
			return fault_say(fault, "0x%llx of %s is in no segment.", address,
					 rw->image.path);
	}
	return 0;
}

/* The part of a line after path and address: " OFFSET..." in the order of the stubs. */
static char *offsets_of(const struct rewrite *rw)
{
	char *text = NULL;
	size_t size, i;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (i = 0; i < rw->nr_points; i++) {
		const u64 address = address_of(rw, rw->points + i);
		const Elf64_Phdr *segment = elf_segment_of(&rw->image, address);

		fprintf(file, " 0x%llx", address - segment->p_vaddr + segment->p_offset);
	}
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *line_of(const char *path, const char *offsets)
{
	char *line;
	int length;

	if (attach.address)
		length = asprintf(&line, "%s @0x%llx%s\n", path, attach.address, offsets);
	else
		length = asprintf(&line, "%s%s\n", path, offsets);
	return length < 0 ? NULL : line;
}

/* Each write to the file is a program, so write the whole line at once. */
static int write_line(const char *line, struct fault *fault)
{
	int fd = open(PROGRAMS, O_WRONLY | O_APPEND | O_CLOEXEC), error = 0;
	ssize_t written;

	if (fd < 0)
		return fault_say(fault, "%s: %s; is this a kernel with calltrace and uhook, %s?",
				 PROGRAMS, strerror(errno), "and tracefs mounted");
	written = write(fd, line, strlen(line));
	if (written != (ssize_t)strlen(line))
		error = written < 0 ? errno : EIO;
	close(fd);
	return error ? fault_say(fault, "The kernel refuses it: %s; its log says why.",
				 strerror(error)) : 0;
}

/* The address that the kernel has chosen, found in the last line with this program. */
static int find_address(const char *path, const char *offsets, struct fault *fault)
{
	const size_t length = strlen(path);
	FILE *file = fopen(PROGRAMS, "re");
	char *line = NULL, *rest;
	size_t room = 0;
	u64 address;

	while (file && getline(&line, &room, file) > 0) {
		if (strncmp(line, path, length) || strncmp(line + length, " @", 2))
			continue;
		address = strtoull(line + length + 2, &rest, 0);
		rest[strcspn(rest, "\n")] = '\0';
		if (!strcmp(rest, offsets))
			attach.address = address;
	}
	free(line);
	if (file)
		fclose(file);
	return attach.address ? 0 : fault_say(fault, "What was written to %s is not there.",
					      PROGRAMS);
}

static void print_points(const struct rewrite *rw, FILE *file)
{
	size_t f, i;

	for (i = 0, f = 0; i < rw->nr_points; i++) {
		const struct point *point = rw->points + i;
		const struct elf_symbol *symbol;

		while (!function_has(rw->functions + f, address_of(rw, point)) ||
		       rw->functions[f].refused)
			f = (f + 1) % rw->nr_functions;
		symbol = rw->functions[f].symbol;
		fprintf(file, "stub 0x%llx %u %s 0 %s 0x%llx", attach.address + i * STUB_SIZE,
			STUB_SIZE, kind_name(point->kind), symbol->name, symbol->address);
		if (point->kind == FHOOK_STUB_TAIL && point->target)
			fprintf(file, " %s 0x%llx", point->target->name, point->target->address);
		else if (point->kind == FHOOK_STUB_TAIL)
			fprintf(file, " -");
		fputc('\n', file);
	}
}

static int write_map(const struct rewrite *rw, const char *path, struct fault *fault)
{
	char build_id[BUILD_ID_TEXT], *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int ret;

	if (!file)
		return fault_say(fault, "There is no memory.");
	build_id_text(&rw->image, build_id);
	fprintf(file, "# calltrace map 1\nobject 0 %s ", build_id);
	word_escape(path, file);
	fprintf(file, "\nblock 0x%llx 0x%zx 0\n", attach.address, rw->nr_points * STUB_SIZE);
	print_points(rw, file);
	if (fclose(file)) {
		free(text);
		return fault_say(fault, "There is no memory.");
	}
	ret = instrument_write(rw->run.output, text, size, 0666, fault);
	free(text);
	return ret;
}

static bool is_listed(const char *path)
{
	const size_t length = strlen(path);
	FILE *file = fopen(PROGRAMS, "re");
	char *line = NULL;
	bool listed = false;
	size_t room = 0;

	while (file && !listed && getline(&line, &room, file) > 0)
		listed = !strncmp(line, path, length) && line[length] == ' ';
	free(line);
	if (file)
		fclose(file);
	return listed;
}

/* A removal ends all lines with the path: one that was there before keeps the new one, too. */
static void take_back(const char *path, bool was_listed, struct fault *fault)
{
	const struct fault why = *fault;
	bool removed = false;
	char *line;

	if (!was_listed && asprintf(&line, "!%s\n", path) >= 0) {
		removed = !write_line(line, fault);
		free(line);
	}
	if (removed)
		fault_say(fault, "%s %s was detached again.", why.text, path);
	else
		fault_say(fault, "%s The kernel has taken %s all the same: see %s.", why.text,
			  path, PROGRAMS);
}

static int attach_program(const struct rewrite *rw, const char *path, const char *line,
			  const char *offsets, struct fault *fault)
{
	const bool was_listed = is_listed(path);
	int ret;

	if (instrument_check(rw->run.output, fault) || write_line(line, fault))
		return -1;
	ret = find_address(path, offsets, fault) ?: write_map(rw, path, fault);
	if (ret)
		take_back(path, was_listed, fault);
	return ret;
}

/* Standard output has the line: write the map only to a file. */
static int print_program(const struct rewrite *rw, const char *path, const char *line,
			 struct fault *fault)
{
	if (fputs(line, stdout) < 0 || fflush(stdout))
		return fault_say(fault, "The standard output cannot be written: %s.",
				 strerror(errno));
	return rw->run.output ? write_map(rw, path, fault) : 0;
}

static int attach_all(const struct rewrite *rw, const char *path, struct fault *fault)
{
	char *offsets = offsets_of(rw), *line = offsets ? line_of(path, offsets) : NULL;
	int ret;

	if (!line)
		ret = fault_say(fault, "There is no memory.");
	else if (attach.print)
		ret = print_program(rw, path, line, fault);
	else
		ret = attach_program(rw, path, line, offsets, fault);
	free(line);
	free(offsets);
	return ret;
}

/* Blanks separate words in the line, so a path cannot contain any. */
static char *full_path(const struct rewrite *rw, struct fault *fault)
{
	char *path = attach.path ? strdup(attach.path) : realpath(rw->run.input, NULL);

	if (!path)
		fault_say(fault, "%s: %s.", rw->run.input, strerror(errno));
	else if (path[strcspn(path, " \t\n")])
		fault_say(fault, "The kernel takes no path with blanks in it: '%s'.", path);
	else
		return path;
	free(path);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	static const struct argp_child more[] = { { .argp = &own }, { .argp = &names_argp },
						   { .argp = &leaves_argp }, { } };
	static struct rewrite rewrite = { .at_run_time = true };
	struct rewrite *rw = &rewrite;
	struct fault fault;
	char *path = NULL;
	int ret;

	instrument_parse(&rw->run, argc, argv, "FILE",
			 "Let the kernel put stubs for a call trace into programs that run.", more);
	ret = choose_all(rw, &fault);
	ret = ret ?: check_points(rw, &fault);
	if (!ret) {
		path = full_path(rw, &fault);
		ret = path ? attach_all(rw, path, &fault) : -1;
	}
	free(path);
	rw->run.stubs = rw->nr_points;
	return instrument_finish(&rw->run, ret, &fault);
}
