/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debug information of the running kernel, for kernels without type data
 *
 * The file is where distributions install it, or comes from the servers in DEBUGINFOD_URLS. It
 * must have the build id of the kernel. It has the functions of the kernel, but not those of
 * modules.
 */
#ifndef FHOOK_HOOK_KERNEL_DEBUG_H
#define FHOOK_HOOK_KERNEL_DEBUG_H

#include "program.h"

/**
 * struct kernel_debug - debug information of the kernel
 * @opened: whether opening it was tried
 * @why: reason why there is none
 * @program: the file, with its functions sorted by name; its path is NULL if there is none
 */
struct kernel_debug {
	bool opened;
	struct fault why;
	struct program program;
};

/*
 * Open the file, once; DEBUG is empty before the first call. Returns 0, or -1 and a sentence;
 * kernel_debug_close() may be called in any case.
 */
int kernel_debug_open(struct kernel_debug *debug, struct fault *fault);

/* The same for this file, which must have this build id, in hex digits. */
int kernel_debug_open_file(struct kernel_debug *debug, const char *path, const char *id,
			   struct fault *fault);
void kernel_debug_close(struct kernel_debug *debug);

/* The function of this name; or NULL and a sentence, also if there are several. */
const struct program_function *kernel_debug_function(const struct kernel_debug *debug,
						     const char *name, struct fault *fault);

#endif /* FHOOK_HOOK_KERNEL_DEBUG_H */
