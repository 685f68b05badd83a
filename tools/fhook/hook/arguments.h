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

/**
 * struct arguments_place - what can be fetched at a place
 * @machine: the machine, as in an ELF file
 * @kind: kind of the place
 * @is_kernel: it is a function of the kernel
 * @has_registers: registers can be fetched there, by events of kprobes
 */
struct arguments_place {
	u16 machine;
	enum program_kind kind;
	bool is_kernel, has_registers;
};

/*
 * Is each argument one that the kernel may take? Otherwise a sentence says what to write in its
 * place. Names are not looked up.
 */
int arguments_check(const struct spec *spec, const struct arguments_place *place,
		    struct fault *fault);

/*
 * Move arguments that fetch text to the end. The kernel prints quotation marks in a text as they
 * are, so that it may imitate arguments after it. PROGRAM and PLACE are those of names, or NULL.
 */
void arguments_texts_last(struct program *program, const struct program_function *place,
			  struct spec *spec);

/* The name in an expression, or NULL; and its length, with members as in a->b.c. */
const char *arguments_name(const char *text, size_t *length);

/* Has an argument a name that must be replaced? */
bool arguments_named(const struct spec *spec);

#endif /* FHOOK_HOOK_ARGUMENTS_H */
