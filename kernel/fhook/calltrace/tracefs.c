// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: the directory fhook/calltrace/ in tracefs.
 *
 *	functions	names and globs of functions to trace, '!' excludes; when read: a
 *			function per line, those that cannot be traced as comments
 *	block		address and size of each range that the processor has to trace
 *	map		the meaning of each stub
 *	enable		1 while calls go through the block
 *	programs	traced programs; see programs.c
 *
 * A write to functions replaces the previous choice, or adds to it with O_APPEND, and
 * takes effect write by write; a write that fails changes nothing, and error_log has the
 * reason. All under fhook_mutex.
 */
#define pr_fmt(fmt) "fhook: calltrace: " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>

#include "../../trace/trace_fhook.h"
#include "../core.h"
#include "../switch.h"
#include "calltrace.h"

/* A limit for writes: every function of a large kernel, by name. */
#define MAX_TEXT	SZ_4M

/**
 * struct chosen_file - an open file with functions that are being written
 * @lock: serializes concurrent writes through one open file; taken outside of fhook_mutex
 * @text: all text that was written through this open file
 * @len: length of @text in bytes
 * @done: length of the part of @text that has taken effect
 * @replace: the text replaces the choice that existed when the file was opened
 */
struct chosen_file {
	struct mutex	lock;	/* serializes concurrent writes */
	char		*text;
	size_t		len;
	size_t		done;
	bool		replace;
};

static int locked_down(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

static void print_function(struct seq_file *m,
			   const struct calltrace_function *f)
{
	if (f->name)
		seq_puts(m, f->name);
	else
		seq_printf(m, "%ps", (void *)f->func);
}

static const struct calltrace_function *
function_at(const struct calltrace_choice *choice, loff_t pos)
{
	return choice && pos < choice->num_functions ?
	       &choice->functions[pos] : NULL;
}

static void *functions_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fhook_mutex);

	return (void *)function_at(calltrace_chosen, *pos);
}

static void *functions_next(struct seq_file *m, void *v, loff_t *pos)
{
	return (void *)function_at(calltrace_chosen, ++*pos);
}

static void any_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&fhook_mutex);
}

static int functions_show(struct seq_file *m, void *v)
{
	const struct calltrace_choice *choice = calltrace_chosen;
	const struct calltrace_function *f = v;

	if (f->reason || !f->table)
		seq_puts(m, "# ");
	print_function(m, f);
	if (f->name)
		seq_printf(m, ":mod:%s", choice->objects[f->object].name);
	if (f->reason)
		seq_printf(m, ": not traced, %s (at +0x%x)",
			   calltrace_reason_text(f->reason), f->where);
	else if (!f->table)
		seq_puts(m, ": gone");
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations functions_ops = {
	.start	= functions_start,
	.next	= functions_next,
	.stop	= any_stop,
	.show	= functions_show,
};

static int functions_open(struct inode *inode, struct file *file)
{
	struct chosen_file *chosen;
	int err = locked_down();

	if (err)
		return err;
	if (!(file->f_mode & FMODE_WRITE))
		return seq_open(file, &functions_ops);
	if (file->f_mode & FMODE_READ)
		return -EINVAL;

	chosen = kzalloc(sizeof(*chosen), GFP_KERNEL);
	if (!chosen)
		return -ENOMEM;
	mutex_init(&chosen->lock);
	chosen->replace = !(file->f_flags & O_APPEND);
	file->private_data = chosen;

	return 0;
}

static int too_long(void)
{
	pr_err("the names of functions are more than %u bytes: use globs\n",
	       MAX_TEXT);

	return -E2BIG;
}

/* Join the present patterns and the new ones, which start at @begin. */
static char *joined(const char *old, const char *new, size_t *begin)
{
	size_t new_len = strlen(new);
	char *text;

	*begin = old ? strlen(old) + 1 : 0;
	if (*begin + new_len > MAX_TEXT)
		return ERR_PTR(too_long());
	text = kvmalloc(*begin + new_len + 1, GFP_KERNEL);
	if (!text)
		return ERR_PTR(-ENOMEM);
	if (old) {
		memcpy(text, old, *begin - 1);
		text[*begin - 1] = '\n';
	}
	memcpy(text + *begin, new, new_len + 1);

	return text;
}

/* Apply the text up to a given length. */
static int choose(struct chosen_file *chosen, size_t len)
{
	struct fhook_report report = {};
	struct calltrace_choice *choice;
	char behind = chosen->text[len];
	const char *from;
	size_t begin;
	char *text;
	int err;

	guard(mutex)(&fhook_mutex);
	choice = calltrace_chosen;
	chosen->text[len] = '\0';
	/* Text of earlier writes has taken effect, and is part of the present choice. */
	from = chosen->text + chosen->done;
	text = joined(choice && !(chosen->replace && !chosen->done) ?
		      choice->text : NULL, from, &begin);
	chosen->text[len] = behind;
	if (IS_ERR(text))
		return PTR_ERR(text);

	err = calltrace_choose(text, &report);
	if (err) {
		/*
		 * Errors that concern the whole choice are attributed to the written
		 * text.
		 */
		trace_fhook_log_error("fhook_calltrace",
				      report.offset ? text : text + begin, &report);
		pr_err("%s\n", report.text);
	} else {
		chosen->done = len;
	}
	kvfree(text);

	return err;
}

/* The end of the last complete word, or the start of an incomplete comment. */
static size_t whole_words(const struct chosen_file *chosen)
{
	size_t len = chosen->len, line = len, i;
	const char *text = chosen->text;

	while (line > chosen->done && text[line - 1] != '\n')
		line--;
	for (i = line; i < len; i++) {
		if (text[i] == '#' && (i == line || isspace(text[i - 1])))
			return i;
	}
	while (len > chosen->done && !isspace(text[len - 1]))
		len--;

	return len;
}

static ssize_t functions_write(struct file *file, const char __user *buf,
			       size_t count, loff_t *pos)
{
	struct chosen_file *chosen = file->private_data;
	size_t len;
	char *text;
	int err;

	guard(mutex)(&chosen->lock);
	len = chosen->len;
	if (len + count > MAX_TEXT)
		return too_long();

	text = kvrealloc(chosen->text, len + count + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	chosen->text = text;
	if (copy_from_user(text + len, buf, count))
		return -EFAULT;
	if (memchr(text + len, '\0', count)) {
		pr_err("there is a zero byte among the names of functions: separate them by blanks\n");
		return -EINVAL;
	}
	chosen->len += count;
	text[chosen->len] = '\0';

	if (whole_words(chosen) == chosen->done)
		return count;
	err = choose(chosen, whole_words(chosen));
	if (!err)
		return count;

	/* Also drop an incomplete word of an earlier write. */
	chosen->len = chosen->done;

	return err;
}

static void choose_nothing(void)
{
	struct fhook_report report;

	guard(mutex)(&fhook_mutex);
	if (calltrace_choose("", &report))
		pr_err("%s\n", report.text);
}

static int functions_release(struct inode *inode, struct file *file)
{
	struct chosen_file *chosen = file->private_data;

	if (!(file->f_mode & FMODE_WRITE))
		return seq_release(inode, file);

	/*
	 * Apply a last word without a newline; or an empty text, which chooses no function.
	 */
	if (chosen->len > chosen->done)
		choose(chosen, chosen->len);
	else if (!chosen->text && chosen->replace)
		choose_nothing();
	kvfree(chosen->text);
	kfree(chosen);

	return 0;
}

static const struct file_operations functions_fops = {
	.open		= functions_open,
	.read		= seq_read,
	.write		= functions_write,
	.llseek		= tracing_lseek,
	.release	= functions_release,
};

static int block_show(struct seq_file *m, void *v)
{
	const struct calltrace_block *block;

	guard(mutex)(&fhook_mutex);
	if (!calltrace_chosen)
		return 0;
	list_for_each_entry(block, &calltrace_chosen->blocks, list)
		seq_printf(m, "0x%lx 0x%x\n", (unsigned long)block->base,
			   block->size);

	return 0;
}

static int block_open(struct inode *inode, struct file *file)
{
	return locked_down() ?: single_open(file, block_show, NULL);
}

static const struct file_operations block_fops = {
	.open		= block_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static void show_head(struct seq_file *m, const struct calltrace_choice *choice)
{
	const struct calltrace_object *object = choice->objects;
	const struct calltrace_block *block;
	unsigned int i;

	seq_puts(m, "# calltrace map 1\n");
	for (i = 0; i < choice->num_objects; i++, object++) {
		seq_printf(m, "object %u ", i);
		if (object->build_id_size)
			seq_printf(m, "%*phN", object->build_id_size,
				   object->build_id);
		else
			seq_putc(m, '-');
		seq_printf(m, " %s\n", object->name);
	}
	list_for_each_entry(block, &choice->blocks, list)
		seq_printf(m, "block 0x%lx 0x%x 0\n",
			   (unsigned long)block->base, block->size);
	list_for_each_entry(block, &choice->blocks, list) {
		if (block->context)
			calltrace_context_show(m, block);
	}
}

static void show_stub(struct seq_file *m, const struct calltrace_function *f,
		      const struct calltrace_stub *stub, const char *kind)
{
	seq_printf(m, "stub 0x%lx %u %s %u ", calltrace_stub_addr(stub),
		   CALLTRACE_STUB_SIZE, kind, f->object);
	print_function(m, f);
	seq_printf(m, " 0x%lx", f->func);
}

static void show_exit(struct seq_file *m, const struct calltrace_choice *choice,
		      const struct calltrace_exit *exit)
{
	const struct calltrace_function *f =
		&choice->functions[exit->function];
	bool tail = exit->kind == CALLTRACE_TAIL;

	show_stub(m, f, &exit->stub, tail ? "tail" : "exit");
	if (exit->name)
		seq_printf(m, " %s 0x%lx", exit->name, exit->target);
	else if (exit->target)
		seq_printf(m, " %ps 0x%lx", (void *)exit->target,
			   exit->target);
	else if (tail)
		seq_puts(m, " -");
	seq_putc(m, '\n');
}

/* Position 0 is the head; functions and exits follow. */
static void *map_at(loff_t pos)
{
	const struct calltrace_choice *choice = calltrace_chosen;

	if (!choice || pos > choice->num_functions + choice->num_exits)
		return NULL;

	return (void *)(unsigned long)(pos + 1);
}

static void *map_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fhook_mutex);

	return map_at(*pos);
}

static void *map_next(struct seq_file *m, void *v, loff_t *pos)
{
	return map_at(++*pos);
}

static int map_show(struct seq_file *m, void *v)
{
	const struct calltrace_choice *choice = calltrace_chosen;
	unsigned long pos = (unsigned long)v - 1;
	const struct calltrace_function *f;

	if (!pos) {
		show_head(m, choice);
	} else if (pos <= choice->num_functions) {
		f = &choice->functions[pos - 1];
		if (f->reason)
			return 0;
		show_stub(m, f, &f->stub, "entry");
		seq_putc(m, '\n');
	} else {
		show_exit(m, choice,
			  &choice->exits[pos - 1 - choice->num_functions]);
	}

	return 0;
}

static const struct seq_operations map_ops = {
	.start	= map_start,
	.next	= map_next,
	.stop	= any_stop,
	.show	= map_show,
};

static int map_open(struct inode *inode, struct file *file)
{
	return locked_down() ?: seq_open(file, &map_ops);
}

static const struct file_operations map_fops = {
	.open		= map_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static int enable_open(struct inode *inode, struct file *file)
{
	return locked_down() ?: nonseekable_open(inode, file);
}

static ssize_t enable_read(struct file *file, char __user *buf, size_t len,
			   loff_t *pos)
{
	return simple_read_from_buffer(buf, len, pos,
				       READ_ONCE(calltrace_enabled) ? "1\n" :
								      "0\n", 2);
}

static ssize_t enable_write(struct file *file, const char __user *buf,
			    size_t len, loff_t *pos)
{
	struct fhook_report report = {};
	unsigned int number = 0;
	bool on, pause;
	int err;

	/* 2: do not announce tasks yet. */
	pause = !kstrtouint_from_user(buf, len, 10, &number) && number == 2;
	on = pause;
	err = pause ? 0 : kstrtobool_from_user(buf, len, &on);
	if (err)
		return err;

	mutex_lock(&fhook_mutex);
	err = calltrace_switch(on, &report);
	if (!err && pause)
		calltrace_context_pause();
	mutex_unlock(&fhook_mutex);
	if (err)
		pr_err("%s\n", report.text);

	return err ?: len;
}

static const struct file_operations enable_fops = {
	.open	= enable_open,
	.read	= enable_read,
	.write	= enable_write,
};

static int __init calltrace_tracefs_init(void)
{
	struct dentry *dir;

	/* Made just before, by fhook_tracefs_init(). */
	if (!fhook_tracefs_dir)
		return 0;

	dir = tracefs_create_dir("calltrace", fhook_tracefs_dir);
	if (!dir)
		return 0;

	tracefs_create_file("functions", 0600, dir, NULL, &functions_fops);
	tracefs_create_file("block", 0400, dir, NULL, &block_fops);
	tracefs_create_file("map", 0400, dir, NULL, &map_fops);
	tracefs_create_file("enable", 0600, dir, NULL, &enable_fops);
	calltrace_programs_init(dir);

	return 0;
}
fs_initcall_sync(calltrace_tracefs_init);
