# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# A clone of this project with a kernel source of three files, for the host's
# tests of the scripts that handle trees; sourced by those.

rm -rf "$scratch/repo" "$scratch/build" "$scratch/source.tar.xz"
repo=$scratch/repo
t=$scratch/build/linux
mkdir -p "$repo/include/linux" "$repo/bases/6.12" "$repo/bases/7.3" "$repo/patches/1-fixes" \
	"$repo/patches/2-more" "$scratch/src/linux-source/kernel"
cp -r "$top/scripts" "$repo/"
rm -r "$repo/scripts/gdb"

# source_package VERSION PATCHLEVEL SUBLEVEL [FILE]: a tarball like Debian's, with the
# .gitignore it has.
source_package()
{
	(
		cd "$scratch/src/linux-source" || exit
		printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = %s\n' "$1" "$2" "$3" > Makefile
		printf '/*\n!/debian/\n' > .gitignore
		printf 'one\ntwo\nthree\n' > kernel/file.c
		seq 100 > kernel/other.c
		tar -cJf "$scratch/${4:-source.tar.xz}" -C .. linux-source
	)
}

# ours_of SCRIPT: a script of the copied repository, on the source that TARBALL names.
ours_of()
{
	(
		cd "$repo" || exit
		unset GIT_CONFIG_COUNT
		BUILD=$scratch/build "scripts/series/$1"
	)
}

# ours SCRIPT: the same, on the first source.
ours()
{
	TARBALL=$scratch/source.tar.xz ours_of "$1"
}

# commit FILE LINE SUBJECT [ADDS [TOPIC]]: append a line and commit.
commit()
{
	(
		cd "$t" || exit
		echo "$2" >> "$1"
		git add -f "$1"
		git -c user.name=A -c user.email=a@localhost commit -q -m "$3

Why.

Signed-off-by: A <a@localhost>
${4:+Adds: $4
}Topic: ${5:-fixes}"
	)
}

git init -q "$repo"
