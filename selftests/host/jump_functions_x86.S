/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions to be patched by jump_patch_x86.c
 *
 * They are copied to where there is room around them, with their data, so they
 * must not need anything else.  Each takes two numbers and returns one, has one
 * site, which is run exactly once in each call, and an entry in a table.
 *
 * The bytes after short sites are the upper bytes of the displacement: with some it
 * is positive, with others negative.
 */
#define FUNCTION(name)		\
	.balign	16, 0xcc;	\
name:

#define SITE(name, insn...)	\
name##_site:			\
	insn;			\
name##_next:			\
	.pushsection .rodata.jump_table, "a";	\
	.long	name - jump_functions;		\
	.long	name##_site - jump_functions;	\
	.long	name##_next - jump_functions;	\
9:	.asciz	#name;				\
	.org	9b + 36;			\
	.popsection

	.section .rodata.jump_table, "a"
	.globl	jump_table
	.balign	16
jump_table:

	.text
	.globl	jump_functions
	.globl	jump_functions_data
	.globl	jump_functions_end

	.balign	4096
jump_functions:

FUNCTION(push_first)
	SITE(push_first, push %rbp)
	mov	%rsp,%rbp
	lea	(%rdi,%rsi,2),%rax
	pop	%rbp
	ret

FUNCTION(push_r12_first)
	SITE(push_r12_first, push %r12)
	mov	%rdi,%r12
	lea	3(%r12),%rax
	pop	%r12
	ret

FUNCTION(sub_first)
	SITE(sub_first, sub $0x18,%rsp)
	setc	%al
	movzbl	%al,%eax
	mov	%rdi,(%rsp)
	add	(%rsp),%rax
	add	$0x18,%rsp
	ret

FUNCTION(sub_long_first)
	SITE(sub_long_first, sub $0x188,%rsp)
	mov	%rdi,(%rsp)
	mov	(%rsp),%rax
	add	$0x188,%rsp
	ret

FUNCTION(push_long_first)
	SITE(push_long_first, push $0x12345678)
	pop	%rax
	add	%rdi,%rax
	ret

FUNCTION(endbr64_first)
	SITE(endbr64_first, endbr64)
	push	%rbx
	mov	%rsi,%rbx
	lea	1(%rbx,%rdi),%rax
	pop	%rbx
	ret

FUNCTION(load_first)
	SITE(load_first, mov jump_state(%rip),%rax)
	add	%rdi,%rax
	mov	%rax,jump_state(%rip)
	ret

FUNCTION(load_small_first)
	SITE(load_small_first, mov jump_state(%rip),%eax)
	add	%rsi,%rax
	mov	%rax,jump_state(%rip)
	ret

FUNCTION(store_first)
	SITE(store_first, mov %rdi,jump_state(%rip))
	mov	jump_state(%rip),%rax
	ret

FUNCTION(compare_first)
	SITE(compare_first, cmpb $0x40,jump_state(%rip))
	seta	%al
	add	%dil,jump_state(%rip)
	movzbl	%al,%eax
	ret

FUNCTION(nop_first)
	SITE(nop_first, nop)
	mov	%rdi,%rax
	ret

FUNCTION(nop5_first)
	SITE(nop5_first, nopl 0(%rax,%rax,1))
	mov	%rdi,%rax
	ret

FUNCTION(xor_first)
	SITE(xor_first, xor %eax,%eax)
	add	%rdi,%rax
	ret

FUNCTION(mov_first)
	SITE(mov_first, mov %rdi,%rax)
	ror	$7,%rax
	ret

FUNCTION(lea_first)
	SITE(lea_first, lea (%rdi,%rsi),%rax)
	.byte	0x48, 0x05			/* add $0x87654321,%rax */
	.long	0x87654321
	ret

FUNCTION(constant_first)
	SITE(constant_first, mov $0x1234,%eax)
	add	%rdi,%rax
	ret

FUNCTION(long_constant_first)
	SITE(long_constant_first, movabs $0x123456789abcdef0,%rax)
	sub	%rdi,%rax
	ret

FUNCTION(flags_live)
	cmp	%rsi,%rdi
	SITE(flags_live, mov %rdi,%rax)
	cmovg	%rsi,%rax
	seto	%al
	ret

FUNCTION(red_zone)
	mov	%rdi,-8(%rsp)
	mov	%rsi,-0x80(%rsp)
	mov	%rdi,-0x48(%rsp)
	SITE(red_zone, mov -0x80(%rsp),%rax)
	add	-8(%rsp),%rax
	add	-0x48(%rsp),%rax
	ret

FUNCTION(direction)
	push	%rdi
	push	%rsi
	std
	lea	8(%rsp),%rsi
	SITE(direction, lodsq)
	sub	(%rsi),%rax
	cld
	pop	%rsi
	pop	%rdi
	ret

FUNCTION(je_short)
	mov	%rdi,%rax
	test	$1,%dil
	SITE(je_short, je 1f)
	not	%rax
	.fill	40, 1, 0x90
1:	ret

FUNCTION(jl_near)
	mov	%rdi,%rax
	cmp	%rsi,%rdi
	SITE(jl_near, jl 1f)
	mov	%rsi,%rax
	.fill	160, 1, 0x90
1:	add	$5,%rax
	ret

FUNCTION(jmp_short)
	mov	%rdi,%rax
	SITE(jmp_short, jmp 1f)
	.fill	16, 1, 0xcc
1:	ret

FUNCTION(jmp_near)
	mov	%rdi,%rax
	SITE(jmp_near, jmp 1f)
	.fill	160, 1, 0xcc
1:	ret

FUNCTION(jmp_back)
	mov	%rdi,%rax
	jmp	2f
1:	add	%rsi,%rax
	ret
2:	SITE(jmp_back, jmp 1b)

FUNCTION(jump_indirect)
	lea	1f(%rip),%rax
	SITE(jump_indirect, jmp *%rax)
	ud2
1:	mov	%rsi,%rax
	ret

FUNCTION(ret_padded)
	lea	(%rdi,%rsi,4),%rax
	SITE(ret_padded, ret)
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0

FUNCTION(ret_breakpoints)
	lea	(%rdi,%rsi,4),%rax
	SITE(ret_breakpoints, ret)
	.fill	8, 1, 0xcc

FUNCTION(rep_ret_padded)
	mov	%rsi,%rax
	SITE(rep_ret_padded, repz ret)
	nopl	(%rax)

FUNCTION(ret_inside)
	lea	(%rdi,%rsi,8),%rax
	test	%rdi,%rdi
	js	1f
	push	%rsi
	jmp	2f
1:	push	%rsi
	neg	%rax
2:	pop	%rsi
	SITE(ret_inside, ret)
	mov	%rax,%rdi
	ret

FUNCTION(vector_first)
	SITE(vector_first, movq %rdi,%xmm0)
	paddq	%xmm0,%xmm0
	movq	%xmm0,%rax
	ret

jump_functions_data:
	.balign	16
jump_state:
	.quad	0
jump_functions_end:

	.section .rodata.jump_table, "a"
	.globl	jump_table_end
jump_table_end:

	.section .note.GNU-stack, "", @progbits
