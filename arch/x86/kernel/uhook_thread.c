// SPDX-License-Identifier: GPL-2.0
/*
 * Registers, time stamps and threads of records, on x86_64
 *
 * This is the kernel's counterpart of uhook_record.c. A time stamp is written by a
 * program, and may have any value.
 */
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <linux/uhook_ring.h>
#include <asm/fsgsbase.h>
#include <asm/timer.h>
#include <asm/tsc.h>

/* Offsets of registers, by their number in instructions. */
static const u8 offsets[] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx), offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
	offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
};

int uhook_register_number(unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		if (offsets[i] == offset)
			return i;
	}
	return -EINVAL;
}

bool uhook_can_record(const struct task_struct *task)
{
	return boot_cpu_has(X86_FEATURE_FSGSBASE) && boot_cpu_has(X86_FEATURE_TSC) &&
	       !test_bit(TIF_NOTSC, &task_thread_info(task)->flags);
}

/*
 * Usually the scheduler's clock is based on the TSC, and converts the stamp, too. A
 * hypervisor's clock has another offset, but the same rate. If the TSC frequency changes,
 * the scale may change between the two readings: then the result is inexact, and time may
 * go back.
 */
u64 uhook_stamp_age(u64 stamp, u64 now)
{
	u64 tsc = rdtsc_ordered();
	s64 age;

	if (stamp >= tsc)
		return 0;

	if (!using_native_sched_clock())
		now = native_sched_clock_from_tsc(tsc);
	age = now - native_sched_clock_from_tsc(stamp);
	return age < 0 ? 0 : age;
}

unsigned long uhook_thread_of(struct task_struct *task)
{
	return task == current ? x86_fsbase_read_cpu() : x86_fsbase_read_task(task);
}
