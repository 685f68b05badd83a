// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: text that is mapped, unmapped, moved and replaced by other text.
 *
 *	uhook_moved make DIR	make the files; prints NAME PATH OFFSET of each
 *				probe point
 *	uhook_moved run DIR	map them in turn at the same addresses; prints
 *				NAME LEAST MOST, how often each was hit
 *	uhook_moved race DIR	the same, while threads call the text
 *	uhook_moved replace DIR	the same, but some of the text is run before it has
 *				its probe
 *	uhook_moved padding DIR	map functions whose returns have padding behind them in
 *				one file alone, at the same address (x86_64)
 *	uhook_moved steps DIR	for each line that is read: "call" a point,
 *				"rewrite" its file
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <ucontext.h>

#include "uhook_text.h"

#define THERE		(HERE + 0x400000)
#define ELSEWHERE	(HERE + 0x800000)
#define ROUNDS		24
#define RACE_ROUNDS	150
#define THREADS		3
#define GAVE_UP		-1

/* Of two files, first and second: a page of each kind. */
enum text { FIRST, SECOND, FIRST_OTHER, SECOND_OTHER, TEXTS };

static const struct {
	const char *name;
	const char *file;
	int page;
	unsigned char number;
} texts[] = {
	[FIRST]		= { "first", "first", 0, 0x11 },
	[SECOND]	= { "second", "second", 0, 0x22 },
	[FIRST_OTHER]	= { "first_other", "first", 1, 0x33 },
	[SECOND_OTHER]	= { "second_other", "second", 1, 0x44 },
};

static const char *dir;
static long called[TEXTS];
static long page_size;

static const char *path_of(enum text t)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, texts[t].file);

	return path;
}

static char *map(enum text t, char *at, int flags)
{
	return map_text(path_of(t), texts[t].page, at, flags);
}

static char *map_over(enum text t, char *at)
{
	return map(t, at, MAP_FIXED);
}

static char *map_new(enum text t, char *at)
{
	return map(t, at, MAP_FIXED_NOREPLACE);
}

static void unmap(char *at)
{
	check(!munmap(at, page_size), "munmap: %s", strerror(errno));
}

static void move(char *from, char *to)
{
	check(mremap(from, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	      "mremap: %s", strerror(errno));
}

/* Twice: the second hit depends on the state that the first one leaves. */
static void call(enum text t, const char *at)
{
	int i;

	for (i = 0; i < 2; i++) {
		long ret = call_text(at, 0x1000 + i);

		check(ret == 0x1000 + i + texts[t].number, "%s at %p has returned 0x%lx",
		      texts[t].name, at, ret);
		called[t]++;
	}
}

#ifdef __x86_64__
/* The return of a plain page, with and without padding, by name. */
#define PADDED	"padded"
#define BARE	"bare"

static const char *return_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);

	return path;
}

static void make_return(const char *name, int behind)
{
	unsigned char code[16];
	size_t size = plain_code(code, 0x55);
	int fd = open(return_path(name), O_RDWR | O_CREAT | O_TRUNC, 0755);

	check(fd >= 0 && !ftruncate(fd, page_size), "%s: %s", name, strerror(errno));
	memset(code + size, behind, sizeof(code) - size);
	write_at(fd, code, sizeof(code), 0);
	close(fd);
	printf("%s %s 0x%x\n", name, return_path(name), PLAIN_LAST);
}

static void make_returns(void)
{
	make_return(PADDED, 0xcc);
	make_return(BARE, 0x90);
}

static void padding(void)
{
	long each = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		map_text(return_path(i & 1 ? BARE : PADDED), 0, HERE, MAP_FIXED_NOREPLACE);
		for (each = 0; each < 3; each++)
			check(call_text(HERE, each) == each + 0x55, "a wrong return");
		unmap(HERE);
	}
	printf(PADDED " %ld %ld\n", each * ROUNDS / 2, each * ROUNDS / 2);
	printf(BARE " %ld %ld\n", each * ROUNDS / 2, each * ROUNDS / 2);
}
#else
static void make_returns(void) { }
static void padding(void) { }
#endif

static void make(void)
{
	int t;

	make_text(path_of(FIRST), texts[FIRST].number, texts[FIRST_OTHER].number);
	make_text(path_of(SECOND), texts[SECOND].number, texts[SECOND_OTHER].number);
	for (t = 0; t < TEXTS; t++)
		printf("%s %s 0x%lx\n", texts[t].name, path_of(t), texts[t].page * page_size);
	make_returns();
}

/* As dlopen and dlclose of this and that do it. */
static void unmapped_between(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		enum text t = i % TEXTS;

		map_new(t, HERE);
		call(t, HERE);
		unmap(HERE);
	}
}

static void mapped_over(void)
{
	char *last = mmap(HERE, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			  -1, 0);
	int i;

	check(last == HERE, "mmap: %s", strerror(errno));
	for (i = 0; i < ROUNDS; i++) {
		/* Each over each, and over itself. */
		enum text t = (i + i / TEXTS) % TEXTS;

		map_over(t, HERE);
		call(t, HERE);
	}
	unmap(HERE);
}

/* Moved text keeps its probe, and the text mapped in its place has its own. */
static void moved_away(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		enum text t = i % TEXTS, other = (i + 1 + i / TEXTS) % TEXTS;

		map_new(t, HERE);
		call(t, HERE);
		move(HERE, THERE);
		call(t, THERE);
		map_new(other, HERE);
		call(other, HERE);
		call(t, THERE);
		/* Over the other. */
		move(THERE, HERE);
		call(t, HERE);
		unmap(HERE);
	}
}

/* A mapping of which a part goes. */
static void in_part(void)
{
	int fd = open(path_of(FIRST), O_RDONLY);

	check(fd >= 0, "open: %s", strerror(errno));
	check(mmap(HERE, 2 * page_size, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == HERE, "mmap: %s", strerror(errno));
	close(fd);
	call(FIRST, HERE);
	call(FIRST_OTHER, HERE + page_size);
	map_over(SECOND, HERE);
	call(SECOND, HERE);
	call(FIRST_OTHER, HERE + page_size);
	unmap(HERE);
	call(FIRST_OTHER, HERE + page_size);
	map_new(SECOND_OTHER, HERE);
	call(SECOND_OTHER, HERE);
	map_over(SECOND, HERE + page_size);
	call(SECOND, HERE + page_size);
	call(SECOND_OTHER, HERE);
	check(!munmap(HERE, 2 * page_size), "munmap: %s", strerror(errno));
}

/* Text becomes no text, and again; and the program's own, with no probe. */
static void protected(void)
{
	unsigned char code[16];
	size_t size = plain_code(code, 0x77);

	map_new(FIRST_OTHER, HERE);
	call(FIRST_OTHER, HERE);
	check(!mprotect(HERE, page_size, PROT_READ), "mprotect: %s", strerror(errno));
	check(!mprotect(HERE, page_size, PROT_READ | PROT_EXEC), "mprotect: %s", strerror(errno));
	call(FIRST_OTHER, HERE);
	check(!mprotect(HERE, page_size, PROT_READ | PROT_WRITE), "mprotect: %s", strerror(errno));
	memcpy(HERE, code, size);
	__builtin___clear_cache(HERE, HERE + size);
	check(!mprotect(HERE, page_size, PROT_READ | PROT_EXEC), "mprotect: %s", strerror(errno));
	check(call_text(HERE, 1) == 0x78, "its own code has returned 0x%lx", call_text(HERE, 1));
	unmap(HERE);
	/* No file, at the same address. */
	check(mmap(HERE, page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == HERE,
	      "mmap: %s", strerror(errno));
	memcpy(HERE, code, size);
	__builtin___clear_cache(HERE, HERE + size);
	check(call_text(HERE, 2) == 0x79, "its own code has returned 0x%lx", call_text(HERE, 2));
	unmap(HERE);
}

static atomic_bool stop;
static atomic_long right_calls, given_up;

/* Where a function that is not there any more returns to its caller. */
UHOOK_LABEL(moved_give_up);
#if defined(__x86_64__)
asm(".text\n"
	"moved_give_up:\n"
	"	mov $-1, %rax\n"
	"	ret\n");
#elif defined(__aarch64__)
asm(".text\n"
	"moved_give_up:\n"
	"	mov x0, #-1\n"
	"	ret\n");
#endif

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *at = (char *)CONTEXT_IP(uc);

	/* Before its first instruction, or its last. */
	check(at == HERE || at == HERE + PLAIN_LAST, "signal %d at %p", sig, at);
	check(info->si_addr == at, "signal %d at %p is for %p", sig, at, info->si_addr);
	CONTEXT_IP(uc) = (long)moved_give_up;
}

static void *calling_thread(void *unused)
{
	(void)unused;
	while (!stop) {
		long ret = call_text(HERE, 0x1000);

		if (ret == GAVE_UP)
			given_up++;
		else if (ret == 0x1000 + texts[FIRST].number ||
			 ret == 0x1000 + texts[SECOND].number)
			right_calls++;
		else
			fail("0x%lx was returned", ret);
	}

	return NULL;
}

/*
 * Text arrives with its probe, or as it is: between its first page fault and the
 * breakpoint others may run it, so it is mapped elsewhere first.
 */
static void remap(int i)
{
	switch (i % 5) {
	case 0:
	case 1:
		map_new(i & 1 ? FIRST : SECOND, THERE);
		move(THERE, HERE);
		break;
	case 2:
		move(HERE, THERE);
		break;
	case 3:
		move(THERE, HERE);
		break;
	case 4:
		check(!mprotect(HERE, page_size, PROT_READ), "mprotect: %s", strerror(errno));
		check(!mprotect(HERE, page_size, PROT_READ | PROT_EXEC), "mprotect: %s",
		      strerror(errno));
		break;
	}
}

/* Calls without a hit are possible here. */
static void remap_in_place(int i)
{
	switch (i % 3) {
	case 0:
		map_over(i & 1 ? FIRST : SECOND, HERE);
		break;
	case 1:
		unmap(HERE);
		break;
	case 2:
		map_new(i & 1 ? FIRST : SECOND, HERE);
		break;
	}
}

static void race(void (*change)(int i))
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t threads[THREADS];
	int i;

	check(!sigaction(SIGSEGV, &sa, NULL), "sigaction: %s", strerror(errno));
	check(!sigaction(SIGBUS, &sa, NULL), "sigaction: %s", strerror(errno));
	/*
	 * The kernel forgets that a process has breakpoints when the last one is
	 * unmapped, and then sends SIGTRAP to a task that has just hit it.
	 */
	map_new(FIRST, ELSEWHERE);
	map_new(FIRST, HERE);
	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, calling_thread, NULL), "pthread_create");
	for (i = 0; i < RACE_ROUNDS; i++) {
		change(i);
		usleep(i % 8 * 100);
	}
	stop = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(right_calls, "no call was right");
	/* A hit whose function went before its last instruction is one, too. */
	printf("calls %ld %ld\n", change == remap ? right_calls : 1, right_calls + given_up);
}

static void run(void)
{
	int t;

	unmapped_between();
	mapped_over();
	moved_away();
	in_part();
	protected();
	for (t = 0; t < TEXTS; t++)
		printf("%s %ld %ld\n", texts[t].name, called[t], called[t]);
}

/* The file changes below the mapping, while no probe is in it. */
static void rewrite(void)
{
	int fd = open(path_of(FIRST), O_RDWR);
	unsigned char code[16];

	check(fd >= 0, "open: %s", strerror(errno));
	write_at(fd, code, other_code(code, texts[FIRST].number), 0);
	close(fd);
	__builtin___clear_cache(HERE, HERE + sizeof(code));
}

static void steps(void)
{
	char line[16];

	map_new(FIRST, HERE);
	puts("held");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "call\n"))
			call(FIRST, HERE);
		else if (!strcmp(line, "rewrite\n"))
			rewrite();
		else
			return;
		puts("done");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	check(argc == 3, "usage: %s make | run | race | replace | padding | steps DIR", argv[0]);
	dir = argv[2];
	page_size = getpagesize();
	if (!strcmp(argv[1], "make"))
		make();
	else if (!strcmp(argv[1], "run"))
		run();
	else if (!strcmp(argv[1], "race"))
		race(remap);
	else if (!strcmp(argv[1], "replace"))
		race(remap_in_place);
	else if (!strcmp(argv[1], "padding"))
		padding();
	else if (!strcmp(argv[1], "steps"))
		steps();

	return 0;
}
