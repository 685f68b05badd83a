# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# A clone of this project with a kernel source of three files, for the host's
# tests of the scripts that handle trees; sourced by those.

rm -rf "$scratch/repo" "$scratch/build" "$scratch/source.tar.xz"
repo=$scratch/repo
t=$scratch/build/linux
mkdir -p "$repo/include/linux" "$scratch/src/linux-source/kernel"
cp -r "$top/scripts" "$repo/"
rm -r "$repo/scripts/gdb"

# source VERSION: a tarball like Debian's, with the .gitignore it has.
source_package()
{
	(
		cd "$scratch/src/linux-source" || exit
		printf 'VERSION = 6\nPATCHLEVEL = %s\nSUBLEVEL = %s\n' "$1" "$2" > Makefile
		printf '/*\n!/debian/\n' > .gitignore
		printf 'one\ntwo\nthree\n' > kernel/file.c
		tar -cJf "$scratch/source.tar.xz" -C .. linux-source
	)
}

# ours SCRIPT: a script of the copied repository, on that source.
ours()
{
	(
		cd "$repo" || exit
		unset GIT_CONFIG_COUNT
		BUILD=$scratch/build TARBALL=$scratch/source.tar.xz "scripts/series/$1"
	)
}

# commit FILE LINE SUBJECT: append a line and commit, with an Adds: if there
# is a fourth word.
commit()
{
	(
		cd "$t" || exit
		echo "$2" >> "$1"
		git add -f "$1"
		git -c user.name=A -c user.email=a@localhost commit -q -m "$3

Why.

Signed-off-by: A <a@localhost>
${4:+Adds: $4}"
	)
}

git init -q "$repo"
