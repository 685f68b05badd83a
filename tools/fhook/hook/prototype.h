/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prototypes of functions, from type data (BTF)
 *
 * libbpf reads the data. The declarations are written here, because libbpf's own printer
 * trusts the data, and numbers the types that have the same name in several source files.
 */
#ifndef FHOOK_HOOK_PROTOTYPE_H
#define FHOOK_HOOK_PROTOTYPE_H

#include <stdio.h>
#include "lib/base.h"

struct btf;

/**
 * struct prototypes - functions that have type data
 * @btf: type data of the kernel, a module, or a file
 * @functions: type numbers of the functions, sorted by name
 * @nr: number of functions
 */
struct prototypes {
	struct btf *btf;
	u32 *functions;
	size_t nr, room;
};

/**
 * prototypes_index - look for the functions in type data
 * @prototypes: receives the functions, and owns the data, also if this fails
 * @btf: type data; functions of the data that it extends are left out
 *
 * Returns 0, or -1 if there is not enough memory.
 */
int prototypes_index(struct prototypes *prototypes, struct btf *btf);
void prototypes_free(struct prototypes *prototypes);

/*
 * The type number of the prototype of a function; 0 if it has none, or if functions of the
 * same name have different ones.
 */
u32 prototype_number(const struct prototypes *prototypes, const char *name);

/*
 * The declaration of the function NAME, to be freed; NULL if the type data is damaged, or
 * there is not enough memory.
 */
char *prototype_text(const struct prototypes *prototypes, u32 number, const char *name);

/*
 * The same as members of a JSON object: ,"returns":TYPE,"parameters":[{"type":TYPE,
 * "name":NAME}, ...]. To be freed, or NULL.
 */
char *prototype_json(const struct prototypes *prototypes, u32 number);

#endif /* FHOOK_HOOK_PROTOTYPE_H */
