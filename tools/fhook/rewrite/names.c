// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: names of functions of stripped files
 *
 * The symbols that strip has removed may be in a debug file, which is given or found; programs
 * in Go have names for their runtime. If there are none, functions begin where the unwind
 * information in .eh_frame says so, and are named after their address, as func_1139. Its ranges
 * are also those of parts of functions that compilers place elsewhere, and of linkage tables:
 * a range is a function if it is called, if its address is taken, if nothing leads there, or if
 * several functions jump to its start.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/debug_file.h"
#include "rewrite.h"

#define NAME_ROOM	sizeof("func_0123456789abcdef")

static const char *debug_file;
static bool from_frames;

static const struct argp_option options[] = {
	{ "debug-file", 'd', "FILE", 0, "Take the names of functions from this file of symbols",
	  0 },
	{ "eh-frame", 'e', NULL, 0,
	  "Name functions without symbols after their address, as func_1139, by .eh_frame", 0 },
	{ }
};

static error_t parse(int key, char *text, struct argp_state *state __unused)
{
	switch (key) {
	case 'd':
		debug_file = text;
		return 0;
	case 'e':
		from_frames = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp names_argp = { .options = options, .parser = parse };

/* Use the symbols of a debug file. */
static int take_debug_file(struct rewrite *rw, const char *path, struct fault *fault)
{
	size_t size = 0, debug_size = 0;
	const u8 *id, *debug_id;

	if (elf_open_debug(&rw->debug, path, fault))
		return -1;
	id = elf_build_id(&rw->image, &size);
	debug_id = elf_build_id(&rw->debug, &debug_size);
	if (!id || !debug_id || size != debug_size || memcmp(id, debug_id, size))
		return fault_say(fault, "%s is not the debug file of %s: it has another build id.",
				 path, rw->image.path);
	if (rw->debug.stripped)
		return fault_say(fault, "%s has no symbols: it is no debug file.", path);
	elf_take_symbols(&rw->image, &rw->debug);
	return 0;
}

/* Look for the debug file where it is installed, and on servers. A bad one is as none. */
static int find_debug_file(struct rewrite *rw, struct fault *fault)
{
	struct debug_file file = { };
	struct fault unusable;
	const char *path;
	int ret = 0;

	path = debug_file_open(&file, rw->image.path, &unusable) ? NULL : debug_file_symbols(&file);
	if (path && !take_debug_file(rw, path, &unusable))
		ret = instrument_note(&rw->run, fault, "The names of functions are those of %s.",
				      path);
	debug_file_close(&file);
	return ret;
}

int names_read(struct rewrite *rw, struct fault *fault)
{
	if (debug_file)
		return take_debug_file(rw, debug_file, fault);
	if (!rw->image.stripped || from_frames)
		return 0;
	if (find_debug_file(rw, fault))
		return -1;
	return rw->image.stripped && go_is(&rw->image) ? go_names(rw, fault) : 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* The ranges of .eh_frame, sorted; *NR receives their number. To be freed, or NULL. */
static struct range *sorted_ranges(const struct rewrite *rw, size_t *nr)
{
	struct range *ranges = calloc(rw->nr_frames + 1, sizeof(*ranges));
	size_t i, count = 0;

	if (!ranges)
		return NULL;
	for (i = 0; i < rw->nr_frames; i++)
		ranges[i] = (struct range){ rw->frames[i].start, rw->frames[i].end };
	qsort(ranges, rw->nr_frames, sizeof(*ranges), compare_ranges);
	for (i = 0; i < rw->nr_frames; i++) {
		if (ranges[i].start < ranges[i].end &&
		    (!count || ranges[i].start >= ranges[count - 1].end))
			ranges[count++] = ranges[i];
	}
	*nr = count;
	return ranges;
}

/* The start of the range that contains an address, or 0. */
static u64 range_of(const struct range *ranges, size_t nr, u64 address)
{
	size_t behind = first_index(nr, i, ranges[i].start <= address);

	return behind && address < ranges[behind - 1].end ? ranges[behind - 1].start : 0;
}

/* Is a range a function, and not a part of one or a linkage table? */
static bool is_function(const struct code *code, const struct range *ranges, size_t nr,
			const struct range *range)
{
	const size_t first = code_find(code, range->start);
	bool called = false, several = false;
	u64 jumper = 0, from;
	size_t i;

	if (first == NO_INSN)
		return false;
	for (i = code_branches_to(code, range->start); i < code->nr_branches; i++) {
		const struct rewrite_insn *insn = code->insns + code->branches[i];

		if (insn->target >= range->end)
			break;
		if (insn->address >= range->start && insn->address < range->end)
			continue;
		/* Each entry of a linkage table is called. */
		if (insn->kind == INSN_CALL && insn->target != range->start)
			return false;
		called |= insn->kind == INSN_CALL;
		if (insn->kind != INSN_JUMP && insn->kind != INSN_CONDITIONAL)
			continue;
		from = range_of(ranges, nr, insn->address) ?: insn->address;
		several |= jumper && from != jumper;
		jumper = from;
	}
	return called || (code->insns[first].marks & MARK_TAKEN) || !jumper || several;
}

static bool has_symbol(const struct elf_image *image, const struct range *range)
{
	const size_t next = first_index(image->nr_symbols, i,
					image->symbols[i].address < range->start);

	return elf_symbol_of(image, range->start) ||
	       (next < image->nr_symbols && image->symbols[next].address < range->end);
}

/* Is a range a function that has no symbol? */
static bool is_unnamed(const struct rewrite *rw, const struct range *ranges, size_t nr,
		       const struct range *range)
{
	return code_is_code(&rw->image, range->start) && !has_symbol(&rw->image, range) &&
	       is_function(&rw->code, ranges, nr, range);
}

/* A glob matches none of the functions whose names strip has removed: say how many these are. */
static int note_unnamed(struct rewrite *rw, const struct range *ranges, size_t nr,
			struct fault *fault)
{
	size_t count = 0, i;

	for (i = 0; i < nr; i++)
		count += is_unnamed(rw, ranges, nr, ranges + i);
	return !count ? 0 :
	       instrument_note(&rw->run, fault,
			       "The file is stripped, and %zu functions have no name: give its debug file with -d, or have them named after their addresses with --eh-frame.",
			       count);
}

/*
 * Add a name for each function of .eh_frame without a symbol. If only the list's addresses are
 * the reason, a glob must not match the names of others.
 */
static int name_frames(struct rewrite *rw, const struct range *ranges, size_t nr,
		       struct fault *fault)
{
	struct elf_symbol *symbols = calloc(nr + 1, sizeof(*symbols));
	char (*names)[NAME_ROOM] = calloc(nr + 1, sizeof(*names));
	const bool all = from_frames || !rw->image.nr_symbols;
	size_t count = 0, i;
	int ret;

	for (i = 0; symbols && names && i < nr; i++) {
		if (!is_unnamed(rw, ranges, nr, ranges + i) ||
		    (!all && list_wants_address(&rw->run.list, ranges[i].start) == LIST_NO))
			continue;
		snprintf(names[count], NAME_ROOM, "func_%llx", ranges[i].start);
		symbols[count] = (struct elf_symbol){
			.address = ranges[i].start, .size = ranges[i].end - ranges[i].start,
			.name = names[count], .type = STT_FUNC,
		};
		count++;
	}
	rw->made_names = names;
	ret = symbols && names ? elf_add_symbols(&rw->image, symbols, count, fault) :
	      fault_say(fault, "There is no memory.");
	free(symbols);
	if (!ret && count)
		ret = instrument_note(&rw->run, fault,
				      "Functions without symbols are named after their addresses in .eh_frame: %zu.",
				      count);
	return ret;
}

int names_of_frames(struct rewrite *rw, struct fault *fault)
{
	const bool named = !from_frames && rw->image.nr_symbols &&
			   !list_has_addresses(&rw->run.list);
	struct range *ranges;
	size_t nr;
	int ret;

	if (named && (!rw->image.stripped || !list_has_globs(&rw->run.list)))
		return 0;
	ranges = sorted_ranges(rw, &nr);
	if (!ranges)
		return fault_say(fault, "There is no memory.");
	ret = named ? note_unnamed(rw, ranges, nr, fault) : name_frames(rw, ranges, nr, fault);
	free(ranges);
	return ret;
}
