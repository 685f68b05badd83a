// SPDX-License-Identifier: GPL-2.0
/* Code that processes have mapped; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "program.h"
#include "tasks.h"

/* Numbers of processes are used again: parents may form a circle. */
#define MOST_PARENTS	64

/* What programs map takes fhook's time and memory: mappings of a process, and bytes of files. */
#define MOST_MAPPINGS	16384
#define MOST_BYTES	(1024ul << 20)

static struct task *find_task(const struct tasks *tasks, pid_t id)
{
	const size_t at = first_index(tasks->nr, i, tasks->tasks[i].id < id);

	return at < tasks->nr && tasks->tasks[at].id == id ? tasks->tasks + at : NULL;
}

/* The task, which is added if it is new; or NULL without memory. */
static struct task *get_task(struct tasks *tasks, pid_t id)
{
	const size_t at = first_index(tasks->nr, i, tasks->tasks[i].id < id);

	if (at < tasks->nr && tasks->tasks[at].id == id)
		return tasks->tasks + at;
	if (grow(&tasks->tasks, &tasks->room, tasks->nr, sizeof(*tasks->tasks)))
		return NULL;
	memmove(tasks->tasks + at + 1, tasks->tasks + at,
		(tasks->nr - at) * sizeof(*tasks->tasks));
	tasks->nr++;
	tasks->tasks[at] = (struct task){ .id = id, .process = id };
	return tasks->tasks + at;
}

int tasks_thread(struct tasks *tasks, pid_t thread, pid_t process)
{
	struct task *task = get_task(tasks, thread);

	if (!task)
		return -1;
	/* A new task has its own number here. */
	task->is_reused |= task->process != process &&
			   (task->process != thread || task->parent || task->nr);
	task->process = process;
	return 0;
}

int tasks_fork(struct tasks *tasks, pid_t child, pid_t parent, bool scanned)
{
	const struct task *from = find_task(tasks, parent);
	const size_t nr = from ? from->nr : 0;
	struct task *task = get_task(tasks, child);

	if (!task)
		return -1;
	task->is_reused |= task->parent || task->process != child || (task->nr && !scanned);
	task->process = child;
	task->parent = parent;
	task->nr_inherited = nr;
	task->nr = 0;
	return 0;
}

bool tasks_is_reused(const struct tasks *tasks, pid_t thread)
{
	const struct task *task = find_task(tasks, thread);
	const struct task *process = task ? find_task(tasks, task->process) : NULL;

	return task && (task->is_reused || (process && process->is_reused));
}

static int compare_file(const struct code_file *file, const char *path, u64 inode)
{
	if (file->inode != inode)
		return file->inode < inode ? -1 : 1;
	return strcmp(file->path, path);
}

/* The index of a file, or -1 without memory. */
static ssize_t get_file(struct tasks *tasks, const char *path, u64 inode)
{
	const size_t nr = tasks->nr_files;
	const size_t at = first_index(nr, i, compare_file(tasks->files + tasks->by_inode[i],
							  path, inode) < 0);
	struct code_file *file;

	if (at < nr && !compare_file(tasks->files + tasks->by_inode[at], path, inode))
		return tasks->by_inode[at];
	if (grow(&tasks->files, &tasks->room_files, nr, sizeof(*file)) ||
	    grow(&tasks->by_inode, &tasks->room_by_inode, nr, sizeof(*tasks->by_inode)))
		return -1;
	file = tasks->files + nr;
	*file = (struct code_file){ .path = strdup(path), .inode = inode };
	if (!file->path)
		return -1;
	memmove(tasks->by_inode + at + 1, tasks->by_inode + at,
		(nr - at) * sizeof(*tasks->by_inode));
	tasks->by_inode[at] = nr;
	return tasks->nr_files++;
}

static bool is_same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->file == b->file;
}

int tasks_map(struct tasks *tasks, pid_t process, struct mapping *mapping, const char *path,
	      u64 inode)
{
	struct task *task = get_task(tasks, process);
	ssize_t file;

	if (task && task->nr >= MOST_MAPPINGS) {
		tasks->lost++;
		return 0;
	}
	file = get_file(tasks, path, inode);
	if (file < 0)
		return -1;
	mapping->file = file;
	/* Some programs make the same memory writable and executable in turn. */
	if (task && task->nr && is_same(task->mappings + task->nr - 1, mapping))
		return 0;
	if (!task || grow(&task->mappings, &task->room, task->nr, sizeof(*mapping)))
		return -1;
	task->mappings[task->nr++] = *mapping;
	return 0;
}

static const struct mapping *newest(const struct task *task, size_t nr, u64 address)
{
	for (; nr; nr--) {
		const struct mapping *mapping = task->mappings + nr - 1;

		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

static const struct mapping *find_mapping(const struct tasks *tasks, pid_t thread, u64 address)
{
	const struct task *task = find_task(tasks, thread);
	const struct mapping *mapping = NULL;
	unsigned int i;
	size_t nr;

	if (task)
		task = find_task(tasks, task->process);
	nr = task ? task->nr : 0;
	for (i = 0; task && i < MOST_PARENTS; i++) {
		mapping = newest(task, nr < task->nr ? nr : task->nr, address);
		if (mapping)
			break;
		nr = task->nr_inherited;
		task = find_task(tasks, task->parent);
	}
	return mapping;
}

bool tasks_has_code(const struct tasks *tasks, pid_t thread, u64 address)
{
	return find_mapping(tasks, thread, address);
}

/* A file that is not there any more, or is not an ELF file, has no symbols. */
static void open_file(struct tasks *tasks, struct code_file *file)
{
	struct fault ignored;
	struct stat status;

	file->state = CODE_FILE_USELESS;
	if (*file->path == '/' && !stat(file->path, &status) && S_ISREG(status.st_mode) &&
	    status.st_ino == file->inode &&
	    !elf_open_small(&file->image, file->path, MOST_BYTES - tasks->bytes, &ignored)) {
		file->state = CODE_FILE_OPEN;
		tasks->bytes += file->image.size;
	}
}

static const struct elf_symbol *symbol_at(const struct elf_image *image, u64 offset)
{
	size_t i;

	for (i = 0; i < image->nr_loads; i++) {
		const Elf64_Phdr *load = image->loads[i];

		if ((load->p_flags & PF_X) && offset >= load->p_offset &&
		    offset - load->p_offset < load->p_filesz)
			return elf_symbol_of(image, offset - load->p_offset + load->p_vaddr);
	}
	return NULL;
}

char *tasks_symbol(struct tasks *tasks, pid_t thread, u64 address, bool is_return)
{
	const struct mapping *mapping = find_mapping(tasks, thread, address - is_return);
	const struct elf_symbol *symbol = NULL;
	const char *name;
	char *text;
	u64 offset;

	if (!mapping)
		return asprintf(&text, "0x%llx", address) < 0 ? NULL : text;
	offset = address - mapping->start + mapping->offset;
	if (tasks->files[mapping->file].state == CODE_FILE_UNSEEN)
		open_file(tasks, tasks->files + mapping->file);
	if (tasks->files[mapping->file].state == CODE_FILE_OPEN)
		symbol = symbol_at(&tasks->files[mapping->file].image, offset - is_return);
	if (symbol)
		return program_demangle(symbol->name);
	name = strrchr(tasks->files[mapping->file].path, '/');
	name = name ? name + 1 : tasks->files[mapping->file].path;
	if (asprintf(&text, "%s+0x%llx", name, offset) < 0)
		return NULL;
	text_clean(text);
	return text;
}

void tasks_free(struct tasks *tasks)
{
	size_t i;

	for (i = 0; i < tasks->nr; i++)
		free(tasks->tasks[i].mappings);
	for (i = 0; i < tasks->nr_files; i++) {
		if (tasks->files[i].state == CODE_FILE_OPEN)
			elf_close(&tasks->files[i].image);
		free(tasks->files[i].path);
	}
	free(tasks->tasks);
	free(tasks->files);
	free(tasks->by_inode);
	*tasks = (struct tasks){ };
}
