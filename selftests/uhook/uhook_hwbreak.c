// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a loop through probed instructions with hardware breakpoints on it.
 *
 *	uhook_hwbreak offsets			the probed instructions
 *	uhook_hwbreak execute ROUNDS [signals]	perf counts how often one is come to
 *	uhook_hwbreak write ROUNDS [signals]	how often one of them writes the sum
 *	uhook_hwbreak both ROUNDS [signals]	both
 *	uhook_hwbreak fault ROUNDS		both, after a round whose write faults
 *
 * With signals those of a timer come, and so often ROUNDS until ENOUGH of them have.
 * Prints how often the probed instructions were run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "uhook_loop.h"

#define ENOUGH	20

static unsigned long sum;
static volatile unsigned long nr_signals;

static int open_breakpoint(unsigned int type, const void *addr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = type,
		.bp_addr = (unsigned long)addr,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	check(fd >= 0, "perf_event_open: %s", strerror(errno));

	return fd;
}

/*
 * Each round has one hit. The kernel steps over a breakpoint while that is off, and when
 * a signal comes instead, the same instruction hits again afterwards.
 */
static void check_breakpoint(int fd, const char *what, unsigned long rounds, unsigned long more)
{
	uint64_t hits;

	if (fd < 0)
		return;
	check(read(fd, &hits, sizeof(hits)) == sizeof(hits), "read: %s", strerror(errno));
	check(hits >= rounds && hits <= rounds + more, "%lu rounds hit the %s %lu times", rounds,
	      what, (unsigned long)hits);
	close(fd);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = context_ip(context);

	check(in_program_of(getpid(), ip), "a handler sees the program at 0x%lx, which is no code",
	      ip);
	nr_signals++;
	next_alarm();
}

static sigjmp_buf faulted;

static void on_fault(int sig)
{
	siglongjmp(faulted, 1);
}

/* The handler does not return to the instruction, which the kernel was stepping. */
static void fault_once(void)
{
	unsigned long *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED, "mmap: %s", strerror(errno));
	check(signal(SIGSEGV, on_fault) != SIG_ERR, "signal: %s", strerror(errno));
	if (!sigsetjmp(faulted, 1)) {
		uhook_loop(1, page);
		check(false, "a write to a read-only page does not fault");
	}
	signal(SIGSEGV, SIG_DFL);
}

static void start_signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO };

	check(!sigaction(SIGALRM, &sa, NULL), "sigaction: %s", strerror(errno));
	set_alarms(700);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long each, rounds = 0, ret;
	int execute = -1, write = -1;
	bool signals = argc == 4, fault = !strcmp(mode, "fault");

	if (!strcmp(mode, "offsets")) {
		say_loop_offsets();
		return 0;
	}
	check(argc >= 3, "it wants a mode and a number");

	each = strtoul(argv[2], NULL, 0);
	if (strcmp(mode, "write"))
		execute = open_breakpoint(HW_BREAKPOINT_X,
					  fault ? uhook_loop_store : uhook_loop_add);
	if (strcmp(mode, "execute"))
		write = open_breakpoint(HW_BREAKPOINT_W, &sum);
	if (fault)
		fault_once();
	if (signals)
		start_signals();
	do {
		ret = uhook_loop(each, &sum);
		rounds += each;
		check(ret == each && sum == rounds, "%lu rounds count %lu and %lu", rounds, ret,
		      sum);
	} while (signals && nr_signals < ENOUGH);
	if (signals)
		set_alarms(0);
	check_breakpoint(execute, "breakpoint", rounds + fault, nr_signals);
	check_breakpoint(write, "watchpoint", rounds, nr_signals);
	if (fault)
		printf("add %lu\nload %lu\nstore %lu\n", rounds + 1, rounds + 1, rounds + 1);
	else
		say_loop_counts(rounds);

	return 0;
}
