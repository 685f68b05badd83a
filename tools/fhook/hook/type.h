/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of DWARF: their names, and how values of them are passed and recorded
 *
 * Types may refer to each other in circles in a damaged file, so that no chain is followed
 * far.
 */
#ifndef FHOOK_HOOK_TYPE_H
#define FHOOK_HOOK_TYPE_H

#include <elfutils/libdw.h>
#include <stdio.h>
#include "enumeration.h"

/**
 * enum type_class - the kind of a type, for the calling convention
 * @TYPE_INTEGER: an integer of at most eight bytes, or an enumeration
 * @TYPE_POINTER: a pointer or a reference
 * @TYPE_FLOAT: a floating-point number, which is not in a general-purpose register
 * @TYPE_OTHER: a structure, or another type whose place depends on its contents
 */
enum type_class { TYPE_INTEGER, TYPE_POINTER, TYPE_FLOAT, TYPE_OTHER };

/**
 * struct type - a type without its names and qualifiers
 * @class: its kind
 * @size: size in bytes
 * @is_signed: it is a signed integer
 */
struct type {
	enum type_class class;
	unsigned int size;
	bool is_signed;
};

/* What an entry refers to, without names and qualifiers; returns false for void. */
bool type_resolve(Dwarf_Die *die, Dwarf_Die *type);

/* The type of a variable, a parameter, or what a function returns; returns false for void. */
bool type_of(Dwarf_Die *die, struct type *type);

/* The kernel's name of the type of an integer or a pointer. */
void type_name(const struct type *type, char name[16]);

/*
 * The names of the values of a type, of which fields have this type of the kernel; none if it
 * is no enumeration. Returns 0, or -1 without memory or for too many names. enumeration_free()
 * may be called in any case.
 */
int type_enumeration(Dwarf_Die *die, const char *name, struct enumeration *enumeration);

/* The declaration of a parameter or a member, as in C; to be freed, or NULL. NAME may be NULL. */
char *type_declare(Dwarf_Die *die, const char *name);

/* The declaration of a function; to be freed, or NULL. */
char *type_declare_function(Dwarf_Die *function, const char *name);

#endif /* FHOOK_HOOK_TYPE_H */
