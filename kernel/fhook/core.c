// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the lock, the list of hooks, and the life of a hook.
 *
 * Every decision is made under fhook_mutex: tables, sets, hooks and spans belong to
 * its holder. Order of locks: fhook_mutex, module_mutex, text_mutex. A hook is in
 * fhook_hooks exactly while it is registered; its memory stays until the last set
 * with it is gone, since trampolines count in it.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "core.h"

/* Protects tables, sets, hooks and spans. */
DEFINE_MUTEX(fhook_mutex);
LIST_HEAD(fhook_hooks);
LIST_HEAD(fhook_tallies);

/* Written under fhook_mutex, by switch.c. */
bool fhook_switched_off;

/**
 * fhook_module_of() - find the module that contains an address
 * @addr: any address
 *
 * Return: the module, without a reference; NULL for the kernel.
 */
struct module *fhook_module_of(const void *addr)
{
	guard(preempt)();

	return __module_address((unsigned long)addr);
}

/**
 * fhook_hook_put() - drop the reference of a set or of the registration to a hook
 * @hook: hook without filters and spans, freed with its last set
 */
void fhook_hook_put(struct fhook_hook *hook)
{
	lockdep_assert_held(&fhook_mutex);
	if (--hook->sets)
		return;

	free_percpu(hook->stat);
	kfree(hook);
}

/**
 * fhook_hook_count() - count the hits of a hook
 * @hook: the hook
 * @hits: set to the number of calls of the callback
 * @missed: set to the number of calls that the recursion guard refused, or for which the return
 *	address found no room
 */
void fhook_hook_count(const struct fhook_hook *hook, u64 *hits, u64 *missed)
{
	int cpu;

	lockdep_assert_held(&fhook_mutex);
	*hits = 0;
	*missed = 0;
	for_each_possible_cpu(cpu) {
		struct fhook_stat *stat = per_cpu_ptr(hook->stat, cpu);

		*hits += READ_ONCE(stat->hits);
		*missed += READ_ONCE(stat->missed);
	}
}
