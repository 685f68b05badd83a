// SPDX-License-Identifier: GPL-2.0
/*
 * Hook a function with mainline's trampolines, or with fhook's: what is of arm64
 *
 * Before a function is a pointer to the ops that ftrace_caller, which is not copied, has called:
 * the only one of the function if nothing is to be done before its callback, or else the list.
 *
 * Static keys have their initial values, and capabilities of processors are not looked for:
 * counters are changed with exclusive loads and stores.
 */
#include <linux/fhook_arch.h>
#include <linux/sched_clock.h>
#include <linux/slab.h>
#include <asm/cacheflush.h>
#include <asm/insn.h>
#include <asm/sysreg.h>
#include <asm/text-patching.h>

#include "hooks_arch.h"

/* Of the kernel, some of them static there */
extern const struct ftrace_ops ftrace_list_ops;
extern struct fgraph_ops *fgraph_array[];
extern unsigned long fgraph_array_bitmask;

static void put_branch(void *at, const void *to, enum aarch64_insn_branch_type type)
{
	*(u32 *)at = aarch64_insn_gen_branch_imm((unsigned long)at, (unsigned long)to, type);
}

/* The pointer, a slot with a no-op, a move of the result to x0, and a return */
void *arch_function(void *room, unsigned int result)
{
	u32 *at = room + sizeof(long);

	at[0] = FHOOK_SLOT_FIRST;
	at[1] = aarch64_insn_gen_nop();
	at[2] = aarch64_insn_gen_movewide(AARCH64_INSN_REG_0, result, 0,
					  AARCH64_INSN_VARIANT_64BIT, AARCH64_INSN_MOVEWIDE_ZERO);
	at[3] = aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_30, AARCH64_INSN_BRANCH_RETURN);

	return at;
}

/* The branch in a slot */
unsigned long arch_slot_ip(unsigned long function)
{
	return function + AARCH64_INSN_SIZE;
}

void arch_fill_slot(void *function, unsigned long dest, bool jumps)
{
	put_branch(function + AARCH64_INSN_SIZE, (void *)dest,
		   jumps ? AARCH64_INSN_BRANCH_NOLINK : AARCH64_INSN_BRANCH_LINK);
}

static void use_ops(struct hooks_place *place, const struct ftrace_ops *ops)
{
	((const struct ftrace_ops **)place->function)[-1] = ops;
	arch_fill_slot(place->function, (unsigned long)ftrace_caller, false);
}

int arch_use_ops(struct hooks_place *place, struct ftrace_ops *ops, ftrace_func_t func, bool regs)
{
	/* ftrace_caller saves arguments only. */
	if (regs)
		return -EOPNOTSUPP;
	if (func == ops->func)
		use_ops(place, ops);
	else
		hooks_use_list(place);

	return 0;
}

void arch_use_list(struct hooks_place *place)
{
	use_ops(place, &ftrace_list_ops);
}

void arch_graph_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
		     struct ftrace_regs *fregs)
{
	ftrace_graph_func(ip, parent_ip, op, fregs);
}

/*
 * The kernel's function allocates memory, and writes through other mappings; there are none.
 */
static void *get_buffer(size_t size)
{
	static u64 buffer[HOOKS_ROOM / sizeof(u64)];

	return size <= sizeof(buffer) ? buffer : NULL;
}

static void *copy_text(void *dst, void *src, size_t len)
{
	return memcpy(dst, src, len);
}

static void do_nothing(void)
{
}

/* Addresses are loaded as those of a kernel, whose upper bits are set: here they are not. */
static void clear_upper_bits(u32 *insn, const u32 *end)
{
	for (; insn + 2 < end; insn++) {
		/* movn xN, #I; movk xN, #J, lsl #16; movk xN, #K, lsl #32 */
		if ((insn[0] & 0xffe00000) == 0x92800000 && (insn[1] & 0xffe00000) == 0xf2a00000 &&
		    (insn[2] & 0xffe00000) == 0xf2c00000)
			insn[0] ^= 0x40000000 | 0x1fffe0;
	}
}

int arch_bpf_trampoline(struct bpf_tramp_image *im, void *room, const struct btf_func_model *model,
			u32 flags, struct base_links *links, void *function)
{
	int len = arch_prepare_bpf_trampoline(im, room, room + HOOKS_ROOM, model, flags, links,
					      function);

	if (len > 0)
		clear_upper_bits(room, room + len);

	return len;
}

/* As the clock of a kernel, which is the timer of the processor, at 1 GHz */
static u64 notrace read_clock(void)
{
	isb();

	return read_sysreg(cntvct_el0);
}

static void begin_clock(void)
{
	unsigned int seq;
	struct clock_read_data *data = sched_clock_read_begin(&seq);

	data->read_sched_clock = read_clock;
	data->sched_clock_mask = GENMASK_ULL(55, 0);
	data->mult = 1;
	data->shift = 0;
}

struct task_struct *arch_begin(unsigned long area, struct fgraph_ops *graph_ops)
{
	current_thread_info()->preempt_count = PREEMPT_ENABLED;
	begin_clock();
	graph_ops->ops.func_hash = &graph_ops->ops.local_hash;
	fgraph_array[0] = graph_ops;
	fgraph_array_bitmask = 1;

	put_branch(__kvmalloc_node_noprof, get_buffer, AARCH64_INSN_BRANCH_NOLINK);
	put_branch(kvfree, do_nothing, AARCH64_INSN_BRANCH_NOLINK);
	put_branch(aarch64_insn_copy, copy_text, AARCH64_INSN_BRANCH_NOLINK);
	put_branch(caches_clean_inval_pou, do_nothing, AARCH64_INSN_BRANCH_NOLINK);
	put_branch(kick_all_cpus_sync, do_nothing, AARCH64_INSN_BRANCH_NOLINK);

	return current;
}
