/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks of a kernel whose image is in a program: what depends on the architecture
 */
#ifndef SELFTESTS_HOST_HOOKS_ARCH_H
#define SELFTESTS_HOST_HOOKS_ARCH_H

#include <linux/bpf.h>
#include <linux/ftrace.h>
#include <linux/sched.h>

#include "base.h"
#include "hooks.h"

/*
 * The first also lets the only user of the graph tracer be called, and returns the task. A
 * function returns a result; its slot calls, or jumps. Its ip for ftrace follows from its
 * address.
 */
struct task_struct *arch_begin(unsigned long area, struct fgraph_ops *graph_ops);
void *arch_function(void *room, unsigned int result);
void arch_fill_slot(void *function, unsigned long dest, bool jumps);
unsigned long arch_slot_ip(unsigned long function);

/*
 * Lead a function to one ops of ftrace, which has FUNC called, or to the list of all ops, as
 * mainline does; the first may do the second by hooks_use_list().
 */
int arch_use_ops(struct hooks_place *place, struct ftrace_ops *ops, ftrace_func_t func,
		 bool regs);
void arch_use_list(struct hooks_place *place);
void hooks_use_list(struct hooks_place *place);

/* What mainline calls at the entry of a function whose calls the graph tracer records */
void arch_graph_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
		     struct ftrace_regs *fregs);

int arch_bpf_trampoline(struct bpf_tramp_image *im, void *room, const struct btf_func_model *model,
			u32 flags, struct base_links *links, void *function);

#endif /* SELFTESTS_HOST_HOOKS_ARCH_H */
