// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: selecting the functions to trace.
 *
 * A user writes names and globs, as for a hook; a leading '!' excludes functions.
 * The functions are scanned, and those that can be traced get their stubs, before
 * the previous choice is given up: if anything fails, nothing changes. Functions of
 * modules that are loaded later are not traced, because the processor already has
 * the address of the block.
 *
 * Under fhook_mutex.
 */
#include <linux/buildid.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core.h"
#include "../pattern.h"
#include "../redirect.h"
#include "../report.h"
#include "../span.h"
#include "calltrace.h"

struct calltrace_choice *calltrace_chosen;
bool calltrace_enabled;

static const char *const reasons[CALLTRACE_REASONS] = {
	[CALLTRACE_OK]		= "it can be traced",
	[CALLTRACE_INIT]	= "it is freed after init",
	[CALLTRACE_NAMELESS]	= "nobody knows where it ends",
	[CALLTRACE_UNKNOWN]	= "it has an instruction that is not known",
	[CALLTRACE_INDIRECT]	= "it jumps through a register or memory",
	[CALLTRACE_TAKEN]	= "it may jump to a label through a register",
	[CALLTRACE_CONDITIONAL]	= "it goes on in another function by a conditional jump",
	[CALLTRACE_NO_ROOM]	= "it is left by an instruction too short for a jump",
	[CALLTRACE_OWNED]	= "it is left by an instruction that somebody else patches",
	[CALLTRACE_KPROBE]	= "it has a kprobe",
	[CALLTRACE_ASIDE]	= "a static branch or an exception leads out of it",
	[CALLTRACE_SHARED]	= "it is left by code that it shares with another function",
	[CALLTRACE_FAR]		= "it goes on in a function that stubs do not reach",
	[CALLTRACE_REDIRECTED]	= "another function runs in its place",
};

/**
 * calltrace_reason_text() - describe a reason for not tracing a function
 * @reason: the reason
 *
 * Return: a sentence, without a full stop.
 */
const char *calltrace_reason_text(enum calltrace_reason reason)
{
	return reasons[reason];
}

static void free_choice(struct fhook_retired *retired)
{
	struct calltrace_choice *choice =
		container_of(retired, struct calltrace_choice, retired);
	unsigned int i;

	calltrace_blocks_free(choice);
	for (i = 0; i < choice->num_functions; i++)
		kfree(choice->functions[i].name);
	for (i = 0; i < choice->num_exits; i++)
		kfree(choice->exits[i].name);
	kvfree(choice->functions);
	kvfree(choice->exits);
	kfree(choice->objects);
	kvfree(choice->text);
	kfree(choice);
}

/* No CPU is in the choice's stubs: free the choice after look-ups have finished. */
static void hide_choice(struct fhook_retired *retired)
{
	struct calltrace_choice *choice =
		container_of(retired, struct calltrace_choice, retired);

	mutex_lock(&fhook_mutex);
	list_del_rcu(&choice->list);
	mutex_unlock(&fhook_mutex);
	fhook_retire(retired, NULL, free_choice);
}

static int no_memory(struct fhook_report *report)
{
	return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			  "no memory to trace so many functions");
}

/*
 * Keep only the words of a user that begin with '!', or only the others, without
 * comments; the module in brackets goes with its word. Words keep their offsets, so that
 * errors can point at them.
 */
static char *words_of(const char *text, bool excluded)
{
	char *words = kvmemdup(text, strlen(text) + 1, GFP_KERNEL);
	char *c = words;
	bool keep = !excluded;

	while (c && *c) {
		if (isspace(*c)) {
			c++;
			continue;
		}
		if (*c == '#') {
			for (; *c && *c != '\n'; c++)
				*c = ' ';
			continue;
		}
		if (!fhook_is_listed_module(c))
			keep = (*c == '!') == excluded;
		if (*c == '!')
			*c++ = ' ';
		for (; *c && !isspace(*c); c++) {
			if (!keep)
				*c = ' ';
		}
	}

	return words;
}

/* A '!' that no word follows would turn what is to be left out into what is chosen. */
static int check_words(const char *text, struct fhook_report *report)
{
	bool comment = false, word = false;
	const char *c;

	for (c = text; *c; c++) {
		if (*c == '\n')
			comment = false;
		else if (*c == '#' && !word)
			comment = true;
		if (*c == '!' && !word && !comment && (!c[1] || isspace(c[1]))) {
			fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				   "'!' is followed by a name or pattern, without a space");
			report->offset = c - text;
			return -EINVAL;
		}
		word = !isspace(*c);
	}

	return 0;
}

/* Parse the words of one kind as a filter; NULL if there are none. */
static struct fhook_filter *filter_of(const char *text, bool excluded,
				      struct fhook_report *report)
{
	struct fhook_filter *filter = NULL;
	char *words = words_of(text, excluded);

	if (!words)
		return ERR_PTR(no_memory(report));
	if (*skip_spaces(words))
		filter = fhook_filter_parse(words, report);
	kvfree(words);

	return filter;
}

static int select_sites(const char *text, struct list_head *spans,
			struct fhook_report *report)
{
	struct fhook_hook hook = {};
	int err;

	err = check_words(text, report);
	if (err)
		return err;

	hook.filter = filter_of(text, false, report);
	if (IS_ERR(hook.filter))
		return PTR_ERR(hook.filter);
	hook.notfilter = filter_of(text, true, report);
	if (IS_ERR(hook.notfilter)) {
		fhook_filter_free(hook.filter);
		return PTR_ERR(hook.notfilter);
	}

	err = fhook_spans_select(&hook, spans, report);
	if (!err && hook.filter)
		err = fhook_filter_check(hook.filter, report);
	fhook_filter_free(hook.notfilter);
	fhook_filter_free(hook.filter);

	return err;
}

static void name_object(struct calltrace_object *object,
			const struct module *mod)
{
	strscpy(object->name, mod ? mod->name : "vmlinux");
	if (!mod) {
		if (!build_id_parse_buf(__start_notes, object->build_id,
					__stop_notes - __start_notes))
			object->build_id_size = sizeof(object->build_id);
		return;
	}
#ifdef CONFIG_STACKTRACE_BUILD_ID
	memcpy(object->build_id, mod->build_id, sizeof(object->build_id));
	object->build_id_size = sizeof(object->build_id);
#endif
}

static bool is_init(const struct fhook_table *table, unsigned long func)
{
	return func >= table->init_start && func < table->init_end;
}

static int add_function(struct calltrace_choice *choice,
			struct fhook_table *table, u32 site)
{
	struct calltrace_function *f =
		&choice->functions[choice->num_functions++];
	char name[KSYM_NAME_LEN];

	f->table = table;
	f->site = site;
	f->func = fhook_site_func(table, site);
	f->object = choice->num_objects - 1;
	if (table->mod && !lookup_symbol_name(f->func, name)) {
		f->name = kstrdup(name, GFP_KERNEL);
		if (!f->name)
			return -ENOMEM;
	}

	if (is_init(table, f->func))
		f->reason = CALLTRACE_INIT;
	else if (fhook_patch_of(table, site))
		f->reason = CALLTRACE_REDIRECTED;
	else
		return calltrace_scan(choice, f - choice->functions);

	return 0;
}

/*
 * Not a module that is being loaded, whose text others still prepare. A module becomes live
 * without fhook_mutex: a second look at the same module may have another result.
 */
static bool is_live(const struct fhook_table *table)
{
	return !table->mod || READ_ONCE(table->mod->state) == MODULE_STATE_LIVE;
}

static int add_span(struct calltrace_choice *choice,
		    const struct fhook_span *span)
{
	unsigned int i;
	int err;

	if (!is_live(span->table))
		return 0;

	name_object(&choice->objects[choice->num_objects++], span->table->mod);
	err = calltrace_labels_begin(span->table);
	for (i = 0; i < span->num && !err; i++) {
		err = add_function(choice, span->table, span->sites[i]);
		cond_resched();
	}
	calltrace_labels_end();
	calltrace_taken_end();

	return err;
}

static int add_spans(struct calltrace_choice *choice, struct list_head *spans)
{
	const struct fhook_span *span;
	unsigned int objects = 0, functions = 0;
	int err;

	list_for_each_entry(span, spans, list) {
		functions += span->num;
		objects++;
	}
	choice->objects = kcalloc(objects, sizeof(*choice->objects),
				  GFP_KERNEL);
	choice->functions = kvcalloc(functions, sizeof(*choice->functions),
				     GFP_KERNEL);
	if (!choice->objects || !choice->functions)
		return -ENOMEM;

	list_for_each_entry(span, spans, list) {
		err = add_span(choice, span);
		if (err)
			return err;
	}

	return 0;
}

static int make(struct calltrace_choice *choice, const char *text,
		struct fhook_report *report)
{
	LIST_HEAD(spans);
	int err;

	choice->text = kvmemdup(text, strlen(text) + 1, GFP_KERNEL);
	if (!choice->text)
		return no_memory(report);

	err = select_sites(text, &spans, report);
	if (err)
		goto out;

	err = add_spans(choice, &spans) ? no_memory(report) : 0;
	if (err)
		goto out;

	calltrace_exits_sort(choice);
	err = calltrace_blocks_make(choice, report);
out:
	fhook_spans_free(&spans);

	return err;
}

/* A choice may be freed only if nothing leads to it any more. */
static void give_up(struct calltrace_choice *choice)
{
	calltrace_blocks_announce(choice, true);
	if (!choice->pinned)
		fhook_retire(&choice->retired, NULL, hide_choice);
}

/**
 * calltrace_choose() - choose the functions to trace
 * @text: names and globs; a leading '!' excludes; empty for no functions
 * @report: report of the error
 *
 * Return: 0, or an error, in which case nothing has changed; -EBUSY while tracing.
 */
int calltrace_choose(const char *text, struct fhook_report *report)
{
	struct calltrace_choice *old = calltrace_chosen, *new = NULL;
	int err;

	lockdep_assert_held(&fhook_mutex);
	if (calltrace_enabled)
		return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY, 0,
				  "calls are being traced: write 0 to enable first");

	if (*skip_spaces(text)) {
		new = kzalloc(sizeof(*new), GFP_KERNEL);
		if (!new)
			return no_memory(report);
		INIT_LIST_HEAD(&new->blocks);
		err = make(new, text, report);
		if (err) {
			free_choice(&new->retired);
			return err;
		}
		list_add_rcu(&new->list, &calltrace_choices);
		calltrace_blocks_announce(new, false);
	}

	WRITE_ONCE(calltrace_chosen, new);
	if (old)
		give_up(old);

	return 0;
}
