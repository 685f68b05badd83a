// SPDX-License-Identifier: GPL-2.0
/* Files of tracefs about hooks as JSON; the header describes the functions. */
#include <stdio.h>
#include <string.h>
#include "lib/json.h"
#include "status_json.h"

#define WORD	512

static void print_string(const char *key, const char *text)
{
	json_string(stdout, key);
	putchar(':');
	json_string(stdout, text);
}

/* What follows the columns of a line, if there is something. */
static void print_rest(const char *key, const char *text)
{
	text += strspn(text, " \t");
	if (!*text)
		return;
	putchar(',');
	print_string(key, text);
}

/* "HOOK FUNCTIONS HITS MISSED" */
static bool print_hook(const char *line)
{
	unsigned long long functions, hits, missed;
	char name[WORD];
	int end;

	if (sscanf(line, "%511s %llu %llu %llu%n", name, &functions, &hits, &missed, &end) != 4)
		return false;
	print_string("hook", name);
	printf(",\"functions\":%llu,\"hits\":%llu,\"missed\":%llu", functions, hits, missed);
	print_rest("note", line + end);
	return true;
}

/* "FUNCTION [MODULE] -> REPLACEMENT\tby OWNER since TIME" */
static bool print_redirect(const char *line)
{
	char function[WORD], replacement[WORD], owner[WORD];
	const char *arrow = strstr(line, " -> ");
	int end = 0;

	if (!arrow ||
	    sscanf(arrow, " -> %511[^\t]\tby %511s since %n", replacement, owner, &end) != 2 ||
	    !end)
		return false;
	snprintf(function, sizeof(function), "%.*s", (int)(arrow - line), line);
	print_string("redirect", function);
	putchar(',');
	print_string("to", replacement);
	putchar(',');
	print_string("by", owner);
	print_rest("since", arrow + end);
	return true;
}

/* "FUNCTION returns VALUE\tby EVENT, N calls[, if CONDITION]" */
static bool print_override(const char *line)
{
	char function[WORD], owner[WORD];
	long long value, calls;
	int end = 0;

	if (sscanf(line, "%511s returns %lld\tby %511[^,], %lld calls%n", function, &value, owner,
		   &calls, &end) != 4 || !end)
		return false;
	print_string("override", function);
	printf(",\"returns\":%lld,", value);
	print_string("by", owner);
	printf(",\"calls\":%lld", calls);
	print_rest("condition", strncmp(line + end, ", if ", 5) ? line + end : line + end + 5);
	return true;
}

/* "WAY HITS" */
static bool print_hits(const char *line)
{
	unsigned long long hits;
	char way[WORD];

	if (sscanf(line, "%511s %llu", way, &hits) != 2)
		return false;
	print_string("way", way);
	printf(",\"hits\":%llu", hits);
	return true;
}

/* "FUNCTION ..." */
static bool print_function(const char *line)
{
	char name[WORD];
	int end;

	if (sscanf(line, "%511s%n", name, &end) != 1)
		return false;
	print_string("function", name);
	print_rest("text", line + end);
	return true;
}

/**
 * struct layout - how the lines of a file look
 * @path: path in tracefs
 * @print: prints the members of a line's object; false if the line looks otherwise
 */
struct layout {
	const char *path;
	bool (*print)(const char *line);
};

static const struct layout layouts[] = {
	{ "fhook/stat", print_hook },
	{ "fhook/redirects", print_redirect },
	{ "fhook/overrides", print_override },
	{ "uhook/profile", print_hits },
	{ "fhook/enabled_functions", print_function },
};

void status_json(const char *path, char *text)
{
	const struct layout *layout = NULL;
	char *line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		if (!strcmp(layouts[i].path, path))
			layout = layouts + i;
	while ((line = strsep(&text, "\n"))) {
		if (!*line || *line == '#')
			continue;
		putchar('{');
		if (!layout || !layout->print(line))
			print_string(path, line);
		puts("}");
	}
}

void status_json_enabled(bool enabled)
{
	printf("{\"enabled\":%s}\n", enabled ? "true" : "false");
}

void status_json_patch(const char *name, bool enabled, bool in_transition)
{
	putchar('{');
	print_string("patch", name);
	printf(",\"enabled\":%s,\"transition\":%s}\n", enabled ? "true" : "false",
	       in_transition ? "true" : "false");
}
