/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures that hooks.c sets up, as this base has them: Linux 7.3
 */
#ifndef SELFTESTS_HOST_HOOKS_BASE_H
#define SELFTESTS_HOST_HOOKS_BASE_H

#include <linux/bpf.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>

/* Parameters of the handlers of the graph tracer */
#define BASE_GRAPH_ENTRY	struct ftrace_graph_ent *trace, struct fgraph_ops *gops, \
				struct ftrace_regs *fregs
#define BASE_GRAPH_RETURN	struct ftrace_graph_ret *trace, struct fgraph_ops *gops, \
				struct ftrace_regs *fregs

#define base_links		bpf_tramp_nodes

#ifdef CONFIG_X86_64
void return_to_handler(void);

/* As ftrace_graph_func(), which takes the stack of a program for that of a starting CPU */
static inline void base_graph_enter(unsigned long ip, unsigned long *parent,
				    struct ftrace_regs *fregs)
{
	if (!function_graph_enter_regs(*parent, ip, 0, parent, fregs))
		*parent = (unsigned long)return_to_handler;
}

static inline void base_set_task(struct task_struct *task)
{
	raw_cpu_write(current_task, task);
	raw_cpu_write(__preempt_count, PREEMPT_ENABLED);
}
#endif

/* How bpf_trampoline_update() makes a trampoline that calls the function */
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_JMP
#define BASE_BPF_EXIT		BPF_TRAMP_F_CALL_ORIG
#else
#define BASE_BPF_EXIT		(BPF_TRAMP_F_CALL_ORIG | BPF_TRAMP_F_SKIP_FRAME)
#endif

static inline void base_set_link(struct base_links *links, struct bpf_tramp_link *link)
{
	link->node.link = &link->link;
	links->nodes[0] = &link->node;
	links->nr_nodes = 1;
}

#endif /* SELFTESTS_HOST_HOOKS_BASE_H */
