// SPDX-License-Identifier: GPL-2.0
/*
 * The recorder that an option chooses, and otherwise, for functions of the kernel, the processor's
 * trace if it has one, in a guest of QEMU the plugin if that answers, or else fhook's events.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/recording.h"
#include "lib/work.h"
#include "record.h"

const char *record_how_option(enum record_how how)
{
	static const char *const options[] = {
		[RECORD_PLUGIN] = "--plugin", [RECORD_HARDWARE] = "--hardware",
		[RECORD_SOFTWARE] = "--software", [RECORD_PYTHON] = "--python",
		[RECORD_PLUGIN_PYTHON] = "--python",
	};

	return options[how];
}

int record_choose_how(enum record_how *how, enum record_how chosen, struct fault *fault)
{
	const bool has_python = *how == RECORD_PYTHON || *how == RECORD_PLUGIN_PYTHON;
	const bool has_plugin = *how == RECORD_PLUGIN || *how == RECORD_PLUGIN_PYTHON;

	if ((chosen == RECORD_PLUGIN && has_python) || (chosen == RECORD_PYTHON && has_plugin))
		chosen = RECORD_PLUGIN_PYTHON;
	else if (*how != RECORD_BEST && *how != chosen)
		return fault_say(fault, "%s and %s are two recorders: give one of them",
				 record_how_option(*how), record_how_option(chosen));
	*how = chosen;
	return 0;
}

static int check_way(const struct record *record, struct fault *fault)
{
	if (record->nr_until && record->how != RECORD_SOFTWARE)
		return fault_say(fault,
				 "conditions need fhook's events: use --software, or end the recording by SIGUSR2");
	if (record->snapshot_mb && record->how == RECORD_PLUGIN)
		return fault_say(fault,
				 "QEMU's plugin keeps the whole recording: --snapshot is for fhook's events and the processor's trace");
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
	return recording_check_new(record->directory, fault);
}

int record_choose_way(struct record *record, struct fault *fault)
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

void record_say_end(const struct record *record, u32 until, u32 unmatched)
{
	size_t i;

	if (until && until <= record->nr_until)
		fprintf(stderr, "fhook: The recording has ended at '%s'.\n",
			record->until_text[until - 1]);
	else if (work_triggered())
		fprintf(stderr, "fhook: The recording has ended at signal %d.\n", WORK_TRIGGER);
	else if (record->nr_until)
		fputs("fhook: No condition was true until the end.\n", stderr);
	for (i = 0; !until && i < record->nr_until; i++) {
		if (unmatched >> i & 1)
			fprintf(stderr,
				"fhook: No function of the recording is named %s: give a name as fhook calltrace print --mangled shows it.\n",
				record->until[i].pattern);
	}
}
