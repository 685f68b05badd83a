// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program that changes its text and threads, and attacks [uhook] areas, at random.
 *
 *	uhook_fuzz make FILE			make a file of text; prints the offset of
 *						each probe point
 *	uhook_fuzz run FILE SEED NUMBER		do that many random actions with it, and
 *						print a line for each
 *
 * With the same seed it prints the same with probes and without: results of calls, errors and
 * signals. Only the line that begins with "area" differs: it counts attacks on [uhook] areas,
 * each by a child, which may die.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "uhook_text.h"

/* Places for a mapping of the file, each of a plain page and one of the other kind */
#define PLACES		4
#define PLACE_SIZE	0x400000UL
#define FUNCTIONS	2

static const char *path;
static long page;
static sigjmp_buf resume;
static volatile sig_atomic_t handled;
static char *volatile in_handler;
/* Children that attack areas, and those that died of it */
static unsigned int attacks, deaths;

static char *place_at(unsigned int place)
{
	return HERE + place * PLACE_SIZE;
}

static void on_fault(int sig)
{
	siglongjmp(resume, sig);
}

/* The result of a call, or the negative number of the signal that it raised */
static long try_call(char *function, long arg)
{
	int sig = sigsetjmp(resume, 1);

	return sig ? -sig : call_text(function, arg);
}

static void on_usr1(int sig)
{
	(void)sig;
	if (in_handler)
		handled += call_text(in_handler, 0);
}

static long result(long ret)
{
	return ret < 0 ? -errno : 0;
}

static long do_map(char *at)
{
	int fd = open(path, O_RDONLY);
	char *got = mmap(at, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	long ret = got == MAP_FAILED ? -errno : 0;

	check(fd >= 0, "%s cannot be opened: make it with 'uhook_fuzz make FILE'", path);
	close(fd);
	return ret;
}

/* Otherwise the kernel may put an area there, and it cannot be mapped again. */
static void reserve(char *at, size_t size)
{
	check(mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
	      "mmap: %s", strerror(errno));
}

static long do_protect(char *at)
{
	static const int prots[] = {
		PROT_READ | PROT_EXEC, PROT_READ | PROT_EXEC, PROT_READ, PROT_NONE,
		PROT_READ | PROT_WRITE | PROT_EXEC, PROT_READ | PROT_WRITE,
	};

	return result(mprotect(at + pick(2) * page, page, prots[pick(ARRAY_SIZE(prots))]));
}

static long do_move(char *at)
{
	char *to = place_at(pick(PLACES));
	char *got = mremap(at, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to);

	if (got == MAP_FAILED)
		return -errno;
	reserve(at, 2 * page);
	return 0;
}

static long do_advise(char *at)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED, MADV_RANDOM,
		MADV_DONTFORK, MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE,
	};

	return result(madvise(at + pick(2) * page, page, advices[pick(ARRAY_SIZE(advices))]));
}

/* Replace a function, if its page is writable. */
static long do_write(char *at)
{
	unsigned char code[16], number = 1 + pick(100);
	unsigned int function = pick(FUNCTIONS);
	const size_t size = function ? other_code(code, number) : plain_code(code, number);
	char *to = at + function * page;
	int sig = sigsetjmp(resume, 1);

	if (sig)
		return -sig;
	memcpy(to, code, size);
	__builtin___clear_cache(to, to + size);
	return number;
}

static void *call_twice(void *function)
{
	return (void *)(call_text(function, 1) + call_text(function, 2));
}

/* Signals of faults are handled by the thread that set "resume": only call text that works. */
static long do_threads(char *at)
{
	char *function = at + pick(FUNCTIONS) * page;
	unsigned int i, nr = 1 + pick(4);
	pthread_t threads[4];
	long sum = 0;
	void *ret;

	if (try_call(function, 0) < 0)
		return -1;
	for (i = 0; i < nr; i++)
		check(!pthread_create(&threads[i], NULL, call_twice, function), "pthread_create");
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i], &ret);
		sum += (long)ret;
	}
	return sum;
}

static long do_signal(char *at)
{
	char *function = at + pick(FUNCTIONS) * page;

	if (try_call(function, 0) < 0)
		return -1;
	handled = 0;
	in_handler = function;
	raise(SIGUSR1);
	in_handler = NULL;
	return handled;
}

static long wait_for(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	return status;
}

/* A child attaches, and writes a word of text that it has read. */
static long do_trace(char *at)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		int status;
		long word;

		if (ptrace(PTRACE_ATTACH, parent, NULL, NULL))
			_exit(1);
		waitpid(parent, &status, __WALL);
		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, parent, at, NULL);
		if (!errno && pick(2))
			ptrace(PTRACE_POKETEXT, parent, at, word);
		ptrace(PTRACE_DETACH, parent, NULL, NULL);
		_exit(0);
	}
	check(pid > 0, "fork: %s", strerror(errno));
	return wait_for(pid);
}

/* Find an area, chosen at random; return whether there is one. */
static bool find_area(unsigned long *start, unsigned long *end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	unsigned int nr = 0;
	char line[512];

	check(maps, "maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[uhook]") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		if (!pick(++nr)) {
			*start = from;
			*end = to;
		}
	}
	fclose(maps);
	return nr;
}

static ssize_t attack_by_proc(char *at, const void *bytes, size_t size)
{
	int fd = open("/proc/self/mem", O_RDWR);

	return pwrite(fd, bytes, size, (off_t)(unsigned long)at);
}

static void call_all(void)
{
	unsigned int i;

	for (i = 0; i < PLACES * FUNCTIONS; i++)
		try_call(place_at(i / FUNCTIONS) + i % FUNCTIONS * page, i);
}

static void attack(void)
{
	unsigned long start = 0, end = 0;
	uint64_t words[4];
	struct iovec from = { words, sizeof(words) }, to;
	char *at;
	size_t i;

	/* A child has areas when it has hit probes. */
	call_all();
	if (!find_area(&start, &end))
		_exit(0);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = pick(2) ? pick(1 << 30) * 0x100000001ULL : pick(3) - 1ULL;
	at = (char *)(start + pick(end - start));
	to = (struct iovec){ at, pick(sizeof(words)) };
	switch (pick(8)) {
	case 0:
		mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC);
		break;
	case 1:
		munmap((void *)start, page);
		break;
	case 2:
		mremap((void *)start, page, 2 * page, MREMAP_MAYMOVE);
		break;
	case 3:
		madvise((void *)start, end - start, pick(2) ? MADV_DONTNEED : MADV_PAGEOUT);
		break;
	case 4:
		attack_by_proc(at, words, to.iov_len);
		break;
	case 5:
		process_vm_writev(getpid(), &from, 1, &to, 1, 0);
		break;
	case 6:
		try_call(at, pick(1 << 20));
		break;
	case 7:
		/* Areas with data are writable, others raise a signal. */
		if (!sigsetjmp(resume, 1))
			memcpy(at, words, to.iov_len);
		break;
	}
	call_all();
	_exit(0);
}

static void do_attack(void)
{
	pid_t pid;

	/* Code that it jumps into may print what is buffered. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* The code that it jumps into may loop. */
		alarm(1);
		if (sigsetjmp(resume, 1))
			_exit(1);
		attack();
	}
	check(pid > 0, "fork: %s", strerror(errno));
	attacks++;
	deaths += !!wait_for(pid);
}

static long do_call(char *at)
{
	return try_call(at + pick(FUNCTIONS) * page, pick(1000));
}

static long do_unmap(char *at)
{
	size_t size = (1 + pick(2)) * page;
	long ret = result(munmap(at, size));

	reserve(at, size);
	return ret;
}

/* After MADV_DONTFORK */
static void reserve_holes(void)
{
	unsigned int i;

	for (i = 0; i < 2 * PLACES; i++)
		mmap(place_at(i / 2) + i % 2 * page, page, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void run(unsigned long number);

static long do_fork(char *at)
{
	pid_t pid;

	(void)at;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		reserve_holes();
		run(1 + pick(5));
		fflush(stdout);
		_exit(0);
	}
	check(pid > 0, "fork: %s", strerror(errno));
	/* It has taken the numbers that the parent takes next. */
	return wait_for(pid);
}

static const struct action {
	const char *name;
	long (*act)(char *at);
	unsigned int weight;
} actions[] = {
	{ "call", do_call, 12 },
	{ "map", do_map, 5 },
	{ "unmap", do_unmap, 1 },
	{ "protect", do_protect, 3 },
	{ "move", do_move, 2 },
	{ "advise", do_advise, 2 },
	{ "write", do_write, 2 },
	{ "threads", do_threads, 2 },
	{ "signal", do_signal, 2 },
	{ "trace", do_trace, 1 },
	{ "fork", do_fork, 1 },
};

static const struct action *pick_action(void)
{
	unsigned int i, sum = 0, chosen;

	for (i = 0; i < ARRAY_SIZE(actions); i++)
		sum += actions[i].weight;
	chosen = pick(sum);
	for (i = 0; chosen >= actions[i].weight; i++)
		chosen -= actions[i].weight;
	return &actions[i];
}

static void run(unsigned long number)
{
	const struct action *action;
	unsigned int place;
	long ret;

	while (number--) {
		action = pick_action();
		place = pick(PLACES);
		ret = action->act(place_at(place));
		printf("%s %u: %ld\n", action->name, place, ret);
		if (!pick(8))
			do_attack();
	}
}

static void start(void)
{
	static const int signals[] = { SIGSEGV, SIGILL, SIGTRAP, SIGBUS };
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		check(!sigaction(signals[i], &action, NULL), "sigaction");
	action.sa_handler = on_usr1;
	action.sa_flags = 0;
	check(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	for (i = 0; i < PLACES; i++)
		do_map(place_at(i));
}

int main(int argc, char **argv)
{
	page = getpagesize();
	if (argc == 3 && !strcmp(argv[1], "make")) {
		make_text(argv[2], 0x11, 0x22);
		printf("0\n%ld\n", page);
		return 0;
	}
	check(argc == 5 && !strcmp(argv[1], "run"),
	      "usage: uhook_fuzz make FILE, or uhook_fuzz run FILE SEED NUMBER");
	path = argv[2];
	uhook_seed = strtoul(argv[3], NULL, 0) * 2 + 1;
	start();
	run(strtoul(argv[4], NULL, 0));
	printf("area: %u of %u died\n", deaths, attacks);
	return 0;
}
