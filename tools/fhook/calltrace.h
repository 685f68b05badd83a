/* SPDX-License-Identifier: GPL-2.0 */
/* The commands of "fhook calltrace" that have a file of their own. */
#ifndef FHOOK_CALLTRACE_H
#define FHOOK_CALLTRACE_H

#include "lib/base.h"

/*
 * Run with the arguments from the subcommand's name on; return the exit status, or -1 and
 * a sentence.
 */
int calltrace_print(int argc, char **argv, struct fault *fault);
int calltrace_diff(int argc, char **argv, struct fault *fault);
int calltrace_record(int argc, char **argv, struct fault *fault);
int calltrace_cases(int argc, char **argv, struct fault *fault);
int calltrace_detach(int argc, char **argv, struct fault *fault);
int calltrace_import(int argc, char **argv, struct fault *fault);

#endif /* FHOOK_CALLTRACE_H */
