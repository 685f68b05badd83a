/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map for a software recording of the kernel
 *
 * As in a program that records itself, the address of a function's first byte
 * represents its entry, that of the second one its exit. The context stubs that spell
 * tasks have addresses that no kernel uses.
 */
#ifndef FHOOK_RECORD_SYMBOLS_H
#define FHOOK_RECORD_SYMBOLS_H

#include "lib/map.h"

/* Context stubs, one byte each: 256 per kind. */
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
 * struct symbols - the recorded functions
 * @symbols: functions sorted by address
 */
struct symbols {
	struct symbol *symbols;
	size_t nr_symbols, room_symbols;
};

/*
 * Add the functions that HOOK hooks according to ENABLED, the contents of
 * fhook/enabled_functions; the file KALLSYMS has their addresses.
 */
int symbols_add(struct symbols *symbols, const char *enabled, const char *hook,
		const char *kallsyms, struct fault *fault);

/* Write the map to a file, in one step. */
int symbols_write(const struct symbols *symbols, const char *path, struct fault *fault);

void symbols_free(struct symbols *symbols);

#endif /* FHOOK_RECORD_SYMBOLS_H */
