// SPDX-License-Identifier: GPL-2.0
/*
 * The audit hook of fhook; the header describes it
 *
 * CPython allocates the hook's entry when it is added, and frees it at its end, perhaps by another
 * allocator: "python3 -X dev" chooses one in between, which takes the entry for damaged memory.
 * So the entry is in memory of its own, and is not freed.
 */
#include <string.h>
#include "python_hook.h"

#define DOMAIN_RAW	0
/* CPython's entry has three pointers. */
#define ENTRY_SIZE	64

static struct python_allocator before;
static const struct python *python;
static void (*handler)(const char *event, void *arguments);
static char entry[ENTRY_SIZE] __attribute__((aligned(16)));
static bool is_used;

/* The next allocation of a suitable size is the entry. */
static void *allocate(void *context __unused, size_t size)
{
	if (is_used || size > sizeof(entry))
		return before.allocate(before.context, size);
	is_used = true;
	return entry;
}

static void *allocate_zeroes(void *context __unused, size_t count, size_t size)
{
	return before.allocate_zeroes(before.context, count, size);
}

static void *resize(void *context __unused, void *memory, size_t size)
{
	return before.resize(before.context, memory, size);
}

static void release(void *context __unused, void *memory)
{
	if (memory != entry)
		before.release(before.context, memory);
}

static void set_own_allocator(void)
{
	struct python_allocator own = {
		.allocate = allocate, .allocate_zeroes = allocate_zeroes, .resize = resize,
		.release = release,
	};

	python->get_allocator(DOMAIN_RAW, &before);
	python->set_allocator(DOMAIN_RAW, &own);
}

static int hook(const char *event, void *arguments, void *data __unused)
{
	handler(event, arguments);
	if (!strcmp(event, "cpython._PySys_ClearAuditHooks"))
		set_own_allocator();
	return 0;
}

int python_add_hook(const struct python *api,
		    void (*on_event)(const char *event, void *arguments), struct fault *fault)
{
	int result;

	python = api;
	handler = on_event;
	set_own_allocator();
	result = python->add_hook(hook, NULL);
	python->set_allocator(DOMAIN_RAW, &before);
	if (result)
		fault_say(fault, "Python has refused an audit hook: nothing is recorded");
	return result;
}
