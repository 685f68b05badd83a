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
 * stops right behind itself, as the copy does after its jump, and the processor
 * says how long it is: with a byte less in the page it must not be complete.
 *
 * Registers are set and read in the frames of signals: a breakpoint enters, and
 * whatever signal comes then leaves.  All that an instruction can address lies
 * in the lowest 4 GiB, where nothing but the test is.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "relocate.h"
#include "relocate_x86.h"

#define SAMPLES		60000
#define RANDOM_COUNT	60000
#define COMPLAINTS_MAX	40
#define PAGE		4096UL

/* What the program under test sees: data, the original, the copy, a target. */
#define ARENA		0x10000000UL
#define ARENA_SIZE	0x10000UL
#define ARENA_MIDDLE	(ARENA + ARENA_SIZE / 2)
#define BOUNDARY	0x20001000UL
#define COPY		0x21000000UL
#define LANDING		0x23000000UL

#define FP_MAX		16384
#define FP_HEADER	512
#define FLAGS_RANDOM	0xcd5UL		/* CF PF AF ZF SF DF OF */
#define FLAG_RF		0x10000
#define FETCH		0x10		/* in a page fault's error code */
#define TRAP_UD		6
#define TRAP_PF		14
#define INSN_LONGEST	15

/* Registers of a program: those of the frame, and its fpstate. */
struct state {
	greg_t gregs[NGREG];
	u8 fp[FP_MAX];
	int signal;
};

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
static unsigned long complaints;
static u8 *code;			/* the pages of original and copy, to write */
static u8 memory[ARENA_SIZE], memory_after[ARENA_SIZE];
static struct state home, wanted, original, moved;
static struct state *result;		/* set while an instruction runs */
static unsigned int fp_size;
static const struct sample *last;

static void complain(const char *what, const struct sample *sample)
{
	size_t i;

	if (complaints++ >= COMPLAINTS_MAX)
		return;
	printf("  FAIL: %s:", what);
	for (i = 0; i < sample->len; i++)
		printf(" %02x", sample->bytes[i]);
	if (insn->id)
		printf(" (%s %s)", insn->mnemonic, insn->op_str);
	printf(": original signal %d ip %llx trap %lld, copy signal %d ip %llx trap %lld\n",
	       original.signal, original.gregs[REG_RIP], original.gregs[REG_TRAPNO],
	       moved.signal, moved.gregs[REG_RIP], moved.gregs[REG_TRAPNO]);
}

/*
 * The handler: of the breakpoint that enters, and of what ends the run.
 */
static void handle(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	u8 *fp = (u8 *)uc->uc_mcontext.fpregs;
	struct state *from = &wanted, *to = &home;

	(void)info;
	if (!result) {
		complain("the test itself was hit by a signal, after", last);
		_exit(1);
	}
	if (result->signal >= 0) {
		from = &home;
		to = result;
	}
	memcpy(to->gregs, uc->uc_mcontext.gregs, sizeof(to->gregs));
	memcpy(to->fp, fp, fp_size);
	memcpy(uc->uc_mcontext.gregs, from->gregs, sizeof(from->gregs));
	memcpy(fp, from->fp, fp_size);
	/* The first time, what is wanted is yet to be told. */
	result->signal = result->signal < 0 ? 0 : signal;
}

/* Run at @address from the wanted state and leave the outcome in @outcome. */
static void run(unsigned long address, struct state *outcome)
{
	wanted.gregs[REG_RIP] = address;
	memcpy((void *)ARENA, memory, ARENA_SIZE);
	outcome->signal = -1;
	result = outcome;
	asm volatile("int3" : : : "memory");
	result = NULL;
}

/* Once, to learn what a frame looks like: the state of this program. */
static void learn(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const u8 *fp = (const u8 *)uc->uc_mcontext.fpregs;

	(void)signal;
	(void)info;
	/* What is behind the 512 bytes of FXSAVE is told in their end. */
	memcpy(&fp_size, fp + 468, sizeof(fp_size));
	if (fp_size < FP_HEADER || fp_size > FP_MAX)
		_exit(2);
	memcpy(wanted.gregs, uc->uc_mcontext.gregs, sizeof(wanted.gregs));
	memcpy(wanted.fp, fp, fp_size);
}

static void catch_signals(void (*handler)(int signal, siginfo_t *info, void *context))
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction action = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void map_at(unsigned long address, size_t size, int protection, int fd, off_t offset)
{
	void *p = mmap((void *)address, size, protection,
		       MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED),
		       fd, offset);

	if (p != (void *)address) {
		perror("mmap");
		exit(2);
	}
}

static void set_up(void)
{
	static u8 stack[1 << 17];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const int fd = memfd_create("code", 0);
	cpu_set_t cpu;

	/* What cpuid and the like say must not change between two runs. */
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	if (fd < 0 || ftruncate(fd, 2 * PAGE) || sigaltstack(&alternate, NULL))
		exit(2);
	code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED)
		exit(2);
	map_at(BOUNDARY - PAGE, PAGE, PROT_READ | PROT_EXEC, fd, 0);
	map_at(COPY, PAGE, PROT_READ | PROT_EXEC, fd, PAGE);
	map_at(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE, -1, 0);

	catch_signals(learn);
	raise(SIGTRAP);
	catch_signals(handle);
	/* An instruction that does not end ends the test. */
	alarm(300);
}

/* Whether it may write to memory; what capstone has of that is incomplete. */
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
 * wherever it were, or it would pull the rug out from under the test.
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

/* Have what the instruction addresses lie in the arena, most of the time. */
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
	wanted.gregs[REG_EFL] = 0x202 | (random_next() & FLAGS_RANDOM);
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
	/* Pointers for what loads them, and targets for what jumps there. */
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

/* What is left of the instruction in the page must be too little. */
static void check_length(const struct sample *sample)
{
	static struct state cut;
	const unsigned long from = BOUNDARY - sample->len + 1;

	memcpy(code + PAGE - sample->len + 1, sample->bytes, sample->len - 1);
	run(from, &cut);
	/* Of what it does not know, the processor need not fetch the end. */
	if (!fetch_fault(&cut, from) && cut.gregs[REG_TRAPNO] != TRAP_UD)
		complain("shorter than the relocator thinks", sample);
}

/* Addresses relative to the instruction pointer are to be in the arena, too. */
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
	last = sample;
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
		complain("longer than the relocator thinks", sample);
		return;
	}
	/* The copy must do with itself. */
	memset(code + PAGE - sample->len, 0xcc, sample->len);
	run(to, &moved);
	wrong = compare(from, to);
	if (wrong)
		complain(wrong, sample);
	if (original.gregs[REG_TRAPNO] != TRAP_UD)
		check_length(sample);
}

/*
 * What to run.
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
		relocate_arch.make(bytes, random_next);
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
	if (!count.run || count.went_on * 100 < count.run * least) {
		printf("  FAIL: less than %u %% went on\n", least);
		complaints++;
	}
	memset(&count, 0, sizeof(count));
}

int main(int argc, char **argv)
{
	unsigned long number = SAMPLES, random = RANDOM_COUNT, seed = 1;
	static struct samples samples;
	int opt;

	while ((opt = getopt(argc, argv, "s:n:r:")) != -1) {
		if (opt == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (opt == 'n')
			number = strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			random = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (cs_open(relocate_arch.arch, relocate_arch.mode, &capstone) ||
	    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON))
		return 2;
	insn = cs_malloc(capstone);
	random_seed(seed);
	printf("seed %lu\n", seed);
	setvbuf(stdout, NULL, _IOLBF, 0);

	for (; optind < argc; optind++)
		collect(argv[optind], &samples);
	set_up();
	make_memory();
	check_samples(&samples, number);
	printf("of %zu instructions ", samples.count);
	report("of files", 60);
	check_random(random);
	report("random bytes", 10);

	printf("%lu complaints\n", complaints);
	return complaints ? 1 : 0;
}
