// SPDX-License-Identifier: GPL-2.0
/*
 * Registers, time stamps and threads of records, on arm64
 *
 * This is the kernel's counterpart of uhook_record.c. A time stamp is written by a
 * program, and may have any value.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <linux/time64.h>
#include <linux/uhook_ring.h>
#include <asm/arch_timer.h>
#include <asm/sysreg.h>

#define SP_NUMBER	31

static_assert(offsetof(struct pt_regs, regs) == 0 &&
	      offsetof(struct pt_regs, sp) == SP_NUMBER * sizeof(u64));

int uhook_register_number(unsigned int offset)
{
	if (offset % sizeof(u64) || offset > offsetof(struct pt_regs, sp))
		return -EINVAL;
	return offset / sizeof(u64);
}

/*
 * If the counter is unreliable, the kernel traps instructions that read it, and recording
 * would be no better than a breakpoint. Processors may differ in this; then recording is
 * slow on some of them, but not wrong.
 */
static bool is_counter_trapped(void)
{
	bool trapped;

	preempt_disable();
	trapped = has_erratum_handler(read_cntvct_el0);
	preempt_enable();
	return trapped;
}

bool uhook_can_record(const struct task_struct *task)
{
	return !test_bit(TIF_TSC_SIGSEGV, &task_thread_info(task)->flags) &&
	       !is_counter_trapped();
}

u64 uhook_stamp_age(u64 stamp, u64 now)
{
	u64 count = __arch_counter_get_cntvct();

	if (stamp >= count)
		return 0;
	return mul_u64_u32_div(count - stamp, NSEC_PER_SEC, arch_timer_get_rate());
}

unsigned long uhook_thread_of(struct task_struct *task)
{
	if (task == current)
		return read_sysreg(tpidr_el0);
	return *task_user_tls(task);
}
