/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the recorders. */
#ifndef FHOOK_RECORD_H
#define FHOOK_RECORD_H

#include <sys/types.h>
#include "lib/list.h"
#include "lib/base.h"
#include "lib/spec.h"

enum record_how {
	RECORD_BEST,
	RECORD_PLUGIN,
	RECORD_HARDWARE,
	RECORD_SOFTWARE,
	RECORD_PYTHON,
	RECORD_PLUGIN_PYTHON,	/* both: functions of Python have stubs */
};

#define RECORD_MAPS		16
#define RECORD_UNTIL		8
#define RECORD_DIRECTORY	"calltrace.out"

/**
 * struct record - options of the command line
 * @directory: directory of the recording; NULL until it can be made
 * @map: map of the program's stubs; not needed by the software recorder
 * @maps: maps named on the command line
 * @nr_maps: number of @maps
 * @profile: name of the profile
 * @program: path of the program to run
 * @argv: arguments of the program, the first being its name
 * @how: recorder to use
 * @own_map: path of the map, if it was made here; or NULL
 * @kernel: record functions of the kernel, not those of the program
 * @functions: functions of the kernel; none: those already chosen
 * @tracefs: directory of the kernel's files; NULL: the mounted tracefs
 * @pmu: the kernel's description of the processor's trace
 * @port: port of QEMU's plugin, or NULL
 * @buffer_kb: size of each CPU's buffer when the kernel is recorded, or of perf's
 *	buffer; 0 for perf's default
 * @attach: number of the process to record; 0: run a program
 * @snapshot_mb: number of MiB of each CPU or thread to keep; 0: the whole recording
 * @until: conditions that end the recording
 * @until_text: the conditions as written
 * @nr_until: number of conditions
 */
struct record {
	const char *directory, *map, *profile;
	const char *maps[RECORD_MAPS];
	size_t nr_maps;
	char *program, *own_map;
	char **argv;
	enum record_how how;
	bool kernel;
	struct list functions;
	const char *tracefs, *pmu;
	char *port;
	u64 buffer_kb, snapshot_mb;
	struct spec until[RECORD_UNTIL];
	const char *until_text[RECORD_UNTIL];
	size_t nr_until;
	pid_t attach;
};

/* Can a signal or a condition end the recording while the command continues? */
static inline bool record_has_trigger(const struct record *record)
{
	return record->snapshot_mb || record->nr_until;
}

/* Does the program record itself, by a library that it has or gets? */
static inline bool record_is_by_program(const struct record *record)
{
	return record->how == RECORD_SOFTWARE || record->how == RECORD_PYTHON;
}

/* The option that chooses a recorder, such as "--plugin". */
const char *record_how_option(enum record_how how);
/* Choose a recorder, unless another one has been chosen. */
int record_choose_how(enum record_how *how, enum record_how chosen, struct fault *fault);

/* Does QEMU's plugin record? */
static inline bool record_is_by_plugin(const struct record *record)
{
	return record->how == RECORD_PLUGIN || record->how == RECORD_PLUGIN_PYTHON;
}

/* Check whether perf supports the profile. */
int record_check_profile(const struct record *record, struct fault *fault);
int record_hardware(struct record *record, struct fault *fault);

/*
 * Record functions of the kernel while the program runs; all changes are undone in any
 * case.
 */
int record_kernel(struct record *record, struct fault *fault);
/* way.c: choose the recorder, and check its requirements. */
int record_choose_way(struct record *record, struct fault *fault);
/* Print which recorder is used, after the functions have been found. Returns 0. */
int record_say_way(const struct record *record);
/* An absolute path, because the program may change its directory; NULL if there is no memory. */
char *record_absolute(const char *path);

/*
 * Print why the recording has ended: at a condition (from 1, or 0), or at the trigger; and, if at
 * none, which conditions are on functions that it does not have (UNMATCHED, the first in bit 0).
 */
void record_say_end(const struct record *record, u32 until, u32 unmatched);
int record_kernel_hardware(struct record *record, struct fault *fault);
int record_kernel_software(struct record *record, struct fault *fault);
int record_kernel_port(struct record *record, struct fault *fault);

/* The path of the port of QEMU's plugin, to be freed; or NULL. */
char *record_port(void);

#endif /* FHOOK_RECORD_H */
