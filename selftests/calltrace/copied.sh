#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: copied.sh TOOLS DIR
#
# What was rewritten is a file as others: it is no larger than it has to be, and strip and
# objcopy copy it. Where they cannot, it is said.
set -eu

tools=$1 dir=$2
mkdir -p "$dir"
cd "$dir"
status=0

cat > program.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	char none[NONE];
	__attribute__((noinline)) int leaf(int n) { return none[n] + n + 1; }
	int main(void) { puts(leaf(3) == 4 ? "right" : "wrong"); return 0; }
END

fails()
{
	echo "$*"
	status=1
}

# is_right FILE: it runs, and its stubs are those of the file it was made of.
is_right()
{
	[ "$("./$1" 2>&1)" = right ] || fails "$1: $("./$1" 2>&1 || :)"
	"$tools/fhook" calltrace map "$1" | grep '^stub' > stubs
	[ "$(wc -l < stubs)" -ge 4 ] || fails "$1: $(cat stubs)"
}

# is_copied NAME SIZE OPTION...: by the compiler with these options; SIZE is the most that
# rewriting may add.
is_copied()
{
	name=$1 size=$2
	shift 2
	gcc -O1 "$@" program.c -o "$name"
	"$tools/fhook-rewrite" -F leaf -F main -o "$name.new" "$name" 2> said || fails "$(cat said)"
	is_right "$name.new"
	size=$(($(stat -c %s "$name") + size))
	[ "$(stat -c %s "$name.new")" -le "$size" ] ||
		fails "$name: $(stat -c %s "$name.new") bytes are more than $size"
	if grep -q 'never strip' said; then
		echo "$name: $(cat said)"
		return
	fi
	for copy in objcopy "strip -g" "strip --strip-unneeded"; do
		cp "$name.new" "$name.copy"
		$copy "$name.copy" 2> said
		[ ! -s said ] || fails "$copy: $(cat said)"
		is_right "$name.copy"
	done
}

# must_be_copied: the same, and nothing is said.
must_be_copied()
{
	said=$(is_copied "$@") || :
	[ -z "$said" ] || fails "$said"
}

for option in -pie -no-pie -static -static-pie; do
	must_be_copied "small$option" 16384 "$option" -DNONE=4096
	must_be_copied "large$option" 16384 "$option" -DNONE='(1UL<<30)' -mcmodel=large
	must_be_copied "without-id$option" 16384 "$option" -DNONE=4096 -Wl,--build-id=none
done
# without_room FILE: the header of the property becomes one that nobody knows.
without_room()
{
	python3 - "$1" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		start, = struct.unpack_from("<Q", data, 32)
		count, = struct.unpack_from("<H", data, 56)
		for at in range(start, start + 56 * count, 56):
		    if struct.unpack_from("<I", data, at)[0] == 0x6474e553:
		        struct.pack_into("<I", data, at, 0x60000000)
		open(sys.argv[1], "wb").write(data)
	END
}

# There is no room for a header: the program runs, and it is said that it must not be copied.
for option in -pie -static; do
	for none in 4096 '(1UL<<30)'; do
		gcc -O1 "$option" -DNONE="$none" -mcmodel=large program.c -o full
		without_room full
		"$tools/fhook-rewrite" -F leaf -F main -o full.new full 2> said
		is_right full.new
		grep -q 'never strip the result' said || fails "$option: $(cat said)"
		[ "$(stat -c %s full.new)" -lt 2000000 ] || fails "$(ls -l full.new)"
	done
done

exit $status
