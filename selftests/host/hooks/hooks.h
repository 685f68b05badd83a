/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks of a kernel whose image is in a program: what native.c and hooks.c share
 */
#ifndef SELFTESTS_HOST_HOOKS_H
#define SELFTESTS_HOST_HOOKS_H

/* The function that is hooked returns the first, and its replacement the second. */
#define HOOKS_RESULT	0x1234
#define HOOKS_REPLACED	0x5678

/* Hooks of HOOKS_TEN; their counters are calls[] in hooks.c, and that of exits is returns. */
#define HOOKS_MANY	10

/* Bytes of memory for one trampoline */
#define HOOKS_ROOM	0x1000

/**
 * enum hooks_case - ways to hook a function
 * @HOOKS_PLAIN: 1 hook, whose callback takes care of recursion
 * @HOOKS_GUARDED: 1 hook, protected
 * @HOOKS_REGS: 1 hook with full registers, protected
 * @HOOKS_TWO: 2 hooks, protected
 * @HOOKS_TEN: 10 hooks, protected
 * @HOOKS_EXIT: 1 hook at the entry and the exit, protected
 * @HOOKS_REDIRECT: a function that runs instead
 * @HOOKS_BPF_ENTRY: 1 hook, protected; mainline has a BPF program of the type fentry
 * @HOOKS_BPF_EXIT: 1 hook at the exit, protected; mainline has one of the type fexit
 * @HOOKS_CASES: number of ways
 */
enum hooks_case {
	HOOKS_PLAIN,
	HOOKS_GUARDED,
	HOOKS_REGS,
	HOOKS_TWO,
	HOOKS_TEN,
	HOOKS_EXIT,
	HOOKS_REDIRECT,
	HOOKS_BPF_ENTRY,
	HOOKS_BPF_EXIT,
	HOOKS_CASES
};

/**
 * struct hooks_place - where a function is hooked, and with what
 * @function: the function, which begins with the slot
 * @room: memory for the trampoline, of HOOKS_ROOM bytes
 * @replacement: function that runs instead, for HOOKS_REDIRECT
 */
struct hooks_place {
	void		*function;
	void		*room;
	unsigned long	replacement;
};

/*
 * Functions of hooks.c that native.c calls: to begin, with the address of the per-CPU area and
 * the offset of some memory in it; to make a function with a slot, which returns a result; to
 * make a trampoline to which the slot leads, which returns 0, or -EOPNOTSUPP if there is none
 * of this kind, or another error; and to let mainline's list have the hooks of a case, before
 * it is called.
 */
typedef void hooks_begin_t(unsigned long area, unsigned long offset);
typedef unsigned long hooks_function_t(void *room, unsigned int result);
typedef int hooks_make_t(enum hooks_case which, struct hooks_place *place);
typedef void hooks_select_t(enum hooks_case which);

#endif /* SELFTESTS_HOST_HOOKS_H */
