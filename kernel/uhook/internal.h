/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what its files share.
 *
 * Locks, outermost first: uhook_mm::lock of an address space, its mmap lock, its
 * uhook_mm::counts, uhook_area::lock, uhook_counter::lock. Tasks that hit a breakpoint
 * hold none of them: they look sites up under RCU tasks trace, as uprobes do.
 *
 * All of them are a process's, its family's, or a hook's; none is needed to create, to
 * execute or to end another process. There is one lock of all for that, of the list in
 * data.c: a spinlock, held for as long as a node is added or taken out.
 */
#ifndef _KERNEL_UHOOK_INTERNAL_H
#define _KERNEL_UHOOK_INTERNAL_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/uhook.h>
#include <linux/uhook_code.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/* What a process can have: areas of each kind, pages of code in each, and blocks. */
#define UHOOK_MAX_AREAS		32
#define UHOOK_MAX_BLOCKS	64
#define UHOOK_AREA_PAGES	16
#define UHOOK_CODE_SIZE		(UHOOK_AREA_PAGES * PAGE_SIZE)
#define UHOOK_LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
/* A page for the header of a ring, and those for its entries. */
#define UHOOK_RING_PAGES						\
	(1 + UHOOK_RING_ENTRIES * sizeof(struct uhook_ring_entry) / PAGE_SIZE)
#define UHOOK_RING_SIZE		(UHOOK_RING_PAGES * PAGE_SIZE)

/* A body that does more than count is longer than others. */
#define UHOOK_LONG_SIZE		(4 * UHOOK_BODY_SIZE)

/**
 * struct uhook_block - what a handler of a body writes for itself
 * @words: its own
 * @missed: how often it was not called
 * @lost: how often there was no room for a record
 * @unused: not used
 */
struct uhook_block {
	u64	words[UHOOK_DATA_WORDS];
	u64	missed;
	u64	lost;
	u64	unused[6];
};

/* How many handlers of a body may have that. */
#define UHOOK_BODY_BLOCKS	(UHOOK_LONG_SIZE / sizeof(struct uhook_block))
#define UHOOK_BLOCKS_SIZE	UHOOK_CODE_SIZE

/* The owners of stacks, and the stacks. */
#define UHOOK_POOL_SIZE		(PAGE_SIZE + UHOOK_STACKS * UHOOK_STACK_SIZE)

/* What is where behind the code of an area. */
#define UHOOK_RING_AT		UHOOK_LANES_SIZE
#define UHOOK_BLOCKS_AT		(UHOOK_RING_AT + UHOOK_RING_SIZE)
#define UHOOK_POOL_AT		(UHOOK_BLOCKS_AT + UHOOK_BLOCKS_SIZE)
#define UHOOK_DATA_PAGES	((UHOOK_POOL_AT + UHOOK_POOL_SIZE) / PAGE_SIZE)

/* A recorder is the one of a body, and of a hook in its set. */
#define UHOOK_RECORDER_ID(body, index)	((body) << 8 | (index))
#define UHOOK_RECORDER_BODY(id)		((id) >> 8)
#define UHOOK_RECORDER_INDEX(id)	((id) & 0xff)

/* A probe that is short of memory steps, and disturbs nobody. */
#define GFP_UHOOK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

struct mm_struct;
struct uhook_area;
struct uhook_stubs;
struct vm_area_struct;

/**
 * enum uhook_area_kind - what is in an area
 * @UHOOK_SLOTS: slots, for boost
 * @UHOOK_BODIES: bodies, which run handlers in the program, and behind them the
 *	pages that those write
 * @UHOOK_LONG_BODIES: those that record or call, with a ring, words and stacks
 *	behind those pages
 * @UHOOK_AREA_KINDS: how many kinds there are
 */
enum uhook_area_kind {
	UHOOK_SLOTS,
	UHOOK_BODIES,
	UHOOK_LONG_BODIES,
	UHOOK_AREA_KINDS
};

/**
 * struct uhook_data - what the bodies of an area have written in a process
 * @pages: the lanes, with one counter for each body in each of them, and what else
 *	there is; a page is made when it is touched
 * @seen: what of it has been added to counters: the sum of the lanes of each body, and
 *	the blocks; each made with the page that it is about
 * @tail: the number of the first entry of the ring that was not read
 * @stuck: that of the one which was not complete when the ring was full; or -1
 * @stuck_in: the number of the reading that found it so
 * @thread: who wrote the entry that was read last
 * @time: when that was, in nanoseconds of the local clock
 */
struct uhook_data {
	struct page		*pages[UHOOK_DATA_PAGES];
	struct page		*seen[1 + UHOOK_BLOCKS_SIZE / PAGE_SIZE];
	u64			tail;
	u64			stuck;
	unsigned int		stuck_in;
	unsigned long		thread;
	u64			time;
};

/**
 * struct uhook_counting - a place in the list of those that count
 * @node: in the list
 * @born: its number; 0 if it is not in the list, or is the cursor of a walk
 */
struct uhook_counting {
	struct list_head	node;
	u64			born;
};

#define UHOOK_WHO_BITS	8

/**
 * struct uhook_who - a thread that has recorded
 * @thread: what its register for thread-local storage has
 * @pid: its number, or 0
 * @reading: when that was found
 */
struct uhook_who {
	unsigned long		thread;
	pid_t			pid;
	unsigned int		reading;
};

/**
 * struct uhook_mm - what an address space has of uhook
 * @lock: held while sites get their slots, and areas are made
 * @sites: the sites that were hit, by address
 * @nr_areas: how many areas there are; only grows, with @lock and the mmap lock
 *	held for writing
 * @nr_kind: of each kind
 * @areas: the mappings, in the order of their making
 * @data: what is written by those that are bodies
 * @hops: struct uhook_hops by the number of the block
 * @nr_hop_pages: how many pages they have
 * @nr_blocks: how many blocks of stubs there are; as @nr_areas
 * @blocks: those
 * @functions: whether a body calls a function of a file
 * @breaks: whether one begins with a breakpoint
 * @before_rseq: whether jumps were written by a thread that had not registered for
 *	restartable sequences, and so could not know where they are
 * @ref: one reference of the address space, and one of each reader of its counts
 * @counts: held while that is added up, while its rings are read, and while whom a body
 *	counts for changes
 * @gone: whether areas and data have gone; set with @counts held
 * @counting: its place in the list of those that count
 * @next_ring: which area is read first when rings are read again
 * @mm: the address space
 * @payer: the parent's while this one is made, which has no task on whose account
 *	memory could be; otherwise NULL
 * @tgid: the process, or 0 when it is not known yet
 * @who: its threads, as far as they have recorded
 * @reading: the number of the reading of a ring
 * @looks: at how many threads was looked in it
 * @look_from: where the process is looked for next, among all
 * @looked: whether it was, in this reading
 *
 * Made at the first hit and kept until nobody uses the address space any more,
 * so that whoever runs in it may look at it without a lock, in an NMI as well.
 */
struct uhook_mm {
	struct mutex		lock;	/* sites and areas change with it */
	struct rhashtable	sites;
	unsigned int		nr_areas;
	unsigned int		nr_kind[UHOOK_AREA_KINDS];
	struct uhook_area	*areas[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct uhook_data	*data[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct xarray		hops;
	unsigned int		nr_hop_pages;
	unsigned int		nr_blocks;
	struct uhook_stubs	*blocks[UHOOK_MAX_BLOCKS];
	bool			functions;
	bool			breaks;
	bool			before_rseq;
	refcount_t		ref;
	struct mutex		counts;	/* data, and sets of bodies, are read with it */
	bool			gone;
	struct uhook_counting	counting;
	unsigned int		next_ring;
	struct mm_struct	*mm;
	struct mm_struct	*payer;
	pid_t			tgid;
	struct uhook_who	who[1 << UHOOK_WHO_BITS];
	unsigned int		reading;
	unsigned int		looks;
	pid_t			look_from;
	bool			looked;
};

/**
 * enum uhook_verdict - why a site has no slot
 * @UHOOK_UNDECIDED: it was emulated so far, or is being hit for the first time
 * @UHOOK_BY_TASK: it could have a slot, but the task that hit it could not go on
 *	there: it is single-stepped, or runs 32-bit code
 * @UHOOK_IN_PLACE: the instruction can only run in its place
 * @UHOOK_NO_GAP: there is no room for a mapping within reach
 * @UHOOK_FULL: the process has as many slots as it may
 * @UHOOK_NO_MEMORY: there was no memory; tried again at the next hit
 * @UHOOK_IN_RSEQ: it is in a restartable sequence, which must not be left
 * @UHOOK_NO_CLOCK: the task that hit it may not read the clock; tried again
 * @UHOOK_NO_HOOK: nobody wants one
 * @UHOOK_TOO_LONG: there are more handlers than there is room for
 * @UHOOK_NO_FUNCTION: the process has not mapped the file of a handler; tried again
 * @UHOOK_NO_VECTORS: a handler may use registers that cannot be kept
 * @UHOOK_NO_STUB: something else is where its stub is to be; tried again
 * @UHOOK_VERDICTS: how many there are
 */
enum uhook_verdict {
	UHOOK_UNDECIDED,
	UHOOK_BY_TASK,
	UHOOK_IN_PLACE,
	UHOOK_NO_GAP,
	UHOOK_FULL,
	UHOOK_NO_MEMORY,
	UHOOK_IN_RSEQ,
	UHOOK_NO_CLOCK,
	UHOOK_NO_HOOK,
	UHOOK_TOO_LONG,
	UHOOK_NO_FUNCTION,
	UHOOK_NO_VECTORS,
	UHOOK_NO_STUB,
	UHOOK_VERDICTS
};

/**
 * enum uhook_bar - why a site that has a body has no jump to it
 * @UHOOK_NO_BAR: it has one, or had one when it was last looked at
 * @UHOOK_BAR_KERNEL: somebody wants to be called in the kernel
 * @UHOOK_BAR_NEIGHBOUR: a probe is on the bytes that the jump would need
 * @UHOOK_BAR_PAGE: the jump would cross the end of a page
 * @UHOOK_BAR_WRITABLE: the program can write to its text
 * @UHOOK_BAR_TRACED: a debugger is attached
 * @UHOOK_BAR_ATOMIC: it is between instructions that must not be interrupted
 * @UHOOK_BAR_LANDING: indirect branches may only lead to instructions like it
 * @UHOOK_BAR_TAKEN: something is where a jump could lead to
 * @UHOOK_BAR_FULL: the process has as many pages for hops as it may have
 * @UHOOK_BAR_SHARED: where the hop should be is shared with a child or parent
 * @UHOOK_BAR_CLOCK: a thread may not read the clock
 * @UHOOK_BAR_RSEQ: it was hit by a thread that has no restartable sequences, and
 *	another one has
 * @UHOOK_BAR_ERROR: the text could not be written
 * @UHOOK_BARS: how many there are
 */
enum uhook_bar {
	UHOOK_NO_BAR,
	UHOOK_BAR_KERNEL,
	UHOOK_BAR_NEIGHBOUR,
	UHOOK_BAR_PAGE,
	UHOOK_BAR_WRITABLE,
	UHOOK_BAR_TRACED,
	UHOOK_BAR_ATOMIC,
	UHOOK_BAR_LANDING,
	UHOOK_BAR_TAKEN,
	UHOOK_BAR_FULL,
	UHOOK_BAR_SHARED,
	UHOOK_BAR_CLOCK,
	UHOOK_BAR_RSEQ,
	UHOOK_BAR_ERROR,
	UHOOK_BARS
};

/**
 * struct uhook_site - an instruction of a process that has a breakpoint
 * @node: in uhook_mm::sites
 * @vaddr: its address
 * @uprobe: the uprobe there, as long as @gone and @unmapped are those of now
 * @gone: how many uprobes of its hash had gone by then
 * @unmapped: how often probed text had been unmapped in the address space
 * @slot: the address of the slot, or 0; set once
 * @verdict: why it has none; means nothing once it has
 * @body: the address of the body for those who are interested now, or 0; changes
 *	with the mmap lock held
 * @body_verdict: why it has none
 * @again: when it is worth looking for a body again, in jiffies
 * @tries: how often that has been done since something changed
 * @bar: why the breakpoint is still there, if it has one
 * @rcu: freed after a grace period of RCU tasks trace
 */
struct uhook_site {
	struct rhash_head	node;
	unsigned long		vaddr;
	struct uprobe		*uprobe;
	long			gone;
	long			unmapped;
	unsigned long		slot;
	enum uhook_verdict	verdict;
	unsigned long		body;
	enum uhook_verdict	body_verdict;
	unsigned long		again;
	unsigned int		tries;
	enum uhook_bar		bar;
	struct rcu_head		rcu;
};

/**
 * struct uhook_counter - what a hook has counted
 * @ref: the hook's, and one of each set that it is in
 * @hits: in the kernel and after an exception, of each CPU
 * @bodies: by bodies, as far as somebody has looked; likewise the next three
 * @lost: records that the kernel has given up, and those for which there was no room
 * @missed: when its handler was not called
 * @words: what its handler has counted
 * @lock: held while @ops is called for a record, and while it goes
 * @ops: the hook, which may be called; NULL when it has gone
 * @user: what it does
 * @recorder: what it records
 * @code: a copy of its code
 * @code_size: how long that is
 * @function: its function
 * @stubs: where its stubs begin
 * @nr_stubs: how many it has
 * @no_vectors: whether that leaves vector registers alone
 * @breaks: whether it has its breakpoint in the body
 */
struct uhook_counter {
	refcount_t		ref;
	struct uhook_cpu_hits __percpu *hits;
	atomic64_t		bodies;
	atomic64_t		lost;
	atomic64_t		missed;
	atomic64_t		words[UHOOK_DATA_WORDS];
	struct mutex		lock;	/* records are handed over with it */
	struct uhook_ops	*ops;
	enum uhook_user		user;
	struct uhook_recorder	recorder;
	void			*code;
	size_t			code_size;
	struct uhook_point	function;
	unsigned long		stubs;
	unsigned int		nr_stubs;
	bool			no_vectors;
	bool			breaks;
};

/**
 * struct uhook_cpu_hits - the hits of a hook that the kernel has seen
 * @kernel: that ended in the kernel
 * @user: that went on in a body
 */
struct uhook_cpu_hits {
	u64			kernel;
	u64			user;
};

/**
 * struct uhook_set - the hooks of a body
 * @ref: one of each body
 * @filtered: whether it depends on the address space
 * @records: whether one of them records
 * @calls: whether one of them calls code or a function
 * @functions: whether one of them calls a function of a file
 * @stubs: whether one of them goes by way of a stub
 * @counts: whether one of them does anything else, so that hits are counted
 * @breaks: whether one of them has its breakpoint in the body
 * @free: when nobody has it any more
 * @nr: how many counters
 * @counters: in the order of the hooks
 */
struct uhook_set {
	refcount_t		ref;
	bool			filtered;
	bool			records;
	bool			calls;
	bool			functions;
	bool			stubs;
	bool			counts;
	bool			breaks;
	struct rcu_work		free;
	unsigned int		nr;
	struct uhook_counter	*counters[] __counted_by(nr);
};

/**
 * struct uhook_body - what is known of a body, besides
 * @set: whose handlers it runs
 * @before: what the file has at the site
 * @before_len: how much of it a jump takes the place of
 * @hop: where a hop was made that leads here, in one of those who have it; or 0
 * @fetched: no CPU has fetched anything else from where it is
 */
struct uhook_body {
	struct uhook_set	*set;
	u8			before[UHOOK_JUMP_MAX];
	u8			before_len;
	unsigned long		hop;
	bool			fetched;
};

/**
 * struct uhook_slot - what is known of a slot or body
 * @site: the address that its copy comes from; 0 if it is not taken
 * @next: the next one of its bucket, or 0; the first slot is 1
 * @insn_len: the length of the instruction there, in bytes
 * @copy_at: where the copy begins
 * @copy_end: where it ends
 */
struct uhook_slot {
	unsigned long		site;
	u16			next;
	u8			insn_len;
	u16			copy_at;
	u16			copy_end;
};

#define UHOOK_BUCKET_BITS	8

/* Handlers that an area may have the code of. */
#define UHOOK_AREA_CODES	16

/**
 * struct uhook_code_at - where the code of a handler is in an area
 * @counter: whose
 * @nr: the number of the slot where it begins
 */
struct uhook_code_at {
	struct uhook_counter	*counter;
	unsigned int		nr;
};

/**
 * struct uhook_area - a mapping, in one process or, of bodies, in several that forked
 * @ref: how many address spaces have it
 * @kind: what is in it
 * @lock: held while a slot is looked for or taken, and while owners are added
 * @vaddr: where it is, in all of them
 * @used: how many slots are taken, the first ones
 * @buckets: the slots by the hash of their site, as &uhook_slot.next
 * @pages: the memory; a page is made when the first slot in it is taken
 * @slots: what is in each page
 * @bodies: the same, of those that are bodies
 * @gates: the addresses of gates, without and with vectors; or 0
 * @codes: the code of handlers
 * @nr_codes: how many
 */
struct uhook_area {
	refcount_t		ref;
	enum uhook_area_kind	kind;
	struct mutex		lock;	/* slots, and owners, are added with it */
	unsigned long		vaddr;
	unsigned int		used;
	u16			buckets[1 << UHOOK_BUCKET_BITS];
	struct page		*pages[UHOOK_AREA_PAGES];
	struct uhook_slot	*slots[UHOOK_AREA_PAGES];
	struct uhook_body	*bodies[UHOOK_AREA_PAGES];
	unsigned long		gates[2];
	struct uhook_code_at	codes[UHOOK_AREA_CODES];
	unsigned int		nr_codes;
};

/**
 * struct uhook_wanted - what a slot or body is looked for
 * @site: the address of the instruction
 * @insn: its bytes, without a breakpoint
 * @size: how many may be read there, in bytes
 * @set: whose handlers run before it; NULL for a slot
 * @functions: where those of them are that are functions of files, and the stubs of
 *	others
 */
struct uhook_wanted {
	unsigned long		site;
	const void		*insn;
	size_t			size;
	struct uhook_set	*set;
	unsigned long		functions[UHOOK_BODY_BLOCKS];
};

/**
 * enum uhook_place - where a task is that is in code of uhook
 * @UHOOK_ELSEWHERE: it is not
 * @UHOOK_BEFORE: it came from the site, and nothing has happened yet
 * @UHOOK_INSIDE: in a handler, which nobody else can finish
 * @UHOOK_AT_COPY: the handlers have run, and the instruction has not
 * @UHOOK_BEHIND: the instruction has run
 */
enum uhook_place {
	UHOOK_ELSEWHERE,
	UHOOK_BEFORE,
	UHOOK_INSIDE,
	UHOOK_AT_COPY,
	UHOOK_BEHIND,
};

/**
 * typedef uhook_fits_fn - can what is wanted be in a range that is free?
 * @addr: where the range begins
 * @data: that of &struct uhook_gap
 *
 * Return: whether it can.
 */
typedef bool uhook_fits_fn(unsigned long addr, const void *data);

/**
 * struct uhook_gap - an unmapped range that is looked for
 * @near: the address that it is to be within reach of
 * @size: how long it is to be, in bytes
 * @align_mask: the bits of its address that have to be 0
 * @fits: says whether one will do
 * @data: passed to @fits
 */
struct uhook_gap {
	unsigned long		near;
	unsigned long		size;
	unsigned long		align_mask;
	uhook_fits_fn		*fits;
	const void		*data;
};

/* What an address space has, or NULL. */
static inline struct uhook_mm *uhook_mm_of(const struct mm_struct *mm)
{
	/* Pairs with get_uhook_mm(). */
	return smp_load_acquire(&mm->uprobes_state.uhook);
}

/* mm.c */
void uhook_put_mm(struct uhook_mm *um);
bool uhook_is_free(struct mm_struct *mm, unsigned long start, unsigned long size);
unsigned long uhook_find_gap(struct mm_struct *mm, const struct uhook_gap *gap);
void uhook_keep_in_children(struct mm_struct *mm, unsigned long start, unsigned long size,
			    bool keep);

/* sites.c */
extern bool uhook_boost_enabled __read_mostly;
int uhook_init_sites(struct uhook_mm *um);
void uhook_free_sites(struct uhook_mm *um);
bool uhook_is_known(struct uhook_mm *um, const struct uhook_site *site);
void uhook_forget_body(const struct uhook_mm *um, unsigned long vaddr);

/**
 * struct uhook_near - an instruction that an area is to be near to
 * @site: its address
 * @fits: says whether an area can be at an address
 * @data: passed to @fits
 */
struct uhook_near {
	unsigned long		site;
	uhook_fits_fn		*fits;
	const void		*data;
};

/* areas.c */
struct uhook_area *uhook_area_at(const struct uhook_mm *um, unsigned long addr);
struct uhook_area *uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_near *near);
int uhook_make_page(struct uhook_area *area, unsigned int i);
bool uhook_dup_areas(const struct uhook_mm *from);
int uhook_share_areas(const struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_areas(struct uhook_mm *um);
const struct uhook_slot *uhook_slot_at(const struct uhook_area *area, unsigned long addr);
struct uhook_body *uhook_body_at(const struct uhook_mm *um, unsigned long addr,
				 const struct uhook_slot **slot);
unsigned long uhook_site_of(const struct uhook_mm *um, unsigned long addr);

/* Are there bodies in it, and data behind it? */
static inline bool uhook_has_bodies(enum uhook_area_kind kind)
{
	return kind != UHOOK_SLOTS;
}

static inline unsigned int uhook_slot_size(enum uhook_area_kind kind)
{
	switch (kind) {
	case UHOOK_SLOTS:
		return UHOOK_SLOT_SIZE;
	case UHOOK_BODIES:
		return UHOOK_BODY_SIZE;
	default:
		return UHOOK_LONG_SIZE;
	}
}

static inline unsigned long uhook_data_size(enum uhook_area_kind kind)
{
	switch (kind) {
	case UHOOK_SLOTS:
		return 0;
	case UHOOK_BODIES:
		return UHOOK_LANES_SIZE;
	default:
		return UHOOK_DATA_PAGES * PAGE_SIZE;
	}
}

static inline unsigned int uhook_page_slots(enum uhook_area_kind kind)
{
	return PAGE_SIZE / uhook_slot_size(kind);
}

static inline unsigned int uhook_area_slots(enum uhook_area_kind kind)
{
	return UHOOK_AREA_PAGES * uhook_page_slots(kind);
}

/* What is known of the slot number NR; its page exists. */
static inline struct uhook_slot *uhook_slot_nr(const struct uhook_area *area, unsigned int nr)
{
	unsigned int n = uhook_page_slots(area->kind);

	return &area->slots[nr / n][nr % n];
}

static inline struct uhook_body *uhook_body_nr(const struct uhook_area *area, unsigned int nr)
{
	unsigned int n = uhook_page_slots(area->kind);

	return &area->bodies[nr / n][nr % n];
}

/**
 * struct uhook_code - the code of a slot or body
 * @bytes: the instructions
 * @insn_len: the length of the original instruction, in bytes
 * @copy_at: where the copy begins
 * @copy_end: where the jump back begins
 * @len: the length of all of it, in bytes
 */
struct uhook_code {
	u8 bytes[UHOOK_LONG_SIZE];
	u8 insn_len;
	u16 copy_at;
	u16 copy_end;
	u16 len;
};

/**
 * struct uhook_where - where a slot or body is to be
 * @base: the address of its area
 * @nr: its number there
 * @area: the area, with its lock held; NULL if there is none, and addresses in it
 *	do not matter
 */
struct uhook_where {
	unsigned long		base;
	unsigned int		nr;
	struct uhook_area	*area;
};

/* The kind of area that a slot or body belongs in. */
static inline enum uhook_area_kind uhook_area_kind_of(const struct uhook_wanted *w)
{
	if (!w->set)
		return UHOOK_SLOTS;

	return w->set->records || w->set->calls ? UHOOK_LONG_BODIES : UHOOK_BODIES;
}

/* The address of a slot or body. */
static inline unsigned long uhook_where_addr(const struct uhook_where *p,
					     enum uhook_area_kind kind)
{
	return p->base + p->nr * uhook_slot_size(kind);
}

/* compose.c */
int uhook_compose(const struct uhook_wanted *w, const struct uhook_where *p,
		  struct uhook_code *code);

/* slots.c */
long uhook_take_slot(struct uhook_mm *um, const struct uhook_wanted *w);
enum uhook_verdict uhook_verdict_of(long error);
bool uhook_may_try(enum uhook_verdict verdict);

/* translate.c */
enum uhook_place uhook_translate(const struct uhook_mm *um, unsigned long ip,
				 unsigned long *addr);

/* pool.c */
int uhook_copy_stacks(const struct uhook_data *from, struct uhook_data *to);

/* data.c */
int uhook_add_data(struct uhook_mm *um, unsigned int area, gfp_t gfp);
int uhook_map_data(unsigned long addr, unsigned long size);
void *uhook_data_at(const struct uhook_data *data, unsigned long at);
void uhook_free_data(struct uhook_data *data);

/* counting.c */
void uhook_start_counting(struct uhook_mm *um);
void uhook_stop_counting(struct uhook_mm *um);
typedef void uhook_data_fn(struct uhook_mm *um);
void uhook_visit_data(uhook_data_fn *fn);

/* who.c */
void uhook_begin_reading(struct uhook_mm *um);
void uhook_say_who(struct uhook_mm *um, unsigned long thread, struct uhook_record *record);

/* rings.c */
void uhook_drain_ring(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data,
		      unsigned int *budget, bool last);
void uhook_drain_last(struct uhook_mm *um);
void uhook_start_draining(void);
void uhook_stop_draining(void);
void uhook_record_here(struct uhook_ops *ops, struct pt_regs *regs);

/* stubs.c */
int uhook_find_stubs(struct uhook_wanted *w, struct uprobe *uprobe);
int uhook_take_stubs(struct uhook_mm *um, const struct uhook_wanted *w, unsigned long body);
unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip);
int uhook_copy_stubs(const struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_stubs(struct uhook_mm *um);

/* counters.c */
struct uhook_counter *uhook_make_counter(struct uhook_ops *ops, unsigned int nr);
void uhook_leave_counter(struct uhook_counter *counter);
void uhook_put_counter(struct uhook_counter *counter);
void uhook_count_user(struct uhook_counter *counter, bool body);

/* sets.c */
struct uhook_set *uhook_make_set(struct uprobe *uprobe, struct mm_struct *mm);
void uhook_put_set(struct uhook_set *set);
bool uhook_same_set(const struct uhook_set *a, const struct uhook_set *b);

/* sums.c */
void uhook_fold_data(struct uhook_mm *um);
void uhook_fold_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr);
u64 uhook_bodies_run(void);
void uhook_hold_counts(void);
void uhook_release_counts(void);
void uhook_read_counter(const struct uhook_counter *counter, struct uhook_hits *hits);
void uhook_read_words(const struct uhook_counter *counter, u64 words[UHOOK_DATA_WORDS]);

/* gates.c */
int uhook_gate_of(struct uhook_area *area, bool vectors, bool make, unsigned long *addr);
int uhook_code_of(struct uhook_area *area, struct uhook_counter *counter, bool make,
		  unsigned long *addr);
int uhook_prepare_calls(struct uhook_area *area, const struct uhook_wanted *w);

/* functions.c */
int uhook_find_functions(struct uhook_wanted *w);

static inline bool uhook_calls(enum uhook_user user)
{
	return user == UHOOK_USER_CODE || user == UHOOK_USER_FUNCTION;
}

/* hops.c */
long uhook_take_hop(struct uhook_mm *um, const struct uhook_targets *targets,
		    unsigned long last, unsigned long body);
unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip);
int uhook_share_hops(struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_hops(struct uhook_mm *um);

/* jump.c */
enum uhook_bar uhook_jump_to(struct uhook_mm *um, struct uprobe *uprobe,
			     struct vm_area_struct *vma, unsigned long addr);
int uhook_demote_site(struct mm_struct *mm, const struct uhook_mm *um, unsigned long site);
int uhook_demote_around(struct mm_struct *mm, const struct uhook_mm *um, unsigned long vaddr);

/* users.c */
typedef void uhook_user_fn(struct task_struct *task, void *data);
void uhook_visit_users(uhook_user_fn *fn, void *data);
void uhook_sync_code(void);

/**
 * struct uhook_consumer - a hook at one of its points
 * @uc: what uprobes know of it
 * @attachment: the attachment that it belongs to
 * @uprobe: where it is
 */
struct uhook_consumer {
	struct uprobe_consumer	uc;
	struct uhook_attachment	*attachment;
	struct uprobe		*uprobe;
};

/**
 * struct uhook_attachment - a hook while it is registered, and until its grace period ends
 * @ops: the hook
 * @counter: its hits
 * @unreturned: how many returns were lost, for which a task had no room
 * @left: the hook has been unregistered: no handler begins any more
 * @gone: called when the grace period has passed, or NULL
 * @report: receives the hits then, or NULL
 * @hits: the hits, read for @gone and @report
 * @node: its place in the list of those that wait for a grace period
 * @older: the attachment of the same hook that waits longer, or NULL
 * @nr: the number of points
 * @consumers: the consumers, one a point
 *
 * Under uhook_ops_lock, except that tasks which are hit read @ops, @counter and @left, and
 * count in @unreturned.
 */
struct uhook_attachment {
	struct uhook_ops	*ops;
	struct uhook_counter	*counter;
	atomic64_t		unreturned;
	bool			left;
	uhook_gone_t		gone;
	struct uhook_hits	*report;
	struct uhook_hits	hits;
	struct list_head	node;
	struct uhook_attachment	*older;
	unsigned int		nr;
	struct uhook_consumer	consumers[] __counted_by(nr);
};

/* consumers.c */
void uhook_init_consumer(struct uhook_consumer *c, struct uhook_attachment *attachment);
struct uhook_ops *uhook_consumer_ops(struct uprobe_consumer *uc);
struct uhook_counter *uhook_consumer_counter(struct uprobe_consumer *uc);
int uhook_point_number(struct uprobe *uprobe, const struct uhook_counter *counter);

/* Is there anything that a jump could lead to? */
static inline bool uhook_has_jumps(const struct uhook_mm *um)
{
	return um->nr_kind[UHOOK_BODIES] || um->nr_kind[UHOOK_LONG_BODIES];
}

/* Has a hook anything to do with bodies? */
static inline bool uhook_needs_body(const struct uhook_ops *ops)
{
	return ops->user != UHOOK_USER_NONE || ops->in_body;
}

static inline bool uhook_wanted_in(struct uhook_ops *ops, struct mm_struct *mm)
{
	return !ops->filter || ops->filter(ops, mm);
}

/* boost.c */
unsigned long uhook_hits_of(enum uhook_kind kind);

/* bodies.c */
u64 uhook_hits_jumped(void);

/* show.c */
extern const struct file_operations uhook_slots_fops;

#endif /* _KERNEL_UHOOK_INTERNAL_H */
