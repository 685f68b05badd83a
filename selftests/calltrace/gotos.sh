#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: gotos.sh TOOLS DIR
#
# Switches and computed gotos in one function, by each compiler, and with retpolines. A
# jump of a switch stays in its function; a computed goto may lead to addresses that no
# table has: a function with one is refused, whatever tables it has. Accepted functions
# compute the same as before.
# shellcheck disable=SC2086
set -eu

. "$(dirname "$0")/test_lib.sh"

# The labels, their distances from one, and a pointer to one.
common='#include <stdio.h>
	__attribute__((noinline)) int other(int k) { return k * 3 + 1; }
	#define SWITCH(k) switch (k) { \
		case 0: acc += 5; break; case 1: acc = other(2); break; \
		case 2: acc *= 99; break; case 3: acc = other(k) * 7; break; \
		case 4: acc -= 12; break; case 5: acc = other(9); break; \
		case 6: acc ^= -7; break; }
	int main(void)
	{
		static const unsigned char p[] = { 0, 1, 2, 3, 1, 0, 2, 3, 3, 2, 1, 3 };
		int i, s = 0;

		for (i = 0; i < 8; i++)
			s = s * 31 + run(p + i, i);
		printf("%d\n", s);
		return 0;
	}'
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		__attribute__((noinline)) int run(const unsigned char *p, int k)
		{
			int acc = 1;

			for (; *p != 3; p++)
				SWITCH(*p + k % 3)
			SWITCH(k)
			return acc;
		}
	END
} > switches.c
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		__attribute__((noinline)) int run(const unsigned char *p, int k)
		{
			static const int t[] = { &&a - &&a, &&b - &&a, &&c - &&a, &&d - &&a };
			int acc = 1;

			SWITCH(k)
			goto *(&&a + t[*p]);
		a:	acc += 1;
		b:	acc *= 3;
		c:	acc += 2;
		d:	return acc;
		}
	END
} > distances.c
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		__attribute__((noinline)) int run(const unsigned char *p, int k)
		{
			static void *const t[] = { &&a, &&b, &&c, &&d };
			int acc = 1;

			SWITCH(k)
			goto *t[*p++];
		a:	acc += 1; goto *t[*p++];
		b:	acc *= 3; goto *t[*p++];
		c:	acc -= other(acc); goto *t[*p++];
		d:	return acc;
		}
	END
} > labels.c

# The labels are not aligned, and the function has no switch.
sed -e '/^SWITCH(k)$/d' -e 's/static void \*const t\[\] = .*/static const struct { char c; void *to; } __attribute__((packed)) t[] = {/' \
	-e '/packed/a { 1, \&\&a }, { 2, \&\&b }, { 3, \&\&c }, { 4, \&\&d } };' \
	-e 's/goto \*t\[\*p++\]/&.to/g' labels.c > packed.c

# The base of the labels is the end of the function, or its start, which are no labels.
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		__attribute__((noinline)) int run(const unsigned char *p, int k)
		{
			static const unsigned char t[] = {
				&&end - &&a, &&end - &&b, &&end - &&c, &&end - &&d };
			int acc = k;
			void *to = &&end - t[*p++];

			goto *to;
		a:	acc += 1; to = &&end - t[*p++]; goto *to;
		b:	acc *= 3; to = &&end - t[*p++]; goto *to;
		c:	acc += 2; to = &&end - t[*p++]; goto *to;
		d:	return acc;
		end:	__builtin_unreachable();
		}
	END
} > ends.c
sed -e 's/void \*to = .*/goto *(\&\&end - t[*p]);/' -e '/^goto \*to;/d' \
	-e 's/ to = .*goto \*to;//' ends.c > end.c
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		__asm__(".text\n.globl run\n.type run, @function\n"
			"run: leaq run(%rip), %rdx; movzbl (%rdi), %edi; movl %esi, %eax\n"
			"leaq 9f-run(%rdx, %rdi, 4), %rcx; jmp *%rcx\n"
			"9: addl $1, %eax; nop; leal (%rax, %rax, 2), %eax; nop\n"
			"addl $2, %eax; nop; ret\n.size run, . - run\n");
	END
} > start.c
sed -e 's/leaq run(%rip)/movq 8f(%rip)/' -e 's/9: addl/.data; 8: .quad run; .text; &/' start.c \
	> stored.c

# Arithmetic hides the labels, whose addresses clang computes from that of the function.
{
	echo 'int run(const unsigned char *p, int k);'
	printf '%s\n' "$common"
	cat <<-'END'
		int g;
		__attribute__((noinline)) int run(const unsigned char *p, int k)
		{
			static long t[4];

			if (!t[0]) {
				t[0] = (long)&&a ^ 0x5555;
				t[1] = (long)&&b ^ 0x5555;
				t[2] = (long)&&c ^ 0x5555;
				t[3] = (long)&&d ^ 0x5555;
			}
			goto *(void *)(t[*p] ^ 0x5555);
		a:	*(volatile int *)&g += 1;
		b:	g += 7;
		c:	g -= 3;
		d:	return g;
		}
	END
} > hidden.c

# try PROGRAM COMPILER OPTIONS...: rewrite run(); $result says how it went
try()
{
	program=$1
	shift
	"$@" -w -o plain "$program.c"
	result=refused
	if ! "$tools/fhook-rewrite" -F run -o stubs plain 2> said; then
		# Code that is optimised for size may lack room, whatever its jumps are.
		! grep -q ' room ' said || result=narrow
		return 0
	fi
	result=same
	[ "$(./plain)" = "$(./stubs)" ] || result=different
}

# expect RESULT PROGRAM COMPILER OPTIONS...
expect()
{
	wanted=$1
	shift
	try "$@"
	echo "$*: $result"
	[ "$result" = "$wanted" ] || [ "$level $wanted $result" = "-Os same narrow" ] || status=1
}

levels="-O0 -O2 -Os"
[ -z "${FHOOK_LONG:-}" ] || levels="$levels -O1 -O3"
for level in $levels; do
	for kind in "-fPIE -pie" "-fPIE -pie -fcf-protection"; do
		for compiler in gcc clang; do
			expect same switches $compiler $level $kind
			expect refused distances $compiler $level $kind
			expect refused labels $compiler $level $kind
		done
	done
	for compiler in gcc clang; do
		for program in distances labels packed; do
			expect refused $program $compiler $level -fno-pic -no-pie
		done
		# Absolute tables may be refused.
		try switches $compiler $level -fno-pic -no-pie
		[ "$result" != different ] || { echo "$compiler $level: different"; status=1; }
	done
	for kind in "-fPIE -pie" "-fno-pic -no-pie"; do
		for compiler in gcc clang; do
			expect refused start $compiler $level $kind
			expect refused stored $compiler $level $kind
		done
		for program in end ends; do
			expect refused $program clang $level $kind
			# gcc puts the end of the function elsewhere at other levels.
			case $level in -O1 | -Os) expect refused $program gcc $level $kind ;; esac
		done
	done
	expect refused hidden clang $level -fPIE -pie -mcmodel=large
	for kind in thunk thunk-inline; do
		expect same switches gcc $level -mindirect-branch=$kind
		expect same switches gcc $level -mfunction-return=$kind
		expect refused distances gcc $level -mindirect-branch=$kind
		expect refused labels gcc $level -mindirect-branch=$kind
	done
	expect same switches clang $level -mretpoline
	expect same labels clang $level -mretpoline
done

# kinds FILE: the kinds of its stubs, in alphabetical order
kinds()
{
	"$tools/fhook" calltrace map "$1" | awk '$1 == "stub" { print $4, $7 == "" ? "" : $8 }' |
		sort | tr -s ' \n' ' '
}

# stubs "KINDS" FUNCTION FILE
stubs()
{
	"$tools/fhook-rewrite" -F "$2" -o stubs "$3"
	found=$(kinds stubs)
	echo "$2 of $3: $found"
	[ "$found" = "$1" ] || status=1
}

# A jump to the thunk of a return is a return; a jump to another thunk is a tail call with
# an unknown target. The return within a retpoline of a call is no return of the function.
cat > thunks.c <<-'END'
	int (*pointer)(int n);
	__attribute__((noinline)) int back(int n) { return n * 7 + 5; }
	__attribute__((noinline)) int tail(int n) { return pointer(n + 1000); }
	__attribute__((noinline)) int call(int n) { return pointer(n + 1000) * 3 + n; }
	int main(void) { pointer = back; return back(1) + tail(2) + call(3) == 7; }
END
for kind in thunk thunk-inline; do
	gcc -O2 -mindirect-branch=$kind -mfunction-return=$kind -o thunks thunks.c
	stubs "entry exit " back thunks
	stubs "entry tail - " tail thunks
	stubs "entry exit " call thunks
done

# A jump into the middle of a function is not seen as an entry; a return to an address that
# was pushed just before is a jump.
cat > middle.s <<-'END'
	.text
	.globl	whole
	.type	whole, @function
	whole:	movl	$1, %eax
	addl	%edi, %eax
	middle:	addl	$100000, %eax
	ret
	.size	whole, . - whole
	.globl	other
	.type	other, @function
	other:	movl	$2, %eax
	jmp	middle
	.size	other, . - other
	.globl	pushes
	.type	pushes, @function
	pushes:	movl	$100000, %eax
	pushq	%rdi
	ret
	.size	pushes, . - pushes
END
gcc -shared -nostdlib -o middle.so middle.s
stubs "entry tail - " pushes middle.so
if "$tools/fhook-rewrite" -F whole -o stubs middle.so 2> said ||
   ! grep -q 'another function jumps into it' said; then
	echo "whole() has two entries: $(cat said)"
	status=1
fi

# Relocations that say where labels are may be packed.
for packing in relr android android+relr; do
	clang -O2 -fPIE -pie -w -fuse-ld=lld -Wl,--pack-dyn-relocs=$packing -o plain labels.c
	if "$tools/fhook-rewrite" -F run -o stubs plain 2> said; then
		echo "labels in relocations packed for $packing are not seen"
		status=1
	fi
done
grep -q 'has packed relocations' said || { cat said; status=1; }
# Of those that leave the addresses in place, Android's are known as well.
clang -O2 -fPIE -pie -w -fuse-ld=lld -Wl,--pack-dyn-relocs=relr,--use-android-relr-tags \
	-o plain labels.c
if "$tools/fhook-rewrite" -F run -o stubs plain 2> said; then
	echo "labels in Android's relative relocations are not seen"
	status=1
fi

# Jumps that are rare: to the middle of what a jump at the entry or an exit would
# replace.
cat > rare.c <<-'END'
	#include <stdio.h>
	#define FUNCTION(name, body) __asm__(".text\n.globl " name "\n.type " name ", @function\n" \
		name ": " body "; ret\n.size " name ", . - " name "\n.skip 8, 0xcc\n")
	#define COUNT(name, jump) FUNCTION(name, "movl %edi, %ecx; 1: leal 3(%rdi), %edi; " \
		"movl %edi, %eax; nopl 8(%rax, %rax); testl %ecx, %ecx; " jump " 1b")
	COUNT("t_loop", "loop");
	COUNT("t_loope", "loope");
	COUNT("t_loopne", "loopne");
	FUNCTION("t_zero", "movl %edi, %ecx; movl $1, %eax; jrcxz 1f; movl $2, %eax; 1: incl %eax");
	int t_loop(int n), t_loope(int n), t_loopne(int n), t_zero(int n);
	int main(void)
	{
		printf("%d %d %d %d\n", t_loop(5), t_loope(0), t_loopne(7), t_zero(0));
		return 0;
	}
END
gcc -O1 -o rare rare.c
"$tools/fhook-rewrite" -F 't_*' -o stubs rare
[ "$(./rare)" = "$(./stubs)" ] || { echo "rare jumps: different"; status=1; }

# arm64's tables have distances of one or two bytes from an address in the function.
for level in -O0 -O2 -Os; do
	for program in switches distances labels end ends; do
		case $program$level in end*-O0) continue ;; esac
		aarch64-linux-gnu-gcc $level -static -w -o plain $program.c
		result=refused
		if "$tools/fhook-rewrite" -F run -o stubs plain 2> said; then
			result=different
			[ "$(qemu-aarch64 ./plain)" != "$(qemu-aarch64 ./stubs)" ] || result=same
		fi
		echo "aarch64 $level $program: $result"
		case $program-$result in
		switches-same | distances-same | distances-refused | labels-refused | end*-refused) ;;
		*) status=1 ;;
		esac
	done
done
exit $status
