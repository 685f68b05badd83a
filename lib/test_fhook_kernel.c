// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: the part that is built in even if the test is a module.
 *
 * It gives the test access to functions that are not exported to modules, and should
 * not be exported only for a test: writing to kernel text, and walking stacks from
 * given registers. The symbols are in a namespace of their own.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/fhook_arch.h>
#include <linux/filter.h>
#include <linux/hook_base.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/poison.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86_64
#include <asm/insn.h>
#include <asm/text-patching.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/insn.h>
#endif

#include "../kernel/fhook/core.h"
#include "../kernel/fhook/function.h"
#include "../kernel/fhook/retire.h"
#include "../kernel/fhook/set.h"
#include "../kernel/fhook/sites.h"
#include "../kernel/fhook/switch.h"
#include "../kernel/fhook/text.h"
#include "../kernel/fhook/trampoline.h"
#include "test_fhook.h"

/**
 * fhook_test_builtin() - a function without a slot, in vmlinux
 * @value: any value
 *
 * Return: @value.
 */
noinline u32 fhook_test_builtin(u32 value)
{
	barrier();
	return value;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_builtin, "FHOOK_KUNIT");

/**
 * fhook_test_poke() - write to text that fhook owns
 * @addr: slot of a function that no task is calling now
 * @insn: bytes to write
 * @len: its length in bytes
 */
void fhook_test_poke(unsigned long addr, const void *insn, size_t len)
{
	fhook_arch_text_write((void *)addr, insn, len);
	kick_all_cpus_sync();
}
EXPORT_SYMBOL_NS_GPL(fhook_test_poke, "FHOOK_KUNIT");

/**
 * fhook_test_dying() - number of freed sets with functions that have not returned
 *
 * Return: the number of sets.
 */
unsigned int fhook_test_dying(void)
{
	return fhook_retired_busy();
}
EXPORT_SYMBOL_NS_GPL(fhook_test_dying, "FHOOK_KUNIT");

/**
 * fhook_test_jump() - put a slot into the third of its states, a jump
 * @slot: address of the slot; it has a no-op or the jump
 * @dest: target of the jump, NULL for the no-op
 *
 * Return: true if the slot has the expected bytes afterwards.
 */
bool fhook_test_jump(unsigned long slot, const void *dest)
{
	enum fhook_state state = dest ? FHOOK_JUMP : FHOOK_NOP;

	guard(mutex)(&text_mutex);
	fhook_arch_site_queue(slot, state, dest);
	fhook_arch_site_flush();

	return fhook_test_jumps(slot, dest);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_jump, "FHOOK_KUNIT");

/**
 * fhook_test_jumps() - check whether a slot is in the third of its states
 * @slot: address of the slot
 * @dest: expected target of the jump, NULL for a no-op
 */
bool fhook_test_jumps(unsigned long slot, const void *dest)
{
	return fhook_arch_site_has(slot, dest ? FHOOK_JUMP : FHOOK_NOP, dest);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_jumps, "FHOOK_KUNIT");

/**
 * fhook_test_find_slot() - the slot of a function
 * @func: address of the function
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
EXPORT_SYMBOL_NS_GPL(fhook_test_find_slot, "FHOOK_KUNIT");

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
EXPORT_SYMBOL_NS_GPL(fhook_test_reserved, "FHOOK_KUNIT");

/**
 * fhook_test_bpf_poke() - try to patch a function's entry as BPF does
 * @addr: address of the entry
 *
 * Return: the result for BPF; -EOPNOTSUPP in a kernel without the BPF JIT.
 */
int fhook_test_bpf_poke(unsigned long addr)
{
#ifdef CONFIG_BPF_JIT
	return hook_base_bpf_poke_call((void *)addr, fhook_test_builtin);
#else
	return -EOPNOTSUPP;
#endif
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_poke, "FHOOK_KUNIT");

/**
 * fhook_test_is_text() - __kernel_text_address()
 * @addr: any address
 *
 * Return: true if the address is in kernel text.
 */
bool fhook_test_is_text(unsigned long addr)
{
	return __kernel_text_address(addr);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_is_text, "FHOOK_KUNIT");

/**
 * fhook_test_sites() - find the table of a slot
 * @slot: address of the slot
 *
 * Return: the address of the first entry.
 */
const void *fhook_test_sites(unsigned long slot)
{
	return fhook_table_of(slot)->sites;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_sites, "FHOOK_KUNIT");

/**
 * fhook_test_can_write() - check whether memory is writable
 * @addr: address of a byte of the kernel
 *
 * Return: true if the kernel can write to it; the byte is not changed.
 */
bool fhook_test_can_write(const void *addr)
{
	u8 byte = READ_ONCE(*(const u8 *)addr);

	return !copy_to_kernel_nofault((void *)addr, &byte, sizeof(byte));
}
EXPORT_SYMBOL_NS_GPL(fhook_test_can_write, "FHOOK_KUNIT");

/**
 * fhook_test_switch() - call fhook_switch(), like the file fhook/enabled
 * @on: the new state
 *
 * Return: 0 or an error.
 */
int fhook_test_switch(bool on)
{
	return fhook_switch(on);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_switch, "FHOOK_KUNIT");

/**
 * fhook_test_in_ranges() - fhook_in_ranges() after fhook_ranges_sort()
 * @ends: first and last address of each range
 * @num: number of ranges
 * @addr: address to look for
 *
 * Return: whether it is in one of them.
 */
bool fhook_test_in_ranges(const unsigned long *ends, unsigned int num, unsigned long addr)
{
	struct fhook_ranges *ranges;
	unsigned int i;
	bool found;

	if (!IS_ENABLED(CONFIG_FHOOK_REDIRECT))
		return false;

	ranges = kzalloc(struct_size(ranges, range, num), GFP_KERNEL | __GFP_NOFAIL);
	ranges->num = num;
	for (i = 0; i < num; i++) {
		ranges->range[i].start = ends[2 * i];
		ranges->range[i].end = ends[2 * i + 1] + 1;
	}
	fhook_ranges_sort(ranges);
	found = fhook_in_ranges(ranges, addr);
	kfree(ranges);

	return found;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_in_ranges, "FHOOK_KUNIT");

/**
 * fhook_test_trace_regs() - stack_trace_save_regs()
 * @regs: registers at which to begin
 * @store: receives the addresses
 * @size: size of @store
 *
 * Return: the number of addresses.
 */
unsigned int fhook_test_trace_regs(struct pt_regs *regs, unsigned long *store,
				   unsigned int size)
{
	return stack_trace_save_regs(regs, store, size, 0);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_trace_regs, "FHOOK_KUNIT");

/**
 * fhook_test_trace_reliable() - stack_trace_save_tsk_reliable() of this task
 * @store: receives the addresses
 * @size: size of @store
 *
 * Return: the number of addresses, or a negative errno if the stack cannot be unwound
 * reliably, which would delay a live patch.
 */
int fhook_test_trace_reliable(unsigned long *store, unsigned int size)
{
	return stack_trace_save_tsk_reliable(current, store, size);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_trace_reliable, "FHOOK_KUNIT");

/* Find the set of a hooked slot. */
static const struct fhook_set *set_of(unsigned long slot)
{
	struct fhook_table *table = fhook_table_of(slot);

	lockdep_assert_held(&fhook_mutex);

	return xa_load(&table->used, fhook_table_find(table, slot));
}

/* Copy a set, so that the test can change the copy while the set is in use. */
static struct fhook_set *copy_set(unsigned long slot)
{
	const struct fhook_set *set = set_of(slot);

	return kmemdup(set, struct_size(set, members, set->num), GFP_KERNEL);
}

/**
 * fhook_test_assemble() - assemble a copy of an existing trampoline
 * @slot: address of a slot that calls the trampoline
 * @as: room for code and literals, if not measured; set to the lengths that were used
 * @measure: whether to measure the trampoline first
 *
 * Return: 0; -ENOSPC if it does not fit; -EFBIG if anything was written outside; -EINVAL if
 * it was measured and differs from the trampoline of the slot; -ENOMEM.
 */
int fhook_test_assemble(unsigned long slot, struct fhook_asm *as, bool measure)
{
	const unsigned int max = SZ_8K;
	struct fhook_asm measured;
	struct fhook_set *set;
	unsigned int size;
	int err = -ENOMEM;
	u8 *code;

	guard(mutex)(&fhook_mutex);
	set = copy_set(slot);
	code = kmalloc(max, GFP_KERNEL);
	if (!set || !code)
		goto out;

	fhook_tramp_measure(set, &measured);
	if (!measure) {
		measured.room = as->room;
		measured.max_literals = as->max_literals;
	}
	*as = measured;
	size = as->room + as->max_literals * sizeof(long);
	memset(code, POISON_INUSE, max);
	err = fhook_tramp_write(set, as, code) ? 0 : -ENOSPC;
	if (memchr_inv(code + size, POISON_INUSE, max - size))
		err = -EFBIG;
	else if (!err && measure && memcmp(code, set->text, size))
		err = -EINVAL;
out:
	kfree(code);
	kfree(set);

	return err;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_assemble, "FHOOK_KUNIT");

/**
 * fhook_test_place() - copy an existing trampoline to new memory
 * @slot: address of a slot that calls the trampoline
 * @less: number of bytes of code by which it is longer than measured
 * @report: report of the error
 *
 * Return: the result of fhook_tramp_place(), or -EEXIST if the call failed but has copied
 * the trampoline.
 */
int fhook_test_place(unsigned long slot, unsigned int less,
		     struct fhook_report *report)
{
	struct fhook_asm as;
	struct fhook_set *set;
	int err;

	guard(mutex)(&fhook_mutex);
	set = copy_set(slot);
	if (!set)
		return -ENOMEM;

	set->announced = false;
	fhook_tramp_measure(set, &as);
	as.room -= less;
	err = fhook_tramp_place(set, &as, slot, report);
	if (err && set->announced)
		err = -EEXIST;
	else if (!err)
		fhook_text_free(set);
	kfree_rcu(set, rcu);

	return err;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_place, "FHOOK_KUNIT");

#ifdef CONFIG_BPF_JIT
/**
 * fhook_test_bpf_symbol() - add or remove the symbol of a BPF program
 * @prog: the compiled program
 * @on: true to add its symbol, false to remove it
 */
void fhook_test_bpf_symbol(struct bpf_prog *prog, bool on)
{
	if (on)
		bpf_prog_kallsyms_add(prog);
	else
		bpf_prog_kallsyms_del(prog);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_symbol, "FHOOK_KUNIT");
#endif

#if defined(CONFIG_BPF_JIT) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)
/**
 * fhook_test_bpf_attach() - attach a BPF trampoline to a function
 * @link: link of a program, whose expected_attach_type is set
 * @func: the function, which takes a u32 and a pointer, and returns a u32
 *
 * Does the same as bpf(2), which needs the types from BTF.
 *
 * Return: the trampoline, or an ERR_PTR.
 */
struct bpf_trampoline *fhook_test_bpf_attach(struct bpf_tramp_link *link,
					     void *func)
{
	struct bpf_attach_target_info target = {
		.tgt_addr	= (unsigned long)func,
		.fmodel		= {
			.ret_size	= sizeof(u32),
			.nr_args	= 2,
			.arg_size	= { sizeof(u32), sizeof(void *) },
		},
	};
	struct bpf_trampoline *tr;
	int err;

	tr = bpf_trampoline_get((unsigned long)func, &target);
	if (!tr)
		return ERR_PTR(-ENOMEM);

	err = bpf_trampoline_link_prog(hook_base_tramp_node(link), tr, NULL);
	if (!err)
		return tr;
	bpf_trampoline_put(tr);

	return ERR_PTR(err);
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_attach, "FHOOK_KUNIT");

/**
 * fhook_test_bpf_detach() - undo fhook_test_bpf_attach()
 * @link: the link, whose program may be freed when this returns
 * @tr: the trampoline, which no task executes any more
 *
 * Return: 0 or an error.
 */
int fhook_test_bpf_detach(struct bpf_tramp_link *link,
			  struct bpf_trampoline *tr)
{
	int err = bpf_trampoline_unlink_prog(hook_base_tramp_node(link), tr, NULL);

	bpf_trampoline_put(tr);
	synchronize_rcu_tasks();

	return err;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_bpf_detach, "FHOOK_KUNIT");
#endif

#ifdef CONFIG_X86_64
/**
 * fhook_test_calls() - count the calls of a callback in a trampoline
 * @slot: address of a hooked slot
 * @callback: the callback
 * @indirect: set to the number of indirect calls and jumps
 *
 * Return: the number of direct calls of @callback.
 */
unsigned int fhook_test_calls(unsigned long slot, const void *callback,
			      unsigned int *indirect)
{
	const struct fhook_set *set;
	unsigned int calls = 0;
	struct insn insn;
	void *pos;

	guard(mutex)(&fhook_mutex);
	set = set_of(slot);
	*indirect = 0;
	for (pos = set->text; pos < set->text + set->size; pos += insn.length) {
		if (insn_decode_kernel(&insn, pos))
			return 0;
		if (insn.opcode.bytes[0] == CALL_INSN_OPCODE &&
		    pos + insn.length + insn.immediate.value == callback)
			calls++;
		/* Calls and jumps through registers and memory */
		if (insn.opcode.bytes[0] == 0xff &&
		    X86_MODRM_REG(insn.modrm.value) >= 2 &&
		    X86_MODRM_REG(insn.modrm.value) <= 5)
			(*indirect)++;
	}

	return calls;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_calls, "FHOOK_KUNIT");
#endif

#ifdef CONFIG_ARM64
/**
 * fhook_test_stub_balance() - check the effect of a hooked return on the return stack
 * @regs: check the stub for full registers
 *
 * A call of another function is matched by that function's return. A call within the stub
 * has no such return, so it makes up for a return from the stub.
 *
 * Return: the number of calls within the stub, minus the number of returns from it.
 */
int fhook_test_stub_balance(bool regs)
{
	unsigned long start = (unsigned long)(regs ? fhook_regs_return : fhook_return);
	unsigned long size, offset, addr, target;
	int balance = 0;
	u32 insn;

	if (!kallsyms_lookup_size_offset(start, &size, &offset))
		return -ENOENT;

	for (addr = start; addr < start + size; addr += sizeof(insn)) {
		insn = le32_to_cpup((__le32 *)addr);
		if (aarch64_insn_is_ret(insn))
			balance--;
		if (!aarch64_insn_is_bl(insn))
			continue;
		target = addr + aarch64_get_branch_offset(insn);
		if (target >= start && target < start + size)
			balance++;
	}

	return balance;
}
EXPORT_SYMBOL_NS_GPL(fhook_test_stub_balance, "FHOOK_KUNIT");
#endif
