/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of a program or library
 *
 * Names are symbols of the file, also demangled ones. Places are offsets in the file, as
 * uhook_events takes them.
 */
#ifndef FHOOK_HOOK_PROGRAM_H
#define FHOOK_HOOK_PROGRAM_H

#include <sys/types.h>
#include "lib/elf_image.h"
#include "session.h"

/**
 * struct program_function - a function that was selected
 * @name: name to print, demangled
 * @symbol: its symbol, in the file
 * @address: address of its first instruction
 * @offset: offset of its first instruction in the file
 * @size: length in bytes
 */
struct program_function {
	char *name;
	const char *symbol;
	u64 address;
	u64 offset;
	u64 size;
};

/**
 * struct program - the selected functions of a file
 * @path: the file; NULL if it is not open
 * @image: its contents
 * @functions: the functions, sorted by address
 */
struct program {
	const char *path;
	struct elf_image image;
	struct program_function *functions;
	size_t nr, room;
};

/*
 * The path of a program: of a process if TEXT is a number, which is stored in *PID; a file;
 * a program in PATH; or a shared library. To be freed, or NULL and a sentence.
 */
char *program_find(const char *text, pid_t *pid, struct fault *fault);

/* The name to print of a symbol, demangled; to be freed, or NULL without memory. */
char *program_demangle(const char *symbol);

/* Select the functions that match patterns. All functions if there are none. */
int program_select(struct program *program, const char *path, char **patterns,
		   size_t nr_patterns, struct fault *fault);
void program_free(struct program *program);

/* The file for definitions of events on programs, and the letter of entries or returns. */
const char *program_events(const struct session *session);
char program_letter(const struct session *session, bool returns);

/**
 * struct left_out - functions that cannot be hooked
 * @nr: number of functions
 * @first: reason of the first one
 */
struct left_out {
	size_t nr;
	struct fault first;
};

/* Count a function that cannot be hooked for this reason. */
void program_leave_out(struct left_out *left_out, const struct fault *why);

/* Print how many functions were left out; fails, with the first reason, if all were. */
int program_report(const struct program *program, const struct left_out *left_out,
		   struct fault *fault);

#endif /* FHOOK_HOOK_PROGRAM_H */
