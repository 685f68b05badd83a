/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: instructions of arm64, each kind that compilers emit and some more.
 *
 * x19 has the struct state: the inputs at 0, the outputs at OUT, buffers at
 * FROM, TO, CELL and ZEROED. In the blocks:
 *	slot NAME, INSN...		goes on in a slot
 *	emul NAME, INSN...		is simulated
 *	noop NAME, INSN...		is simulated by 7.3, goes on in a slot in 6.12
 *	never NAME, INSN...		is not reached
 *	form NAME, HOW, TIMES, STEPPED, INSN...
 *					is hit as often as that in a round
 *	out N, REG			stores a register
 *	flags N				stores the flags
 * Instructions that mainline's uprobes refuse cannot be here: literals, exclusives, MSR.
 */
#ifndef _UHOOK_FORMS_ARM64_H
#define _UHOOK_FORMS_ARM64_H

#include <sys/auxv.h>

static bool have_atomics(void)
{
	const unsigned long need = HWCAP_ATOMICS | HWCAP_CRC32 | HWCAP_LRCPC;

	return (getauxval(AT_HWCAP) & need) == need;
}

DECLARE_BLOCK(general);
DECLARE_BLOCK(relative);
DECLARE_BLOCK(atomics);

static const struct block blocks[] = {
	BLOCK(general, NULL),
	BLOCK(relative, NULL),
	BLOCK(atomics, have_atomics),
};

#define MEMORY_BLOCK	1

/* Nothing here repeats itself. */
static unsigned long more_steps(const struct form *form)
{
	(void)form;
	return 0;
}

asm(".macro out n, reg\n"
	"	slot out_\\n, str \\reg, [x19, OUT+8*\\n]\n"
	".endm\n"
	".macro flags n\n"
	"	slot mrs_nzcv_\\n, mrs x9, nzcv\n"
	"	out \\n, x9\n"
	".endm\n"
	".macro enter_block name\n"
	"	slot bti_\\name, hint #34\n"
	"	slot paciasp_\\name, hint #25\n"
	"	slot stp_pre_\\name, stp x29, x30, [sp, #-64]!\n"
	"	slot mov_x29_\\name, mov x29, sp\n"
	"	slot stp_\\name, stp x19, x20, [sp, #16]\n"
	"	slot stp_d_\\name, stp d8, d9, [sp, #32]\n"
	"	slot mov_x19_\\name, mov x19, x0\n"
	"	slot ldp_in_\\name, ldp x0, x1, [x19]\n"
	"	slot ldr_in_\\name, ldr x2, [x19, #16]\n"
	"	slot ldr_in_2_\\name, ldr x3, [x19, #24]\n"
	".endm\n"
	".macro leave_block name\n"
	"	slot ldp_d_\\name, ldp d8, d9, [sp, #32]\n"
	"	slot ldp_\\name, ldp x19, x20, [sp, #16]\n"
	"	slot ldp_post_\\name, ldp x29, x30, [sp], #64\n"
	"	hint #29\n"
	"	emul ret_\\name, ret\n"
	".endm\n");

/* Loads, stores, and other instructions. */
asm(".macro loads_and_stores\n"
	"	noop nop, nop\n"
	"	slot xpaclri, hint #7\n"
	"	slot add_from, add x4, x19, FROM\n"
	"	slot add_to, add x5, x19, TO\n"
	"	slot ldr_post, ldr x6, [x4], #8\n"
	"	slot ldr_pre, ldr w7, [x4, #4]!\n"
	"	slot ldur, ldur x8, [x4, #-3]\n"
	"	slot ldrb, ldrb w10, [x4, #5]\n"
	"	slot ldrh, ldrh w11, [x4, #6]\n"
	"	slot ldrsw, ldrsw x12, [x4, #8]\n"
	"	slot ldrsb, ldrsb x13, [x4, #1]\n"
	"	slot and_index, and x14, x0, #15\n"
	"	slot ldr_reg, ldr x15, [x4, x14]\n"
	"	slot ldr_sxtw, ldr w16, [x4, w14, sxtw #2]\n"
	"	slot ldp_w, ldp w17, w20, [x4, #24]\n"
	"	slot ldpsw, ldpsw x0, x1, [x4, #32]\n"
	"	out 0, x6\n"
	"	out 1, x7\n"
	"	out 2, x8\n"
	"	out 3, x10\n"
	"	out 4, x11\n"
	"	out 5, x12\n"
	"	out 6, x13\n"
	"	out 7, x15\n"
	"	out 8, x16\n"
	"	out 9, x20\n"
	"	out 10, x1\n"
	"	slot str_post, str x6, [x5], #16\n"
	"	slot str_pre, str w7, [x5, #8]!\n"
	"	slot strb, strb w8, [x5, #5]\n"
	"	slot strh, strh w10, [x5, #6]\n"
	"	slot sturw, stur w11, [x5, #9]\n"
	"	slot str_reg, str x12, [x5, x14, lsl #3]\n"
	"	slot stp_post, stp x13, x15, [x5], #16\n"
	"	slot stnp, stnp x16, x17, [x5, #128]\n"
	"	slot ldar, ldar x6, [x19]\n"
	"	slot add_cell, add x7, x19, CELL\n"
	"	slot stlr, stlr x6, [x7]\n"
	"	slot prfm, prfm pldl1keep, [x19]\n"
	"	slot dmb, dmb ish\n"
	"	slot dsb, dsb ishst\n"
	"	slot isb, isb\n"
	"	slot add_zeroed, add x7, x19, ZEROED\n"
	"	slot mrs_dczid, mrs x9, dczid_el0\n"
	"	out 11, x9\n"
	"	emul tbnz_dzp, tbnz x9, #4, 11f\n"
	"	slot dc_zva, dc zva, x7\n"
	"11:	slot dc_cvac, dc cvac, x7\n"
	"	slot mrs_tpidr, mrs x9, tpidr_el0\n"
	"	out 12, x9\n"
	"	slot mrs_fpcr, mrs x9, fpcr\n"
	"	out 13, x9\n"
	"	slot ldp_again, ldp x0, x1, [x19]\n"
	".endm\n");

asm(".macro arithmetic\n"
	"	slot add, add x4, x0, x1\n"
	"	slot adds, adds x4, x4, x2, lsl #3\n"
	"	flags 14\n"
	"	slot adc, adc x5, x4, x0\n"
	"	slot subs, subs w6, w5, w1\n"
	"	flags 15\n"
	"	slot sbc, sbc x6, x6, x2\n"
	"	slot sub_ext, sub x7, x6, w1, sxth #1\n"
	"	slot cmp, cmp x0, x1\n"
	"	slot csel, csel x8, x0, x1, lt\n"
	"	slot csinc, csinc x10, x0, x1, hi\n"
	"	slot csneg, csneg w11, w0, w1, ne\n"
	"	slot cset, cset x12, ge\n"
	"	slot ccmp, ccmp x1, x2, #5, gt\n"
	"	flags 16\n"
	"	slot ccmp_imm, ccmp w1, #9, #2, mi\n"
	"	flags 17\n"
	"	out 18, x7\n"
	"	out 19, x8\n"
	"	out 20, x10\n"
	"	out 21, x11\n"
	"	out 22, x12\n"
	"	slot movz, movz x4, #0x1234, lsl #16\n"
	"	slot movk, movk x4, #0x4321, lsl #48\n"
	"	slot movn, movn w5, #7\n"
	"	slot orr_imm, orr x5, x5, #0xff00ff00ff00ff00\n"
	"	slot and, and x4, x4, x0\n"
	"	slot eor, eor x5, x5, x4, ror #5\n"
	"	slot bic, bics x6, x5, x1\n"
	"	flags 23\n"
	"	slot tst, tst w0, #0xf0\n"
	"	flags 24\n"
	"	slot madd, madd x7, x0, x1, x2\n"
	"	slot msub, msub w8, w0, w1, w2\n"
	"	slot smulh, smulh x10, x0, x1\n"
	"	slot umull, umull x11, w0, w1\n"
	"	slot udiv, udiv x12, x0, x2\n"
	"	slot sdiv, sdiv w13, w0, w2\n"
	"	slot lslv, lsl x14, x0, x1\n"
	"	slot lsr, lsr x15, x0, #7\n"
	"	slot extr, extr x16, x0, x1, #13\n"
	"	slot ubfx, ubfx x17, x0, #5, #17\n"
	"	slot bfi, bfi x17, x1, #20, #9\n"
	"	slot clz, clz x20, x2\n"
	"	slot rbit, rbit x3, x3\n"
	"	slot rev, rev x2, x2\n"
	"	out 25, x5\n"
	"	out 26, x6\n"
	"	out 27, x7\n"
	"	out 28, x8\n"
	"	out 29, x10\n"
	"	out 30, x11\n"
	"	out 31, x12\n"
	"	out 32, x13\n"
	"	out 33, x14\n"
	"	out 34, x15\n"
	"	out 35, x16\n"
	"	out 36, x17\n"
	"	out 37, x20\n"
	"	out 38, x3\n"
	"	out 39, x2\n"
	".endm\n");

asm(".macro simd\n"
	"	slot ldr_q, ldr q0, [x19, FROM]\n"
	"	slot add_simd, add x4, x19, FROM+16\n"
	"	slot ld1, ld1 {v1.16b, v2.16b}, [x4], #32\n"
	"	slot ld2, ld2 {v3.4s, v4.4s}, [x4]\n"
	"	slot ld1r, ld1r {v5.8h}, [x4]\n"
	"	slot add_v, add v6.4s, v0.4s, v1.4s\n"
	"	slot mul_v, mul v7.8h, v2.8h, v3.8h\n"
	"	slot ext, ext v8.16b, v0.16b, v1.16b, #5\n"
	"	slot tbl, tbl v9.16b, {v1.16b, v2.16b}, v0.16b\n"
	"	slot cmeq, cmeq v16.16b, v0.16b, v5.16b\n"
	"	slot addv, addv s17, v4.4s\n"
	"	slot dup, dup v18.2d, x0\n"
	"	slot umov, umov x5, v6.d[1]\n"
	"	slot scvtf, scvtf d19, x0\n"
	"	slot fmul, fmul d20, d19, d19\n"
	"	slot fsqrt, fsqrt d20, d20\n"
	"	slot fcmp, fcmp d19, d20\n"
	"	flags 40\n"
	"	slot fcvtzs, fcvtzs x6, d20\n"
	"	slot fmov, fmov x7, d20\n"
	"	out 41, x5\n"
	"	out 42, x6\n"
	"	out 43, x7\n"
	"	slot add_simd_to, add x5, x19, TO+128\n"
	"	slot st1, st1 {v6.16b, v7.16b}, [x5], #32\n"
	"	slot str_q, str q8, [x5], #16\n"
	"	slot stp_q, stp q9, q16, [x5]\n"
	"	slot str_s, str s17, [x5, #32]\n"
	".endm\n");

asm(".macro branches p\n"
	"	slot mov_0, mov x0, #0\n"
	"	emul cbz_taken, cbz x0, 1f\n"
	"	never mov_wrong, mov x0, #1\n"
	"1:	emul cbnz_not_taken, cbnz x0, 2f\n"
	"	emul tbz_taken, tbz x0, #5, 2f\n"
	"	never mov_wrong_2, mov x0, #2\n"
	"2:	emul tbnz_not_taken, tbnz x0, #40, 3f\n"
	"	slot cmp_0, cmp x0, #0\n"
	"	emul bne_not_taken, b.ne 3f\n"
	"	emul beq_taken, b.eq 3f\n"
	"	never mov_wrong_3, mov x0, #3\n"
	"3:	emul b, b 4f\n"
	"	never mov_wrong_4, mov x0, #4\n"
	"4:	emul adr, adr x1, 5f\n"
	"	emul br, br x1\n"
	"	never mov_wrong_5, mov x0, #5\n"
	"5:	slot bti_j, hint #36\n"
	"	slot mov_3, mov x1, #3\n"
	"6:	form add_loop, slot, 3, 3, add x0, x0, x1, lsl #2\n"
	"	form subs_loop, slot, 3, 3, subs x1, x1, #1\n"
	"	form bne_loop, emulated, 3, 3, b.ne 6b\n"
	"	emul bl, bl \\p\\()_callee\n"
	"	emul adr_callee, adr x1, \\p\\()_callee\n"
	"	emul blr, blr x1\n"
	"	out 44, x0\n"
	".endm\n"
	".macro callees p\n"
	"\\p\\()_callee:\n"
	"	form bti_callee, slot, 2, 2, hint #34\n"
	"	form add_callee, slot, 2, 2, add x0, x0, #1\n"
	"	form mov_lr, slot, 2, 2, mov x2, x30\n"
	"	form ret_reg, emulated, 2, 2, ret x2\n"
	".endm\n");

/* With memory that ADRP finds. */
asm(".macro relative_insns p\n"
	"	emul adrp, adrp x4, \\p\\()_memory\n"
	"	slot add_lo12, add x4, x4, :lo12:\\p\\()_memory\n"
	"	slot ldr_memory, ldr x5, [x4]\n"
	"	slot add_memory, add x5, x5, x0\n"
	"	slot str_memory, str x5, [x4, #8]\n"
	"	slot stp_memory, stp x0, x1, [x4, #16]\n"
	"	emul adrp_common, adrp x6, forms_common\n"
	"	slot ldr_lo12, ldr x7, [x6, :lo12:forms_common]\n"
	"	out 45, x7\n"
	"	emul adr_common, adr x8, forms_text\n"
	"	out 46, x8\n"
	".endm\n"
	".macro relative_data p\n"
	"	.pushsection .data\n"
	"	.balign 16\n"
	"	.globl \\p\\()_memory\n"
	"\\p\\()_memory:\n"
	"	.fill 128\n"
	"	.popsection\n"
	".endm\n"
	".pushsection .rodata\n"
	".balign 8\n"
	"forms_common:\n"
	"	.quad 0x1122334455667788\n"
	".popsection\n");

/* Atomics of one instruction, and other extensions. */
asm(".macro atomic_insns\n"
	"	.arch armv8.3-a\n"
	"	slot add_atomic, add x4, x19, CELL\n"
	"	slot ldadd, ldadd x0, x5, [x4]\n"
	"	slot ldaddal, ldaddal w1, w6, [x4]\n"
	"	slot stadd, stadd x2, [x4]\n"
	"	slot ldset, ldset x1, x7, [x4]\n"
	"	slot swp, swp x3, x8, [x4]\n"
	"	slot cas_mov, mov x10, x3\n"
	"	slot cas, casal x10, x0, [x4]\n"
	"	slot ldsmax, ldsmaxb w1, w11, [x4]\n"
	"	slot ldapr, ldapr x12, [x4]\n"
	"	slot crc32x, crc32x w13, w0, x1\n"
	"	out 47, x5\n"
	"	out 48, x6\n"
	"	out 49, x7\n"
	"	out 50, x8\n"
	"	out 51, x10\n"
	"	out 52, x11\n"
	"	out 53, x12\n"
	"	out 54, x13\n"
	".endm\n");

/* The blocks themselves, once for each P. */
asm(".macro blocks p\n"
	"	.globl \\p\\()_general, \\p\\()_relative, \\p\\()_atomics\n"
	"	.set BLOCK, 0\n"
	"\\p\\()_general:\n"
	"	enter_block general\n"
	"	loads_and_stores\n"
	"	arithmetic\n"
	"	simd\n"
	"	branches \\p\n"
	"	leave_block general\n"
	"	callees \\p\n"
	"	.set BLOCK, 1\n"
	"\\p\\()_relative:\n"
	"	enter_block relative\n"
	"	relative_insns \\p\n"
	"	leave_block relative\n"
	"	relative_data \\p\n"
	"	.set BLOCK, 2\n"
	"\\p\\()_atomics:\n"
	"	enter_block atomics\n"
	"	atomic_insns\n"
	"	leave_block atomics\n"
	".endm\n"
	".text\n"
	".balign 4\n"
	"forms_text:\n");

#endif /* _UHOOK_FORMS_ARM64_H */
