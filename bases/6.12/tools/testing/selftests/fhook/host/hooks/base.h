/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures that hooks.c sets up, as this base has them: Linux 6.12
 */
#ifndef SELFTESTS_HOST_HOOKS_BASE_H
#define SELFTESTS_HOST_HOOKS_BASE_H

#include <linux/bpf.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>

/* Parameters of the handlers of the graph tracer */
#define BASE_GRAPH_ENTRY	struct ftrace_graph_ent *trace, struct fgraph_ops *gops
#define BASE_GRAPH_RETURN	struct ftrace_graph_ret *trace, struct fgraph_ops *gops

#define base_links		bpf_tramp_links

int function_graph_enter(unsigned long ret, unsigned long func, unsigned long frame_pointer,
			 unsigned long *retp);

static inline int base_graph_enter(unsigned long ip, unsigned long *parent,
				   struct ftrace_regs *fregs)
{
	return function_graph_enter(*parent, ip, 0, parent);
}

static inline void base_set_link(struct base_links *links, struct bpf_tramp_link *link)
{
	links->links[0] = link;
	links->nr_links = 1;
}

static inline void base_set_task(struct task_struct *task)
{
	raw_cpu_write(pcpu_hot.current_task, task);
	raw_cpu_write(pcpu_hot.preempt_count, PREEMPT_ENABLED);
}

#endif /* SELFTESTS_HOST_HOOKS_BASE_H */
