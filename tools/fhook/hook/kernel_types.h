/* SPDX-License-Identifier: GPL-2.0 */
/* Type data of the running kernel and of its modules */
#ifndef FHOOK_HOOK_KERNEL_TYPES_H
#define FHOOK_HOOK_KERNEL_TYPES_H

#include "prototype.h"

/**
 * struct kernel_types - type data
 * @opened: whether reading it was tried
 * @why: reason why there is none
 * @kernel: functions of the kernel
 * @module: functions of the module that was asked for last
 * @name: name of this module
 */
struct kernel_types {
	bool opened;
	struct fault why;
	struct prototypes kernel, module;
	char name[128];
};

/*
 * Read the type data, once; TYPES is empty before the first call. Returns 0, or -1 and a
 * sentence; kernel_types_close() may be called in any case.
 */
int kernel_types_open(struct kernel_types *types, struct fault *fault);
void kernel_types_close(struct kernel_types *types);

/*
 * The functions of a module, or of the kernel if MODULE is empty; valid until the next call.
 * NULL if there is no type data for it.
 */
const struct prototypes *kernel_types_of(struct kernel_types *types, const char *module);

#endif /* FHOOK_HOOK_KERNEL_TYPES_H */
