/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of a kernel that arch/x86/kernel/uprobes.c needs to be built into a program
 *
 * Replaces the headers that the file includes: the current task is the program itself,
 * and user memory is the program's memory.
 */
#ifndef SELFTESTS_HOST_UPROBE_KERNEL_X86_H
#define SELFTESTS_HOST_UPROBE_KERNEL_X86_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <asm/insn.h>

#define _LINUX_UPROBES_H
#define _LINUX_NOTIFIER_H
#define __LINUX_UACCESS_H__
#define _LINUX_SYSCALLS_H
#define _LINUX_KDEBUG_H
#define _ASM_X86_KDEBUG_H
#define _ASM_X86_PTRACE_H
#define _ASM_X86_PROCESSOR_H
#define _ASM_X86_MMU_CONTEXT_H
#define _ASM_X86_TEXT_PATCHING_H
#define _ASM_X86_TRAPNR_H

#ifndef CONFIG_X86_64
#define CONFIG_X86_64		1
#endif
#define CONFIG_IA32_EMULATION	1
#define CONFIG_UPROBES		1

#define X86_EFLAGS_CF	0x0001UL
#define X86_EFLAGS_PF	0x0004UL
#define X86_EFLAGS_ZF	0x0040UL
#define X86_EFLAGS_SF	0x0080UL
#define X86_EFLAGS_TF	0x0100UL
#define X86_EFLAGS_OF	0x0800UL

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#include <asm/uprobes.h>

struct uprobe_task {
	struct arch_uprobe_task autask;
	unsigned long vaddr;
	unsigned long xol_vaddr;
	struct arch_uprobe *auprobe;
};

struct thread_info {
	unsigned int status;
};

struct task_struct {
	struct uprobe_task *utask;
	struct {
		unsigned int trap_nr;
		unsigned int error_code;
	} thread;
	struct thread_info info;
	int pid;
};

/**
 * struct mm_struct - the mode of a program
 * @is_64bit: whether it has 64-bit code
 */
struct mm_struct {
	bool is_64bit;
};

extern struct task_struct *current;
extern struct mm_struct probed_mm;
extern unsigned int signals_sent;

#define current_thread_info()		(&current->info)
#define is_64bit_mm(mm)			((mm)->is_64bit)
static inline bool user_64bit_mode(const struct pt_regs *regs) { return probed_mm.is_64bit; }
static inline bool user_mode(const struct pt_regs *regs) { return true; }
static inline struct pt_regs *task_pt_regs(struct task_struct *task) { return NULL; }

/* Returns how many bytes were not copied, as in the kernel. */
unsigned long copy_to_user(void *to, const void *from, unsigned long size);
#define copy_from_user(to, from, size)	copy_to_user((void *)(to), (void *)(from), size)
#define get_user(x, p)			(copy_from_user(&(x), (p), sizeof(x)) ? -EFAULT : 0)
#define put_user(x, p)	({ typeof(*(p)) value_ = (x);				\
			   copy_to_user((p), &value_, sizeof(value_)) ? -EFAULT : 0; })

static inline void pagefault_disable(void) { }
static inline void pagefault_enable(void) { }
static inline void force_sig(int sig) { signals_sent++; }
static inline void send_sig(int sig, struct task_struct *task, int priv) { signals_sent++; }

#define TIF_BLOCKSTEP	0
#define TIF_ADDR32	1
#define TS_COMPAT	2
#define TASK_SIZE	0
#define PAGE_SIZE	4096UL
#define PAGE_MASK	(-PAGE_SIZE)
#define CALL_INSN_SIZE	5
#define X86_TRAP_BP	3
#define INT3_INSN_OPCODE	0xcc
static inline bool test_tsk_thread_flag(struct task_struct *task, int flag) { return false; }
static inline bool test_thread_flag(int flag) { return false; }
static inline void set_task_blockstep(struct task_struct *task, bool on) { }
#define shstk_is_enabled()			false
struct file;

static inline unsigned long get_unmapped_area(struct file *file, unsigned long addr,
					      unsigned long len, unsigned long pgoff,
					      unsigned long flags)
{
	return 0;
}

/* How often the shadow stack was written in each way, and the last address. */
extern unsigned int shadow_pushes, shadow_updates;
extern unsigned long shadow_address;

static inline int shstk_update_last_frame(unsigned long val)
{
	shadow_updates++;
	shadow_address = val;
	return 0;
}

static inline int shstk_push(unsigned long val)
{
	shadow_pushes++;
	shadow_address = val;
	return 0;
}

static inline bool is_endbr(u32 *addr) { return false; }
#define UPROBE_NO_TRAMPOLINE_VADDR		(~0UL)
#define uprobe_get_trampoline_vaddr()		UPROBE_NO_TRAMPOLINE_VADDR
static inline void uprobe_handle_trampoline(struct pt_regs *regs) { }
static inline int uprobe_pre_sstep_notifier(struct pt_regs *regs) { return 0; }
static inline int uprobe_post_sstep_notifier(struct pt_regs *regs) { return 0; }
#define SYSCALL_DEFINE0(name)			long sys_ ## name(void); long sys_ ## name(void)
#define ENOTSUPP	524
#define WARN_ON_ONCE(x)		do { if (x) abort(); } while (0)
#undef BUG_ON
#define BUG_ON			WARN_ON_ONCE
#ifndef __user
#define __user
#endif
#ifndef __stringify
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)
#endif
#define __NR_uretprobe		335
#define pr_err(...)		do { } while (0)
#define set_bit(nr, words)	(*(words) |= 1UL << (nr))
#define test_bit(nr, words)	(((const u32 *)(words))[(nr) / 32] >> (nr) % 32 & 1)

enum { NOTIFY_DONE, NOTIFY_STOP };
enum { DIE_INT3, DIE_DEBUG };
enum rp_check { RP_CHECK_CALL, RP_CHECK_CHAIN_CALL, RP_CHECK_RET };

struct notifier_block;
struct die_args {
	struct pt_regs *regs;
};

struct return_instance {
	unsigned long stack;
};

#endif /* SELFTESTS_HOST_UPROBE_KERNEL_X86_H */
