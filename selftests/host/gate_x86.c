// SPDX-License-Identifier: GPL-2.0
/*
 * Run the gates of x86_64
 *
 * Usage: gate-x86 [-s SEED] [-r ROUNDS]
 *
 * A body counts, calls a handler, does what an instruction does and jumps back. It
 * runs from random registers, flags, vectors and memory. The handler checks the
 * registers that it gets, overwrites all that it may, and changes some registers. The
 * result must be that of the instruction with the changed registers, and the vectors
 * must be unchanged. The tests of gate.c follow.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "gate.h"
#include "run_state_x86.h"

#define BODIES		0x21000000UL
#define LANES		0x22000000UL
#define CODE		0x23000000UL
#define POOL		0x24000000UL
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)

/* Bytes below that which a call may use: return address, registers and mark. */
#define BELOW		(8 + 144 + 8)

static const struct {
	u8 bytes[8];
	u8 len;
} samples[] = {
	{ "\x90", 1 },				/* nop */
	{ "\x55", 1 },				/* push %rbp */
	{ "\x9c", 1 },				/* pushfq */
	{ "\x48\x89\xe0", 3 },			/* mov %rsp,%rax */
	{ "\x48\x11\xca", 3 },			/* adc %rcx,%rdx */
	{ "\x48\x8b\x4c\x24\xf8", 5 },		/* mov -8(%rsp),%rcx */
	{ "\x48\x87\x4c\x24\x80", 5 },		/* xchg %rcx,-0x80(%rsp) */
	{ "\x74\x40", 2 },			/* je . + 66 */
	{ "\xeb\x40", 2 },			/* jmp . + 66 */
};

#define SAMPLES_COUNT	(sizeof(samples) / sizeof(*samples))

#define CASE(ret, name, bytes)	{ name, bytes, sizeof(bytes) - 1, ret }

static const struct gate_case cases[] = {
	CASE(0, "ret", "\xc3"),
	CASE(0, "endbr64 and ret", "\xf3\x0f\x1e\xfa\xc3"),
	CASE(0, "lea of itself", "\x48\x8d\x05\xf9\xff\xff\xff\xc3"),
	CASE(0, "load of the end", "\x8a\x05\x00\x00\x00\x00\xc3"),
	CASE(0, "jmp to itself", "\xeb\xfe"),
	CASE(0, "call within", "\xe8\x01\x00\x00\x00\xc3\xc3"),
	CASE(0, "jrcxz within", "\xe3\x00\xc3"),
	CASE(0, "je within", "\x0f\x84\x00\x00\x00\x00\xc3"),
	CASE(0, "lock xadd", "\xf0\x48\x0f\xc1\x06\xc3"),
	CASE(-EINVAL, "rip-relative behind", "\x8a\x05\x01\x00\x00\x00\xc3"),
	CASE(-EINVAL, "rip-relative before", "\x48\x8d\x05\xf8\xff\xff\xff\xc3"),
	CASE(-EINVAL, "VEX, rip-relative behind", "\xc5\xf9\x6f\x05\x10\0\0\0\xc3"),
	CASE(-EINVAL, "jmp behind", "\xeb\x01\xc3"),
	CASE(-EINVAL, "jmp before", "\xeb\xfd\xc3"),
	CASE(-EINVAL, "jne behind", "\x75\x01\xc3"),
	CASE(-EINVAL, "near je behind", "\x0f\x84\x01\x00\x00\x00\xc3"),
	CASE(-EINVAL, "jmp far behind", "\xe9\x00\x00\x00\x70\xc3"),
	CASE(-EINVAL, "call behind", "\xe8\x00\x10\x00\x00\xc3"),
	CASE(-EINVAL, "jmp into an instruction", "\xeb\x01\xb8\x90\x90\x90\x90\xc3"),
	CASE(-EINVAL, "jmp back into an instruction", "\xb8\x90\x90\x90\x90\xeb\xfa\xc3"),
	CASE(-EINVAL, "jrcxz into an instruction", "\xe3\x01\xb0\x90\xc3"),
	CASE(-EINVAL, "off the end", "\x90"),
	CASE(-EINVAL, "off the end with a condition", "\x74\xfe"),
	CASE(-EINVAL, "off the end with a call", "\xe8\xfb\xff\xff\xff"),
	CASE(-EINVAL, "off the end with vpor", "\xc5\xf9\xeb\xc0"),
	CASE(-EINVAL, "truncated mov", "\xc3\xb8\x90\x90"),
	CASE(-EINVAL, "truncated branch", "\xc3\xeb"),
	CASE(-EOPNOTSUPP, "syscall", "\x0f\x05\xc3"),
	CASE(-EOPNOTSUPP, "sysenter", "\x0f\x34\xc3"),
	CASE(-EOPNOTSUPP, "int $0x80", "\xcd\x80\xc3"),
	CASE(-EOPNOTSUPP, "int3", "\xcc\xc3"),
	CASE(-EOPNOTSUPP, "int1", "\xf1\xc3"),
	CASE(-EOPNOTSUPP, "ud2", "\xc3\x0f\x0b"),
	CASE(-EOPNOTSUPP, "hlt", "\xf4\xc3"),
	CASE(-EOPNOTSUPP, "jmp *%rax", "\xff\xe0"),
	CASE(-EOPNOTSUPP, "notrack jmp *%rax", "\x3e\xff\xe0"),
	CASE(-EOPNOTSUPP, "jmp *(%rax)", "\xff\x20"),
	CASE(-EOPNOTSUPP, "call *%rax", "\xff\xd0\xc3"),
	CASE(-EOPNOTSUPP, "call *(%rip)", "\xff\x15\x00\x00\x00\x00\xc3"),
	CASE(-EOPNOTSUPP, "far jmp", "\xff\x28\xc3"),
	CASE(-EOPNOTSUPP, "ret $8", "\xc2\x08\x00"),
	CASE(-EOPNOTSUPP, "lret", "\xcb"),
	CASE(-EOPNOTSUPP, "jmp with 66", "\x66\xe9\x00\x00\x00\x00\xc3"),
	CASE(-EOPNOTSUPP, "no instruction", "\x06\xc3"),
	{}
};

const struct gate_arch gate_arch = {
	.code = CODE,
	.pool = POOL,
	.ret = { 0x48, 0x89, 0xf8, 0xc3 },	/* mov %rdi,%rax; ret */
	.ret_len = 4,
	.cases = cases,
};

static unsigned long runs, spared;
static u64 xsave_mask;
static u32 xsave_mask_low, xsave_mask_high;
static unsigned int xsave_size;
/* States of XSAVE: before a body, after it, and an initial one. */
static u8 begun[16384] __aligned(64), left[16384] __aligned(64), initial[16384] __aligned(64);
static struct outcome original, outcome;
/* Registers that the handler sets, and the address of the site. */
static u64 changed[REGS], site;
static bool with_vectors;

struct uhook_gate gate_of(bool vectors)
{
	return (struct uhook_gate) {
		.pool = POOL, .page_size = GATE_PAGE, .vectors = vectors,
		.xsave_mask = xsave_mask, .xsave_size = xsave_size,
	};
}

u64 gate_call_bare(gate_site *call, u64 arg)
{
	u64 base;

	asm volatile("sub $128, %%rsp\n\t"
		     "rdfsbase %0\n\t"
		     "wrfsbase %2\n\t"
		     "call *%3\n\t"
		     "wrfsbase %0\n\t"
		     "add $128, %%rsp"
		     : "=&r"(base), "+D"(arg) : "r"(0UL), "r"(call) : "rax", "memory", "cc");
	return arg;
}

static void xsave(u8 *state)
{
	asm volatile("xsave64 (%0)" : : "r"(state), "a"((u32)xsave_mask),
		     "d"((u32)(xsave_mask >> 32)) : "memory");
}

static void xrstor(const u8 *state)
{
	asm volatile("xrstor64 (%0)" : : "r"(state), "a"((u32)xsave_mask),
		     "d"((u32)(xsave_mask >> 32)) : "memory");
}

/* All but the tiles and protection keys, as in the kernel. */
static void ask_processor(void)
{
	u32 a, b, c, d;

	asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	xsave_mask = ((u64)d << 32 | a) & 0xe7;
	xsave_mask_low = xsave_mask;
	xsave_mask_high = xsave_mask >> 32;
	__cpuid_count(13, 0, a, b, c, d);
	xsave_size = b;
	printf("XSAVE: mask %lx, %u bytes\n", (long)xsave_mask, xsave_size);
	xsave(initial);
}

/* Nonsense in all vectors and x87 registers, and another rounding. */
static void fill_state(u8 *state)
{
	size_t i, offset;
	u32 a, b, c, d, mxcsr = 0x1f80 | (random_next() & 3) << 13;
	u16 control = 0x37f | (random_next() & 3) << 10;

	memcpy(state, initial, sizeof(initial));
	memcpy(state, &control, sizeof(control));
	memcpy(state + 24, &mxcsr, sizeof(mxcsr));
	state[4] = 0xff;
	for (i = 32; i < 416; i += 8)
		*(u64 *)(state + i) = random_next();
	for (i = 32; i < 160; i += 16)
		memset(state + i + 10, 0, 6);
	*(u64 *)(state + 512) = xsave_mask;
	for (c = 2; c < 8; c++) {
		if (!(xsave_mask >> c & 1))
			continue;
		__cpuid_count(13, c, a, b, i, d);
		offset = b;
		for (i = 0; i < a; i += 8)
			*(u64 *)(state + offset + i) = random_next();
	}
}

static bool same_states(void)
{
	/* XSAVE does not write a part in its initial state: skip it. */
	return !memcmp(begun, left, 6) && !memcmp(begun + 24, left + 24, 4) &&
	       !memcmp(begun + 32, left + 32, 384) &&
	       !memcmp(begun + 512, left + 512, 8) &&
	       !memcmp(begun + 576, left + 576, xsave_size - 576);
}

/* Into the code with all the state there is. */
static noinline void enter(void)
{
	asm volatile("sub $128, %%rsp\n\t"
		     "xrstor64 begun(%%rip)\n\t"
		     "call jump_enter\n\t"
		     "mov %0, %%eax\n\t"
		     "mov %1, %%edx\n\t"
		     "xsave64 left(%%rip)\n\t"
		     "xrstor64 initial(%%rip)\n\t"
		     "add $128, %%rsp"
		     : : "m"(xsave_mask_low), "m"(xsave_mask_high),
		     "a"((u32)xsave_mask), "d"((u32)(xsave_mask >> 32))
		     : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc",
		     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
		     "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static void run_all(unsigned long start, struct outcome *out)
{
	fill_state(begun);
	memset(left, 0, sizeof(left));
	run(start, out, enter);
}

/* In the order of their numbers: where each register is. */
static __u64 *reg_of(struct uhook_user_regs *r, unsigned int i)
{
	__u64 *const regs[REGS] = {
		&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->sp, &r->rbp, &r->rsi, &r->rdi,
		&r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15,
		&r->flags,
	};

	return regs[i];
}

static void spoil_vectors(void)
{
	static const u32 mxcsr = 0x1fbf ^ 0x6000;
	static u8 other[16384] __aligned(64);

	fill_state(other);
	xrstor(other);
	asm volatile("fninit\n\tfld1\n\tldmxcsr %0" : : "m"(mxcsr));
	asm volatile("emms\n\tldmxcsr %0" : : "m"(*(u32 *)(initial + 24)));
}

static void look(struct uhook_user_regs *regs, u64 *data)
{
	u64 now, i;

	for (i = 0; i < REGS; i++) {
		if (*reg_of(regs, i) != jump_wanted[i])
			complain("the handler gets register %lu as %lx and not %lx", (long)i,
				 (long)*reg_of(regs, i), (long)jump_wanted[i]);
	}
	if (regs->ip != site)
		complain("the handler gets ip %lx and not %lx", (long)regs->ip, (long)site);
	if (data != gate_data)
		complain("the handler gets its data at %lx", (long)data);
	asm volatile("pushfq\n\tpop %0" : "=r"(now));
	if (now & (FLAG_AC | FLAG_DF))
		complain("the handler has the flags %lx", (long)now);
	if ((unsigned long)__builtin_frame_address(0) % 16)
		complain("the handler's stack is at %p", __builtin_frame_address(0));
}

static void change(struct uhook_user_regs *regs, u64 *data)
{
	u64 i;

	for (i = 0; i < REGS; i++)
		*reg_of(regs, i) = changed[i];
	regs->sp = random_next();
	regs->ip = random_next();
	data[0]++;
	data[7] += 5;
}

static void spoil(struct uhook_user_regs *regs, u64 *data)
{
	volatile u8 deep[UHOOK_STACK_SIZE / 2];
	size_t i;

	look(regs, data);
	for (i = 0; i < sizeof(deep); i += 64)
		deep[i] = i;
	change(regs, data);
	spoil_vectors();
}

/* For a gate without vectors: nothing of the kind. */
static void __attribute__((target("general-regs-only")))
spare(struct uhook_user_regs *regs, u64 *data)
{
	const u64 values[REGS] = {
		regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->sp, regs->rbp, regs->rsi,
		regs->rdi, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
		regs->r14, regs->r15, regs->flags,
	};
	u64 i, wrong = regs->ip != site;

	for (i = 0; i < REGS; i++)
		wrong |= values[i] ^ jump_wanted[i];
	regs->rax = changed[0];
	regs->rcx = changed[1];
	regs->rdx = changed[2];
	regs->rbx = changed[3];
	regs->rbp = changed[5];
	regs->rsi = changed[6];
	regs->rdi = changed[7];
	for (i = 8; i < 16; i++)
		(&regs->r8)[8 - (long)i] = changed[i];
	regs->flags = changed[RFLAGS];
	data[0]++;
	data[7] += 5;
	data[1] += !!wrong;
}

static void make_states(void)
{
	const u64 which = random_next();
	size_t i;

	make_regs(random_next(), random_sp());
	for (i = 0; i < RFLAGS; i++)
		changed[i] = which >> i & 1 ? random_next() : jump_wanted[i];
	changed[RSP] = jump_wanted[RSP];
	changed[RFLAGS] = which >> 16 & 1 ? jump_flags(random_next()) : jump_wanted[RFLAGS];
	/* An unaligned stack and the flag that faults there are not for return. */
	if (jump_wanted[RSP] & 7)
		changed[RFLAGS] &= ~FLAG_AC;
}

static void check_state(unsigned int sample)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", sample);
	expect_outcome(name, &outcome, original.regs, original.stack, BELOW);
	if (outcome.ended != original.ended)
		complain("%u: another end", sample);
	if (!same_states())
		complain("%u: other vectors", sample);
}

static void check_words(unsigned int sample, unsigned long cell)
{
	const unsigned long lane = (jump_wanted[RSP] - RED_ZONE - 16) % LANES_SIZE &
				   -UHOOK_LANE_SIZE;
	u64 expected[UHOOK_DATA_WORDS] = { [0] = 1, [7] = 5 };

	if (memcmp(gate_data, expected, sizeof(expected)))
		complain("%u: the data are %lu %lu", sample, (long)gate_data[0],
			 (long)gate_data[1]);
	if (gate_missed)
		complain("%u: missed", sample);
	if (*(u64 *)(cell + lane) != 1)
		complain("%u: not counted", sample);
	if (gate_owned())
		complain("%u: a stack is owned", sample);
}

static void check_body(unsigned int sample)
{
	const unsigned long body = BODIES + random_next() % PAGE;
	const unsigned long cell = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	const u8 len = samples[sample].len;
	unsigned long at = body;
	struct uhook_copy copy;
	u64 wanted[REGS];

	site = SITES + random_next() % (PAGE / 2);
	memcpy((void *)site, samples[sample].bytes, len);
	put_end(site + len, 0);
	put_end(site + len + 0x40, 1);
	with_vectors = random_next() & 1;
	spared += !with_vectors;
	at += uhook_count_code((u8 *)at, 128, at, cell);
	at += gate_put_call(at, with_vectors, with_vectors ? spoil : spare, site);
	if (uhook_relocate_branch((void *)site, len, site, at, &copy)) {
		complain("not relocated");
		exit(1);
	}
	memcpy((void *)at, copy.bytes, copy.len);

	make_states();
	memcpy(wanted, jump_wanted, sizeof(wanted));
	memcpy(jump_wanted, changed, sizeof(changed));
	run_all(site, &original);
	memcpy(jump_wanted, wanted, sizeof(wanted));
	memset((void *)site, 0xcc, len);
	memset((void *)LANES, 0, LANES_SIZE);
	memset(gate_data, 0, sizeof(gate_data));
	/* Old contents of the stack, which XRSTOR would reject. */
	memset((void *)POOL + GATE_PAGE + UHOOK_STACK_SIZE - PAGE, 0xa5, PAGE);
	run_all(body, &outcome);
	check_state(sample);
	check_words(sample, cell);
	runs++;
}

static void set_up(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

	/* A gate that does not end ends the test. */
	run_set_up(300);
	map_at(BODIES, 2 * PAGE, all);
	map_at(LANES, LANES_SIZE, PROT_READ | PROT_WRITE);
	ask_processor();
	gate_set_up();
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1000, round;
	unsigned int i;

	read_options(argc, argv, "r:", &rounds);
	set_up();

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < SAMPLES_COUNT; i++)
			check_body(i);
	}
	printf("%lu bodies run, %lu without vectors\n", runs, spared);
	gate_test();
	return verdict();
}
