// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: exit callbacks, and functions that are skipped.
 *
 * As in test_fhook.c, callbacks record what they see, and the test checks it after the
 * hooked function has returned.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "test_fhook.h"

#define MAX_FRAMES	64

/* More calls than a task has room for, if each uses the maximum. */
#define TOO_DEEP	40

/**
 * struct exit_probe - an ops that records its calls
 * @ops: the ops
 * @report: last report of fhook about the ops
 * @test: test that owns the probe
 * @entries: number of calls of the entry callback
 * @exits: number of calls of the exit callback; the members below describe the last
 *	call
 * @ip: argument of the exit callback
 * @ret_ip: argument of the exit callback
 * @retval: result of fhook_regs_get_retval() at the exit
 * @arg: result of fhook_regs_get_arg() for the first argument at the exit
 * @regs_ip: result of fhook_regs_get_ip() at the exit
 * @regs_parent: result of fhook_regs_get_parent() at the exit
 * @entry_parent: result of fhook_regs_get_parent() at the entry
 * @has_regs: whether fhook_get_regs() returned registers at the exit
 * @preemptible: whether the exit callback could be preempted
 * @wrong: number of calls whose data were changed on the way
 * @decline: whether the entry callback declines the exit
 * @at_entry: additional work of the entry callback, or NULL
 * @at_exit: additional work of the exit callback, or NULL
 * @value: argument for @at_entry and @at_exit
 */
struct exit_probe {
	struct fhook_ops	ops;
	struct fhook_report	report;
	struct kunit		*test;
	unsigned int		entries;
	unsigned int		exits;
	unsigned long		ip;
	unsigned long		ret_ip;
	unsigned long		retval;
	unsigned long		arg;
	unsigned long		regs_ip;
	unsigned long		regs_parent;
	unsigned long		entry_parent;
	bool			has_regs;
	bool			preemptible;
	unsigned int		wrong;
	bool			decline;
	void			(*at_entry)(struct exit_probe *probe,
					    struct fhook_regs *fregs);
	void			(*at_exit)(struct exit_probe *probe,
					   struct fhook_regs *fregs);
	unsigned long		value;
};

/* Write values that depend on the call to the first and the last word. */
static void mark_data(struct exit_probe *probe, void *data, unsigned long mark)
{
	unsigned long *words = data;
	size_t last = probe->ops.data_size / sizeof(*words) - 1;

	words[0] = mark;
	words[last] = last ? ~mark : mark;
}

static bool has_mark(struct exit_probe *probe, void *data, unsigned long mark)
{
	unsigned long *words = data;
	size_t last = probe->ops.data_size / sizeof(*words) - 1;

	return words[0] == mark && words[last] == (last ? ~mark : mark);
}

static int probe_entry(struct fhook_ops *ops, unsigned long ip,
		       unsigned long parent_ip, struct fhook_regs *fregs,
		       void *data)
{
	struct exit_probe *probe = container_of(ops, struct exit_probe, ops);

	probe->entries++;
	probe->entry_parent = fhook_regs_get_parent(fregs);
	probe->wrong += !data != !ops->data_size;
	/* The stack pointer distinguishes nested calls. */
	if (data)
		mark_data(probe, data, fhook_regs_get_sp(fregs));
	if (probe->at_entry)
		probe->at_entry(probe, fregs);

	return probe->decline;
}

static void probe_exit(struct fhook_ops *ops, unsigned long ip,
		       unsigned long ret_ip, struct fhook_regs *fregs,
		       void *data)
{
	struct exit_probe *probe = container_of(ops, struct exit_probe, ops);

	probe->exits++;
	probe->ip = ip;
	probe->ret_ip = ret_ip;
	probe->retval = fhook_regs_get_retval(fregs);
	probe->arg = fhook_regs_get_arg(fregs, 0);
	probe->regs_ip = fhook_regs_get_ip(fregs);
	probe->regs_parent = fhook_regs_get_parent(fregs);
	probe->has_regs = fhook_get_regs(fregs);
	probe->preemptible = preemptible();
	probe->wrong += !data != !ops->data_size;
	if (data && ops->entry)
		probe->wrong += !has_mark(probe, data,
					  fhook_regs_get_sp(fregs));
	if (probe->at_exit)
		probe->at_exit(probe, fregs);
}

static struct exit_probe *exit_probe(struct kunit *test, const char *name)
{
	struct exit_probe *probe;

	probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->test = test;
	probe->ops.name = name;
	probe->ops.entry = probe_entry;
	probe->ops.exit = probe_exit;
	probe->ops.data_size = sizeof(long);
	probe->ops.report = &probe->report;

	return probe;
}

static void probe_end(void *data)
{
	struct exit_probe *probe = data;

	if (fhook_is_registered(&probe->ops))
		fhook_unregister(&probe->ops);
}

static void probe_register(struct exit_probe *probe, const char *filter)
{
	int err = fhook_register(&probe->ops, filter, NULL);

	KUNIT_ASSERT_EQ_MSG(probe->test, 0, err, "%s: %s", probe->ops.name,
			    probe->report.text);
	KUNIT_ASSERT_EQ(probe->test, 0,
			kunit_add_action(probe->test, probe_end, probe));
}

static void probe_unregister(struct exit_probe *probe)
{
	KUNIT_EXPECT_EQ(probe->test, 0, fhook_unregister(&probe->ops));
	kunit_remove_action(probe->test, probe_end, probe);
}

static void expect_calls(struct exit_probe *probe, unsigned int entries,
			 unsigned int exits)
{
	KUNIT_EXPECT_EQ_MSG(probe->test, entries, probe->entries, "%s",
			    probe->ops.name);
	KUNIT_EXPECT_EQ_MSG(probe->test, exits, probe->exits, "%s",
			    probe->ops.name);
	KUNIT_EXPECT_EQ_MSG(probe->test, 0, probe->wrong, "%s",
			    probe->ops.name);
}

static void test_exit(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "exit");

	probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), fhook_target_a(7));
	expect_calls(probe, 1, 1);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_a, probe->ip);
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), (u32)probe->retval);
	KUNIT_EXPECT_EQ(test, 0, probe->arg);
	KUNIT_EXPECT_FALSE(test, probe->has_regs);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	fhook_expect_symbol(test, probe->ret_ip, __func__);
	KUNIT_EXPECT_EQ(test, probe->ret_ip, probe->regs_ip);
	KUNIT_EXPECT_EQ(test, probe->ret_ip, probe->regs_parent);

	probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, FHOOK_A(8), fhook_target_a(8));
	expect_calls(probe, 1, 1);
}

static void test_exit_only(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "exit only");
	u64 hits, missed;

	probe->ops.entry = NULL;
	probe->ops.data_size = 0;
	probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), fhook_target_a(7));
	expect_calls(probe, 0, 1);
	fhook_count(&probe->ops, &hits, &missed);
	KUNIT_EXPECT_EQ(test, 1, hits);
	KUNIT_EXPECT_EQ(test, 0, missed);
	probe_unregister(probe);
}

static void test_exit_regs(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "exit with registers");

	probe->ops.flags = FHOOK_FL_REGS;
	probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), fhook_target_a(7));
	expect_calls(probe, 1, 1);
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), (u32)probe->retval);
	KUNIT_EXPECT_EQ(test, 0, probe->arg);
	KUNIT_EXPECT_TRUE(test, probe->has_regs);
	fhook_expect_symbol(test, probe->ret_ip, __func__);
	KUNIT_EXPECT_EQ(test, probe->ret_ip, probe->regs_ip);
	KUNIT_EXPECT_EQ(test, probe->ret_ip, probe->regs_parent);
	probe_unregister(probe);
}

static void set_retval(struct exit_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_set_retval(fregs, probe->value);
}

static void set_arg(struct exit_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_set_arg(fregs, 0, probe->value);
}

static void skip(struct exit_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_skip(fregs, probe->value);
}

static void try_change(struct kunit *test, unsigned int flags)
{
	struct exit_probe *probe = exit_probe(test, "change");

	probe->ops.flags = flags;
	probe->value = 1234;
	probe->at_exit = set_retval;
	probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, 1234, fhook_target_a(7));
	KUNIT_EXPECT_EQ(test, FHOOK_A(7), (u32)probe->retval);

	probe->at_exit = NULL;
	probe->at_entry = set_arg;
	KUNIT_EXPECT_EQ(test, FHOOK_A(1234), fhook_target_a(7));
	KUNIT_EXPECT_EQ(test, FHOOK_A(1234), (u32)probe->retval);

	/* The exit callback sees the value that the caller will get. */
	probe->at_entry = skip;
	KUNIT_EXPECT_EQ(test, 1234, fhook_target_a(7));
	KUNIT_EXPECT_EQ(test, 1234, (u32)probe->retval);

	/* The same without an exit. */
	probe->decline = true;
	KUNIT_EXPECT_EQ(test, 1234, fhook_target_a(7));
	expect_calls(probe, 4, 3);
	probe_unregister(probe);
}

static void test_change(struct kunit *test)
{
	try_change(test, 0);
	try_change(test, FHOOK_FL_REGS);
}

static void test_decline(struct kunit *test)
{
	struct exit_probe *first = exit_probe(test, "first");
	struct exit_probe *second = exit_probe(test, "second");
	struct exit_probe *third = exit_probe(test, "third");

	third->ops.exit = NULL;
	third->ops.data_size = 0;
	second->ops.data_size = FHOOK_MAX_DATA;
	probe_register(first, "fhook_target_a");
	probe_register(second, "fhook_target_a");
	probe_register(third, "fhook_target_a");
	/* An entry callback without an exit callback has nothing to decline. */
	third->decline = true;

	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	expect_calls(first, 1, 1);
	expect_calls(second, 1, 1);

	first->decline = true;
	KUNIT_EXPECT_EQ(test, FHOOK_A(2), fhook_target_a(2));
	expect_calls(first, 2, 1);
	expect_calls(second, 2, 2);

	second->decline = true;
	KUNIT_EXPECT_EQ(test, FHOOK_A(3), fhook_target_a(3));
	expect_calls(first, 3, 1);
	expect_calls(second, 3, 2);

	first->decline = false;
	KUNIT_EXPECT_EQ(test, FHOOK_A(4), fhook_target_a(4));
	expect_calls(first, 4, 2);
	expect_calls(second, 4, 2);
	expect_calls(third, 4, 0);

	probe_unregister(third);
	probe_unregister(first);
	probe_unregister(second);
}

static u32 recurse(u32 value)
{
	return value < TOO_DEEP ? fhook_target_nest(value, recurse) : value;
}

/* The outermost calls have room and both callbacks; the others have neither. */
static void test_too_deep(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "deep");
	struct exit_probe *entry = exit_probe(test, "entry only");
	u64 hits, missed;

	probe->ops.data_size = FHOOK_MAX_DATA;
	entry->ops.exit = NULL;
	entry->ops.data_size = 0;
	probe_register(probe, "fhook_target_nest");
	probe_register(entry, "fhook_target_nest");
	KUNIT_EXPECT_EQ(test, 2 * TOO_DEEP, recurse(0));
	fhook_count(&probe->ops, &hits, &missed);
	KUNIT_EXPECT_GT(test, hits, 5);
	KUNIT_EXPECT_GT(test, missed, 5);
	KUNIT_EXPECT_EQ(test, TOO_DEEP, hits + missed);
	expect_calls(probe, hits, hits);
	expect_calls(entry, TOO_DEEP, 0);

	/* The room is free again. */
	KUNIT_EXPECT_EQ(test, FHOOK_A(2) + 1,
			fhook_target_nest(1, fhook_target_a));
	expect_calls(probe, hits + 1, hits + 1);
	probe_unregister(probe);
	probe_unregister(entry);
}

/* One return address belongs to several functions. */
static void test_tail_call(struct kunit *test)
{
	struct exit_probe *outer = exit_probe(test, "outer");
	struct exit_probe *inner = exit_probe(test, "inner");

	probe_register(outer, "fhook_target_tail");
	probe_register(inner, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_A(8), fhook_target_tail(7));
	expect_calls(outer, 1, 1);
	expect_calls(inner, 1, 1);
	KUNIT_EXPECT_EQ(test, FHOOK_A(8), (u32)inner->retval);
	KUNIT_EXPECT_EQ(test, FHOOK_A(8), (u32)outer->retval);
	/*
	 * Both get the real caller, though one has replaced the other's return
	 * address.
	 */
	fhook_expect_symbol(test, outer->ret_ip, __func__);
	KUNIT_EXPECT_EQ(test, outer->ret_ip, outer->entry_parent);
	KUNIT_EXPECT_EQ(test, outer->ret_ip, outer->regs_parent);
	KUNIT_EXPECT_EQ(test, inner->ret_ip, inner->entry_parent);
	KUNIT_EXPECT_EQ(test, inner->ret_ip, inner->regs_parent);
	/* With frame pointers, as on arm64, compilers make no tail calls. */
	if (IS_ENABLED(CONFIG_FRAME_POINTER))
		fhook_expect_symbol(test, inner->ret_ip, "fhook_target_tail");
	else
		KUNIT_EXPECT_EQ(test, outer->ret_ip, inner->ret_ip);
	probe_unregister(outer);
	probe_unregister(inner);
}

static void call_another(struct exit_probe *probe, struct fhook_regs *fregs)
{
	fhook_target_b(probe->exits);
}

/* Functions called by callbacks are not hooked, at the exit as at the entry. */
static void test_recursion(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "calls another");
	struct exit_probe *other = exit_probe(test, "the other");
	u64 hits, missed;

	probe->at_exit = call_another;
	probe_register(probe, "fhook_target_a");
	probe_register(other, "fhook_target_b");
	fhook_target_a(1);
	expect_calls(probe, 1, 1);
	expect_calls(other, 0, 0);
	fhook_count(&other->ops, &hits, &missed);
	KUNIT_EXPECT_EQ(test, 1, missed);
	fhook_target_b(1);
	expect_calls(other, 1, 1);
	probe_unregister(other);
	probe_unregister(probe);
}

static void test_bad_ops(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "bad");

	probe->ops.data_size = FHOOK_MAX_DATA + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register(&probe->ops,
						      "fhook_target_a", NULL));
	KUNIT_EXPECT_STREQ(test, probe->report.text,
			   "the ops wants 257 bytes for each call, more than 256");
	probe->ops.data_size = (size_t)-1;
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register(&probe->ops,
						      "fhook_target_a", NULL));

	probe->ops.data_size = 8;
	probe->ops.exit = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register(&probe->ops,
						      "fhook_target_a", NULL));
	KUNIT_EXPECT_STREQ(test, probe->report.text,
			   "the ops has data_size but no exit callback: set exit, or data_size to 0");

	probe->ops.entry = NULL;
	probe->ops.data_size = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register(&probe->ops,
						      "fhook_target_a", NULL));
	KUNIT_EXPECT_STREQ(test, probe->report.text,
			   "the ops has no callback or no name");
}

/* The data of all hooks of a function must fit into a frame. */
static void test_too_much_data(struct kunit *test)
{
	struct exit_probe *probes[6];
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i] = exit_probe(test, "much");
		probes[i]->ops.data_size = FHOOK_MAX_DATA;
		err = fhook_register(&probes[i]->ops, "fhook_target_a", NULL);
		if (err)
			break;
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, probe_end,
							  probes[i]));
	}
	KUNIT_ASSERT_LT(test, i, ARRAY_SIZE(probes));
	KUNIT_EXPECT_EQ(test, -ENOSPC, err);
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_TOO_MANY, probes[i]->report.error);

	/* The other hooks are not affected. */
	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	while (i--) {
		expect_calls(probes[i], 1, 1);
		probe_unregister(probes[i]);
	}
}

static DECLARE_COMPLETION(call_in);
static DECLARE_COMPLETION(call_out);
static u32 call_result;

static u32 sleep_in_call(u32 value)
{
	complete(&call_in);
	wait_for_completion(&call_out);

	return FHOOK_A(value);
}

static int call_fn(void *data)
{
	WRITE_ONCE(call_result, fhook_target_nest(1, sleep_in_call));
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

static int exit_in_call_fn(void *data)
{
	fhook_target_nest(1, sleep_in_call);
	fhook_target_nest(1, (u32 (*)(u32))data);

	return 0;
}

static struct task_struct *call_in_thread(struct kunit *test)
{
	struct task_struct *task;

	reinit_completion(&call_in);
	reinit_completion(&call_out);
	WRITE_ONCE(call_result, 0);
	task = kthread_run(call_fn, NULL, "fhook_exit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&call_in);

	return task;
}

/* The caller may free everything when fhook_unregister() returns. */
static void test_unregister_in_flight(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "in flight");
	unsigned int dying = fhook_test_dying();
	struct exit_probe *freed;
	struct task_struct *task;

	freed = kmemdup(probe, sizeof(*probe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, freed);
	KUNIT_ASSERT_EQ(test, 0, fhook_register(&freed->ops,
						"fhook_target_nest", NULL));
	task = call_in_thread(test);
	KUNIT_EXPECT_EQ(test, 1, freed->entries);
	KUNIT_EXPECT_EQ(test, 0, fhook_unregister(&freed->ops));
	KUNIT_EXPECT_EQ(test, 0, freed->exits);
	fhook_barrier();
	KUNIT_EXPECT_EQ(test, dying + 1, fhook_test_dying());
	memset(freed, 0x5a, sizeof(*freed));
	kfree(freed);

	/* A hook that is added in the meantime has not seen the entry. */
	probe_register(probe, "fhook_target_nest");
	complete(&call_out);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, FHOOK_A(2) + 1, call_result);
	expect_calls(probe, 0, 0);
	KUNIT_EXPECT_EQ(test, FHOOK_A(2) + 1,
			fhook_target_nest(1, fhook_target_a));
	expect_calls(probe, 1, 1);
	probe_unregister(probe);
	/* The objects to which the call referred are freed with it. */
	fhook_barrier();
	KUNIT_EXPECT_EQ(test, dying, fhook_test_dying());
}

/* A task that existed before, or one that is forked: both have a stack. */
static void test_return_in_flight(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "returns");
	struct task_struct *task;

	probe_register(probe, "fhook_target_nest");
	task = call_in_thread(test);
	expect_calls(probe, 1, 0);
	complete(&call_out);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, FHOOK_A(2) + 1, call_result);
	expect_calls(probe, 1, 1);
	probe_unregister(probe);
}

static u32 end_task(u32 value)
{
	kthread_complete_and_exit(&call_in, 0);
}

/* The frame of a call that never returns is freed with its task. */
static void test_task_ends(struct kunit *test)
{
	struct exit_probe *probe = exit_probe(test, "task ends"), *other;
	unsigned int i, dying = fhook_test_dying();
	struct task_struct *task;

	reinit_completion(&call_in);
	reinit_completion(&call_out);
	probe_register(probe, "fhook_target_nest");
	task = kthread_run(exit_in_call_fn, end_task, "fhook_ends");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&call_in);
	complete(&call_out);
	wait_for_completion(&call_in);
	expect_calls(probe, 2, 1);
	probe_unregister(probe);
	/*
	 * RCU frees the task's memory, then the objects to which it referred are
	 * freed.
	 */
	for (i = 0; i < 100 && fhook_test_dying() > dying; i++) {
		msleep(50);
		other = exit_probe(test, "next");
		probe_register(other, "fhook_target_a");
		probe_unregister(other);
	}
	KUNIT_EXPECT_EQ(test, dying, fhook_test_dying());
}

static unsigned long frames[MAX_FRAMES];
static unsigned int num_frames;
static int num_reliable;

static void take_stack(void)
{
	num_reliable = fhook_test_trace_reliable(frames, MAX_FRAMES);
	num_frames = stack_trace_save(frames, MAX_FRAMES, 0);
}

static void unwind_at_exit(struct exit_probe *probe, struct fhook_regs *fregs)
{
	take_stack();
}

static u32 unwind_in_call(u32 value)
{
	take_stack();

	return value;
}

/* Not hooked, so that its caller is found after it. */
static noinline u32 nest_again(u32 value)
{
	/* Not a tail call. */
	return fhook_target_nest(value, unwind_in_call) + 1;
}

/* After a frame that begins like the first, expect exactly the others. */
static void expect_frames(struct kunit *test, const char *const *names,
			  unsigned int num)
{
	char symbol[KSYM_SYMBOL_LEN];
	unsigned int i, first;

	for (first = 0; first < num_frames; first++) {
		sprint_symbol(symbol, frames[first]);
		if (!strncmp(symbol, names[0], strlen(names[0])))
			break;
	}
	KUNIT_ASSERT_LE(test, first + num, num_frames);
	for (i = 0; i < num; i++)
		fhook_expect_symbol(test, frames[first + i], names[i]);
	if (IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		KUNIT_EXPECT_GT(test, num_reliable, 0);
}

static noinline void try_unwind(struct kunit *test, unsigned int flags)
{
	static const char *const in_call[] = {
		"unwind_in_call+", "fhook_target_nest+", "nest_again",
		"fhook_target_nest+", "try_unwind+",
	};
	static const char *const at_exit[] = {
		"fhook_return_handler+", "fhook_", "try_unwind+",
	};
	static const char *const at_regs_exit[] = {
		"fhook_regs_return_handler+", "fhook_", "try_unwind+",
	};
	struct exit_probe *first = exit_probe(test, "first");
	struct exit_probe *second = exit_probe(test, "second");

	first->ops.flags = flags;
	probe_register(first, "fhook_target_nest");
	probe_register(second, "fhook_target_nest fhook_target_a");
	KUNIT_EXPECT_EQ(test, 6, fhook_target_nest(1, nest_again));
	expect_frames(test, in_call, ARRAY_SIZE(in_call));

	first->at_exit = unwind_at_exit;
	fhook_target_nest(1, fhook_target_b);
	if (flags & FHOOK_FL_REGS)
		expect_frames(test, at_regs_exit, ARRAY_SIZE(at_regs_exit));
	else
		expect_frames(test, at_exit, ARRAY_SIZE(at_exit));
	probe_unregister(first);
	probe_unregister(second);
}

/* Two frames for one return address on the stack, or for two. */
static noinline void try_unwind_tail(struct kunit *test, unsigned int flags)
{
	static const char *const names[] = {
		"unwind_in_call+", "fhook_target_nest+", "try_unwind_tail+",
	};
	static const char *const no_tail_calls[] = {
		"unwind_in_call+", "fhook_target_nest+",
		"fhook_target_tail_nest+", "try_unwind_tail+",
	};
	struct exit_probe *probe = exit_probe(test, "tail");

	probe->ops.flags = flags;
	probe_register(probe, "fhook_target_tail_nest fhook_target_nest");
	KUNIT_EXPECT_EQ(test, 4, fhook_target_tail_nest(1, unwind_in_call));
	expect_calls(probe, 2, 2);
	if (IS_ENABLED(CONFIG_X86))
		expect_frames(test, names, ARRAY_SIZE(names));
	else
		expect_frames(test, no_tail_calls, ARRAY_SIZE(no_tail_calls));
	probe_unregister(probe);
}

static void test_unwind_tail(struct kunit *test)
{
	try_unwind_tail(test, 0);
	try_unwind_tail(test, FHOOK_FL_REGS);
}

static void test_unwind(struct kunit *test)
{
	try_unwind(test, 0);
	try_unwind(test, FHOOK_FL_REGS);
}

static void no_exit(struct fhook_ops *ops, unsigned long ip,
		    unsigned long ret_ip, struct fhook_regs *fregs, void *data)
{
}

/* A trampoline longer than measured is an error, and nothing is written outside. */
static void test_trampoline_room(struct kunit *test)
{
	struct fhook_probe *probes[] = {
		fhook_probe(test, "one"), fhook_probe(test, "two"),
	};
	unsigned long slot = fhook_test_slot(test, fhook_target_a);
	struct fhook_report report = {};
	struct fhook_asm as, less;
	unsigned int used;
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i]->ops.exit = no_exit;
		probes[i]->ops.data_size = sizeof(long);
		fhook_probe_register(probes[i], "fhook_target_a");
	}

	KUNIT_ASSERT_EQ(test, 0, fhook_test_assemble(slot, &as, true));
	used = ALIGN(as.pos, sizeof(long));
	KUNIT_ASSERT_LE(test, used, as.room);

	less = as;
	less.room = used;
	KUNIT_EXPECT_EQ(test, 0, fhook_test_assemble(slot, &less, false));
	while (used) {
		used -= sizeof(long);
		less = as;
		less.room = used;
		KUNIT_EXPECT_EQ(test, -ENOSPC,
				fhook_test_assemble(slot, &less, false));
	}
	for (i = as.literals - 1; i >= 0; i--) {
		less = as;
		less.max_literals = i;
		KUNIT_EXPECT_EQ(test, -ENOSPC,
				fhook_test_assemble(slot, &less, false));
	}

	KUNIT_EXPECT_EQ(test, 0, fhook_test_place(slot, 0, &report));
	KUNIT_EXPECT_EQ(test, -ENOSPC, fhook_test_place(slot, 256, &report));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_NO_ROOM, report.error);
	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
}

static struct kunit_case fhook_exit_cases[] = {
	KUNIT_CASE(test_exit),
	KUNIT_CASE(test_exit_only),
	KUNIT_CASE(test_exit_regs),
	KUNIT_CASE(test_change),
	KUNIT_CASE(test_decline),
	KUNIT_CASE(test_too_deep),
	KUNIT_CASE(test_tail_call),
	KUNIT_CASE(test_recursion),
	KUNIT_CASE(test_bad_ops),
	KUNIT_CASE(test_too_much_data),
	KUNIT_CASE(test_return_in_flight),
	KUNIT_CASE(test_unregister_in_flight),
	KUNIT_CASE(test_task_ends),
	KUNIT_CASE(test_unwind),
	KUNIT_CASE(test_unwind_tail),
	KUNIT_CASE(test_trampoline_room),
	{}
};

static struct kunit_suite fhook_exit_suite = {
	.name = "fhook_exit",
	.test_cases = fhook_exit_cases,
};

kunit_test_suite(fhook_exit_suite);
