/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function to hook, as the user writes it
 *
 *	PATTERN[(ARGUMENT, ...)] [> TIME] [if FILTER]
 *
 * ARGUMENT is [LABEL=]EXPRESSION[:TYPE], with an expression of the kernel's probes: a
 * parameter's name, members of structures, a register, $retval. Its label defaults to the
 * last name in it. FILTER compares labels, and fields that all events have.
 */
#ifndef FHOOK_SPEC_H
#define FHOOK_SPEC_H

#include "lib/base.h"

#define SPEC_ARGUMENTS	32

/**
 * struct spec - a function to hook
 * @pattern: name or glob
 * @labels: label of each argument
 * @values: expression of each argument, with its type
 * @nr: number of arguments
 * @longer: record calls that take longer than this only, in nanoseconds; 0 for all
 * @filter: the condition, or NULL
 */
struct spec {
	char *pattern;
	char *labels[SPEC_ARGUMENTS];
	char *values[SPEC_ARGUMENTS];
	unsigned int nr;
	u64 longer;
	char *filter;
};

int spec_parse(struct spec *spec, const char *text, struct fault *fault);
void spec_free(struct spec *spec);

/* Refuse everything but the name of one function and a time. */
int spec_check_plain(const struct spec *spec, struct fault *fault);

/* The arguments as a part of a definition, to be freed, or NULL. */
char *spec_arguments(const struct spec *spec);

/* The event's filter, to be freed; empty if there is none, NULL without memory. */
char *spec_filter(const struct spec *spec);

/* Does an argument need the return? */
bool spec_returns(const struct spec *spec);

#endif /* FHOOK_SPEC_H */
