// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: stubs that announce the running task.
 *
 * Each CPU has its own trace. To attribute calls to tasks, even if the trace does not
 * name them, a CPU that switches to a task spells the task's id by calling stubs:
 * first the number of the task's turn, by which the decoder can order the task's
 * pieces from several CPUs without clocks, then the id, byte by byte, without leading
 * zeroes. Each value of each byte has a stub of its own. Idle tasks have id 0 and
 * belong to their CPU. Turns of a task are counted since tracing was enabled, so that
 * its first piece is known, and from 0 again when its id changes: a thread that executes a
 * program takes the id of its leader, which had turns of its own.
 *
 * The scheduler calls the stubs with interrupts disabled. The choice cannot be freed in
 * the meantime, because the tracepoint is unregistered first, and its callbacks are waited
 * for. The counter of a task is written by the CPU that switches to the task, or runs it,
 * with interrupts disabled.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/threads.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../core.h"
#include "../report.h"
#include "calltrace.h"

#define VALUES		256

/* Bytes in the order in which their stubs are called. */
static const char *const places[] = { "turn", "task2", "task1", "task0" };

enum { TURN, TASK2, TASK1, TASK0 };

/* Address of the first stub, while the scheduler calls them. */
static unsigned long context_base;

/* The tracepoint is registered, but no stubs are called. */
static bool paused;

/* The smallest value of @began: one of the bits above those of ids is always set. */
#define BEGAN_FIRST	((u32)BIT(30))
static_assert(PID_MAX_LIMIT * VALUES <= BEGAN_FIRST);

/*
 * Counts how often tracing was enabled, above the low byte, which counts a task's
 * turns.
 */
static u32 began;

/**
 * calltrace_context_size() - total size of the stubs that announce tasks
 *
 * Return: the length in bytes.
 */
u32 calltrace_context_size(void)
{
	return ARRAY_SIZE(places) * VALUES * CALLTRACE_CONTEXT_SIZE;
}

static unsigned long stub_offset(unsigned int place, u8 value)
{
	return (place * VALUES + value) * CALLTRACE_CONTEXT_SIZE;
}

/**
 * calltrace_context_write() - write the stubs to the start of a block
 * @block: the block, which is not executable yet
 */
void calltrace_context_write(struct calltrace_block *block)
{
	unsigned int offset;

	for (offset = 0; offset < block->context;
	     offset += CALLTRACE_CONTEXT_SIZE)
		calltrace_arch_context_stub(block->code + offset,
					    (unsigned long)block->base + offset);
}

static void call_stub(unsigned int place, u8 value)
{
	void (*stub)(void);

	stub = (void *)context_base + stub_offset(place, value);
	stub();
}

/*
 * The first turn is 0, and 1 follows 255. The upper bits of the counter are 0 only if the task
 * had no turn yet; otherwise they depend on @began and the id. Ids are multiplied, because
 * threads of a process often differ in the same low bits as successive values of @began.
 */
static u8 next_turn(struct task_struct *task, u32 id)
{
	u32 since = READ_ONCE(began) ^ (id * GOLDEN_RATIO_32 * VALUES) % BEGAN_FIRST;
	u8 turn = 0;

	if ((task->fhook_calltrace_turn ^ since) < VALUES)
		turn = 1 + (u8)task->fhook_calltrace_turn % (VALUES - 1);
	task->fhook_calltrace_turn = since | turn;

	return turn;
}

static void spell(struct task_struct *task)
{
	/* A thread that executes a program may exchange ids with its dead leader meanwhile. */
	u32 id = READ_ONCE(task->pid);

	call_stub(TURN, next_turn(task, id));
	if (id >> 16)
		call_stub(TASK2, id >> 16);
	if (id >> 8)
		call_stub(TASK1, id >> 8);
	call_stub(TASK0, id);
}

static void spell_next(void *data, bool preempt, struct task_struct *prev,
		       struct task_struct *next, unsigned int prev_state)
{
	if (!READ_ONCE(paused))
		spell(next);
}

static void spell_current(void *unused)
{
	spell(current);
}

/**
 * calltrace_context_begin() - announce tasks, beginning with the current ones
 * @choice: choice with the stubs
 * @report: report of the error
 *
 * May be called again to count turns from the start of another recording.
 *
 * Return: 0 or an error.
 */
int calltrace_context_begin(struct calltrace_choice *choice,
			    struct fhook_report *report)
{
	const struct calltrace_block *block =
		list_first_entry_or_null(&choice->blocks,
					 struct calltrace_block, list);
	int err = 0;

	lockdep_assert_held(&fhook_mutex);
	if (!block)
		return 0;
	/* An overflow begins again, too. */
	WRITE_ONCE(began, max(began + VALUES, BEGAN_FIRST));
	if (!context_base) {
		context_base = (unsigned long)block->base;
		err = register_trace_sched_switch(spell_next, NULL);
	}
	if (err) {
		context_base = 0;
		return fhook_fail(report, FHOOK_ERR_NO_MEMORY, err, 0,
				  "the tracepoint of the scheduler cannot be used");
	}
	WRITE_ONCE(paused, false);
	on_each_cpu(spell_current, NULL, 1);

	return 0;
}

/**
 * calltrace_context_pause() - pause announcements until calltrace_context_begin()
 *
 * A recorder that starts during the pause sees all turns, counted from 0.
 */
void calltrace_context_pause(void)
{
	WRITE_ONCE(paused, true);
	/* No CPU is in the middle of an announcement any more. */
	tracepoint_synchronize_unregister();
}

/**
 * calltrace_context_end() - stop announcing tasks
 */
void calltrace_context_end(void)
{
	lockdep_assert_held(&fhook_mutex);
	if (!context_base)
		return;

	unregister_trace_sched_switch(spell_next, NULL);
	tracepoint_synchronize_unregister();
	context_base = 0;
}

/**
 * calltrace_context_show() - print the stubs that announce tasks for the map
 * @m: output
 * @block: block with the stubs
 */
void calltrace_context_show(struct seq_file *m,
			    const struct calltrace_block *block)
{
	unsigned int place, value;

	for (place = 0; place < ARRAY_SIZE(places); place++) {
		for (value = 0; value < VALUES; value++)
			seq_printf(m, "stub 0x%lx %u %s 0 %u\n",
				   (unsigned long)block->base +
				   stub_offset(place, value),
				   CALLTRACE_CONTEXT_SIZE, places[place], value);
	}
}
