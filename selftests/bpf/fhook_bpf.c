// SPDX-License-Identifier: GPL-2.0
/*
 * Attach a BPF program to an event by libbpf, and run a command.
 *
 *	fhook_bpf PROGRAM GROUP EVENT COOKIE COMMAND...
 *	fhook_bpf PROGRAM kprobe FUNCTION COOKIE COMMAND...
 *	fhook_bpf PROGRAM kretprobe FUNCTION COOKIE COMMAND...
 *	fhook_bpf PROGRAM kprobe.multi GLOB COOKIE COMMAND...
 *	fhook_bpf PROGRAM kretprobe.multi GLOB COOKIE COMMAND...
 *	fhook_bpf PROGRAM kprobe.multi @FILE COOKIE COMMAND...
 *	fhook_bpf PROGRAM kretprobe.multi @FILE COOKIE COMMAND...
 *	fhook_bpf PROGRAM kprobe.session FUNCTION COOKIE COMMAND...
 *	fhook_bpf PROGRAM fentry FUNCTION COOKIE COMMAND...
 *	fhook_bpf PROGRAM fexit FUNCTION COOKIE COMMAND...
 *	fhook_bpf PROGRAM fsession FUNCTION COOKIE COMMAND...
 *
 * PROGRAM is one of fhook_events.bpf.o, which is beside this program; FILE has a name of a
 * function on each line.  Prints the event to which the kernel says that the link belongs, and
 * the hits while the command ran, with the data of the last one; the calls that the link of a
 * kprobe has missed; and what attaching and detaching cost by the clock of fhook_bench.ko, if it
 * is loaded.  Ends with 2 if attaching is refused.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "fhook_bpf.h"

/* BPF_TRACE_KPROBE_SESSION of newer headers, and the name of the group */
#define KPROBE_SESSION	56
#define SESSION		"kprobe.session"

/* The words of struct bpf_link_info, in newer headers, that count missed calls */
#define MISSED_KPROBE	6
#define MISSED_MULTI	4

/* BPF_TRACE_FSESSION of newer headers */
#define FSESSION	58

#define MAX_NAMES	10000

static void fail(const char *what, int status)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(status);
}

/* The clock of the benchmark, or 0 where that is not loaded */
static unsigned long long now(void)
{
	FILE *clock = fopen("/sys/module/fhook_bench/parameters/clock", "r");
	unsigned long long time = 0;

	if (!clock)
		return 0;
	if (fscanf(clock, "%llu", &time) != 1)
		fail("the clock of fhook_bench", 1);
	fclose(clock);

	return time;
}

static bool is_trampoline(const char *group)
{
	return !strcmp(group, "fentry") || !strcmp(group, "fexit") || !strcmp(group, "fsession");
}

/* What a program must say before it is loaded, because it depends on how it is attached */
static void prepare(struct bpf_program *prog, const char *group, const char *event)
{
	if (!strcmp(group, SESSION))
		bpf_program__set_expected_attach_type(prog, KPROBE_SESSION);
	else if (strstr(group, ".multi"))
		bpf_program__set_expected_attach_type(prog, BPF_TRACE_KPROBE_MULTI);
	else if (!strcmp(group, "fexit"))
		bpf_program__set_expected_attach_type(prog, BPF_TRACE_FEXIT);
	else if (!strcmp(group, "fsession"))
		bpf_program__set_expected_attach_type(prog, FSESSION);
	if (is_trampoline(group) && bpf_program__set_attach_target(prog, 0, event))
		fail(event, 2);
}

/* Load only this program: another may read fields that the event does not have. */
static struct bpf_object *load(const char *name, const char *group, const char *event)
{
	char path[PATH_MAX] = "";
	struct bpf_program *prog;
	struct bpf_object *obj;

	if (readlink("/proc/self/exe", path, sizeof(path) - 64) < 0)
		fail("/proc/self/exe", 1);
	strcat(dirname(path), "/fhook_events.bpf.o");
	obj = bpf_object__open_file(path, NULL);
	if (!obj)
		fail(path, 1);
	bpf_object__for_each_program(prog, obj) {
		bool is_this = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is_this);
		if (is_this)
			prepare(prog, group, event);
	}
	if (bpf_object__load(obj))
		fail("loading the BPF programs", 1);

	return obj;
}

/* Without libbpf, because older ones do not know sessions */
static void attach_session(struct bpf_object *obj, char **argv)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, argv[1]);
	__u64 cookie = strtoull(argv[4], NULL, 0);
	union bpf_attr attr = {};

	attr.link_create.prog_fd = bpf_program__fd(prog);
	attr.link_create.attach_type = KPROBE_SESSION;
	attr.link_create.kprobe_multi.cnt = 1;
	attr.link_create.kprobe_multi.syms = (unsigned long)&argv[3];
	attr.link_create.kprobe_multi.cookies = (unsigned long)&cookie;
	if (syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0)
		fail("attaching", 2);
}

/* The lines of a file; returns how many there are. */
static size_t read_names(const char *path, const char **names)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0, nr = 0;

	if (!file)
		fail(path, 1);
	while (getline(&line, &size, file) > 0) {
		const char *name = strtok(line, "\n");

		if (!name)
			continue;
		errno = E2BIG;
		names[nr] = nr < MAX_NAMES - 1 ? strdup(name) : NULL;
		if (!names[nr++])
			fail(path, 1);
	}
	free(line);
	fclose(file);

	return nr;
}

static struct bpf_link *attach_multi(struct bpf_program *prog, char **argv, bool is_return)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .retprobe = is_return);
	__u64 cookie = strtoull(argv[4], NULL, 0);
	static const char *names[MAX_NAMES];
	const char *name = argv[3];

	if (strpbrk(name, "*?"))
		return bpf_program__attach_kprobe_multi_opts(prog, name, &opts);
	if (*name == '@') {
		opts.syms = names;
		opts.cnt = read_names(name + 1, names);
		return bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
	}
	opts.syms = &name;
	opts.cookies = &cookie;
	opts.cnt = 1;
	return bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
}

static struct bpf_link *attach(struct bpf_object *obj, char **argv)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = strtoull(argv[4], NULL, 0));
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, argv[1]);
	bool is_return = !strncmp(argv[2], "kretprobe", strlen("kretprobe"));
	struct bpf_link *link;

	if (strstr(argv[2], ".multi"))
		link = attach_multi(prog, argv, is_return);
	else if (is_return || !strcmp(argv[2], "kprobe"))
		link = bpf_program__attach_kprobe(prog, is_return, argv[3]);
	else if (is_trampoline(argv[2]))
		link = bpf_program__attach(prog);
	else
		link = bpf_program__attach_tracepoint_opts(prog, argv[2], argv[3], &opts);
	if (!link)
		fail("attaching", 2);

	return link;
}

/* The name that the kernel gives for the descriptor of the perf event of the link */
static void print_event(void)
{
	__u32 len, prog, type = 0;
	__u64 offset, addr;
	char name[64] = "";
	int fd;

	for (fd = 3; fd < 64; fd++) {
		len = sizeof(name);
		if (!bpf_task_fd_query(getpid(), fd, 0, name, &len, &prog, &type, &offset, &addr))
			break;
	}
	printf("event %s type %u\n", name, type);
}

static void print_missed(struct bpf_link *link, const char *group)
{
	bool is_multi = strstr(group, ".multi");
	__u64 info[16] = {};
	__u32 len = sizeof(info);

	if (!link || (!is_multi && strcmp(group, "kprobe") && strcmp(group, "kretprobe")))
		return;
	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), info, &len))
		fail("the information on the link", 1);
	printf("missed %llu\n", info[is_multi ? MISSED_MULTI : MISSED_KPROBE]);
}

static void run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], argv);
		fail(argv[0], 127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("the command failed", 1);
	printf("tgid %d\n", pid);
}

static void print_stack(const char *name, const __u64 *stack, __s64 size)
{
	__s64 i;

	printf("%s %lld:", name, size);
	for (i = 0; i < size / (__s64)sizeof(*stack); i++)
		printf(" %llx", stack[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct fhook_bpf_hits hits;
	struct bpf_object *obj;
	unsigned long long begin, attached;
	struct bpf_link *link = NULL;
	__u32 key = 0;
	int i;

	if (argc < 6) {
		fprintf(stderr, "usage: fhook_bpf PROGRAM GROUP EVENT COOKIE COMMAND...\n");
		return 1;
	}
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	setvbuf(stdout, NULL, _IOLBF, 0);
	obj = load(argv[1], argv[2], argv[3]);
	begin = now();
	if (!strcmp(argv[2], SESSION))
		attach_session(obj, argv);
	else
		link = attach(obj, argv);
	attached = now();
	print_event();
	run(argv + 5);
	if (bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(obj, "hits"), &key, &hits))
		fail("reading the map", 1);

	printf("hits %llu\nlast %llu\ncookie %llu\n", hits.count, hits.tgid, hits.cookie);
	for (i = 0; i < FHOOK_BPF_WORDS; i++)
		printf("word%d %llx\n", i, hits.words[i]);
	print_stack("kernel", hits.kernel, hits.kernel_size);
	print_stack("user", hits.user, hits.user_size);
	print_missed(link, argv[2]);
	printf("attach %llu\n", attached - begin);
	begin = now();
	bpf_link__destroy(link);
	printf("detach %llu\n", now() - begin);
	bpf_object__close(obj);

	return 0;
}
