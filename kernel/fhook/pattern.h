/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: filters, which select functions.
 */
#ifndef _FHOOK_PATTERN_H
#define _FHOOK_PATTERN_H

#include <linux/fhook.h>
#include <linux/types.h>

#include "sites.h"

/**
 * struct fhook_pattern - one pattern of a filter
 * @func: name or glob, NULL for every function
 * @len: length of @func without its final '*', for a prefix
 * @mod: name of the module; NULL for functions of the kernel and of all modules
 * @offset: position in the text that the user wrote, in bytes
 * @kind: how to match @func
 * @functions: number of functions found, while the filter is resolved
 * @found: number of sites found, while the filter is resolved
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
 * @text: copy of the text that the user wrote, cut into words
 * @names: number of patterns that are plain names; they come first, sorted
 * @num: number of patterns
 * @patterns: the patterns, plain names first
 */
struct fhook_filter {
	char			*text;
	unsigned int		names;
	unsigned int		num;
	struct fhook_pattern	patterns[] __counted_by(num);
};

bool fhook_is_listed_module(const char *word);
struct fhook_filter *fhook_filter_parse(const char *text,
					struct fhook_report *report);
void fhook_filter_free(struct fhook_filter *filter);
void fhook_filter_reset(struct fhook_filter *filter);
void fhook_filter_select(struct fhook_filter *filter,
			 struct fhook_table *table, unsigned long *sites);
int fhook_filter_check(struct fhook_filter *filter,
		       struct fhook_report *report);

#endif /* _FHOOK_PATTERN_H */
