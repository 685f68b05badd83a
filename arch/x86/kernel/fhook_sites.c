// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on x86_64: the tables of slots, and patching slots.
 *
 * objtool writes the tables, see tools/objtool/slots.c, and sorttable sorts the table of
 * vmlinux; the table of a module is not sorted. A slot holds a 5-byte no-op, a call of a
 * trampoline or a jump. smp_text_poke_batch_add() changes it, and lets other CPUs see either the
 * old or the new instruction.
 *
 * Callers hold fhook_mutex; callers of the fhook_arch_site_*() functions also hold
 * text_mutex. A module that is not formed has one user, its loader.
 */
#include <linux/fhook_arch.h>
#include <linux/hook_base.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/text-patching.h>

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

	if (!IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return offset;

	/* ENDBR, or its replacement in functions whose address is not taken */
	if (!copy_from_kernel_nofault(&before, (void *)entry - ENDBR_INSN_SIZE,
				      sizeof(before)) && hook_base_is_endbr(&before))
		offset += ENDBR_INSN_SIZE;

	return offset;
}

/**
 * fhook_arch_sites() - get the table of vmlinux' slots
 * @base: address from which offsets count: _text, as in the linker's table
 * @num: set to the number of slots
 *
 * Return: the offsets of the slots.
 */
s32 *__init fhook_arch_sites(unsigned long base, unsigned int *num)
{
	unsigned int end = __stop_fhook_sites - __start_fhook_sites;

	/* sorttable moved the slots of overridden weak functions to the end. */
	while (end && __start_fhook_sites[end - 1] == S32_MAX)
		end--;
	*num = end;

	return __start_fhook_sites;
}

/**
 * fhook_arch_module_sites() - make the table of a module's slots
 * @mod: the module, not formed, in whose table each offset is relative to itself
 * @base: address from which offsets count
 *
 * Return: the number of sites in mod->fhook_sites.
 */
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base)
{
	s32 *sites = mod->fhook_sites;
	unsigned int i;

	for (i = 0; i < mod->num_fhook_sites; i++)
		sites[i] += (unsigned long)&sites[i] - base;

	return mod->num_fhook_sites;
}

static const void *slot_code(unsigned long site, enum fhook_state state,
			     const void *dest)
{
	switch (state) {
	case FHOOK_CALL:
		return text_gen_insn(CALL_INSN_OPCODE, (void *)site, dest);
	case FHOOK_JUMP:
		return text_gen_insn(JMP32_INSN_OPCODE, (void *)site, dest);
	case FHOOK_NOP:
		break;
	}

	return x86_nops[FHOOK_SLOT_SIZE];
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
	u8 bytes[FHOOK_SLOT_SIZE];

	if (copy_from_kernel_nofault(bytes, (void *)site, sizeof(bytes)))
		return false;

	return !memcmp(bytes, slot_code(site, state, dest), sizeof(bytes));
}

/**
 * fhook_arch_site_queue() - change a slot, at the next flush at the latest
 * @site: address of the slot; ascending from call to call is fastest
 * @state: new state
 * @dest: target of the branch, if there is one
 */
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest)
{
	smp_text_poke_batch_add((void *)site, slot_code(site, state, dest),
				FHOOK_SLOT_SIZE, NULL);
}

/**
 * fhook_arch_site_flush() - make all CPUs see the queued changes
 */
void fhook_arch_site_flush(void)
{
	smp_text_poke_batch_finish();
}
