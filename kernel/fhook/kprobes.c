// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: kprobes and kretprobes at function entries.
 *
 * A kprobe at the entry of a function with a slot needs no breakpoint: each such kprobe is
 * a hook of its own, as long as it is armed. A kretprobe is a hook with an exit; its
 * instance is in the frame of the call, so that no pool can run out of instances.
 * kernel/kprobes.c keeps these kprobes in its table like others, and arms, disarms, lists
 * and kills them.
 *
 * The kprobe belongs to its user, who frees it after unregister_kprobe(), which waits for
 * RCU but not for trampolines. Therefore the hook is in an object of its own, which is freed
 * when fhook has retired it, and forgets the kprobe when that is disarmed. Callbacks
 * disable preemption, and read the pointer once.
 *
 * uses_mutex protects the table of these objects. It nests inside of kprobe_mutex, and
 * fhook's own mutex inside of it.
 *
 * The mainline counterpart is arch/x86/kernel/kprobes/ftrace.c.
 */
#define pr_fmt(fmt) "fhook: kprobes: " fmt

#include <linux/fhook_kprobes.h>
#include <linux/hashtable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "core.h"
#include "probe.h"
#include "sites.h"

#define USES_BITS	6

/**
 * struct kprobe_use - hook of a kprobe that is, or was, armed
 * @ops: the hook
 * @probe: the kprobe; NULL after it was disarmed
 * @node: link in the table, by the address of the kprobe
 */
struct kprobe_use {
	struct fhook_ops	ops;
	struct kprobe		*probe;
	struct hlist_node	node;
};

static DEFINE_MUTEX(uses_mutex);
static DEFINE_HASHTABLE(uses, USES_BITS);

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"fhook."

/* For kprobes that are registered from now on */
static bool kprobes_wanted = true;
module_param_named(kprobes, kprobes_wanted, bool, 0644);
MODULE_PARM_DESC(kprobes, "carry kprobes at function entries by fhook");

static struct kprobe_use *use_of(const struct kprobe *p)
{
	struct kprobe_use *use;

	lockdep_assert_held(&uses_mutex);
	hash_for_each_possible(uses, use, node, (unsigned long)p)
		if (use->probe == p)
			return use;
	return NULL;
}

/* The kprobe whose hook was hit, or NULL. */
static __always_inline struct kprobe *probe_hit(struct fhook_ops *ops)
{
	if (unlikely(!fhook_rcu_waits()))
		return NULL;

	return READ_ONCE(container_of(ops, struct kprobe_use, ops)->probe);
}

/* Handlers find the address as after a breakpoint at the kprobe. */
static __always_inline unsigned long handler_ip(const struct kprobe *p)
{
	return (unsigned long)p->addr + (IS_ENABLED(CONFIG_X86) ? sizeof(*p->addr) : 0);
}

/* Status first: a kprobe in an interrupt checks it if there is a current kprobe. */
static __always_inline void begin(struct kprobe *p)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_ACTIVE);
	barrier();
	__this_cpu_write(current_kprobe, p);
}

/* The slot has been executed. */
static noinline void call_post_handler(struct kprobe *p, struct fhook_regs *fregs)
{
	__this_cpu_write(kprobe_ctlblk.kprobe_status, KPROBE_HIT_SSDONE);
	instruction_pointer_set(&fregs->regs, fregs->ip);
	p->post_handler(p, &fregs->regs, 0);
}

NOKPROBE_SYMBOL(call_post_handler);

/* Handlers see only pt_regs: meanwhile, fregs->ip has the address at which to continue. */
static __always_inline void call_handlers(struct kprobe *p, struct fhook_regs *fregs)
{
	struct pt_regs *regs = &fregs->regs;

	instruction_pointer_set(regs, handler_ip(p));
	begin(p);
	if (p->pre_handler && p->pre_handler(p, regs)) {
		fhook_regs_take(fregs);
		fregs->ip = fhook_chosen_ip(fregs, instruction_pointer(regs));
	} else {
		if (unlikely(p->post_handler))
			call_post_handler(p, fregs);
		fhook_regs_take(fregs);
	}
	instruction_pointer_set(regs, fregs->ip);
	__this_cpu_write(current_kprobe, NULL);
}

static int on_entry(struct fhook_ops *ops, unsigned long ip, unsigned long parent_ip,
		    struct fhook_regs *fregs, void *data)
{
	struct kprobe *p;

	preempt_disable_notrace();
	p = probe_hit(ops);
	if (likely(p && !kprobe_running()))
		call_handlers(p, fregs);
	else if (p)
		kprobes_inc_nmissed_count(p);
	preempt_enable_notrace();

	return 0;
}

NOKPROBE_SYMBOL(on_entry);

#ifdef CONFIG_KRETPROBES

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
static __always_inline void init_instance(struct kretprobe_instance *ri, struct kretprobe *rp,
					  unsigned long key)
{
	ri->node.rethook = rp->rh;
	ri->node.frame = key;
}

static __always_inline void set_ret_addr(struct kretprobe_instance *ri, unsigned long addr)
{
	ri->node.ret_addr = addr;
}
#else
static __always_inline void init_instance(struct kretprobe_instance *ri, struct kretprobe *rp,
					  unsigned long key)
{
	ri->rph = rp->rph;
	ri->fp = (void *)key;
}

static __always_inline void set_ret_addr(struct kretprobe_instance *ri, unsigned long addr)
{
	ri->ret_addr = (kprobe_opcode_t *)addr;
}
#endif

/* Return: whether the return of this call is not of interest */
static __always_inline int call_entry_handler(struct kretprobe *rp, struct fhook_regs *fregs,
					      struct kretprobe_instance *ri)
{
	struct pt_regs *regs = &fregs->regs;
	int ret;

	instruction_pointer_set(regs, handler_ip(&rp->kp));
	begin(&rp->kp);
	ret = rp->entry_handler(ri, regs);
	__this_cpu_write(current_kprobe, NULL);
	instruction_pointer_set(regs, fregs->ip);

	return ret;
}

static int on_call(struct fhook_ops *ops, unsigned long ip, unsigned long parent_ip,
		   struct fhook_regs *fregs, void *data)
{
	struct kretprobe *rp;
	struct kprobe *p;
	int ret = 1;

	preempt_disable_notrace();
	p = probe_hit(ops);
	if (likely(p && !kprobe_running())) {
		rp = container_of(p, struct kretprobe, kp);
		init_instance(data, rp, fhook_regs_key(fregs));
		ret = call_entry_handler(rp, fregs, data);
	} else if (p) {
		kprobes_inc_nmissed_count(p);
	}
	preempt_enable_notrace();

	return ret;
}

NOKPROBE_SYMBOL(on_call);

/* A stack trace in the handler begins in the caller. */
static __always_inline void call_return_handler(struct kretprobe *rp, unsigned long ret_ip,
						struct fhook_regs *fregs,
						struct kretprobe_instance *ri)
{
	struct pt_regs *regs = &fregs->regs;

	set_ret_addr(ri, ret_ip);
	instruction_pointer_set(regs, ret_ip);
	begin(&rp->kp);
	rp->handler(ri, regs);
	instruction_pointer_set(regs, fregs->ip);
}

/* Of a kretprobe without an entry handler: nothing was called at the entry. */
static void on_return(struct fhook_ops *ops, unsigned long ip, unsigned long ret_ip,
		      struct fhook_regs *fregs, void *data)
{
	struct kprobe *p = probe_hit(ops);
	struct kretprobe *rp;

	if (unlikely(!p))
		return;
	if (unlikely(kprobe_running())) {
		kprobes_inc_nmissed_count(p);
		return;
	}
	rp = container_of(p, struct kretprobe, kp);
	init_instance(data, rp, fhook_regs_key(fregs));
	call_return_handler(rp, ret_ip, fregs, data);
	__this_cpu_write(current_kprobe, NULL);
}

NOKPROBE_SYMBOL(on_return);

/* Whose entry handler was called sees its return, also below a handler of another kprobe. */
static void on_awaited_return(struct fhook_ops *ops, unsigned long ip, unsigned long ret_ip,
			      struct fhook_regs *fregs, void *data)
{
	struct kprobe *p = probe_hit(ops), *outer = kprobe_running();
	unsigned long status = __this_cpu_read(kprobe_ctlblk.kprobe_status);

	if (unlikely(!p))
		return;
	call_return_handler(container_of(p, struct kretprobe, kp), ret_ip, fregs, data);
	__this_cpu_write(current_kprobe, outer);
	__this_cpu_write(kprobe_ctlblk.kprobe_status, status);
}

NOKPROBE_SYMBOL(on_awaited_return);

/*
 * Is there a handler to call, and room for the instance in a frame? Else instances come from
 * the kretprobe's pool.
 */
static bool has_exit(struct kprobe *p, bool is_return)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	return is_return && rp->handler &&
	       sizeof(struct kretprobe_instance) + rp->data_size <= FHOOK_MAX_DATA;
}

static void set_callbacks(struct fhook_ops *ops, struct kprobe *p, bool is_return)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);

	ops->name = is_return ? "kretprobe" : "kprobe";
	ops->entry = on_entry;
	if (!has_exit(p, is_return))
		return;
	ops->entry = rp->entry_handler ? on_call : NULL;
	ops->exit = rp->entry_handler ? on_awaited_return : on_return;
	ops->data_size = sizeof(struct kretprobe_instance) + rp->data_size;
}

static void add_missed(struct kprobe *p, bool is_return, u64 missed)
{
	if (is_return)
		container_of(p, struct kretprobe, kp)->nmissed += missed;
	else
		p->nmissed += missed;
}
#else
static void set_callbacks(struct fhook_ops *ops, struct kprobe *p, bool is_return)
{
	ops->name = "kprobe";
	ops->entry = on_entry;
}

static void add_missed(struct kprobe *p, bool is_return, u64 missed)
{
	p->nmissed += missed;
}
#endif /* CONFIG_KRETPROBES */

/* The function of a kprobe at its entry, or 0. */
static unsigned long function_of(const struct kprobe *p)
{
	unsigned long offset;

	if (!kallsyms_lookup_size_offset((unsigned long)p->addr, NULL, &offset))
		return 0;

	return (unsigned long)p->addr - offset;
}

/**
 * fhook_kprobe_possible() - check whether fhook can carry a kprobe
 * @p: the kprobe, whose address is the entry of a function
 *
 * A kprobe with a post_handler in ftrace's slot excludes live patches of the function, and its
 * user may rely on that.
 *
 * Return: true if the function has a slot, and neither fhook nor its parameter "kprobes" is
 * off.
 */
bool fhook_kprobe_possible(const struct kprobe *p)
{
	if (!READ_ONCE(kprobes_wanted) || READ_ONCE(fhook_switched_off) ||
	    (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && p->post_handler))
		return false;

	return fhook_has_slot(function_of(p));
}

/**
 * fhook_kprobe_prepare() - set the members of a kprobe that has no breakpoint
 * @p: the kprobe
 */
void fhook_kprobe_prepare(struct kprobe *p)
{
	memset(&p->ainsn, 0, sizeof(p->ainsn));
	p->opcode = *p->addr;
}

/*
 * If there is no room for another exit of this function, the instances of a kretprobe come
 * from its pool.
 */
static int register_use(struct kprobe_use *use, bool is_return)
{
	unsigned long func = function_of(use->probe);
	struct fhook_report report = {};
	int ret;

	/* Calls that happen in a handler count as missed by the kprobe. */
	use->ops.flags = FHOOK_FL_REGS | FHOOK_FL_UNGUARDED;
	use->ops.report = &report;
	set_callbacks(&use->ops, use->probe, is_return);
	ret = fhook_register_ips(&use->ops, &func, 1);
	if (ret && use->ops.exit) {
		use->ops.entry = on_entry;
		use->ops.exit = NULL;
		use->ops.data_size = 0;
		ret = fhook_register_ips(&use->ops, &func, 1);
	}
	use->ops.report = NULL;
	if (ret)
		pr_info_ratelimited("not carried: %s\n", report.text);

	return ret;
}

/**
 * fhook_kprobe_arm() - hook the function of a kprobe
 * @p: the kprobe
 * @is_return: whether it is that of a kretprobe
 *
 * Under kprobe_mutex. The log has the reason for an error.
 *
 * Return: 0, or the negative error of fhook_register_ips().
 */
int fhook_kprobe_arm(struct kprobe *p, bool is_return)
{
	struct kprobe_use *use;
	int ret;

	/* An address inside the slot is moved to its end, where probes of the entry may be. */
	if (!(p->flags & KPROBE_FLAG_ON_FUNC_ENTRY))
		return -EBUSY;
	use = kzalloc(sizeof(*use), GFP_KERNEL);
	if (!use)
		return -ENOMEM;
	use->probe = p;

	guard(mutex)(&uses_mutex);
	ret = register_use(use, is_return);
	if (ret)
		kfree(use);
	else
		hash_add(uses, &use->node, (unsigned long)p);

	return ret;
}

static void free_use(struct fhook_ops *ops)
{
	kfree(container_of(ops, struct kprobe_use, ops));
}

/**
 * fhook_kprobe_disarm() - undo fhook_kprobe_arm()
 * @p: the kprobe
 * @is_return: whether it is that of a kretprobe
 *
 * Under kprobe_mutex. Its handlers may run until the end of an RCU grace period. Nothing
 * happens if it could not be armed.
 */
void fhook_kprobe_disarm(struct kprobe *p, bool is_return)
{
	struct kprobe_use *use;
	u64 hits, missed;

	guard(mutex)(&uses_mutex);
	use = use_of(p);
	/* Arming it has failed, when all kprobes were armed. */
	if (!use)
		return;

	fhook_count(&use->ops, &hits, &missed);
	add_missed(p, is_return, missed);
	hash_del(&use->node);
	WRITE_ONCE(use->probe, NULL);
	WARN_ON_ONCE(fhook_unregister_async(&use->ops, free_use));
}

/**
 * fhook_kprobe_missed() - count the calls that a kprobe has missed since it was armed
 * @p: the kprobe
 *
 * May sleep. The counts of earlier times are in &kprobe.nmissed and &kretprobe.nmissed.
 *
 * Return: the number of calls.
 */
unsigned long fhook_kprobe_missed(struct kprobe *p)
{
	struct kprobe_use *use;
	u64 hits, missed = 0;

	guard(mutex)(&uses_mutex);
	use = use_of(p);
	if (use)
		fhook_count(&use->ops, &hits, &missed);

	return missed;
}
