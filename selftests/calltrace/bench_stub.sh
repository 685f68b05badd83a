#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_stub.sh TOOLS [N]
#
# What the stubs of a call trace cost while nothing traces, natively, for each event (an
# entry or an exit) of fib(N): the median of five runs, less the same program with nothing
# in it. Beside them -finstrument-functions with hooks that count, clang's XRay that is
# not patched in, and uftrace, which records (a smaller N, for it writes 16 bytes an
# event). All in one run, in turns, for machines are not the same all the time.
# shellcheck disable=SC2086
set -eu

tools=$1 n=${2:-36}
here=$(cd "$(dirname "$0")" && pwd)
stubs=$here/../../tools/fhook
source=$here/programs/bench_fib.c
small=26
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

gcc -O2 -Wl,--build-id -o plain-gcc "$source"
clang -O2 -Wl,--build-id -o plain-clang "$source"

"$tools/fhook-instrument-source" -F fib -o source.c "$source" 2> said || { cat said; exit 1; }
gcc -O2 -I"$stubs" -o stubs-source-gcc source.c
clang -O2 -I"$stubs" -o stubs-source-clang source.c
clang -O2 -Xclang -disable-llvm-passes -emit-llvm -c -o plain.bc "$source"
"$tools/fhook-instrument-ir" -F fib -o stubs.bc plain.bc 2> said || { cat said; exit 1; }
clang -O2 -o stubs-ir-clang stubs.bc
for compiler in gcc clang; do
	"$tools/fhook-rewrite" -F fib -o stubs-rewrite-$compiler plain-$compiler 2> said ||
		{ cat said; exit 1; }
done
gcc -O2 -finstrument-functions -o instrument-functions-gcc "$source"
clang -O2 -fxray-instrument -fxray-instruction-threshold=1 -o xray-unpatched-clang "$source"
gcc -O2 -pg -o uftrace-gcc "$source"

median()
{
	sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

variants="plain-gcc plain-clang stubs-source-gcc stubs-source-clang stubs-ir-clang
	stubs-rewrite-gcc stubs-rewrite-clang instrument-functions-gcc xray-unpatched-clang"
for turn in 1 2 3 4 5; do
	for variant in $variants; do
		"./$variant" "$n" | awk '{ print $2 }' >> "$variant.times"
	done
	if command -v uftrace > /dev/null; then
		"./plain-gcc" $small | awk '{ print $2 }' >> plain-small.times
		uftrace record -d uftrace.data$turn ./uftrace-gcc $small 2> /dev/null |
			awk '{ print $2 }' >> uftrace-gcc.times
		rm -rf uftrace.data$turn
	fi
done

# calls N: how often fib is called; each call has two events.
calls()
{
	awk -v n="$1" 'BEGIN { a = 1; b = 1
		for (i = 1; i <= n; i++) { c = a + b + 1; a = b; b = c }
		printf "%d", a }'
}

# row NAME BASE N
row()
{
	awk -v name="$1" -v time="$(median "$1.times")" -v base="$(median "$2.times")" \
		-v calls="$(calls "$3")" 'BEGIN {
		printf "%-28s %10.1f ms %8.2f ns\n", name, time / 1e6,
			(time - base) / (2 * calls) }'
}

echo "fib($n), $(calls "$n") calls, $(($(calls "$n") * 2)) events"
printf '%-28s %13s %11s\n' "" "all" "an event"
for variant in $variants; do
	case $variant in
	*-gcc) row "$variant" plain-gcc "$n" ;;
	*) row "$variant" plain-clang "$n" ;;
	esac
done
[ ! -e uftrace-gcc.times ] || row uftrace-gcc plain-small $small
worst=0
for variant in stubs-source-gcc stubs-source-clang stubs-ir-clang stubs-rewrite-gcc \
	stubs-rewrite-clang; do
	cost=$(row $variant "plain-${variant##*-}" "$n" | awk '{ print $(NF - 1) }')
	worst=$(awk -v a="$worst" -v b="$cost" 'BEGIN { print (a > b ? a : b) }')
done
echo "calltrace stub ns $worst"
