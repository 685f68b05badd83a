/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Interface between uhook and programs: the arguments of a handler in a
 * program, the function that user=PATH:OFFSET names in a line of uhook_events:
 *
 *	void handler(struct uhook_user_regs *regs, __u64 *data);
 *
 * Documentation/trace/uhook.rst describes its restrictions and when it is
 * called.
 */
#ifndef _UAPI_LINUX_UHOOK_H
#define _UAPI_LINUX_UHOOK_H

#include <linux/types.h>

/* The number of words in @data. */
#define UHOOK_DATA_WORDS	8

/*
 * The registers of a program at a site. The handler must not change the stack
 * pointer and the instruction pointer.
 */
#if defined(__x86_64__)
struct uhook_user_regs {
	__u64 r15, r14, r13, r12, r11, r10, r9, r8;
	__u64 rdi, rsi, rbp, rbx, rdx, rcx, rax;
	__u64 flags;
	__u64 sp, ip;
};
#elif defined(__aarch64__)
struct uhook_user_regs {
	__u64 x[31];
	__u64 sp, pc;
	__u64 nzcv;
};
#endif

#endif /* _UAPI_LINUX_UHOOK_H */
