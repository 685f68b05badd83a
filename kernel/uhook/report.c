// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: reporting why a hook cannot be registered.
 *
 * A sentence goes to the report of the hook or, if it has none, to the log. The function
 * that finds the reason reports it, once, and also returns an error.
 */
#define pr_fmt(fmt) "uhook: " fmt

#include <linux/err.h>
#include <linux/printk.h>
#include <linux/sprintf.h>
#include <linux/stdarg.h>
#include <linux/string.h>

#include "report.h"

static void say(const struct uhook_ops *ops, const struct uhook_report *said)
{
	if (ops->report)
		*ops->report = *said;
	else
		pr_warn("%s: %s\n", ops->name ?: "a hook", said->text);
}

/**
 * uhook_fail - report why a hook cannot be registered
 * @ops: the hook
 * @error: the reason, for programs
 * @format: printf() format of the sentence
 *
 * Context: task.
 */
void uhook_fail(const struct uhook_ops *ops, enum uhook_error error, const char *format, ...)
{
	struct uhook_report said = { .error = error };
	va_list args;

	va_start(args, format);
	vsnprintf(said.text, sizeof(said.text), format, args);
	va_end(args);
	say(ops, &said);
}

/**
 * uhook_fail_point - report that a point of a hook cannot be probed
 * @ops: the hook
 * @nr: index of the point
 * @point: the point
 * @err: error of uprobes
 *
 * Context: task.
 */
void uhook_fail_point(const struct uhook_ops *ops, unsigned int nr,
		      const struct uhook_point *point, int err)
{
	struct uhook_report said = { .error = UHOOK_ERR_POINT, .point = nr };

	snprintf(said.text, sizeof(said.text),
		 "point %u, at 0x%llx of its file, cannot be probed: %pe", nr, point->offset,
		 ERR_PTR(err));
	say(ops, &said);
}
