/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: definitions shared by the programs of its tests.
 *
 * Each checks itself: it behaves the same with probes and without, and reports
 * failures on its standard error.  They are linked statically, and not to
 * any address: the global offset table of arm64 has one entry for all the local
 * symbols of a section.
 */
#ifndef _UHOOK_TEST_H
#define _UHOOK_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define fail(fmt, ...)							\
	do {								\
		fprintf(stderr, "%s:%d: " fmt "\n", __FILE__, __LINE__,	\
			##__VA_ARGS__);					\
		_exit(1);						\
	} while (0)

#define check(cond, fmt, ...)						\
	do {								\
		if (!(cond))						\
			fail(fmt, ##__VA_ARGS__);			\
	} while (0)

/* The program counter in a ucontext_t. */
#if defined(__x86_64__)
#define CONTEXT_IP(uc)	((uc)->uc_mcontext.gregs[REG_RIP])
#elif defined(__aarch64__)
#define CONTEXT_IP(uc)	((uc)->uc_mcontext.pc)
#endif

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A function or a place that a program has in assembly. */
#define UHOOK_FUNCTION(name) extern long name(long arg)
#define UHOOK_LABEL(name) extern const char name[]

UHOOK_LABEL(__executable_start);

/* Say where in the program's file a probe goes. */
static inline void say_offset(const char *name, const void *addr)
{
	printf("%s 0x%lx\n", name, (long)((const char *)addr - __executable_start));
}

/*
 * A timer whose signals interrupt the program. The handler, or the program when it has made
 * progress, starts it for the next signal: with a periodic timer, a program whose handler takes
 * longer than the period would make no progress.
 */
static volatile unsigned int uhook_alarm_us;

static inline void next_alarm(void)
{
	const struct itimerval timer = { .it_value.tv_usec = uhook_alarm_us };

	check(!setitimer(ITIMER_REAL, &timer, NULL), "no timer");
}

/* Start the timer with this period in microseconds; 0 stops it. */
static inline void set_alarms(unsigned int us)
{
	uhook_alarm_us = us;
	next_alarm();
}

/* The state of pick(), not 0 */
static unsigned long uhook_seed;

/* A number from 0 to n - 1; with the same seed, they are the same in each run. */
static inline unsigned int pick(unsigned int n)
{
	uhook_seed ^= uhook_seed << 13;
	uhook_seed ^= uhook_seed >> 7;
	uhook_seed ^= uhook_seed << 17;
	return (uhook_seed >> 11) % n;
}

#endif /* _UHOOK_TEST_H */
