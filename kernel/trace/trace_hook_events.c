// SPDX-License-Identifier: GPL-2.0
/*
 * Events on hooks: enabling and disabling events, and adding and removing their probes. An
 * event has one or more probes.
 *
 * All hooks of an event are registered while the event is in use, otherwise none, so that a
 * disabled event costs nothing. The types of events provide the functions that register hooks.
 *
 * event_mutex protects all data that is changed here.
 */
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "trace_hook.h"
#include "trace_output.h"

/**
 * trace_hook_check_arg() - refuse words that look like another part of a definition
 * @arg: a word of a definition, which is at the index of trace_probe's log
 *
 * Return: 0, or -EINVAL with the reason in error_log.
 */
int trace_hook_check_arg(const char *arg)
{
	if (!strcmp(arg, "%return") || !strcmp(arg, "%span") || !strcmp(arg, "%exit")) {
		trace_probe_log_err(0, HOOK_SUFFIX);
		return -EINVAL;
	}
	if (!strcmp(arg, "if")) {
		trace_probe_log_err(0, HOOK_CONDITION);
		return -EINVAL;
	}

	return 0;
}

/**
 * trace_hook_attach() - register the hooks of an event
 * @type: type of the event
 * @event: a probe of the event
 *
 * Under event_mutex.
 *
 * Return: 0, or a negative error, in which case none of the hooks is registered.
 */
int trace_hook_attach(const struct trace_hook_type *type, struct trace_probe *event)
{
	struct trace_probe *tp;
	int ret;

	lockdep_assert_held(&event_mutex);
	list_for_each_entry(tp, trace_probe_probe_list(event), list) {
		ret = type->attach(tp);
		if (ret)
			goto undo;
	}
	return 0;

undo:
	list_for_each_entry_continue_reverse(tp, trace_probe_probe_list(event), list)
		type->detach(tp);
	return ret;
}

/**
 * trace_hook_detach() - unregister the hooks of an event
 * @type: type of the event
 * @event: a probe of the event
 *
 * Under event_mutex.
 */
void trace_hook_detach(const struct trace_hook_type *type, struct trace_probe *event)
{
	struct trace_probe *tp;

	lockdep_assert_held(&event_mutex);
	list_for_each_entry(tp, trace_probe_probe_list(event), list)
		type->detach(tp);
}

/**
 * trace_hook_disable() - remove a user of an event
 * @type: type of the event
 * @call: the event
 * @file: file of the trace instance, or NULL for perf
 *
 * Under event_mutex.
 *
 * Return: 0, or a negative error.
 */
int trace_hook_disable(const struct trace_hook_type *type, struct trace_event_call *call,
		       struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);

	lockdep_assert_held(&event_mutex);
	if (WARN_ON_ONCE(!tp))
		return -ENODEV;

	if (!file)
		trace_probe_clear_flag(tp, TP_FLAG_PROFILE);
	else if (trace_probe_remove_file(tp, file))
		return -ENOENT;

	if (!trace_probe_is_enabled(tp))
		trace_hook_detach(type, tp);
	return 0;
}

/**
 * trace_hook_enable() - add a user of an event
 * @type: type of the event
 * @call: the event
 * @file: file of the trace instance, or NULL for perf
 *
 * Under event_mutex. The first user registers the hooks.
 *
 * Return: 0, or a negative error, in which case nothing has changed.
 */
int trace_hook_enable(const struct trace_hook_type *type, struct trace_event_call *call,
		      struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	bool attached;
	int ret;

	lockdep_assert_held(&event_mutex);
	if (WARN_ON_ONCE(!tp))
		return -ENODEV;

	attached = trace_probe_is_enabled(tp);
	if (file) {
		ret = trace_probe_add_file(tp, file);
		if (ret)
			return ret;
	} else {
		trace_probe_set_flag(tp, TP_FLAG_PROFILE);
	}
	if (attached)
		return 0;

	ret = trace_hook_attach(type, tp);
	if (!ret)
		return 0;
	if (file)
		trace_probe_remove_file(tp, file);
	else
		trace_probe_clear_flag(tp, TP_FLAG_PROFILE);
	/*
	 * Hooks of the first probes may have been hit: wait before perf, or a trigger that
	 * enables the event, frees its data. Hits use it with preemption disabled or under
	 * RCU. tracepoint_synchronize_unregister() would also wait for handlers that sleep.
	 */
	synchronize_rcu();
	return ret;
}

/**
 * trace_hook_is_busy() - check whether an event is in use
 * @tp: a probe of the event
 *
 * Return: true if the event is enabled, or something refers to it.
 */
bool trace_hook_is_busy(struct trace_probe *tp)
{
	return trace_probe_is_enabled(tp) ||
	       trace_event_dyn_busy(trace_probe_event_call(tp));
}

static struct trace_probe *find_event(const struct trace_hook_type *type,
				      struct trace_probe *like)
{
	struct trace_probe *tp;
	struct dyn_event *pos;

	for_each_dyn_event(pos) {
		if (pos->ops != type->ops)
			continue;
		tp = type->probe(pos);
		if (!strcmp(trace_probe_name(tp), trace_probe_name(like)) &&
		    !strcmp(trace_probe_group_name(tp), trace_probe_group_name(like)))
			return tp;
	}
	return NULL;
}

/* @a and @b have arguments of the same names; do they fetch the same? */
static bool is_same_probe(const struct trace_hook_type *type, struct trace_probe *a,
			  struct trace_probe *b)
{
	int i;

	if (!type->same_place(a, b))
		return false;
	for (i = 0; i < a->nr_args; i++)
		if (strcmp(a->args[i].comm, b->args[i].comm))
			return false;
	return true;
}

/* Check whether @tp may become a probe of the event of @to. */
static int check_append(const struct trace_hook_type *type, struct trace_probe *tp,
			const struct trace_hook_words *words, struct trace_probe *to)
{
	struct trace_probe *pos;
	int ret;

	if (!type->same_kind(tp, to)) {
		trace_probe_log_set_index(0);
		trace_probe_log_err(0, DIFF_PROBE_TYPE);
		return -EEXIST;
	}
	ret = trace_probe_compare_arg_type(tp, to);
	if (ret) {
		/* The result counts arguments from 1. */
		trace_probe_log_set_index(trace_hook_word(words, ret - 1));
		trace_probe_log_err(0, DIFF_ARG_TYPE);
		return -EEXIST;
	}
	list_for_each_entry(pos, trace_probe_probe_list(to), list) {
		if (is_same_probe(type, tp, pos)) {
			trace_probe_log_set_index(0);
			trace_probe_log_err(0, SAME_PROBE);
			return -EEXIST;
		}
	}
	return 0;
}

static int append_probe(const struct trace_hook_type *type, struct dyn_event *ev,
			const struct trace_hook_words *words, struct trace_probe *to)
{
	struct trace_probe *tp = type->probe(ev);
	int ret;

	ret = check_append(type, tp, words, to);
	if (ret)
		return ret;

	ret = trace_probe_append(tp, to);
	if (ret)
		return ret;
	if (trace_probe_is_enabled(to)) {
		ret = type->attach(tp);
		if (ret) {
			/* Callbacks may use the event: it is left as by trace_hook_retire(). */
			list_del_init(&tp->list);
			return ret;
		}
	}
	return dyn_event_add(ev, trace_probe_event_call(to));
}

/**
 * trace_hook_add() - add a probe, as a new event or to an existing one
 * @type: type of the event
 * @ev: link of the probe in the list of dynamic events
 * @words: words of the arguments, for the caret
 *
 * Under event_mutex.
 *
 * Return: 0, or a negative error: -EEXIST with the reason in error_log.
 */
int trace_hook_add(const struct trace_hook_type *type, struct dyn_event *ev,
		   const struct trace_hook_words *words)
{
	struct trace_probe *tp = type->probe(ev);
	struct trace_probe *old = find_event(type, tp);
	int ret;

	lockdep_assert_held(&event_mutex);
	if (old)
		return append_probe(type, ev, words, old);

	/* The name may have been derived from that of the function. */
	if (trace_event_name_reserved(trace_probe_name(tp))) {
		trace_probe_log_set_index(0);
		trace_probe_log_err(0, RESERVED_NAME);
		return -EEXIST;
	}
	ret = trace_probe_register_event_call(tp);
	if (ret == -EEXIST) {
		trace_probe_log_set_index(0);
		trace_probe_log_err(0, EVENT_EXIST);
	}
	return ret ?: dyn_event_add(ev, trace_probe_event_call(tp));
}

/**
 * trace_hook_remove() - undo trace_hook_add()
 * @ev: link of the probe in the list of dynamic events
 * @tp: the probe; its event is not in use, and no callback uses the probe
 *
 * Under event_mutex.
 *
 * Return: 0, or -EBUSY.
 */
int trace_hook_remove(struct dyn_event *ev, struct trace_probe *tp)
{
	lockdep_assert_held(&event_mutex);
	if (!trace_probe_has_sibling(tp) && trace_probe_unregister_event_call(tp))
		return -EBUSY;

	dyn_event_remove(ev);
	/* Printing a record uses the first probe of its event. */
	down_write(&trace_event_sem);
	trace_probe_unlink(tp);
	up_write(&trace_event_sem);
	return 0;
}

/**
 * trace_hook_retire() - undo trace_hook_add() while callbacks may still use the probe
 * @ev: link of the probe in the list of dynamic events
 * @tp: the probe; its event is not in use
 *
 * The event is removed, and its name is free. Callbacks may access the memory of the
 * probe and its event until trace_hook_cleanup(). The event is freed with the last of
 * its probes, which therefore must be cleaned up last. Under event_mutex.
 *
 * Return: 0, or -EBUSY.
 */
int trace_hook_retire(struct dyn_event *ev, struct trace_probe *tp)
{
	bool last = !trace_probe_has_sibling(tp);

	lockdep_assert_held(&event_mutex);

	if (last && trace_probe_unregister_event_call(tp))
		return -EBUSY;

	dyn_event_remove(ev);
	if (last)
		return 0;
	/* The event belongs to its remaining probes; the last one frees it. */
	down_write(&trace_event_sem);
	list_del_init(&tp->list);
	up_write(&trace_event_sem);
	return 0;
}

/**
 * trace_hook_cleanup() - free a probe's data, and its event if the probe was the last
 * @tp: a probe that was never added, or has been removed
 */
void trace_hook_cleanup(struct trace_probe *tp)
{
	if (list_empty(&tp->list))
		tp->event = NULL;
	trace_probe_cleanup(tp);
}
