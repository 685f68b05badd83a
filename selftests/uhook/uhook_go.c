// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program with the note of Go's linker.
 *
 * Spans are refused in Go programs, which are known by this note. The program prints the
 * offset of a function.
 */
#include "uhook_test.h"

asm(".pushsection .note.go.buildid, \"a\", %note\n"
"	.balign 4\n"
"	.long 4, 4, 4\n"
"	.asciz \"Go\"\n"
"	.balign 4\n"
"	.long 0\n"
".popsection\n");

static __attribute__((noinline)) void function(void)
{
	asm volatile("" : : : "memory");
}

int main(void)
{
	function();
	say_offset("function", function);

	return 0;
}
