// SPDX-License-Identifier: GPL-2.0
/*
 * Compare arm64's relocator with mainline's uprobes
 *
 * The same file that decides it in the kernel, kernel/probes/decode-insn.c,
 * decides it here: every combination of the upper 27 bits of an instruction is
 * shown to both, with three values of the lower five.  The relocator may take
 * only instructions that mainline steps, and must take all of these but for the
 * exceptions listed below, each of which has to occur.
 *
 * Neither knows future extensions.  binutils know more of them, so a sample of the
 * instructions taken is written to a file for binutils to check.
 *
 * Usage: relocate_mainline_arm64 SAMPLE
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/types.h>
#include <linux/uhook_relocate.h>

/* Definitions that decode-insn.c needs from kprobes, and headers that it does not need. */
#define _LINUX_KPROBES_H
#define _ARM_KPROBES_H
#define __ASM_SECTIONS_H
#define __kprobes
struct pt_regs;
#include <asm/probes.h>
#include "arch/arm64/kernel/probes/decode-insn.c"

#define FROM	0x555500000000UL
#define TO	(FROM + 0x100000)

/* Nothing is simulated here, decode-insn.c only takes their addresses, of 6.12 and of 7.3. */
#define SIMULATE(name) \
void name(u32 opcode, long addr, struct pt_regs *regs) { abort(); }
SIMULATE(simulate_adr_adrp)
SIMULATE(simulate_b_bl)
SIMULATE(simulate_b_cond)
SIMULATE(simulate_br_blr)
SIMULATE(simulate_br_blr_ret)
SIMULATE(simulate_ret)
SIMULATE(simulate_nop)
SIMULATE(simulate_cbz_cbnz)
SIMULATE(simulate_tbz_tbnz)
SIMULATE(simulate_ldr_literal)
SIMULATE(simulate_ldrsw_literal)

/* That of lib/insn.c, which the host cannot build: op0 to op2 of MRS. */
u32 aarch64_insn_extract_system_reg(u32 insn)
{
	return insn << 11 >> 16;
}

/*
 * Instructions that mainline steps and the relocator does not take.  The first match
 * counts, so the last entries cover the rest of an encoding group.
 */
static struct exception {
	u32 mask;
	u32 value;
	const char *what;
	unsigned long seen;
} exceptions[] = {
	{ 0xffff0000, 0x00000000, "UDF" },
	{ 0x9e000000, 0x00000000, "reserved" },
	{ 0x1a000000, 0x02000000, "unallocated" },
	{ 0x3f000000, 0x09000000, "unprivileged exclusive" },
	{ 0xff3ee000, 0x04102000, "MOVPRFX, predicated" },
	{ 0xfffffc00, 0x0420bc00, "MOVPRFX" },
	{ 0x7f800000, 0x73800000, "AUTIASPPC" },
	{ 0xffff8000, 0xdac18000, "PACIASPPC and AUTIASPPCR" },
	{ 0xfffff0ff, 0xd503305f, "CLREX" },
	{ 0xfffff000, 0xd5031000, "WFET and WFIT" },
	{ 0xfff80000, 0xd5080000, "SYS that programs may not do" },
	{ 0xfff80000, 0xd5280000, "SYSL" },
	{ 0xff000000, 0xd5000000, "other system instruction" },
};

#define NOP	0xd503201f

/* One in so many of the instructions taken goes into the sample. */
#define SAMPLE	251

static unsigned long taken, stepped, wrong;
static FILE *sample;

static void complain(u32 insn, const char *what)
{
	if (wrong++ < 20)
		fprintf(stderr, "%08x: %s\n", insn, what);
}

static void count_exception(u32 insn)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(exceptions); i++) {
		if ((insn & exceptions[i].mask) == exceptions[i].value) {
			exceptions[i].seen++;
			return;
		}
	}
	complain(insn, "mainline steps it, the relocator does not take it");
}

/* There are few system instructions: all but MRS go into the sample. */
static void add_to_sample(u32 insn)
{
	if ((aarch64_insn_is_class_branch_sys(insn) && !aarch64_insn_is_mrs(insn)) ||
	    taken % SAMPLE == 0)
		fwrite(&insn, sizeof(insn), 1, sample);
}

static void compare(u32 insn)
{
	struct arch_probe_insn api = {};
	enum probe_insn kind = arm_probe_decode_insn(insn, &api);
	/* 7.3 emulates NOP. */
	bool steps = kind == INSN_GOOD || (kind == INSN_GOOD_NO_SLOT && insn == NOP);
	struct uhook_copy copy;
	int ret = uhook_relocate(&insn, sizeof(insn), FROM, TO, &copy);

	stepped += steps;
	if (!ret) {
		taken++;
		add_to_sample(insn);
	}
	if (ret && ret != -EOPNOTSUPP)
		complain(insn, "neither taken nor unsupported");
	else if (!ret && !steps)
		complain(insn, "the relocator takes it, mainline does not step it");
	else if (ret && steps)
		count_exception(insn);
}

int main(int argc, char **argv)
{
	unsigned int i;
	u32 upper;

	if (argc != 2) {
		fprintf(stderr, "usage: relocate_mainline_arm64 SAMPLE\n");
		return 2;
	}
	sample = fopen(argv[1], "w");
	if (!sample) {
		perror(argv[1]);
		return 2;
	}
	for (upper = 0; upper < 1U << 27; upper++) {
		compare(upper << 5);
		compare(upper << 5 | 31);
		compare(upper << 5 | (1 + upper * 2654435761U % 30));
	}

	if (fclose(sample)) {
		perror(argv[1]);
		return 2;
	}

	for (i = 0; i < ARRAY_SIZE(exceptions); i++) {
		printf("%10lu not taken: %s\n", exceptions[i].seen, exceptions[i].what);
		if (!exceptions[i].seen)
			complain(exceptions[i].value, "an exception that never occurs");
	}
	printf("%lu of %lu encodings are stepped by mainline, %lu are taken, %lu are wrong\n",
	       stepped, 3UL << 27, taken, wrong);
	return !!wrong;
}
