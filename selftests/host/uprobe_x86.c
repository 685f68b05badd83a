// SPDX-License-Identifier: GPL-2.0
/*
 * Compare x86's uprobes with the processor
 *
 * Usage: uprobe-x86 [-e EACH] [-b BITS]
 *
 * The file of the kernel that handles instructions, arch/x86/kernel/uprobes.c, is built
 * into this program. It is given all one-byte and two-byte opcodes, with prefixes of all
 * kinds, as 64-bit programs have them, or with -b 32, 32-bit programs. Instructions that it
 * emulates are emulated; those that it steps are stepped in another place, between its own
 * fixups; and the processor runs the same instruction in its original place from the same
 * state. Both must result in the same registers, flags, memory and signal. Capstone must
 * confirm the kind of an emulated instruction. A call that is emulated must push its return
 * address on the shadow stack, and one that is stepped must replace that of the copy.
 *
 * Without -e 1, a ModRM byte in five is tried with each opcode: another one with the next
 * prefixes.
 *
 * The trap flag ends all runs after one instruction. Refusing an instruction is always
 * correct, except for those of a list. The exit status is 4 if the machine runs no code of
 * 32 bits, as some hypervisors do not.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include "common.h"
#include "frame_x86.h"
#include "relocate.h"
#include "uprobe_kernel_x86.h"
#include "uprobes.c"

#define ARENA			0x10000000UL
#define ARENA_SIZE		0x4000UL
#define MIDDLE			(ARENA + ARENA_SIZE / 2)
#define SITE			0x20000800UL
#define XOL			0x21000040UL
#define FAR_TARGET		0x23000000UL
#define CODE_64			0x33
#define CODE_32			0x23
#define DATA			0x2b

static struct uprobe_task utask;
static struct task_struct task = { .utask = &utask };
struct task_struct *current = &task;
struct mm_struct probed_mm;
unsigned int signals_sent, shadow_pushes, shadow_updates;
unsigned long shadow_address;

static csh capstone[2];
static u8 *site_bytes, *xol_bytes;	/* where both are written */
static u8 memory[ARENA_SIZE], memory_after[ARENA_SIZE];
static struct state in_place, probed;
static unsigned long refused, emulated, stepped, each = 5, bits = 64, seen;

unsigned long copy_to_user(void *to, const void *from, unsigned long size)
{
	/* Only the arena can be read and written. */
	const unsigned long at = (unsigned long)to - ARENA, other = (unsigned long)from - ARENA;

	if ((at >= ARENA_SIZE || size > ARENA_SIZE - at) &&
	    (other >= ARENA_SIZE || size > ARENA_SIZE - other))
		return size;
	memcpy(to, from, size);
	return 0;
}

static void set_up(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

	capstone[0] = open_capstone(CS_ARCH_X86, CS_MODE_32);
	capstone[1] = open_capstone(CS_ARCH_X86, CS_MODE_64);
	site_bytes = map_at(SITE & -PAGE, PAGE, all) + SITE % PAGE;
	xol_bytes = map_at(XOL & -PAGE, PAGE, all) + XOL % PAGE;
	map_at(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE);
	/* Programs of 32 bits have segments of data. */
	asm volatile("mov %0, %%ds\n\tmov %0, %%es" : : "r"(DATA));
	frame_set_up(500);
	probed_mm.is_64bit = bits == 64;
}

/* Run one instruction at @address from the wanted state. */
static void run(unsigned long address, struct state *outcome)
{
	wanted.gregs[REG_EFL] |= X86_EFLAGS_TF;
	frame_run(address, outcome);
}

static void make_state(unsigned long seed)
{
	static const u8 addresses[] = { REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP };
	const struct { u32 offset; u16 selector; } __attribute__((packed)) pointer = {
		FAR_TARGET, probed_mm.is_64bit ? CODE_64 : CODE_32 };
	size_t i;

	random_seed(seed);
	for (i = 0; i < ARENA_SIZE; i += sizeof(u64)) {
		const u64 r = random_next();

		memcpy(memory + i, &r, sizeof(r));
	}
	for (i = REG_R8; i <= REG_RSP; i++)
		wanted.gregs[i] = random_next() >> (random_next() & 1 ? 0 : 56);
	for (i = 0; i < ARRAY_SIZE(addresses); i++)
		wanted.gregs[addresses[i]] = MIDDLE + 64 * i;
	/* A far pointer is where one may be read. */
	memcpy(memory + ARENA_SIZE / 2, &pointer, sizeof(pointer));
	memcpy(memory + ARENA_SIZE / 2 + 1024, &pointer, sizeof(pointer));
	if (!probed_mm.is_64bit) {
		for (i = REG_R8; i <= REG_RSP; i++)
			wanted.gregs[i] = i < REG_RDI ? 0 : (u32)wanted.gregs[i];
	}
	wanted.gregs[REG_EFL] = (random_next() & FLAGS_SEEN) | 0x202;
	wanted.gregs[REG_CSGSFS] = (wanted.gregs[REG_CSGSFS] & ~0xffffUL) |
				   (probed_mm.is_64bit ? CODE_64 : CODE_32);
}

/* Where the kernel and a signal's frame have each register. */
static const struct {
	size_t kernel;
	int signal;
} places[] = {
	{ offsetof(struct pt_regs, r15), REG_R15 }, { offsetof(struct pt_regs, r14), REG_R14 },
	{ offsetof(struct pt_regs, r13), REG_R13 }, { offsetof(struct pt_regs, r12), REG_R12 },
	{ offsetof(struct pt_regs, bp), REG_RBP }, { offsetof(struct pt_regs, bx), REG_RBX },
	{ offsetof(struct pt_regs, r11), REG_R11 }, { offsetof(struct pt_regs, r10), REG_R10 },
	{ offsetof(struct pt_regs, r9), REG_R9 }, { offsetof(struct pt_regs, r8), REG_R8 },
	{ offsetof(struct pt_regs, ax), REG_RAX }, { offsetof(struct pt_regs, cx), REG_RCX },
	{ offsetof(struct pt_regs, dx), REG_RDX }, { offsetof(struct pt_regs, si), REG_RSI },
	{ offsetof(struct pt_regs, di), REG_RDI }, { offsetof(struct pt_regs, ip), REG_RIP },
	{ offsetof(struct pt_regs, flags), REG_EFL }, { offsetof(struct pt_regs, sp), REG_RSP },
};

static void to_kernel(const struct state *state, struct pt_regs *regs)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		memcpy((char *)regs + places[i].kernel, &state->gregs[places[i].signal], 8);
}

static void from_kernel(struct state *state, const struct pt_regs *regs)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		memcpy(&state->gregs[places[i].signal], (const char *)regs + places[i].kernel, 8);
}

/* As handle_swbp(), pre_ssout() and handle_singlestep() do with an instruction. */
static bool run_probed(struct arch_uprobe *auprobe)
{
	struct pt_regs regs;

	memcpy((void *)ARENA, memory, ARENA_SIZE);
	shadow_pushes = 0;
	shadow_updates = 0;
	wanted.gregs[REG_RIP] = SITE;
	wanted.gregs[REG_EFL] &= ~X86_EFLAGS_TF;
	probed = wanted;
	to_kernel(&wanted, &regs);
	if (arch_uprobe_skip_sstep(auprobe, &regs)) {
		probed.signal = SIGTRAP;
		from_kernel(&probed, &regs);
		return true;
	}

	memcpy(xol_bytes, auprobe->ixol, sizeof(auprobe->ixol));
	to_kernel(&wanted, &regs);
	utask.vaddr = SITE;
	utask.xol_vaddr = XOL;
	arch_uprobe_pre_xol(auprobe, &regs);
	{
		struct state before = wanted;

		from_kernel(&wanted, &regs);
		run(XOL, &probed);
		wanted = before;
	}
	to_kernel(&probed, &regs);
	if (probed.signal == SIGTRAP)
		arch_uprobe_post_xol(auprobe, &regs);
	else
		arch_uprobe_abort_xol(auprobe, &regs);
	from_kernel(&probed, &regs);
	return false;
}

static void complain_of(const char *what, const u8 *bytes, size_t size)
{
	cs_insn *insn;
	const size_t n = cs_disasm(capstone[probed_mm.is_64bit], bytes, MAX_UINSN_BYTES, SITE, 1,
				   &insn);

	complain("%d bits: %s:%s (%s %s): signal %d ip %llx sp %llx, probed %d ip %llx sp %llx",
		 probed_mm.is_64bit ? 64 : 32, what, in_hex(bytes, size), n ? insn->mnemonic : "",
		 n ? insn->op_str : "", in_place.signal, in_place.gregs[REG_RIP],
		 in_place.gregs[REG_RSP], probed.signal, probed.gregs[REG_RIP],
		 probed.gregs[REG_RSP]);
	if (n)
		cs_free(insn, n);
}

/*
 * Some processors write the return address before a call of an impossible address faults. That
 * of the copy is not corrected then, and the next try overwrites it.
 */
static void forget_return_address(void)
{
	const u64 at = in_place.gregs[REG_RSP] - sizeof(u64);
	u64 wanted, found;

	if (in_place.signal != SIGSEGV || at < ARENA || at > ARENA + ARENA_SIZE - sizeof(u64))
		return;
	memcpy(&wanted, memory_after + (at - ARENA), sizeof(wanted));
	memcpy(&found, (void *)at, sizeof(found));
	if (wanted - SITE <= MAX_UINSN_BYTES && wanted - SITE == found - XOL)
		memcpy((void *)at, &wanted, sizeof(wanted));
}

static const char *differs(void)
{
	int i;

	if (in_place.signal != probed.signal)
		return "another signal";
	for (i = REG_R8; i <= REG_RIP; i++) {
		if (in_place.gregs[i] != probed.gregs[i])
			return i == REG_RIP ? "another ip" : "another register";
	}
	if ((in_place.gregs[REG_EFL] ^ probed.gregs[REG_EFL]) & FLAGS_SEEN)
		return "other flags";
	forget_return_address();
	if (memcmp(memory_after, (void *)ARENA, ARENA_SIZE))
		return "other memory";
	return NULL;
}

/* Does capstone confirm the kind as which it is emulated? */
static bool is_emulable(const u8 *bytes)
{
	const bool long_mode = probed_mm.is_64bit;
	bool right = false;
	cs_insn *insn;
	size_t n;

	n = cs_disasm(capstone[long_mode], bytes, MAX_UINSN_BYTES, SITE, 1, &insn);
	if (!n)
		return false;
	switch (insn->id) {
	case X86_INS_NOP:
	case X86_INS_PAUSE:
		right = true;
		break;
	case X86_INS_PUSH:
		right = insn->detail->x86.operands[0].size == (long_mode ? 8 : 4);
		break;
	case X86_INS_XCHG:
		/* With the accumulator, of which it changes nothing. */
	case X86_INS_MOV:
		/* Of a whole register (7.3). */
		right = insn->detail->x86.operands[0].reg == insn->detail->x86.operands[1].reg;
		break;
	default:
		right = insn->detail->x86.operands[0].type == X86_OP_IMM &&
			(cs_insn_group(capstone[long_mode], insn, CS_GRP_JUMP) ||
			 cs_insn_group(capstone[long_mode], insn, CS_GRP_CALL));
	}
	cs_free(insn, n);
	return right;
}

/**
 * struct sample - an instruction to test
 * @bytes: the instruction, followed by no-ops
 * @prefixes: number of bytes before the opcode
 * @opcode: the last byte of the opcode
 * @two: whether 0F precedes it
 * @modrm: the byte after the opcode
 */
struct sample {
	u8 bytes[MAX_UINSN_BYTES + 8];
	u8 prefixes;
	u8 opcode;
	bool two;
	u8 modrm;
};

static bool has(const struct sample *s, u8 prefix)
{
	return memchr(s->bytes, prefix, s->prefixes);
}

/*
 * Instructions with a different result in each run, or that would destroy the test's own
 * state.
 */
static bool is_excluded(const struct sample *s)
{
	const bool is_register = s->modrm >= 0xc0;
	const u8 reg = s->modrm >> 3 & 7;

	/* The test has its thread data there. */
	if ((has(s, 0x64) || has(s, 0x65)) && (s->two ? (s->opcode & 0xf0) != 0x80 :
	    !((s->opcode & 0xf8) == 0x50 || (s->opcode & 0xf0) == 0x70 || s->opcode == 0x90 ||
	      (s->opcode >= 0xe0 && s->opcode <= 0xeb) || s->opcode == 0xc3 ||
	      (s->opcode == 0xff && is_register))))
		return true;
	if (!s->two) {
		switch (s->opcode) {
		case 0x0f:			/* made by itself */
		case 0x8e:			/* segments */
		case 0x9c ... 0x9d:		/* the trap flag is the test's */
		case 0x62:			/* EVEX and VEX, which are not emulated */
		case 0xc4 ... 0xc5:
		case 0xd5:			/* REX2 is made by itself */
			return true;
		case 0xd9:			/* the x87 instruction pointer */
		case 0xdd:
			return !is_register && reg == 6;
		case 0xcf:
			return true;
		default:
			return false;
		}
	}
	switch (s->opcode) {
	case 0x00: case 0x01:			/* the kernel emulates some of these itself */
	case 0x05: case 0x34:			/* system calls */
	case 0x31:				/* rdtsc */
	case 0x33:
	case 0xa1: case 0xa9:			/* segments */
	case 0xb2: case 0xb4: case 0xb5:
	case 0xae:				/* wrfsbase, xrstor, fxsave ... */
	case 0x38: case 0x3a:			/* other maps */
	case 0xc7:				/* rdrand */
	case 0xa2:				/* cpuid has the number of the processor */
		return true;
	}
	return false;
}

/* NOP with a register as its operand (7.3), which capstone does not know. */
static bool is_register_nop(const struct sample *s)
{
	return s->two && s->opcode == 0x1f && s->modrm >= 0xc0;
}

static bool is_call(const struct sample *s)
{
	const u8 reg = s->modrm >> 3 & 7;

	return !s->two && (s->opcode == 0xe8 || s->opcode == 0x9a ||
			   (s->opcode == 0xff && (reg == 2 || reg == 3)));
}

static const char *shadow_differs(const struct sample *s, bool emulates)
{
	const bool called = is_call(s) && probed.signal == SIGTRAP;
	unsigned long address = 0;

	if (shadow_pushes != (called && emulates))
		return "another number of pushes on the shadow stack";
	if (shadow_updates != (called && !emulates))
		return "another number of updates of the shadow stack";
	if (called)
		memcpy(&address, (void *)probed.gregs[REG_RSP], bits / 8);
	return called && shadow_address != address ? "another address on the shadow stack" : NULL;
}

static void try(const struct sample *s, size_t size, unsigned long seed)
{
	struct arch_uprobe auprobe = {};
	const char *wrong;
	bool emulates;

	memcpy(auprobe.insn, s->bytes, sizeof(auprobe.insn));
	if (arch_uprobe_analyze_insn(&auprobe, &probed_mm, SITE)) {
		refused++;
		return;
	}
	memcpy(site_bytes, s->bytes, sizeof(s->bytes));
	make_state(seed);
	memcpy((void *)ARENA, memory, ARENA_SIZE);
	run(SITE, &in_place);
	memcpy(memory_after, (void *)ARENA, ARENA_SIZE);
	emulates = run_probed(&auprobe);
	emulated += emulates;
	stepped += !emulates;
	wrong = differs() ?: shadow_differs(s, emulates);
	if (wrong)
		complain_of(wrong, s->bytes, size);
	else if (emulates && !is_emulable(s->bytes) && !is_register_nop(s))
		complain_of("capstone reads something else", s->bytes, size);
}

/*
 * The opcode with ModRM bytes of all kinds, if it may have one, and the bytes after it.
 */
static void try_opcode(const u8 *prefixes, size_t nr, bool two, u8 opcode)
{
	static const u8 mods[] = { 0x03, 0x05, 0xc1 };
	struct sample s = { .prefixes = nr, .opcode = opcode, .two = two };
	size_t i, reg, n;
	s32 distance;

	for (i = 0; i < ARRAY_SIZE(mods); i++) {
		for (reg = 0; reg < 8; reg++) {
			if (++seen % each)
				continue;
			s.modrm = mods[i] | reg << 3;
			memset(s.bytes, 0x90, sizeof(s.bytes));
			memcpy(s.bytes, prefixes, nr);
			n = nr;
			if (two)
				s.bytes[n++] = 0x0f;
			s.bytes[n++] = opcode;
			s.bytes[n++] = s.modrm;
			distance = probed_mm.is_64bit ? MIDDLE + 1024 - (SITE + n + 4) :
				   MIDDLE + 1024;
			memcpy(s.bytes + n, &distance, sizeof(distance));
			n += 4;
			memcpy(s.bytes + n, "\x11\x02\x00\x00", 4);
			if (!is_excluded(&s))
				try(&s, n, opcode << 8 | s.modrm);
		}
	}
}

static void try_opcodes(const u8 *prefixes, size_t nr)
{
	unsigned int opcode;

	for (opcode = 0; opcode < 512; opcode++)
		try_opcode(prefixes, nr, opcode >= 256, opcode);
}

/* Each alone, pairs of those that matter to emulation, five; and a REX at each place. */
static void try_prefixes(void)
{
	static const u8 legacy[] = { 0x66, 0xf2, 0xf3, 0x67, 0x64, 0x65, 0x2e, 0x3e, 0x26,
				     0x36, 0xf0 };
	static const u8 rex[] = { 0x40, 0x41, 0x42, 0x44, 0x48, 0x49, 0x4d };
	static const u8 five[] = { 0x66, 0x67, 0x65, 0xf3, 0x64 };
	u8 prefixes[8] = {};
	size_t i, j, k;

	try_opcodes(prefixes, 0);
	for (i = 0; i < ARRAY_SIZE(legacy); i++) {
		prefixes[0] = legacy[i];
		try_opcodes(prefixes, 1);
		for (j = 0; i < 6 && j < 6; j++) {
			prefixes[1] = legacy[j];
			try_opcodes(prefixes, 2);
		}
	}
	try_opcodes(five, ARRAY_SIZE(five));
	for (k = 0; probed_mm.is_64bit && k < ARRAY_SIZE(rex); k++) {
		prefixes[0] = rex[k];
		try_opcodes(prefixes, 1);
		for (i = 0; i < ARRAY_SIZE(legacy); i++) {
			prefixes[0] = legacy[i];
			prefixes[1] = rex[k];
			try_opcodes(prefixes, 2);
			prefixes[0] = rex[k];
			prefixes[1] = legacy[i];
			try_opcodes(prefixes, 2);
		}
		for (i = 0; i < ARRAY_SIZE(rex); i++) {
			prefixes[0] = rex[k];
			prefixes[1] = rex[i];
			try_opcodes(prefixes, 2);
		}
	}
}

/* Whether a no-op runs from the state in which samples run. */
static bool runs_here(void)
{
	*site_bytes = 0x90;
	make_state(1);
	run(SITE, &in_place);
	return in_place.signal == SIGTRAP && in_place.gregs[REG_RIP] == SITE + 1;
}

static void check_refusal(const char *name, const char *bytes, size_t size, bool is_64bit,
			  bool wanted_refused)
{
	struct arch_uprobe auprobe = {};
	int ret;

	probed_mm.is_64bit = is_64bit;
	memset(auprobe.insn, 0x90, sizeof(auprobe.insn));
	memcpy(auprobe.insn, bytes, size);
	ret = arch_uprobe_analyze_insn(&auprobe, &probed_mm, SITE);
	if (!ret == wanted_refused)
		complain("%s is %s", name, ret ? "refused" : "taken");
}

#define REFUSED(name, bytes)	check_refusal(name, bytes, sizeof(bytes) - 1, true, true)
#define TAKEN(name, bytes)	check_refusal(name, bytes, sizeof(bytes) - 1, true, false)
#define REFUSED_32(name, bytes)	check_refusal(name, bytes, sizeof(bytes) - 1, false, true)
#define TAKEN_32(name, bytes)	check_refusal(name, bytes, sizeof(bytes) - 1, false, false)

/* Instructions that may be refused, because processors differ or this one lacks them. */
static void check_refusals(void)
{
	REFUSED("xchg of rax and r16", "\xd5\x10\x90");
	REFUSED("seto with REX2", "\xd5\x80\x90\xc0");
	REFUSED("jmpabs", "\xd5\x00\xa1\x00\x00\x00\x00\x00\x00\x00\x00");
	REFUSED("call with 66", "\x66\xe8\x00\x00\x00\x00");
	REFUSED("indirect call with 66", "\x66\xff\xd0");
	REFUSED("loop with 66", "\x66\xe2\x00");
	REFUSED("jrcxz with 66", "\x66\xe3\x00");
	REFUSED("far call", "\xff\x1b");
	REFUSED("far call of 64 bits", "\x48\xff\x1b");
	REFUSED("lock nop", "\xf0\x90");
	REFUSED("rep ret behind REX", "\x48\xf3\xc3");
	REFUSED("int3", "\xcc");
	REFUSED("int $3", "\xcd\x03");
	REFUSED_32("indirect call with 66", "\x66\xff\xd0");
	REFUSED_32("loop with 66", "\x66\xe2\x00");
	REFUSED_32("far call with 66", "\x66\x9a\x00\x00\x00\x00");
	TAKEN("nop", "\x90");
	TAKEN("pause", "\xf3\x90");
	TAKEN("xchg of rax and r8", "\x49\x90");
	TAKEN("nop of 16 bits", "\x66\x90");
	TAKEN("bnd call", "\xf2\xe8\x00\x00\x00\x00");
	TAKEN("indirect call", "\xff\xd0");
	TAKEN("loop with 67", "\x67\xe2\x00");
	TAKEN("rep ret", "\xf3\xc3");
	TAKEN("nop of nine bytes", "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00");
	TAKEN("endbr64", "\xf3\x0f\x1e\xfa");
	TAKEN("vpcmpgtd, whose opcode is a prefix elsewhere", "\xc5\xfd\x66\xc1");
	TAKEN_32("inc", "\x40");
	TAKEN_32("aad, which is REX2 elsewhere", "\xd5\x0a");
	TAKEN_32("far call", "\x9a\x00\x00\x00\x00\x23\x00");
}

int main(int argc, char **argv)
{
	read_options(argc, argv, "e:b:", &each, &bits);
	set_up();
	if (!runs_here()) {
		printf("This machine does not run code of %lu bits.\n", bits);
		return 4;
	}
	try_prefixes();
	check_refusals();
	printf("%lu emulated, %lu stepped, %lu refused\n", emulated, stepped, refused);
	if (!emulated || !stepped)
		complain("none is emulated, or none is stepped");
	return verdict();
}
