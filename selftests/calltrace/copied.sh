#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: copied.sh TOOLS DIR
#
# A rewritten file is an ordinary file: it is no larger than necessary, and strip and
# objcopy copy it. A file that could not be copied is refused.
set -eu

. "$(dirname "$0")/test_lib.sh"

cat > program.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	char none[NONE];
	__attribute__((noinline)) int leaf(int n) { return none[n] + n + 1; }
	int main(void) { puts(leaf(3) == 4 ? "right" : "wrong"); return 0; }
END

# is_right FILE: it runs, and its stubs are those of the file it was made of.
is_right()
{
	[ "$($run "./$1" 2>&1)" = right ] || fails "$1: $($run "./$1" 2>&1 || :)"
	$fhook map "$1" | grep '^stub' > stubs
	[ "$(wc -l < stubs)" -ge 4 ] || fails "$1: $(cat stubs)"
}

# is_rewritten NAME SIZE: rewriting adds no more than that, and the result can be copied.
is_rewritten()
{
	name=$1 size=$(($(stat -c %s "$1") + $2))
	if ! "$tools/fhook-rewrite" -F leaf -F main -o "$name.new" "$name" 2> said; then
		fails "$(cat said)"
		return
	fi
	is_right "$name.new"
	[ "$(stat -c %s "$name.new")" -le "$size" ] ||
		fails "$name: $(stat -c %s "$name.new") bytes are more than $size"
	for copy in objcopy "strip -g" "strip --strip-unneeded" strip; do
		cp "$name.new" "$name.copy"
		# shellcheck disable=SC2086	# a command of words
		$prefix$copy "$name.copy" 2> said
		[ ! -s said ] || fails "$copy: $(cat said)"
		is_right "$name.copy"
	done
}

# must_be_copied NAME OPTION...: by the compiler with these options
must_be_copied()
{
	name=$1
	shift
	"${prefix}gcc" -O1 "$@" program.c -o "$name"
	is_rewritten "$name" "$room"
}

prefix='' run='' room=16384
for option in -pie -no-pie -static -static-pie; do
	must_be_copied "small$option" "$option" -DNONE=4096
	must_be_copied "large$option" "$option" -DNONE='(1UL<<30)' -mcmodel=large
	must_be_copied "without-id$option" "$option" -DNONE=4096 -Wl,--build-id=none
done
# Its linker leaves no room for a header.
prefix=aarch64-linux-gnu- run=qemu-aarch64 room=262144
for option in -static -static-pie; do
	must_be_copied "arm64$option" "$option" -DNONE=4096
	must_be_copied "arm64-without-id$option" "$option" -DNONE=4096 -Wl,--build-id=none
done

# without FILE TYPE...: headers of these types become headers of an unknown type.
without()
{
	python3 - "$@" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		start, = struct.unpack_from("<Q", data, 32)
		count, = struct.unpack_from("<H", data, 56)
		for at in range(start, start + 56 * count, 56):
		    if struct.unpack_from("<I", data, at)[0] in map(eval, sys.argv[2:]):
		        struct.pack_into("<I", data, at, 0x60000000)
		open(sys.argv[1], "wb").write(data)
	END
}

# Without room for a header, that of a note is reused. Without a note, rewriting fails.
prefix='' run='' room=16384
for option in -pie -static; do
	for none in 4096 '(1UL<<30)'; do
		gcc -O1 "$option" -DNONE="$none" -mcmodel=large program.c -o full
		without full 0x6474e553
		is_rewritten full "$room"
		without full 4
		if "$tools/fhook-rewrite" -F leaf -F main -o none full 2> said || [ -e none ]; then
			fails "$option: it was rewritten where no header has room"
		fi
		grep -q 'has no room for one more program header: link it with' said ||
			fails "$option: $(cat said)"
	done
done

exit $status
