/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of functions, which compilers place apart from the rest and name after the function */
#ifndef FHOOK_SYMBOL_PART_H
#define FHOOK_SYMBOL_PART_H

#include <stddef.h>

/*
 * The length of the name of the function of which a symbol names a part: compilers place parts
 * elsewhere as NAME.cold and NAME.__part, with or without a number. 0: it is no part.
 */
size_t symbol_part_of(const char *symbol);

#endif /* FHOOK_SYMBOL_PART_H */
