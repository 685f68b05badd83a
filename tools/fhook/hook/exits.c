// SPDX-License-Identifier: GPL-2.0
/* The instructions that leave a function; the header has the rules. */
#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exits.h"
#include "lib/elf_image.h"
#include "lib/symbol_part.h"
#include "lib/work.h"

/**
 * struct scan - the disassembly of a function
 * @function: the function
 * @start: address of the part that is being disassembled
 * @end: address of its end
 * @image: the file
 * @cold: the part that the compiler has moved elsewhere, if the function jumps there
 * @machine: EM_X86_64 or EM_AARCH64
 * @capstone: disassembler
 * @insn: current instruction
 * @text: receives the exits
 * @nr: number of exits
 * @tails: number of exits that are jumps to other functions
 * @loads: the last instruction loads an entry of a table, scaled by its size
 * @sum: register to which the last instruction has added such an entry, or 0
 */
struct scan {
	const struct program_function *function;
	u64 start, end;
	const struct elf_image *image;
	const struct elf_symbol *cold;
	u16 machine;
	csh capstone;
	cs_insn *insn;
	FILE *text;
	unsigned int nr;
	unsigned int tails;
	bool loads;
	unsigned int sum;
};

static bool is_in_group(const struct scan *scan, unsigned int group)
{
	return cs_insn_group(scan->capstone, scan->insn, group);
}

/* The target of a direct jump, which is its last operand; or false. */
static bool direct_target(const struct scan *scan, u64 *target)
{
	const cs_detail *detail = scan->insn->detail;

	if (scan->machine == EM_X86_64) {
		const cs_x86 *x86 = &detail->x86;

		if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
			return false;
		*target = x86->operands[0].imm;
	} else {
		const cs_arm64 *arm64 = &detail->arm64;

		if (!arm64->op_count ||
		    arm64->operands[arm64->op_count - 1].type != ARM64_OP_IMM)
			return false;
		*target = arm64->operands[arm64->op_count - 1].imm;
	}
	return true;
}

static bool is_conditional(const struct scan *scan)
{
	if (scan->machine == EM_X86_64)
		return scan->insn->id != X86_INS_JMP;
	return scan->insn->id != ARM64_INS_B || scan->insn->detail->arm64.cc > ARM64_CC_INVALID;
}

/* Does a table of addresses begin with one in the function? */
static bool is_table_inside(const struct scan *scan, u64 address)
{
	const u64 *entry = elf_at(scan->image, address, sizeof(*entry));

	return entry && *entry > scan->function->address &&
	       *entry < scan->function->address + scan->function->size;
}

/*
 * Compilers add an entry of a table to an address and jump there, or jump through a table
 * of addresses. With control-flow protection, jumps inside a function have a prefix; those
 * to other functions have none.
 */
static bool uses_table(const struct scan *scan)
{
	const cs_x86 *x86 = &scan->insn->detail->x86;
	const cs_arm64 *arm64 = &scan->insn->detail->arm64;

	if (scan->machine == EM_AARCH64)
		return scan->sum && arm64->op_count == 1 && arm64->operands[0].reg == scan->sum;
	if (x86->prefix[1] == 0x3e)
		return true;
	if (x86->operands[0].type == X86_OP_MEM)
		return x86->operands[0].mem.index && !x86->operands[0].mem.base &&
		       is_table_inside(scan, x86->operands[0].mem.disp);
	return scan->sum && x86->operands[0].reg == scan->sum;
}

/* Does this instruction load an entry of a table of offsets? */
static bool loads_entry(const struct scan *scan)
{
	const cs_x86 *x86 = &scan->insn->detail->x86;

	if (scan->machine == EM_AARCH64)
		return scan->insn->id == ARM64_INS_LDRSW;
	return scan->insn->id == X86_INS_MOVSXD && x86->op_count == 2 &&
	       x86->operands[1].type == X86_OP_MEM && x86->operands[1].mem.index &&
	       x86->operands[1].mem.scale == 4;
}

/* The register to which this instruction adds an entry of a table, or 0. */
static unsigned int sum_of(const struct scan *scan)
{
	const cs_x86 *x86 = &scan->insn->detail->x86;
	const cs_arm64 *arm64 = &scan->insn->detail->arm64;
	const cs_arm64_op *entry = &arm64->operands[2];

	if (scan->machine == EM_AARCH64)
		return scan->insn->id == ARM64_INS_ADD && arm64->op_count == 3 &&
		       entry->type == ARM64_OP_REG &&
		       (scan->loads || entry->ext || entry->shift.type) ?
		       arm64->operands[0].reg : 0;
	return scan->insn->id == X86_INS_ADD && scan->loads && x86->op_count == 2 &&
	       x86->operands[0].type == X86_OP_REG && x86->operands[1].type == X86_OP_REG ?
	       x86->operands[0].reg : 0;
}

static int refuse(const struct scan *scan, const char *why, struct fault *fault)
{
	return fault_say(fault, "%s at +0x%llx %s, so its exits are not known",
			 scan->function->name,
			 (unsigned long long)(scan->insn->address - scan->function->address), why);
}

static void add_exit(struct scan *scan)
{
	fprintf(scan->text, ",0x%llx", (unsigned long long)
		(scan->function->offset + scan->insn->address - scan->function->address));
	scan->nr++;
}

/* Is this a part of the function that a compiler has placed elsewhere? */
static bool is_part(const struct scan *scan, const struct elf_symbol *symbol)
{
	const size_t length = strlen(scan->function->symbol);

	return symbol_part_of(symbol->name) == length &&
	       !strncmp(symbol->name, scan->function->symbol, length);
}

/* Does another function begin at an address, or the call of one in another file? */
static bool is_function(const struct scan *scan, const struct elf_symbol *symbol, u64 address)
{
	const Elf64_Shdr *section = elf_section_of(scan->image, address);
	const char *name = section ? elf_section_name(scan->image, section) : NULL;

	return (symbol && symbol->address == address) || (name && !strncmp(name, ".plt", 4));
}

static int see_jump(struct scan *scan, struct fault *fault)
{
	const struct elf_symbol *symbol;
	u64 target;

	if (!direct_target(scan, &target))
		return uses_table(scan) ? 0 : refuse(scan, "jumps to a computed address", fault);
	if (target >= scan->function->address &&
	    target < scan->function->address + scan->function->size)
		return 0;
	symbol = elf_symbol_of(scan->image, target);
	if (symbol && is_part(scan, symbol)) {
		if (scan->cold && scan->cold != symbol)
			return refuse(scan, "jumps to one more part of it", fault);
		scan->cold = symbol;
		return 0;
	}
	if (!is_function(scan, symbol, target))
		return refuse(scan, "jumps to code without a symbol", fault);
	if (is_conditional(scan))
		return refuse(scan, "jumps to another function under a condition", fault);
	scan->tails++;
	add_exit(scan);
	return 0;
}

/* Capstone 4 takes calls of arm64 for jumps. */
static bool is_call(const struct scan *scan)
{
	if (scan->machine == EM_AARCH64)
		return scan->insn->id == ARM64_INS_BL || scan->insn->id == ARM64_INS_BLR;
	return is_in_group(scan, CS_GRP_CALL);
}

static bool is_return(const struct scan *scan)
{
	if (scan->machine == EM_AARCH64 && scan->insn->id == ARM64_INS_RET)
		return true;
	return is_in_group(scan, CS_GRP_RET);
}

static int see(struct scan *scan, struct fault *fault)
{
	int result = 0;

	if (is_return(scan))
		add_exit(scan);
	else if (is_in_group(scan, CS_GRP_JUMP) && !is_call(scan))
		result = see_jump(scan, fault);
	if (scan->nr && scan->insn->address == scan->function->address)
		return fault_say(fault, "%s ends with its first instruction", scan->function->name);
	scan->sum = sum_of(scan);
	scan->loads = loads_entry(scan);
	return result;
}

/* The end without the zeros that Go's linker counts as a part of the function before them. */
static const u8 *end_of(const u8 *code, size_t size)
{
	while (size && !code[size - 1])
		size--;
	return code + size;
}

/* Disassemble the function or its cold part, whose segment is the same. */
static int scan_part(struct scan *scan, struct fault *fault)
{
	const u8 *code = elf_at(scan->image, scan->start, scan->end - scan->start);
	size_t left = scan->end - scan->start;
	unsigned long address = scan->start;
	const u8 *end;

	if (!left || !code)
		return fault_say(fault, "the size of %s is not known", scan->function->name);
	/* The last instruction may end with zeros: they stay readable for it. */
	end = end_of(code, left);
	while (code < end) {
		/* A function may have megabytes. */
		if (work_stopped())
			return fault_say(fault, "a signal came before the exits of %s were found",
					 scan->function->name);
		if (!cs_disasm_iter(scan->capstone, &code, &left, &address, scan->insn))
			return fault_say(fault, "%s has data or an unknown instruction at +0x%llx",
					 scan->function->name,
					 (unsigned long long)(address - scan->start));
		if (see(scan, fault))
			return -1;
	}
	return 0;
}

static int scan_all(struct scan *scan, struct fault *fault)
{
	if (scan_part(scan, fault))
		return -1;
	if (scan->cold) {
		scan->start = scan->cold->address;
		scan->end = scan->start + scan->cold->size;
		if (scan_part(scan, fault))
			return -1;
	}
	if (!scan->nr)
		return fault_say(fault, "%s has no instruction that leaves it",
				 scan->function->name);
	return 0;
}

static int open_scan(struct scan *scan, const struct elf_image *image, struct fault *fault)
{
	cs_err error;

	scan->machine = image->header->e_machine;
	scan->image = image;
	error = scan->machine == EM_X86_64 ? cs_open(CS_ARCH_X86, CS_MODE_64, &scan->capstone) :
					     cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &scan->capstone);
	if (!error)
		error = cs_option(scan->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	scan->insn = error ? NULL : cs_malloc(scan->capstone);
	if (!scan->insn)
		return fault_say(fault, "the disassembler does not start: %s", cs_strerror(error));
	return 0;
}

/* The kernel refuses spans in these files. */
static int check_stacks(const struct elf_image *image, const char *name, struct fault *fault)
{
	if (!elf_section(image, ".note.go.buildid"))
		return 0;
	return fault_say(fault,
			 "Go moves stacks, so the exits of %s cannot be paired with its entry",
			 name);
}

/* The function's entry and exits, followed by the kind of place. */
static char *find(const struct program *program, const struct program_function *function,
		  const char *kind, unsigned int *tails, struct fault *fault)
{
	struct scan scan = {
		.function = function,
		.start = function->address,
		.end = function->address + function->size,
	};
	char *places = NULL;
	size_t size;
	int result = -1;

	scan.text = open_memstream(&places, &size);
	if (!scan.text) {
		fault_say(fault, "there is not enough memory");
		return NULL;
	}
	fprintf(scan.text, "0x%llx", function->offset);
	if (!open_scan(&scan, &program->image, fault))
		result = scan_all(&scan, fault);
	fputs(kind, scan.text);
	if (tails)
		*tails = scan.tails;
	if (scan.insn)
		cs_free(scan.insn, 1);
	if (scan.capstone)
		cs_close(&scan.capstone);
	if (fclose(scan.text) || result) {
		free(places);
		return NULL;
	}
	return places;
}

char *exits_span(const struct program *program, const struct program_function *function,
		 unsigned int *tails, struct fault *fault)
{
	if (program_check_function(function, fault) ||
	    check_stacks(&program->image, function->name, fault))
		return NULL;
	return find(program, function, "%span", tails, fault);
}

char *exits_alone(const struct program *program, const struct program_function *function)
{
	struct fault unused;
	char *places = program_check_function(function, &unused) ? NULL :
		       find(program, function, "%exit", NULL, &unused);

	/* The first place is the entry. */
	if (places)
		memmove(places, strchr(places, ',') + 1, strlen(strchr(places, ',')));
	return places;
}
