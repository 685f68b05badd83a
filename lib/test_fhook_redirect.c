// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: redirected functions.
 */
#include <linux/completion.h>
#include <linux/fhook_redirect.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/string.h>

#include "test_fhook.h"

#define MAX_REDIRECTS	3

/**
 * struct redirection - a patch and its table
 * @patch: the patch
 * @table: redirects of the patch
 * @report: last report of fhook about the patch
 * @test: test that owns it
 * @enabled: the patch must be restored at the end of the test
 */
struct redirection {
	struct fhook_patch	patch;
	struct fhook_redirect	table[MAX_REDIRECTS];
	struct fhook_report	report;
	struct kunit		*test;
	bool			enabled;
};

static void redirection_undo(void *data)
{
	struct redirection *r = data;

	if (r->enabled)
		fhook_restore(&r->patch);
}

static struct redirection *redirection(struct kunit *test, const char *name)
{
	struct redirection *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->test = test;
	r->patch.name = name;
	r->patch.owner = THIS_MODULE;
	r->patch.redirects = r->table;
	r->patch.report = &r->report;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   redirection_undo,
							   r));

	return r;
}

static void add(struct redirection *r, const char *func, void *replacement)
{
	struct fhook_redirect *redirect = &r->table[r->patch.num++];

	redirect->func = func;
	redirect->module = TARGETS_MODULE;
	redirect->replacement = replacement;
}

static int apply(struct redirection *r)
{
	int err = fhook_redirect(&r->patch);

	r->enabled |= !err;

	return err;
}

static void expect_applied(struct redirection *r)
{
	KUNIT_EXPECT_EQ_MSG(r->test, 0, apply(r), "%s", r->report.text);
}

static void expect_restored(struct redirection *r)
{
	int err = fhook_restore(&r->patch);

	KUNIT_EXPECT_EQ_MSG(r->test, 0, err, "%s", r->report.text);
	r->enabled = err;
}

static void expect_refused(struct redirection *r, int err,
			   enum fhook_error error, const char *text)
{
	KUNIT_EXPECT_EQ(r->test, err, apply(r));
	KUNIT_EXPECT_EQ(r->test, error, r->report.error);
	KUNIT_EXPECT_TRUE_MSG(r->test, strstr(r->report.text, text), "%s",
			      r->report.text);
	KUNIT_EXPECT_EQ(r->test, FHOOK_A(1), fhook_target_a(1));
	KUNIT_EXPECT_EQ(r->test, FHOOK_B(1), fhook_target_b(1));
}

static struct redirection *a_to_b(struct kunit *test, const char *name)
{
	struct redirection *r = redirection(test, name);

	add(r, "fhook_target_a", fhook_target_b);

	return r;
}

/*
 * A site without hooks jumps, if the branch reaches, and has no trampoline then.
 */
static void test_redirect(struct kunit *test)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_a);
	struct redirection *r = a_to_b(test, "plain");
	unsigned int i;

	for (i = 0; i < 3; i++) {
		expect_applied(r);
		KUNIT_EXPECT_EQ(test, FHOOK_B(7), fhook_target_a(7));
		KUNIT_EXPECT_EQ(test, FHOOK_B(7), fhook_target_b(7));
		KUNIT_EXPECT_TRUE(test, fhook_test_jumps(slot, fhook_target_b));
		expect_restored(r);
		KUNIT_EXPECT_EQ(test, FHOOK_A(7), fhook_target_a(7));
		KUNIT_EXPECT_TRUE(test, fhook_test_jumps(slot, NULL));
	}
}

static void test_table(struct kunit *test)
{
	struct redirection *r = redirection(test, "table");

	add(r, "fhook_target_a", fhook_target_c);
	add(r, "fhook_target_b", fhook_target_c);
	expect_applied(r);
	KUNIT_EXPECT_EQ(test, FHOOK_C(2), fhook_target_a(2));
	KUNIT_EXPECT_EQ(test, FHOOK_C(2), fhook_target_b(2));
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, FHOOK_A(2), fhook_target_a(2));
	KUNIT_EXPECT_EQ(test, FHOOK_B(2), fhook_target_b(2));
}

/* A redirect to a function that is itself redirected, and hooked. */
static void test_chain(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "chain");
	struct redirection *first = a_to_b(test, "first");
	struct redirection *second = redirection(test, "second");

	fhook_probe_register(probe, "fhook_target_b fhook_target_c");
	expect_applied(first);
	add(second, "fhook_target_b", fhook_target_c);
	expect_applied(second);
	KUNIT_EXPECT_EQ(test, FHOOK_C(5), fhook_target_a(5));
	KUNIT_EXPECT_EQ(test, 2, probe->calls);
	expect_restored(first);
	KUNIT_EXPECT_EQ(test, FHOOK_A(5), fhook_target_a(5));
	KUNIT_EXPECT_EQ(test, FHOOK_C(5), fhook_target_b(5));
	expect_restored(second);
	fhook_probe_unregister(probe);
}

static void expect_hooked(struct fhook_probe *probe, u32 result)
{
	unsigned int calls = probe->calls;

	KUNIT_EXPECT_EQ(probe->test, result, fhook_target_a(11));
	KUNIT_EXPECT_EQ(probe->test, calls + 1, probe->calls);
	KUNIT_EXPECT_EQ(probe->test, (unsigned long)fhook_target_a, probe->ip);
	KUNIT_EXPECT_EQ(probe->test, 11, probe->args[0]);
}

/*
 * Hooks keep working, in whichever order hooks and redirects are added and
 * removed.
 */
static void try_hooked(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *early = fhook_probe(test, "early");
	struct fhook_probe *late = fhook_probe(test, "late");
	struct redirection *r = a_to_b(test, "hooked");

	early->ops.flags = flags;
	late->ops.flags = flags;
	fhook_probe_register(early, "fhook_target_a");
	expect_hooked(early, FHOOK_A(11));
	expect_applied(r);
	expect_hooked(early, FHOOK_B(11));
	/* A callback sees the address at which the call continues. */
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_b, early->regs_ip);
	KUNIT_EXPECT_EQ(test, flags & FHOOK_FL_REGS, early->has_regs);

	fhook_probe_register(late, "fhook_target_a");
	expect_hooked(late, FHOOK_B(11));
	expect_hooked(early, FHOOK_B(11));
	fhook_probe_unregister(early);
	expect_hooked(late, FHOOK_B(11));
	expect_restored(r);
	expect_hooked(late, FHOOK_A(11));
	expect_applied(r);
	fhook_probe_unregister(late);
	KUNIT_EXPECT_EQ(test, FHOOK_B(11), fhook_target_a(11));
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, FHOOK_A(11), fhook_target_a(11));
}

static void test_hooked(struct kunit *test)
{
	try_hooked(test, 0);
	try_hooked(test, FHOOK_FL_REGS);
	try_hooked(test, FHOOK_FL_UNGUARDED);
}

static void act_skip(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_skip(fregs, 4321);
}

static void act_change(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_set_arg(fregs, 0, 3);
}

/* A callback can override the redirect. */
static void test_acting(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "acting");
	struct redirection *r = a_to_b(test, "acted on");

	expect_applied(r);
	probe->act = act_skip;
	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, 4321, fhook_target_a(1));
	fhook_probe_unregister(probe);

	probe->act = act_change;
	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_B(3), fhook_target_a(1));
	fhook_probe_unregister(probe);
	expect_restored(r);
}

static u32 exit_value;
static unsigned long exit_ip;

static void note_exit(struct fhook_ops *ops, unsigned long ip,
		      unsigned long ret_ip, struct fhook_regs *fregs,
		      void *data)
{
	exit_ip = ip;
	exit_value = fhook_regs_get_retval(fregs);
}

static void try_exit(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "exit");
	struct redirection *r = a_to_b(test, "with exit");

	probe->ops.exit = note_exit;
	probe->ops.flags = flags;
	fhook_probe_register(probe, "fhook_target_a");
	expect_applied(r);
	KUNIT_EXPECT_EQ(test, FHOOK_B(6), fhook_target_a(6));
	KUNIT_EXPECT_EQ(test, FHOOK_B(6), exit_value);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_a, exit_ip);
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, FHOOK_A(6), fhook_target_a(6));
	KUNIT_EXPECT_EQ(test, FHOOK_A(6), exit_value);
	fhook_probe_unregister(probe);
}

static void test_exit(struct kunit *test)
{
	try_exit(test, 0);
	try_exit(test, FHOOK_FL_REGS);
}

static void test_taken(struct kunit *test)
{
	struct redirection *first = a_to_b(test, "the first");
	struct redirection *second = redirection(test, "the second");

	expect_applied(first);
	add(second, "fhook_target_b", fhook_target_c);
	add(second, "fhook_target_a", fhook_target_c);
	KUNIT_EXPECT_EQ(test, -EBUSY, apply(second));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_TAKEN, second->report.error);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(second->report.text,
					       "is redirected already, by the first"),
				  "%s", second->report.text);
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_b(1));

	KUNIT_EXPECT_EQ(test, -EBUSY, fhook_redirect(&first->patch));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_BUSY, first->report.error);
	expect_restored(first);
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_restore(&first->patch));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_NOT_REGISTERED, first->report.error);

	expect_applied(second);
	expect_restored(second);
}

/**
 * struct bad_redirect - a redirect that is refused
 * @func: the function
 * @replacement: its replacement
 * @err: expected error
 * @error: expected error in the report
 * @text: part of the sentence
 */
struct bad_redirect {
	const char	*func;
	void		*replacement;
	int		err;
	enum fhook_error error;
	const char	*text;
};

static u32 some_data[4];

static const struct bad_redirect bad_redirects[] = {
	{ NULL, fhook_target_b, -EINVAL, FHOOK_ERR_REDIRECT, "no function" },
	{ "", fhook_target_b, -EINVAL, FHOOK_ERR_REDIRECT, "no function" },
	{ "fhook_target_no", fhook_target_b, -ENOENT, FHOOK_ERR_NO_FUNCTION,
	  "no function is named 'fhook_target_no'" },
	{ "fhook_target_a,", fhook_target_b, -EINVAL, FHOOK_ERR_PATTERN,
	  "after the comma" },
	{ "fhook_target_a,0", fhook_target_b, -EINVAL, FHOOK_ERR_PATTERN,
	  "after the comma" },
	{ "fhook_target_a,2", fhook_target_b, -ENOENT, FHOOK_ERR_NO_FUNCTION,
	  "1 have that name" },
	{ "fhook_target_notrace", fhook_target_b, -EOPNOTSUPP,
	  FHOOK_ERR_NO_SLOT, "has no slot" },
	{ "fhook_target_a", NULL, -EINVAL, FHOOK_ERR_REDIRECT,
	  "is no function" },
	{ "fhook_target_a", some_data, -EINVAL, FHOOK_ERR_REDIRECT,
	  "is no function" },
	{ "fhook_target_a", fhook_target_a, -ELOOP, FHOOK_ERR_REDIRECT,
	  "cannot replace itself" },
	{ "fhook_target_b", fhook_target_c, -EINVAL, FHOOK_ERR_REDIRECT,
	  "redirected twice" },
};

/* The redirects before it in the table are not installed either. */
static void test_bad_redirects(struct kunit *test)
{
	unsigned long middle = (unsigned long)fhook_target_b;
	const struct bad_redirect *bad;
	struct redirection *r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_redirects); i++) {
		bad = &bad_redirects[i];
		r = redirection(test, "bad");
		add(r, "fhook_target_b", fhook_target_c);
		add(r, bad->func, bad->replacement);
		expect_refused(r, bad->err, bad->error, bad->text);
	}

	/* Prevent objtool from taking it for a branch target. */
	OPTIMIZER_HIDE_VAR(middle);
	r = redirection(test, "middle of a function");
	add(r, "fhook_target_a", (void *)middle + 4);
	expect_refused(r, -EINVAL, FHOOK_ERR_REDIRECT, "is no function");
}

static void test_bad_patches(struct kunit *test)
{
	struct redirection *r = redirection(test, "empty");

	expect_refused(r, -EINVAL, FHOOK_ERR_OPS, "no redirects");
	r = a_to_b(test, NULL);
	expect_refused(r, -EINVAL, FHOOK_ERR_OPS, "no name");
	r = a_to_b(test, "flags");
	r->patch.flags = BIT(7);
	expect_refused(r, -EINVAL, FHOOK_ERR_OPS, "flags");
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_redirect(NULL));
}

static void test_circle(struct kunit *test)
{
	struct redirection *circle = a_to_b(test, "circle");
	struct redirection *first = a_to_b(test, "half");
	struct redirection *second = redirection(test, "other half");

	add(circle, "fhook_target_b", fhook_target_a);
	expect_refused(circle, -ELOOP, FHOOK_ERR_REDIRECT, "leads back");
	/* A circle that does not include the function that is checked first. */
	circle = a_to_b(test, "circle behind");
	add(circle, "fhook_target_b", fhook_target_c);
	add(circle, "fhook_target_c", fhook_target_b);
	expect_refused(circle, -ELOOP, FHOOK_ERR_REDIRECT, "leads back");
	circle = a_to_b(test, "itself behind");
	add(circle, "fhook_target_b", fhook_target_b);
	expect_refused(circle, -ELOOP, FHOOK_ERR_REDIRECT, "itself");

	expect_applied(first);
	add(second, "fhook_target_b", fhook_target_c);
	add(second, "fhook_target_c", fhook_target_a);
	KUNIT_EXPECT_EQ(test, -ELOOP, apply(second));
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_a(1));
	KUNIT_EXPECT_EQ(test, FHOOK_C(1), fhook_target_c(1));
	expect_restored(first);
}

/* Another function of this name, which has no slot. */
static noinline __noclone u32 fhook_twin(u32 value)
{
	return value * 29 + 9;
}

static void test_twins(struct kunit *test)
{
	static const char *const names[] = { "fhook_twin,1", "fhook_twin,2" };
	struct redirection *r = redirection(test, "twins");
	unsigned int i, redirected = 0;
	u32 one = 1;
	int err;

	/* Otherwise clang would optimize it away. */
	OPTIMIZER_HIDE_VAR(one);
	KUNIT_EXPECT_EQ(test, FHOOK_TWIN(1), fhook_target_twin(1));
	KUNIT_EXPECT_EQ(test, 38, fhook_twin(one));
	add(r, "fhook_twin", fhook_target_b);
	expect_refused(r, -EINVAL, FHOOK_ERR_PATTERN,
		       "2 functions are named 'fhook_twin'");
	KUNIT_EXPECT_NOT_NULL(test, strstr(r->report.text, "'fhook_twin,1'"));

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		r->table[0].func = names[i];
		err = apply(r);
		if (err) {
			KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, err);
			continue;
		}
		redirected++;
		KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_twin(1));
		expect_restored(r);
	}
	KUNIT_EXPECT_EQ(test, 1, redirected);
}

/* Prevent the compiler from calling int_sqrt() only once. */
static unsigned long square = 81;

static unsigned long not_sqrt(unsigned long value)
{
	return value + 1;
}

static struct redirection *waiting(struct kunit *test, const char *name)
{
	struct redirection *r = redirection(test, name);

	add(r, "whatever", fhook_target_b);
	r->table[0].module = "no_such_module";

	return r;
}

/* A patch that waits for a function owns it. */
static void test_waiting(struct kunit *test)
{
	struct redirection *first = waiting(test, "waits");
	struct redirection *second = waiting(test, "waits, too");

	expect_applied(first);
	expect_refused(second, -EBUSY, FHOOK_ERR_TAKEN, "by waits");
	/* The same function, and another one of that name */
	second->table[0].func = "whatever,01";
	expect_refused(second, -EBUSY, FHOOK_ERR_TAKEN, "by waits");
	second->table[0].func = "whatever,2";
	expect_applied(second);
	expect_restored(second);
	second->table[0].func = "whatever";
	expect_restored(first);
	expect_applied(second);
	expect_restored(second);

	first->table[1] = first->table[0];
	first->patch.num = 2;
	expect_refused(first, -EINVAL, FHOOK_ERR_REDIRECT, "twice");
	first->patch.num = 1;
	first->table[0].module = "no-such-module";
	expect_refused(first, -EINVAL, FHOOK_ERR_REDIRECT, "no module is named");

	/*
	 * Fail now, and not when the module is loaded, which must not suffer for
	 * it.
	 */
	second->table[0].replacement = &square;
	expect_refused(second, -EINVAL, FHOOK_ERR_REDIRECT, "is no function");
}

/* A function of the kernel, and a module that is not loaded. */
static void test_modules(struct kunit *test)
{
	struct redirection *r = redirection(test, "modules");

	add(r, "int_sqrt", not_sqrt);
	r->table[0].module = NULL;
	add(r, "whatever", fhook_target_b);
	r->table[1].module = "no_such_module";
	expect_applied(r);
	KUNIT_EXPECT_EQ(test, 82, int_sqrt(READ_ONCE(square)));
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, 9, int_sqrt(READ_ONCE(square)));
}

/*
 * A task in a function
 */

static DECLARE_COMPLETION(task_in);
static DECLARE_COMPLETION(task_out);

/* Called through a target, which is then on the stack, until fhook_stay_end(). */
u32 fhook_stay(u32 value)
{
	complete(&task_in);
	wait_for_completion(&task_out);

	return value;
}

static u32 do_not_stay(u32 value)
{
	return value;
}

/* Not a tail call, which would leave no return address. */
static noinline u32 other_nest(u32 value, u32 (*nest)(u32 value))
{
	return nest(value + 99) + 1;
}

static int stay_fn(void *result)
{
	*(u32 *)result = fhook_target_nest(1, fhook_stay);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

/* A task that calls @fn with @data, and is now in fhook_stay(). */
struct task_struct *fhook_stay_begin(struct kunit *test, int (*fn)(void *data),
				     void *data)
{
	struct task_struct *task;

	reinit_completion(&task_in);
	reinit_completion(&task_out);
	task = kthread_run(fn, data, "fhook_stays");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&task_in);

	return task;
}

void fhook_stay_end(struct task_struct *task)
{
	complete(&task_out);
	kthread_stop(task);
}

static struct redirection *nest_to_other(struct kunit *test, unsigned int flags)
{
	struct redirection *r = redirection(test, "nest");

	add(r, "fhook_target_nest", other_nest);
	r->patch.flags = flags;

	return r;
}

/* Without consistency, a task that is inside stays there. */
static void test_task_inside(struct kunit *test)
{
	struct redirection *r = nest_to_other(test, 0);
	struct task_struct *task;
	u32 result = 0;

	task = fhook_stay_begin(test, stay_fn, &result);
	expect_applied(r);
	KUNIT_EXPECT_EQ(test, 101, fhook_target_nest(1, do_not_stay));
	fhook_stay_end(task);
	KUNIT_EXPECT_EQ(test, 3, result);
	expect_restored(r);
}

static bool restored;

static int restore_fn(void *data)
{
	struct redirection *r = data;
	int err = fhook_restore(&r->patch);

	WRITE_ONCE(restored, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return err;
}

/*
 * The replacement may be freed after fhook_restore() returns: no task is inside
 * then.
 */
static void test_restore_waits(struct kunit *test)
{
	struct redirection *r = nest_to_other(test, 0);
	struct task_struct *task, *restorer;
	u32 result = 0;

	if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		kunit_skip(test, "no reliable stack traces here");

	expect_applied(r);
	task = fhook_stay_begin(test, stay_fn, &result);
	r->enabled = false;
	restored = false;
	restorer = kthread_run(restore_fn, r, "fhook_restores");
	KUNIT_ASSERT_FALSE(test, IS_ERR(restorer));
	while (fhook_target_nest(1, do_not_stay) != 3 && !READ_ONCE(restored))
		schedule_timeout_interruptible(1);
	/* Enough time to finish, if it did not wait. */
	schedule_timeout_interruptible(HZ / 2);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(result));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(restored));
	fhook_stay_end(task);
	KUNIT_EXPECT_EQ(test, 101, result);
	KUNIT_EXPECT_EQ(test, 0, kthread_stop(restorer));
}

static void test_consistent(struct kunit *test)
{
	struct redirection *r = nest_to_other(test, FHOOK_PATCH_CONSISTENT);
	struct task_struct *task;
	u32 result = 0;

	if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE)) {
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, apply(r));
		KUNIT_EXPECT_EQ(test, 3, fhook_target_nest(1, do_not_stay));
		return;
	}

	task = fhook_stay_begin(test, stay_fn, &result);
	KUNIT_EXPECT_EQ(test, -EBUSY, apply(r));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_TASK, r->report.error);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(r->report.text, "fhook_stays"),
				  "%s", r->report.text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(r->report.text,
					       "in fhook_target_nest"),
				  "%s", r->report.text);
	KUNIT_EXPECT_EQ(test, 3, fhook_target_nest(1, do_not_stay));
	fhook_stay_end(task);

	expect_applied(r);
	KUNIT_EXPECT_EQ(test, 101, fhook_target_nest(1, do_not_stay));
	task = fhook_stay_begin(test, stay_fn, &result);
	KUNIT_EXPECT_EQ(test, -EBUSY, fhook_restore(&r->patch));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(r->report.text, "in other_nest"),
				  "%s", r->report.text);
	KUNIT_EXPECT_EQ(test, 101, fhook_target_nest(1, do_not_stay));
	fhook_stay_end(task);
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, 3, fhook_target_nest(1, do_not_stay));
}

/* Hooks stay in place through all steps of a consistent redirect. */
static void try_consistent_hooked(struct kunit *test, unsigned int flags,
				  fhook_exit_t exit)
{
	struct fhook_probe *probe = fhook_probe(test, "hooked");
	struct redirection *r = a_to_b(test, "consistent");

	r->patch.flags = FHOOK_PATCH_CONSISTENT;
	probe->ops.flags = flags;
	probe->ops.exit = exit;
	fhook_probe_register(probe, "fhook_target_a");
	expect_applied(r);
	expect_hooked(probe, FHOOK_B(11));
	if (exit)
		KUNIT_EXPECT_EQ(test, FHOOK_B(11), exit_value);
	expect_restored(r);
	expect_hooked(probe, FHOOK_A(11));
	fhook_probe_unregister(probe);
}

static void test_consistent_hooked(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		kunit_skip(test, "no reliable stack traces here");

	try_consistent_hooked(test, 0, NULL);
	try_consistent_hooked(test, FHOOK_FL_REGS, NULL);
	try_consistent_hooked(test, 0, note_exit);
	try_consistent_hooked(test, FHOOK_FL_REGS, note_exit);
}

static unsigned int gated;

/* Called before each look: trampolines of a consistent patch check the gate. */
static void act_gated(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	gated += !fhook_test_jumps(probe->value, NULL) &&
		 !fhook_test_jumps(probe->value, fhook_target_b) &&
		 fhook_target_a(4) == FHOOK_A(4);
}

/* Until the switch, trampolines check the gate, and continue in the function. */
static void test_consistent_gate(struct kunit *test)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_a);
	struct fhook_probe *probe = fhook_probe(test, "looks");
	struct redirection *r = redirection(test, "gate");
	struct task_struct *task;
	u32 result = 0;

	if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		kunit_skip(test, "no reliable stack traces here");

	add(r, "fhook_target_a", fhook_target_b);
	add(r, "fhook_target_nest", other_nest);
	r->patch.flags = FHOOK_PATCH_CONSISTENT;
	task = fhook_stay_begin(test, stay_fn, &result);
	gated = 0;
	probe->value = slot;
	probe->act = act_gated;
	fhook_probe_register(probe, "stop_machine");
	KUNIT_EXPECT_EQ(test, -EBUSY, apply(r));
	fhook_probe_unregister(probe);
	KUNIT_EXPECT_GT(test, gated, 0);
	KUNIT_EXPECT_TRUE(test, fhook_test_jumps(slot, NULL));
	fhook_stay_end(task);
}

/*
 * Bytes that another owner has written to the slot stay, and the hook is not lost.
 */
static void try_overwritten(struct kunit *test, unsigned int flags)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_lost4);
	struct redirection *r = redirection(test, "overwritten");

	r->patch.flags = flags;
	add(r, "fhook_target_lost4", fhook_target_b);
	add(r, "fhook_target_a", fhook_target_b);
	expect_applied(r);
	KUNIT_ASSERT_TRUE(test, fhook_test_jump(slot, fhook_target_c));
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, FHOOK_C(1), fhook_target_lost4(1));
	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	expect_refused(r, -EFAULT, FHOOK_ERR_BYTES, "remove the foreign patch");
	KUNIT_EXPECT_EQ(test, FHOOK_C(1), fhook_target_lost4(1));

	KUNIT_ASSERT_TRUE(test, fhook_test_jump(slot, NULL));
	expect_applied(r);
	expect_restored(r);
	KUNIT_EXPECT_EQ(test, FHOOK_LOST4(1), fhook_target_lost4(1));
}

static void test_overwritten(struct kunit *test)
{
	try_overwritten(test, 0);
	if (IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		try_overwritten(test, FHOOK_PATCH_CONSISTENT);
}

static struct kunit_case fhook_redirect_cases[] = {
	KUNIT_CASE(test_redirect),
	KUNIT_CASE(test_table),
	KUNIT_CASE(test_chain),
	KUNIT_CASE(test_hooked),
	KUNIT_CASE(test_acting),
	KUNIT_CASE(test_exit),
	KUNIT_CASE(test_taken),
	KUNIT_CASE(test_bad_redirects),
	KUNIT_CASE(test_bad_patches),
	KUNIT_CASE(test_circle),
	KUNIT_CASE(test_twins),
	KUNIT_CASE(test_waiting),
	KUNIT_CASE(test_modules),
	KUNIT_CASE(test_task_inside),
	KUNIT_CASE(test_restore_waits),
	KUNIT_CASE(test_consistent),
	KUNIT_CASE(test_consistent_hooked),
	KUNIT_CASE(test_consistent_gate),
	KUNIT_CASE(test_overwritten),
	{}
};

static struct kunit_suite fhook_redirect_suite = {
	.name = "fhook_redirect",
	.test_cases = fhook_redirect_cases,
};

kunit_test_suite(fhook_redirect_suite);
