#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: instrument.sh LEVEL COMPILER OPTION PROGRAM TOOLS DIR
#
# Build a program of selftests/calltrace/programs, instrument it at a LEVEL (ir, source
# or rewrite) with the programs in TOOLS, and run it. It must print the same as
# without stubs, and the calls that its stubs record must be those that the compiler's own
# hooks record for the same source. Works in DIR.
# shellcheck disable=SC2086
set -eu

level=$1 compiler=$2 option=$3 program=$4
shift 4
. "$(dirname "$0")/test_lib.sh"
flags="-g -fno-ipa-icf"
threads=

fail()
{
	echo "$level $compiler $option $program: $*" >&2
	exit 1
}

case $program in
exceptions | kinds) suffix=cc cc=g++ pattern='t::*' ;;
*) suffix=c cc=gcc pattern='t_*' ;;
esac
case $compiler$suffix in
clangc) instrumented=clang ;;
clangcc) instrumented=clang++ ;;
gccc) instrumented=gcc ;;
gcccc) instrumented=g++ ;;
esac
[ $compiler = gcc ] || flags=-g
[ $program != threads ] || threads=-pthread
sources=$program.$suffix
[ $program != kinds ] || sources="kinds.cc kinds_other.cc"

# The calls and the output of the program without stubs.
reference()
{
	reference_sources=
	for file in $sources; do
		reference_sources="$reference_sources $programs/$file"
	done
	gcc -g -D_GNU_SOURCE -c -o record_calls.o "$programs/record_calls.c"
	$cc -O0 -rdynamic -DRECORD_CALLS -finstrument-functions $threads -o reference \
		$reference_sources record_calls.o -ldl
	CALLS=reference.record ./reference > reference.said
}

# instrument FILE: leaves the object FILE.o, with stubs unless it has no such function.
instrument()
{
	list="-F main -F $pattern"
	[ "$1" != kinds_other.cc ] || list="-F $pattern"
	case $level in
	ir)
			$instrumented $flags $option -Xclang -disable-llvm-passes -emit-llvm -c \
			-o "$1.bc" "$programs/$1"
			set -f; "$tools/fhook-instrument-ir" $list -o "$1.stubs.bc" "$1.bc"; set +f
			$instrumented $option $lto -c -o "$1.o" "$1.stubs.bc"
		;;
	source)
			set -f; "$tools/fhook-instrument-source" $list -o "stubs.$1" \
			"$programs/$1" -- $flags $option; set +f
		[ "$1" != kinds.cc ] || "$tools/fhook-instrument-source" -F 't::*' -o kinds.hh \
			"$programs/kinds.hh"
			$instrumented -Wall -Wextra -Werror -Wno-unknown-warning-option -Wno-infinite-recursion $flags $option -I"$programs/../../../tools/fhook" \
			-iquote . -iquote "$programs" -c -o "$1.o" "stubs.$1"
		;;
	rewrite)
			$instrumented $flags $option -c -o "$1.o" "$programs/$1"
		;;
	esac
}

lto=''
linker=''
case $compiler$option in
*-flto*) lto=-flto ;;
esac
[ "$compiler$lto" != clang-flto ] || linker=-fuse-ld=lld
objects=
reference
for file in $sources; do
	instrument "$file"
	objects="$objects $file.o"
done
$instrumented $option $threads $linker -Wl,--build-id -o instrumented $objects
if [ $level = rewrite ]; then
	set -f; "$tools/fhook-rewrite" -F main -F $pattern ${SKIP:-} -o rewritten instrumented; set +f
	mv instrumented original
	mv rewritten instrumented
fi
./instrumented > instrumented.said || fail "it ends with status $?."
cmp reference.said instrumented.said || fail "it prints something else."
"$tools/fhook" calltrace map instrumented > ./map
"$tools/../record-stubs" map stubs.record ./instrumented > stubs.said 2>&1 ||
	fail "its stubs cannot be recorded: $(tail -n 1 stubs.said)"
# The calls in a compiled file are known only from its instructions: step each of them.
if [ "$level" = rewrite ]; then
	mv instrumented rewritten
	mv original instrumented
	"$tools/../record-stubs" -s map reference.record ./instrumented > stubs.said 2>&1 ||
		fail "it cannot be stepped: $(tail -n 1 stubs.said)"
	mv rewritten instrumented
fi
# In source, constructors of members run before the entry of their class's constructor,
# and all instances of a template have one name.
skip=
[ "$level" != source ] || skip='[CD][12]E'
for record in reference stubs; do
	awk -v skip="$skip" -f "$programs/calls.awk" map $record.record | sort | tr ' ' '\n' > $record.calls
done
[ -s reference.calls ] || fail "nothing is called."
diff reference.calls stubs.calls > calls.diff ||
	fail "other calls than the compiler's hooks see: $(head -n 12 calls.diff)"
echo "$level $compiler $option $program: $(grep -c '[<>]' stubs.calls) events, $(grep -c '^stub' map) stubs"
