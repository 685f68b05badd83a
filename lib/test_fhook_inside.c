// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook on x86_64: consistent redirects, and tasks whose stack does not
 * show which function they are in.
 */
#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/fhook_redirect.h>
#include <linux/filter.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/string.h>
#include <asm/text-patching.h>

#include "test_fhook.h"

/*
 * Addresses in functions
 */

/* First and last address; in no order, next to each other, inside each other, overlapping */
static const unsigned long ends[] = {
	50, 59, 10, 19, 20, 20, 52, 54, 10, 14, 58, 63, 2, 3,
};

static void test_ranges(struct kunit *test)
{
	unsigned long addr;
	unsigned int num, i;
	bool inside;

	for (num = 0; num <= ARRAY_SIZE(ends) / 2; num++) {
		for (addr = 0; addr < 70; addr++) {
			inside = false;
			for (i = 0; i < num; i++)
				inside |= addr >= ends[2 * i] && addr <= ends[2 * i + 1];
			KUNIT_EXPECT_EQ_MSG(test, inside, fhook_test_in_ranges(ends, num, addr),
					    "%lu in %u ranges", addr, num);
		}
	}
}

/*
 * Tasks whose stack cannot be unwound
 */

/* Called from assembly, which hides its caller from the unwinder. */
asmlinkage void test_fhook_beneath(void);
void test_fhook_hide(void);
STACK_FRAME_NON_STANDARD(test_fhook_hide);

asm("	.pushsection .text, \"ax\", @progbits\n"
	"	.type test_fhook_hide, @function\n"
	"	.globl test_fhook_hide\n"
	"test_fhook_hide:\n"
	"	" ASM_ENDBR
	"	subq	$24, %rsp\n"
	"	call	test_fhook_beneath\n"
	"	addq	$24, %rsp\n"
	"	" ASM_RET
	"	.size test_fhook_hide, . - test_fhook_hide\n"
	"	.popsection\n");

static int beneath_reliable;

asmlinkage void test_fhook_beneath(void)
{
	unsigned long entries[32];

	beneath_reliable = fhook_test_trace_reliable(entries, ARRAY_SIZE(entries));
	fhook_stay(0);
}

static void (*test_fhook_nested)(void);

static u32 hidden_nest(u32 value)
{
	test_fhook_nested();

	return value + 1;
}

static int hide_fn(void *inside)
{
	if (inside)
		fhook_target_nest(1, hidden_nest);
	else
		test_fhook_nested();
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

static u32 hide_instead(u32 value, u32 (*nest)(u32 value))
{
	return nest(value) + 100;
}

static void hidden_exit(struct fhook_ops *ops, unsigned long ip,
			unsigned long ret_ip, struct fhook_regs *fregs,
			void *data)
{
}

/**
 * struct hidden - a consistent patch of fhook_target_nest()
 * @redirect: redirect of the function
 * @patch: the patch
 * @report: report of the last error
 */
struct hidden {
	struct fhook_redirect	redirect;
	struct fhook_patch	patch;
	struct fhook_report	report;
};

static void hidden_init(struct hidden *h)
{
	memset(h, 0, sizeof(*h));
	h->redirect.func = "fhook_target_nest";
	h->redirect.module = TARGETS_MODULE;
	h->redirect.replacement = hide_instead;
	h->patch.name = "hidden";
	h->patch.owner = THIS_MODULE;
	h->patch.redirects = &h->redirect;
	h->patch.num = 1;
	h->patch.flags = FHOOK_PATCH_CONSISTENT;
	h->patch.report = &h->report;
}

static void expect_hidden_refused(struct kunit *test, struct hidden *h,
				  const char *why)
{
	KUNIT_EXPECT_EQ(test, -EBUSY, fhook_redirect(&h->patch));
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_TASK, h->report.error);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(h->report.text, why), "%s",
				  h->report.text);
}

static void expect_hidden_free(struct kunit *test, struct hidden *h)
{
	KUNIT_EXPECT_EQ_MSG(test, 0, fhook_redirect(&h->patch), "%s",
			    h->report.text);
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&h->patch));
}

/* Whether the task is inside is unknown, so it prevents the switch. */
static void test_unreliable_stack(struct kunit *test)
{
	struct task_struct *task;
	struct hidden h;

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	hidden_init(&h);
	test_fhook_nested = test_fhook_hide;
	task = fhook_stay_begin(test, hide_fn, NULL);
	KUNIT_EXPECT_LT(test, beneath_reliable, 0);
	expect_hidden_refused(test, &h, "cannot be unwound reliably");
	fhook_stay_end(task);
	expect_hidden_free(test, &h);
}

#ifdef CONFIG_BPF_JIT
static struct bpf_prog *bpf_calls_beneath;

static void hide_in_bpf(void)
{
	bpf_prog_run_pin_on_cpu(bpf_calls_beneath, NULL);
}

static void try_beneath_bpf(struct kunit *test, fhook_exit_t exit)
{
	struct fhook_probe *probe = fhook_probe(test, "around");
	struct task_struct *task;
	struct hidden h;

	hidden_init(&h);
	probe->ops.exit = exit;
	fhook_probe_register(probe, "fhook_target_nest");
	task = fhook_stay_begin(test, hide_fn, NULL);
	KUNIT_EXPECT_GT(test, beneath_reliable, 0);
	expect_hidden_free(test, &h);
	fhook_stay_end(task);

	task = fhook_stay_begin(test, hide_fn, test);
	KUNIT_EXPECT_GT(test, beneath_reliable, 0);
	expect_hidden_refused(test, &h, "is in fhook_target_nest");
	fhook_stay_end(task);
	expect_hidden_free(test, &h);
	fhook_probe_unregister(probe);
}

/* A task that sleeps in a function called by BPF code is unwound reliably. */
static void test_beneath_bpf(struct kunit *test)
{
	const struct bpf_insn insns[] = {
		BPF_EMIT_CALL(test_fhook_beneath),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};
	struct bpf_prog *prog;
	int err;

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	prog = bpf_prog_alloc(bpf_prog_size(ARRAY_SIZE(insns)), 0);
	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->len = ARRAY_SIZE(insns);
	memcpy(prog->insnsi, insns, sizeof(insns));
	prog->type = BPF_PROG_TYPE_SOCKET_FILTER;
	prog = bpf_prog_select_runtime(prog, &err);
	KUNIT_ASSERT_EQ(test, 0, err);
	if (!prog->jited) {
		bpf_prog_free(prog);
		kunit_skip(test, "BPF programs are interpreted here");
	}

	fhook_test_bpf_symbol(prog, true);
	bpf_calls_beneath = prog;
	test_fhook_nested = hide_in_bpf;
	try_beneath_bpf(test, NULL);
	try_beneath_bpf(test, hidden_exit);
	fhook_test_bpf_symbol(prog, false);
	bpf_prog_free(prog);
}
#else
static void test_beneath_bpf(struct kunit *test)
{
	kunit_skip(test, "needs CONFIG_BPF_JIT");
}
#endif

#if defined(CONFIG_BPF_JIT) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
/**
 * struct traced - a BPF program attached to fhook_target_nest() by a trampoline
 * @link: link of the program
 * @tr: the trampoline
 */
struct traced {
	struct bpf_tramp_link	link;
	struct bpf_trampoline	*tr;
};

static void traced_begin(struct kunit *test, struct traced *t,
			 const struct bpf_insn *insns, unsigned int num,
			 enum bpf_attach_type type)
{
	struct bpf_prog *prog;
	int err;

	memset(t, 0, sizeof(*t));
	prog = bpf_prog_alloc(bpf_prog_size(num), 0);
	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->len = num;
	memcpy(prog->insnsi, insns, num * sizeof(*insns));
	prog->type = BPF_PROG_TYPE_TRACING;
	prog->expected_attach_type = type;
	prog->sleepable = true;
	prog = bpf_prog_select_runtime(prog, &err);
	KUNIT_ASSERT_EQ(test, 0, err);
	if (!prog->jited) {
		bpf_prog_free(prog);
		kunit_skip(test, "BPF programs are interpreted here");
	}

	fhook_test_bpf_symbol(prog, true);
	t->link.link.prog = prog;
	t->tr = fhook_test_bpf_attach(&t->link, fhook_target_nest);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->tr));
}

static void traced_end(struct kunit *test, struct traced *t)
{
	struct bpf_prog *prog = t->link.link.prog;

	KUNIT_EXPECT_EQ(test, 0, fhook_test_bpf_detach(&t->link, t->tr));
	fhook_test_bpf_symbol(prog, false);
	bpf_prog_free(prog);
}

static u32 hide_instead_of_b(u32 value)
{
	return value + 100;
}

static void stay_nowhere(void)
{
}

/* The task sleeps in a function called by the hooked function, or by the program. */
static void try_traced(struct kunit *test, enum bpf_attach_type type,
		       bool in_prog)
{
	const struct bpf_insn calls[] = {
		BPF_EMIT_CALL(test_fhook_beneath),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};
	const unsigned int from = in_prog ? 0 : 1;
	struct task_struct *task;
	struct hidden nest, other;
	struct traced t;

	traced_begin(test, &t, calls + from, ARRAY_SIZE(calls) - from, type);
	hidden_init(&nest);
	hidden_init(&other);
	other.redirect.func = "fhook_target_b";
	other.redirect.replacement = hide_instead_of_b;

	beneath_reliable = 0;
	test_fhook_nested = in_prog ? stay_nowhere : test_fhook_beneath;
	task = fhook_stay_begin(test, hide_fn, test);
	KUNIT_EXPECT_GT(test, beneath_reliable, 0);
	/* ftrace may jump to the trampoline: then the program runs before the function. */
	if (in_prog && IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_JMP))
		expect_hidden_free(test, &nest);
	else
		expect_hidden_refused(test, &nest, "is in fhook_target_nest");
	expect_hidden_free(test, &other);
	fhook_stay_end(task);
	expect_hidden_free(test, &nest);
	traced_end(test, &t);
}

/* A task that sleeps beneath a BPF trampoline does not prevent the switch either. */
static void test_beneath_bpf_trampoline(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	try_traced(test, BPF_TRACE_FEXIT, false);
	try_traced(test, BPF_MODIFY_RETURN, false);
	try_traced(test, BPF_MODIFY_RETURN, true);
}
#else
static void test_beneath_bpf_trampoline(struct kunit *test)
{
	kunit_skip(test, "needs BPF programs that are compiled, and attached by ftrace");
}
#endif

/*
 * A function that ends early for kallsyms
 */

static noinline __noclone u32 labelled_stay(u32 value)
{
	asm volatile(".globl test_fhook_label\n"
		     "test_fhook_label:\n");
	fhook_stay(0);

	return value + 7;
}

static int labelled_fn(void *data)
{
	labelled_stay(1);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

static u32 labelled_instead(u32 value)
{
	return value + 1;
}

/* A task after a global label in the middle of a function is inside. */
static void test_label_inside(struct kunit *test)
{
	struct task_struct *task;
	struct hidden h;

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	hidden_init(&h);
	h.redirect.func = "labelled_stay";
	h.redirect.replacement = labelled_instead;
	task = fhook_stay_begin(test, labelled_fn, NULL);
	expect_hidden_refused(test, &h, "is in test_fhook_label");
	fhook_stay_end(task);
	expect_hidden_free(test, &h);
}

/*
 * Instructions of a function that run elsewhere, because of a kprobe
 */

/* Set by assembly. */
extern const char *test_fhook_probed_detour, *test_fhook_probed_slot;

static bool probed_inside, probed_stop, probed_stubborn;

/*
 * The loop has room for a jump at the first label, which becomes a detour. It has no
 * room at the second, where the jump would cover a branch target: there a slot is
 * boosted.
 */
static noinline __noclone u32 probed_spin(u32 value)
{
	unsigned long count = value;

	WRITE_ONCE(probed_inside, true);
	while (!READ_ONCE(probed_stop)) {
		asm volatile(ANNOTATE_NOENDBR "\n"
			     "771:	leaq	0x1000(%0), %0\n"
			     "	nop\n	nop\n	nop\n	nop\n"
			     "	movl	$2, %%ecx\n"
			     ANNOTATE_NOENDBR "\n"
			     "772:	leaq	1(%0), %0\n"
			     "1:	decl	%%ecx\n"
			     "	jnz	1b\n"
			     "	.pushsection .data, \"aw\"\n"
			     "	.balign	8\n"
			     "	.globl	test_fhook_probed_detour, test_fhook_probed_slot\n"
			     "test_fhook_probed_detour:	.quad 771b\n"
			     "test_fhook_probed_slot:	.quad 772b\n"
			     "	.popsection\n"
			     : "+r" (count) : : "ecx", "cc");
		if (count & 0xff)
			continue;
		/*
		 * Without preemption nothing else runs here otherwise, stop_machine()
		 * included; and no grace period of RCU tasks ends.
		 */
		if (READ_ONCE(probed_stubborn))
			cond_resched();
		else
			cond_resched_tasks_rcu_qs();
	}
	WRITE_ONCE(probed_inside, false);

	return value + 5;
}

static noinline u32 probed_instead(u32 value)
{
	return value + 1;
}

static int probed_hit(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int probed_fn(void *call)
{
	u32 (*spin)(u32 value) = call;

	spin(1);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

/* A task that runs in the loop, from @spin, with a probe at @addr. */
static struct task_struct *probed_begin(struct kunit *test, struct kprobe *kp,
					const char *addr, void *spin)
{
	struct task_struct *task;
	int i;

	*kp = (struct kprobe){
		.addr		= (void *)addr,
		.pre_handler	= probed_hit,
	};
	WRITE_ONCE(probed_stop, false);
	WRITE_ONCE(probed_inside, false);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(kp));
	for (i = 0; i < 50 && addr == test_fhook_probed_detour; i++) {
		if (READ_ONCE(*(u8 *)addr) == JMP32_INSN_OPCODE)
			break;
		schedule_timeout_interruptible(HZ / 10);
	}
	task = kthread_run(probed_fn, spin, "fhook_probed");
	if (IS_ERR(task))
		unregister_kprobe(kp);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (!READ_ONCE(probed_inside))
		schedule_timeout_interruptible(1);

	return task;
}

static void probed_end(struct kprobe *kp, struct task_struct *task)
{
	WRITE_ONCE(probed_stop, true);
	kthread_stop(task);
	unregister_kprobe(kp);
}

static void try_probed(struct kunit *test, const char *addr)
{
	struct fhook_report report = {};
	struct fhook_redirect redirect = {
		.func		= "probed_spin",
		.module		= TARGETS_MODULE,
		.replacement	= probed_instead,
	};
	struct fhook_patch patch = {
		.name		= "probed",
		.owner		= THIS_MODULE,
		.redirects	= &redirect,
		.num		= 1,
		.flags		= FHOOK_PATCH_CONSISTENT,
		.report		= &report,
	};
	struct task_struct *task;
	struct kprobe kp;
	int err;

	task = probed_begin(test, &kp, addr, probed_spin);
	err = fhook_redirect(&patch);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(probed_inside));
	KUNIT_EXPECT_EQ(test, -EBUSY, err);
	probed_end(&kp, task);
	if (err)
		KUNIT_EXPECT_EQ_MSG(test, 0, fhook_redirect(&patch), "%s",
				    report.text);
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&patch));
}

/* No function is switched while a task executes its instructions elsewhere. */
static void test_probed(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	try_probed(test, test_fhook_probed_detour);
	try_probed(test, test_fhook_probed_slot);
}

static int probed_redirect_fn(void *patch)
{
	int err = fhook_redirect(patch);

	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return err;
}

/* A refused redirect does not wait for a grace period, which may never end. */
static void test_refused_at_once(struct kunit *test)
{
	struct fhook_report report = {};
	struct fhook_redirect redirect = {
		.func		= "probed_spin",
		.module		= TARGETS_MODULE,
		.replacement	= probed_instead,
	};
	struct fhook_patch patch = {
		.name		= "refused",
		.owner		= THIS_MODULE,
		.redirects	= &redirect,
		.num		= 1,
		.flags		= FHOOK_PATCH_CONSISTENT,
		.report		= &report,
	};
	struct task_struct *task, *applier;
	struct kprobe kp;
	int i;

	WRITE_ONCE(probed_stubborn, true);
	task = probed_begin(test, &kp, test_fhook_probed_slot, probed_spin);
	applier = kthread_run(probed_redirect_fn, &patch, "fhook_tries");
	for (i = 0; i < 600 && !READ_ONCE(report.error); i++)
		schedule_timeout_interruptible(HZ / 10);
	KUNIT_EXPECT_EQ(test, FHOOK_ERR_TASK, READ_ONCE(report.error));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(probed_inside));
	WRITE_ONCE(probed_stubborn, false);
	probed_end(&kp, task);
	KUNIT_ASSERT_FALSE(test, IS_ERR(applier));
	KUNIT_EXPECT_EQ(test, -EBUSY, kthread_stop(applier));
}

/* Is a hook registered while a redirect waits? @looks counts the checks of the redirect. */
static bool try_meanwhile(struct kunit *test, struct hidden *h,
			  struct fhook_probe *looks, struct fhook_probe *other)
{
	struct task_struct *applier;
	unsigned int seen, i;

	WRITE_ONCE(looks->calls, 0);
	applier = kthread_run(probed_redirect_fn, &h->patch, "fhook_tries");
	KUNIT_ASSERT_FALSE(test, IS_ERR(applier));
	for (i = 0; i < 1000 && READ_ONCE(looks->calls) < 2; i++)
		schedule_timeout_interruptible(1);
	fhook_probe_register(other, "fhook_target_b");
	seen = READ_ONCE(looks->calls);
	fhook_probe_unregister(other);
	KUNIT_EXPECT_EQ(test, -EBUSY, kthread_stop(applier));

	return seen < looks->calls;
}

/* A redirect that waits lets others change hooks. */
static void test_meanwhile(struct kunit *test)
{
	struct fhook_probe *looks = fhook_probe(test, "looks");
	struct fhook_probe *other = fhook_probe(test, "other");
	struct task_struct *task;
	bool meanwhile = false;
	struct hidden h;
	int i;

	hidden_init(&h);
	test_fhook_nested = test_fhook_beneath;
	task = fhook_stay_begin(test, hide_fn, test);
	fhook_probe_register(looks, "stop_machine");
	/* On a busy machine it may be over first. */
	for (i = 0; i < 10 && !meanwhile; i++)
		meanwhile = try_meanwhile(test, &h, looks, other);
	KUNIT_EXPECT_TRUE(test, meanwhile);
	fhook_probe_unregister(looks);
	fhook_stay_end(task);
	expect_hidden_free(test, &h);
}

static bool probed_restored;

static int probed_restore_fn(void *patch)
{
	int err = fhook_restore(patch);

	WRITE_ONCE(probed_restored, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return err;
}

static void try_probed_replacement(struct kunit *test, const char *addr)
{
	struct fhook_redirect redirect = {
		.func		= "fhook_target_c",
		.module		= TARGETS_MODULE,
		.replacement	= probed_spin,
	};
	struct fhook_patch patch = {
		.name		= "probed replacement",
		.owner		= THIS_MODULE,
		.redirects	= &redirect,
		.num		= 1,
	};
	struct task_struct *task, *restorer;
	struct kprobe kp;

	KUNIT_ASSERT_EQ(test, 0, fhook_redirect(&patch));
	task = probed_begin(test, &kp, addr, fhook_target_c);
	WRITE_ONCE(probed_restored, false);
	restorer = kthread_run(probed_restore_fn, &patch, "fhook_restores");
	KUNIT_EXPECT_FALSE(test, IS_ERR(restorer));
	/* Time for grace periods, and for more than one check. */
	schedule_timeout_interruptible(3 * HZ);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(probed_inside));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(probed_restored));
	probed_end(&kp, task);
	if (!IS_ERR(restorer))
		KUNIT_EXPECT_EQ(test, 0, kthread_stop(restorer));
}

/* A replacement in use is not given up, so its module is not freed. */
static void test_probed_replacement(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "needs the ORC unwinder");

	try_probed_replacement(test, test_fhook_probed_detour);
	try_probed_replacement(test, test_fhook_probed_slot);
}

static struct kunit_case fhook_inside_cases[] = {
	KUNIT_CASE(test_ranges),
	KUNIT_CASE_SLOW(test_unreliable_stack),
	KUNIT_CASE_SLOW(test_beneath_bpf),
	KUNIT_CASE_SLOW(test_label_inside),
	KUNIT_CASE_SLOW(test_beneath_bpf_trampoline),
	KUNIT_CASE_SLOW(test_probed),
	KUNIT_CASE_SLOW(test_probed_replacement),
	KUNIT_CASE_SLOW(test_refused_at_once),
	KUNIT_CASE_SLOW(test_meanwhile),
	{}
};

static struct kunit_suite fhook_inside_suite = {
	.name = "fhook_inside",
	.test_cases = fhook_inside_cases,
};

kunit_test_suite(fhook_inside_suite);
