// SPDX-License-Identifier: GPL-2.0
/*
 * A C program's view of uhook's gates: recursion, threads, signals
 *
 * A site is a function that only calls a handler and returns its argument, which
 * the handler may have changed. Handlers write to most of their stack and check
 * that it has not changed, which fails if two of them use the same stack at once.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "gate.h"

#define ADDED		1000	/* added to the argument by handlers */
#define THREADS		24
#define CALLS		1000
#define BARE		4
#define DEEP		40000	/* how much of their stack handlers use */

u64 gate_data[UHOOK_DATA_WORDS], gate_missed;
unsigned int gate_stack(const void *here)
{
	const unsigned long stacks = gate_arch.pool + GATE_PAGE;
	const unsigned long number = ((unsigned long)here - stacks) / UHOOK_STACK_SIZE;

	return number < UHOOK_STACKS ? number : UHOOK_STACKS;
}

static u64 owner_of(unsigned int number)
{
	return __atomic_load_n((u64 *)gate_arch.pool + number, __ATOMIC_RELAXED);
}

unsigned int gate_owned(void)
{
	unsigned int i, owned = 0;

	for (i = 0; i < UHOOK_STACKS; i++)
		owned += !!owner_of(i);
	return owned;
}

unsigned long gate_at(bool vectors)
{
	return gate_arch.code + vectors * UHOOK_GATE_SIZE;
}

void gate_set_up(void)
{
	unsigned int i, vectors;

	map_at(gate_arch.code, GATE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map_at(gate_arch.pool, GATE_POOL_SIZE, PROT_READ | PROT_WRITE);
	for (i = 0; i < UHOOK_STACKS; i++)
		mprotect((void *)(gate_arch.pool + GATE_PAGE + i * UHOOK_STACK_SIZE), GATE_PAGE,
			 PROT_NONE);
	for (vectors = 0; vectors < 2; vectors++) {
		const struct uhook_gate gate = gate_of(vectors);
		const int len = uhook_gate_code((u8 *)gate_at(vectors), UHOOK_GATE_SIZE,
						gate_at(vectors), &gate);

		if (len < 0) {
			complain("no gate: %d", len);
			exit(1);
		}
		printf("a gate %s vectors: %d bytes\n", vectors ? "with" : "without", len);
	}
	__builtin___clear_cache((void *)gate_arch.code, (void *)gate_arch.code + GATE_PAGE);
}

int gate_put_call(unsigned long at, bool vectors, gate_handler *handler, unsigned long site)
{
	const struct uhook_call call = {
		.gate = gate_at(vectors), .handler = (unsigned long)handler,
		.data = (unsigned long)gate_data, .missed = (unsigned long)&gate_missed,
		.site = site,
	};
	const int len = uhook_call_code((u8 *)at, UHOOK_CALL_SIZE, at, &call);

	if (len < 0) {
		complain("no call: %d", len);
		exit(1);
	}
	__builtin___clear_cache((void *)at, (void *)at + len);
	return len;
}

static u64 (*site)(u64 arg);

/* The site that all that follows calls. */
static void put_site(gate_handler *handler)
{
	const unsigned long at = gate_arch.code + 2 * UHOOK_GATE_SIZE + 3 * UHOOK_CALL_SIZE;
	const int len = gate_put_call(at, true, handler, at);

	memcpy((void *)at + len, gate_arch.ret, gate_arch.ret_len);
	__builtin___clear_cache((void *)at, (void *)at + 2 * UHOOK_CALL_SIZE);
	site = (gate_site *)at;
	memset(gate_data, 0, sizeof(gate_data));
	gate_missed = 0;
}

static u64 called(void)
{
	return __atomic_load_n(&gate_data[0], __ATOMIC_RELAXED);
}

static void check_sum(const char *what, u64 hits)
{
	printf("%s: %lu hits, %lu called, %lu missed\n", what, (long)hits, (long)called(),
	       (long)gate_missed);
	if (called() + gate_missed != hits)
		complain("%s: %ld are missing", what, (long)(hits - called() - gate_missed));
}

static void check_free(const char *what)
{
	unsigned int i;

	if (gate_owned())
		complain("%s: %u stacks are lost", what, gate_owned());
	for (i = 0; i < UHOOK_STACKS; i++)
		((u64 *)gate_arch.pool)[i] = ((u64 *)gate_arch.pool)[UHOOK_STACKS + i] = 0;
}

/* Which stacks have a handler on them: no two have. */
static unsigned int users[UHOOK_STACKS + 1];

static void enter_stack(volatile u64 *buffer, size_t words, u64 mark)
{
	const unsigned int number = gate_stack((void *)buffer);
	size_t i;

	if (number == UHOOK_STACKS || !owner_of(number))
		complain("not on a stack that is owned: %u", number);
	if (__atomic_fetch_add(&users[number], 1, __ATOMIC_ACQUIRE))
		complain("stack %u has two users", number);
	for (i = 0; i < words; i++)
		buffer[i] = mark + i;
}

static void leave_stack(volatile u64 *buffer, size_t words, u64 mark)
{
	size_t i;

	for (i = 0; i < words; i++) {
		if (buffer[i] != mark + i) {
			complain("stack %u was written to", gate_stack((void *)buffer));
			break;
		}
	}
	__atomic_fetch_sub(&users[gate_stack((void *)buffer)], 1, __ATOMIC_RELEASE);
}

static void count_call(struct uhook_user_regs *regs, u64 *data)
{
	__atomic_fetch_add(&data[0], 1, __ATOMIC_RELAXED);
	*gate_arg(regs) += ADDED;
}

/* The handler calls its own site. */
static void recurse(struct uhook_user_regs *regs, u64 *data)
{
	count_call(regs, data);
	if (site(77) != 77)
		complain("a site in a handler does something");
	if (site(78) != 78)
		complain("so does it again");
}

static void test_recursion(void)
{
	put_site(recurse);
	if (site(5) != 5 + ADDED)
		complain("the site of a handler that recurses");
	if (called() != 1 || gate_missed != 2)
		complain("called %lu, missed %lu", (long)called(), (long)gate_missed);
	check_free("recursion");
}

/* Slow, and with the processor given away in between. */
static void use_stack(struct uhook_user_regs *regs, u64 *data)
{
	u64 buffer[DEEP / sizeof(u64)];
	const u64 mark = *gate_arg(regs) << 32;
	const size_t words = mark >> 32 & 7 ? 16 : sizeof(buffer) / sizeof(*buffer);

	enter_stack(buffer, words, mark);
	if (!(mark >> 32 & 3))
		sched_yield();
	count_call(regs, data);
	leave_stack(buffer, words, mark);
}

static void *call_often(void *data)
{
	const u64 first = (unsigned long)data;
	u64 i, result;

	for (i = 0; i < CALLS; i++) {
		result = site(first + i);
		if (result != first + i && result != first + i + ADDED)
			complain("a thread's call of %lu gives %lu", (long)(first + i),
				 (long)result);
	}
	return NULL;
}

static void run_threads(unsigned int count)
{
	pthread_t threads[THREADS];
	unsigned long i;

	put_site(use_stack);
	for (i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, call_often, (void *)(i << 16)))
			exit(2);
	}
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	check_sum("threads", count * CALLS);
	check_free("threads");
}

static void test_threads(void)
{
	run_threads(4);
	if (gate_missed)
		complain("four threads miss hits");
	run_threads(THREADS);
	/* Whether stacks run out is for the scheduler to say. */
	if (called() < CALLS)
		complain("too few of a kind");
}

/* Threads that have the same word, and one that has none. */
static int call_bare(void *running)
{
	call_often((void *)0x1000);
	__atomic_fetch_sub((int *)running, 1, __ATOMIC_RELEASE);
	return 0;
}

static void see_owner(struct uhook_user_regs *regs, u64 *data)
{
	data[1] = owner_of(gate_stack(&regs));
	data[0]++;
}

static void test_words(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM;
	static char stacks[BARE][65536] __aligned(16);
	int running = BARE;
	unsigned int i;

	put_site(use_stack);
	for (i = 0; i < BARE; i++) {
		if (clone(call_bare, stacks[i + 1], flags, &running) < 0)
			exit(2);
	}
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(10000);
	check_sum("threads that cannot be told apart", BARE * CALLS);
	if (called() < CALLS)
		complain("they are not called");
	check_free("threads that cannot be told apart");

	put_site(see_owner);
	gate_call_bare(site, 1);
	if (gate_data[0] != 1 || gate_data[1] != 1)
		complain("without thread-local storage, the word is %lu", (long)gate_data[1]);
	check_free("without thread-local storage");
}

static sigjmp_buf home;
static unsigned int last_stack;
static volatile bool leaves;

static void go_home(int signal)
{
	siglongjmp(home, signal);
}

/* A handler that is left in the middle, by a signal that it raises. */
static void be_left(struct uhook_user_regs *regs, u64 *data)
{
	u64 buffer[64];

	count_call(regs, data);
	last_stack = gate_stack(buffer);
	if (leaves)
		raise(SIGUSR1);
}

static void set_signal(int number, void (*handler)(int), bool alternate)
{
	static char memory[1 << 16];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = handler };

	sigaltstack(&stack, NULL);
	action.sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0);
	sigaction(number, &action, NULL);
}

static noinline void call_deep(size_t deep)
{
	char *room = alloca(deep);

	memset(room, 0x55, deep);
	asm volatile("" : : "r"(room) : "memory");
	site(1);
	asm volatile("" : : "r"(room) : "memory");
}

static void leave_often(bool alternate, size_t deep)
{
	static unsigned int first, i;

	put_site(be_left);
	set_signal(SIGUSR1, go_home, alternate);
	leaves = true;
	for (i = 0; i < 100; i++) {
		if (!sigsetjmp(home, 1)) {
			call_deep(16 + (deep ? random_next() % deep : 0));
			complain("not left");
		}
		if (!i)
			first = last_stack;
		if (!deep && last_stack != first)
			complain("left again, on stack %u and not %u", last_stack, first);
	}
	printf("left %lu times, missed %lu, %u stacks owned\n", (long)called(),
	       (long)gate_missed, gate_owned());
	if (gate_missed || called() != 100)
		complain("hits are missed when handlers are left");
	if (!deep && gate_owned() != 1)
		complain("%u stacks are owned", gate_owned());
	leaves = false;
	/* Over all marks there are: then each stack is taken at its turn. */
	for (i = 0; i < 4 * UHOOK_STACKS; i++)
		call_deep(1024 + deep);
	check_free("left");
}

static unsigned int looks;

/* Do the kernel's work for the program. */
static void skip_look(int signal, siginfo_t *info, void *context)
{
	unsigned long *ip = gate_ip(context);
	const unsigned long rest = gate_at(true) + UHOOK_GATE_SIZE - *ip;
	const unsigned int by = rest <= UHOOK_GATE_SIZE ?
				uhook_gate_no_mark((const u8 *)*ip, rest) : 0;

	if (!by) {
		complain("signal %d for %p, at %#lx", signal, info->si_addr, *ip);
		_exit(1);
	}
	*ip += by;
	looks++;
}

static void call_it(void)
{
	site(1);
}

/* A handler is left on another stack, which is unmapped then. */
static void test_lost_mark(void)
{
	const struct sigaction action = { .sa_sigaction = skip_look, .sa_flags = SA_SIGINFO };
	const size_t size = 1 << 16;
	ucontext_t other, here;
	struct sigaction old;
	void *stack;

	put_site(be_left);
	set_signal(SIGUSR1, go_home, true);
	sigaction(SIGSEGV, &action, &old);
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || getcontext(&other))
		exit(2);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = size;
	makecontext(&other, call_it, 0);
	leaves = true;
	if (!sigsetjmp(home, 1))
		swapcontext(&here, &other);
	leaves = false;
	munmap(stack, size);

	if (gate_owned() != 1)
		complain("%u stacks are owned by who was left", gate_owned());
	looks = 0;
	if (site(5) != 5 + ADDED || gate_missed || gate_owned())
		complain("a site behind a stack that has gone");
	/* Before the frame word is changed, and after it. */
	if (looks != 2)
		complain("%u looks for a mark", looks);
	check_free("behind a stack that has gone");
	sigaction(SIGSEGV, &old, NULL);
}

static unsigned int inner_stack;
static volatile bool nested;

static void nest(struct uhook_user_regs *regs, u64 *data)
{
	u64 buffer[DEEP / sizeof(u64)];

	count_call(regs, data);
	if (nested) {
		inner_stack = gate_stack(buffer);
		memset(buffer, 0xff, sizeof(buffer));
		asm volatile("" : : "r"(buffer) : "memory");
		return;
	}
	enter_stack(buffer, sizeof(buffer) / sizeof(*buffer), 12345);
	nested = true;
	raise(SIGUSR1);
	nested = false;
	leave_stack(buffer, sizeof(buffer) / sizeof(*buffer), 12345);
	if (inner_stack == gate_stack(buffer))
		complain("a signal uses the stack of the handler it interrupts");
}

static void hit_in_signal(int signal)
{
	const u64 result = site(signal);

	if (result != (u64)signal && result != (u64)signal + ADDED)
		complain("a site in a signal gives %lu", (long)result);
	__atomic_fetch_add(&gate_data[2], 1, __ATOMIC_RELAXED);
}

static void test_nesting(void)
{
	put_site(nest);
	set_signal(SIGUSR1, hit_in_signal, true);
	if (site(9) != 9 + ADDED)
		complain("the site of a handler that is interrupted");
	if (called() != 2 || gate_missed)
		complain("nested: called %lu, missed %lu", (long)called(), (long)gate_missed);
	check_free("nested");

	put_site(nest);
	set_signal(SIGUSR1, hit_in_signal, false);
	inner_stack = UHOOK_STACKS;
	if (site(9) != 9 + ADDED)
		complain("the site of a handler that is interrupted on its stack");
	if (called() != 1 || gate_missed != 1)
		complain("on its stack: called %lu, missed %lu", (long)called(),
			 (long)gate_missed);
	check_free("nested on its stack");
}

static pthread_t target;
static volatile bool stop;

static void *send_signals(void *unused)
{
	while (!stop) {
		pthread_kill(target, SIGUSR1);
		sched_yield();
	}
	return unused;
}

/* Signals come anywhere, and come to the site themselves. */
static void test_signals(bool alternate)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	pthread_t sender;
	u64 i, n = 0, begin = time(NULL);

	put_site(use_stack);
	set_signal(SIGUSR1, hit_in_signal, alternate);
	target = pthread_self();
	stop = false;
	if (pthread_create(&sender, NULL, send_signals, NULL))
		exit(2);
	for (i = 0; (u64)time(NULL) < begin + 2; i++, n++) {
		if (site(i) != i + ADDED)
			complain("a call among signals");
	}
	stop = true;
	pthread_join(sender, NULL);
	nanosleep(&pause, NULL);
	printf("%lu signals\n", (long)gate_data[2]);
	check_sum("signals", n + gate_data[2]);
	if (!gate_data[2])
		complain("too few signals");
	check_free("signals");
}

/* Functions that a compiler makes, and that may be copied. */
#define HANDLER(name)							\
	static noinline __attribute__((used, section("gate_" #name)))		\
	void name(struct uhook_user_regs *regs, u64 *data)

HANDLER(sum)
{
	__atomic_fetch_add(&data[0], *gate_arg(regs), __ATOMIC_RELAXED);
}

HANDLER(highest)
{
	const u64 value = *gate_arg(regs);
	u64 old = __atomic_load_n(&data[1], __ATOMIC_RELAXED);

	while (value > old &&
	       !__atomic_compare_exchange_n(&data[1], &old, value, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

HANDLER(histogram)
{
	u64 value = *gate_arg(regs);
	unsigned int bit = 0;

	while (value > 1 && bit < UHOOK_DATA_WORDS - 1) {
		value >>= 3;
		bit++;
	}
	data[bit]++;
}

HANDLER(branches)
{
	const u64 value = *gate_arg(regs);

	if (value % 7 == 3)
		data[2] += value / 3;
	else if (value > 1000 || !value)
		data[3] ^= value * 0x9e3779b97f4a7c15;
	else
		data[4] = data[5] ? data[4] / data[5] : regs->sp;
	*gate_arg(regs) = value * 5 + 1;
}

static void check_handler(const char *name, const void *begin, const void *end, gate_handler *f)
{
	const size_t len = end - begin;
	const unsigned long to = gate_arch.code + 3 * UHOOK_GATE_SIZE;
	struct uhook_user_regs regs = {}, copied = {};
	u64 data[UHOOK_DATA_WORDS] = {}, seen[UHOOK_DATA_WORDS] = {};
	const int ret = uhook_check_code(begin, len);
	u64 i;

	if (ret) {
		complain("%s, of %zu bytes, is refused: %d", name, len, ret);
		return;
	}
	if (uhook_check_code(begin, len - 4) != -EINVAL)
		complain("%s is not refused without its end", name);
	memcpy((void *)to, begin, len);
	__builtin___clear_cache((void *)to, (void *)to + len);
	for (i = 0; i < 100; i++) {
		*gate_arg(&regs) = *gate_arg(&copied) = i * i * i;
		f(&regs, data);
		((gate_handler *)to)(&copied, seen);
		if (memcmp(data, seen, sizeof(data)) || memcmp(&regs, &copied, sizeof(regs)))
			complain("%s does something else as a copy", name);
	}
}

#define CHECK_HANDLER(name)						\
	do {								\
		extern const char __start_gate_##name[], __stop_gate_##name[]; \
									\
		check_handler(#name, __start_gate_##name, __stop_gate_##name, name); \
	} while (0)

static void test_checks(void)
{
	static char zero[1 << 16];
	const struct gate_case *one;
	unsigned int n = 0;

	for (one = gate_arch.cases; one->name; one++, n++) {
		const int ret = uhook_check_code(one->bytes, one->len);

		if (ret != one->ret)
			complain("%s: %d and not %d", one->name, ret, one->ret);
	}
	printf("%u cases of code\n", n);
	if (uhook_check_code(zero, 0) != -EINVAL || uhook_check_code(zero, 1 << 16) != -EINVAL)
		complain("a length is not refused");
	CHECK_HANDLER(sum);
	CHECK_HANDLER(highest);
	CHECK_HANDLER(histogram);
	CHECK_HANDLER(branches);
}

/* Errors, and that nothing is written beyond the size. */
static void test_errors(void)
{
	struct uhook_gate gate = gate_of(true);
	struct uhook_call call = { .gate = gate_arch.code };
	u8 code[UHOOK_GATE_SIZE + 1];
	int len, i, ret;

	len = uhook_gate_code(code, UHOOK_GATE_SIZE, gate_arch.code, &gate);
	for (i = 0; i <= len; i++) {
		memset(code, 0xa5, sizeof(code));
		ret = uhook_gate_code(code, i, gate_arch.code, &gate);
		if (ret != (i < len ? -ENOSPC : len) || code[i] != 0xa5)
			complain("a gate of %d bytes: %d", i, ret);
	}
	gate.pool += 1UL << 40;
	if (uhook_gate_code(code, UHOOK_GATE_SIZE, gate_arch.code, &gate) != -ERANGE)
		complain("a pool that is far away");
	len = uhook_call_code(code, UHOOK_CALL_SIZE, gate_arch.code + 64, &call);
	printf("a call: %d bytes\n", len);
	for (i = 0; i <= len; i++) {
		memset(code, 0xa5, sizeof(code));
		ret = uhook_call_code(code, i, gate_arch.code + 64, &call);
		if (ret != (i < len ? -ENOSPC : len) || code[i] != 0xa5)
			complain("a call of %d bytes: %d", i, ret);
	}
	call.gate += 1UL << 40;
	if (uhook_call_code(code, UHOOK_CALL_SIZE, gate_arch.code, &call) != -ERANGE)
		complain("a gate that is far away");
}

void gate_test(void)
{
	unsigned int i;

	test_errors();
	test_checks();
	test_recursion();
	test_nesting();
	leave_often(false, 0);
	leave_often(true, 0);
	leave_often(false, 8192);
	leave_often(true, 8192);
	test_lost_mark();
	test_threads();
	/* They seldom come to the same stack at the very moment. */
	for (i = 0; i < 20; i++)
		test_words();
	test_signals(false);
	test_signals(true);
}
