// SPDX-License-Identifier: GPL-2.0
/*
 * uhook events: registering events with uhook, for all or some processes, and their hits.
 *
 * trace_hook_events.c registers an event while it is enabled. An event that works in the
 * program and records nothing is registered from its definition on, unless its own file
 * "enable" stops it.
 *
 * An event that only perf uses is registered for the address spaces of the tasks that perf
 * selects, as uprobe events are. When this selection changes, or a trace instance enables
 * or disables the event as well, uhook is asked to apply the filter again.
 *
 * event_mutex protects all data that is changed here. Nothing waits under it for tasks that
 * are in a handler: a probe is freed when no hit is in callbacks of its registrations. Hits
 * that are being handled when an event is disabled find no file to write to.
 */
#define pr_fmt(fmt)	"trace_uhook: " fmt

#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>

#include "../uhook/tracefs.h"
#include "trace_uhook.h"

static struct dyn_event_operations trace_uhook_ops;
static const struct trace_hook_type trace_uhook_type;

/*
 * The first thread of a process may end before the others. The first one that has an address
 * space decides, because all share it: other processes must not walk thousands of threads.
 */
static bool is_mm_of(struct pid *pid, const struct mm_struct *mm)
{
	struct task_struct *leader, *task;

	guard(rcu)();
	leader = pid_task(pid, PIDTYPE_TGID);
	if (!leader)
		return false;
	for_each_thread(leader, task) {
		const struct mm_struct *task_mm = READ_ONCE(task->mm);

		if (task_mm)
			return task_mm == mm;
	}
	return false;
}

/* uhook calls this at any time, and not under event_mutex. */
static bool is_meant(struct uhook_ops *ops, struct mm_struct *mm)
{
	struct trace_uhook *tuh = ops->private;

	if (tuh->pid && !is_mm_of(tuh->pid, mm))
		return false;
	return READ_ONCE(tuh->for_all) || trace_uprobe_filter_match(tuh->tp.event->filter, mm);
}

static void say_for_whom(struct trace_probe *tp)
{
	struct trace_uhook *tuh = uhook_of_probe(tp);
	bool for_all = tuh->ops.user != UHOOK_USER_NONE ||
		       trace_probe_test_flag(tp, TP_FLAG_TRACE);

	WRITE_ONCE(tuh->for_all, for_all);
}

static struct uhook_point *make_points(const struct trace_uhook_place *place)
{
	struct uhook_point *points = kcalloc(place->nr, sizeof(*points), GFP_KERNEL);
	unsigned int i;

	for (i = 0; points && i < place->nr; i++)
		points[i] = (struct uhook_point) {
			.inode		= d_real_inode(place->path.dentry),
			.offset		= place->offsets[i],
			.ref_ctr_offset	= place->ref_ctr_offset,
		};
	return points;
}

static void add_hits(struct uhook_hits *sum, const struct uhook_hits *hits)
{
	sum->kernel += hits->kernel;
	sum->user += hits->user;
	sum->jumped += hits->jumped;
	sum->lost += hits->lost;
	sum->missed += hits->missed;
	sum->unreturned += hits->unreturned;
}

/* No task is in a handler of this registration any more. */
static void on_gone(struct uhook_ops *ops, const struct uhook_hits *hits)
{
	struct trace_uhook *tuh = ops->private;

	/* Hits of a span's entry do not count. */
	if (ops == &tuh->ops)
		add_hits(&tuh->past, hits);
	trace_uhook_put(tuh);
}

/* The hook holds a reference until no task is in its handlers, also if it is refused. */
static int register_hook(struct trace_uhook *tuh, struct uhook_ops *ops,
			 const struct uhook_point *points, unsigned int nr,
			 struct uhook_report *report)
{
	int ret;

	/* An event that works in the program applies to all processes unless one is given. */
	ops->filter = tuh->pid || ops->user == UHOOK_USER_NONE ? is_meant : NULL;
	ops->private = tuh;
	ops->report = report;
	refcount_inc(&tuh->refs);
	ret = uhook_register_async(ops, points, nr, on_gone);
	ops->report = NULL;

	return ret;
}

/* Hook the function's entry, too. A call that runs already is not known at its exit. */
static int register_span(struct trace_uhook *tuh, const struct uhook_point *points,
			 struct uhook_report *report)
{
	int ret;

	trace_uhook_begin_span(tuh);
	ret = register_hook(tuh, &tuh->entry, points, 1, report);
	if (ret)
		return ret;
	ret = register_hook(tuh, &tuh->ops, points + 1, tuh->place.nr - 1, report);
	if (ret)
		uhook_unregister_async(&tuh->entry, on_gone);
	return ret;
}

static int attach(struct trace_probe *tp)
{
	struct trace_uhook *tuh = uhook_of_probe(tp);
	struct uhook_point *points = make_points(&tuh->place);
	struct uhook_report report = {};
	int ret;

	if (!points) {
		pr_warn_ratelimited("%s/%s: there is no memory for %u points\n",
				    trace_probe_group_name(tp), trace_probe_name(tp),
				    tuh->place.nr);
		return -ENOMEM;
	}
	say_for_whom(tp);

	if (tuh->place.kind == TRACE_UHOOK_SPAN)
		ret = register_span(tuh, points, &report);
	else
		ret = register_hook(tuh, &tuh->ops, points, tuh->place.nr, &report);
	kfree(points);
	if (ret)
		pr_warn_ratelimited("%s/%s: %s\n", trace_probe_group_name(tp),
				    trace_probe_name(tp), report.text);

	return ret;
}

static void detach(struct trace_probe *tp)
{
	struct trace_uhook *tuh = uhook_of_probe(tp);

	lockdep_assert_held(&event_mutex);

	uhook_unregister_async(&tuh->ops, on_gone);
	if (tuh->place.kind == TRACE_UHOOK_SPAN)
		uhook_unregister_async(&tuh->entry, on_gone);
	tuh->disabled = get_state_synchronize_rcu();
}

/*
 * Apply a change of the processes to which an event applies. Tries all places, and
 * returns an error if it fails for any of them.
 */
static int reapply_event(struct trace_probe *event, bool add)
{
	struct trace_probe *tp;
	int ret = 0;

	list_for_each_entry(tp, trace_probe_probe_list(event), list) {
		say_for_whom(tp);
		ret = uhook_apply(&uhook_of_probe(tp)->entry, add) ?: ret;
		ret = uhook_apply(&uhook_of_probe(tp)->ops, add) ?: ret;
	}
	return ret;
}

/*
 * The event is going to apply to more processes, to that of @task or to all, which may have
 * missed exits meanwhile. perf users without privileges must not disturb others, so they
 * affect only their process.
 */
static void forget_calls(struct trace_probe *event, struct task_struct *task)
{
	struct trace_probe *tp;

	if (uhook_of_probe(event)->place.kind != TRACE_UHOOK_SPAN)
		return;
	if (task) {
		uhook_forget_calls(task);
		return;
	}
	list_for_each_entry(tp, trace_probe_probe_list(event), list)
		trace_uhook_begin_span(uhook_of_probe(tp));
}

/* Is perf the only user of the event? */
static bool is_perfs(struct trace_probe *tp)
{
	return trace_probe_is_enabled(tp) && !trace_probe_test_flag(tp, TP_FLAG_TRACE);
}

static int disable_event(struct trace_event_call *call, struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	int ret;

	/* Fetch the hits that programs recorded while the event was enabled. */
	if (uhook_of_probe(tp)->ops.user == UHOOK_USER_RECORD)
		uhook_flush();
	ret = trace_hook_disable(&trace_uhook_type, call, file);
	/* A place that cannot be removed is still hit; is_meant() then ignores the hit. */
	if (!ret && file && is_perfs(tp))
		reapply_event(tp, false);
	return ret;
}

static int enable_event(struct trace_event_call *call, struct trace_event_file *file)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	bool was_perfs;
	int ret;

	if (WARN_ON_ONCE(!tp))
		return -ENODEV;
	if (!file && uhook_of_probe(tp)->ops.user != UHOOK_USER_NONE) {
		pr_notice_ratelimited("%s/%s: perf and BPF programs need hits in the kernel, and user= keeps them in the program: define the event without user=\n",
				      trace_probe_group_name(tp), trace_probe_name(tp));
		return -EOPNOTSUPP;
	}

	was_perfs = is_perfs(tp);
	ret = trace_hook_enable(&trace_uhook_type, call, file);
	if (ret || !was_perfs || !file)
		return ret;
	forget_calls(tp, NULL);
	ret = reapply_event(tp, true);
	if (ret) {
		pr_warn_ratelimited("%s/%s: its breakpoints cannot be inserted in all processes: error %d\n",
				    trace_probe_group_name(tp), trace_probe_name(tp), ret);
		disable_event(call, file);
	}
	return ret;
}

static int close_perf(struct trace_event_call *call, struct perf_event *event)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	struct trace_uprobe_filter *filter;

	lockdep_assert_held(&event_mutex);
	if (WARN_ON_ONCE(!tp))
		return -ENODEV;
	filter = tp->event->filter;
	/* If this was the last user, the event is disabled next. */
	if (trace_uprobe_filter_remove(filter, event) || uprobe_filter_is_empty(filter) ||
	    !is_perfs(tp))
		return 0;
	return reapply_event(tp, false);
}

static int open_perf(struct trace_event_call *call, struct perf_event *event)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	int ret;

	lockdep_assert_held(&event_mutex);
	if (WARN_ON_ONCE(!tp))
		return -ENODEV;
	if (trace_uprobe_filter_add(tp->event->filter, event) || !is_perfs(tp))
		return 0;
	forget_calls(tp, event->hw.target);
	ret = reapply_event(tp, true);
	if (ret)
		close_perf(call, event);
	return ret;
}

/*
 * Called by the events' enable files and by perf, under event_mutex, except to add an
 * event to a CPU or to remove it there.
 */
static int reg_event(struct trace_event_call *call, enum trace_reg type,
		     void *data)
{
	switch (type) {
	case TRACE_REG_REGISTER:
		return enable_event(call, data);
	case TRACE_REG_UNREGISTER:
		return disable_event(call, data);
	case TRACE_REG_PERF_REGISTER:
		return enable_event(call, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		return disable_event(call, NULL);
	case TRACE_REG_PERF_OPEN:
		return open_perf(call, data);
	case TRACE_REG_PERF_CLOSE:
		return close_perf(call, data);
	default:
		return 0;
	}
}

static struct trace_probe *probe_of(struct dyn_event *ev)
{
	return &to_trace_uhook(ev)->tp;
}

static bool is_same_kind(struct trace_probe *a, struct trace_probe *b)
{
	return uhook_of_probe(a)->ops.user == uhook_of_probe(b)->ops.user &&
	       uhook_of_probe(a)->ustack == uhook_of_probe(b)->ustack &&
	       uhook_of_probe(a)->place.kind == uhook_of_probe(b)->place.kind;
}

static bool is_one_place(struct trace_uhook_place *here, struct trace_uhook_place *there)
{
	return d_real_inode(here->path.dentry) == d_real_inode(there->path.dentry) &&
	       here->nr == there->nr &&
	       !memcmp(here->offsets, there->offsets, here->nr * sizeof(*here->offsets));
}

/* If a function is called, it must also be the same. */
static bool is_same_place(struct trace_probe *a, struct trace_probe *b)
{
	struct trace_uhook *here = uhook_of_probe(a), *there = uhook_of_probe(b);

	return here->pid == there->pid && is_one_place(&here->place, &there->place) &&
	       (here->ops.user != UHOOK_USER_FUNCTION ||
		is_one_place(&here->function, &there->function));
}

static int run_command(const char *command)
{
	return trace_hook_run_command(&trace_uhook_type, command);
}

static const struct trace_hook_type trace_uhook_type = {
	.ops		= &trace_uhook_ops,
	.file		= "uhook_events",
	.log		= "trace_uhook",
	.letter		= 'u',
	.foreign	= "A definition is u[:[GRP/]EVENT] PATH:OFFSET, a removal begins with '-:'",
	.run		= run_command,
	.probe		= probe_of,
	.same_kind	= is_same_kind,
	.same_place	= is_same_place,
	.attach		= attach,
	.detach		= detach,
};

/*
 * An event without records is not enabled by trace instances: it works from its definition
 * on. Its file "enable", which is the same in all instances, stops and resumes it.
 */
static bool is_at_work(struct trace_probe *event)
{
	return uhook_of_probe(event)->ops.attachment;
}

static ssize_t work_read(struct file *file, char __user *ubuf, size_t count, loff_t *ppos)
{
	struct trace_event_file *event_file;
	bool on = false;

	scoped_guard(mutex, &event_mutex) {
		event_file = event_file_file(file);
		if (event_file)
			on = is_at_work(trace_probe_primary_from_call(event_file->event_call));
	}
	if (!event_file)
		return -ENODEV;
	return simple_read_from_buffer(ubuf, count, ppos, on ? "1\n" : "0\n", 2);
}

static int set_work(struct trace_probe *event, bool on)
{
	if (on == is_at_work(event))
		return 0;
	if (on)
		return trace_hook_attach(&trace_uhook_type, event);
	trace_hook_detach(&trace_uhook_type, event);
	return 0;
}

static ssize_t work_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	struct trace_event_file *event_file;
	bool on;
	int ret;

	ret = kstrtobool_from_user(ubuf, count, &on);
	if (ret)
		return ret;

	guard(mutex)(&event_mutex);
	event_file = event_file_file(file);
	if (!event_file)
		return -ENODEV;
	return set_work(trace_probe_primary_from_call(event_file->event_call), on) ?: count;
}

static const struct file_operations work_fops = {
	.open		= tracing_open_file_tr,
	.read		= work_read,
	.write		= work_write,
	.release	= tracing_release_file_tr,
	.llseek		= default_llseek,
};

/* Set up the hook and the event of a new probe. */
static void init_probe(struct trace_uhook *tuh)
{
	struct trace_event_call *call = trace_probe_event_call(&tuh->tp);

	dyn_event_init(&tuh->devent, &trace_uhook_ops);
	init_trace_uprobe_filter(tuh->tp.event->filter);
	trace_uhook_set_event(tuh);
	call->class->reg = reg_event;
	/* Users may trace their own programs, which shows them nothing new. */
	call->flags = TRACE_EVENT_FL_HOOK | TRACE_EVENT_FL_CAP_ANY;
	if (!trace_uhook_records(tuh)) {
		call->flags |= TRACE_EVENT_FL_IGNORE_ENABLE;
		call->class->enable_fops = &work_fops;
	}
}

/* Is the event enabled, or does something refer to it? */
static bool is_busy(struct dyn_event *ev)
{
	return trace_hook_is_busy(probe_of(ev));
}

/* Print the warning once, for all events. */
static void warn_of_returns(struct trace_probe *tp)
{
	pr_info_once("%s/%s: hooking returns replaces return addresses: Go programs, coroutines, and C++ exceptions or Rust panics that pass the function crash (Documentation/trace/uhook.rst)\n",
		     trace_probe_group_name(tp), trace_probe_name(tp));
}

/* Another probe of the same event, or NULL */
static struct trace_uhook *other_probe(struct trace_uhook *tuh)
{
	struct trace_probe *tp;

	lockdep_assert_held(&event_mutex);

	list_for_each_entry(tp, trace_probe_probe_list(&tuh->tp), list)
		if (tp != &tuh->tp)
			return uhook_of_probe(tp);
	return NULL;
}

/* A hit may be in callbacks of a removed probe, which use the event of the remaining ones. */
static void keep_event(struct trace_uhook *tuh)
{
	struct trace_uhook *other = other_probe(tuh);

	if (other)
		refcount_inc(&other->refs);
	tuh->keeps = other;
}

static int retire_probe(struct trace_uhook *tuh)
{
	int ret = trace_hook_retire(&tuh->devent, &tuh->tp);

	if (!ret)
		keep_event(tuh);
	return ret;
}

/* Add a probe as a new event, or to an existing one. -EEXIST: error_log has the reason. */
static int add_probe(struct trace_uhook *tuh, const struct trace_hook_words *words)
{
	struct trace_uhook *other;
	int ret;

	guard(mutex)(&event_mutex);

	ret = trace_hook_add(&trace_uhook_type, &tuh->devent, words);
	if (ret) {
		keep_event(tuh);
		return ret;
	}
	if (tuh->place.kind == TRACE_UHOOK_RETURN)
		warn_of_returns(&tuh->tp);
	if (trace_uhook_records(tuh))
		return 0;
	other = other_probe(tuh);
	if (other && !is_at_work(&other->tp))
		return 0;
	ret = attach(&tuh->tp);
	if (ret && !WARN_ON_ONCE(retire_probe(tuh)))
		return ret;
	return 0;
}

/*
 * Undo add_probe(). Afterwards, and after trace_uhook_put(), the probe is freed when no hit
 * is in its callbacks any more. Returns -EBUSY if the event is in use.
 */
static int remove_probe(struct trace_uhook *tuh)
{
	int ret;

	if (is_busy(&tuh->devent))
		return -EBUSY;

	/*
	 * A hit writes its record under RCU, and the file of the event is freed now. This
	 * waits only if the event was disabled just before, and once for many events.
	 */
	cond_synchronize_rcu(tuh->disabled);
	ret = retire_probe(tuh);
	if (ret)
		return ret;

	/* Events without records are still registered; others were unregistered when disabled. */
	if (tuh->ops.attachment)
		detach(&tuh->tp);
	return 0;
}

/* Release the files, so that their file systems can be unmounted. */
static void drop_probe(struct trace_uhook *tuh)
{
	trace_uhook_leave_place(&tuh->place);
	trace_uhook_leave_place(&tuh->function);
	trace_uhook_put(tuh);
}

/* Log an error that has no message yet */
static void log_failure(int error)
{
	trace_probe_log_set_index(WORD_PLACE);
	switch (error) {
	case -EEXIST:	/* error_log has the reason already. */
	case -ENOMEM:
		break;
	case -ENOTSUPP:
	case -EOPNOTSUPP:
		trace_probe_log_err(0, UHOOK_NOT_SUPPORTED);
		break;
	default:
		trace_probe_log_err(0, FAIL_REG_PROBE);
	}
}

static int create_from_words(int argc, const char *argv[])
{
	struct trace_hook_words words = {};
	struct trace_uhook *tuh;
	int ret;

	if (argv[WORD_HEAD][0] != 'u')
		return -ECANCELED;
	if (argc <= WORD_PLACE || !strpbrk(argv[WORD_PLACE], "/:"))
		return -ECANCELED;

	trace_probe_log_init("trace_uhook", argc, argv);
	tuh = trace_uhook_parse(argc, argv, &words);
	ret = PTR_ERR_OR_ZERO(tuh);
	if (!ret) {
		init_probe(tuh);
		ret = add_probe(tuh, &words);
		if (ret) {
			log_failure(ret);
			drop_probe(tuh);
		}
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
	struct trace_uhook *tuh = to_trace_uhook(ev);
	int ret = remove_probe(tuh);

	if (!ret)
		drop_probe(tuh);
	return ret;
}

static struct dyn_event_operations trace_uhook_ops = {
	.create		= create,
	.show		= trace_uhook_show,
	.is_busy	= is_busy,
	.free		= release,
	.match		= trace_uhook_match,
};

static void show_event_hits(struct seq_file *m, struct trace_probe *event)
{
	enum trace_uhook_kind kind = uhook_of_probe(event)->place.kind;
	struct uhook_hits hits, sum = {};
	struct trace_probe *tp;
	u64 unpaired = 0;

	list_for_each_entry(tp, trace_probe_probe_list(event), list) {
		uhook_held_hits(&uhook_of_probe(tp)->ops, &hits);
		add_hits(&sum, &hits);
		add_hits(&sum, &uhook_of_probe(tp)->past);
		unpaired += atomic64_read(&uhook_of_probe(tp)->unpaired);
	}
	seq_printf(m, "%s/%s kernel %llu user %llu jumped %llu",
		   trace_probe_group_name(event), trace_probe_name(event),
		   sum.kernel, sum.user, sum.jumped);
	if (uhook_of_probe(event)->ops.user == UHOOK_USER_RECORD)
		seq_printf(m, " lost %llu", sum.lost);
	if (uhook_of_probe(event)->ops.user == UHOOK_USER_FUNCTION)
		seq_printf(m, " missed %llu", sum.missed);
	if (kind == TRACE_UHOOK_RETURN)
		seq_printf(m, " unreturned %llu", sum.unreturned);
	if (kind == TRACE_UHOOK_SPAN)
		seq_printf(m, " unpaired %llu", unpaired);
	seq_putc(m, '\n');
}

/**
 * trace_uhook_show_hits() - print the hits of each event
 * @m: output
 *
 * Prints a line "GROUP/EVENT kernel N user N jumped N [lost N] [missed N] [unreturned
 * N] [unpaired N]" for each event, with the counts of &struct uhook_hits since the definition
 * of each of its probes, and of &trace_uhook.unpaired. May sleep; takes event_mutex.
 */
void trace_uhook_show_hits(struct seq_file *m)
{
	struct trace_probe *tp;
	struct dyn_event *pos;

	guard(mutex)(&event_mutex);
	uhook_hold_hits();

	for_each_dyn_event(pos) {
		if (pos->ops != &trace_uhook_ops)
			continue;
		tp = probe_of(pos);
		/* If an event has several probes, print the event at its first one. */
		if (trace_probe_primary_from_call(trace_probe_event_call(tp)) == tp)
			show_event_hits(m, tp);
	}

	uhook_release_hits();
}

/* Before user_events, whose definitions also begin with "u:" */
static __init int init_uhook_events_early(void)
{
	return dyn_event_register(&trace_uhook_ops);
}
core_initcall(init_uhook_events_early);

static __init int init_uhook_events(void)
{
	trace_hook_create_file(&trace_uhook_type);
	return 0;
}
fs_initcall(init_uhook_events);
