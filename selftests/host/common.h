/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the host tests. */
#ifndef SELFTESTS_HOST_COMMON_H
#define SELFTESTS_HOST_COMMON_H

#include <stddef.h>
#include <linux/compiler.h>
#include "random.h"

/* Each complaint makes the test fail; only the first ones are printed. */
void __printf(1, 2) complain(const char *format, ...);
extern unsigned long complaints;

/* Bytes as text, each after a space: valid until the call after the next one. */
const char *in_hex(const void *bytes, size_t size);

/*
 * Read the options: "-s SEED", and @letters as getopt() has them, each of which has an
 * unsigned long, to be set to the option's number, or to 1. Seed the random numbers.
 */
void read_options(int argc, char **argv, const char *letters, ...);

/* Print the number of complaints; returns the exit status. */
int verdict(void);

/* Map memory at an address, or end the test. */
void *map_at(unsigned long address, size_t size, int protection);

#endif /* SELFTESTS_HOST_COMMON_H */
