/* SPDX-License-Identifier: GPL-2.0 */
/* A flame graph: who calls whom, by width, as an image for browsers */
#ifndef FHOOK_HOOK_FLAME_H
#define FHOOK_HOOK_FLAME_H

#include "lib/base.h"

/**
 * struct flame - a function, in one place of the graph
 * @name: name of the function
 * @calls: number of calls below it
 * @below: first function that it calls
 * @beside: next function with the same caller
 */
struct flame {
	char *name;
	u64 calls;
	struct flame *below, *beside;
};

/* Add calls with a stack, the outermost function first. Returns 0, or -1 without memory. */
int flame_add(struct flame *root, char *const *stack, size_t depth, u64 calls);

/* Fails, with a sentence, if a file cannot be written. It keeps its contents. */
int flame_check(const char *path, struct fault *fault);

/*
 * Write the graph as SVG, or as SVG in a page of HTML. If that fails, as on a full disk, a file
 * that was there keeps its contents.
 */
int flame_save(const struct flame *root, const char *title, bool html, const char *path,
	       struct fault *fault);
void flame_free(struct flame *root);

#endif /* FHOOK_HOOK_FLAME_H */
