// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: instructions of all kinds, each of which can have a probe.
 *
 *	uhook_forms offsets		the instructions, NAME OFFSET HOW TIMES STEPPED
 *	uhook_forms run N		N rounds through them
 *	uhook_forms hold N		the same, then it says where they are, NAME
 *					ADDRESS HOW, and waits to be killed
 *	uhook_forms threads N M		M rounds in each of N threads
 *	uhook_forms signals N M		the same, with signals
 *	uhook_forms storm N		rounds in N threads until SIGTERM comes, with
 *					signals and with children that do the same
 *
 * The blocks of instructions exist twice, to be probed and plain, and both get
 * the same inputs: the results must be the same. HOW says how a hit is
 * handled with boost: slot, emulated, place (it can only be stepped) or never. There
 * are TIMES hits in a round, or STEPPED where they are stepped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "uhook_bodies.h"
#include "uhook_forms.h"
#include "uhook_test.h"

#define MAX_THREADS	64
#define WORDS(x)	(sizeof(x) / sizeof(unsigned long))

/* A thread's. */
struct worker {
	struct state probed;
	struct state plain;
	pthread_t thread;
	pid_t tid;
	unsigned long rounds;
	unsigned long seed;
};

static struct worker workers[MAX_THREADS];
static unsigned int nr_workers;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static bool alone;
static unsigned long nr_signals;
static bool stop;
static unsigned long vdso_start, vdso_end;

static void fill(void *data, size_t words, unsigned long *seed)
{
	unsigned long *word = data, x = *seed;

	while (words--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*word++ = x;
	}
	*seed = x;
}

static void compare(const void *probed, const void *plain, size_t words, unsigned int block,
		    const char *what)
{
	const unsigned long *a = probed, *b = plain;
	size_t i;

	for (i = 0; i < words; i++)
		check(a[i] == b[i], "block %u: %s has 0x%lx at %zu, and 0x%lx without probes",
		      block, what, a[i], i * sizeof(*a), b[i]);
}

static void run_block(struct worker *w, unsigned int i)
{
	const struct block *block = &blocks[i];

	/* There is one memory for all. */
	if (!alone)
		pthread_mutex_lock(&memory_lock);
	fill(probed_memory, WORDS(probed_memory), &w->seed);
	memcpy(plain_memory, probed_memory, MEMORY);
	block->probed(&w->probed);
	block->plain(&w->plain);
	compare(probed_memory, plain_memory, WORDS(probed_memory), i, "memory");
	if (!alone)
		pthread_mutex_unlock(&memory_lock);
}

static void run_round(struct worker *w)
{
	unsigned int i;

	fill(&w->probed, WORDS(w->probed), &w->seed);
	memcpy(&w->plain, &w->probed, sizeof(w->plain));

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		if (blocks[i].have && !blocks[i].have())
			continue;
		if (i == MEMORY_BLOCK) {
			run_block(w, i);
		} else {
			blocks[i].probed(&w->probed);
			blocks[i].plain(&w->plain);
		}
		compare(&w->probed, &w->plain, WORDS(w->probed), i, "state");
	}
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	__atomic_store_n(&w->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (i = 0; i < w->rounds && !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		run_round(w);
	w->rounds = i;
	__atomic_store_n(&w->tid, -1, __ATOMIC_RELEASE);

	return NULL;
}

static void start_workers(unsigned int nr, unsigned long rounds)
{
	unsigned int i;

	check(nr <= MAX_THREADS, "%u threads are too many", nr);
	nr_workers = nr;
	for (i = 0; i < nr; i++) {
		workers[i].rounds = rounds;
		workers[i].seed = 88172645463325252UL + i;
		errno = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
		check(!errno, "no thread: %m");
	}
}

static void finish_workers(void)
{
	unsigned long rounds = 0;
	unsigned int i;

	for (i = 0; i < nr_workers; i++) {
		pthread_join(workers[i].thread, NULL);
		rounds += workers[i].rounds;
	}
	printf("%lu rounds, %lu signals\n", rounds, nr_signals);
}

/* A signal must interrupt the program's text, the vDSO, or code that counts. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = CONTEXT_IP((ucontext_t *)context);

	if (ip - vdso_start >= vdso_end - vdso_start)
		check((ip >= (unsigned long)__executable_start && ip < (unsigned long)etext) ||
		      (getenv("UHOOK_HANDLERS") && in_handler("/proc/self/maps", ip)),
		      "signal %d came at 0x%lx", sig, ip);
	__atomic_add_fetch(&nr_signals, 1, __ATOMIC_RELAXED);
	if (sig == SIGALRM)
		next_alarm();
}

/* This must never be reached. Print the instruction before it, too. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = CONTEXT_IP((ucontext_t *)context);
	const struct form *form, *nearest = __start_forms;

	for (form = __start_forms; form < __stop_forms; form++) {
		if (ip - (unsigned long)form->addr < ip - (unsigned long)nearest->addr)
			nearest = form;
	}
	fail("signal %d, code %d, address %p, at 0x%lx, %s + %lu", sig, info->si_code,
	     info->si_addr, ip, nearest->name, ip - (unsigned long)nearest->addr);
}

static void on_sigterm(int sig)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static void find_vdso(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[256];

	check(maps, "/proc/self/maps: %m");
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &vdso_start, &vdso_end);
	}
	fclose(maps);
}

static void catch_faults(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction term = { .sa_handler = on_sigterm, .sa_flags = SA_RESTART };

	find_vdso();
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGTERM, &term, NULL);
	set_alarms(1000);
}

/* Signals for the threads in turn. Returns whether one is still there. */
static bool send_signals(void)
{
	bool some = false;
	unsigned int i;
	pid_t tid;

	for (i = 0; i < nr_workers; i++) {
		tid = __atomic_load_n(&workers[i].tid, __ATOMIC_ACQUIRE);
		if (tid > 0)
			syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
		if (tid >= 0)
			some = true;
	}

	return some;
}

/* A child has the mappings and probes of its parent. */
static void run_child(unsigned long seed)
{
	static struct worker child;
	int i, status;
	pid_t pid;

	pid = fork();
	check(pid >= 0, "fork: %m");
	if (!pid) {
		alone = true;
		child.seed = seed;
		for (i = 0; i < 3; i++)
			run_round(&child);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		check(errno == EINTR, "waitpid: %m");
	check(!status, "a child ended with 0x%x", status);
}

static void run_storm(void)
{
	unsigned long turn;

	for (turn = 0; send_signals(); turn++) {
		if (turn % 16 == 15)
			run_child(turn);
		usleep(1000);
	}
}

static void run_signals(void)
{
	while (send_signals())
		usleep(1000);
}

/* Forms that only one of our kernels emulates */
static const char *how(const struct form *form)
{
	const bool noop = !strcmp(form->how, "noop");
	struct utsname kernel;

	if (!noop && strcmp(form->how, "rest"))
		return form->how;
	check(!uname(&kernel), "uname: %s", strerror(errno));

	return noop == (atoi(kernel.release) >= 7) ? "emulated" : "slot";
}

static void say_forms(bool running)
{
	const struct form *form;

	for (form = __start_forms; form < __stop_forms; form++) {
		unsigned long offset = (const char *)form->addr - __executable_start;
		bool (*have)(void) = blocks[form->block].have;

		if (have && !have())
			continue;
		if (running)
			printf("%s %p %s\n", form->name, form->addr, how(form));
		else
			printf("%s 0x%lx %s %lu %lu\n", form->name, offset, how(form),
			       form->times, form->stepped + more_steps(form));
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned int nr = argc > 2 ? atoi(argv[2]) : 0;
	unsigned long rounds = argc > 3 ? atol(argv[3]) : 0;

	catch_faults();
	if (!strcmp(mode, "offsets")) {
		say_forms(false);
	} else if (!strcmp(mode, "run")) {
		start_workers(1, nr);
		finish_workers();
	} else if (!strcmp(mode, "hold")) {
		start_workers(1, nr);
		finish_workers();
		say_forms(true);
		fflush(stdout);
		pause();
	} else if (!strcmp(mode, "threads")) {
		start_workers(nr, rounds);
		finish_workers();
	} else if (!strcmp(mode, "signals")) {
		catch_signals();
		start_workers(nr, rounds);
		run_signals();
		finish_workers();
	} else if (!strcmp(mode, "storm")) {
		catch_signals();
		start_workers(nr, -1UL);
		run_storm();
		finish_workers();
	} else {
		fail("usage: see the beginning of this file");
	}

	return 0;
}
