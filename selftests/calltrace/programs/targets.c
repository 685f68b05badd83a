// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of x86_64 in which something jumps to where a jump would be written
 *
 * Each result depends on that none of these places has been written over.
 */
#include <stdio.h>
#include "traced.h"

int t_loop(int n);
int t_table(int which, int n);
int t_middle(int n);
int t_short(int n);

__asm__(".macro function name\n"
	".globl \\name\n"
	".type \\name, @function\n"
	"\\name:\n"
	".endm\n"
	".macro finish name, padding=24\n"
	".size \\name, . - \\name\n"
	".skip \\padding, 0xcc\n"
	".endm\n"
	".text\n"

	/* The head of a loop is the second instruction. */
	"function t_loop\n"
	"xorl %eax, %eax\n"
	"1: addl %edi, %eax\n"
	"decl %edi\n"
	"jne 1b\n"
	"ret\n"
	"finish t_loop\n"

	/* Only a table of distances says that the last two instructions are a case. */
	"function t_table\n"
	"leaq 9f(%rip), %rdx\n"
	"movslq (%rdx, %rdi, 4), %rax\n"
	"addq %rdx, %rax\n"
	"jmp *%rax\n"
	"2: addl $5, %esi\n"
	"3: movl %esi, %eax\n"
	"ret\n"
	"finish t_table, 0\n"
	".section .rodata\n"
	".balign 4\n"
	"9: .long 2b - 9b, 3b - 9b\n"
	".text\n"

	/* A conditional jump to a return, and one over it. */
	"function t_middle\n"
	"movl %edi, %eax\n"
	"testl %edi, %edi\n"
	"js 4f\n"
	"addl $100, %eax\n"
	"4: ret\n"
	"finish t_middle\n"

	/* Entry and return in one window. */
	"function t_short\n"
	"leal 7(%rdi), %eax\n"
	"ret\n"
	"finish t_short\n");

int main(void)
{
	int i;

	for (i = 1; i < 5; i++) {
		printf("%d ", t_loop(i));
		printf("%d %d ", t_table(0, i), t_table(1, i));
		printf("%d %d ", t_middle(i), t_middle(-i));
		printf("%d\n", t_short(i));
	}
	return 0;
}
