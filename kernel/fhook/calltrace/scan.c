// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: finding the exits of a function.
 *
 * All code of a function is decoded: from its first byte to the next symbol, and the
 * parts that the compiler has placed elsewhere, which are found through the jumps,
 * static branches and exception fixups that lead there. Returns are exits, jumps to
 * anywhere else are tail calls. If an instruction is not understood with certainty,
 * the function is not traced, and the reason is recorded: nothing is guessed.
 *
 * Under fhook_mutex, so that modules cannot be unloaded during a scan; and under
 * text_mutex, so that the scanned text is not being written.
 */
#include <linux/err.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/static_call.h>

#include "../core.h"
#include "../function.h"
#include "calltrace.h"

/* More parts than functions have in practice. */
#define MAX_PARTS	8

/* Without ftrace */
#ifndef MCOUNT_INSN_SIZE
#define MCOUNT_INSN_SIZE	0
#endif

/* The most instructions that linkers move into a veneer. */
#define VENEER_INSNS	2

/**
 * struct label - an instruction that is patched between jump, call and no-op
 * @code: address of the instruction
 * @target: target of the jump; 0 for a static call
 */
struct label {
	unsigned long	code;
	unsigned long	target;
};

/* Static branches and calls of vmlinux or a module, while its functions are being scanned. */
static struct label *labels;
static unsigned int num_labels;

/**
 * struct scan - the function that is being decoded
 * @choice: choice of the function
 * @index: index of the function
 * @parts: address ranges of its code
 * @num: number of parts found so far
 * @padded: whether any exit is shorter than a jump
 * @through: address of a jump through a register, 0 for none
 */
struct scan {
	struct calltrace_choice	*choice;
	unsigned int		index;
	struct fhook_range	parts[MAX_PARTS];
	unsigned int		num;
	bool			padded;
	unsigned long		through;
};

static int compare_labels(const void *a, const void *b)
{
	unsigned long left = ((const struct label *)a)->code;
	unsigned long right = ((const struct label *)b)->code;

	return left < right ? -1 : left > right;
}

static void add_branches(struct jump_entry *start, unsigned int num)
{
	struct jump_entry *entry;

	for (entry = start; entry < start + num; entry++, num_labels++) {
		labels[num_labels].code = jump_entry_code(entry);
		labels[num_labels].target = jump_entry_target(entry);
	}
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static unsigned int num_calls(const struct module *mod)
{
	if (mod)
		return mod->num_static_call_sites;

	return __stop_static_call_sites - __start_static_call_sites;
}

static void add_calls(const struct module *mod)
{
	struct static_call_site *site = mod ? mod->static_call_sites :
					      __start_static_call_sites;
	struct static_call_site *end = site + num_calls(mod);

	for (; site < end; site++, num_labels++) {
		labels[num_labels].code = (unsigned long)&site->addr +
					  site->addr;
		labels[num_labels].target = 0;
	}
}
#else
static unsigned int num_calls(const struct module *mod)
{
	return 0;
}

static void add_calls(const struct module *mod)
{
}
#endif

static unsigned int num_branches(const struct module *mod)
{
	return mod ? mod->num_jump_entries :
		     __stop___jump_table - __start___jump_table;
}

/**
 * calltrace_labels_begin() - collect static branches and static calls
 * @table: table of the functions that are scanned until calltrace_labels_end()
 *
 * Return: 0 or -ENOMEM.
 */
int calltrace_labels_begin(const struct fhook_table *table)
{
	const struct module *mod = table->mod;

	lockdep_assert_held(&fhook_mutex);
	labels = kvmalloc_array(num_branches(mod) + num_calls(mod), sizeof(*labels), GFP_KERNEL);
	if (!labels)
		return -ENOMEM;

	num_labels = 0;
	add_branches(mod ? mod->jump_entries : __start___jump_table, num_branches(mod));
	add_calls(mod);
	sort(labels, num_labels, sizeof(*labels), compare_labels, NULL);

	return 0;
}

/**
 * calltrace_labels_end() - free the collected instructions
 */
void calltrace_labels_end(void)
{
	lockdep_assert_held(&fhook_mutex);
	kvfree(labels);
	labels = NULL;
}

static int refuse(struct scan *scan, enum calltrace_reason reason,
		  unsigned long addr)
{
	struct calltrace_function *f = &scan->choice->functions[scan->index];

	f->reason = reason;
	f->where = addr >= f->func ? addr - f->func : 0;

	return -EOPNOTSUPP;
}

static bool in_parts(const struct scan *scan, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < scan->num; i++) {
		if (addr >= scan->parts[i].start && addr < scan->parts[i].end)
			return true;
	}

	return false;
}

#ifdef CONFIG_DYNAMIC_FTRACE
/*
 * For kallsyms, a function ends at the next symbol. Before that there may be data of
 * the next function, or a function that lost its name to another one of the same name;
 * ftrace's records show both.
 */
static unsigned long code_end(unsigned long start, unsigned long end)
{
	unsigned long own = ftrace_location(start), other;
	unsigned long from = own ? own + MCOUNT_INSN_SIZE : start;
	unsigned long last = end + FHOOK_SLOT_DISTANCE;

	while ((other = ftrace_location_range(from, last))) {
		end = min(end, calltrace_arch_before(other));
		last = other - 1;
	}

	return end;
}
#else
static unsigned long code_end(unsigned long start, unsigned long end)
{
	return end;
}
#endif

static bool add_part(struct scan *scan, unsigned long addr)
{
	unsigned long size, offset, start;

	if (scan->num == MAX_PARTS ||
	    !kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;

	start = addr - offset;
	scan->parts[scan->num].start = start;
	scan->parts[scan->num++].end = code_end(start, start + size);

	return true;
}

/* Is this a part of a function that the compiler has placed elsewhere? */
static bool is_cold(unsigned long addr)
{
	char name[KSYM_NAME_LEN];
	const char *dot;

	if (lookup_symbol_name(addr, name))
		return false;

	dot = strstr(name, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

/* Does a jump to an address of the function pass through its slot, as calls do? */
static bool is_call(const struct scan *scan, unsigned long target)
{
	const struct calltrace_function *f = &scan->choice->functions[scan->index];

	return target >= f->func && target <= fhook_site_addr(f->table, f->site);
}

/*
 * Is the target of a jump in this function, perhaps in a part that is found by this
 * jump? A jump to the beginning is a tail call of the function to itself.
 */
static bool is_inside(struct scan *scan, unsigned long target)
{
	if (is_call(scan, target))
		return false;

	return in_parts(scan, target) ||
	       (is_cold(target) && add_part(scan, target));
}

/*
 * Does a jump lead to a veneer: an instruction or two that linkers move elsewhere,
 * followed by a jump back (erratum 843419 of Cortex-A53)? No call leads to a veneer.
 */
static bool comes_back(const struct scan *scan, unsigned long target, unsigned long back)
{
	unsigned long size, offset, end;
	struct calltrace_insn insn;
	unsigned int i;

	if (!in_parts(scan, back) ||
	    !kallsyms_lookup_size_offset(target, &size, &offset))
		return false;

	end = target - offset + size;
	for (i = 0; i <= VENEER_INSNS && target < end; i++, target += insn.len) {
		calltrace_arch_decode(target, end, &insn);
		if (insn.flow == CALLTRACE_JUMP)
			return i && insn.target == back;
		if (insn.flow != CALLTRACE_ON)
			return false;
	}

	return false;
}

/* The first label at or after an address. */
static const struct label *label_from(unsigned long addr)
{
	unsigned int low = 0, high = num_labels, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (labels[mid].code < addr)
			low = mid + 1;
		else
			high = mid;
	}

	return low < num_labels ? &labels[low] : NULL;
}

/* The targets of static branches and exception fixups belong to the function. */
static int follow_aside(struct scan *scan, unsigned long addr)
{
	const struct label *label = label_from(addr);
	const struct exception_table_entry *fixup;

	if (label && label->code == addr && label->target &&
	    !is_inside(scan, label->target))
		return refuse(scan, CALLTRACE_ASIDE, addr);
	fixup = search_exception_tables(addr);
	if (fixup && !is_inside(scan, (unsigned long)&fixup->fixup +
				      fixup->fixup))
		return refuse(scan, CALLTRACE_ASIDE, addr);

	return 0;
}

/* Other owners of text may write to it at any time. */
static bool is_owned(unsigned long addr)
{
	void *first = (void *)addr, *last = first + CALLTRACE_EXIT_SIZE - 1;
	const struct label *label = label_from(addr);

	return (label && label->code <= (unsigned long)last) ||
	       ftrace_text_reserved(first, last);
}

/**
 * calltrace_has_kprobe() - check for a kprobe, other than one by ftrace or fhook
 * @addr: the address
 *
 * Return: true if there is.
 */
bool calltrace_has_kprobe(unsigned long addr)
{
	struct kprobe *p;

	guard(preempt)();
	p = get_kprobe((void *)addr);

	return p && !kprobe_ftrace(p) && !kprobe_fhook(p);
}

/* Names of functions in modules must be copied while the module is loaded. */
static int name_target(struct calltrace_exit *exit)
{
	char name[KSYM_NAME_LEN];

	if (!exit->target || core_kernel_text(exit->target) ||
	    lookup_symbol_name(exit->target, name))
		return 0;
	exit->name = kstrdup(name, GFP_KERNEL);

	return exit->name ? 0 : -ENOMEM;
}

static struct calltrace_exit *next_exit(struct calltrace_choice *choice)
{
	unsigned int max = choice->max_exits;
	struct calltrace_exit *exits;

	if (choice->num_exits == max) {
		max = max ? 2 * max : 256;
		exits = kvrealloc(choice->exits, max * sizeof(*exits),
				  GFP_KERNEL);
		if (!exits)
			return NULL;
		choice->exits = exits;
		choice->max_exits = max;
	}

	return &choice->exits[choice->num_exits++];
}

static int add_exit(struct scan *scan, unsigned long addr,
		    enum calltrace_kind kind, const struct calltrace_insn *insn)
{
	struct calltrace_exit *exit;
	bool prefixed = insn->flow != CALLTRACE_LEAVE && insn->len > CALLTRACE_EXIT_SIZE;

	/* A prefix of a jump stays: what follows it would be out of step otherwise. */
	if (prefixed)
		addr += insn->len - CALLTRACE_EXIT_SIZE;
	if (insn->room < CALLTRACE_EXIT_SIZE)
		return refuse(scan, CALLTRACE_NO_ROOM, addr);
	if (is_owned(addr))
		return refuse(scan, CALLTRACE_OWNED, addr);
	if (!calltrace_arch_can_leave(addr))
		return refuse(scan, CALLTRACE_INDIRECT, addr);

	exit = next_exit(scan->choice);
	if (!exit)
		return -ENOMEM;

	*exit = (struct calltrace_exit){
		.addr		= addr,
		.function	= scan->index,
		.kind		= kind,
		.leaves		= insn->flow == CALLTRACE_LEAVE,
		.prefixed	= prefixed,
	};
	if (kind == CALLTRACE_TAIL && !exit->leaves)
		exit->target = insn->target;
	memcpy(exit->original, (void *)addr, CALLTRACE_EXIT_SIZE);
	scan->padded |= insn->len < CALLTRACE_EXIT_SIZE;

	return name_target(exit);
}

static int scan_insn(struct scan *scan, unsigned long addr,
		     const struct calltrace_insn *insn)
{
	switch (insn->flow) {
	case CALLTRACE_ON:
		return 0;
	case CALLTRACE_RETURN:
		return add_exit(scan, addr, CALLTRACE_EXIT, insn);
	case CALLTRACE_LEAVE:
		scan->through = addr;
		return add_exit(scan, addr, CALLTRACE_TAIL, insn);
	case CALLTRACE_JUMP:
		if (is_inside(scan, insn->target) ||
		    comes_back(scan, insn->target, addr + insn->len))
			return 0;
		if (calltrace_arch_is_thunk(insn->target))
			scan->through = addr;
		return add_exit(scan, addr, CALLTRACE_TAIL, insn);
	case CALLTRACE_BRANCH:
		if (is_inside(scan, insn->target))
			return 0;
		return refuse(scan, CALLTRACE_CONDITIONAL, addr);
	case CALLTRACE_REFUSED:
		break;
	}

	return refuse(scan, insn->reason, addr);
}

static int scan_part(struct scan *scan, const struct fhook_range *part,
		     unsigned long slot)
{
	unsigned long call = ftrace_location(part->start);
	struct calltrace_insn insn;
	unsigned long addr;
	int err;

	for (addr = part->start; addr < part->end; addr += insn.len) {
		/* The jump or call in a slot comes from hooks and is not an exit. */
		if (addr == slot) {
			insn.len = FHOOK_SLOT_SIZE;
			continue;
		}
		/* Nor is that of a BPF program in ftrace's. */
		if (addr == call) {
			insn.len = MCOUNT_INSN_SIZE;
			continue;
		}
		if (calltrace_has_kprobe(addr))
			return refuse(scan, CALLTRACE_KPROBE, addr);

		calltrace_arch_decode(addr, part->end, &insn);
		err = scan_insn(scan, addr, &insn) ?: follow_aside(scan, addr);
		if (err)
			return err;
	}

	return 0;
}

/* Does a branch of the function lead between the bytes that a jump would replace? */
static bool is_entered_inside(const struct scan *scan, unsigned int first,
			      unsigned long target)
{
	const struct calltrace_choice *choice = scan->choice;
	unsigned int i;

	for (i = first; i < choice->num_exits; i++) {
		if (target > choice->exits[i].addr &&
		    target - choice->exits[i].addr < CALLTRACE_EXIT_SIZE)
			return true;
	}

	return false;
}

/*
 * The bytes after an instruction that is shorter than a jump should never be executed;
 * check that no branch leads there.
 */
static int check_room(struct scan *scan, unsigned int first)
{
	const struct fhook_range *part;
	struct calltrace_insn insn;
	unsigned long addr;

	for (part = scan->parts; part < scan->parts + scan->num; part++) {
		for (addr = part->start; addr < part->end; addr += insn.len) {
			calltrace_arch_decode(addr, part->end, &insn);
			if ((insn.flow == CALLTRACE_JUMP ||
			     insn.flow == CALLTRACE_BRANCH) &&
			    is_entered_inside(scan, first, insn.target))
				return refuse(scan, CALLTRACE_NO_ROOM, addr);
		}
	}

	return 0;
}

/* Is an address that of a label? The own start of the function does not count. */
static bool is_label(const struct scan *scan, unsigned long addr)
{
	unsigned int i;

	/* Distances of labels from the end of a part may be in data instead of the labels. */
	for (i = 0; i < scan->num; i++) {
		if (addr == scan->parts[i].end)
			return true;
	}

	return addr != scan->parts[0].start && in_parts(scan, addr);
}

/* Is a label, or the address where a part ends, an operand of the function's code? */
static bool takes_label(const struct scan *scan)
{
	const struct fhook_range *part;
	struct calltrace_insn insn;
	unsigned long addr;
	unsigned int i;

	for (part = scan->parts; part < scan->parts + scan->num; part++) {
		for (addr = part->start; addr < part->end; addr += insn.len) {
			calltrace_arch_decode(addr, part->end, &insn);
			for (i = 0; i < ARRAY_SIZE(insn.takes); i++) {
				if (is_label(scan, insn.takes[i]))
					return true;
			}
		}
	}

	return false;
}

/*
 * A jump through a register leaves the function if the register cannot hold the address of a
 * label; such an address would be in data or in an operand. There are no jump tables.
 */
static int check_labels(struct scan *scan)
{
	const struct fhook_table *table = scan->choice->functions[scan->index].table;
	const struct fhook_range *part;
	bool found = takes_label(scan);
	int taken;

	for (part = scan->parts; part < scan->parts + scan->num && !found; part++) {
		taken = calltrace_taken(table, part->start + (part == scan->parts), part->end);
		if (taken < 0)
			return taken;
		found = taken;
	}

	return found ? refuse(scan, CALLTRACE_TAKEN, scan->through) : 0;
}

static void forget_exits(struct calltrace_choice *choice, unsigned int first)
{
	while (choice->num_exits > first)
		kfree(choice->exits[--choice->num_exits].name);
}

/**
 * calltrace_scan() - find the exits of a function
 * @choice: choice that gets the exits
 * @function: index of the function, which gets a reason if it cannot be traced
 *
 * Return: 0, even if the function cannot be traced, or -ENOMEM.
 */
int calltrace_scan(struct calltrace_choice *choice, unsigned int function)
{
	struct calltrace_function *f = &choice->functions[function];
	struct scan scan = { .choice = choice, .index = function };
	unsigned int first = choice->num_exits, i;
	int err = 0;

	lockdep_assert_held(&fhook_mutex);
	/* Livepatch writes jumps there when the patched module comes and goes. */
	if (f->table->mod && is_livepatch_module(f->table->mod)) {
		f->reason = CALLTRACE_OWNED;
		return 0;
	}
	if (!add_part(&scan, f->func)) {
		f->reason = CALLTRACE_NAMELESS;
		return 0;
	}

	mutex_lock(&text_mutex);
	/* The scan may add parts. */
	for (i = 0; i < scan.num && !err; i++)
		err = scan_part(&scan, &scan.parts[i],
				fhook_site_addr(f->table, f->site));
	if (!err && scan.padded)
		err = check_room(&scan, first);
	if (!err && scan.through)
		err = check_labels(&scan);
	mutex_unlock(&text_mutex);

	if (err)
		forget_exits(choice, first);
	f->exits = choice->num_exits - first;

	return err == -ENOMEM ? err : 0;
}

static int compare_exits(const void *a, const void *b)
{
	unsigned long left = ((const struct calltrace_exit *)a)->addr;
	unsigned long right = ((const struct calltrace_exit *)b)->addr;

	return left < right ? -1 : left > right;
}

/* If two functions share an exit, refuse both. */
static void refuse_shared(struct calltrace_choice *choice)
{
	struct calltrace_function *f;
	struct calltrace_exit *exit;
	unsigned int i;

	for (exit = choice->exits + 1;
	     exit < choice->exits + choice->num_exits; exit++) {
		if (exit[-1].addr != exit->addr)
			continue;
		for (i = 0; i < 2; i++) {
			f = &choice->functions[exit[-i].function];
			f->reason = CALLTRACE_SHARED;
		}
	}
}

/**
 * calltrace_exits_drop() - remove the exits of functions that cannot be traced
 * @choice: choice with the exits
 */
void calltrace_exits_drop(struct calltrace_choice *choice)
{
	unsigned int i, num = 0;

	for (i = 0; i < choice->num_exits; i++) {
		if (choice->functions[choice->exits[i].function].reason)
			kfree(choice->exits[i].name);
		else
			choice->exits[num++] = choice->exits[i];
	}
	choice->num_exits = num;
}

/**
 * calltrace_exits_sort() - sort exits by address
 * @choice: choice with the exits; functions that share exits lose theirs
 */
void calltrace_exits_sort(struct calltrace_choice *choice)
{
	if (!choice->num_exits)
		return;

	sort(choice->exits, choice->num_exits, sizeof(*choice->exits),
	     compare_exits, NULL);
	refuse_shared(choice);
	calltrace_exits_drop(choice);
}
