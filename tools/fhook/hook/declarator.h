/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations as in C, which are written from the name outwards
 *
 * A declarator begins with a name. Each step adds a type of which the one before is made, as a
 * pointer to it; the type at the end has a name itself.
 */
#ifndef FHOOK_HOOK_DECLARATOR_H
#define FHOOK_HOOK_DECLARATOR_H

#include "lib/base.h"

/**
 * struct declarator - a declaration while it is written
 * @text: inner part of the declaration; NULL without memory
 * @is_pointer: the last step was a pointer or a reference
 * @is_const: the next type is const
 * @is_volatile: it is volatile
 * @is_restrict: it is restrict
 * @is_atomic: it is _Atomic
 */
struct declarator {
	char *text;
	bool is_pointer;
	bool is_const, is_volatile, is_restrict, is_atomic;
};

/* Begin with a name, which may be empty. */
void declarator_begin(struct declarator *declarator, const char *name);

/* MARK is * or a reference, or X::* of a member of X. */
void declarator_pointer(struct declarator *declarator, const char *mark);

/* SIZE may be empty. */
void declarator_array(struct declarator *declarator, const char *size);

/* PARAMETERS is freed; NULL makes the text NULL. */
void declarator_function(struct declarator *declarator, char *parameters);

/* Add an attribute of the type. */
void declarator_attribute(struct declarator *declarator, const char *attribute);

/* The declaration, to be freed; or NULL. KEYWORD may be "struct " or the like. */
char *declarator_end(struct declarator *declarator, const char *keyword, const char *type);

/* End without a declaration. */
void declarator_fail(struct declarator *declarator);

#endif /* FHOOK_HOOK_DECLARATOR_H */
