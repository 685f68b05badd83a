/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures that hooks.c sets up, as this base has them: Linux 6.12
 */
#ifndef SELFTESTS_HOST_HOOKS_BASE_H
#define SELFTESTS_HOST_HOOKS_BASE_H

#include <linux/bpf.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>
#include <linux/trace_recursion.h>

/* Parameters of the handlers of the graph tracer */
#define BASE_GRAPH_ENTRY	struct ftrace_graph_ent *trace, struct fgraph_ops *gops
#define BASE_GRAPH_RETURN	struct ftrace_graph_ret *trace, struct fgraph_ops *gops

#define base_links		bpf_tramp_links

#ifdef CONFIG_X86_64
void return_to_handler(void);
int function_graph_enter(unsigned long ret, unsigned long func, unsigned long frame_pointer,
			 unsigned long *retp);

/* As prepare_ftrace_return(), which takes the stack of a program for that of a starting CPU */
static inline void base_graph_enter(unsigned long ip, unsigned long *parent,
				    struct ftrace_regs *fregs)
{
	int bit = ftrace_test_recursion_trylock(ip, *parent);

	if (bit < 0)
		return;
	if (!function_graph_enter(*parent, ip, 0, parent))
		*parent = (unsigned long)return_to_handler;
	ftrace_test_recursion_unlock(bit);
}

static inline void base_set_task(struct task_struct *task)
{
	raw_cpu_write(pcpu_hot.current_task, task);
	raw_cpu_write(pcpu_hot.preempt_count, PREEMPT_ENABLED);
}
#endif

/* How bpf_trampoline_update() makes a trampoline that calls the function */
#define BASE_BPF_EXIT		(BPF_TRAMP_F_CALL_ORIG | BPF_TRAMP_F_SKIP_FRAME)

static inline void base_set_link(struct base_links *links, struct bpf_tramp_link *link)
{
	links->links[0] = link;
	links->nr_links = 1;
}

#endif /* SELFTESTS_HOST_HOOKS_BASE_H */
