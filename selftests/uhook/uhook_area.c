// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the mapping that a process gets when it hits a probe, which it can only
 * read.
 *
 *	uhook_area offsets	the probe points
 *	uhook_area hit N	hit each of them N times
 *	uhook_area noclock N	the same, then again with no time stamp counter
 *	uhook_area hold N	the same; "held"; when a line was read, once more; "done"
 *	uhook_area sealed	hit, and try to change or unmap the mapping
 *	uhook_area scribble N	hit N times, try to unmap the data of the code that
 *				counts, and write anything to them; then hit again
 *	uhook_area advise N	hit N times, try to keep the data from children
 *	uhook_area left N	hit N times, and again in children, until one has exited while
 *				its memory was read: "children NUMBER last PID"
 *	uhook_area trap N	as hold, and then breakpoints of its own: "trap NUMBER"
 *
 * Without a probe there is no mapping, and "sealed" has nothing to try.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "uhook_test.h"

UHOOK_FUNCTION(area_one);
UHOOK_FUNCTION(area_two);

#if defined(__x86_64__)
asm(".text\n"
	"area_one:\n"
	"	{disp32} lea 1(%rdi), %rax\n"
	"	ret\n"
	"area_two:\n"
	"	{disp32} lea 2(%rdi), %rax\n"
	"	ret\n");
#elif defined(__aarch64__)
/*
 * At the beginning of a page of any size: when the text of a large page changes, QEMU 7.2
 * discards its translations of the first 4 KiB only.
 */
asm(".pushsection .text.area, \"ax\"\n"
	".balign 65536\n"
	"area_one:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	"area_two:\n"
	"	add x0, x0, #2\n"
	"	ret\n"
	".popsection\n");
#endif

struct mapping {
	char *start;
	size_t size;
	char perms[5];
};

static size_t page_size;

static void hit(long count)
{
	long i;

	for (i = 0; i < count; i++) {
		check(area_one(i) == i + 1, "area_one(%ld) is %ld", i, area_one(i));
		check(area_two(i) == i + 2, "area_two(%ld) is %ld", i, area_two(i));
	}
}

/* The first mapping of a name; returns how many there are. */
static int find_mapping(const char *name, struct mapping *found)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], perms[5];
	unsigned long start, end;
	int count = 0;

	check(maps, "no /proc/self/maps");
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, name) ||
		    sscanf(line, "%lx-%lx %4s", &start, &end, perms) != 3)
			continue;
		if (!count++) {
			found->start = (char *)start;
			found->size = end - start;
			memcpy(found->perms, perms, sizeof(perms));
		}
	}
	fclose(maps);

	return count;
}

static void must_fail(const char *what, long ret, int error)
{
	check(ret == -1, "%s succeeds", what);
	check(errno == error, "%s: %s", what, strerror(errno));
	hit(1);
}

static void try_unmapping(const struct mapping *m)
{
	must_fail("munmap", munmap(m->start, m->size), EPERM);
	must_fail("munmap of the first page", munmap(m->start, page_size), EPERM);
	must_fail("munmap of the last page", munmap(m->start + m->size - page_size, page_size),
		  EPERM);
	must_fail("munmap of more", munmap(m->start - page_size, m->size + 2 * page_size), EPERM);
	must_fail("mmap over it",
		  (long)mmap(m->start, m->size, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EPERM);
	must_fail("mmap over a page",
		  (long)mmap(m->start + page_size, page_size, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EPERM);
	must_fail("mmap beside it",
		  (long)mmap(m->start, m->size, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
}

static void try_moving(const struct mapping *m)
{
	char *other = mmap(NULL, m->size, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(other != MAP_FAILED, "mmap: %s", strerror(errno));
	must_fail("mremap to where there is room",
		  (long)mremap(m->start, m->size, m->size, MREMAP_MAYMOVE | MREMAP_FIXED, other),
		  EPERM);
	must_fail("mremap to less", (long)mremap(m->start, m->size, page_size, 0), EPERM);
	must_fail("mremap over it",
		  (long)mremap(other, m->size, m->size, MREMAP_MAYMOVE | MREMAP_FIXED, m->start),
		  EPERM);
	check(mremap(m->start, m->size, 2 * m->size, MREMAP_MAYMOVE) == MAP_FAILED,
	      "mremap makes it more");
	hit(1);
	munmap(other, m->size);
}

static void hit_in_child(long count)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		hit(count);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child: status 0x%x", status);
}

static void try_protecting(const struct mapping *m)
{
	static const int advice[] = { MADV_DONTFORK, MADV_WIPEONFORK, MADV_DONTNEED, MADV_FREE,
				      MADV_REMOVE, MADV_PAGEOUT };
	struct utsname kernel;
	size_t i;

	must_fail("mprotect to write",
		  mprotect(m->start, m->size, PROT_READ | PROT_WRITE | PROT_EXEC), EACCES);
	must_fail("mprotect to less", mprotect(m->start, m->size, PROT_READ), EPERM);
	must_fail("mprotect to nothing", mprotect(m->start, page_size, PROT_NONE), EPERM);
	must_fail("mprotect with pkey",
		  pkey_mprotect(m->start, page_size, PROT_READ, -1), EPERM);
	/* 6.12 refuses all of it but the last; the code stays anyway, in children, too. */
	check(!uname(&kernel), "uname: %s", strerror(errno));
	for (i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
		long ret = madvise(m->start, m->size, advice[i]);

		if (atoi(kernel.release) < 7 && advice[i] != MADV_PAGEOUT)
			must_fail("advice", ret, EPERM);
		hit(1);
		hit_in_child(1);
	}
	madvise(m->start, page_size, MADV_DONTDUMP);
	hit(1);
}

static void try_writing(const struct mapping *m)
{
	char before[64], zeros[64] = "";
	struct iovec local = { zeros, sizeof(zeros) };
	struct iovec remote = { m->start, sizeof(zeros) };
	int fd = open("/proc/self/mem", O_RDWR);

	check(fd >= 0, "/proc/self/mem: %s", strerror(errno));
	memcpy(before, m->start, sizeof(before));
	must_fail("a write to /proc/self/mem",
		  pwrite(fd, zeros, sizeof(zeros), (off_t)m->start), EIO);
	/* Not every kernel has this. */
	check(process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == -1,
	      "process_vm_writev succeeds");
	must_fail("read into it", pread(fd, m->start, 1, (off_t)zeros), EFAULT);
	close(fd);
	check(!memcmp(before, m->start, sizeof(before)), "the slots have changed");
}

static void on_segv(int sig)
{
	_exit(sig);
}

/* A child stores, and is poked by its parent. */
static void try_child(const struct mapping *m)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		signal(SIGSEGV, on_segv);
		hit(2);
		m->start[0] = 0;
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	check(WIFEXITED(status) && WEXITSTATUS(status) == SIGSEGV,
	      "a store into the mapping: status 0x%x", status);

	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		hit(3);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the child: 0x%x", status);
	must_fail("PTRACE_POKETEXT", ptrace(PTRACE_POKETEXT, pid, m->start, 0L), EIO);
	ptrace(PTRACE_CONT, pid, 0, 0);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	      "the child that was poked: 0x%x", status);
}

static void sealed(void)
{
	struct mapping m, again;
	int count;

	page_size = getpagesize();
	hit(1);
	count = find_mapping("[uhook]", &m);
	printf("mappings %d\n", count);
	if (!count)
		return;

	check(!strcmp(m.perms, "r-xp"), "the mapping is %s", m.perms);
	try_unmapping(&m);
	try_moving(&m);
	try_protecting(&m);
	try_writing(&m);
	try_child(&m);

	check(find_mapping("[uhook]", &again) == count, "there are more mappings");
	check(m.start == again.start && m.size == again.size && !strcmp(again.perms, "r-xp"),
	      "the mapping was at %p, of %zu bytes, and is at %p, of %zu, %s",
	      m.start, m.size, again.start, again.size, again.perms);
	hit(1);
}

/* The mapping that is writable by its permissions, or NULL. */
static char *find_data(size_t *size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512], perms[5];
	char *data = NULL;

	check(maps, "no /proc/self/maps");
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[uhook]") &&
		    sscanf(line, "%lx-%lx %4s", &start, &end, perms) == 3 && perms[1] == 'w') {
			check(!strcmp(perms, "rw-s"), "the data are %s", perms);
			data = (char *)start;
			*size = end - start;
		}
	}
	fclose(maps);

	return data;
}

static void must_not(const char *what, bool done)
{
	check(!done, "%s succeeds", what);
	hit(1);
}

static void fill_data(void *data, size_t size, unsigned long value)
{
	size_t i;

	for (i = 0; i < size / sizeof(value); i++)
		((volatile unsigned long *)data)[i] = value;
}

static void scribble(long count)
{
	size_t size;
	char *data;
	int round;

	hit(count);
	data = find_data(&size);
	check(data, "nothing is counted");
	must_not("munmap of the data", !munmap(data, size));
	must_not("munmap of a part", !munmap(data + page_size, page_size));
	must_not("mmap over the data", mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
					    MAP_FIXED, -1, 0) != MAP_FAILED);
	must_not("mremap of the data", mremap(data, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
					      data + (1UL << 30)) != MAP_FAILED);
	must_not("mremap to less", mremap(data, size, page_size, 0) != MAP_FAILED);
	must_not("mprotect", !mprotect(data, size, PROT_READ));
	must_not("mprotect to run them", !mprotect(data, size, PROT_READ | PROT_EXEC));
	/* This only forgets where they are. */
	madvise(data, size, MADV_DONTNEED);
	hit(1);

	/* At the end are numbers that others can still add to theirs. */
	for (round = 0; round < 3; round++) {
		fill_data(data, size, -1UL);
		hit(10);
		if (!fork()) {
			fill_data(data, size, -1UL);
			hit(10);
			fill_data(data, size, 1000);
			_exit(0);
		}
		check(wait(NULL) > 0, "wait: %s", strerror(errno));
		fill_data(data, size, 1000000);
		hit(10);
	}
}

/* Children must have data of their own, whatever was requested. */
static void advise(long count)
{
	size_t size;
	char *data;

	hit(count);
	data = find_data(&size);
	check(data, "nothing is counted");
	madvise(data, size, MADV_DONTFORK);
	madvise(data, size, MADV_KEEPONFORK);
	hit_in_child(count);
	hit(count);
}

/* Number of bytes that take longer to read than the child needs to hit and exit */
#define LONG_READ	(64 << 20)
#define LEAVE_TRIES	10

/* Fork a child that exits while its memory is read; returns false if it exits later. */
static bool leave(long count, pid_t *pid, char *memory, char *copy)
{
	char path[64];
	bool left;
	int fd;

	*copy = 0;
	*pid = fork();
	check(*pid >= 0, "fork: %s", strerror(errno));
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!*(volatile char *)copy)
			;
		hit(count);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", *pid);
	fd = open(path, O_RDONLY);
	check(fd >= 0, "%s: %s", path, strerror(errno));
	check(pread(fd, copy, LONG_READ, (off_t)memory) == LONG_READ, "%s was not read: %s", path,
	      strerror(errno));
	left = waitpid(*pid, NULL, WNOHANG) == *pid;
	if (!left)
		waitpid(*pid, NULL, 0);
	close(fd);

	return left;
}

static void leave_early(long count)
{
	char *memory = mmap(NULL, LONG_READ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	char *copy = mmap(NULL, LONG_READ, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	int tries = 1;
	pid_t pid;

	check(memory != MAP_FAILED && copy != MAP_FAILED, "mmap: %s", strerror(errno));
	*memory = 1;
	hit(count);
	while (!leave(count, &pid, memory, copy))
		check(tries++ < LEAVE_TRIES, "the children exited too late");
	printf("children %d last %d\n", tries, pid);
}

static void hold(long count)
{
	hit(count);
	puts("held");
	fflush(stdout);
	getchar();
	hit(1);
}

#if defined(__x86_64__)
static volatile long trap_number = -1;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	check(sig == SIGTRAP && info->si_code == SI_KERNEL, "signal %d code %d", sig,
	      info->si_code);
	trap_number = uc->uc_mcontext.gregs[REG_TRAPNO];
}

static void own_breakpoint(void)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	check(!sigaction(SIGTRAP, &action, NULL), "sigaction: %s", strerror(errno));
	/* At the first one, the kernel may learn that no probes are left. */
	asm volatile("int3; int3");
	printf("trap %ld\n", trap_number);
}
#else
/* There, breakpoints of probes have a number of their own. */
static void own_breakpoint(void)
{
	puts("trap 3");
}
#endif

int main(int argc, char **argv)
{
	page_size = getpagesize();
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("one", area_one);
		say_offset("two", area_two);
	} else if (argc == 2 && !strcmp(argv[1], "sealed")) {
		sealed();
	} else if (argc == 3 && !strcmp(argv[1], "noclock")) {
		hit(atol(argv[2]));
		check(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "PR_SET_TSC: %s", strerror(errno));
		hit(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "hit")) {
		hit(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "scribble")) {
		scribble(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "left")) {
		leave_early(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "advise")) {
		advise(atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "hold")) {
		hold(atol(argv[2]));
		puts("done");
	} else if (argc == 3 && !strcmp(argv[1], "trap")) {
		hold(atol(argv[2]));
		own_breakpoint();
	} else {
		fail("usage: %s offsets | sealed | {hit | noclock | hold | left | trap | ...} N",
		     argv[0]);
	}

	return 0;
}
