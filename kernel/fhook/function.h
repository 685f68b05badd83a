/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: functions by name, and their code.
 */
#ifndef _FHOOK_FUNCTION_H
#define _FHOOK_FUNCTION_H

#include <linux/fhook.h>
#include <linux/fhook_redirect.h>
#include <linux/types.h>

struct module;

/**
 * struct fhook_range - the code of a function
 * @start: address of its first byte
 * @end: address after its last byte
 */
struct fhook_range {
	unsigned long		start;
	unsigned long		end;
};

/**
 * struct fhook_ranges - code of functions in which no task may be
 * @num: number of ranges
 * @range: the ranges, sorted by address, without overlaps
 */
struct fhook_ranges {
	unsigned int		num;
	struct fhook_range	range[] __counted_by(num);
};

bool fhook_in_ranges(const struct fhook_ranges *ranges, unsigned long addr);
void fhook_ranges_sort(struct fhook_ranges *ranges);
bool fhook_same_function(const char *a, const char *b);
int fhook_redirect_find(struct fhook_redirect *redirect,
			const struct module *coming,
			struct fhook_report *report);
int fhook_replacement_check(const struct fhook_redirect *redirect, struct fhook_report *report);
struct fhook_ranges *fhook_patch_ranges(const struct fhook_patch *patch,
					bool functions, bool replacements,
					struct fhook_report *report);

#endif /* _FHOOK_FUNCTION_H */
