/* SPDX-License-Identifier: GPL-2.0 */
/* Words of fhook that hook functions; each is a run of a struct command */
#ifndef FHOOK_HOOK_WORDS_H
#define FHOOK_HOOK_WORDS_H

#include "lib/base.h"

int hook_list(int argc, char **argv, struct fault *fault);
int hook_count(int argc, char **argv, struct fault *fault);
int hook_trace(int argc, char **argv, struct fault *fault);
int hook_record(int argc, char **argv, struct fault *fault);
int hook_report(int argc, char **argv, struct fault *fault);
int hook_time(int argc, char **argv, struct fault *fault);
int hook_top(int argc, char **argv, struct fault *fault);
int hook_stacks(int argc, char **argv, struct fault *fault);
int hook_fail(int argc, char **argv, struct fault *fault);
int hook_patch(int argc, char **argv, struct fault *fault);
int hook_stat(int argc, char **argv, struct fault *fault);
int hook_off(int argc, char **argv, struct fault *fault);
int hook_on(int argc, char **argv, struct fault *fault);
int hook_doctor(int argc, char **argv, struct fault *fault);

#endif /* FHOOK_HOOK_WORDS_H */
