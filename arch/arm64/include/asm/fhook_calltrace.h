/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of arm64 that kernel/fhook/calltrace/ needs: sizes. */
#ifndef _ASM_ARM64_FHOOK_CALLTRACE_H
#define _ASM_ARM64_FHOOK_CALLTRACE_H

#include <linux/align.h>
#include <linux/kconfig.h>

/* The distance between stubs, in bytes: one instruction. */
#define CALLTRACE_STUB_SIZE	4

/* The size of a stub that is called: BTI and a return. */
#define CALLTRACE_CONTEXT_SIZE	8

/* The number of bytes patched in an instruction that leaves a function. */
#define CALLTRACE_EXIT_SIZE	4

/*
 * The end of the code in front of a function with a record of ftrace: with CALL_OPS,
 * the address of an ops precedes the function, see ftrace_call_adjust().
 */
static inline unsigned long calltrace_arch_before(unsigned long record)
{
	if (!IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS))
		return record;

	return ALIGN_DOWN(record - 12, 8);
}

#endif /* _ASM_ARM64_FHOOK_CALLTRACE_H */
