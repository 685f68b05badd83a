// SPDX-License-Identifier: GPL-2.0
/*
 * Recording programs that are linked with libfhook-record, or get it with fhook-python.so
 *
 * The program writes the recording; the command only asks for it, by its environment or, once
 * it runs, by a request. The recording is valid at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/elf_image.h"
#include "lib/recording.h"
#include "lib/work.h"
#include "linked.h"
#include "process.h"
#include "python_map.h"

/* A condition or a signal is looked for this often. */
#define LOOK_MS		100
/* The time in which a process obeys a request, if it calls functions at all. */
#define OBEY_LOOKS	30

/* The conditions, one on each line. */
static int write_conditions(const struct record *record, char *text, size_t size,
			    struct fault *fault)
{
	size_t i, length = 0;

	*text = '\0';
	for (i = 0; i < record->nr_until; i++) {
		length += snprintf(text + length, size - length, "%s\n", record->until_text[i]);
		if (length >= size)
			return fault_say(fault, "the conditions are longer than %zu bytes", size);
	}
	return 0;
}

/* Have the loader add fhook-python.so to the program and to those that it executes. */
static int preload_python(struct fault *fault)
{
	char *setting = python_preload(fault);
	int result;

	if (!setting)
		return -1;
	result = setenv("LD_PRELOAD", strchr(setting, '=') + 1, 1);
	free(setting);
	return result ? fault_say(fault, "there is not enough memory to record") : 0;
}

static int set_environment(const struct record *record, const char *out, struct fault *fault)
{
	char conditions[sizeof(((struct control *)NULL)->until)], snapshot[24];
	char session[24];

	if (write_conditions(record, conditions, sizeof(conditions), fault))
		return -1;
	snprintf(snapshot, sizeof(snapshot), "%llu", record->snapshot_mb);
	snprintf(session, sizeof(session), "0x%llx", recording_new_session());
	if (setenv("FHOOK_RECORD", out, 1) || setenv("FHOOK_SNAPSHOT", snapshot, 1) ||
	    setenv("FHOOK_UNTIL", conditions, 1) || setenv(RECORDING_SESSION, session, 1))
		return fault_say(fault, "there is not enough memory to record");
	return record->how == RECORD_PYTHON ? preload_python(fault) : 0;
}

static void say_end(const struct record *record)
{
	struct recording recording;
	struct fault ignored;

	if (recording_read(&recording, record->directory, &ignored))
		return;
	record_say_end(record, recording.until, recording.unmatched);
	recording_free(&recording);
}

/* Returns whether the process has obeyed, or has ended. */
static bool obeyed(const struct process *process, struct control *control)
{
	int looks;

	for (looks = 0; looks < OBEY_LOOKS; looks++) {
		if (process_read(process, control) || control->request == CONTROL_NONE)
			return true;
		usleep(LOOK_MS * 1000);
	}
	return false;
}

static int stop(const struct process *process, struct fault *fault)
{
	struct control control;

	if (process_stop(process, fault))
		return -1;
	if (!obeyed(process, &control))
		fprintf(stderr,
			"fhook: Process %d has not called a function since: its recording ends at the next call.\n",
			process->pid);
	return 0;
}

/* Wait until the program has ended, or the trigger ends its recording. */
static int wait_for_end(struct fault *fault)
{
	struct pollfd program = { .fd = work_fd(), .events = POLLIN };
	struct process process;
	int result;

	while (work_runs())
		poll(&program, 1, LOOK_MS);
	if (!work_triggered() || !work_pid())
		return 0;
	if (process_find(&process, work_pid(), fault))
		return -1;
	result = stop(&process, fault);
	process_close(&process);
	return result;
}

static int run(struct record *record, const char *out, struct fault *fault)
{
	int result;

	if (set_environment(record, out, fault))
		return -1;
	work_begin();
	if (record_has_trigger(record))
		work_take_trigger();
	result = work_start(record->argv, fault);
	if (!result)
		result = wait_for_end(fault);
	work_end();
	return result;
}

/*
 * Has a program that was compiled with -finstrument-functions been linked without the library? With
 * -flto, gcc adds the calls when the linker has taken from libraries what it needs.
 */
static bool lacks_library(const char *program)
{
	struct elf_image image;
	struct fault ignored;
	bool lacks;

	if (elf_open(&image, program, &ignored))
		return false;
	lacks = elf_imports(&image, "__cyg_profile_func_enter");
	elf_close(&image);
	return lacks;
}

int record_linked(struct record *record, struct fault *fault)
{
	char *out = record_absolute(record->directory);
	struct fault holds_one;
	int result;

	if (!out)
		return fault_say(fault, "there is not enough memory to record");
	result = run(record, out, fault);
	free(out);
	if (result)
		return -1;
	if (!recording_check(record->directory, &holds_one) && record->how == RECORD_PYTHON)
		return fault_say(fault,
				 "%s has called no function of Python that can be recorded: --python is for CPython 3.9 to 3.13",
				 record->program);
	if (!recording_check(record->directory, &holds_one) && lacks_library(record->program))
		return fault_say(fault,
				 "%s has not recorded itself: link it with libfhook-record after its own files, with -flto also with -Wl,-u,__cyg_profile_func_enter",
				 record->program);
	if (!recording_check(record->directory, &holds_one))
		return fault_say(fault,
				 "%s has not recorded itself: it is to be compiled with -finstrument-functions and linked with libfhook-record",
				 record->program);
	say_end(record);
	return 0;
}

static int ask_to_start(const struct process *process, const struct record *record,
			struct fault *fault)
{
	struct control control = {
		.request = CONTROL_START, .snapshot_mb = record->snapshot_mb,
	};
	char *out = record_absolute(record->directory);
	const size_t size = sizeof(control.directory);
	const bool fits = out && snprintf(control.directory, size, "%s", out) < (int)size;

	free(out);
	if (!fits)
		return fault_say(fault, "the path of %s is too long", record->directory);
	return write_conditions(record, control.until, sizeof(control.until), fault) ?:
	       process_start(process, &control, fault);
}

/*
 * Stop a process that has not obeyed the request to start, or is obeying it right now. Returns
 * whether it has begun a recording, which then ends at its next call.
 */
static bool take_back(const struct process *process, const struct record *record)
{
	struct fault ignored;

	if (process_stop(process, &ignored))
		return false;
	usleep(LOOK_MS * 1000);
	return recording_check(record->directory, &ignored);
}

static int start(const struct process *process, const struct record *record, struct fault *fault)
{
	struct control control;
	struct fault holds_one;

	if (ask_to_start(process, record, fault))
		return -1;
	/* Until it calls a function, there is nothing to record. */
	do {
		if (process_read(process, &control)) {
			/* It may have obeyed and ended since the last look. */
			if (recording_check(record->directory, &holds_one))
				return 0;
			return fault_say(fault,
					 "process %d has ended, or executed another program, before it called a function",
					 process->pid);
		}
		if (control.request == CONTROL_NONE)
			return *control.fault ? fault_say(fault, "process %d is not recorded: %s",
							  process->pid, control.fault) : 0;
		usleep(LOOK_MS * 1000);
	} while (!work_stopped() && !work_triggered());
	if (take_back(process, record))
		return 0;
	return fault_say(fault,
			 "process %d has called no function that is compiled with -finstrument-functions: nothing is recorded",
			 process->pid);
}

/*
 * Lock the directory, so that the process and its children end their recordings when this
 * process ends, even if it is killed. Returns a descriptor, or -1.
 */
static int lock(const struct record *record, struct fault *fault)
{
	const int fd = open(record->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && !flock(fd, LOCK_SH | LOCK_NB))
		return fd;
	fault_say(fault,
		  "%s cannot be locked: %s; a process that sees other files, as in a container, is to be recorded from there",
		  record->directory, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Wait until the recording ends; then stop it, if the process has not done so. */
static int watch(const struct process *process, struct fault *fault)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, process->pid, 0), .events = POLLIN };
	struct control control;
	bool ended = false;

	while (!ended && !work_stopped() && !work_triggered())
		ended = poll(&end, 1, LOOK_MS) > 0 || process_read(process, &control) ||
			!control.recording;
	if (end.fd >= 0)
		close(end.fd);
	return ended ? 0 : stop(process, fault);
}

static int keep(const struct process *process, const struct record *record, struct fault *fault)
{
	const int locked = lock(record, fault);
	struct fault ignored;
	int result;

	if (locked < 0) {
		stop(process, &ignored);
		return -1;
	}
	fprintf(stderr, "fhook: Process %d is recorded; Ctrl-C ends the recording.\n",
		process->pid);
	result = watch(process, fault);
	close(locked);
	return result;
}

int record_attached(struct record *record, struct fault *fault)
{
	struct process process;
	int result;

	if (process_find(&process, record->attach, fault))
		return -1;
	work_begin();
	work_take_trigger();
	result = start(&process, record, fault) ?: keep(&process, record, fault);
	work_end();
	process_close(&process);
	if (!result)
		say_end(record);
	return result;
}
