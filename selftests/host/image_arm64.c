// SPDX-License-Identifier: GPL-2.0
/*
 * Load the image of a kernel into a program: what arm64 has to have changed
 *
 * The file lists its absolute addresses, and its code has none. The registers that hold the
 * task and the offset of the per-CPU area belong to the kernel: code that reads one gets a
 * constant, the address of a page, and 0, so that the area is that of the image. A program
 * cannot mask interrupts: where code does, there is a no-op.
 */
#define _GNU_SOURCE
#include <string.h>

#include "image.h"
#include "image_arch.h"

/* The structure of the only task is at TASK, which one instruction loads. */
#define TASK		0x40000000UL
#define TASK_SIZE	0x10000UL

#define NOP		0xd503201f
#define MOV_0		0xd2800000	/* movz xN, #0 */
#define MOV_TASK	0xd2a80000	/* movz xN, #0x4000, lsl #16 */
#define ANY_REG		0x0000001f
#define ANY_IMM		0x00000f00

/* What code may not do in a program, and what it does instead */
static const struct {
	uint32_t insn, any, instead;
} replacements[] = {
	{ 0xd5384100, ANY_REG, MOV_TASK },	/* mrs xN, sp_el0 */
	{ 0xd538d080, ANY_REG, MOV_0 },		/* mrs xN, tpidr_el1 */
	{ 0xd53b4220, ANY_REG, MOV_0 },		/* mrs xN, daif */
	{ 0xd51b4220, ANY_REG, NOP },		/* msr daif, xN */
	{ 0xd50340df, ANY_IMM, NOP },		/* msr daifset, #N */
	{ 0xd50340ff, ANY_IMM, NOP },		/* msr daifclr, #N */
};

const unsigned int image_machine = EM_AARCH64, image_type = ET_DYN;

static void shift_addresses(void)
{
	const Elf64_Shdr *section = image_section(".rela.dyn");
	const Elf64_Rela *rela = (const void *)image_kernel.head + section->sh_offset;
	size_t left = section->sh_size / sizeof(*rela);
	uint64_t value;

	for (; left--; rela++) {
		if (ELF64_R_TYPE(rela->r_info) == R_AARCH64_NONE)
			continue;
		if (ELF64_R_TYPE(rela->r_info) != R_AARCH64_RELATIVE)
			image_die(image_kernel.name, "has a relocation of an unknown kind");
		value = image_here(rela->r_addend);
		memcpy((void *)image_here(rela->r_offset), &value, sizeof(value));
	}
}

void image_begin(void)
{
	shift_addresses();
	image_map(TASK, TASK_SIZE);
}

void image_adapt(uint64_t at, const Elf64_Shdr *section)
{
	uint32_t *insn = (uint32_t *)at;
	unsigned int i;

	if (!(section->sh_flags & SHF_EXECINSTR))
		return;
	for (; (uint64_t)(insn + 1) <= at + section->sh_size; insn++) {
		for (i = 0; i < sizeof(replacements) / sizeof(*replacements); i++) {
			if ((*insn & ~replacements[i].any) != replacements[i].insn)
				continue;
			*insn = replacements[i].instead |
				(replacements[i].instead == NOP ? 0 : *insn & ANY_REG);
			break;
		}
	}
}

/*
 * Relocations.
 */
static bool fits(int64_t value, unsigned int bits)
{
	return value >= -(1LL << (bits - 1)) && value < 1LL << (bits - 1);
}

static bool set_bits(uint32_t *insn, unsigned int shift, unsigned int bits, uint64_t value)
{
	const uint32_t mask = (1UL << bits) - 1;

	*insn = (*insn & ~(mask << shift)) | ((value & mask) << shift);
	return true;
}

/* The address of an instruction, of so many bits */
static bool branch(uint32_t *insn, unsigned int shift, unsigned int bits, uint64_t value)
{
	const int64_t words = (int64_t)(value - (uint64_t)insn) / 4;

	return fits(words, bits) && set_bits(insn, shift, bits, words);
}

/* adrp */
static bool page_distance(uint32_t *insn, uint64_t value)
{
	const int64_t pages = (int64_t)((value & -4096UL) - ((uint64_t)insn & -4096UL)) / 4096;

	return fits(pages, 21) && set_bits(insn, 29, 2, pages) &&
	       set_bits(insn, 5, 19, pages >> 2);
}

/* The part of an address below its page, in units of 1 << SCALE */
static bool low_bits(uint32_t *insn, unsigned int scale, uint64_t value)
{
	return set_bits(insn, 10, 12, (value & 4095) >> scale);
}

bool image_relocate(void *at, unsigned int type, uint64_t value)
{
	int64_t distance = value - (uint64_t)at;

	switch (type) {
	case R_AARCH64_ABS64:
		memcpy(at, &value, sizeof(value));
		return true;
	case R_AARCH64_PREL64:
		memcpy(at, &distance, sizeof(distance));
		return true;
	case R_AARCH64_PREL32:
		memcpy(at, &distance, sizeof(uint32_t));
		return fits(distance, 32);
	case R_AARCH64_ADR_PREL_PG_HI21:
		return page_distance(at, value);
	case R_AARCH64_ADD_ABS_LO12_NC:
	case R_AARCH64_LDST8_ABS_LO12_NC:
		return low_bits(at, 0, value);
	case R_AARCH64_LDST16_ABS_LO12_NC:
		return low_bits(at, 1, value);
	case R_AARCH64_LDST32_ABS_LO12_NC:
		return low_bits(at, 2, value);
	case R_AARCH64_LDST64_ABS_LO12_NC:
		return low_bits(at, 3, value);
	case R_AARCH64_LDST128_ABS_LO12_NC:
		return low_bits(at, 4, value);
	case R_AARCH64_CALL26:
	case R_AARCH64_JUMP26:
		return branch(at, 0, 26, value);
	case R_AARCH64_CONDBR19:
		return branch(at, 5, 19, value);
	case R_AARCH64_TSTBR14:
		return branch(at, 5, 14, value);
	default:
		return false;
	}
}

/* Variables of a CPU are in the image. */
unsigned long image_percpu(unsigned long *room)
{
	*room = (unsigned long)image_room(IMAGE_PERCPU);
	return 0;
}
