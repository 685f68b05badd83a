/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of x86_64 that kernel/fhook/calltrace/ needs: sizes. */
#ifndef _ASM_X86_FHOOK_CALLTRACE_H
#define _ASM_X86_FHOOK_CALLTRACE_H

/* The distance between stubs, in bytes: a jump that crosses no 32-byte boundary. */
#define CALLTRACE_STUB_SIZE	8

/* The size of a stub that is called: ENDBR and a return, which may be a jump. */
#define CALLTRACE_CONTEXT_SIZE	16

/* The number of bytes patched in an instruction that leaves a function. */
#define CALLTRACE_EXIT_SIZE	5

/* The start of a function with a record of ftrace: nothing precedes the function. */
static inline unsigned long calltrace_arch_before(unsigned long record)
{
	return record;
}

#endif /* _ASM_X86_FHOOK_CALLTRACE_H */
