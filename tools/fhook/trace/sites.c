// SPDX-License-Identifier: GPL-2.0
/*
 * The ranges that QEMU's plugin traces, and the instructions in them
 *
 * Entries are only added, when code is translated that has not been executed before. The
 * size of a range that is no longer traced is 0.
 */
#include <pthread.h>
#include <stdlib.h>
#include "plugin.h"

struct trace_plugin plugin = {
	.profile = PROFILE_TARGET,
	.psb_period = 2048,
};

#define SITE_SLOTS	65536

/* Hash table of sites by address; sites are only added. */
static struct trace_site *sites[SITE_SLOTS];
static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;
/* A program may load objects while the control channel adds ranges. */
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;

void trace_sites_forked(void)
{
	pthread_mutex_init(&sites_lock, NULL);
	pthread_mutex_init(&ranges_lock, NULL);
}

void trace_forget_ranges(void)
{
	atomic_store(&plugin.nr_ranges, 0);
}

void trace_drop_range(u64 start, u64 size)
{
	const unsigned int nr = atomic_load(&plugin.nr_ranges);
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (plugin.ranges[i].start - start < size ||
		    start - plugin.ranges[i].start < plugin.ranges[i].size)
			__atomic_store_n(&plugin.ranges[i].size, 0, __ATOMIC_RELAXED);
}

int trace_add_range(u64 start, u64 size, struct fault *fault)
{
	unsigned int nr;
	int result = 0;

	if (!size || start + size - 1 < start)
		return fault_say(fault, "0x%llx and 0x%llx are no range", start, size);
	pthread_mutex_lock(&ranges_lock);
	nr = atomic_load(&plugin.nr_ranges);
	if (nr == TRACE_RANGES) {
		result = fault_say(fault, "there are %u ranges already, and no room for more", nr);
	} else {
		plugin.ranges[nr] = (struct trace_range){ .start = start, .size = size };
		atomic_store_explicit(&plugin.nr_ranges, nr + 1, memory_order_release);
	}
	pthread_mutex_unlock(&ranges_lock);
	return result;
}

static bool same_site(const struct trace_site *a, const struct trace_site *b)
{
	return a->ip == b->ip && a->start == b->start && a->size == b->size &&
	       a->branch.kind == b->branch.kind && a->branch.target == b->branch.target &&
	       a->branch.from_memory == b->branch.from_memory;
}

struct trace_site *trace_keep_site(const struct trace_site *wanted)
{
	struct trace_site **slot = &sites[(wanted->ip ^ wanted->ip >> 16) % SITE_SLOTS], *site;

	pthread_mutex_lock(&sites_lock);
	for (site = *slot; site && !same_site(site, wanted); site = site->next)
		;
	if (!site) {
		site = malloc(sizeof(*site));
		if (site) {
			*site = *wanted;
			site->next = *slot;
			*slot = site;
		}
	}
	pthread_mutex_unlock(&sites_lock);
	return site;
}
