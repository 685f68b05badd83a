/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: reports of errors, each with a sentence.
 */
#ifndef _FHOOK_REPORT_H
#define _FHOOK_REPORT_H

#include <linux/compiler.h>
#include <linux/fhook.h>

__printf(5, 6)
int fhook_fail(struct fhook_report *report, enum fhook_error error, int err,
	       unsigned long addr, const char *fmt, ...);

void fhook_fail_at(struct fhook_report *report, unsigned long func);
void fhook_report_out(struct fhook_report *to, const char *name,
		      const struct fhook_report *report);

#endif /* _FHOOK_REPORT_H */
