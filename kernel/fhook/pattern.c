// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: filters, which say what functions a user means.
 *
 * A filter is a list of patterns, separated by white space: NAME, a glob,
 * either of them followed by ":mod:MODULE", or ":mod:MODULE" alone. Names and
 * prefixes are looked up in kallsyms' sorted index, so that they cost what they
 * match; other globs walk all symbols.
 *
 * A filter belongs to who parsed it, and its counters to who is resolving it.
 * Callers hold fhook_mutex.
 */
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

#define MOD_MARK	":mod:"

static bool bad_char(char c)
{
	return !isprint(c) || strchr("%$/\\\"'<>|&;=,", c);
}

static int parse_func(struct fhook_pattern *p, char *func,
		      struct fhook_report *report)
{
	char *wild = strpbrk(func, "*?[");
	char *bad;

	for (bad = func; *bad; bad++) {
		if (bad_char(*bad))
			return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
					  "'%c' cannot be part of a function name or glob",
					  isprint(*bad) ? *bad : '?');
	}
	if (strchr(func, '[') && !strchr(strchr(func, '['), ']'))
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "the '[' in '%s' has no ']'", func);

	p->func = func;
	p->len = strlen(func);
	if (!p->len || !strcmp(func, "*"))
		p->kind = FHOOK_MATCH_ALL;
	else if (!wild)
		p->kind = FHOOK_MATCH_NAME;
	else if (wild == func + p->len - 1 && *wild == '*')
		p->kind = FHOOK_MATCH_PREFIX;
	else
		p->kind = FHOOK_MATCH_GLOB;
	if (p->kind == FHOOK_MATCH_PREFIX)
		p->len--;

	return 0;
}

static int parse_pattern(struct fhook_pattern *p, char *word,
			 struct fhook_report *report)
{
	char *mod = strstr(word, MOD_MARK);

	if (mod) {
		*mod = '\0';
		p->mod = mod + strlen(MOD_MARK);
		if (!*p->mod || strpbrk(p->mod, ":*?["))
			return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
					  "':mod:' wants the name of one module behind it");
	} else if (strchr(word, ':')) {
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "'%s' has a ':' that does not begin ':mod:'",
				  word);
	}

	return parse_func(p, word, report);
}

static unsigned int count_words(const char *text)
{
	unsigned int num = 0;

	for (text = skip_spaces(text); *text; text = skip_spaces(text)) {
		num++;
		while (*text && !isspace(*text))
			text++;
	}

	return num;
}

/**
 * fhook_filter_parse() - make a filter of what a user wrote
 * @text: patterns, separated by white space
 * @report: says what is wrong, and at which offset of @text
 *
 * Return: the filter, or an ERR_PTR.
 */
struct fhook_filter *fhook_filter_parse(const char *text,
					struct fhook_report *report)
{
	unsigned int i, num = count_words(text);
	struct fhook_filter *filter;
	char *pos, *word;
	int err;

	if (!num) {
		err = fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				 "no function name or glob was given");
		return ERR_PTR(err);
	}

	filter = kvzalloc(struct_size(filter, patterns, num), GFP_KERNEL);
	if (filter) {
		filter->num = num;
		filter->text = kvmemdup(text, strlen(text) + 1, GFP_KERNEL);
	}
	if (!filter || !filter->text) {
		kvfree(filter);
		err = fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				 "no memory for the filter");
		return ERR_PTR(err);
	}

	pos = filter->text;
	for (i = 0; i < num; i++) {
		pos = skip_spaces(pos);
		word = pos;
		while (*pos && !isspace(*pos))
			pos++;
		if (*pos)
			*pos++ = '\0';

		filter->patterns[i].offset = word - filter->text;
		err = parse_pattern(&filter->patterns[i], word, report);
		if (err) {
			report->offset = filter->patterns[i].offset;
			fhook_filter_free(filter);
			return ERR_PTR(err);
		}
	}

	return filter;
}

/**
 * fhook_filter_free() - free a filter
 * @filter: the filter, or NULL
 */
void fhook_filter_free(struct fhook_filter *filter)
{
	if (filter)
		kvfree(filter->text);
	kvfree(filter);
}

/**
 * fhook_filter_reset() - before resolving a filter in all tables
 * @filter: the filter, or NULL
 */
void fhook_filter_reset(struct fhook_filter *filter)
{
	unsigned int i;

	for (i = 0; filter && i < filter->num; i++) {
		filter->patterns[i].functions = 0;
		filter->patterns[i].found = 0;
	}
}

/* A walk over symbols, for one pattern and one table. */
struct selection {
	struct fhook_pattern	*pattern;
	struct fhook_table	*table;
	unsigned long		*sites;
};

static bool name_matches(const struct fhook_pattern *p, const char *name)
{
	switch (p->kind) {
	case FHOOK_MATCH_NAME:
		return !strcmp(name, p->func);
	case FHOOK_MATCH_PREFIX:
		return !strncmp(name, p->func, p->len);
	case FHOOK_MATCH_GLOB:
		return glob_match(p->func, name);
	case FHOOK_MATCH_ALL:
		return true;
	}

	return false;
}

/* The padding in front of a function has a name too, which is not its own. */
static bool is_function_name(const char *name)
{
	return strncmp(name, "__pfx_", 6) && strncmp(name, "__cfi_", 6);
}

static int select_addr(void *data, unsigned long addr)
{
	struct selection *s = data;
	int site = fhook_table_find(s->table, addr);

	s->pattern->functions++;
	if (site >= 0) {
		__set_bit(site, s->sites);
		s->pattern->found++;
	}

	return 0;
}

static int select_symbol(void *data, const char *name, unsigned long addr)
{
	struct selection *s = data;

	if (!name_matches(s->pattern, name) || !is_function_name(name))
		return 0;

	return select_addr(data, addr);
}

static void select_all(struct selection *s)
{
	unsigned int site;

	for (site = 0; site < s->table->num; site++) {
		if (fhook_site_gone(s->table, site))
			continue;
		__set_bit(site, s->sites);
		s->pattern->functions++;
		s->pattern->found++;
	}
}

static void select_vmlinux(struct selection *s)
{
	switch (s->pattern->kind) {
	case FHOOK_MATCH_ALL:
		select_all(s);
		break;
	case FHOOK_MATCH_NAME:
		kallsyms_on_each_match_symbol(select_addr, s->pattern->func, s);
		break;
	case FHOOK_MATCH_PREFIX:
		kallsyms_on_each_prefix_symbol(select_symbol, s->pattern->func,
					       s->pattern->len, s);
		break;
	case FHOOK_MATCH_GLOB:
		kallsyms_on_each_symbol(select_symbol, s);
		break;
	}
}

static void select_module(struct selection *s)
{
	if (s->pattern->kind == FHOOK_MATCH_ALL)
		select_all(s);
	else
		module_kallsyms_on_each_symbol(s->table->mod->name,
					       select_symbol, s);
}

/**
 * fhook_filter_select() - add what a filter means in one table
 * @filter: the filter
 * @table: the table
 * @sites: bitmap over the table's sites; bits are set, never cleared
 */
void fhook_filter_select(struct fhook_filter *filter,
			 struct fhook_table *table, unsigned long *sites)
{
	unsigned int i;

	for (i = 0; i < filter->num; i++) {
		struct selection s = {
			.pattern = &filter->patterns[i],
			.table = table,
			.sites = sites,
		};

		if (!table->mod && !s.pattern->mod)
			select_vmlinux(&s);
		else if (table->mod && (!s.pattern->mod ||
					!strcmp(s.pattern->mod,
						table->mod->name)))
			select_module(&s);
	}
}

/* A pattern that names a module waits for it; others have to match now. */
static bool is_waiting(const struct fhook_pattern *p)
{
	if (!p->mod)
		return false;

	guard(preempt)();

	return !find_module(p->mod);
}

/**
 * fhook_filter_check() - did each pattern find something?
 * @filter: the filter, after fhook_filter_select() on all tables
 * @report: says which pattern did not
 *
 * Return: 0, -ENOENT if there is no such function, or -EOPNOTSUPP if there is
 * but it has no slot.
 */
int fhook_filter_check(struct fhook_filter *filter, struct fhook_report *report)
{
	const char *where, *name;
	unsigned int i;
	int err;

	for (i = 0; i < filter->num; i++) {
		struct fhook_pattern *p = &filter->patterns[i];

		if (p->found || is_waiting(p))
			continue;

		where = p->mod ? " in module " : "";
		name = p->mod ?: "";
		if (p->functions)
			err = fhook_fail(report, FHOOK_ERR_NO_SLOT, -EOPNOTSUPP,
					 0, "'%s'%s%s cannot be hooked: it has no slot (notrace, noinstr, not C, or init code that is gone)",
					 p->func, where, name);
		else
			err = fhook_fail(report, FHOOK_ERR_NO_FUNCTION, -ENOENT,
					 0, "no function is named or matches '%s'%s%s",
					 p->func, where, name);
		report->offset = p->offset;
		return err;
	}

	return 0;
}
