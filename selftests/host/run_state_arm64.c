// SPDX-License-Identifier: GPL-2.0
/* Run code of arm64 from a state until a signal comes: the rules are in the header. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "run_state_arm64.h"

struct vectors {
	struct _aarch64_ctx head;
	u32 fpsr;
	u32 fpcr;
	__uint128_t v[32];
};

static struct state *running;
/* The registers of run(), while code runs; otherwise its pc is 0. */
static mcontext_t before;

static struct vectors *vectors_of(mcontext_t *mc)
{
	struct _aarch64_ctx *record = (void *)mc->__reserved;

	while (record->magic != FPSIMD_MAGIC)
		record = (void *)record + record->size;
	return (void *)record;
}

static void begin_run(mcontext_t *mc, const struct state *s)
{
	/* This is the BRK in run(). */
	before = *mc;
	before.pc += WORD;
	memcpy(mc->regs, s->regs, sizeof(mc->regs));
	memcpy(vectors_of(mc)->v, s->v, sizeof(s->v));
	vectors_of(mc)->fpsr = s->fpsr;
	vectors_of(mc)->fpcr = s->fpcr;
	mc->sp = s->regs[SP];
	mc->pc = s->pc;
	mc->pstate = (mc->pstate & ~FLAGS_MASK) | s->flags;
}

static void handle(int signal, siginfo_t *info, void *data)
{
	mcontext_t *mc = &((ucontext_t *)data)->uc_mcontext;
	struct state *s = running;

	(void)info;
	if (!before.pc) {
		begin_run(mc, s);
		return;
	}
	memcpy(s->regs, mc->regs, sizeof(mc->regs));
	memcpy(s->v, vectors_of(mc)->v, sizeof(s->v));
	s->fpsr = vectors_of(mc)->fpsr;
	s->fpcr = vectors_of(mc)->fpcr;
	s->regs[SP] = mc->sp;
	s->pc = mc->pc;
	s->flags = mc->pstate & FLAGS_MASK;
	s->signal = signal;
	*mc = before;
	before.pc = 0;
}

void run(struct state *state)
{
	running = state;
	asm volatile("brk #0" : : : "memory");
	running = NULL;
}

void run_set_up(unsigned int seconds)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL };
	static char alternate_stack[1 << 16];
	stack_t alternate = { .ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack) };
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	unsigned int i;

	sigaltstack(&alternate, NULL);
	sigfillset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	alarm(seconds);
}

void make_state(struct state *state, unsigned long pc, u64 sp)
{
	unsigned int i;

	memset(state, 0, sizeof(*state));
	for (i = 0; i < SP; i++)
		state->regs[i] = random_next();
	for (i = 0; i < 32; i++)
		state->v[i] = (__uint128_t)random_next() << 64 | random_next();
	state->regs[SP] = sp & ~15UL;
	state->flags = random_next() & FLAGS_MASK;
	/* The rounding mode, and the cumulative exception flags. */
	state->fpcr = (random_next() & 3) << 22;
	state->fpsr = random_next() & 0x1f;
	state->pc = pc;
}

void map_breakpoints(unsigned long address, size_t size)
{
	unsigned long at;

	map_at(address, size, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (at = address; at < address + size; at += WORD)
		*(u32 *)at = BRK;
	__builtin___clear_cache((void *)address, (void *)address + size);
}

void map_random(unsigned long address, void *copy, size_t size)
{
	u64 *word = map_at(address, size, PROT_READ | PROT_WRITE);
	size_t i;

	for (i = 0; i < size / sizeof(*word); i++)
		word[i] = random_next();
	memcpy(copy, word, size);
}

void expect_stack(u32 word, unsigned long base, size_t size, const u8 *should, u64 sp,
		  size_t scratch)
{
	const size_t end = sp - base;

	expect("memory above the stack pointer", word,
	       !!memcmp((void *)sp, should + end, size - end), 0);
	expect("memory far below it", word, !!memcmp((void *)base, should, end - scratch), 0);
}

void expect(const char *what, u32 word, u64 is, u64 should)
{
	if (is != should)
		complain("%08x: %s: %lx and not %lx", word, what, (long)is, (long)should);
}

void expect_state(u32 word, const struct state *is, const struct state *should)
{
	char name[16];
	unsigned int i;

	for (i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "register %u", i);
		expect(name, word, is->regs[i], should->regs[i]);
	}
	expect("the program counter", word, is->pc, should->pc);
	expect("the flags", word, is->flags, should->flags);
	expect("the signal", word, is->signal, should->signal);
	expect("the vectors", word, !!memcmp(is->v, should->v, sizeof(is->v)), 0);
	expect("fpcr", word, is->fpcr, should->fpcr);
	expect("fpsr", word, is->fpsr, should->fpsr);
}

void write_code(unsigned long to, const void *code, size_t len)
{
	memcpy((void *)to, code, len);
	__builtin___clear_cache((void *)to, (void *)to + len);
}

void write_word(unsigned long to, u32 word)
{
	write_code(to, &word, WORD);
}
