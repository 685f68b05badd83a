/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arguments of events on functions of the kernel
 *
 * Where the kernel knows its types, it replaces names of parameters itself, and the command only
 * looks up the names of their values. Elsewhere, the command takes both from the debug file.
 */
#ifndef FHOOK_HOOK_KERNEL_ARGUMENTS_H
#define FHOOK_HOOK_KERNEL_ARGUMENTS_H

#include "call_event.h"
#include "kernel_debug.h"
#include "kernel_types.h"

/**
 * struct kernel_info - what a run has read about the kernel's functions
 * @types: type data
 * @debug: debug information
 * @asked: whether the kernel was asked for the two below
 * @takes_names: whether the kernel replaces names of parameters itself
 * @has_registers: whether its events fetch registers
 */
struct kernel_info {
	struct kernel_types types;
	struct kernel_debug debug;
	bool asked, takes_names, has_registers;
};

void kernel_info_close(struct kernel_info *info);

/*
 * The arguments of an event on the functions that match patterns as a part of a definition, to
 * be freed; or NULL and a sentence. EVENT, which may be NULL, takes the names of their values.
 */
char *kernel_arguments(struct kernel_info *info, char **patterns, size_t nr,
		       const struct spec *spec, struct call_event *event, struct fault *fault);

#endif /* FHOOK_HOOK_KERNEL_ARGUMENTS_H */
