// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a signal at a chosen instruction of a slot.
 *
 *	uhook_spots offsets		the probed instructions
 *	uhook_spots before ROUNDS	signals before the copy has run
 *	uhook_spots behind ROUNDS	signals between the copy and the jump
 *	uhook_spots self ROUNDS		signals before the copy of a return that returns to
 *					itself ROUNDS times (x86_64)
 *
 * The program finds the slot of a store in tracefs and has perf watch it with a
 * hardware breakpoint, which is a signal in each round.  Either way the handler
 * sees the store done, and it is done once.  Each return is a hit.  Exits with 4 where there
 * are no hardware breakpoints.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "uhook_loop.h"
#include "uhook_watch.h"

#define SLOTS		"/sys/kernel/tracing/uhook/slots"

static unsigned long nr_signals, seen_at;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	nr_signals++;
	seen_at = context_ip(context);
	check(seen_at == (unsigned long)uhook_loop_long, "it is seen at 0x%lx, not at %p", seen_at,
	      uhook_loop_long);
}

/* The slot of a site of this process. */
static unsigned long find_slot(const void *site)
{
	FILE *file = fopen(SLOTS, "r");
	unsigned long addr, slot;
	char line[256];
	int pid;

	check(file, SLOTS ": %s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%d %*s 0x%lx slot 0x%lx", &pid, &addr, &slot) == 3 &&
		    pid == getpid() && addr == (unsigned long)site) {
			fclose(file);
			return slot;
		}
	}
	fail("the site at %p has no slot", site);
}

static void watch(unsigned long addr)
{
	struct perf_event_attr attr = breakpoint_at(addr);

	attr.sample_period = 1;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	if (open_breakpoint(&attr) < 0) {
		perror("perf_event_open");
		exit(UNSUPPORTED);
	}
}

#ifdef __x86_64__
#define MAX_RETURNS	1024
#define HANDLER_ROOM	32768

/* uhook_spots_return(stack): return to each of the addresses there. */
void uhook_spots_return(const void **stack);
extern const char uhook_spots_self[], uhook_spots_end[];

asm(".pushsection .text\n"
	"uhook_spots_return:\n"
	"	movq %rsp, %rdx\n"
	"	movq %rdi, %rsp\n"
	"uhook_spots_self:\n"
	"	ret\n"
	"uhook_spots_end:\n"
	"	movq %rdx, %rsp\n"
	"	ret\n"
	".popsection\n");

static void on_return_trap(int sig, siginfo_t *info, void *context)
{
	const unsigned long ip = context_ip(context);

	nr_signals++;
	check(ip == (unsigned long)uhook_spots_self || ip == (unsigned long)uhook_spots_end,
	      "a return is seen at 0x%lx", ip);
}

static void return_to_itself(unsigned long times)
{
	/* Handlers run below the addresses. */
	static char room[HANDLER_ROOM + (MAX_RETURNS + 1) * sizeof(void *)]
		__attribute__((aligned(16)));
	const void **stack = (const void **)(room + HANDLER_ROOM);
	unsigned long i;

	check(times <= MAX_RETURNS, "it returns at most %d times", MAX_RETURNS);
	for (i = 0; i < times; i++)
		stack[i] = uhook_spots_self;
	stack[i] = uhook_spots_end;
	uhook_spots_return(stack);
}

static void run_self(unsigned long rounds)
{
	struct sigaction sa = { .sa_sigaction = on_return_trap, .sa_flags = SA_SIGINFO };

	/* This makes the slot. */
	return_to_itself(0);
	sigaction(SIGTRAP, &sa, NULL);
	watch(find_slot(uhook_spots_self));
	return_to_itself(rounds);
	check(nr_signals == rounds + 1, "%lu returns have %lu signals", rounds + 1, nr_signals);
	printf("self %lu\n", rounds + 2);
}

static void say_self(void)
{
	say_offset("self", uhook_spots_self);
}
#else
static void run_self(unsigned long rounds) { }
static void say_self(void) { }
#endif

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned long rounds, sum = 0, slot, ret;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_loop_offsets();
		say_self();
		return 0;
	}
	check(argc == 3, "it wants a mode and a number");
	if (!strcmp(argv[1], "self")) {
		run_self(strtoul(argv[2], NULL, 0));
		return 0;
	}

	/* The first round makes the slots. */
	uhook_loop(1, &sum);
	slot = find_slot(uhook_loop_store);
	/* A copy is as long as the original. */
	if (!strcmp(argv[1], "behind"))
		slot += uhook_loop_long - uhook_loop_store;
	sigaction(SIGTRAP, &sa, NULL);
	watch(slot);

	rounds = strtoul(argv[2], NULL, 0);
	ret = uhook_loop(rounds, &sum);
	check(ret == rounds && sum == 1 + rounds, "%lu rounds count %lu and %lu", rounds, ret,
	      sum - 1);
	check(nr_signals == rounds, "%lu rounds have %lu signals", rounds, nr_signals);
	say_loop_counts(1 + rounds);

	return 0;
}
