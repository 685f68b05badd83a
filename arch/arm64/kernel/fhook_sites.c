// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on arm64: the tables of slots, and patching slots.
 *
 * The compiler records the addresses of its no-ops in __patchable_function_entries;
 * objtool, which writes the tables on x86, does not support arm64. So the tables are
 * made from these records: the table of vmlinux in start_kernel(), on one CPU with
 * interrupts disabled, the table of a module while it is not formed. Until then every
 * slot is two no-ops, and no task is between the two when the first becomes
 * "mov x9, x30". ftrace does the same with its own two no-ops, which precede fhook's.
 *
 * A record is ignored if its function has no name in the image, as for weak functions
 * that were overridden.
 *
 * From then on only the second word changes, between a no-op, a branch and a branch with
 * link. The architecture allows these instructions to be replaced by each other while
 * other CPUs execute them: a CPU executes either the old word or the new one. The target
 * of a new branch has been written, and flush_icache_range() has made it visible to all
 * CPUs, before the branch is written. aarch64_insn_patch_texts_nosync() cleans the data
 * cache and invalidates the instruction caches of all CPUs to the point of unification; a
 * CPU may still have prefetched the old word until it takes the interrupt of
 * fhook_arch_site_flush().
 *
 * Callers hold fhook_mutex; callers of the fhook_arch_site_*() functions also hold
 * text_mutex. A module that is not formed has one user, its loader.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/fhook_arch.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/set_memory.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

static s32 *vmlinux_sites;

/*
 * A record has the address of the first no-op: with CALL_OPS, of the first of two no-ops
 * before the function, else of the first no-op that is executed.
 */
static unsigned long record_site(unsigned long record)
{
	unsigned long entry = record;
	u32 insn;

	if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS)) {
		entry += 2 * AARCH64_INSN_SIZE;
		if (IS_ENABLED(CONFIG_ARM64_BTI_KERNEL) &&
		    !aarch64_insn_read((void *)entry, &insn) &&
		    aarch64_insn_is_bti(insn))
			entry += AARCH64_INSN_SIZE;
	}

	return entry + FHOOK_SLOT_SIZE * (CONFIG_FHOOK_SLOTS_NR - 1);
}

/* Turn the no-ops at @site into a slot, if they are there. */
static bool slot_init(unsigned long site)
{
	u32 first, second, nop = aarch64_insn_gen_nop();

	if (aarch64_insn_read((void *)site, &first) ||
	    aarch64_insn_read((void *)site + AARCH64_INSN_SIZE, &second) ||
	    first != nop || second != nop)
		return false;

	return !aarch64_insn_patch_text_nosync((void *)site, FHOOK_SLOT_FIRST);
}

/* Is this the slot of a function that has a name? */
static bool has_function(unsigned long site)
{
	unsigned long size, offset;

	if (!core_kernel_text(site) ||
	    !kallsyms_lookup_size_offset(site, &size, &offset))
		return false;

	return offset == fhook_arch_func_offset(site) - FHOOK_SLOT_SIZE;
}

/**
 * fhook_arch_sites() - make the table of vmlinux' slots
 * @base: address from which offsets count
 * @num: set to the number of slots
 *
 * Return: the offsets of the slots, or NULL if memory allocation fails.
 */
s32 *__init fhook_arch_sites(unsigned long base, unsigned int *num)
{
	unsigned long *record, site;
	unsigned int found = 0;

	vmlinux_sites = vmalloc_array(__stop_fhook_records -
				      __start_fhook_records,
				      sizeof(*vmlinux_sites));
	if (!vmlinux_sites)
		return NULL;

	for (record = __start_fhook_records; record < __stop_fhook_records;
	     record++) {
		site = record_site(*record);
		if (has_function(site) && slot_init(site))
			vmlinux_sites[found++] = site - base;
	}

	*num = found;

	return vmlinux_sites;
}

/**
 * fhook_arch_module_sites() - make the table of a module's slots
 * @mod: the module, not formed; its records are overwritten
 * @base: address from which offsets count
 *
 * Return: the number of sites in mod->fhook_sites.
 */
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base)
{
	unsigned long *records = (unsigned long *)mod->fhook_sites;
	unsigned int num_records, i, num = 0;
	unsigned long site;

	num_records = mod->num_fhook_sites * sizeof(s32) / sizeof(*records);
	for (i = 0; i < num_records; i++) {
		site = record_site(records[i]);
		if (slot_init(site))
			mod->fhook_sites[num++] = site - base;
	}

	return num;
}

/* When the table is made, page tables cannot be changed yet. */
static int __init protect_sites(void)
{
	if (!vmlinux_sites)
		return 0;

	return set_memory_ro((unsigned long)vmlinux_sites,
			     get_vm_area_size(find_vm_area(vmlinux_sites)) /
			     PAGE_SIZE);
}
early_initcall(protect_sites);

/**
 * fhook_arch_func_offset() - distance from a function to the return address of its slot
 * @site: address of the slot
 *
 * Return: the distance in bytes.
 */
unsigned int fhook_arch_func_offset(unsigned long site)
{
	unsigned int offset = FHOOK_SLOT_SIZE * CONFIG_FHOOK_SLOTS_NR;
	unsigned long entry = site + FHOOK_SLOT_SIZE - offset;
	u32 before;

	if (IS_ENABLED(CONFIG_ARM64_BTI_KERNEL) &&
	    !aarch64_insn_read((void *)entry - AARCH64_INSN_SIZE, &before) &&
	    aarch64_insn_is_bti(before))
		offset += AARCH64_INSN_SIZE;

	return offset;
}

static u32 slot_insn(unsigned long site, enum fhook_state state,
		     const void *dest)
{
	unsigned long at = site + AARCH64_INSN_SIZE;

	switch (state) {
	case FHOOK_CALL:
		return aarch64_insn_gen_branch_imm(at, (unsigned long)dest,
						   AARCH64_INSN_BRANCH_LINK);
	case FHOOK_JUMP:
		return aarch64_insn_gen_branch_imm(at, (unsigned long)dest,
						   AARCH64_INSN_BRANCH_NOLINK);
	case FHOOK_NOP:
		break;
	}

	return aarch64_insn_gen_nop();
}

/**
 * fhook_arch_site_has() - does a slot have the expected instruction?
 * @site: address of the slot
 * @state: expected state
 * @dest: expected target of the branch, if there is one
 *
 * Return: true if it does.
 */
bool fhook_arch_site_has(unsigned long site, enum fhook_state state,
			 const void *dest)
{
	u32 first, second;

	if (aarch64_insn_read((void *)site, &first) ||
	    aarch64_insn_read((void *)site + AARCH64_INSN_SIZE, &second))
		return false;

	return first == FHOOK_SLOT_FIRST &&
	       second == slot_insn(site, state, dest);
}

/* Queued changes of slots. */
static struct {
	unsigned int	num;
	void		*addrs[64];
	u32		insns[64];
} queue;

static void write_queue(void)
{
	WARN_ON_ONCE(aarch64_insn_patch_texts_nosync(queue.addrs, queue.insns,
						     queue.num));
	queue.num = 0;
}

/**
 * fhook_arch_site_queue() - change a slot, at the next flush at the latest
 * @site: address of the slot
 * @state: new state
 * @dest: target of the branch, if there is one, within fhook_arch_reaches() of the slot
 */
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest)
{
	queue.addrs[queue.num] = (void *)site + AARCH64_INSN_SIZE;
	queue.insns[queue.num] = slot_insn(site, state, dest);
	if (++queue.num == ARRAY_SIZE(queue.addrs))
		write_queue();
}

/**
 * fhook_arch_site_flush() - make all CPUs see the queued changes
 *
 * Taking an interrupt synchronizes the context of a CPU: after it, the CPU executes
 * nothing that was fetched before.
 */
void fhook_arch_site_flush(void)
{
	write_queue();
	kick_all_cpus_sync();
}
