// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: patching the entries and exits of chosen functions, and restoring them.
 *
 * Entries are slots: a transaction redirects them to their stubs, and their hooks
 * stay. Exits are instructions that fhook does not own; each is compared with its
 * contents at the time of the scan, and they are patched only if all are the same.
 * Exits are patched before the entries and restored after them, so that every call
 * entered through a stub is left through one. A task that is in a stub at that time
 * leaves it normally; the stubs stay until another choice replaces this one.
 *
 * Under fhook_mutex. is_reserved() and the other look-ups by address may be called from
 * any context.
 */
#define pr_fmt(fmt) "fhook: calltrace: " fmt

#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/fhook_arch.h>
#include <linux/init.h>
#include <linux/memory.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../change.h"
#include "../core.h"
#include "../extension.h"
#include "../redirect.h"
#include "../report.h"
#include "../set.h"
#include "calltrace.h"

static unsigned long site_stub(const struct calltrace_function *f, bool trace)
{
	return trace ? calltrace_stub_addr(&f->stub) : 0;
}

/* Check that no function has been redirected since functions were chosen. */
static int check_entries(const struct calltrace_choice *choice,
			 struct fhook_report *report)
{
	const struct calltrace_function *f = choice->functions;
	const struct fhook_patch *patch;

	for (; f < choice->functions + choice->num_functions; f++) {
		patch = !f->reason && f->table ?
			fhook_patch_of(f->table, f->site) : NULL;
		if (patch)
			return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY,
					  f->func,
					  "%ps is redirected by %s: choose again",
					  (void *)f->func, patch->name);
	}

	return 0;
}

static int change_entries(const struct calltrace_choice *choice, bool trace,
			  struct fhook_report *report)
{
	struct fhook_txn txn = {
		.report	= report,
		.detach	= !trace,
		.max	= choice->num_functions,
	};
	const struct calltrace_function *f = choice->functions;
	int err = 0;

	for (; f < choice->functions + choice->num_functions && !err; f++) {
		if (f->reason || !f->table)
			continue;
		err = fhook_txn_redirect(&txn, f->table, f->site,
					 site_stub(f, trace), NULL);
	}
	if (!err)
		return fhook_txn_commit(&txn);

	fhook_txn_abort(&txn);

	return err;
}

static bool has_gone(const struct calltrace_choice *choice,
		     const struct calltrace_exit *exit)
{
	return !choice->functions[exit->function].table;
}

/* Make the jump of an exit to its stub, which is in reach: block.c has dropped others. */
static void jump_of(const struct calltrace_exit *exit, u8 *jump)
{
	calltrace_arch_stub(jump, exit->addr, calltrace_stub_addr(&exit->stub));
}

/* Does the exit have the jump to its stub, or else the original instruction? */
static bool exit_is(const struct calltrace_exit *exit, bool traced)
{
	u8 jump[CALLTRACE_EXIT_SIZE], bytes[CALLTRACE_EXIT_SIZE];

	jump_of(exit, jump);

	return !copy_from_kernel_nofault(bytes, (void *)exit->addr,
					 sizeof(bytes)) &&
	       !memcmp(bytes, traced ? jump : exit->original, sizeof(bytes));
}

static void queue_exit(const struct calltrace_exit *exit, bool trace)
{
	u8 jump[CALLTRACE_EXIT_SIZE];

	jump_of(exit, jump);
	calltrace_arch_queue(exit->addr, trace ? jump : exit->original, jump);
}

static int check_exits(const struct calltrace_choice *choice,
		       struct fhook_report *report)
{
	const struct calltrace_exit *exit = choice->exits;

	for (; exit < choice->exits + choice->num_exits; exit++) {
		if (has_gone(choice, exit) || exit_is(exit, false))
			continue;
		return fhook_fail(report, FHOOK_ERR_BYTES, -EFAULT, exit->addr,
				  "%pS has changed since functions were chosen: choose again",
				  (void *)exit->addr);
	}

	return 0;
}

/* A kprobe may not be written yet, or may overwrite more than its own instruction. */
static int check_kprobes(const struct calltrace_choice *choice,
			 struct fhook_report *report)
{
	const struct calltrace_exit *exit = choice->exits;
	unsigned long addr;

	for (; exit < choice->exits + choice->num_exits; exit++) {
		for (addr = exit->addr + 1 - CALLTRACE_EXIT_SIZE;
		     addr < exit->addr + CALLTRACE_EXIT_SIZE; addr++) {
			if (has_gone(choice, exit) || !calltrace_has_kprobe(addr))
				continue;
			return fhook_fail(report, FHOOK_ERR_BYTES, -EBUSY, addr,
					  "a kprobe is at %pS: remove it, or choose again",
					  (void *)addr);
		}
	}

	return 0;
}

/* Patch the exits of one table, or of all. Bytes that others have changed stay. */
static void patch_exits(const struct calltrace_choice *choice,
			const struct fhook_table *table, bool trace)
{
	const struct calltrace_exit *exit = choice->exits;
	const struct fhook_table *has;

	for (; exit < choice->exits + choice->num_exits; exit++) {
		has = choice->functions[exit->function].table;
		if (has && (!table || has == table) &&
		    exit_is(exit, !trace))
			queue_exit(exit, trace);
	}
	calltrace_arch_flush();
}

static int change_exits(const struct calltrace_choice *choice,
			const struct fhook_table *table, bool trace,
			struct fhook_report *report)
{
	int err = 0;

	/* Stopping all CPUs requires this order. */
	cpus_read_lock();
	mutex_lock(&text_mutex);
	if (trace)
		err = check_exits(choice, report) ?:
		      check_kprobes(choice, report);
	if (!err)
		patch_exits(choice, table, trace);
	mutex_unlock(&text_mutex);
	cpus_read_unlock();

	return err;
}

/* Text that someone else has overwritten may lead to a stub forever. */
static void pin(struct calltrace_choice *choice, unsigned long addr)
{
	pr_err("%pS is not what call tracing left there, and stays; so do the stubs\n",
	       (void *)addr);
	choice->pinned = true;
}

/* A debugger removes its breakpoint by itself. */
static bool entry_is_lost(const struct calltrace_function *f)
{
	const struct fhook_set *set = xa_load(&f->table->used, f->site);

	return fhook_set_is_stub(set) ||
	       !fhook_arch_site_has(fhook_site_addr(f->table, f->site),
				    fhook_set_state(set), fhook_set_dest(set));
}

static void look_for_lost(struct calltrace_choice *choice)
{
	const struct calltrace_function *f = choice->functions;
	const struct calltrace_exit *exit = choice->exits;

	/* Wait for other owners that are writing there. */
	guard(mutex)(&text_mutex);

	for (; f < choice->functions + choice->num_functions; f++) {
		if (!f->reason && f->table && entry_is_lost(f))
			pin(choice, f->func);
	}
	for (; exit < choice->exits + choice->num_exits; exit++) {
		if (!has_gone(choice, exit) && !exit_is(exit, false))
			pin(choice, exit->addr);
	}
}

/* The entries no longer lead to stubs: restore the exits. Needs no memory. */
static void switch_off(void)
{
	lockdep_assert_held(&fhook_mutex);
	if (!calltrace_enabled)
		return;

	calltrace_context_end();
	change_exits(calltrace_chosen, NULL, false, NULL);
	look_for_lost(calltrace_chosen);
	calltrace_enabled = false;
}

static bool can_trace_any(const struct calltrace_choice *choice)
{
	const struct calltrace_function *f = choice->functions;

	for (; f < choice->functions + choice->num_functions; f++) {
		if (!f->reason && f->table)
			return true;
	}

	return false;
}

static int switch_on(struct calltrace_choice *choice,
		     struct fhook_report *report)
{
	int err;

	if (fhook_switched_off)
		return fhook_fail(report, FHOOK_ERR_OFF, -ENODEV, 0,
				  "fhook is switched off");
	if (!choice)
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "no functions have been chosen");
	if (!can_trace_any(choice))
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "none of the functions that have been chosen can be traced: functions says why");

	err = check_entries(choice, report) ?:
	      change_exits(choice, NULL, true, report);
	if (err)
		return err;

	/* Entries come last: a failure changes none, but restoring them may need memory. */
	calltrace_enabled = true;
	err = calltrace_context_begin(choice, report) ?:
	      change_entries(choice, true, report);
	if (err)
		switch_off();

	return err;
}

/**
 * calltrace_switch() - start or stop sending calls through the block
 * @on: true to start
 * @report: report of the error
 *
 * Return: 0 or an error. Stopping may fail for lack of memory; nothing has changed
 * then.
 */
int calltrace_switch(bool on, struct fhook_report *report)
{
	struct calltrace_choice *choice = calltrace_chosen;
	int err;

	lockdep_assert_held(&fhook_mutex);
	if (on == calltrace_enabled)
		return on ? calltrace_context_begin(choice, report) : 0;
	if (on)
		return switch_on(choice, report);

	err = change_entries(choice, false, report);
	if (err)
		return err;

	switch_off();

	return 0;
}

/* Restore exits, because code of the module may still run after the stubs are freed. */
static void forget(const struct fhook_table *table)
{
	struct calltrace_choice *choice;
	struct calltrace_function *f;

	lockdep_assert_held(&fhook_mutex);
	if (calltrace_enabled)
		change_exits(calltrace_chosen, table, false, NULL);

	/* Look-ups still find replaced choices. */
	list_for_each_entry(choice, &calltrace_choices, list) {
		for (f = choice->functions;
		     f < choice->functions + choice->num_functions; f++) {
			if (f->table == table)
				WRITE_ONCE(f->table, NULL);
		}
	}
}

/* The last exit at or before an address, or NULL. */
static const struct calltrace_exit *
last_exit(const struct calltrace_choice *choice, unsigned long addr)
{
	unsigned int low = 0, high = choice->num_exits, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (choice->exits[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}

	return low ? &choice->exits[low - 1] : NULL;
}

/* Does a range touch an exit that is patched, or may be? */
static bool is_reserved(unsigned long start, unsigned long end)
{
	const struct calltrace_choice *choice = READ_ONCE(calltrace_chosen);
	const struct calltrace_exit *exit;

	if (!choice)
		return false;

	exit = last_exit(choice, end + 1);
	/* The byte before an exit is part of its instruction, or of the one before. */
	if (exit && exit->addr > end && !exit->prefixed)
		exit = exit > choice->exits ? exit - 1 : NULL;

	return exit && exit->addr + CALLTRACE_EXIT_SIZE > start &&
	       READ_ONCE(choice->functions[exit->function].table);
}

static struct fhook_extension extension = {
	.is_stub	= calltrace_is_stub,
	.resolve	= calltrace_resolve_stub,
	.lookup		= calltrace_address_lookup,
	.symbol		= calltrace_get_kallsym,
	.reserved	= is_reserved,
	.off		= switch_off,
	.forget		= forget,
};

static int __init calltrace_init(void)
{
	fhook_extension_add(&extension);

	return 0;
}
core_initcall(calltrace_init);
