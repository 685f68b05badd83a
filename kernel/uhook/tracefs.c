// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the directory uhook/ in tracefs.
 *
 *	boost		1; with 0 every hit is stepped or emulated, as without uhook
 *	profile		how many hits ended how
 *	slots		the sites that were hit, a line each: process, address,
 *			and its slot or why it has none
 *
 * A listing of sites holds one process at a time, so that it keeps none from
 * ending. uprobe_profile is the counterpart of profile.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>

#include "../trace/trace.h"
#include "../trace/trace_uhook.h"
#include "internal.h"

static int may_open(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

static int profile_show(struct seq_file *m, void *v)
{
	seq_printf(m, "stepped      %lu\n", uhook_hits(UHOOK_STEPPED));
	seq_printf(m, "emulated     %lu\n", uhook_hits(UHOOK_EMULATED));
	seq_printf(m, "boosted      %lu\n", uhook_hits(UHOOK_BOOSTED));
	seq_printf(m, "user         %lu\n", uhook_hits(UHOOK_USER));
	seq_printf(m, "jumped       %llu\n", uhook_hits_jumped());
	seq_printf(m, "interrupted  %lu\n", uhook_hits(UHOOK_INTERRUPTED));
	trace_uhook_show_hits(m);

	return 0;
}

static int profile_open(struct inode *inode, struct file *file)
{
	return may_open() ?: single_open(file, profile_show, NULL);
}

static const struct file_operations profile_fops = {
	.open		= profile_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/* The first process whose number is POS or more, held. */
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
		uhook_show_sites(m, um, task_tgid_nr(leader), comm);
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
	return may_open() ?: seq_open(file, &slots_ops);
}

static const struct file_operations slots_fops = {
	.open		= slots_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static int boost_open(struct inode *inode, struct file *file)
{
	return may_open() ?: nonseekable_open(inode, file);
}

static ssize_t boost_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	const char *text = READ_ONCE(uhook_boost_enabled) ? "1\n" : "0\n";

	return simple_read_from_buffer(buf, len, pos, text, 2);
}

static ssize_t boost_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	bool on;
	int err;

	err = kstrtobool_from_user(buf, len, &on);
	if (err)
		return err;

	WRITE_ONCE(uhook_boost_enabled, on);

	return len;
}

static const struct file_operations boost_fops = {
	.open	= boost_open,
	.read	= boost_read,
	.write	= boost_write,
};

static int __init uhook_tracefs_init(void)
{
	struct dentry *dir;

	if (tracing_init_dentry())
		return 0;

	dir = tracefs_create_dir("uhook", NULL);
	if (!dir)
		return 0;

	tracefs_create_file("boost", 0600, dir, NULL, &boost_fops);
	tracefs_create_file("profile", 0400, dir, NULL, &profile_fops);
	tracefs_create_file("slots", 0400, dir, NULL, &slots_fops);

	return 0;
}
fs_initcall(uhook_tracefs_init);
