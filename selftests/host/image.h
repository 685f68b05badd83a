/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The image of a kernel in a program
 */
#ifndef SELFTESTS_HOST_IMAGE_H
#define SELFTESTS_HOST_IMAGE_H

void image_load(const char *vmlinux);
void image_link(const char *object);
void *image_symbol(const char *name);
unsigned long image_percpu(unsigned long *room);
void *image_room(unsigned long size);
void image_sync(void);
void __attribute__((noreturn)) image_die(const char *name, const char *what);

#endif /* SELFTESTS_HOST_IMAGE_H */
