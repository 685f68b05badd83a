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

static struct trace_fhook *fhook_of(struct trace_probe *tp)
{
	return container_of(tp, struct trace_fhook, tp);
}

/* Until then, fhook may not register the probe and nobody may free it. */
static void wait_for_callbacks(struct trace_fhook *tfh)
{
	if (!tfh->retiring)
		return;
	fhook_barrier();
	tfh->retiring = false;
}

static int attach(struct trace_probe *tp)
{
	struct trace_fhook *tfh = fhook_of(tp);
	int i, ret;

	/* It may have come after the definition. */
	ret = security_locked_down(LOCKDOWN_KPROBES);
	if (ret)
		return ret;

	wait_for_callbacks(tfh);
	trace_fhook_set_callbacks(tfh);

	/* A symbol of a module may have moved since the event was last used. */
	for (i = 0; i < tp->nr_args; i++) {
		ret = traceprobe_update_arg(&tp->args[i]);
		if (ret)
			return ret;
	}

	return fhook_register(&tfh->ops, tfh->pattern, NULL);
}

static void detach(struct trace_probe *tp)
{
	struct trace_fhook *tfh = fhook_of(tp);

	if (!WARN_ON_ONCE(fhook_unregister_async(&tfh->ops, NULL)))
		tfh->retiring = true;
}

/* Called by the events' enable files and by perf, under event_mutex. */
static int reg_event(struct trace_event_call *call, enum trace_reg type,
		     void *data)
{
	switch (type) {
	case TRACE_REG_REGISTER:
		return trace_hook_enable(&trace_fhook_type, call, data);
	case TRACE_REG_UNREGISTER:
		return trace_hook_disable(&trace_fhook_type, call, data);
#ifdef CONFIG_PERF_EVENTS
	case TRACE_REG_PERF_REGISTER:
		return trace_hook_enable(&trace_fhook_type, call, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		return trace_hook_disable(&trace_fhook_type, call, NULL);
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

static struct trace_probe *probe_of(struct dyn_event *ev)
{
	return &to_trace_fhook(ev)->tp;
}

static bool is_same_kind(struct trace_probe *a, struct trace_probe *b)
{
	return fhook_of(a)->kind == fhook_of(b)->kind;
}

static bool is_same_place(struct trace_probe *a, struct trace_probe *b)
{
	return !strcmp(fhook_of(a)->pattern, fhook_of(b)->pattern);
}

static int run_command(const char *command)
{
	return trace_hook_run_command(&trace_fhook_type, command);
}

const struct trace_hook_type trace_fhook_type = {
	.ops		= &trace_fhook_ops,
	.file		= "fhook_events",
	.log		= "trace_fhook",
	.letter		= 'h',
	.foreign	= "A definition begins with 'h', a removal with '-:'",
	.run		= run_command,
	.probe		= probe_of,
	.same_kind	= is_same_kind,
	.same_place	= is_same_place,
	.attach		= attach,
	.detach		= detach,
};

/**
 * trace_fhook_is_busy() - does somebody use the event?
 * @ev: a probe of it
 *
 * Return: true if the event is enabled, or something refers to it.
 */
bool trace_fhook_is_busy(struct dyn_event *ev)
{
	return trace_hook_is_busy(probe_of(ev));
}

/**
 * trace_fhook_add() - make a probe known, as a new event or as part of one
 * @tfh: the probe
 * @words: where its arguments come from, for the caret
 *
 * Return: 0, or a negative error: -EEXIST with the reason in error_log.
 */
int trace_fhook_add(struct trace_fhook *tfh, const struct trace_hook_words *words)
{
	guard(mutex)(&event_mutex);

	return trace_hook_add(&trace_fhook_type, &tfh->devent, words);
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

	return trace_hook_remove(&tfh->devent, &tfh->tp);
}
