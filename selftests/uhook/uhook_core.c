// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: core dumps of a process whose threads run through probed instructions.
 *
 *	uhook_core offsets	the probed instructions
 *	uhook_core fault	die of a load that faults, while other threads loop
 *	uhook_core quit		die of SIGQUIT in the loop, while other threads loop
 *	uhook_core read FILE	read a core: a line for each thread, the signalled one
 *				first, and what the signal was for
 */
#define _GNU_SOURCE
#include <linux/elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>

#include "uhook_faults.h"
#include "uhook_loop.h"

#define THREADS	3
#define TIMEOUT	120	/* for one that does not die as it has to */

#if defined(__x86_64__)
#define REGS_IP(regs)	((regs)->rip)
#elif defined(__aarch64__)
#define REGS_IP(regs)	((regs)->pc)
#endif

/* What each thread has counted in its loop, the first one's last */
static unsigned long sums[THREADS];

static void *loop(void *sum)
{
	uhook_loop(-1, sum);
	return NULL;
}

static void wait_for_loop(const volatile unsigned long *sum)
{
	while (!*sum)
		usleep(20000);
}

static void start_threads(unsigned int nr)
{
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < nr; i++)
		check(!pthread_create(&thread, NULL, loop, &sums[i]), "no thread can be made");
	for (i = 0; i < nr; i++)
		wait_for_loop(&sums[i]);
}

static void *send_quit(void *loops)
{
	wait_for_loop(&sums[THREADS - 1]);
	pthread_kill(*(pthread_t *)loops, SIGQUIT);
	return NULL;
}

static void die_of_quit(void)
{
	pthread_t self = pthread_self(), sender;

	start_threads(THREADS - 2);
	check(!pthread_create(&sender, NULL, send_quit, &self), "no thread can be made");
	loop(&sums[THREADS - 1]);
}

/* One note with the registers of a thread. */
static void say_thread(const struct elf_prstatus *status, bool first)
{
	const struct user_regs_struct *regs = (const void *)&status->pr_reg;
	unsigned long ip = REGS_IP(regs);

	if (first)
		printf("signal %d\n", status->pr_cursig);
	if (ip == (unsigned long)fault_load)
		printf("at fault_load\n");
	else if (in_loop(ip))
		printf("in uhook_loop\n");
	else
		printf("%s 0x%lx\n", in_program(ip) ? "elsewhere at" : "no code at", ip);
}

/* Names are padded to 4 bytes, and so are contents. */
static void read_notes(const char *note, const char *end)
{
	bool first = true;

	while (note + sizeof(struct elf64_note) <= end) {
		const struct elf64_note *hdr = (const void *)note;
		const char *desc = note + sizeof(*hdr) + (hdr->n_namesz + 3) / 4 * 4;

		if (hdr->n_type == NT_PRSTATUS && hdr->n_descsz >= sizeof(struct elf_prstatus)) {
			say_thread((const void *)desc, first);
			first = false;
		}
		if (hdr->n_type == NT_SIGINFO)
			printf("for %p\n", ((const siginfo_t *)desc)->si_addr);
		note = desc + (hdr->n_descsz + 3) / 4 * 4;
	}
	check(!first, "the core has no registers");
}

static void read_core(const char *name)
{
	int fd = open(name, O_RDONLY), i;
	const struct elf64_hdr *ehdr;
	const struct elf64_phdr *phdr;
	struct stat st;

	check(fd >= 0 && !fstat(fd, &st), "%s: %s", name, strerror(errno));
	ehdr = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(ehdr != MAP_FAILED && !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) &&
	      ehdr->e_type == ET_CORE, "%s is not a core", name);

	phdr = (const void *)((const char *)ehdr + ehdr->e_phoff);
	for (i = 0; i < ehdr->e_phnum; i++) {
		const char *note = (const char *)ehdr + phdr[i].p_offset;

		if (phdr[i].p_type == PT_NOTE)
			read_notes(note, note + phdr[i].p_filesz);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "offsets")) {
		say_loop_offsets();
		say_offset("fault", fault_load);
	} else if (!strcmp(mode, "fault")) {
		alarm(TIMEOUT);
		start_threads(THREADS - 1);
		fault_load((const void *)24, 0);
	} else if (!strcmp(mode, "quit")) {
		alarm(TIMEOUT);
		die_of_quit();
	} else if (argc == 3 && !strcmp(mode, "read")) {
		read_core(argv[2]);
	}

	return 0;
}
