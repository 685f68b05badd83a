# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Copy programs for guests, with their dependencies, to the same paths in $root, from
# $sys, the root of a foreign architecture, or from this machine.  To be sourced.

# pack DIR: its contents as a cpio that belongs to root.
pack()
{
	(cd "$1" && find . -mindepth 1 | sort |
		cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# The shared libraries that a program of $sys needs, as ldd has them: ldd runs
# the program, which this machine cannot.
libraries()
{
	[ -n "$sys" ] || {
		ldd "$1" 2>/dev/null | grep -o '/[^ ]*'
		return 0
	}
	readelf -dl "$1" 2>/dev/null |
		sed -n -e 's/.*(NEEDED).*\[\(.*\)\]/\1/p' \
		       -e 's/.*program interpreter: .*\/\(.*\)\]/\1/p' |
	while read -r name; do
		find "$sys/lib" "$sys/usr/lib" -name "$name" | sed "s,^$sys,," |
			head -n 1
	done
}

add_libraries()
{
	libraries "$1" | while read -r lib; do
		to=$root/usr/${lib#/usr}
		[ ! -e "$to" ] || continue
		from=$(realpath "$sys$lib")
		install -D "$from" "$to"
		[ -z "$sys" ] || add_libraries "$from"
	done
}

# A program and its libraries.
add_program()
{
	p=
	for d in /usr/bin /bin /usr/sbin /sbin; do
		[ ! -x "$sys$d/${1##*/}" ] || p=$sys$d/${1##*/}
	done
	[ -n "$p" ] || die "$1 is missing: run make deps."
	install -D "$(realpath "$p")" "$root/usr/bin/${p##*/}"
	add_libraries "$p"
}
