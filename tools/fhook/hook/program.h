/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of a program or library, and other places in it
 *
 * Names are symbols of the file, also demangled ones, names of USDT probes, or lines of the
 * source. Places are offsets in the file, as uhook_events takes them.
 */
#ifndef FHOOK_HOOK_PROGRAM_H
#define FHOOK_HOOK_PROGRAM_H

#include <sys/types.h>
#include "debug.h"
#include "lib/elf_image.h"
#include "session.h"

/* The machine of programs that this kernel executes. */
#if defined(__aarch64__)
#define PROGRAM_OWN_MACHINE	EM_AARCH64
#else
#define PROGRAM_OWN_MACHINE	EM_X86_64
#endif

enum program_kind { PROGRAM_FUNCTION, PROGRAM_USDT, PROGRAM_LINE };

/**
 * struct program_function - a function, or another place, that was selected
 * @kind: kind of the place
 * @name: name to print, demangled
 * @symbol: symbol of the function, in the file; NULL for other places
 * @address: address of its first instruction
 * @offset: offset of its first instruction in the file
 * @size: length of the function in bytes; 0 for other places
 * @is_local: other files cannot call the function by its name
 * @semaphore: offset in the file of the counter of a USDT probe's users, or 0
 * @arguments: operands of a USDT probe, in the file
 */
struct program_function {
	enum program_kind kind;
	char *name;
	const char *symbol;
	u64 address;
	u64 offset;
	u64 size;
	bool is_local;
	u64 semaphore;
	const char *arguments;
};

/* The kernel takes no longer arguments. */
#define PROGRAM_VALUE_TEXT	64

/**
 * struct program_value - a value at a place, as definitions of events have it
 * @text: expression that fetches it
 * @type: type of the value; empty if the user must give one
 * @is_memory: it is an array or a structure, whose first bytes @text fetches
 * @die: entry of the debug information that refers to the type; zeros if there is none
 */
struct program_value {
	char text[PROGRAM_VALUE_TEXT];
	char type[16];
	bool is_memory;
	Dwarf_Die die;
};

/**
 * struct program - the selected functions of a file
 * @path: the file; NULL if it is not open
 * @is_kernel: it is a debug file of the kernel, whose values are those of kernel functions
 * @machine: machine type, as ELF has it
 * @image: contents of the file; empty for the kernel
 * @debug: debug information, opened when it is needed
 * @separate: debug file, if that has the symbols
 * @functions: the functions, sorted by address
 */
struct program {
	const char *path;
	bool is_kernel;
	u16 machine;
	struct elf_image image, separate;
	struct debug debug;
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

/*
 * Add a place, whose offset follows from its address, under a name; none is added if it is
 * not in the program's code. Fails without memory only.
 */
int program_add(struct program *program, const struct program_function *place,
		const char *name, struct fault *fault);

/* The offset in the file of an address in a segment with these flags; returns 0, or -1. */
int program_offset(const struct elf_image *image, u64 address, u32 flags, u64 *offset);

/* Fails for a file whose instructions this machine does not execute. */
int program_check_machine(const struct program *program, struct fault *fault);

/* A place as definitions of events have it, to be freed; or NULL and a sentence. */
char *program_place(const struct program_function *place, struct fault *fault);

/* Only functions have returns; fails for other places. */
int program_check_function(const struct program_function *place, struct fault *fault);

/* The file for definitions of events on programs, and the letter of entries or returns. */
const char *program_events(const struct session *session);
char program_letter(const struct session *session, bool returns);

/* The address to which a function returns, as an argument at its entry. */
const char *program_return_address(const struct program *program);

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
