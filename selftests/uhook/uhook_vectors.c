// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: vector registers of a program whose hook calls a handler that changes them all.
 *
 *	uhook_vectors offsets		where: the function "work" and its "handler"
 *	uhook_vectors kind		the widest registers that are tested here
 *	uhook_vectors work N		N calls, with a value in each register, which it must
 *					have afterwards, too; prints the calls of the handler
 */
#include <string.h>

#include "uhook_test.h"

UHOOK_FUNCTION(vectors_work);

/* All vector registers, and on x86_64 the mask registers after them */
struct vectors {
	unsigned char bytes[32 * 64 + 8 * 8];
} __attribute__((aligned(64)));

#if defined(__x86_64__)
/*
 * vectors_round_KIND(in, out) - load registers from @in, call the function, store them to @out
 *
 * vectors_change_KIND() - change them all
 */
asm(".macro round kind, move, register, width, last\n"
	"vectors_round_\\kind:\n"
	"	push %rbx\n"
	"	mov %rsi, %rbx\n"
	"	.set n, 0\n"
	"	.rept \\last + 1\n"
	"		move_in \\move, \\register, \\width, %n\n"
	"		.set n, n + 1\n"
	"	.endr\n"
	"	masks_in_\\kind\n"
	"	call vectors_work\n"
	"	.set n, 0\n"
	"	.rept \\last + 1\n"
	"		move_out \\move, \\register, \\width, %n\n"
	"		.set n, n + 1\n"
	"	.endr\n"
	"	masks_out_\\kind\n"
	"	pop %rbx\n"
	"	ret\n"
	"vectors_change_\\kind:\n"
	"	.set n, 0\n"
	"	.rept \\last + 1\n"
	"		move_same \\move, \\register, %n\n"
	"		.set n, n + 1\n"
	"	.endr\n"
	"	masks_change_\\kind\n"
	"	ret\n"
	".endm\n"
	".altmacro\n"
	".macro move_in move, register, width, n\n"
	"	\\move \\width * \\n(%rdi), %\\register\\n\n"
	".endm\n"
	".macro move_out move, register, width, n\n"
	"	\\move %\\register\\n, \\width * \\n(%rbx)\n"
	".endm\n"
	/* From the code, which differs from the pattern. */
	".macro move_same move, register, n\n"
	"	\\move vectors_round_sse(%rip), %\\register\\n\n"
	".endm\n"
	".macro masks_in_sse\n.endm\n"
	".macro masks_out_sse\n.endm\n"
	".macro masks_change_sse\n.endm\n"
	".macro masks_in_avx\n.endm\n"
	".macro masks_out_avx\n.endm\n"
	".macro masks_change_avx\n.endm\n"
	".macro masks_in_avx512\n"
	"	.irp n, 1, 2, 3, 4, 5, 6, 7\n"
	"		kmovw 2048 + 8 * \\n(%rdi), %k\\n\n"
	"	.endr\n"
	".endm\n"
	".macro masks_out_avx512\n"
	"	.irp n, 1, 2, 3, 4, 5, 6, 7\n"
	"		kmovw %k\\n, 2048 + 8 * \\n(%rbx)\n"
	"	.endr\n"
	".endm\n"
	".macro masks_change_avx512\n"
	"	.irp n, 1, 2, 3, 4, 5, 6, 7\n"
	"		kxnorw %k\\n, %k\\n, %k\\n\n"
	"	.endr\n"
	".endm\n"
	".text\n"
	"vectors_work:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"round sse, movdqu, xmm, 16, 15\n"
	"round avx, vmovdqu, ymm, 32, 15\n"
	"round avx512, vmovdqu64, zmm, 64, 31\n"
	".noaltmacro\n");

void vectors_round_sse(const struct vectors *in, struct vectors *out);
void vectors_round_avx(const struct vectors *in, struct vectors *out);
void vectors_round_avx512(const struct vectors *in, struct vectors *out);
void vectors_change_sse(void);
void vectors_change_avx(void);
void vectors_change_avx512(void);

#define GENERAL_REGISTERS	__attribute__((target("general-regs-only")))
#elif defined(__aarch64__)
#define REGISTERS \
	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

asm(".text\n"
	"vectors_work:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"vectors_round_neon:\n"
	"	stp x19, x30, [sp, #-16]!\n"
	"	mov x19, x1\n"
	"	.irp n, " REGISTERS "\n"
	"		ldr q\\n, [x0, #16 * \\n]\n"
	"	.endr\n"
	"	bl vectors_work\n"
	"	.irp n, " REGISTERS "\n"
	"		str q\\n, [x19, #16 * \\n]\n"
	"	.endr\n"
	"	ldp x19, x30, [sp], #16\n"
	"	ret\n"
	"vectors_change_neon:\n"
	"	.irp n, " REGISTERS "\n"
	"		movi v\\n\\().16b, #0xee\n"
	"	.endr\n"
	"	ret\n");

void vectors_round_neon(const struct vectors *in, struct vectors *out);
void vectors_change_neon(void);

#define GENERAL_REGISTERS	__attribute__((target("general-regs-only")))
#endif

/**
 * struct kind - a kind of vector registers
 * @name: name of the kind, as the program prints it
 * @round: load the registers, call the function, and store them
 * @change: change the registers
 * @bytes: size of all vector registers together
 * @masks: whether there are mask registers after them
 */
struct kind {
	const char *name;
	void (*round)(const struct vectors *in, struct vectors *out);
	void (*change)(void);
	size_t bytes;
	int masks;
};

/* The last that the processor has is tested. */
static const struct kind kinds[] = {
#if defined(__x86_64__)
	{ "SSE", vectors_round_sse, vectors_change_sse, 16 * 16, 0 },
	{ "AVX", vectors_round_avx, vectors_change_avx, 16 * 32, 0 },
	{ "AVX-512", vectors_round_avx512, vectors_change_avx512, 32 * 64, 1 },
#elif defined(__aarch64__)
	{ "NEON", vectors_round_neon, vectors_change_neon, 32 * 16, 0 },
#endif
};

static const struct kind *kind = &kinds[0];
static volatile long handled;

/* Hooks call it, by its offset. */
GENERAL_REGISTERS __attribute__((used, noinline))
static void handler(void *regs, void *data)
{
	(void)regs;
	(void)data;
	handled++;
	kind->change();
}

static void choose_kind(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx"))
		kind = &kinds[1];
	if (__builtin_cpu_supports("avx512f"))
		kind = &kinds[2];
#endif
}

/* The pattern depends on the round, so that a stale value is found. */
static void fill(struct vectors *v, long round)
{
	size_t i;

	for (i = 0; i < sizeof(v->bytes); i++)
		v->bytes[i] = i * 7 + round * 13 + 1;
}

static void compare(const struct vectors *in, const struct vectors *out, long round)
{
	size_t i;

	for (i = 0; i < kind->bytes; i++)
		check(in->bytes[i] == out->bytes[i], "round %ld: byte %zu is %#x, not %#x",
		      round, i, out->bytes[i], in->bytes[i]);
	for (i = 1; kind->masks && i < 8; i++)
		check(!memcmp(in->bytes + 2048 + 8 * i, out->bytes + 2048 + 8 * i, 2),
		      "round %ld: mask register %zu has changed", round, i);
}

int main(int argc, char **argv)
{
	static struct vectors in, out;
	long round;

	choose_kind();
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("work", vectors_work);
		say_offset("handler", handler);
	} else if (argc == 2 && !strcmp(argv[1], "kind")) {
		printf("%s\n", kind->name);
	} else if (argc == 3 && !strcmp(argv[1], "work")) {
		for (round = 0; round < atol(argv[2]); round++) {
			fill(&in, round);
			kind->round(&in, &out);
			compare(&in, &out, round);
		}
		printf("handled %ld\n", handled);
	}

	return 0;
}
