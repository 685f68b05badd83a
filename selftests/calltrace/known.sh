#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: known.sh TOOLS DIR
#
# Addresses in code that are known to others than the code itself: exported labels and the
# entry point, at which others enter the program; USDT probes and the places of XRay, which
# others change; functions that V8 copies; and instructions that raise exceptions.
set -eu

. "$(dirname "$0")/test_lib.sh"

rewrite="$tools/fhook-rewrite"

# refuses SENTENCE FUNCTION FILE
refuses()
{
	if "$rewrite" -F "$2" -o out "$3" > said 2>&1 || ! grep -qF -- "$1" said; then
		fails "$2 of $3: not '$1'"
	fi
}

# same PROGRAM: with stubs in all functions, it prints the same.
same()
{
	"$rewrite" -F '*' -o stubs "$1" > said 2>&1 || fails "$1 is refused"
	[ "$("./$1")" = "$(./stubs 2>&1)" ] || fails "$1 does not do the same"
}

# A label without a type in a function, in the middle of what a jump would replace: the
# dynamic linker and the kernel know it. Another function is entered only at its start.
cat > label.s <<-'END'
	.text
	.globl	whole
	.type	whole, @function
	whole:	movl	$1, %eax
	.globl	here
	.HIDDEN	here
	movl	$2, %ecx
	xorl	%edi, %edi
	here:	movl	$60, %eax
	syscall
	ret
	.size	whole, . - whole
	.skip	8, 0xcc
	.globl	fine
	.type	fine, @function
	fine:	movl	$60, %eax
	ret
	.size	fine, . - fine
	.skip	8, 0xcc
END
sed '/HIDDEN/d' label.s | gcc -shared -nostdlib -xassembler -o exported.so -
sed 's/HIDDEN/hidden/' label.s > hidden.s
gcc -nostdlib -static -Wl,-e,here -o started hidden.s
gcc -shared -nostdlib -Wl,-init,here -o init.so hidden.s
gcc -shared -nostdlib -Wl,-fini,here -o fini.so hidden.s
gcc -shared -nostdlib -o unknown.so hidden.s
for file in exported.so started init.so fini.so; do
	refuses "is an address where others enter it" whole $file
	"$rewrite" -F fine -o out $file 2> said || fails "fine of $file is refused"
done
"$rewrite" -F whole -o out unknown.so 2> said || fails "whole of unknown.so is refused"

# USDT probes and the places of XRay: at a function's entry, and where a jump need not be.
cat > probes.s <<-'END'
	.text
	.globl	whole
	.type	whole, @function
	whole:	nop
	1:	leal	(%rdi, %rdi, 2), %eax
	PROBE
	ret
	.size	whole, . - whole
	.skip	8, 0xcc
	.globl	fine
	.type	fine, @function
	fine:	movl	$60, %eax
	1:	nop
	PROBE
	movl	$2, %ecx
	leal	(%rcx, %rdi), %eax
	ret
	.size	fine, . - fine
	.skip	8, 0xcc
END
cat > note.s <<-'END'
	.pushsection .note.stapsdt, "", @note
	.balign 4
	.long 8, 3f - 2f, 3
	.asciz "stapsdt"
	2: .quad 1b, 0, 0
	.asciz "a", "b", ""
	3: .balign 4
	.popsection
END
cat > sled.s <<-'END'
	.pushsection xray_instr_map, "a"
	2: .quad 1b - ., 0, 0, 0
	.popsection
END
for kind in note sled; do
	sed -e "/PROBE/{r $kind.s" -e 'd}' probes.s | gcc -shared -nostdlib -xassembler -o $kind.so -
	refuses "there is no room for a jump" whole $kind.so
	"$rewrite" -F fine -o out $kind.so 2> said || fails "fine of $kind.so is refused"
done
"$tools/fhook-attach" -n -a 0x1000000000 -F whole -o map note.so > said 2>&1 || fails "whole cannot be attached"

# Functions that V8 runs elsewhere: its own, but not those of others with a similar name.
sed -n '/globl.*fine/,$p' label.s > copied.s
sed 's/fine/Builtins_Abort/g' copied.s | gcc -shared -nostdlib -xassembler -o similar.so -
sed 's/fine/Builtins_JSEntry/g' copied.s | gcc -shared -nostdlib -xassembler -o v8.so -
"$rewrite" -F Builtins_Abort -o out similar.so 2> said || fails "Builtins_Abort is refused"
refuses "V8 copies it, and runs the copy" Builtins_JSEntry v8.so

# An exception that a signal handler throws is caught only where the table says so.
cat > throws.cc <<-'END'
	#include <signal.h>
	#include <stdio.h>
	struct fault { };
	static void handler(int number)
	{
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, number);
		sigprocmask(SIG_UNBLOCK, &set, 0);
		throw fault();
	}
	__attribute__((noinline)) int read(int *p)
	{
		try { return *p; } catch (fault &) { return -1; }
	}
	__attribute__((noinline)) void write(int *p, int n)
	{
		try { *p = n; } catch (fault &) { }
	}
	__attribute__((noinline)) int divide(int n, int by)
	{
		try { return n / by; } catch (fault &) { return -2; }
	}
	int main()
	{
		int n = 5;

		signal(SIGSEGV, handler);
		signal(SIGFPE, handler);
		write(&n, 9);
		write(0, 1);
		printf("%d %d %d %d %d\n", n, read(&n), read(0), divide(n, 2), divide(n, 0));
		return 0;
	}
END
for level in -O0 -O1 -O2 -Os; do
	g++ $level -fnon-call-exceptions -o throws throws.cc
	same throws
done

exit $status
