// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace on x86_64: instructions that leave a function, and stubs.
 *
 * With MITIGATION_RETHUNK the compiler makes each return a jump of 5 bytes to a thunk, and
 * at boot the kernel keeps that jump or replaces it with a return and four int3. Execution
 * never reaches these int3, so that a jump to a stub fits in both cases;
 * the same holds for jumps through a register, which are retpolines. With retpolines the
 * compiler makes no jump tables, so that such a jump leaves the function, or goes to a label
 * whose address is taken.
 * A stub has the original instruction in the form that the stub's own address requires:
 * whether a return needs a thunk depends on its address.
 *
 * smp_text_poke_batch_add() lets other CPUs see either the old or the new instruction. Callers hold
 * fhook_mutex, and also text_mutex where they patch.
 */
#include <linux/cpufeature.h>
#include <linux/fhook_arch.h>
#include <linux/hook_base.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/memory.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/fhook_calltrace.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>
#include <asm/unwind.h>

#define RET_IMM16		0xc2
#define RET_FAR			0xcb
#define RET_FAR_IMM16		0xca
#define IRET			0xcf
#define GROUP5			0xff
#define LOOPNE			0xe0
#define JRCXZ			0xe3

static bool is_return_thunk(unsigned long target)
{
	return target == (unsigned long)x86_return_thunk ||
	       target == (unsigned long)__x86_return_thunk ||
	       target == (unsigned long)its_return_thunk;
}

/*
 * Includes the bytes after the instruction that are never executed: int3 after a return, and
 * an int3 and no-ops after a jump through a register that has replaced a longer jump.
 */
static unsigned int room_of(unsigned long addr, unsigned long end,
			    unsigned int len)
{
	static const u8 nop2[] = { 0x66, 0x90 };
	const u8 *code = (const u8 *)addr;

	while (len < CALLTRACE_EXIT_SIZE && addr + len < end &&
	       code[len] == INT3_INSN_OPCODE)
		len++;
	if (code[len - 1] != INT3_INSN_OPCODE)
		return len;

	if (addr + len + 2 <= end && !memcmp(code + len, nop2, sizeof(nop2)))
		return len + 2;
	while (len < CALLTRACE_EXIT_SIZE && addr + len < end &&
	       code[len] == BYTES_NOP1)
		len++;

	return len;
}

static void set_target(struct calltrace_insn *insn, enum calltrace_flow flow,
		       unsigned long addr, s64 displacement)
{
	insn->flow = flow;
	insn->target = addr + insn->len + displacement;
	if (flow == CALLTRACE_JUMP && is_return_thunk(insn->target))
		insn->flow = CALLTRACE_RETURN;
}

static void refuse(struct calltrace_insn *insn, enum calltrace_reason reason)
{
	insn->flow = CALLTRACE_REFUSED;
	insn->reason = reason;
}

/* A jump through a register can be copied; a jump through memory may use a jump table. */
static void decode_group5(const struct insn *in, struct calltrace_insn *insn)
{
	unsigned int reg = X86_MODRM_REG(in->modrm.value);

	if (reg == 5 || (reg == 4 && X86_MODRM_MOD(in->modrm.value) != 3))
		refuse(insn, CALLTRACE_INDIRECT);
	else if (reg == 4 && (!IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) ||
			      cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS)))
		refuse(insn, CALLTRACE_INDIRECT);
	else if (reg == 4)
		insn->flow = CALLTRACE_LEAVE;
}

static void decode_one_byte(const struct insn *in, unsigned long addr,
			    struct calltrace_insn *insn)
{
	switch (in->opcode.bytes[0]) {
	case JMP32_INSN_OPCODE:
	case JMP8_INSN_OPCODE:
		set_target(insn, CALLTRACE_JUMP, addr, in->immediate.value);
		break;
	case 0x70 ... 0x7f:
	case LOOPNE ... JRCXZ:
		set_target(insn, CALLTRACE_BRANCH, addr, in->immediate.value);
		break;
	case RET_INSN_OPCODE:
		insn->flow = CALLTRACE_RETURN;
		break;
	case GROUP5:
		decode_group5(in, insn);
		break;
	case RET_IMM16:
	case RET_FAR:
	case RET_FAR_IMM16:
	case IRET:
		refuse(insn, CALLTRACE_UNKNOWN);
		break;
	}
}

/* Addresses as compilers load and store them: relative to RIP, or as immediate operands. */
static void set_takes(struct insn *in, unsigned long addr, struct calltrace_insn *insn)
{
	if (insn->flow != CALLTRACE_ON || in->opcode.bytes[0] == CALL_INSN_OPCODE)
		return;
	if (insn_rip_relative(in))
		insn->takes[0] = addr + insn->len + in->displacement.value;
	if (in->immediate2.nbytes)
		insn->takes[1] = (u64)in->immediate2.value << 32 |
				 (u32)in->immediate1.value;
	else if (in->immediate.nbytes == 4)
		insn->takes[1] = (long)in->immediate.value;
}

/**
 * calltrace_arch_decode() - decode an instruction
 * @addr: address of the instruction, in text that is not being written
 * @end: end of the code to which the instruction belongs
 * @insn: result
 */
void calltrace_arch_decode(unsigned long addr, unsigned long end,
			   struct calltrace_insn *insn)
{
	const unsigned long left = end - addr;
	struct insn in;

	*insn = (struct calltrace_insn){ .len = 1 };
	/* There may be no memory after the end. */
	if (insn_decode(&in, (void *)addr, min(left, MAX_INSN_SIZE), INSN_MODE_KERN)) {
		/* A module's last function seems to extend over the zeros up to the page's end. */
		if (left > 1 || *(u8 *)addr)
			refuse(insn, CALLTRACE_UNKNOWN);
		return;
	}

	insn->len = in.length;
	if (in.vex_prefix.nbytes)
		return;
	if (in.opcode.nbytes == 1)
		decode_one_byte(&in, addr, insn);
	else if (in.opcode.nbytes == 2 && in.opcode.bytes[0] == 0x0f &&
		 (in.opcode.bytes[1] & 0xf0) == 0x80)
		set_target(insn, CALLTRACE_BRANCH, addr, in.immediate.value);
	set_takes(&in, addr, insn);
	insn->room = room_of(addr, end, in.length);
}

/**
 * calltrace_arch_is_thunk() - is a jump's target a thunk that jumps through a register?
 * @target: target of the jump, outside of the function that jumps
 *
 * In modules, thunks of the ITS mitigation have no names.
 *
 * Return: true if it is.
 */
bool calltrace_arch_is_thunk(unsigned long target)
{
	char name[KSYM_NAME_LEN];

	return lookup_symbol_name(target, name) || strstarts(name, "__x86_indirect_");
}

/**
 * calltrace_arch_stub() - write a stub that jumps
 * @code: buffer for the stub
 * @at: address at which the stub will run
 * @target: target of the jump
 *
 * Return: true, because all of the kernel is in reach.
 */
bool calltrace_arch_stub(void *code, unsigned long at, unsigned long target)
{
	__text_gen_insn(code, JMP32_INSN_OPCODE, (void *)at, (void *)target,
			JMP32_INSN_SIZE);

	return true;
}

static void write_return(u8 *code, unsigned long at)
{
	if (cpu_wants_rethunk_at((void *)at))
		calltrace_arch_stub(code, at, (unsigned long)x86_return_thunk);
	else
		*code = RET_INSN_OPCODE;
}

/**
 * calltrace_arch_return_stub() - write a stub that returns
 * @code: buffer for the stub
 * @at: address at which the stub will run
 * @original: the return that the stub replaces, whose form may differ from the stub's
 */
void calltrace_arch_return_stub(void *code, unsigned long at, const u8 *original)
{
	write_return(code, at);
}

/**
 * calltrace_arch_context_stub() - write a stub that is called and returns
 * @code: buffer for the stub
 * @at: address at which the stub will run
 */
void calltrace_arch_context_stub(void *code, unsigned long at)
{
	memcpy(code, x86_nops[ENDBR_INSN_SIZE], ENDBR_INSN_SIZE);
#ifdef CONFIG_X86_KERNEL_IBT
	put_unaligned(gen_endbr(), (u32 *)code);
#endif
	write_return(code + ENDBR_INSN_SIZE, at + ENDBR_INSN_SIZE);
}

/**
 * calltrace_arch_can_leave() - has the function removed its frame?
 * @addr: address of an instruction that seems to leave the function
 *
 * A jump through a register may also be a computed goto. But where a function is left, its
 * frame is gone from the stack, and the unwind information says so.
 *
 * Return: true if it has.
 */
bool calltrace_arch_can_leave(unsigned long addr)
{
	return unwind_is_frameless(addr);
}

/**
 * calltrace_arch_queue() - patch an instruction that leaves a function
 * @addr: address of the instruction
 * @code: new instruction
 * @jump: jump to the stub of the instruction, may be @code
 *
 * The change takes effect at the next calltrace_arch_flush() at the latest. While it is
 * written, smp_text_poke_batch_add() can emulate only some instructions on other CPUs, and the old
 * one need not be among them, so other CPUs jump to the stub, which has a copy of it.
 */
void calltrace_arch_queue(unsigned long addr, const u8 *code, const u8 *jump)
{
	smp_text_poke_batch_add((void *)addr, code, CALLTRACE_EXIT_SIZE, jump);
}

/**
 * calltrace_arch_flush() - apply the queued changes
 */
void calltrace_arch_flush(void)
{
	smp_text_poke_batch_finish();
}
