/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Primitives of the kernel, for fhook's frame.c and templates of trampolines in a program
 *
 * One task on one CPU, which signals interrupt. The header is included before frame.c and
 * fhook_64.S, and the kernel's headers that it stands for are empty.
 */
#ifndef SELFTESTS_HOST_FRAME_KERNEL_H
#define SELFTESTS_HOST_FRAME_KERNEL_H

#define CONFIG_FHOOK		1
#define FHOOK_SOFTIRQ_OFFSET	0x100
#define FHOOK_HARDIRQ_MASK	0xf0000
#define FHOOK_NMI_MASK		0xf00000
#define EXPORT_SYMBOL_GPL(symbol)

#ifdef __ASSEMBLY__

#define __ASSEMBLER__		1
#define __stringify(x)		#x
#define __KERNEL_CS		0x33
#define __KERNEL_DS		0x2b
#define RET			ret
#define UNWIND_HINT_FUNC
#define UNWIND_HINT_UNDEFINED
#define ANNOTATE_NOENDBR
#define ANNOTATE_INTRA_FUNCTION_CALL
#define ANNOTATE_UNRET_SAFE
#define _ASM_NOKPROBE(symbol)
#define SYM_FUNC_START(name)	.globl name; name:
#define SYM_FUNC_END(name)	.size name, . - name
#define SYM_CODE_START(name)	SYM_FUNC_START(name)
#define SYM_CODE_END(name)	SYM_FUNC_END(name)
#define SYM_DATA_START(name)	SYM_FUNC_START(name)
#define SYM_DATA_END(name)	SYM_FUNC_END(name)

	.macro ALTERNATIVE old, new, feature
	\old
	.endm

#else /* !__ASSEMBLY__ */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

#define __percpu
#define __user
#define __counted_by(n)
#define __init
#define __ro_after_init
#define early_initcall(f)	static void __attribute__((constructor)) run_##f(void) { f(); }
#define noinline		__attribute__((noinline))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define BITS_PER_LONG		__LONG_WIDTH__
#define BIT(n)			(1UL << (n))
#define SZ_4K			4096
#define INT3_INSN_OPCODE	0xcc
#define IS_ENABLED(option)	0
#define static_assert(...)	_Static_assert(__VA_ARGS__)
#define barrier()		asm volatile("" : : : "memory")
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define put_unaligned(v, p)	memcpy(p, &(s32){ v }, sizeof(s32))
#define NOKPROBE_SYMBOL(symbol)	struct __nokprobe_##symbol
#define panic(...)		__builtin_trap()
#define ftrace_graph_ret_addr(task, index, addr, key)	(addr)

/* One CPU. */
#define DECLARE_PER_CPU(type, name)	extern type name
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_write(x, v)		((x) = (v))
#define __this_cpu_read(x)		(x)
#define __this_cpu_write(x, v)		((x) = (v))
#define this_cpu_dec(x)			asm volatile("decq %0" : "+m"(x))

/* The kind of context: FHOOK_HARDIRQ_MASK and the like. */
extern unsigned int __preempt_count;
#define preempt_count()			READ_ONCE(__preempt_count)
#define preempt_disable_notrace()	barrier()
#define preempt_enable_notrace()	barrier()
#define NMI_MASK			FHOOK_NMI_MASK
#define HARDIRQ_MASK			FHOOK_HARDIRQ_MASK
#define SOFTIRQ_OFFSET			FHOOK_SOFTIRQ_OFFSET

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

static inline void instruction_pointer_set(struct pt_regs *regs, unsigned long ip)
{
	regs->ip = ip;
}

struct mutex;

struct task_struct {
	struct fhook_stack *fhook_stack;
};

extern struct task_struct *current_task;
#define current				current_task

#endif /* !__ASSEMBLY__ */

#endif /* SELFTESTS_HOST_FRAME_KERNEL_H */
