// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace record --kernel: record functions of the kernel
 *
 * Uses the processor's trace if it has one, in a guest of QEMU the plugin if that answers,
 * and otherwise fhook's events. The choice is printed before recording begins, but after the
 * functions have been found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/kernel_files.h"
#include "lib/recording.h"
#include "record.h"

static int check_tracefs(const struct record *record, struct fault *fault)
{
	if (kernel_files_open(record->tracefs, fault))
		return -1;
	if (!kernel_file_exists("fhook/available_functions"))
		return fault_say(fault,
				 "this kernel has no fhook: it needs CONFIG_FHOOK (there is no fhook/available_functions in %s)",
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
		result = record_choose_way(record, fault);
	if (!result)
		result = run(record, fault);
	free(record->port);
	kernel_files_close();
	return result;
}
