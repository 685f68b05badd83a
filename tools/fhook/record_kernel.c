// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace record --kernel: record functions of the kernel
 *
 * With the processor's trace where there is one, and otherwise through fhook's events:
 * which of them it is, is said before anything is changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "kernel_files.h"
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
	if (record->how == RECORD_PLUGIN)
		return fault_say(fault,
				 "QEMU's plugin is outside of the machine whose kernel is recorded: the kernel tells it over a port what to record");
	if (record->map)
		return fault_say(fault, "the map of the kernel is its own: --map is for programs");
	if (access(record->program, X_OK))
		return fault_say(fault, "%s cannot be run: %s", record->argv[0],
				 strerror(errno));
	if (record->functions.nr_patterns && list_check(&record->functions, fault))
		return -1;
	return check_tracefs(record, fault);
}

static int choose_way(struct record *record, struct fault *fault)
{
	const bool traced = !access(record->pmu, F_OK);

	if (record->how == RECORD_HARDWARE && !traced)
		return fault_say(fault,
				 "this processor has no Intel PT, or the kernel does not offer it: use --software");
	if (record->how == RECORD_BEST)
		record->how = traced ? RECORD_HARDWARE : RECORD_SOFTWARE;
	if (record->how == RECORD_HARDWARE)
		fputs("fhook: the processor records, with Intel PT, by perf.\n", stderr);
	else
		fprintf(stderr, "fhook: fhook's events record%s.\n",
			traced ? "" : ", for this processor has no Intel PT");
	return 0;
}

int record_kernel(struct record *record, struct fault *fault)
{
	int result = check(record, fault);

	if (!result)
		result = choose_way(record, fault);
	if (!result && record->how == RECORD_HARDWARE)
		result = record_kernel_hardware(record, fault);
	else if (!result)
		result = record_kernel_software(record, fault);
	kernel_files_close();
	return result;
}
