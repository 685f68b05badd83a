#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: instrument_arm64.sh LEVEL PROGRAM TOOLS DIR
#
# As instrument.sh, for aarch64, under qemu-aarch64: it logs each block that it runs in
# the range of the stubs. The calls are those that the compiler's hooks see on the host.
# shellcheck disable=SC2086
set -eu

level=$1 program=$2
shift 2
. "$(dirname "$0")/test_lib.sh"
stubs=$programs/../../../tools/fhook

# In a file, a function with a computed goto is not rewritten.
left_out=
[ "$level" != rewrite ] || left_out="-F !t_goto"
list="-F main -F t_* $left_out"
source=$program.c plus=gcc clang=clang skip=''
if [ "$program" = exceptions ]; then
	list="-F main -F t::*"
	source=$program.cc plus=g++ clang=clang++
	# Members' constructors come before the entry of their class's.
	[ "$level" != source ] || skip='[CD][12]E'
fi

gcc -g -D_GNU_SOURCE -c -o record_calls.o "$programs/record_calls.c"
$plus -O0 -rdynamic -DRECORD_CALLS -finstrument-functions -o reference "$programs/$source" \
	record_calls.o -ldl
CALLS=reference.record ./reference > reference.said

set -f
case $level in
source)
	"$tools/fhook-instrument-source" $list -o "stubs.$source" "$programs/$source"
	aarch64-linux-gnu-$plus -O2 -static -Wl,--build-id -I"$stubs" -iquote "$programs" \
		-o instrumented "stubs.$source"
	;;
ir)
	$clang --target=aarch64-linux-gnu -O2 -Xclang -disable-llvm-passes -emit-llvm -c \
		-o plain.bc "$programs/$source"
	"$tools/fhook-instrument-ir" $list -o stubs.bc plain.bc
	clang --target=aarch64-linux-gnu -O2 -c -o stubs.o stubs.bc
	aarch64-linux-gnu-$plus -static -Wl,--build-id -o instrumented stubs.o
	;;
rewrite)
	aarch64-linux-gnu-$plus -O0 -static -Wl,--build-id -o plain "$programs/$source"
	"$tools/fhook-rewrite" $list -o instrumented plain
	;;
esac
set +f

"$tools/fhook" calltrace map instrumented > ./map
block=$(awk '$1 == "block" { print $2 "+" $3 }' map)
qemu-aarch64 -d exec,nochain -D log -dfilter "$block" ./instrumented > instrumented.said
cmp reference.said instrumented.said
awk 'FNR == NR {
	if ($1 == "stub") {
		sub(/^0x/, "", $2)
		stub[sprintf("%16s", $2)] = $4 " " $6 " " $8
	}
	next
}
{ split($0, word, "/"); sub(/^0*/, "", word[2]); print 1, stub[sprintf("%16s", word[2])] }' \
	map log > stubs.record
for record in reference stubs; do
	[ "$level" != rewrite ] || sed -i '/ t_goto$/d' $record.record
	awk -v skip="$skip" -f "$programs/calls.awk" map $record.record | tr ' ' '\n' > $record.calls
done
diff reference.calls stubs.calls
echo "$level $program, aarch64: $(grep -c '[<>]' stubs.calls) events"
