#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: reload.sh TOOLS DIR
#
# A library that a program loads again, at any address, is recorded each time. A library at
# the address of an earlier one cannot be told from that: it is not recorded, which is
# reported, and the calls of the earlier one are shown as before. The path of a library does
# not matter, and if its file is gone, that is reported. Copies of a library, and further names
of it, are recorded as it is.
set -eu

. "$(dirname "$0")/test_lib.sh"

write_libraries
# Without the C library's loader: arguments give the addresses.
cat > main.c <<-'END'
	#include <elf.h>
	#include <fcntl.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static char *const places[] = { (char *)0x10000000000, (char *)0x10010000000 };
	static int load(const char *path, char *at, long function)
	{
		char head[4096];
		Elf64_Ehdr *header = (void *)head;
		Elf64_Phdr *segment;
		int fd = open(path, O_RDONLY), table = open(path, O_RDONLY), i, value;

		if (read(fd, head, sizeof(head)) < (long)sizeof(*header))
			exit(1);
		segment = calloc(header->e_phnum, sizeof(*segment));
		pread(table, segment, header->e_phnum * sizeof(*segment), header->e_phoff);
		if (getenv("REMOVE"))
			unlink(path);
		for (i = 0; i < header->e_phnum; i++, segment++) {
			long less = segment->p_offset % 4096;

			if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
				mmap(at + segment->p_vaddr - less, segment->p_filesz + less,
				     PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
				     segment->p_offset - less);
		}
		value = ((int (*)(int))(at + function))(3);
		munmap(at, 1 << 20);
		close(fd);
		close(table);
		return value;
	}
	/* main PATH PLACE ADDRESS PATH PLACE ADDRESS ... */
	int main(int argc, char **argv)
	{
		for (int i = 1; i + 2 < argc; i += 3)
			printf("%d\n", load(argv[i], places[atoi(argv[i + 1])],
					    strtol(argv[i + 2], NULL, 16)));
		return 0;
	}
END
for name in one two; do
	gcc -O0 -shared -fPIC -nostdlib -fvisibility=hidden -Wl,--build-id -o "plain_$name.so" \
		"$name.c"
	$fhook rewrite -F '*' -o "$name.so" "plain_$name.so"
done
gcc -O2 -Wl,--build-id -w -o main main.c
$fhook map one.so two.so > both.map

# entries FUNCTION: how many there are
entries()
{
	$fhook print --events recording | awk -F '\t' -v name="$1" \
		'$2 == "entry" && $3 == name { n++ } END { print n + 0 }'
}

# address PATH: of the function that the program calls
address()
{
	nm "$1" | awk '$3 == "one" || $3 == "two" { print $1 }'
}

# record PATH PLACE...
record()
{
	set -- "$1" "$2" "$(address "$1")" "$3" "$4" "$(address "$3")" "$5" "$6" "$(address "$5")"
	rm -rf recording
	$fhook record -o recording -m both.map --plugin ./main "$@" 2> said > values
	cat said values recording/info
	[ "$(tr '\n' ' ' < values)" = '7 7 7 ' ]
}

record one.so 0 one.so 1 one.so 0
[ "$(entries one)" -eq 3 ]
[ "$(entries inner_one)" -eq 12 ]
# The map has no object of this name.
$fhook print recording | grep -q '^-- thread [0-9]*, main$'
record one.so 0 two.so 1 one.so 1
[ "$(entries one)" -eq 1 ]
[ "$(entries two)" -eq 1 ]
grep -q 'one.so was loaded where something else had been' said
$fhook print --summary recording 2>&1 | grep -q '1 times something was loaded'
record one.so 0 one.so 0 one.so 0
[ "$(entries one)" -eq 3 ]
if grep -q unplaced recording/info; then exit 1; fi

# Blanks, and newlines, which the kernel writes as \012; and the longest path that can be opened.
odd='a  b
c '
long=.
while [ $((${#PWD} + ${#long})) -lt 4040 ]; do
	long=$long/a.b.c.d.e.f.g.h.i.j
done
mkdir -p "$odd" 'd\012' "$long"
cp one.so "$odd"
cp two.so 'd\012'
cp one.so "$long"
record "$odd/one.so" 0 'd\012/two.so' 1 "$long/one.so" 0
[ "$(entries one)" -eq 2 ]
[ "$(entries two)" -eq 1 ]

cp one.so gone.so
status=0
REMOVE=y $fhook record -o gone -m both.map --plugin ./main one.so 0 "$(address one.so)" \
	2> said || status=$?
cat said
mv gone.so one.so
[ "$status" -eq 0 ]
grep -q '/one.so (deleted) was loaded and cannot be read: No such file' said

# A map whose objects have such names.
$fhook map 'd\012/two.so' "$odd/one.so" > both.map
record one.so 0 two.so 1 two.so 1
[ "$(entries one)" -eq 1 ]
grep -qF ' d\134012/two.so' both.map

cp one.so copy.so
ln -s one.so link.so
$fhook map one.so link.so ./one.so copy.so two.so > both.map
[ "$(awk '$1 == "object" { print $2, $4 }' both.map | paste -s -d ,)" = \
	'0 one.so,1 copy.so,2 two.so' ]
record one.so 0 copy.so 1 link.so 0
[ "$(entries one)" -eq 3 ]
[ "$(sed -n 's/^load //p' recording/info | paste -s -d ,)" = '0 0x10000000000,1 0x10010000000' ]
# A map that has a library twice, and none of its names.
sed -e 's/ copy.so$/ three.so/' -e 's/ one.so$/ four.so/' -i both.map
record one.so 0 copy.so 1 link.so 0
[ "$(entries one)" -eq 3 ]
