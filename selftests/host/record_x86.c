// SPDX-License-Identifier: GPL-2.0
/*
 * Run the recorders of x86_64
 *
 * Usage: record-x86 [-s SEED] [-r ROUNDS] [-b]
 *
 * With -b, print only the time of a hit.
 *
 * A recorder runs from random registers and from all flags that a program can set,
 * with random registers chosen, the stack pointer often at the end of a page, and
 * at the end of all that is mapped. Registers, flags and the memory above
 * the end of the red zone must not change, and the ring must agree with the model,
 * even if it changes between any two instructions. Bodies that count, record and
 * execute an instruction follow, then threads and errors.
 *
 * All memory is in the lowest 4 GiB, where nothing but the test is.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "record.h"
#include "run_state_x86.h"

#define BODIES		0x21000000UL
#define CODE		0x21800000UL	/* of threads */
#define LANES		0x22000000UL
#define RING		0x23000000UL
#define COUNTERS	0x24000000UL
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)

/* Bytes below the red zone that recorders may use. */
#define BELOW		64
#define THREAD_CALLS	3000000
/* One of so many recorders is stepped; prime to the number of flags. */
#define STEPPED		13

/* RDI RSI RDX RCX R8 R9 */
const struct record_arch record_arch = {
	.regs = { 7, 6, 2, 1, 8, 9 },
	.nr_registers = 16,
	.stack_first = true,
	.reach = 0x80000000,
	.ret = { 0xc3 },
	.ret_len = 1,
};

/* Instructions whose results depend on what a recorder could destroy. */
static const struct {
	const char *name;
	const char *bytes;
	u8 len;
} samples[] = {
	{ "push %rcx", "\x51", 1 },
	{ "push %rsp", "\x54", 1 },
	{ "pushfq", "\x9c", 1 },
	{ "adc %rcx,%rdx", "\x48\x11\xca", 3 },
	{ "cmovs %rcx,%rax", "\x48\x0f\x48\xc1", 4 },
	{ "mov -0x80(%rsp),%rcx", "\x48\x8b\x4c\x24\x80", 5 },
	{ "xchg %rdx,-0x78(%rsp)", "\x48\x87\x54\x24\x88", 5 },
	{ "jo", "\x70\x40", 2 },
	{ "jmp", "\xeb\x40", 2 },
};

#define SAMPLES_COUNT	(sizeof(samples) / sizeof(*samples))

static struct record_model model;
static struct outcome original, outcome;

u64 record_stamp(void)
{
	unsigned int aux;

	return __builtin_ia32_rdtscp(&aux);
}

u64 record_thread(void)
{
	u64 base;

	asm volatile("rdfsbase %0" : "=r"(base));
	return base;
}

int record_make(u8 *code, size_t size, unsigned long at,
		const struct uhook_recorder *recorder, int form)
{
	(void)form;
	return uhook_record_code(code, size, at, recorder);
}

static void choose(struct uhook_recorder *recorder)
{
	const u64 random = random_next();
	unsigned int i;

	recorder->ring = RING;
	recorder->lost = record_counter(&model);
	recorder->id = random_next();
	recorder->nr_regs = random % (UHOOK_RECORD_ARGS + 1);
	recorder->stack = random >> 8 & 1;
	/* Half of them are registers that the code uses itself. */
	for (i = 0; i < UHOOK_RECORD_ARGS; i++) {
		const u64 reg = random_next();

		recorder->regs[i] = reg >> 8 & 1 ? reg % 5 : reg % 16;
	}
}

/* Anywhere, but in steps of 8 when others fault. */
static u64 random_sp_at_edges(void)
{
	const u64 random = random_next();

	switch (random & 3) {
	case 0:
		return STACK + STACK_SIZE - (random >> 8) % 48;
	case 1:
		return STACK + (2 + (random >> 8) % 13) * PAGE + 16 - (random >> 16) % 64;
	default:
		return STACK + PAGE + (random >> 8) % (STACK_SIZE - PAGE);
	}
}

static void expect_hit(const struct uhook_recorder *recorder, struct record_hit *hit)
{
	record_expect(recorder, jump_wanted, jump_wanted[RSP],
		      run_stack + jump_wanted[RSP] - STACK, hit);
}

/* A recorder that is stepped, up to a simulated concurrent change. */
static struct {
	const struct uhook_recorder *recorder;
	unsigned long at;
	unsigned long end;
	unsigned int steps;
} stepped;

static void handle_step(int signal, siginfo_t *info, void *data)
{
	greg_t *regs = ((ucontext_t *)data)->uc_mcontext.gregs;
	const unsigned long ip = regs[REG_RIP];

	(void)signal;
	(void)info;
	/* On its way to the recorder. */
	if (stepped.steps && (ip < stepped.at || ip > stepped.end))
		return;
	if (stepped.steps && ip < stepped.end) {
		if (--stepped.steps)
			return;
		record_meddle(&model, stepped.recorder);
	}
	stepped.steps = 0;
	regs[REG_EFL] &= ~FLAG_TF;
}

/* The handler cannot run with FLAG_AC. */
static void step(const struct uhook_recorder *recorder, unsigned long at, unsigned long end)
{
	static const unsigned int most = 80;

	stepped.recorder = recorder;
	stepped.at = at;
	stepped.end = end;
	stepped.steps = 1 + random_next() % most;
	jump_wanted[RFLAGS] &= ~FLAG_AC;
	jump_wanted[RFLAGS] |= FLAG_TF;
	run(at, &outcome, jump_enter);
	jump_wanted[RFLAGS] &= ~FLAG_TF;
}

static void set_handler(void)
{
	static char alternate_stack[1 << 16];
	stack_t alternate = { .ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack) };
	struct sigaction action = {
		.sa_sigaction = handle_step, .sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	sigaltstack(&alternate, NULL);
	sigaction(SIGTRAP, &action, NULL);
}

static void check_recorder(u32 which)
{
	const unsigned long at = BODIES + random_next() % PAGE;
	struct uhook_recorder recorder;
	struct record_hit hit;
	int len;

	choose(&recorder);
	len = record_put(at, &recorder, 0);
	put_end(at + len, 0);
	make_regs(which, random_sp_at_edges());
	expect_hit(&recorder, &hit);
	record_prepare(&model, &recorder);

	hit.before = record_stamp();
	if (which % STEPPED)
		run(at, &outcome, jump_enter);
	else
		step(&recorder, at, at + len);
	hit.after = record_stamp();
	expect_outcome("a recorder", &outcome, jump_wanted, run_stack, BELOW);
	record_check(&model, &recorder, &hit);
}

/* An instruction, and [count][record][copy][jump] in its place. */
static void check_body(unsigned int sample, u32 which)
{
	const unsigned long site = SITES + random_next() % (PAGE / 2);
	const unsigned long next = site + samples[sample].len;
	const unsigned long body = BODIES + random_next() % PAGE;
	const unsigned long cell = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	struct uhook_recorder recorder;
	struct record_hit hit;
	struct uhook_copy copy;
	unsigned long at = body, lane;

	memcpy((void *)site, samples[sample].bytes, samples[sample].len);
	put_end(next, 0);
	put_end(next + 0x40, 1);
	choose(&recorder);
	at += uhook_count_code((u8 *)at, RECORD_MAX, at, cell);
	at += record_put(at, &recorder, 0);
	if (uhook_relocate_branch((void *)site, samples[sample].len, site, at, &copy)) {
		complain("%s is not relocated", samples[sample].name);
		exit(1);
	}
	memcpy((void *)at, copy.bytes, copy.len);
	make_regs(which, random_sp_at_edges());
	expect_hit(&recorder, &hit);
	record_prepare(&model, &recorder);
	run(site, &original, jump_enter);

	memset((void *)site, 0xcc, samples[sample].len);
	memset((void *)LANES, 0, LANES_SIZE);
	hit.before = record_stamp();
	run(body, &outcome, jump_enter);
	hit.after = record_stamp();
	expect_outcome(samples[sample].name, &outcome, original.regs, original.stack, BELOW);
	if (original.ended != outcome.ended)
		complain("%s: another end", samples[sample].name);
	record_check(&model, &recorder, &hit);
	lane = (jump_wanted[RSP] - RED_ZONE - 16) % LANES_SIZE & -UHOOK_LANE_SIZE;
	if (*(u64 *)(cell + lane) != 1)
		complain("%s: not counted", samples[sample].name);
}

static void set_up(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

	/* A recorder that does not end ends the test. */
	run_set_up(300);
	/* The stack ends where mapped memory ends. */
	map_at(STACK + STACK_SIZE, PAGE, PROT_NONE);
	map_at(BODIES, 2 * PAGE, all);
	map_at(CODE, PAGE, all);
	map_at(LANES, LANES_SIZE, PROT_READ | PROT_WRITE);
	model.ring = map_at(RING, RING_SIZE, PROT_READ | PROT_WRITE);
	model.counters = map_at(COUNTERS, COUNTERS_SIZE, PROT_READ | PROT_WRITE);
	record_fill(&model);
	set_handler();
}

static void bench(void)
{
	struct uhook_recorder recorder = { .ring = RING, .lost = COUNTERS, .id = 1 };
	unsigned int i;

	memcpy(recorder.regs, record_arch.regs, sizeof(recorder.regs));
	for (i = 0; i < 3; i++) {
		recorder.nr_regs = i ? i * 4 - 2 : 0;
		recorder.stack = i == 2;
		printf("%u registers%s: %d bytes, %.1f ns\n", recorder.nr_regs,
		       recorder.stack ? " and the stack" : "",
		       uhook_record_code((u8 *)CODE, RECORD_MAX, CODE, &recorder),
		       record_cost(CODE, RING, 20000000, &recorder, 0));
	}
}

static void run_all(unsigned long rounds)
{
	unsigned int i;
	u32 which;

	while (rounds--) {
		for (which = 0; which < 64 << FLAGS_COUNT; which++)
			check_recorder(which);
		for (i = 0; i < SAMPLES_COUNT; i++) {
			for (which = 0; which < 1 << FLAGS_COUNT; which++)
				check_body(i, which);
		}
	}
	record_report(64);
	record_errors(0);
	record_threads(CODE, RING, THREAD_CALLS, false, 0);
	record_threads(CODE, RING, THREAD_CALLS, true, 0);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1, only_bench = 0;

	read_options(argc, argv, "r:b", &rounds, &only_bench);
	set_up();
	if (only_bench)
		bench();
	else
		run_all(rounds);
	return verdict();
}
