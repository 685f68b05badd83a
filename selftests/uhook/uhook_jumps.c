// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: functions with all kinds of first instructions, and calls of them.
 *
 *	uhook_jumps make FILE		make the file with the functions; prints NAME
 *					OFFSET NEXT of each site
 *	uhook_jumps run FILE N		call each N times; prints NAME TIMES
 *	uhook_jumps threads FILE T N	the same in T threads
 *	uhook_jumps signals FILE N	the same, while a timer's handler does it too
 *	uhook_jumps steps FILE		reads commands, see steps_command(), and
 *					prints NAME TIMES at the end
 *
 * Each call has random registers, flags and stack, and must leave what the same
 * function leaves in the program itself, where it has no probe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "uhook_bodies.h"
#include "uhook_jumps.h"
#include "uhook_test.h"

#define MAX_SITES	64
#define MAX_THREADS	8
#define ALT_STACK	65536

/* There is nothing within reach of a jump. */
#define BASE		((char *)0x10000000000UL)

struct thread {
	pthread_t thread;
	unsigned long seed;
	unsigned long rounds;
	struct call start, plain, probed;
};

static unsigned int nr_sites;
static size_t text_size;
static const char *path;
static char *text = BASE;
static atomic_ulong called[MAX_SITES];
static atomic_bool stop;
static bool quiet;
static atomic_ulong nr_signals;

static uint64_t next_random(unsigned long *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;

	return *seed;
}

static void fill(struct call *call, unsigned long *seed)
{
	uint64_t *word = (uint64_t *)call;
	size_t i;

	for (i = 0; i < sizeof(*call) / sizeof(*word); i++)
		word[i] = next_random(seed);
	call->in[FLAGS] &= RANDOM_FLAGS;
}

/* The return address and the words above it are not compared. */
static void compare(const struct call *a, const struct call *b, const char *name)
{
	const size_t from = STACK_WORDS - (PROTECTED + ABOVE) / sizeof(uint64_t);
	size_t i;

	for (i = 0; i < NR_REGS; i++)
		check(a->out[i] == b->out[i], "%s: register %zu is 0x%lx, not 0x%lx", name, i,
		      a->out[i], b->out[i]);
	for (i = from; i < STACK_WORDS - ABOVE / sizeof(uint64_t); i++)
		check(a->stack[i] == b->stack[i],
		      "%s: %zu words below its stack is 0x%lx, not 0x%lx", name, STACK_WORDS - i,
		      a->stack[i], b->stack[i]);
	for (i = 0; i < REGS; i++)
		check(a->in[i] == b->in[i], "%s: above its stack there is something else", name);
}

static void call_site(struct thread *t, unsigned int i)
{
	const struct jump_site *site = &jumps_table[i];

	fill(&t->start, &t->seed);
	/* On the same stack: flags can be those of its address. */
	memcpy(&t->probed, &t->start, sizeof(t->probed));
	t->probed.function = jumps_text + site->function;
	jumps_call(&t->probed);
	memcpy(&t->plain, &t->probed, sizeof(t->plain));

	memcpy(&t->probed, &t->start, sizeof(t->probed));
	t->probed.function = text + site->function;
	if (!quiet)
		called[i]++;
	jumps_call(&t->probed);
	compare(&t->probed, &t->plain, site->name);
}

static void run_round(struct thread *t)
{
	unsigned int i;

	for (i = 0; i < nr_sites; i++)
		call_site(t, i);
	t->rounds++;
}

static void run_rounds(struct thread *t, unsigned long rounds)
{
	while (rounds--)
		run_round(t);
}

static struct thread threads[MAX_THREADS + 1];
static unsigned int nr_threads;

static void *run_thread(void *arg)
{
	struct thread *t = arg;
	unsigned long rounds = t->rounds;

	for (t->rounds = 0; t->rounds < rounds && !stop; )
		run_round(t);

	return NULL;
}

static void start_threads(unsigned int nr, unsigned long rounds)
{
	unsigned int i;

	check(nr <= MAX_THREADS, "%u threads are too many", nr);
	stop = false;
	nr_threads = nr;
	for (i = 0; i < nr; i++) {
		threads[i].seed = 88172645463325252UL + i;
		threads[i].rounds = rounds;
		check(!pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]),
		      "pthread_create");
	}
}

static void join_threads(void)
{
	while (nr_threads)
		pthread_join(threads[--nr_threads].thread, NULL);
}

/* The main thread's, and that of its handler. */
static struct thread main_thread = { .seed = 123456789 };
static struct thread handler_thread = { .seed = 987654321 };

static void map_text_at(char *at)
{
	int fd = open(path, O_RDONLY);

	check(fd >= 0, "%s: %s", path, strerror(errno));
	check(mmap(at, text_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
		   0) == at, "mmap: %s", strerror(errno));
	close(fd);
}

static void make_text(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	ssize_t len = jumps_end - jumps_text;
	unsigned int i;

	check(fd >= 0 && !ftruncate(fd, text_size) && pwrite(fd, jumps_text, len, 0) == len,
	      "%s: %s", path, strerror(errno));
	close(fd);
	for (i = 0; i < nr_sites; i++)
		printf("%s 0x%x 0x%x\n", jumps_table[i].name, jumps_table[i].site,
		       jumps_table[i].next);
}

static void say_counts(void)
{
	unsigned int i;

	for (i = 0; i < nr_sites; i++)
		printf("%s %lu\n", jumps_table[i].name, called[i]);
	fflush(stdout);
}

static bool in(unsigned long ip, const char *start, const char *end)
{
	return ip >= (unsigned long)start && ip < (unsigned long)end;
}

extern const char etext[];
unsigned long getauxval(unsigned long type);
#define AT_SYSINFO_EHDR	33

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	unsigned long ip = CONTEXT_IP(uc);
	/* In no order: a site may be hit while its first hit is being dealt with. */
	unsigned int i = next_random(&handler_thread.seed) % nr_sites;

	check(in(ip, text, text + text_size) || in(ip, __executable_start, etext) ||
	      ip - getauxval(AT_SYSINFO_EHDR) < 0x4000 || in_handler("/proc/self/maps", ip),
	      "a handler sees the program at 0x%lx", ip);
	nr_signals++;
	call_site(&handler_thread, i);
	next_alarm();
}

/* There may be none of that name: nothing of arm64 repeats itself. */
static void run_site(struct thread *t, const char *name, unsigned long rounds)
{
	unsigned int i;

	for (i = 0; i < nr_sites; i++) {
		if (strcmp(jumps_table[i].name, name))
			continue;
		while (rounds--)
			call_site(t, i);
		return;
	}
}

static void run_signals(const char *name, unsigned long rounds)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_size = ALT_STACK, .ss_sp = malloc(ALT_STACK) };

	check(ss.ss_sp && !sigaltstack(&ss, NULL), "sigaltstack: %s", strerror(errno));
	check(!sigaction(SIGALRM, &sa, NULL), "sigaction: %s", strerror(errno));
	set_alarms(name ? 200 : 1500);
	if (name)
		run_site(&main_thread, name, rounds);
	else
		run_rounds(&main_thread, rounds);
	set_alarms(0);
	check(name || nr_signals > 5, "it was too short for signals");
	fprintf(stderr, "%lu signals\n", nr_signals);
}

/* The present text, as the program sees it. */
static bool is_clean(const char *at)
{
	const volatile char *now = at;
	long i, len = jumps_end - jumps_text;

	for (i = 0; i < len; i++) {
		if (now[i] != jumps_text[i])
			return false;
	}

	return true;
}

/* A child calls, and says whether its text is as in the file then. */
static bool child_is_clean(unsigned long rounds)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		run_rounds(&main_thread, rounds);
		_exit(is_clean(text) ? 0 : 3);
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "a child: 0x%x", status);
	check(!WEXITSTATUS(status) || WEXITSTATUS(status) == 3, "a child ends with %d",
	      WEXITSTATUS(status));

	return !WEXITSTATUS(status);
}

/* Move the functions to another address, call them there, and move them back. */
static void move_to(char *to)
{
	check(mremap(text, text_size, text_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	      "mremap: %s", strerror(errno));
	text = to;
}

static void make_writable(bool writable)
{
	check(!mprotect(text, text_size, PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0)),
	      "mprotect: %s", strerror(errno));
}

/*
 * The bytes after each site may be the upper ones of its jump's displacement, which a
 * program changes that writes to its text.  Write the bytes that are there already.
 */
static void rewrite(void)
{
	unsigned int i;

	make_writable(true);
	for (i = 0; i < nr_sites; i++) {
		volatile char *next = text + jumps_table[i].next;

		*next = ~*next;
	}
	for (i = 0; i < nr_sites; i++) {
		volatile char *next = text + jumps_table[i].next;

		*next = ~*next;
	}
	__builtin___clear_cache(text, text + text_size);
	run_rounds(&main_thread, 3);
	make_writable(false);
	run_rounds(&main_thread, 3);
}

/* The address space may grow by so many KiB. */
static void limit_space(unsigned long more)
{
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };
	FILE *statm = fopen("/proc/self/statm", "r");
	unsigned long pages;

	check(statm && fscanf(statm, "%lu", &pages) == 1, "no /proc/self/statm");
	fclose(statm);
	limit.rlim_cur = pages * getpagesize() + more * 1024;
	check(!setrlimit(RLIMIT_AS, &limit), "setrlimit: %s", strerror(errno));
}

static void use_space(unsigned long more)
{
	void *space = mmap(NULL, more * 1024, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(space != MAP_FAILED, "there are no %lu KiB any more", more);
	munmap(space, more * 1024);
}

static void steps_command(const char *word, unsigned long number)
{
	if (!strcmp(word, "run")) {
		run_rounds(&main_thread, number);
	} else if (!strcmp(word, "bytes")) {
		puts(is_clean(text) ? "same" : "changed");
	} else if (!strcmp(word, "hammer")) {
		start_threads(number, -1UL);
	} else if (!strcmp(word, "stop")) {
		stop = true;
		join_threads();
	} else if (!strcmp(word, "child")) {
		puts(child_is_clean(number) ? "same" : "changed");
	} else if (!strcmp(word, "move")) {
		move_to(BASE + number);
	} else if (!strcmp(word, "writable")) {
		make_writable(number);
	} else if (!strcmp(word, "rewrite")) {
		rewrite();
	} else if (!strcmp(word, "forget")) {
		/*
		 * The contents of the file come back, without breakpoints: nothing is hit
		 * until the file is mapped again.
		 */
		check(!madvise(text, text_size, MADV_DONTNEED), "madvise: %s", strerror(errno));
		quiet = true;
		run_rounds(&main_thread, 2);
		quiet = false;
	} else if (!strcmp(word, "map")) {
		map_text_at(text);
	} else if (!strcmp(word, "unmap")) {
		check(!munmap(text, text_size), "munmap: %s", strerror(errno));
	} else if (!strcmp(word, "over")) {
		int fd = open(path, O_RDONLY);

		check(mmap(text, text_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			   0) == text, "mmap: %s", strerror(errno));
		close(fd);
	} else if (!strcmp(word, "counts")) {
		say_counts();
	} else if (!strcmp(word, "limit")) {
		limit_space(number);
	} else if (!strcmp(word, "use")) {
		use_space(number);
	} else {
		fail("'%s' is no command", word);
	}
}

static void run_steps(void)
{
	unsigned long number;
	char line[32], word[16];

	printf("held\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		number = 0;
		if (sscanf(line, "%15s %lu", word, &number) < 1)
			break;
		steps_command(word, number);
		puts("done");
		fflush(stdout);
	}
	stop = true;
	join_threads();
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	unsigned long ip = CONTEXT_IP(uc);

	fail("signal %d, code %d, address %p, at 0x%lx; the text is at %p", sig, info->si_code,
	     info->si_addr, ip, text);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	unsigned long number = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP };
	unsigned int i;

	check(argc > 2, "usage: see the beginning of this file");
	nr_sites = jumps_table_end - jumps_table;
	check(nr_sites <= MAX_SITES, "there are too many sites");
	path = argv[2];
	text_size = (jumps_end - jumps_text + getpagesize() - 1) & -getpagesize();

	if (!strcmp(mode, "make")) {
		make_text();
		return 0;
	}

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		sigaction(faults[i], &sa, NULL);
	map_text_at(text);
	if (!strcmp(mode, "run")) {
		run_rounds(&main_thread, number);
	} else if (!strcmp(mode, "threads") && argc == 5) {
		start_threads(number, strtoul(argv[4], NULL, 0));
		join_threads();
	} else if (!strcmp(mode, "signals")) {
		run_signals(NULL, number);
	} else if (!strcmp(mode, "repeats")) {
		run_signals("lods", number);
	} else if (!strcmp(mode, "steps")) {
		run_steps();
	} else {
		fail("usage: see the beginning of this file");
	}
	say_counts();

	return 0;
}
