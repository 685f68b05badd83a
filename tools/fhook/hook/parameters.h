/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters of a program's functions, by its DWARF
 *
 * The value of a parameter at the function's entry is in the register that its list of locations
 * names for the first instruction; without a list, in the one that the calling convention of C
 * assigns to it. Parameters for which neither is certain are refused. Values of functions of the
 * kernel are $arg1 and so on.
 */
#ifndef FHOOK_HOOK_PARAMETERS_H
#define FHOOK_HOOK_PARAMETERS_H

#include <stdio.h>
#include "program.h"

/*
 * The value at the entry of a function of a parameter, or of a member that it leads to, as in
 * command->value.Simple->flags.
 */
int parameters_value(struct program *program, const struct program_function *function,
		     const char *name, struct program_value *value, struct fault *fault);

/* The entry of a function in the debug information; returns 0, or -1 and a sentence. */
int parameters_function(Dwarf_Die *die, struct program *program,
			const struct program_function *function, struct fault *fault);

/* The first parameter of a function, or the one after @die; returns 0, or -1. */
int parameters_next(Dwarf_Die *function, Dwarf_Die *die, bool first);

/*
 * Print "(TYPE NAME=VALUE, ...)", with "?" for a value that is refused; nothing if there is no
 * debug information, and if it is not read, which debug_print_unread() tells.
 */
void parameters_print(struct program *program, const struct program_function *function,
		      FILE *out);

#endif /* FHOOK_HOOK_PARAMETERS_H */
