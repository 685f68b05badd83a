#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: places.sh TOOLS DIR
#
# Code whose address matters outside its function: instructions that a linker has moved to
# a veneer, restartable sequences, a table with an entry that leads after the function, and
# functions that get an argument in a register of the linker's.
set -eu

. "$(dirname "$0")/test_lib.sh"

# For an erratum of Cortex-A53, linkers move instructions to veneers. A veneer between two
# functions belongs to neither, with names and without.
cat > veneer.s <<-'END'
	.text
	.globl	alone
	.type	alone, %function
	alone:	mov	w0, #7
	ret
	.size	alone, . - alone
	veneer:	ldr	x1, [x0]
	b	back
	.globl	work
	.type	work, %function
	work:	mov	x2, x0
	b	veneer
	back:	add	x0, x1, x2
	ret
	.size	work, . - work
	.globl	_dl_runtime_resolve
	.type	_dl_runtime_resolve, %function
	_dl_runtime_resolve:
	ldr	x0, [x16, #-8]
	ret
	.size	_dl_runtime_resolve, . - _dl_runtime_resolve
END
aarch64-linux-gnu-gcc -shared -nostdlib -Wl,--build-id -o veneer.so veneer.s
aarch64-linux-gnu-strip -o stripped.so veneer.so
for file in veneer.so stripped.so; do
	"$tools/fhook-rewrite" -F work -o out "$file"
	$fhook map out > stubs
	cat stubs
	[ "$(grep -c '^stub ' stubs)" -eq 2 ]
	grep -q ' entry 0 work ' stubs
	grep -q ' exit 0 work ' stubs
done
"$tools/fhook-attach" -n -a 0x1000000000 -o map -F alone veneer.so > points
if "$tools/fhook-attach" -n -a 0x1000000000 -o map -F '_dl_*' veneer.so > points 2> said; then
	echo "what is in x16 is lost"
	exit 1
fi
grep -q 'left out, _dl_runtime_resolve: it is called in a way of its own' said
if "$tools/fhook-attach" -n -a 0x1000000000 -o map -F _dl_runtime_resolve veneer.so 2> said; then
	echo "what is in x16 is lost"
	exit 1
fi
grep -q '_dl_runtime_resolve cannot be done: it is called in a way of its own' said

cat > places.c <<-'END'
	#include <stdio.h>
	long commit(long *to, long value);
	int choose(int which, int n);
	__asm__(".text\n.globl commit\n.type commit, @function\n"
		"commit: xorl %eax, %eax; nopl 8(%rax, %rax)\n"
		"1: movq %rsi, (%rdi)\n"
		"2: incl %eax; ret\n"
		".byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"
		"3: decl %eax; ret\n"
		".size commit, . - commit; .skip 8, 0xcc\n"
		".section __rseq_cs, \"aw\"\n.balign 32\n"
		".long 0, 0; .quad 1b, 2b - 1b, 3b\n"
		".section .text.last, \"ax\"\n.globl choose\n.type choose, @function\n"
		"choose: leaq 9f(%rip), %rdx; movslq (%rdx, %rdi, 4), %rax\n"
		"addq %rdx, %rax; jmp *%rax\n"
		"4: addl $5, %esi\n"
		"5: movl %esi, %eax; ret\n"
		"6: .size choose, . - choose\n"
		".section .rodata\n.balign 4\n"
		"9: .long 4b - 9b, 6b - 9b, 5b - 9b, 0x7fffffff\n.text\n");
	int main(void)
	{
		long value = 0;
		int ret = commit(&value, 5);

		printf("%d %ld %d %d\n", ret, value, choose(0, 10), choose(2, 10));
		return 0;
	}
END
# The function is the last one: no code follows it.
cat > last.ld <<-'END'
	SECTIONS { .text.last : { *(.text.last) } }
	INSERT AFTER .fini;
END
gcc -O2 -Wl,--build-id -Wl,-T,last.ld -o places places.c
"$tools/fhook-rewrite" -F commit -F choose -o places.stubs places
./places > said
./places.stubs > said.stubs
cat said.stubs
cmp said said.stubs

# bytes FILE: of the sequence
bytes()
{
	at=$(nm "$1" | awk '$3 == "commit" { print $1 }')
	objdump -d --start-address="0x$at" --stop-address="$((0x$at + 20))" "$1" |
		grep -c 'mov *%rsi,(%rdi)'
}
[ "$(bytes places)" -eq 1 ]
[ "$(bytes places.stubs)" -eq 1 ] || { echo "the sequence is elsewhere"; exit 1; }

# A longjmp arrives after the call of setjmp, however that is linked.
cat > returns.c <<-'END'
	#include <setjmp.h>
	jmp_buf to;
	int deep(int n) { if (n) return deep(n - 1) + 1; longjmp(to, 1); }
	int main(void) { return setjmp(to) ? 0 : deep(3); }
END
for options in -fplt -fno-plt "-fno-plt -static" "-fno-plt -no-pie"; do
	# shellcheck disable=SC2086	# options
	gcc -O0 -Wl,--build-id $options -o returns returns.c
	"$tools/fhook-rewrite" -F main -o returns.stubs returns
	$fhook map returns.stubs | grep -q ' land 0 main ' || fails "main has no landing: $options"
done
exit $status
