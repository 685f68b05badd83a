// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: calls that are made to return a value instead of running.
 *
 *	h[:[GRP/][EVENT]] FUNCTION override=VALUE [FETCHARGS] [if FILTER]
 *
 * This is for functions on the kernel's list of functions that may fail, see
 * ALLOW_ERROR_INJECTION(), and for values that the list permits: other functions may
 * have taken locks or references that their callers expect. FILTER has the syntax of event
 * filters, and decides for each call. Calls are overridden while the event is enabled, and
 * only these are recorded.
 *
 * The function is looked up when the event is defined, and again each time it is enabled:
 * a function of a module that is loaded later is not hooked.
 *
 * The mainline counterparts are fail_function.c and bpf_override_return().
 */
#include <linux/error-injection.h>
#include <linux/kallsyms.h>
#include <linux/lockdep.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/tracefs.h>

#include "../fhook/switch.h"
#include "trace.h"
#include "trace_fhook.h"

static bool is_permitted(int type, unsigned long value)
{
	switch (type) {
	case EI_ETYPE_NULL:
		return !value;
	case EI_ETYPE_ERRNO:
		return IS_ERR_VALUE(value);
	case EI_ETYPE_ERRNO_NULL:
		return !value || IS_ERR_VALUE(value);
	case EI_ETYPE_TRUE:
		return value == 1;
	default:
		return false;
	}
}

/**
 * trace_fhook_is_override() - check whether a word overrides return values
 * @word: the word after the pattern
 *
 * An argument may be named "override" as well: it has a value to fetch.
 *
 * Return: the text of the value, or NULL.
 */
const char *trace_fhook_is_override(const char *word)
{
	size_t len = str_has_prefix(word, "override=");

	return len && !strpbrk(word + len, "$%@(\\") ? word + len : NULL;
}

/*
 * The text of a condition from its words. They lie in the buffer of argv_split(), which has
 * put zero bytes in the place of blanks: a string in the condition keeps all of its blanks.
 */
static char *join(int argc, const char *argv[])
{
	size_t len = argv[argc - 1] + strlen(argv[argc - 1]) - argv[0];
	char *text = kmemdup_nul(argv[0], len, GFP_KERNEL);
	size_t i;

	for (i = 0; text && i < len; i++) {
		if (!text[i])
			text[i] = ' ';
	}
	return text;
}

/**
 * trace_fhook_may_override() - check whether the lockdown permits overrides
 *
 * They change what the kernel does, so any lockdown refuses them, as it closes debugfs
 * with the files of fail_function.c.
 *
 * Return: 0 or -EPERM, and the log has the reason.
 */
int trace_fhook_may_override(void)
{
	return security_locked_down(LOCKDOWN_DEBUGFS);
}

/**
 * trace_fhook_make_override() - parse the words of an override
 * @function: name of the function
 * @value: text of the value, which is at the index of trace_probe's log
 * @argc: number of words of the condition, or 0
 * @argv: these words
 *
 * Return: the override; or a negative error, with the reason in error_log unless it is
 * -ENOMEM, or -EPERM because of the lockdown.
 */
struct trace_fhook_override *
trace_fhook_make_override(const char *function, const char *value, int argc, const char *argv[])
{
	int type = get_injectable_error_type(kallsyms_lookup_name(function));
	struct trace_fhook_override *override;
	long number;
	int ret;

	ret = trace_fhook_may_override();
	if (ret)
		return ERR_PTR(ret);
	if (kstrtol(value, 0, &number)) {
		trace_probe_log_err(strlen("override="), FHOOK_OVERRIDE_NUMBER);
		return ERR_PTR(-EINVAL);
	}
	if (type < 0) {
		trace_probe_log_err(0, FHOOK_OVERRIDE);
		return ERR_PTR(-EINVAL);
	}
	if (!is_permitted(type, number)) {
		trace_probe_log_err(strlen("override="), FHOOK_OVERRIDE_VALUE);
		return ERR_PTR(-EINVAL);
	}

	override = kzalloc(sizeof(*override), GFP_KERNEL);
	if (!override)
		return ERR_PTR(-ENOMEM);
	override->value = number;
	if (!argc)
		return override;
	override->condition = join(argc, argv);
	if (!override->condition) {
		kfree(override);
		return ERR_PTR(-ENOMEM);
	}
	return override;
}

/**
 * trace_fhook_free_override() - free an override
 * @override: the override, or NULL; no callback uses it
 */
void trace_fhook_free_override(struct trace_fhook_override *override)
{
	if (!override)
		return;
	free_event_filter(override->filter);
	kfree(override->condition);
	kfree(override);
}

/**
 * trace_fhook_set_condition() - make the filter of an override
 * @tfh: a probe whose event has been added; has an override or not
 *
 * Under event_mutex.
 *
 * Return: 0, or a negative error, with the reason in error_log.
 */
int trace_fhook_set_condition(struct trace_fhook *tfh)
{
	struct trace_fhook_override *override = tfh->override;

	lockdep_assert_held(&event_mutex);
	if (!override || !override->condition)
		return 0;

	return create_event_filter(top_trace_array(), trace_probe_event_call(&tfh->tp),
				   override->condition, true, &override->filter);
}

/**
 * trace_fhook_override_addr() - find the function of an override
 * @tfh: the probe
 *
 * Return: its address, or 0 if it has gone, or may no longer be overridden.
 */
unsigned long trace_fhook_override_addr(const struct trace_fhook *tfh)
{
	unsigned long addr = kallsyms_lookup_name(tfh->pattern);

	return is_permitted(get_injectable_error_type(addr), tfh->override->value) ? addr : 0;
}

static void show_override(struct seq_file *m, const struct trace_fhook *tfh)
{
	const struct trace_fhook_override *override = tfh->override;

	seq_printf(m, "%s returns %ld\tby %s, %ld calls", tfh->pattern, override->value,
		   tfh->name, atomic_long_read(&override->calls));
	if (override->condition)
		seq_printf(m, ", if %s", override->condition);
	seq_putc(m, '\n');
}

static int overrides_show(struct seq_file *m, void *v)
{
	struct dyn_event *pos;

	guard(mutex)(&event_mutex);
	for_each_dyn_event(pos) {
		if (is_trace_fhook(pos) && to_trace_fhook(pos)->use &&
		    to_trace_fhook(pos)->override)
			show_override(m, to_trace_fhook(pos));
	}
	return 0;
}

static int overrides_open(struct inode *inode, struct file *file)
{
	return security_locked_down(LOCKDOWN_TRACEFS) ?: single_open(file, overrides_show, NULL);
}

static const struct file_operations overrides_fops = {
	.open		= overrides_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int __init overrides_init(void)
{
	if (IS_ENABLED(CONFIG_FUNCTION_ERROR_INJECTION) && fhook_tracefs_dir)
		tracefs_create_file("overrides", 0400, fhook_tracefs_dir, NULL, &overrides_fops);

	return 0;
}
fs_initcall_sync(overrides_init);
