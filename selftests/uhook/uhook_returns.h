/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the functions of uhook_returns.
 *
 * return_sum(n) adds the numbers up to N by calling itself, return_inner(n) is
 * 2 * N, and return_outer(n) calls it and adds 1. Their first instructions run
 * in slots. Their return instructions are probed as well.
 */
#ifndef _UHOOK_RETURNS_H
#define _UHOOK_RETURNS_H

unsigned long return_sum(unsigned long n);
unsigned long return_outer(unsigned long n);
unsigned long return_inner(unsigned long n);
extern const char return_sum_ret[], return_inner_ret[];

asm(".pushsection .text\n"
".globl return_sum, return_sum_ret, return_outer, return_inner, return_inner_ret\n"
".type return_sum, %function\n"
".type return_outer, %function\n"
".type return_inner, %function\n"
#if defined(__x86_64__)
"return_sum:\n"
"	subq $24, %rsp\n"
"	movq %rdi, 8(%rsp)\n"
"	xorl %eax, %eax\n"
"	testq %rdi, %rdi\n"
"	je 1f\n"
"	decq %rdi\n"
"	call return_sum\n"
"	addq 8(%rsp), %rax\n"
"1:	movq 8(%rsp), %rdi\n"
"	addq $24, %rsp\n"
"return_sum_ret:\n"
"	ret\n"
"return_outer:\n"
"	subq $8, %rsp\n"
"	call return_inner\n"
"	addq $1, %rax\n"
"	addq $8, %rsp\n"
"	ret\n"
"return_inner:\n"
"	leaq (%rdi,%rdi), %rax\n"
"	movq %rax, %rdi\n"
"return_inner_ret:\n"
"	ret\n"
#elif defined(__aarch64__)
"return_sum:\n"
"	stp x29, x30, [sp, #-32]!\n"
"	mov x29, sp\n"
"	str x0, [sp, #16]\n"
"	cbz x0, 1f\n"
"	sub x0, x0, #1\n"
"	bl return_sum\n"
"1:	mov x1, x0\n"
"	ldr x0, [sp, #16]\n"
"	add x1, x1, x0\n"
"	ldp x29, x30, [sp], #32\n"
"return_sum_ret:\n"			/* of what it is for: x0 says */
"	eor x0, x0, x1\n"
"	eor x1, x0, x1\n"
"	eor x0, x0, x1\n"
"	ret\n"
"return_outer:\n"
"	stp x29, x30, [sp, #-16]!\n"
"	bl return_inner\n"
"	add x0, x0, #1\n"
"	ldp x29, x30, [sp], #16\n"
"	ret\n"
"return_inner:\n"
"	add x0, x0, x0\n"
"return_inner_ret:\n"
"	ret\n"
#endif
".popsection\n");

#endif /* _UHOOK_RETURNS_H */
