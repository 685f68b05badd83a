/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: queries of unwinders about the stubs of call tracing.
 *
 * A task that is in the stub of an entry, or has its address on the stack, is about to
 * enter a function of which no address is on the stack yet: the function's slot has
 * jumped to the stub, whereas it calls a trampoline.
 */
#ifndef _LINUX_FHOOK_CALLTRACE_H
#define _LINUX_FHOOK_CALLTRACE_H

#include <linux/types.h>

#ifdef CONFIG_FHOOK_CALLTRACE
bool calltrace_is_stub(unsigned long addr);
unsigned long calltrace_resolve_stub(unsigned long addr);
#else
static inline bool calltrace_is_stub(unsigned long addr)
{
	return false;
}

static inline unsigned long calltrace_resolve_stub(unsigned long addr)
{
	return addr;
}
#endif

#endif /* _LINUX_FHOOK_CALLTRACE_H */
