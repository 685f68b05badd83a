// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace on arm64: instructions that leave a function, and stubs.
 *
 * Each instruction has room for a branch. The architecture does not allow a return to be
 * replaced while other CPUs may execute it, so exits are patched in batches under
 * stop_machine(). Pseudo-NMIs and SDEI handlers run meanwhile, as they do while mainline
 * patches kprobes: those who profile with them should not trace what their handlers call.
 * A stub has a copy of the return, or a branch to the address at which the
 * function continued; it needs no landing pad, because only direct branches lead to it. With
 * BTI, compilers leave functions through x16 or x17 and use other registers for jump tables;
 * without BTI, the two cannot be told apart. With BTI, a label whose address is taken has a
 * landing pad of its own kind.
 *
 * Callers hold fhook_mutex, and also text_mutex where they patch.
 */
#include <linux/fhook_arch.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/fhook_calltrace.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

static void decode_register_branch(u32 word, struct calltrace_insn *insn)
{
	u32 reg = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RN, word);

	insn->flow = CALLTRACE_LEAVE;
	if (!IS_ENABLED(CONFIG_ARM64_BTI_KERNEL) ||
	    (reg != AARCH64_INSN_REG_16 && reg != AARCH64_INSN_REG_17)) {
		insn->flow = CALLTRACE_REFUSED;
		insn->reason = CALLTRACE_INDIRECT;
	}
}

static bool is_landing_of_jumps(u32 word)
{
	return word == aarch64_insn_gen_hint(AARCH64_INSN_HINT_BTIJ) ||
	       word == aarch64_insn_gen_hint(AARCH64_INSN_HINT_BTIJC);
}

static bool is_conditional(u32 word)
{
	return aarch64_insn_is_bcond(word) || aarch64_insn_is_cbz(word) ||
	       aarch64_insn_is_cbnz(word) || aarch64_insn_is_tbz(word) ||
	       aarch64_insn_is_tbnz(word);
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
	u32 word;

	*insn = (struct calltrace_insn){
		.len	= AARCH64_INSN_SIZE,
		.room	= AARCH64_INSN_SIZE,
	};
	if (aarch64_insn_read((void *)addr, &word) ||
	    aarch64_insn_is_eret(word) || aarch64_insn_is_eret_auth(word)) {
		insn->flow = CALLTRACE_REFUSED;
		insn->reason = CALLTRACE_UNKNOWN;
		return;
	}

	if (aarch64_insn_is_ret(word) || aarch64_insn_is_ret_auth(word))
		insn->flow = CALLTRACE_RETURN;
	else if (aarch64_insn_is_b(word))
		insn->flow = CALLTRACE_JUMP;
	else if (is_conditional(word))
		insn->flow = CALLTRACE_BRANCH;
	else if (aarch64_insn_is_br(word) || aarch64_insn_is_br_auth(word))
		decode_register_branch(word, insn);

	if (is_landing_of_jumps(word))
		insn->takes[0] = addr;
	if (insn->flow == CALLTRACE_JUMP || insn->flow == CALLTRACE_BRANCH)
		insn->target = addr + aarch64_get_branch_offset(word);
}

/**
 * calltrace_arch_is_thunk() - is a jump's target a thunk that jumps through a register?
 * @target: target of the jump, outside of the function that jumps
 *
 * Return: false, because arm64 has no such thunks.
 */
bool calltrace_arch_is_thunk(unsigned long target)
{
	return false;
}

static bool in_reach(unsigned long at, unsigned long target)
{
	long distance = target - at;

	return distance >= -SZ_128M && distance < SZ_128M;
}

/**
 * calltrace_arch_stub() - write a stub that branches
 * @code: buffer for the stub
 * @at: address at which the stub will run
 * @target: target of the branch
 *
 * Return: false if the target is out of reach.
 */
bool calltrace_arch_stub(void *code, unsigned long at, unsigned long target)
{
	__le32 word;

	if (!in_reach(at, target))
		return false;

	word = cpu_to_le32(aarch64_insn_gen_branch_imm(at, target,
						       AARCH64_INSN_BRANCH_NOLINK));
	memcpy(code, &word, sizeof(word));

	return true;
}

/**
 * calltrace_arch_return_stub() - write a stub that returns
 * @code: buffer for the stub
 * @at: address at which the stub will run
 * @original: the return that the stub replaces
 */
void calltrace_arch_return_stub(void *code, unsigned long at, const u8 *original)
{
	memcpy(code, original, CALLTRACE_EXIT_SIZE);
}

/**
 * calltrace_arch_context_stub() - write a stub that is called and returns
 * @code: buffer for the stub
 * @at: address at which the stub will run
 */
void calltrace_arch_context_stub(void *code, unsigned long at)
{
	__le32 words[] = {
		cpu_to_le32(aarch64_insn_gen_hint(AARCH64_INSN_HINT_BTIC)),
		cpu_to_le32(aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_LR,
							AARCH64_INSN_BRANCH_RETURN)),
	};

	memcpy(code, words, sizeof(words));
}

/**
 * calltrace_arch_can_leave() - has the function removed its frame?
 * @addr: address of an instruction that leaves the function
 *
 * Return: true, because x16 and x17 do not point into a function.
 */
bool calltrace_arch_can_leave(unsigned long addr)
{
	return true;
}

/* Queued changes. Static, so that disabling needs no memory. */
static struct {
	unsigned int	num;
	void		*addrs[512];
	u32		words[512];
} queue;

/**
 * calltrace_arch_flush() - apply the queued changes
 */
void calltrace_arch_flush(void)
{
	if (queue.num)
		WARN_ON_ONCE(aarch64_insn_patch_text(queue.addrs, queue.words,
						     queue.num));
	queue.num = 0;
}

/**
 * calltrace_arch_queue() - patch an instruction that leaves a function
 * @addr: address of the instruction
 * @code: new instruction
 * @jump: branch to the stub of the instruction, may be @code
 *
 * The change takes effect at the next calltrace_arch_flush() at the latest.
 */
void calltrace_arch_queue(unsigned long addr, const u8 *code, const u8 *jump)
{
	queue.addrs[queue.num] = (void *)addr;
	queue.words[queue.num++] = get_unaligned_le32(code);
	if (queue.num == ARRAY_SIZE(queue.addrs))
		calltrace_arch_flush();
}
