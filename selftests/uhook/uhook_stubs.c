// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: functions that are entered and left by way of stubs.
 *
 *	uhook_stubs offsets		their entries and exits, in order
 *	uhook_stubs count BLOCK ROUNDS	are the stubs in BLOCK run as often as they ought to?
 *	uhook_stubs child BLOCK ROUNDS	and in a child of a process that had them?
 *	uhook_stubs twice		the same file is mapped more than once
 *	uhook_stubs keep BLOCK		try to change or unmap the block
 *	uhook_stubs taken BLOCK		something else is mapped at the stubs' addresses
 *	uhook_stubs threads NR		until its standard input ends
 *	uhook_stubs hold		call them once, and wait for a line
 *
 * Perf counts how often a stub is run, with hardware breakpoints in it.  Exits with 4
 * where there are none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "uhook_test.h"
#include "uhook_watch.h"

#define STUB_SIZE	16
#define MAX_THREADS	16
/* So many breakpoints every processor has. */
#define AT_ONCE		4

/*
 * An entry with room for a jump, and one without; a return with padding after it; and
 * a tail call, on arm64 through the register that stubs take when they can.
 */
#ifdef __x86_64__
asm("	.pushsection .text\n"
"	.balign 16\n"
"stubs_leaf:		lea 1(%rdi), %rax\n"
"stubs_leaf_exit:	ret\n"
"	.fill 8, 1, 0xcc\n"
"stubs_tail:		lea 0x100(%rdi), %rdi\n"
"stubs_tail_exit:	.byte 0xe9\n"
"	.long stubs_leaf - . - 4\n"
"	.fill 8, 1, 0xcc\n"
"stubs_again:		push %rbx\n"
"	mov %rdi, %rbx\n"
"	xor %eax, %eax\n"
"	test %rdi, %rdi\n"
"	je 1f\n"
"	dec %rdi\n"
"	call stubs_again\n"
"	add %rbx, %rax\n"
"1:	pop %rbx\n"
"stubs_again_exit:	ret\n"
"	.fill 8, 1, 0xcc\n"
"	.popsection\n");
#else
asm("	.pushsection .text\n"
"stubs_leaf:		add x0, x0, #1\n"
"stubs_leaf_exit:	ret\n"
"stubs_tail:		add x0, x0, #0x100\n"
"	adr x16, stubs_leaf\n"
"stubs_tail_exit:	br x16\n"
"stubs_again:		stp x29, x30, [sp, #-32]!\n"
"	str x19, [sp, #16]\n"
"	mov x19, x0\n"
"	cbz x0, 1f\n"
"	sub x0, x0, #1\n"
"	bl stubs_again\n"
"	add x0, x0, x19\n"
"1:	ldr x19, [sp, #16]\n"
"	ldp x29, x30, [sp], #32\n"
"stubs_again_exit:	ret\n"
"	.popsection\n");
#endif

UHOOK_FUNCTION(stubs_leaf);
UHOOK_FUNCTION(stubs_tail);
UHOOK_FUNCTION(stubs_again);
UHOOK_LABEL(stubs_leaf_exit);
UHOOK_LABEL(stubs_tail_exit);
UHOOK_LABEL(stubs_again_exit);

#define DEPTH	10

/* How often each point is hit in a round. */
static const struct point {
	const char *name;
	const void *addr;
	unsigned int times;
} points[] = {
	{ "leaf", stubs_leaf, 2 },
	{ "leaf_exit", stubs_leaf_exit, 2 },
	{ "tail", stubs_tail, 1 },
	{ "tail_exit", stubs_tail_exit, 1 },
	{ "again", stubs_again, DEPTH + 1 },
	{ "again_exit", stubs_again_exit, DEPTH + 1 },
};

static void run_round(void)
{
	check(stubs_leaf(5) == 6, "leaf");
	check(stubs_tail(5) == 0x106, "tail");
	check(stubs_again(DEPTH) == DEPTH * (DEPTH + 1) / 2, "again");
}

static int watch(uint64_t addr)
{
	struct perf_event_attr attr = breakpoint_at(addr);
	int fd = open_breakpoint(&attr);

	if (fd < 0 && (errno == ENODEV || errno == EOPNOTSUPP || errno == ENOENT))
		_exit(UNSUPPORTED);
	check(fd >= 0, "there is no breakpoint at 0x%lx: %s", (long)addr, strerror(errno));
	return fd;
}

/* Those from FIRST on. */
static void count_some(uint64_t block, unsigned int first, unsigned long rounds)
{
	int fds[AT_ONCE];
	unsigned long i;
	uint64_t seen;

	for (i = 0; i < AT_ONCE && first + i < ARRAY_SIZE(points); i++)
		fds[i] = watch(block + (first + i) * STUB_SIZE);
	for (i = 0; i < rounds; i++)
		run_round();
	for (i = 0; i < AT_ONCE && first + i < ARRAY_SIZE(points); i++) {
		const struct point *point = points + first + i;

		check(read(fds[i], &seen, sizeof(seen)) == sizeof(seen), "it is not counted");
		close(fds[i]);
		check(seen == rounds * point->times, "the stub of %s was run %lu times, not %lu",
		      point->name, (long)seen, rounds * point->times);
	}
}

static void count(uint64_t block, unsigned long rounds)
{
	unsigned int first;

	for (first = 0; first < ARRAY_SIZE(points); first += AT_ONCE)
		count_some(block, first, rounds);
}

/* The parent's must still work. */
static void count_child(uint64_t block, unsigned long rounds)
{
	int status;
	pid_t pid;

	run_round();
	pid = fork();
	if (!pid) {
		count(block, rounds);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid, "there is no child");
	check(!status, "the child has ended with 0x%x", status);
	count(block, rounds);
}

static char *map_again(int fd, size_t size)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	check(copy != MAP_FAILED, "it is not mapped: %s", strerror(errno));
	return copy;
}

static void run_leaf(const char *copy, long arg)
{
	const char *leaf = copy + ((const char *)stubs_leaf - __executable_start);

	check(((long (*)(long arg))leaf)(arg) == arg + 1, "the function of another mapping");
}

/* The first one that is run has the stubs, also while it cannot be run. */
static void run_twice(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *first, *second;
	struct stat stat;

	check(fd >= 0 && !fstat(fd, &stat), "there is no file of this program");
	first = map_again(fd, stat.st_size);
	second = map_again(fd, stat.st_size);
	run_leaf(first, 7);
	check(!mprotect(first, stat.st_size, PROT_READ), "mprotect: %s", strerror(errno));
	run_leaf(second, 8);
	check(!mprotect(first, stat.st_size, PROT_READ | PROT_EXEC), "mprotect: %s",
	      strerror(errno));
	run_leaf(first, 9);
	run_leaf(second, 10);
	run_round();
	run_leaf(first, 11);
}

/* It stays, and a child has it. */
static void keep(uint64_t block)
{
	void *at = (void *)block;
	int status;
	pid_t pid;

	run_round();
	check(munmap(at, 4096), "it can be unmapped");
	check(mprotect(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), "it can be written to");
	check(mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      MAP_FAILED, "something can be mapped over it");
	check(mremap(at, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED, "it can be moved");
	madvise(at, 4096, MADV_DONTNEED);
	madvise(at, 4096, MADV_DONTFORK);
	run_round();
	pid = fork();
	if (!pid) {
		run_round();
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child has ended with 0x%x", status);
}

static void run_taken(uint64_t block)
{
	void *at = (void *)block;

	check(mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
	      at, "0x%lx is not free", (long)block);
	run_round();
	check(!*(long *)at, "something was written there");
	run_round();
}

static atomic_bool stop;

static void on_alarm(int signal)
{
}

static void *run_thread(void *arg)
{
	while (!stop)
		run_round();
	return NULL;
}

static void run_threads(unsigned int nr)
{
	const struct itimerval often = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t threads[MAX_THREADS];
	unsigned int i;
	char line[16];

	check(nr <= MAX_THREADS, "so many threads there cannot be");
	check(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL),
	      "no signals");
	for (i = 0; i < nr; i++)
		check(!pthread_create(threads + i, NULL, run_thread, NULL), "no thread");
	printf("held\n");
	fflush(stdout);
	fgets(line, sizeof(line), stdin);
	stop = true;
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void hold(void)
{
	char line[16];

	run_round();
	printf("held\n");
	fflush(stdout);
	fgets(line, sizeof(line), stdin);
	run_round();
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	uint64_t block = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	unsigned int i;

	if (!strcmp(what, "offsets")) {
		for (i = 0; i < ARRAY_SIZE(points); i++)
			say_offset(points[i].name, points[i].addr);
	} else if (!strcmp(what, "count") && rounds) {
		count(block, rounds);
	} else if (!strcmp(what, "child") && rounds) {
		count_child(block, rounds);
	} else if (!strcmp(what, "twice")) {
		run_twice();
	} else if (!strcmp(what, "keep") && block) {
		keep(block);
	} else if (!strcmp(what, "taken") && block) {
		run_taken(block);
	} else if (!strcmp(what, "threads") && block) {
		run_threads(block);
	} else if (!strcmp(what, "hold")) {
		hold();
	} else {
		fail("what?");
	}
	return 0;
}
