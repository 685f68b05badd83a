/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the lock, the list of hooks, and the life of a hook.
 *
 * The files of this directory, each of which calls only the files before it:
 *
 *	report.c	errors, each with a sentence
 *	core.c		the lock, the list of hooks, the life of a hook
 *	extension.c	other parts of the kernel that let slots lead to their own stubs
 *	sites.c		tables of sites, with the set of each site in use
 *	retire.c	freeing memory that a CPU may still be executing
 *	text.c		memory of trampolines, and their names
 *	assembler.c	assembling code into a buffer
 *	frame.c		calls whose return is hooked
 *	trampoline.c	assembling trampolines
 *	stack.c		the shadow stacks of tasks
 *	exits.c		exit callbacks of the hooks of a set
 *	set.c		sets of hooks, each with its trampoline
 *	change.c	transactions: many sites from one set to another
 *	names.c		an index of the names of a module's functions
 *	pattern.c	filters, which select functions
 *	span.c		the sites of a hook
 *	hook.c		registration: the API
 *	function.c	functions by name, and their code
 *	consistency.c	switching a whole patch while no task is inside its functions
 *	replacers.c	modules with replacements
 *	redirect.c	replacing functions: the API
 *	switch.c	switching fhook off and on
 *	module.c	loading and unloading modules, freeing init memory
 *	tracefs.c	the files in tracefs' fhook/
 *	redirect_tracefs.c
 *			the file of redirects there
 *	probe.c		the number of CPUs that are being started or stopped
 *	kprobes.c	kprobes and kretprobes at function entries
 *	fprobes.c	fprobes
 *	calltrace/	an extension: the sequence of calls, recorded by a block of jumps
 *
 * Trampolines run without fhook_mutex and read only data that was written into them;
 * frame.c belongs to the task that runs; look-ups of addresses use RCU.
 */
#ifndef _FHOOK_CORE_H
#define _FHOOK_CORE_H

#include <linux/fhook.h>
#include <linux/fhook_arch.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>

#include "retire.h"

struct fhook_filter;
struct module;

/**
 * struct fhook_hook - state of a registered ops
 * @list: link in fhook_hooks, in the order of registration
 * @ops: the ops
 * @stat: counters of the ops
 * @spans: sites of the hook
 * @filter: functions to hook, also in modules loaded later; NULL if given by address
 * @notfilter: functions among them not to hook, or NULL
 * @owner: module that contains the callbacks, pinned while @retired is queued
 * @pinned: whether @owner is pinned
 * @exit: exit callback while it may be called, else NULL; read without the mutex
 * @seq: number of the registration, for the order of hooks on a site
 * @sets: number of sets and exits with this hook, including retired ones, plus one while
 *	the hook is registered; the hook is freed with the last
 * @retired: queue entry for the grace period after unregistering
 * @done: callback of the user after that grace period
 */
struct fhook_hook {
	struct list_head	list;
	struct fhook_ops	*ops;
	struct fhook_stat __percpu *stat;
	struct list_head	spans;
	struct fhook_filter	*filter;
	struct fhook_filter	*notfilter;
	struct module		*owner;
	bool			pinned;
	fhook_exit_t		exit;
	u64			seq;
	unsigned int		sets;
	struct fhook_retired	retired;
	fhook_done_t		done;
};

extern struct mutex fhook_mutex;
extern struct list_head fhook_hooks;
extern struct list_head fhook_tallies;
extern bool fhook_switched_off;

struct module *fhook_module_of(const void *addr);
void fhook_hook_put(struct fhook_hook *hook);
void fhook_hook_count(const struct fhook_hook *hook, u64 *hits, u64 *missed);

#endif /* _FHOOK_CORE_H */
