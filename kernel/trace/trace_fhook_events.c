// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: how an event is enabled, disabled, added and removed.
 *
 * An event has one or more probes (&struct trace_fhook). All of them are
 * registered with fhook while somebody uses the event, none of them otherwise,
 * so that a disabled event costs nothing and holds no module.
 *
 * Whatever changes here changes under event_mutex. Disabling does not wait for
 * callbacks, not even for those that begin late: they find the flags and the list
 * of files empty, which happened first. The next who registers or frees the probe
 * does wait, once for any number of probes.
 */
#define pr_fmt(fmt)	"trace_fhook: " fmt

#include <linux/fhook.h>
#include <linux/security.h>
#include <linux/trace_events.h>

#include "trace_fhook.h"

/* Until then, fhook may not register the probe and nobody may free it. */
static void wait_for_callbacks(struct trace_fhook *tfh)
{
	if (!tfh->retiring)
		return;
	fhook_barrier();
	tfh->retiring = false;
}

static int attach(struct trace_fhook *tfh)
{
	int i, ret;

	/* It may have come after the definition. */
	ret = security_locked_down(LOCKDOWN_KPROBES);
	if (ret)
		return ret;

	wait_for_callbacks(tfh);
	trace_fhook_set_callbacks(tfh);

	/* A symbol of a module may have moved since the event was last used. */
	for (i = 0; i < tfh->tp.nr_args; i++) {
		ret = traceprobe_update_arg(&tfh->tp.args[i]);
		if (ret)
			return ret;
	}

	return fhook_register(&tfh->ops, tfh->pattern, NULL);
}

static void detach(struct trace_fhook *tfh)
{
	if (!WARN_ON_ONCE(fhook_unregister_async(&tfh->ops, NULL)))
		tfh->retiring = true;
}

/* All probes of the event, or none. */
static int attach_event(struct trace_probe *tp)
{
	struct trace_fhook *tfh;
	int ret;

	list_for_each_entry(tfh, trace_probe_probe_list(tp), tp.list) {
		ret = attach(tfh);
		if (ret)
			goto undo;
	}
	return 0;

undo:
	list_for_each_entry_continue_reverse(tfh, trace_probe_probe_list(tp),
					     tp.list)
		detach(tfh);
	return ret;
}

static void detach_event(struct trace_probe *tp)
{
	struct trace_fhook *tfh;

	list_for_each_entry(tfh, trace_probe_probe_list(tp), tp.list)
		detach(tfh);
}

/* For a trace instance, or for perf if @file is NULL. */
static int disable_event(struct trace_event_call *call,
			 struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);

	if (WARN_ON_ONCE(!tp))
		return -ENODEV;

	if (!file)
		trace_probe_clear_flag(tp, TP_FLAG_PROFILE);
	else if (trace_probe_remove_file(tp, file))
		return -ENOENT;

	if (!trace_probe_is_enabled(tp))
		detach_event(tp);
	return 0;
}

static int enable_event(struct trace_event_call *call,
			struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	bool attached;
	int ret;

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

	ret = attach_event(tp);
	if (!ret)
		return 0;
	if (file)
		trace_probe_remove_file(tp, file);
	else
		trace_probe_clear_flag(tp, TP_FLAG_PROFILE);
	return ret;
}

/* Called by the events' enable files and by perf, under event_mutex. */
static int reg_event(struct trace_event_call *call, enum trace_reg type,
		     void *data)
{
	switch (type) {
	case TRACE_REG_REGISTER:
		return enable_event(call, data);
	case TRACE_REG_UNREGISTER:
		return disable_event(call, data);
#ifdef CONFIG_PERF_EVENTS
	case TRACE_REG_PERF_REGISTER:
		return enable_event(call, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		return disable_event(call, NULL);
	case TRACE_REG_PERF_OPEN:
	case TRACE_REG_PERF_CLOSE:
	case TRACE_REG_PERF_ADD:
	case TRACE_REG_PERF_DEL:
		return 0;
#endif
	}
	return 0;
}

/**
 * trace_fhook_init() - set up the hook and the event of a new probe
 * @tfh: the probe; its pattern, name and event exist
 */
void trace_fhook_init(struct trace_fhook *tfh)
{
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);

	tfh->ops.name = tfh->name;
	/* It was checked when it was written; modules come and go. */
	tfh->ops.flags = FHOOK_FL_LOOSE;

	trace_fhook_set_event(tfh);
	call->class->reg = reg_event;
}

/**
 * trace_fhook_is_busy() - does somebody use the event?
 * @ev: a probe of it
 *
 * Return: true if the event is enabled, or something refers to it.
 */
bool trace_fhook_is_busy(struct dyn_event *ev)
{
	struct trace_probe *tp = &to_trace_fhook(ev)->tp;

	return trace_probe_is_enabled(tp) ||
	       trace_event_dyn_busy(trace_probe_event_call(tp));
}

static struct trace_fhook *find_probe(const char *event, const char *group)
{
	struct dyn_event *pos;

	for_each_dyn_event(pos) {
		struct trace_probe *tp = &to_trace_fhook(pos)->tp;

		if (is_trace_fhook(pos) &&
		    !strcmp(trace_probe_name(tp), event) &&
		    !strcmp(trace_probe_group_name(tp), group))
			return to_trace_fhook(pos);
	}
	return NULL;
}

/* @a and @b fetch under the same names; do they fetch the same? */
static bool is_same_probe(struct trace_fhook *a, struct trace_fhook *b)
{
	int i;

	if (strcmp(a->pattern, b->pattern))
		return false;
	for (i = 0; i < a->tp.nr_args; i++)
		if (strcmp(a->tp.args[i].comm, b->tp.args[i].comm))
			return false;
	return true;
}

/* Make @tfh one more probe of the event that @to has. */
static int append_probe(struct trace_fhook *tfh, struct trace_fhook *to)
{
	struct trace_fhook *pos;
	int ret;

	if (tfh->kind != to->kind) {
		trace_probe_log_set_index(0);
		trace_probe_log_err(0, DIFF_PROBE_TYPE);
		return -EEXIST;
	}
	ret = trace_probe_compare_arg_type(&tfh->tp, &to->tp);
	if (ret) {
		/* It counts arguments from 1; the first is the third word. */
		trace_probe_log_set_index(ret + 1);
		trace_probe_log_err(0, DIFF_ARG_TYPE);
		return -EEXIST;
	}
	list_for_each_entry(pos, trace_probe_probe_list(&to->tp), tp.list) {
		if (is_same_probe(tfh, pos)) {
			trace_probe_log_set_index(0);
			trace_probe_log_err(0, SAME_PROBE);
			return -EEXIST;
		}
	}

	ret = trace_probe_append(&tfh->tp, &to->tp);
	if (ret)
		return ret;
	if (trace_probe_is_enabled(&to->tp)) {
		ret = attach(tfh);
		if (ret) {
			trace_probe_unlink(&tfh->tp);
			return ret;
		}
	}
	return dyn_event_add(&tfh->devent, trace_probe_event_call(&to->tp));
}

/**
 * trace_fhook_add() - make a probe known, as a new event or as part of one
 * @tfh: the probe
 *
 * Return: 0, or a negative error: -EEXIST with the reason in error_log.
 */
int trace_fhook_add(struct trace_fhook *tfh)
{
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);
	struct trace_fhook *old;
	int ret;

	guard(mutex)(&event_mutex);

	old = find_probe(trace_probe_name(&tfh->tp),
			 trace_probe_group_name(&tfh->tp));
	if (old)
		return append_probe(tfh, old);

	ret = trace_probe_register_event_call(&tfh->tp);
	if (ret == -EEXIST) {
		trace_probe_log_set_index(0);
		trace_probe_log_err(0, EVENT_EXIST);
	}
	return ret ?: dyn_event_add(&tfh->devent, call);
}

/**
 * trace_fhook_remove() - undo trace_fhook_add()
 * @tfh: the probe
 *
 * Under event_mutex. Afterwards no callback runs and the probe may be freed.
 *
 * Return: 0, or -EBUSY if somebody uses the event. That holds for each of its
 * probes, so that taking away an event in use changes nothing.
 */
int trace_fhook_remove(struct trace_fhook *tfh)
{
	if (trace_fhook_is_busy(&tfh->devent))
		return -EBUSY;

	/* Callbacks use the files of the event, which go with it. */
	wait_for_callbacks(tfh);
	if (!trace_probe_has_sibling(&tfh->tp) &&
	    trace_probe_unregister_event_call(&tfh->tp))
		return -EBUSY;

	dyn_event_remove(&tfh->devent);
	trace_probe_unlink(&tfh->tp);
	return 0;
}
