// SPDX-License-Identifier: GPL-2.0
/*
 * uhook events: recording hits of programs, and printing the records.
 *
 * Arguments are in memory of the program and may have to be paged in first, so they are
 * fetched before room for them is reserved in a buffer: onto the stack or, if they are long,
 * into memory that is allocated for the hit. Hits of several threads share only the buffers
 * to which they are written.
 *
 * Records made by a program are read later, from its ring: their registers are restored, and
 * arguments are fetched from these as usual. The thread and the time of the hit are
 * stored in the event.
 *
 * uhook calls in the context of the task, which may sleep. The lists of files
 * are under RCU; the probe lives until uhook_unregister() has waited for hits.
 */
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/trace_events.h>
#include <asm/uhook.h>

#include "trace_uhook.h"
/* Longer strings are cut off. */
#define LONG_STRING_SIZE	MAX_STRING_SIZE
#include "trace_probe_user.h"
#include "trace_probe_tmpl.h"

/* Maximum size of arguments that are fetched onto the stack */
#define STACK_ARGS_SIZE	256

/**
 * struct user_stack - stack of the program in a record, between its head and its arguments
 * @loc: position of @nr in the record, and length of @nr and @entries, as for a dynamic array
 * @unused: not used
 * @nr: number of addresses
 * @entries: addresses, that of the hit first
 *
 * The size is fixed, so that arguments are at the same position in all records. Histograms
 * have stacks of this form, and of this depth, as keys.
 */
struct user_stack {
	u32		loc;
	u32		unused;
	unsigned long	nr;
	unsigned long	entries[HIST_STACKTRACE_DEPTH];
};

/**
 * struct hit - data of a hit to record
 * @tuh: the probe
 * @regs: registers of the program
 * @func: address of the function that returned, for events at the return, and for spans
 * @file_start: address of the start of the file, if all of it is mapped
 * @record: record made by the program, or NULL
 * @duration: duration of the call, in nanoseconds, for spans
 * @retval: return value of the call, for spans
 * @stack: stack of the program, or NULL if the probe does not record it
 * @top_size: size of the record before the stack, in bytes
 * @head_size: size of the record before the arguments, in bytes
 * @args: fetched arguments
 * @args_size: size of @args in bytes
 */
struct hit {
	struct trace_uhook	*tuh;
	struct pt_regs		*regs;
	unsigned long		func;
	unsigned long		file_start;
	const struct uhook_record *record;
	u64			duration;
	unsigned long		retval;
	const struct user_stack	*stack;
	size_t			top_size;
	size_t			head_size;
	void			*args;
	int			args_size;
};

/* Called by trace_probe_tmpl.h. The parser made the instructions. */
static int process_fetch_insn(struct fetch_insn *code, void *rec, void *edata,
			      void *dest, void *base)
{
	struct hit *hit = rec;
	unsigned long val;
	int ret;

	if (code->op == FETCH_OP_FOFFS) {
		val = hit->file_start + code->immediate;
	} else if (code->op == FETCH_OP_STACK && hit->record) {
		val = hit->record->stack[code->param];
	} else if (code->op == FETCH_OP_RETVAL && hit->tuh->place.kind == TRACE_UHOOK_SPAN) {
		val = hit->retval;
	} else {
		ret = process_user_fetch_insn(code, hit->regs, &val);
		if (ret < 0)
			return ret;
	}

	return process_fetch_insn_bottom(code + 1, val, dest, base);
}

/**
 * struct recorded_entry_head - the head of a record made by a program
 * @ent: the common head of all events
 * @ip: the address of the instruction
 * @time: time of the hit, in nanoseconds of the clock "local"
 */
struct recorded_entry_head {
	struct trace_entry	ent;
	unsigned long		ip;
	u64			time;
};

static bool is_recorded(const struct trace_uhook *tuh)
{
	return tuh->ops.user == UHOOK_USER_RECORD;
}

/* The size of the part before the stack */
static size_t top_size(const struct trace_uhook *tuh)
{
	static const size_t sizes[] = {
		[TRACE_UHOOK_POINT]	= sizeof(struct fentry_trace_entry_head),
		[TRACE_UHOOK_RETURN]	= sizeof(struct fexit_trace_entry_head),
		[TRACE_UHOOK_EXIT]	= sizeof(struct fentry_trace_entry_head),
		[TRACE_UHOOK_SPAN]	= sizeof(struct span_trace_entry_head),
	};

	return is_recorded(tuh) ? sizeof(struct recorded_entry_head) : sizes[tuh->place.kind];
}

static size_t head_size(const struct trace_uhook *tuh)
{
	return top_size(tuh) + (tuh->ustack ? sizeof(struct user_stack) : 0);
}

static_assert(sizeof(struct fexit_trace_entry_head) % sizeof(u64) == 0);
static_assert(sizeof(struct fentry_trace_entry_head) % sizeof(u64) == 0);

static void fill_record(void *record, const struct hit *hit)
{
	struct fentry_trace_entry_head *entry = record;
	struct span_trace_entry_head *span = record;
	struct recorded_entry_head *recorded = record;
	enum trace_uhook_kind kind = hit->tuh->place.kind;

	if (is_recorded(hit->tuh)) {
		recorded->ent.pid = hit->record->pid ?: hit->record->tgid;
		recorded->ip = hit->record->site;
		recorded->time = hit->record->time;
	} else if (kind == TRACE_UHOOK_RETURN || kind == TRACE_UHOOK_SPAN) {
		span->ret.func = hit->func;
		span->ret.ret_ip = instruction_pointer(hit->regs);
		if (kind == TRACE_UHOOK_SPAN)
			span->duration = hit->duration;
	} else {
		entry->ip = instruction_pointer(hit->regs);
	}
	if (hit->stack)
		memcpy(record + hit->top_size, hit->stack, sizeof(*hit->stack));
	memcpy(record + hit->head_size, hit->args, hit->args_size);
}

static void trace_hit(const struct hit *hit, struct trace_event_file *file)
{
	struct trace_event_buffer fbuffer;
	void *record;

	if (trace_trigger_soft_disabled(file))
		return;

	/* As in tracepoints: the preemption count in the record is reduced by one. */
	guard(preempt_notrace)();

	record = trace_event_buffer_reserve(&fbuffer, file, hit->head_size + hit->args_size);
	if (!record)
		return;
	fill_record(record, hit);
	trace_event_buffer_commit(&fbuffer);
}

static void perf_hit(const struct hit *hit)
{
	struct trace_event_call *call = trace_probe_event_call(&hit->tuh->tp);
	size_t used = hit->head_size + hit->args_size;
	struct hlist_head *head;
	void *record;
	int size, rctx;

	/*
	 * perf clears the flag, and waits for this section before it frees its list: by
	 * tracepoint_synchronize_unregister(), see trace_fhook_record.c.
	 */
	guard(preempt)();
	if (!trace_probe_test_flag(&hit->tuh->tp, TP_FLAG_PROFILE))
		return;
	head = this_cpu_ptr(call->perf_events);
	if (!bpf_prog_array_valid(call) && hlist_empty(head))
		return;

	/* perf puts a u32 before the record, and requires 8-byte alignment. */
	size = ALIGN(used + sizeof(u32), sizeof(u64)) - sizeof(u32);
	record = perf_trace_buf_alloc(size, NULL, &rctx);
	if (!record)
		return;
	fill_record(record, hit);
	memset(record + used, 0, size - used);
	perf_trace_run_bpf_submit(record, size, rctx, call, 1, hit->regs, head, NULL);
}

static void dispatch(const struct hit *hit)
{
	struct trace_probe *tp = &hit->tuh->tp;
	unsigned int flags = trace_probe_load_flag(tp);
	struct event_file_link *link;

	if (flags & TP_FLAG_TRACE) {
		guard(rcu)();
		trace_probe_for_each_link_rcu(link, tp)
			trace_hit(hit, link->file);
	}
	if (flags & TP_FLAG_PROFILE)
		perf_hit(hit);
}

static int record_args(struct hit *hit)
{
	struct trace_probe *tp = &hit->tuh->tp;
	/* The part that is used is zeroed below. */
	u8 space[STACK_ARGS_SIZE] __aligned(8) __uninitialized;
	int end = trace_hook_end_size(tp), max = MAX_HOOK_RECORD - hit->head_size;
	void *memory = NULL;

	/* A string may have become longer since; it is cut off then. */
	hit->args_size = min(tp->size + __get_data_size(tp, hit, NULL) + end, max);
	hit->args = space;
	if (hit->args_size > sizeof(space)) {
		memory = kmalloc(hit->args_size, hit->record ? GFP_ATOMIC : GFP_KERNEL);
		if (!memory)
			return 0;
		hit->args = memory;
	}

	/* Values that cannot be fetched read as 0, and not as older contents. */
	memset(hit->args, 0, hit->args_size);
	store_trace_args(hit->args, tp, hit, NULL, hit->head_size,
			 hit->args_size - tp->size - end);
	trace_hook_end_strings(tp, hit->args, hit->head_size + hit->args_size - end);
	dispatch(hit);
	if (unlikely(memory))
		kfree(memory);
	return 0;
}

/*
 * Unwinding ends at a page of the program's stack that is not in memory. Out of line, because
 * it has a large frame.
 */
static noinline int record_with_stack(struct hit *hit)
{
	size_t at = hit->top_size + offsetof(struct user_stack, nr);
	struct user_stack stack = {
		.loc	= at | (sizeof(stack) - offsetof(struct user_stack, nr)) << 16,
	};

	/* The first entry is the address of the hit. */
	stack.nr = stack_trace_save_user(stack.entries, arch_uhook_can_walk(hit->regs) ?
					 ARRAY_SIZE(stack.entries) : 1);
	hit->stack = &stack;
	return record_args(hit);
}

static int record_hit(struct hit *hit)
{
	hit->top_size = top_size(hit->tuh);
	hit->head_size = hit->top_size;
	if (!hit->tuh->ustack)
		return record_args(hit);

	hit->head_size += sizeof(struct user_stack);
	return record_with_stack(hit);
}

static int on_hit(struct uhook_ops *ops, struct pt_regs *regs)
{
	struct trace_uhook *tuh = ops->private;
	struct hit hit = {
		.tuh		= tuh,
		.regs		= regs,
		.file_start	= instruction_pointer(regs) - tuh->place.offset,
	};

	return record_hit(&hit);
}

static int on_return(struct uhook_ops *ops, unsigned long func, struct pt_regs *regs)
{
	struct trace_uhook *tuh = ops->private;
	struct hit hit = {
		.tuh		= tuh,
		.regs		= regs,
		.func		= func,
		.file_start	= func - tuh->place.offset,
	};

	return record_hit(&hit);
}

/* Spans of earlier registrations have other owners, and are not found. */
void trace_uhook_begin_span(struct trace_uhook *tuh)
{
	static u64 owners;

	lockdep_assert_held(&event_mutex);
	WRITE_ONCE(tuh->owner, ++owners);
}

static struct uhook_span_key span_key(const struct trace_uhook *tuh, struct pt_regs *regs)
{
	return (struct uhook_span_key) {
		.owner	= READ_ONCE(tuh->owner),
		.sp	= user_stack_pointer(regs),
	};
}

/* The entry of a span: keep what its arguments need until the exit. */
static int on_span_entry(struct uhook_ops *ops, struct pt_regs *regs)
{
	struct trace_uhook *tuh = ops->private;
	struct uhook_span call = {
		.key	= span_key(tuh, regs),
		.func	= instruction_pointer(regs),
	};
	struct uhook_mm *um = uhook_get_mm();
	unsigned int i;

	for (i = 0; i < ops->nr_regs; i++)
		call.values[i] = regs_get_register(regs, ops->regs[i]);
	if (um)
		uhook_begin_span(um, &call);
	return 0;
}

/* The exit of a span: registers are those of the entry, except the instruction pointer. */
static int on_span_exit(struct uhook_ops *ops, struct pt_regs *regs)
{
	u64 now = ktime_get_ns();
	struct trace_uhook *tuh = ops->private;
	struct uhook_span call = { .key = span_key(tuh, regs) };
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct pt_regs at_entry = *regs;
	struct hit hit = {
		.tuh	= tuh,
		.regs	= &at_entry,
		.retval	= regs_return_value(regs),
	};
	unsigned int i;

	if (!um || !uhook_end_span(um, &call)) {
		atomic64_inc(&tuh->unpaired);
		return 0;
	}

	for (i = 0; i < tuh->entry.nr_regs; i++)
		*(unsigned long *)((void *)&at_entry + tuh->entry.regs[i]) = call.values[i];
	instruction_pointer_set(&at_entry, instruction_pointer(regs));
	hit.func = call.func;
	hit.file_start = call.func - tuh->place.offset;
	hit.duration = now - call.time;

	return record_hit(&hit);
}

/*
 * Save the task's name for the output, while the task exists. Names are saved only where
 * something was recorded since the last ones were, and this is done before the record.
 */
static void remember_name(pid_t pid)
{
	struct task_struct *task;

	guard(rcu)();
	guard(preempt_notrace)();
	task = find_task_by_pid_ns(pid, &init_pid_ns);
	if (!task)
		return;

	__this_cpu_write(trace_taskinfo_save, true);
	tracing_record_taskinfo(task, TRACE_RECORD_CMDLINE | TRACE_RECORD_TGID);
}

static void on_record(struct uhook_ops *ops, const struct uhook_record *record)
{
	struct trace_uhook *tuh = ops->private;
	struct pt_regs regs = {};
	struct hit hit = {
		.tuh		= tuh,
		.regs		= &regs,
		.record		= record,
	};
	unsigned int i;

	for (i = 0; i < ops->nr_regs; i++)
		*(unsigned long *)((void *)&regs + ops->regs[i]) = record->args[i];
	arch_uhook_set_sp(&regs, record->sp);
	remember_name(record->pid ?: record->tgid);
	record_hit(&hit);
}

/* Like uprobe events: (ADDRESS), or (CALLER <- FUNCTION); a span has (EXIT <- FUNCTION) */
static void print_where(struct trace_seq *s, const struct trace_uhook *tuh, const void *record)
{
	const struct fentry_trace_entry_head *entry = record;
	const struct span_trace_entry_head *span = record;
	const struct recorded_entry_head *recorded = record;
	enum trace_uhook_kind kind = tuh->place.kind;
	u32 ns;

	if (is_recorded(tuh)) {
		u64 seconds = div_u64_rem(recorded->time, NSEC_PER_SEC, &ns);

		trace_seq_printf(s, "(0x%lx) @%llu.%09u", recorded->ip, seconds, ns);
	} else if (kind == TRACE_UHOOK_RETURN || kind == TRACE_UHOOK_SPAN) {
		trace_seq_printf(s, "(0x%lx <- 0x%lx)", span->ret.ret_ip, span->ret.func);
		if (kind == TRACE_UHOOK_SPAN)
			trace_seq_printf(s, " " FIELD_STRING_DURATION "=%llu",
					 span->duration);
	} else {
		trace_seq_printf(s, "(0x%lx)", entry->ip);
	}
}

static void print_stack(struct trace_seq *s, const struct user_stack *stack)
{
	unsigned long i;

	for (i = 0; i < min(stack->nr, ARRAY_SIZE(stack->entries)); i++)
		trace_seq_printf(s, " => <%016lx>\n", stack->entries[i]);
}

static enum print_line_t print_hit(struct trace_iterator *iter, int flags,
				   struct trace_event *event)
{
	void *record = iter->ent;
	struct trace_seq *s = &iter->seq;
	struct trace_event_call *call;
	struct trace_uhook *tuh;
	struct trace_probe *tp;

	call = container_of(event, struct trace_event_call, event);
	tp = trace_probe_primary_from_call(call);
	if (WARN_ON_ONCE(!tp))
		return trace_handle_return(s);

	tuh = uhook_of_probe(tp);
	trace_seq_printf(s, "%s: ", trace_probe_name(tp));
	print_where(s, tuh, record);
	if (!trace_probe_print_args(s, tp->args, tp->nr_args, record + head_size(tuh), record))
		trace_seq_putc(s, '\n');
	if (tuh->ustack)
		print_stack(s, record + top_size(tuh));
	return trace_handle_return(s);
}

static int define_entry(struct trace_event_call *event_call)
{
	struct fentry_trace_entry_head field;
	int ret;

	DEFINE_FIELD(unsigned long, ip, FIELD_STRING_IP, 0);

	return 0;
}

static int define_return(struct trace_event_call *event_call)
{
	struct fexit_trace_entry_head field;
	int ret;

	DEFINE_FIELD(unsigned long, func, FIELD_STRING_FUNC, 0);
	DEFINE_FIELD(unsigned long, ret_ip, FIELD_STRING_RETIP, 0);

	return 0;
}

static int define_span(struct trace_event_call *event_call)
{
	struct span_trace_entry_head field;
	int ret = define_return(event_call);

	if (ret)
		return ret;
	DEFINE_FIELD(u64, duration, FIELD_STRING_DURATION, 0);

	return 0;
}

static int define_recorded(struct trace_event_call *event_call)
{
	struct recorded_entry_head field;
	int ret;

	DEFINE_FIELD(unsigned long, ip, FIELD_STRING_IP, 0);
	DEFINE_FIELD(u64, time, FIELD_STRING_TIME, 0);

	return 0;
}

static int define_head(struct trace_event_call *call, const struct trace_uhook *tuh)
{
	if (is_recorded(tuh))
		return define_recorded(call);

	switch (tuh->place.kind) {
	case TRACE_UHOOK_RETURN:
		return define_return(call);
	case TRACE_UHOOK_SPAN:
		return define_span(call);
	default:
		return define_entry(call);
	}
}

static int define_stack(struct trace_event_call *call, const struct trace_uhook *tuh)
{
	if (!tuh->ustack)
		return 0;

	return trace_define_field(call, "__data_loc unsigned long[]", FIELD_STRING_USTACK,
				  top_size(tuh) + offsetof(struct user_stack, loc),
				  sizeof_field(struct user_stack, loc), 0, FILTER_STACKTRACE);
}

static int define_fields(struct trace_event_call *call)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	struct trace_uhook *tuh;

	if (WARN_ON_ONCE(!tp))
		return -ENOENT;

	tuh = uhook_of_probe(tp);
	return define_head(call, tuh) ?: define_stack(call, tuh) ?:
	       traceprobe_define_arg_fields(call, head_size(tuh), tp);
}

static struct trace_event_functions hit_funcs = {
	.trace		= print_hit,
};

static struct trace_event_fields hit_fields[] = {
	{ .type = TRACE_FUNCTION_TYPE, .define_fields = define_fields },
	{}
};

/**
 * trace_uhook_set_event() - set up the event of a probe for its records
 * @tuh: the probe; its place and its work in the program are set
 */
void trace_uhook_set_event(struct trace_uhook *tuh)
{
	struct trace_event_call *call = trace_probe_event_call(&tuh->tp);

	call->event.funcs = &hit_funcs;
	call->class->fields_array = hit_fields;

	if (is_recorded(tuh))
		tuh->ops.record = on_record;
	if (tuh->ops.user == UHOOK_USER_FUNCTION)
		tuh->ops.function = (struct uhook_point) {
			.inode	= d_real_inode(tuh->function.path.dentry),
			.offset	= tuh->function.offset,
		};
	if (tuh->ops.user != UHOOK_USER_NONE)
		return;
	if (tuh->place.kind == TRACE_UHOOK_RETURN) {
		tuh->ops.ret_handler = on_return;
	} else if (tuh->place.kind == TRACE_UHOOK_SPAN) {
		tuh->entry.handler = on_span_entry;
		tuh->ops.handler = on_span_exit;
	} else {
		tuh->ops.handler = on_hit;
	}
}
