#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bench_decode.sh TOOLS TESTS DIRECTORY [PROGRAM ARGUMENT...]
#
# Bytes of an event by profile, the share of a full branch trace, and decoded events
# a second (of the processor's own time) beside libipt's bare decoders. TOOLS and TESTS
# are where tools/fhook and the tests are built; DIRECTORY holds the recordings. The
# program is one with stubs; without one, the worst case: a recursion that does nothing.
set -eu

tools=$1
tests=$2
recordings=$3
shift 3
[ $# -gt 0 ] || set -- "$tests/decode-plain" 27

rm -rf "$recordings"
mkdir -p "$recordings"
for profile in no-target target cycles branches; do
	"$tools/fhook" calltrace record --plugin -p "$profile" -o "$recordings/$profile" "$@" \
		> "$recordings/output" || exit
done

# summary PROFILE WORD: a number of the summary.
summary()
{
	"$tools/fhook" calltrace print --summary "$recordings/$1" |
		sed -n "s/^$2 \([0-9.]*\)\$/\1/p"
}

# seconds COMMAND...: of the processor, for what COMMAND does by itself.
seconds()
{
	bash -c 'TIMEFORMAT=%U; time "$@" > /dev/null' bash "$@" 2>&1
}

trace_bytes()
{
	cat "$recordings/$1"/*.trace | wc -c
}

branches=$(trace_bytes branches)
for profile in no-target target cycles; do
	events=$(summary "$profile" events)
	echo "$profile: $events events, $(summary "$profile" "bytes per event") bytes an event"
	echo "$(trace_bytes "$profile") $branches" | awk -v p="$profile" '
		{ printf "%s: %.4f of the branch trace, which has %d bytes\n", p, $1 / $2, $2 }'
	for output in summary flat tree; do
		seconds "$tools/fhook" calltrace print "--$output" "$recordings/$profile" |
			awk -v n="$events" -v p="$profile" -v o="$output" '$1 > 0 {
				printf "%s, %s: %.1f M events/s\n", p, o, n / $1 / 1e6 }'
	done
	largest=$(find "$recordings/$profile" -name '*.trace' -printf '%s %p\n' | sort -n |
		tail -n 1 | cut -d ' ' -f 2-)
	for decoder in query packet; do
		echo "$profile, libipt alone, $("$tests/decode-limit" "$decoder" "$largest")"
	done
done
