// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of functions, and the patterns that events are defined with
 *
 * Usage: record-choice
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/choice.h"

struct choice_case {
	const char *list, *patterns;
	size_t functions;
};

static const char available[] =
	"vfs_read\nvfs_write\nvfs_open\nksys_read\ninit_once\ninit_once\nother\n"
	"e_open [ether]\ne_send [ether]\ninit_once [ether]\n";

static const struct choice_case cases[] = {
	{ "vfs_read", "vfs_read", 1 },
	{ "vfs_*", "vfs_*", 3 },
	{ "vfs_read vfs_*", "vfs_open vfs_read vfs_write", 3 },
	{ "vfs_* vfs_read", "vfs_*", 3 },
	{ "vfs_* *_read", "ksys_read vfs_*", 4 },
	{ "vfs_* !vfs_write", "vfs_open vfs_read", 2 },
	{ "!vfs_write vfs_* ksys_read", "ksys_read vfs_open vfs_read", 3 },
	{ "vfs_read !none", "vfs_read", 1 },
	{ "init_once", "init_once", 3 },
	{ "init_* !other", "init_*", 3 },
	{ "*:mod:ether", "*:mod:ether", 3 },
	{ ":mod:ether", ":mod:ether", 3 },
	{ ":mod:ether !e_send", "e_open:mod:ether init_once:mod:ether", 2 },
	{ "*_once:mod:ether init_once", "*_once:mod:ether init_once", 3 },
	{ "*", "*", 10 },
	{ "* !*:mod:ether !vfs_*", "init_once ksys_read other", 4 },
	{ "othr",
	  "no function that can be hooked is named or matches 'othr'; the nearest name is other" },
	{ "vfs_* nix*", "no function that can be hooked is named or matches 'nix*'" },
	{ "vfs_* !*", "all functions of the list are left out of it again" },
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The result, in one line. */
static void choose(const char *words, char *text, size_t size, size_t *functions)
{
	char *copy = strdup(words), *rest = copy, *word, *there = strdup(available);
	struct choice choice = { 0 };
	struct list list = { 0 };
	struct fault fault;
	int result = 0;
	size_t i;

	while ((word = strsep(&rest, " ")))
		result |= list_add(&list, word, &fault);
	*text = '\0';
	result |= choice_make(&choice, &list, there, &fault);
	if (result)
		snprintf(text, size, "%s", fault.text);
	else
		qsort(choice.patterns, choice.nr_patterns, sizeof(char *), compare);
	for (i = 0; !result && i < choice.nr_patterns; i++)
		snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? " " : "",
			 choice.patterns[i]);
	*functions = choice.functions;
	choice_free(&choice);
	list_free(&list);
	free(there);
	free(copy);
}

int main(void)
{
	unsigned int i, failed = 0;
	size_t functions;
	char text[sizeof(((struct fault *)NULL)->text)];

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		choose(cases[i].list, text, sizeof(text), &functions);
		if (!strcmp(text, cases[i].patterns) &&
		    (!cases[i].functions || functions == cases[i].functions))
			continue;
		printf("%s: '%s', %zu functions, instead of '%s', %zu\n", cases[i].list, text,
		       functions, cases[i].patterns, cases[i].functions);
		failed++;
	}
	return failed ? 1 : 0;
}
