// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: frames of a task's shadow stack, one for each call whose return a hook
 * wants to see.
 *
 * The trampoline pushes a frame before it calls entry callbacks, which find their
 * data in it. If one of them wants the exit, the return address is moved into the
 * frame, and the function gets the address of fhook_return instead. fhook_return
 * calls into this file, which calls the exit callbacks, pops the frame and
 * continues in the caller. Pushing the frame and moving the address take a few
 * instructions of the trampoline. Size and key are written before the frame counts
 * as taken, and again afterwards, because an interrupt may have pushed frames of
 * its own there.
 *
 * A stack belongs to its task: no other task pushes or pops, and interrupts and
 * NMIs do so in pairs, so there is no lock. Two rules make it safe to find a frame
 * at any instruction: it counts as taken before it is filled, and the return
 * address is in it before the function loses the address, and is given back before
 * the frame is popped. The code here that runs at a return takes no kprobe: the
 * kprobe's handlers may have hooked exits, and would return through here.
 *
 * The mainline counterparts are fgraph.c and rethook.c. exits.c describes the
 * lifetime of the objects that a frame refers to; stack.c manages the stacks.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/bug.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <asm/fhook_arch.h>
#include <asm/fhook_pieces.h>

#include "exits.h"
#include "frame.h"

/*
 * The bits of the contexts of this CPU in which a callback is running. Only
 * trampolines and this file read and write it, with preemption disabled.
 */
DEFINE_PER_CPU(unsigned int, fhook_guard);

static_assert(offsetof(struct fhook_frame, ret) == FHOOK_FRAME_RET);
static_assert(offsetof(struct fhook_frame, key) == FHOOK_FRAME_KEY);
static_assert(offsetof(struct fhook_frame, func) == FHOOK_FRAME_FUNC);
static_assert(offsetof(struct fhook_frame, exits) == FHOOK_FRAME_EXITS);
static_assert(offsetof(struct fhook_frame, size) == FHOOK_FRAME_SIZE);
static_assert(offsetof(struct fhook_frame, declined) == FHOOK_FRAME_DECLINED);
static_assert(!IS_ENABLED(CONFIG_CPU_BIG_ENDIAN));
/* There is room for a frame if it lies after the stack's own head. */
static_assert(sizeof(struct fhook_stack) <= sizeof(u64));

/**
 * is_fhook_return() - check whether an address is a return address that fhook has placed
 * @addr: address from a stack
 *
 * For unwinders, in any context: if fhook_ret_addr() does not replace it, the function to
 * which it belongs returns to an unknown caller.
 */
bool is_fhook_return(unsigned long addr)
{
	return addr == (unsigned long)fhook_return ||
	       addr == (unsigned long)fhook_regs_return;
}

NOKPROBE_SYMBOL(is_fhook_return);

static struct fhook_frame *older(const struct fhook_frame *frame)
{
	return (void *)frame + READ_ONCE(frame->size);
}

/**
 * fhook_frame_pop() - remove the frame of a call that needs no exit
 * @frame: frame of the call that is being entered
 *
 * Called by trampolines, in any context.
 */
void fhook_frame_pop(struct fhook_frame *frame)
{
	WRITE_ONCE(current->fhook_stack->top, older(frame));
}

NOKPROBE_SYMBOL(fhook_frame_pop);

/*
 * If a function was left without returning, for example on a CPU that is
 * suspended, its frame is still there. Its callers have frames of their own below.
 */
static noinline struct fhook_frame *drop_until(struct fhook_stack *stack,
					       unsigned long key)
{
	struct fhook_frame *frame = stack->top;

	while ((void *)frame < fhook_stack_end(stack)) {
		const struct fhook_exits *exits = frame->exits;
		bool entered = frame->key;

		if (frame->key == key)
			return frame;

		frame = older(frame);
		WRITE_ONCE(stack->top, frame);
		if (entered)
			this_cpu_dec(*exits->pending);
	}

	/* There is no address to continue at. */
	panic("fhook: a function has lost its return address (%#lx)", key);
}

NOKPROBE_SYMBOL(drop_until);

/**
 * fhook_ret_addr() - look up a return address in the frames of a task
 * @task: task whose stack is being unwound: current, or a task that does not run
 * @cursor: NULL before the first call, then the state of the search
 * @addr: return address as found on the stack
 * @key: value of fhook_regs_key() at the entry of the function
 *
 * For unwinders, in any context. If the task runs nevertheless, the result may be
 * wrong, but no invalid memory is accessed.
 *
 * Return: the original return address; @addr if it is not fhook's, or if there is
 * no such frame. The result is never fhook's own address, even after a tail call,
 * but may be that of another tracer.
 */
unsigned long fhook_ret_addr(struct task_struct *task,
			     struct fhook_frame **cursor, unsigned long addr,
			     unsigned long key)
{
	struct fhook_stack *stack = READ_ONCE(task->fhook_stack);
	struct fhook_frame *frame;
	unsigned long ret;

	if (!is_fhook_return(addr) || !stack)
		return addr;

	frame = *cursor ? older(*cursor) : READ_ONCE(stack->top);
	while ((void *)frame >= (void *)(stack + 1) &&
	       (void *)(frame + 1) <= fhook_stack_end(stack)) {
		if (READ_ONCE(frame->key) == key) {
			*cursor = frame;
			ret = READ_ONCE(frame->ret);
			if (!is_fhook_return(ret))
				return ret;
		}
		if (READ_ONCE(frame->size) < sizeof(*frame))
			break;
		frame = older(frame);
	}

	return addr;
}

NOKPROBE_SYMBOL(fhook_ret_addr);

/**
 * struct return_search - state of a search in each tracer's shadow stack
 * @frame: the last frame of fhook that was examined, or NULL
 * @node: the last node of kretprobes and rethooks that was examined, or NULL
 * @graph: index in the graph tracer's stack, or 0
 */
struct return_search {
	struct fhook_frame	*frame;
	struct llist_node	*node;
	int			graph;
};

#if defined(CONFIG_RETHOOK)
#define PROBE_RETURN	((unsigned long)arch_rethook_trampoline)

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return rethook_find_ret_addr(current, key, &search->node);
}
#elif defined(CONFIG_KRETPROBES)
#define PROBE_RETURN	((unsigned long)__kretprobe_trampoline)

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return kretprobe_find_ret_addr(current, (void *)key, &search->node);
}
#else
#define PROBE_RETURN	0

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return 0;
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
#define GRAPH_RETURN	((unsigned long)return_to_handler)
#else
#define GRAPH_RETURN	0
#endif

/*
 * A bit for each return trampoline, selected by low bits of its address. At nearly every
 * return, this bit shows that no other tracer has replaced the address.
 */
static unsigned long return_bits __ro_after_init;

static __always_inline unsigned int return_bit(unsigned long addr)
{
	return (addr / sizeof(u32)) % BITS_PER_LONG;
}

static int __init return_bits_init(void)
{
	return_bits = BIT(return_bit((unsigned long)fhook_return)) |
		      BIT(return_bit((unsigned long)fhook_regs_return)) |
		      BIT(return_bit(GRAPH_RETURN)) | BIT(return_bit(PROBE_RETURN));

	return 0;
}
early_initcall(return_bits_init);

/*
 * Look up @addr in the shadow stack of its tracer; @addr if it is no return
 * trampoline.
 */
static unsigned long next_ret_addr(struct return_search *search,
				   unsigned long addr, unsigned long key)
{
	if (addr == GRAPH_RETURN)
		return ftrace_graph_ret_addr(current, &search->graph, addr,
					     (unsigned long *)key);
	if (addr == PROBE_RETURN)
		return probe_ret_addr(search, key) ?: addr;

	return fhook_ret_addr(current, &search->frame, addr, key);
}

NOKPROBE_SYMBOL(next_ret_addr);

/*
 * If several tracers have replaced one return address, each but the first has
 * saved the address of another's trampoline; and after tail calls one return
 * address belongs to several functions. The unwinders search in the same way.
 */
static noinline unsigned long search_caller(struct return_search *search,
					    unsigned long addr, unsigned long key)
{
	unsigned long found = addr;

	do {
		addr = found;
		found = next_ret_addr(search, addr, key);
	} while (found != addr);

	return found;
}

NOKPROBE_SYMBOL(search_caller);

/* False for return trampolines, and for few other addresses, which a search returns. */
static __always_inline bool is_caller(unsigned long addr)
{
	return !((return_bits >> return_bit(addr)) & 1);
}

static noinline unsigned long search_below(struct fhook_frame *frame, unsigned long addr)
{
	struct return_search search = { .frame = frame };

	return search_caller(&search, addr, frame->key);
}

NOKPROBE_SYMBOL(search_below);

/* The caller of the call of @frame, whose callbacks are running. */
static __always_inline unsigned long frame_caller(struct fhook_frame *frame,
						  unsigned long addr)
{
	if (likely(is_caller(addr)))
		return addr;

	return search_below(frame, addr);
}

/**
 * fhook_find_caller() - find the real caller of a function
 * @addr: return address as found, which may be that of a return trampoline
 * @key: value of fhook_regs_key() at the function's entry
 * @node: the rethook or kretprobe that found @addr as its return address, or NULL
 *
 * For records of other tracers about the current task, in any context.
 *
 * Return: the address in the caller; the address of a return trampoline only if
 * its owner does not know the caller.
 */
unsigned long fhook_find_caller(unsigned long addr, unsigned long key,
				struct llist_node *node)
{
	struct return_search search = { .node = node };

	if (likely(is_caller(addr)))
		return addr;

	return search_caller(&search, addr, key);
}

NOKPROBE_SYMBOL(fhook_find_caller);

/**
 * fhook_regs_get_parent() - find the real caller of the hooked function
 * @fregs: the registers at a site, in a callback
 *
 * Return: the address in the caller at which the call continues, even if fhook,
 * kretprobes, fprobes or the graph tracer have replaced the return address; in an
 * exit callback the address set by fhook_regs_set_ip(), if any.
 */
unsigned long fhook_regs_get_parent(const struct fhook_regs *fregs)
{
	unsigned long addr = fhook_regs_ret_addr(fregs);

	if (fhook_regs_at_exit(fregs))
		return frame_caller(current->fhook_stack->top, addr);

	return fhook_find_caller(addr, fhook_regs_key(fregs), NULL);
}
EXPORT_SYMBOL_GPL(fhook_regs_get_parent);
NOKPROBE_SYMBOL(fhook_regs_get_parent);

/* The bit of fhook_guard for this context, as in fhook_caller. */
static __always_inline unsigned int guard_bit(void)
{
	unsigned int count;

	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return FHOOK_GUARD_TASK;
	count = preempt_count();
	if (count & NMI_MASK)
		return FHOOK_GUARD_TASK << 3;
	if (count & HARDIRQ_MASK)
		return FHOOK_GUARD_TASK << 2;

	return FHOOK_GUARD_TASK << 1;
}

static __always_inline void call_exit(const struct fhook_exit *exit,
				      struct fhook_frame *frame,
				      unsigned long caller,
				      struct fhook_regs *fregs)
{
	fhook_exit_t call = READ_ONCE(*READ_ONCE(exit->call));

	if (likely(call))
		call(exit->ops, frame->func, caller, fregs,
		     exit->data ? (void *)frame + exit->data : NULL);
}

static noinline void call_exits(struct fhook_frame *frame,
				unsigned long caller,
				struct fhook_regs *fregs)
{
	const struct fhook_exits *exits = frame->exits;
	unsigned int i, declined = frame->declined;

	for (i = 0; i < exits->num; i++, declined >>= 1) {
		if (!(declined & 1))
			call_exit(&exits->exits[i], frame, caller, fregs);
	}
}

NOKPROBE_SYMBOL(call_exits);

static __always_inline void handle_return(struct fhook_regs *fregs, bool full)
{
	struct fhook_stack *stack = current->fhook_stack;
	struct fhook_frame *frame = stack->top;
	unsigned long caller;
	unsigned int held;

	preempt_disable_notrace();
	if (unlikely(frame->key != fhook_regs_key(fregs)))
		frame = drop_until(stack, fhook_regs_key(fregs));
	fregs->ip = frame->ret;
	if (full)
		instruction_pointer_set(&fregs->regs, frame->ret);

	/*
	 * Interrupts release their bits before they return, so the value does not
	 * change.
	 */
	held = __this_cpu_read(fhook_guard);
	__this_cpu_write(fhook_guard, held | guard_bit());
	caller = frame_caller(frame, frame->ret);
	/* A single hook has not declined, or there would be no frame. */
	if (likely(frame->exits->num == 1))
		call_exit(frame->exits->exits, frame, caller, fregs);
	else
		call_exits(frame, caller, fregs);
	__this_cpu_write(fhook_guard, held);

	fhook_regs_unhijack(fregs, full);
	this_cpu_dec(*frame->exits->pending);
	barrier();
	/*
	 * From here on, an interrupt may push frames of its own over this frame.
	 */
	WRITE_ONCE(stack->top, older(frame));
	preempt_enable_notrace();
}

/**
 * fhook_return_handler() - handle the return of a function with a hooked exit
 * @fregs: the registers that hold return values; gets the address in the caller
 *
 * Called by fhook_return, in any context. A call refused by the guard at the entry
 * has no frame, so the guard is not checked here, but it is taken: functions
 * called by exit callbacks are not hooked.
 */
void fhook_return_handler(struct fhook_regs *fregs)
{
	handle_return(fregs, false);
}

NOKPROBE_SYMBOL(fhook_return_handler);

/**
 * fhook_regs_return_handler() - handle a return with full registers
 * @fregs: the full registers
 *
 * Called by fhook_regs_return.
 */
void fhook_regs_return_handler(struct fhook_regs *fregs)
{
	handle_return(fregs, true);
}

NOKPROBE_SYMBOL(fhook_regs_return_handler);

/**
 * fhook_frames_drop() - drop the frames of a task that will not return
 * @stack: stack of a task that has ended, or that restarts
 */
void fhook_frames_drop(struct fhook_stack *stack)
{
	struct fhook_frame *frame = stack->top;

	while ((void *)frame < fhook_stack_end(stack)) {
		if (frame->key)
			this_cpu_dec(*frame->exits->pending);
		frame = older(frame);
	}
	stack->top = frame;
}
