// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook: the hooked functions.
 *
 * This is the only file of the test that is compiled with slots, so that no
 * callback is hooked by accident. Each function is different, because the
 * compiler could merge equal ones.
 */
#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/static_call.h>
#include <linux/types.h>

#include "test_fhook.h"

noinline u32 fhook_target_a(u32 value)
{
	return FHOOK_A(value);
}

noinline u32 fhook_target_b(u32 value)
{
	return FHOOK_B(value);
}

noinline u32 fhook_target_c(u32 value)
{
	return FHOOK_C(value);
}

/* Tests overwrite the slots of these functions. */
noinline u32 fhook_target_lost1(u32 value)
{
	return FHOOK_LOST1(value);
}

noinline u32 fhook_target_lost2(u32 value)
{
	return FHOOK_LOST2(value);
}

noinline u32 fhook_target_lost3(u32 value)
{
	return FHOOK_LOST3(value);
}

noinline u32 fhook_target_lost4(u32 value)
{
	return FHOOK_LOST4(value);
}

/* There is another function of this name. */
static noinline __noclone u32 fhook_twin(u32 value)
{
	return FHOOK_TWIN(value);
}

noinline u32 fhook_target_twin(u32 value)
{
	return fhook_twin(value) + 0;
}

noinline u32 fhook_target_cloned(u32 value)
{
	return FHOOK_A(value) + 2;
}

/* This one has no slot. */
noinline notrace u32 fhook_target_notrace(u32 value)
{
	return value * 19 + 7;
}

/* Has a frame of its own between the hooked function and its caller. */
noinline u32 fhook_target_nest(u32 value, u32 (*nest)(u32 value))
{
	return nest(value + 1) + 1;
}

/* Ends in a jump: its return address becomes that of the other function. */
noinline u32 fhook_target_tail(u32 value)
{
	return fhook_target_a(value + 1);
}

noinline u32 fhook_target_tail_nest(u32 value, u32 (*nest)(u32 value))
{
	return fhook_target_nest(value + 1, nest);
}

/*
 * Changes no register, so that the caller sees the changes made by a
 * trampoline.
 */
noinline void fhook_target_empty(void)
{
	asm volatile("");
}

static DEFINE_STATIC_KEY_FALSE(fhook_target_key);
DEFINE_STATIC_CALL(fhook_target_call, fhook_target_a);

/* The instructions after the slots of these two are patched, too. */
noinline u32 fhook_target_branch(u32 value)
{
	if (static_branch_unlikely(&fhook_target_key))
		return FHOOK_B(value) + 1;

	return FHOOK_A(value) + 1;
}

noinline u32 fhook_target_static(u32 value)
{
	return static_call(fhook_target_call)(value);
}

/* For this and fhook_target_b(), or fhook_target_a() */
void fhook_targets_turn(bool on)
{
	if (on)
		static_branch_enable(&fhook_target_key);
	else
		static_branch_disable(&fhook_target_key);
	static_call_update(fhook_target_call, on ? fhook_target_b : fhook_target_a);
}

/* Its result distinguishes each argument, from 0 to 9, from every other. */
noinline unsigned long fhook_target_args(unsigned long a0, unsigned long a1,
					 unsigned long a2, unsigned long a3,
					 unsigned long a4, unsigned long a5,
					 unsigned long a6)
{
	return a0 + 10 * a1 + 100 * a2 + 1000 * a3 + 10000 * a4 + 100000 * a5 +
	       1000000 * a6;
}

/* The arguments in reverse order. */
noinline unsigned long
fhook_target_other_args(unsigned long a0, unsigned long a1, unsigned long a2,
			unsigned long a3, unsigned long a4, unsigned long a5,
			unsigned long a6)
{
	return a6 + 10 * a5 + 100 * a4 + 1000 * a3 + 10000 * a2 + 100000 * a1 +
	       1000000 * a0;
}

/* More arguments than are passed in registers; the test checks their values. */
noinline unsigned long
fhook_target_many_args(unsigned long a0, unsigned long a1, unsigned long a2,
		       unsigned long a3, unsigned long a4, unsigned long a5,
		       unsigned long a6, unsigned long a7, unsigned long a8)
{
	return a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8;
}
