/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Into code with all registers and flags as they are wanted, and out again
 *
 * Between flags and registers there is nothing but moves and jumps, so that
 * neither changes the other. All data are aligned: a flag asks for that.
 */
	.text
	.globl	jump_enter
	.globl	jump_leave
	.globl	jump_leave_far

jump_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp,jump_home(%rip)
	lea	jump_wanted(%rip),%rax
	push	128(%rax)
	popfq
	mov	8(%rax),%rcx
	mov	16(%rax),%rdx
	mov	24(%rax),%rbx
	mov	32(%rax),%rsp
	mov	40(%rax),%rbp
	mov	48(%rax),%rsi
	mov	56(%rax),%rdi
	mov	64(%rax),%r8
	mov	72(%rax),%r9
	mov	80(%rax),%r10
	mov	88(%rax),%r11
	mov	96(%rax),%r12
	mov	104(%rax),%r13
	mov	112(%rax),%r14
	mov	120(%rax),%r15
	mov	0(%rax),%rax
	jmp	*jump_start(%rip)
jump_leave_far:
	movq	$1,jump_ended(%rip)
	jmp	1f
jump_leave:
	movq	$0,jump_ended(%rip)
1:	mov	%rax,jump_outcome(%rip)
	lea	jump_outcome(%rip),%rax
	mov	%rcx,8(%rax)
	mov	%rdx,16(%rax)
	mov	%rbx,24(%rax)
	mov	%rsp,32(%rax)
	mov	%rbp,40(%rax)
	mov	%rsi,48(%rax)
	mov	%rdi,56(%rax)
	mov	%r8,64(%rax)
	mov	%r9,72(%rax)
	mov	%r10,80(%rax)
	mov	%r11,88(%rax)
	mov	%r12,96(%rax)
	mov	%r13,104(%rax)
	mov	%r14,112(%rax)
	mov	%r15,120(%rax)
	mov	jump_home(%rip),%rsp
	pushfq
	pop	128(%rax)
	push	$0x202
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.bss
	.globl	jump_wanted
	.globl	jump_outcome
	.globl	jump_ended
	.globl	jump_start
	.balign	8
jump_wanted:
	.skip	17 * 8
jump_outcome:
	.skip	17 * 8
jump_ended:
	.skip	8
jump_start:
	.skip	8
jump_home:
	.skip	8

	.section .note.GNU-stack, "", @progbits
