// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: enabling, disabling, adding and removing events.
 *
 * An event has one or more probes (&struct trace_fhook). All of them are registered
 * with fhook while the event is in use, otherwise none, so that a disabled event
 * costs nothing and holds no module.
 *
 * All state changes under event_mutex, for which all other users of events wait. So
 * nothing waits under it for as long as a grace period of RCU tasks. A callback may
 * begin long after an event has been disabled: each registration has an ops of its
 * own (&struct trace_fhook_use), which stays allocated until then, even if the probe
 * has been enabled again or removed. Disabling an event detaches its probes from their
 * registrations. Removing a probe waits by RCU for the callbacks that use it, which run
 * with preemption disabled.
 */
#define pr_fmt(fmt)	"trace_fhook: " fmt

#include <linux/fhook.h>
#include <linux/rcupdate.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "trace_fhook.h"

static struct trace_fhook *fhook_of(struct trace_probe *tp)
{
	return container_of(tp, struct trace_fhook, tp);
}

static struct trace_fhook_use *use_of(struct fhook_ops *ops)
{
	return container_of(ops, struct trace_fhook_use, ops);
}

static struct trace_fhook_use *alloc_use(struct trace_fhook *tfh)
{
	size_t size = strlen(tfh->name) + 1;
	struct trace_fhook_use *use;

	use = kzalloc(struct_size(use, name, size), GFP_KERNEL);
	if (!use)
		return NULL;

	memcpy(use->name, tfh->name, size);
	use->tfh = tfh;
	use->ops.name = use->name;
	use->ops.tally = &tfh->tally;
	/*
	 * The pattern was checked when it was written; modules may have been
	 * unloaded since.
	 */
	use->ops.flags = FHOOK_FL_LOOSE;
	trace_fhook_set_callbacks(tfh, &use->ops);

	return use;
}

/* No callback runs any more. */
static void free_use(struct fhook_ops *ops)
{
	kfree(use_of(ops));
}

static int register_use(struct trace_fhook *tfh)
{
	unsigned long addr;
	int ret;

	if (!tfh->override)
		return fhook_register(&tfh->use->ops, tfh->pattern, NULL);

	ret = trace_fhook_may_override();
	if (ret)
		return ret;
	addr = trace_fhook_override_addr(tfh);
	if (!addr) {
		pr_warn_ratelimited("%s: %s may no longer be overridden, or its module is not loaded: load it, or define the event again\n",
				    tfh->name, tfh->pattern);
		return -ENOENT;
	}
	return fhook_register_ips(&tfh->use->ops, &addr, 1);
}

static int attach(struct trace_probe *tp)
{
	struct trace_fhook *tfh = fhook_of(tp);
	int i, ret;

	lockdep_assert_held(&event_mutex);
	/* The lockdown may have come after the definition. */
	ret = security_locked_down(LOCKDOWN_KPROBES);
	if (ret)
		return ret;

	/* A symbol of a module may have moved since the event was last used. */
	for (i = 0; i < tp->nr_args; i++) {
		ret = traceprobe_update_arg(&tp->args[i]);
		if (ret) {
			pr_warn_ratelimited("%s: the symbol of argument %s is not found: load its module, or define the event again\n",
					    tfh->name, tp->args[i].name);
			return ret;
		}
	}

	tfh->use = alloc_use(tfh);
	if (!tfh->use) {
		pr_warn_ratelimited("%s: there is no memory to enable it\n", tfh->name);
		return -ENOMEM;
	}
	ret = register_use(tfh);
	if (ret) {
		kfree(tfh->use);
		tfh->use = NULL;
	}

	return ret;
}

static void detach(struct trace_probe *tp)
{
	struct trace_fhook *tfh = fhook_of(tp);
	struct trace_fhook_use *use = tfh->use;

	lockdep_assert_held(&event_mutex);
	if (WARN_ON_ONCE(!use))
		return;

	tfh->use = NULL;
	WRITE_ONCE(use->tfh, NULL);
	tfh->disabled = get_state_synchronize_rcu();
	WARN_ON_ONCE(fhook_unregister_async(&use->ops, free_use));
}

#ifdef CONFIG_PERF_EVENTS
static int enable_for_perf(struct trace_event_call *call)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);

	if (WARN_ON_ONCE(!tp))
		return -ENODEV;
	if (fhook_of(tp)->override) {
		pr_notice_ratelimited("%s: perf and BPF programs cannot use an event with override=: enable it in tracefs\n",
				      fhook_of(tp)->name);
		return -EOPNOTSUPP;
	}
	return trace_hook_enable(&trace_fhook_type, call, NULL);
}
#endif

/*
 * Called by the events' enable files and by perf, under event_mutex, except to add an
 * event to a CPU or to remove it there.
 */
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
		return enable_for_perf(call);
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

#ifdef CONFIG_PERF_EVENTS
/* An event that only counts patches all functions of its pattern, too. */
static int may_perf(struct trace_event_call *call, struct perf_event *event)
{
	return event->parent ? 0 : perf_allow_tracepoint();
}
#endif

/* Set up the event of a new probe. */
static void init_probe(struct trace_fhook *tfh)
{
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);

	tfh->disabled = get_completed_synchronize_rcu();
	tfh->tally.name = tfh->name;
	dyn_event_init(&tfh->devent, &trace_fhook_ops);
	call->class->reg = reg_event;
	call->flags = TRACE_EVENT_FL_HOOK;
#ifdef CONFIG_PERF_EVENTS
	call->perf_perm = may_perf;
#endif
}

static struct trace_probe *probe_of(struct dyn_event *ev)
{
	return &to_trace_fhook(ev)->tp;
}

static bool is_same_kind(struct trace_probe *a, struct trace_probe *b)
{
	/* An override has a condition of its own. */
	return fhook_of(a)->kind == fhook_of(b)->kind &&
	       !fhook_of(a)->override && !fhook_of(b)->override;
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

/* Is the event enabled, or does something refer to it? */
static bool is_busy(struct dyn_event *ev)
{
	return trace_hook_is_busy(probe_of(ev));
}

/* Add a probe as a new event, or to an existing one. *@logged: error_log has the reason. */
static int add_probe(struct trace_fhook *tfh, const struct trace_hook_words *words,
		     bool *logged)
{
	int ret;

	guard(mutex)(&event_mutex);
	ret = trace_hook_add(&trace_fhook_type, &tfh->devent, words);
	*logged = ret == -EEXIST;
	if (ret)
		return ret;
	ret = trace_fhook_set_condition(tfh);
	if (ret) {
		*logged = true;
		WARN_ON_ONCE(trace_hook_remove(&tfh->devent, &tfh->tp));
		return ret;
	}

	fhook_tally_add(&tfh->tally);
	return 0;
}

/*
 * Undo add_probe(). Afterwards no callback runs and the probe may be freed. Returns -EBUSY
 * if the event is in use. This is checked for each probe before any is removed, so that
 * removing an event in use changes nothing.
 */
static int remove_probe(struct trace_fhook *tfh)
{
	int ret;

	if (is_busy(&tfh->devent))
		return -EBUSY;

	/*
	 * Callbacks use the files of the event, which are freed with it. This waits only if the
	 * event was disabled just before, and once for many events.
	 */
	cond_synchronize_rcu(tfh->disabled);
	ret = trace_hook_remove(&tfh->devent, &tfh->tp);
	if (!ret)
		fhook_tally_remove(&tfh->tally);

	return ret;
}

static int create_from_words(int argc, const char *argv[])
{
	struct trace_hook_words words = {};
	struct trace_fhook *tfh;
	bool logged = false;
	int ret;

	if (argv[WORD_HEAD][0] != 'h')
		return -ECANCELED;
	/* These events can read any kernel memory, so they need the same check as kprobe events. */
	ret = security_locked_down(LOCKDOWN_KPROBES);
	if (ret)
		return ret;

	trace_probe_log_init("trace_fhook", argc, argv);
	tfh = trace_fhook_parse(argc, argv, &words);
	ret = PTR_ERR_OR_ZERO(tfh);
	if (!ret) {
		init_probe(tfh);
		ret = add_probe(tfh, &words, &logged);
		if (ret && !logged && ret != -ENOMEM) {
			trace_probe_log_set_index(WORD_PATTERN);
			trace_probe_log_err(0, FAIL_REG_PROBE);
		}
		if (ret)
			trace_fhook_free(tfh);
	}
	trace_probe_log_clear();
	return ret;
}

static int create(const char *raw_command)
{
	return trace_probe_create(raw_command, create_from_words);
}

static int release(struct dyn_event *ev)
{
	struct trace_fhook *tfh = to_trace_fhook(ev);
	int ret = remove_probe(tfh);

	if (!ret)
		trace_fhook_free(tfh);
	return ret;
}

struct dyn_event_operations trace_fhook_ops = {
	.create		= create,
	.show		= trace_fhook_show,
	.is_busy	= is_busy,
	.free		= release,
	.match		= trace_fhook_match,
};
