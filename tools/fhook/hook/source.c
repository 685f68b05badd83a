// SPDX-License-Identifier: GPL-2.0
/* Where counts and durations of calls come from; the header describes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "call_events.h"
#include "hist.h"
#include "kernel.h"
#include "lib/kernel_files.h"
#include "live.h"
#include "progress.h"
#include "source.h"

#define EVENT	"calls"

/* An event on functions of a program has their numbers: addresses differ between processes. */
#define NUMBER	"number"

/* The size of a histogram of a few functions. */
#define LEAST_ENTRIES	2048
/* Guesses of how many entries one function needs: by task, and by power of two. */
#define ENTRIES_BY	1024
#define ENTRIES_LOG2	8

/* The other key, as histograms know it, or NULL. */
static const char *by_key(const struct options *options)
{
	if (!options->by)
		return NULL;
	if (!strcmp(options->by, "comm"))
		return SLOWEST_COMM;
	return strcmp(options->by, "cpu") ? "common_pid" : "common_cpu";
}

static const char *by_modifier(const struct options *options)
{
	return options->by && !strcmp(options->by, "pid") ? ".execname" : "";
}

/* The arguments of events besides those of the user. */
static const char *arguments(const struct options *options, const struct spec *spec)
{
	return spec || (options->by && !strcmp(options->by, "comm")) ?
	       " " SLOWEST_COMM "=$comm" : "";
}

/*
 * Let the kernel add up the hits of an event by these keys, except those of this process, and,
 * with SPEC, save the slowest one. This hooks the functions, without a record for each hit.
 */
static int add_up(const struct source *source, const char *event, const char *function_key,
		  size_t functions, const struct spec *spec, struct fault *fault)
{
	const char *by = by_key(source->options);
	size_t wanted = functions;
	char trigger[256], keys[128], others[40];

	wanted *= (by ? ENTRIES_BY : 1) * (source->spans ? ENTRIES_LOG2 : 1);
	snprintf(keys, sizeof(keys), "%s%s%s%s%s%s", function_key, *function_key && by ? "," : "",
		 by ? by : "", by_modifier(source->options),
		 source->spans && (*function_key || by) ? "," : "",
		 source->spans ? "duration.log2" : "");
	snprintf(others, sizeof(others), " if common_pid != %d", source->session.task);
	snprintf(trigger, sizeof(trigger), "hist:keys=%s%s:size=%zu%s", keys,
		 source->spans ? ":vals=duration" : "", hist_size(wanted, LEAST_ENTRIES), others);
	if (session_add_up(&source->session, event, trigger, fault))
		return -1;
	return spec ? slowest_begin(&source->session, event, *function_key ? function_key :
				    SLOWEST_ONLY, functions, spec, others, fault) : 0;
}

/* The key that has the function. */
static const char *function_key(const struct source *source)
{
	if (source->options->program)
		return NUMBER;
	return source->spans ? "__probe_func" : "__probe_ip";
}

static const char *function_of(const struct source *source, const char *key)
{
	u64 number;

	if (!source->options->program)
		return hist_symbol(key);
	return word_number(key, 10, source->program.nr - 1, &number) ? key :
	       source->program.functions[number].name;
}

/* Name the event of a group of functions of the kernel, or of one of a program, by its number. */
static void event_name(char name[32], size_t number)
{
	snprintf(name, 32, EVENT "%zu", number);
}

static int define_in_kernel(struct source *source, size_t number, char **patterns, size_t nr,
			    const struct spec *spec, struct fault *fault)
{
	const struct spec fields = spec ? slowest_fields(spec) : (struct spec){ };
	char *users = kernel_arguments(&source->info, patterns, nr, &fields, NULL, fault);
	char name[32], key[32], *rest;
	size_t functions;
	int result;

	if (!users)
		return -1;
	event_name(name, number);
	result = asprintf(&rest, "%s%s%s", source->spans ? "%span" : "",
			  arguments(source->options, spec), users);
	free(users);
	if (result < 0)
		return fault_say(fault, "there is not enough memory");
	result = kernel_define(&source->session, name, patterns, nr, rest, &functions, fault);
	free(rest);
	snprintf(key, sizeof(key), "%s.sym", function_key(source));
	return result || add_up(source, name, key, functions, spec, fault) ? -1 : 0;
}

static int open_kernel(struct source *source, struct fault *fault)
{
	const struct options *options = source->options;
	size_t i;

	if (!source->spans)
		return define_in_kernel(source, 0, options->functions, options->nr_functions,
					NULL, fault);
	for (i = 0; i < source->groups.nr; i++) {
		struct group *group = source->groups.groups + i;

		if (define_in_kernel(source, i, group->patterns, group->nr,
				     group->spec.pattern ? &group->spec : NULL, fault))
			return -1;
	}
	return 0;
}

/* Do events of the program count in the program? */
static bool counts_in_program(const struct source *source)
{
	return !source->spans && !source->options->by && !source->session.mainline;
}

/*
 * Functions share an event, which is removed at once, unless they have arguments, whose types
 * may differ, or counters.
 */
static bool has_own_event(const struct source *source, const struct spec *spec)
{
	return spec || counts_in_program(source);
}

/* The places of the events on a function, and its arguments, to be freed, or NULL. */
static char *places_of(struct source *source, size_t number, const struct spec *spec,
		       struct fault *fault)
{
	const struct program_function *function = source->program.functions + number;
	const struct spec fields = spec ? slowest_fields(spec) : (struct spec){ };
	char *users = arguments_at(&source->program, function, &fields, NULL, fault);
	char *places, *text = NULL, pid[24] = "", key[48] = "";

	if (!users)
		return NULL;
	if (source->options->pid)
		snprintf(pid, sizeof(pid), " pid=%d", source->options->pid);
	if (!has_own_event(source, spec))
		snprintf(key, sizeof(key), " " NUMBER "=\\%zu:u32", number);
	places = source->spans ? call_events_span(&source->program, function, spec, fault) :
		 program_place(function, fault);
	if (places && asprintf(&text, "%s%s%s%s%s%s", places, pid,
			       counts_in_program(source) ? " user=count" : "",
			       arguments(source->options, spec), key, users) < 0) {
		fault_say(fault, "there is not enough memory");
		text = NULL;
	}
	free(places);
	free(users);
	return text;
}

/* A function has the arguments of any of its names, of which program_select() keeps one. */
static const struct spec *spec_of(struct source *source, size_t number)
{
	const struct elf_image *image = &source->program.image;
	const u64 address = source->program.functions[number].address;
	const struct spec *spec = NULL;
	size_t at;

	at = first_index(image->nr_symbols, i, image->symbols[i].address < address);
	for (; !spec && at < image->nr_symbols && image->symbols[at].address == address; at++)
		if (image->symbols[at].type == STT_FUNC)
			spec = groups_spec(&source->groups, image->symbols[at].name);
	return spec;
}

/* Returns 1 if the function is left out, with a sentence. */
static int define_in_program(struct source *source, size_t number, struct fault *fault)
{
	const struct spec *spec = spec_of(source, number);
	char name[32] = EVENT, *places = places_of(source, number, spec, fault);
	const bool own = has_own_event(source, spec);
	int result;

	if (!places)
		return 1;
	if (own)
		event_name(name, number);
	result = session_define(&source->session, fault, program_events(&source->session),
				program_letter(&source->session, false), name, "%s:%s",
				source->program.path, places);
	free(places);
	if (result)
		return 1;
	source->own[number] = own;
	source->nr_shared += !own;
	return own && !counts_in_program(source) ? add_up(source, name, "", 1, spec, fault) : 0;
}

/* Functions that cannot be hooked are left out if there are others. */
static int define_all_in_program(struct source *source, struct fault *fault)
{
	struct left_out left_out = { 0 };
	struct progress progress;
	int result = 0;
	size_t i;

	progress_begin(&progress, source->program.path, source->program.nr);
	for (i = 0; i < source->program.nr && result >= 0; i++) {
		result = progress_step(&progress, fault);
		if (!result)
			result = define_in_program(source, i, fault);
		if (result > 0)
			program_leave_out(&left_out, fault);
	}
	if (result >= 0 && source->nr_shared)
		result = add_up(source, EVENT, NUMBER, source->nr_shared, NULL, fault);
	progress_end(&progress);
	return result < 0 ? -1 : program_report(&source->program, &left_out, fault);
}

static int open_program(struct source *source, struct fault *fault)
{
	const struct options *options = source->options;
	char **patterns = source->spans ?
			  groups_patterns(&source->groups, options->functions,
					  options->nr_functions) : NULL;
	int result;

	if (source->spans && !patterns)
		return fault_say(fault, "there is not enough memory");
	result = program_select(&source->program, options->program,
				patterns ? patterns : options->functions, options->nr_functions,
				fault);
	free(patterns);
	if (result || program_check_machine(&source->program, fault))
		return -1;
	source->own = calloc(source->program.nr, sizeof(*source->own));
	if (!source->own)
		return fault_say(fault, "there is not enough memory");
	return define_all_in_program(source, fault);
}

int source_open(struct source *source, const struct options *options, bool spans,
		struct fault *fault)
{
	memset(source, 0, sizeof(*source));
	source->session.lock = -1;
	source->options = options;
	source->spans = spans;
	if (session_begin(&source->session, options->mainline,
			  options->program ? "uhook_events" : "fhook_events", fault))
		return -1;
	if (options->pid && source->session.mainline)
		return session_refuse(&source->session, "-p PID", fault);
	if (spans && source->session.mainline)
		return session_refuse(&source->session, "measuring times", fault);
	if (spans &&
	    groups_parse(&source->groups, options->functions, options->nr_functions, fault))
		return -1;
	return options->program ? open_program(source, fault) : open_kernel(source, fault);
}

/* "~ 2^13" is 13. */
static unsigned int log2_of(const char *key)
{
	const char *power = strchr(key, '^');
	unsigned int bucket = power ? atoi(power + 1) : 0;

	return bucket < TALLY_BUCKETS ? bucket : TALLY_BUCKETS - 1;
}

/* Add the histogram of an event. NAME is its function; if it is NULL, the first key has it. */
static int read_event(struct source *source, const char *event, const char *name,
		      struct fault *fault)
{
	const char *by = by_key(source->options), *names[HIST_KEYS + 1] = { NULL };
	unsigned int nr = 0, at_by = 0, at_duration = 0;
	char *text = session_get(&source->session, event, "hist", fault);
	struct hist hist = { 0 };
	int result;
	size_t i;

	if (!text)
		return -1;
	if (!name)
		names[nr++] = function_key(source);
	if (by) {
		at_by = nr;
		names[nr++] = by;
	}
	if (source->spans) {
		at_duration = nr;
		names[nr++] = "duration";
		hist.number = names[at_duration];
	}
	result = hist_parse(&hist, hist_of_trigger(text, false), names, fault);
	free(text);
	for (i = 0; i < hist.nr && !result; i++) {
		struct hist_row *from = hist.rows + i;
		struct tally_row *to;

		if (by)
			text_clean(from->keys[at_by]);
		to = tally_row(&source->tally, name ? name : function_of(source, from->keys[0]),
			       by ? from->keys[at_by] : "");
		if (!to) {
			result = fault_say(fault, "there is not enough memory");
			break;
		}
		to->calls += from->hits;
		to->ns += from->sum;
		if (source->spans)
			to->buckets[log2_of(from->keys[at_duration])] += from->hits;
	}
	source->tally.dropped += hist.dropped;
	source->tally.missing += hist.missing;
	hist_free(&hist);
	return result;
}

/* Add a line "GROUP/callsN kernel A user B jumped C" of uhook/profile. */
static int read_profile_line(struct source *source, const char *line, struct fault *fault)
{
	const size_t length = strlen(source->session.name);
	unsigned long long kernel, user, jumped;
	struct tally_row *row;
	size_t number;

	if (strncmp(line, source->session.name, length) ||
	    sscanf(line + length, "/" EVENT "%zu kernel %llu user %llu jumped %llu", &number,
		   &kernel, &user, &jumped) != 4 || number >= source->program.nr)
		return 0;
	row = tally_row(&source->tally, source->program.functions[number].name, "");
	if (!row)
		return fault_say(fault, "there is not enough memory");
	row->calls += kernel + user + jumped;
	return 0;
}

static int read_profile(struct source *source, struct fault *fault)
{
	char *text = kernel_file_read("uhook/profile", fault), *rest = text, *line;
	int result = text ? 0 : -1;

	while (!result && (line = strsep(&rest, "\n")))
		result = read_profile_line(source, line, fault);
	free(text);
	return result;
}

static size_t nr_events(const struct source *source)
{
	if (source->options->program)
		return source->program.nr;
	return source->spans ? source->groups.nr : 1;
}

static bool has_event(const struct source *source, size_t number)
{
	return !source->options->program || source->own[number];
}

int source_read(struct source *source, struct fault *fault)
{
	char name[32];
	size_t i;

	tally_begin(&source->tally);
	if (source->options->program && counts_in_program(source))
		return read_profile(source, fault);
	if (source->nr_shared && read_event(source, EVENT, NULL, fault))
		return -1;
	for (i = 0; i < nr_events(source); i++) {
		if (!has_event(source, i))
			continue;
		event_name(name, i);
		if (read_event(source, name, source->options->program ?
			       source->program.functions[i].name : NULL, fault))
			return -1;
	}
	return 0;
}

int source_slowest(struct source *source, struct slowest *slowest, struct fault *fault)
{
	const char *function = NULL;
	const struct spec *spec;
	char name[32];
	size_t i;

	for (i = 0; i < nr_events(source); i++) {
		if (source->options->program)
			function = source->program.functions[i].name;
		spec = source->options->program ?
		       spec_of(source, i) :
		       &source->groups.groups[i].spec;
		if (!has_event(source, i) || !spec || !spec->pattern)
			continue;
		event_name(name, i);
		if (slowest_read(slowest, &source->session, name, function, spec, fault))
			return -1;
	}
	return 0;
}

void source_warn(const struct source *source)
{
	live_dropped(source->tally.dropped);
	if (source->tally.missing)
		fprintf(stderr,
			"fhook: %llu rows are missing: the name of a task looks like the kernel's text.\n",
			source->tally.missing);
}

void source_close(void *data)
{
	struct source *source = data;

	session_end(&source->session);
	kernel_info_close(&source->info);
	program_free(&source->program);
	free(source->own);
	groups_free(&source->groups);
	tally_free(&source->tally);
}
