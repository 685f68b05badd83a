// SPDX-License-Identifier: GPL-2.0
/*
 * Hook a function with mainline's trampolines, or with fhook's
 *
 * Built for a kernel, and linked to its image in a program (native.c), which has one task and
 * one CPU. Calls the kernel's own functions, except those that allocate memory: memory that
 * registration would allocate is static here.
 */
#include <linux/bpf.h>
#include <linux/fhook.h>
#include <linux/fhook_arch.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <kernel/fhook/exits.h>
#include <kernel/fhook/frame.h>
#include <kernel/fhook/trampoline.h>
#include <kernel/livepatch/patch.h>
#include <kernel/trace/trace.h>

#include "base.h"
#include "hooks.h"
#include "hooks_arch.h"

hooks_begin_t hooks_begin;
hooks_select_t hooks_select;
hooks_function_t hooks_function;
hooks_make_t hooks_mainline, hooks_fhook;

/* Of the kernel, some of them static there */
extern struct ftrace_ops __rcu *ftrace_ops_list;
extern const struct ftrace_hash empty_hash;
void ftrace_ops_assist_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			    struct ftrace_regs *fregs);
void klp_ftrace_handler(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			struct ftrace_regs *fregs);
int return_bits_init(void);

static unsigned long percpu_at;
/* Calls of each ops; the graph tracer and BPF programs count in the first */
unsigned long calls[HOOKS_MANY], returns;

static void *percpu(size_t size)
{
	percpu_at += size;
	return (void *)(percpu_at - size);
}

/* mainline */

static void mainline_entry(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			   struct ftrace_regs *fregs)
{
	(*(unsigned long *)op->private)++;
}

static struct ftrace_ops mainline_ops[HOOKS_MANY];

/* The functions of the cases with the list, as the filter of each ops */
static struct hlist_head buckets[2];
static struct ftrace_hash filter = { .size_bits = 1, .buckets = buckets };

static int graph_entry(BASE_GRAPH_ENTRY)
{
	calls[0]++;
	return 1;
}

static void graph_return(BASE_GRAPH_RETURN)
{
	returns++;
}

static struct fgraph_ops graph_ops = { .entryfunc = graph_entry, .retfunc = graph_return };

static struct ftrace_ops graph_entries;

#ifdef CONFIG_LIVEPATCH
static struct klp_func replacement;
static struct klp_ops replacements;
#endif

/* Mainline has one list, which ftrace_caller itself walks: let it have the hooks of a case. */
void hooks_select(enum hooks_case which)
{
	unsigned int i, num = which == HOOKS_GUARDED ? 1 : which == HOOKS_TWO ? 2 : HOOKS_MANY;

	for (i = 0; i < num; i++)
		mainline_ops[i].next = i + 1 < num ? &mainline_ops[i + 1] : &ftrace_list_end;
}

static unsigned int bpf_entry(const void *ctx, const struct bpf_insn *insn)
{
	calls[0]++;
	return 0;
}

static unsigned int bpf_exit(const void *ctx, const struct bpf_insn *insn)
{
	returns++;
	return 0;
}

/* As bpf_trampoline_update() has one program, which gets no arguments. */
static int bpf_trampoline(struct hooks_place *place, bool exit)
{
	static struct bpf_prog_aux aux;
	static struct bpf_prog progs[2] = {
		{ .type = BPF_PROG_TYPE_TRACING, .jited = 1, .aux = &aux, .bpf_func = bpf_entry },
		{ .type = BPF_PROG_TYPE_TRACING, .jited = 1, .aux = &aux, .bpf_func = bpf_exit },
	};
	static struct bpf_tramp_link link[2] = {
		{ .link.prog = &progs[0] }, { .link.prog = &progs[1] },
	};
	static const struct btf_func_model model = { .ret_size = sizeof(long) };
	static struct base_links links[2][BPF_TRAMP_MAX];
	static struct bpf_tramp_image images[2];
	u32 flags = exit ? BASE_BPF_EXIT : BPF_TRAMP_F_RESTORE_REGS;
	int len;

	progs[exit].active = percpu(sizeof(long));
	base_set_link(&links[exit][exit ? BPF_TRAMP_FEXIT : BPF_TRAMP_FENTRY], &link[exit]);
	images[exit].pcref.percpu_count_ptr = (unsigned long)percpu(sizeof(long));
	len = arch_bpf_trampoline(&images[exit], place->room, &model, flags, links[exit],
				  place->function);
	/* As bpf_trampoline_use_jmp() decides whether it jumps */
	arch_fill_slot(place->function, (unsigned long)place->room,
		       exit && !(flags & BPF_TRAMP_F_SKIP_FRAME));

	return min(len, 0);
}

void hooks_use_list(struct hooks_place *place)
{
	static struct ftrace_func_entry entries[HOOKS_CASES];
	struct ftrace_func_entry *entry = &entries[filter.count++];

	entry->ip = arch_slot_ip((unsigned long)place->function);
	hlist_add_head(&entry->hlist, &buckets[hash_long(entry->ip, filter.size_bits)]);
	arch_use_list(place);
}

static int replace_by_mainline(struct hooks_place *place)
{
#ifdef CONFIG_LIVEPATCH
	replacement.new_func = (void *)place->replacement;
	replacements.fops.func = klp_ftrace_handler;

	return arch_use_ops(place, &replacements.fops, klp_ftrace_handler, false);
#else
	return -EOPNOTSUPP;
#endif
}

int hooks_mainline(enum hooks_case which, struct hooks_place *place)
{
	struct ftrace_ops *ops = mainline_ops;

	switch (which) {
	case HOOKS_PLAIN:
		return arch_use_ops(place, ops, mainline_entry, false);
	case HOOKS_GUARDED:
		return arch_use_ops(place, ops, ftrace_ops_assist_func, false);
	case HOOKS_REGS:
		return arch_use_ops(place, ops, ftrace_ops_assist_func, true);
	case HOOKS_TWO:
	case HOOKS_TEN:
		hooks_use_list(place);
		return 0;
	case HOOKS_EXIT:
		graph_entries.func = arch_graph_func;
		return arch_use_ops(place, &graph_entries, arch_graph_func, false);
	case HOOKS_REDIRECT:
		return replace_by_mainline(place);
	case HOOKS_BPF_ENTRY:
	case HOOKS_BPF_EXIT:
		return bpf_trampoline(place, which == HOOKS_BPF_EXIT);
	default:
		return -EINVAL;
	}
}

/* fhook */

static int fhook_entry(struct fhook_ops *ops, unsigned long ip, unsigned long parent_ip,
		       struct fhook_regs *fregs, void *data)
{
	(*(unsigned long *)ops->private)++;
	return 0;
}

static void fhook_exit(struct fhook_ops *ops, unsigned long ip, unsigned long ret_ip,
		       struct fhook_regs *fregs, void *data)
{
	returns++;
}

/**
 * struct one_set - a set of fhook, with the memory that registration would allocate
 * @ops: the ops
 * @hooks: their state
 * @exits: exits, if there are any
 * @exits_room: memory of @exits
 * @set: the set
 * @set_room: memory of @set
 */
static struct one_set {
	struct fhook_ops	ops[HOOKS_MANY];
	struct fhook_hook	hooks[HOOKS_MANY];
	union {
		struct fhook_exits	exits;
		u8			exits_room[sizeof(struct fhook_exits) +
						   sizeof(struct fhook_exit)];
	};
	union {
		struct fhook_set	set;
		u8			set_room[sizeof(struct fhook_set) +
						 HOOKS_MANY * sizeof(struct fhook_member)];
	};
} sets[HOOKS_CASES];

static void fill_set(struct one_set *s, unsigned int num, unsigned int flags, bool entries,
		     bool exits)
{
	unsigned int i;

	s->set.num = num;
	s->set.flags = flags;
	s->set.func_offset = FHOOK_SLOT_SIZE;
	for (i = 0; i < num; i++) {
		s->ops[i].entry = entries ? fhook_entry : NULL;
		s->ops[i].exit = exits ? fhook_exit : NULL;
		s->ops[i].flags = flags;
		s->ops[i].private = &calls[i];
		s->hooks[i].ops = &s->ops[i];
		s->hooks[i].exit = s->ops[i].exit;
		s->hooks[i].stat = percpu(sizeof(struct fhook_stat));
		s->set.members[i].hook = &s->hooks[i];
	}
	if (!exits)
		return;

	s->exits.pending = percpu(sizeof(long));
	s->exits.stub = fhook_return;
	s->exits.size = sizeof(struct fhook_frame);
	s->exits.all = 1;
	s->exits.num = 1;
	s->exits.exits[0].hook = &s->hooks[0];
	s->exits.exits[0].ops = &s->ops[0];
	s->exits.exits[0].call = &s->hooks[0].exit;
	s->set.members[0].exit = &s->exits.exits[0];
	s->set.exits = &s->exits;
}

int hooks_fhook(enum hooks_case which, struct hooks_place *place)
{
	static const unsigned int num[HOOKS_CASES] = {
		[HOOKS_PLAIN] = 1, [HOOKS_GUARDED] = 1, [HOOKS_REGS] = 1, [HOOKS_TWO] = 2,
		[HOOKS_TEN] = HOOKS_MANY, [HOOKS_EXIT] = 1, [HOOKS_BPF_ENTRY] = 1,
		[HOOKS_BPF_EXIT] = 1,
	};
	static const unsigned int flags[HOOKS_CASES] = {
		[HOOKS_PLAIN] = FHOOK_FL_UNGUARDED, [HOOKS_REGS] = FHOOK_FL_REGS,
	};
	struct one_set *s = &sets[which];
	struct fhook_asm as;

	if (which == HOOKS_REDIRECT) {
		arch_fill_slot(place->function, place->replacement, true);
		return 0;
	}

	fill_set(s, num[which], flags[which], which != HOOKS_BPF_EXIT,
		 which == HOOKS_EXIT || which == HOOKS_BPF_EXIT);
	fhook_tramp_measure(&s->set, &as);
	if (as.room + as.max_literals * sizeof(long) > HOOKS_ROOM)
		return -ENOSPC;
	s->set.text = place->room;
	if (!fhook_tramp_write(&s->set, &as, place->room))
		return -ENOSPC;
	arch_fill_slot(place->function, (unsigned long)place->room, false);

	return 0;
}

unsigned long hooks_function(void *room, unsigned int result)
{
	return (unsigned long)arch_function(room, result);
}

static void begin_task(struct task_struct *task)
{
	static u8 stack[FHOOK_STACK_SIZE] __aligned(16);
	static unsigned long ret_stack[PAGE_SIZE / sizeof(long)];
	struct fhook_frame *none;

	task->fhook_stack = (void *)stack;
	none = fhook_stack_end(task->fhook_stack);
	none->key = FHOOK_NO_KEY;
	task->fhook_stack->top = none;
	task->ret_stack = ret_stack;
	task->curr_ret_depth = -1;
	task->cpus_ptr = &task->cpus_mask;
}

void hooks_begin(unsigned long area, unsigned long offset)
{
	unsigned int i;

	percpu_at = offset;
	return_bits_init();
	begin_task(arch_begin(area, &graph_ops));

	for (i = 0; i < HOOKS_MANY; i++) {
		mainline_ops[i].func = mainline_entry;
		mainline_ops[i].func_hash = &mainline_ops[i].local_hash;
		mainline_ops[i].private = &calls[i];
		mainline_ops[i].local_hash.filter_hash = &filter;
		mainline_ops[i].local_hash.notrace_hash = (void *)&empty_hash;
	}
	ftrace_ops_list = mainline_ops;

#ifdef CONFIG_LIVEPATCH
	INIT_LIST_HEAD(&replacements.func_stack);
	list_add(&replacement.stack_node, &replacements.func_stack);
#endif
}
