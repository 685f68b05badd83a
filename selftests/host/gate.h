/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the tests of uhook's gates, for both architectures
 *
 * gate_ARCH.c knows registers and instructions; gate.c tests from the point of view
 * of a C program: threads, signals, and which functions may be copied.
 */
#ifndef SELFTESTS_HOST_GATE_H
#define SELFTESTS_HOST_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/uhook_gate.h>
#include "common.h"

#define GATE_PAGE	4096UL
#define GATE_POOL_SIZE	(GATE_PAGE + (unsigned long)UHOOK_STACKS * UHOOK_STACK_SIZE)

/* The register of the first argument of a function. */
static inline __u64 *gate_arg(struct uhook_user_regs *regs)
{
#ifdef __x86_64__
	return &regs->rdi;
#else
	return &regs->x[0];
#endif
}

/* Where a signal has found the program. */
static inline unsigned long *gate_ip(ucontext_t *context)
{
#ifdef __x86_64__
	return (unsigned long *)&context->uc_mcontext.gregs[REG_RIP];
#else
	return (unsigned long *)&context->uc_mcontext.pc;
#endif
}

typedef u64 gate_site(u64 arg);
typedef void gate_handler(struct uhook_user_regs *regs, u64 *data);

/**
 * struct gate_case - code that may or may not be copied
 * @name: description of the code
 * @bytes: the code
 * @len: length of the code in bytes
 * @ret: expected result of uhook_check_code()
 */
struct gate_case {
	const char *name;
	const char *bytes;
	size_t len;
	int ret;
};

/**
 * struct gate_arch - the part of the tests that depends on the architecture
 * @code: mapped page for code made by gate.c
 * @pool: address of the pool
 * @ret: instructions that return the first argument
 * @ret_len: length of @ret in bytes
 * @cases: code for uhook_check_code(), terminated by an element without a name
 */
struct gate_arch {
	unsigned long code;
	unsigned long pool;
	u8 ret[8];
	u8 ret_len;
	const struct gate_case *cases;
};

/* Each gate_ARCH.c has them. */
extern const struct gate_arch gate_arch;
struct uhook_gate gate_of(bool vectors);
/* Call a site as a thread that has no thread-local storage. */
u64 gate_call_bare(gate_site *site, u64 arg);

/* Words that a call is given: the data of the handler, and the count of missed hits. */
extern u64 gate_data[UHOOK_DATA_WORDS], gate_missed;

/* Map the pool, with the first page of each stack away, and put gates down. */
void gate_set_up(void);
/* The address of one of the two gates. */
unsigned long gate_at(bool vectors);
/* Write the call of a handler, at @at: its length. */
int gate_put_call(unsigned long at, bool vectors, gate_handler *handler, unsigned long site);
/* The number of the stack of an address; UHOOK_STACKS if it is on none. */
unsigned int gate_stack(const void *here);
/* How many stacks have an owner. */
unsigned int gate_owned(void);

/* All tests of gate.c. */
void gate_test(void);

#endif /* SELFTESTS_HOST_GATE_H */
