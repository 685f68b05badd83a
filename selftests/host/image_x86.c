// SPDX-License-Identifier: GPL-2.0
/*
 * Load the image of a kernel of x86_64 into a program, so that its functions can be called
 *
 * The image is at an address of programs below 2 GiB, where it is shifted as a whole: relative
 * addresses in it stay, and absolute ones are changed: in its code they are found by
 * disassembling all functions, and in its data a word that is an address of the kernel is
 * taken for one. The register GS has the address of the per-CPU area of the only CPU. What
 * runs is the code as it is in the file: with no-ops in the slots, the first of alternatives,
 * and the initial values of static keys.
 *
 * An object that was built like one of a module is linked to the image, also to symbols that
 * are static in the kernel.
 *
 * One image in a program; no locks.
 */
#define _GNU_SOURCE
#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/prctl.h>

#include "image_x86.h"

#define IMAGE		0x41000000UL
#define KERNEL		0xffffffff80000000UL
/* Memory after the image, for objects and for trampolines */
#define EXTRA		0x200000UL
/* Memory after the per-CPU variables */
#define PERCPU_EXTRA	0x10000UL
#define PAGE		4096UL
#define TRAP		0xcc

/**
 * struct file - an ELF file
 * @name: its path
 * @head: its contents
 * @sections: its section headers
 * @symbols: its symbols
 * @nr_symbols: number of them
 * @names: their names
 */
struct file {
	const char *name;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	size_t nr_symbols;
	const char *names;
};

static struct file kernel, object;
/* Addresses of the sections of the object */
static uint64_t *object_sections;
/* The kernel's addresses are from start to end, and lower here by shift. */
static uint64_t start, end, shift;
static bool has_percpu, percpu_offsets;
static uint64_t percpu_area, percpu_room;
static unsigned long room, room_end;

static void __attribute__((noreturn)) die(const char *name, const char *what)
{
	fprintf(stderr, "native-x86: %s: %s\n", name, what);
	exit(1);
}

static void open_file(struct file *file, const char *name, unsigned int type)
{
	const int fd = open(name, O_RDONLY);
	const Elf64_Shdr *s;
	struct stat st;

	file->name = name;
	if (fd < 0 || fstat(fd, &st) || st.st_size < sizeof(*file->head))
		die(name, "cannot be read");
	file->head = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file->head == MAP_FAILED || memcmp(file->head->e_ident, ELFMAG, SELFMAG) ||
	    file->head->e_machine != EM_X86_64 || file->head->e_type != type)
		die(name, "is not the kind of file of x86_64 that it should be");
	file->sections = (const void *)file->head + file->head->e_shoff;
	for (s = file->sections; s < file->sections + file->head->e_shnum; s++) {
		if (s->sh_type != SHT_SYMTAB)
			continue;
		file->symbols = (const void *)file->head + s->sh_offset;
		file->nr_symbols = s->sh_size / sizeof(*file->symbols);
		file->names = (const void *)file->head + file->sections[s->sh_link].sh_offset;
	}
	if (!file->symbols)
		die(name, "has no symbols");
}

static const Elf64_Sym *find(const struct file *file, const char *name)
{
	const Elf64_Sym *symbol, *found = NULL;

	for (symbol = file->symbols; symbol < file->symbols + file->nr_symbols; symbol++) {
		if (symbol->st_shndx == SHN_UNDEF || strcmp(file->names + symbol->st_name, name))
			continue;
		if (found && found->st_value != symbol->st_value)
			die(name, "is the name of several symbols");
		found = symbol;
	}
	return found;
}

static bool is_kernel(uint64_t addr)
{
	return addr >= start && addr < end;
}

/* Per-CPU variables have offsets, which stay as they are. */
static uint64_t here(uint64_t addr)
{
	return is_kernel(addr) ? addr - shift : addr;
}

static uint64_t kernel_symbol(const char *name)
{
	const Elf64_Sym *symbol = find(&kernel, name);

	if (!symbol)
		die(name, "is not in the kernel: it may be configured without this");
	return here(symbol->st_value);
}

/*
 * Code.
 */

/* An absolute address of 4 or 8 bytes */
static void shift_field(uint8_t *at, unsigned int size)
{
	int64_t value;
	int32_t half;

	if (size == sizeof(value)) {
		memcpy(&value, at, size);
		value = here(value);
		memcpy(at, &value, size);
	} else if (size == sizeof(half)) {
		memcpy(&half, at, size);
		half = here((int64_t)half);
		memcpy(at, &half, size);
	}
}

/* The offset of a variable is as far from the instruction as if that were in the kernel. */
static void shift_percpu(uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	distance += shift;
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
	uint8_t *const code = (uint8_t *)here(symbol->st_value);
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
	const Elf64_Sym **sorted = calloc(kernel.nr_symbols, sizeof(*sorted));
	const Elf64_Shdr *section;
	size_t i, nr = 0;
	uint64_t done = 0;
	cs_insn *insn;
	csh capstone;

	if (!sorted || cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		die(kernel.name, "cannot be disassembled");
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(capstone);
	for (i = 0; i < kernel.nr_symbols; i++) {
		const Elf64_Sym *symbol = kernel.symbols + i;

		section = kernel.sections + symbol->st_shndx;
		if (symbol->st_size && symbol->st_shndx < SHN_LORESERVE &&
		    section->sh_flags & SHF_EXECINSTR && is_kernel(symbol->st_value))
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
		shift_field(word, 8);
}

/*
 * The image.
 */
static void *map(uint64_t addr, size_t size)
{
	void *at = mmap((void *)addr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | (addr ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (at == MAP_FAILED)
		die("there is no memory where the image has to be", strerror(errno));
	return at;
}

/* Pages that the image reaches, and that reach the image: code has none with data. */
void *image_room(unsigned long size)
{
	unsigned long at = room;

	room += (size + PAGE - 1) & -PAGE;
	if (room > room_end)
		die("image_room", "there is not so much memory after the image");
	return (void *)at;
}

/*
 * Older kernels have variables of a CPU at offsets from 0. Newer ones have them in the image,
 * which serves as the area of the CPU.
 */
static void load_percpu(const Elf64_Shdr *section)
{
	has_percpu = true;
	if (section->sh_addr < KERNEL) {
		percpu_offsets = true;
		percpu_area = (uint64_t)map(0, section->sh_size + PERCPU_EXTRA);
		percpu_room = (section->sh_size + PAGE - 1) & -PAGE;
		memcpy((void *)percpu_area, (const void *)kernel.head + section->sh_offset,
		       section->sh_size);
		shift_data(percpu_area, section->sh_size);
	} else {
		percpu_room = (uint64_t)image_room(PERCPU_EXTRA);
	}
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, percpu_area))
		die("arch_prctl", "does not set GS");
}

/* Load the kernel; afterwards, image_symbol() has its functions. */
void image_load(const char *vmlinux)
{
	const Elf64_Shdr *s, *sections_end;

	open_file(&kernel, vmlinux, ET_EXEC);
	start = UINT64_MAX;
	sections_end = kernel.sections + kernel.head->e_shnum;
	for (s = kernel.sections; s < sections_end; s++) {
		if (!(s->sh_flags & SHF_ALLOC) || s->sh_addr < KERNEL)
			continue;
		start = s->sh_addr < start ? s->sh_addr : start;
		end = s->sh_addr + s->sh_size > end ? s->sh_addr + s->sh_size : end;
	}
	if (start > end)
		die(vmlinux, "has no code");
	shift = start - IMAGE;
	end = (end + PAGE - 1) & -PAGE;
	map(IMAGE, end - start + EXTRA);
	room = here(start) + (end - start);
	room_end = room + EXTRA;
	for (s = kernel.sections; s < sections_end; s++) {
		const void *contents = (const void *)kernel.head + s->sh_offset;

		if (!strcmp((const char *)kernel.head +
			    kernel.sections[kernel.head->e_shstrndx].sh_offset + s->sh_name,
			    ".data..percpu"))
			load_percpu(s);
		if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && is_kernel(s->sh_addr))
			memcpy((void *)here(s->sh_addr), contents, s->sh_size);
	}
	if (!has_percpu)
		die(vmlinux, "has no per-CPU variables");
	for (s = kernel.sections; s < sections_end; s++) {
		if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS &&
		    !(s->sh_flags & SHF_EXECINSTR) && is_kernel(s->sh_addr))
			shift_data(here(s->sh_addr), s->sh_size);
	}
	shift_code();
}

/* The address of the per-CPU area, and the offset in it of memory after the variables */
unsigned long image_percpu(unsigned long *room)
{
	*room = percpu_room;
	return percpu_area;
}

/*
 * The object.
 */
static uint64_t symbol_of_object(const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF)
		return kernel_symbol(object.names + symbol->st_name);
	return symbol->st_value +
	       (symbol->st_shndx < SHN_LORESERVE ? object_sections[symbol->st_shndx] : 0);
}

static void relocate(uint64_t section, const Elf64_Rela *rela)
{
	uint64_t value = symbol_of_object(object.symbols + ELF64_R_SYM(rela->r_info)) +
			 rela->r_addend;
	uint8_t *at = (uint8_t *)section + rela->r_offset;
	uint32_t half;

	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_64:
		memcpy(at, &value, sizeof(value));
		return;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		value -= (uint64_t)at;
		break;
	case R_X86_64_32:
	case R_X86_64_32S:
		break;
	default:
		die(object.name, "has a relocation of an unknown kind");
	}
	half = value;
	memcpy(at, &half, sizeof(half));
}

/* Link an object to the image; afterwards, image_symbol() has its functions, too. */
void image_link(const char *path)
{
	const Elf64_Shdr *s;
	unsigned int i;
	size_t n;

	open_file(&object, path, ET_REL);
	object_sections = calloc(object.head->e_shnum, sizeof(*object_sections));
	if (!object_sections)
		die(path, "there is no memory");
	for (i = 0; i < object.head->e_shnum; i++) {
		s = object.sections + i;
		if (!(s->sh_flags & SHF_ALLOC))
			continue;
		object_sections[i] = (uint64_t)image_room(s->sh_size);
		if (s->sh_type != SHT_NOBITS)
			memcpy((void *)object_sections[i],
			       (const void *)object.head + s->sh_offset, s->sh_size);
	}
	for (s = object.sections; s < object.sections + object.head->e_shnum; s++) {
		const Elf64_Rela *rela = (const void *)object.head + s->sh_offset;

		if (s->sh_type != SHT_RELA || !object_sections[s->sh_info])
			continue;
		for (n = s->sh_size / sizeof(*rela); n--; rela++)
			relocate(object_sections[s->sh_info], rela);
	}
}

/* The address of a symbol of the object or else of the kernel */
void *image_symbol(const char *name)
{
	const Elf64_Sym *symbol = object.symbols ? find(&object, name) : NULL;

	return (void *)(symbol ? symbol_of_object(symbol) : kernel_symbol(name));
}
