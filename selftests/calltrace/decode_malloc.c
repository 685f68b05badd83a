// SPDX-License-Identifier: GPL-2.0
/*
 * A program with a memory allocator of its own, which is recorded as well
 *
 * Allocations of the recorder reach its own hooks, while it makes the first record of a
 * thread and when the thread ends.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static char arena[8 << 20] __attribute__((__aligned__(16)));
static size_t used;

void *malloc(size_t size)
{
	const size_t room = (size + 15) & ~(size_t)15;
	const size_t start = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);

	return start + room <= sizeof(arena) ? arena + start : NULL;
}

void *calloc(size_t count, size_t size)
{
	/* It is all zero, and nothing is used twice. */
	return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
	void *new = malloc(size);

	/* This also copies bytes after the old block. */
	if (old && new)
		memmove(new, old, size);
	return new;
}

void free(void *unused)
{
	(void)unused;
}

static void *step(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t thread;

	step(NULL);
	return pthread_create(&thread, NULL, step, NULL) || pthread_join(thread, NULL);
}
