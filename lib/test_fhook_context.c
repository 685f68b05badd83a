// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: nested contexts, other CPUs that call functions while
 * hooks are added and removed, waiting during unregistration, stacks with
 * trampolines, and kprobes beside one that has gone.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "test_fhook.h"

/* Long enough for any interrupt, even in a slow emulator. */
#define PATIENCE	(5 * USEC_PER_SEC)

enum context { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ, IN_NMI, CONTEXTS };

/*
 * Contexts: the callback in each of them, at the entry or at the exit, triggers
 * the next context, so that at the innermost one all guards are held.
 */
static unsigned int context_calls[CONTEXTS];
static unsigned int context_exits[CONTEXTS];
static bool context_left[CONTEXTS];
static struct irq_work into_softirq;
static struct irq_work into_hardirq;
static struct tasklet_struct softirq_tasklet;

static enum context this_context(void)
{
	if (in_nmi())
		return IN_NMI;
	if (in_hardirq())
		return IN_HARDIRQ;
	if (in_serving_softirq())
		return IN_SOFTIRQ;

	return IN_TASK;
}

static void into_softirq_fn(struct irq_work *work)
{
	tasklet_schedule(&softirq_tasklet);
}

static void softirq_fn(struct tasklet_struct *tasklet)
{
	fhook_target_a(IN_SOFTIRQ);
	WRITE_ONCE(context_left[IN_SOFTIRQ], true);
}

static void into_hardirq_fn(struct irq_work *work)
{
	fhook_target_a(IN_HARDIRQ);
	WRITE_ONCE(context_left[IN_HARDIRQ], true);
}

static bool nmi_fn(void)
{
	if (READ_ONCE(context_left[IN_NMI]))
		return false;

	fhook_target_a(IN_NMI);
	WRITE_ONCE(context_left[IN_NMI], true);

	return true;
}

static void wait_for(enum context context)
{
	unsigned int i;

	for (i = 0; i < PATIENCE && !READ_ONCE(context_left[context]); i++)
		udelay(1);
}

static void act_next_context(struct fhook_probe *probe,
			     struct fhook_regs *fregs)
{
	enum context context = this_context();

	context_calls[context]++;
	/* In the same context this is refused, and counted. */
	fhook_target_b(context);

	switch (context) {
	case IN_TASK:
		irq_work_queue(&into_softirq);
		wait_for(IN_SOFTIRQ);
		break;
	case IN_SOFTIRQ:
		irq_work_queue(&into_hardirq);
		wait_for(IN_HARDIRQ);
		break;
	case IN_HARDIRQ:
		if (fhook_test_nmi_send())
			wait_for(IN_NMI);
		break;
	default:
		break;
	}
}

static void context_exit(struct fhook_ops *ops, unsigned long ip,
			 unsigned long ret_ip, struct fhook_regs *fregs,
			 void *data)
{
	struct fhook_probe *probe = container_of(ops, struct fhook_probe, ops);

	context_exits[this_context()]++;
	if (!probe->act)
		act_next_context(probe, fregs);
}

static void try_contexts(struct kunit *test, bool at_exit)
{
	struct fhook_probe *probe = fhook_probe(test, "contexts");
	struct fhook_probe *refused = fhook_probe(test, "refused");
	u64 hits, missed;
	int i, contexts;

	memset(context_calls, 0, sizeof(context_calls));
	memset(context_exits, 0, sizeof(context_exits));
	memset(context_left, 0, sizeof(context_left));
	into_softirq = IRQ_WORK_INIT_HARD(into_softirq_fn);
	into_hardirq = IRQ_WORK_INIT_HARD(into_hardirq_fn);
	tasklet_setup(&softirq_tasklet, softirq_fn);
	contexts = fhook_test_nmi_on(nmi_fn) ? CONTEXTS : IN_NMI;

	probe->act = at_exit ? NULL : act_next_context;
	probe->ops.exit = context_exit;
	fhook_probe_register(probe, "fhook_target_a");
	fhook_probe_register(refused, "fhook_target_b");
	fhook_target_a(IN_TASK);

	for (i = 0; i < contexts; i++) {
		KUNIT_EXPECT_EQ_MSG(test, 1, context_calls[i], "context %d", i);
		KUNIT_EXPECT_EQ_MSG(test, 1, context_exits[i], "context %d", i);
	}
	kunit_info(test, "%d of %d contexts\n", contexts, CONTEXTS);
	KUNIT_EXPECT_EQ(test, contexts, probe->calls);
	KUNIT_EXPECT_EQ(test, 0, refused->calls);
	fhook_count(&probe->ops, &hits, &missed);
	KUNIT_EXPECT_EQ(test, 0, missed);
	fhook_count(&refused->ops, &hits, &missed);
	KUNIT_EXPECT_EQ(test, contexts, missed);

	fhook_probe_unregister(probe);
	fhook_probe_unregister(refused);
	fhook_test_nmi_off();
	irq_work_sync(&into_softirq);
	irq_work_sync(&into_hardirq);
	tasklet_kill(&softirq_tasklet);
}

static void test_contexts(struct kunit *test)
{
	try_contexts(test, false);
}

static void test_contexts_exit(struct kunit *test)
{
	try_contexts(test, true);
}

/*
 * Other CPUs
 */

/**
 * struct caller - a thread that keeps calling targets
 * @task: the thread
 * @calls: number of its calls
 * @wrong: number of wrong results
 */
struct caller {
	struct task_struct	*task;
	unsigned long		calls;
	unsigned long		wrong;
};

static int caller_fn(void *data)
{
	struct caller *caller = data;
	u32 value = 0;

	while (!kthread_should_stop()) {
		value++;
		if (fhook_target_a(value) != FHOOK_A(value))
			caller->wrong++;
		if (fhook_target_b(value) != FHOOK_B(value))
			caller->wrong++;
		if (fhook_target_args(value % 10, 2, 3, 4, 5, 6, 7) !=
		    value % 10 + 7654320)
			caller->wrong++;
		WRITE_ONCE(caller->calls, caller->calls + 1);
		/* Otherwise waiting for trampolines would never end. */
		if (value % 1024 == 0)
			cond_resched_tasks_rcu_qs();
	}

	return 0;
}

static void caller_stop(void *data)
{
	struct caller *caller = data;

	kthread_stop(caller->task);
}

static struct caller *caller_start(struct kunit *test)
{
	struct caller *caller;

	caller = kunit_kzalloc(test, sizeof(*caller), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, caller);
	caller->task = kthread_run(caller_fn, caller, "fhook_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(caller->task));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, caller_stop, caller));

	return caller;
}

/* A callback that may run on several CPUs at once, and writes nothing. */
static int silent_entry(struct fhook_ops *ops, unsigned long ip,
			unsigned long parent_ip, struct fhook_regs *fregs,
			void *data)
{
	return 0;
}

static void churn(struct kunit *test, struct fhook_probe *probes[3], int round)
{
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ_MSG(test, 0,
				    fhook_register(&probes[i]->ops,
						   "fhook_target_a fhook_target_b fhook_target_args",
						   NULL),
				    "round %d: %s", round,
				    probes[i]->report.text);
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&probes[1]->ops,
						"fhook_target_b", NULL));
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0,
				fhook_unregister_async(&probes[(i + round) %
							       3]->ops, NULL));
	fhook_barrier();
}

static void test_churn(struct kunit *test)
{
	struct caller *callers[2] = { caller_start(test), caller_start(test) };
	struct fhook_probe *probes[3];
	unsigned long before;
	int i;

	for (i = 0; i < 3; i++) {
		probes[i] = fhook_probe(test, "churn");
		probes[i]->ops.entry = silent_entry;
		probes[i]->ops.flags = i == 2 ? FHOOK_FL_REGS : 0;
		fhook_probe_undo(probes[i]);
	}
	before = READ_ONCE(callers[0]->calls);
	for (i = 0; i < 12; i++)
		churn(test, probes, i);
	KUNIT_EXPECT_GT(test, READ_ONCE(callers[0]->calls), before);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, READ_ONCE(callers[i]->wrong));
}

/* The hits of all CPUs are counted. */
static void test_count_all_cpus(struct kunit *test)
{
	struct caller *callers[2] = { caller_start(test), caller_start(test) };
	struct fhook_probe *probe = fhook_probe(test, "all cpus");
	u64 before, after, missed;
	unsigned long calls;

	probe->ops.entry = silent_entry;
	fhook_probe_register(probe, "fhook_target_a");
	fhook_count(&probe->ops, &before, &missed);
	calls = READ_ONCE(callers[0]->calls) + READ_ONCE(callers[1]->calls);
	msleep(200);
	calls = READ_ONCE(callers[0]->calls) + READ_ONCE(callers[1]->calls) -
		calls;
	fhook_count(&probe->ops, &after, &missed);
	KUNIT_EXPECT_GT(test, calls, 0);
	/* Each caller may be in the middle of a call, at both ends. */
	KUNIT_EXPECT_GE(test, after - before + 2, calls);
	KUNIT_EXPECT_EQ(test, 0, missed);
	fhook_probe_unregister(probe);
}

/* Waiting during unregistration */

static DECLARE_COMPLETION(done_completion);
static struct fhook_ops *done_order[4];
static unsigned int done_num;
static bool done_sleeps;

static void done_fn(struct fhook_ops *ops)
{
	if (done_sleeps)
		msleep(20);
	if (done_num < ARRAY_SIZE(done_order))
		done_order[done_num++] = ops;
	complete(&done_completion);
}

static void test_async(struct kunit *test)
{
	struct fhook_probe *probes[3];
	int i;

	done_num = 0;
	done_sleeps = true;
	for (i = 0; i < 3; i++) {
		probes[i] = fhook_probe(test, "async");
		fhook_probe_register(probes[i], "fhook_target_a");
	}
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0,
				fhook_unregister_async(&probes[i]->ops,
						       done_fn));

	/*
	 * From here on the callback is not called, and the ops cannot be
	 * registered yet.
	 */
	fhook_target_a(1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0, probes[i]->calls);
		KUNIT_EXPECT_FALSE(test, fhook_is_registered(&probes[i]->ops));
	}
	KUNIT_EXPECT_EQ(test, -EBUSY, fhook_register(&probes[2]->ops,
						     "fhook_target_a", NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_unregister(&probes[2]->ops));

	fhook_barrier();
	KUNIT_EXPECT_EQ(test, 3, done_num);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_PTR_EQ(test, &probes[i]->ops, done_order[i]);
	KUNIT_EXPECT_EQ(test, 0, fhook_register(&probes[2]->ops,
						"fhook_target_a", NULL));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probes[2]->calls);
	done_sleeps = false;
}

static int done_again_err;

static void done_again(struct fhook_ops *ops)
{
	done_again_err = fhook_register(ops, "fhook_target_b", NULL);
}

/* "It may be freed or registered again from this point on", including here. */
static void test_register_when_done(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "again");

	done_again_err = -EAGAIN;
	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, 0, fhook_unregister_async(&probe->ops,
							done_again));
	fhook_barrier();
	KUNIT_EXPECT_EQ(test, 0, done_again_err);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_probe_unregister(probe);
}

/* A callback that does not return until it is told to. */
static bool callback_running, callback_may_end;

static int busy_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data)
{
	WRITE_ONCE(callback_running, true);
	while (!READ_ONCE(callback_may_end))
		cpu_relax();

	return 0;
}

static int call_once_fn(void *data)
{
	fhook_target_c(1);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

static void test_wait_for_callback(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "busy");
	struct task_struct *task;
	int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "there is one CPU only");

	WRITE_ONCE(callback_running, false);
	WRITE_ONCE(callback_may_end, false);
	reinit_completion(&done_completion);
	probe->ops.entry = busy_entry;
	fhook_probe_register(probe, "fhook_target_c");
	task = kthread_run(call_once_fn, NULL, "fhook_busy");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (i = 0; i < 5000 && !READ_ONCE(callback_running); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, callback_running);

	KUNIT_EXPECT_EQ(test, 0, fhook_unregister_async(&probe->ops, done_fn));
	KUNIT_EXPECT_EQ(test, 0,
			wait_for_completion_timeout(&done_completion, HZ / 2));
	WRITE_ONCE(callback_may_end, true);
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&done_completion, 60 * HZ));
	fhook_barrier();
	kthread_stop(task);
}

static DECLARE_COMPLETION(sleeper_in);
static DECLARE_COMPLETION(sleeper_out);

static u32 sleep_in_function(u32 value)
{
	complete(&sleeper_in);
	wait_for_completion(&sleeper_out);

	return value;
}

static int sleeper_fn(void *data)
{
	fhook_target_nest(1, sleep_in_function);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

/* Some functions never return; that must not delay the removal of a hook. */
static void test_no_wait_for_function(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "sleeper");
	struct task_struct *task;

	reinit_completion(&sleeper_in);
	reinit_completion(&sleeper_out);
	fhook_probe_register(probe, "fhook_target_nest");
	task = kthread_run(sleeper_fn, NULL, "fhook_sleeper");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&sleeper_in);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	/* Otherwise this would never end. */
	fhook_probe_unregister(probe);
	complete(&sleeper_out);
	kthread_stop(task);
}

static void ignore_exit(struct fhook_ops *ops, unsigned long ip, unsigned long ret_ip,
			struct fhook_regs *fregs, void *data)
{
}

static int wait_fn(void *data)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

static bool new_task_has_stack(struct kunit *test)
{
	struct task_struct *task = kthread_run(wait_fn, NULL, "fhook_new");
	bool has_stack;

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	has_stack = READ_ONCE(task->fhook_stack);
	kthread_stop(task);

	return has_stack;
}

/* New tasks need a shadow stack only as long as an exit is registered. */
static void test_new_tasks(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "exit");

	if (new_task_has_stack(test))
		kunit_skip(test, "somebody else has hooked an exit");

	probe->ops.exit = ignore_exit;
	fhook_probe_register(probe, "fhook_target_c");
	KUNIT_EXPECT_TRUE(test, new_task_has_stack(test));
	fhook_probe_unregister(probe);
	KUNIT_EXPECT_FALSE(test, new_task_has_stack(test));
}

/*
 * Stacks
 */

#define MAX_FRAMES	64

static unsigned long frames[MAX_FRAMES];
static unsigned long reliable[MAX_FRAMES];
static unsigned int num_frames;
static int num_reliable;

static void act_unwind(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	num_frames = stack_trace_save(frames, MAX_FRAMES, 0);
	num_reliable = fhook_test_trace_reliable(reliable, MAX_FRAMES);
}

/* Expect these frames from the callback on, and no others. */
static void expect_frames(struct kunit *test, const unsigned long *entries,
			  unsigned int num)
{
	static const char *const names[] = {
		"fhook_probe_entry+", "fhook_trampoline_", "fhook_target_b+",
		"fhook_target_nest+", "try_unwind+",
	};
	char symbol[KSYM_SYMBOL_LEN];
	unsigned int i, first;

	for (first = 0; first < num; first++) {
		sprint_symbol(symbol, entries[first]);
		if (!strncmp(symbol, names[0], strlen(names[0])))
			break;
	}
	KUNIT_ASSERT_LE(test, first + ARRAY_SIZE(names), num);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		fhook_expect_symbol(test, entries[first + i], names[i]);
}

static noinline void try_unwind(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "unwind");

	probe->ops.flags = flags;
	probe->act = act_unwind;
	num_frames = 0;
	num_reliable = 0;
	fhook_probe_register(probe, "fhook_target_b");
	KUNIT_EXPECT_EQ(test, FHOOK_B(2) + 1,
			fhook_target_nest(1, fhook_target_b));
	KUNIT_EXPECT_EQ(test, 1, probe->calls);

	expect_frames(test, frames, num_frames);
	if (IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE)) {
		KUNIT_ASSERT_GT(test, num_reliable, 0);
		expect_frames(test, reliable, num_reliable);
	}
	fhook_probe_unregister(probe);
}

static void test_unwind(struct kunit *test)
{
	try_unwind(test, 0);
	try_unwind(test, FHOOK_FL_REGS);
	try_unwind(test, FHOOK_FL_UNGUARDED);
	try_unwind(test, FHOOK_FL_REGS | FHOOK_FL_UNGUARDED);
}

static void expect_turned(struct kunit *test, bool on)
{
	KUNIT_EXPECT_EQ(test, on ? FHOOK_B(1) + 1 : FHOOK_A(1) + 1, fhook_target_branch(1));
	KUNIT_EXPECT_EQ(test, on ? FHOOK_B(1) : FHOOK_A(1), fhook_target_static(1));
}

/*
 * Jump labels and static calls change text next to slots, without effect on
 * fhook.
 */
static void test_beside_patched(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "beside");
	bool on;

	for (on = true;; on = false) {
		/* While they are hooked, and while they are not. */
		fhook_probe_register(probe, "fhook_target_branch fhook_target_static");
		expect_turned(test, !on);
		fhook_targets_turn(on);
		expect_turned(test, on);
		KUNIT_EXPECT_EQ(test, 4, probe->calls);
		fhook_probe_unregister(probe);
		expect_turned(test, on);
		fhook_targets_turn(!on);
		expect_turned(test, !on);
		fhook_targets_turn(on);
		KUNIT_EXPECT_EQ(test, 4, probe->calls);
		probe->calls = 0;
		if (!on)
			break;
	}
}

#ifdef CONFIG_KPROBES_ON_FHOOK
static unsigned int kprobe_calls;

static int kprobe_hit(struct kprobe *p, struct pt_regs *regs)
{
	kprobe_calls++;

	return 0;
}

static void register_disabled(struct kunit *test, struct kprobe *p)
{
	*p = (struct kprobe){
		.addr		= (void *)fhook_target_a,
		.pre_handler	= kprobe_hit,
		.flags		= KPROBE_FLAG_DISABLED,
	};
	KUNIT_EXPECT_EQ(test, 0, register_kprobe(p));
}

/*
 * The module of a carried kprobe has gone, and other text is at its address. fhook, which is
 * off, cannot carry the kprobes there.
 */
static void test_kprobe_gone(struct kunit *test)
{
	static struct kprobe gone, probes[2];

	register_disabled(test, &gone);
	if (!(gone.flags & KPROBE_FLAG_FHOOK)) {
		unregister_kprobe(&gone);
		kunit_skip(test, "kprobes are not carried");
	}
	gone.flags |= KPROBE_FLAG_GONE;
	KUNIT_EXPECT_EQ(test, 0, fhook_test_switch(false));
	register_disabled(test, &probes[0]);
	register_disabled(test, &probes[1]);
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probes[0]));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probes[1]));
	kprobe_calls = 0;
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 2, kprobe_calls);
	unregister_kprobe(&probes[0]);
	unregister_kprobe(&probes[1]);
	KUNIT_EXPECT_EQ(test, 0, fhook_test_switch(true));
	unregister_kprobe(&gone);
}
#endif

static struct kunit_case fhook_context_cases[] = {
	KUNIT_CASE(test_contexts),
	KUNIT_CASE(test_contexts_exit),
	KUNIT_CASE_SLOW(test_churn),
	KUNIT_CASE(test_count_all_cpus),
	KUNIT_CASE(test_async),
	KUNIT_CASE(test_register_when_done),
	KUNIT_CASE(test_wait_for_callback),
	KUNIT_CASE(test_no_wait_for_function),
	KUNIT_CASE(test_new_tasks),
	KUNIT_CASE(test_unwind),
	KUNIT_CASE(test_beside_patched),
#ifdef CONFIG_KPROBES_ON_FHOOK
	KUNIT_CASE(test_kprobe_gone),
#endif
	{}
};

static struct kunit_suite fhook_context_suite = {
	.name = "fhook_context",
	.test_cases = fhook_context_cases,
};

kunit_test_suite(fhook_context_suite);
