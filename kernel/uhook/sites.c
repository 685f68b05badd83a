// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the sites of a process.
 *
 * A table of each address space says which uprobe is at an address and where
 * its slot is, so that a hit takes no lock of the address space and writes
 * nothing that others read. It is a cache: a site was made by a hit that took
 * the lock, and counts for nothing once
 *  - its uprobe has gone, or one whose address has the same hash: the memory of one stays
 *    until everybody who may have found it has left his RCU tasks trace section, and not
 *    longer; or
 *  - probed text was unmapped in this address space: what is at the address may
 *    be another file's next time.
 * Nothing else changes which file, and which place in it, an address belongs
 * to, or which uprobe is there. Whoever makes a site has read the latter counter before
 * looking, and the former before asking whether what was found has gone.
 *
 * Sites are replaced and freed after a grace period of RCU tasks trace, which
 * is one of RCU as well. Changes are made with uhook_mm::lock held.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/rcupdate_trace.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "internal.h"

static const struct rhashtable_params site_params = {
	.key_len		= sizeof_field(struct uhook_site, vaddr),
	.key_offset		= offsetof(struct uhook_site, vaddr),
	.head_offset		= offsetof(struct uhook_site, node),
	.automatic_shrinking	= true,
	/* A program may map probed text anew without end: twice as many sites. */
	.max_size		= 32768,
};

/* How many uprobes have gone, of those whose address has one hash. */
#define GONE_BITS	10
static atomic_long_t uprobes_gone[1 << GONE_BITS];

static atomic_long_t *gone_of(const struct uprobe *uprobe)
{
	return &uprobes_gone[hash_ptr(uprobe, GONE_BITS)];
}

/* What an address space has, or NULL. */
struct uhook_mm *uhook_mm_of(const struct mm_struct *mm)
{
	/* Pairs with get_uhook_mm(). */
	return smp_load_acquire(&mm->uprobes_state.uhook);
}

/**
 * uhook_uprobe_gone - no site may lead to a uprobe that is going to be freed
 * @uprobe: it, of which there is no reference any more
 *
 * Sites of a few others, whose address has the same hash, are looked up anew.
 *
 * To be called before call_rcu_tasks_trace(): whoever still reads the old
 * generation is in a section that the grace period waits for.
 */
void uhook_uprobe_gone(const struct uprobe *uprobe)
{
	atomic_long_inc_return(gone_of(uprobe));
}

/**
 * uhook_has_sites - may hits in an address space be served without its lock?
 * @mm: which
 *
 * Context: any; the answer is of use with the mmap lock held.
 * Return: false if nothing is remembered there.
 */
bool uhook_has_sites(const struct mm_struct *mm)
{
	return uhook_mm_of(mm);
}

/**
 * uhook_munmap - probed text is being unmapped
 * @mm: where
 *
 * Context: with the mmap lock held and the mapping out of reach, if it goes for
 * good. Or with neither, even while nobody uses the address space any more, if
 * only its pages go.
 */
void uhook_munmap(struct mm_struct *mm)
{
	atomic_long_inc_return(&mm->uprobes_state.unmapped);
}

static bool is_current(const struct uhook_site *site, const struct mm_struct *mm)
{
	return site->gone == atomic_long_read(gone_of(site->uprobe)) &&
	       READ_ONCE(site->unmapped) == atomic_long_read(&mm->uprobes_state.unmapped);
}

static struct uhook_site *lookup_site(struct uhook_mm *um, unsigned long vaddr)
{
	return rhashtable_lookup_fast(&um->sites, &vaddr, site_params);
}

/**
 * uhook_find_site - find the site that current hit
 * @vaddr: the address of the breakpoint
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(), during
 * which site and uprobe stay.
 * Return: the site, with the uprobe that is there now; NULL when it has to be
 * looked for.
 */
struct uhook_site *uhook_find_site(unsigned long vaddr)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct uhook_site *site;

	if (!um || !READ_ONCE(uhook_boost_enabled))
		return NULL;

	site = lookup_site(um, vaddr);
	if (!site || !is_current(site, current->mm))
		return NULL;

	return site;
}

/* The uprobe of a site that was just found. */
struct uprobe *uhook_site_uprobe(const struct uhook_site *site)
{
	return site->uprobe;
}

static struct uhook_mm *make_uhook_mm(struct mm_struct *mm, gfp_t gfp)
{
	struct uhook_mm *um = kzalloc(sizeof(*um), gfp);

	if (!um)
		return NULL;

	if (rhashtable_init(&um->sites, &site_params)) {
		kfree(um);
		return NULL;
	}
	mutex_init(&um->lock);
	xa_init_flags(&um->hops, XA_FLAGS_ACCOUNT);
	um->mm = mm;
	mutex_init(&um->counts);
	refcount_set(&um->ref, 1);

	return um;
}

static void free_site(void *site, void *unused)
{
	kfree(site);
}

/* Its areas and sites have gone before, with the address space. */
void uhook_put_mm(struct uhook_mm *um)
{
	if (!refcount_dec_and_test(&um->ref))
		return;

	mutex_destroy(&um->counts);
	mutex_destroy(&um->lock);
	kfree(um);
}

static void free_uhook_mm(struct uhook_mm *um)
{
	uhook_fold_data(um);
	uhook_put_hops(um);
	uhook_put_areas(um);
	uhook_put_stubs(um);
	rhashtable_free_and_destroy(&um->sites, free_site, NULL);
	uhook_put_mm(um);
}

/* current's, made when there is none. */
static struct uhook_mm *get_uhook_mm(void)
{
	struct mm_struct *mm = current->mm;
	struct uhook_mm *um = uhook_mm_of(mm), *other;

	if (um)
		return um;

	um = make_uhook_mm(mm, GFP_UHOOK);
	if (!um)
		return NULL;

	/* Whoever sees it sees it whole: uhook_mm_of(). */
	um->tgid = task_tgid_nr(current);
	other = cmpxchg(&mm->uprobes_state.uhook, NULL, um);
	if (other) {
		free_uhook_mm(um);
		return other;
	}

	return um;
}

/**
 * uhook_begin_lookup - a uprobe is going to be looked for
 * @lookup: receives what has to be the same for its site to be believed
 *
 * From here on the address space is known to have sites, and what is unmapped
 * counts.
 *
 * Context: task; sleeps.
 */
void uhook_begin_lookup(struct uhook_lookup *lookup)
{
	lookup->valid = READ_ONCE(uhook_boost_enabled) && get_uhook_mm();
	lookup->unmapped = atomic_long_read(&current->mm->uprobes_state.unmapped);
	/* Pairs with the barriers of those who count: read before looking. */
	smp_rmb();
}

/**
 * uhook_end_lookup - a uprobe was found
 * @lookup: of the time before
 * @uprobe: it; whether it is going has to be asked after this
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace().
 */
void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe)
{
	lookup->gone = atomic_long_read(gone_of(uprobe));
	/* Pairs with the barrier of uhook_uprobe_gone(): read before asking. */
	smp_rmb();
}

static void free_site_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct uhook_site, rcu));
}

static struct uhook_site *make_site(unsigned long vaddr, struct uprobe *uprobe,
				    const struct uhook_lookup *lookup)
{
	struct uhook_site *site = kzalloc(sizeof(*site), GFP_UHOOK);

	if (!site)
		return NULL;

	site->vaddr = vaddr;
	site->uprobe = uprobe;
	site->gone = lookup->gone;
	site->unmapped = lookup->unmapped;
	site->again = jiffies;

	return site;
}

/* With um->lock held. */
static struct uhook_site *enter_site(struct uhook_mm *um, unsigned long vaddr,
				     struct uprobe *uprobe, const struct uhook_lookup *lookup)
{
	struct uhook_site *old = lookup_site(um, vaddr), *site;

	/* No uprobe has gone: this is the one that it was. */
	if (old && old->uprobe == uprobe && old->gone == lookup->gone) {
		WRITE_ONCE(old->unmapped, lookup->unmapped);
		return old;
	}

	site = make_site(vaddr, uprobe, lookup);
	if (!site)
		return NULL;

	if (old ? rhashtable_replace_fast(&um->sites, &old->node, &site->node, site_params) :
		  rhashtable_insert_fast(&um->sites, &site->node, site_params)) {
		kfree(site);
		return NULL;
	}
	if (old)
		call_rcu_tasks_trace(&old->rcu, free_site_rcu);

	return site;
}

/**
 * uhook_add_site - remember which uprobe is at an address
 * @vaddr: the address, of current's address space
 * @uprobe: the uprobe
 * @lookup: from uhook_begin_lookup() and uhook_end_lookup(), around the looking
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(); sleeps.
 * Return: the site, or NULL for want of memory, when there are too many, or when
 * nothing is to be boosted.
 */
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct uhook_site *site;

	if (!lookup->valid || mutex_lock_killable(&um->lock))
		return NULL;

	site = enter_site(um, vaddr, uprobe, lookup);
	mutex_unlock(&um->lock);

	return site;
}

/**
 * uhook_is_known - is a site what will be found at its address?
 * @um: of current's address space
 * @site: it
 *
 * Another one may have taken its place since it was hit, which is told of changes.
 *
 * Context: task, with the mmap lock held.
 */
bool uhook_is_known(struct uhook_mm *um, const struct uhook_site *site)
{
	bool known;

	rcu_read_lock();
	known = lookup_site(um, site->vaddr) == site && is_current(site, um->mm);
	rcu_read_unlock();

	return known;
}

/**
 * uhook_forget_body - a site has to look for its body again
 * @um: of the address space
 * @vaddr: the site
 *
 * Context: task, with the mmap lock held.
 */
void uhook_forget_body(const struct uhook_mm *um, unsigned long vaddr)
{
	struct uhook_site *site;

	rcu_read_lock();
	site = lookup_site((struct uhook_mm *)um, vaddr);
	if (site) {
		WRITE_ONCE(site->body_verdict, UHOOK_UNDECIDED);
		WRITE_ONCE(site->again, jiffies);
		WRITE_ONCE(site->tries, 0);
		WRITE_ONCE(site->body, 0);
	}
	rcu_read_unlock();
}

/**
 * uhook_dup_mmap - give a child what its parent has
 * @oldmm: the parent's address space; its mmap lock is held for writing
 * @mm: the child's
 *
 * The child finds its sites anew: it has no slots, and its mappings may be fewer.
 *
 * Return: 0 or -ENOMEM, and the fork fails.
 */
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm)
{
	struct uhook_mm *from = uhook_mm_of(oldmm), *um;

	if (!from || (!uhook_dup_areas(from) && !from->nr_blocks))
		return 0;

	um = make_uhook_mm(mm, GFP_KERNEL_ACCOUNT);
	if (!um)
		return -ENOMEM;

	if (uhook_share_areas(from, um) || uhook_share_hops(from, um) ||
	    uhook_copy_stubs(from, um)) {
		free_uhook_mm(um);
		return -ENOMEM;
	}
	um->payer = oldmm;
	/* Its process is going to have a number that is not far behind. */
	um->look_from = task_tgid_nr(current);
	mm->uprobes_state.uhook = um;

	return 0;
}

/**
 * uhook_free_mm - nobody uses an address space any more
 * @mm: which
 *
 * Context: task; sleeps.
 */
void uhook_free_mm(struct mm_struct *mm)
{
	struct uhook_mm *um = uhook_mm_of(mm);

	if (!um)
		return;

	mm->uprobes_state.uhook = NULL;
	free_uhook_mm(um);
}

/* How many sites are shown before others may run. */
#define SHOWN_AT_ONCE	256

static const char * const verdicts[UHOOK_VERDICTS] = {
	[UHOOK_UNDECIDED]	= "emulated",
	[UHOOK_BY_TASK]		= "stepped: by a debugger, or it is 32-bit code",
	[UHOOK_IN_PLACE]	= "stepped: the instruction can only run in its place",
	[UHOOK_NO_GAP]		= "stepped: no gap in the address space is near enough",
	[UHOOK_FULL]		= "stepped: the process has as many slots as it may have",
	[UHOOK_NO_MEMORY]	= "stepped: there was no memory for a slot",
};

static const char * const no_body[UHOOK_VERDICTS] = {
	[UHOOK_BY_TASK]		= "of a debugger, or of 32-bit code",
	[UHOOK_IN_PLACE]	= "the instruction can only run in its place",
	[UHOOK_NO_GAP]		= "no gap in the address space is near enough",
	[UHOOK_FULL]		= "the process has as many bodies as it may have",
	[UHOOK_NO_MEMORY]	= "there was no memory for a body",
	[UHOOK_IN_RSEQ]		= "it is in a restartable sequence",
	[UHOOK_NO_CLOCK]	= "the task may not read the clock or its thread register",
	[UHOOK_NO_FUNCTION]	= "the file of the handler is not mapped",
	[UHOOK_NO_VECTORS]	= "the handler may use vector registers, which are not kept here",
	[UHOOK_TOO_LONG]	= "there are more handlers than there is room for",
	[UHOOK_NO_STUB]		= "something else is where its stub is to be",
};

static const char * const bars[UHOOK_BARS] = {
	[UHOOK_BAR_KERNEL]	= "there is a handler in the kernel, too",
	[UHOOK_BAR_NEIGHBOUR]	= "a probe is on the bytes behind it",
	[UHOOK_BAR_PAGE]	= "a jump would cross the end of a page",
	[UHOOK_BAR_WRITABLE]	= "the program can write to its text",
	[UHOOK_BAR_TRACED]	= "a debugger is attached",
	[UHOOK_BAR_ATOMIC]	= "it is between a load and a store that belong together",
	[UHOOK_BAR_LANDING]	= "indirect branches must find it",
	[UHOOK_BAR_TAKEN]	= "something is where a jump could lead",
	[UHOOK_BAR_FULL]	= "the process has as many pages for hops as it may have",
	[UHOOK_BAR_SHARED]	= "the page for its hop is another process's, too",
	[UHOOK_BAR_CLOCK]	= "a thread may not read the clock or its thread register",
	[UHOOK_BAR_RSEQ]	= "a thread may be in a restartable sequence there",
	[UHOOK_BAR_ERROR]	= "the text could not be written",
};

/* How it is hit is for whoever looks at the text, and may change any time. */
static void show_way(struct seq_file *m, const struct uhook_site *site)
{
	unsigned long body = READ_ONCE(site->body);
	enum uhook_verdict verdict = READ_ONCE(site->body_verdict);
	enum uhook_bar bar = READ_ONCE(site->bar);

	if (body && bar)
		seq_printf(m, "body 0x%lx, breakpoint: %s", body, bars[bar]);
	else if (body)
		seq_printf(m, "body 0x%lx, jump", body);
	else if (no_body[verdict])
		seq_printf(m, "handled in the kernel: %s", no_body[verdict]);
	else if (site->slot)
		seq_printf(m, "slot 0x%lx", site->slot);
	else
		seq_puts(m, verdicts[READ_ONCE(site->verdict)]);
}

/*
 * A process goes on in a file that was deleted, or whose name another file has by now.
 * Events that are defined on the new file do not hit it.
 */
static bool has_gone_file(const struct uhook_mm *um, const struct uhook_site *site)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(um->mm);
	vma = vma_lookup(um->mm, site->vaddr);
	return vma && vma->vm_file && d_unlinked(file_user_path(vma->vm_file)->dentry);
}

static void show_site(struct seq_file *m, const struct uhook_mm *um,
		      const struct uhook_site *site)
{
	seq_printf(m, " 0x%lx ", site->vaddr);
	show_way(m, site);
	if (has_gone_file(um, site))
		seq_puts(m, " # the file was deleted or replaced");
	seq_putc(m, '\n');
}

static void begin_showing(struct uhook_mm *um, struct rhashtable_iter *iter)
	__acquires(RCU)
{
	mmap_read_lock(um->mm);
	rhashtable_walk_start(iter);
}

static void end_showing(struct uhook_mm *um, struct rhashtable_iter *iter)
	__releases(RCU)
{
	rhashtable_walk_stop(iter);
	mmap_read_unlock(um->mm);
}

/**
 * uhook_show_sites - a line for each site of a process
 * @m: receives them
 * @um: the process's; somebody holds the address space
 * @pid: its number
 * @comm: its name
 *
 * Context: task; takes @um->lock and, for some lines at a time, the mmap lock.
 */
void uhook_show_sites(struct seq_file *m, struct uhook_mm *um, pid_t pid, const char *comm)
{
	struct rhashtable_iter iter;
	struct uhook_site *site;
	unsigned int shown = 0;

	mutex_lock(&um->lock);
	rhashtable_walk_enter(&um->sites, &iter);
	begin_showing(um, &iter);
	while ((site = rhashtable_walk_next(&iter))) {
		/* The table has grown: what follows may have been shown already. */
		if (IS_ERR(site))
			continue;

		seq_printf(m, "%d ", pid);
		seq_escape(m, comm, "\n\\ ");
		show_site(m, um, site);

		/* The walk goes on where it was: sites change with um->lock held. */
		if (!(++shown % SHOWN_AT_ONCE)) {
			end_showing(um, &iter);
			cond_resched();
			begin_showing(um, &iter);
		}
	}
	end_showing(um, &iter);
	rhashtable_walk_exit(&iter);
	mutex_unlock(&um->lock);
}
