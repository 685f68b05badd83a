#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: twins.sh TOOLS DIR
#
# Two functions of one name in a program, each with a part that the compiler puts
# elsewhere, also under one name: exits must match entries. And two functions of one name
# of which one can have no stubs: a tail call to that is not one to the other. Parts of
# clang's are parts as well; a function is none because of letters in its name.
set -eu

. "$(dirname "$0")/test_lib.sh"

cat > one.c <<-'END'
	int other(int n);
	__attribute__((cold, noinline)) int chill(int n) { __asm__ volatile(""); return n / 3; }
	static __attribute__((noinline)) int twin(int n)
	{
		if (__builtin_expect(n > 100, 0))
			return chill(n) + chill(n + 7) + 100000;
		__asm__ volatile("nop; nop; nop; nop; nop; nop");
		return n * 3;
	}
	int main(void) { return twin(1) + twin(1000) + other(2) + other(2000) == 7; }
END
cat > two.c <<-'END'
	int chill(int n) __attribute__((cold));
	static __attribute__((noinline)) int twin(int n)
	{
		if (__builtin_expect(n > 100, 0))
			return chill(n) * 5 + chill(n - 1) + 100000;
		__asm__ volatile("nop; nop; nop; nop; nop; nop");
		return n + 9;
	}
	int other(int n) { return twin(n) + 1; }
END
gcc -O2 -Wl,--build-id -o twins one.c two.c
[ "$(nm twins | grep -c ' twin\.cold')" -eq 2 ] || { echo "there are no parts"; exit 1; }
"$tools/fhook-rewrite" -F twin -F main -o twins.stubs twins
$fhook record --plugin -o recording ./twins.stubs
$fhook print --events recording > events
awk -F '\t' '$2 == "entry" { stack[++depth] = $4; twins += $3 == "twin" }
	$2 == "exit" && stack[depth--] != $4 { print "at event", NR, "another is left"; bad = 1 }
	END { exit bad || twins != 4 || depth }' events

cat > three.c <<-'END'
	int other(int n);
	static __attribute__((noinline)) int helper(int n)
	{
		static void *const labels[] = { &&even, &&odd };

		__asm__ volatile("" : "+r"(n));
		goto *labels[n & 1];
	even:
		return n / 2;
	odd:
		return n * 3;
	}
	__attribute__((noinline)) int alpha(int n)
	{
		__asm__ volatile("nop; nop; nop; nop; nop; nop");
		return helper(n + 1);
	}
	int main(void) { return alpha(1) + other(2) + other(3) == 7; }
END
cat > four.c <<-'END'
	static __attribute__((noinline)) int helper(int n)
	{
		__asm__ volatile("nop; nop; nop; nop; nop; nop");
		return n + 9;
	}
	__attribute__((noinline)) int other(int n)
	{
		__asm__ volatile("nop; nop; nop; nop; nop; nop");
		return helper(n + 2);
	}
END
gcc -O2 -Wl,--build-id -o tails three.c four.c
"$tools/fhook-rewrite" --skip -F helper -F alpha -F other -F main -o tails.stubs tails 2> said
grep -q 'helper' said || { echo "all have been rewritten"; exit 1; }
rm -rf recording
$fhook record --plugin -o recording ./tails.stubs
$fhook print recording > tree
cat tree
[ "$(grep -c '^ *[^|]*|   alpha(); /\* tail call' tree)" -eq 1 ]
[ "$(grep -c '^ *[^|]*|   other() {' tree)" -eq 2 ]
[ "$(grep -c '^ *[^|]*|     helper();' tree)" -eq 2 ]

# Jumps to parts do not leave a function. In Go, a function may have such a name.
{
	echo ".text"
	for name in work work.coldStart work.__part.1 work.cold; do
		type=@function
		[ $name != work.__part.1 ] || type=@notype
		printf '.globl %s\n.type %s, %s\n%s:\n' $name $name $type $name
		echo "movl \$5, %eax; addl %edi, %eax"
		case $name in
		work) echo "je work.cold; jmp work.__part.1" ;;
		*) echo "leal 3(%rax), %eax; ret" ;;
		esac
		echo ".size $name, . - $name; .skip 8, 0xcc"
	done
} > parts.s
gcc -shared -nostdlib -o parts.so parts.s
"$tools/fhook-rewrite" -F '*' -o parts.stubs parts.so
$fhook map parts.stubs | awk '$1 == "stub" { print $4, $6 }' | sort > stubs
diff - stubs <<-'END'
	entry work
	entry work.coldStart
	exit work
	exit work
	exit work.coldStart
END
