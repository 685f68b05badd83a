#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: library.sh TOOLS DIR
#
# Rewrite the machine's own libz.so.1, which is stripped: exported functions get stubs. A
# program that is linked with it compresses and decompresses as before, and runs through
# stubs.
set -eu

. "$(dirname "$0")/test_lib.sh"

library=$(ldconfig -p | awk '/libz\.so\.1 .*x86-64/ { print $NF; exit }')
"$tools/fhook-rewrite" --skip -F '*' -o libz.so.1 "$(readlink -f "$library")"
$fhook map libz.so.1 > ./map
[ "$(grep -c ' entry ' map)" -gt 50 ]

cat > pack.c <<-'END'
	#include <stdio.h>
	#include <string.h>

	unsigned long compressBound(unsigned long size);
	int compress(char *to, unsigned long *size, const char *from, unsigned long length);
	int uncompress(char *to, unsigned long *size, const char *from, unsigned long length);
	static char text[100000], packed[200000], again[100000];

	int main(void)
	{
		unsigned long i, size = compressBound(sizeof(text)), length = sizeof(again);

		for (i = 0; i < sizeof(text); i++)
			text[i] = "all the same words "[i * i % 19];
		if (compress(packed, &size, text, sizeof(text)) ||
		    uncompress(again, &length, packed, size))
			return 1;
		printf("%lu %d\n", size, memcmp(text, again, sizeof(text)));
		return length != sizeof(text);
	}
END
gcc -O2 -o pack pack.c "$library"
LD_LIBRARY_PATH='' ./pack > said
LD_LIBRARY_PATH=$PWD ./pack > said.stubs
cmp said said.stubs
LD_LIBRARY_PATH=$PWD "$tools/../record-stubs" map record ./pack > /dev/null
for function in compress compress2 deflate uncompress inflate; do
	entries=$(grep -cE "entry $function( |\$)" record) || :
	exits=$(grep -cE "(exit|tail) $function( |\$)" record) || :
	[ "$entries" -gt 0 ] && [ "$entries" -eq "$exits" ] || {
		echo "$function is entered $entries times, and left $exits times"
		exit 1
	}
done
echo "libz: $(grep -c '^stub' map) stubs, $(wc -l < record) events"
