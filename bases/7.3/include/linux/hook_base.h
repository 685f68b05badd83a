/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names and functions of fhook and uhook that depend on the kernel that they are
 * added to. This is for Linux 7.3, whose names they use: only what differs in more
 * than a name from an older kernel, for which bases/ has another such file, is here.
 */
#ifndef _LINUX_HOOK_BASE_H
#define _LINUX_HOOK_BASE_H

#ifdef __ASSEMBLER__

/* Of arm64, by the size of pt_regs::pmr */
#define HOOK_BASE_PMR(n)	w##n

#else /* !__ASSEMBLER__ */

#include <linux/sched.h>

/* Messages in error_log that the events need, and this kernel does not have */
#define HOOK_BASE_ERRORS

/* The last parameter of the handlers of a uprobe_consumer */
#define HOOK_BASE_UPROBE_DATA	, __u64 *data

/* Type of the registers that handlers of fprobes get: those that ftrace saves for them */
#define HOOK_BASE_FPROBE_REGS	struct ftrace_regs
#define HOOK_BASE_FPROBE_FLAGS	0

#ifdef CONFIG_ARM64
/* Users of this include ftrace's header. */
#define hook_base_fprobe_room	__arch_ftrace_regs

#define hook_base_fprobe_regs(fregs, address, room) ({			\
	struct __arch_ftrace_regs *__to = (room);			\
									\
	memcpy(__to->regs, (fregs)->regs.regs, sizeof(__to->regs));	\
	__to->fp = fhook_regs_get_fp(fregs);				\
	__to->lr = fhook_regs_ret_addr(fregs);				\
	__to->sp = fhook_regs_get_sp(fregs);				\
	__to->pc = (address);						\
	(struct ftrace_regs *)__to;					\
})

/* Let changes by a handler take effect, and at the entry return the address that it chose. */
#define hook_base_fprobe_put(fregs, fprobe_regs)			\
	memcpy((fregs)->regs.regs, arch_ftrace_regs(fprobe_regs)->regs,	\
	       sizeof(arch_ftrace_regs(fprobe_regs)->regs))
#define hook_base_fprobe_take(fregs, fprobe_regs) ({			\
	hook_base_fprobe_put(fregs, fprobe_regs);			\
	(fregs)->regs.regs[30] = arch_ftrace_regs(fprobe_regs)->lr;	\
	fhook_regs_take(fregs);						\
	arch_ftrace_regs(fprobe_regs)->pc;				\
})
#else
struct hook_base_fprobe_room {
};

#define hook_base_fprobe_regs(fregs, address, room) ({			\
	struct pt_regs *__regs = &(fregs)->regs;			\
									\
	(void)(room);							\
	if (!fhook_get_regs(fregs)) {					\
		__regs->cs = 0;						\
		__regs->sp = fhook_regs_get_sp(fregs) +			\
			     fhook_regs_at_exit(fregs) * sizeof(long);	\
	}								\
	__regs->ip = (address);						\
	(struct ftrace_regs *)__regs;					\
})

#define hook_base_fprobe_put(fregs, fprobe_regs)	((void)(fregs), (void)(fprobe_regs))
#define hook_base_fprobe_take(fregs, fprobe_regs) ({			\
	hook_base_fprobe_put(fregs, fprobe_regs);			\
	ftrace_regs_get_instruction_pointer(fprobe_regs);		\
})
#endif

/*
 * Whether ftrace can carry fprobes. It keeps those without an exit handler: a call takes fewer
 * instructions (172 instead of 174 on x86_64, 194 instead of 252 on arm64).
 */
#define HOOK_BASE_FPROBE_ELSEWHERE	true

/* Does the fprobe limit the number of active calls? */
#define hook_base_fprobe_limited(fp)	false

/* Has the task registered for restartable sequences? */
static inline bool hook_base_has_rseq(const struct task_struct *task)
{
#ifdef CONFIG_RSEQ
	return READ_ONCE(task->rseq.usrptr);
#else
	return false;
#endif
}

/* These are macros, because not every file includes the headers that they need. */
#define hook_base_is_endbr(addr)	is_endbr(addr)

#define hook_base_trace_disabled(cpu)	local_read(&(cpu)->disabled)

#define hook_base_trace_function(tr, ip, parent_ip, trace_ctx) \
	trace_function(tr, ip, parent_ip, trace_ctx, NULL)

/* Make a call of the no-op at the entry of a function, as BPF does. */
#define hook_base_bpf_poke_call(addr, dest) \
	bpf_arch_text_poke(addr, BPF_MOD_NOP, BPF_MOD_CALL, NULL, dest)

/* The form in which bpf_trampoline_link_prog() takes a struct bpf_tramp_link */
#define hook_base_tramp_node(tramp_link) ({			\
	(tramp_link)->node.link = &(tramp_link)->link;		\
	&(tramp_link)->node;					\
})

/* Of arm64: did the registers have interrupts enabled? */
#define hook_base_irqs_enabled(regs)	(!regs_irqs_disabled(regs))

#endif /* __ASSEMBLER__ */

#endif /* _LINUX_HOOK_BASE_H */
