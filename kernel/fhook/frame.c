// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: frames of a task's shadow stack, one for each call whose return a hook
 * wants to see.
 *
 * The trampoline pushes a frame before it calls entry callbacks, which find
 * their data in it. If one of them wants the exit, the frame takes the return
 * address and the function gets the address of fhook_return instead, which
 * comes here, calls the exit callbacks, pops the frame and goes on where the
 * function was called. Pushing and taking the address are a few instructions of
 * the trampoline; size and key are written before the frame counts as taken, and
 * again behind that, because an interrupt may have pushed frames of its own there.
 *
 * A stack belongs to its task: nobody else pushes and pops, and interrupts and
 * NMIs do so in between in pairs, so there is no lock. Two things make a frame
 * safe to find at any instruction: it counts as taken before it is filled, and
 * its return address is in it before the function loses it, and given back
 * before the frame is popped. What runs at a return takes no kprobe: what handles
 * that may have exits hooked, and return by way of here.
 *
 * The mainline counterparts are fgraph.c and rethook.c. Of what a frame refers
 * to, see exits.c; of the stacks, stack.c.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/bug.h>
#include <linux/ftrace.h>
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
/* That there is room is seen by the frame being behind the stack's own head. */
static_assert(sizeof(struct fhook_stack) <= sizeof(u64));

static bool is_return(unsigned long addr)
{
	return addr == (unsigned long)fhook_return ||
	       addr == (unsigned long)fhook_regs_return;
}

static struct fhook_frame *older(const struct fhook_frame *frame)
{
	return (void *)frame + READ_ONCE(frame->size);
}

/**
 * fhook_frame_pop() - nobody wants the exit of a call
 * @frame: the frame, of the call that is being entered
 *
 * Called by trampolines, in any context.
 */
void fhook_frame_pop(struct fhook_frame *frame)
{
	WRITE_ONCE(current->fhook_stack->top, older(frame));
}

NOKPROBE_SYMBOL(fhook_frame_pop);

/*
 * A function that was left without returning, as by a CPU that is suspended, has
 * its frame still there. Its callers have frames of their own below.
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

	/* There is nowhere to go on. */
	panic("fhook: a function has lost its return address (%#lx)", key);
}

NOKPROBE_SYMBOL(drop_until);

/**
 * fhook_ret_addr() - the return address that a frame keeps
 * @task: whose stack is being unwound: current, or one that does not run
 * @cursor: NULL before the first call, then where that left off
 * @addr: a return address as found
 * @key: what fhook_regs_key() was at the entry of the function that it is of
 *
 * For unwinders, in any context. Of a task that runs all the same, what it says
 * may be wrong, but nothing is touched that is not there.
 *
 * Return: @addr if it is none of fhook's, or if there is no such frame. What is
 * found is not fhook's again, as it would be after a tail call, but may be another
 * tracer's.
 */
unsigned long fhook_ret_addr(struct task_struct *task,
			     struct fhook_frame **cursor, unsigned long addr,
			     unsigned long key)
{
	struct fhook_stack *stack = READ_ONCE(task->fhook_stack);
	struct fhook_frame *frame;
	unsigned long ret;

	if (!is_return(addr) || !stack)
		return addr;

	frame = *cursor ? older(*cursor) : READ_ONCE(stack->top);
	while ((void *)frame >= (void *)(stack + 1) &&
	       (void *)(frame + 1) <= fhook_stack_end(stack)) {
		if (READ_ONCE(frame->key) == key) {
			*cursor = frame;
			ret = READ_ONCE(frame->ret);
			if (!is_return(ret))
				return ret;
		}
		if (READ_ONCE(frame->size) < sizeof(*frame))
			break;
		frame = older(frame);
	}

	return addr;
}

/**
 * struct return_search - how far each tracer's shadow stack has been searched
 * @frame: fhook's last frame looked at, or NULL
 * @node: the last one of kretprobes and rethooks, or NULL
 * @graph: index of the graph tracer's, or 0
 */
struct return_search {
	struct fhook_frame	*frame;
	struct llist_node	*node;
	int			graph;
};

#if defined(CONFIG_RETHOOK)
static bool is_probe_return(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return rethook_find_ret_addr(current, key, &search->node);
}
#elif defined(CONFIG_KRETPROBES)
static bool is_probe_return(unsigned long addr)
{
	return is_kretprobe_trampoline(addr);
}

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return kretprobe_find_ret_addr(current, (void *)key, &search->node);
}
#else
static bool is_probe_return(unsigned long addr)
{
	return false;
}

static unsigned long probe_ret_addr(struct return_search *search,
				    unsigned long key)
{
	return 0;
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static bool is_graph_return(unsigned long addr)
{
	return addr == (unsigned long)return_to_handler;
}
#else
static bool is_graph_return(unsigned long addr)
{
	return false;
}
#endif

/* Ask the tracer whose return hook @addr is what it keeps; @addr if nobody's. */
static unsigned long next_ret_addr(struct return_search *search,
				   unsigned long addr, unsigned long key)
{
	if (is_graph_return(addr))
		return ftrace_graph_ret_addr(current, &search->graph, addr,
					     (unsigned long *)key);
	if (is_probe_return(addr))
		return probe_ret_addr(search, key) ?: addr;

	return fhook_ret_addr(current, &search->frame, addr, key);
}

NOKPROBE_SYMBOL(next_ret_addr);

/*
 * When several tracers have taken over one return, each but the first has found
 * the address of another's hook; and after tail calls one return address stands
 * for several functions. The unwinders search as this does.
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

static __always_inline bool is_return_hook(unsigned long addr)
{
	return is_return(addr) || is_graph_return(addr) || is_probe_return(addr);
}

/* The caller of the call that @frame is of, and of which callbacks run. */
static __always_inline unsigned long frame_caller(struct fhook_frame *frame,
						  unsigned long addr)
{
	struct return_search search = { .frame = frame };

	if (likely(!is_return_hook(addr)))
		return addr;

	return search_caller(&search, addr, frame->key);
}

/**
 * fhook_find_caller() - where a function really returns to
 * @addr: its return address as it was found, which may be a return hook's
 * @key: what fhook_regs_key() was at its entry
 * @node: the rethook or kretprobe that found @addr as its return address, or NULL
 *
 * For what other tracers record of the current task, in any context.
 *
 * Return: the address in the caller; of a return hook only if its owner does not
 * know better.
 */
unsigned long fhook_find_caller(unsigned long addr, unsigned long key,
				struct llist_node *node)
{
	struct return_search search = { .node = node };

	if (likely(!is_return_hook(addr)))
		return addr;

	return search_caller(&search, addr, key);
}

NOKPROBE_SYMBOL(fhook_find_caller);

/**
 * fhook_regs_get_parent() - where the hooked function returns to
 * @fregs: the registers at a site, in a callback
 *
 * Return: the address in the caller at which it goes on, also where return
 * hooks of fhook, kretprobes, fprobes or the graph tracer have taken over the
 * return; in an exit callback what fhook_regs_set_ip() set, if it did.
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

/* The bit of fhook_guard that stands for this context, as in fhook_caller. */
static __always_inline unsigned int guard_bit(void)
{
	unsigned int count = preempt_count();

	if (likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return FHOOK_GUARD_TASK;
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
	fhook_exit_t call = READ_ONCE(exit->hook->exit);

	if (likely(call && !READ_ONCE(exit->dead)))
		call(exit->hook->ops, frame->func, caller, fregs,
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
	struct fhook_frame *frame = current->fhook_stack->top;
	unsigned long caller;
	unsigned int held;

	preempt_disable_notrace();
	if (unlikely(frame->key != fhook_regs_key(fregs)))
		frame = drop_until(current->fhook_stack, fhook_regs_key(fregs));
	fhook_regs_set_ip(fregs, frame->ret);

	/* Who interrupts this gives back its bits, so they are what they were. */
	held = __this_cpu_read(fhook_guard);
	__this_cpu_write(fhook_guard, held | guard_bit());
	caller = frame_caller(frame, frame->ret);
	/* If there is only one, it has not declined, or there were no frame. */
	if (likely(frame->exits->num == 1))
		call_exit(frame->exits->exits, frame, caller, fregs);
	else
		call_exits(frame, caller, fregs);
	__this_cpu_write(fhook_guard, held);

	fhook_regs_unhijack(fregs, full);
	this_cpu_dec(*frame->exits->pending);
	barrier();
	/* From here on, an interrupt may push frames of its own in its place. */
	WRITE_ONCE(current->fhook_stack->top, older(frame));
	preempt_enable_notrace();
}

/**
 * fhook_return_handler() - a function returns whose exit is hooked
 * @fregs: the registers that return values travel in; gets the address at which
 *	the caller goes on
 *
 * Called by fhook_return, in any context. Whoever is refused by the guard at
 * the entry has no frame, so the guard is not asked here, but taken: what exit
 * callbacks call is not hooked.
 */
void fhook_return_handler(struct fhook_regs *fregs)
{
	handle_return(fregs, false);
}

NOKPROBE_SYMBOL(fhook_return_handler);

/**
 * fhook_regs_return_handler() - the same, with full registers
 * @fregs: the registers, wholly filled
 *
 * Called by fhook_regs_return.
 */
void fhook_regs_return_handler(struct fhook_regs *fregs)
{
	handle_return(fregs, true);
}

NOKPROBE_SYMBOL(fhook_regs_return_handler);

/**
 * fhook_frames_drop() - forget the calls of a task that will not return
 * @stack: of a task that has ended, or that starts anew
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
