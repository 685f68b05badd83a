/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit tests of fhook: declarations that its files share.
 *
 *	test_fhook.c		arguments and selection of callbacks
 *	test_fhook_errors.c	failures, and the state after them
 *	test_fhook_context.c	contexts, other CPUs, unregistering, unwinding
 *	test_fhook_exit.c	exit callbacks, and functions that are skipped
 *	test_fhook_redirect.c	redirected functions
 *	test_fhook_x86.c	registers, and every instruction of a trampoline
 *	test_fhook_inside.c	tasks whose stack does not show which function they are in
 *	test_fhook_arm64.c	registers, and interrupts in a trampoline
 *	test_fhook_targets.c	the hooked functions, and most other functions with slots
 *	test_fhook_kernel.c	always built in: access to interfaces that are not exported
 */
#ifndef _TEST_FHOOK_H
#define _TEST_FHOOK_H

#include <kunit/test.h>
#include <linux/fhook.h>
#include <linux/fhook_arch.h>

#define FHOOK_TEST_ARGS		7

/* The name under which redirects find the targets. */
#ifdef MODULE
#define TARGETS_MODULE	KBUILD_MODNAME
#else
#define TARGETS_MODULE	NULL
#endif

/**
 * struct fhook_probe - an ops that records its calls
 * @ops: the ops
 * @report: last report of fhook about the ops
 * @test: test that owns the probe
 * @calls: number of calls of the callback; the other members describe the last
 *	call
 * @ip: argument of the callback
 * @parent: argument of the callback
 * @data: argument of the callback
 * @return_ip: return address of the callback, in the trampoline
 * @preemptible: whether the callback could be preempted
 * @args: results of fhook_regs_get_arg()
 * @regs_ip: result of fhook_regs_get_ip()
 * @regs_sp: result of fhook_regs_get_sp()
 * @regs_fp: result of fhook_regs_get_fp()
 * @regs_parent: result of fhook_regs_get_parent()
 * @has_regs: whether fhook_get_regs() returned registers
 * @regs: copy of these registers
 * @act: additional work of the callback, or NULL
 * @value: argument for @act
 */
struct fhook_probe {
	struct fhook_ops	ops;
	struct fhook_report	report;
	struct kunit		*test;
	unsigned int		calls;
	unsigned long		ip;
	unsigned long		parent;
	void			*data;
	unsigned long		return_ip;
	bool			preemptible;
	unsigned long		args[FHOOK_TEST_ARGS];
	unsigned long		regs_ip;
	unsigned long		regs_sp;
	unsigned long		regs_fp;
	unsigned long		regs_parent;
	bool			has_regs;
	struct pt_regs		regs;
	void			(*act)(struct fhook_probe *probe,
				       struct fhook_regs *fregs);
	unsigned long		value;
};

/* test_fhook.c */
struct fhook_probe *fhook_probe(struct kunit *test, const char *name);
int fhook_probe_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data);
void fhook_probe_register(struct fhook_probe *probe, const char *filter);
void fhook_probe_undo(struct fhook_probe *probe);
void fhook_probe_unregister(struct fhook_probe *probe);
void fhook_expect_symbol(struct kunit *test, unsigned long addr,
			 const char *name);
unsigned long fhook_test_slot(struct kunit *test, u32 (*func)(u32 value));

/*
 * The result of fhook_target_args() for the arguments that test_args() can
 * change.
 */
#if FHOOK_TEST_ARGS > FHOOK_REG_ARGS
#define FHOOK_CHANGED_ARGS	7456789
#else
#define FHOOK_CHANGED_ARGS	3456789
#endif

/* test_fhook_redirect.c */
u32 fhook_stay(u32 value);
struct task_struct *fhook_stay_begin(struct kunit *test, int (*fn)(void *data),
				     void *data);
void fhook_stay_end(struct task_struct *task);

/* test_fhook_targets.c */
u32 fhook_target_a(u32 value);
u32 fhook_target_b(u32 value);
u32 fhook_target_c(u32 value);
u32 fhook_target_lost1(u32 value);
u32 fhook_target_lost2(u32 value);
u32 fhook_target_lost3(u32 value);
u32 fhook_target_lost4(u32 value);
u32 fhook_target_twin(u32 value);
u32 fhook_target_branch(u32 value);
u32 fhook_target_static(u32 value);
void fhook_targets_turn(bool on);
/* Named like a clone made by the compiler */
u32 fhook_target_cloned(u32 value) __asm__("fhook_target_cloned.isra.0");
u32 fhook_target_notrace(u32 value);
u32 fhook_target_nest(u32 value, u32 (*nest)(u32 value));
u32 fhook_target_tail(u32 value);
u32 fhook_target_tail_nest(u32 value, u32 (*nest)(u32 value));
void fhook_target_empty(void);
unsigned long fhook_target_args(unsigned long a0, unsigned long a1,
				unsigned long a2, unsigned long a3,
				unsigned long a4, unsigned long a5,
				unsigned long a6);
unsigned long fhook_target_other_args(unsigned long a0, unsigned long a1,
				      unsigned long a2, unsigned long a3,
				      unsigned long a4, unsigned long a5,
				      unsigned long a6);
unsigned long fhook_target_many_args(unsigned long a0, unsigned long a1,
				     unsigned long a2, unsigned long a3,
				     unsigned long a4, unsigned long a5,
				     unsigned long a6, unsigned long a7,
				     unsigned long a8);

/* The results of the targets, as in test_fhook_targets.c. */
#define FHOOK_A(value)		((value) * 3 + 1)
#define FHOOK_B(value)		((value) * 5 + 2)
#define FHOOK_C(value)		((value) * 7 + 3)
#define FHOOK_LOST1(value)	((value) * 11 + 4)
#define FHOOK_LOST2(value)	((value) * 13 + 5)
#define FHOOK_LOST3(value)	((value) * 17 + 6)
#define FHOOK_LOST4(value)	((value) * 23 + 8)
#define FHOOK_TWIN(value)	((value) * 31 + 10)

/* test_fhook_kernel.c */
u32 fhook_test_builtin(u32 value);
void fhook_test_poke(unsigned long addr, const void *insn, size_t len);
bool fhook_test_jump(unsigned long slot, const void *dest);
bool fhook_test_jumps(unsigned long slot, const void *dest);
unsigned long fhook_test_find_slot(unsigned long func);
unsigned int fhook_test_dying(void);
bool fhook_test_reserved(unsigned long first, unsigned long last);
int fhook_test_bpf_poke(unsigned long addr);
bool fhook_test_is_text(unsigned long addr);
const void *fhook_test_sites(unsigned long slot);
bool fhook_test_can_write(const void *addr);
unsigned int fhook_test_calls(unsigned long slot, const void *callback,
			      unsigned int *indirect);
int fhook_test_assemble(unsigned long slot, struct fhook_asm *as, bool measure);
int fhook_test_place(unsigned long slot, unsigned int less,
		     struct fhook_report *report);
int fhook_test_switch(bool on);
bool fhook_test_in_ranges(const unsigned long *ends, unsigned int num, unsigned long addr);
unsigned int fhook_test_trace_regs(struct pt_regs *regs, unsigned long *store,
				   unsigned int size);
int fhook_test_trace_reliable(unsigned long *store, unsigned int size);
struct bpf_prog;
struct bpf_tramp_link;
struct bpf_trampoline;
void fhook_test_bpf_symbol(struct bpf_prog *prog, bool on);
struct bpf_trampoline *fhook_test_bpf_attach(struct bpf_tramp_link *link,
					     void *func);
int fhook_test_bpf_detach(struct bpf_tramp_link *link,
			  struct bpf_trampoline *tr);
int fhook_test_stub_balance(bool regs);

/* test_fhook_*.c: send an NMI to this CPU; not every machine can. */
#if defined(CONFIG_X86_LOCAL_APIC) || defined(CONFIG_ARM64_PSEUDO_NMI)
bool fhook_test_nmi_on(bool (*handler)(void));
bool fhook_test_nmi_send(void);
void fhook_test_nmi_off(void);
#else
static inline bool fhook_test_nmi_on(bool (*handler)(void))
{
	return false;
}

static inline bool fhook_test_nmi_send(void)
{
	return false;
}

static inline void fhook_test_nmi_off(void) { }
#endif

/* test_fhook_x86.c, for its assembly only */
struct cpu_state;
extern struct cpu_state test_fhook_in, test_fhook_out;

#endif /* _TEST_FHOOK_H */
