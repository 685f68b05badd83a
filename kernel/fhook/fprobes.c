// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: fprobes.
 *
 * An fprobe is one hook if each of its functions has a slot, and else is left to
 * kernel/trace/fprobe.c, which asks here first. Its return addresses are then on fhook's
 * stack of the task, so that no pool can run out of them.
 *
 * The fprobe belongs to its user, who frees it when an RCU grace period has passed since it
 * was unregistered. Therefore the hook is in an object of its own, which is freed when fhook
 * has retired it, and forgets the fprobe when that is unregistered. Callbacks disable
 * preemption, and read the pointer once.
 *
 * There are no locks: users of an fprobe register and unregister it one after the other.
 *
 * The mainline counterpart is kernel/trace/fprobe.c.
 */
#define pr_fmt(fmt) "fhook: fprobes: " fmt

#include <linux/fhook_fprobes.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/hook_base.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/trace_recursion.h>

#include "core.h"
#include "probe.h"

/**
 * struct fhook_fprobe - hook of an fprobe that is, or was, registered
 * @ops: the hook
 * @fp: the fprobe; NULL after it was unregistered
 */
struct fhook_fprobe {
	struct fhook_ops	ops;
	struct fprobe		*fp;
};

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"fhook."

/* For fprobes that are registered from now on */
static bool fprobes_wanted = true;
module_param_named(fprobes, fprobes_wanted, bool, 0644);
MODULE_PARM_DESC(fprobes, "carry fprobes by fhook");

/* The fprobe whose hook was hit, or NULL if it is disabled. */
static __always_inline struct fprobe *fprobe_hit(struct fhook_ops *ops)
{
	struct fprobe *fp;

	if (unlikely(!fhook_rcu_waits()))
		return NULL;
	fp = READ_ONCE(container_of(ops, struct fhook_fprobe, ops)->fp);

	return likely(fp && !fprobe_disabled(fp)) ? fp : NULL;
}

/*
 * Handlers find the address as after ftrace's call at the entry. They may choose another one:
 * programs that override the return value do.
 */
static __always_inline int call_entry_handler(struct fprobe *fp, unsigned long ip,
					      struct fhook_regs *fregs, void *data)
{
	unsigned long next = fhook_regs_get_ip(fregs), chosen;
	unsigned long at = fhook_ftrace_ip(ip), after = at + MCOUNT_INSN_SIZE;
	struct hook_base_fprobe_room room;
	HOOK_BASE_FPROBE_REGS *regs;
	int ret;

	if (!fp->entry_handler)
		return 0;
	regs = hook_base_fprobe_regs(fregs, after, &room);
	ret = fp->entry_handler(fp, at, fhook_regs_get_parent(fregs), regs,
				fp->entry_data_size ? data : NULL);
	chosen = hook_base_fprobe_take(fregs, regs);
	if (unlikely(chosen != after))
		next = fhook_chosen_ip(fregs, chosen);
	fhook_regs_set_ip(fregs, next);

	return ret;
}

static __always_inline int call_beside_kprobes(struct fprobe *fp, unsigned long ip,
					       struct fhook_regs *fregs, void *data)
{
	int ret;

	if (unlikely(kprobe_running())) {
		fp->nmissed++;
		return 1;
	}
	kprobe_busy_begin();
	ret = call_entry_handler(fp, ip, fregs, data);
	kprobe_busy_end();

	return ret;
}

/* Return: whether the return of this call is not of interest */
static __always_inline int call_guarded(struct fprobe *fp, unsigned long ip,
					unsigned long parent_ip, struct fhook_regs *fregs,
					void *data)
{
	/* First: what is called below may be hooked, too. */
	int bit = ftrace_test_recursion_trylock(ip, parent_ip), ret;

	if (unlikely(bit < 0)) {
		fp->nmissed++;
		return 1;
	}
	if (fprobe_shared_with_kprobes(fp))
		ret = call_beside_kprobes(fp, ip, fregs, data);
	else
		ret = call_entry_handler(fp, ip, fregs, data);
	ftrace_test_recursion_unlock(bit);

	return ret;
}

static int on_entry(struct fhook_ops *ops, unsigned long ip, unsigned long parent_ip,
		    struct fhook_regs *fregs, void *data)
{
	struct fprobe *fp;
	int ret = 1;

	preempt_disable_notrace();
	fp = fprobe_hit(ops);
	if (likely(fp))
		ret = call_guarded(fp, ip, parent_ip, fregs, data);
	preempt_enable_notrace();

	return ret;
}

NOKPROBE_SYMBOL(on_entry);

static void on_exit(struct fhook_ops *ops, unsigned long ip, unsigned long ret_ip,
		    struct fhook_regs *fregs, void *data)
{
	unsigned long next = fhook_regs_get_ip(fregs);
	struct fprobe *fp = fprobe_hit(ops);
	struct hook_base_fprobe_room room;
	HOOK_BASE_FPROBE_REGS *regs;
	int bit;

	if (unlikely(!fp))
		return;
	bit = ftrace_test_recursion_trylock(ip, ret_ip);
	if (unlikely(bit < 0)) {
		fp->nmissed++;
		return;
	}
	regs = hook_base_fprobe_regs(fregs, ret_ip, &room);
	fp->exit_handler(fp, fhook_ftrace_ip(ip), ret_ip, regs,
			 fp->entry_data_size ? data : NULL);
	hook_base_fprobe_put(fregs, regs);
	fhook_regs_set_ip(fregs, next);
	ftrace_test_recursion_unlock(bit);
}

NOKPROBE_SYMBOL(on_exit);

static bool is_on(void)
{
	return READ_ONCE(fprobes_wanted) && !READ_ONCE(fhook_switched_off);
}

static bool is_possible(const struct fprobe *fp)
{
	if (fp->exit_handler)
		return !hook_base_fprobe_limited(fp) && fp->entry_data_size <= FHOOK_MAX_DATA;

	return fp->entry_handler && !HOOK_BASE_FPROBE_ELSEWHERE;
}

/**
 * fhook_fprobe_register() - hook the functions of an fprobe
 * @fp: the fprobe, which is initialized
 * @addrs: addresses of the functions, or of ftrace's slots in them
 * @num: number of addresses
 *
 * All or nothing. May sleep.
 *
 * Return: 0, or a negative error if fhook cannot carry this fprobe.
 */
int fhook_fprobe_register(struct fprobe *fp, const unsigned long *addrs, unsigned int num)
{
	struct fhook_report report = {};
	struct fhook_fprobe *carried;
	int ret;

	if (!is_on()) {
		if (!HOOK_BASE_FPROBE_ELSEWHERE)
			pr_info_ratelimited("not carried: fhook/enabled or fhook.fprobes is 0, and nothing else carries fprobes here\n");
		return -EOPNOTSUPP;
	}
	if (!is_possible(fp))
		return -EOPNOTSUPP;
	carried = kzalloc(sizeof(*carried), GFP_KERNEL);
	if (!carried)
		return -ENOMEM;

	carried->fp = fp;
	carried->ops.name = "fprobe";
	/* Whether an exit is of interest is decided at the entry, also without a handler there. */
	carried->ops.entry = on_entry;
	carried->ops.exit = fp->exit_handler ? on_exit : NULL;
	carried->ops.data_size = fp->exit_handler ? fp->entry_data_size : 0;
	/* Calls that happen in a handler count as missed by the fprobe. */
	carried->ops.flags = HOOK_BASE_FPROBE_FLAGS | FHOOK_FL_UNGUARDED;
	carried->ops.report = &report;
	ret = fhook_register_ips(&carried->ops, addrs, num);
	carried->ops.report = NULL;
	if (ret) {
		pr_info_ratelimited("not carried: %s\n", report.text);
		kfree(carried);
		return ret;
	}
	fp->carried = carried;

	return 0;
}

/**
 * fhook_fprobe_missed() - count the calls that fhook has refused to an fprobe
 * @fp: the fprobe, which is not being unregistered
 *
 * May sleep.
 *
 * Return: the number of calls, which are not in &fprobe.nmissed yet.
 */
unsigned long fhook_fprobe_missed(const struct fprobe *fp)
{
	u64 hits, missed = 0;

	if (fp->carried)
		fhook_count(&fp->carried->ops, &hits, &missed);

	return missed;
}

static void free_carried(struct fhook_ops *ops)
{
	kfree(container_of(ops, struct fhook_fprobe, ops));
}

/**
 * fhook_fprobe_unregister() - undo fhook_fprobe_register()
 * @fp: the fprobe, which fhook carries
 *
 * Handlers may run until the end of an RCU grace period. May sleep.
 */
void fhook_fprobe_unregister(struct fprobe *fp)
{
	struct fhook_fprobe *carried = fp->carried;

	fp->nmissed += fhook_fprobe_missed(fp);
	fp->carried = NULL;
	WRITE_ONCE(carried->fp, NULL);
	WARN_ON_ONCE(fhook_unregister_async(&carried->ops, free_carried));
}
