// SPDX-License-Identifier: GPL-2.0
/*
 * Run instructions of x86_64 where they are and where the relocator puts them
 *
 * Usage: execute-x86 [-s SEED] [-n SAMPLES] [-r RANDOM] FILE...
 *
 * Instructions of the files, and RANDOM made ones, that the relocator accepts
 * run twice from the same random registers, flags, vectors and memory.  Both
 * runs must come to the same state: the same signal at the same address, when
 * the copy's stands for the original's, the same registers, the same memory.
 *
 * The original ends where a page ends, and the next page is not there.  So it
 * faults at its own end, as the copy does after its jump, and the processor shows
 * its length: with a byte less in the page it must not be complete.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"
#include "frame_x86.h"
#include "relocate.h"
#include "relocate_x86.h"

#define SAMPLES		60000
#define RANDOM_COUNT	60000

/* Addresses of data, the original, the copy and a target of jumps. */
#define ARENA		0x10000000UL
#define ARENA_SIZE	0x10000UL
#define ARENA_MIDDLE	(ARENA + ARENA_SIZE / 2)
#define BOUNDARY	0x20001000UL
#define COPY		0x21000000UL
#define LANDING		0x23000000UL

#define FLAG_RF		0x10000
#define FETCH		0x10		/* in a page fault's error code */
#define TRAP_UD		6
#define TRAP_PF		14
#define INSN_LONGEST	15

struct sample {
	u8 bytes[INSN_LONGEST];
	u8 len;
};

static struct {
	unsigned long run;
	unsigned long excluded;
	unsigned long went_on;
	unsigned long jumped;
	unsigned long signalled[NSIG];
	unsigned long unknown;		/* to capstone */
} count;

static csh capstone;
static cs_insn *insn;
static u8 *code;			/* the pages of original and copy, to write */
static u8 memory[ARENA_SIZE], memory_after[ARENA_SIZE];
static struct state original, moved;

static void complain_of(const char *what, const struct sample *sample)
{
	const greg_t *a = original.gregs, *b = moved.gregs;

	complain("%s:%s (%s %s): signal %d ip %llx trap %lld, copy: signal %d ip %llx trap %lld",
		 what, in_hex(sample->bytes, sample->len), insn->id ? insn->mnemonic : "",
		 insn->id ? insn->op_str : "", original.signal, a[REG_RIP], a[REG_TRAPNO],
		 moved.signal, b[REG_RIP], b[REG_TRAPNO]);
}

static void run(unsigned long address, struct state *outcome)
{
	memcpy((void *)ARENA, memory, ARENA_SIZE);
	frame_run(address, outcome);
}

static void map_code(unsigned long address, int fd, off_t offset)
{
	if (mmap((void *)address, PAGE, PROT_READ | PROT_EXEC, MAP_FIXED_NOREPLACE | MAP_SHARED,
		 fd, offset) != (void *)address)
		exit(2);
}

static void set_up(void)
{
	const int fd = memfd_create("code", 0);
	cpu_set_t cpu;

	/* cpuid and the like must give the same values in both runs. */
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		exit(2);
	code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED)
		exit(2);
	map_code(BOUNDARY - PAGE, fd, 0);
	map_code(COPY, fd, PAGE);
	map_at(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE);
	frame_set_up(300);
}

/* Whether it may write to memory; capstone knows that only in part. */
static bool may_write(void)
{
	const cs_x86 *x86 = &insn->detail->x86;

	switch (insn->id) {
	case X86_INS_XCHG:
	case X86_INS_MASKMOVQ:
	case X86_INS_MASKMOVDQU:
	case X86_INS_VMASKMOVDQU:
		return true;
	}
	return x86->op_count && x86->operands[0].type == X86_OP_MEM;
}

/*
 * Why an instruction is left out, or NULL: two runs of it would differ
 * at any address, or it would destroy state of the test.
 */
static const char *is_excluded(const u8 *bytes, size_t len)
{
	const u8 *op = bytes, *end = bytes + len;
	bool segment = false, repeat = false, memory_operand;
	unsigned int reg;

	for (; op < end && is_legacy_prefix(*op); op++) {
		segment |= *op == 0x64 || *op == 0x65;
		repeat |= *op == 0xf2 || *op == 0xf3;
	}
	if (op < end && (*op & 0xf0) == 0x40)
		op++;

	if (segment && (!insn->id || repeat || may_write()))
		return "fs, gs: may write to the thread data of the test";
	if (end - op >= 2 && (op[0] == 0xd9 || op[0] == 0xdd) && (op[1] & 0x38) == 0x30 &&
	    op[1] < 0xc0)
		return "fnstenv, fnsave: the x87 instruction pointer is that of the copy";
	if (end - op < 2 || op[0] != 0x0f)
		return NULL;
	if (op[1] == 0x31 || (op[1] == 0x01 && op[2] == 0xf9))
		return "rdtsc: never the same";
	if (op[1] == 0x01 && op[2] == 0xef)
		return "wrpkru: takes memory away from the handler";
	if (end - op < 3 || (op[1] != 0xae && op[1] != 0xc7))
		return NULL;
	memory_operand = op[2] < 0xc0;
	reg = op[2] >> 3 & 7;
	if (op[1] == 0xc7)
		return (memory_operand && reg == 4) ? "xsavec: as fnsave" :
		       (!memory_operand && reg >= 6) ? "rdrand: never the same" : NULL;
	if (memory_operand)
		return reg == 0 || reg == 4 || reg == 6 ? "fxsave, xsave: as fnsave" :
		       reg == 5 ? "xrstor: may change more than is put back" : NULL;
	return reg < 5 ? "wrfsbase: takes thread data away" :
	       reg == 6 ? "umwait: depends on time" : NULL;
}

/*
 * The state to begin from.
 */
static u64 random_value(void)
{
	static const u64 special[] = { 0, 1, ~0UL, 1UL << 63, ~0UL >> 1, 0x80000000, 0x7fffffff };
	const u64 r = random_next();

	switch (r >> 61) {
	case 0:
		return special[r % (sizeof(special) / sizeof(*special))];
	case 1:
		return r % 256;
	case 2:
	case 3:
		return ARENA_MIDDLE + r % 8192;
	case 4:
		return ARENA_MIDDLE + (r % 8192 & ~63);
	default:
		return random_next();
	}
}

static int greg_of(x86_reg reg)
{
	static const struct {
		u16 r64, r32;
		int greg;
	} table[] = {
		{ X86_REG_RAX, X86_REG_EAX, REG_RAX }, { X86_REG_RBX, X86_REG_EBX, REG_RBX },
		{ X86_REG_RCX, X86_REG_ECX, REG_RCX }, { X86_REG_RDX, X86_REG_EDX, REG_RDX },
		{ X86_REG_RSI, X86_REG_ESI, REG_RSI }, { X86_REG_RDI, X86_REG_EDI, REG_RDI },
		{ X86_REG_RBP, X86_REG_EBP, REG_RBP }, { X86_REG_RSP, X86_REG_ESP, REG_RSP },
		{ X86_REG_R8, X86_REG_R8D, REG_R8 }, { X86_REG_R9, X86_REG_R9D, REG_R9 },
		{ X86_REG_R10, X86_REG_R10D, REG_R10 }, { X86_REG_R11, X86_REG_R11D, REG_R11 },
		{ X86_REG_R12, X86_REG_R12D, REG_R12 }, { X86_REG_R13, X86_REG_R13D, REG_R13 },
		{ X86_REG_R14, X86_REG_R14D, REG_R14 }, { X86_REG_R15, X86_REG_R15D, REG_R15 },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (table[i].r64 == reg || table[i].r32 == reg)
			return table[i].greg;
	}
	return -1;
}

/* Let the instruction address the arena, most of the time. */
static void aim(const x86_op_mem *mem)
{
	const u64 r = random_next();
	const int base = greg_of(mem->base), index = greg_of(mem->index);
	unsigned long target = ARENA_MIDDLE + r % 8192;

	if ((r >> 60) == 0)
		return;
	if (r >> 63)
		target &= ~63UL;
	if (index >= 0 && index != base)
		wanted.gregs[index] = (r >> 32) % 256;
	if (base >= 0)
		wanted.gregs[base] = target - mem->disp;
	else if (index >= 0)
		wanted.gregs[index] = (target - mem->disp) / mem->scale;
}

static void make_gregs(bool repeats)
{
	unsigned int i;

	for (i = REG_R8; i <= REG_RSP; i++)
		wanted.gregs[i] = random_value();
	wanted.gregs[REG_RSP] = ARENA_MIDDLE + (random_next() % 8192 & ~7);
	wanted.gregs[REG_RBP] = ARENA_MIDDLE + (random_next() % 8192 & ~7);
	if (repeats)
		wanted.gregs[REG_RCX] = random_next() % 300;
	wanted.gregs[REG_EFL] = 0x202 | (random_next() & FLAGS_SEEN);
	for (i = 0; insn->id && i < insn->detail->x86.op_count; i++) {
		if (insn->detail->x86.operands[i].type == X86_OP_MEM)
			aim(&insn->detail->x86.operands[i].mem);
	}
}

/* Numbers as programs have them as well as any bits. */
static void fill_vectors(u8 *p, size_t size)
{
	const unsigned int kind = random_next() % 4;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		u64 value = random_next();
		const double d = (s32)value / 256.0;
		const float f[2] = { (s16)value, (s16)(value >> 16) / 16.0f };

		if (kind == 1)
			memcpy(&value, &d, 8);
		else if (kind == 2)
			memcpy(&value, f, 8);
		else if (kind == 3)
			value &= 0x000000ff000000ff;
		memcpy(p + i, &value, 8);
	}
}

static void make_vectors(void)
{
	const u64 r = random_next();
	const u16 fcw = 0x37f | (r & 0xc00);
	const u32 mxcsr = 0x1f80 | (r & 0xe040);
	u8 *fp = wanted.fp;
	u64 enabled, present;
	unsigned int i;

	memset(fp, 0, 24);
	memcpy(fp, &fcw, sizeof(fcw));
	fp[4] = r >> 32 & 1 ? 0xff : r >> 40;
	memcpy(fp + 24, &mxcsr, sizeof(mxcsr));
	if ((r >> 48) % 8 == 0)		/* floating point errors that signal */
		fp[25] &= r >> 52;
	for (i = 0; i < 8; i++) {
		fill_vectors(fp + 32 + 16 * i, 8);
		fp[32 + 16 * i + 7] |= 0x80;
		fp[32 + 16 * i + 8] = random_next();
		fp[32 + 16 * i + 9] = 0x3f | (random_next() & 0xc0);
	}
	fill_vectors(fp + 160, 256);
	if (fp_size <= FP_HEADER + 64)
		return;

	memcpy(&enabled, fp + 472, sizeof(enabled));
	memcpy(&present, fp + FP_HEADER, sizeof(present));
	/* AVX, and the three parts of AVX-512. */
	for (i = 2; i <= 7; i++) {
		unsigned int size, offset, c, d;

		if (i == 3 || i == 4 || !(enabled >> i & 1))
			continue;
		__cpuid_count(0xd, i, size, offset, c, d);
		fill_vectors(fp + offset, size);
		present |= 1UL << i;
	}
	present |= 3;
	memcpy(fp + FP_HEADER, &present, sizeof(present));
}

static void make_memory(void)
{
	size_t i;

	fill_vectors(memory, ARENA_SIZE);
	/* Pointers for loads, and targets for indirect jumps. */
	for (i = 0; i < ARENA_SIZE; i += 8) {
		const u64 r = random_next();
		const u64 value = r >> 63 ? LANDING + (r & 0xfff) : ARENA_MIDDLE + (r & 0xfff);

		if ((r >> 61 & 3) != 0)
			memcpy(memory + i, &value, sizeof(value));
	}
}

/*
 * The outcome.
 */
static const char *compare(unsigned long from, unsigned long to)
{
	const greg_t *a = original.gregs, *b = moved.gregs;
	const u64 ip = b[REG_RIP] == to ? from : b[REG_RIP];
	int i;

	if (original.signal != moved.signal || a[REG_TRAPNO] != b[REG_TRAPNO])
		return "another signal";
	if (a[REG_RIP] != ip)
		return "another instruction pointer";
	for (i = REG_R8; i <= REG_RSP; i++) {
		if (a[i] != b[i])
			return "another register";
	}
	if ((a[REG_EFL] ^ b[REG_EFL]) & ~FLAG_RF)
		return "other flags";
	if (a[REG_ERR] != b[REG_ERR])
		return "another error code";
	if (a[REG_TRAPNO] == TRAP_PF && a[REG_CR2] != b[REG_CR2])
		return "a fault at another address";
	if (memcmp(memory_after, (void *)ARENA, ARENA_SIZE))
		return "other memory";
	/* Less the last x87 opcode, its address and its operand's. */
	if (memcmp(original.fp, moved.fp, 6) || memcmp(original.fp + 24, moved.fp + 24, 440) ||
	    memcmp(original.fp + FP_HEADER + 64, moved.fp + FP_HEADER + 64,
		   fp_size - FP_HEADER - 64))
		return "other vectors";
	return NULL;
}

static bool fetch_fault(const struct state *state, unsigned long ip)
{
	const greg_t *g = state->gregs;

	return g[REG_TRAPNO] == TRAP_PF && g[REG_CR2] == BOUNDARY && g[REG_RIP] == ip;
}

static void tell_outcome(void)
{
	count.run++;
	count.unknown += !insn->id;
	if (fetch_fault(&original, BOUNDARY))
		count.went_on++;
	else if (original.gregs[REG_TRAPNO] == TRAP_PF && (original.gregs[REG_ERR] & FETCH))
		count.jumped++;
	else
		count.signalled[original.signal]++;
}

/* The instruction without its last byte must be incomplete. */
static void check_length(const struct sample *sample)
{
	static struct state cut;
	const unsigned long from = BOUNDARY - sample->len + 1;

	memcpy(code + PAGE - sample->len + 1, sample->bytes, sample->len - 1);
	run(from, &cut);
	/* The processor need not fetch the end of an undefined instruction. */
	if (!fetch_fault(&cut, from) && cut.gregs[REG_TRAPNO] != TRAP_UD)
		complain_of("shorter than the relocator thinks", sample);
}

/* Let operands relative to the instruction pointer be in the arena, too. */
static void aim_rip_relative(struct sample *sample, unsigned long from)
{
	const cs_x86 *x86 = &insn->detail->x86;
	unsigned int i;
	s32 disp;

	for (i = 0; insn->id && i < x86->op_count; i++) {
		if (x86->operands[i].type != X86_OP_MEM ||
		    x86->operands[i].mem.base != X86_REG_RIP)
			continue;
		disp = ARENA_MIDDLE + (random_next() % 8192 & ~15) - from - sample->len;
		memcpy(sample->bytes + x86->encoding.disp_offset, &disp, sizeof(disp));
	}
}

static void check_sample(struct sample *sample)
{
	const unsigned long from = BOUNDARY - sample->len;
	const unsigned long to = COPY + random_next() % (PAGE - UHOOK_SLOT_SIZE);
	const u8 *bytes = sample->bytes;
	struct uhook_copy copy;
	size_t left = sample->len;
	u64 address = from;
	const char *wrong;

	if (!cs_disasm_iter(capstone, &bytes, &left, &address, insn) || left)
		insn->id = 0;
	if (is_excluded(sample->bytes, sample->len)) {
		count.excluded++;
		return;
	}
	aim_rip_relative(sample, from);
	if (uhook_relocate(sample->bytes, sample->len, from, to, &copy)) {
		/* Relative to the instruction pointer, and too far. */
		count.excluded++;
		return;
	}
	make_gregs(memchr(sample->bytes, 0xf2, 4) || memchr(sample->bytes, 0xf3, 4));
	make_vectors();
	if (count.run % 64 == 0)
		make_memory();

	memcpy(code + PAGE - sample->len, sample->bytes, sample->len);
	memcpy(code + PAGE + to - COPY, copy.bytes, copy.len);
	run(from, &original);
	memcpy(memory_after, (void *)ARENA, ARENA_SIZE);
	tell_outcome();
	if (fetch_fault(&original, from)) {
		complain_of("longer than the relocator thinks", sample);
		return;
	}
	/* The copy must not need the original. */
	memset(code + PAGE - sample->len, 0xcc, sample->len);
	run(to, &moved);
	wrong = compare(from, to);
	if (wrong)
		complain_of(wrong, sample);
	if (original.gregs[REG_TRAPNO] != TRAP_UD)
		check_length(sample);
}

/*
 * Samples.
 */
#define KNOWN_BITS	24

struct samples {
	struct sample *sample;
	size_t count, room;
	u8 known[1 << (KNOWN_BITS - 3)];	/* of those that are there, by hash */
};

static void add_sample(struct samples *samples, const u8 *bytes, size_t len)
{
	u64 hash = len;
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	hash = (hash ^ hash >> 32) % (1 << KNOWN_BITS);
	if (samples->known[hash / 8] >> hash % 8 & 1)
		return;
	samples->known[hash / 8] |= 1 << hash % 8;
	if (samples->count == samples->room) {
		samples->room = samples->room ? 2 * samples->room : 65536;
		samples->sample = reallocarray(samples->sample, samples->room,
					       sizeof(struct sample));
	}
	memcpy(samples->sample[samples->count].bytes, bytes, len);
	samples->sample[samples->count++].len = len;
}

/* The instructions of a file that the relocator accepts, each once. */
static void collect(const char *path, struct samples *samples)
{
	size_t i, pieces, left;
	struct uhook_copy copy;
	struct code *code;

	code = read_code(path, relocate_arch.machine, &pieces);
	if (!code) {
		printf("%s: this is no ELF file for %s\n", path, relocate_arch.name);
		exit(2);
	}
	for (i = 0; i < pieces; i++) {
		const u8 *bytes = code[i].bytes, *next;
		const u8 *end = bytes + code[i].size;
		u64 address = COPY;

		while (bytes < end) {
			next = bytes;
			left = code[i].bytes + code[i].readable - bytes;
			if (!uhook_relocate(bytes, left, COPY, COPY, &copy)) {
				add_sample(samples, bytes, copy.insn_len);
				bytes += copy.insn_len;
			} else if (cs_disasm_iter(capstone, &next, &left, &address, insn)) {
				bytes = next;
			} else {
				bytes++;
			}
		}
	}
	free(code);
}

static void check_samples(struct samples *samples, unsigned long number)
{
	size_t i;

	if (number > samples->count)
		number = samples->count;
	for (i = 0; i < number; i++) {
		const size_t other = i + random_next() % (samples->count - i);
		struct sample sample = samples->sample[other];

		samples->sample[other] = samples->sample[i];
		check_sample(&sample);
	}
}

static void check_random(unsigned long number)
{
	struct uhook_copy copy;
	struct sample sample;
	unsigned long tries = 100 * number;
	u8 bytes[INSN_MAX];

	while (number && tries--) {
		relocate_arch.make(bytes);
		if (uhook_relocate(bytes, sizeof(bytes), COPY, COPY, &copy))
			continue;
		memcpy(sample.bytes, bytes, sizeof(sample.bytes));
		sample.len = copy.insn_len;
		check_sample(&sample);
		number--;
	}
}

static void report(const char *name, unsigned int least)
{
	unsigned int i;

	printf("%s: %lu run, %lu excluded, %lu unknown to capstone: %lu went on, %lu jumped",
	       name, count.run, count.excluded, count.unknown, count.went_on, count.jumped);
	for (i = 1; i < NSIG; i++) {
		if (count.signalled[i])
			printf(", %lu %s", count.signalled[i], sigabbrev_np(i));
	}
	printf("\n");
	if (!count.run || count.went_on * 100 < count.run * least)
		complain("less than %u %% went on", least);
	memset(&count, 0, sizeof(count));
}

int main(int argc, char **argv)
{
	unsigned long number = SAMPLES, random = RANDOM_COUNT;
	static struct samples samples;

	read_options(argc, argv, "n:r:", &number, &random);
	capstone = open_capstone(relocate_arch.arch, relocate_arch.mode);
	insn = cs_malloc(capstone);

	for (; optind < argc; optind++)
		collect(argv[optind], &samples);
	set_up();
	make_memory();
	check_samples(&samples, number);
	printf("of %zu instructions ", samples.count);
	report("of files", 60);
	check_random(random);
	report("random bytes", 10);
	return verdict();
}
