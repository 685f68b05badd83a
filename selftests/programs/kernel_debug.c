// SPDX-License-Identifier: GPL-2.0
/*
 * Debug information of a kernel: one of its functions, with an enum that the kernel does not have,
 * and one with other parameters
 */
enum directory { CURRENT_DIRECTORY = -100 };

struct open_how {
	unsigned long long flags;
	unsigned long long mode;
	unsigned long long resolve;
};

int do_sys_openat2(enum directory dfd, const char *filename, struct open_how *how);
int do_sys_openat2(enum directory dfd, const char *filename, struct open_how *how)
{
	return dfd + *filename + how->flags;
}

long vfs_read(void *file, int first, ...);
long vfs_read(void *file, int first, ...)
{
	return !file + first;
}
