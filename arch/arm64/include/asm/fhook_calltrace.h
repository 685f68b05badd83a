/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/fhook/calltrace/ needs to know of arm64: sizes.
 */
#ifndef _ASM_ARM64_FHOOK_CALLTRACE_H
#define _ASM_ARM64_FHOOK_CALLTRACE_H

#include <linux/align.h>
#include <linux/kconfig.h>

/* From stub to stub, in bytes: one instruction. */
#define CALLTRACE_STUB_SIZE	4

/* Of a stub that is called: BTI and a return. */
#define CALLTRACE_CONTEXT_SIZE	8

/* What is patched of an instruction that leaves a function, in bytes. */
#define CALLTRACE_EXIT_SIZE	4

/*
 * Where the code ends that is in front of a function of which ftrace has a record: with
 * CALL_OPS the function has the address of an ops in front of it, see
 * ftrace_call_adjust().
 */
static inline unsigned long calltrace_arch_before(unsigned long record)
{
	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS))
		return record;

	return ALIGN_DOWN(record - 12, 8);
}

#endif /* _ASM_ARM64_FHOOK_CALLTRACE_H */
