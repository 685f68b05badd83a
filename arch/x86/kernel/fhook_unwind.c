// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on x86_64: what unwinders and perf see of trampolines and stubs.
 *
 * The templates of trampolines have ORC data, and a trampoline that was assembled of them
 * is unwound like them. All of it may be called from any context, NMI included.
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
 * fhook_template_ip() - an instruction with the stack of one that was generated
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
	/* In a stub, nothing is on the stack but the return address. */
	if (!layout)
		return fhook_is_stub(ip) ?
		       (unsigned long)fhook_just_return : 0;

	if (offset < layout->save)
		return piece_start(layout->regs ?
						  PIECE_REGS_SAVE :
						  PIECE_SAVE) + offset;

	/* The return behind the restore piece may be longer than the template's. */
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
 * fhook_fill_perf_regs() - the registers that perf can do with
 * @fregs: the registers at a site
 * @regs: ip, sp, bp, cs and flags are filled, as if the hooked function had been
 *	interrupted behind its slot, so that perf's call chain begins with it; or
 *	its caller when it has returned
 */
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs)
{
	regs->ip = fhook_stub_goes_on(fhook_regs_get_ip(fregs));
	regs->sp = fhook_regs_get_sp(fregs);
	/* There the return address is, until it has been used. */
	if (fhook_regs_at_exit(fregs))
		regs->sp += sizeof(long);
	regs->bp = fhook_regs_get_fp(fregs);
	regs->cs = __KERNEL_CS;
	regs->flags = X86_EFLAGS_FIXED;
}
