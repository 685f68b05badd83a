// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: the file fhook_events and the boot parameter fhook_event=.
 *
 * Both take the definitions that dynamic_events takes, and see only fhook's.
 * The list is under event_mutex, parsing under dyn_event_ops_mutex; this file
 * has no state but the text of the parameter.
 */
#define pr_fmt(fmt)	"trace_fhook: " fmt

#include <linux/fs.h>
#include <linux/init.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <asm/setup.h>

#include "trace_fhook.h"

static char boot_events[COMMAND_LINE_SIZE] __initdata;

static int __init set_boot_events(char *str)
{
	strscpy(boot_events, str, sizeof(boot_events));
	disable_tracing_selftest("running fhook events");
	return 1;
}
__setup("fhook_event=", set_boot_events);

/* What the parsers of definitions, which are not ours alone, do not log */
enum { CMD_FOREIGN, CMD_NO_EVENT, CMD_BUSY, CMD_REMOVAL };

static const char *const command_errors[] = {
	[CMD_FOREIGN]	= "A definition begins with 'h', a removal with '-:'",
	[CMD_NO_EVENT]	= "There is no such event",
	[CMD_BUSY]	= "The event is in use",
	[CMD_REMOVAL]	= "A removal is -:[GRP/]EVENT or -:GRP/",
};

static int command_error(const char *command, int error, unsigned int pos)
{
	static const int codes[] = {
		[CMD_FOREIGN]	= -EINVAL,
		[CMD_NO_EVENT]	= -ENOENT,
		[CMD_BUSY]	= -EBUSY,
		[CMD_REMOVAL]	= -EINVAL,
	};

	tracing_log_err(NULL, "trace_fhook", command,
			(const char **)command_errors, error, pos);
	return codes[error];
}

static int run_removal(const char *command)
{
	int ret = dyn_event_release(command, &trace_fhook_ops);

	switch (ret) {
	case -ENOENT:
		return command_error(command, CMD_NO_EVENT, 2);
	case -EBUSY:
		return command_error(command, CMD_BUSY, 2);
	case -EINVAL:
		return command_error(command, CMD_REMOVAL, 1);
	}
	return ret;
}

static int run_command(const char *command)
{
	int ret;

	if (command[0] == '-')
		return run_removal(command);
	ret = dyn_event_create(command, &trace_fhook_ops);
	if (ret == -ECANCELED)
		return command_error(command, CMD_FOREIGN, 0);
	return ret;
}

static int events_show(struct seq_file *m, void *v)
{
	struct dyn_event *ev = v;

	return is_trace_fhook(ev) ? trace_fhook_ops.show(m, ev) : 0;
}

static const struct seq_operations events_seq_ops = {
	.start	= dyn_event_seq_start,
	.next	= dyn_event_seq_next,
	.stop	= dyn_event_seq_stop,
	.show	= events_show,
};

static int events_open(struct inode *inode, struct file *file)
{
	int ret;

	/* Also says no to a locked-down kernel. */
	ret = tracing_check_open_get_tr(NULL);
	if (ret)
		return ret;

	if ((file->f_mode & FMODE_WRITE) && (file->f_flags & O_TRUNC)) {
		ret = dyn_events_release_all(&trace_fhook_ops);
		if (ret < 0)
			return ret;
	}
	return seq_open(file, &events_seq_ops);
}

static ssize_t events_write(struct file *file, const char __user *buffer,
			    size_t count, loff_t *ppos)
{
	return trace_parse_run_command(file, buffer, count, ppos, run_command);
}

static const struct file_operations events_fops = {
	.open		= events_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
	.write		= events_write,
};

static __init void enable_boot_events(void)
{
	struct trace_array *tr = top_trace_array();
	struct trace_event_file *file;
	struct dyn_event *pos;

	guard(mutex)(&event_mutex);
	for_each_dyn_event(pos) {
		struct trace_probe *tp = &to_trace_fhook(pos)->tp;

		if (!is_trace_fhook(pos))
			continue;
		file = __find_event_file(tr, trace_probe_group_name(tp),
					 trace_probe_name(tp));
		if (file)
			trace_event_enable_disable(file, 1, 0);
	}
}

/* Definitions are separated by semicolons, and their words by commas. */
static __init void setup_boot_events(void)
{
	char *command, *rest = boot_events;
	int ret;

	if (!*boot_events)
		return;
	strreplace(boot_events, ',', ' ');
	while ((command = strsep(&rest, ";"))) {
		ret = run_command(command);
		if (ret)
			pr_warn("could not add event (%d): %s\n", ret, command);
	}
	enable_boot_events();
}

/* As early as that of kprobe events, for definitions made before tracefs. */
static __init int init_fhook_events_early(void)
{
	return dyn_event_register(&trace_fhook_ops);
}
core_initcall(init_fhook_events_early);

static __init int init_fhook_events(void)
{
	if (!tracing_init_dentry())
		trace_create_file("fhook_events", TRACE_MODE_WRITE, NULL, NULL,
				  &events_fops);
	setup_boot_events();
	return 0;
}
fs_initcall(init_fhook_events);
