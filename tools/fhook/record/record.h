/* SPDX-License-Identifier: GPL-2.0 */
/* What the ways to record share. */
#ifndef FHOOK_RECORD_H
#define FHOOK_RECORD_H

#include "instrument/list.h"
#include "lib/base.h"

enum record_how {
	RECORD_BEST,
	RECORD_PLUGIN,
	RECORD_HARDWARE,
	RECORD_SOFTWARE,
};

#define RECORD_MAPS		16
#define RECORD_DIRECTORY	"calltrace.out"

/**
 * struct record - what the command line says
 * @directory: where to; NULL until it is known that there is one
 * @map: of the program's stubs; not needed by the software recorder
 * @maps: those that the command line names
 * @nr_maps: how many
 * @profile: its name
 * @program: the path of what is run
 * @argv: its arguments, the first one being its name
 * @how: with what
 * @own_map: the path of the map, when it is one that was made here; or NULL
 * @kernel: functions of the kernel are recorded, not those of the program
 * @functions: of the kernel; none: those that have been chosen already
 * @tracefs: where the kernel's files are; NULL: where tracefs is mounted
 * @pmu: what the kernel says of the processor's trace
 * @port: the one on which QEMU's plugin listens, or NULL
 * @buffer_kb: of the buffer for each CPU, when the kernel is recorded, or of perf's; 0
 *	for perf's own choice
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
	u64 buffer_kb;
};

/* Whether perf can do what the profile says. */
int record_check_profile(const struct record *record, struct fault *fault);
int record_hardware(struct record *record, struct fault *fault);

/* Record functions of the kernel while the program runs; whatever happens is undone. */
int record_kernel(struct record *record, struct fault *fault);
/* way.c: choose what records it, and check that it can. */
int record_choose_way(struct record *record, struct fault *fault);
/* Say what records it, when it is known that its functions are there. Returns 0. */
int record_say_way(const struct record *record);
int record_kernel_hardware(struct record *record, struct fault *fault);
int record_kernel_software(struct record *record, struct fault *fault);
int record_kernel_port(struct record *record, struct fault *fault);

/* The path of the port on which QEMU's plugin listens, which is to be freed; or NULL. */
char *record_port(void);

#endif /* FHOOK_RECORD_H */
