/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the race tests, which run files of the kernel in threads
 */
#ifndef SELFTESTS_HOST_RACE_H
#define SELFTESTS_HOST_RACE_H

#include "common.h"
#include "race_kernel.h"

/*
 * Allocate the memory from which pages are taken, and begin the kernel's own threads. To be
 * called after read_options(), whose seed is also that of random().
 */
void race_begin(void);

/* Wait until all work that is queued has been done. */
void race_barrier(void);

/*
 * Handle a page fault of current: map the page that the kernel's fault handler finds.
 * Returns false if the kernel would send a signal.
 */
bool race_fault(unsigned long addr);

/* Remove all mappings of an address space. */
void race_exit(struct mm_struct *mm);

#endif /* SELFTESTS_HOST_RACE_H */
