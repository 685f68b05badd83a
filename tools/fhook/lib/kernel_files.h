/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of tracefs, by their paths in it
 *
 * libtracefs reads and writes them. This adds error sentences: when the kernel refuses a
 * write, error_log has the reason and the word concerned.
 */
#ifndef FHOOK_KERNEL_FILES_H
#define FHOOK_KERNEL_FILES_H

#include "base.h"

/* Use the files of this directory or, if it is NULL, of the mounted tracefs. */
int kernel_files_open(const char *directory, struct fault *fault);
void kernel_files_close(void);
/* The path of that directory. */
const char *kernel_files_path(void);

bool kernel_file_exists(const char *path);

/* The number of CPUs that may exist, all of whose numbers are below it; some may be missing. */
unsigned int kernel_cpus(void);

/* How far the kernel is locked down; NULL where that is not known. */
const char *kernel_lockdown(void);

/* The reason for which the kernel refuses a file or an instance. */
const char *kernel_refusal(int error);

/* The contents of a file, to be freed; or NULL and a sentence. */
char *kernel_file_read(const char *path, struct fault *fault);

/* Replace the contents of a file by TEXT, or append it. */
int kernel_file_write(const char *path, const char *text, struct fault *fault);
int kernel_file_append(const char *path, const char *text, struct fault *fault);

/*
 * Write a file; if that fails, only print the error, because nothing can be done about
 * it.
 */
void kernel_file_restore(const char *path, const char *text);

/* A new instance has the options of the user's trace: reset those that change its lines. */
void kernel_instance_reset(const char *instance);

#endif /* FHOOK_KERNEL_FILES_H */
