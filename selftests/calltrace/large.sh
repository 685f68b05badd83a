#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: large.sh TOOLS DIR
#
# Files with many objects of each kind that is searched for. Quadratic searches do not end
# within the time limit; sorting once needs a hundredth of it.
set -eu

. "$(dirname "$0")/test_lib.sh"

# rewrites NAME FUNCTIONS [OPTION...]: so many are done, in time and with little memory.
rewrites()
{
	name=$1 functions=$2
	shift 2
	if ! prlimit --as=1000000000 --cpu=100 "$tools/fhook-rewrite" -F 'f*' "$@" \
	     -o "$name.out" "$name" > said 2>&1 || ! grep -q ": $functions functions, " said; then
		echo "$name: not $functions functions, but: $(tail -n 3 said)"
		status=1
	fi
}

# build NAME: from the assembler of standard input.
build()
{
	gcc -xassembler - -shared -nostdlib -Wl,-z,noexecstack -o "$1"
}

# Calls by way of the procedure linkage table, and data with relocations.
build calls <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	nopl 8(%rax,%rax)
	.rept 100000
	call setjmp@plt
	nopl 8(%rax,%rax)
	call longjmp@plt
	nopl 8(%rax,%rax)
	.endr
	ret
	.size f, . - f
	.data
	.rept 500000
	.quad .text
	.endr
END
rewrites calls 1

# Functions with parts elsewhere, whose names begin with theirs; and without names.
build parts <<-'END'
	.macro function number
	.globl f\number
	.type f\number, @function
	f\number:
	test %edi, %edi
	je f\number\().cold
	jmp .Lout\number
	nop
	nop
	.size f\number, . - f\number
	.section .text.unlikely, "ax", @progbits
	.type f\number\().cold, @function
	f\number\().cold:
	mov $1, %eax
	ret
	.balign 16, 0xcc
	.size f\number\().cold, . - f\number\().cold
	.text
	.Lout\number:
	.cfi_startproc
	mov $2, %eax
	ret
	.balign 16, 0xcc
	.cfi_endproc
	.endm
	.text
	.set count, 0
	.altmacro
	.rept 100000
	function %count
	.set count, count + 1
	.endr
END
rewrites parts 100000

# More sections than the header can count, before or after stubs are added: the first section
# has their number.
sections()
{
	{
		echo '.text; .type f, @function; f: nopl 8(%rax,%rax); ret; .size f, . - f; .skip 8, 0xcc'
		seq -f '.section s%.0f, "", @progbits; .byte 1' "$2"
	} > "$1.s"
	build "$1" < "$1.s"
	rewrites "$1" 1
	strip -o "$1.stripped" "$1.out"
	for file in "$1.out" "$1.stripped"; do
		objdump -h "$file" | grep -q "s$2 " || fails "$file has not all sections"
		[ "$($fhook map "$file" | grep -c '^stub ')" -eq 2 ] || fails "$file has no map"
	done
}
sections few 65265
sections many 66000

# A list of all names, and of as many unknown ones.
seq -f 'f%.0f' 0 99999 > list
seq -f 'no%.0f' 0 99999 >> list
rewrites parts 100000 -f list -s
sed -n '/^no/!p' list > list.all
rewrites parts 100000 -f list.all
# Its wildcard is left out.
sed -i 's/^f/!f/' list.all
if "$tools/fhook-rewrite" -f list.all -F 'f*' -o none parts > said 2>&1; then
	echo "all functions are left out, and still: $(cat said)"
	status=1
fi

# A long run prints its progress: stop it for a while after it has begun.
for delay in 0.2 0.5 0.1 1 0.3 2; do
	"$tools/fhook-rewrite" -F 'f*' -o parts.out parts > said 2>&1 &
	sleep "$delay"
	kill -STOP $! 2> /dev/null && sleep 7 && kill -CONT $!
	wait $! || status=1
	! grep -qE ' of [0-9]* (names|functions)\.$' said || break
done
if ! grep -qE ' of [0-9]* (names|functions)\.$' said; then
	echo "no progress, but: $(cat said)"
	status=1
fi

# One function with places that have room for a short jump only: each wants a hop.
build hops <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	nopl 8(%rax,%rax)
	.rept 100000
	xor %eax, %eax
	test %edi, %edi
	je 1f
	mov $1, %eax
	nopl 0(%rax)
	mov $2, %ecx
	nopl 0(%rax)
	1:
	pop %rcx
	ret
	.endr
	.size f, . - f
END
rewrites hops 1

# One function with many returns, each with unwind information: that of a place has the state
# there, and not its history.
build returns <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	.rept 1000
	mov $1, %eax
	.cfi_remember_state
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
	.endr
	ud2
	.cfi_endproc
	.size f, . - f
END
rewrites returns 1
[ "$(stat -c %s returns.out)" -lt 1000000 ] ||
	fails "the result has $(stat -c %s returns.out) bytes"

# The same, with hops: the code after each of them has unwind information up to the next one.
build apart <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	.cfi_startproc
	nopl 8(%rax,%rax)
	push %rcx
	.cfi_def_cfa_offset 16
	.rept 1000
	test %edi, %edi
	je 1f
	mov $1, %eax
	nopl 0(%rax)
	mov $2, %ecx
	nopl 0(%rax)
	1:
	.cfi_remember_state
	pop %rcx
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
	.endr
	ud2
	.cfi_endproc
	.size f, . - f
END
rewrites apart 1
[ "$(stat -c %s apart.out)" -lt 1000000 ] || fails "the result has $(stat -c %s apart.out) bytes"

# One function that loads the stack pointer after many loads from memory: each could have
# loaded the function's own.
build loads <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	nopl 8(%rax,%rax)
	mov %rsp, (%rdi)
	.rept 20000
	mov (%rcx), %rax
	.endr
	pop %rax
	mov %rax, %rsp
	ret
	.size f, . - f
END
rewrites loads 1

# Restartable sequences, all of the same code.
build sequences <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	nopl 8(%rax,%rax)
	ret
	.size f, . - f
	.skip 8, 0xcc
	.Lsequence:
	.fill 1000000, 1, 0x90
	.section __rseq_cs, "aw"
	.rept 100000
	.long 0, 0
	.quad .Lsequence, 1000000, .Lsequence
	.endr
END
rewrites sequences 1

# A long description of the unwind information of many functions
build described <<-'END'
	.text
	.globl f
	.type f, @function
	f:
	nopl 8(%rax,%rax)
	ret
	.size f, . - f
	.skip 8, 0xcc
	.section .eh_frame, "a"
	1:
	.long 3f - 2f
	2:
	.long 0
	.byte 1, 'z'
	.fill 500000, 1, 'B'
	.byte 0, 1, 0x78, 16, 0
	.balign 4
	3:
	.rept 150000
	.long 24
	4:
	.long 4b - 1b
	.quad 0x1000, 1
	.long 0
	.endr
	.long 0
END
rewrites described 1

# Functions that share much code without a name, and one with many jumps to such an instruction
{
	echo '.text; .globl before; before: nop; .fill 25000, 1, 0x90; .Lshared: ret'
	seq 4000 | sed 's/.*/.type f&, @function; f&: nopl 8(%rax,%rax); je .Lshared; ret; \
		.size f&, . - f&; .skip 8, 0xcc/'
} | build nameless
rewrites nameless 4000
{
	echo '.text; .globl T; T: ret'
	echo '.type f, @function; f: nopl 8(%rax,%rax); .rept 400000; je T; .endr; ret; .size f, . - f'
	echo '.type g, @function; g: nopl 8(%rax,%rax); jmp T; .size g, . - g'
} | build jumps
rewrites jumps 1

exit $status
