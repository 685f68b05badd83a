// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program with breakpoints of its own.
 *
 *	uhook_trap offsets	NAME OFFSET of: trap, a breakpoint; long, one of another form,
 *				if there is one; bare, an instruction that cannot be
 *				probed; other, one that can
 *	uhook_trap run		a breakpoint takes the place of the bare one, as a debugger
 *				puts it there; all of them run, between calls of the other
 *	uhook_trap perf		perf's probes are refused at breakpoints, and no others
 *	uhook_trap bpf		so are those of BPF's links; both exit with 4 where there are
 *				no such probes
 *
 * A breakpoint must end in one SIGTRAP, at its address, from which the handler
 * continues. The signal is printed, and must be the same with probes and without.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../bpf_program.h"
#include "uhook_test.h"

#define CALLS		3
#define UNSUPPORTED	4
#define PMU		"/sys/bus/event_source/devices/uprobe/type"

extern char trap[], bare[], other[];
void call_trap(void);
void call_bare(void);
void call_other(void);

#if defined(__x86_64__)
extern char long_trap[];
void call_long(void);

#define NUMBER(uc)	((uc)->uc_mcontext.gregs[REG_TRAPNO])
#define ERROR(uc)	((uc)->uc_mcontext.gregs[REG_ERR])
#define TRAP_SIZE	1UL
#define LONG_SIZE	2UL
/* The processor stops after a breakpoint. */
#define STOPS_BEHIND	1
static const unsigned char breakpoint[] = { 0xcc };
asm(".text\n"
	"call_trap:	nop\n"
	"trap:		int3\n"
	"		ret\n"
	"call_long:	nop\n"
	"long_trap:	.byte 0xcd, 3\n"
	"		ret\n"
	"call_bare:	nop\n"
	"bare:		cli\n"
	"		ret\n"
	"call_other:	nop\n"
	"other:		mov %rsp, %rax\n"
	"		ret\n");
#elif defined(__aarch64__)
#define NUMBER(uc)	((void)(uc), 0LL)
#define ERROR(uc)	((void)(uc), 0LL)
#define TRAP_SIZE	4UL
#define STOPS_BEHIND	0
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
static unsigned long expected_size;
static unsigned int traps;

/* Where it was, by how far that is from the breakpoint. */
static void say_trap(const siginfo_t *info, const ucontext_t *uc)
{
	const char *addr = info->si_addr;

	printf("code %d, address %ld, number %lld, error %lld\n", info->si_code,
	       addr ? (long)(addr - expected) : -1, (long long)NUMBER(uc), (long long)ERROR(uc));
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const unsigned long ip = CONTEXT_IP(uc);

	(void)sig;
	check(ip == (unsigned long)expected + STOPS_BEHIND * expected_size,
	      "SIGTRAP at 0x%lx, not %p", ip, expected);
	say_trap(info, uc);
	CONTEXT_IP(uc) = (unsigned long)expected + expected_size;
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

static void run_breakpoint(const char *at, unsigned long size, void (*call)(void))
{
	unsigned int i;

	traps = 0;
	expected = at;
	expected_size = size;
	for (i = 0; i < CALLS; i++) {
		call_other();
		call();
	}
	check(traps == CALLS, "%u of %u breakpoints have ended in SIGTRAP", traps, CALLS);
}

static void run(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &sa, NULL);
	/* A breakpoint that is hit again and again ends nowhere else. */
	alarm(60);
	put_breakpoint(bare);
	run_breakpoint(trap, TRAP_SIZE, call_trap);
	run_breakpoint(bare, TRAP_SIZE, call_bare);
#ifdef __x86_64__
	run_breakpoint(long_trap, LONG_SIZE, call_long);
#endif
}

static int open_perf(unsigned long offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.uprobe_path = (uintptr_t)"/proc/self/exe",
		.probe_offset = offset,
		.sample_period = 1,
	};
	FILE *type = fopen(PMU, "r");

	if (!type || fscanf(type, "%u", &attr.type) != 1) {
		fprintf(stderr, "perf has no probes in programs\n");
		exit(UNSUPPORTED);
	}
	fclose(type);
	return syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* As linux/bpf.h has it; that of Linux 6.1, which is built with, does not yet. */
#define UPROBE_MULTI	48

struct multi_link {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t unused;
};

#define ENOTSUPP	524	/* of the kernel alone */

static int open_link(unsigned long offset)
{
	const struct bpf_insn insns[] = { SET(BPF_REG_0, 0), EXIT };
	struct multi_link link = {
		.prog_fd = bpf_make_probe_for(UPROBE_MULTI, insns, ARRAY_SIZE(insns)),
		.attach_type = UPROBE_MULTI,
		.path = (uintptr_t)"/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.cnt = 1,
	};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	if (fd < 0 && errno == EOPNOTSUPP) {
		fprintf(stderr, "BPF has no links to programs\n");
		exit(UNSUPPORTED);
	}
	return fd;
}

static void must_refuse(int (*open_at)(unsigned long offset), const char *at, int error)
{
	int fd = open_at(at - __executable_start);

	check(fd < 0 && errno == error, "a probe at offset 0x%lx: %s",
	      (unsigned long)(at - __executable_start), fd < 0 ? strerror(errno) : "accepted");
}

/* A link is refused only because this program runs, by the kernel that finds INT3 or BRK. */
static void try_probes(int (*open_at)(unsigned long offset))
{
	int fd = open_at(other - __executable_start);

	check(fd >= 0, "a probe that is none at a breakpoint: %s", strerror(errno));
	close(fd);
	if (open_at == open_link) {
		must_refuse(open_at, trap, ENOTSUPP);
		return;
	}
	must_refuse(open_at, trap, EINVAL);
#ifdef __x86_64__
	must_refuse(open_at, long_trap, EINVAL);
#endif
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "offsets")) {
		say_offset("trap", trap);
#ifdef __x86_64__
		say_offset("long", long_trap);
#endif
		say_offset("bare", bare);
		say_offset("other", other);
		return 0;
	}
	if (!strcmp(mode, "run"))
		run();
	else if (!strcmp(mode, "perf"))
		try_probes(open_perf);
	else if (!strcmp(mode, "bpf"))
		try_probes(open_link);
	else
		fail("usage: see the beginning of this file");

	puts("done");
	return 0;
}
