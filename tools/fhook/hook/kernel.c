// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel, and events on them; the header describes the functions. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>
#include "instrument/choice.h"
#include "kernel.h"
#include "lib/kernel_files.h"
#include "lines.h"
#include "progress.h"
#include "usdt.h"

int kernel_open(struct fault *fault)
{
	if (geteuid())
		return fault_say(fault, "hooks are for root: run this with sudo");
	if (!tracefs_tracing_dir())
		return fault_say(fault, "there is no tracefs: it needs CONFIG_FTRACE");
	return kernel_files_open(NULL, fault);
}

char *kernel_functions(bool mainline, struct fault *fault)
{
	static const char *const lists[] = {
		"fhook/available_functions", "available_filter_functions",
	};
	const char *list = lists[mainline];

	if (!kernel_file_exists(list))
		list = lists[!mainline];
	if (kernel_file_exists(list))
		return kernel_file_read(list, fault);
	fault_say(fault,
		  "functions of the kernel need CONFIG_DYNAMIC_FTRACE, which this kernel lacks");
	return NULL;
}

/* Names with offsets are not entries of functions. */
int kernel_check_pattern(const char *pattern, struct fault *fault)
{
	/* [[:alpha:]] has others. */
	const char *colon = pattern + strcspn(pattern, ":[");

	if (strchr(pattern, '+'))
		return fault_say(fault, "%s: only entries of functions are hooked; use perf probe",
				 pattern);
	if (usdt_is_pattern(pattern) || lines_is_pattern(pattern))
		return fault_say(fault, "%s is a place in a program: name the program with -p",
				 pattern);
	/* Other tools write c:malloc and p:vfs_read. */
	if (*colon == ':' && strncmp(colon, ":mod:", strlen(":mod:")))
		return fault_say(fault,
				 "%s: only NAME:mod:MODULE has colons; name a program with -p",
				 pattern);
	/* Words that take more have left it out. */
	if (strpbrk(pattern, "(> \t"))
		return fault_say(fault,
				 "%s: write only a name or a glob; trace and record take arguments, > TIME and if CONDITION",
				 pattern);
	return list_check_pattern(pattern, fault);
}

/* Choose from AVAILABLE, which is changed. */
static int choose_from(struct choice *choice, char **patterns, size_t nr, char *available,
		       struct fault *fault)
{
	struct list list = { 0 };
	int result = 0;
	size_t i;

	for (i = 0; i < nr && !result; i++)
		result = kernel_check_pattern(patterns[i], fault) ||
			 list_add(&list, patterns[i], fault);
	if (!result)
		result = choice_make(choice, &list, available, fault);
	list_free(&list);
	return result ? -1 : 0;
}

static int choose(struct choice *choice, char **patterns, size_t nr, struct fault *fault)
{
	char *available = kernel_file_read("fhook/available_functions", fault);
	const int result = available ? choose_from(choice, patterns, nr, available, fault) : -1;

	free(available);
	return result;
}

int kernel_say_unknown(char **patterns, size_t nr, char *available, struct fault *fault)
{
	struct choice choice = { 0 };

	if (!choose_from(&choice, patterns, nr, available, fault))
		fault_say(fault, "no function that can be hooked matches: try 'NAME*'");
	choice_free(&choice);
	return -1;
}

bool kernel_wants(char **patterns, size_t nr, const char *line)
{
	char name[KERNEL_NAME], module[128] = "";
	bool wanted = true, only_excludes = true;
	size_t i;

	if (sscanf(line, "%511s [%127[^]]", name, module) < 1)
		return false;
	for (i = 0; i < nr; i++) {
		if (*patterns[i] == '!' && choice_matches(patterns[i] + 1, name, module))
			return false;
		if (*patterns[i] == '!')
			continue;
		if (only_excludes)
			wanted = false;
		only_excludes = false;
		wanted |= choice_matches(patterns[i], name, module);
	}
	return wanted;
}

/* Fprobe events where the kernel has them, otherwise kprobe events. */
static char mainline_letter(bool returns)
{
	struct fault ignored;
	char *readme = kernel_file_read("README", &ignored);
	const bool fprobes = readme && strstr(readme, " f[:[<group>/][<event>]]");

	free(readme);
	if (fprobes)
		return 'f';
	return returns ? 'r' : 'p';
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(one, other);
}

static void keep_name(void *name)
{
	(void)name;
}

/* Does the list have no function of this name above? One event of mainline is for all of them. */
static bool first_of_name(void **names, const char *name)
{
	const char *const *known = tsearch(name, names, compare_names);

	return !known || *known == name;
}

/* Mainline's events have one name each. Functions that it refuses are left out. */
static int define_mainline(const struct session *session, const char *event, char **patterns,
			   size_t nr, const char *suffix, size_t *functions, struct fault *fault)
{
	const char letter = mainline_letter(*suffix == '%');
	char *available = kernel_functions(true, fault), *rest, *line;
	struct progress progress;
	struct fault first;
	size_t refused = 0, i;
	void *names = NULL;
	int result = 0;

	*functions = 0;
	for (i = 0; i < nr && available; i++) {
		if (kernel_check_pattern(patterns[i], fault)) {
			free(available);
			return -1;
		}
	}
	/* Events of kprobes have the letter for what others have a suffix for. */
	if (letter != 'f')
		suffix += strcspn(suffix, " ");
	progress_begin(&progress, "the kernel", 0);
	for (rest = available; rest && (line = strsep(&rest, "\n"));) {
		if (!*line || !kernel_wants(patterns, nr, line))
			continue;
		result = progress_step(&progress, fault);
		if (result)
			break;
		line[strcspn(line, " \t")] = '\0';
		if (!first_of_name(&names, line))
			continue;
		if (!session_define(session, fault, "dynamic_events", letter, event, "%s%s", line,
				    suffix))
			++*functions;
		else if (!refused++)
			first = *fault;
	}
	progress_end(&progress);
	tdestroy(names, keep_name);
	free(available);
	if (!available || result)
		return -1;
	if (!*functions && refused)
		return fault_say(fault, "%s", first.text);
	if (!*functions)
		return fault_say(fault, "no function that can be probed is named or matches '%s'",
				 patterns[0]);
	if (refused)
		fprintf(stderr, "fhook: %zu functions are left out; the first because %s.\n",
			refused, first.text);
	return 0;
}

int kernel_define_one(const struct session *session, const char *event, const char *name,
		      struct fault *fault)
{
	if (session->mainline)
		return session_define(session, fault, "dynamic_events", mainline_letter(false),
				      event, "%s", name);
	return session_define(session, fault, "fhook_events", 'h', event, "%s", name);
}

int kernel_check_enabled(struct fault *fault)
{
	char *text = kernel_file_read("fhook/enabled", fault);
	const bool off = text && *text == '0';

	free(text);
	if (!text)
		return -1;
	return off ? fault_say(fault, "hooks are switched off: \"fhook on\" switches them on") : 0;
}

int kernel_define(const struct session *session, const char *event, char **patterns, size_t nr,
		  const char *suffix, size_t *functions, struct fault *fault)
{
	struct choice choice = { 0 };
	struct progress progress;
	int result = 0;
	size_t i;

	if (session->mainline)
		return define_mainline(session, event, patterns, nr, suffix, functions, fault);
	if (kernel_check_enabled(fault) || choose(&choice, patterns, nr, fault))
		return -1;
	progress_begin(&progress, "the kernel", choice.nr_patterns);
	for (i = 0; i < choice.nr_patterns && !result; i++)
		result = progress_step(&progress, fault) ||
			 session_define(session, fault, "fhook_events", 'h', event, "%s%s",
					choice.patterns[i], suffix);
	progress_end(&progress);
	*functions = choice.functions;
	choice_free(&choice);
	return result ? -1 : 0;
}
