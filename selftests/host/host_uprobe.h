/* SPDX-License-Identifier: GPL-2.0 */
/* A uprobe of the kernel that this machine runs, for comparison. */
#ifndef SELFTESTS_HOST_UPROBE_H
#define SELFTESTS_HOST_UPROBE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct host_uprobe - a uprobe in this process
 * @code: this program's code, mapped a second time from its file
 * @size: size of @code
 * @fd: perf event that counts hits; closed when the process ends
 */
struct host_uprobe {
	void *code;
	size_t size;
	int fd;
};

/*
 * Map the SIZE bytes of this program at CODE for execution, and probe the instruction
 * at OFFSET. If this is not possible, mostly for lack of root privileges, print the
 * reason and return false.
 */
bool host_uprobe_place(struct host_uprobe *uprobe, const void *code, size_t size,
		       size_t offset);
/* Returns how often it was hit. */
unsigned long host_uprobe_remove(struct host_uprobe *uprobe);

#endif /* SELFTESTS_HOST_UPROBE_H */
