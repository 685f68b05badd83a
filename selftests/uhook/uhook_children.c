// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: children, of every kind, of a process that has hit probes.
 *
 *	uhook_children offsets	the probe points: s0 ... s15
 *	uhook_children NAME	one of the scenarios at the end of this file
 *	uhook_children again N	hit the first N points, for scenarios that execute it
 *
 * A scenario prints how often each point was hit, by all of its processes: NAME
 * LEAST MOST.  Before that it prints "held PID CHILD" if there is something to
 * look at, and waits for a line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "uhook_test.h"

#define SITES		16
#define SITE_SIZE	16	/* from one to the next */
#define STACK_SIZE	65536
#define FORKS		12	/* of each thread */
#define MANY		2000
#define SIGNALS		40
#define ALLOCATIONS	1000	/* of a fork, by far */
#define AREA_PAGES	16
#define PREFORKED	36	/* more than a process may have areas */
#define NAME		"/proc/self/exe"

UHOOK_LABEL(children_sites);

/*
 * Site N returns its argument and N + 1.  On x86_64 a jump has room in every other
 * one; in those between, what follows is a part of it that leads upwards.
 */
#if defined(__x86_64__)
#define INSN ".if n & 1\n {disp32} lea n(%rdi), %rax\n .else\n"		\
	     " lea n(%rdi), %rax\n push %rdi\n pop %rdi\n .endif"
#elif defined(__aarch64__)
#define INSN "add x0, x0, #n"
#endif
asm(".text\n"
	".balign 16\n"
	"children_sites:\n"
	".set n, 1\n"
	".rept 16\n"
	"	.balign 16\n"
	"	" INSN "\n"
	"	ret\n"
	"	.set n, n + 1\n"
	".endr\n");

/* Counts and failures of all processes, in shared memory. */
static atomic_long *counted;
static atomic_bool *failing;
static long uncertain;		/* of those of the first four */

typedef long function(long arg);

static void hit(int n)
{
	const char *site = children_sites + n * SITE_SIZE;
	long ret;

	ret = ((function *)site)(1000);
	check(ret == 1001 + n, "site %d has returned %ld", n, ret);
	counted[n]++;
}

/* The first site, where the sites are mapped once more */
static void hit_at(const char *sites)
{
	long ret = ((function *)sites)(1000);

	check(ret == 1001, "the first site at %p has returned %ld", sites, ret);
	counted[0]++;
}

static void hit_range(int from, int to)
{
	int n;

	for (n = from; n < to; n++)
		hit(n);
}

/* -1: any; a child that could not be made as well, when there is no other. */
static void wait_for(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) > 0, "waitpid: %s", strerror(errno));
	check(WIFEXITED(status) && !WEXITSTATUS(status), "a child: status 0x%x", status);
}

static void hold(pid_t child)
{
	printf("held %d %d\n", getpid(), child);
	fflush(stdout);
	getchar();
}

/* The first page of slots, or NULL. */
static char *first_slots(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0;
	char line[512];

	check(maps, "no /proc/self/maps");
	while (!start && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[uhook]"))
			sscanf(line, "%lx", &start);
	}
	fclose(maps);

	return (char *)start;
}

/*
 * New sites of both, at the same time, after the parent's: each must find its
 * own, and neither sees anything of the other's in what they share.
 */
static void scenario_fork(void)
{
	const size_t page = getpagesize();
	int ready[2], done[2];
	char c = 0, *slots, *before = malloc(page);
	pid_t pid;

	check(!pipe(ready) && !pipe(done), "pipe: %s", strerror(errno));
	hit_range(0, 4);
	slots = first_slots();
	if (slots)
		memcpy(before, slots, page);
	pid = fork();
	if (!pid) {
		close(done[1]);
		hit_range(8, 12);
		hit_range(0, 6);
		pid = fork();
		if (!pid) {
			hit_range(10, 14);
			hit_range(0, 4);
			_exit(0);
		}
		wait_for(pid);
		hit_range(0, 4);
		check(write(ready[1], &c, 1) == 1, "write: %s", strerror(errno));
		/* Until the parent has been looked at. */
		check(!read(done[0], &c, 1), "read");
		hit_range(0, SITES);
		_exit(0);
	}
	check(read(ready[0], &c, 1) == 1, "the child does not come");
	check(!slots || !memcmp(before, slots, page), "the child has put slots in the parent's");
	hit_range(6, 10);
	hit_range(0, 6);
	free(before);
	hold(pid);
	close(done[1]);
	wait_for(pid);
	hit_range(0, SITES);
}

static void scenario_vfork(void)
{
	pid_t pid;
	int i;

	hit_range(0, 2);
	for (i = 0; i < 10; i++) {
		pid = vfork();
		if (!pid) {
			hit_range(0, 3 + i);
			_exit(0);
		}
		wait_for(pid);
		hit_range(0, 3 + i);
	}
}

static int cloned(void *arg)
{
	hit_range(0, (long)arg);

	return 0;
}

/* A process in the same address space, and one that the parent waits for. */
static void scenario_clone(void)
{
	char *stack = malloc(STACK_SIZE);
	pid_t pid;
	int i;

	hit_range(0, 2);
	for (i = 0; i < 10; i++) {
		pid = clone(cloned, stack + STACK_SIZE, CLONE_VM | SIGCHLD, (void *)(long)(4 + i));
		hit_range(0, 5 + i);
		wait_for(pid);

		pid = clone(cloned, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
			    (void *)(long)(4 + i));
		wait_for(pid);

		pid = clone(cloned, stack + STACK_SIZE, CLONE_VM | CLONE_FILES | CLONE_FS,
			    (void *)(long)(4 + i));
		wait_for(pid);
	}
	free(stack);
}

static int executing(void *arg)
{
	char *const args[] = { NAME, "again", arg, NULL };

	hit_range(0, 3);
	execv(NAME, args);

	return 127;
}

/* The new program begins without mappings, and the parent continues. */
static void scenario_exec(void)
{
	char *const args[] = { NAME, "again", "8", NULL };
	char *stack = malloc(STACK_SIZE);
	pid_t pid;
	int i, n;

	hit_range(0, 2);
	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid)
			_exit(executing("8"));
		wait_for(pid);

		wait_for(clone(executing, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
			       "8"));

		check(!posix_spawn(&pid, NAME, NULL, NULL, args, NULL), "posix_spawn");
		wait_for(pid);
		hit_range(0, 4);
		for (n = 0; n < 8; n++)
			counted[n] += 3;
	}
	free(stack);
}

static atomic_int signals;

/* Parent and child return from the point where the signal came. */
static void on_signal(int sig)
{
	(void)sig;
	if (signals == SIGNALS)
		return;
	signals++;
	if (fork())
		return;

	signal(SIGALRM, SIG_IGN);
	hit_range(0, 4);
	hit_range(8, 10);
	signals = -1;
}

static void scenario_signal(void)
{
	struct itimerval soon = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction sa = { .sa_handler = on_signal };

	check(!sigaction(SIGALRM, &sa, NULL), "sigaction: %s", strerror(errno));
	check(!setitimer(ITIMER_REAL, &soon, NULL), "setitimer: %s", strerror(errno));
	while (signals >= 0 && signals < SIGNALS)
		hit_range(0, 4);
	/* A child; its handler has returned. */
	if (signals < 0) {
		hit_range(0, 4);
		_exit(0);
	}
	signal(SIGALRM, SIG_IGN);
	while (signals-- > 0)
		wait_for(-1);
	/* Of a child that was made while a hit was not counted yet, both count it. */
	uncertain = SIGNALS;
}

static atomic_int forking;

static void *hitting_thread(void *arg)
{
	(void)arg;
	do {
		hit_range(0, 8);
	} while (forking);

	return NULL;
}

static void *forking_thread(void *arg)
{
	long first = (long)arg;
	pid_t pid;
	int i;

	for (i = 0; i < FORKS; i++) {
		pid = fork();
		if (!pid) {
			hit_range(first, SITES);
			hit_range(0, first);
			_exit(0);
		}
		wait_for(pid);
	}
	forking--;

	return NULL;
}

static void scenario_threads(void)
{
	pthread_t threads[4];
	int i;

	forking = 2;
	for (i = 0; i < 4; i++)
		check(!pthread_create(&threads[i], NULL, i < 2 ? forking_thread : hitting_thread,
				      (void *)(long)(4 + i)), "pthread_create");
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	hit_range(0, SITES);
}

/* Their slots are the parent's, or it and they would run out of them. */
static void scenario_many(void)
{
	pid_t pid;
	int i;

	hit_range(0, 2);
	for (i = 0; i < MANY; i++) {
		pid = fork();
		if (!pid) {
			hit(0);
			hit(i % SITES);
			_exit(0);
		}
		wait_for(pid);
	}
	hit_range(0, SITES);
	hold(0);
}

/*
 * A server: each child stays, and the server reaches new code between two forks. Its slots
 * must stay where they were, and a child cannot get those of its parent.
 */
static void scenario_server(void)
{
	const size_t area = AREA_PAGES * getpagesize();
	int done[2], i;
	char c;

	check(!pipe(done), "pipe: %s", strerror(errno));
	for (i = 0; i < SITES; i++) {
		char *slots;
		pid_t pid;

		hit_range(0, i + 1);
		slots = first_slots();
		if (slots)
			check(madvise(slots, area, MADV_DOFORK) && errno == EINVAL,
			      "MADV_DOFORK of the slots: %s", strerror(errno));
		pid = fork();
		check(pid >= 0, "fork: %s", strerror(errno));
		if (!pid) {
			close(done[1]);
			if (slots)
				check(first_slots() != slots, "the child has its parent's slots");
			hit_range(0, SITES);
			check(!read(done[0], &c, 1), "read");
			hit_range(0, SITES);
			_exit(0);
		}
	}
	hold(0);
	close(done[1]);
	for (i = 0; i < SITES; i++)
		wait_for(-1);
	hit_range(0, SITES);
}

/*
 * A server whose children stay and keep the present areas of bodies: the next site that
 * the server hits needs another area, until the limit is reached. "end" ends the children;
 * "hit" makes the server hit all sites again.
 */
static void scenario_prefork(void)
{
	const size_t page = getpagesize();
	const char *texts[PREFORKED];
	int done[2], i, fd = open(NAME, O_RDONLY);
	char line[16], c;

	check(fd >= 0 && !pipe(done), "pipe: %s", strerror(errno));
	for (i = 0; i < PREFORKED; i++) {
		pid_t pid;

		texts[i] = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				(children_sites - __executable_start) & -page);
		check(texts[i] != MAP_FAILED, "mmap: %s", strerror(errno));
		texts[i] += (unsigned long)children_sites & (page - 1);
		hit_at(texts[i]);
		pid = fork();
		check(pid >= 0, "fork: %s", strerror(errno));
		if (!pid) {
			close(done[1]);
			check(!read(done[0], &c, 1), "read");
			_exit(0);
		}
	}
	printf("held %d 0\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "end\n")) {
			close(done[1]);
			for (i = 0; i < PREFORKED; i++)
				wait_for(-1);
		}
		for (i = 0; i < PREFORKED; i++)
			hit_at(texts[i]);
		puts("done");
		fflush(stdout);
	}
}

/* The reader of the output waits for the child, too. */
static void scenario_orphan(void)
{
	pid_t parent = getpid(), pid;

	hit_range(0, 4);
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (pid) {
		hit_range(0, 6);
		_exit(0);
	}
	while (getppid() == parent)
		usleep(1000);
	hit_range(0, 8);
	pid = fork();
	if (!pid) {
		hit_range(0, SITES);
		_exit(0);
	}
	wait_for(pid);
}

/* Have the Nth allocation of this task fail, from here on. */
static int arm(int nth)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR);

	check(fd >= 0 && dprintf(fd, "%d", nth) > 0, "fail-nth: %s", strerror(errno));

	return fd;
}

/* Has it failed? */
static bool disarm(int fd)
{
	char left[16] = "";

	check(pread(fd, left, sizeof(left) - 1, 0) > 0 && pwrite(fd, "0", 1, 0) == 1,
	      "fail-nth: %s", strerror(errno));
	close(fd);

	return !atoi(left);
}

/* Each allocation of a fork fails in its turn: there is no child, or a whole one. */
static void scenario_failing_forks(void)
{
	int nth = 0, fd;
	bool failed;
	pid_t pid;

	hit_range(0, 8);
	do {
		fd = arm(++nth);
		pid = fork();
		if (!pid) {
			hit_range(0, 12);
			_exit(0);
		}
		failed = disarm(fd);
		check(failed || pid > 0, "fork: %s", strerror(errno));
		if (pid > 0)
			wait_for(pid);
		hit_range(0, 8);
	} while (failed && nth < ALLOCATIONS);
	check(!failed && nth > 10, "%d allocations of a fork have failed", nth - 1);
}

/*
 * Each allocation of the first hits of a process. A task without memory for
 * its hit repeats it, and may be counted again, as with mainline's.
 */
static void scenario_failing_hits(void)
{
	int nth = 0, fd, n;
	pid_t pid;

	do {
		*failing = false;
		nth++;
		pid = fork();
		if (!pid) {
			fd = arm(nth);
			hit_range(0, 4);
			*failing = disarm(fd);
			hit_range(0, 8);
			_exit(0);
		}
		wait_for(pid);
	} while (*failing && nth < ALLOCATIONS);
	check(!*failing && nth > 4, "%d allocations of hits have failed", nth - 1);
	uncertain = nth - 1;
	for (n = 0; n < 4; n++)
		counted[n] += uncertain;
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "fork", scenario_fork },
	{ "vfork", scenario_vfork },
	{ "clone", scenario_clone },
	{ "exec", scenario_exec },
	{ "signal", scenario_signal },
	{ "threads", scenario_threads },
	{ "many", scenario_many },
	{ "server", scenario_server },
	{ "prefork", scenario_prefork },
	{ "orphan", scenario_orphan },
	{ "failing-forks", scenario_failing_forks },
	{ "failing-hits", scenario_failing_hits },
};

static void run(void (*scenario)(void))
{
	char name[8];
	int n;

	scenario();
	for (n = 0; n < SITES; n++) {
		snprintf(name, sizeof(name), "s%d", n);
		printf("%s %ld %ld\n", name, counted[n] - (n < 4 ? uncertain : 0), counted[n]);
	}
}

int main(int argc, char **argv)
{
	char name[8];
	size_t i;

	check(argc >= 2, "usage: %s offsets | again N | SCENARIO", argv[0]);
	counted = mmap(NULL, SITES * sizeof(*counted) + sizeof(*failing), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(counted != MAP_FAILED, "mmap: %s", strerror(errno));
	failing = (atomic_bool *)(counted + SITES);

	for (i = 0; i < SITES && !strcmp(argv[1], "offsets"); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		say_offset(name, children_sites + i * SITE_SIZE);
	}
	if (argc == 3 && !strcmp(argv[1], "again"))
		hit_range(0, atoi(argv[2]));
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		if (!strcmp(argv[1], scenarios[i].name))
			run(scenarios[i].run);
	}

	return 0;
}
