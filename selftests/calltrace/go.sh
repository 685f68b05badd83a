#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: go.sh CACHE TOOLS DIR
#
# Programs in Go: functions that grow their stacks are traced, and compute the same; each call
# is one entry and one exit. A stripped program has the names that Go's runtime needs.
set -eu

GOCACHE=$1
export GOCACHE CGO_ENABLED=0 GOFLAGS=-trimpath
shift
. "$(dirname "$0")/test_lib.sh"

# rewrites FILE OPTION...: it prints the same, by the emulator $run.
rewrites()
{
	file=$1
	shift
	"$tools/fhook-rewrite" "$@" -o "$file.new" "$file" 2> said || fails "$file: $(cat said)"
	$run "./$file" > wanted || fails "$file does not run"
	for try in 1 2 3; do
		$run "./$file.new" > printed 2>&1 || fails "$file.new: $(tail -n 3 printed)"
		cmp wanted printed || fails "$file, run $try"
	done
}

# rewrites_most FILE: most of its functions are traced, also those that may grow their stacks.
rewrites_most()
{
	rewrites "$1" -F '*'
	done=$(awk '/ functions, .* stubs\.$/ { print $2 }' said)
	all=$(nm "$1" | grep -ci ' t ')
	echo "$done of $all functions"
	[ "$((done * 100))" -gt "$((all * 85))" ] || fails "$(cat said)"
	# A few are left out because something may jump into their check.
	loops=$(awk '/ left out, .*: it jumps back to its own entry/ { print $2 + 0 }' said)
	[ "$((${loops:-0} * 50))" -lt "$all" ] || fails "$(cat said)"
}

run=''
go build -o whole "$programs/grow.go"
strip -o stripped whole
rewrites_most whole

# An event is behind the check of the stack, so that there is one for each call.
rewrites whole -F main.deep -F main.main
rm -rf recording
$fhook record --plugin -o recording ./whole.new > printed
$fhook print --events recording | awk -F '\t' '$3 == "main.deep" { seen[$2]++ }
	END { print seen["entry"], seen["exit"]; exit !(seen["entry"] == 4 * 5001 &&
		seen["exit"] == 4 * 5001) }' || fails "calls of main.deep"

# The function of a fault is found.
rewrites whole -F '*'
! ./whole panic > /dev/null 2> wanted || fails "no panic"
! ./whole.new panic > /dev/null 2> printed || fails "no panic"
for file in wanted printed; do
	sed -n '/^main\./p; /^panic/p' "$file" > "$file.stack"
done
cmp wanted.stack printed.stack && grep -q '^main.load' printed.stack || fails "$(cat printed)"

# A profiler's signals arrive at each instruction, also at the jumps.
go build -o profile "$programs/profile.go"
"$tools/fhook-rewrite" -F '*' -o profile.new profile 2> said || fails "profile: $(cat said)"
./profile > wanted 2> /dev/null
for try in 1 2 3; do
	./profile.new > printed 2> said || fails "profile.new: $(head -n 3 said)"
	cmp wanted printed || fails "profile.new, run $try"
done
if "$tools/fhook-rewrite" -F main.odd -o none profile 2> said || [ -e none ] ||
   ! grep -q 'main.odd .* room for a short jump only, and Go needs' said; then
	fails "a hop: $(cat said)"
fi

# Without symbols.
rewrites whole -F 'main.*'
rewrites stripped -F 'main.*'
grep -q 'The names of functions are those of Go.s pclntab' said || fails "$(cat said)"
for file in whole stripped; do
	$fhook map "$file.new" | awk '$1 == "stub" { print $4, $6, $7 }' > "$file.stubs"
done
cmp whole.stubs stripped.stubs || status=1
go build -buildmode=pie -ldflags='-s -w' -o pie "$programs/grow.go"
rewrites pie -F '*'
# Its number of functions is at offset 8.
offset=$(readelf -SW stripped | sed -n 's/.* \.gopclntab *PROGBITS *[^ ]* \([^ ]*\).*/\1/p')
printf '\377\377\377\377' |
	dd of=stripped bs=1 seek="$((0x$offset + 8))" conv=notrunc 2> /dev/null
if "$tools/fhook-rewrite" -F main.deep -o none stripped 2> said || [ -e none ] ||
   ! grep -q 'stripped is damaged: Go.s pclntab in it is' said; then
	fails "a damaged table: $(cat said)"
fi

# In running programs.
"$tools/fhook-attach" -n -a 0x10000000 -F main.deep whole > line || fails "attach"
[ "$(wc -w < line)" -ge 4 ] || fails "$(cat line)"

run=qemu-aarch64
GOARCH=arm64 go build -o arm64 "$programs/grow.go"
rewrites_most arm64

exit $status
