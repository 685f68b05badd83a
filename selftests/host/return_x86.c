// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the time of hooked returns: the kernel's own code, run in a program
 *
 * Usage: return-x86 VMLINUX
 *
 * Functions whose exit is hooked return to a stub. The stubs of fhook, mainline's graph
 * tracer and rethooks (fprobes and kretprobes) are copied from a kernel. Instead of the
 * kernel's handler they call a function of this program, which knows the return address.
 * There are two copies of fhook's, the second without the call that balances the
 * processor's return stack.
 *
 * A function is called that returns through a stub, with a number of callers that
 * return after it. All are measured in turn, many times. Prints lines
 * "NAME<tab>DEPTH<tab>MEDIAN<tab>LOW<tab>HIGH": nanoseconds that a call takes longer than
 * with an ordinary return, and the limits of the middle eight tenths of the runs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/elf.h>
#include "nest.h"
#include "relocate.h"

#define STUB_MAX	1024
#define CALL		0xe8
#define JUMP		0xe9
#define RETURN		0xc3
#define TRAP		0xcc
#define NOP		0x90

#define CALLS		2000
#define RUNS		1001

/* Where the function would have returned to, and the place of that on the stack. */
u64 return_to, *return_place;
const void *return_stub;

/*
 * Both do the same, but the second returns to the stub. The handlers do the last steps
 * of the kernel's: the graph tracer's returns the address, the others store it in its
 * place on the stack, and those of rethooks move the flags below it.
 */
nest_last_t return_plain, return_hooked;
u64 handle_fhook(void);
u64 handle_graph(void);
u64 handle_rethook(void);

asm("	.text\n"
	"return_plain:\n"
	"	mov	(%rsp), %rax\n"
	"	mov	%rax, return_to(%rip)\n"
	"	mov	%rsp, return_place(%rip)\n"
	"	mov	return_to(%rip), %rax\n"
	"	mov	%rax, (%rsp)\n"
	"	ret\n"
	"return_hooked:\n"
	"	mov	(%rsp), %rax\n"
	"	mov	%rax, return_to(%rip)\n"
	"	mov	%rsp, return_place(%rip)\n"
	"	mov	return_stub(%rip), %rax\n"
	"	mov	%rax, (%rsp)\n"
	"	ret\n"
	"handle_rethook:\n"
	"	mov	return_place(%rip), %rdx\n"
	"	mov	-24(%rdx), %rax\n"
	"	mov	%rax, -8(%rdx)\n"
	"handle_fhook:\n"
	"	mov	return_place(%rip), %rdx\n"
	"	mov	return_to(%rip), %rax\n"
	"	mov	%rax, (%rdx)\n"
	"	ret\n"
	"handle_graph:\n"
	"	mov	return_to(%rip), %rax\n"
	"	ret\n");

/**
 * struct stub - code that a function returns to
 * @name: the name of the rows
 * @symbol: the name that it has in the kernel
 * @handler: the function that it calls here
 * @unbalanced: true to leave out the call that balances the return stack
 * @code: the copy
 */
static struct stub {
	const char *name;
	const char *symbol;
	u64 (*handler)(void);
	bool unbalanced;
	u8 *code;
} stubs[] = {
	{ "fhook_return", "fhook_return", handle_fhook, false, NULL },
	{ "fhook_return-unbalanced", "fhook_return", handle_fhook, true, NULL },
	{ "fhook_regs_return", "fhook_regs_return", handle_fhook, false, NULL },
	{ "fhook_regs_return-unbalanced", "fhook_regs_return", handle_fhook, true, NULL },
	{ "return_to_handler", "return_to_handler", handle_graph, false, NULL },
	{ "arch_rethook_trampoline", "arch_rethook_trampoline", handle_rethook, false, NULL },
};

#define STUBS (sizeof(stubs) / sizeof(*stubs))

static const unsigned int depths[] = { 1, 4, 16 };

#define DEPTHS (sizeof(depths) / sizeof(*depths))

static double times[STUBS][DEPTHS][RUNS];

static void die(const char *name, const char *what)
{
	fprintf(stderr, "return-x86: %s: %s\n", name, what);
	exit(1);
}

/*
 * The copies.
 */
static const struct elf64_hdr *map_kernel(const char *path)
{
	const int fd = open(path, O_RDONLY);
	const struct elf64_hdr *file;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size < sizeof(*file))
		die(path, "cannot be read");
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED || memcmp(file->e_ident, ELFMAG, SELFMAG) ||
	    file->e_machine != EM_X86_64)
		die(path, "is no kernel of x86_64");
	return file;
}

static const struct elf64_sym *find_symbol(const struct elf64_hdr *file, const char *name)
{
	const struct elf64_shdr *section = (const void *)file + file->e_shoff;
	const struct elf64_sym *symbol;
	const char *names;
	size_t i, n;

	for (i = 0; i < file->e_shnum; i++) {
		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		symbol = (const void *)file + section[i].sh_offset;
		names = (const void *)file + section[section[i].sh_link].sh_offset;
		for (n = section[i].sh_size / sizeof(*symbol); n--; symbol++) {
			if (!strcmp(names + symbol->st_name, name))
				return symbol;
		}
	}
	return NULL;
}

/* The call in a stub that leads into it, and the last instruction, which returns. */
struct landmarks {
	u8 *balance;
	u8 *end;
};

static void put_branch(u8 *at, u8 opcode, const void *to)
{
	const s32 distance = (const u8 *)to - (at + 5);

	*at = opcode;
	memcpy(at + 1, &distance, sizeof(distance));
}

/*
 * Lead calls of the kernel to the handler. A return goes by way of a thunk if the kernel
 * is built for that: processors that need none have a return in its place.
 */
static struct landmarks rewrite(struct stub *stub, unsigned long address, size_t size)
{
	struct landmarks marks = {};
	unsigned int calls = 0;
	const cs_insn *insn;
	size_t i, count;
	cs_insn *insns;
	csh capstone;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		die(stub->name, "there is no disassembler");
	count = cs_disasm(capstone, stub->code, size, address, 0, &insns);
	for (i = 0; i < count && !marks.end; i++) {
		u8 *at;
		u64 to;

		insn = insns + i;
		at = stub->code + (insn->address - address);
		to = insn->address + insn->size + *(const s32 *)(at + 1);
		if (*at == RETURN) {
			marks.end = at;
		} else if (*at == JUMP) {
			memset(at, TRAP, insn->size);
			*at = RETURN;
			marks.end = at;
		} else if (*at == CALL && to >= address && to < address + size) {
			marks.balance = at;
		} else if (*at == CALL) {
			put_branch(at, CALL, stub->handler);
			calls++;
		}
	}
	cs_free(insns, count);
	cs_close(&capstone);
	if (!marks.end || calls != 1)
		die(stub->name, "is not what it was when this program was written");
	return marks;
}

/* Calls reach this program from there. */
static u8 *room(void)
{
	static u8 *next;
	const unsigned long here = (unsigned long)room & ~0xffffUL;
	unsigned long distance;

	for (distance = 0x1000000; !next && distance < 0x40000000; distance += 0x1000000) {
		next = mmap((void *)(here - distance), STUBS * STUB_MAX,
			    PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (next == MAP_FAILED)
			next = NULL;
	}
	if (!next)
		die("mmap", "there is no room near the program");
	next += STUB_MAX;
	return next - STUB_MAX;
}

static void copy_stub(const struct elf64_hdr *file, struct stub *stub)
{
	const struct elf64_shdr *section = (const void *)file + file->e_shoff;
	const struct elf64_sym *symbol = find_symbol(file, stub->symbol);
	struct landmarks marks;

	if (!symbol)
		return;
	if (!symbol->st_size || symbol->st_size > STUB_MAX)
		die(stub->name, "has no size, or one too large");
	section += symbol->st_shndx;
	stub->code = room();
	memcpy(stub->code, (const void *)file + section->sh_offset +
	       (symbol->st_value - section->sh_addr), symbol->st_size);
	marks = rewrite(stub, symbol->st_value, symbol->st_size);
	if (!stub->unbalanced)
		return;
	if (!marks.balance)
		die(stub->name, "does not balance the return stack");
	memset(marks.balance, NOP, marks.end - marks.balance);
}

/*
 * The times.
 */

static double time_calls(unsigned int depth, nest_last_t *last)
{
	return nest_time(&(struct nest_calls){ .last = last, .depth = depth, .count = CALLS });
}

static void measure(unsigned int run)
{
	unsigned int depth, i;

	for (depth = 0; depth < DEPTHS; depth++) {
		const double plain = time_calls(depths[depth], return_plain);

		for (i = 0; i < STUBS; i++) {
			if (!stubs[i].code)
				continue;
			return_stub = stubs[i].code;
			if (nest(depths[depth], return_hooked) !=
			    (u64)return_stub + depths[depth])
				die(stubs[i].name, "does not keep what the function returns");
			times[i][depth][run] = time_calls(depths[depth], return_hooked) - plain;
		}
	}
}

int main(int argc, char **argv)
{
	const struct elf64_hdr *file;
	unsigned int i, depth, run;

	if (argc != 2) {
		fprintf(stderr, "Usage: return-x86 VMLINUX\n");
		return 2;
	}
	file = map_kernel(argv[1]);
	for (i = 0; i < STUBS; i++)
		copy_stub(file, stubs + i);
	if (!stubs[0].code)
		die(argv[1], "has no fhook");
	/* The first is not looked at. */
	for (run = 0; run <= RUNS; run++)
		measure(run ? run - 1 : 0);
	for (i = 0; i < STUBS; i++) {
		for (depth = 0; depth < DEPTHS && stubs[i].code; depth++) {
			printf("%s\t%u\t", stubs[i].name, depths[depth]);
			nest_print(times[i][depth], RUNS);
		}
	}
	return 0;
}
