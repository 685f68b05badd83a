#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_bytes.sh TOOLS TESTS DIR
#
# Bytes of an event by profile, beside uftrace's, and bytes of a recording beside a full
# branch trace of the same run: of the programs that bench_build.sh has built in DIR,
# with all functions, with the same by --leaves, and with chosen ones: all but the tenth that
# is called most. It is the same each time, but for cycles, which are those of the machine's
# clock.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/bench_lib.sh"

# Bytes that uftrace writes for an event of fib.
uftrace_bytes()
{
	[ -x "$dir/fib-pg-gcc" ] || { echo -; return; }
	rm -rf "$dir/uftrace"
	uftrace record -d "$dir/uftrace" "$dir/fib-pg-gcc" 24 > "$dir/said" 2>&1
	cat "$dir"/uftrace/[0-9]*.dat | wc -c |
		awk -v events="$(fib_events 24)" '{ printf "%.2f\n", $1 / events }'
	rm -rf "$dir/uftrace"
}

# event_rows NAME RIVAL
event_rows()
{
	for profile in no-target target cycles; do
		record "$1" rewrite-gcc $profile
		whole "$1" rewrite-gcc $profile
		row "calltrace bytes per event, $(words $profile), $1" bytes "$2" \
			"$(summary "$1" rewrite-gcc $profile "bytes per event")"
	done
	[ -x "$dir/$1-rewrite-arm64" ] || return 0
	record "$1" rewrite-arm64 target
	whole "$1" rewrite-arm64 target
	row "calltrace bytes per event, ETMv4, $1" bytes - \
		"$(summary "$1" rewrite-arm64 target "bytes per event")"
}

# share_rows NAME VARIANT WHICH
share_rows()
{
	record "$1" "$2" branches
	for profile in no-target target; do
		record "$1" "$2" $profile
		row "calltrace share of branch trace, $(words $profile), $1$3" bytes \
			"$(trace_bytes "$1" "$2" branches)" "$(trace_bytes "$1" "$2" $profile)"
	done
}

# but_most_called NAME: a list of all functions but a tenth of those that ran.
but_most_called()
{
	echo '*'
	"$tools/fhook" calltrace print --flat "$(recording_of "$1" rewrite-gcc no-target)" |
		awk '$1 ~ /^[0-9]+$/ { print $1, $NF }' | sort -rn |
		awk '{ name[NR] = $2 } END { for (i = 1; i <= NR / 10; i++) print "!" name[i] }'
}

# leaves_rows NAME: the functions with stubs are those without --leaves, which has more.
leaves_rows()
{
	awk '$1 == "stub" { print $6 }' "$(recording_of "$1" rewrite-gcc target)/map" |
		sort -u > "$dir/$1.list"
	rewritten "$1" leaves-gcc plain-gcc --leaves "-f$dir/$1.list"
	share_rows "$1" leaves-gcc ", leaves"
}

event_rows fib "$(uftrace_bytes)"
share_rows fib rewrite-gcc ""
for program in minigzip sqlite python; do
	[ -e "$dir/$program-rewrite-gcc" ] || continue
	event_rows $program -
	share_rows $program rewrite-gcc ""
	leaves_rows $program
	but_most_called $program > "$dir/$program.list"
	rewritten $program chosen-gcc plain-gcc "-f$dir/$program.list"
	share_rows $program chosen-gcc ", chosen"
done
