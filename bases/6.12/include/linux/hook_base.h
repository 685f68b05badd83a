/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names and functions of fhook and uhook that depend on the kernel that they are
 * added to. This is for Linux 6.12, and gives it newer names.
 */
#ifndef _LINUX_HOOK_BASE_H
#define _LINUX_HOOK_BASE_H

#ifdef __ASSEMBLER__

/* For PCPU() of x86's fhook_64.S */
#define __preempt_count		pcpu_hot + X86_preempt_count
#define current_task		pcpu_hot + X86_current_task

/* Of arm64 */
#define S_PMR			S_PMR_SAVE
#define HOOK_BASE_PMR(n)	x##n	/* by the size of pt_regs::pmr_save */

#else /* !__ASSEMBLER__ */

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>

/* Messages in error_log that the events need, and this kernel does not have */
#define HOOK_BASE_ERRORS	C(TOO_MANY_ARGS, "Too many arguments are specified"),

/* The last parameter of the handlers of a uprobe_consumer */
#define HOOK_BASE_UPROBE_DATA

/* Type of the registers that handlers of fprobes get: full ones, from the hook */
#define HOOK_BASE_FPROBE_REGS	struct pt_regs
#define HOOK_BASE_FPROBE_FLAGS	FHOOK_FL_REGS

struct hook_base_fprobe_room {
};

#define hook_base_fprobe_regs(fregs, address, room) ({		\
	(void)(room);						\
	instruction_pointer_set(fhook_get_regs(fregs), address);	\
	fhook_get_regs(fregs);					\
})

/* Let changes by a handler take effect, and at the entry return the address that it chose. */
#define hook_base_fprobe_put(fregs, regs)	((void)(fregs), (void)(regs))
#define hook_base_fprobe_take(fregs, regs) ({			\
	fhook_regs_take(fregs);					\
	instruction_pointer(regs);				\
})

/*
 * Whether ftrace can carry fprobes, because it can save full registers. It then keeps those
 * without an exit handler: a call takes fewer instructions (144 instead of 191, on x86_64).
 */
#define HOOK_BASE_FPROBE_ELSEWHERE	IS_ENABLED(CONFIG_RETHOOK)

/* Does the fprobe limit the number of active calls? Only rethook implements that. */
#define hook_base_fprobe_limited(fp) \
	(IS_ENABLED(CONFIG_RETHOOK) && (fp)->exit_handler && (fp)->nr_maxactive)

static inline bool mm_flags_test(int flag, const struct mm_struct *mm)
{
	return test_bit(flag, &mm->flags);
}

/* Has the task registered for restartable sequences? */
static inline bool hook_base_has_rseq(const struct task_struct *task)
{
#ifdef CONFIG_RSEQ
	return READ_ONCE(task->rseq);
#else
	return false;
#endif
}

/* These are macros, because not every file includes the headers that they need. */
#define hook_base_is_endbr(addr)	is_endbr(*(addr))

#define hook_base_trace_disabled(cpu)	atomic_read(&(cpu)->disabled)

#define hook_base_trace_function(tr, ip, parent_ip, trace_ctx) \
	trace_function(tr, ip, parent_ip, trace_ctx)

/* Make a call of the no-op at the entry of a function, as BPF does. */
#define hook_base_bpf_poke_call(addr, dest) \
	bpf_arch_text_poke(addr, BPF_MOD_CALL, NULL, dest)

/* The form in which bpf_trampoline_link_prog() takes a struct bpf_tramp_link */
#define hook_base_tramp_node(tramp_link)	(tramp_link)

/* Of arm64: did the registers have interrupts enabled? */
#define hook_base_irqs_enabled(regs)	interrupts_enabled(regs)

/* Newer names */
#define smp_text_poke_batch_add		text_poke_queue
#define smp_text_poke_batch_finish	text_poke_finish
#define execmem_alloc_rw		execmem_alloc
#define TRACE_ITER(flag)		TRACE_ITER_##flag
#define EMPTY_VMA_FLAGS			0

/* Names of namespaces are strings. */
#undef EXPORT_SYMBOL_NS_GPL
#define EXPORT_SYMBOL_NS_GPL(sym, ns)	__EXPORT_SYMBOL(sym, "GPL", ns)
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)		__MODULE_INFO(import_ns, import_ns, ns)

static inline void zap_vma_range(struct vm_area_struct *vma, unsigned long address,
				 unsigned long size)
{
	zap_page_range_single(vma, address, size, NULL);
}

static inline void hrtimer_setup_on_stack(struct hrtimer *timer,
					  enum hrtimer_restart (*function)(struct hrtimer *),
					  clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock_id, mode);
	timer->function = function;
}

#endif /* __ASSEMBLER__ */

#endif /* _LINUX_HOOK_BASE_H */
