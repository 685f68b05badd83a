#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_stub.sh TOOLS TESTS DIR
#
# Measure the cost of stubs while nothing traces, natively: the time that each event (an
# entry or an exit) adds to a run. Rivals are -finstrument-functions with hooks that count,
# clang's XRay without patched sleds, and uftrace, which records (a shorter run, because it
# writes 16 bytes an event). Programs take many short turns, and each turn is compared
# within itself, because the speed of machines varies.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/bench_lib.sh"
times=$dir/times
fib_timed=34 fib_short=25

# variants NAME: those of the program that were built.
variants()
{
	for variant in plain-gcc source-gcc rewrite-gcc functions-gcc plain-clang \
		source-clang ir-clang rewrite-clang xray-clang; do
		[ ! -e "$dir/$1-$variant" ] || echo "$variant"
	done
}

# fib_turn N VARIANT TO: fib says itself how long it took.
fib_turn()
{
	"$dir/fib-$2" "$1" | awk '{ print $2 / 1e9 }' >> "$times/$3"
}

turn()
{
	for variant in $(variants fib); do
		fib_turn $fib_timed "$variant" "fib-$variant"
	done
	if [ -e "$dir/fib-pg-gcc" ]; then
		fib_turn $fib_short plain-gcc fib-short
		uftrace record -d "$dir/uftrace" "$dir/fib-pg-gcc" $fib_short |
			awk '{ print $2 / 1e9 }' >> "$times/fib-uftrace"
		rm -rf "$dir/uftrace"
	fi
	for program in minigzip sqlite; do
		for variant in $(variants $program); do
			run $program "$variant" "$tests/bench-time" "$times/$program-$variant"
		done
	done
}

# cost EVENTS PLAIN WITH: a file of the nanoseconds an event, a line for each turn.
cost()
{
	cost_file=$times/$3.cost
	paste "$times/$2" "$times/$3" |
		awk -v events="$1" '{ printf "%.3f\n", ($2 - $1) * 1e9 / events }' > "$cost_file"
	echo "$cost_file"
}

# added NAME VARIANT EVENTS: the same, of a program.
added()
{
	cost "$3" "$1-plain-${2##*-}" "$1-$2"
}

# cost_row NAME VARIANT WORDS EVENTS [RIVAL-VARIANT WORDS]
cost_row()
{
	[ -e "$dir/$1-$2" ] || return 0
	rival=-
	[ $# -lt 5 ] || rival=$(added "$1" "$5" "$4")
	measured "calltrace stub ns, $1, $3${6:+ ($6)}" ns "$rival" "$(added "$1" "$2" "$4")"
}

fib_rows()
{
	events=$(fib_events $fib_timed)
	cost_row fib source-gcc "source, gcc" "$events" functions-gcc -finstrument-functions
	cost_row fib rewrite-gcc "rewritten, gcc" "$events" functions-gcc -finstrument-functions
	cost_row fib source-clang "source, clang" "$events" xray-clang "XRay, not patched in"
	cost_row fib ir-clang "IR, clang" "$events" xray-clang "XRay, not patched in"
	cost_row fib rewrite-clang "rewritten, clang" "$events" xray-clang "XRay, not patched in"
	[ ! -e "$times/fib-uftrace" ] ||
		measured "calltrace stub ns, fib, source, gcc (uftrace, which records)" ns \
			"$(cost "$(fib_events $fib_short)" fib-short fib-uftrace)" \
			"$(added fib source-gcc "$events")"
}

# events NAME VARIANT: so many has a run.
events()
{
	record "$1" "$2" no-target
	summary "$1" "$2" no-target events
}

rm -rf "$times"
mkdir -p "$times"
for _ in $(seq 25); do
	turn
done
fib_rows
cost_row minigzip source-gcc "source, gcc" "$(events minigzip source-gcc)" \
	functions-gcc -finstrument-functions
cost_row minigzip rewrite-gcc "rewritten, gcc" "$(events minigzip rewrite-gcc)"
if [ -e "$dir/minigzip-ir-clang" ]; then
	cost_row minigzip ir-clang "IR, clang" "$(events minigzip ir-clang)"
	cost_row minigzip rewrite-clang "rewritten, clang" "$(events minigzip rewrite-clang)" \
		xray-clang "XRay, not patched in"
fi
[ ! -e "$dir/sqlite-rewrite-gcc" ] ||
	cost_row sqlite rewrite-gcc "rewritten" "$(events sqlite rewrite-gcc)"
