// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: filters, which select functions.
 *
 * A filter is a list of patterns, separated by white space: NAME or a glob, either
 * of them optionally followed by ":mod:MODULE" or, as in listings, by " [MODULE]";
 * or ":mod:MODULE" alone. Names and prefixes are looked up in kallsyms' sorted
 * index, so that their cost depends on the number of matches; other globs walk all
 * symbols.
 *
 * A filter belongs to the code that parsed it, and its counters to the code that is
 * resolving it. Callers hold fhook_mutex.
 */
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "core.h"
#include "names.h"
#include "pattern.h"
#include "report.h"
#include "sites.h"

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

	if (strchr(func, '+'))
		return fhook_fail(report, FHOOK_ERR_OFFSET, -EINVAL, 0,
				  "'%s' has an offset: functions are hooked at their entry",
				  func);
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
					  "':mod:' must be followed by the name of one module");
	} else if (strchr(word, ':')) {
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "'%s' has a ':' that does not begin ':mod:'",
				  word);
	}

	return parse_func(p, word, report);
}

/**
 * fhook_is_listed_module() - is a word the module of the function before it?
 * @word: text that begins with the word; it ends at a blank
 *
 * Return: true if it is "[MODULE]", as printed by %ps, and no glob.
 */
bool fhook_is_listed_module(const char *word)
{
	size_t len;

	for (len = 0; word[len] && !isspace(word[len]); len++)
		if (len && strchr(":*?[", word[len]))
			return false;

	return len > 2 && word[0] == '[' && word[len - 1] == ']';
}

/* Cut off a word, and return it or NULL. */
static char *next_word(char **pos)
{
	char *word = skip_spaces(*pos);
	char *end = word;

	while (*end && !isspace(*end))
		end++;
	*pos = end;
	if (*end)
		*(*pos)++ = '\0';

	return end == word ? NULL : word;
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

static int parse_words(struct fhook_filter *filter, struct fhook_report *report)
{
	struct fhook_pattern *p = filter->patterns;
	char *word, *pos = filter->text;
	int err;

	while ((word = next_word(&pos))) {
		if (p > filter->patterns && !p[-1].mod &&
		    fhook_is_listed_module(word)) {
			word[strlen(word) - 1] = '\0';
			p[-1].mod = word + 1;
			continue;
		}

		p->offset = word - filter->text;
		err = parse_pattern(p, word, report);
		if (err) {
			report->offset = p->offset;
			return err;
		}
		p++;
	}
	filter->num = p - filter->patterns;

	return 0;
}

/* Names come first, in alphabetical order. */
static int compare_patterns(const void *a, const void *b)
{
	const struct fhook_pattern *pa = a, *pb = b;
	bool name_a = pa->kind == FHOOK_MATCH_NAME;
	bool name_b = pb->kind == FHOOK_MATCH_NAME;

	if (name_a != name_b)
		return name_b - name_a;

	return name_a ? strcmp(pa->func, pb->func) : 0;
}

static void sort_patterns(struct fhook_filter *filter)
{
	sort(filter->patterns, filter->num, sizeof(filter->patterns[0]),
	     compare_patterns, NULL);

	while (filter->names < filter->num &&
	       filter->patterns[filter->names].kind == FHOOK_MATCH_NAME)
		filter->names++;
}

/**
 * fhook_filter_parse() - parse a filter
 * @text: patterns, separated by white space
 * @report: report of the error, with its offset in @text
 *
 * Return: the filter, or an ERR_PTR.
 */
struct fhook_filter *fhook_filter_parse(const char *text,
					struct fhook_report *report)
{
	unsigned int num = count_words(text);
	struct fhook_filter *filter;
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

	err = parse_words(filter, report);
	if (err) {
		fhook_filter_free(filter);
		return ERR_PTR(err);
	}
	sort_patterns(filter);

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
 * fhook_filter_reset() - reset a filter before resolving it in all tables
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

/* A selection in progress: by one pattern, or in a module by all of them. */
struct selection {
	struct fhook_filter	*filter;
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

/*
 * The padding in front of a function has its own symbol, which is not a function.
 */
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

static bool means_module(const struct fhook_pattern *p,
			 const struct module *mod)
{
	return !p->mod || !strcmp(p->mod, mod->name);
}

/* The index of the first name that is not before @name, or the number of names. */
static unsigned int first_name(const struct fhook_filter *filter,
			       const char *name)
{
	unsigned int low = 0, high = filter->names, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(filter->patterns[mid].func, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}

	return low;
}

static void select_by(struct selection *s, unsigned int nr, unsigned long addr)
{
	s->pattern = &s->filter->patterns[nr];
	if (means_module(s->pattern, s->table->mod))
		select_addr(s, addr);
}

/* Match a symbol of a module against all patterns in a single walk. */
static int select_module_symbol(void *data, const char *name,
				unsigned long addr)
{
	struct selection *s = data;
	const struct fhook_pattern *p = s->filter->patterns;
	unsigned int i;

	/* Modules may have many symbols, and filters many patterns. */
	cond_resched();
	if (!is_function_name(name))
		return 0;

	for (i = first_name(s->filter, name); i < s->filter->names; i++) {
		if (strcmp(p[i].func, name))
			break;
		select_by(s, i, addr);
	}
	for (i = s->filter->names; i < s->filter->num; i++) {
		if (p[i].kind != FHOOK_MATCH_ALL && name_matches(&p[i], name))
			select_by(s, i, addr);
	}

	return 0;
}

static void select_module(struct selection *s)
{
	const struct module *mod = s->table->mod;
	bool walk = false;
	unsigned int i;

	for (i = 0; i < s->filter->num; i++) {
		s->pattern = &s->filter->patterns[i];
		if (!means_module(s->pattern, mod))
			continue;
		if (s->pattern->kind == FHOOK_MATCH_ALL)
			select_all(s);
		else if (s->pattern->kind == FHOOK_MATCH_NAME && s->table->names)
			fhook_names_each(s->table->names, s->pattern->func, select_addr, s);
		else
			walk = true;
	}

	if (walk)
		module_kallsyms_on_each_symbol(mod->name, select_module_symbol,
					       s);
}

/**
 * fhook_filter_select() - add the sites of a table that match a filter
 * @filter: the filter
 * @table: the table
 * @sites: bitmap over the table's sites; bits are set, never cleared
 */
void fhook_filter_select(struct fhook_filter *filter,
			 struct fhook_table *table, unsigned long *sites)
{
	struct selection s = {
		.filter	= filter,
		.table	= table,
		.sites	= sites,
	};
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	if (table->mod) {
		select_module(&s);
		return;
	}

	for (i = 0; i < filter->num; i++) {
		s.pattern = &filter->patterns[i];
		if (!s.pattern->mod)
			select_vmlinux(&s);
	}
}

/*
 * A pattern that names a module waits for it as long as the module has no table: it
 * may be being loaded or unloaded. Other patterns must match now.
 */
static bool is_waiting(const struct fhook_pattern *p)
{
	struct fhook_table *table;
	struct module *mod;

	if (!p->mod)
		return false;

	list_for_each_entry(table, &fhook_tables, list) {
		if (table->mod && means_module(p, table->mod))
			return false;
	}

	guard(preempt)();
	mod = find_module(p->mod);

	return !mod || mod->state != MODULE_STATE_LIVE;
}

/* A pattern without a match, and a clone of its function that was found */
struct clone_search {
	const struct fhook_pattern	*pattern;
	char				name[KSYM_NAME_LEN];
};

static int match_clone(void *data, const char *name, unsigned long addr)
{
	struct clone_search *search = data;
	const struct fhook_pattern *p = search->pattern;

	if (strncmp(name, p->func, p->len) || name[p->len] != '.')
		return 0;

	strscpy(search->name, name);

	return 1;
}

/* Compilers rename functions that they change: NAME.isra.0, NAME.constprop.0 ... */
static bool find_clone(struct clone_search *search)
{
	const struct fhook_pattern *p = search->pattern;
	struct fhook_table *table;

	if (p->kind != FHOOK_MATCH_NAME)
		return false;

	if (!p->mod && kallsyms_on_each_prefix_symbol(match_clone, p->func, p->len, search))
		return true;
	list_for_each_entry(table, &fhook_tables, list) {
		if (table->mod && means_module(p, table->mod) &&
		    module_kallsyms_on_each_symbol(table->mod->name, match_clone, search))
			return true;
	}

	return false;
}

static int fail_name(const struct fhook_pattern *p, struct fhook_report *report)
{
	struct clone_search *search = kzalloc(sizeof(*search), GFP_KERNEL);
	const char *where = p->mod ? " in module " : "";
	const char *name = p->mod ?: "";
	int err;

	if (search)
		search->pattern = p;
	if (search && find_clone(search))
		err = fhook_fail(report, FHOOK_ERR_CLONES, -ENOENT, 0,
				 "no function is named '%s'%s%s, but '%s' exists: '%s.*' takes all clones",
				 p->func, where, name, search->name, p->func);
	else
		err = fhook_fail(report, FHOOK_ERR_NO_FUNCTION, -ENOENT, 0,
				 "no function is named or matches '%s'%s%s",
				 p->func, where, name);
	kfree(search);

	return err;
}

static int fail_pattern(const struct fhook_pattern *p,
			struct fhook_report *report)
{
	const char *where = p->mod ? " in module " : "";
	const char *name = p->mod ?: "";
	int err;

	if (p->functions)
		err = fhook_fail(report, FHOOK_ERR_NO_SLOT, -EOPNOTSUPP, 0,
				 "'%s'%s%s has no slot (notrace, noinstr, not C, or freed init code)",
				 p->func, where, name);
	else
		err = fail_name(p, report);
	report->offset = p->offset;

	return err;
}

/**
 * fhook_filter_check() - check that each pattern has matched
 * @filter: the filter, after fhook_filter_select() on all tables
 * @report: report of the first pattern without a match
 *
 * Return: 0, -ENOENT if there is no such function, or -EOPNOTSUPP if there is but
 * it has no slot.
 */
int fhook_filter_check(struct fhook_filter *filter, struct fhook_report *report)
{
	const struct fhook_pattern *bad = NULL;
	unsigned int i;

	for (i = 0; i < filter->num; i++) {
		const struct fhook_pattern *p = &filter->patterns[i];

		if (p->found || (bad && p->offset > bad->offset))
			continue;
		if (!is_waiting(p))
			bad = p;
	}

	return bad ? fail_pattern(bad, report) : 0;
}
