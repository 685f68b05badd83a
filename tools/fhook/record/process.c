// SPDX-License-Identifier: GPL-2.0
/* Requests to the software recorder of a running process; the header describes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include "lib/elf_map.h"
#include "process.h"

/* Returns the number of bytes, or -1. */
static ssize_t access_page(const struct process *process, bool write, size_t offset, void *data,
			   size_t size)
{
	const struct iovec local = { .iov_base = data, .iov_len = size };
	const struct iovec remote = {
		.iov_base = (void *)(process->address + offset), .iov_len = size,
	};

	return write ? process_vm_writev(process->pid, &local, 1, &remote, 1, 0) :
		       process_vm_readv(process->pid, &local, 1, &remote, 1, 0);
}

static int denied(pid_t pid, struct fault *fault)
{
	return fault_say(fault,
			 "process %d cannot be accessed: %s; it needs root, or the process's user and kernel.yama.ptrace_scope=0",
			 pid, strerror(errno));
}

int process_read(const struct process *process, struct control *control)
{
	if (access_page(process, false, 0, control, sizeof(*control)) != sizeof(*control))
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

/* Has the program been rewritten or instrumented? */
static bool has_stubs(pid_t pid)
{
	char path[40], *const paths[] = { path };
	FILE *nowhere = fopen("/dev/null", "we");
	struct fault ignored;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	has = nowhere && !elf_map_write(paths, 1, nowhere, &ignored);
	if (nowhere)
		fclose(nowhere);
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

int process_find(struct process *process, pid_t pid, struct fault *fault)
{
	char path[40];
	int result;

	*process = (struct process){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	process->maps = fopen(path, "re");
	if (!process->maps)
		return errno == ENOENT ? fault_say(fault, "there is no process %d", pid) :
					 denied(pid, fault);
	if (flock(fileno(process->maps), LOCK_EX | LOCK_NB))
		result = fault_say(fault, "process %d is being recorded by another fhook already",
				   pid);
	else
		result = find_page(process, fault);
	if (result)
		process_close(process);
	return result;
}

void process_close(struct process *process)
{
	fclose(process->maps);
	process->maps = NULL;
}

int process_request(const struct process *process, struct control *control, struct fault *fault)
{
	const size_t begin = offsetof(struct control, snapshot_mb);
	const ssize_t size = sizeof(*control) - begin;

	/* The request comes last: the process reads the other fields after it. */
	if (access_page(process, true, begin, &control->snapshot_mb, size) != size ||
	    access_page(process, true, offsetof(struct control, request), &control->request,
			sizeof(control->request)) != sizeof(control->request))
		return denied(process->pid, fault);
	return 0;
}
