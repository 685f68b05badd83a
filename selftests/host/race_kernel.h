/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Primitives of the kernel, for files of the kernel that run in a program with threads
 *
 * The race tests compile files of uhook unchanged, with -fsanitize=thread. This header is
 * included before each of them, and the kernel's headers that it stands for are empty.
 *
 * ThreadSanitizer understands the memory model of C, not that of the kernel. So marked
 * accesses are the relaxed, acquire and release operations of C, and unmarked ones remain
 * unmarked: it reports those that race. Where the kernel relies on address dependencies
 * (rcu_dereference(), a failed cmpxchg()), acquire operations take their place, because C
 * has no such order. Barriers without an access are the instructions of x86_64, which
 * ThreadSanitizer does not see.
 */
#ifndef SELFTESTS_HOST_RACE_KERNEL_H
#define SELFTESTS_HOST_RACE_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/*
 * Annotations.
 */
#define __rcu
#define __percpu
#define __user
#define __init
#define __force
#define __read_mostly
#define __ro_after_init
#define __counted_by(n)
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define noinline		__attribute__((noinline))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define IS_ENABLED(option)	0
#define CONFIG_UHOOK		1
#define CONFIG_UHOOK_HANDLERS	1
#define barrier()		asm volatile("" : : : "memory")

#include <linux/types.h>

/*
 * Arithmetic.
 */
#define static_assert(...)	_Static_assert(__VA_ARGS__)
#define BIT(n)			(1UL << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)	sizeof(((t *)0)->m)
#define struct_size(p, m, n)	(sizeof(*(p)) + (n) * sizeof((p)->m[0]))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define min(a, b)		({ typeof((a) + (b)) _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max(a, b)		({ typeof((a) + (b)) _a = (a), _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define clamp(v, l, h)		min(max(v, l), h)
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((typeof(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((typeof(x))(a) - 1))
#define U16_MAX			UINT16_MAX
#define U64_MAX			UINT64_MAX
#define SZ_64M			0x4000000UL
#define SZ_128M			0x8000000UL
#define SZ_1G			0x40000000UL
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define PAGE_ALIGN(x)		ALIGN(x, PAGE_SIZE)
#define offset_in_page(x)	((unsigned long)(x) & ~PAGE_MASK)
#define array_index_nospec(i, n) (i)

/*
 * Accesses and barriers.
 */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_rmb()		barrier()
#define cmpxchg(p, old, new) ({						\
	typeof(*(p)) _old = (old);					\
									\
	__atomic_compare_exchange_n(p, &_old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE); \
	_old;								\
})

typedef atomic_long_t atomic64_t;
typedef atomic_t refcount_t;

#define atomic_read(a)		READ_ONCE((a)->counter)
#define atomic64_read(a)	READ_ONCE((a)->counter)
#define atomic_long_read(a)	READ_ONCE((a)->counter)
#define atomic64_add(n, a)	__atomic_fetch_add(&(a)->counter, n, __ATOMIC_RELAXED)
#define atomic_long_inc(a)	__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED)
#define atomic_long_inc_return(a) __atomic_add_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST)
#define refcount_set(r, n)	WRITE_ONCE((r)->counter, n)
#define refcount_read(r)	READ_ONCE((r)->counter)
#define refcount_inc(r)		__atomic_fetch_add(&(r)->counter, 1, __ATOMIC_RELAXED)
#define refcount_dec_and_test(r) (!__atomic_sub_fetch(&(r)->counter, 1, __ATOMIC_ACQ_REL))

#define BITS_PER_LONG		64
#define DECLARE_BITMAP(name, nr) unsigned long name[((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG]
#define set_bit(nr, map)						\
	__atomic_fetch_or(&(map)[(nr) / BITS_PER_LONG], 1UL << (nr) % BITS_PER_LONG,	\
			  __ATOMIC_RELAXED)
#define test_bit(nr, map)						\
	(READ_ONCE((map)[(nr) / BITS_PER_LONG]) >> (nr) % BITS_PER_LONG & 1)

/*
 * Locks. Those that a function must hold are checked.
 */
struct mutex {
	pthread_mutex_t lock;
	pthread_t owner;
};

#define DEFINE_MUTEX(m)		struct mutex m = { .lock = PTHREAD_MUTEX_INITIALIZER }

void mutex_init(struct mutex *mutex);
void mutex_destroy(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
bool mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void lockdep_assert_held(const struct mutex *mutex);

static inline int mutex_lock_killable(struct mutex *mutex)
{
	mutex_lock(mutex);
	return 0;
}

static inline struct mutex *guard_lock_mutex(struct mutex *mutex)
{
	mutex_lock(mutex);
	return mutex;
}

static inline void guard_unlock_mutex(struct mutex **mutex)
{
	mutex_unlock(*mutex);
}

#define GUARD_NAME(n)		GUARD_NAME_(n)
#define GUARD_NAME_(n)		guard_##n
#define GUARD(name)							\
	struct mutex *name __attribute__((cleanup(guard_unlock_mutex), unused)) = guard_lock_mutex
#define guard(kind)		GUARD(GUARD_NAME(__COUNTER__))
#define scoped_guard(kind, mutex)					\
	for (bool _once = true; _once; )				\
		for (GUARD(_guard)(mutex); _once; _once = false)

typedef pthread_mutex_t spinlock_t;

#define DEFINE_SPINLOCK(l)	spinlock_t l = PTHREAD_MUTEX_INITIALIZER
#define spin_lock_init(l)	pthread_mutex_init(l, NULL)
#define spin_lock(l)		pthread_mutex_lock(l)
#define spin_unlock(l)		pthread_mutex_unlock(l)
#define local_irq_save(flags)	((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))

/*
 * Read-copy-update, and work that is done by other threads.
 */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

void rcu_read_lock(void);
void rcu_read_unlock(void);
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));

#define rcu_read_lock_trace()		rcu_read_lock()
#define rcu_read_unlock_trace()		rcu_read_unlock()
#define call_rcu_tasks_trace(head, f)	call_rcu(head, f)
#define rcu_dereference(p)		smp_load_acquire(&(p))
#define rcu_access_pointer(p)		READ_ONCE(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)

struct work_struct {
	struct rcu_head head;
	void (*func)(struct work_struct *work);
};

struct rcu_work {
	struct work_struct work;
};

struct delayed_work {
	struct work_struct work;
};

struct workqueue_struct;

#define system_dfl_wq		NULL
#define DECLARE_DELAYED_WORK(n, f)	struct delayed_work n = { .work.func = f }
#define INIT_RCU_WORK(w, f)		((w)->work.func = (f))
#define to_rcu_work(w)			container_of(w, struct rcu_work, work)
#define HZ				100
/* Time passes only where a test lets it. */
extern unsigned long race_jiffies;
#define jiffies				READ_ONCE(race_jiffies)
#define time_before(a, b)		((long)((a) - (b)) < 0)
#define msecs_to_jiffies(n)		((unsigned long)(n))
#define nsecs_to_jiffies(n)		((unsigned long)(n) / 1000000)
#define task_sched_runtime(task)	((void)(task), 0UL)
#define cond_resched()			((void)0)
#define schedule_timeout_uninterruptible(n) sched_yield()

void queue_rcu_work(struct workqueue_struct *queue, struct rcu_work *work);
/* Queue work that is not queued; it is done a little later. */
void queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
			unsigned long delay);

/*
 * Memory.
 */
struct page {
	int refs;
};

enum { GFP_KERNEL_ACCOUNT = 1, __GFP_ZERO, __GFP_NORETRY, __GFP_NOWARN };

void *kzalloc(size_t size, gfp_t gfp);
void kfree(const void *p);
struct page *alloc_page(gfp_t gfp);
void get_page(struct page *page);
void put_page(struct page *page);
void *page_address(const struct page *page);
void *alloc_percpu_bytes(size_t size);
void free_percpu(void *p);

#define kvzalloc(size, gfp)		kzalloc(size, gfp)
#define kvcalloc(n, size, gfp)		kzalloc((n) * (size), gfp)
#define kvfree(p)			kfree(p)
#define copy_page(to, from)		memcpy(to, from, PAGE_SIZE)

/* Each thread is a CPU. */
#define RACE_CPUS				16
#define PER_CPU_SIZE			64
extern __thread unsigned int this_cpu;

#define alloc_percpu(type)		((type *)alloc_percpu_bytes(sizeof(type)))
#define per_cpu_ptr(p, cpu)		((typeof(p))((char *)(p) + (cpu) * PER_CPU_SIZE))
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < RACE_CPUS; (cpu)++)
#define this_cpu_inc(x)							\
	__atomic_fetch_add(per_cpu_ptr(&(x), this_cpu), 1, __ATOMIC_RELAXED)

#define MAX_ERRNO			4095
#define IS_ERR_VALUE(x)			((unsigned long)(x) >= (unsigned long)-MAX_ERRNO)
#define IS_ERR(p)			IS_ERR_VALUE(p)
#define IS_ERR_OR_NULL(p)		(!(p) || IS_ERR(p))
#define ERR_PTR(err)			((void *)(long)(err))
#define PTR_ERR_OR_ZERO(p)		(IS_ERR(p) ? (int)(long)(p) : 0)

/*
 * Address spaces, tasks and uprobes.
 */
typedef unsigned long vm_flags_t;
typedef unsigned int vm_fault_t;

enum { VM_FAULT_OOM = 1, VM_FAULT_SIGBUS, VM_FAULT_SIGSEGV };
enum {
	VM_READ = 1, VM_EXEC = 4, VM_MAYREAD = 0x10, VM_MAYEXEC = 0x40, VM_DONTCOPY = 0x100,
	VM_DONTEXPAND = 0x200, VM_DONTDUMP = 0x400, VM_SEALED = 0x800, VM_IO = 0x4000,
	EMPTY_VMA_FLAGS = 0,
};

struct vm_area_struct;

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long address;
	unsigned long pgoff;
	struct page *page;
};

struct vm_operations_struct {
	vm_fault_t (*fault)(struct vm_fault *vmf);
};

struct vm_special_mapping {
	const char *name;
	vm_fault_t (*fault)(const struct vm_special_mapping *sm, struct vm_area_struct *vma,
			    struct vm_fault *vmf);
};

struct mm_struct;

struct vm_area_struct {
	struct mm_struct *vm_mm;
	unsigned long vm_start, vm_end;
	vm_flags_t vm_flags;
	const struct vm_operations_struct *vm_ops;
	const struct vm_special_mapping *special;
};

#define VMAS_MAX	64

struct mm_struct {
	pthread_rwlock_t mmap_lock;
	struct vm_area_struct vmas[VMAS_MAX];
	int map_count;
	unsigned long start_stack, start_brk, brk, task_size;
	atomic_t mm_users;
	struct {
		struct uhook_mm *uhook;
		atomic_long_t unmapped;
	} uprobes_state;
};

struct task_struct {
	struct mm_struct *mm;
	struct task_struct *real_parent;
	unsigned int flags;
	pid_t pid;
};

extern __thread struct task_struct *current;
#define in_vfork(task)			((void)(task), false)
#define task_tgid_nr(task)		((task)->pid)
#define task_pid_nr(task)		((task)->pid)
#define PF_KTHREAD			1
#define task_lock(task)			((void)(task))
#define task_unlock(task)		((void)(task))

int mmap_write_lock_killable(struct mm_struct *mm);
void mmap_write_unlock(struct mm_struct *mm);
void mmap_read_lock(struct mm_struct *mm);
void mmap_read_unlock(struct mm_struct *mm);
void mmap_assert_locked(const struct mm_struct *mm);
void mmap_assert_write_locked(const struct mm_struct *mm);

struct file;

struct file_operations {
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
};

struct file {
	const struct file_operations *ops;
};

#define O_RDWR				2
#define PROT_READ			1
#define PROT_WRITE			2
#define MAP_SHARED			1
#define MAP_FIXED_NOREPLACE		0x100000
#define vm_flags_set(vma, flags)	((void)((vma)->vm_flags |= (flags)))
#define vm_flags_clear(vma, flags)	((void)((vma)->vm_flags &= ~(flags)))
#define vm_start_gap(vma)		((vma)->vm_start)
#define rlimit(resource)		0x800000UL
#define stack_guard_gap			0x100000UL
#define mmap_min_addr			0x10000UL
#define VM_UNMAPPED_AREA_TOPDOWN	1
#define get_sysctl_max_map_count()	VMAS_MAX
/* There is no RLIMIT_AS. */
#define hook_base_may_expand_vm(mm, flags, pages)	((void)(flags), true)
#define device_initcall(f)						\
	static void __attribute__((constructor)) f##_first(void) { f(); }

struct list_head;
struct file *anon_inode_getfile(const char *name, const struct file_operations *ops, void *data,
				int flags);
unsigned long do_mmap(struct file *file, unsigned long addr, unsigned long size, int prot,
		      int flags, vm_flags_t vm_flags, unsigned long pgoff,
		      unsigned long *populate, struct list_head *uf);
int do_munmap(struct mm_struct *mm, unsigned long start, size_t size, struct list_head *uf);
struct vm_area_struct *_install_special_mapping(struct mm_struct *mm, unsigned long addr,
						unsigned long size, vm_flags_t flags,
						const struct vm_special_mapping *mapping);
struct vm_area_struct *vma_lookup(struct mm_struct *mm, unsigned long addr);
/* The first mapping that ends after an address. */
struct vm_area_struct *find_vma(struct mm_struct *mm, unsigned long addr);

struct vm_unmapped_area_info {
	unsigned long flags, length, low_limit, high_limit, align_mask;
};

unsigned long vm_unmapped_area(const struct vm_unmapped_area_info *info);

#define VMA_ITERATOR(vmi, mm, start)					\
	struct mm_struct *vmi = (mm);					\
	unsigned long vmi##_at = (start)
#define for_each_vma_range(vmi, vma, end)				\
	for (; (vma = find_vma(vmi, vmi##_at)) && vma->vm_start < (end); vmi##_at = vma->vm_end)

typedef u8 uprobe_opcode_t;
struct pt_regs;

struct uprobe_consumer {
	bool (*filter)(struct uprobe_consumer *uc, struct mm_struct *mm);
};

#define UPROBE_SWBP_INSN		0xcc
#define UPROBE_SWBP_INSN_SIZE		1
#define arch_uprobe_copy_ixol(page, addr, bytes, len)			\
	memcpy(page_address(page) + offset_in_page(addr), bytes, len)

/*
 * Tables. A node is found under RCU; writers exclude each other.
 */
struct rhash_head {
	struct rhash_head *next;
};

struct rhashtable {
	struct rhash_head *buckets[64];
	atomic_t nelems;
	unsigned int max_elems;
};

struct rhashtable_params {
	size_t key_len, key_offset, head_offset;
	bool automatic_shrinking;
	unsigned int max_size;
};

int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params);
void rhashtable_free_and_destroy(struct rhashtable *table, void (*free)(void *p, void *data),
				 void *data);
void *rhashtable_lookup_fast(struct rhashtable *table, const unsigned long *key,
			     const struct rhashtable_params params);
int rhashtable_insert_fast(struct rhashtable *table, struct rhash_head *node,
			   const struct rhashtable_params params);
int rhashtable_replace_fast(struct rhashtable *table, struct rhash_head *old,
			    struct rhash_head *new, const struct rhashtable_params params);

struct xarray {
	int unused;
};

#define xa_init_flags(xa, flags)	((void)(xa))

u64 sched_clock(void);

#define ktime_get_ns()			sched_clock()
#define kmalloc(size, gfp)		kzalloc(size, gfp)

static inline unsigned long hash_long(unsigned long value, unsigned int bits)
{
	return value * 0x61c8864680b583ebUL >> (64 - bits);
}

#define hash_64(value, bits)		hash_long(value, bits)
#define hash_ptr(p, bits)		hash_long((unsigned long)(p), bits)

/*
 * Registers and properties of the processor, for <asm/uhook.h>.
 */
struct pt_regs {
	unsigned long flags, sp;
};

static const struct {
	u64 max_features;
	unsigned int max_size;
} fpu_user_cfg;

#define instruction_pointer(regs)	0UL
#define user_stack_pointer(regs)	((regs)->sp)
#define regs_get_register(regs, offset)	0UL
#define copy_from_user(to, from, size)	(size)
#define user_64bit_mode(regs)		true
#define boot_cpu_has(feature)		true
#define X86_EFLAGS_TF			0x100
#define XFEATURE_MASK_XTILE		0x60000
#define get_unaligned(p) (((const struct { s32 v; } __attribute__((packed)) *)(p))->v)

#define __KERNEL__

#endif /* SELFTESTS_HOST_RACE_KERNEL_H */
