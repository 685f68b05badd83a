#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: untouched.sh LEVEL TOOLS DIR
#
# Instrument one function of a program, and see that all others are as before: the text
# of a source, the functions of IR, the bytes of a file.
# shellcheck disable=SC2086
set -eu

level=$1
shift
. "$(dirname "$0")/test_lib.sh"

# The functions of IR, without the one and the numbers of attributes.
functions()
{
	awk '/^define/ { keep = !/@t_fib\(/ } /^}/ { if (keep) print; keep = 0 }
		keep { gsub(/#[0-9]+/, ""); sub(/ *; preds.*/, ""); print }' "$1"
}

# Offsets of all bytes that may change: header, program headers, build id, the function
# and its padding.
allowed()
{
	readelf -hW plain | awk '/Number of program headers/ { print "headers", $NF }'
	readelf -SW plain | awk '/build-id/ { sub(/.*NOTE/, ""); print "note", $2, $3 }
		/ \.text / { sub(/.*PROGBITS/, ""); print "text", $1, $2 }'
	nm -S plain | awk '$4 == "t_fib" { print "function", $1, $2 }'
}

# Warnings of compilers have the line numbers of the source, and an old-style source stays
# one, with the same warnings.
lines()
{
	cat > old.c <<-'END'
		int add(a, b) int a; int b; { int c = a; return c + b; }
		int sub(int a, int b)
		{
			int unused;

			return a - b;
		}
	END
	"$tools/fhook-instrument-source" -F '*' -o old.stubs.c old.c
	for compiler in gcc clang; do
		$compiler -std=c89 -pedantic-errors -Werror=declaration-after-statement -Wall \
			-I"$programs/../../../tools/fhook" -c -o old.o old.stubs.c 2> old.said
		[ "$(grep ' warning: ' old.said | grep -vc 'without a prototype')" -eq 1 ]
		grep -q '^old.c:4:.*unused variable' old.said
	done
}

# All of a text in Latin-1, which has bytes that are no characters of UTF-8.
latin()
{
	{
		echo 'int one(void) { return 1; }'
		printf '/* \377 and \344 */\n'
		echo 'int two(void) { return 2; }'
	} > latin.c
	"$tools/fhook-instrument-source" -F '*' -o latin.stubs.c latin.c
	[ "$(grep -ac FHOOK_TRACE latin.stubs.c)" -eq 2 ]
	sed -e '1,/^#line 1/d' -e 's/ FHOOK_TRACE([a-zA-Z0-9_]*);//' latin.stubs.c | cmp - latin.c
}

id()
{
	readelf -n "$1" | awk '/Build ID/ { print $NF }'
}

case $level in
source)
	"$tools/fhook-instrument-source" -F t_fib -o stubs.c "$programs/shapes.c"
	sed -e '1,/^#line 1/d' -e 's/ FHOOK_TRACE([a-zA-Z0-9_]*);//' stubs.c |
		cmp - "$programs/shapes.c"
	[ "$(grep -c FHOOK_TRACE stubs.c)" -eq 1 ]
	lines
	latin
	;;
ir)
	clang -O1 -Xclang -disable-llvm-passes -emit-llvm -S -o plain.ll "$programs/shapes.c"
	"$tools/fhook-instrument-ir" -F t_fib -o stubs.ll plain.ll
	functions plain.ll > plain.functions
	functions stubs.ll > stubs.functions
	[ "$(grep -c '^define' plain.functions)" -gt 15 ]
	cmp plain.functions stubs.functions
	;;
rewrite)
	gcc -O2 -Wl,--build-id -o plain "$programs/shapes.c"
	"$tools/fhook-rewrite" -F t_fib -o stubs plain
	allowed > may
	# A map of one is not a map of the other; a file without a build id gets one.
	[ "$(id plain)" != "$(id stubs)" ]
	gcc -O2 -Wl,--build-id=none -o nameless "$programs/shapes.c"
	"$tools/fhook-rewrite" -F t_fib -o named nameless
	./named > named.said
	"$tools/fhook" calltrace map named | grep -q '^object 0 [0-9a-f]\{40\} named$'
	[ "$(id named)" != "$(id stubs)" ]
	# cmp exits with 1 for files that differ, and counts from 1.
	cmp -l plain stubs 2> /dev/null | cat > bytes
	awk 'function hex(text,   i, value) {
		value = 0
		for (i = 1; i <= length(text); i++)
			value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
		return value
	}
	FNR == NR {
		if ($1 == "headers") { headers = 64 + 56 * $2; next }
		start = hex($2)
		if ($1 == "text") { by = hex($3) - start; next }
		if ($1 == "function") { low = start; high = start + hex($3) + 16 }
		if ($1 == "note") { first = start; last = start + hex($3) }
		next
	}
	{ at = $1 - 1 }
	at >= 32 && at < headers || at >= first && at < last { next }
	at >= low + by && at < high + by { inside++; next }
	{ print "byte", at, "has changed"; bad = 1 }
	END { exit bad || !inside }' may bytes
	;;
esac
