#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_decode.sh TOOLS TESTS DIR
#
# Decoded events a second of the processor's time, of ours and the kernel's, from the
# start of the program to its end, beside libipt's query decoder, which goes over the
# same file in memory and makes nothing of it. The two take turns.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/bench_lib.sh"
times=$dir/decode

# per_second EVENTS FILE: a file of millions a second.
per_second()
{
	awk -v events="$1" '{ printf "%.3f\n", events / $1 / 1e6 }' "$2" > "$2.rate"
	echo "$2.rate"
}

# decode_row NAME VARIANT PROFILE OUTPUT WORDS [RIVAL]
decode_row()
{
	record "$1" "$2" "$3"
	file=$times/$1-$2-$3-$4 recording=$(recording_of "$1" "$2" "$3") rival=-
	[ $# -lt 6 ] || rival=$file.query
	for _ in 1 2 3 4 5 6 7; do
		[ "$rival" = - ] || "$tests/decode-limit" query "$recording/0.trace" |
			sed 's/.* \([0-9.]*\) M events.*/\1/' >> "$rival"
		"$tests/bench-time" "$file" "$tools/fhook" calltrace print "--$4" "$recording"
	done
	measured "calltrace decode events/s, $5, $1${6:+ ($6)}" M/s "$rival" \
		"$(per_second "$(summary "$1" "$2" "$3" events)" "$file")"
}

rm -rf "$times"
mkdir -p "$times"
for program in fib sqlite; do
	[ -e "$dir/$program-rewrite-gcc" ] || continue
	for profile in no-target target cycles; do
		decode_row $program rewrite-gcc $profile summary "$(words $profile)" "libipt's query"
	done
	decode_row $program rewrite-gcc target tree "as a tree" "libipt's query"
done
[ ! -x "$dir/fib-rewrite-arm64" ] || decode_row fib rewrite-arm64 target summary ETMv4
