// SPDX-License-Identifier: GPL-2.0
/* Requests to the software recorder of a running process; the header describes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "lib/elf_image.h"
#include "lib/elf_map.h"
#include "process.h"

/* The most bytes of a program that are read. */
#define PROGRAM_MOST	(256 << 20)

static int denied(pid_t pid, struct fault *fault)
{
	return fault_say(fault,
			 "process %d cannot be accessed: %s; it needs root, or the process's user and kernel.yama.ptrace_scope=0",
			 pid, strerror(errno));
}

/* Returns 0, or -1 and sets errno. Memory of a process that has ended has no bytes. */
static int check_size(ssize_t done, size_t size)
{
	if (done == (ssize_t)size)
		return 0;
	if (done >= 0)
		errno = ESRCH;
	return -1;
}

int process_read(const struct process *process, struct control *control)
{
	if (check_size(pread(process->memory, control, sizeof(*control), process->address),
		       sizeof(*control)))
		return -1;
	control->fault[sizeof(control->fault) - 1] = '\0';
	return 0;
}

static u64 find_address(FILE *maps)
{
	char line[4352], name[4096];
	unsigned long start;

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%*x %*s %*x %*s %*u %4095s", &start, name) == 2 &&
		    !strcmp(name, "/memfd:" CONTROL_NAME))
			return start;
	return 0;
}

/* Has the program been rewritten or instrumented? This is for a hint: not for any memory. */
static bool has_stubs(pid_t pid)
{
	struct elf_image image;
	struct fault ignored;
	char path[40];
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (elf_open_small(&image, path, PROGRAM_MOST, &ignored))
		return false;
	has = elf_section(&image, ELF_STUB_SECTION);
	elf_close(&image);
	return has;
}

static int no_page(pid_t pid, struct fault *fault)
{
	if (has_stubs(pid))
		return fault_say(fault,
				 "process %d has stubs but no libfhook-record, so only a processor's trace could record it from now on: start it again by 'fhook calltrace record --plugin'",
				 pid);
	return fault_say(fault,
			 "process %d has no libfhook-record, so it cannot be recorded from now on: link the program with it, or put the kernel's stubs into it by 'fhook calltrace attach'",
			 pid);
}

static int find_page(struct process *process, struct fault *fault)
{
	struct control control;

	errno = 0;
	process->address = find_address(process->maps);
	if (ferror(process->maps))
		return denied(process->pid, fault);
	if (!process->address)
		return no_page(process->pid, fault);
	if (process_read(process, &control))
		return denied(process->pid, fault);
	if (memcmp(control.magic, CONTROL_MAGIC, sizeof(CONTROL_MAGIC)))
		return fault_say(fault,
				 "process %d has another version of libfhook-record: link the program again",
				 process->pid);
	return 0;
}

/*
 * The descriptor of the memory is opened before the list of mappings is, so that the list is not
 * an older program's. It stays with this memory: if the process executes another program or ends,
 * even if another process gets its number, nothing is read or written any more.
 */
static int open_process(struct process *process, struct fault *fault)
{
	const pid_t pid = process->pid;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	process->memory = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (process->memory >= 0)
		process->maps = fopen(path, "re");
	if (!process->maps)
		return errno == ENOENT ? fault_say(fault, "there is no process %d", pid) :
					 denied(pid, fault);
	if (flock(fileno(process->maps), LOCK_EX | LOCK_NB))
		return fault_say(fault, "process %d is being recorded by another fhook already",
				 pid);
	return 0;
}

int process_find(struct process *process, pid_t pid, struct fault *fault)
{
	*process = (struct process){ .pid = pid, .memory = -1 };
	if (!open_process(process, fault) && !find_page(process, fault))
		return 0;
	process_close(process);
	return -1;
}

void process_close(struct process *process)
{
	if (process->maps)
		fclose(process->maps);
	if (process->memory >= 0)
		close(process->memory);
	process->maps = NULL;
	process->memory = -1;
}

static int write_page(const struct process *process, const struct control *control,
		      size_t offset, size_t size)
{
	return check_size(pwrite(process->memory, (const char *)control + offset, size,
				 process->address + offset), size);
}

static int write_request(const struct process *process, const struct control *control)
{
	return write_page(process, control, offsetof(struct control, request),
			  sizeof(control->request));
}

int process_start(const struct process *process, const struct control *control,
		  struct fault *fault)
{
	const size_t begin = offsetof(struct control, snapshot_mb);

	/* The request comes last: the process reads the other fields after it. */
	if (write_page(process, control, begin, sizeof(*control) - begin) ||
	    write_request(process, control))
		return denied(process->pid, fault);
	return 0;
}

int process_stop(const struct process *process, struct fault *fault)
{
	const struct control control = { .request = CONTROL_STOP };

	return write_request(process, &control) ? denied(process->pid, fault) : 0;
}
