// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: the part that is built in even if the test is a module.
 *
 * It lends the test what is not exported to modules, and should not be for a
 * test's sake: writing to kernel text, and walking stacks from given registers.
 * The symbols are in a namespace of their own.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <asm/text-patching.h>

#include "../kernel/fhook/internal.h"
#include "test_fhook.h"

/**
 * fhook_test_builtin() - a function without a slot, found in vmlinux's table
 * @value: any
 *
 * Return: @value.
 */
noinline u32 fhook_test_builtin(u32 value)
{
	barrier();
	return value;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_builtin, FHOOK_KUNIT);

/**
 * fhook_test_poke() - be somebody who writes where fhook thinks it is alone
 * @addr: a slot
 * @insn: one instruction
 * @len: its length in bytes
 */
void fhook_test_poke(unsigned long addr, const void *insn, size_t len)
{
	guard(mutex)(&text_mutex);
	text_poke_bp((void *)addr, insn, len, NULL);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_poke, FHOOK_KUNIT);

/**
 * fhook_test_jump() - put a slot into the third of its states
 * @slot: its address; it holds a no-op or the jump
 * @dest: where it is to jump to, NULL for the no-op
 *
 * Return: true if the slot holds it.
 */
bool fhook_test_jump(unsigned long slot, const void *dest)
{
	enum fhook_state state = dest ? FHOOK_JUMP : FHOOK_NOP;

	guard(mutex)(&text_mutex);
	fhook_arch_site_queue(slot, state, dest);
	fhook_arch_site_flush();

	return fhook_arch_site_has(slot, state, dest);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_jump, FHOOK_KUNIT);

/**
 * fhook_test_is_text() - __kernel_text_address()
 * @addr: any address
 *
 * Return: true if code of the kernel is there.
 */
bool fhook_test_is_text(unsigned long addr)
{
	return __kernel_text_address(addr);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_is_text, FHOOK_KUNIT);

/**
 * fhook_test_trace_regs() - stack_trace_save_regs()
 * @regs: where to begin
 * @store: for the addresses
 * @size: how many there is room for
 *
 * Return: how many there are.
 */
unsigned int fhook_test_trace_regs(struct pt_regs *regs, unsigned long *store,
				   unsigned int size)
{
	return stack_trace_save_regs(regs, store, size, 0);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_trace_regs, FHOOK_KUNIT);

/**
 * fhook_test_trace_reliable() - stack_trace_save_tsk_reliable() of this task
 * @store: for the addresses
 * @size: how many there is room for
 *
 * Return: how many there are, or a negative errno if the stack cannot be
 * unwound without doubt, which would hold up a live patch.
 */
int fhook_test_trace_reliable(unsigned long *store, unsigned int size)
{
	return stack_trace_save_tsk_reliable(current, store, size);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_trace_reliable, FHOOK_KUNIT);
