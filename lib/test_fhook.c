// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: arguments, selection and order of callbacks.
 *
 * Callbacks only record what they see, in a &struct fhook_probe; the test
 * checks the record after the hooked function has returned. Probes live as long
 * as the test, and are unregistered at its end if the test has not done so.
 */
#include <linux/hook_base.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/string.h>

#include "test_fhook.h"

/* The callbacks that ran, in their order. */
static struct fhook_probe *order[256];
static unsigned int order_num;

/**
 * fhook_probe_entry() - record a call; the callback of all probes
 * @ops: ops of the probe
 * @ip: recorded
 * @parent_ip: recorded
 * @fregs: recorded
 * @data: recorded
 *
 * Return: 0.
 */
int fhook_probe_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data)
{
	struct fhook_probe *probe = container_of(ops, struct fhook_probe, ops);
	struct pt_regs *regs = fhook_get_regs(fregs);
	int i;

	probe->calls++;
	probe->ip = ip;
	probe->parent = parent_ip;
	probe->data = data;
	probe->return_ip = (unsigned long)__builtin_return_address(0);
	probe->preemptible = preemptible();
	for (i = 0; i < FHOOK_TEST_ARGS; i++)
		probe->args[i] = fhook_regs_get_arg(fregs, i);
	probe->regs_ip = fhook_regs_get_ip(fregs);
	probe->regs_sp = fhook_regs_get_sp(fregs);
	probe->regs_fp = fhook_regs_get_fp(fregs);
	probe->regs_parent = fhook_regs_get_parent(fregs);
	probe->has_regs = regs;
	if (regs)
		probe->regs = *regs;
	if (order_num < ARRAY_SIZE(order))
		order[order_num++] = probe;
	if (probe->act)
		probe->act(probe, fregs);

	return 0;
}

/**
 * fhook_probe() - make a probe
 * @test: test that owns the probe
 * @name: name of its ops
 *
 * Return: the probe, not registered.
 */
struct fhook_probe *fhook_probe(struct kunit *test, const char *name)
{
	struct fhook_probe *probe;

	probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->test = test;
	probe->ops.name = name;
	probe->ops.entry = fhook_probe_entry;
	probe->ops.report = &probe->report;

	return probe;
}

static void probe_end(void *data)
{
	struct fhook_probe *probe = data;

	if (fhook_is_registered(&probe->ops))
		fhook_unregister(&probe->ops);
	else
		fhook_barrier();
}

/**
 * fhook_probe_undo() - unregister a probe at the end of the test, if needed
 * @probe: the probe
 */
void fhook_probe_undo(struct fhook_probe *probe)
{
	KUNIT_ASSERT_EQ(probe->test, 0,
			kunit_add_action(probe->test, probe_end, probe));
}

/**
 * fhook_probe_register() - register a probe, or end the test
 * @probe: the probe
 * @filter: as for fhook_register()
 */
void fhook_probe_register(struct fhook_probe *probe, const char *filter)
{
	int err = fhook_register(&probe->ops, filter, NULL);

	KUNIT_ASSERT_EQ_MSG(probe->test, 0, err, "%s: %s", probe->ops.name,
			    probe->report.text);
	fhook_probe_undo(probe);
}

/**
 * fhook_probe_unregister() - unregister a probe, which must work
 * @probe: the probe, registered by fhook_probe_register()
 */
void fhook_probe_unregister(struct fhook_probe *probe)
{
	KUNIT_EXPECT_EQ(probe->test, 0, fhook_unregister(&probe->ops));
	KUNIT_EXPECT_FALSE(probe->test, fhook_is_registered(&probe->ops));
	kunit_remove_action(probe->test, probe_end, probe);
}

/**
 * fhook_expect_symbol() - expect an address to be in a function
 * @test: the test
 * @addr: the address after a call, or an entry
 * @name: expected start of the function's name
 */
void fhook_expect_symbol(struct kunit *test, unsigned long addr,
			 const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol(symbol, addr);
	KUNIT_EXPECT_TRUE_MSG(test, !strncmp(symbol, name, strlen(name)),
			      "%s where %s should be", symbol, name);
}

/**
 * fhook_test_slot() - find the slot of a target
 * @test: the test
 * @func: the target, which will be called
 *
 * Return: the address of the slot.
 */
unsigned long fhook_test_slot(struct kunit *test, u32 (*func)(u32 value))
{
	struct fhook_probe *probe = fhook_probe(test, "slot");
	unsigned long addr = (unsigned long)func;

	KUNIT_ASSERT_EQ(test, 0, fhook_register_ips(&probe->ops, &addr, 1));
	fhook_probe_undo(probe);
	func(0);
	fhook_probe_unregister(probe);
	KUNIT_ASSERT_EQ(test, 1, probe->calls);

	/*
	 * The return address of the slot's call is the address that follows it.
	 */
	return probe->regs_ip - FHOOK_SLOT_SIZE;
}

/* The number in the name of the trampoline that last called a probe. */
static unsigned long tramp_of(struct fhook_probe *probe)
{
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long id = 0;

	sprint_symbol(symbol, probe->return_ip);
	if (sscanf(symbol, "fhook_trampoline_%lu", &id) != 1)
		KUNIT_FAIL(probe->test, "%s called %s", symbol,
			   probe->ops.name);

	return id;
}

static void test_entry(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "entry");

	KUNIT_EXPECT_FALSE(test, fhook_is_registered(&probe->ops));
	fhook_probe_register(probe, "fhook_target_a");
	KUNIT_EXPECT_TRUE(test, fhook_is_registered(&probe->ops));

	KUNIT_EXPECT_EQ(test, FHOOK_A(7), fhook_target_a(7));
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_a, probe->ip);
	KUNIT_EXPECT_PTR_EQ(test, NULL, probe->data);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	KUNIT_EXPECT_EQ(test, 7, (u32)probe->args[0]);
	fhook_expect_symbol(test, probe->parent, __func__);
	fhook_expect_symbol(test, probe->regs_ip, "fhook_target_a+");
	fhook_expect_symbol(test, probe->return_ip, "fhook_trampoline_");

	KUNIT_EXPECT_EQ(test, FHOOK_B(7), fhook_target_b(7));
	KUNIT_EXPECT_EQ(test, 1, probe->calls);

	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, FHOOK_A(8), fhook_target_a(8));
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
}

/* A function of vmlinux, whose names are looked up in another way. */
static void test_vmlinux(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "vmlinux");
	u64 ms = jiffies64_to_msecs(1234);

	fhook_probe_register(probe, "jiffies64_to_msecs");
	KUNIT_EXPECT_EQ(test, ms, jiffies64_to_msecs(1234));
	KUNIT_EXPECT_GE(test, probe->calls, 1);
	KUNIT_EXPECT_EQ(test, (unsigned long)jiffies64_to_msecs, probe->ip);
	fhook_probe_unregister(probe);
}

static void test_stack(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "stack");
	unsigned long here = (unsigned long)&probe;

	fhook_probe_register(probe, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, probe->parent, probe->regs_parent);
	/* Below this function's frame, and not far. */
	KUNIT_EXPECT_LT(test, probe->regs_sp, here);
	KUNIT_EXPECT_GT(test, probe->regs_sp, here - 512);
	fhook_probe_unregister(probe);
}

static void act_read_stack(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	const unsigned long *stack = (void *)fhook_regs_get_sp(fregs);

	probe->value = stack[FHOOK_STACK_ARG];
}

/* The arguments follow the return address, if that is on the stack. */
static void test_stack_args(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "sp");

	probe->act = act_read_stack;
	fhook_probe_register(probe, "fhook_target_many_args");
	fhook_target_many_args(0, 1, 2, 3, 4, 5, 6, 7, 8);
	KUNIT_EXPECT_EQ(test, FHOOK_REG_ARGS, probe->value);
	fhook_probe_unregister(probe);
}

static unsigned long call_args(void)
{
	return fhook_target_args(1, 2, 3, 4, 5, 6, 7);
}

static void act_change_args(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	int i;

	for (i = 0; i < FHOOK_TEST_ARGS; i++)
		fhook_regs_set_arg(fregs, i, 9 - i);
}

static void try_args(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "args");
	int i;

	probe->ops.flags = flags;
	fhook_probe_register(probe, "fhook_target_args");
	KUNIT_EXPECT_EQ(test, 7654321, call_args());
	for (i = 0; i < FHOOK_TEST_ARGS && i < FHOOK_REG_ARGS; i++)
		KUNIT_EXPECT_EQ(test, i + 1, probe->args[i]);
	/* On x86, the seventh is passed on the stack. */
	for (; i < FHOOK_TEST_ARGS; i++)
		KUNIT_EXPECT_EQ(test, 0, probe->args[i]);

	probe->act = act_change_args;
	KUNIT_EXPECT_EQ(test, FHOOK_CHANGED_ARGS, call_args());
	fhook_probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, 7654321, call_args());
}

static void test_args(struct kunit *test)
{
	try_args(test, 0);
	try_args(test, FHOOK_FL_REGS);
}

static void act_redirect(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	fhook_regs_set_ip(fregs, (unsigned long)fhook_target_other_args);
}

static void try_set_ip(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *first = fhook_probe(test, "first");
	struct fhook_probe *second = fhook_probe(test, "second");

	first->ops.flags = flags;
	first->act = act_redirect;
	fhook_probe_register(first, "fhook_target_args");
	fhook_probe_register(second, "fhook_target_args");
	KUNIT_EXPECT_EQ(test, 1234567, call_args());
	/* The next callback still gets the address of the called function. */
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_args, second->ip);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_other_args,
			second->regs_ip);
	fhook_probe_unregister(first);
	KUNIT_EXPECT_EQ(test, 7654321, call_args());
	fhook_probe_unregister(second);
}

static void test_set_ip(struct kunit *test)
{
	try_set_ip(test, 0);
	try_set_ip(test, FHOOK_FL_REGS);
}

/* All callbacks have full registers if one of them asks for them. */
static void test_regs_or_null(struct kunit *test)
{
	struct fhook_probe *without = fhook_probe(test, "without");
	struct fhook_probe *with = fhook_probe(test, "with");

	with->ops.flags = FHOOK_FL_REGS;
	fhook_probe_register(without, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_FALSE(test, without->has_regs);

	fhook_probe_register(with, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_TRUE(test, with->has_regs);
	KUNIT_EXPECT_TRUE(test, without->has_regs);
	KUNIT_EXPECT_EQ(test, with->regs_ip,
			instruction_pointer(&with->regs));
	KUNIT_EXPECT_EQ(test, with->regs_sp, with->regs.sp);

	fhook_probe_unregister(with);
	fhook_target_a(1);
	KUNIT_EXPECT_FALSE(test, without->has_regs);
	fhook_probe_unregister(without);
}

/* Call a target and expect these probes to run, in this order. */
static void expect_order(struct kunit *test, struct fhook_probe **probes,
			 unsigned int num)
{
	unsigned int i;

	order_num = 0;
	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	KUNIT_EXPECT_EQ(test, num, order_num);
	for (i = 0; i < min(num, order_num); i++)
		KUNIT_EXPECT_STREQ(test, probes[i]->ops.name,
				   order[i]->ops.name);
}

static struct fhook_probe *ordered(struct kunit *test, const char *name,
				   int priority)
{
	struct fhook_probe *probe = fhook_probe(test, name);

	probe->ops.priority = priority;
	fhook_probe_register(probe, "fhook_target_a");

	return probe;
}

static void test_order(struct kunit *test)
{
	struct fhook_probe *zero = ordered(test, "zero", 0);
	struct fhook_probe *five = ordered(test, "five", 5);
	struct fhook_probe *low = ordered(test, "low", -1);
	struct fhook_probe *again = ordered(test, "five again", 5);
	struct fhook_probe *last = ordered(test, "zero again", 0);

	expect_order(test, (struct fhook_probe *[]) {
			five, again, zero, last, low }, 5);
	/* A probe that is registered again comes last. */
	fhook_probe_unregister(five);
	fhook_probe_register(five, "fhook_target_a");
	expect_order(test, (struct fhook_probe *[]) {
			again, five, zero, last, low }, 5);
}

static void try_removal(struct kunit *test, const int *removal)
{
	static const char *const names[] = { "a", "b", "c" };
	struct fhook_probe *probes[3], *left[3];
	int i, j, num = 3;

	for (i = 0; i < 3; i++) {
		probes[i] = ordered(test, names[i], 0);
		left[i] = probes[i];
	}
	expect_order(test, left, num);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0,
				fhook_unregister_async(&probes[removal[i]]->ops,
						       NULL));
		for (j = 0; left[j] != probes[removal[i]]; j++)
			;
		for (num--; j < num; j++)
			left[j] = left[j + 1];
		expect_order(test, left, num);
	}
}

static void test_removal(struct kunit *test)
{
	static const int orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(orders); i++)
		try_removal(test, orders[i]);
}

/* With this many hooks, the trampoline is several KiB long. */
static void test_hundred(struct kunit *test)
{
	static struct fhook_probe *probes[100], *half[50];
	static char names[100][8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		snprintf(names[i], sizeof(names[i]), "p%u", i);
		probes[i] = fhook_probe(test, names[i]);
		fhook_probe_register(probes[i], "fhook_target_a");
		if (i & 1)
			half[i / 2] = probes[i];
	}
	expect_order(test, probes, ARRAY_SIZE(probes));
	for (i = 0; i < ARRAY_SIZE(probes); i += 2)
		KUNIT_EXPECT_EQ(test, 0,
				fhook_unregister_async(&probes[i]->ops, NULL));
	expect_order(test, half, ARRAY_SIZE(half));
}

/* Sites share a trampoline if and only if they have the same hooks. */
static void test_share(struct kunit *test)
{
	struct fhook_probe *both = fhook_probe(test, "both");
	struct fhook_probe *one = fhook_probe(test, "one");
	unsigned long a, b, a_with_one;

	fhook_probe_register(both, "fhook_target_a fhook_target_b");
	fhook_target_a(1);
	a = tramp_of(both);
	fhook_target_b(1);
	b = tramp_of(both);
	KUNIT_EXPECT_EQ(test, a, b);

	fhook_probe_register(one, "fhook_target_a");
	fhook_target_a(1);
	a_with_one = tramp_of(both);
	KUNIT_EXPECT_NE(test, a, a_with_one);
	KUNIT_EXPECT_EQ(test, a_with_one, tramp_of(one));
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, b, tramp_of(both));

	fhook_probe_unregister(one);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, b, tramp_of(both));
	fhook_probe_unregister(both);
}

static void expect_count(struct fhook_probe *probe, u64 hits, u64 missed)
{
	u64 is_hits, is_missed;

	fhook_count(&probe->ops, &is_hits, &is_missed);
	KUNIT_EXPECT_EQ_MSG(probe->test, hits, is_hits, "hits of %s",
			    probe->ops.name);
	KUNIT_EXPECT_EQ_MSG(probe->test, missed, is_missed, "missed by %s",
			    probe->ops.name);
	KUNIT_EXPECT_EQ(probe->test, hits, probe->calls);
}

static void test_count(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "count");
	int i;

	fhook_probe_register(probe, "fhook_target_a fhook_target_b");
	expect_count(probe, 0, 0);
	for (i = 0; i < 3; i++)
		fhook_target_a(i);
	fhook_target_b(0);
	expect_count(probe, 4, 0);

	/* The counters of the hook's sets have not changed. */
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&probe->ops, "fhook_target_b",
						NULL));
	fhook_target_a(0);
	fhook_target_b(0);
	expect_count(probe, 5, 0);
	fhook_probe_unregister(probe);
}

static void act_call_b(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	probe->value = fhook_target_b(1);
}

/* Calls made by a callback are not hooked, and count as missed. */
static void test_recursion(struct kunit *test)
{
	struct fhook_probe *outer = fhook_probe(test, "outer");
	struct fhook_probe *inner1 = fhook_probe(test, "inner1");
	struct fhook_probe *inner2 = fhook_probe(test, "inner2");

	outer->act = act_call_b;
	fhook_probe_register(outer, "fhook_target_a");
	fhook_probe_register(inner1, "fhook_target_b");
	fhook_probe_register(inner2, "fhook_target_b");

	KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
	KUNIT_EXPECT_EQ(test, FHOOK_B(1), outer->value);
	expect_count(outer, 1, 0);
	expect_count(inner1, 0, 1);
	expect_count(inner2, 0, 1);

	/* The guard has been released. */
	fhook_target_b(1);
	expect_count(inner1, 1, 1);
	expect_count(inner2, 1, 1);

	/* The same is true of the function itself. */
	inner1->act = act_call_b;
	fhook_target_b(1);
	expect_count(inner1, 2, 2);
	expect_count(inner2, 2, 2);
	expect_count(outer, 1, 0);
}

static void test_recursion_regs(struct kunit *test)
{
	struct fhook_probe *outer = fhook_probe(test, "outer");
	struct fhook_probe *inner = fhook_probe(test, "inner");
	int i;

	outer->act = act_call_b;
	outer->ops.flags = FHOOK_FL_REGS;
	inner->ops.flags = FHOOK_FL_REGS;
	fhook_probe_register(outer, "fhook_target_a");
	fhook_probe_register(inner, "fhook_target_b");
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, FHOOK_A(1), fhook_target_a(1));
		KUNIT_EXPECT_EQ(test, FHOOK_B(1), outer->value);
		expect_count(outer, i, 0);
		expect_count(inner, 0, i);
	}
}

static void act_call_a_thrice(struct fhook_probe *probe,
			      struct fhook_regs *fregs)
{
	if (probe->calls < 3)
		fhook_target_a(1);
}

static void test_unguarded(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "unguarded");
	struct fhook_probe *guarded = fhook_probe(test, "guarded");

	probe->ops.flags = FHOOK_FL_UNGUARDED;
	probe->act = act_call_a_thrice;
	fhook_probe_register(probe, "fhook_target_a");
	fhook_target_a(1);
	expect_count(probe, 3, 0);

	/* Both run under the guard if one of them needs it. */
	fhook_probe_register(guarded, "fhook_target_a");
	probe->calls = 0;
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	expect_count(guarded, 1, 1);

	fhook_probe_unregister(guarded);
	probe->calls = 0;
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 3, probe->calls);
}

/* Without a guard, only a debug build changes the preemption count. */
static void test_unguarded_preemption(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "unguarded");

	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "this kernel does not count preemption");

	probe->ops.flags = FHOOK_FL_UNGUARDED;
	fhook_probe_register(probe, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, !IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP),
			probe->preemptible);
	KUNIT_EXPECT_TRUE(test, preemptible());
	fhook_probe_unregister(probe);
}

static void test_glob(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "glob");
	struct fhook_probe *not = fhook_probe(test, "not");

	/* A prefix; the function without a slot is silently left out. */
	fhook_probe_register(probe, "fhook_target_n*");
	fhook_target_a(1);
	fhook_target_notrace(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_nest(1, fhook_target_a);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	fhook_probe_unregister(probe);

	/* A glob that is not a prefix, and exceptions. */
	KUNIT_ASSERT_EQ(test, 0, fhook_register(&not->ops, "fhook_*_[abc]",
						"*_a fhook_target_c"));
	fhook_probe_undo(not);
	fhook_target_a(1);
	fhook_target_b(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 1, not->calls);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_b, not->ip);
	fhook_probe_unregister(not);
}

static void test_ips(struct kunit *test)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_b);
	/* One function by its address, twice, and one by its slot. */
	unsigned long addrs[] = {
		(unsigned long)fhook_target_c, slot,
		(unsigned long)fhook_target_c,
	};
	struct fhook_probe *probe = fhook_probe(test, "ips");

	KUNIT_ASSERT_EQ(test, 0, fhook_register_ips(&probe->ops, addrs,
						    ARRAY_SIZE(addrs)));
	fhook_probe_undo(probe);
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_b, probe->ip);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, (unsigned long)fhook_target_c, probe->ip);
	KUNIT_EXPECT_EQ(test, 2, probe->calls);
	fhook_probe_unregister(probe);
}

static void test_syms(struct kunit *test)
{
	static const char *const syms[] = {
		"fhook_target_a", "fhook_target_c",
	};
	struct fhook_probe *probe = fhook_probe(test, "syms");

	KUNIT_ASSERT_EQ(test, 0, fhook_register_syms(&probe->ops, syms,
						     ARRAY_SIZE(syms)));
	fhook_probe_undo(probe);
	fhook_target_a(1);
	fhook_target_b(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 2, probe->calls);
	fhook_probe_unregister(probe);
}

/* A site leaves the set that another one takes, and vice versa. */
static void test_retarget_swaps_sets(struct kunit *test)
{
	struct fhook_probe *one = fhook_probe(test, "one");
	struct fhook_probe *two = fhook_probe(test, "two");

	fhook_probe_register(one, "fhook_target_a");
	fhook_probe_register(two, "fhook_target_a fhook_target_b");
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&one->ops, "fhook_target_b",
						NULL));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, one->calls);
	KUNIT_EXPECT_EQ(test, 1, two->calls);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 1, one->calls);
	KUNIT_EXPECT_EQ(test, 2, two->calls);

	/* A set in use must not have been retired in the meantime. */
	fhook_barrier();
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&one->ops, "fhook_target_a",
						NULL));
	fhook_barrier();
	fhook_target_a(1);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 2, one->calls);
	KUNIT_EXPECT_EQ(test, 4, two->calls);
}

static void test_retarget(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "retarget");
	struct fhook_probe *other = fhook_probe(test, "other");

	fhook_probe_register(other, "fhook_target_b");
	fhook_probe_register(probe, "fhook_target_a fhook_target_b");
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&probe->ops,
						"fhook_target_[bc]", NULL));
	fhook_target_a(1);
	KUNIT_EXPECT_EQ(test, 0, probe->calls);
	fhook_target_b(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 2, probe->calls);

	/* The same functions again, and fewer. */
	KUNIT_EXPECT_EQ(test, 0, fhook_retarget(&probe->ops, "fhook_target_?",
						"fhook_target_c"));
	fhook_target_a(1);
	fhook_target_b(1);
	fhook_target_c(1);
	KUNIT_EXPECT_EQ(test, 4, probe->calls);
	KUNIT_EXPECT_EQ(test, 2, other->calls);
	fhook_probe_unregister(probe);
	fhook_target_b(1);
	KUNIT_EXPECT_EQ(test, 3, other->calls);
}

/* kallsyms and __kernel_text_address() know trampolines. */
static void test_symbols(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "symbols");
	char symbol[KSYM_SYMBOL_LEN];

	fhook_probe_register(probe, "fhook_target_a");
	fhook_target_a(1);
	KUNIT_EXPECT_TRUE(test, fhook_test_is_text(probe->return_ip));
	sprint_symbol(symbol, probe->return_ip);
	KUNIT_EXPECT_NOT_NULL(test, strstr(symbol, "[__builtin__fhook]"));
	fhook_probe_unregister(probe);

	/* The trampoline is gone when fhook_unregister() has returned. */
	KUNIT_EXPECT_FALSE(test, fhook_test_is_text(probe->return_ip));
}

/* The third state of a site, for redirects and call traces. */
static void test_jump(struct kunit *test)
{
	unsigned long slot = fhook_test_slot(test, fhook_target_a);

	KUNIT_EXPECT_TRUE(test, fhook_test_jump(slot, fhook_target_b));
	KUNIT_EXPECT_EQ(test, FHOOK_B(3), fhook_target_a(3));
	KUNIT_EXPECT_TRUE(test, fhook_test_jump(slot, NULL));
	KUNIT_EXPECT_EQ(test, FHOOK_A(3), fhook_target_a(3));
}

static struct kunit_case fhook_cases[] = {
	KUNIT_CASE(test_entry),
	KUNIT_CASE(test_vmlinux),
	KUNIT_CASE(test_stack),
	KUNIT_CASE(test_stack_args),
	KUNIT_CASE(test_args),
	KUNIT_CASE(test_set_ip),
	KUNIT_CASE(test_regs_or_null),
	KUNIT_CASE(test_order),
	KUNIT_CASE(test_removal),
	KUNIT_CASE(test_hundred),
	KUNIT_CASE(test_share),
	KUNIT_CASE(test_count),
	KUNIT_CASE(test_recursion),
	KUNIT_CASE(test_recursion_regs),
	KUNIT_CASE(test_unguarded),
	KUNIT_CASE(test_unguarded_preemption),
	KUNIT_CASE(test_glob),
	KUNIT_CASE(test_ips),
	KUNIT_CASE(test_syms),
	KUNIT_CASE(test_retarget),
	KUNIT_CASE(test_retarget_swaps_sets),
	KUNIT_CASE(test_symbols),
	KUNIT_CASE(test_jump),
	{}
};

static struct kunit_suite fhook_suite = {
	.name = "fhook",
	.test_cases = fhook_cases,
};

kunit_test_suite(fhook_suite);

MODULE_DESCRIPTION("KUnit tests of fhook");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("FHOOK_KUNIT");
