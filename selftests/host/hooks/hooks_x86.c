// SPDX-License-Identifier: GPL-2.0
/*
 * Hook a function with mainline's trampolines, or with fhook's: what is of x86_64
 *
 * Static keys have their initial values, except that of the clock, which the graph tracer reads.
 */
#include <linux/fhook_arch.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>

#include "hooks_arch.h"

#define CALL	0xe8
#define JUMP	0xe9

/* Of the kernel, some of them static there */
extern struct fgraph_ops *fgraph_direct_gops;
extern const char ftrace_caller_op_ptr[], ftrace_caller_end[];
extern const char ftrace_regs_caller_op_ptr[], ftrace_regs_caller_jmp[], ftrace_regs_caller_end[];
extern u8 __SCT__fgraph_func[], __SCT__fgraph_retfunc[];
extern struct static_key_false __use_tsc;
void arch_ftrace_ops_list_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			       struct ftrace_regs *fregs);
int __arch_prepare_bpf_trampoline(struct bpf_tramp_image *im, void *rw_image, void *rw_image_end,
				  void *image, const struct btf_func_model *m, u32 flags,
				  struct base_links *links, void *func_addr);

static struct task_struct task;

static void put_branch(u8 *at, u8 opcode, const void *to)
{
	s32 distance = (const u8 *)to - (at + FHOOK_SLOT_SIZE);

	*at = opcode;
	memcpy(at + 1, &distance, sizeof(distance));
}

/* A slot with a no-op, a move of the result to eax, and a return */
void *arch_function(void *room, unsigned int result)
{
	u8 *at = room;

	memcpy(at, "\x0f\x1f\x44\x00\x00\xb8", 6);
	memcpy(at + 6, &result, sizeof(result));
	at[10] = 0xc3;

	return room;
}

void arch_fill_slot(void *function, unsigned long dest, bool jumps)
{
	put_branch(function, jumps ? JUMP : CALL, (void *)dest);
}

unsigned long arch_slot_ip(unsigned long function)
{
	return function;
}

void arch_graph_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
		     struct ftrace_regs *fregs)
{
	const struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;

	base_graph_enter(ip, (unsigned long *)regs->sp, fregs);
}

/* The trampoline of an ops, as create_trampoline() makes it. */
int arch_use_ops(struct hooks_place *place, struct ftrace_ops *ops, ftrace_func_t func, bool regs)
{
	const char *start = (const char *)(regs ? ftrace_regs_caller : ftrace_caller);
	const char *end = regs ? ftrace_regs_caller_end : ftrace_caller_end;
	const char *op_ptr = regs ? ftrace_regs_caller_op_ptr : ftrace_caller_op_ptr;
	const char *call = (const char *)(regs ? ftrace_regs_call : ftrace_call);
	struct ftrace_ops **pointer = place->room + ALIGN(end - start + 1, sizeof(void *));
	u8 *at = place->room;
	s32 distance;

	memcpy(at, start, end - start);
	at[end - start] = 0xc3;
	*pointer = ops;
	/* movq function_trace_op(%rip), %rdx */
	distance = (u8 *)pointer - (at + (op_ptr - start) + 7);
	memcpy(at + (op_ptr - start) + 3, &distance, sizeof(distance));
	put_branch(at + (call - start), CALL, func);
	if (regs) {
		at[ftrace_regs_caller_jmp - start] = 0x66;
		at[ftrace_regs_caller_jmp - start + 1] = 0x90;
	}
	arch_fill_slot(place->function, (unsigned long)place->room, false);

	return 0;
}

void arch_use_list(struct hooks_place *place)
{
	arch_fill_slot(place->function, (unsigned long)ftrace_caller, false);
}

int arch_bpf_trampoline(struct bpf_tramp_image *im, void *room, const struct btf_func_model *model,
			u32 flags, struct base_links *links, void *function)
{
	return __arch_prepare_bpf_trampoline(im, room, room + HOOKS_ROOM, room, model, flags,
					     links, function);
}

struct task_struct *arch_begin(unsigned long area, struct fgraph_ops *graph_ops)
{
	raw_cpu_write(this_cpu_off, area);
	/* A kernel's clock is the processor's, as soon as it knows how fast that is. */
	atomic_set(&__use_tsc.key.enabled, 1);
	base_set_task(&task);
	put_branch((u8 *)ftrace_call, CALL, arch_ftrace_ops_list_func);
	/* The only user of the graph tracer is called directly. */
	fgraph_direct_gops = graph_ops;
	put_branch(__SCT__fgraph_func, JUMP, graph_ops->entryfunc);
	put_branch(__SCT__fgraph_retfunc, JUMP, graph_ops->retfunc);

	return &task;
}
