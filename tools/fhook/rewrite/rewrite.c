// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: put the stubs of a call trace into an executable or library
 *
 * Usage: fhook-rewrite -f LIST -o OUT IN
 *
 * No code is moved. The instructions at the entries and exits of a function are replaced by
 * jumps to stubs in a new segment, and copies of these instructions run there. A function is
 * rewritten with all of its entries and exits, or refused with a reason. In a stripped file,
 * names are those of its debug file, or made from addresses in its unwind information.
 *
 * Inlined functions are not seen. A function that does not return needs no exit. An
 * exception that leaves a function is recorded where it arrives.
 *
 * Symbols and debug information stay as they are, and strip and objcopy can copy the result.
 */
#include <argp.h>
#include "rewrite.h"

static int check_output(const char *output, struct fault *fault)
{
	return output ? 0 : fault_say(fault, "The result is a program: say where with -o FILE.");
}

int main(int argc, char **argv)
{
	static struct rewrite rewrite;
	static const struct argp_child more[] = { { .argp = &names_argp },
						   { .argp = &leaves_argp }, { } };
	struct rewrite *rw = &rewrite;
	struct fault fault;
	int ret;

	instrument_parse(&rw->run, argc, argv, "IN",
			 "Put stubs for a call trace into an executable or a shared library.",
			 more);
	ret = check_output(rw->run.output, &fault);
	ret = ret ?: choose_all(rw, &fault);
	ret = ret ?: file_check(&rw->image, &fault);
	ret = ret ?: emit_all(rw, &fault);
	ret = ret ?: unwind_emit(rw, &fault);
	ret = ret ?: file_write(rw, &fault);
	return instrument_finish(&rw->run, ret, &fault);
}
