// SPDX-License-Identifier: GPL-2.0
/* Arguments of events on functions of the kernel; the header describes them. */
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "kernel_arguments.h"
#include "kernel_enums.h"
#include "lib/kernel_files.h"

static const char needed[] = "need CONFIG_PROBE_EVENTS_BTF_ARGS, which this kernel lacks";

/* Does the kernel replace names itself? It needs CONFIG_PROBE_EVENTS_BTF_ARGS. */
static bool takes_names(struct kernel_info *info)
{
	struct fault ignored;
	char *readme;

	if (!info->asked) {
		readme = kernel_file_read("README", &ignored);
		info->takes_names = readme && strstr(readme, "<argname>");
		info->asked = true;
		free(readme);
	}
	return info->takes_names;
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

	if (!arguments_named(spec) || takes_names(info)) {
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
		fault_say(fault, "names of parameters %s; %s", needed, why.text);
	else
		arguments = arguments_of(&info->debug, *patterns, spec, event, fault);
	return arguments;
}
