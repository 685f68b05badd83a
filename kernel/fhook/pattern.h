/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: filters: which functions a user means.
 */
#ifndef _FHOOK_PATTERN_H
#define _FHOOK_PATTERN_H

#include <linux/fhook.h>
#include <linux/types.h>

#include "sites.h"

/**
 * struct fhook_pattern - one pattern of a filter
 * @func: name or glob, NULL for every function
 * @len: of @func without its final '*', for a prefix
 * @mod: module, NULL for any and for none
 * @offset: where it stands in what the user wrote
 * @kind: how @func is to be matched
 * @functions: while resolving: functions found
 * @found: while resolving: sites found
 */
struct fhook_pattern {
	char		*func;
	unsigned int	len;
	char		*mod;
	unsigned int	offset;
	enum {
		FHOOK_MATCH_ALL,
		FHOOK_MATCH_NAME,
		FHOOK_MATCH_PREFIX,
		FHOOK_MATCH_GLOB,
	}		kind;
	unsigned int	functions;
	unsigned int	found;
};

/**
 * struct fhook_filter - a list of patterns
 * @text: copy of what the user wrote, cut into pieces
 * @names: how many patterns are plain names; they come first, sorted
 * @num: how many patterns
 * @patterns: the patterns, plain names first
 */
struct fhook_filter {
	char			*text;
	unsigned int		names;
	unsigned int		num;
	struct fhook_pattern	patterns[] __counted_by(num);
};

struct fhook_filter *fhook_filter_parse(const char *text,
					struct fhook_report *report);
void fhook_filter_free(struct fhook_filter *filter);
void fhook_filter_reset(struct fhook_filter *filter);
void fhook_filter_select(struct fhook_filter *filter,
			 struct fhook_table *table, unsigned long *sites);
int fhook_filter_check(struct fhook_filter *filter,
		       struct fhook_report *report);

#endif /* _FHOOK_PATTERN_H */
