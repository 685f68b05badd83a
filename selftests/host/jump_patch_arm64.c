// SPDX-License-Identifier: GPL-2.0
/*
 * An arm64 program that patches itself as uhook would
 *
 * A static arm64 program for qemu-aarch64. It has functions with a site each, of
 * each kind of instruction that functions begin with or branch with. Their results
 * are noted; then a jump to a body that counts is written over the site, and
 * removed. The results must stay the same, the count must be the number of calls,
 * with four threads as well, and the text must be restored. Then the same with all
 * sites at once, and with every instruction of a compiled function.
 *
 * Usage: jump-patch-arm64 [-s SEED]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/uhook_code.h>
#include "common.h"
#include "jump_arm64.h"
#include "uhook_code.h"

#define WORD		4
#define PAGE		4096UL
#define CALLS		1000
#define THREADS		4
#define THREAD_CALLS	20000

/* Code, followed by counters: near the text, which is at 0x400000. */
#define BODIES		0x4000000UL
#define BODIES_SIZE	0x10000UL
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)

#define PROBES_MAX	64

/* Every instruction of this function is patched. */
static __section("compiled_text") uint64_t compiled(uint64_t a, uint64_t b)
{
	static const uint32_t table[] = { 7, 11, 13, 17, 19, 23, 29, 31 };
	uint64_t memory[8] = {};
	unsigned int i;

	for (i = 0; i < 8; i++) {
		/* The compiler must really store and load it. */
		asm volatile("" : : "r"(memory) : "memory");
		switch (a >> i & 7) {
		case 0:
			b = b * 31 + table[i];
			break;
		case 1:
		case 2:
			memory[i] = b ^ a;
			break;
		case 3:
			a += strlen("abc" + (b & 1));
			break;
		case 4:
			b /= (a & 0xff) + 1;
			break;
		default:
			if ((int64_t)a < (int64_t)b)
				a ^= memory[7 - i];
			else
				b -= a >> 3;
		}
		memory[i] += a;
	}
	return a ^ b ^ memory[b & 7];
}

static uint64_t arguments[CALLS][2], results[PROBES_MAX][CALLS];
static size_t probes;

static void expect(const char *what, const char *name, uint64_t is, uint64_t should)
{
	if (is != should)
		complain("%s: %s: %lx, and not %lx", name, what, is, should);
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* As the kernel does: write the whole word, then make it visible to all threads. */
static void patch(uint32_t *site, const u8 *bytes)
{
	void *page = (void *)((unsigned long)site & -PAGE);
	uint32_t word;

	memcpy(&word, bytes, WORD);
	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect");
	__atomic_store_n(site, word, __ATOMIC_RELEASE);
	__builtin___clear_cache((void *)site, (void *)(site + 1));
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		die("mprotect");
}

static unsigned long body_of(unsigned int i)
{
	return BODIES + i * UHOOK_BODY_SIZE;
}

static unsigned long cell_of(unsigned int i)
{
	return BODIES + BODIES_SIZE + i * sizeof(uint64_t);
}

/* Sum of all lanes of a counter, which are reset. */
static uint64_t take_count(unsigned int i)
{
	uint64_t sum = 0;
	unsigned int lane;

	for (lane = 0; lane < UHOOK_LANES; lane++) {
		uint64_t *cell = (uint64_t *)(cell_of(i) + lane * UHOOK_LANE_SIZE);

		sum += *cell;
		*cell = 0;
	}
	return sum;
}

/* Write body number @i and the jump to it; false if the site cannot have a jump. */
static bool install(unsigned int i, const char *name, uint32_t *site, bool lse,
		    struct uhook_jump *jump)
{
	unsigned long body = body_of(i), at = (unsigned long)site;
	struct uhook_targets targets;
	u8 code[UHOOK_BODY_SIZE];
	struct uhook_copy copy;
	int n;

	if (uhook_is_atomic(site - 16, 16 * WORD))
		return false;
	if (uhook_jump_targets(at, (u8 *)site, WORD, &targets) ||
	    body < targets.first || body > targets.last) {
		expect("targets", name, body, at);
		return false;
	}
	n = uhook_make_count(code, sizeof(code), body, cell_of(i), lse);
	if (n < 0 || uhook_relocate_branch(site, WORD, at, body + n, &copy) ||
	    n + copy.len > sizeof(code))
		return false;
	memcpy(code + n, copy.bytes, copy.len);
	memcpy((void *)body, code, n + copy.len);
	__builtin___clear_cache((void *)body, (void *)body + n + copy.len);
	if (uhook_make_jump(at, (u8 *)site, WORD, body, jump))
		return false;
	patch(site, jump->bytes);
	return true;
}

static void call_all(const struct probed *p, const uint64_t *should)
{
	function *call = p->call;
	unsigned int i;

	/* Call the text: the compiler must not inline it. */
	OPTIMIZER_HIDE_VAR(call);
	for (i = 0; i < CALLS; i++)
		expect("the result", p->name, call(arguments[i][0], arguments[i][1]), should[i]);
}

static void *call_often(void *data)
{
	const struct probed *p = data;
	const uint64_t *should = results[p - probed];
	unsigned long different = 0;
	unsigned int i;

	for (i = 0; i < THREAD_CALLS; i++) {
		const uint64_t *a = arguments[i % CALLS];

		different += p->call(a[0], a[1]) != should[i % CALLS];
	}
	return (void *)different;
}

static void call_threads(const struct probed *p)
{
	pthread_t threads[THREADS];
	unsigned int i;
	void *different;

	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, call_often, (void *)p))
			die("pthread_create");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &different);
		expect("results in a thread", p->name, (unsigned long)different, 0);
	}
}

static void test_one(const struct probed *p, bool lse)
{
	uint64_t *should = results[p - probed];
	uint32_t original = *p->site;
	struct uhook_jump jump;

	if (!install(0, p->name, p->site, lse, &jump)) {
		expect("the jump", p->name, 0, 1);
		return;
	}
	call_all(p, should);
	expect("the count", p->name, take_count(0), CALLS);
	call_threads(p);
	expect("the count of threads", p->name, take_count(0), THREADS * THREAD_CALLS);

	patch(p->site, jump.before);
	expect("the text afterwards", p->name, *p->site, original);
	call_all(p, should);
	expect("the count afterwards", p->name, take_count(0), 0);
}

static void test_all(void)
{
	struct uhook_jump jumps[PROBES_MAX];
	unsigned int i;

	for (i = 0; i < probes; i++) {
		if (!install(i, probed[i].name, probed[i].site, i & 1, &jumps[i]))
			expect("the jump", probed[i].name, 0, 1);
	}
	for (i = 0; i < probes; i++)
		call_all(&probed[i], results[i]);
	for (i = 0; i < probes; i++) {
		expect("the count", probed[i].name, take_count(i), CALLS);
		patch(probed[i].site, jumps[i].before);
	}
}

static void call_compiled(const uint64_t *should)
{
	const struct probed p = { .call = compiled, .name = "compiled" };

	call_all(&p, should);
}

/*
 * Each instruction alone, and then all that can be at once: each must be counted as
 * often as it was alone.
 */
static void test_compiled(void)
{
	static uint64_t should[CALLS], alone[BODIES_SIZE / UHOOK_BODY_SIZE];
	static struct uhook_jump jumps[BODIES_SIZE / UHOOK_BODY_SIZE];
	unsigned int i, n = __stop_compiled_text - __start_compiled_text, refused = 0, reached = 0;
	uint64_t returns = 0;
	uint32_t *text = __start_compiled_text;

	for (i = 0; i < CALLS; i++)
		should[i] = compiled(arguments[i][0], arguments[i][1]);
	for (i = 0; i < n; i++) {
		jumps[i].len = 0;
		if (!install(0, "compiled", text + i, i & 1, &jumps[i])) {
			refused++;
			continue;
		}
		call_compiled(should);
		alone[i] = take_count(0);
		reached += !!alone[i];
		returns += jumps[i].before[3] == 0xd6 ? alone[i] : 0;
		patch(text + i, jumps[i].before);
	}
	for (i = 0; i < n; i++) {
		if (jumps[i].len)
			install(i, "compiled", text + i, i & 1, &jumps[i]);
	}
	call_compiled(should);
	for (i = 0; i < n; i++) {
		if (!jumps[i].len)
			continue;
		expect("the count", "compiled", take_count(i), alone[i]);
		patch(text + i, jumps[i].before);
	}
	call_compiled(should);
	expect("the count of its begin", "compiled", alone[0], CALLS);
	expect("the count of its return", "compiled", returns, CALLS);
	printf("%u instructions of a function patched, %u of them reached, %u refused\n",
	       n - refused, reached, refused);
	if (n - refused < 50 || reached < 40 || refused > n / 20)
		expect("how many were patched", "compiled", n - refused, n);
}

int main(int argc, char **argv)
{
	struct uhook_jump jump;
	unsigned int i, j;

	read_options(argc, argv, "");
	probes = probed_end - probed;
	if (probes > PROBES_MAX)
		return 2;
	alarm(300);
	map_at(BODIES, BODIES_SIZE + LANES_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (i = 0; i < CALLS; i++) {
		arguments[i][0] = random_next() >> (random_next() & 63);
		arguments[i][1] = random_next() >> (random_next() & 63);
	}
	for (i = 0; i < probes; i++) {
		for (j = 0; j < CALLS; j++)
			results[i][j] = probed[i].call(arguments[j][0], arguments[j][1]);
	}

	for (i = 0; i < probes; i++) {
		test_one(&probed[i], true);
		test_one(&probed[i], false);
	}
	test_all();
	test_compiled();
	expect("a jump", "between exclusives", install(0, "", between, true, &jump), 0);
	expect("a site", "behind exclusives",
	       uhook_is_atomic(exclusives, (behind - exclusives) * WORD), 0);
	printf("%zu functions\n", probes);
	return verdict();
}
