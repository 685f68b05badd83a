#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: refused.sh TOOLS DIR
#
# Impossible tasks are refused with a sentence, and nothing is written.
# shellcheck disable=SC2086
set -eu

. "$(dirname "$0")/test_lib.sh"

# refuses SENTENCE COMMAND...: COMMAND fails, says SENTENCE, and writes no "out".
refuses()
{
	sentence=$1
	shift
	rm -f out
	if "$@" > said 2>&1; then
		echo "no failure: $*"
		status=1
	elif [ -e out ] || ! grep -qF -- "$sentence" said; then
		echo "not '$sentence', but: $(cat said)"
		status=1
	fi
}

ir="$tools/fhook-instrument-ir -o out"
source="$tools/fhook-instrument-source -o out"
rewrite="$tools/fhook-rewrite -o out"
map="$tools/fhook calltrace map"

cat > odd.c <<-'END'
	#define BODY { return 1; }
	int from_macro(void) BODY
	__attribute__((naked)) void bare(void) { __asm__("ret"); }
	static inline __attribute__((always_inline)) int always(void) { return 2; }
	int plain(int n) { return n + always(); }
	int old(n) int n; { return n; }
	int elsewhere(void);
	extern int alias(int n) __attribute__((alias("plain")));
	int variable;
	int main(void) { return plain(elsewhere()) + old(1) + variable; }
END
cat > odd.cc <<-'END'
	constexpr int early(int n) { return n * 2; }
	struct two { int a; two() try : a(1) { } catch (...) { } };
	int user() { return early(2) + two().a; }
END
cat > head.c <<-'END'
	#include "inner.h"
	int user(void) { return inner(); }
END
echo 'static inline int inner(void) { return 1; }' > inner.h
printf 'int one(void) { return 1; }\n\000int two(void) { return 2; }\n' > zero.c
# A coroutine, without the headers of a library
cat > turns.cc <<-'END'
	#if __clang_major__ < 15
	#define PLACE std::experimental
	#else
	#define PLACE std
	#endif
	namespace PLACE {
	template <class R, class... A> struct coroutine_traits {
		using promise_type = typename R::promise_type;
	};
	template <class P = void> struct coroutine_handle;
	template <> struct coroutine_handle<void> { };
	template <class P> struct coroutine_handle : coroutine_handle<> {
		static coroutine_handle from_address(void *) noexcept { return {}; }
	};
	}
	struct ready {
		bool await_ready() noexcept { return true; }
		void await_suspend(PLACE::coroutine_handle<>) noexcept { }
		void await_resume() noexcept { }
	};
	struct task {
		struct promise_type {
			task get_return_object() { return {}; }
			ready initial_suspend() noexcept { return {}; }
			ready final_suspend() noexcept { return {}; }
			void return_void() { }
			void unhandled_exception() { }
		};
	};
	task turns() { co_await ready{}; }
END
clang++ -std=c++20 -w -O1 -Xclang -disable-llvm-passes -emit-llvm -c -o turns.bc turns.cc
echo '# nothing' > empty.list
clang -O1 -Xclang -disable-llvm-passes -emit-llvm -c -o odd.bc odd.c
gcc -O2 -Wl,--build-id -o plain "$programs/shapes.c"
strip -o stripped plain
gcc -O1 -shared -fPIC -Wl,--build-id -o other.debug "$programs/shapes.c"
gcc -O1 -shared -fPIC -Wl,--build-id -o exports -x c - <<-'END'
	static __attribute__((noinline, noclone)) int inner(int n) { return n * 3; }
	int outer(int n) { return inner(n) + 1; }
END
strip exports
head -c 3000 plain > short
echo 'no program' > text

# Many functions that cannot be done for one reason, and one that turns to its entry.
{
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		echo ".type f$i, @gnu_indirect_function; f$i: nopl 8(%rax,%rax); ret; .size f$i, . - f$i"
	done
	echo ".type again, @function; again: nopl 8(%rax,%rax); jmp again; .size again, . - again"
	echo ".type fine, @function; fine: nopl 8(%rax,%rax); mov \$1, %eax; ret; .size fine, . - fine"
} > many.s
gcc -nostdlib -shared -o many many.s

refuses "No function was chosen: -F 'parse_*' or -f FILE says which." $ir -f empty.list odd.bc
refuses "No function was chosen: -F 'parse_*' or -f FILE says which." $source -f empty.list odd.c
refuses "No function was chosen: -F 'parse_*' or -f FILE says which." $rewrite -f empty.list plain
refuses "The list /dev/zero cannot be read: File too large." \
	prlimit --as=1000000000 $rewrite -f /dev/zero plain
refuses "missing.list cannot be read" $ir -f missing.list odd.bc
refuses "There is no function plan in odd.bc: is plain meant?" $ir -F plan odd.bc
refuses "No function of odd.bc matches q*." $ir -F 'q*' odd.bc
refuses "elsewhere is only declared here" $ir -F elsewhere odd.bc
refuses "always is always inlined" $ir -F always odd.bc
refuses "bare is naked" $ir -F bare odd.bc
refuses "is a coroutine: it is left and entered in its midst" $ir -F _Z5turnsv turns.bc
refuses "alias is another name of a function" $ir -F alias odd.bc
refuses "variable is data" $ir -F variable odd.bc
refuses "neither bitcode nor LLVM IR" $ir -F plain text
refuses "cannot be read" $ir -F plain missing.bc
"$tools/fhook-instrument-ir" -F plain -o twice.bc odd.bc 2> /dev/null
refuses "is instrumented already" $ir -F plain twice.bc
clang --target=i386 -O1 -emit-llvm -c -x c -o narrow.bc inner.h
refuses "stubs are made for x86_64 and aarch64" $ir -F '*' narrow.bc

refuses "is plain meant?" $source -F plan odd.c
refuses "from_macro has its body from a macro" $source -F from_macro odd.c
refuses "always is always inlined" $source -F always odd.c
refuses "bare is naked" $source -F bare odd.c
refuses "elsewhere is only declared here" $source -F elsewhere odd.c
refuses "inner is defined in a header" $source -F inner head.c
refuses "is constexpr" $source -F early odd.cc
refuses "has a try for its body" $source -F 'two::two' odd.cc
refuses "is not text" $source -F one zero.c
refuses "cannot be read" $source -F one .
refuses "does not compile with these flags" $source -F user odd.cc -- -DT=1 -Duser=
"$tools/fhook-instrument-source" -F plain -o twice.c odd.c 2> /dev/null
refuses "is instrumented already" $source -F plain twice.c

refuses "is t_fib meant?" $rewrite -F t_fip plain
refuses "is not in this file: it comes from a library" $rewrite -F printf plain
refuses "t_fib is not known, because the file is stripped" $rewrite -F t_fib stripped
refuses "is not known, because the file is stripped: give its debug file with -d" \
	$rewrite -F inner exports
refuses "other.debug is not the debug file of stripped: it has another build id" \
	$rewrite -F t_fib -d other.debug stripped
refuses "stripped has no symbols: it is no debug file" $rewrite -F t_fib -d stripped stripped
# With the debug file, the result is the same as without strip.
objcopy --only-keep-debug plain plain.debug
"$tools/fhook-rewrite" -F t_fib -o whole.new plain
"$tools/fhook-rewrite" -F t_fib -d plain.debug -o stripped.new stripped
for file in whole stripped; do
	$fhook map $file.new | awk '$1 == "stub" { print $4, $6 }' > $file.stubs
done
cmp whole.stubs stripped.stubs || status=1
[ "$(wc -l < whole.stubs)" -ge 2 ] || status=1
for file in plain stripped; do
	"$tools/fhook-attach" -n -a 0x10000000 -F t_fib -d plain.debug $file |
		sed 's/^[^ ]* //' > $file.attached
done
cmp plain.attached stripped.attached || status=1
refuses "is not an ELF file" $rewrite -F t_fib text
refuses "is cut off or damaged" $rewrite -F t_fib short
refuses "cannot be done" $rewrite -F t_goto plain
refuses "Nothing is written, for not all of the list can be done." $rewrite -F t_goto plain
refuses "can be done: with --skip, the rest is." $rewrite -F t_goto -F t_fib plain
refuses "The result is a program: say where with -o FILE." "$tools/fhook-rewrite" -F t_fib plain
refuses "The result is nothing for a terminal: say where with -o FILE." \
	python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
	"$tools/fhook-instrument-ir" -F plain odd.bc

# leaves_out SENTENCE COMMAND...: COMMAND succeeds, and names the functions that it skips.
leaves_out()
{
	sentence=$1
	shift
	rm -f out
	if ! "$@" > said 2>&1 || [ ! -e out ] || ! grep -q "$sentence" said ||
	   [ "$(wc -l < said)" -gt "$lines" ]; then
		echo "not '$sentence', but: $(cat said)"
		status=1
	fi
}

lines=12
leaves_out "left out, .*: its symbol does not say where it ends" $rewrite -F '*' plain
leaves_out "left out, .*t_goto: there is a jump of which" $rewrite -F 't_*' plain
leaves_out "a function is left out, bare: is naked" $ir -F '*' odd.bc
leaves_out "from_macro" $source -F '*' odd.c
leaves_out "left out, such as f1: it is chosen" $rewrite -F '*' many

# A name with an escape sequence, which a terminal must not see
echo 'void tiny(void) { } int main(void) { tiny(); return 0; }' > tiny.c
gcc -O2 -fno-inline -Wl,--build-id -o tiny tiny.c
objcopy --redefine-sym tiny="ti$(printf '\033')[31m" tiny hostile
leaves_out "left out, ti?\[31m: there is no room" $rewrite -F 'ti*' -F main hostile
refuses "f7 cannot be done" $rewrite -F '*' -F f7 many
lines=20
leaves_out "f7 cannot be done" $rewrite -F '*' -F f7 -s many
refuses "it jumps back to its own entry: each turn would look like a call" $rewrite -F again many
"$tools/fhook-rewrite" -F t_fib -o twice plain 2> /dev/null
refuses "is instrumented already" $rewrite -F t_fib twice
# Names reach no terminal as orders.
name=$(printf 'a\033m')
printf '.type "%s", @gnu_indirect_function; "%s": ret; .size "%s", 1\n' "$name" "$name" "$name" |
	gcc -nostdlib -shared -xassembler -o escape -
refuses "left out, a?m: it is chosen" $rewrite -F 'a*' escape
refuses "a?m cannot be done: it is chosen" $rewrite -F "$name" escape
gcc -O0 -Wl,--build-id -o roomy tiny.c
objcopy --redefine-sym tiny="$name" roomy escape
"$tools/fhook-rewrite" -F 'a*' -o escaped escape 2> said || fails "escape cannot be done"
$map escaped | grep -q ' a?m 0x' || fails "the map has a control character"
"$tools/fhook-rewrite" -F t_fib -o 'my \out' plain 2> said || fails "a name with a blank is refused"
$map 'my \out' | grep -q '^object 0 [0-9a-f]* my\\040\\134out$' || fails "the map has another name"

# New code is placed after all data.
cat > big.c <<-'END'
	static volatile char big[3UL << 30];
	int f(int n) { return big[n * 1000000000UL] + n * 3; }
	int main(int argc, char **argv) { return f(argc) + f(argc + 1); }
END
gcc -O1 -fno-inline -mcmodel=medium -Wl,--build-id -o big big.c
refuses "big: the new code is too far away from f, because .lbss has 3072 MiB" $rewrite -F f big
cat > big.c <<-'END'
	static volatile char big[200 << 20];
	int f(int n) { return big[n * 100000000L] + n * 3; }
	int main(int argc, char **argv) { return f(argc) + f(argc + 1); }
END
aarch64-linux-gnu-gcc -O1 -fno-inline -Wl,--build-id -o big big.c
refuses "big: the new code is too far away from f, because .bss has 200 MiB" $rewrite -F f big

# lands NAME ENTRIES FUNCTIONS: a library with a table of so many landing pads, which all of its
# functions share.
lands()
{
	{
		echo ".text; .globl f; .type f, @function; f: nopl 8(%rax,%rax); ret; .size f, . - f"
		echo ".rept $3; .cfi_startproc; .cfi_lsda 0x1b, table; ret; .cfi_endproc; .endr"
		echo '.section .gcc_except_table, "a"; table: .byte 0xff, 0xff, 1'
		echo ".uleb128 4 * $2; .fill $2, 4, 0x00010100"
	} | gcc -nostdlib -shared -xassembler -Wl,-z,noexecstack -o "$1" -
}
lands shared 10000 1000
refuses "shared is damaged: its functions share too much unwind information." \
	$rewrite -F f shared
# Two descriptions in turns
{
	echo '.text; .globl f; .type f, @function; f: nopl 8(%rax,%rax); ret; .size f, . - f'
	echo '.section .eh_frame, "a"'
	for cie in one two; do
		echo "$cie: .long $cie.end - . - 4, 0; .byte 1, 'z'; .fill 10000, 1, 'B'"
		echo ".byte 0, 1, 0x78, 16, 0; .balign 4; $cie.end:"
	done
	echo '.rept 500'
	for cie in one two; do
		echo ".long 24; .long . - $cie; .quad 0x1000, 1; .long 0"
	done
	echo '.endr; .long 0'
} | gcc -nostdlib -shared -xassembler -Wl,-z,noexecstack -o turns -
refuses "turns is damaged: its functions share too much unwind information." \
	$rewrite -F f turns
lands long 1000000 1
refuses "There is no memory." prlimit --as=24000000 $rewrite -F f long

# Names that the reader of stubs would take for damage
objcopy --redefine-sym t_fib="t$(printf '\r')fib" plain return
refuses "t?fib cannot be done: a map takes no blanks in names" $rewrite -F "t$(printf '\r')fib" return
# damage NAME WHAT: a copy of "plain" whose section of data has the place of the code.
damage()
{
	python3 - plain "$1" "$2" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		start, = struct.unpack_from("<Q", data, 40)
		count, names = struct.unpack_from("<HH", data, 60)
		heads = [start + 64 * i for i in range(count)]
		strings, = struct.unpack_from("<Q", data, heads[names] + 24)
		def called(name):
		    for head in heads:
		        at = strings + struct.unpack_from("<I", data, head)[0]
		        if data[at:data.index(0, at)] == name:
		            return head
		text, other = called(b".text"), called(b".data")
		for field in {"address": [16], "file": [24], "both": [16, 24]}[sys.argv[3]]:
		    data[other + field:other + field + 8] = data[text + field:text + field + 8]
		open(sys.argv[2], "wb").write(data)
	END
}
for place in address file both; do
	damage "overlap.$place" "$place"
	refuses "is damaged: its sections" $rewrite -F t_fib "overlap.$place"
	refuses "is damaged: its sections" $map "overlap.$place"
done
# Names of sections that are not in the file, however far away
python3 - plain nobits <<-'END'
	import struct, sys
	data = bytearray(open(sys.argv[1], "rb").read())
	start, = struct.unpack_from("<Q", data, 40)
	names, = struct.unpack_from("<H", data, 62)
	struct.pack_into("<I", data, start + 64 * names + 4, 8)
	struct.pack_into("<Q", data, start + 64 * names + 24, 1 << 40)
	open(sys.argv[2], "wb").write(data)
END
refuses "nobits has no sections with names" $rewrite -F t_fib -d plain.debug nobits
printf '\177ELF\001\001\001' > narrow
head -c 100 /dev/zero >> narrow
refuses "is for another architecture" $rewrite -F t_fib narrow

refuses "has no stubs" $map plain
refuses "is not an ELF file" $map text
sed -n '/int t_fib/,/^}/p' "$programs/shapes.c" | sed 's/TARGET //' > fib.c
echo 'int main(void) { return t_fib(1); }' >> fib.c
"$tools/fhook-instrument-source" -F '*' -o fib.stubs.c fib.c 2> /dev/null
gcc -O2 -I"$programs/../../../tools/fhook" -Wl,--build-id=none -o nameless fib.stubs.c
refuses "has no build id" $map nameless
gcc -O2 -I"$programs/../../../tools/fhook" -Wl,--build-id -o unmapped fib.stubs.c
objcopy -R .entry_exit_map unmapped
refuses "has been stripped off" $map unmapped

# Stubs that share a name of 100,000 letters, which a map has for each of them.
long=$(printf '%0100000d' 0 | tr 0 a)
gcc -nostdlib -shared -xassembler -Wl,--build-id -Wl,-z,noexecstack -o shares - <<-END
	.section .entry_exit_stub, "ax"; stubs: .skip 48000, 0x90
	.section .entry_exit_map; i = 0
	.rept 3000; .quad stubs + i, 0x1000, 0; .long 0, 16; i = i + 16; .endr
	.section .entry_exit_str; .string "$long"
END
gcc -nostdlib -shared -xassembler -Wl,--build-id -Wl,-z,noexecstack -o exits - <<-END
	.type $long, @function; $long: nopl 8(%rax,%rax)
	.rept 3000; je 1f; nopl 8(%rax,%rax); ret; 1: nopl 8(%rax,%rax); .endr
	ret; .size $long, . - $long
END
for file in shares exits; do
	run="$rewrite -F aa*"
	[ "$file" != shares ] || run=$map
	refuses "$file is damaged: its names are longer than 16 times the file." \
		prlimit --as=200000000 $run $file
done
refuses "exits is damaged: its names are longer than 16 times the file." \
	prlimit --as=200000000 "$tools/fhook-attach" -n -a 0x10000000 -o out -F '*' exits

# Instructions that share a table, and parts of functions that share a name
echo '.type f, @function; f: nopl 8(%rax,%rax); .rept 20000; lea table(%rip), %rax; .endr; ret
	.size f, . - f; .section .rodata; table: .rept 10000; .long f - table; .endr' |
	gcc -nostdlib -shared -xassembler -Wl,-z,noexecstack -o table -
{
	echo '.type f, @function; f: nopl 8(%rax,%rax); ret; .size f, . - f'
	seq 40000 | sed 's/.*/.type s&, @function; s&: ret/'
	seq 5000 | sed 's/.*/.type f.cold.&, @function; f.cold.&: ret; .size f.cold.&, 1/'
} | gcc -nostdlib -shared -xassembler -Wl,-z,noexecstack -o named -
python3 - named <<-'END'
	import struct, sys
	data = bytearray(open(sys.argv[1], "rb").read())
	start, = struct.unpack_from("<Q", data, 40)
	count, = struct.unpack_from("<H", data, 60)
	heads = [struct.unpack_from("<IIQQQQII", data, start + 64 * i) for i in range(count)]
	symbols = next(head for head in heads if head[1] == 2)
	names = heads[symbols[6]][4]
	begin, end = symbols[4], symbols[4] + symbols[5]
	def name(at):
	    word = names + struct.unpack_from("<I", data, at)[0]
	    return data[word:data.index(0, word)]
	f = next(at for at in range(begin, end, 24) if name(at) == b"f")
	for at in range(begin, end, 24):
	    if name(at).startswith(b"s"):
	        data[at:at + 4] = data[f:f + 4]
	open(sys.argv[1], "wb").write(data)
END
# Jumps by turns to two instructions without a name, to which another function jumps, too
{
	for name in t u; do
		echo ".type $name, @function; $name: ret"
	done
	echo '.type f, @function; f: nopl 8(%rax,%rax); .rept 100000; je t; je u; .endr; ret'
	echo '.size f, . - f; .type g, @function; g: je t; jmp u; .size g, . - g'
} | gcc -nostdlib -shared -xassembler -Wl,-z,noexecstack -o jumps -
for file in table named jumps; do
	refuses "$file would take too long: its functions share too many tables or parts." \
		$rewrite -F f $file
done

# An output file is replaced, but a pipe is written to.
mkfifo pipe
cat pipe > piped &
"$tools/fhook-rewrite" -F t_fib -o pipe plain 2> /dev/null
wait
if [ ! -p pipe ] || ! cmp -s piped twice; then
	echo "a pipe is not written to"
	status=1
fi
rm -f pipe
(umask 077 && "$tools/fhook-instrument-source" -F plain -o private.c odd.c 2> /dev/null)
if [ "$(stat -c %a private.c)" != 600 ]; then
	echo "what is written is not as the umask has it"
	status=1
fi
# The programs have the same names when fhook calls them.
refuses "fhook-rewrite: text is not an ELF file" $fhook rewrite \
	-F a -o out text

exit $status
