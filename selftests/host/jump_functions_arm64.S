/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions to be patched by jump_patch_arm64.c
 *
 * Each takes two numbers and returns one, and has one site, which is run exactly
 * once in each call and has an entry in a table. The directions of branches and the
 * result depend on the numbers.
 */
	.arch	armv8.5-a

#define FUNCTION(name)		\
	.p2align 4;		\
name:

#define SITE(name, insn...)	\
name##_site:			\
	insn;			\
	.pushsection .rodata.probed, "a";	\
	.xword	name, name##_site;		\
9:	.asciz	#name;				\
	.org	9b + 16;			\
	.popsection

	.section .rodata.probed, "a"
	.globl	probed
	.p2align 3
probed:

	.text
	.p2align 3
number:
	.xword	0x123456789abcdef

/* Where it was called from is part of its result. */
mix:
	eor	x0, x0, x1, ror #7
	add	x0, x0, x30
	ret

FUNCTION(f_stp)
	SITE(f_stp, stp x29, x30, [sp, #-16]!)
	bl	mix
	ldp	x29, x30, [sp], #16
	ret

FUNCTION(f_bti)
	SITE(f_bti, bti c)
	add	x0, x0, x1
	ret

FUNCTION(f_paciasp)
	SITE(f_paciasp, paciasp)
	add	x0, x0, x1
	autiasp
	ret

FUNCTION(f_sub_sp)
	SITE(f_sub_sp, sub sp, sp, #32)
	stp	x0, x1, [sp]
	ldr	x0, [sp, #8]
	add	sp, sp, #32
	ret

FUNCTION(f_store)
	sub	sp, sp, #32
	SITE(f_store, str x1, [sp, #8])
	ldr	x0, [sp, #8]
	add	sp, sp, #32
	ret

FUNCTION(f_adrp)
	SITE(f_adrp, adrp x2, number)
	ldr	x2, [x2, :lo12:number]
	add	x0, x2, x1
	ret

FUNCTION(f_adr)
	SITE(f_adr, adr x2, number)
	ldr	x3, [x2]
	add	x0, x2, x3
	ret

FUNCTION(f_adr_zero)
	SITE(f_adr_zero, adr xzr, number)
	mov	x2, sp
	add	x0, x0, x1
	ret

FUNCTION(f_cbz)
	and	x0, x0, #1
	SITE(f_cbz, cbz x0, 1f)
	mov	x0, x1
1:
	add	x0, x0, #3
	ret

FUNCTION(f_cbnz)
	and	x0, x0, #1
	SITE(f_cbnz, cbnz w0, 1f)
	mov	x0, x1
1:
	add	x0, x0, #3
	ret

FUNCTION(f_tbz)
	SITE(f_tbz, tbz x0, #63, 1f)
	mov	x0, x1
1:
	add	x0, x0, #3
	ret

FUNCTION(f_tbnz)
	SITE(f_tbnz, tbnz w0, #5, 1f)
	mov	x0, x1
1:
	add	x0, x0, #3
	ret

FUNCTION(f_back)
	b	2f
1:	add	x0, x0, #5
	ret
2:
	SITE(f_back, tbnz x0, #3, 1b)
	mov	x0, x1
	ret

FUNCTION(f_lt)
	cmp	x0, x1
	SITE(f_lt, b.lt 1f)
	mov	x0, #9
1:
	cset	x1, cs
	add	x0, x0, x1
	ret

FUNCTION(f_ls)
	cmp	x0, x1
	SITE(f_ls, b.ls 1f)
	mov	x0, #9
1:
	cset	x1, vs
	add	x0, x0, x1
	ret

FUNCTION(f_vc)
	adds	x2, x0, x1
	SITE(f_vc, b.vc 1f)
	mov	x0, #9
1:
	mrs	x1, nzcv
	add	x0, x0, x1
	ret

FUNCTION(f_b)
	SITE(f_b, b 1f)
	mov	x0, #9
1:
	add	x0, x0, x1
	ret

FUNCTION(f_tail)
	stp	x29, x30, [sp, #-16]!
	bl	1f
	ldp	x29, x30, [sp], #16
	ret
1:
	SITE(f_tail, b mix)
	brk	#1

FUNCTION(f_bl)
	stp	x29, x30, [sp, #-16]!
	SITE(f_bl, bl mix)
	ldp	x29, x30, [sp], #16
	ret

FUNCTION(f_blr)
	stp	x29, x30, [sp, #-16]!
	adr	x2, mix
	SITE(f_blr, blr x2)
	ldp	x29, x30, [sp], #16
	ret

FUNCTION(f_br)
	adr	x2, 1f
	SITE(f_br, br x2)
	brk	#1
1:
	add	x0, x0, x1
	ret

FUNCTION(f_ret)
	add	x0, x0, x1
	SITE(f_ret, ret)
	brk	#1

FUNCTION(f_ret_x2)
	mov	x2, x30
	adr	x30, mix
	SITE(f_ret_x2, ret x2)
	brk	#1

FUNCTION(f_csel)
	cmp	x0, x1
	SITE(f_csel, csel x0, x0, x1, hi)
	add	x0, x0, #1
	ret

FUNCTION(f_adcs)
	adds	x2, x0, x1
	SITE(f_adcs, adcs x0, x0, x1)
	adc	x0, x0, x2
	ret

FUNCTION(f_mov_sp)
	SITE(f_mov_sp, mov x2, sp)
	mov	x3, sp
	sub	x2, x2, x3
	add	x0, x2, x1
	ret

FUNCTION(f_fmul)
	scvtf	d0, x0
	scvtf	d1, x1
	SITE(f_fmul, fmul d0, d0, d1)
	fmov	x0, d0
	ret

FUNCTION(f_ldadd)
	sub	sp, sp, #16
	str	x0, [sp]
	SITE(f_ldadd, ldadd x1, x0, [sp])
	ldr	x1, [sp], #16
	eor	x0, x0, x1
	ret

FUNCTION(f_last)
	SITE(f_last, nop)
	ret

/* Sites between exclusives, and behind them, which are not patched. */
	.globl	exclusives
	.globl	between
	.globl	behind
exclusives:
	ldxr	x2, [x0]
	add	x2, x2, x1
between:
	nop
	stxr	w3, x2, [x0]
	cbnz	w3, exclusives
behind:
	ret

	.section .rodata.probed, "a"
	.globl	probed_end
probed_end:

	.section .note.GNU-stack, "", %progbits
