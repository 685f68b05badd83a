/* SPDX-License-Identifier: GPL-2.0 */
/* Debug information of a program: its symbols and its DWARF, which may be in a separate file */
#ifndef FHOOK_HOOK_DEBUG_H
#define FHOOK_HOOK_DEBUG_H

#include "lib/base.h"
#include "lib/debug_file.h"

/* The end of sentences about files without debug information. */
#define DEBUG_HELP	\
	"install its debug symbols, or set DEBUGINFOD_URLS, from which fhook trace fetches them"

/**
 * struct debug_function - a function that the DWARF describes
 * @address: address of its first instruction, or of that of a part; ~0 if its code was
 *	discarded
 * @symbol: its symbol, or its name; empty if it has none
 * @die: the entry that describes it
 */
struct debug_function {
	u64 address;
	const char *symbol;
	Dwarf_Die die;
};

/**
 * struct debug_type - a type that was looked for by its name
 * @name: name, with the namespaces and types around it
 * @tag: kind of the type
 * @die: its definition; zeros if there is none, or if there are different ones
 */
struct debug_type {
	char *name;
	int tag;
	Dwarf_Die die;
};

/**
 * struct debug - debug information of a file
 * @file: the file, and its separate debug file
 * @functions: functions of the DWARF, sorted by address; filled when many are needed
 * @indexed: @functions is filled
 * @looked_up: number of functions that were needed
 * @unit: unit that was asked for types last
 * @unit_has_types: whether it has any
 * @types: types that were looked for
 * @unread: sentence about the first function whose split DWARF file is missing or cannot be read,
 *	or NULL
 * @nr_unread: number of these functions
 */
struct debug {
	struct debug_file file;
	struct debug_function *functions;
	size_t nr_functions, room_functions;
	bool indexed;
	unsigned int looked_up;
	const void *unit;
	bool unit_has_types;
	struct debug_type *types;
	size_t nr_types, room_types;
	char *unread;
	size_t nr_unread;
};

/* Begin with a file; debug_close() may be called in any case. */
int debug_open(struct debug *debug, const char *path, struct fault *fault);
void debug_close(struct debug *debug);

/* The separate file with the symbols of a stripped file, or NULL. */
const char *debug_symbols(struct debug *debug);

/* The DWARF, or NULL and a sentence that names PATH. */
Dwarf *debug_dwarf(struct debug *debug, const char *path, struct fault *fault);

/*
 * The entry of the function that begins at an address and has this symbol, or of another name of
 * the same code if there is none. Returns 0, or -1 if there is neither.
 */
int debug_function(struct debug *debug, u64 address, const char *symbol, Dwarf_Die *die);

/*
 * Does the debug information have the parameters of functions like this one? Assemblers, and
 * compilers with -g1, describe lines and functions, but no types.
 */
bool debug_has_parameters(struct debug *debug, Dwarf_Die *function);

/*
 * Say why a function is not found: its entry is in a split DWARF file that is missing, or that
 * libdw does not read, or there is none. PATH is the program. Returns -1.
 */
int debug_say_missing(struct debug *debug, const char *path, const char *function, u64 address,
		      struct fault *fault);

/* Print one sentence about all functions of which that was said because of a split DWARF file. */
void debug_print_unread(const struct debug *debug);

/*
 * Replace the declaration of a type by its definition in another unit. Returns 0, or -1 if there
 * is none, or the definitions differ.
 */
int debug_definition(struct debug *debug, Dwarf_Die *die);

/*
 * The name of a type with those of the namespaces and types around it, as space::part; to be
 * freed. NULL if one of those around it has no name, and if it is in a function. A type without a
 * name has an empty one.
 */
char *debug_type_name(Dwarf_Die *die);

/* Are two entries of one name defined in the same line of the source, with the same size? */
bool debug_same_source(Dwarf_Die *one, Dwarf_Die *two);

void debug_free_types(struct debug *debug);

/* The entry that has a unit's functions and types: in split DWARF, it is in another file. */
Dwarf_Die *debug_entries(Dwarf_Die *unit, Dwarf_Die *split);

/*
 * Replace an entry by the next one of the same parent. Returns 0; otherwise there is none, or
 * the file is damaged: siblings are in order.
 */
int debug_sibling(Dwarf_Die *die);

#endif /* FHOOK_HOOK_DEBUG_H */
