// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: the file fhook_events and the boot parameter fhook_event=.
 *
 * Both accept the definitions that dynamic_events accepts, and see only
 * fhook's. trace_hook_file.c does most of the work; the only state here is the
 * text of the parameter.
 */
#define pr_fmt(fmt)	"trace_fhook: " fmt

#include <linux/cache.h>
#include <linux/init.h>
#include <linux/string.h>
#include <asm/setup.h>

#include "trace_fhook.h"

static char boot_events[COMMAND_LINE_SIZE] __initdata;

static int __init set_boot_events(char *str)
{
	strscpy(boot_events, str, sizeof(boot_events));
	disable_tracing_selftest("running fhook events");
	return 1;
}
__setup("fhook_event=", set_boot_events);

static __init void enable_boot_events(void)
{
	struct trace_array *tr = top_trace_array();
	struct trace_event_file *file;
	struct dyn_event *pos;

	guard(mutex)(&event_mutex);
	for_each_dyn_event(pos) {
		struct trace_probe *tp = &to_trace_fhook(pos)->tp;

		if (!is_trace_fhook(pos))
			continue;
		file = __find_event_file(tr, trace_probe_group_name(tp),
					 trace_probe_name(tp));
		if (file)
			trace_event_enable_disable(file, 1, 0);
	}
}

/* Semicolons separate definitions, and commas separate their words. */
static __init void setup_boot_events(void)
{
	char *command, *rest = boot_events;
	int ret;

	if (!*boot_events)
		return;
	strreplace(boot_events, ',', ' ');
	while ((command = strsep(&rest, ";"))) {
		ret = trace_fhook_type.run(command);
		if (ret)
			pr_warn("could not add event (%d): %s\n", ret, command);
	}
	enable_boot_events();
}

/* As early as kprobe events, for definitions made before tracefs exists. */
static __init int init_fhook_events_early(void)
{
	return dyn_event_register(&trace_fhook_ops);
}
core_initcall(init_fhook_events_early);

static __init int init_fhook_events(void)
{
	trace_hook_create_file(&trace_fhook_type);
	setup_boot_events();
	return 0;
}
fs_initcall(init_fhook_events);
