// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: tracing of programs, the file fhook/calltrace/programs in tracefs.
 *
 *	PATH [@ADDRESS] OFFSET...
 *
 * describes a program: the offsets in a file of instructions by which functions are entered
 * and left. Each instruction has a stub of its own, the n-th at the n-th place of a block
 * at ADDRESS, which is the same in all processes. A line takes effect at once, in running
 * processes and in those that start later. The tool that disassembles the file knows
 * whether an offset is an entry or an exit, and of which function.
 *
 *	!PATH
 *
 * ends tracing of a program, by the path with which it was added, and opening the file with
 * O_TRUNC that of all. A write carries out its lines, which have to be complete, or fails and
 * changes nothing; the kernel log has the reason. The contents can be written back.
 *
 * A process keeps its stubs. So if no address is given for a block, the kernel chooses one
 * that was not used before, or the one that the same offsets of the same file had. It is
 * chosen at random, so that the address in one process does not reveal those of other
 * programs, and outside of the sanitizers' shadow memory.
 *
 * programs_lock protects the list of programs.
 */
#define pr_fmt(fmt) "fhook: calltrace: " fmt

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/random.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>
#include <linux/uhook.h>
#include <linux/uhook_code.h>

#include "../../trace/trace_fhook.h"
#include "calltrace.h"

/* A path, and 64-bit offsets in hexadecimal. */
#define MAX_TEXT	(PATH_MAX + UHOOK_STUBS_MAX * 19)

/**
 * struct program - a traced program file
 * @list: link in the list of programs
 * @name: path as written
 * @path: the file
 * @ops: the hook
 * @points: points of the hook
 * @nr: number of points
 * @removes: whether this ends the tracing of those with this name
 */
struct program {
	struct list_head	list;
	char			*name;
	struct path		path;
	struct uhook_ops	ops;
	struct uhook_point	*points;
	unsigned int		nr;
	bool			removes;
};

/**
 * struct given - an address that was assigned to a program
 * @list: link in the list of addresses
 * @what: hash of the path and the offsets
 * @nr: number of offsets
 * @address: address of the block
 */
struct given {
	struct list_head	list;
	u64			what;
	unsigned int		nr;
	unsigned long		address;
};

static LIST_HEAD(programs);
static LIST_HEAD(given_blocks);
static DEFINE_MUTEX(programs_lock);
static siphash_key_t hash_key;

static unsigned long size_of(unsigned int nr_stubs)
{
	return ALIGN((unsigned long)nr_stubs * UHOOK_STUB_SIZE, CALLTRACE_WINDOW);
}

static unsigned long block_size(const struct program *p)
{
	return size_of(p->nr);
}

static void free_program(struct program *p)
{
	path_put(&p->path);
	kvfree(p->points);
	kfree(p->name);
	kfree(p);
}

static int find_file(struct program *p, const char *name)
{
	int err;

	p->name = kstrdup(name, GFP_KERNEL);
	if (!p->name)
		return -ENOMEM;
	if (*name != '/') {
		pr_err("'%s' is no absolute path\n", name);
		return -EINVAL;
	}
	err = kern_path(name, LOOKUP_FOLLOW, &p->path);
	if (err) {
		pr_err("there is no file '%s': %pe\n", name, ERR_PTR(err));
		return err;
	}
	if (!d_is_reg(p->path.dentry)) {
		pr_err("'%s' is no regular file\n", name);
		return -EINVAL;
	}

	return 0;
}

static int parse_address(struct program *p, const char *word)
{
	if (!kstrtoul(word, 0, &p->ops.stubs) && p->ops.stubs &&
	    IS_ALIGNED(p->ops.stubs, CALLTRACE_WINDOW))
		return 0;

	pr_err("'%s' is no address of a block: it has to be a multiple of 64 KiB\n", word);

	return -EINVAL;
}

static int add_point(struct program *p, const char *word)
{
	struct inode *inode = d_real_inode(p->path.dentry);
	unsigned long offset;

	if (kstrtoul(word, 0, &offset)) {
		pr_err("'%s' is no offset\n", word);
		return -EINVAL;
	}
	if (offset >= i_size_read(inode)) {
		pr_err("0x%lx is beyond the end of '%s'\n", offset, p->name);
		return -EINVAL;
	}
	if (p->nr == UHOOK_STUBS_MAX) {
		pr_err("a program can have %u offsets\n", UHOOK_STUBS_MAX);
		return -E2BIG;
	}
	p->points[p->nr++] = (struct uhook_point){ .inode = inode, .offset = offset };

	return 0;
}

static char *next_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " \t\n");
	} while (word && !*word);

	return word;
}

static int parse(struct program *p, char *text)
{
	/* Each offset takes at least two bytes of text. */
	size_t most = min_t(size_t, strlen(text) / 2 + 1, UHOOK_STUBS_MAX);
	char *word = next_word(&text);
	int err;

	err = find_file(p, word);
	if (err)
		return err;
	p->points = kvcalloc(most, sizeof(*p->points), GFP_KERNEL);
	if (!p->points)
		return -ENOMEM;

	word = next_word(&text);
	if (word && *word == '@') {
		err = parse_address(p, word + 1);
		word = next_word(&text);
	}
	for (; word && !err; word = next_word(&text))
		err = add_point(p, word);
	if (!err && !p->nr) {
		pr_err("a program is a path, and offsets of instructions\n");
		err = -EINVAL;
	}

	return err;
}

static int compare(const void *a, const void *b)
{
	loff_t one = *(const loff_t *)a, other = *(const loff_t *)b;

	return one < other ? -1 : one > other;
}

/* An instruction cannot have two stubs. */
static int check_twice(const struct program *p)
{
	loff_t *offsets = kvmalloc_array(p->nr, sizeof(*offsets), GFP_KERNEL);
	unsigned int i;
	int err = 0;

	if (!offsets)
		return -ENOMEM;

	for (i = 0; i < p->nr; i++)
		offsets[i] = p->points[i].offset;
	sort(offsets, p->nr, sizeof(*offsets), compare, NULL);
	for (i = 1; i < p->nr && !err; i++) {
		if (offsets[i] != offsets[i - 1])
			continue;
		pr_err("0x%llx is given twice\n", offsets[i]);
		err = -EINVAL;
	}
	kvfree(offsets);

	return err;
}

static const struct program *program_at(unsigned long address, unsigned long size)
{
	const struct program *p;

	list_for_each_entry(p, &programs, list) {
		if (address < p->ops.stubs + block_size(p) &&
		    p->ops.stubs < address + size)
			return p;
	}

	return NULL;
}

static u64 hash_of(const struct program *p)
{
	u64 hash = siphash(p->name, strlen(p->name), &hash_key);
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		hash = siphash_2u64(hash, p->points[i].offset, &hash_key);

	return hash;
}

/* Most programs leave this quarter of the address space free. */
static unsigned long random_block(void)
{
	unsigned long all = min_t(unsigned long, TASK_SIZE_MAX, BIT(48));

	return ALIGN(all / 4, SZ_1G) + ALIGN_DOWN(get_random_long() % (all / 8), CALLTRACE_WINDOW);
}

/* Does an assigned or requested block overlap a range? */
static bool is_given(unsigned long address, unsigned long size)
{
	const struct given *given;

	list_for_each_entry(given, &given_blocks, list) {
		if (address < given->address + size_of(given->nr) &&
		    given->address < address + size)
			return true;
	}

	return program_at(address, size);
}

/* Assign the same address to the same line, because processes may still have the block. */
static int choose_address(struct program *p)
{
	u64 what = hash_of(p);
	struct given *given;

	list_for_each_entry(given, &given_blocks, list) {
		if (given->what != what || given->nr != p->nr ||
		    program_at(given->address, block_size(p)))
			continue;
		p->ops.stubs = given->address;
		return 0;
	}

	given = kmalloc(sizeof(*given), GFP_KERNEL);
	if (!given)
		return -ENOMEM;
	do {
		p->ops.stubs = random_block();
	} while (is_given(p->ops.stubs, block_size(p)));
	*given = (struct given){ .what = what, .nr = p->nr, .address = p->ops.stubs };
	list_add_tail(&given->list, &given_blocks);

	return 0;
}

static int give_block(struct program *p)
{
	const struct program *other;

	if (!p->ops.stubs)
		return choose_address(p);

	other = program_at(p->ops.stubs, block_size(p));
	if (other)
		pr_err("the block of '%s' is at this address: give another one, or none\n",
		       other->name);

	return other ? -EBUSY : 0;
}

static int hook(struct program *p)
{
	struct uhook_report report = {};
	int err;

	p->ops.user = UHOOK_USER_STUB;
	p->ops.name = p->name;
	p->ops.report = &report;
	err = uhook_register(&p->ops, p->points, p->nr);
	p->ops.report = NULL;
	if (!err)
		return 0;

	if (report.error == UHOOK_ERR_POINT)
		pr_err("the instruction at 0x%llx of '%s' cannot be probed\n",
		       p->points[report.point].offset, p->name);
	else
		pr_err("'%s' cannot be hooked: %pe\n", p->name, ERR_PTR(err));

	return err;
}

static struct program *make_program(char *line)
{
	struct program *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);

	if (*line == '!') {
		p->removes = true;
		p->name = kstrdup(strim(line + 1), GFP_KERNEL);
		err = p->name ? 0 : -ENOMEM;
	} else {
		err = parse(p, line) ?: check_twice(p);
	}
	if (err) {
		free_program(p);
		return ERR_PTR(err);
	}

	return p;
}

/* Parse lines of text, except comments and blank lines. */
static int make_programs(char *text, struct list_head *made)
{
	struct program *p;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		line = skip_spaces(line);
		if (!*line || *line == '#')
			continue;
		p = make_program(line);
		if (IS_ERR(p))
			return PTR_ERR(p);
		list_add_tail(&p->list, made);
	}

	return 0;
}

static void remove_programs(struct list_head *from)
{
	struct program *p, *next;

	if (list_empty(from))
		return;

	list_for_each_entry(p, from, list)
		uhook_unregister_async(&p->ops, NULL);
	/* Waits once for all of them. */
	uhook_barrier();

	list_for_each_entry_safe(p, next, from, list) {
		list_del(&p->list);
		free_program(p);
	}
}

/* Move the programs with a name to a list; returns whether there are any. */
static bool take_named(const char *name, struct list_head *from, struct list_head *to)
{
	struct program *p, *next;
	bool found = false;

	list_for_each_entry_safe(p, next, from, list) {
		if (strcmp(p->name, name))
			continue;
		list_move_tail(&p->list, to);
		found = true;
	}

	return found;
}

/* The programs that lines of @made remove go to @gone, if each of the lines has one. */
static int take_removed(struct list_head *made, struct list_head *gone)
{
	struct program *p;

	list_for_each_entry(p, made, list) {
		if (!p->removes || take_named(p->name, &programs, gone))
			continue;
		pr_err("'%s' is not traced: reading this file lists the programs\n", p->name);
		return -ENOENT;
	}

	return 0;
}

/* Carry out all lines or none; @made then has the programs to be freed. */
static int add_programs(struct list_head *made)
{
	struct program *p, *next;
	struct list_head *last;
	LIST_HEAD(before);
	LIST_HEAD(gone);
	int err;

	guard(mutex)(&programs_lock);
	err = take_removed(made, &gone);
	last = programs.prev;
	list_for_each_entry_safe(p, next, made, list) {
		if (err || p->removes)
			continue;
		err = give_block(p) ?: hook(p);
		if (!err)
			list_move_tail(&p->list, &programs);
	}
	if (err) {
		list_cut_position(&before, &programs, last);
		list_splice_init(&programs, made);
		list_splice(&before, &programs);
		list_splice_tail(&gone, &programs);
	} else {
		list_splice(&gone, made);
	}
	remove_programs(made);

	return err;
}

static int add_text(char *text)
{
	LIST_HEAD(made);
	int err;

	err = make_programs(text, &made) ?: add_programs(&made);
	/* What could not even be parsed */
	remove_programs(&made);

	return err;
}

static void *programs_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&programs_lock);

	return seq_list_start(&programs, *pos);
}

static void *programs_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &programs, pos);
}

static void programs_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&programs_lock);
}

static int programs_show(struct seq_file *m, void *v)
{
	struct program *p = list_entry(v, struct program, list);
	struct uhook_hits hits;
	unsigned int i;

	seq_printf(m, "%s @0x%lx", p->name, p->ops.stubs);
	for (i = 0; i < p->nr; i++)
		seq_printf(m, " 0x%llx", p->points[i].offset);
	seq_putc(m, '\n');
	uhook_get_hits(&p->ops, &hits);
	if (hits.kernel)
		seq_printf(m, "# not by way of a stub: %llu, see uhook/slots\n", hits.kernel);

	return 0;
}

static const struct seq_operations programs_ops = {
	.start	= programs_start,
	.next	= programs_next,
	.stop	= programs_stop,
	.show	= programs_show,
};

static int programs_open(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	if (!err && (file->f_mode & FMODE_READ))
		err = seq_open(file, &programs_ops);
	if (err)
		return err;

	if ((file->f_mode & FMODE_WRITE) && (file->f_flags & O_TRUNC)) {
		guard(mutex)(&programs_lock);
		remove_programs(&programs);
	}

	return 0;
}

/* A partial offset would be taken for another one. */
static bool has_whole_lines(const char *text, size_t len)
{
	return !len || (text[len - 1] == '\n' && !memchr(text, '\0', len));
}

static ssize_t programs_write(struct file *file, const char __user *buf, size_t count,
			      loff_t *pos)
{
	char *text;
	int err;

	if (count > MAX_TEXT) {
		pr_err("a program can have %u offsets\n", UHOOK_STUBS_MAX);
		return -E2BIG;
	}
	text = kvmalloc(count + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, buf, count)) {
		kvfree(text);
		return -EFAULT;
	}
	text[count] = '\0';

	if (has_whole_lines(text, count)) {
		err = add_text(text);
	} else {
		pr_err("each write must consist of complete lines of text\n");
		err = -EINVAL;
	}
	kvfree(text);

	return err ?: count;
}

static int programs_release(struct inode *inode, struct file *file)
{
	return file->f_mode & FMODE_READ ? seq_release(inode, file) : 0;
}

static const struct file_operations programs_fops = {
	.open		= programs_open,
	.read		= seq_read,
	.write		= programs_write,
	.llseek		= tracing_lseek,
	.release	= programs_release,
};

/**
 * calltrace_programs_init() - make the file
 * @dir: fhook/calltrace
 */
void __init calltrace_programs_init(struct dentry *dir)
{
	get_random_bytes(&hash_key, sizeof(hash_key));
	tracefs_create_file("programs", 0600, dir, NULL, &programs_fops);
}
