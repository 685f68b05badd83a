/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations of functions, by DWARF, in the forms of those by BTF */
#ifndef FHOOK_HOOK_DECLARATION_H
#define FHOOK_HOOK_DECLARATION_H

#include "program.h"

/* The declaration of a function, as in C; to be freed, or NULL. */
char *declaration_text(struct program *program, const struct program_function *function);

/*
 * The same as members of a JSON object: ,"returns":TYPE,"parameters":[{"type":TYPE,
 * "name":NAME}, ...]. To be freed, or NULL.
 */
char *declaration_json(struct program *program, const struct program_function *function);

#endif /* FHOOK_HOOK_DECLARATION_H */
