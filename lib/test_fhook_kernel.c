// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: the part that is built in even if the test is a module.
 *
 * It lends the test what is not exported to modules, and should not be for a
 * test's sake: writing to kernel text, and walking stacks from given registers.
 * The symbols are in a namespace of their own.
 */
#include <linux/bpf.h>
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/filter.h>
#include <linux/kernel.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86_64
#include <asm/insn.h>
#include <asm/text-patching.h>
#endif

#include "../kernel/fhook/arch.h"
#include "../kernel/fhook/core.h"
#include "../kernel/fhook/retire.h"
#include "../kernel/fhook/set.h"
#include "../kernel/fhook/sites.h"
#include "../kernel/fhook/switch.h"
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
 * @addr: a slot, of a function that nobody calls now
 * @insn: what to write
 * @len: its length in bytes
 */
void fhook_test_poke(unsigned long addr, const void *insn, size_t len)
{
	fhook_arch_text_write((void *)addr, insn, len);
	kick_all_cpus_sync();
}
EXPORT_SYMBOL_NS_GPL(fhook_test_poke, FHOOK_KUNIT);

/**
 * fhook_test_dying() - how many sets are gone to which functions will return
 *
 * Return: that number.
 */
unsigned int fhook_test_dying(void)
{
	return fhook_retired_busy();
}
EXPORT_SYMBOL_NS_GPL(fhook_test_dying, FHOOK_KUNIT);

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

	return fhook_test_jumps(slot, dest);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_jump, FHOOK_KUNIT);

/**
 * fhook_test_jumps() - is a slot in the third of its states?
 * @slot: its address
 * @dest: where it should jump to, NULL if it should be a no-op
 */
bool fhook_test_jumps(unsigned long slot, const void *dest)
{
	return fhook_arch_site_has(slot, dest ? FHOOK_JUMP : FHOOK_NOP, dest);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_jumps, FHOOK_KUNIT);

/**
 * fhook_test_find_slot() - the slot of a function
 * @func: its address
 *
 * Return: the address of the slot, 0 if it has none.
 */
unsigned long fhook_test_find_slot(unsigned long func)
{
	unsigned long addr;

	for (addr = func; addr <= func + FHOOK_SLOT_DISTANCE; addr++) {
		if (fhook_slot_end(addr) != addr)
			return addr;
	}

	return 0;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_find_slot, FHOOK_KUNIT);

/**
 * fhook_test_reserved() - fhook_text_reserved()
 * @first: address of the first byte
 * @last: address of the last byte
 *
 * Return: true if other owners of text are kept off.
 */
bool fhook_test_reserved(unsigned long first, unsigned long last)
{
	return fhook_text_reserved((void *)first, (void *)last);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_reserved, FHOOK_KUNIT);

/**
 * fhook_test_bpf_poke() - be BPF, which wants a call at a function's entry
 * @addr: where
 *
 * Return: what it is told, -EOPNOTSUPP in a kernel without BPF's compiler.
 */
int fhook_test_bpf_poke(unsigned long addr)
{
#ifdef CONFIG_BPF_JIT
	return bpf_arch_text_poke((void *)addr, BPF_MOD_CALL, NULL,
				  fhook_test_builtin);
#else
	return -EOPNOTSUPP;
#endif
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_poke, FHOOK_KUNIT);

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
 * fhook_test_sites() - the table that a slot is in
 * @slot: its address
 *
 * Return: the address of the first entry.
 */
const void *fhook_test_sites(unsigned long slot)
{
	return fhook_table_of(slot)->sites;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_sites, FHOOK_KUNIT);

/**
 * fhook_test_can_write() - could a stray pointer do harm there?
 * @addr: of a byte of the kernel's
 *
 * Return: true if the kernel can write to it; it has been left as it was.
 */
bool fhook_test_can_write(const void *addr)
{
	u8 byte = READ_ONCE(*(const u8 *)addr);

	return !copy_to_kernel_nofault((void *)addr, &byte, sizeof(byte));
}
EXPORT_SYMBOL_NS_GPL(fhook_test_can_write, FHOOK_KUNIT);

/**
 * fhook_test_switch() - fhook_switch(), as the file fhook/enabled does
 * @on: what it is to be
 *
 * Return: 0 or an error.
 */
int fhook_test_switch(bool on)
{
	return fhook_switch(on);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_switch, FHOOK_KUNIT);

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
 * unwound reliably, which would hold up a live patch.
 */
int fhook_test_trace_reliable(unsigned long *store, unsigned int size)
{
	return stack_trace_save_tsk_reliable(current, store, size);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_trace_reliable, FHOOK_KUNIT);

#ifdef CONFIG_BPF_JIT
/**
 * fhook_test_bpf_symbol() - let the kernel know the text of a BPF program, or forget it
 * @prog: the program, compiled
 * @on: true to add its symbol, false to remove it
 */
void fhook_test_bpf_symbol(struct bpf_prog *prog, bool on)
{
	if (on)
		bpf_prog_kallsyms_add(prog);
	else
		bpf_prog_kallsyms_del(prog);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_symbol, FHOOK_KUNIT);
#endif

#ifdef CONFIG_X86_64
/**
 * fhook_test_calls() - how a trampoline gets to its callbacks
 * @slot: the address of a hooked slot
 * @callback: a callback
 * @indirect: set to how many calls and jumps have a target that is looked up
 *
 * Return: how many direct calls of @callback there are.
 */
unsigned int fhook_test_calls(unsigned long slot, const void *callback,
			      unsigned int *indirect)
{
	struct fhook_table *table = fhook_table_of(slot);
	const struct fhook_set *set;
	unsigned int calls = 0;
	struct insn insn;
	void *pos;

	guard(mutex)(&fhook_mutex);
	set = xa_load(&table->used, fhook_table_find(table, slot));
	*indirect = 0;
	for (pos = set->text; pos < set->text + set->size; pos += insn.length) {
		if (insn_decode_kernel(&insn, pos))
			return 0;
		if (insn.opcode.bytes[0] == CALL_INSN_OPCODE &&
		    pos + insn.length + insn.immediate.value == callback)
			calls++;
		/* Calls and jumps by registers and memory */
		if (insn.opcode.bytes[0] == 0xff &&
		    X86_MODRM_REG(insn.modrm.value) >= 2 &&
		    X86_MODRM_REG(insn.modrm.value) <= 5)
			(*indirect)++;
	}

	return calls;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_calls, FHOOK_KUNIT);
#endif
