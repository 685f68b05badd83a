// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: probed instructions that fault.
 *
 *	uhook_faults offsets	the probed instructions
 *	uhook_faults ROUNDS	run all of them, with handlers, and print how often each
 *				was started
 *
 * A handler has to see the fault at the instruction itself with the registers
 * as they were before, whether it repairs the cause and has the instruction run
 * again, or continues after it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "uhook_faults.h"
#include "uhook_loop.h"

/* Registers that the probed instructions use. */
#if defined(__x86_64__)
#define FAULT_ADDRESS(uc)	((uc)->uc_mcontext.gregs[REG_RDI])
#define FAULT_VALUE(uc)		((uc)->uc_mcontext.gregs[REG_RSI])
#elif defined(__aarch64__)
#define FAULT_ADDRESS(uc)	((uc)->uc_mcontext.regs[0])
#define FAULT_VALUE(uc)		((uc)->uc_mcontext.regs[1])
#endif

/* The fault that the handler must see, and its reaction. */
static struct {
	const char *what;
	int sig, code;
	const void *ip;
	const void *address;
	bool (*repair)(ucontext_t *uc);
	unsigned int seen;
} expected;

static char *page, *file_page;
static long page_size;
static unsigned long good_value = 0x1122334455667788;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	unsigned long ip = context_ip(context);

	check(sig == expected.sig && info->si_code == expected.code,
	      "%s: signal %d, code %d", expected.what, sig, info->si_code);
	check(ip == (unsigned long)expected.ip, "%s: at 0x%lx, not at %p", expected.what, ip,
	      expected.ip);
	check(info->si_addr == expected.address, "%s: for %p, not for %p", expected.what,
	      info->si_addr, expected.address);
	check(expected.repair(context), "%s: the registers are not as they were", expected.what);
	expected.seen++;
}

static void expect(const char *what, int sig, int code, const void *ip, const void *address,
		   bool (*repair)(ucontext_t *uc))
{
	expected.what = what;
	expected.sig = sig;
	expected.code = code;
	expected.ip = ip;
	expected.address = address;
	expected.repair = repair;
	expected.seen = 0;
}

static void expect_once(void)
{
	check(expected.seen == 1, "%s: %u faults", expected.what, expected.seen);
}

/* Repairs; each returns whether the registers are as they have to be. */

static bool give_address(ucontext_t *uc)
{
	bool fine = (const void *)FAULT_ADDRESS(uc) == expected.address && FAULT_VALUE(uc) == 77;

	FAULT_ADDRESS(uc) = (unsigned long)&good_value;

	return fine;
}

static bool skip_load(ucontext_t *uc)
{
	bool fine = (const void *)FAULT_ADDRESS(uc) == expected.address && FAULT_VALUE(uc) == 77;

	CONTEXT_IP(uc) = (unsigned long)fault_load_next;

	return fine;
}

static bool allow_store(ucontext_t *uc)
{
	bool fine = FAULT_VALUE(uc) == 78 && *page == 0;

	return fine && !mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

static bool skip_store(ucontext_t *uc)
{
	CONTEXT_IP(uc) = (unsigned long)fault_store_next;

	return FAULT_VALUE(uc) == 79;
}

static bool return_to_caller(ucontext_t *uc)
{
#if defined(__x86_64__)
	unsigned long *sp = (unsigned long *)uc->uc_mcontext.gregs[REG_RSP];

	CONTEXT_IP(uc) = *sp;
	uc->uc_mcontext.gregs[REG_RSP] += sizeof(*sp);
	uc->uc_mcontext.gregs[REG_RAX] = 80;
#elif defined(__aarch64__)
	CONTEXT_IP(uc) = uc->uc_mcontext.regs[30];
	uc->uc_mcontext.regs[0] = 80;
#endif

	return true;
}

static bool allow_walk(ucontext_t *uc)
{
#if defined(__x86_64__)
	bool fine = (char *)uc->uc_mcontext.gregs[REG_RSI] == page;
#elif defined(__aarch64__)
	bool fine = (char *)uc->uc_mcontext.regs[1] == page;
#endif

	return fine && !mprotect(page, page_size, PROT_READ);
}

static void run_memory(void)
{
	expect("a load from NULL", SIGSEGV, SEGV_MAPERR, fault_load, NULL, give_address);
	check(fault_load(NULL, 77) == good_value, "a load that was repaired loads another value");
	expect_once();

	expect("a load to be skipped", SIGSEGV, SEGV_MAPERR, fault_load, (void *)8, skip_load);
	fault_load((void *)8, 77);
	expect_once();

	mprotect(page, page_size, PROT_READ);
	expect("a store to be allowed", SIGSEGV, SEGV_ACCERR, fault_store, page, allow_store);
	check(fault_store(page, 78) == 78 && *page == 78, "a store that was repaired stores %d",
	      *page);
	expect_once();

	mprotect(page, page_size, PROT_READ);
	expect("a store to be skipped", SIGSEGV, SEGV_ACCERR, fault_store, page, skip_store);
	check(fault_store(page, 79) == 79 && *page == 78, "a store that was skipped stores %d",
	      *page);
	expect_once();

	expect("a store behind a file", SIGBUS, BUS_ADRERR, fault_store, file_page, skip_store);
	check(fault_store(file_page, 79) == 79, "a store goes on with another value");
	expect_once();

	mprotect(page, page_size, PROT_NONE);
	expect("a load that moves its pointer", SIGSEGV, SEGV_ACCERR, fault_walk, page, allow_walk);
	check((fault_walk(NULL, (unsigned long)page) & 0xff) == 78, "it loads another value");
	expect_once();

	/* Now it is the jump's target that cannot be run. */
	expect("a jump to nowhere", SIGSEGV, SEGV_MAPERR, (void *)16, (void *)16, return_to_caller);
	check(fault_jump((void *)16, 0) == 80, "after a jump to nowhere it goes on elsewhere");
	expect_once();

	mprotect(page, page_size, PROT_READ | PROT_WRITE);
	*page = 0;
}

#if defined(__x86_64__)
#define STRING	100
#define BEFORE	40

static bool give_divisor(ucontext_t *uc)
{
	bool fine = uc->uc_mcontext.gregs[REG_RAX] == 12 && !FAULT_VALUE(uc);

	FAULT_VALUE(uc) = 3;

	return fine;
}

static bool allow_string(ucontext_t *uc)
{
	bool fine = (char *)uc->uc_mcontext.gregs[REG_RDI] == page &&
		    uc->uc_mcontext.gregs[REG_RCX] == STRING - BEFORE;

	return fine && !mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

/* A non-canonical address is no page fault, and the signal has no address. */
static bool give_any_address(ucontext_t *uc)
{
	FAULT_ADDRESS(uc) = (unsigned long)&good_value;

	return true;
}

static void run_arch(void)
{
	char *start = page - BEFORE;

	expect("a division by zero", SIGFPE, FPE_INTDIV, fault_divide_site, fault_divide_site,
	       give_divisor);
	check(fault_divide((void *)12, 0) == 4, "12 / 3 is not 4 any more");
	expect_once();

	expect("a load from no address at all", SIGSEGV, SI_KERNEL, fault_load, NULL,
	       give_any_address);
	check(fault_load((void *)0x8000000000000000, 77) == good_value, "it loads another value");
	expect_once();

	/* It is writable up to the page. */
	mprotect(page, page_size, PROT_NONE);
	expect("a string that reaches into a page", SIGSEGV, SEGV_ACCERR, fault_string_site, page,
	       allow_string);
	check(fault_string(start, STRING) == (unsigned long)start + STRING, "it ends elsewhere");
	expect_once();
	check(start[0] == 0x5a && start[STRING - 1] == 0x5a && !start[STRING],
	      "the string is not what it has to be");
	memset(start, 0, STRING);
}

static void say_arch_offsets(void)
{
	say_offset("divide", fault_divide_site);
	say_offset("string", fault_string_site);
}

static void say_arch_counts(unsigned long rounds)
{
	/* Two more loads; each string instruction counts again when it is restarted. */
	printf("load %lu\ndivide %lu\nstring %lu\n", 5 * rounds, 2 * rounds, 2 * rounds);
}
#else
static void run_arch(void)
{
}

static void say_arch_offsets(void)
{
}

static void say_arch_counts(unsigned long rounds)
{
	printf("load %lu\n", 3 * rounds);
}
#endif

static void make_pages(void)
{
	int fd = memfd_create("uhook", 0);

	page_size = sysconf(_SC_PAGESIZE);
	page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	file_page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(fd >= 0 && page != MAP_FAILED && file_page != MAP_FAILED, "mmap: %s",
	      strerror(errno));
	page += page_size;
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned long rounds, i;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("load", fault_load);
		say_offset("store", fault_store);
		say_offset("walk", fault_walk);
		say_offset("jump", fault_jump);
		say_arch_offsets();
		return 0;
	}
	check(argc == 2, "it wants a number");

	make_pages();
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	rounds = strtoul(argv[1], NULL, 0);
	for (i = 0; i < rounds; i++) {
		run_memory();
		run_arch();
	}
	say_arch_counts(rounds);
	printf("store %lu\nwalk %lu\njump %lu\n", 4 * rounds, 2 * rounds, rounds);

	return 0;
}
