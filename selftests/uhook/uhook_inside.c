// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a task that stays in the handler of a hit, because the argument that is to be
 * recorded is in memory that userfaultfd withholds.
 *
 *	uhook_inside offsets	the probe point; its argument, in the first register of
 *				arguments, points to a word of that memory. "refused" is an
 *				instruction that cannot be probed, and is never executed
 *	uhook_inside stay	hit it; "held" once the handler waits; when a line was
 *				read, give the memory; once the hit is over, "done"
 *	uhook_inside string N	hit it with a string of N letters there
 *
 * It exits with 4 if there is no userfaultfd that withholds memory from the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "uhook_test.h"

#define UNSUPPORTED	4

/* Returns the argument that it gets. */
UHOOK_FUNCTION(inside_hit);
UHOOK_LABEL(inside_refused);

#if defined(__x86_64__)
asm(".text\n"
	"inside_hit:\n"
	"	{disp32} lea 0(%rdi), %rax\n"
	"	ret\n"
	"inside_refused:\n"
	"	hlt\n");
#elif defined(__aarch64__)
/* At the beginning of a page, as in uhook_area.c */
asm(".pushsection .text.inside, \"ax\"\n"
	".balign 65536\n"
	"inside_hit:\n"
	"	add x0, x0, #0\n"
	"	ret\n"
	"inside_refused:\n"
	"	hlt #0\n"
	".popsection\n");
#endif

static int open_uffd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0) {
		perror("userfaultfd");
		exit(UNSUPPORTED);
	}
	check(!ioctl(fd, UFFDIO_API, &api), "userfaultfd: %s", strerror(errno));

	return fd;
}

static void *hit(void *page)
{
	check(inside_hit((long)page) == (long)page, "the function returns something else");

	return NULL;
}

static void wait_for_fault(int uffd, void *page)
{
	struct uffd_msg msg;

	check(read(uffd, &msg, sizeof(msg)) == sizeof(msg), "userfaultfd: %s", strerror(errno));
	check(msg.event == UFFD_EVENT_PAGEFAULT &&
	      msg.arg.pagefault.address == (unsigned long)page, "it is another fault");
}

static void stay(void)
{
	const long size = sysconf(_SC_PAGESIZE);
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { .mode = 0 };
	int uffd = open_uffd();
	pthread_t thread;
	void *page;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED, "mmap: %s", strerror(errno));
	reg.range.start = (unsigned long)page;
	reg.range.len = size;
	check(!ioctl(uffd, UFFDIO_REGISTER, &reg), "register: %s", strerror(errno));

	check(!pthread_create(&thread, NULL, hit, page), "no thread can be made");
	wait_for_fault(uffd, page);
	puts("held");
	fflush(stdout);
	check(getchar() != EOF, "nobody says to go on");

	zero.range = reg.range;
	check(!ioctl(uffd, UFFDIO_ZEROPAGE, &zero), "zeropage: %s", strerror(errno));
	check(!pthread_join(thread, NULL), "the thread cannot be waited for");
	puts("done");
}

static void string(unsigned long letters)
{
	char *text = malloc(letters + 1);

	check(text, "no memory");
	memset(text, 'x', letters);
	text[letters] = '\0';
	hit(text);
}

int main(int argc, char *argv[])
{
	/* In case that nothing is probed */
	alarm(300);
	if (argc > 1 && !strcmp(argv[1], "offsets")) {
		say_offset("hit", (void *)inside_hit);
		say_offset("refused", inside_refused);
	} else if (argc > 1 && !strcmp(argv[1], "stay")) {
		stay();
	} else if (argc > 2 && !strcmp(argv[1], "string")) {
		string(strtoul(argv[2], NULL, 0));
	} else {
		fail("usage: %s offsets|stay|string N", argv[0]);
	}

	return 0;
}
