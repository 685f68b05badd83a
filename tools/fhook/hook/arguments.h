/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arguments of events on programs, in which names are replaced by the values that they stand
 * for at a place
 *
 * Names are those of a function's parameters, or arg1, arg2 and so on of a USDT probe. They
 * are at the start of an argument, or after a bracket, as in +8(arg1).
 */
#ifndef FHOOK_HOOK_ARGUMENTS_H
#define FHOOK_HOOK_ARGUMENTS_H

#include "call_event.h"
#include "program.h"

/*
 * The arguments at a place as a part of a definition, to be freed; or NULL and a sentence. EVENT,
 * which may be NULL, takes the names of their values.
 */
char *arguments_at(struct program *program, const struct program_function *place,
		   const struct spec *spec, struct call_event *event, struct fault *fault);

/* Has an argument a name that must be replaced? */
bool arguments_named(const struct spec *spec);

#endif /* FHOOK_HOOK_ARGUMENTS_H */
