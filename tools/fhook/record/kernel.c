// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace record --kernel: record functions of the kernel
 *
 * With the processor's trace where there is one, in a guest of QEMU by its plugin if
 * that listens, and otherwise through fhook's events: which of them it is, is said
 * before anything is recorded, and when it is known that there are such functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernel_files.h"
#include "lib/recording.h"
#include "record.h"

static int check_tracefs(const struct record *record, struct fault *fault)
{
	if (kernel_files_open(record->tracefs, fault))
		return -1;
	if (!kernel_file_exists("fhook/available_functions"))
		return fault_say(fault,
				 "this kernel has no fhook: there is no fhook/available_functions in %s",
				 kernel_files_path());
	return 0;
}

static int check(const struct record *record, struct fault *fault)
{
	if (access(record->program, X_OK))
		return fault_say(fault, "%s cannot be run: %s", record->argv[0],
				 strerror(errno));
	if (record->functions.nr_patterns && list_check(&record->functions, fault))
		return -1;
	return check_tracefs(record, fault);
}

static int check_way(const struct record *record, struct fault *fault)
{
	switch (record->how) {
	case RECORD_HARDWARE:
		if (access(record->pmu, F_OK))
			return fault_say(fault,
					 "this processor has no Intel PT, or the kernel does not offer it: use --software");
		if (record_check_profile(record, fault))
			return -1;
		break;
	case RECORD_PLUGIN:
		if (!record->port)
			return fault_say(fault,
					 "QEMU's plugin is outside of the machine whose kernel is recorded, and there is no port to it");
		if (record->directory)
			return fault_say(fault,
					 "the recording will be outside of this machine, where QEMU's plugin was told to put it: --output cannot change that");
		return 0;
	default:
		if (strcmp(record->profile, "target"))
			return fault_say(fault,
					 "fhook's events have no profiles: --profile is for the processor's trace and QEMU's plugin");
		if (record->nr_maps)
			return fault_say(fault,
					 "fhook's events have no stubs, and record no programs: --map is for the processor's trace and QEMU's plugin");
	}
	return recording_check(record->directory, fault);
}

static int choose_way(struct record *record, struct fault *fault)
{
	const bool traced = !access(record->pmu, F_OK);

	if (record->how == RECORD_BEST && traced)
		record->how = RECORD_HARDWARE;
	else if (record->how == RECORD_BEST)
		record->how = record->port && (!record->directory || record->nr_maps) ?
			      RECORD_PLUGIN : RECORD_SOFTWARE;
	if (!record->directory && record->how != RECORD_PLUGIN)
		record->directory = RECORD_DIRECTORY;
	return check_way(record, fault);
}

int record_say_way(const struct record *record)
{
	const bool traced = !access(record->pmu, F_OK);

	if (record->how == RECORD_HARDWARE)
		fputs("fhook: the processor records, with Intel PT, by perf.\n", stderr);
	else if (record->how == RECORD_PLUGIN)
		fputs("fhook: QEMU's plugin records.\n", stderr);
	else
		fprintf(stderr, "fhook: fhook's events record%s.\n",
			traced ? "" : ", for this processor has no Intel PT");
	return 0;
}

static int run(struct record *record, struct fault *fault)
{
	switch (record->how) {
	case RECORD_HARDWARE:
		return record_kernel_hardware(record, fault);
	case RECORD_PLUGIN:
		return record_kernel_port(record, fault);
	default:
		return record_kernel_software(record, fault);
	}
}

int record_kernel(struct record *record, struct fault *fault)
{
	int result = check(record, fault);

	record->port = record_port();
	if (!result)
		result = choose_way(record, fault);
	if (!result)
		result = run(record, fault);
	free(record->port);
	kernel_files_close();
	return result;
}
