// SPDX-License-Identifier: GPL-2.0
/*
 * Events on hooks: a file with the definitions of one type.
 *
 * The file accepts the same definitions as dynamic_events, and shows only those of its
 * type. For removals, and for lines with another kind of event, it writes a sentence to
 * error_log, which dynamic_events does not.
 *
 * event_mutex protects the list of events, dyn_event_ops_mutex serializes parsing; this file
 * has no state.
 */
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "trace_hook.h"

/* Errors that the parsers, which do not belong to one type alone, do not log */
enum { CMD_NO_EVENT, CMD_BUSY, CMD_REMOVAL };

static const char *const command_errors[] = {
	[CMD_NO_EVENT]	= "There is no such event",
	[CMD_BUSY]	= "The event is in use, or one of the group",
	[CMD_REMOVAL]	= "A removal is -:[GRP/]EVENT or -:GRP/",
};

static void log_error(const struct trace_hook_type *type, const char *command, int error,
		      unsigned int pos)
{
	tracing_log_err(NULL, type->log, command, (const char **)command_errors, error, pos);
}

static int run_removal(const struct trace_hook_type *type, const char *command)
{
	int ret = dyn_event_release(command, type->ops);

	switch (ret) {
	case -ENOENT:
		log_error(type, command, CMD_NO_EVENT, 2);
		break;
	case -EBUSY:
		log_error(type, command, CMD_BUSY, 2);
		break;
	case -EINVAL:
		log_error(type, command, CMD_REMOVAL, 1);
		break;
	}
	return ret;
}

/* The first word that does not belong to a definition of this type */
static unsigned int find_foreign(const struct trace_hook_type *type, const char *command)
{
	unsigned int pos;

	if (command[0] != type->letter)
		return 0;
	pos = strcspn(command, " \t");
	return pos + strspn(command + pos, " \t");
}

/**
 * trace_hook_run_command() - execute a definition or a removal
 * @type: type of the events
 * @command: the line
 *
 * May sleep.
 *
 * Return: 0, or a negative error with the reason in error_log.
 */
int trace_hook_run_command(const struct trace_hook_type *type, const char *command)
{
	int ret;

	if (command[0] == '-')
		return run_removal(type, command);
	ret = dyn_event_create(command, type->ops);
	if (ret != -ECANCELED)
		return ret;
	tracing_log_err(NULL, type->log, command, (const char **)&type->foreign, 0,
			find_foreign(type, command));
	return -EINVAL;
}

static int events_show(struct seq_file *m, void *v)
{
	const struct trace_hook_type *type = file_inode(m->file)->i_private;
	struct dyn_event *ev = v;

	return ev->ops == type->ops ? ev->ops->show(m, ev) : 0;
}

static const struct seq_operations events_seq_ops = {
	.start	= dyn_event_seq_start,
	.next	= dyn_event_seq_next,
	.stop	= dyn_event_seq_stop,
	.show	= events_show,
};

/* With O_TRUNC, remove all events of the type. */
static int events_open(struct inode *inode, struct file *file)
{
	const struct trace_hook_type *type = inode->i_private;
	int ret;

	/* Also fails if the kernel is locked down. */
	ret = tracing_check_open_get_tr(NULL);
	if (ret)
		return ret;

	if ((file->f_mode & FMODE_WRITE) && (file->f_flags & O_TRUNC)) {
		ret = dyn_events_release_all(type->ops);
		if (ret < 0)
			return ret;
	}
	return seq_open(file, &events_seq_ops);
}

static ssize_t events_write(struct file *file, const char __user *buffer, size_t count,
			    loff_t *ppos)
{
	const struct trace_hook_type *type = file_inode(file)->i_private;

	return trace_parse_run_command(file, buffer, count, ppos, type->run);
}

static const struct file_operations events_fops = {
	.open		= events_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
	.write		= events_write,
};

/**
 * trace_hook_create_file() - create the file with the definitions of a type
 * @type: the type, which must stay allocated
 */
void trace_hook_create_file(const struct trace_hook_type *type)
{
	if (!tracing_init_dentry())
		trace_create_file(type->file, TRACE_MODE_WRITE, NULL, (void *)type,
				  &events_fops);
}
