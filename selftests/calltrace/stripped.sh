#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: stripped.sh TOOLS DIR
#
# Stripped files get the names of their functions from a debug file that is found, or from
# .eh_frame; a list may have addresses. The same functions are traced as with symbols.
set -eu

. "$(dirname "$0")/test_lib.sh"

unset DEBUGINFOD_URLS
DEBUGINFOD_CACHE_PATH=$PWD/cache
export DEBUGINFOD_CACHE_PATH

cat > program.c <<-'END'
	#include <stdio.h>
	#define FUNCTION static __attribute__((noinline, noclone))
	__attribute__((cold, noinline)) void bad(int n) { printf("%d is bad\n", n); }
	FUNCTION int leaf(int n) { return n + 1; }
	FUNCTION int taken(int n) { return leaf(n ^ 0x12345) * 3; }
	__attribute__((noinline, noclone)) int work(int n, int (*call)(int))
	{
		if (n < 0) {
			bad(n);
			n += leaf(n + 4);
		}
		return call(n) + leaf(n) + 5;
	}
	int (*volatile calls[])(int) = { taken };
	volatile int three = 3;
	int main(void)
	{
		int i, sum = 0;

		for (i = 0; i < three; i++)
			sum += work(i, calls[0]);
		return !printf("%d\n", sum);
	}
	END
gcc -O2 -Wl,--build-id -o whole program.c
objcopy --only-keep-debug whole whole.debug
strip -o stripped whole

# rewrites FILE OPTION...: FILE.new computes the same, and FILE.stubs has its stubs by address.
rewrites()
{
	file=$1
	shift
	rm -f "$file.new"
	"$tools/fhook-rewrite" "$@" -o "$file.new" "$file" > said 2>&1 || fails "$file $*"
	[ "$("./$file.new")" = "$(./whole)" ] || fails "$file $*: another result"
	$fhook map "$file.new" | awk '$1 == "stub" { print $4, $7, $9 }' > "$file.stubs"
}

# is_as_whole: the stripped file has the stubs of the whole one.
is_as_whole()
{
	cmp whole.stubs stripped.stubs || status=1
	[ "$(wc -l < stripped.stubs)" -ge 8 ] || fails "stubs are missing"
}

nm whole | awk '$3 ~ /^(leaf|taken|work|main)$/ { print "0x" $1 }' > addresses
rewrites whole -F leaf -F taken -F work -F main
rewrites stripped -f addresses
is_as_whole
grep -q 'Functions without symbols are named after their addresses in .eh_frame: [0-9]' said ||
	fails "where the names are from is not said"
# The same by names; the cold part is no function, and its exits are those of the function.
patterns=$(sed 's/0x0*/-F func_/' addresses)
# shellcheck disable=SC2086	# options
rewrites stripped $patterns
is_as_whole
rewrites stripped --eh-frame -F 'func_*'
cold=$(nm whole | awk '$3 == "work.cold" { print $1 }' | sed 's/^0*//')
if [ -z "$cold" ] || $fhook map stripped.new | grep "func_$cold"; then
	fails "the cold part"
fi
while read -r address; do
	address=$(echo "$address" | sed 's/0x0*//')
	$fhook map stripped.new | grep -q "entry 0 func_$address 0x$address$" ||
		fails "func_$address has no entry"
done < addresses
# In a file with symbols, an address is another name.
rewrites whole -f addresses
rewrites stripped -f addresses
is_as_whole
rewrites whole -F work -F "$(head -n 1 addresses)"
[ "$(awk '{ print $2 }' whole.stubs | sort -u | wc -l)" -eq 2 ] || fails "an address and a name"
# An address does not give names to other functions, which a glob would match.
gcc -O2 -rdynamic -Wl,--build-id -o exports program.c
leaf=$(nm exports | awk '$3 == "leaf" { print $1 }' | sed 's/^0*//')
strip exports
rewrites exports -F '*' -F "0x$leaf"
$fhook map exports.new | awk '$1 == "stub" { print $6 }' | sort -u > named
grep -qx "func_$leaf" named && grep -qx work named || fails "exports: $(cat named)"
[ "$(grep -c '^func_' named)" -eq 1 ] || fails "exports: $(cat named)"

# A glob cannot match the functions that are not exported: how many these are is said.
rewrites exports -F '*'
grep -q 'The file is stripped, and [2-9] functions have no name: .* with --eh-frame\.$' said ||
	fails "functions without names are not counted"
rewrites exports -F work
! grep 'have no name' said || fails "a name is no glob"
rewrites whole -F '*'
! grep 'have no name' said || fails "a file with symbols"

# A debug file beside the file, and one from the cache of fetched ones.
rewrites whole -F leaf -F taken -F work -F main
objcopy --add-gnu-debuglink=whole.debug stripped
rewrites stripped -F leaf -F taken -F work -F main
is_as_whole
grep -q 'The names of functions are those of .*whole.debug\.$' said ||
	fails "the debug file is not named"
strip -o stripped whole
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "cache/$id"
mv whole.debug "cache/$id/debuginfo"
rewrites stripped -F leaf -F taken -F work -F main
is_as_whole
grep -q "The names of functions are those of .*cache/$id/debuginfo\.$" said ||
	fails "the debug file is not named"
rm -r cache

# refuses SENTENCE FILE OPTION...
refuses()
{
	sentence=$1 file=$2
	shift 2
	rm -f out
	if "$tools/fhook-rewrite" "$@" -o out "$file" > said 2>&1 || [ -e out ] ||
	   ! grep -qF -- "$sentence" said; then
		fails "not '$sentence'"
	fi
}

refuses "0x1 is not the address of a function, neither by a symbol nor by .eh_frame" \
	stripped -F 0x1
refuses "0x1 is not the address of a function" whole -F 0x1
refuses "leaf is not known, because the file is stripped" stripped -F leaf
objcopy -R .eh_frame -R .eh_frame_hdr stripped nothing
refuses "build it without -s, or give its debug file with -d" nothing -F '*'

exit $status
