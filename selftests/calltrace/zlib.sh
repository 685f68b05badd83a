#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: zlib.sh LEVEL TOOLS DIR [SOURCE]
#
# Debian's zlib with stubs in all of its functions, at a LEVEL (source, ir or rewrite):
# its own tests must still pass, and its map must have the functions. SOURCE is its
# unpacked source; without it, apt-get fetches it, with lists of its own in DIR.
# shellcheck disable=SC2086
set -eu

level=$1 tools=$2 dir=$3 source=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

fail()
{
	echo "zlib, $level: $*" >&2
	exit 1
}

[ -n "$source" ] || source=$("$here/fetch_source.sh" zlib "$dir/apt") ||
	exit 1
rm -rf "${dir:?}/$level"
cp -r "$source" "$dir/$level"
cd "$dir/$level"
CFLAGS="-O2 -g" ./configure > configure.said 2>&1 || fail "it cannot be configured."
flags="-O2 -g -D_LARGEFILE64_SOURCE=1 -DHAVE_HIDDEN -Wl,--build-id"

case $level in
rewrite)
	make CFLAGS="$flags" > build.said 2>&1 || fail "it cannot be built."
	library=$(readlink -f libz.so)
	for file in "$library" examplesh example; do
		"$tools/fhook-rewrite" --skip -F '*' -o "$file" "$file" 2>> rewrite.said ||
			fail "$file cannot be rewritten: $(tail -n 1 rewrite.said)"
	done
	;;
*)
	export INSTRUMENT_LEVEL="$level" INSTRUMENT_TOOLS="$tools"
	make CC="$here/instrumenting-cc" CFLAGS="$flags" > build.said 2>&1 ||
		fail "it cannot be built: $(tail -n 3 build.said)"
	library=$(readlink -f libz.so)
	;;
esac

make CC="$here/instrumenting-cc" CFLAGS="$flags" -o "$library" -o examplesh -o example \
	test > test.said 2>&1 || fail "its tests fail: $(tail -n 3 test.said)"
# Of the static library, the shared one, and that for large files.
[ "$(grep -c 'test OK' test.said)" -eq 3 ] || fail "not all of its tests pass."
"$tools/fhook" calltrace map "$library" > ./map
functions=$(awk '$4 == "entry" { print $6 }' map | sort -u | wc -l)
[ "$functions" -gt 80 ] || fail "only $functions functions have stubs."
echo "zlib, $level: $functions functions, $(grep -c '^stub' map) stubs, all tests pass"
