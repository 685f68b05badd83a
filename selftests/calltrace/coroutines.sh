#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: coroutines.sh TOOLS DIR
#
# Two coroutines of one thread, each on a stack of its own: each output says that
# callers are unknown, and none that a function was entered before the trace. A program
# without coroutines that is left by longjmp() has one stack. No coroutine is shown within
# another one or its caller, however the stack is changed, if the function that does so has a
# stub.
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
# In these, no exit of a function shows that a call is not over: it is made by the main program
# while a coroutine waits in another function.
for way in context written; do
	cat > "$way.c" <<-'END'
		#ifdef CONTEXT
		#include <ucontext.h>
		typedef ucontext_t place;
		#define CHANGE(from, to) do {						\
			volatile int back = 0;						\
			getcontext(&(from));						\
			if (!back) {							\
				back = 1;						\
				setcontext(&(to));					\
			}								\
		} while (0)
		#else
		typedef void *place;
		void change(place *from, place to);
		#define CHANGE(from, to) change(&(from), to)
		#ifdef __x86_64__
		__asm__(".text; .type change, @function; change:"
			"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15;"
			"mov %rsp, (%rdi); mov %rsi, %rsp;"
			"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret;"
			".size change, . - change");
		#else
		__asm__(".text; .type change, @function; change:"
			"stp x29, x30, [sp, -16]!; mov x9, sp; str x9, [x0]; mov sp, x1;"
			"ldp x29, x30, [sp], 16; ret; .size change, . - change");
		#endif
		#endif
		static place caller, contexts[2];
		static char stacks[2][65536] __attribute__((aligned(16)));
		static int next;
		#define PAD __asm__ volatile("nop; nop; nop; nop; nop")
		#define VISIBLE __attribute__((noinline))
		VISIBLE void leaf(void) { PAD; }
		VISIBLE void step(int i) { CHANGE(contexts[i], caller); PAD; }
		VISIBLE void body(int i) { for (int n = 0; n < 2; n++) step(i); PAD; }
		VISIBLE void begin(void) { body(next); CHANGE(contexts[next], caller); PAD; }
		int main(void)
		{
			for (int i = 0; i < 2; i++) {
		#ifdef CONTEXT
				getcontext(&contexts[i]);
				contexts[i].uc_stack.ss_sp = stacks[i];
				contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
				makecontext(&contexts[i], begin, 0);
		#else
				void **top = (void **)(stacks[i] + sizeof(stacks[i]) - 64);

				*top = begin;
				contexts[i] = top - 6;
		#endif
			}
			for (volatile int n = 0; n < 6; n++) {
				next = n % 2;
				CHANGE(caller, contexts[next]);
				leaf();
			}
			return 0;
		}
	END
done
# Arrays of variable length, after which the stack pointer is restored.
cat > arrays.c <<-'END'
	#include <string.h>
	#define VISIBLE __attribute__((noinline))
	VISIBLE int use(char *p, int n) { memset(p, n, n); return p[n - 1]; }
	VISIBLE int arrays(int n)
	{
		int sum = 0;

		for (int i = 1; i < n; i++) {
			char array[i];

			sum += use(array, i);
		}
		return sum;
	}
	VISIBLE int aligned(int n) { char a[n] __attribute__((aligned(64))); return use(a, n); }
	int main(void) { return arrays(5) + aligned(3) == 0; }
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
$fhook print coroutines.recording | grep -q '^-- this thread changes its stack'
[ "$($fhook print coroutines.recording | grep -c 'where it was entered is not known')" -ge 6 ]
$fhook print --summary coroutines.recording | grep -qx 'threads with several stacks 1'

# tree PROGRAM: its calls, without numbers and comments
tree()
{
	$fhook print "$1.recording" 2> /dev/null |
		sed '/^#/d; /^--/d; s/^ *[0-9]* | //; s/ [/][*] no exit seen [*][/]//
			s/, where it was entered is not known//'
}
for level in -O0 -O1 -O2; do
	for compiler in gcc aarch64-linux-gnu-gcc; do
		$compiler "$level" -o arrays arrays.c
		$fhook rewrite -F arrays -F aligned -F use -F main -o arrays.stubs arrays
		if $fhook map arrays.stubs | grep ' switch '; then exit 1; fi
	done
done
# no_switch REWRITE-ARGUMENT...: no function is found to change the stack.
no_switch()
{
	$fhook rewrite -o others.stubs "$@" > said 2>&1
	if $fhook map others.stubs | grep ' switch '; then exit 1; fi
	if grep 'change the stack' said; then exit 1; fi
}
# Functions that load the stack pointer, and stay on their stack: by jumps, which may have no
# names, and with a copy of the stack pointer that compilers have made by an addition. In arm64
# code, the zero register has the number of the stack pointer.
cat > builtin.c <<-'END'
	static void *to[5];
	__attribute__((noinline)) void leave(void) { __builtin_longjmp(to, 1); }
	__attribute__((noinline)) int enter(void) { return __builtin_setjmp(to) || (leave(), 1); }
	#ifdef __x86_64__
	__asm__(".text; .type copied, @function; copied:"
		"push %r13; lea 8(%rsp), %r13; sub $64, %rsp; mov %rsp, (%rsp);"
		"lea -8(%r13), %rsp; pop %r13; ret; .size copied, . - copied");
	__asm__(".text; .type spilled, @function; spilled:"
		"push %rbx; mov %rsp, %rbx; sub $64, %rsp; mov %rsp, -8(%rbx);"
		"mov -8(%rbx), %rsp; mov %rbx, %rsp; pop %rbx; ret; .size spilled, . - spilled");
	#else
	__asm__(".text; .type zero, @function; zero:"
		"mov x1, xzr; ldr x9, [x0]; mov sp, x9; ldr x30, [x0, 8]; ret; .size zero, . - zero");
	#endif
	int main(void) { return !enter(); }
END
for compiler in gcc aarch64-linux-gnu-gcc; do
	$compiler -O2 -o builtin builtin.c
	no_switch -s -F '*' builtin
	$compiler -O1 -static -o static jumps.c
	no_switch -F inner -F main static
	case $compiler in
	gcc) strip static ;;
	*) ${compiler%gcc}strip static ;;
	esac
	no_switch -e -s -F '*' static
done
# In OCaml, raising an exception loads the stack pointer that its handler has saved.
if command -v ocamlopt > found; then
	cat > raises.ml <<-'END'
		exception Found of int
		let find n = if n > 3 then raise (Found n) else n
		let try_find n = try find n with Found m -> m + 1
		let rec loop n sum = if n = 0 then sum else loop (n - 1) (sum + try_find (n mod 7))
		let () = print_int (loop 100 0)
	END
	ocamlopt -o raises raises.ml
	no_switch -s -F '*' raises
fi
# The distance to the other stack is added.
cat > distance.c <<-'END'
	void distance(long n, void **saved);
	__asm__(".text; .type distance, @function; distance:"
	#ifdef __x86_64__
		"mov %rsp, (%rsi); add %rdi, %rsp; ret; nop; nop; nop;"
	#else
		"mov x9, sp; str x9, [x1]; add sp, sp, x0; ret;"
	#endif
		".size distance, . - distance");
	int main(void) { void *saved; distance(0, &saved); return 0; }
END
for compiler in gcc aarch64-linux-gnu-gcc; do
	$compiler -O1 -o distance distance.c
	$fhook rewrite -F distance -o distance.stubs distance
	$fhook map distance.stubs | grep -q ' switch 0 distance '
done
aarch64-linux-gnu-gcc -O1 -o written written.c
$fhook rewrite -F change -o written.stubs written
$fhook map written.stubs | grep -q ' switch 0 change '
# One register has the stack pointer of both stacks, as is usual on arm64.
cat > both.c <<-'END'
	void both(void **to, void **from);
	__asm__(".text; .type both, @function; both:"
	#ifdef __x86_64__
		"mov %rsp, %rax; mov %rax, (%rsi); mov (%rdi), %rax; mov %rax, %rsp; ret;"
	#else
		"mov x16, sp; stp x16, x30, [x1]; ldp x16, x30, [x0]; mov sp, x16; ret;"
	#endif
		".size both, . - both");
	int main(void) { void *saved[2]; both(saved, saved); return 0; }
END
for compiler in gcc aarch64-linux-gnu-gcc; do
	$compiler -O1 -o both both.c
	$fhook rewrite -F both -o both.stubs both
	$fhook map both.stubs | grep -q ' switch 0 both '
done
gcc -O1 -DCONTEXT -Wl,--build-id -o context context.c
gcc -O1 -Wl,--build-id -o written written.c
$fhook rewrite -F main -F leaf -F step -F body -F begin -o context.stubs context 2> said
if grep 'change the stack' said; then exit 1; fi
$fhook rewrite -F main -F leaf -F step -F body -F begin -o without.stubs written 2> said
grep -q 'change the stack and get no stub: 1, such as change[.] Choose them' said
$fhook rewrite -F main -F leaf -F step -F body -F begin -F change -o written.stubs written 2> said
if grep 'change the stack' said; then exit 1; fi
cat > wanted <<-'END'
	main();
	begin() {
	  body() {
	    step();
	  } /* body no exit seen */
	} /* begin no exit seen */
	leaf();
	begin() {
	  body() {
	    step();
	  } /* body no exit seen */
	} /* begin no exit seen */
	leaf();
	/* step returns */
	step();
	leaf();
	/* step returns */
	step();
	leaf();
	/* step returns */
	/* body returns */
	leaf();
	/* step returns */
	/* body returns */
	leaf();
	/* main returns */
END
for way in context written; do
	$fhook record --plugin -o "$way.recording" "./$way.stubs"
	tree "$way" | diff wanted -
	$fhook print --summary "$way.recording" | grep -qx 'threads with several stacks 1'
	$fhook diff "$way.recording" "$way.recording"
done
