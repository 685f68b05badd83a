// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel that cannot be hooked; the header describes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"
#include "lib/json.h"
#include "lib/work.h"
#include "refused.h"
#include "session.h"

#define SYMBOLS	"/proc/kallsyms"
#define EVENT	"refused"

/**
 * struct lines - lines of a text
 * @text: the text, in which newlines are replaced
 * @lines: its lines, sorted
 */
struct lines {
	char *text;
	char **lines;
	size_t nr, room;
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_lines(struct lines *lines)
{
	free(lines->lines);
	free(lines->text);
}

static int sort_lines(struct lines *lines, const char *text, struct fault *fault)
{
	char *rest = strdup(text), *line;

	*lines = (struct lines){ .text = rest };
	while (rest && (line = strsep(&rest, "\n"))) {
		if (grow(&lines->lines, &lines->room, lines->nr, sizeof(line)))
			break;
		lines->lines[lines->nr++] = line;
	}
	if (!lines->text || rest) {
		free_lines(lines);
		return fault_say(fault, "there is not enough memory");
	}
	qsort(lines->lines, lines->nr, sizeof(*lines->lines), compare_lines);
	return 0;
}

/* Is the function one of the patterns, and not only matched by a glob? */
static bool is_named(const struct options *options, const char *name)
{
	const size_t length = strlen(name);
	size_t i;

	for (i = 0; i < options->nr_functions; i++) {
		const char *pattern = options->functions[i];

		if (!strncmp(pattern, name, length) &&
		    (!pattern[length] || !strncmp(pattern + length, ":mod:", strlen(":mod:"))))
			return true;
	}
	return false;
}

/* "NAME" or "NAME [MODULE]" from a line of kallsyms, if it is a function. */
static bool read_symbol(const char *line, char name[KERNEL_NAME],
			char function[KERNEL_FUNCTION])
{
	char module[128], type;
	const int found = sscanf(line, "%*s %c %511s [%127[^]]", &type, name, module);

	if (found < 2 || !strchr("tTwW", type))
		return false;
	/* Compilers put these before functions. */
	if (!strncmp(name, "__pfx_", strlen("__pfx_")) ||
	    !strncmp(name, "__cfi_", strlen("__cfi_")))
		return false;
	if (found == 3)
		snprintf(function, KERNEL_FUNCTION, "%s [%s]", name, module);
	else
		snprintf(function, KERNEL_FUNCTION, "%s", name);
	return true;
}

/* Print why the kernel refuses an event; a function that it accepts is printed like others. */
static void print_reason(const struct options *options, const struct session *session,
			 const char *name, const char *function)
{
	struct fault why;
	const bool refused = kernel_define_one(session, EVENT, name, &why);

	if (options->json) {
		printf("{\"function\":");
		json_string(stdout, function);
		if (refused) {
			printf(",\"refused\":");
			json_string(stdout, why.text);
		}
		puts("}");
	} else {
		printf("%s%s%s\n", function, refused ? "  not hookable: " : "",
		       refused ? why.text : "");
	}
}

static int add_named(struct lines *named, const char *function, struct fault *fault)
{
	char *copy = strdup(function);
	size_t i;

	/* Several functions may have the name. */
	for (i = 0; copy && i < named->nr; i++)
		if (!strcmp(named->lines[i], copy)) {
			free(copy);
			return 0;
		}
	if (!copy || grow(&named->lines, &named->room, named->nr, sizeof(copy))) {
		free(copy);
		return fault_say(fault, "there is not enough memory");
	}
	named->lines[named->nr++] = copy;
	return 0;
}

/* Collect the functions that are named, and count the others. */
static int find(const struct options *options, const struct lines *available,
		struct lines *named, size_t *matched, struct fault *fault)
{
	char name[KERNEL_NAME], function[KERNEL_FUNCTION], *key = function, *line = NULL;
	FILE *symbols = fopen(SYMBOLS, "re");
	size_t size = 0;
	int result = 0;

	if (!symbols)
		return fault_say(fault, "%s: %s", SYMBOLS, strerror(errno));
	while (!result && getline(&line, &size, symbols) > 0) {
		if (!read_symbol(line, name, function) ||
		    !kernel_wants(options->functions, options->nr_functions, function) ||
		    bsearch(&key, available->lines, available->nr, sizeof(key), compare_lines))
			continue;
		if (is_named(options, name))
			result = add_named(named, function, fault);
		else
			++*matched;
	}
	free(line);
	fclose(symbols);
	return result;
}

static int print_reasons(const struct options *options, const struct lines *named,
			 struct fault *fault)
{
	struct session session = { .lock = -1 };
	char name[KERNEL_NAME];
	size_t i;
	int result;

	if (!named->nr)
		return 0;
	work_begin();
	result = session_begin(&session, false, "fhook_events", fault) ||
		 (!session.mainline && kernel_check_enabled(fault)) ? -1 : 0;
	for (i = 0; i < named->nr && !result && !work_stopped(); i++) {
		snprintf(name, sizeof(name), "%s", named->lines[i]);
		name[strcspn(name, " ")] = '\0';
		print_reason(options, &session, name, named->lines[i]);
	}
	session_end(&session);
	work_end();
	return result;
}

int refused_print(const struct options *options, const char *text, size_t *nr_named,
		  struct fault *fault)
{
	struct lines available, named = { };
	size_t matched = 0, i;
	int result;

	if (sort_lines(&available, text, fault))
		return -1;
	result = find(options, &available, &named, &matched, fault);
	free_lines(&available);
	if (!result)
		result = print_reasons(options, &named, fault);
	*nr_named = named.nr;
	for (i = 0; i < named.nr; i++)
		free(named.lines[i]);
	free_lines(&named);
	if (!result && matched)
		fprintf(stderr,
			"fhook: %zu functions that match cannot be hooked: name one to see why.\n",
			matched);
	return result;
}
