// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on x86_64: trampolines and stubs as unwinders and perf see them.
 *
 * The templates of trampolines have ORC data, and a trampoline that was assembled from them
 * is unwound like them. Everything here may be called from any context, NMI included.
 */
#include <linux/fhook_arch.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <asm/fhook_pieces.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>

static unsigned long piece_start(enum fhook_piece_id id)
{
	return (unsigned long)fhook_caller + fhook_pieces[id].offset;
}

/**
 * fhook_template_ip() - find the instruction of a template with the same stack layout
 * @ip: any address
 *
 * For the ORC unwinder, which knows the templates. May be called from any
 * context, NMI included.
 *
 * Return: the address in a template with the same stack layout, 0 if @ip is in no
 * trampoline and no stub.
 */
unsigned long fhook_template_ip(unsigned long ip)
{
	const struct fhook_arch_tramp *layout;
	unsigned long offset;

	guard(preempt_notrace)();
	layout = fhook_tramp_layout(ip, &offset);
	/* In a stub, only the return address is on the stack. */
	if (!layout)
		return fhook_is_stub(ip) ?
		       (unsigned long)fhook_just_return : 0;

	if (offset < layout->save)
		return piece_start(layout->regs ?
						  PIECE_REGS_SAVE :
						  PIECE_SAVE) + offset;

	/* The return after the restore piece may be longer than that of the template. */
	if (offset >= layout->restore && offset < layout->slow) {
		offset = min_t(unsigned long, offset - layout->restore,
			       layout->restore_len);
		return piece_start(layout->regs ?
						  PIECE_REGS_RESTORE :
						  PIECE_RESTORE) + offset;
	}

	return piece_start(PIECE_ARGS);
}

/**
 * fhook_fill_perf_regs() - fill in the registers that perf needs
 * @fregs: the registers at a site
 * @regs: registers for perf, of which ip, sp, bp, cs and flags are set, as if the hooked
 *	function had been interrupted after its slot, so that perf's call chain begins
 *	with the function; after its return, with the caller
 */
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs)
{
	regs->ip = fhook_resolve_stub(fhook_regs_get_ip(fregs));
	regs->sp = fhook_regs_get_sp(fregs);
	/* At the exit, the slot of the return address has it until it has been used. */
	if (fhook_regs_at_exit(fregs))
		regs->sp += sizeof(long);
	regs->bp = fhook_regs_get_fp(fregs);
	regs->cs = __KERNEL_CS;
	regs->flags = X86_EFLAGS_FIXED;
}
