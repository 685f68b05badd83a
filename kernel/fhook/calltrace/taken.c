// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: addresses of code in data.
 *
 * A jump through a register leaves its function, unless the register holds the address
 * of a label: compilers put such addresses into data, or into the code of the function.
 * When the first function of vmlinux or of a module with such a jump is scanned, all words
 * in its data that hold addresses of its own code are listed. The relocations are no longer
 * available, so a word that only looks like an address also prevents a function from being
 * traced.
 *
 * Under fhook_mutex, so that the modules cannot be unloaded meanwhile.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <asm/sections.h>

#include "../core.h"
#include "../function.h"
#include "calltrace.h"

/* Sorted addresses of code, while the functions of the table @listed are being scanned. */
static unsigned long *words;
static unsigned int num_words, max_words;
static const struct fhook_table *listed;

static int add_word(unsigned long word)
{
	unsigned long *more;
	unsigned int max;

	if (num_words == max_words) {
		max = max_words ? 2 * max_words : 4096;
		more = kvrealloc(words, max * sizeof(*words), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		words = more;
		max_words = max;
	}
	words[num_words++] = word;

	return 0;
}

/*
 * The range includes redzones of KASAN, and on arm64 pages that protected KVM has taken from
 * the kernel, so the reads must neither be checked nor trusted to succeed.
 */
static int list_words(const void *from, const void *to, const struct fhook_range *text)
{
	const unsigned long *word = PTR_ALIGN(from, sizeof(*word));
	unsigned long value;
	int err;

	for (; (const void *)(word + 1) <= to; word++) {
		if (get_kernel_nofault(value, word))
			value = 0;
		if (value >= text->start && value < text->end) {
			err = add_word(value);
			if (err)
				return err;
		}
		if (!((unsigned long)word % PAGE_SIZE))
			cond_resched();
	}

	return 0;
}

static int list_module(const struct module *mod)
{
	static const enum mod_mem_type types[] = {
		MOD_DATA, MOD_RODATA, MOD_RO_AFTER_INIT,
	};
	const struct module_memory *mem = &mod->mem[MOD_TEXT];
	struct fhook_range text = {
		.start	= (unsigned long)mem->base,
		.end	= (unsigned long)mem->base + mem->size,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(types) && !err; i++) {
		mem = &mod->mem[types[i]];
		err = list_words(mem->base, mem->base + mem->size, &text);
	}

	return err;
}

static int list_kernel(void)
{
	struct fhook_range text = {
		.start	= (unsigned long)_stext,
		.end	= (unsigned long)_etext,
	};

	return list_words(__start_rodata, __end_rodata, &text) ?:
	       list_words(_sdata, _edata, &text);
}

static int compare_words(const void *a, const void *b)
{
	unsigned long left = *(const unsigned long *)a;
	unsigned long right = *(const unsigned long *)b;

	return left < right ? -1 : left > right;
}

static int list_table(const struct fhook_table *table)
{
	int err;

	lockdep_assert_held(&fhook_mutex);
	if (listed == table)
		return 0;

	err = table->mod ? list_module(table->mod) : list_kernel();
	if (err)
		return err;
	sort(words, num_words, sizeof(*words), compare_words, NULL);
	listed = table;

	return 0;
}

/**
 * calltrace_taken() - check whether data holds the address of code in a range
 * @table: table of the code; calltrace_taken_end() comes before another one
 * @start: start of the range
 * @end: end of the range
 *
 * Return: 1 if it does, 0 if it does not, or -ENOMEM.
 */
int calltrace_taken(const struct fhook_table *table, unsigned long start, unsigned long end)
{
	unsigned int low = 0, high, mid;
	int err;

	err = list_table(table);
	if (err)
		return err;

	high = num_words;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (words[mid] < start)
			low = mid + 1;
		else
			high = mid;
	}

	return low < num_words && words[low] < end;
}

/**
 * calltrace_taken_end() - free the list of addresses
 */
void calltrace_taken_end(void)
{
	lockdep_assert_held(&fhook_mutex);
	kvfree(words);
	words = NULL;
	num_words = 0;
	max_words = 0;
	listed = NULL;
}
