#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: leaves.sh TOOLS DIR
#
# fhook-rewrite --leaves gives stubs at entries alone to the functions that run no other
# function with stubs, and to no other function; the calls that are printed are the same with
# and without it. Works in DIR.
set -eu
. "$(dirname "$0")/test_lib.sh"

# recorded WHICH PROFILE OPTION...: rewrite the program with these options and record it, under
# the same name each time
recorded()
{
	recorded_which=$1 recorded_profile=$2
	shift 2
	"$tools/fhook-rewrite" --skip "$@" -o rewritten program 2> said ||
		{ fails "$name: --leaves: it cannot be rewritten"; return 1; }
	rm -rf "rec.$recorded_which"
	$fhook record --plugin -p "$recorded_profile" -o "rec.$recorded_which" \
		./rewritten > "out.$recorded_which" 2> said ||
		[ "$name" = jumps ] || fails "$name: it ends with another status"
}

# same_calls NAME SUFFIX PATTERN COMPILER...: a program has the same calls with leaves. Functions
# with room for a jump at their entries only have stubs with --leaves alone.
same_calls()
{
	name=$1 suffix=$2 pattern=$3
	shift 3
	"$@" -D_GNU_SOURCE -Wl,--build-id -o program "$programs/$name.$suffix"
	recorded plain no-target -F main "-F$pattern" || return
	awk '$1 == "stub" { print $6 }' rec.plain/map | sort -u > list
	recorded leaves no-target --leaves -f list || return
	cmp out.plain out.leaves || fails "$name: it prints something else"
	$fhook diff rec.plain rec.leaves > said || fails "$name, $*: other calls with --leaves"
	$fhook print rec.plain | sed 's/^[^|]*|//; s/^-- .*/--/' > plain.tree
	$fhook print rec.leaves | sed 's/^[^|]*|//; s/^-- .*/--/' > leaves.tree
	diff plain.tree leaves.tree > said || fails "$name, $*: another tree with --leaves"
	grep -q ' leaf 0 ' rec.leaves/map || fails "$name, $*: no leaves"
	$fhook print --flat rec.plain | awk '!/^#/ { print $1, $5 }' | sort > plain.flat
	$fhook print --flat rec.leaves | awk '!/^#/ { print $1, $5 }' | sort > leaves.flat
	cmp plain.flat leaves.flat || fails "$name, $*: other numbers of calls with --leaves"
}

# leaves_of OPTION...: the functions of the program leaves that are leaves with these options
leaves_of()
{
	"$tools/fhook-rewrite" --skip --leaves "$@" -o out program 2> said || fails "$*"
	$fhook map out | awk '$4 == "leaf" { print $6 }' | sort | tr '\n' ' '
}

has_leaves()
{
	has_wanted=$1
	shift
	has_found=$(leaves_of "$@")
	[ "$has_found" = "$has_wanted" ] || fails "leaves of $*: $has_found instead of $has_wanted"
}

only_leaves()
{
	"$@" -o program "$programs/leaves.c" -Wl,--build-id
	has_leaves "t_compare t_leaf t_leaf_with_callee " -F 't_*'
	cp said all.said
}

# Without optimisation, functions call what their source calls.
leaves_of_lists()
{
	has_leaves "t_indirectly t_leaf_with_callee " -F t_indirectly -F t_leaf_with_callee
	has_leaves "t_leaf " -F t_indirectly -F t_leaf
	has_leaves "" -F t_leaf_with_callee -F u_quiet
	has_leaves "" -F t_switches
	grep -q ' 14 functions' all.said || fails "other functions are left out: $(cat all.said)"
}

# Where others have a duration, a leaf has none. The kernel gets the same leaves.
times_and_attach()
{
	name=leaves
	gcc -O0 -o program "$programs/leaves.c" -Wl,--build-id
	recorded timed cycles --leaves -F 't_*'
	$fhook print rec.timed > timed
	grep -qE '[0-9] \| +t_leaf\(\); /\* leaf, time not known \*/$' timed ||
		fails "no leaf without time"
	! grep 't_leaf(); .* ns' timed || fails "a leaf with a time"
	"$tools/fhook-attach" -n -a 0x1000000000 -p /program --skip --leaves -F 't_*' -o attached \
		program > line 2> said || fails "attach --leaves"
	[ "$(awk '$4 == "leaf" { print $6 }' attached | sort | tr '\n' ' ')" = \
	  "t_compare t_leaf t_leaf_with_callee " ] || fails "attached: $(cat attached)"
	[ "$(($(wc -w < line) - 2))" = "$(grep -c '^stub' attached)" ] ||
		fails "attached: $(cat line)"
}

for compiler in gcc clang; do
	for option in -O0 -O2; do
		same_calls shapes c 't_*' $compiler $option
		same_calls jumps c 't_*' $compiler $option
		same_calls leaves c 't_*' $compiler $option
		cxx=$compiler++
		[ $compiler = clang ] || cxx=g++
		same_calls exceptions cc 't::*' $cxx $option
		only_leaves $compiler $option
		[ $option != -O0 ] || leaves_of_lists
	done
done
# All functions of the C library, of which some seem to be leaves.
same_calls jumps c '*' gcc -O2 -static
times_and_attach
for thunk in thunk thunk-inline; do
	only_leaves gcc -O0 -mindirect-branch=$thunk
	only_leaves gcc -O2 -mindirect-branch=$thunk
done
only_leaves aarch64-linux-gnu-gcc -O0
leaves_of_lists
exit $status
