// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program with USDT probes.
 *
 *	uhook_usdt	pass each of its probes 100 times, and print how often the semaphore of
 *			the second one was up: "up N"
 *
 * The test of the command fhook also uses a stripped copy of it, and names its functions, their
 * parameters and members of these, and a line, which a debug file has.
 */
#include "uhook_test.h"

#define PASSES	100

#if defined(__x86_64__)
#define ARGUMENTS	"-8@%rdi 8@%rsi -4@$-7"
#elif defined(__aarch64__)
#define ARGUMENTS	"-8@x0 8@x1 -4@-7"
#endif

asm(".pushsection .stapsdt.base, \"a\", %progbits\n"
"usdt_base: .space 1\n"
".popsection\n");

/* A probe that finds N and TEXT where a function has its first parameters. */
#define PROBE(name, semaphore)						\
	"990: nop\n"							\
	".pushsection .note.stapsdt, \"\", %note\n"			\
	".balign 4\n"							\
	".4byte 992f - 991f, 994f - 993f, 3\n"				\
	"991: .asciz \"stapsdt\"\n"					\
	"992: .balign 4\n"						\
	"993: .8byte 990b, usdt_base, " semaphore "\n"			\
	".asciz \"uhook\", \"" name "\", \"" ARGUMENTS "\"\n"		\
	"994: .balign 4\n"						\
	".popsection\n"

volatile unsigned short usdt_semaphore __attribute__((section(".probes"), used));

void usdt_probes(long n, const char *text);
asm(".pushsection .text\n"
".globl usdt_probes\n"
".type usdt_probes, %function\n"
"usdt_probes:\n"
	PROBE("plain", "0")
	PROBE("guarded", "usdt_semaphore")
"	ret\n"
".size usdt_probes, . - usdt_probes\n"
".popsection\n");

/* At its entry, KIND is in a register, but the compiler says only where it is kept later. */
static long __attribute__((noinline, noclone)) pass(long n, const char *text, int kind)
{
	asm volatile("" : : "r" (&kind) : "memory");
	usdt_probes(n, text);
	return usdt_semaphore != 0; /* the line */
}

enum state { STATE_NEW, STATE_SOLD = 7 };
enum mark { MARK_NONE, MARK_RED, MARK_BLUE, MARK_BIG = 4 };

struct item {
	const char *name;
	struct {
		unsigned int cents;
		unsigned int taxed : 1, kind : 5;
	} price;
	char code[8];
	enum state state;
	enum mark marks;
	struct item *next;
};

static void __attribute__((noipa)) sell(struct item *item, enum state from)
{
	asm volatile("" : : "r" (item), "r" (from) : "memory");
}

int main(void)
{
	struct item next = { "next", { 5, 0, 2 }, "two", STATE_SOLD, MARK_NONE };
	struct item item = { "item", { 0, 1, 21 }, "one", STATE_NEW, MARK_RED | MARK_BIG, &next };
	long n, up = 0;

	for (n = 0; n < PASSES; n++) {
		up += pass(n, "a text", -3);
		item.price.cents = n;
		item.state = n == 98 ? 9 : STATE_NEW;
		sell(&item, n == 97 ? STATE_SOLD : STATE_NEW);
	}
	printf("up %ld\n", up);
	return 0;
}
