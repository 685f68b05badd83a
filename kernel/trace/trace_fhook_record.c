// SPDX-License-Identifier: GPL-2.0
/*
 * fhook events: recording calls and returns of hooked functions, and printing the records.
 *
 * There are three kinds of events. Data of the entry that an event at the return needs are
 * carried with the call: arguments, as in the registers, and the time.
 *
 * A hit takes no lock: fhook calls with preemption disabled, and the lists of files and
 * the perf events are freed only after such sections. For perf events, and for filters and
 * triggers of files, this depends on tracepoint_synchronize_unregister(): on 7.3 it waits by
 * SRCU-fast, whose grace period contains synchronize_rcu().
 */
#include <linux/fhook.h>
#include <linux/hook_base.h>
#include <linux/trace_clock.h>
#include <linux/trace_events.h>

#include "trace_fhook.h"
#include "trace_probe_kernel.h"
#include "trace_probe_tmpl.h"

/**
 * struct hit - the data of a hit to record
 * @ip: address of the function
 * @ret_ip: return address, for events at the return
 * @duration: duration of the call, in nanoseconds, for spans
 * @fregs: the registers
 * @edata: arguments stored at the entry, for events at the return
 */
struct hit {
	unsigned long		ip;
	unsigned long		ret_ip;
	u64			duration;
	struct fhook_regs	*fregs;
	void			*edata;
};

static unsigned long fetch_stack(struct fhook_regs *fregs, unsigned int n)
{
	unsigned long sp = fhook_regs_get_sp(fregs);
	unsigned long addr = sp + n * sizeof(unsigned long);
	unsigned long val;

	/* Like regs_get_kernel_stack_nth(): not beyond this stack. */
	if ((addr ^ sp) & ~(THREAD_SIZE - 1))
		return 0;
	if (probe_mem_read(&val, (void *)addr, sizeof(val)))
		return 0;
	/* A return address is shown as it was before tracers replaced it. */
	return fhook_find_caller(val, addr, NULL);
}

static unsigned long fetch_arg(struct fhook_regs *fregs, unsigned int n)
{
	if (n >= FHOOK_REG_ARGS)
		return fetch_stack(fregs, n - FHOOK_REG_ARGS + FHOOK_STACK_ARG);
	return fhook_regs_get_arg(fregs, n);
}

/* Out of line, because it has a large frame. */
static noinline int fetch_rest(struct fetch_insn *code, unsigned long val,
			       void *dest, void *base)
{
	return process_fetch_insn_bottom(code, val, dest, base);
}

/* Called by trace_probe_tmpl.h. The parser made the instructions. */
static int process_fetch_insn(struct fetch_insn *code, void *rec, void *edata,
			      void *dest, void *base)
{
	struct fhook_regs *fregs = rec;
	unsigned long val;
	int ret;

	/* The next instruction has the address of the symbol. */
	if (code->op == FETCH_NOP_SYMBOL)
		code++;

	switch (code->op) {
	case FETCH_OP_STACK:
		val = fetch_stack(fregs, code->param);
		break;
	case FETCH_OP_STACKP:
		val = fhook_regs_get_sp(fregs);
		break;
	case FETCH_OP_ARG:
		val = fetch_arg(fregs, code->param);
		break;
	case FETCH_OP_RETVAL:
		val = fhook_regs_get_retval(fregs);
		break;
	case FETCH_OP_EDATA:
		val = *(unsigned long *)(edata + code->offset);
		break;
	default:
		ret = process_common_fetch_insn(code, &val);
		if (ret < 0)
			return ret;
	}

	code++;
	/* The common case: the value needs no further processing. */
	if (code[0].op == FETCH_OP_ST_RAW && code[1].op == FETCH_OP_END) {
		fetch_store_raw(val, code, dest);
		return 0;
	}
	return fetch_rest(code, val, dest, base);
}

/* Registers for unwinding, and for perf to sample. */
static struct pt_regs *hit_regs(struct fhook_regs *fregs, struct pt_regs *space)
{
	struct pt_regs *regs = fhook_get_regs(fregs);

	/* A sample may contain any of the registers. */
	if (regs)
		*space = *regs;
	else
		memset(space, 0, sizeof(*space));
	/* The caller has no frame yet: unwinding begins at the address given here. */
	fhook_fill_perf_regs(fregs, space);

	return space;
}

static void fill_head(void *record, const struct trace_fhook *tfh,
		      const struct hit *hit)
{
	struct fentry_trace_entry_head *entry = record;
	struct span_trace_entry_head *span = record;

	if (tfh->kind == TRACE_FHOOK_ENTRY) {
		entry->ip = hit->ip;
		return;
	}
	span->ret.func = hit->ip;
	span->ret.ret_ip = hit->ret_ip;
	if (tfh->kind == TRACE_FHOOK_SPAN)
		span->duration = hit->duration;
}

static void fill_record(void *record, struct trace_fhook *tfh,
			const struct hit *hit, int size)
{
	void *args = record + tfh->head_size;
	int end;

	fill_head(record, tfh, hit);
	if (tfh->is_plain) {
		store_trace_args(args, &tfh->tp, hit->fregs, hit->edata, tfh->head_size, 0);
		return;
	}
	/* Values that cannot be fetched read as 0, and not as an older record. */
	memset(args, 0, size - tfh->head_size);
	end = size - trace_hook_end_size(&tfh->tp);
	store_trace_args(args, &tfh->tp, hit->fregs, hit->edata, tfh->head_size,
			 end - tfh->head_size - tfh->tp.size);
	trace_hook_end_strings(&tfh->tp, args, end);
}

/* The size of a record; the strings, which follow the arguments, are cut off if needed. */
static int record_size(struct trace_fhook *tfh, const struct hit *hit, int max)
{
	int size = tfh->head_size + tfh->tp.size;

	if (tfh->is_plain)
		return size;
	size += trace_hook_end_size(&tfh->tp);
	return min(size + __get_data_size(&tfh->tp, hit->fregs, hit->edata), max);
}

/* With registers, a stack trace begins at the hooked function. */
static noinline void commit_with_regs(struct trace_event_buffer *fbuffer,
				      const struct hit *hit)
{
	struct pt_regs space;

	fbuffer->regs = hit_regs(hit->fregs, &space);
	trace_event_buffer_commit(fbuffer);
}

static void trace_hit(struct trace_fhook *tfh, const struct hit *hit,
		      struct trace_event_file *file)
{
	struct trace_event_buffer fbuffer;
	void *record;
	int size;

	if (trace_trigger_soft_disabled(file))
		return;

	size = record_size(tfh, hit, MAX_HOOK_RECORD);
	record = trace_event_buffer_reserve(&fbuffer, file, size);
	if (!record)
		return;

	fill_record(record, tfh, hit, size);
	if (file->tr->trace_flags & TRACE_ITER(STACKTRACE))
		commit_with_regs(&fbuffer, hit);
	else
		trace_event_buffer_commit(&fbuffer);
}

#ifdef CONFIG_PERF_EVENTS
static void perf_hit(struct trace_fhook *tfh, const struct hit *hit)
{
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);
	struct hlist_head *head = this_cpu_ptr(call->perf_events);
	struct pt_regs space;
	int used, size, rctx;
	void *record;

	if (!bpf_prog_array_valid(call) && hlist_empty(head))
		return;

	used = record_size(tfh, hit, MAX_HOOK_RECORD);
	/* perf puts a u32 before the record, and requires 8-byte alignment. */
	size = ALIGN(used + sizeof(u32), sizeof(u64)) - sizeof(u32);
	record = perf_trace_buf_alloc(size, NULL, &rctx);
	if (!record)
		return;

	fill_record(record, tfh, hit, used);
	perf_trace_run_bpf_submit(record, size, rctx, call, 1,
				  hit_regs(hit->fregs, &space), head, NULL);
}
#else
static void perf_hit(struct trace_fhook *tfh, const struct hit *hit)
{
}
#endif

static void dispatch(struct trace_fhook *tfh, const struct hit *hit)
{
	unsigned int flags = trace_probe_load_flag(&tfh->tp);
	struct event_file_link *link;

	if (flags & TP_FLAG_TRACE)
		trace_probe_for_each_link_rcu(link, &tfh->tp)
			trace_hit(tfh, hit, link->file);
	if (flags & TP_FLAG_PROFILE)
		perf_hit(tfh, hit);
}

/*
 * The probe whose hook was hit, or NULL: the probe and its files are freed by RCU, which
 * does not wait for CPUs that are idle or have gone offline, so the probe may be gone. A
 * CPU that goes offline is, at the end, not idle for RCU.
 */
static __always_inline struct trace_fhook *probe_hit(struct fhook_ops *ops)
{
	struct trace_fhook_use *use = container_of(ops, struct trace_fhook_use, ops);

	if (unlikely(!rcu_is_watching() || !cpu_online(raw_smp_processor_id())))
		return NULL;

	return READ_ONCE(use->tfh);
}

/* Room for a record to which a condition is applied */
#define MAX_CONDITION	256

/* Does the condition of an override apply to this call? */
static noinline bool is_selected(struct trace_fhook *tfh, const struct hit *hit)
{
	u8 record[MAX_CONDITION] __aligned(8);
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);
	int size = record_size(tfh, hit, sizeof(record));

	if (WARN_ON_ONCE(size > sizeof(record)))
		return false;
	tracing_generic_entry_update((void *)record, call->event.type, tracing_gen_ctx());
	fill_record(record, tfh, hit, size);

	return filter_match_preds(tfh->override->filter, record);
}

/* Is the event enabled, and not only for a trigger that may enable it? */
static bool is_enabled(struct trace_fhook *tfh)
{
	struct event_file_link *link;

	trace_probe_for_each_link_rcu(link, &tfh->tp)
		if (!(READ_ONCE(link->file->flags) & EVENT_FILE_FL_SOFT_DISABLED))
			return true;
	return false;
}

/* Return at once, for events that override the return value. */
static int on_override(struct fhook_ops *ops, unsigned long ip,
		       unsigned long parent_ip, struct fhook_regs *fregs,
		       void *data)
{
	struct trace_fhook *tfh = probe_hit(ops);
	struct hit hit = {
		.ip	= ip,
		.fregs	= fregs,
	};

	if (unlikely(!tfh) || !is_enabled(tfh))
		return 0;
	if (tfh->override->filter && !is_selected(tfh, &hit))
		return 0;
	dispatch(tfh, &hit);
	atomic_long_inc(&tfh->override->calls);
	fhook_regs_skip(fregs, tfh->override->value);
	return 0;
}

/* Record the entry, for events at the entry. */
static int on_entry(struct fhook_ops *ops, unsigned long ip,
		    unsigned long parent_ip, struct fhook_regs *fregs,
		    void *data)
{
	struct trace_fhook *tfh = probe_hit(ops);
	struct hit hit = {
		.ip	= ip,
		.fregs	= fregs,
	};

	if (likely(tfh))
		dispatch(tfh, &hit);
	return 0;
}

/* Room in front of the data stored at the entry. */
static size_t start_size(const struct trace_fhook *tfh)
{
	return tfh->kind == TRACE_FHOOK_SPAN ? sizeof(u64) : 0;
}

/* Store the data of the entry that an event at the return needs */
static int on_call(struct fhook_ops *ops, unsigned long ip,
		   unsigned long parent_ip, struct fhook_regs *fregs,
		   void *data)
{
	struct trace_fhook *tfh = probe_hit(ops);
	struct probe_entry_arg *args;
	struct fetch_insn *code;
	void *edata;

	/* The data for the return would be missing. */
	if (unlikely(!tfh))
		return 1;

	args = tfh->tp.entry_arg;
	edata = data + start_size(tfh);
	/* Pairs of instructions made by the parser: fetch, store. */
	for (code = args ? args->code : NULL;
	     code && code->op != FETCH_OP_END; code += 2)
		*(unsigned long *)(edata + code[1].offset) =
			fetch_arg(fregs, code->param);

	if (tfh->kind == TRACE_FHOOK_SPAN)
		*(u64 *)data = trace_clock_local();
	return 0;
}

static void on_return(struct fhook_ops *ops, unsigned long ip,
		      unsigned long ret_ip, struct fhook_regs *fregs,
		      void *data)
{
	struct trace_fhook *tfh = probe_hit(ops);
	struct hit hit = {
		.ip	= ip,
		.ret_ip	= ret_ip,
		.fregs	= fregs,
	};

	if (unlikely(!tfh))
		return;

	hit.edata = data + start_size(tfh);
	/* The clocks of two CPUs may differ a little. */
	if (tfh->kind == TRACE_FHOOK_SPAN)
		hit.duration = max_t(s64, 0, trace_clock_local() - *(u64 *)data);
	dispatch(tfh, &hit);
}

/* Does fetching this argument always succeed? */
static bool is_plain(const struct probe_arg *arg)
{
	switch (arg->code[0].op) {
	case FETCH_OP_ARG:
		return arg->code[0].param < FHOOK_REG_ARGS &&
		       arg->code[1].op == FETCH_OP_ST_RAW;
	case FETCH_OP_RETVAL:
	case FETCH_OP_EDATA:
	case FETCH_OP_STACKP:
		return arg->code[1].op == FETCH_OP_ST_RAW;
	default:
		return false;
	}
}

/**
 * trace_fhook_data_size() - size of the data carried from the entry to the return
 * @tfh: the probe, with its arguments
 *
 * Return: the size in bytes.
 */
size_t trace_fhook_data_size(const struct trace_fhook *tfh)
{
	/* The callee only reads. */
	struct trace_probe *tp = (struct trace_probe *)&tfh->tp;

	if (tfh->kind == TRACE_FHOOK_ENTRY)
		return 0;
	return start_size(tfh) + traceprobe_get_entry_data_size(tp);
}

/**
 * trace_fhook_fits_condition() - check whether a condition can be applied to a record
 * @tfh: the probe, with its arguments
 *
 * Return: true if the record without strings is short enough.
 */
bool trace_fhook_fits_condition(const struct trace_fhook *tfh)
{
	return tfh->head_size + tfh->tp.size + trace_hook_end_size(&tfh->tp) <= MAX_CONDITION;
}

/**
 * trace_fhook_set_callbacks() - set the callbacks of an ops that records a probe's hits
 * @tfh: the probe, with its arguments
 * @ops: the ops, not registered; callbacks of earlier ones may still run
 */
void trace_fhook_set_callbacks(struct trace_fhook *tfh, struct fhook_ops *ops)
{
	bool plain = true;
	int i;

	for (i = 0; i < tfh->tp.nr_args; i++)
		plain &= is_plain(&tfh->tp.args[i]);
	tfh->is_plain = plain;

	if (tfh->kind == TRACE_FHOOK_ENTRY) {
		ops->entry = tfh->override ? on_override : on_entry;
		return;
	}
	ops->exit = on_return;
	ops->data_size = trace_fhook_data_size(tfh);
	ops->entry = ops->data_size ? on_call : NULL;
}

/* Like fprobe events: (FUNCTION), or (CALLER <- FUNCTION) */
static bool print_where(struct trace_seq *s, const struct trace_fhook *tfh,
			const void *record, int flags)
{
	const struct fentry_trace_entry_head *entry = record;
	const struct fexit_trace_entry_head *ret = record;

	if (tfh->kind == TRACE_FHOOK_ENTRY)
		return seq_print_ip_sym(s, entry->ip,
					flags | TRACE_ITER(SYM_OFFSET));

	if (!seq_print_ip_sym(s, ret->ret_ip, flags | TRACE_ITER(SYM_OFFSET)))
		return false;
	trace_seq_puts(s, " <- ");
	return seq_print_ip_sym(s, ret->func, flags & ~TRACE_ITER(SYM_OFFSET));
}

static enum print_line_t print_hit(struct trace_iterator *iter, int flags,
				   struct trace_event *event)
{
	const struct span_trace_entry_head *span = (void *)iter->ent;
	void *record = iter->ent;
	struct trace_seq *s = &iter->seq;
	struct trace_event_call *call;
	struct trace_fhook *tfh;
	struct trace_probe *tp;

	call = container_of(event, struct trace_event_call, event);
	tp = trace_probe_primary_from_call(call);
	if (WARN_ON_ONCE(!tp))
		return trace_handle_return(s);

	tfh = container_of(tp, struct trace_fhook, tp);
	trace_seq_printf(s, "%s: (", trace_probe_name(tp));
	if (!print_where(s, tfh, record, flags))
		return trace_handle_return(s);
	trace_seq_putc(s, ')');
	if (tfh->kind == TRACE_FHOOK_SPAN)
		trace_seq_printf(s, " " FIELD_STRING_DURATION "=%llu",
				 span->duration);
	if (!trace_probe_print_args(s, tp->args, tp->nr_args,
				    record + tfh->head_size, record))
		trace_seq_putc(s, '\n');
	return trace_handle_return(s);
}

static int define_field(struct trace_event_call *call, const char *type,
			const char *name, int offset)
{
	return trace_define_field(call, type, name, offset, sizeof(u64), 0,
				  FILTER_OTHER);
}

static int define_head(struct trace_event_call *call,
		       const struct trace_fhook *tfh)
{
	int ret;

	if (tfh->kind == TRACE_FHOOK_ENTRY)
		return define_field(call, "unsigned long", FIELD_STRING_IP,
				    offsetof(struct fentry_trace_entry_head,
					     ip));

	ret = define_field(call, "unsigned long", FIELD_STRING_FUNC,
			   offsetof(struct fexit_trace_entry_head, func));
	if (!ret)
		ret = define_field(call, "unsigned long", FIELD_STRING_RETIP,
				   offsetof(struct fexit_trace_entry_head,
					    ret_ip));
	if (!ret && tfh->kind == TRACE_FHOOK_SPAN)
		ret = define_field(call, "u64", FIELD_STRING_DURATION,
				   offsetof(struct span_trace_entry_head,
					    duration));
	return ret;
}

static int define_fields(struct trace_event_call *call)
{
	struct trace_probe *tp = trace_probe_primary_from_call(call);
	struct trace_fhook *tfh;

	if (WARN_ON_ONCE(!tp))
		return -ENOENT;

	tfh = container_of(tp, struct trace_fhook, tp);
	return define_head(call, tfh) ?:
	       traceprobe_define_arg_fields(call, tfh->head_size, tp);
}

static struct trace_event_functions hit_funcs = {
	.trace		= print_hit,
};

static struct trace_event_fields hit_fields[] = {
	{ .type = TRACE_FUNCTION_TYPE, .define_fields = define_fields },
	{}
};

static const unsigned int head_sizes[] = {
	[TRACE_FHOOK_ENTRY]	= sizeof(struct fentry_trace_entry_head),
	[TRACE_FHOOK_RETURN]	= sizeof(struct fexit_trace_entry_head),
	[TRACE_FHOOK_SPAN]	= sizeof(struct span_trace_entry_head),
};

/**
 * trace_fhook_set_event() - set up the event of a probe for its records
 * @tfh: the probe; its kind is known
 */
void trace_fhook_set_event(struct trace_fhook *tfh)
{
	struct trace_event_call *call = trace_probe_event_call(&tfh->tp);

	tfh->head_size = head_sizes[tfh->kind];
	call->event.funcs = &hit_funcs;
	call->class->fields_array = hit_fields;
}
