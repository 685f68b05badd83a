/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stubs of Python's functions, for recordings that a processor or QEMU's plugin makes
 *
 * fhook-python.so has a block of stubs that only return. Each function of Python gets two of them
 * at its first call, and executes the first one when it is entered and the second one when it is
 * left. So its calls are in the same trace as those of rewritten libraries, and in their order.
 */
#ifndef FHOOK_RECORD_PYTHON_STUBS_H
#define FHOOK_RECORD_PYTHON_STUBS_H

#include "named.h"

/* The section of the block, and the number of functions for which it has stubs. */
#define PYTHON_STUB_SECTION	".fhook_python_stubs"
#define PYTHON_STUB_FUNCTIONS	32768
#ifdef __aarch64__
#define PYTHON_STUB_SIZE	4
#else
#define PYTHON_STUB_SIZE	1
#endif

/*
 * Set in the environment of a program whose functions get stubs: the number of the block's object
 * in the map, a colon, and the path of the map, to which processes append their functions.
 */
#define PYTHON_STUB_MAP		"FHOOK_PYTHON_MAP"

/* Does the environment ask for stubs? Programs that this one executes do not inherit that. */
bool python_stubs_wanted(void);

/* Execute the stub of a function, with OFFSET 0 for the entry, and 1 for the exit. */
void python_stub_execute(struct named *named, u64 offset);

#endif /* FHOOK_RECORD_PYTHON_STUBS_H */
