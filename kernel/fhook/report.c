// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: reports of errors, each with a sentence.
 *
 * The function that finds an error fills the caller's report, and the API hands it
 * to the user or to the log. No locks. Mainline's counterpart is the error log of
 * tracing (tracing_log_err()).
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/printk.h>
#include <linux/stdarg.h>
#include <linux/string.h>

#include "report.h"

/**
 * fhook_fail() - say what went wrong
 * @report: is filled
 * @error: what, for a program
 * @err: a negative errno
 * @addr: the site or function that it is about, or 0
 * @fmt: the sentence
 *
 * Return: @err.
 */
int fhook_fail(struct fhook_report *report, enum fhook_error error, int err,
	       unsigned long addr, const char *fmt, ...)
{
	va_list args;

	report->error = error;
	report->addr = addr;
	report->offset = 0;
	va_start(args, fmt);
	vsnprintf(report->text, sizeof(report->text), fmt, args);
	va_end(args);

	return err;
}

/**
 * fhook_fail_at() - and say which function it was about
 * @report: filled, about no function yet
 * @func: address of the function
 */
void fhook_fail_at(struct fhook_report *report, unsigned long func)
{
	size_t len = strlen(report->text);

	report->addr = func;
	scnprintf(report->text + len, sizeof(report->text) - len, " (%ps)",
		  (void *)func);
}

/**
 * fhook_report_out() - tell the user
 * @to: where the user wants to have it, NULL for the log
 * @name: of what failed, or NULL
 * @report: what went wrong
 */
void fhook_report_out(struct fhook_report *to, const char *name,
		      const struct fhook_report *report)
{
	if (to)
		*to = *report;
	else
		pr_err("%s: %s\n", name ?: "(no name)", report->text);
}
