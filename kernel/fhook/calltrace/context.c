// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: stubs that say which task runs.
 *
 * A processor's trace is one for each CPU. So that calls belong to tasks, also where
 * the trace does not name them, the id of a task that a CPU turns to is spelled by
 * calling stubs: first which turn of the task this is, by which its pieces from
 * several CPUs can be put in order without clocks, then the id, byte by byte, without
 * leading zeroes. Each byte of each place has a stub of its own. Idle tasks have id 0
 * and belong to their CPU. Turns are counted for each task from when tracing was
 * enabled, so that its first piece is known.
 *
 * Stubs are called from the scheduler with interrupts off. The choice cannot go
 * meanwhile: the tracepoint is left, and waited for, before it may. The count of a
 * task is written by the CPU that turns to it, or runs it, with interrupts off.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../report.h"
#include "calltrace.h"

#define VALUES		256

/* In the order of their stubs; the last is called last. */
static const char *const places[] = { "turn", "task2", "task1", "task0" };

enum { TURN, TASK2, TASK1, TASK0 };

/* Where the stubs begin, while the scheduler calls them. */
static unsigned long context_base;

/* Nothing is said, though the scheduler asks. */
static bool paused;

/* Counts how often tracing was enabled, above the low byte, which is of tasks. */
static u32 began;

/**
 * calltrace_context_size() - how long these stubs are together
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
 * calltrace_context_write() - write these stubs to the begin of a block
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

/* 0 is the first, and 1 comes after 255. */
static u8 next_turn(struct task_struct *task)
{
	u32 since = READ_ONCE(began);
	u8 turn = 0;

	if ((task->fhook_calltrace_turn ^ since) < VALUES)
		turn = 1 + (u8)task->fhook_calltrace_turn % (VALUES - 1);
	task->fhook_calltrace_turn = since | turn;

	return turn;
}

static void spell(struct task_struct *task)
{
	call_stub(TURN, next_turn(task));
	if (task->pid >> 16)
		call_stub(TASK2, task->pid >> 16);
	if (task->pid >> 8)
		call_stub(TASK1, task->pid >> 8);
	call_stub(TASK0, task->pid);
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
 * calltrace_context_begin() - say from now on who runs, and at once who does now
 * @choice: whose stubs to call
 * @report: says what went wrong
 *
 * May be called again, to count turns from the begin of another recording.
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

	if (!block)
		return 0;
	/* Not 0, which is of tasks that had no turn yet. */
	WRITE_ONCE(began, began + VALUES ?: VALUES);
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
 * calltrace_context_pause() - say nothing until calltrace_context_begin()
 *
 * What a recorder that begins meanwhile sees is counted anew then, and all of it.
 */
void calltrace_context_pause(void)
{
	WRITE_ONCE(paused, true);
	/* Nobody is in the middle of a context any more. */
	tracepoint_synchronize_unregister();
}

/**
 * calltrace_context_end() - say it no more
 */
void calltrace_context_end(void)
{
	if (!context_base)
		return;

	unregister_trace_sched_switch(spell_next, NULL);
	tracepoint_synchronize_unregister();
	context_base = 0;
}

/**
 * calltrace_context_show() - print these stubs for the map
 * @m: where to
 * @block: the block that has them
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
