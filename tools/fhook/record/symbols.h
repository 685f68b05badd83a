/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of what a software recorder has seen of the kernel
 *
 * As in a program that records itself, a function's first byte stands for its entry and
 * its second one for its exit. The tasks that context stubs spell have addresses which
 * no kernel has.
 */
#ifndef FHOOK_RECORD_SYMBOLS_H
#define FHOOK_RECORD_SYMBOLS_H

#include "lib/map.h"

/* Context stubs, a byte each: 256 of a kind. */
#define SYMBOLS_CONTEXT		0x1000

static inline u64 symbols_context(enum stub_kind kind, u8 number)
{
	return SYMBOLS_CONTEXT + (kind - STUB_TASK2) * 256 + number;
}

static inline u64 symbols_entry(u64 function)
{
	return function;
}

static inline u64 symbols_exit(u64 function)
{
	return function + 1;
}

/* A function of the kernel; the module is empty for the kernel itself. */
struct symbol {
	u64 address;
	char *name, *module;
};

/**
 * struct symbols - the functions that are recorded
 * @symbols: by their address
 */
struct symbols {
	struct symbol *symbols;
	size_t nr_symbols, room_symbols;
};

/*
 * Add the functions that ENABLED, the text of fhook/enabled_functions, says are hooked
 * by HOOK; where they are is in the file KALLSYMS.
 */
int symbols_add(struct symbols *symbols, const char *enabled, const char *hook,
		const char *kallsyms, struct fault *fault);

/* Write the map to a file, in one step. */
int symbols_write(const struct symbols *symbols, const char *path, struct fault *fault);

void symbols_free(struct symbols *symbols);

#endif /* FHOOK_RECORD_SYMBOLS_H */
