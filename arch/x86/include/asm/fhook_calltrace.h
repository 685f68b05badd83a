/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/fhook/calltrace/ needs to know of x86_64: sizes.
 */
#ifndef _ASM_X86_FHOOK_CALLTRACE_H
#define _ASM_X86_FHOOK_CALLTRACE_H

/* From stub to stub, in bytes: a jump that crosses no 32-byte boundary. */
#define CALLTRACE_STUB_SIZE	8

/* Of a stub that is called: ENDBR and a return, which may be a jump. */
#define CALLTRACE_CONTEXT_SIZE	16

/* What is patched of an instruction that leaves a function, in bytes. */
#define CALLTRACE_EXIT_SIZE	5

/* Where a function begins of which ftrace has a record: nothing is in front of it. */
static inline unsigned long calltrace_arch_before(unsigned long record)
{
	return record;
}

#endif /* _ASM_X86_FHOOK_CALLTRACE_H */
