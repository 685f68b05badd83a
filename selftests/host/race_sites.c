// SPDX-License-Identifier: GPL-2.0
/*
 * The sites of a process in threads: hits that look probes up, while probes and mappings change
 *
 * Usage: race-sites [-s SEED] [-r ROUNDS]
 *
 * Each round is a process, which maps files with probes. Its threads hit them: with the
 * kernel's own code they look the probe up among the sites of the process, or else in the
 * tree of probes, and then add a site. Each hit also begins and ends a call. Meanwhile one
 * thread removes probes and frees them after a grace period, and another maps other files
 * in place of those that are mapped. Both do what uprobes do: first the change, then the
 * notification.
 *
 * A hit must find a probe that has not been freed, and if the mapping did not change during
 * the hit, the probe must be one of the file that is mapped.
 *
 * Before the rounds, a process has as many sites as it may have: hits at other addresses are
 * counted, and do not take its lock.
 */
#undef __KERNEL__
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "race.h"
#define __KERNEL__
#include <linux/uhook_hooks.h>
#include <kernel/uhook/areas.h>
#include <kernel/uhook/events.h>
#include <kernel/uhook/life.h>
#include <kernel/uhook/sites.h>

#define HITTERS		4
#define HITS		6000
#define ADDRESSES	8
#define FILES		3

struct uprobe {
	refcount_t ref;
	unsigned int file;
	unsigned int address;
	struct rcu_head rcu;
};

/* The tree of probes, by file and address, and its lock. */
static struct uprobe *tree[FILES][ADDRESSES];
static pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;

/* The mapping at an address: its number, times FILES, plus the number of the file. */
#define NOTHING		-1UL
static unsigned long mapped[ADDRESSES];

static struct mm_struct *mm;
static struct task_struct task;
static unsigned long running;
static pthread_barrier_t start;
static unsigned long found, looked_up, stale;

/*
 * Functions of other files of the kernel.
 */
void uhook_put_handlers(struct uhook_mm *um)
{
	(void)um;
}

void uhook_put_areas(struct uhook_mm *um)
{
	(void)um;
}

static unsigned long address(unsigned int nr)
{
	return 0x400000 + nr * 0x10;
}

static void free_probe(struct rcu_head *rcu)
{
	free(container_of(rcu, struct uprobe, rcu));
}

static struct uprobe *make_probe(unsigned int file, unsigned int nr)
{
	struct uprobe *probe = calloc(1, sizeof(*probe));

	probe->file = file;
	probe->address = nr;
	refcount_set(&probe->ref, 1);
	return probe;
}

/* As put_uprobe() and uprobe_free_deferred() do it. */
static void replace_probe(unsigned int file, unsigned int nr)
{
	struct uprobe *old = tree[file][nr];

	refcount_set(&old->ref, 0);
	uhook_uprobe_gone(old);
	pthread_mutex_lock(&tree_lock);
	tree[file][nr] = make_probe(file, nr);
	pthread_mutex_unlock(&tree_lock);
	call_rcu_tasks_trace(&old->rcu, free_probe);
}

static void *remove_probes(void *unused)
{
	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		replace_probe(random() % FILES, random() % ADDRESSES);
		usleep(random() % 100);
	}
	return unused;
}

static void *map_files(void *unused)
{
	unsigned long number = ADDRESSES;
	unsigned int nr;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		nr = random() % ADDRESSES;
		mmap_write_lock_killable(mm);
		WRITE_ONCE(mapped[nr], NOTHING);
		uhook_munmap(mm);
		WRITE_ONCE(mapped[nr], ++number * FILES + random() % FILES);
		mmap_write_unlock(mm);
		usleep(random() % 100);
	}
	return unused;
}

/* As find_uprobe_at_site() does it; the tree is that of all files. */
static struct uprobe *find_probe(unsigned int nr)
{
	struct uhook_site *site = uhook_find_site(address(nr));
	struct uprobe *probe = NULL;
	struct uhook_lookup lookup;
	unsigned long mapping;

	if (site) {
		__atomic_fetch_add(&found, 1, __ATOMIC_RELAXED);
		return uhook_site_uprobe(site);
	}
	uhook_begin_lookup(&lookup);
	mapping = READ_ONCE(mapped[nr]);
	if (mapping == NOTHING)
		return NULL;
	pthread_mutex_lock(&tree_lock);
	probe = tree[mapping % FILES][nr];
	pthread_mutex_unlock(&tree_lock);

	uhook_end_lookup(&lookup, probe);
	if (refcount_read(&probe->ref))
		site = uhook_add_site(address(nr), probe, &lookup);
	__atomic_fetch_add(&looked_up, 1, __ATOMIC_RELAXED);
	if (site && uhook_site_uprobe(site) != probe)
		complain("a site was added with another probe");
	return probe;
}

static void hit(unsigned int nr)
{
	const unsigned long before = READ_ONCE(mapped[nr]);
	struct uprobe *probe;
	unsigned long after;

	rcu_read_lock_trace();
	/* The breakpoint is that of the mapping: it was hit afterwards. */
	barrier();
	probe = find_probe(nr);
	barrier();
	after = READ_ONCE(mapped[nr]);
	if (before != after || before == NOTHING)
		__atomic_fetch_add(&stale, 1, __ATOMIC_RELAXED);
	else if (!probe || probe->file != before % FILES || probe->address != nr)
		complain("the site of file %lu at %u has the probe of file %d at %d",
			 before % FILES, nr, probe ? (int)probe->file : -1,
			 probe ? (int)probe->address : -1);
	rcu_read_unlock_trace();
}

static void make_call(u64 i)
{
	struct uhook_span span = {
		.key = { .owner = i % 3, .sp = 0x1000 * this_cpu + i % 5 }, .values = { i },
	};
	struct uhook_mm *um = uhook_mm_of(mm);
	const u64 func = i << 8 | this_cpu;

	span.func = func;
	uhook_begin_span(um, &span);
	memset(span.values, 0, sizeof(span.values));
	span.func = 0;
	if (!uhook_end_span(um, &span))
		complain("call %lu is not known at its end", (long)i);
	else if (span.func != func || span.values[0] != i)
		complain("call %lu of %u ends as %lx", (long)i, this_cpu, span.func);
}

static void *hit_sites(void *data)
{
	unsigned int nr;
	u64 i;

	this_cpu = (unsigned long)data;
	current = &task;
	pthread_barrier_wait(&start);
	for (i = 0; i < HITS; i++) {
		nr = random() % ADDRESSES;
		hit(nr);
		make_call(i);
		if (i % 64)
			continue;
		mmap_read_lock(mm);
		uhook_forget_body(uhook_mm_of(mm), address(nr));
		mmap_read_unlock(mm);
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void make_process(void)
{
	unsigned long i;

	mm = calloc(1, sizeof(*mm));
	pthread_rwlock_init(&mm->mmap_lock, NULL);
	task.mm = mm;
	for (i = 0; i < ADDRESSES; i++)
		mapped[i] = i * FILES;
}

static void end_process(void)
{
	uhook_free_mm(mm);
	free(mm);
}

static void check_full(void)
{
	struct uhook_mm *um;
	unsigned int nr;

	make_process();
	current = &task;
	hit(0);
	um = uhook_mm_of(mm);
	um->sites.max_elems = 1;

	mutex_lock(&um->lock);
	for (nr = 1; nr < ADDRESSES; nr++)
		hit(nr);
	mutex_unlock(&um->lock);
	if (atomic_long_read(&um->unkept) != ADDRESSES - 1)
		complain("%ld hits were not kept, of %d", atomic_long_read(&um->unkept),
			 ADDRESSES - 1);
	if (uhook_find_site(address(1)))
		complain("there are more sites than the process may have");

	/* The site that is in the table becomes valid again. */
	uhook_munmap(mm);
	hit(0);
	if (!uhook_find_site(address(0)))
		complain("a full table does not keep the site that it has");
	end_process();
}

/* Only calls that begin after the others have been forgotten are known at their end. */
static void check_forgotten(void)
{
	struct uhook_span old = { .key.sp = 0x1000 }, new = { .key.sp = 0x2000 };
	struct uhook_mm *um;

	make_process();
	current = &task;
	hit(0);
	um = uhook_mm_of(mm);
	uhook_begin_span(um, &old);
	uhook_forget_calls(&task);
	uhook_begin_span(um, &new);
	if (uhook_end_span(um, &old))
		complain("a forgotten call is known at its end");
	if (!uhook_end_span(um, &new))
		complain("a call is not known that began after others had been forgotten");
	end_process();
}

static void run_process(void)
{
	pthread_t threads[HITTERS + 2];
	unsigned long i;

	make_process();
	running = HITTERS;
	pthread_barrier_init(&start, NULL, HITTERS);
	for (i = 0; i < HITTERS; i++)
		pthread_create(&threads[i], NULL, hit_sites, (void *)i);
	pthread_create(&threads[i++], NULL, remove_probes, NULL);
	pthread_create(&threads[i++], NULL, map_files, NULL);
	while (i--)
		pthread_join(threads[i], NULL);
	end_process();
}

int main(int argc, char **argv)
{
	unsigned long rounds = 12, i;

	read_options(argc, argv, "r:", &rounds);
	race_begin();
	for (i = 0; i < FILES * ADDRESSES; i++)
		tree[i / ADDRESSES][i % ADDRESSES] = make_probe(i / ADDRESSES, i % ADDRESSES);
	check_full();
	check_forgotten();
	for (i = 0; i < rounds; i++)
		run_process();
	race_barrier();
	printf("%lu hits found a site, %lu looked the probe up, %lu were during a change\n",
	       found, looked_up, stale);
	if (found < looked_up / 8 || looked_up < rounds * HITS / 64)
		complain("too few of a kind");
	return verdict();
}
