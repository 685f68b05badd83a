#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: coroutines.sh TOOLS DIR
#
# Two coroutines of one thread, each on a stack of its own: each output says that
# callers are unknown, and none that a function was entered before the trace. A program
# without coroutines that is left by longjmp() has one stack.
set -eu

. "$(dirname "$0")/test_lib.sh"

cat > coroutines.c <<-'END'
	#include <ucontext.h>
	static ucontext_t caller, context[2];
	static char stacks[2][65536];
	#define PAD __asm__ volatile("nop; nop; nop; nop; nop")
	__attribute__((noinline)) void yield(int i) { swapcontext(&context[i], &caller); PAD; }
	__attribute__((noinline)) void resume(int i) { swapcontext(&caller, &context[i]); PAD; }
	__attribute__((noinline)) void body(int i) { for (int n = 0; n < 3; n++) yield(i); PAD; }
	int main(void)
	{
		for (int i = 0; i < 2; i++) {
			getcontext(&context[i]);
			context[i].uc_stack.ss_sp = stacks[i];
			context[i].uc_stack.ss_size = sizeof(stacks[i]);
			context[i].uc_link = &caller;
			makecontext(&context[i], (void (*)(void))body, 1, i);
		}
		for (int n = 0; n < 4; n++)
			for (int i = 0; i < 2; i++)
				resume(i);
		return 0;
	}
END
cat > jumps.c <<-'END'
	#include <setjmp.h>
	static jmp_buf to;
	#define PAD __asm__ volatile("nop; nop; nop; nop; nop")
	__attribute__((noinline)) void inner(int n) { if (n) longjmp(to, 1); PAD; }
	__attribute__((noinline)) void outer(int n) { inner(n); PAD; }
	int main(void)
	{
		for (volatile int n = 0; n < 5; n++)
			if (!setjmp(to))
				outer(n & 1);
		return 0;
	}
END
# record PROGRAM REWRITE-ARGUMENT...
record()
{
	program=$1
	shift
	gcc -O1 -Wl,--build-id -o "$program" "$program.c"
	$fhook rewrite "$@" -o "$program.stubs" "$program"
	$fhook record --plugin -o "$program.recording" "./$program.stubs"
}
record coroutines -F yield -F resume -F body -F main
record jumps -F inner -F outer -F main

for output in tree --flat --folded --json --summary; do
	option=$output
	[ "$output" != tree ] || option=
	# shellcheck disable=SC2086
	$fhook print $option coroutines.recording > printed 2> said
	grep -q '1 threads of .* may have several stacks' said
	if grep 'entered before' printed; then exit 1; fi
	# shellcheck disable=SC2086
	$fhook print $option jumps.recording > printed 2> said
	if grep 'several stacks' said; then exit 1; fi
done
# Calls that wait on another stack must not be reported as ended.
for output in '' --json; do
	# shellcheck disable=SC2086
	$fhook print $output coroutines.recording > printed 2> said
	if grep 'left otherwise' printed; then exit 1; fi
	[ "$(grep -c 'no exit seen' printed)" -ge 4 ]
done
$fhook print coroutines.recording | grep -q '^-- missing: a call returns that was over'
[ "$($fhook print coroutines.recording | grep -c 'where it was entered is not known')" -ge 6 ]
$fhook print --summary coroutines.recording | grep -qx 'threads with several stacks 1'
