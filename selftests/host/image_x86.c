// SPDX-License-Identifier: GPL-2.0
/*
 * Load the image of a kernel into a program: what x86_64 has to have changed
 *
 * Absolute addresses are found in code by disassembling all functions, and in data a word that
 * is an address of the kernel is taken for one. The register GS has the address of the per-CPU
 * area of the only CPU.
 */
#define _GNU_SOURCE
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/prctl.h>

#include "image.h"
#include "image_arch.h"

#define PAGE		4096UL
#define TRAP		0xcc

const unsigned int image_machine = EM_X86_64, image_type = ET_EXEC;

static bool percpu_offsets;
static uint64_t percpu_area, percpu_room;

/* An absolute address of 4 or 8 bytes */
static void shift_field(uint8_t *at, unsigned int size)
{
	int32_t half;

	if (size == sizeof(uint64_t)) {
		image_shift_word(at);
	} else if (size == sizeof(half)) {
		memcpy(&half, at, size);
		half = image_here((int64_t)half);
		memcpy(at, &half, size);
	}
}

/* The offset of a variable is as far from the instruction as if that were in the kernel. */
static void shift_percpu(uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	distance += image_shift;
	memcpy(at, &distance, sizeof(distance));
}

static void shift_instruction(const cs_insn *insn, uint8_t *at)
{
	const cs_x86 *x86 = &insn->detail->x86;
	bool branch = false;
	unsigned int i;

	for (i = 0; i < insn->detail->groups_count; i++)
		branch |= insn->detail->groups[i] == CS_GRP_BRANCH_RELATIVE;
	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_IMM && !branch) {
			shift_field(at + x86->encoding.imm_offset, x86->encoding.imm_size);
		} else if (op->type == X86_OP_MEM && op->mem.base != X86_REG_RIP) {
			shift_field(at + x86->encoding.disp_offset, x86->encoding.disp_size);
		} else if (op->type == X86_OP_MEM && op->mem.segment == X86_REG_GS &&
			   percpu_offsets) {
			shift_percpu(at + x86->encoding.disp_offset);
		}
	}
}

static void shift_function(csh capstone, const Elf64_Sym *symbol, cs_insn *insn)
{
	uint8_t *const code = (uint8_t *)image_here(symbol->st_value);
	const uint8_t *next = code;
	uint64_t address = symbol->st_value;
	size_t left = symbol->st_size;

	while (left && cs_disasm_iter(capstone, &next, &left, &address, insn))
		shift_instruction(insn, code + (insn->address - symbol->st_value));
	/* The disassembler does not know all instructions: trap if the rest is executed. */
	if (left)
		*(code + (address - symbol->st_value)) = TRAP;
}

static int by_address(const void *a, const void *b)
{
	const Elf64_Sym *const *left = a, *const *right = b;

	if ((*left)->st_value != (*right)->st_value)
		return (*left)->st_value < (*right)->st_value ? -1 : 1;
	return (*left)->st_size > (*right)->st_size ? -1 : 1;
}

/* Functions have several names, and some are parts of others: each byte is changed once. */
static void shift_code(void)
{
	const Elf64_Sym **sorted = calloc(image_kernel.nr_symbols, sizeof(*sorted));
	const Elf64_Shdr *section;
	size_t i, nr = 0;
	uint64_t done = 0;
	cs_insn *insn;
	csh capstone;

	if (!sorted || cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		image_die(image_kernel.name, "cannot be disassembled");
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(capstone);
	for (i = 0; i < image_kernel.nr_symbols; i++) {
		const Elf64_Sym *symbol = image_kernel.symbols + i;

		section = image_kernel.sections + symbol->st_shndx;
		if (symbol->st_size && symbol->st_shndx < SHN_LORESERVE &&
		    section->sh_flags & SHF_EXECINSTR && image_is_kernel(symbol->st_value))
			sorted[nr++] = symbol;
	}
	qsort(sorted, nr, sizeof(*sorted), by_address);
	for (i = 0; i < nr; i++) {
		if (sorted[i]->st_value < done)
			continue;
		shift_function(capstone, sorted[i], insn);
		done = sorted[i]->st_value + sorted[i]->st_size;
	}
	cs_free(insn, 1);
	cs_close(&capstone);
	free(sorted);
}

static void shift_data(uint64_t at, size_t size)
{
	uint8_t *word = (uint8_t *)((at + 7) & -8UL);

	for (; (uint64_t)word + 8 <= at + size; word += 8)
		image_shift_word(word);
}

/*
 * Older kernels have variables of a CPU at offsets from 0. Newer ones have them in the image,
 * which serves as the area of the CPU.
 */
static void load_percpu(void)
{
	const Elf64_Shdr *section = image_section(".data..percpu");

	if (!image_is_kernel(section->sh_addr)) {
		percpu_offsets = true;
		percpu_area = (uint64_t)image_map(0, section->sh_size + IMAGE_PERCPU);
		percpu_room = (section->sh_size + PAGE - 1) & -PAGE;
		memcpy((void *)percpu_area, (const void *)image_kernel.head + section->sh_offset,
		       section->sh_size);
		shift_data(percpu_area, section->sh_size);
	} else {
		percpu_room = (uint64_t)image_room(IMAGE_PERCPU);
	}
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, percpu_area))
		image_die("arch_prctl", "does not set GS");
}

void image_begin(void)
{
	load_percpu();
	shift_code();
}

void image_adapt(uint64_t at, const Elf64_Shdr *section)
{
	if (!(section->sh_flags & SHF_EXECINSTR))
		shift_data(at, section->sh_size);
}

bool image_relocate(void *at, unsigned int type, uint64_t value)
{
	uint32_t half;

	switch (type) {
	case R_X86_64_64:
		memcpy(at, &value, sizeof(value));
		return true;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		value -= (uint64_t)at;
		break;
	case R_X86_64_32:
	case R_X86_64_32S:
		break;
	default:
		return false;
	}
	half = value;
	memcpy(at, &half, sizeof(half));
	return true;
}

/* The address of the per-CPU area, and the offset in it of memory after the variables */
unsigned long image_percpu(unsigned long *room)
{
	*room = percpu_room;
	return percpu_area;
}
