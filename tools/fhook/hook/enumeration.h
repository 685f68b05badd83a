/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enumerations: the names of values that an argument or a member may have
 */
#ifndef FHOOK_HOOK_ENUMERATION_H
#define FHOOK_HOOK_ENUMERATION_H

#include <stdio.h>
#include "lib/base.h"

/* Values of a type with more enumerators are printed as numbers. */
#define ENUMERATORS_MAX	1024

/**
 * struct enumerator - a name of a value
 * @name: name, an identifier, or a text without quotation marks
 * @value: value, of which the bytes that the field has count
 */
struct enumerator {
	char *name;
	u64 value;
};

/**
 * struct enumeration - names of values, or of functions, by their numbers
 * @scope: name of the type with those of the namespaces and types around it, as space::color; of
 *	a type without a name, as space::; NULL if it is unknown
 * @all: enumerators in their order
 * @nr: number of enumerators; 0 if values have no names
 * @bits: size of the field or bit-field that has such a value, in bits
 * @is_signed: the field is signed
 * @is_part: the value is a bit-field; other bits of the field may be set
 * @has_functions: the names are those of functions, which may have parameters
 */
struct enumeration {
	char *scope;
	struct enumerator *all;
	size_t nr, room;
	unsigned int bits;
	bool is_signed, is_part, has_functions;
};

/*
 * Begin with the kernel's type of the field, as u32, or b3@0/8 or b3 of a bit-field.
 */
void enumeration_begin(struct enumeration *enumeration, const char *type);

/* Add an enumerator. Names that are no identifiers are left out. Returns 0, or -1. */
int enumeration_add(struct enumeration *enumeration, const char *name, u64 value);

/*
 * The same for any text, as the name of a function, and any number of them. Quotation marks and
 * control characters are replaced. Returns 0, or -1 without memory.
 */
int enumeration_add_text(struct enumeration *enumeration, const char *text, u64 value);

/*
 * After the names of functions, as they are printed, were added: give those that have the same name
 * one value. Returns 0, or -1 without memory.
 */
int enumeration_join_functions(struct enumeration *enumeration);
void enumeration_free(struct enumeration *enumeration);

bool enumeration_equal(const struct enumeration *a, const struct enumeration *b);

/*
 * Are the values sets of flags? The enumerators are single bits then, each another one and at
 * least three of them, besides zero: two may as well be successive numbers.
 */
bool enumeration_is_flags(const struct enumeration *enumeration);

/*
 * Print a value: its name, or the names of its flags with | between them. A part without name
 * is a hexadecimal number.
 */
void enumeration_print(const struct enumeration *enumeration, u64 value, FILE *out);

/* The same as a string in JSON. Returns 0, or -1 without memory. */
int enumeration_json(const struct enumeration *enumeration, u64 value, FILE *out);

/* The length of the name of an enumerator that a text begins with, as RED or space::color::RED. */
size_t enumeration_name_length(const char *text);

/*
 * The value of a name, which may be qualified with the end of the scope: with or without the name
 * of the type, or with a leading ::, with the whole scope. That of a function may lack its
 * parameters. Returns 0, -1 if there is none, or 1 if functions with several names have it, and
 * then *VALUE is that of the first one.
 */
int enumeration_value(const struct enumeration *enumeration, const char *name, u64 *value);

/* The most similar name, or NULL if none is similar. */
const char *enumeration_near(const struct enumeration *enumeration, const char *name);

/* The value as the field has it: without the bytes that it does not have. */
u64 enumeration_cut(const struct enumeration *enumeration, u64 value);

#endif /* FHOOK_HOOK_ENUMERATION_H */
