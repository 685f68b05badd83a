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
 * fhook_fail() - describe an error
 * @report: the report to fill
 * @error: the kind of error, for programs
 * @err: the negative errno
 * @addr: address of the site or function concerned, or 0
 * @fmt: format of the error sentence
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
 * fhook_fail_at() - add the function concerned to a report
 * @report: a filled report without a function
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
 * fhook_report_out() - deliver a report to the user
 * @to: report of the user to fill, or NULL for the log
 * @name: name of the hook or patch that failed, or NULL
 * @report: the report
 */
void fhook_report_out(struct fhook_report *to, const char *name,
		      const struct fhook_report *report)
{
	if (to)
		*to = *report;
	else
		pr_err("%s: %s\n", name ?: "(no name)", report->text);
}
