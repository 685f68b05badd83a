// SPDX-License-Identifier: GPL-2.0
/*
 * arm64 instructions, run where they are and where they are relocated to
 *
 * A static arm64 program for qemu-aarch64.  It takes the instructions of files
 * and random ones, relocates those that can be, and runs each twice from the same
 * random registers, flags, vectors and memory: in a site, which is the
 * instruction and a BRK, and in a slot, whose jump must lead to that BRK.  Then
 * everything must be equal: the results of the instruction or its fault, with the
 * program counter in the slot translated to that of the site.
 *
 * Nothing but signal frames sets and reads the registers: each signal ends one
 * run, and returning from its handler begins the next.
 *
 * Usage: relocate-run-arm64 [-s SEED] FILE...
 */
#define _GNU_SOURCE
#include <linux/elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <linux/uhook_relocate.h>
#include "common.h"

#define WORD		4
#define BRK		0xd4200000

/* So many instructions at most are run: of the files, and random ones. */
#define FROM_FILES	40000
#define RANDOM		20000
#define TESTS		(FROM_FILES + RANDOM)

/*
 * The layout: sites in the middle, slots on both sides of them near the end of a
 * jump's reach, and the memory that the instructions use so far away that a wrong
 * offset of 32 bits cannot reach it.
 */
#define SITE_SIZE	(2 * WORD)
#define SITES		0x1000000000UL
#define SLOTS_BELOW	(SITES - UHOOK_REACH + TESTS * SITE_SIZE)
#define SLOTS_ABOVE	(SITES + UHOOK_REACH - TESTS * UHOOK_SLOT_SIZE)
#define ARENA		0x2000000000UL
#define ARENA_SIZE	0x4000UL

/* In percent: how many of the files' instructions must be taken, and not fault. */
#define SHARE_TAKEN	65
#define SHARE_DONE	80

/*
 * Records of vectors in a signal frame: the ones of 128 bits and, with SVE, a record
 * of all its state, which has precedence.  Its longest vectors have 2048 bits.
 */
struct vectors {
	struct _aarch64_ctx head;
	uint32_t fpsr;
	uint32_t fpcr;
	__uint128_t v[32];
};

struct long_vectors {
	struct _aarch64_ctx head;
	uint16_t length;
	uint16_t flags;
	uint32_t reserved;
	__uint128_t contents[];
};

#define LONG_VECTORS_MAGIC	0x53564501
#define LONG_VECTORS_MAX	(33 * 256 + 16 * 32 + 64)

/* State that is set before a run, and compared after it. */
struct state {
	uint64_t regs[31];
	uint64_t sp;
	uint64_t pc;
	uint64_t pstate;
	uint32_t fpsr;
	uint32_t fpcr;
	__uint128_t v[32];
	unsigned char long_vectors[LONG_VECTORS_MAX];
	int signal;
	int code;
	uint64_t address;
	bool stored;
};

static uint32_t words[TESTS];
static unsigned int tests;
static unsigned int from_files;

/* The run that is under way: the test, and whether it is the slot's turn. */
static unsigned int test;
static bool in_slot;
static ucontext_t before;
static struct state results[2];
static unsigned char pristine[ARENA_SIZE], stored[2][ARENA_SIZE];
static unsigned long done[2], faulted[2];

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static unsigned long site_of(unsigned int i)
{
	return SITES + i * SITE_SIZE;
}

static unsigned long slot_of(unsigned int i)
{
	return (i % 2 ? SLOTS_BELOW : SLOTS_ABOVE) + i * UHOOK_SLOT_SIZE;
}

/*
 * Instructions with a different result each time: they read clocks, performance
 * counters or random numbers.
 */
static bool is_fickle(uint32_t word)
{
	return (word & 0xfffff000) == 0xd53be000 || (word & 0xfffff000) == 0xd53b9000 ||
	       (word & 0xffffff00) == 0xd53b2400;
}

static bool can_test(uint32_t word)
{
	struct uhook_copy copy;

	return !uhook_relocate(&word, WORD, SITES, SLOTS_BELOW, &copy) && !is_fickle(word);
}

static int compare_words(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* All code of the files, in one array. */
static uint32_t *code;
static size_t code_size;

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	const struct elf64_hdr *header;
	const struct elf64_shdr *section;
	struct stat st;
	size_t size;
	int i;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	header = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (header == MAP_FAILED)
		die(path);
	close(fd);
	section = (const void *)header + header->e_shoff;
	for (i = 0; i < header->e_shnum; i++, section++) {
		if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR))
			continue;
		size = section->sh_size / WORD;
		code = realloc(code, (code_size + size) * WORD);
		if (!code)
			die("realloc");
		memcpy(code + code_size, (const void *)header + section->sh_offset, size * WORD);
		code_size += size;
	}
}

/*
 * Choose from the code, each instruction at most once, and look at how much of it
 * can be relocated at all.
 */
static void choose(void)
{
	size_t i, j, taken = 0, distinct = 0;

	for (i = 0; i < code_size; i++) {
		if (can_test(code[i]))
			code[taken++] = code[i];
	}
	printf("%zu of %zu instructions can be relocated\n", taken, code_size);
	if (!code_size || taken * 100 < code_size * SHARE_TAKEN)
		complain("that is too few: %d in a hundred are wanted", SHARE_TAKEN);

	qsort(code, taken, WORD, compare_words);
	for (i = 0; i < taken; i++) {
		if (!i || code[i] != code[i - 1])
			code[distinct++] = code[i];
	}
	for (i = 0; i < distinct && i < FROM_FILES; i++) {
		j = i + random_next() % (distinct - i);
		words[i] = code[j];
		code[j] = code[i];
	}
	from_files = i;
	for (tests = from_files; tests < from_files + RANDOM; ) {
		words[tests] = random_next();
		if (can_test(words[tests]))
			tests++;
	}
}

static void protect(unsigned long address, size_t size)
{
	if (mprotect((void *)address, size, PROT_READ | PROT_EXEC))
		die("mprotect");
	__builtin___clear_cache((void *)address, (void *)address + size);
}

static void lay_out(void)
{
	size_t sites = (TESTS * SITE_SIZE + 4095) & ~4095UL;
	size_t slots = (TESTS * UHOOK_SLOT_SIZE + 8191) & ~4095UL;
	struct uhook_copy copy;
	unsigned int i;
	uint32_t *site;

	map_at(SITES, sites, PROT_READ | PROT_WRITE);
	map_at(SLOTS_BELOW & ~4095UL, slots, PROT_READ | PROT_WRITE);
	map_at(SLOTS_ABOVE & ~4095UL, slots, PROT_READ | PROT_WRITE);
	map_at(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE);

	for (i = 0; i < tests; i++) {
		site = (uint32_t *)site_of(i);
		site[0] = words[i];
		site[1] = BRK;
		if (uhook_relocate(site, WORD, site_of(i), slot_of(i), &copy)) {
			printf("%08x: not relocated within reach\n", words[i]);
			exit(1);
		}
		memcpy((void *)slot_of(i), copy.bytes, copy.len);
	}
	protect(SITES, sites);
	protect(SLOTS_BELOW & ~4095UL, slots);
	protect(SLOTS_ABOVE & ~4095UL, slots);

	for (i = 0; i < ARENA_SIZE; i++)
		pristine[i] = random_next();
	memcpy((void *)ARENA, pristine, ARENA_SIZE);
}

static void *record_of(ucontext_t *uc, uint32_t magic)
{
	struct _aarch64_ctx *record = (void *)uc->uc_mcontext.__reserved;

	while (record->magic != magic) {
		if (!record->magic)
			return NULL;
		record = (void *)record + record->size;
	}
	return record;
}

/* The SVE record, when there is something in it, and how much. */
static struct long_vectors *long_vectors_of(ucontext_t *uc, size_t *size)
{
	struct long_vectors *vectors = record_of(uc, LONG_VECTORS_MAGIC);

	*size = vectors ? vectors->head.size - sizeof(*vectors) : 0;
	if (*size > LONG_VECTORS_MAX) {
		printf("a signal frame with longer vectors than there are\n");
		exit(2);
	}
	return vectors;
}

/* Somewhere in the middle of the memory, mostly aligned. */
static uint64_t random_pointer(void)
{
	uint64_t random = random_next();
	uint64_t pointer = ARENA + ARENA_SIZE / 4 + random % (ARENA_SIZE / 4);

	return random >> 63 ? pointer : pointer & ~15UL;
}

/* An index, a number of any size, or a pointer. */
static uint64_t random_register(void)
{
	uint64_t random = random_next();

	switch (random >> 61) {
	case 0:
		return random_next();
	case 1:
		return random_pointer();
	case 2:
		return -(random & 0xff);
	default:
		return random & 0xff;
	}
}

/* Any bits, or floating-point numbers that are not far from one. */
static __uint128_t random_vector(void)
{
	uint64_t low = random_next(), high = random_next();
	uint64_t mask = 0;

	switch (random_next() % 4) {
	case 0:
		mask = 0x3c003c003c003c00;
		break;
	case 1:
		mask = 0x3f8000003f800000;
		break;
	case 2:
		mask = 0x3ff0000000000000;
		break;
	}
	if (mask) {
		low = (low & 0x80ffffff80ffffff) | mask;
		high = (high & 0x80ffffff80ffffff) | mask;
	}
	return (__uint128_t)high << 64 | low;
}

static void set_vectors(ucontext_t *uc)
{
	struct vectors *vectors = record_of(uc, FPSIMD_MAGIC);
	struct long_vectors *longer;
	size_t i, size;

	vectors->fpsr = 0;
	vectors->fpcr = random_next() & 0x00c00000;
	for (i = 0; i < 32; i++)
		vectors->v[i] = random_vector();
	longer = long_vectors_of(uc, &size);
	for (i = 0; i < size / sizeof(*longer->contents); i++)
		longer->contents[i] = random_vector();
}

/* Begin a run: everything is random, but the same in both places. */
static void start(ucontext_t *uc)
{
	mcontext_t *mc = &uc->uc_mcontext;
	unsigned int base = words[test] >> 5 & 31;
	uint64_t saved = random_state;
	int i;

	for (i = 0; i < 31; i++)
		mc->regs[i] = random_register();
	/* Most loads and stores have their base register in these bits. */
	if (base < 31)
		mc->regs[base] = random_pointer();
	mc->sp = random_pointer() & ~15UL;
	mc->pstate = (before.uc_mcontext.pstate & ~0xf0000000UL) |
		     (random_next() & 0xf0000000);
	set_vectors(uc);

	mc->pc = in_slot ? slot_of(test) : site_of(test);
	if (!in_slot)
		random_state = saved;
}

/* The address in the site that an address in the slot stands for. */
static uint64_t in_site(uint64_t address)
{
	return in_slot && address - slot_of(test) <= WORD ?
		address - slot_of(test) + site_of(test) : address;
}

static void save(const siginfo_t *info, ucontext_t *uc)
{
	struct state *state = &results[in_slot];
	mcontext_t *mc = &uc->uc_mcontext;
	struct vectors *vectors = record_of(uc, FPSIMD_MAGIC);
	struct long_vectors *longer;
	size_t size;

	memset(state, 0, sizeof(*state));
	memcpy(state->regs, mc->regs, sizeof(state->regs));
	state->sp = mc->sp;
	state->pc = in_site(mc->pc);
	state->pstate = mc->pstate;
	state->fpsr = vectors->fpsr;
	state->fpcr = vectors->fpcr;
	memcpy(state->v, vectors->v, sizeof(state->v));
	longer = long_vectors_of(uc, &size);
	if (size)
		memcpy(state->long_vectors, longer->contents, size);
	state->signal = info->si_signo;
	state->code = info->si_code;
	state->address = in_site((uint64_t)info->si_addr);
	state->stored = memcmp((void *)ARENA, pristine, ARENA_SIZE);
	if (state->stored) {
		memcpy(stored[in_slot], (void *)ARENA, ARENA_SIZE);
		memcpy((void *)ARENA, pristine, ARENA_SIZE);
	}
}

static void complain_of(const char *what, uint64_t in_site, uint64_t in_slot)
{
	complain("%08x: %s is %lx in its place, %lx in the slot", words[test], what, in_site,
		 in_slot);
}

/* Both runs are over. */
static void compare(void)
{
	const struct state *a = &results[0], *b = &results[1];
	bool is_done = a->signal == SIGTRAP;

	if (a->pc != site_of(test) + (is_done ? WORD : 0))
		complain_of("the end", a->pc, b->pc);
	else if (a->pc != b->pc)
		complain_of("the program counter", a->pc, b->pc);
	else if (a->signal != b->signal || a->code != b->code || a->address != b->address)
		complain_of("the signal's address", a->address, b->address);
	else if (a->stored != b->stored ||
		 (a->stored && memcmp(stored[0], stored[1], ARENA_SIZE)))
		complain_of("memory", a->stored, b->stored);
	else if (a->pstate != b->pstate)
		complain_of("pstate", a->pstate, b->pstate);
	else if (memcmp(a->regs, b->regs, sizeof(a->regs)) || a->sp != b->sp)
		complain_of("a register, perhaps x0,", a->regs[0], b->regs[0]);
	else if (a->fpsr != b->fpsr || a->fpcr != b->fpcr)
		complain_of("fpsr", a->fpsr, b->fpsr);
	else if (memcmp(a->v, b->v, sizeof(a->v)))
		complain_of("a vector, perhaps v0,", a->v[0], b->v[0]);
	else if (memcmp(a->long_vectors, b->long_vectors, sizeof(a->long_vectors)))
		complain_of("an SVE register, somewhere", 0, 0);

	if (is_done)
		done[test >= from_files]++;
	else
		faulted[test >= from_files]++;
}

static void handle(int signal, siginfo_t *info, void *data)
{
	ucontext_t *uc = data;
	bool ended = false;

	(void)signal;
	if (before.uc_mcontext.pc) {
		save(info, uc);
		if (in_slot) {
			compare();
			ended = ++test == tests;
		}
		in_slot = !in_slot;
	} else {
		/* This is the BRK in main(), where the last run returns to. */
		before.uc_mcontext = uc->uc_mcontext;
		before.uc_mcontext.pc += WORD;
	}
	if (ended)
		uc->uc_mcontext = before.uc_mcontext;
	else
		start(uc);
}

static void set_handlers(void)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = {
		.sa_sigaction = handle,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	unsigned int i;

	sigaltstack(&alternate, NULL);
	sigfillset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	/* A jump that goes wrong may go round in circles. */
	alarm(300);
}

static void report(const char *what, int which)
{
	printf("%lu %s ran in both places, %lu to their end and %lu faulted\n",
	       done[which] + faulted[which], what, done[which], faulted[which]);
}

int main(int argc, char **argv)
{
	read_options(argc, argv, "");
	for (; optind < argc; optind++)
		read_file(argv[optind]);
	choose();
	lay_out();
	set_handlers();
	asm volatile("brk #0" : : : "memory");

	report("instructions of the files", 0);
	report("random instructions", 1);
	if (done[0] * 100 < from_files * (unsigned long)SHARE_DONE)
		complain("too few reached their end: %d in a hundred are wanted", SHARE_DONE);
	return verdict();
}
