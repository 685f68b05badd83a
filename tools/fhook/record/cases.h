/* SPDX-License-Identifier: GPL-2.0 */
/* A list of test cases: commands with names. */
#ifndef FHOOK_RECORD_CASES_H
#define FHOOK_RECORD_CASES_H

#include "lib/base.h"

/* A process that was killed by a signal has 128 more than its number, as shells have it. */
#define STATUS_UNKNOWN	-1

/**
 * struct test_case - a line of the list
 * @name: name of the case, and of its recording
 * @argv: the command; terminated by NULL
 * @input: file for its standard input, or NULL
 * @before: exit status in the baseline, or STATUS_UNKNOWN
 */
struct test_case {
	char *name;
	char **argv;
	char *input;
	int before;
};

/**
 * struct case_list - all cases
 * @cases: the cases, in the order of the file
 * @nr: number of @cases
 * @room: allocated size of @cases
 */
struct case_list {
	struct test_case *cases;
	size_t nr, room;
};

/* Read a list. Free it in any case. */
int case_list_read(struct case_list *list, const char *path, struct fault *fault);
void case_list_free(struct case_list *list);

#endif /* FHOOK_RECORD_CASES_H */
