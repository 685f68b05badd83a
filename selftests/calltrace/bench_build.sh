#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_build.sh TOOLS TESTS DIR
#
# The programs of the benchmark, in DIR: a recursion that does nothing else; minigzip,
# from the source of Debian's zlib; and, as Debian has built them, sqlite's library and
# Python. Of each there is one as it is, and others with stubs in all functions, by
# source, IR or rewriting, or with the instrumentation of rivals.
# shellcheck disable=SC2086
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/bench_lib.sh"
zlib=$dir/zlib

# compiled NAME VARIANT FILE...: how the VARIANT is compiled is in its name.
compiled()
{
	name=$1 variant=$2 level='' options='' hooks=''
	shift 2
	case $variant in
	*-gcc) compiler=gcc ;;
	*-clang) compiler=clang ;;
	*-arm64) compiler=aarch64-linux-gnu-gcc ;;
	esac
	case $variant in
	source-* | ir-*) level=${variant%%-*} ;;
	functions-*) options=-finstrument-functions hooks=$here/programs/bench_hooks.c ;;
	xray-*) options="-fxray-instrument -fxray-instruction-threshold=1" ;;
	pg-*) options=-pg ;;
	esac
	objects=$dir/objects/$name-$variant
	rm -rf "$objects"
	mkdir -p "$objects"
	for file; do
		INSTRUMENT_LEVEL=$level INSTRUMENT_TOOLS=$tools INSTRUMENT_CC=$compiler \
			"$here/instrumenting-cc" -O2 $options -D_LARGEFILE64_SOURCE=1 \
			-DHAVE_HIDDEN -I"$zlib" -c -o "$objects/$(basename "$file" .c).o" \
			"$file" || return
	done
	$compiler -O2 ${options%-finstrument-functions} -Wl,--build-id -o "$dir/$name-$variant" \
		"$objects"/*.o $hooks
}

has_xray()
{
	[ -e "$(clang -print-file-name=libclang_rt.xray-x86_64.a)" ] ||
		[ -e "$(clang -print-resource-dir)/lib/linux/libclang_rt.xray-x86_64.a" ]
}

build_all()
{
	variants="plain-gcc source-gcc functions-gcc"
	lacks clang "what clang compiles" clang --version ||
		variants="$variants plain-clang source-clang ir-clang"
	lacks libclang-rt-dev XRay has_xray || variants="$variants xray-clang"
	lacks uftrace uftrace uftrace --version || variants="$variants pg-gcc"
	lacks gcc-aarch64-linux-gnu ETMv4 aarch64-linux-gnu-gcc --version ||
		variants="$variants plain-arm64"
	for program in fib minigzip; do
		sources=$here/programs/bench_fib.c
		[ $program = fib ] || sources="$zlib/*.c $zlib/test/minigzip.c"
		for variant in $variants; do
			compiled $program $variant $sources > "$dir/said" 2>&1 ||
				{ tail -n 5 "$dir/said" >&2; exit 1; }
		done
		for compiler in gcc clang arm64; do
			[ ! -e "$dir/$program-plain-$compiler" ] ||
				rewritten $program rewrite-$compiler plain-$compiler '-F*'
		done
	done
}

build_debians()
{
	cp "$(readlink -f /usr/bin/python3)" "$dir/python-plain-gcc"
	rewritten python rewrite-gcc plain-gcc '-F*'
	! lacks sqlite3 sqlite sqlite3 --version || return 0
	mkdir -p "$dir/sqlite-plain-gcc"
	library=$(ldconfig -p | awk '/libsqlite3\.so\.0 .*x86-64/ { print $NF; exit }')
	cp "$(readlink -f "$library")" "$dir/sqlite-plain-gcc/libsqlite3.so.0"
	rewritten sqlite rewrite-gcc plain-gcc '-F*'
}

mkdir -p "$dir"
cp -r "$("$here/fetch_source.sh" zlib "$dir/apt")" "$zlib"
(cd "$zlib" && ./configure > "$dir/said")
cat "$zlib"/*.[ch] > "$dir/text"
cp "$here/programs/bench_work.sql" "$dir/work.sql"
cp "$here/programs/bench_work.py" "$dir/work.py"
build_all
build_debians
