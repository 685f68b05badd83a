/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the instructions of uhook_faults that can fault.
 */
#ifndef _UHOOK_FAULTS_H
#define _UHOOK_FAULTS_H

/* Each takes an address and a value, and begins with its probed instruction. */
unsigned long fault_load(const void *address, unsigned long value);
unsigned long fault_store(const void *address, unsigned long value);
unsigned long fault_walk(const void *address, unsigned long value);
unsigned long fault_jump(const void *address, unsigned long value);
extern const char fault_load_next[], fault_store_next[];

#if defined(__x86_64__)
unsigned long fault_divide(const void *address, unsigned long value);
unsigned long fault_string(void *address, unsigned long value);
extern const char fault_divide_site[], fault_string_site[];

asm(".pushsection .text\n"
".globl fault_load, fault_store, fault_walk, fault_jump\n"
".globl fault_load_next, fault_store_next\n"
".globl fault_divide, fault_divide_site, fault_string, fault_string_site\n"
"fault_load:\n"
"	movq (%rdi), %rax\n"
"fault_load_next:\n"
"	ret\n"
"fault_store:\n"
"	movq %rsi, (%rdi)\n"
"fault_store_next:\n"
"	movq %rsi, %rax\n"
"	ret\n"
"fault_walk:\n"				/* the pointer moves, or does not */
"	lodsb\n"
"	ret\n"
"fault_jump:\n"
"	jmp *%rdi\n"
"fault_divide:\n"			/* the address by the value */
"	xorl %edx, %edx\n"
"	movq %rdi, %rax\n"
"fault_divide_site:\n"
"	divq %rsi\n"
"	ret\n"
"fault_string:\n"			/* fill as many bytes as the value says */
"	movb $0x5a, %al\n"
"	movq %rsi, %rcx\n"
"	cld\n"
"fault_string_site:\n"
"	rep stosb\n"
"	movq %rdi, %rax\n"
"	ret\n"
".popsection\n");
#elif defined(__aarch64__)
asm(".pushsection .text\n"
".globl fault_load, fault_store, fault_walk, fault_jump\n"
".globl fault_load_next, fault_store_next\n"
"fault_load:\n"
"	ldr x0, [x0]\n"
"fault_load_next:\n"
"	ret\n"
"fault_store:\n"
"	str x1, [x0]\n"
"fault_store_next:\n"
"	mov x0, x1\n"
"	ret\n"
"fault_walk:\n"
"	ldrb w0, [x1], #1\n"
"	ret\n"
"fault_jump:\n"
"	br x0\n"
".popsection\n");
#endif

#endif /* _UHOOK_FAULTS_H */
