// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of race_kernel.h: locks, read-copy-update, memory and mappings
 *
 * All functions use atomic operations or locks of pthreads, and add no data races of their
 * own. Pages come from a file in memory, so that the program can map them at addresses of
 * its own, as programs map those of the kernel.
 */
#undef __KERNEL__
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "race.h"

#define READERS_MAX	RACE_CPUS
#define PAGES_MAX	32768UL

__thread struct task_struct *current;
__thread unsigned int this_cpu;
static __thread int mmap_held;

static void die(const char *what)
{
	fprintf(stderr, "race: %s\n", what);
	abort();
}

/*
 * Locks.
 */
void mutex_init(struct mutex *mutex)
{
	pthread_mutex_init(&mutex->lock, NULL);
}

void mutex_destroy(struct mutex *mutex)
{
	pthread_mutex_destroy(&mutex->lock);
}

unsigned long race_jiffies;

void mutex_lock(struct mutex *mutex)
{
	if (READ_ONCE(mutex->owner) == pthread_self())
		die("a function was called with its lock held");
	pthread_mutex_lock(&mutex->lock);
	WRITE_ONCE(mutex->owner, pthread_self());
}

bool mutex_trylock(struct mutex *mutex)
{
	if (pthread_mutex_trylock(&mutex->lock))
		return false;
	WRITE_ONCE(mutex->owner, pthread_self());
	return true;
}

void mutex_unlock(struct mutex *mutex)
{
	WRITE_ONCE(mutex->owner, 0);
	pthread_mutex_unlock(&mutex->lock);
}

void lockdep_assert_held(const struct mutex *mutex)
{
	if (READ_ONCE(mutex->owner) != pthread_self())
		die("a function was called without its lock");
}

int mmap_write_lock_killable(struct mm_struct *mm)
{
	pthread_rwlock_wrlock(&mm->mmap_lock);
	mmap_held = 2;
	return 0;
}

void mmap_write_unlock(struct mm_struct *mm)
{
	mmap_held = 0;
	pthread_rwlock_unlock(&mm->mmap_lock);
}

void mmap_read_lock(struct mm_struct *mm)
{
	pthread_rwlock_rdlock(&mm->mmap_lock);
	mmap_held = 1;
}

void mmap_read_unlock(struct mm_struct *mm)
{
	mmap_held = 0;
	pthread_rwlock_unlock(&mm->mmap_lock);
}

void mmap_assert_locked(const struct mm_struct *mm)
{
	if (!mmap_held)
		die("a function was called without the mmap lock");
	(void)mm;
}

void mmap_assert_write_locked(const struct mm_struct *mm)
{
	if (mmap_held != 2)
		die("a function was called without the mmap lock for writing");
	(void)mm;
}

/*
 * Read-copy-update: a section of a reader has the number of the grace period in which it
 * began. synchronize() begins another one, and waits for older sections.
 */
static u64 readers[READERS_MAX][8];
static __thread unsigned int read_depth;
static u64 grace_period = 1;

void rcu_read_lock(void)
{
	const u64 now = __atomic_load_n(&grace_period, __ATOMIC_SEQ_CST);

	if (!read_depth++)
		__atomic_store_n(readers[this_cpu], now, __ATOMIC_SEQ_CST);
}

void rcu_read_unlock(void)
{
	if (!--read_depth)
		__atomic_store_n(readers[this_cpu], 0, __ATOMIC_RELEASE);
}

static void synchronize(void)
{
	const u64 now = __atomic_add_fetch(&grace_period, 1, __ATOMIC_SEQ_CST);
	unsigned int i;
	u64 began;

	for (i = 0; i < READERS_MAX; i++) {
		while ((began = __atomic_load_n(readers[i], __ATOMIC_SEQ_CST)) && began < now)
			sched_yield();
	}
}

/*
 * One thread calls functions after a grace period, another does delayed work.
 */
struct queue {
	pthread_mutex_t lock;
	struct rcu_head *first;
	unsigned int busy;
};

static struct queue after_grace = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct queue delayed = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void enqueue(struct queue *queue, struct rcu_head *head)
{
	pthread_mutex_lock(&queue->lock);
	head->next = queue->first;
	queue->first = head;
	queue->busy++;
	pthread_mutex_unlock(&queue->lock);
}

static struct rcu_head *dequeue_all(struct queue *queue)
{
	struct rcu_head *all;

	pthread_mutex_lock(&queue->lock);
	all = queue->first;
	queue->first = NULL;
	pthread_mutex_unlock(&queue->lock);
	return all;
}

static void done(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->busy--;
	pthread_mutex_unlock(&queue->lock);
}

static bool is_busy(struct queue *queue)
{
	bool busy;

	pthread_mutex_lock(&queue->lock);
	busy = queue->busy;
	pthread_mutex_unlock(&queue->lock);
	return busy;
}

static void *run_after_grace(void *unused)
{
	struct rcu_head *head, *next;

	this_cpu = RACE_CPUS - 1;
	for (;;) {
		head = dequeue_all(&after_grace);
		if (head)
			synchronize();
		else
			usleep(200);
		for (; head; head = next) {
			next = head->next;
			head->func(head);
			done(&after_grace);
		}
	}
	return unused;
}

static void *run_delayed(void *unused)
{
	static struct task_struct worker;
	struct rcu_head *head, *next;

	this_cpu = RACE_CPUS - 2;
	current = &worker;
	for (;;) {
		usleep(2000);
		for (head = dequeue_all(&delayed); head; head = next) {
			next = head->next;
			container_of(head, struct work_struct, head)->func(
				container_of(head, struct work_struct, head));
			done(&delayed);
		}
	}
	return unused;
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	enqueue(&after_grace, head);
}

static void do_work(struct rcu_head *head)
{
	struct work_struct *work = container_of(head, struct work_struct, head);

	work->func(work);
}

void queue_rcu_work(struct workqueue_struct *queue, struct rcu_work *work)
{
	(void)queue;
	call_rcu(&work->work.head, do_work);
}

void queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
			unsigned long delay)
{
	(void)queue;
	(void)delay;
	enqueue(&delayed, &work->work.head);
}

void race_barrier(void)
{
	while (is_busy(&delayed) || is_busy(&after_grace))
		usleep(100);
}

/*
 * Memory.
 */
static struct page *pages;
static void *pages_at;
static int pages_file;
static unsigned long next_page;
static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long free_pages[PAGES_MAX], nr_free;

void *kzalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(1, size);
}

void kfree(const void *p)
{
	free((void *)p);
}

void *alloc_percpu_bytes(size_t size)
{
	void *p = aligned_alloc(PER_CPU_SIZE, RACE_CPUS * PER_CPU_SIZE);

	if (p && size <= PER_CPU_SIZE)
		memset(p, 0, RACE_CPUS * PER_CPU_SIZE);
	return p;
}

void free_percpu(void *p)
{
	free(p);
}

void *page_address(const struct page *page)
{
	return pages_at + (page - pages) * PAGE_SIZE;
}

struct page *alloc_page(gfp_t gfp)
{
	unsigned long i;

	(void)gfp;
	pthread_mutex_lock(&pages_lock);
	i = nr_free ? free_pages[--nr_free] : next_page++;
	pthread_mutex_unlock(&pages_lock);
	if (i >= PAGES_MAX)
		die("too many pages");
	WRITE_ONCE(pages[i].refs, 1);
	memset(page_address(pages + i), 0, PAGE_SIZE);
	return pages + i;
}

void get_page(struct page *page)
{
	__atomic_fetch_add(&page->refs, 1, __ATOMIC_RELAXED);
}

void put_page(struct page *page)
{
	if (__atomic_sub_fetch(&page->refs, 1, __ATOMIC_ACQ_REL))
		return;
	memset(page_address(page), 0xa5, PAGE_SIZE);
	pthread_mutex_lock(&pages_lock);
	free_pages[nr_free++] = page - pages;
	pthread_mutex_unlock(&pages_lock);
}

/*
 * Mappings.
 */
static struct vm_area_struct *add_vma(struct mm_struct *mm, unsigned long addr,
				      unsigned long size, int protection)
{
	struct vm_area_struct *vma = mm->vmas + mm->map_count++;

	mmap_assert_write_locked(mm);
	map_at(addr, size, protection);
	*vma = (struct vm_area_struct){
		.vm_mm = mm, .vm_start = addr, .vm_end = addr + size,
	};
	return vma;
}

struct file *anon_inode_getfile(const char *name, const struct file_operations *ops, void *data,
				int flags)
{
	struct file *file = calloc(1, sizeof(*file));

	(void)name;
	(void)data;
	(void)flags;
	file->ops = ops;
	return file;
}

unsigned long do_mmap(struct file *file, unsigned long addr, unsigned long size, int prot,
		      int flags, vm_flags_t vm_flags, unsigned long pgoff,
		      unsigned long *populate, struct list_head *uf)
{
	(void)prot;
	(void)flags;
	(void)vm_flags;
	(void)pgoff;
	(void)uf;
	*populate = 0;
	return file->ops->mmap(file, add_vma(current->mm, addr, size, PROT_NONE)) ?: addr;
}

int do_munmap(struct mm_struct *mm, unsigned long start, size_t size, struct list_head *uf)
{
	(void)mm;
	(void)uf;
	return munmap((void *)start, size);
}

struct vm_area_struct *_install_special_mapping(struct mm_struct *mm, unsigned long addr,
						unsigned long size, vm_flags_t flags,
						const struct vm_special_mapping *mapping)
{
	struct vm_area_struct *vma = add_vma(mm, addr, size, PROT_NONE);

	vma->vm_flags = flags;
	vma->special = mapping;
	return vma;
}

struct vm_area_struct *vma_lookup(struct mm_struct *mm, unsigned long addr)
{
	int i;

	mmap_assert_locked(mm);
	for (i = 0; i < mm->map_count; i++) {
		if (addr - mm->vmas[i].vm_start < mm->vmas[i].vm_end - mm->vmas[i].vm_start)
			return mm->vmas + i;
	}
	return NULL;
}

struct vm_area_struct *find_vma(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *found = NULL;
	int i;

	mmap_assert_locked(mm);
	for (i = 0; i < mm->map_count; i++) {
		struct vm_area_struct *vma = mm->vmas + i;

		if (vma->vm_end > addr && (!found || vma->vm_start < found->vm_start))
			found = vma;
	}
	return found;
}

unsigned long vm_unmapped_area(const struct vm_unmapped_area_info *info)
{
	unsigned long addr = (info->high_limit - info->length) & ~info->align_mask;
	const struct vm_area_struct *vma;

	for (; addr >= info->low_limit; addr -= info->align_mask + 1) {
		vma = find_vma(current->mm, addr);
		if (!vma || vma->vm_start >= addr + info->length)
			return addr;
	}
	return -ENOMEM;
}

bool race_fault(unsigned long addr)
{
	struct vm_fault vmf = { .address = addr };
	struct mm_struct *mm = current->mm;
	vm_fault_t ret = VM_FAULT_SIGSEGV;

	mmap_read_lock(mm);
	vmf.vma = vma_lookup(mm, addr);
	if (vmf.vma) {
		vmf.pgoff = (addr - vmf.vma->vm_start) >> PAGE_SHIFT;
		ret = vmf.vma->special ? vmf.vma->special->fault(vmf.vma->special, vmf.vma, &vmf) :
					 vmf.vma->vm_ops->fault(&vmf);
	}
	if (!ret) {
		mmap((void *)(addr & PAGE_MASK), PAGE_SIZE,
		     vmf.vma->special ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, pages_file,
		     page_address(vmf.page) - pages_at);
		/* The mapping keeps the page, until race_exit() takes the mapping away. */
		put_page(vmf.page);
	}
	mmap_read_unlock(mm);
	return !ret;
}

void race_exit(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < mm->map_count; i++)
		munmap((void *)mm->vmas[i].vm_start, mm->vmas[i].vm_end - mm->vmas[i].vm_start);
	mm->map_count = 0;
}

/*
 * Tables.
 */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rhashtable_params table_params;

int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params)
{
	memset(table, 0, sizeof(*table));
	table->max_elems = 2 * params->max_size;
	pthread_mutex_lock(&table_lock);
	table_params = *params;
	pthread_mutex_unlock(&table_lock);
	return 0;
}

static struct rhash_head **bucket_of(struct rhashtable *table, unsigned long key)
{
	return table->buckets + hash_long(key, 6);
}

static unsigned long key_of(const struct rhash_head *node, const struct rhashtable_params *params)
{
	return *(unsigned long *)((char *)node - params->head_offset + params->key_offset);
}

void *rhashtable_lookup_fast(struct rhashtable *table, const unsigned long *key,
			     const struct rhashtable_params params)
{
	struct rhash_head *node = __atomic_load_n(bucket_of(table, *key), __ATOMIC_ACQUIRE);

	while (node && key_of(node, &params) != *key)
		node = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
	return node ? (char *)node - params.head_offset : NULL;
}

int rhashtable_insert_fast(struct rhashtable *table, struct rhash_head *node,
			   const struct rhashtable_params params)
{
	struct rhash_head **bucket = bucket_of(table, key_of(node, &params));

	if (atomic_read(&table->nelems) >= (int)table->max_elems)
		return -E2BIG;
	pthread_mutex_lock(&table_lock);
	__atomic_fetch_add(&table->nelems.counter, 1, __ATOMIC_RELAXED);
	node->next = *bucket;
	__atomic_store_n(bucket, node, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&table_lock);
	return 0;
}

int rhashtable_replace_fast(struct rhashtable *table, struct rhash_head *old,
			    struct rhash_head *new, const struct rhashtable_params params)
{
	struct rhash_head **link = bucket_of(table, key_of(old, &params));

	pthread_mutex_lock(&table_lock);
	while (*link != old)
		link = &(*link)->next;
	new->next = old->next;
	__atomic_store_n(link, new, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&table_lock);
	return 0;
}

void rhashtable_free_and_destroy(struct rhashtable *table, void (*free)(void *p, void *data),
				 void *data)
{
	struct rhash_head *node, *next;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table->buckets); i++) {
		for (node = table->buckets[i]; node; node = next) {
			next = node->next;
			free((char *)node - table_params.head_offset, data);
		}
	}
}

u64 sched_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

void race_begin(void)
{
	pthread_t thread;

	srandom(random_next());
	pages = calloc(PAGES_MAX, sizeof(*pages));
	pages_file = memfd_create("pages", 0);
	if (!pages || pages_file < 0 || ftruncate(pages_file, PAGES_MAX * PAGE_SIZE))
		die("there is no memory");
	pages_at = mmap(NULL, PAGES_MAX * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			pages_file, 0);
	if (pages_at == MAP_FAILED)
		die("there is no memory");
	pthread_create(&thread, NULL, run_after_grace, NULL);
	pthread_detach(thread);
	pthread_create(&thread, NULL, run_delayed, NULL);
	pthread_detach(thread);
}
