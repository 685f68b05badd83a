// SPDX-License-Identifier: GPL-2.0
/*
 * Checking files of trace-cmd before libtracecmd reads them
 *
 * It trusts the sizes in a file. Here the file is walked through, and must have each part.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "trace_dat.h"

/* Options of the format. */
#define OPTION_CLOCK		4
#define OPTION_TSC_TO_NS	14

/* Larger numbers are those of a damaged file. */
#define MOST_CPUS	65536
#define MOST_EVENTS	1000000

/**
 * struct walk - a file that is being checked
 * @in: the file
 * @size: size of the file
 * @page: size of a page of the ring buffer
 * @clock: name of the clock, or empty
 * @converted: whether libtracecmd converts the times to nanoseconds
 */
struct walk {
	FILE *in;
	u64 size;
	u32 page;
	char clock[TRACE_DAT_CLOCK];
	bool converted;
};

static int take(struct walk *walk, void *data, size_t size)
{
	return fread(data, 1, size, walk->in) == size ? 0 : -1;
}

static int take_number(struct walk *walk, size_t width, u64 most, u64 *number)
{
	*number = 0;
	return take(walk, number, width) || *number > most ? -1 : 0;
}

/* A word of the format, with the zero after it. */
static int take_word(struct walk *walk, const char *word)
{
	char text[16];
	const size_t size = strlen(word) + 1;

	return take(walk, text, size) || memcmp(text, word, size) ? -1 : 0;
}

/* A size, and as many bytes. After the end of the file, there is nothing to take. */
static int skip_part(struct walk *walk, size_t width)
{
	u64 size;

	return take_number(walk, width, walk->size, &size) ||
	       fseeko(walk->in, size, SEEK_CUR) ? -1 : 0;
}

static int skip_parts(struct walk *walk)
{
	u64 nr;

	if (take_number(walk, sizeof(u32), MOST_EVENTS, &nr))
		return -1;
	while (nr--)
		if (skip_part(walk, sizeof(u64)))
			return -1;
	return 0;
}

static int skip_name(struct walk *walk)
{
	int byte;

	while ((byte = fgetc(walk->in)) > 0)
		;
	return byte;
}

static int skip_systems(struct walk *walk)
{
	u64 nr;

	if (take_number(walk, sizeof(u32), MOST_EVENTS, &nr))
		return -1;
	while (nr--)
		if (skip_name(walk) || skip_parts(walk))
			return -1;
	return 0;
}

/* The name in brackets is that of the clock. */
static int take_clock(struct walk *walk)
{
	char text[512] = "", *name;
	u64 size;

	if (take_number(walk, sizeof(u32), sizeof(text) - 1, &size) || take(walk, text, size))
		return -1;
	name = strchr(text, '[');
	if (!name)
		return 0;
	name[strcspn(name, "]")] = '\0';
	snprintf(walk->clock, sizeof(walk->clock), "%s", name + 1);
	return 0;
}

static int take_options(struct walk *walk)
{
	u64 option;

	do {
		if (take_number(walk, sizeof(u16), 0xffff, &option))
			return -1;
		if (option == OPTION_TSC_TO_NS)
			walk->converted = true;
		if (option == OPTION_CLOCK ? take_clock(walk) :
		    option && skip_part(walk, sizeof(u32)))
			return -1;
	} while (option);
	return 0;
}

static bool counts_ns(const struct walk *walk)
{
	static const char *const clocks[] = {
		"", "local", "global", "perf", "mono", "mono_raw", "boot", "tai",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks) && strcmp(walk->clock, clocks[i]); i++)
		;
	return walk->converted || i < ARRAY_SIZE(clocks);
}

static int check_pages(struct walk *walk, u64 cpus)
{
	u64 at, size;

	while (cpus--)
		if (take_number(walk, sizeof(u64), walk->size, &at) ||
		    take_number(walk, sizeof(u64), walk->size - at, &size) ||
		    at % walk->page || size % walk->page)
			return -1;
	return 0;
}

/* Options come between the number of CPUs and the table of their pages, or not at all. */
static int check_data(struct walk *walk)
{
	char kind[10];
	u64 cpus;

	if (take_number(walk, sizeof(u32), MOST_CPUS, &cpus) || take(walk, kind, sizeof(kind)))
		return -1;
	if (!memcmp(kind, "options  ", sizeof(kind)) &&
	    (take_options(walk) || take(walk, kind, sizeof(kind))))
		return -1;
	return memcmp(kind, "flyrecord", sizeof(kind)) ? -1 : check_pages(walk, cpus);
}

static int check_version_6(struct walk *walk)
{
	if (take(walk, &walk->page, sizeof(walk->page)) ||
	    walk->page < 1024 || walk->page > 1 << 20 || walk->page & (walk->page - 1))
		return -1;
	return take_word(walk, "header_page") || skip_part(walk, sizeof(u64)) ||
	       take_word(walk, "header_event") || skip_part(walk, sizeof(u64)) ||
	       skip_parts(walk) || skip_systems(walk) ||
	       skip_part(walk, sizeof(u32)) || skip_part(walk, sizeof(u32)) ||
	       skip_part(walk, sizeof(u64)) || check_data(walk) ? -1 : 0;
}

static int check(struct walk *walk, const char *path, struct fault *fault)
{
	char magic[sizeof(TRACE_DAT_MAGIC) - 1], version[2], form[2];

	if (take(walk, magic, sizeof(magic)) || memcmp(magic, TRACE_DAT_MAGIC, sizeof(magic)))
		return fault_say(fault,
				 "%s is not a trace.dat: fhook record and trace-cmd record make such files",
				 path);
	if (take(walk, version, sizeof(version)) || version[1])
		return fault_say(fault, "%s ends too early, or is damaged", path);
	if (version[0] != '6')
		return fault_say(fault,
				 "%s has version %c of its format, not 6: trace-cmd convert --file-version 6 converts it",
				 path, version[0] > ' ' && version[0] <= '~' ? version[0] : '?');
	if (take(walk, form, sizeof(form)))
		return fault_say(fault, "%s ends too early, or is damaged", path);
	if ((form[0] == 1 && (form[1] == 4 || form[1] == 8)) || (!form[0] && form[1] == 4))
		return fault_say(fault,
				 "%s was recorded on a machine that is %s: only recordings of little-endian 64-bit machines are read",
				 path, form[0] ? "big-endian" : "32-bit");
	/* Little-endian, and 8 bytes in a word. */
	if (form[0] || form[1] != 8 || check_version_6(walk))
		return fault_say(fault, "%s ends too early, or is damaged: record it again", path);
	return 0;
}

int trace_dat_check(const char *path, char clock[TRACE_DAT_CLOCK], struct fault *fault)
{
	struct walk walk = { .in = fopen(path, "re") };
	struct stat status;
	int result;

	if (!walk.in)
		return fault_say(fault, "%s cannot be read: %s", path, strerror(errno));
	if (fstat(fileno(walk.in), &status) || !S_ISREG(status.st_mode)) {
		fclose(walk.in);
		return fault_say(fault, "%s is not a regular file", path);
	}
	walk.size = status.st_size;
	result = check(&walk, path, fault);
	fclose(walk.in);
	snprintf(clock, TRACE_DAT_CLOCK, "%s", counts_ns(&walk) ? "" : walk.clock);
	return result;
}
