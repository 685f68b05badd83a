// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks that record.
 *
 * A body writes the record to the ring of its area, which rings.c reads. Where no body is
 * possible, the kernel makes the record at the hit.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uhook_ring.h>

#include "compose.h"
#include "data_layout.h"
#include "report.h"
#include "rings.h"
#include "sets.h"

static int check(struct uhook_counter *counter, const struct uhook_ops *ops, unsigned int nr)
{
	unsigned int i;

	if (!ops->record) {
		uhook_fail(ops, UHOOK_ERR_OPS, "it has no callback for its records: set record");
		return -EINVAL;
	}
	if (ops->nr_regs > UHOOK_RECORD_ARGS) {
		uhook_fail(ops, UHOOK_ERR_REGISTER, "a record has %u registers at most",
			   UHOOK_RECORD_ARGS);
		return -EINVAL;
	}

	for (i = 0; i < ops->nr_regs; i++) {
		int number = uhook_register_number(ops->regs[i]);

		if (number < 0) {
			uhook_fail(ops, UHOOK_ERR_REGISTER,
				   "the register at %u of pt_regs cannot be recorded",
				   ops->regs[i]);
			return number;
		}
		counter->recorder.regs[i] = number;
	}
	counter->recorder.nr_regs = ops->nr_regs;
	counter->recorder.stack = ops->flags & UHOOK_FL_STACK;

	return 0;
}

/* Check that the recorder has a struct uhook_cells to count lost records in. */
static enum uhook_verdict find(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
			       struct uprobe *uprobe)
{
	return i < UHOOK_BODY_CELLS ? UHOOK_GRANTED : UHOOK_TOO_LONG;
}

static enum uhook_verdict emit(const struct uhook_wanted *w, unsigned int i,
			       const struct uhook_where *p, struct uhook_code *code)
{
	struct uhook_recorder recorder = w->set->counters[i]->recorder;
	unsigned long at = uhook_where_addr(p, UHOOK_LONG_BODIES) + code->len;

	recorder.ring = p->base + UHOOK_CODE_SIZE + UHOOK_RING_AT;
	recorder.lost = uhook_cells_addr(p->base, p->nr, i) + offsetof(struct uhook_cells, lost);
	recorder.id = UHOOK_RECORDER_ID(p->nr, i);

	return uhook_append(code, uhook_record_code(code->bytes + code->len,
						    UHOOK_LONG_SIZE - code->len, at, &recorder));
}

/* Copy the words at the stack pointer that a recorder in a body would read. */
static void copy_stack(struct uhook_record *record)
{
	size_t len = min(sizeof(record->stack), PAGE_ALIGN(record->sp) - record->sp);

	memset(record->stack, 0, sizeof(record->stack));
	if (copy_from_user(record->stack, (void __user *)record->sp,
			   ALIGN_DOWN(len, sizeof(record->stack[0]))))
		memset(record->stack, 0, sizeof(record->stack));
}

/* Record a hit in the kernel. Sleeps. */
static void record_here(struct uhook_ops *ops, struct pt_regs *regs)
{
	struct uhook_record record = {
		.time	= sched_clock(),
		.pid	= task_pid_nr(current),
		.tgid	= task_tgid_nr(current),
		.site	= instruction_pointer(regs),
		.sp	= user_stack_pointer(regs),
	};
	unsigned int i;

	if (!ops->record)
		return;

	for (i = 0; i < ops->nr_regs; i++)
		record.args[i] = regs_get_register(regs, ops->regs[i]);
	if (ops->flags & UHOOK_FL_STACK)
		copy_stack(&record);
	ops->record(ops, &record);
}

const struct uhook_kind uhook_record_kind = {
	.name		= "record",
	.traits		= UHOOK_COUNTS | UHOOK_LONG | UHOOK_RECORDS,
	.check		= check,
	.begin		= uhook_start_draining,
	.end		= uhook_stop_draining,
	.may_run	= uhook_can_record,
	.find		= find,
	.emit		= emit,
	.in_kernel	= record_here,
};
