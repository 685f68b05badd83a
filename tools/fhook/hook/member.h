/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Members of structures, by DWARF
 *
 * A path of members, as in ->value.Simple->flags, becomes an expression of a definition that
 * reads them from memory.
 */
#ifndef FHOOK_HOOK_MEMBER_H
#define FHOOK_HOOK_MEMBER_H

#include "debug.h"
#include "program.h"

/**
 * member_value - find a member of a structure
 * @debug: debug information, which may have the structure elsewhere
 * @path: members, each after "->" or "."
 * @value: value of the parameter that the path begins with; becomes that of the last member
 * @fault: receives a sentence
 *
 * Returns 0, or -1.
 */
int member_value(struct debug *debug, const char *path, struct program_value *value,
		 struct fault *fault);

#endif /* FHOOK_HOOK_MEMBER_H */
