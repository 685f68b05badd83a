/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of a program's source, FILE:NUMBER, by the line tables of its DWARF
 *
 * FILE is the end of a path: file.c is also dir/file.c. A line has a place wherever its code
 * begins: several, if it is in an inline function or in a loop that the compiler has unrolled.
 */
#ifndef FHOOK_HOOK_LINES_H
#define FHOOK_HOOK_LINES_H

#include "program.h"

/* Is a pattern a line? */
bool lines_is_pattern(const char *pattern);

/* Add the places of a line to those of a program. */
int lines_select(struct program *program, const char *pattern, struct fault *fault);

#endif /* FHOOK_HOOK_LINES_H */
