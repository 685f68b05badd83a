/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that leave a function
 *
 * Found by disassembly: returns, and jumps to other functions in their place. A function is
 * refused if this cannot be decided: an indirect jump that uses no table of a switch, or a
 * conditional jump to another function.
 */
#ifndef FHOOK_HOOK_EXITS_H
#define FHOOK_HOOK_EXITS_H

#include "program.h"

/*
 * The places of a span as uhook_events takes them, "0xENTRY,0xEXIT,...%span"; to be freed, or
 * NULL and a sentence. Receives, if TAILS is not NULL, how many exits are jumps to other
 * functions, at which there is no return value yet.
 */
char *exits_span(const struct program *program, const struct program_function *function,
		 unsigned int *tails, struct fault *fault);

/* The exits alone, "0xEXIT,...%exit", of any stack; to be freed, or NULL if they are not known. */
char *exits_alone(const struct program *program, const struct program_function *function);

#endif /* FHOOK_HOOK_EXITS_H */
