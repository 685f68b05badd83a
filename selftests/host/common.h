/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by tests that execute generated code. */
#ifndef SELFTESTS_HOST_COMMON_H
#define SELFTESTS_HOST_COMMON_H

#include <stddef.h>
#include <linux/compiler.h>
#include "random.h"

/* Each that is said makes the test fail; only the first ones are printed. */
void __printf(1, 2) complain(const char *format, ...);
extern unsigned long complaints;

/* Memory at an address, or nothing at all: the test ends. */
void *map_at(unsigned long address, size_t size, int protection);

#endif /* SELFTESTS_HOST_COMMON_H */
