// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program with breakpoints of its own.
 *
 *	uhook_trap offsets	NAME OFFSET of: trap, a breakpoint; bare, an instruction
 *				that cannot be probed; other, one that can
 *	uhook_trap run		a breakpoint takes the place of the bare one, as a debugger
 *				puts it there; all of them run, between calls of the other
 *
 * A breakpoint must end in one SIGTRAP, at its address, which the handler goes on from.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "uhook_test.h"

#define CALLS	3

extern char trap[], bare[], other[];
void call_trap(void);
void call_bare(void);
void call_other(void);

#if defined(__x86_64__)
#define IP(uc)		((uc)->uc_mcontext.gregs[REG_RIP])
#define TRAP_SIZE	1UL
/* The processor stops behind a breakpoint. */
#define BEHIND		1UL
static const unsigned char breakpoint[] = { 0xcc };
asm(".text\n"
	"call_trap:	nop\n"
	"trap:		int3\n"
	"		ret\n"
	"call_bare:	nop\n"
	"bare:		cli\n"
	"		ret\n"
	"call_other:	nop\n"
	"other:		mov %rsp, %rax\n"
	"		ret\n");
#elif defined(__aarch64__)
#define IP(uc)		((uc)->uc_mcontext.pc)
#define TRAP_SIZE	4UL
#define BEHIND		0UL
static const unsigned char breakpoint[] = { 0xa0, 0x00, 0x20, 0xd4 };
/* BRK of the number that uprobes use. */
asm(".text\n"
	".balign 4\n"
	"call_trap:	nop\n"
	"trap:		brk #5\n"
	"		ret\n"
	"call_bare:	nop\n"
	"bare:		ldxr x0, [sp]\n"
	"		ret\n"
	"call_other:	nop\n"
	"other:		mov x0, sp\n"
	"		ret\n");
#endif

static const char *expected;
static unsigned int traps;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	check(IP(uc) == (unsigned long)expected + BEHIND, "SIGTRAP at 0x%lx, not %p",
	      (unsigned long)IP(uc), expected);
	IP(uc) = (unsigned long)expected + TRAP_SIZE;
	traps++;
}

static void put_breakpoint(char *at)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	char *start = (char *)((unsigned long)at & -page);

	check(!mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC), "mprotect: %m");
	memcpy(at, breakpoint, sizeof(breakpoint));
	__builtin___clear_cache(at, at + sizeof(breakpoint));
	check(!mprotect(start, 2 * page, PROT_READ | PROT_EXEC), "mprotect: %m");
}

static void run_breakpoint(const char *at, void (*call)(void))
{
	unsigned int i;

	traps = 0;
	expected = at;
	for (i = 0; i < CALLS; i++) {
		call_other();
		call();
	}
	check(traps == CALLS, "%u of %u breakpoints have ended in SIGTRAP", traps, CALLS);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	if (!strcmp(mode, "offsets")) {
		printf("trap 0x%lx\nbare 0x%lx\nother 0x%lx\n",
		       (unsigned long)(trap - __executable_start),
		       (unsigned long)(bare - __executable_start),
		       (unsigned long)(other - __executable_start));
		return 0;
	}
	check(!strcmp(mode, "run"), "usage: see the beginning of this file");

	sigaction(SIGTRAP, &sa, NULL);
	/* A breakpoint that is hit again and again ends nowhere else. */
	alarm(60);
	put_breakpoint(bare);
	run_breakpoint(trap, call_trap);
	run_breakpoint(bare, call_bare);
	puts("done");
	return 0;
}
