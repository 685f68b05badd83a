/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The image of a kernel of x86_64 in a program
 */
#ifndef SELFTESTS_HOST_IMAGE_X86_H
#define SELFTESTS_HOST_IMAGE_X86_H

void image_load(const char *vmlinux);
void image_link(const char *object);
void *image_symbol(const char *name);
unsigned long image_percpu(unsigned long *room);
void *image_room(unsigned long size);

#endif /* SELFTESTS_HOST_IMAGE_X86_H */
