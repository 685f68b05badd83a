// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program, discard its output, and append its CPU time in seconds, in user mode and
 * in the kernel, to a file
 *
 * Usage: bench-time FILE PROGRAM [ARGUMENT...]
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(const struct timeval *time)
{
	return time->tv_sec + time->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *file;
	int status;
	pid_t child;

	if (argc < 3) {
		fprintf(stderr, "Usage: bench-time FILE PROGRAM [ARGUMENT...]\n");
		return 1;
	}
	child = fork();
	if (!child) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child || status) {
		fprintf(stderr, "bench-time: %s has failed.\n", argv[2]);
		return 1;
	}
	file = fopen(argv[1], "a");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	fprintf(file, "%.6f\n", seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
	return fclose(file) ? 1 : 0;
}
