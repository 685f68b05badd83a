// SPDX-License-Identifier: GPL-2.0
/* Run code of x86_64 from a state until a signal comes: the rules are in the header. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "frame_x86.h"

struct state wanted;
unsigned int fp_size;
static struct state home;
static struct state *result;		/* set while code runs */

/* The breakpoint that enters, and the signal that ends the run. */
static void handle(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	u8 *fp = (u8 *)uc->uc_mcontext.fpregs;
	struct state *from = &wanted, *to = &home;

	(void)info;
	if (!result) {
		complain("signal %d, in the test itself, after a run at %llx", signal,
			 wanted.gregs[REG_RIP]);
		_exit(1);
	}
	if (result->signal >= 0) {
		from = &home;
		to = result;
	}
	memcpy(to->gregs, uc->uc_mcontext.gregs, sizeof(to->gregs));
	memcpy(to->fp, fp, fp_size);
	memcpy(uc->uc_mcontext.gregs, from->gregs, sizeof(from->gregs));
	memcpy(fp, from->fp, fp_size);
	result->signal = result->signal < 0 ? 0 : signal;
}

/* Once, to learn the layout of a frame: the state of this program. */
static void learn(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const u8 *fp = (const u8 *)uc->uc_mcontext.fpregs;

	(void)signal;
	(void)info;
	/* The end of FXSAVE's 512 bytes has the size of all. */
	memcpy(&fp_size, fp + 468, sizeof(fp_size));
	if (fp_size < FP_HEADER || fp_size > FP_MAX)
		_exit(2);
	memcpy(wanted.gregs, uc->uc_mcontext.gregs, sizeof(wanted.gregs));
	memcpy(wanted.fp, fp, fp_size);
}

static void catch_signals(void (*handler)(int signal, siginfo_t *info, void *context))
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction action = {
		.sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

void frame_set_up(unsigned int seconds)
{
	static u8 stack[1 << 17];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&alternate, NULL);
	catch_signals(learn);
	raise(SIGTRAP);
	catch_signals(handle);
	/* Code that does not end ends the test. */
	alarm(seconds);
}

void frame_run(unsigned long address, struct state *outcome)
{
	wanted.gregs[REG_RIP] = address;
	outcome->signal = -1;
	result = outcome;
	asm volatile("int3" : : : "memory");
	result = NULL;
}
