// SPDX-License-Identifier: GPL-2.0
/*
 * The bodies of a process in threads: their code, the kernel that makes it, and its readers
 *
 * Usage: race-bodies [-s SEED] [-r ROUNDS] [-l]
 *
 * With -l, one recorder is late, and nothing else is tried.
 *
 * Each round is a process. Its threads hit sites: the first hit makes the body, with the
 * kernel's own code, and all of them run it, as the program does: each body counts, records
 * for none, one or two hooks, executes the instruction of the site and returns. One thread
 * does the work of bodies in C, so that ThreadSanitizer knows of its accesses, too.
 * Meanwhile other threads read the rings and the counters of all processes, translate
 * addresses of bodies, and exchange hooks for others; then the process ends among them.
 *
 * Each hit must be counted once, by the time that it is over, and be recorded or counted as
 * lost, for each of its hooks; the records of a thread are those of its calls, in order.
 * Some entries are never completed, like those of a killed task, and must be given up. Each
 * address in a body is translated to its site, or to the next instruction.
 */
#undef __KERNEL__
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "race.h"
#define __KERNEL__
#include <linux/uhook_hooks.h>
#include <kernel/uhook/areas.h>
#include <kernel/uhook/consumers.h>
#include <kernel/uhook/data.h>
#include <kernel/uhook/events.h>
#include <kernel/uhook/life.h>
#include <kernel/uhook/rings.h>
#include <kernel/uhook/sets.h>
#include <kernel/uhook/slots.h>
#include <kernel/uhook/sums.h>
#include <kernel/uhook/translate.h>

#define TEXT		0x20000000UL
#define SITE_SIZE	16
#define SITES		300
#define CALLERS		4
#define CALLS		16000
#define ROUNDS_MAX	1000
/* One of so many entries is never completed. */
#define ABANDONED	2000

/* mov %edi,%eax; ret */
static const u8 site_code[SITE_SIZE] = { 0x89, 0xf8, 0xc3 };
#define SITE_INSN	2
#define SITE_RET	2

typedef u32 site_call(u64 who, u64 i, u64 a, u64 b, u64 c, u64 d);

/* Hooks: the last two record, and take the place of the first two for some time. */
enum { FIRST, SECOND, COUNT, FIRST_AGAIN, SECOND_AGAIN, HOOKS };

/* The area of a body has a ring of its own. */
#define AREAS		4

/**
 * struct site - an instruction with hooks
 * @body: address of its body, or 0
 * @area: number of the area of the body
 */
struct site {
	unsigned long body;
	unsigned int area;
};

/**
 * struct caller - a thread of a process
 * @thread: the thread
 * @next: minimum number of the call in the next record, for each hook and ring
 * @calls: number of calls of sites, for each of their sets of hooks
 */
struct caller {
	pthread_t thread;
	u64 next[HOOKS][AREAS];
	unsigned long calls[3];
};

struct uprobe {
	unsigned int nr;
	struct uhook_consumer consumers[2];
};

static struct uhook_ops hooks[HOOKS];
static struct uhook_attachment attachments[HOOKS];
/* The hooks of the sites: two recorders, one recorder, a counter. */
static struct uprobe uprobes[2][3];
static unsigned int exchanged;
static struct site sites[SITES];
static struct caller callers[ROUNDS_MAX * CALLERS];
static struct task_struct task;
static struct mm_struct *mm;
static unsigned long recorded[HOOKS], abandoned, counted, running;
static bool over;
static unsigned long late, held;

/*
 * Functions of other files of the kernel.
 */
unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip)
{
	(void)um;
	(void)ip;
	return 0;
}

unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip)
{
	(void)um;
	(void)ip;
	return 0;
}

void uhook_put_handlers(struct uhook_mm *um)
{
	uhook_fold_data(um);
}

void uhook_free_spans(struct uhook_mm *um)
{
	(void)um;
}

void uhook_begin_reading(struct uhook_mm *um)
{
	um->reading++;
}

void uhook_end_reading(struct uhook_mm *um)
{
	(void)um;
}

void uhook_say_who(struct uhook_mm *um, unsigned long thread, struct uhook_record *record)
{
	record->pid = thread;
	record->tgid = um->tgid;
}

u64 uhook_stamp_age(u64 stamp, u64 now)
{
	(void)stamp;
	(void)now;
	return 0;
}

bool uhook_can_record(const struct task_struct *t)
{
	(void)t;
	return true;
}

void uhook_fail(const struct uhook_ops *ops, enum uhook_error error, const char *format, ...)
{
	complain("%s is refused: %s (%d)", ops->name, format, error);
}

int uhook_register_number(unsigned int offset)
{
	return offset;
}

struct uhook_ops *uhook_consumer_ops(struct uprobe_consumer *uc)
{
	return container_of(uc, struct uhook_consumer, uc)->attachment->ops;
}

struct uhook_counter *uhook_consumer_counter(struct uprobe_consumer *uc)
{
	return container_of(uc, struct uhook_consumer, uc)->attachment->counter;
}

bool uprobe_find_consumer(struct uprobe *uprobe,
			  bool (*match)(struct uprobe_consumer *uc, void *data), void *data)
{
	unsigned int i;

	for (i = 0; i < uprobe->nr; i++) {
		if (match(&uprobe->consumers[i].uc, data))
			return true;
	}
	return false;
}

/*
 * The hooks.
 */
static void take_record(struct uhook_ops *ops, const struct uhook_record *record)
{
	const u64 *args = record->args, who = args[0], i = args[1];
	const unsigned int hook = ops - hooks;
	u64 *next;

	if (who >= ARRAY_SIZE(callers) || i >= CALLS || args[2] != ~i || args[3] != (who ^ i) ||
	    args[4] != i * 3 || args[5] != -who) {
		complain("a record of %lu: call %lu, %lx %lx %lx %lx", (long)who, (long)i,
			 (long)args[2], (long)args[3], (long)args[4], (long)args[5]);
		return;
	}
	next = &callers[who].next[hook][READ_ONCE(sites[i * 7 % SITES].area)];
	if (i < *next && !late)
		complain("call %lu of %lu again, or late", (long)i, (long)who);
	if (record->site != TEXT + i * 7 % SITES * SITE_SIZE)
		complain("call %lu was at %lx", (long)i, record->site);
	*next = i + 1;
	recorded[hook]++;
}

static void add_consumer(struct uprobe *uprobe, unsigned int hook)
{
	uprobe->consumers[uprobe->nr++].attachment = attachments + hook;
}

static void make_hooks(void)
{
	/* Of the arguments of a function. */
	static const unsigned int regs[] = { 7, 6, 2, 1, 8, 9 };
	unsigned int i;

	for (i = 0; i < HOOKS; i++) {
		hooks[i].record = take_record;
		hooks[i].user = i == COUNT ? UHOOK_USER_COUNT : UHOOK_USER_RECORD;
		hooks[i].nr_regs = UHOOK_RECORD_ARGS;
		memcpy(hooks[i].regs, regs, sizeof(regs));
		attachments[i].ops = hooks + i;
		attachments[i].counter = uhook_make_counter(hooks + i, i == COUNT ?
							    &uhook_count_kind :
							    &uhook_record_kind, 1);
	}
	for (i = 0; i < 2; i++) {
		add_consumer(&uprobes[i][0], i ? FIRST_AGAIN : FIRST);
		add_consumer(&uprobes[i][0], i ? SECOND_AGAIN : SECOND);
		add_consumer(&uprobes[i][1], i ? FIRST_AGAIN : FIRST);
		add_consumer(&uprobes[i][2], COUNT);
	}
}

/*
 * The process.
 */
static unsigned long make_body(unsigned int nr)
{
	struct uhook_mm *um = uhook_get_mm();
	struct site *site = sites + nr;
	struct uhook_wanted wanted = {
		.site = TEXT + nr * SITE_SIZE, .insn = (void *)(TEXT + nr * SITE_SIZE),
		.size = SITE_SIZE, .kind = nr % 3 == 2 ? UHOOK_BODIES : UHOOK_LONG_BODIES,
	};
	enum uhook_verdict verdict;
	unsigned int area;
	unsigned long addr;

	mutex_lock(&um->lock);
	mmap_write_lock_killable(mm);
	addr = site->body;
	if (!addr) {
		wanted.set = uhook_make_set(&uprobes[exchanged][nr % 3], mm);
		verdict = uhook_take_slot(um, &wanted, &addr);
		if (verdict) {
			complain("site %u has no body: %d", nr, verdict);
			exit(1);
		}
		uhook_put_set(wanted.set);
		for (area = 0; addr - um->areas[area]->vaddr >= UHOOK_CODE_SIZE;)
			area++;
		WRITE_ONCE(site->area, area % AREAS);
		/* As make_body() of the kernel does. */
		__atomic_store_n(&site->body, addr, __ATOMIC_RELEASE);
	}
	mmap_write_unlock(mm);
	mutex_unlock(&um->lock);
	return addr;
}

/* The first access to a page of the kernel's mappings. */
static void handle_fault(int signal, siginfo_t *info, void *data)
{
	(void)data;
	if (!current || !current->mm || !race_fault((unsigned long)info->si_addr)) {
		static const char text[] = "race-bodies: an access to memory that is not there\n";

		if (write(2, text, sizeof(text) - 1))
			_exit(128 + signal);
	}
}

/* The address at which the kernel has a word of the program, which touches it first. */
static void *kernel_address(struct uhook_mm *um, struct uhook_area *area, unsigned long at)
{
	unsigned int i = 0;

	while (um->areas[i] != area)
		i++;
	if (!uhook_data_at(um->data[i], at))
		race_fault(area->vaddr + UHOOK_CODE_SIZE + at);
	return uhook_data_at(um->data[i], at);
}

static void count(unsigned long *cell)
{
	__atomic_fetch_add(cell, 1, __ATOMIC_RELAXED);
}

/* The begin of a recorder, as uhook_ring.h describes it; NULL if the record is lost. */
static struct uhook_ring_entry *take_entry(struct uhook_mm *um, struct uhook_area *area,
					   u64 *head)
{
	struct uhook_ring *ring = kernel_address(um, area, UHOOK_RING_AT);
	struct uhook_ring_entry *entry;

	*head = READ_ONCE(ring->head);
	do {
		const s64 ahead = *head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

		if (ahead >= UHOOK_RING_ENTRIES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&ring->head, head, *head + 1, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	entry = kernel_address(um, area, UHOOK_RING_AT + PAGE_SIZE +
			       *head % UHOOK_RING_ENTRIES * sizeof(*entry));
	return READ_ONCE(entry->turn) == *head / UHOOK_RING_ENTRIES ? entry : NULL;
}

static void fill_entry(struct uhook_ring_entry *entry, u32 id, const u64 *args, size_t size)
{
	entry->time = 1;
	entry->thread = 1;
	entry->id = id;
	entry->unused = 0;
	entry->sp = 1;
	memcpy(entry->args, args, size);
}

static void record_in_c(struct uhook_mm *um, struct uhook_area *area, u32 id,
			unsigned long *lost, const u64 *args)
{
	u64 head;
	struct uhook_ring_entry *entry = take_entry(um, area, &head);

	if (!entry) {
		count(lost);
		return;
	}
	/* A task may be killed here. */
	if (!(random() % ABANDONED)) {
		count(&abandoned);
		return;
	}
	fill_entry(entry, id, args, sizeof(entry->args));
	__atomic_store_n(&entry->seq, head + 1, __ATOMIC_RELEASE);
}

static u32 run_in_c(unsigned long body, const u64 *args)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	struct uhook_area *area = uhook_area_at(um, body);
	unsigned int nr = (body - area->vaddr) / uhook_slot_size(area->kind), i;
	const struct uhook_slot *slot;
	const struct uhook_set *set;
	struct uhook_cells *cells;

	count(kernel_address(um, area, args[1] % UHOOK_LANES * UHOOK_LANE_SIZE +
			     nr * sizeof(u64)));
	rcu_read_lock();
	set = rcu_dereference(uhook_body_at(um, body, &slot)->set);
	for (i = 0; i < set->nr && area->kind == UHOOK_LONG_BODIES; i++) {
		cells = kernel_address(um, area, UHOOK_CELLS_AT + (nr * UHOOK_BODY_CELLS + i) *
				       sizeof(*cells));
		record_in_c(um, area, UHOOK_RECORDER_ID(nr, i), &cells->lost, args);
	}
	rcu_read_unlock();
	return args[0];
}

static void *call_sites(void *data)
{
	struct caller *caller = data;
	const u64 who = caller - callers;
	u64 i;

	current = &task;
	this_cpu = who % CALLERS;
	for (i = 0; i < CALLS; i++) {
		const u64 args[] = { who, i, ~i, who ^ i, i * 3, -who };
		const unsigned int nr = i * 7 % SITES;
		unsigned long body = __atomic_load_n(&sites[nr].body, __ATOMIC_ACQUIRE);
		u32 result;

		if (!body)
			body = make_body(nr);
		if (this_cpu)
			result = ((site_call *)body)(args[0], args[1], args[2], args[3], args[4],
						     args[5]);
		else
			result = run_in_c(body, args);
		if (result != (u32)who)
			complain("the instruction has not run");
		caller->calls[nr % 3]++;
		if (nr % 3 == 2)
			__atomic_fetch_add(&counted, 1, __ATOMIC_RELEASE);
		if (!(i % 1024))
			usleep(random() % 1000);
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Exchange hooks for others with the same work: bodies are adopted. */
static void exchange(void)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	unsigned int i;

	if (!um)
		return;
	mutex_lock(&um->lock);
	mmap_write_lock_killable(mm);
	exchanged ^= 1;
	for (i = 0; i < SITES; i++)
		WRITE_ONCE(sites[i].body, 0);
	mmap_write_unlock(mm);
	mutex_unlock(&um->lock);
}

/* As an interrupt does, which may find any instruction pointer. */
static void *translate(void *unused)
{
	unsigned long ip, addr, at;
	const struct uhook_mm *um;
	unsigned int i = 0;

	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		um = uhook_mm_of(mm);
		if (!um || !__atomic_load_n(&um->nr_areas, __ATOMIC_ACQUIRE))
			continue;
		i = (i + 1) % __atomic_load_n(&um->nr_areas, __ATOMIC_ACQUIRE);
		ip = um->areas[i]->vaddr + random() % UHOOK_CODE_SIZE;
		if (uhook_translate(um, ip, &addr) == UHOOK_ELSEWHERE)
			continue;
		at = (addr - TEXT) % SITE_SIZE;
		if (addr - TEXT >= SITES * SITE_SIZE || (at && at != SITE_INSN))
			complain("%lx is translated to %lx", ip, addr);
	}
	return unused;
}

static void begin_process(void)
{
	mm = calloc(1, sizeof(*mm));
	pthread_rwlock_init(&mm->mmap_lock, NULL);
	mm->task_size = 0x7ffffffff000;
	mm->start_stack = mm->task_size;
	mm->start_brk = 0x40000000;
	mm->brk = mm->start_brk;
	WRITE_ONCE(mm->mm_users.counter, 1);
	task.mm = mm;
	memset(sites, 0, sizeof(sites));
}

static void end_process(void)
{
	WRITE_ONCE(mm->mm_users.counter, 0);
	race_exit(mm);
	uhook_free_mm(mm);
	free(mm);
}

static void run_process(unsigned int round)
{
	struct caller *mine = callers + round * CALLERS;
	pthread_t translator;
	unsigned int i;

	begin_process();
	running = CALLERS;
	for (i = 0; i < CALLERS; i++)
		pthread_create(&mine[i].thread, NULL, call_sites, mine + i);
	pthread_create(&translator, NULL, translate, NULL);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		exchange();
		usleep(3000);
	}
	for (i = 0; i < CALLERS; i++)
		pthread_join(mine[i].thread, NULL);
	pthread_join(translator, NULL);
	end_process();
}

/*
 * A recorder is interrupted for long before it fills its entry, in a signal handler for
 * example. The entry is given up, and is that of another hit when the recorder goes on; the
 * kernel reads it while the recorder has stored some of its words.
 */
static void run_late(void)
{
	/* The site of call 43 has one recorder. */
	const unsigned int nr = 43 * 7 % SITES;
	const u64 args[] = { 0, 43, ~43UL, 43, 129, 0 };
	struct uhook_mm *um;
	struct uhook_ring_entry *entry;
	struct uhook_area *area;
	unsigned long before = 0;
	unsigned int i;
	u64 head;

	begin_process();
	current = &task;
	make_body(nr);
	um = uhook_mm_of(mm);
	area = uhook_area_at(um, sites[nr].body);
	entry = take_entry(um, area, &head);
	for (i = 0; i < UHOOK_RING_ENTRIES; i++) {
		/* The last one finds no room, until the first entry is given up. */
		if (i == UHOOK_RING_ENTRIES - 1) {
			uhook_flush();
			uhook_flush();
		}
		((site_call *)sites[nr].body)(1, 43, ~43UL, 1 ^ 43, 129, -1);
	}
	fill_entry(entry, entry->id, args, 2 * sizeof(*args));
	uhook_flush();
	if (recorded[FIRST] != UHOOK_RING_ENTRIES - 1)
		complain("%lu records, although one was late", recorded[FIRST]);

	/* Then it is in use again. */
	__atomic_store_n(&entry->seq, head + 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2 * UHOOK_RING_ENTRIES; i++) {
		((site_call *)sites[nr].body)(1, 43, ~43UL, 1 ^ 43, 129, -1);
		if (!(i % 1000))
			uhook_flush();
	}
	uhook_flush();
	if (recorded[FIRST] != 3 * UHOOK_RING_ENTRIES - 2)
		complain("%lu records after the late one", recorded[FIRST]);

	/* So it is if its recorder never goes on. */
	take_entry(um, area, &head);
	for (i = 0; i < 21 * UHOOK_RING_ENTRIES; i++) {
		if (i == 20 * UHOOK_RING_ENTRIES) {
			uhook_flush();
			before = recorded[FIRST];
		}
		((site_call *)sites[nr].body)(1, 43, ~43UL, 1 ^ 43, 129, -1);
		if (!(i % 1000))
			uhook_flush();
	}
	uhook_flush();
	if (recorded[FIRST] - before != UHOOK_RING_ENTRIES)
		complain("%lu records long after one was not made", recorded[FIRST] - before);
	end_process();
}

static void *visit(void *unused)
{
	uhook_flush();
	uhook_hold_counts();
	uhook_release_counts();
	WRITE_ONCE(over, true);
	return unused;
}

/* A task that holds the lock of its process does not go on. */
static void run_held(void)
{
	struct uhook_mm *um;
	pthread_t visitor;
	unsigned int i;

	begin_process();
	current = &task;
	make_body(0);
	um = uhook_mm_of(mm);
	mutex_lock(&um->counts);
	pthread_create(&visitor, NULL, visit, NULL);
	for (i = 0; i < 2000 && !READ_ONCE(over); i++) {
		usleep(10000);
		WRITE_ONCE(race_jiffies, race_jiffies + 1);
	}
	if (!READ_ONCE(over))
		complain("readers wait for a process that does not go on");
	mutex_unlock(&um->counts);
	pthread_join(visitor, NULL);
	end_process();
}

/* Two threads that read at any time. */
static void *read_rings(void *unused)
{
	while (!READ_ONCE(over)) {
		uhook_flush();
		usleep(1000);
	}
	return unused;
}

static void *read_sums(void *unused)
{
	struct uhook_hits hits, before = {};
	unsigned long least;

	this_cpu = CALLERS;
	while (!READ_ONCE(over)) {
		least = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);
		uhook_hold_counts();
		uhook_read_counter(attachments[COUNT].counter, &hits);
		uhook_release_counts();
		if (hits.jumped < before.jumped)
			complain("the count falls from %lu to %lu", (long)before.jumped,
				 (long)hits.jumped);
		if (hits.jumped < least)
			complain("%lu hits are over, and %lu counted", least, (long)hits.jumped);
		before = hits;
		usleep(200);
	}
	return unused;
}

static void check_hook(const char *name, unsigned long calls, unsigned int first,
		       unsigned int second)
{
	const unsigned int both[] = { first, second };
	unsigned long bodies = 0, handed = 0, lost = 0;
	struct uhook_hits hits;
	unsigned int i;

	for (i = 0; i < (first == second ? 1 : 2); i++) {
		uhook_hold_counts();
		uhook_read_counter(attachments[both[i]].counter, &hits);
		uhook_release_counts();
		bodies += hits.jumped;
		handed += recorded[both[i]];
		lost += hits.lost;
	}
	printf("%s: %lu calls, %lu counted, %lu recorded, %lu lost\n", name, calls, bodies,
	       handed, lost);
	if (bodies != calls)
		complain("%s: %lu counted of %lu", name, bodies, calls);
	/*
	 * The hook of an entry that is given up is unknown: it is lost once for each. A few are
	 * given up because their thread does not run for long.
	 */
	if (first != COUNT && (handed + lost < calls || handed + lost > calls + 8 * abandoned))
		complain("%s: %lu recorded and %lu lost of %lu", name, handed, lost, calls);
}

static void check_sums(unsigned int rounds)
{
	unsigned long calls[3] = {};
	unsigned int i;

	for (i = 0; i < rounds * CALLERS; i++) {
		calls[0] += callers[i].calls[0];
		calls[1] += callers[i].calls[1];
		calls[2] += callers[i].calls[2];
	}
	printf("%lu entries were not completed\n", abandoned);
	check_hook("recorder", calls[0] + calls[1], FIRST, FIRST_AGAIN);
	check_hook("second recorder", calls[0], SECOND, SECOND_AGAIN);
	check_hook("counter", calls[2], COUNT, COUNT);
}

static void end_hooks(void)
{
	unsigned long before;
	unsigned int i;

	uhook_flush();
	before = recorded[FIRST];
	race_barrier();
	for (i = 0; i < HOOKS; i++) {
		const struct uhook_counter *counter = attachments[i].counter;

		if (refcount_read(&counter->ref) != 1)
			complain("hook %u has %d references", i, refcount_read(&counter->ref));
		uhook_leave_counter(attachments[i].counter);
	}
	if (recorded[FIRST] != before)
		complain("a record came late");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO };
	unsigned long rounds = 4;
	pthread_t readers[2];
	unsigned int i;

	read_options(argc, argv, "r:lh", &rounds, &late, &held);
	race_begin();
	sigaction(SIGSEGV, &action, NULL);
	map_at(TEXT, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (i = 0; i < SITES; i++)
		memcpy((void *)(TEXT + i * SITE_SIZE), site_code, SITE_SIZE);
	make_hooks();
	if (late || held) {
		if (late)
			run_late();
		if (held)
			run_held();
		return verdict();
	}
	uhook_start_draining();
	pthread_create(&readers[0], NULL, read_rings, NULL);
	pthread_create(&readers[1], NULL, read_sums, NULL);
	for (i = 0; i < rounds && i < ROUNDS_MAX; i++)
		run_process(i);
	WRITE_ONCE(over, true);
	pthread_join(readers[0], NULL);
	pthread_join(readers[1], NULL);
	uhook_stop_draining();
	check_sums(i);
	end_hooks();
	return verdict();
}
