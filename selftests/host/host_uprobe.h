/* SPDX-License-Identifier: GPL-2.0 */
/* A uprobe of the kernel that this machine runs, to measure beside. */
#ifndef SELFTESTS_HOST_UPROBE_H
#define SELFTESTS_HOST_UPROBE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct host_uprobe - a uprobe in this process
 * @code: this program's code, mapped from its file once more
 * @size: of that
 * @fd: a perf event that counts hits; it goes with the process
 */
struct host_uprobe {
	void *code;
	size_t size;
	int fd;
};

/*
 * Map the SIZE bytes of this program at CODE to be run there, and probe the instruction
 * which is OFFSET bytes behind. Where that cannot be done, false is returned, and the
 * reason is printed: for want of root, mostly.
 */
bool host_uprobe_place(struct host_uprobe *uprobe, const void *code, size_t size,
		       size_t offset);
/* Returns how often it was hit. */
unsigned long host_uprobe_remove(struct host_uprobe *uprobe);

#endif /* SELFTESTS_HOST_UPROBE_H */
