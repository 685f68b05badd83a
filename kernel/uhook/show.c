// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the file uhook/slots in tracefs.
 *
 * Lists the sites that were hit, one on a line: process, address, and the slot or body,
 * or the reason why there is none; and the number of hits at other sites, if a process has as
 * many as it may have. The listing holds a reference to one process at a time, and does not
 * prevent it from exiting.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/security.h>
#include <linux/seq_file.h>

#include "sites.h"
#include "tracefs.h"

/* Number of sites to show before cond_resched(). */
#define SHOWN_AT_ONCE	256

static const char * const verdicts[UHOOK_VERDICTS] = {
	[UHOOK_UNDECIDED]	= "emulated",
	[UHOOK_BY_TASK]		= "stepped: a debugger steps the task, or it runs 32-bit code",
	[UHOOK_IN_PLACE]	= "stepped: the instruction can only run in its place",
	[UHOOK_NO_GAP]		= "stepped: no gap in the address space is near enough",
	[UHOOK_FULL]		= "stepped: the process has as many slots as it may have",
	[UHOOK_NO_MEMORY]	= "stepped: there was no memory for a slot",
};

static const char * const no_body[UHOOK_VERDICTS] = {
	[UHOOK_BY_TASK]		= "a debugger steps the task, or it runs 32-bit code",
	[UHOOK_IN_PLACE]	= "the instruction can only run in its place",
	[UHOOK_NO_GAP]		= "no gap in the address space is near enough",
	[UHOOK_FULL]		= "the process has as many bodies as it may have",
	[UHOOK_NO_MEMORY]	= "there was no memory for a body",
	[UHOOK_IN_RSEQ]		= "it is in a restartable sequence",
	[UHOOK_NO_CLOCK]	= "the task may not read the clock or its thread register",
	[UHOOK_NO_FUNCTION]	= "the file of the handler is not mapped",
	[UHOOK_NO_LANDING]	= "the handler begins with no BTI: declare it without static",
	[UHOOK_NO_CALLS]	= "handlers cannot be called: the processor lacks FSGSBASE",
	[UHOOK_NO_VECTORS]	= "cannot save vectors: add vectors=0 if the handler uses none",
	[UHOOK_TOO_LONG]	= "there are more handlers than there is room for",
	[UHOOK_NO_STUB]		= "the address of its stub is in use",
	[UHOOK_STUBS_FULL]	= "the process has as many blocks of stubs as it may have",
	[UHOOK_STUB_REGISTER]	= "its stub would change a register that the instruction needs",
};

static const char * const blockers[UHOOK_BLOCKERS] = {
	[UHOOK_BLOCKER_KERNEL]	= "there is a handler in the kernel, too",
	[UHOOK_BLOCKER_NEIGHBOUR]	= "a probe is on the bytes after it",
	[UHOOK_BLOCKER_PAGE]	= "a jump would cross the end of a page",
	[UHOOK_BLOCKER_WRITABLE]	= "the program can write to its text",
	[UHOOK_BLOCKER_TRACED]	= "a debugger is attached",
	[UHOOK_BLOCKER_ATOMIC]	= "it is in an atomic sequence of instructions",
	[UHOOK_BLOCKER_LANDING]	= "it is a landing pad for indirect branches",
	[UHOOK_BLOCKER_TAKEN]	= "the addresses that a jump can reach are in use",
	[UHOOK_BLOCKER_FULL]	= "the process has as many pages for hops as it may have",
	[UHOOK_BLOCKER_SHARED]	= "the page for its hop is shared with a parent or child",
	[UHOOK_BLOCKER_CLOCK]	= "a thread may not read the clock or its thread register",
	[UHOOK_BLOCKER_RSEQ]	= "a thread may be in a restartable sequence there",
	[UHOOK_BLOCKER_ERROR]	= "the text could not be written",
};

/* Whether the text has a jump or a breakpoint may change at any time. */
static void show_way(struct seq_file *m, const struct uhook_site *site)
{
	unsigned long body = READ_ONCE(site->body), slot = READ_ONCE(site->slot);
	enum uhook_verdict verdict = READ_ONCE(site->body_verdict);
	enum uhook_jump_blocker blocker = READ_ONCE(site->blocker);

	if (body && blocker)
		seq_printf(m, "body 0x%lx, breakpoint: %s", body, blockers[blocker]);
	else if (body)
		seq_printf(m, "body 0x%lx, jump", body);
	else if (no_body[verdict])
		seq_printf(m, "handled in the kernel: %s", no_body[verdict]);
	else if (slot)
		seq_printf(m, "slot 0x%lx", slot);
	else
		seq_puts(m, verdicts[READ_ONCE(site->verdict)]);
}

/*
 * A process may keep running a file that was deleted, or replaced under the same name.
 * Events defined on the new file do not hit such a process.
 */
static bool has_gone_file(const struct uhook_mm *um, const struct uhook_site *site)
{
	struct vm_area_struct *vma;
	bool gone;

	/* Do not wait: the program decides how long the lock is held. */
	if (!mmap_read_trylock(um->mm))
		return false;

	vma = vma_lookup(um->mm, site->vaddr);
	gone = vma && vma->vm_file && d_unlinked(file_user_path(vma->vm_file)->dentry);
	mmap_read_unlock(um->mm);

	return gone;
}

static void show_process(struct seq_file *m, pid_t pid, const char *comm)
{
	seq_printf(m, "%d ", pid);
	seq_escape(m, comm, "\n\\ ");
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

/*
 * Show the sites of a process, whose address space the caller holds. Without uhook_mm::lock,
 * which the program may hold for any time: a task that makes a slot waits with it for the
 * mmap lock. Sites that change meanwhile may be shown twice or not at all.
 */
static void show_sites(struct seq_file *m, struct uhook_mm *um, pid_t pid,
		       const char *comm)
{
	struct rhashtable_iter iter;
	struct uhook_site *site;
	unsigned int shown = 0;

	rhashtable_walk_enter(&um->sites, &iter);
	rhashtable_walk_start(&iter);
	while ((site = rhashtable_walk_next(&iter))) {
		/* The table was resized: later sites may have been shown already. */
		if (IS_ERR(site))
			continue;

		show_process(m, pid, comm);
		show_site(m, um, site);

		if (!(++shown % SHOWN_AT_ONCE)) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			rhashtable_walk_start(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

static void show_unkept(struct seq_file *m, const struct uhook_mm *um, pid_t pid,
			const char *comm)
{
	long hits = atomic_long_read(&um->unkept);

	if (!hits)
		return;

	show_process(m, pid, comm);
	seq_printf(m, " %ld hits at other sites: the process has as many sites as it may have\n",
		   hits);
}

/* The first process whose PID is POS or more, with a reference. */
static struct task_struct *process_from(loff_t *pos)
{
	struct task_struct *task = NULL;
	struct pid *pid;

	if (*pos > PID_MAX_LIMIT)
		return NULL;

	rcu_read_lock();
	for (;; (*pos)++) {
		pid = find_ge_pid(*pos, &init_pid_ns);
		if (!pid)
			break;
		*pos = pid_nr(pid);
		task = pid_task(pid, PIDTYPE_TGID);
		if (task) {
			get_task_struct(task);
			break;
		}
	}
	rcu_read_unlock();

	return task;
}

static void *slots_start(struct seq_file *m, loff_t *pos)
{
	return process_from(pos);
}

static void slots_stop(struct seq_file *m, void *v)
{
	if (v)
		put_task_struct(v);
}

static void *slots_next(struct seq_file *m, void *v, loff_t *pos)
{
	put_task_struct(v);
	++*pos;

	return process_from(pos);
}

/* The address space of a process, whose first thread may have ended. */
static struct mm_struct *process_mm(struct task_struct *leader)
{
	struct mm_struct *mm = NULL;
	struct task_struct *task;

	rcu_read_lock();
	for_each_thread(leader, task) {
		mm = get_task_mm(task);
		if (mm)
			break;
	}
	rcu_read_unlock();

	return mm;
}

static int slots_show(struct seq_file *m, void *v)
{
	struct mm_struct *mm = process_mm(v);
	struct task_struct *leader = v;
	struct uhook_mm *um;
	char comm[TASK_COMM_LEN];

	if (!mm)
		return 0;

	um = uhook_mm_of(mm);
	if (um) {
		get_task_comm(comm, leader);
		show_sites(m, um, task_tgid_nr(leader), comm);
		show_unkept(m, um, task_tgid_nr(leader), comm);
	}
	mmput(mm);

	return 0;
}

static const struct seq_operations slots_ops = {
	.start	= slots_start,
	.next	= slots_next,
	.stop	= slots_stop,
	.show	= slots_show,
};

static int slots_open(struct inode *inode, struct file *file)
{
	return security_locked_down(LOCKDOWN_TRACEFS) ?: seq_open(file, &slots_ops);
}

const struct file_operations uhook_slots_fops = {
	.open		= slots_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};
