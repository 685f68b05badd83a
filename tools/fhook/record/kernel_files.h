/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of tracefs, by their paths in it
 *
 * libtracefs reads and writes them. What is added here is the sentence: when the kernel
 * refuses what was written, error_log has the reason and the word that it is about.
 */
#ifndef FHOOK_KERNEL_FILES_H
#define FHOOK_KERNEL_FILES_H

#include "lib/base.h"

/* Take the files of this directory, or, if it is NULL, of tracefs where it is mounted. */
int kernel_files_open(const char *directory, struct fault *fault);
void kernel_files_close(void);
/* That directory. */
const char *kernel_files_path(void);

bool kernel_file_exists(const char *path);

/* Its text, which is to be freed; or NULL and a sentence. */
char *kernel_file_read(const char *path, struct fault *fault);

/* Let TEXT take the place of what is there, or add it. */
int kernel_file_write(const char *path, const char *text, struct fault *fault);
int kernel_file_append(const char *path, const char *text, struct fault *fault);

/* Write, where nothing can be done about it if that fails; it is printed then. */
void kernel_file_restore(const char *path, const char *text);

#endif /* FHOOK_KERNEL_FILES_H */
