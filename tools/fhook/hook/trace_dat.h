/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of trace-cmd, "trace.dat", in version 6 of their format
 *
 * libtracecmd reads them, but does not offer to write them. trace-cmd.dat.v6(5) describes
 * the format: a header with the descriptions of all events, the kernel's symbols and the
 * names of tasks, and then the pages of each CPU's ring buffer.
 */
#ifndef FHOOK_HOOK_TRACE_DAT_H
#define FHOOK_HOOK_TRACE_DAT_H

#include "call_events.h"

/* The name of a file if none is given. */
#define TRACE_DAT_NAME	"trace.dat"

/* The first bytes of a file of any version. */
#define TRACE_DAT_MAGIC	"\x17\x08\x44tracing"

/**
 * struct trace_dat - a file to be written
 * @path: name of the file
 * @fd: descriptor of the file, or -1
 * @room: descriptor of a file that has the room for the header, or -1
 * @made: whether the file is new, or its contents have been replaced
 */
struct trace_dat {
	const char *path;
	int fd, room;
	bool made;
};

/*
 * Open a file without changing it. It must be new, empty, or a trace.dat, which
 * trace_dat_write() replaces. There is room for its header, also when the disk is full later.
 */
int trace_dat_open(struct trace_dat *file, const char *path, struct fault *fault);

/*
 * A descriptor of a file without a name, in the same directory, which nobody has to remove;
 * or -1 and a sentence.
 */
int trace_dat_scratch(const struct trace_dat *file, struct fault *fault);

/*
 * Write the events of a run, which are still defined. PAGES has the descriptor of a file with
 * whole pages for each CPU. To need little room, the pages are removed from these files
 * while they are copied.
 */
int trace_dat_write(struct trace_dat *file, const struct call_events *events, const int *pages,
		    unsigned int nr, struct fault *fault);

/* Close the file. If it is not COMPLETE, remove it, unless it is as it was before. */
void trace_dat_close(struct trace_dat *file, bool complete);

/* Room for the name of a clock. */
#define TRACE_DAT_CLOCK	16

/*
 * Check that PATH is a whole trace.dat of version 6. CLOCK becomes the name of its clock, if that
 * does not count nanoseconds, or empty.
 */
int trace_dat_check(const char *path, char clock[TRACE_DAT_CLOCK], struct fault *fault);

#endif /* FHOOK_HOOK_TRACE_DAT_H */
