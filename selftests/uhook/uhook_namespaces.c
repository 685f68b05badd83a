// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program in namespaces of its own, where it is root and nowhere else.
 *
 *	uhook_namespaces offsets	the probe point
 *	uhook_namespaces run N TRACING	hit it N times there, and try operations of root
 *					on the files of tracefs, at TRACING; prints
 *					"child PID", as it is seen outside
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uhook_test.h"

#define ORDINARY	1000

UHOOK_FUNCTION(namespaces_one);

asm(".text\n"
	"namespaces_one:\n"
#if defined(__x86_64__)
	"	{disp32} lea 1(%rdi), %rax\n"
#elif defined(__aarch64__)
	"	add x0, x0, #1\n"
#endif
	"	ret\n");

static const char * const names[] = {
	"uhook_events", "uprobe_events", "uhook/boost", "uhook/profile", "uhook/slots", "trace",
};

static int files[ARRAY_SIZE(names)];
static int perf_type = -1;

static void hit(long times)
{
	long i;

	for (i = 0; i < times; i++)
		check(namespaces_one(i) == i + 1, "namespaces_one(%ld) is %ld", i,
		      namespaces_one(i));
}

/* While it is root: files that it then has, and need not find. */
static void find_files(const char *tracing)
{
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	char path[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", tracing, names[i]);
		files[i] = open(path, O_PATH);
		check(files[i] >= 0, "%s: %s", path, strerror(errno));
	}
	if (type) {
		check(fscanf(type, "%d", &perf_type) == 1, "there is no type of uprobes");
		fclose(type);
	}
}

static void write_file(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY);

	check(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line), "%s: %s", path,
	      strerror(errno));
	close(fd);
}

/* Root of a namespace is this one's user. */
static void enter_namespaces(void)
{
	gid_t none;

	check(!setgroups(0, &none) && !setgid(ORDINARY) && !setuid(ORDINARY), "setuid: %s",
	      strerror(errno));
	check(!unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS), "unshare: %s",
	      strerror(errno));
	/* Of a process that has changed its user these are root's. */
	check(!prctl(PR_SET_DUMPABLE, 1), "PR_SET_DUMPABLE: %s", strerror(errno));
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", "0 1000 1");
	write_file("/proc/self/gid_map", "0 1000 1");
}

static void try_files(void)
{
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", files[i]);
		check(open(path, O_WRONLY) < 0 && errno == EACCES, "%s can be written", names[i]);
		check(open(path, O_RDONLY) < 0 && errno == EACCES, "%s can be read", names[i]);
	}
	check(mkdir("/tmp/uhook_namespaces", 0700) == 0 || errno == EEXIST, "mkdir: %s",
	      strerror(errno));
	check(mount("tracefs", "/tmp/uhook_namespaces", "tracefs", 0, NULL) && errno == EPERM,
	      "tracefs can be mounted");
	rmdir("/tmp/uhook_namespaces");
}

static void try_perf(void)
{
	struct perf_event_attr attr = {
		.type = perf_type,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.uprobe_path = (unsigned long)"/proc/self/exe",
		.probe_offset = (const char *)namespaces_one - __executable_start,
	};

	if (perf_type < 0)
		return;
	check(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 &&
	      (errno == EACCES || errno == EPERM), "perf takes uprobes of anybody");
}

static int in_namespaces(long times)
{
	pid_t pid;
	int status;

	check(getpid() == 1 && getuid() == 0, "process %d of user %d", getpid(), getuid());
	hit(times);
	try_files();
	try_perf();
	hit(times);

	/* One below, of its own. */
	check(!unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare: %s", strerror(errno));
	hit(times);
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		hit(times);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "a child: status 0x%x", status);

	return 0;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("one", namespaces_one);
		return 0;
	}
	check(argc == 4 && !strcmp(argv[1], "run"), "usage: %s offsets | run N TRACING", argv[0]);
	find_files(argv[3]);
	enter_namespaces();
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		_exit(in_namespaces(atol(argv[2])));
	check(waitpid(pid, &status, 0) == pid && !status, "the child: status 0x%x", status);
	printf("child %d\n", pid);

	return 0;
}
