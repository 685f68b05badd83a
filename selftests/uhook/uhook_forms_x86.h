/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: instructions of x86_64, each kind that compilers emit and some more.
 *
 * %r15 has the struct state: the inputs at 0, the outputs at OUT, two buffers
 * at FROM and TO, 16 bytes at CELL. In the blocks:
 *	slot NAME, INSN...		goes on in a slot
 *	emul NAME, INSN...		is emulated
 *	noop NAME, INSN...		is emulated by 7.3, goes on in a slot in 6.12
 *	rest NAME, INSN...		the other way round
 *	place NAME, INSN...		can only be stepped
 *	never NAME, INSN...		is not reached
 *	form NAME, HOW, TIMES, STEPPED, INSN...
 *					is hit TIMES in a round, or STEPPED where
 *					hits are stepped: a repeated instruction
 *					is hit for each repetition then
 *	out N, REG			stores a register
 *	flags N [WHICH]			stores the flags, without those that the
 *					instruction before leaves undefined
 * Instructions that uprobes refuse cannot be here. QEMU 7.2 emulates two wrongly: cmpxchg16b,
 * which leaves anything in the flags, and shld by a constant with memory
 * relative to it. It steps the instruction after a pause, too, which is a no-op here.
 */
#ifndef _UHOOK_FORMS_X86_H
#define _UHOOK_FORMS_X86_H

#include <cpuid.h>

/* AVX enabled by the kernel, AVX2 and BMI. */
static bool have_vector(void)
{
	static int have = -1;
	unsigned int a, b, c, d;

	if (have < 0)
		have = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) && (c & bit_AVX) &&
		       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) &&
		       (b & bit_BMI) && (b & bit_BMI2);

	return have;
}

DECLARE_BLOCK(general);
DECLARE_BLOCK(rip);
DECLARE_BLOCK(vector);

static const struct block blocks[] = {
	BLOCK(general, NULL),
	BLOCK(rip, NULL),
	BLOCK(vector, have_vector),
};

#define MEMORY_BLOCK	1

/* Copies with the trap flag set. */
void stepped_copy(void *to, const void *from, unsigned long unused, unsigned long count);
extern const char stepped_rep[], stepped_rep_end[];

asm(".text\n"
	"stepped_copy:\n"
	"	pushf\n"
	"	orq $0x100, (%rsp)\n"
	"	popf\n"
	"stepped_rep:\n"
	"	rep movsb\n"
	"stepped_rep_end:\n"
	"	pushf\n"
	"	andq $-0x101, (%rsp)\n"
	"	popf\n"
	"	ret\n");

static volatile unsigned long stepped_stops;

static void count_stop(int sig, siginfo_t *info, void *context)
{
	const char *ip = (const char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	stepped_stops += ip == stepped_rep || ip == stepped_rep_end;
}

/*
 * How often a form is hit when it is stepped, more than the number of its repetitions:
 * QEMU 10 stops once more when there is nothing left to repeat.
 */
static unsigned long more_steps(const struct form *form)
{
	struct sigaction action = { .sa_sigaction = count_stop, .sa_flags = SA_SIGINFO };
	char to[3], from[3] = "";

	if (form->stepped == form->times || strncmp(form->name, "rep_", 4))
		return 0;
	stepped_stops = 0;
	sigaction(SIGTRAP, &action, NULL);
	stepped_copy(to, from, 0, sizeof(to));
	signal(SIGTRAP, SIG_DFL);
	check(stepped_stops >= sizeof(to), "%lu of %zu repetitions are stepped", stepped_stops,
	      sizeof(to));

	return stepped_stops - sizeof(to);
}

asm(".macro out n, reg\n"
	"	slot out_\\n, mov \\reg, OUT+8*\\n(%r15)\n"
	".endm\n"
	".macro flags n, which=0xdd5\n"
	"	slot pushf_\\n, pushf\n"
	"	slot and_\\n, andq $\\which, (%rsp)\n"
	"	slot pop_\\n, popq OUT+8*\\n(%r15)\n"
	".endm\n"
	".macro enter_block name\n"
	"	slot endbr64_\\name, endbr64\n"
	"	emul push_rbp_\\name, push %rbp\n"
	"	slot mov_rbp_\\name, mov %rsp, %rbp\n"
	"	emul push_rbx_\\name, push %rbx\n"
	"	emul push_r12_\\name, push %r12\n"
	"	emul push_r15_\\name, push %r15\n"
	"	slot mov_r15_\\name, mov %rdi, %r15\n"
	"	slot mov_rax_\\name, mov (%r15), %rax\n"
	"	slot mov_rbx_\\name, mov 8(%r15), %rbx\n"
	"	slot mov_rcx_\\name, mov 16(%r15), %rcx\n"
	"	slot mov_rdx_\\name, movq 24(%r15), %rdx\n"
	".endm\n"
	".macro leave_block name\n"
	"	slot pop_r15_\\name, pop %r15\n"
	"	slot pop_r12_\\name, pop %r12\n"
	"	slot pop_rbx_\\name, pop %rbx\n"
	"	slot leave_\\name, leave\n"
	"	slot ret_\\name, ret\n"
	".endm\n");

/* Moves and arithmetic. */
asm(".macro moves_and_arithmetic\n"
	"	emul nop, nop\n"
	"	emul nop2, xchg %ax, %ax\n"
	"	rest pause, pause\n"
	"	nop\n"
	"	noop nop4, nopl 8(%rax)\n"
	"	noop nop5, nopl 8(%rax,%rax,1)\n"
	"	noop nop9, nopw 0x200(%rax,%rax,1)\n"
	"	slot movabs, movabs $0x0123456789abcdef, %rsi\n"
	"	slot lea, lea 3(%rax,%rbx,4), %r8\n"
	"	out 0, %r8\n"
	"	slot lea_addr32, lea 0x10(%eax,%ebx), %r9\n"
	"	out 1, %r9\n"
	"	slot movzb, movzbl %al, %r10d\n"
	"	slot movsb, movsbq %bl, %r11\n"
	"	slot movslq, movslq %ecx, %r12\n"
	"	slot bswap, bswap %r12\n"
	"	out 2, %r10\n"
	"	out 3, %r11\n"
	"	out 4, %r12\n"
	"	slot mov_high, mov %ah, %bh\n"
	"	slot mov_byte, mov %bl, TO(%r15)\n"
	"	slot movw, movw $0x1234, TO+2(%r15)\n"
	"	slot movl, movl $-5, TO+4(%r15)\n"
	"	slot movnti, movnti %rsi, TO+8(%r15)\n"
	"	slot mov_fs, mov %fs:0, %r8\n"
	"	out 5, %r8\n"
	"	slot xchg, xchg %rax, %rbx\n"
	"	slot xchg_mem, xchg %rsi, CELL(%r15)\n"
	"	slot add, add %rbx, %rax\n"
	"	flags 6\n"
	"	slot stc, stc\n"
	"	slot adc, adc %rcx, %rax\n"
	"	flags 7\n"
	"	slot cmc, cmc\n"
	"	slot sbb, sbb $3, %rax\n"
	"	slot lahf, lahf\n"
	"	slot sahf, sahf\n"
	"	out 8, %rax\n"
	"	slot neg, neg %rax\n"
	"	slot not, notl CELL(%r15)\n"
	"	slot inc, incw CELL(%r15)\n"
	"	slot dec, dec %r10d\n"
	"	slot imul, imul %rbx, %rax\n"
	"	slot imul_imm, imul $0x12345, %rcx, %r9\n"
	"	slot mul, mul %rbx\n"
	"	out 9, %rax\n"
	"	out 10, %rdx\n"
	"	slot or, or $1, %rcx\n"
	"	slot xor, xor %edx, %edx\n"
	"	slot div, div %rcx\n"
	"	out 11, %rax\n"
	"	out 12, %rdx\n"
	"	slot cqto, cqto\n"
	"	slot cltq, cltq\n"
	"	slot shl, shl %cl, %r9\n"
	"	slot sar, sar $3, %r9\n"
	"	slot rol, rol $7, %ebx\n"
	"	slot rcr, rcr $1, %rbx\n"
	"	slot shld, shld $5, %rbx, %r9\n"
	"	out 13, %r9\n"
	"	slot bt, bt $3, %rbx\n"
	"	flags 14, 0x41\n"
	"	slot bts, btsl $9, CELL(%r15)\n"
	"	slot bsf, bsf %rcx, %r8\n"
	"	out 15, %r8\n"
	"	slot cmp, cmp %rbx, %rcx\n"
	"	slot setb, setb %r8b\n"
	"	slot cmovl, cmovl %r9, %r10\n"
	"	slot cmovge, cmovge CELL(%r15), %r11\n"
	"	out 16, %r8\n"
	"	out 17, %r10\n"
	"	out 18, %r11\n"
	"	slot test, test $0x10, %bl\n"
	"	flags 19, 0xdc5\n"
	"	slot mov_cell, mov CELL(%r15), %rax\n"
	"	slot cmpxchg, cmpxchg %rbx, CELL(%r15)\n"
	"	flags 20\n"
	"	slot xadd, xadd %ecx, CELL+8(%r15)\n"
	"	out 21, %rcx\n"
	"	out 22, %rax\n"
	"	slot mov_leaf, mov $1, %eax\n"
	"	slot cpuid, cpuid\n"
	"	out 23, %rdx\n"
	"	slot rdtsc, rdtsc\n"
	".endm\n");

/* The stack and strings. */
asm(".macro stack_and_strings\n"
	"	slot push_imm8, push $-3\n"
	"	slot push_imm32, push $0x1234567\n"
	"	slot push_mem, push 8(%r15)\n"
	"	slot pop_reg, pop %r8\n"
	"	slot pop_mem, pop OUT+8*24(%r15)\n"
	"	slot pop_r9, pop %r9\n"
	"	out 25, %r8\n"
	"	out 26, %r9\n"
	"	slot enter, enter $16, $0\n"
	"	slot leave, leave\n"
	"	slot pushf, pushf\n"
	"	slot and_flags, andq $0xdd5, (%rsp)\n"
	"	place popf, popf\n"
	"	slot cld, cld\n"
	"	slot lea_rsi, lea FROM(%r15), %rsi\n"
	"	slot lea_rdi, lea TO(%r15), %rdi\n"
	"	slot mov_ecx, mov $16, %ecx\n"
	"	form rep_movsb, slot, 1, 16, rep movsb\n"
	"	slot rep_movsb_0, rep movsb\n"
	"	slot lodsq, lodsq\n"
	"	out 27, %rax\n"
	"	slot mov_ecx_6, mov $6, %ecx\n"
	"	form rep_stosl, slot, 1, 6, rep stosl\n"
	"	slot scasb, scasb\n"
	"	flags 28\n"
	"	slot std, std\n"
	"	slot movsw, movsw\n"
	"	slot cld_again, cld\n"
	"	slot lea_rsi_again, lea FROM(%r15), %rsi\n"
	"	slot lea_rdi_again, lea TO(%r15), %rdi\n"
	"	slot notb, notb 9(%rdi)\n"
	"	slot mov_ecx_16, mov $16, %ecx\n"
	"	form repe_cmpsb, slot, 1, 10, repe cmpsb\n"
	"	flags 29\n"
	"	out 30, %rcx\n"
	"	slot lea_rbx, lea FROM(%r15), %rbx\n"
	"	slot and_al, and $15, %eax\n"
	"	slot xlat, xlat\n"
	"	out 31, %rax\n"
	/* The opcode of a no-op, also with prefixes that make it another instruction. */
	"	slot mov_r8, mov 32(%r15), %r8\n"
	"	slot xchg_r8, .byte 0x49, 0x90\n"
	"	out 60, %rax\n"
	"	slot xchg_r8d, .byte 0x41, 0x90\n"
	"	out 61, %rax\n"
	"	out 62, %r8\n"
	"	rest pause_r8, pause\n"
	"	nop\n"
	"	emul nop_rex, .byte 0x48, 0x90\n"
	"	emul nop_data, .byte 0x66, 0x90\n"
	"	slot pushw, pushw %ax\n"
	"	slot popw, popw %r8w\n"
	"	out 63, %r8\n"
	"	slot push_rex, .byte 0x40, 0x50\n"
	"	slot pop_rex, .byte 0x41, 0x58\n"
	"	out 64, %r8\n"
	".endm\n");

/* Branches, calls and returns. */
asm(".macro branches p\n"
	"	slot xor_eax, xor %eax, %eax\n"
	"	emul je_taken, je 1f\n"
	"	never mov_wrong, mov $1, %eax\n"
	"1:	emul jne_not_taken, jne 2f\n"
	"	emul jne_near, {disp32} jne 2f\n"
	"	emul je_near, {disp32} je 2f\n"
	"	never mov_wrong_2, mov $2, %eax\n"
	"2:	emul jmp, jmp 3f\n"
	"	never mov_wrong_3, mov $3, %eax\n"
	"3:	emul jmp_near, {disp32} jmp 4f\n"
	"	never mov_wrong_4, mov $4, %eax\n"
	"4:	slot lea_target, lea 5f(%rip), %rdx\n"
	"	slot jmp_reg, jmp *%rdx\n"
	"	never mov_wrong_5, mov $5, %eax\n"
	"5:	slot lea_target_2, lea 6f(%rip), %rdx\n"
	"	emul push_rdx, push %rdx\n"
	"	slot jmp_mem, jmp *(%rsp)\n"
	"	never mov_wrong_6, mov $6, %eax\n"
	"6:	slot pop_rdx, pop %rdx\n"
	"	out 32, %rax\n"
	"	slot xor_ecx, xor %ecx, %ecx\n"
	"	place jrcxz, jrcxz 7f\n"
	"	never mov_wrong_7, mov $7, %eax\n"
	"7:	slot mov_ecx_3, mov $3, %ecx\n"
	"8:	form lea_loop, slot, 3, 3, lea 5(%rax,%rcx,2), %rax\n"
	"	form loop, place, 3, 3, loop 8b\n"
	"	slot mov_ecx_2, mov $2, %ecx\n"
	"9:	form lea_jne, slot, 2, 2, lea 5(%rax,%rcx,4), %rax\n"
	"	form dec_jne, slot, 2, 2, dec %ecx\n"
	"	form jne_loop, emulated, 2, 2, jne 9b\n"
	"	emul call, call \\p\\()_callee\n"
	"	slot lea_callee, lea \\p\\()_callee(%rip), %rdx\n"
	"	place call_reg, call *%rdx\n"
	"	emul push_callee, push %rdx\n"
	"	place call_mem, call *(%rsp)\n"
	"	emul call_ret_imm, call \\p\\()_callee_ret_imm\n"
	"	out 33, %rax\n"
	".endm\n"
	".macro callees p\n"
	"\\p\\()_callee:\n"
	"	form lea_in_callee, slot, 3, 3, lea 1(%rax), %rax\n"
	"	form ret_callee, slot, 3, 3, ret\n"
	"\\p\\()_callee_ret_imm:\n"
	"	slot ret_imm, ret $8\n"
	".endm\n");

/* Floating point and SSE. */
asm(".macro floating_point\n"
	"	slot cvtsi2sd, cvtsi2sd (%r15), %xmm0\n"
	"	slot mulsd, mulsd %xmm0, %xmm0\n"
	"	slot sqrtsd, sqrtsd %xmm0, %xmm1\n"
	"	slot cvttsd2si, cvttsd2si %xmm1, %rax\n"
	"	out 34, %rax\n"
	"	slot ucomisd, ucomisd %xmm0, %xmm1\n"
	"	flags 35\n"
	"	slot movdqu, movdqu FROM(%r15), %xmm2\n"
	"	slot movdqa, movdqa CELL(%r15), %xmm3\n"
	"	slot paddd, paddd %xmm3, %xmm2\n"
	"	slot pshufd, pshufd $0x1b, %xmm2, %xmm4\n"
	"	slot punpcklbw, punpcklbw %xmm3, %xmm4\n"
	"	slot psrldq, psrldq $3, %xmm3\n"
	"	slot cmpps, cmpltps %xmm3, %xmm2\n"
	"	slot pmovmskb, pmovmskb %xmm4, %eax\n"
	"	out 36, %rax\n"
	"	slot movq_xmm, movq %xmm4, %rbx\n"
	"	out 37, %rbx\n"
	"	slot movups, movups %xmm2, TO+64(%r15)\n"
	"	slot movntdq, movntdq %xmm3, TO+80(%r15)\n"
	"	slot stmxcsr, stmxcsr TO+96(%r15)\n"
	"	slot ldmxcsr, ldmxcsr TO+96(%r15)\n"
	"	slot mfence, mfence\n"
	"	slot prefetch, prefetcht0 (%r15)\n"
	"	slot fildll, fildll (%r15)\n"
	"	slot fldpi, fldpi\n"
	"	slot fmulp, fmulp\n"
	"	slot fstpl, fstpl TO+104(%r15)\n"
	"	slot fnstcw, fnstcw TO+112(%r15)\n"
	"	slot fldcw, fldcw TO+112(%r15)\n"
	"	slot fnstsw, fnstsw %ax\n"
	"	out 38, %rax\n"
	".endm\n");

/* With memory relative to the instruction: read, written, and with immediates after it. */
asm(".macro relative p\n"
	"	slot rip_mov, mov \\p\\()_memory(%rip), %rsi\n"
	"	out 40, %rsi\n"
	"	slot rip_store, mov %rax, \\p\\()_memory+8(%rip)\n"
	"	slot rip_add, add \\p\\()_memory+16(%rip), %rax\n"
	"	slot rip_add_to, add %rax, \\p\\()_memory+16(%rip)\n"
	"	slot rip_add_imm8, addl $-7, \\p\\()_memory+24(%rip)\n"
	"	flags 41\n"
	"	slot rip_add_imm32, addq $0x1234567, \\p\\()_memory+32(%rip)\n"
	"	slot rip_movw, movw $0x4321, \\p\\()_memory+40(%rip)\n"
	"	slot rip_movl, movl $0x7654321, \\p\\()_memory+44(%rip)\n"
	"	slot rip_cmpb, cmpb $0x40, \\p\\()_memory(%rip)\n"
	"	flags 42\n"
	"	slot rip_setg, setg \\p\\()_memory+48(%rip)\n"
	"	slot rip_cmov, cmovg \\p\\()_memory+8(%rip), %rbx\n"
	"	slot rip_xchg, xchg %rbx, \\p\\()_memory+56(%rip)\n"
	"	slot rip_xadd, xadd %rbx, \\p\\()_memory+56(%rip)\n"
	"	slot rip_cmpxchg, cmpxchg %rcx, \\p\\()_memory+16(%rip)\n"
	"	flags 43\n"
	"	slot rip_inc, incl \\p\\()_memory+60(%rip)\n"
	"	slot rip_neg, negb \\p\\()_memory+3(%rip)\n"
	"	slot rip_test, testl $0x800, \\p\\()_memory+8(%rip)\n"
	"	flags 44\n"
	"	slot rip_mul, mulq \\p\\()_memory(%rip)\n"
	"	out 45, %rdx\n"
	"	slot rip_imul, imul $0x1234567, \\p\\()_memory(%rip), %rdx\n"
	"	out 46, %rdx\n"
	"	slot rip_shl, shll $3, \\p\\()_memory+52(%rip)\n"
	"	slot rip_shld, shld %cl, %rdx, \\p\\()_memory+24(%rip)\n"
	"	slot rip_bt, btl $5, \\p\\()_memory(%rip)\n"
	"	flags 47\n"
	"	slot rip_movzw, movzwl \\p\\()_memory+40(%rip), %eax\n"
	"	out 48, %rax\n"
	"	slot rip_push, pushq \\p\\()_memory+32(%rip)\n"
	"	slot rip_pop, popq \\p\\()_memory+64(%rip)\n"
	"	slot rip_lea, lea vector_memory(%rip), %rax\n"
	"	out 49, %rax\n"
	"	slot rip_movdqu, movdqu \\p\\()_memory+1(%rip), %xmm0\n"
	"	slot rip_paddb, paddb \\p\\()_memory+16(%rip), %xmm0\n"
	"	slot rip_pshufd, pshufd $0x4e, \\p\\()_memory(%rip), %xmm1\n"
	"	slot rip_movups, movups %xmm0, \\p\\()_memory+73(%rip)\n"
	"	slot rip_movq, movq %xmm1, \\p\\()_memory+96(%rip)\n"
	"	slot rip_fildl, fildl \\p\\()_memory+44(%rip)\n"
	"	slot rip_fiaddl, fiaddl \\p\\()_memory+44(%rip)\n"
	"	slot rip_fstpl, fstpl \\p\\()_memory+104(%rip)\n"
	"	slot rip_jmp, jmp *\\p\\()_target(%rip)\n"
	"	never rip_mov_wrong, mov $1, %eax\n"
	"\\p\\()_landing:\n"
	"	place rip_call, call *\\p\\()_rip_callee_ptr(%rip)\n"
	"	out 50, %rax\n"
	".endm\n"
	".macro relative_callee p\n"
	"\\p\\()_rip_callee:\n"
	"	slot rip_callee, add $3, %rax\n"
	"	slot rip_callee_ret, ret\n"
	"	.pushsection .data\n"
	"	.balign 16\n"
	"	.globl \\p\\()_memory\n"
	"\\p\\()_memory:\n"
	"	.fill 128\n"
	"\\p\\()_target:\n"
	"	.quad \\p\\()_landing\n"
	"\\p\\()_rip_callee_ptr:\n"
	"	.quad \\p\\()_rip_callee\n"
	"	.popsection\n"
	".endm\n");

/* VEX, with two bytes and with three. */
asm(".macro vector_insns\n"
	"	slot vmovups, vmovups FROM(%r15), %ymm0\n"
	"	slot vmovaps, vmovaps %ymm0, %ymm1\n"
	"	slot vpaddd, vpaddd CELL(%r15), %ymm0, %ymm2\n"
	"	slot vpermq, vpermq $0x1b, %ymm2, %ymm3\n"
	"	slot vpshufb, vpshufb %ymm1, %ymm3, %ymm4\n"
	"	slot vpblendd, vpblendd $0x55, %ymm4, %ymm0, %ymm5\n"
	"	slot vaddps, vaddps %xmm5, %xmm0, %xmm6\n"
	"	slot vextracti128, vextracti128 $1, %ymm5, TO+80(%r15)\n"
	"	slot rip_vpaddd, vpaddd vector_memory(%rip), %ymm5, %ymm5\n"
	"	slot rip_vpermq, vpermq $0x4e, vector_memory(%rip), %ymm6\n"
	"	slot rip_vmovups, vmovups vector_memory+1(%rip), %xmm7\n"
	/* Without VEX, these opcodes are three jumps and a return. */
	"	slot vpshufd, vpshufd $0x1b, %ymm5, %ymm5\n"
	"	slot vpcmpeqb, vpcmpeqb %ymm0, %ymm1, %ymm8\n"
	"	slot vpor, vpor %ymm8, %ymm6, %ymm6\n"
	"	slot vcmpps, vcmpps $1, %xmm0, %xmm7, %xmm7\n"
	"	slot vmovups_to, vmovups %ymm5, TO(%r15)\n"
	"	slot vmovups_to_2, vmovups %ymm6, TO+32(%r15)\n"
	"	slot vmovups_to_3, vmovups %xmm7, TO+64(%r15)\n"
	"	slot vzeroupper, vzeroupper\n"
	"	slot andn, andn %rcx, %rbx, %rax\n"
	"	out 52, %rax\n"
	"	slot rorx, rorx $13, %rcx, %rax\n"
	"	out 53, %rax\n"
	"	slot mulx, mulx %rcx, %rax, %rbx\n"
	"	out 54, %rax\n"
	"	out 55, %rbx\n"
	"	slot rip_andn, andn vector_memory(%rip), %rbx, %rax\n"
	"	out 56, %rax\n"
	"	slot popcnt, popcnt %rax, %rbx\n"
	"	out 57, %rbx\n"
	"	slot pcmpistri, pcmpistri $0x0c, FROM(%r15), %xmm0\n"
	"	out 58, %rcx\n"
	"	slot crc32, crc32q (%r15), %rbx\n"
	"	out 59, %rbx\n"
	".endm\n"
	".pushsection .rodata\n"
	".balign 64\n"
	"vector_memory:\n"
	"	.quad 0x1122334455667788, 0x99aabbccddeeff00, 0x0f1e2d3c4b5a6978, 0x8796a5b4c3d2e1f0\n"
	"	.quad 0xfedcba9876543210\n"
	".popsection\n");

/* The blocks themselves, once for each P. */
asm(".macro blocks p\n"
	"	.globl \\p\\()_general, \\p\\()_rip, \\p\\()_vector\n"
	"	.set BLOCK, 0\n"
	"\\p\\()_general:\n"
	"	enter_block general\n"
	"	moves_and_arithmetic\n"
	"	stack_and_strings\n"
	"	branches \\p\n"
	"	floating_point\n"
	"	leave_block general\n"
	"	callees \\p\n"
	"	.set BLOCK, 1\n"
	"\\p\\()_rip:\n"
	"	enter_block rip\n"
	"	relative \\p\n"
	"	leave_block rip\n"
	"	relative_callee \\p\n"
	"	.set BLOCK, 2\n"
	"\\p\\()_vector:\n"
	"	enter_block vector\n"
	"	vector_insns\n"
	"	leave_block vector\n"
	".endm\n");

#endif /* _UHOOK_FORMS_X86_H */
