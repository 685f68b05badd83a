// SPDX-License-Identifier: GPL-2.0
/*
 * The fhook tracer: records each call of the functions in set_fhook_filter,
 * except those in set_fhook_notrace, as a function entry "func <-parent".
 *
 * Each trace instance has a tracer of its own, whose hook is registered while it
 * is the current tracer. The two lists are kept as text, one pattern per line,
 * the form that the files show and fhook accepts. A write makes a new list, which
 * takes effect if fhook accepts all of it: all or nothing, even while the tracer
 * runs.
 *
 * fhook_tracer_lock protects the lists and @running; it is taken inside
 * trace_types_lock and outside of fhook's own lock. A hit takes no lock; the
 * objects that it uses live until fhook_unregister() has waited for it.
 */
#define pr_fmt(fmt)	"trace_fhook: " fmt

#include <linux/ctype.h>
#include <linux/fhook.h>
#include <linux/fs.h>
#include <linux/hook_base.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "trace.h"
#include "trace_fhook.h"

/* The longest possible pattern: "!NAME:mod:MODULE" */
#define MAX_WORD	(1 + KSYM_NAME_LEN + 5 + MODULE_NAME_LEN)
/* The maximum size of one write; programs continue with the rest. */
#define MAX_WRITE	SZ_64K
/*
 * The minimum size in which programs write a longer text, whatever the page size.
 */
#define MIN_PIECE	SZ_4K

enum fhook_list { LIST_FILTER, LIST_NOTRACE, NR_LISTS };

static const char *const list_files[NR_LISTS] = {
	"set_fhook_filter", "set_fhook_notrace",
};

/* In the style of the function tracer; comments are ignored when written back. */
static const char *const empty_lists[NR_LISTS] = {
	"#### all functions ####\n", "#### no functions disabled ####\n",
};

/**
 * struct fhook_tracer - the fhook tracer of one trace instance
 * @ops: hook of the tracer
 * @list: text of each of the lists, one pattern per line; NULL if empty
 * @running: the tracer is the current one, that is, @ops is registered
 */
struct fhook_tracer {
	struct fhook_ops	ops;
	char			*list[NR_LISTS];
	bool			running;
};

/**
 * struct list_file - an open set_fhook_filter or set_fhook_notrace
 * @tr: the instance; the open file holds a reference
 * @which: index of the list
 * @clear: opened with O_TRUNC, and nothing has been written successfully
 * @untouched: nothing has been written
 * @held: start of a word or comment that the next write continues
 */
struct list_file {
	struct trace_array	*tr;
	enum fhook_list		which;
	bool			clear;
	bool			untouched;
	char			held[MAX_WORD + 1];
};

static DEFINE_MUTEX(fhook_tracer_lock);

/* The top instance's tracer, which may be needed before tracefs exists */
static struct fhook_tracer top_tracer;

#undef C
#define C(id, text)	\
	[TP_ERR_##id] = text
static const char *const fhook_errors[] = { ERRORS FHOOK_ERRORS };

static struct fhook_tracer *tracer_of(struct trace_array *tr)
{
	return tr->flags & TRACE_ARRAY_FL_GLOBAL ? &top_tracer : tr->fhook;
}

/* The part of a line that a terminal shows; a line may have megabytes. */
#define MAX_LOGGED	1024

/* Log an error with the line of @text that contains @pos. */
static void log_error(struct trace_array *tr, const char *where,
		      const char *text, size_t pos, int error)
{
	const char *line = text + pos;
	char *command;

	while (line > text && line[-1] != '\n' && text + pos - line < MAX_LOGGED / 2)
		line--;
	command = kmemdup_nul(line, min(strcspn(line, "\n"), MAX_LOGGED), GFP_KERNEL);
	if (!command)
		return;
	tracing_log_err(tr, where, command, (const char **)fhook_errors, error,
			text + pos - line);
	kfree(command);
}

/**
 * trace_fhook_log_error() - write an error to error_log
 * @where: name shown as the origin
 * @text: text written by the user
 * @report: report of the error, with its position
 */
void trace_fhook_log_error(const char *where, const char *text,
			   const struct fhook_report *report)
{
	log_error(NULL, where, text, report->offset,
		  trace_fhook_error(report->error));
}

static int trace_hit(struct fhook_ops *ops, unsigned long ip,
		     unsigned long parent_ip, struct fhook_regs *fregs,
		     void *data)
{
	struct trace_array *tr = ops->private;
	struct trace_array_cpu *cpu;

	cpu = per_cpu_ptr(tr->array_buffer.data, smp_processor_id());
	if (!hook_base_trace_disabled(cpu))
		hook_base_trace_function(tr, ip, fhook_regs_get_parent(fregs),
					 tracing_gen_ctx_dec());
	return 0;
}

/* Register or retarget the hook of @tr, according to @lists. */
static int apply_lists(struct trace_array *tr, char *const lists[NR_LISTS],
		       const char *where)
{
	struct fhook_tracer *tracer = tracer_of(tr);
	const char *filter = lists[LIST_FILTER] ?: "*";
	struct fhook_report report = {};
	int ret;

	tracer->ops.report = &report;
	if (tracer->running)
		ret = fhook_retarget(&tracer->ops, filter, lists[LIST_NOTRACE]);
	else
		ret = fhook_register(&tracer->ops, filter, lists[LIST_NOTRACE]);
	tracer->ops.report = NULL;

	if (ret)
		log_error(tr, where, filter,
			  min_t(size_t, report.offset, strlen(filter)),
			  trace_fhook_error(report.error));
	return ret;
}

static int fhook_tracer_init(struct trace_array *tr)
{
	struct fhook_tracer *tracer = tracer_of(tr);
	int ret;

	if (!tracer)
		return -ENOMEM;

	guard(mutex)(&fhook_tracer_lock);
	tracer->ops.entry = trace_hit;
	tracer->ops.name = tr->name ?: "tracer";
	tracer->ops.private = tr;
	/*
	 * The lists were checked when they were written; modules may have been
	 * unloaded since.
	 */
	tracer->ops.flags = FHOOK_FL_LOOSE;

	tracing_start_cmdline_record();
	ret = apply_lists(tr, tracer->list, "current_tracer");
	if (ret)
		tracing_stop_cmdline_record();
	else
		tracer->running = true;
	return ret;
}

static void fhook_tracer_reset(struct trace_array *tr)
{
	struct fhook_tracer *tracer = tracer_of(tr);

	guard(mutex)(&fhook_tracer_lock);
	if (!tracer->running)
		return;
	WARN_ON_ONCE(fhook_unregister(&tracer->ops));
	tracer->running = false;
	tracing_stop_cmdline_record();
}

static struct tracer fhook_trace __tracer_data = {
	.name		= "fhook",
	.init		= fhook_tracer_init,
	.reset		= fhook_tracer_reset,
	.allow_instances = true,
};

/*
 * Does fhook accept all patterns of @added, which have the same offsets as in
 * @text?
 */
static int check_added(struct list_file *lf, const char *added,
		       const char *text)
{
	struct fhook_report report = {};
	int ret;

	if (!*skip_spaces(added))
		return 0;
	ret = fhook_check_filter(added, &report);
	if (ret)
		log_error(lf->tr, list_files[lf->which], text, report.offset,
			  trace_fhook_error(report.error));
	return ret;
}

/* Make @list the list of @lf, if fhook accepts it. */
static int commit_list(struct list_file *lf, char *list)
{
	struct fhook_tracer *tracer = tracer_of(lf->tr);
	char *lists[NR_LISTS];
	int ret;

	memcpy(lists, tracer->list, sizeof(lists));
	lists[lf->which] = *list ? list : NULL;
	if (tracer->running) {
		ret = apply_lists(lf->tr, lists, list_files[lf->which]);
		if (ret)
			return ret;
	}

	kvfree(tracer->list[lf->which]);
	tracer->list[lf->which] = lists[lf->which];
	if (!lists[lf->which])
		kvfree(list);
	lf->clear = false;
	return 0;
}

/* Apply @text to the list of @lf; @added is a copy of @text. */
static int edit_list(struct list_file *lf, const char *text, char *added)
{
	char *list, *old = tracer_of(lf->tr)->list[lf->which];
	size_t pos = 0;
	int ret;

	list = fhook_list_edit(old && !lf->clear ? old : "", added, &pos);
	if (PTR_ERR_OR_ZERO(list) == -ENOENT)
		log_error(lf->tr, list_files[lf->which], text, pos,
			  TP_ERR_FHOOK_NOT_LISTED);
	if (IS_ERR(list))
		return PTR_ERR(list);

	ret = check_added(lf, added, text);
	if (!ret)
		ret = commit_list(lf, list);
	if (ret)
		kvfree(list);
	return ret;
}

static int write_text(struct list_file *lf, const char *text)
{
	char *added;
	int ret;

	guard(mutex)(&fhook_tracer_lock);
	lf->untouched = false;

	added = kvmemdup(text, strlen(text) + 1, GFP_KERNEL);
	if (!added)
		return -ENOMEM;
	ret = edit_list(lf, text, added);
	kvfree(added);
	return ret;
}

/* A comment may begin where a word may begin. */
static char *find_comment(char *text)
{
	char *p;

	for (p = strchr(text, '#'); p; p = strchr(p + 1, '#')) {
		if (p == text || isspace(p[-1]))
			break;
	}
	return p;
}

/*
 * A short write is a command and is complete. One of MIN_PIECE or more may
 * be a piece of a longer text: keep what it leaves unfinished for the next write.
 */
static void hold_back(struct list_file *lf, char *text)
{
	char *line = strrchr(text, '\n');
	char *rest = find_comment(line ?: text);

	if (rest) {
		strscpy(lf->held, "#");
		*rest = '\0';
		return;
	}

	/* Keep the whole line, for "NAME [MODULE]", unless it has many words. */
	rest = line ? line + 1 : text;
	if (strlen(rest) >= sizeof(lf->held)) {
		line = rest;
		for (rest += strlen(rest); rest > line; rest--) {
			if (isspace(rest[-1]))
				break;
		}
	}
	if (strlen(rest) < sizeof(lf->held)) {
		strscpy(lf->held, rest);
		*rest = '\0';
	}
}

static ssize_t list_write(struct file *file, const char __user *ubuf,
			  size_t count, loff_t *ppos)
{
	struct list_file *lf = ((struct seq_file *)file->private_data)->private;
	size_t held = strlen(lf->held);
	char *text;
	int ret = -EINVAL;

	count = min(count, MAX_WRITE);
	text = kvmalloc(held + count + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	memcpy(text, lf->held, held);
	if (copy_from_user(text + held, ubuf, count)) {
		kvfree(text);
		return -EFAULT;
	}
	text[held + count] = '\0';
	lf->held[0] = '\0';
	if (strlen(text) == held + count) {
		if (count >= MIN_PIECE)
			hold_back(lf, text);
		ret = *text || !lf->held[0] ? write_text(lf, text) : 0;
	}
	kvfree(text);
	if (ret)
		return ret;
	*ppos += count;
	return count;
}

static int list_show(struct seq_file *m, void *v)
{
	struct list_file *lf = m->private;
	struct fhook_tracer *tracer = tracer_of(lf->tr);

	guard(mutex)(&fhook_tracer_lock);
	seq_puts(m, tracer->list[lf->which] ?: empty_lists[lf->which]);
	return 0;
}

static int list_open(struct inode *inode, struct file *file,
		     enum fhook_list which)
{
	struct trace_array *tr = inode->i_private;
	struct list_file *lf;
	int ret;

	/* Also fails if the kernel is locked down. */
	ret = tracing_check_open_get_tr(tr);
	if (ret)
		return ret;

	lf = kzalloc(sizeof(*lf), GFP_KERNEL);
	ret = lf ? single_open(file, list_show, lf) : -ENOMEM;
	if (ret) {
		kfree(lf);
		trace_array_put(tr);
		return ret;
	}
	lf->tr = tr;
	lf->which = which;
	lf->untouched = true;
	lf->clear = (file->f_mode & FMODE_WRITE) && (file->f_flags & O_TRUNC);
	return 0;
}

static int filter_open(struct inode *inode, struct file *file)
{
	return list_open(inode, file, LIST_FILTER);
}

static int notrace_open(struct inode *inode, struct file *file)
{
	return list_open(inode, file, LIST_NOTRACE);
}

/* Errors of close() are usually ignored, but error_log has the reason. */
static int list_release(struct inode *inode, struct file *file)
{
	struct list_file *lf = ((struct seq_file *)file->private_data)->private;

	if (lf->held[0] || (lf->clear && lf->untouched))
		write_text(lf, lf->held);
	trace_array_put(lf->tr);
	kfree(lf);
	return single_release(inode, file);
}

static const struct file_operations list_fops[NR_LISTS] = {
	[LIST_FILTER] = {
		.open		= filter_open,
		.read		= seq_read,
		.write		= list_write,
		.llseek		= tracing_lseek,
		.release	= list_release,
	},
	[LIST_NOTRACE] = {
		.open		= notrace_open,
		.read		= seq_read,
		.write		= list_write,
		.llseek		= tracing_lseek,
		.release	= list_release,
	},
};

/**
 * fhook_tracer_create_files() - create the tracer of an instance, and its files
 * @tr: the instance
 * @parent: directory of the instance
 *
 * If memory is short, the instance has neither.
 */
void fhook_tracer_create_files(struct trace_array *tr, struct dentry *parent)
{
	int i;

	if (!(tr->flags & TRACE_ARRAY_FL_GLOBAL)) {
		tr->fhook = kzalloc(sizeof(*tr->fhook), GFP_KERNEL);
		if (!tr->fhook)
			return;
	}
	for (i = 0; i < NR_LISTS; i++)
		trace_create_file(list_files[i], TRACE_MODE_WRITE, parent, tr,
				  &list_fops[i]);
}

/**
 * fhook_tracer_destroy() - free the tracer of an instance that is being removed
 * @tr: the instance; the tracer is not its current one, and no file is open
 */
void fhook_tracer_destroy(struct trace_array *tr)
{
	struct fhook_tracer *tracer = tr->fhook;
	int i;

	if (!tracer)
		return;
	for (i = 0; i < NR_LISTS; i++)
		kvfree(tracer->list[i]);
	kfree(tracer);
	tr->fhook = NULL;
}

static __init int init_fhook_tracer(void)
{
	return register_tracer(&fhook_trace);
}
fs_initcall(init_fhook_tracer);
