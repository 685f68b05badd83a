#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: go_names.sh CACHE TOOLS DIR
#
# Programs in Go that another linker has linked with C are known as such. Their functions are
# found when they are stripped, and a damaged table of functions is refused.
set -eu

GOCACHE=$1
export GOCACHE CGO_ENABLED=1 GOFLAGS=-trimpath
shift
. "$(dirname "$0")/test_lib.sh"

# stubs FILE: FILE.stubs has those of some functions of FILE, which is rewritten as FILE.new.
stubs()
{
	"$tools/fhook-rewrite" -F 'main.*' -F 'runtime.gc*' -o "$1.new" "$1" 2> said || fails "$1"
	# Symbols have the calling convention, too.
	$fhook map "$1.new" | awk '$1 == "stub" { print $4, $6, $7 }' | sed 's/\.abi0//' |
		sort > "$1.stubs"
	[ "$(wc -l < "$1.stubs")" -gt 50 ] || fails "$1: few stubs"
}

# refuses SENTENCE FILE PATTERN
refuses()
{
	if "$tools/fhook-rewrite" -F "$3" -o none "$2" 2> said || [ -e none ] ||
	   ! grep -q "$1" said; then
		fails "not '$1'"
	fi
}

# The header of the table begins with this, and has numbers at these offsets.
magic='[\xf0\xf1]\xff{3}\x00\x00[\x01\x04]\x08'
text=24 names=32 units=40

# header FILE: its offset in the file.
header()
{
	LC_ALL=C grep -obUaP "$magic" "$1" | head -n 1 | cut -d : -f 1
}

# write_to FILE OFFSET: write the input at this offset of the table.
write_to()
{
	dd of="$1" bs=64K seek="$(($(header "$1") + $2))" oflag=seek_bytes conv=notrunc 2> /dev/null
}

# number FILE OFFSET: a number of the header.
number()
{
	od -An -t u8 -j "$(($(header "$1") + $2))" -N 8 "$1" | tr -d ' '
}

sed 's/^import (/import "C"\n\n&/' "$programs/grow.go" > grow.go
go build -buildmode=pie -o pie grow.go
go build -ldflags=-linkmode=external -o fixed grow.go
if readelf -SW pie | grep pclntab; then
	fails "the linker has kept the section"
fi
for file in pie fixed; do
	strip -o "$file.stripped" "$file"
	# The runtime looks for the function of a fault.
	refuses 'main.load cannot be done: .* is an instruction that cannot run elsewhere' \
		"$file" main.load
	for tried in "$file" "$file.stripped"; do
		"$tools/fhook-rewrite" -F '*' -o "$tried.new" "$tried" 2> said || fails "$tried"
		./"$file" > wanted
		./"$tried.new" > printed 2>&1 || fails "$tried.new: $(head -n 3 printed)"
		cmp wanted printed || fails "$tried.new"
		stubs "$tried"
	done
	grep -q "The names of functions are those of Go's pclntab" said || fails "$file"
	cmp "$file.stubs" "$file.stripped.stubs" || fails "$file: names"
done

# If the header has no address, the moduledata has it; .text begins with code of C.
head -c 8 /dev/zero | write_to fixed.stripped "$text"
stubs fixed.stripped
cmp fixed.stubs fixed.stripped.stubs || fails "names by the moduledata"
# The moduledata is not found if it does not point to the names.
cp fixed.stripped lost
printf '\001' | write_to lost "$names"
refuses "lost is stripped, and Go's pclntab does not say where functions begin" lost '*'
# All names are ends of one string, so that they are much longer than the file.
cp pie.stripped long
start=$(number long "$names") end=$(number long "$units")
head -c "$((end - start))" /dev/zero | tr '\000' A | write_to long "$start"
refuses "long is damaged: Go's pclntab in it is" long '*'

exit $status
