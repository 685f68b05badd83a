// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a no-op that mainline replaces with a call when it has a probe.
 *
 *	uhook_nop offsets	the probed no-op
 *	uhook_nop hold N	run it N times; "held" and the bytes of its text; when a line
 *				was read, run it N times again; "done" and the bytes
 *
 * On x86_64, the no-op has ten bytes: uprobes of Linux 6.12 refuse its prefix, and those of 7.3
 * write the call over it.
 */
#include <string.h>

#include "uhook_test.h"

UHOOK_FUNCTION(nop_function);

#if defined(__x86_64__)
#define NOP	".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"
#define BYTES	10
#define RESULT	"mov %rdi, %rax"
#elif defined(__aarch64__)
#define NOP	"nop"
#define BYTES	4
#define RESULT	"nop"
#endif

/* In one page, which is a condition for the call. */
asm(".text\n"
	"	.balign 16\n"
	"nop_function:\n"
	"	" NOP "\n"
	"	" RESULT "\n"
	"	ret\n");

static void hit(const char *state, long count)
{
	const volatile unsigned char *text = (void *)nop_function;
	long i;

	for (i = 0; i < count; i++)
		check(nop_function(i) == i, "the function does not return its argument %ld", i);
	printf("%s", state);
	for (i = 0; i < BYTES; i++)
		printf(" %02x", text[i]);
	puts("");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("nop", nop_function);
	} else if (argc == 3 && !strcmp(argv[1], "hold")) {
		hit("held", atol(argv[2]));
		getchar();
		hit("done", atol(argv[2]));
	} else {
		fail("it wants offsets, or hold and a number");
	}

	return 0;
}
