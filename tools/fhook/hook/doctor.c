// SPDX-License-Identifier: GPL-2.0
/*
 * fhook doctor: is this kernel configured, and may I
 *
 * Each check prints a line that begins with "ok", "missing" or "note", and says what to do.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <tracefs.h>
#include <unistd.h>
#include "lib/json.h"
#include "lib/kernel_files.h"
#include "options.h"
#include "words.h"

static const struct word word = {
	.name = "fhook doctor",
	.arguments = "",
	.does = "Check what this kernel can do for fhook, and what you may do.\n"
		"\vThe exit status is 0 if kernel functions can be hooked now, otherwise 1.",
	.takes = "j",
};

/* Whether to print objects of JSON. */
static bool as_json;

/* A file of tracefs, the option of the kernel that makes it, and its use. */
static const struct {
	const char *file, *option, *use;
} features[] = {
	{ "fhook/available_functions", "CONFIG_FHOOK", "hooks of kernel functions" },
	{ "fhook_events", "CONFIG_FHOOK_EVENTS", "count, trace and time in the kernel" },
	{ "fhook/overrides", "CONFIG_FUNCTION_ERROR_INJECTION", "fail" },
	{ "fhook/redirects", "CONFIG_FHOOK_REDIRECT", "patch" },
	{ "uhook/boost", "CONFIG_UHOOK", "uprobes without single steps" },
	{ "uhook_events", "CONFIG_UHOOK_EVENTS", "count, trace and time in programs" },
	{ "fhook/calltrace/functions", "CONFIG_FHOOK_CALLTRACE", "calltrace record --kernel" },
	{ "dynamic_events", "CONFIG_DYNAMIC_EVENTS", "events" },
	{ "events/sched/sched_switch/hist", "CONFIG_HIST_TRIGGERS", "count, time and stacks" },
};

static void __printf(2, 3) say(const char *state, const char *format, ...)
{
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!as_json) {
		printf("%-8s %s\n", state, text);
		return;
	}
	printf("{\"state\":\"%s\",\"text\":", state);
	json_string(stdout, text);
	puts("}");
}

static bool check_root(void)
{
	if (!geteuid()) {
		say("ok", "you are root");
		return true;
	}
	say("missing", "you are not root: run fhook with sudo");
	return false;
}

static bool check_tracefs(void)
{
	struct fault fault;

	if (!tracefs_tracing_dir() || kernel_files_open(NULL, &fault)) {
		say("missing", "tracefs: as root, \"mount -t tracefs none /sys/kernel/tracing\"");
		return false;
	}
	say("ok", "tracefs is at %s", tracefs_tracing_dir());
	return true;
}

static void check_lockdown(void)
{
	const char *const mode = kernel_lockdown();

	if (!mode)
		return;
	if (!strcmp(mode, "none"))
		say("ok", "the kernel is not locked down");
	else
		say("note", "the kernel is locked down (%s): functions cannot fail%s", mode,
		    *mode == 'c' ? ", and tracefs is closed" : "");
}

static bool check_features(void)
{
	bool hooks = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		const bool there = kernel_file_exists(features[i].file);

		say(there ? "ok" : "missing", "%s (%s)%s", features[i].use, features[i].option,
		    there ? "" : ": build the kernel with this option");
		if (i < 2)
			hooks &= there;
	}
	if (!hooks)
		say("note", "list, count, trace, record and stacks use mainline's probes");
	return hooks;
}

static bool check_enabled(void)
{
	struct fault fault;
	char *text = kernel_file_exists("fhook/enabled") ?
		     kernel_file_read("fhook/enabled", &fault) : NULL;
	bool on = !text || *text != '0';

	free(text);
	if (!on)
		say("missing", "hooks in the kernel are off: \"fhook on\" switches them on");
	return on;
}

int hook_doctor(int argc, char **argv, struct fault *fault __unused)
{
	struct options options;
	struct utsname kernel;
	bool good;

	options_parse(&options, &word, argc, argv);
	as_json = options.json;
	if (!uname(&kernel))
		say("note", "this is Linux %s on %s", kernel.release, kernel.machine);
	good = check_root();
	check_lockdown();
	if (!check_tracefs())
		return 1;
	good &= check_features();
	good &= check_enabled();
	return good ? 0 : 1;
}
