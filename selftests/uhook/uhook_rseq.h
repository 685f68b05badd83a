/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: a restartable sequence with probed instructions.
 *
 * rseq_increment(rseq, counters) adds one to the counter of the CPU, one in 64
 * bytes, and returns 1; or it is aborted and returns 0.
 */
#ifndef _UHOOK_RSEQ_H
#define _UHOOK_RSEQ_H

#include <sys/rseq.h>

#define COUNTER_SIZE	64

int rseq_increment(struct rseq *rseq, void *counters);
extern const char rseq_load[], rseq_add[], rseq_store[];

asm(".pushsection .data\n"
".balign 32\n"
"rseq_description:\n"
"	.long 0, 0\n"
"	.quad rseq_begin, rseq_end - rseq_begin, rseq_abort\n"
".popsection\n"
".pushsection .text\n"
".globl rseq_increment, rseq_load, rseq_add, rseq_store\n"
".type rseq_increment, %function\n"
"rseq_increment:\n"
#if defined(__x86_64__)
"	leaq rseq_description(%rip), %rax\n"
"	movq %rax, 8(%rdi)\n"			/* rseq_cs */
"rseq_begin:\n"
"	movl 4(%rdi), %eax\n"			/* cpu_id */
"	shlq $6, %rax\n"
"rseq_load:\n"
"	movq (%rsi,%rax), %rcx\n"
"rseq_add:\n"
"	addq $1, %rcx\n"
"rseq_store:\n"
"	movq %rcx, (%rsi,%rax)\n"
"rseq_end:\n"
"	movl $1, %eax\n"
"	ret\n"
"	.long 0x53053053\n"
"rseq_abort:\n"
"	xorl %eax, %eax\n"
"	ret\n"
#elif defined(__aarch64__)
"	adrp x2, rseq_description\n"
"	add x2, x2, :lo12:rseq_description\n"
"	str x2, [x0, #8]\n"			/* rseq_cs */
"rseq_begin:\n"
"	ldr w2, [x0, #4]\n"			/* cpu_id */
"	add x1, x1, x2, lsl #6\n"
"rseq_load:\n"
"	ldr x2, [x1]\n"
"rseq_add:\n"
"	add x2, x2, #1\n"
"rseq_store:\n"
"	str x2, [x1]\n"
"rseq_end:\n"
"	mov w0, #1\n"
"	ret\n"
"	.inst 0xd428bc00\n"
"rseq_abort:\n"
"	mov w0, #0\n"
"	ret\n"
#endif
".size rseq_increment, . - rseq_increment\n"
".popsection\n");

#endif /* _UHOOK_RSEQ_H */
