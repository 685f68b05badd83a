#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: firefox.sh CACHE TOOLS DIR
#
# Firefox Profiler's own command, from npm, loads recordings and finds the functions, times and
# stacks. The status is 4 where it cannot be had.
set -eu

cache=$1
shift
tests=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/test_lib.sh"

profiler=$("$tests/fetch_npm.sh" @firefox-devtools/profiler-cli 0.10.0 "$cache") || {
	echo "$profiler"
	exit 4
}
# Its server keeps a file in the home directory.
export HOME="$PWD"
profiler()
{
	timeout 60 node "$profiler/dist/profiler-cli.js" "$@"
}

profiler --version > said 2>&1 || {
	echo "node does not run Firefox Profiler's command: $(tail -n 1 said)"
	exit 4
}
trap 'profiler stop --all > stopped 2>&1 || :' EXIT

# shows NAME COMMAND LINE...: what it prints of a recording has these lines, in this order.
shows()
{
	name=$1 command=$2
	shift 2
	profiler stop --all > stopped 2>&1 || :
	$fhook print --firefox "$name" > profile.json
	# It gives up waiting for its server, which begins all the same, on a busy machine.
	profiler load profile.json > said 2>&1 || :
	for _ in 1 2 3 4 5 6 7 8 9; do
		profiler profile info > loaded 2>&1 && break
		sleep 1
	done
	# shellcheck disable=SC2086	# words
	profiler $command > said 2>&1 || fails "$name: $command"
	for line; do
		printf '%s\n' "$line"
	done > wanted
	grep -xFf wanted said | diff wanted - || fails "$name: $command"
}

"$tests/make_recording.py" timed -i "clock 1000000" main+ a+ b+ b- a- '_ZN3FooclEi+' b+ b- \
	'_ZN3FooclEi-' main-
shows timed "thread functions" \
	'  f-0. main - self: 300ns (33.3%), total: 900ns (100.0%)' \
	'  f-3. Foo::operator()(int) - self: 200ns (22.2%), total: 300.00ns (33.3%)'
shows timed "thread samples-top-down" 'f-0. main [total: 100.0%, self: 33.3%]'
"$tests/make_recording.py" events 'é"\+' g+ 'é"\+' 'é"\-' g- 'é"\-' / g+ g-
shows events "thread functions" '  f-0. é"\ - self: 3 (60.0%), total: 5 (100.0%)' \
	'  f-1. g - self: 2 (40.0%), total: 3 (60.0%)'
exit "$status"
