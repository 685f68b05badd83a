/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code that processes have mapped, and the functions at addresses in it
 *
 * Mappings are remembered after a process has unmapped them or has ended, because its calls
 * are looked at later. The newest mapping of an address counts. A child also has the mappings
 * that its parent had when it was forked.
 */
#ifndef FHOOK_HOOK_TASKS_H
#define FHOOK_HOOK_TASKS_H

#include <sys/types.h>
#include "lib/elf_image.h"

/**
 * struct code_file - a file that was mapped
 * @path: path of the file, or a name in brackets for memory without one
 * @inode: its inode number: another file may have the path now
 * @image: its contents, if @state is CODE_FILE_OPEN
 * @state: whether it was opened
 */
struct code_file {
	char *path;
	u64 inode;
	struct elf_image image;
	enum { CODE_FILE_UNSEEN, CODE_FILE_OPEN, CODE_FILE_USELESS } state;
};

/**
 * struct mapping - a mapping of code
 * @start: first address
 * @end: address after the last one
 * @offset: offset of @start in the file
 * @file: index of the file
 */
struct mapping {
	u64 start, end, offset;
	size_t file;
};

/**
 * struct task - a thread
 * @id: its number
 * @process: number of its process; the rest but the last is of processes only
 * @parent: process that has forked it, or 0 if unknown
 * @nr_inherited: number of mappings that the parent had then
 * @mappings: mappings, the oldest first
 * @nr: number of mappings
 * @is_reused: another thread, or process, had the number before
 */
struct task {
	pid_t id, process, parent;
	size_t nr_inherited;
	struct mapping *mappings;
	size_t nr, room;
	bool is_reused;
};

/**
 * struct tasks - all that is known
 * @tasks: threads, sorted by number
 * @nr: number of threads
 * @files: files, in the order in which they were seen
 * @nr_files: number of files
 * @by_inode: indexes of files, sorted by inode number and path
 * @bytes: size of the files that are open
 * @lost: number of mappings that were not stored, because there were too many
 */
struct tasks {
	struct task *tasks;
	size_t nr, room;
	struct code_file *files;
	size_t nr_files, room_files, room_by_inode;
	size_t *by_inode;
	size_t bytes;
	u64 lost;
};

/* These return 0, or -1 if there is not enough memory. */
int tasks_thread(struct tasks *tasks, pid_t thread, pid_t process);
/* SCANNED: the child may be known from /proc before its record is read. */
int tasks_fork(struct tasks *tasks, pid_t child, pid_t parent, bool scanned);

/* Add a mapping of the file with this path and inode number; its member file is set here. */
int tasks_map(struct tasks *tasks, pid_t process, struct mapping *mapping, const char *path,
	      u64 inode);

/* Did several threads, or processes, have this number? Calls of them cannot be told apart later. */
bool tasks_is_reused(const struct tasks *tasks, pid_t thread);

/* Is code known to have been mapped at the address of a thread? */
bool tasks_has_code(const struct tasks *tasks, pid_t thread, u64 address);

/*
 * The name of the function at an address of a thread, demangled; or the file and the offset in
 * it, "libc.so.6+0x1234"; or the address. IS_RETURN: the address is that after a call, which may
 * be the last instruction of the function. To be freed, or NULL without memory.
 */
char *tasks_symbol(struct tasks *tasks, pid_t thread, u64 address, bool is_return);
void tasks_free(struct tasks *tasks);

#endif /* FHOOK_HOOK_TASKS_H */
