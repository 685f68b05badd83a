// SPDX-License-Identifier: GPL-2.0
/* Run code of x86_64 from registers, flags and a stack: the rules are in the header. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "run_state_x86.h"

/* Where the ends are, at a multiple of 8: a flag asks for that. */
#define END_POINTERS	(SITES + PAGE - 2 * sizeof(u64))

u8 run_stack[STACK_SIZE];

void run_set_up(unsigned int seconds)
{
	size_t i;

	map_at(STACK, STACK_SIZE, PROT_READ | PROT_WRITE);
	map_at(SITES, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	((u64 *)END_POINTERS)[0] = (u64)jump_leave;
	((u64 *)END_POINTERS)[1] = (u64)jump_leave_far;
	for (i = 0; i < STACK_SIZE; i++)
		run_stack[i] = random_next();
	alarm(seconds);
}

void put_end(unsigned long at, unsigned int which)
{
	static const u8 jump[] = { 0xff, 0x25 };	/* jmp *pointer(%rip) */
	const s32 displacement = END_POINTERS + which * sizeof(u64) - (at + 6);

	memcpy((void *)at, jump, sizeof(jump));
	memcpy((void *)at + sizeof(jump), &displacement, sizeof(displacement));
}

u64 random_sp(void)
{
	return STACK + PAGE + random_next() % (STACK_SIZE - 2 * PAGE);
}

void make_regs(u64 flags, u64 sp)
{
	size_t i;

	for (i = 0; i < RFLAGS; i++)
		jump_wanted[i] = random_next();
	jump_wanted[RFLAGS] = jump_flags(flags);
	jump_wanted[RSP] = sp;
	if (jump_wanted[RFLAGS] & FLAG_AC)
		jump_wanted[RSP] &= ~7UL;
}

void run(unsigned long start, struct outcome *outcome, void (*enter)(void))
{
	memcpy((void *)STACK, run_stack, STACK_SIZE);
	jump_start = start;
	enter();
	memcpy(outcome->regs, jump_outcome, sizeof(jump_outcome));
	outcome->ended = jump_ended;
	memcpy(outcome->stack, (void *)STACK, STACK_SIZE);
}

void expect_outcome(const char *what, const struct outcome *is, const u64 *regs,
		    const u8 *stack, size_t below)
{
	const size_t end = jump_wanted[RSP] - RED_ZONE - STACK;
	unsigned int i;

	for (i = 0; i < REGS; i++) {
		if (is->regs[i] != regs[i])
			complain("%s: register %u is %lx and not %lx", what, i,
				 (long)is->regs[i], (long)regs[i]);
	}
	if (memcmp(is->stack + end, stack + end, STACK_SIZE - end))
		complain("%s: other memory, rsp %lx", what, (long)jump_wanted[RSP]);
	if (memcmp(is->stack, stack, end - below))
		complain("%s: memory far below the stack, rsp %lx", what,
			 (long)jump_wanted[RSP]);
}
