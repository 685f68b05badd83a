// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: failures, their reports, and the state after them, which
 * must be unchanged.
 *
 * The tests check the state in the bytes of the slots.
 */
#include <linux/fhook_redirect.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "test_fhook.h"

/**
 * struct slots - slots of the targets
 * @addr: addresses of the slots: of a, of b or a target in its place, and of c
 * @idle: their contents when nothing is hooked
 * @foreign: bytes that another owner has written to the middle one
 */
struct slots {
	unsigned long	addr[3];
	u8		idle[3][FHOOK_SLOT_SIZE];
	u8		foreign[FHOOK_SLOT_SIZE];
};

static void slots_find(struct kunit *test, struct slots *slots,
		       u32 (*func)(u32 value))
{
	int i;

	slots->addr[0] = fhook_test_slot(test, fhook_target_a);
	slots->addr[1] = fhook_test_slot(test, func);
	slots->addr[2] = fhook_test_slot(test, fhook_target_c);
	for (i = 0; i < 3; i++)
		memcpy(slots->idle[i], (void *)slots->addr[i],
		       FHOOK_SLOT_SIZE);
}

static void expect_idle(struct kunit *test, const struct slots *slots)
{
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_MEMEQ(test, (void *)slots->addr[i],
				   slots->idle[i], FHOOK_SLOT_SIZE);
}

/**
 * struct bad_filter - a filter that must fail
 * @filter: the filter
 * @err: expected error of fhook_register()
 * @error: expected error in the report
 * @offset: expected offset in @filter
 * @about: name that the sentence should contain
 */
struct bad_filter {
	const char		*filter;
	int			err;
	enum fhook_error	error;
	unsigned int		offset;
	const char		*about;
};

static const struct bad_filter bad_filters[] = {
	{ "fhook_no_such_function", -ENOENT, FHOOK_ERR_NO_FUNCTION, 0,
	  "fhook_no_such_function" },
	{ "fhook_no_such_*", -ENOENT, FHOOK_ERR_NO_FUNCTION, 0,
	  "fhook_no_such_*" },
	{ "fhook_*_such_function", -ENOENT, FHOOK_ERR_NO_FUNCTION, 0,
	  "fhook_*_such_function" },
	{ "fhook_target_cloned", -ENOENT, FHOOK_ERR_CLONES, 0,
	  "fhook_target_cloned.isra.0" },
	{ "fhook_target_notrace", -EOPNOTSUPP, FHOOK_ERR_NO_SLOT, 0,
	  "fhook_target_notrace" },
	{ "fhook_test_builtin", -EOPNOTSUPP, FHOOK_ERR_NO_SLOT, 0,
	  "fhook_test_builtin" },
	{ "fhook_register", -EOPNOTSUPP, FHOOK_ERR_NO_SLOT, 0,
	  "fhook_register" },
	/*
	 * One error among two or three patterns: the others are not hooked
	 * either.
	 */
	{ "fhook_target_a fhook_no_such_function", -ENOENT,
	  FHOOK_ERR_NO_FUNCTION, 15, "fhook_no_such_function" },
	{ " fhook_no_such_function  fhook_target_a", -ENOENT,
	  FHOOK_ERR_NO_FUNCTION, 1, "fhook_no_such_function" },
	{ "fhook_target_a\tfhook_target_notrace\nfhook_target_b", -EOPNOTSUPP,
	  FHOOK_ERR_NO_SLOT, 15, "fhook_target_notrace" },
	{ "fhook_target_a fhook_target_[b", -EINVAL, FHOOK_ERR_PATTERN, 15,
	  "'['" },
	{ "fhook_target_a fhook_target_b;", -EINVAL, FHOOK_ERR_PATTERN, 15,
	  "';'" },
	{ "fhook_target_a%return", -EINVAL, FHOOK_ERR_PATTERN, 0, "'%'" },
	{ "fhook_target_b fhook_target_a+0x8", -EINVAL, FHOOK_ERR_OFFSET, 15,
	  "fhook_target_a+0x8" },
	{ "fhook_target_a:mod:", -EINVAL, FHOOK_ERR_PATTERN, 0, ":mod:" },
	{ "fhook_target_a :mod:*", -EINVAL, FHOOK_ERR_PATTERN, 15, ":mod:" },
	{ "fhook_target_a:1", -EINVAL, FHOOK_ERR_PATTERN, 0, "':'" },
	{ "", -EINVAL, FHOOK_ERR_PATTERN, 0, "no function" },
	{ " \t\n", -EINVAL, FHOOK_ERR_PATTERN, 0, "no function" },
};

static void expect_report(struct kunit *test, const struct bad_filter *bad,
			  const struct fhook_report *report)
{
	KUNIT_EXPECT_EQ_MSG(test, bad->error, report->error, "of '%s'",
			    bad->filter);
	KUNIT_EXPECT_EQ_MSG(test, bad->offset, report->offset, "of '%s'",
			    bad->filter);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(report->text, bad->about),
				  "'%s' is said of '%s'", report->text,
				  bad->filter);
	KUNIT_EXPECT_NULL_MSG(test, strchr(report->text, '\n'), "of '%s'",
			      bad->filter);
}

static void test_bad_filters(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "bad");
	const struct bad_filter *bad;
	struct fhook_report report;
	struct slots slots;

	slots_find(test, &slots, fhook_target_b);
	for (bad = bad_filters; bad < bad_filters + ARRAY_SIZE(bad_filters);
	     bad++) {
		memset(&probe->report, 0xff, sizeof(probe->report));
		KUNIT_EXPECT_EQ_MSG(test, bad->err,
				    fhook_register(&probe->ops, bad->filter,
						   NULL),
				    "'%s'", bad->filter);
		expect_report(test, bad, &probe->report);

		KUNIT_EXPECT_EQ(test, bad->err,
				fhook_check_filter(bad->filter, &report));
		expect_report(test, bad, &report);

		KUNIT_EXPECT_FALSE(test, fhook_is_registered(&probe->ops));
		expect_idle(test, &slots);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_register(&probe->ops, NULL, NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_PATTERN, probe->report.error);

	/* The ops can be used again. */
	fhook_probe_register(probe, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, 0, fhook_check_filter("fhook_target_a", &report));
}

/* Excluding all functions leaves none, which is not an error. */
static void test_all_excluded(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "excluded");
	struct slots slots;

	slots_find(test, &slots, fhook_target_b);
	KUNIT_ASSERT_EQ(test, 0, fhook_register(&probe->ops, "fhook_target_a",
						"fhook_target_*"));
	fhook_probe_undo(probe);
	expect_idle(test, &slots);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);

	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_register(&fhook_probe(test, "bad")->ops,
				       "fhook_target_a", "fhook_target_[b"));
	expect_idle(test, &slots);
}

/*
 * Names that fhook_register() would take for globs, or for two names, are
 * refused.
 */
static void test_bad_syms(struct kunit *test)
{
	static const char *const bad[] = {
		"*", "fhook_target_b fhook_target_c", "fhook_target_?",
		"[fhook_kunit]", "fhook_target_b:mod:fhook_kunit", "",
	};
	struct fhook_probe *probe = fhook_probe(test, "syms");
	struct slots slots;
	int i;

	slots_find(test, &slots, fhook_target_b);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *const syms[] = { "fhook_target_a", bad[i] };

		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    fhook_register_syms(&probe->ops, syms, 2),
				    "'%s'", bad[i]);
		KUNIT_EXPECT_EQ(test, FHOOK_ERR_PATTERN, probe->report.error);
		expect_idle(test, &slots);
	}
}

/* A pattern that matches nothing waits if the ops permits it. */
static void test_loose(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "loose");

	probe->ops.flags = FHOOK_FL_LOOSE;
	fhook_probe_register(probe, "fhook_no_such fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&probe->ops, "fhook_no_such",
						NULL));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_retarget(&probe->ops, "a:b",
						      NULL));
	fhook_probe_unregister(probe);
}

static void test_bad_addresses(struct kunit *test)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_a);
	unsigned long bad[] = {
		(unsigned long)fhook_target_notrace,
		(unsigned long)fhook_register,
		slot + 1,
		slot - 64,
		(unsigned long)bad,
		0,
		1,
		~0UL,
	};
	struct fhook_probe *probe = fhook_probe(test, "addresses");
	unsigned long func = (unsigned long)fhook_target_b;
	struct slots slots;
	int i;

	slots_find(test, &slots, fhook_target_b);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		unsigned long addrs[] = { slot, bad[i] };

		KUNIT_EXPECT_EQ_MSG(test, -ENOENT,
				    fhook_register_ips(&probe->ops, addrs, 2),
				    "%#lx", bad[i]);
		KUNIT_EXPECT_EQ(test, FHOOK_ERR_NO_SLOT, probe->report.error);
		KUNIT_EXPECT_EQ(test, bad[i], probe->report.addr);
		expect_idle(test, &slots);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register_ips(&probe->ops, NULL,
							  1));
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register_ips(&probe->ops, bad,
							  0));

	/* A call that failed has left no address for the next one. */
	KUNIT_ASSERT_EQ(test, 0, fhook_register_ips(&probe->ops, &func, 1));
	fhook_probe_undo(probe);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_probe_unregister(probe);
}

static void test_bad_ops(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "ops");

	probe->ops.flags = BIT(31);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_register(&probe->ops, "fhook_target_a", NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_OPS, probe->report.error);
	probe->ops.flags = 0;
	probe->ops.entry = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_register(&probe->ops, "fhook_target_a", NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_OPS, probe->report.error);
	probe->ops.entry = fhook_probe_entry;
	probe->ops.name = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_register(&probe->ops, "fhook_target_a", NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_OPS, probe->report.error);
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_register(NULL, "fhook_target_a",
						      NULL));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
}

static void test_twice(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "twice");
	unsigned long func = (unsigned long)fhook_target_b;

	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_unregister(&probe->ops));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_NOT_REGISTERED, probe->report.error);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_retarget(&probe->ops, "fhook_target_a", NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_NOT_REGISTERED, probe->report.error);

	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, -EBUSY,
			fhook_register(&probe->ops, "fhook_target_b", NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_BUSY, probe->report.error);
	KUNIT_EXPECT_EQ(test, -EBUSY, fhook_register_ips(&probe->ops, &func,
							 1));
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);

	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_unregister(&probe->ops));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_NOT_REGISTERED, probe->report.error);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fhook_unregister_async(&probe->ops, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_unregister(NULL));
	KUNIT_EXPECT_FALSE(test, fhook_is_registered(NULL));

	/* The ops is probably still being retired. */
	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, 0, fhook_unregister_async(&probe->ops, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, fhook_unregister_async(&probe->ops, NULL));
	KUNIT_EXPECT_FALSE(test, fhook_is_registered(&probe->ops));
}

/* A retarget that fails does not move the hook. */
static void test_bad_retarget(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "retarget");
	const struct bad_filter *bad;

	fhook_probe_register(probe, "fhook_target_a fhook_target_b");
	for (bad = bad_filters; bad < bad_filters + ARRAY_SIZE(bad_filters);
	     bad++) {
		probe->calls = 0;
		KUNIT_EXPECT_EQ_MSG(test, bad->err,
				    fhook_retarget(&probe->ops, bad->filter,
						   NULL),
				    "'%s'", bad->filter);
		expect_report(test, bad, &probe->report);
		fhook_target_a(1);
		fhook_target_b(1);
		fhook_target_c(1);
		KUNIT_EXPECT_EQ(test, 2, probe->calls);
	}
	fhook_probe_unregister(probe);
}

/* Another owner writes a jump to the end of the slot to the middle slot. */
static void foreign_write(struct slots *slots)
{
	fhook_test_jump(slots->addr[1],
			(void *)slots->addr[1] + FHOOK_SLOT_SIZE);
	memcpy(slots->foreign, (void *)slots->addr[1], FHOOK_SLOT_SIZE);
}

static void expect_foreign(struct kunit *test, struct slots *slots)
{
	KUNIT_EXPECT_MEMEQ(test, (void *)slots->addr[1], slots->foreign,
			   FHOOK_SLOT_SIZE);
}

static void expect_idle_but_foreign(struct kunit *test, struct slots *slots)
{
	int i;

	for (i = 0; i < 3; i += 2)
		KUNIT_EXPECT_MEMEQ(test, (void *)slots->addr[i],
				   slots->idle[i], FHOOK_SLOT_SIZE);
}

static void give_back(void *data)
{
	struct slots *slots = data;

	fhook_test_poke(slots->addr[1], slots->idle[1], FHOOK_SLOT_SIZE);
}

static struct slots *foreign_slots(struct kunit *test, u32 (*func)(u32 value))
{
	struct slots *slots;

	slots = kunit_kzalloc(test, sizeof(*slots), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slots);
	slots_find(test, slots, func);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, give_back, slots));

	return slots;
}

static void test_bytes_before_register(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "bytes");
	struct slots *slots = foreign_slots(test, fhook_target_b);

	foreign_write(slots);
	KUNIT_EXPECT_EQ(test, -EFAULT,
			fhook_register(&probe->ops, "fhook_target_[abc]",
				       NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_BYTES, probe->report.error);
	KUNIT_EXPECT_EQ(test, slots->addr[1], probe->report.addr);
	KUNIT_EXPECT_NOT_NULL(test, strstr(probe->report.text,
					   "fhook_target_b"));
	expect_foreign(test, slots);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_b(1));
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);

	/* After the bytes are restored, the slot can be used again. */
	give_back(slots);
	expect_idle(test, slots);
	fhook_probe_register(probe, "fhook_target_[abc]");
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_probe_unregister(probe);
	expect_idle(test, slots);
}

/* A second hook, and a retarget, find changed bytes that were correct before. */
static void test_bytes_before_change(struct kunit *test)
{
	struct fhook_probe *first = fhook_probe(test, "first");
	struct fhook_probe *second = fhook_probe(test, "second");
	struct slots *slots = foreign_slots(test, fhook_target_b);
	u8 call[FHOOK_SLOT_SIZE];

	fhook_probe_register(first, "fhook_target_[ab]");
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);

	KUNIT_EXPECT_EQ(test, -EFAULT,
			fhook_register(&second->ops, "fhook_target_[abc]",
				       NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_BYTES, second->report.error);
	KUNIT_EXPECT_EQ(test, slots->addr[1], second->report.addr);
	expect_foreign(test, slots);
	fhook_target_a(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 1, first->calls);
	KUNIT_EXPECT_EQ(test, 0, second->calls);

	/* After the bytes are restored, both work. */
	fhook_test_poke(slots->addr[1], call, sizeof(call));
	fhook_probe_register(second, "fhook_target_[abc]");
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 2, first->calls);
	KUNIT_EXPECT_EQ(test, 1, second->calls);
	fhook_probe_unregister(first);
	fhook_probe_unregister(second);
	expect_idle(test, slots);
}

/*
 * Unregistering cannot fail. Foreign bytes stay, the other sites are unhooked,
 * and even if the old call is restored, it calls no removed hook.
 */
static void test_bytes_at_unregister(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "probe");
	struct slots *slots = foreign_slots(test, fhook_target_lost1);
	u8 call[FHOOK_SLOT_SIZE];

	fhook_probe_register(probe,
			     "fhook_target_a fhook_target_lost1 fhook_target_c");
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);

	fhook_probe_unregister(probe);
	expect_foreign(test, slots);
	expect_idle_but_foreign(test, slots);
	KUNIT_EXPECT_EQ(test, -EFAULT,
			fhook_register(&probe->ops, "fhook_target_lost1",
				       NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_BYTES, probe->report.error);
	KUNIT_EXPECT_EQ(test, slots->addr[1], probe->report.addr);
	expect_foreign(test, slots);

	/* Other functions are not affected. */
	fhook_probe_register(probe, "fhook_target_[ac]");
	fhook_target_a(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 2, probe->calls);
	fhook_probe_unregister(probe);
	expect_idle_but_foreign(test, slots);

	fhook_test_poke(slots->addr[1], call, sizeof(call));
	KUNIT_EXPECT_EQ(test, FHOOK_LOST1(1), fhook_target_lost1(1));
	KUNIT_EXPECT_EQ(test, 2, probe->calls);

	/* An owner that restores the bytes has given the slot back. */
	fhook_probe_register(probe, "fhook_target_lost1");
	fhook_target_lost1(1);
	KUNIT_EXPECT_EQ(test, 3, probe->calls);
	fhook_probe_unregister(probe);
	expect_idle(test, slots);
}

/*
 * An owner that restores the bytes before fhook is switched off has given the
 * slot back.
 */
static void test_bytes_at_switch(struct kunit *test)
{
	struct fhook_probe *stays = fhook_probe(test, "stays");
	struct fhook_probe *goes = fhook_probe(test, "goes");
	struct slots *slots = foreign_slots(test, fhook_target_lost1);
	u8 call[FHOOK_SLOT_SIZE];

	fhook_probe_register(stays, "fhook_target_lost1");
	fhook_probe_register(goes, "fhook_target_lost1");
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);
	fhook_probe_unregister(goes);
	expect_foreign(test, slots);
	fhook_test_poke(slots->addr[1], call, sizeof(call));

	KUNIT_EXPECT_EQ(test, 0, fhook_test_switch(false));
	fhook_target_lost1(1);
	KUNIT_EXPECT_EQ(test, 0, fhook_test_switch(true));
	KUNIT_EXPECT_EQ(test, 0, stays->calls);
	fhook_target_lost1(1);
	KUNIT_EXPECT_EQ(test, 1, stays->calls);
	KUNIT_EXPECT_EQ(test, 0, goes->calls);
	fhook_probe_unregister(stays);
	expect_idle(test, slots);
}

/* A redirect that could not be removed from a site is not used by other sites. */
static void test_bytes_at_restore(struct kunit *test)
{
	struct fhook_redirect redirect = {
		.func		= "fhook_target_lost1",
		.module		= TARGETS_MODULE,
		.replacement	= fhook_target_b,
	};
	struct fhook_patch patch = {
		.name		= "lost",
		.owner		= THIS_MODULE,
		.redirects	= &redirect,
		.num		= 1,
	};
	struct fhook_probe *stays = fhook_probe(test, "stays");
	struct fhook_probe *comes = fhook_probe(test, "comes");
	struct slots *slots = foreign_slots(test, fhook_target_lost1);
	u8 call[FHOOK_SLOT_SIZE];

	fhook_probe_register(stays, "fhook_target_lost1");
	KUNIT_ASSERT_EQ(test, 0, fhook_redirect(&patch));
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_lost1(1));
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&patch));
	expect_foreign(test, slots);
	fhook_test_poke(slots->addr[1], call, sizeof(call));

	fhook_probe_register(comes, "fhook_target_lost1");
	KUNIT_EXPECT_EQ(test, FHOOK_LOST1(1), fhook_target_lost1(1));
	KUNIT_EXPECT_EQ(test, 1, comes->calls);
	fhook_probe_unregister(comes);
	KUNIT_EXPECT_EQ(test, FHOOK_LOST1(1), fhook_target_lost1(1));
	fhook_probe_unregister(stays);
	KUNIT_EXPECT_EQ(test, FHOOK_LOST1(1), fhook_target_lost1(1));
	expect_idle(test, slots);
}

/* Another redirect to the same function is not mistaken for it. */
static void test_bytes_at_restore_shared(struct kunit *test)
{
	struct fhook_redirect lost = {
		.func		= "fhook_target_lost2",
		.module		= TARGETS_MODULE,
		.replacement	= fhook_target_b,
	};
	/* One entry before it, and one after it. */
	struct fhook_redirect kept[] = {
		{
			.func		= "fhook_target_lost1",
			.module		= TARGETS_MODULE,
			.replacement	= fhook_target_b,
		},
		{
			.func		= "fhook_target_lost3",
			.module		= TARGETS_MODULE,
			.replacement	= fhook_target_b,
		},
	};
	struct fhook_patch goes = {
		.name		= "goes",
		.owner		= THIS_MODULE,
		.redirects	= &lost,
		.num		= 1,
	};
	struct fhook_patch stays = {
		.name		= "stays",
		.owner		= THIS_MODULE,
		.redirects	= kept,
		.num		= ARRAY_SIZE(kept),
	};
	struct fhook_probe *probe = fhook_probe(test, "probe");
	struct slots *slots = foreign_slots(test, fhook_target_lost2);
	u8 call[FHOOK_SLOT_SIZE];

	KUNIT_ASSERT_EQ(test, 0, fhook_redirect(&goes));
	KUNIT_ASSERT_EQ(test, 0, fhook_redirect(&stays));
	fhook_probe_register(probe, "fhook_target_lost[123]");
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&goes));

	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_lost1(1));
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_lost3(1));

	fhook_test_poke(slots->addr[1], call, sizeof(call));
	fhook_probe_register(probe, "fhook_target_lost[123]");
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_lost1(1));
	KUNIT_EXPECT_EQ(test, FHOOK_LOST2(1), fhook_target_lost2(1));
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), fhook_target_lost3(1));
	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&stays));
	expect_idle(test, slots);
}

/*
 * The same for a function with two hooks, which are removed one after the other.
 */
static void test_bytes_at_unregister_shared(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "probe");
	struct fhook_probe *other = fhook_probe(test, "other");
	struct slots *slots = foreign_slots(test, fhook_target_lost2);
	u8 call[FHOOK_SLOT_SIZE];

	fhook_probe_register(other, "fhook_target_a fhook_target_lost2");
	fhook_probe_register(probe,
			     "fhook_target_a fhook_target_lost2 fhook_target_c");
	memcpy(call, (void *)slots->addr[1], sizeof(call));
	foreign_write(slots);

	fhook_probe_unregister(probe);
	expect_foreign(test, slots);
	/* No hook is left on c. */
	KUNIT_EXPECT_MEMEQ(test, (void *)slots->addr[2], slots->idle[2],
			   FHOOK_SLOT_SIZE);
	fhook_target_a(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	KUNIT_EXPECT_EQ(test, 1, other->calls);

	/*
	 * The old call is restored, for a removed hook and one that is still
	 * registered.
	 */
	fhook_test_poke(slots->addr[1], call, sizeof(call));
	KUNIT_EXPECT_EQ(test, FHOOK_LOST2(1), fhook_target_lost2(1));
	KUNIT_EXPECT_EQ(test, 0, probe->calls);

	other->calls = 0;
	fhook_probe_unregister(other);
	KUNIT_EXPECT_EQ(test, FHOOK_LOST2(1), fhook_target_lost2(1));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	KUNIT_EXPECT_EQ(test, 0, other->calls);
	expect_idle_but_foreign(test, slots);
}

/* Retargeting fails, and the hook still works where it was. */
static void test_bytes_at_retarget(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "probe");
	struct slots *slots = foreign_slots(test, fhook_target_lost3);

	fhook_probe_register(probe, "fhook_target_a fhook_target_lost3");
	foreign_write(slots);
	KUNIT_EXPECT_EQ(test, -EFAULT,
			fhook_retarget(&probe->ops,
				       "fhook_target_a fhook_target_c", NULL));
	expect_foreign(test, slots);
	fhook_target_a(1);
	fhook_target_lost3(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);

	probe->calls = 0;
	fhook_probe_unregister(probe);
	fhook_target_a(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	expect_idle_but_foreign(test, slots);
}

/* Other owners are refused slots, of vmlinux and of modules, and nothing else. */
static void test_reserved(struct kunit *test)
{
	unsigned long slots[] = {
		fhook_test_find_slot((unsigned long)vfs_fsync),
		fhook_test_find_slot((unsigned long)fhook_target_a),
	};
	unsigned long slot, end;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		slot = slots[i];
		end = slot + FHOOK_SLOT_SIZE;
		KUNIT_ASSERT_NE(test, 0, slot);
		KUNIT_EXPECT_TRUE(test, fhook_test_reserved(slot, slot));
		KUNIT_EXPECT_TRUE(test, fhook_test_reserved(end - 1, end - 1));
		KUNIT_EXPECT_TRUE(test, fhook_test_reserved(slot - 4, slot));
		KUNIT_EXPECT_TRUE(test, fhook_test_reserved(end - 1, end + 4));
		KUNIT_EXPECT_FALSE(test, fhook_test_reserved(slot - 1,
							     slot - 1));
		KUNIT_EXPECT_FALSE(test, fhook_test_reserved(end, end + 1));
	}

	/*
	 * On x86, BPF patches any no-op that it finds; elsewhere it asks ftrace.
	 */
	err = fhook_test_bpf_poke(slots[0]);
	KUNIT_EXPECT_LT(test, err, 0);
	if (IS_ENABLED(CONFIG_X86_64) && err != -EOPNOTSUPP)
		KUNIT_EXPECT_EQ(test, -EBUSY, err);
}

/* Trampolines and the list of slots are read-only. */
static void test_read_only(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "test");
	unsigned long slot = fhook_test_find_slot((unsigned long)vfs_fsync);

	/* Built-in tests run before the kernel makes its data read-only. */
	if (!IS_MODULE(CONFIG_FHOOK_KUNIT_TEST))
		kunit_skip(test, "too early to see");

	KUNIT_ASSERT_NE(test, 0, slot);
	KUNIT_EXPECT_FALSE(test, fhook_test_can_write(fhook_test_sites(slot)));

	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	KUNIT_ASSERT_NE(test, 0, probe->return_ip);
	KUNIT_EXPECT_FALSE(test, fhook_test_can_write((void *)probe->return_ip));
	fhook_probe_unregister(probe);

	KUNIT_EXPECT_TRUE(test, fhook_test_can_write(probe));
}

static struct kunit_case fhook_error_cases[] = {
	KUNIT_CASE(test_bad_filters),
	KUNIT_CASE(test_all_excluded),
	KUNIT_CASE(test_bad_syms),
	KUNIT_CASE(test_loose),
	KUNIT_CASE(test_bad_addresses),
	KUNIT_CASE(test_bad_ops),
	KUNIT_CASE(test_twice),
	KUNIT_CASE(test_bad_retarget),
	KUNIT_CASE(test_bytes_before_register),
	KUNIT_CASE(test_bytes_before_change),
	KUNIT_CASE(test_bytes_at_unregister),
	KUNIT_CASE(test_bytes_at_unregister_shared),
	KUNIT_CASE(test_bytes_at_switch),
	KUNIT_CASE(test_bytes_at_restore),
	KUNIT_CASE(test_bytes_at_restore_shared),
	KUNIT_CASE(test_bytes_at_retarget),
	KUNIT_CASE(test_reserved),
	KUNIT_CASE(test_read_only),
	{}
};

static struct kunit_suite fhook_error_suite = {
	.name = "fhook_errors",
	.test_cases = fhook_error_cases,
};

kunit_test_suite(fhook_error_suite);
