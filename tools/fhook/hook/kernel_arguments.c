// SPDX-License-Identifier: GPL-2.0
/* Arguments of events on functions of the kernel; the header describes them. */
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "kernel_arguments.h"
#include "kernel_enums.h"
#include "lib/kernel_files.h"

static const char needed[] = "need CONFIG_PROBE_EVENTS_BTF_ARGS, which this kernel lacks";

/*
 * Does the kernel replace names itself? It needs CONFIG_PROBE_EVENTS_BTF_ARGS. And does it fetch
 * registers? Only events of kprobes do, which are used if there are no others.
 */
static void ask(struct kernel_info *info)
{
	struct fault ignored;
	char *readme;

	if (info->asked)
		return;
	readme = kernel_file_read("README", &ignored);
	info->takes_names = readme && strstr(readme, "<argname>");
	info->has_registers = readme && !strstr(readme, " f[:[<group>/][<event>]]") &&
			      !kernel_file_exists("fhook_events");
	info->asked = true;
	free(readme);
}

/* What the kernel would refuse in words that do not say what to write. */
static int check_names(struct kernel_info *info, const char *pattern, const struct spec *spec,
		       struct fault *fault)
{
	const char *name;
	unsigned int i;
	size_t length;
	int result = 0;
	char *path;

	for (i = 0; i < spec->nr && !result; i++) {
		name = arguments_name(spec->values[i], &length);
		path = name ? strndup(name, length) : NULL;
		if (name)
			result = path ? kernel_enums_check_name(&info->types, pattern, path,
								fault) :
				 fault_say(fault, "there is not enough memory");
		free(path);
	}
	return result;
}

static int check(const struct kernel_info *info, const struct spec *spec, struct fault *fault)
{
	const struct arguments_place place = {
		.machine = PROGRAM_OWN_MACHINE, .is_kernel = true,
		.has_registers = info->has_registers,
	};

	return arguments_check(spec, &place, fault);
}

void kernel_info_close(struct kernel_info *info)
{
	kernel_types_close(&info->types);
	kernel_debug_close(&info->debug);
}

static char *arguments_of(struct kernel_debug *debug, const char *name, const struct spec *spec,
			  struct call_event *event, struct fault *fault)
{
	const struct program_function *function = kernel_debug_function(debug, name, fault);

	return function ? arguments_at(&debug->program, function, spec, event, fault) : NULL;
}

char *kernel_arguments(struct kernel_info *info, char **patterns, size_t nr,
		       const struct spec *spec, struct call_event *event, struct fault *fault)
{
	char *arguments = NULL;
	struct fault why;

	ask(info);
	if (check(info, spec, fault))
		return NULL;
	if (!arguments_named(spec) || info->takes_names) {
		if (nr == 1 && check_names(info, *patterns, spec, fault))
			return NULL;
		if (event)
			kernel_enums_take(&info->types, event);
		arguments = spec_arguments(spec);
		if (!arguments)
			fault_say(fault, "there is not enough memory");
		return arguments;
	}
	if (nr != 1 || strpbrk(*patterns, "*?[:")) {
		fault_say(fault,
			  "%s: names of parameters of several functions, or of modules, %s: name one function, or write $arg1",
			  *patterns, needed);
		return NULL;
	}
	if (kernel_debug_open(&info->debug, &why))
		fault_say(fault, "names of parameters %s: write $arg1 and so on; %s", needed,
			  why.text);
	else
		arguments = arguments_of(&info->debug, *patterns, spec, event, fault);
	return arguments;
}
