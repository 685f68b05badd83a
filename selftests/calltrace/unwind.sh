#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: unwind.sh COMPILER TOOLS DIR
#
# A rewritten program can be unwound from each instruction, including those that now run
# elsewhere.
set -eu

compiler=$1
shift
. "$(dirname "$0")/test_lib.sh"

for option in -O0 -O2; do
	$compiler -D_GNU_SOURCE $option -Dmain=shapes_main -c -o shapes.o "$programs/shapes.c"
	$compiler -D_GNU_SOURCE $option -o plain "$programs/unwind.c" shapes.o
	"$tools/fhook-rewrite" --skip -F 't_*' -o stubs plain
	for program in plain stubs; do
		"./$program" > $program.said 2> $program.steps || {
			echo "$compiler $option, $program: $(cat $program.steps)"
			exit 1
		}
	done
	cmp plain.said stubs.said
	[ "$(awk '{ print $1 }' stubs.steps)" -gt 1000 ]
done
