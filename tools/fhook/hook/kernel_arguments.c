// SPDX-License-Identifier: GPL-2.0
/* Arguments of events on functions of the kernel; the header describes them. */
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "kernel_arguments.h"
#include "kernel_debug.h"
#include "kernel_enums.h"
#include "lib/kernel_files.h"

static const char needed[] = "need CONFIG_PROBE_EVENTS_BTF_ARGS, which this kernel lacks";

/* Does the kernel replace names itself? It needs CONFIG_PROBE_EVENTS_BTF_ARGS. */
static bool takes_names(void)
{
	struct fault ignored;
	char *readme = kernel_file_read("README", &ignored);
	const bool takes = readme && strstr(readme, "<argname>");

	free(readme);
	return takes;
}

static char *arguments_of(struct kernel_debug *debug, const char *name, const struct spec *spec,
			  struct call_event *event, struct fault *fault)
{
	const struct program_function *function = kernel_debug_function(debug, name, fault);

	return function ? arguments_at(&debug->program, function, spec, event, fault) : NULL;
}

char *kernel_arguments(char **patterns, size_t nr, const struct spec *spec,
		       struct call_event *event, struct fault *fault)
{
	struct kernel_debug debug;
	struct fault why;
	char *arguments = NULL;

	if (!arguments_named(spec) || takes_names()) {
		if (event)
			kernel_enums_take(event);
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
	if (kernel_debug_open(&debug, &why))
		fault_say(fault, "names of parameters %s; %s", needed, why.text);
	else
		arguments = arguments_of(&debug, *patterns, spec, event, fault);
	kernel_debug_close(&debug);
	return arguments;
}
