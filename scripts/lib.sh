# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
#
# Common functions of the scripts: paths, errors, calls of git.  To be sourced, not
# run; the caller has set -eu, and as_root if root may work in the build directory of a user.

top=$(cd "$(dirname "$0")/../.." && pwd)
me=${0##*/}

# After "su" without "-", root's programs are not found.
case :$PATH: in
*:/usr/sbin:*) ;;
*) PATH=$PATH:/usr/sbin:/sbin ;;
esac

# The scripts read the output of programs in English, and sort by bytes.  The kernel's make
# unsets LC_ALL.
export LC_ALL=C.UTF-8 LANG=C.UTF-8
unset LANGUAGE LC_MESSAGES LC_CTYPE

ARCH=${ARCH:-x86_64}
BUILD=${BUILD:-$top/build}
case $BUILD in
/*) ;;
*) BUILD=$top/$BUILD ;;
esac
JOBS=${JOBS:-$(nproc)}

# The kernel series to work on; any y of 6.12.y will do.  The builds of each base but the
# first are in a directory of their own, to which scripts/build/source may fetch a source.
default_base=6.12
BASE=${BASE:-$default_base}
first_build=${BUILD%/"$BASE"}
[ "$BASE" = "$default_base" ] || BUILD=$first_build/$BASE
tree=$BUILD/linux
# The cache of compiled files, also of scripts that this one calls with another BUILD.
export CCACHE_DIR="${CCACHE_DIR:-$first_build/ccache}"
packaged=/usr/src/linux-source-$BASE.tar.xz
fetched=$BUILD/source/linux-source-$BASE.tar.xz
case ${TARBALL:-/} in
/*) ;;
*) TARBALL=$top/$TARBALL ;;
esac
tarball=${TARBALL:-$packaged}
[ -n "${TARBALL:-}" ] || [ -r "$packaged" ] || [ ! -r "$fetched" ] || tarball=$fetched

# The overlay: directories with the same paths as in a kernel tree; selftests has
# another path there.
overlay_dirs="include kernel arch lib mm samples Documentation tools scripts/gdb"

# Jobs and variables of a calling make must not reach the kernel's make.
unset MAKEFLAGS MFLAGS MAKELEVEL

die()
{
	echo "$me: $*" >&2
	exit 1
}

say()
{
	echo "$me: $*" >&2
}

case $ARCH in
x86_64 | arm64) ;;
*) die "ARCH=$ARCH is not known here: it is x86_64 or arm64." ;;
esac
[ -d "$top/bases/$BASE" ] ||
	die "BASE=$BASE is not known here: it is one of $(cd "$top/bases" && echo *)."

now()
{
	date +%s
}

# The kernel's make fails on these with an obscure message.
case $top$BUILD in
*[[:space:]:]*)
	die "the kernel does not build in a path with a space or colon: $top or $BUILD has one." ;;
esac
[ ! -e "$BUILD" ] || [ -w "$BUILD" ] ||
	die "$BUILD belongs to $(stat -c %U "$BUILD"): go on as that user (sudo?), remove it, or set BUILD= to another directory."
# By sudo, files of root would come into it, which its owner cannot replace.
[ -z "${SUDO_UID:-}" ] || [ -n "${as_root:-}" ] || [ "$(id -u)" -ne 0 ] ||
	[ ! -e "$first_build" ] || [ "$(stat -c %u "$first_build")" -eq 0 ] ||
	die "$first_build belongs to $(stat -c %U "$first_build"): go on as that user, without sudo, which is called where it is needed, or set BUILD= to another directory."
# The scripts replace and remove files there without asking.
[ -e "$BUILD/.lock" ] || [ -e "$tree/.git/fhook-source" ] || [ -z "$(ls -A "$BUILD" 2>/dev/null)" ] ||
	die "$BUILD holds files, and nothing that was built here: set BUILD= to a new or an empty directory."

# Two scripts at a time would build in the same tree and write the same results. A script
# that is called by the holder of the lock has it, too.
lock_build()
{
	lock_directory "$BUILD" 9
}

# lock_directory DIRECTORY FD: the same for a build directory, with a descriptor of its own.
lock_directory()
{
	case " ${FHOOK_LOCKED:-} " in
	*" $1 "*) return 0 ;;
	esac
	mkdir -p "$1"
	# The lock's file marks a directory as ours, also that of the first base.
	touch "$first_build/.lock"
	eval "exec $2> \"\$1/.lock\""
	flock -n "$2" ||
		die "something else that builds or tests is running in $1: wait for it, or set BUILD= to another directory."
	FHOOK_LOCKED="${FHOOK_LOCKED:-} $1"
	export FHOOK_LOCKED
}

# Allow git to read a clone of another user (sudo make demo). The user's git settings
# must not change the output of the scripts.
export GIT_CONFIG_COUNT=3
export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
export GIT_CONFIG_KEY_1=gc.auto GIT_CONFIG_VALUE_1=0
export GIT_CONFIG_KEY_2=advice.detachedHead GIT_CONFIG_VALUE_2=false

# git with no configuration but the repository's: for the same output everywhere.
pgit()
{
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
	GIT_COMMITTER_NAME=fhook GIT_COMMITTER_EMAIL=fhook@localhost \
		git "$@"
}

# Files of the overlay, one a line, as "path-in-kernel path-here".
overlay_files()
{
	git -C "$top" rev-parse -q --git-dir > /dev/null ||
		die "$top is no git clone: the scripts ask git which files are the project's."
	# shellcheck disable=SC2086
	git -C "$top" ls-files -co --exclude-standard -- $overlay_dirs selftests "bases/$BASE" |
	while read -r f; do
		[ -f "$top/$f" ] || continue
		case $f in
		selftests/*) echo "tools/testing/selftests/fhook/${f#selftests/} $f" ;;
		# The project's, not the kernel's.
		"bases/$BASE/suites" | "bases/$BASE/skips" | "bases/$BASE"/*.config | \
		"bases/$BASE"/*.list) ;;
		bases/*) echo "${f#"bases/$BASE/"} $f" ;;
		*) echo "$f $f" ;;
		esac
	done | sort -u
}

patch_dir=${PATCHES:-$top/patches}

# The directories of the topics in order, one a line: NUMBER-TOPIC.
topics()
{
	find "$patch_dir" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*-*' -printf '%f\n' 2>/dev/null |
		sort
}

# needed_topics TOPIC: print the topic and all topics that it needs, some more than once.
needed_topics()
{
	echo "$1"
	sed -n 's/^Needs: *//p' "$patch_dir"/[0-9]*-"$1"/cover-letter 2> /dev/null |
	tr -cs '[:alnum:]' '\n' |
	while read -r need; do
		needed_topics "$need"
	done
}

# The patches in order, one a line; nothing when there are none yet.  One in a directory
# named like BASE stands for one of the same name that all bases share.
patch_files()
{
	topics | while read -r dir; do
		find "$patch_dir/$dir/$BASE" "$patch_dir/$dir" -maxdepth 1 -name '[0-9]*.patch' \
			2>/dev/null || :
	done | awk -F/ -v base="$BASE" '
		{ topic = $(NF - 1) == base ? $(NF - 2) : $(NF - 1) }
		!(topic "/" $NF in file) { file[topic "/" $NF] = $0 }
		END { for (f in file) print f, file[f] }' | sort | cut -d' ' -f2-
}

# The version of the source in a directory, from its Makefile: nothing may depend on
# the 6.12.y that Debian has.
kernel_version()
{
	awk -F ' *= *' '/^(VERSION|PATCHLEVEL|SUBLEVEL) =/ { v = v s $2; s = "." }
		/^SUBLEVEL/ { print v; exit }' "$1/Makefile" 2>/dev/null
}

check_version()
{
	case $1 in
	"$BASE".*) ;;
	*) die "$2 is Linux ${1:-of an unknown version}, and BASE=$BASE is for $BASE.y: install linux-source-$BASE, or name another tarball with TARBALL=." ;;
	esac
}

# Which source package the work tree was made of.
source_id()
{
	echo "$tarball $(stat -c '%s %Y' "$tarball" 2>/dev/null || echo gone)"
}

# The time of the project's last commit, with which the versions of packages rise.
commit_time()
{
	TZ=UTC git -C "$top" log -1 --format=%cd --date=format-local:%Y%m%d%H%M
}

checksum()
{
	sha256sum < "$1" | cut -d' ' -f1
}

# Note in the work tree which commits are which patches.
remember()
{
	while read -r p; do
		checksum "$p"
	done < .git/fhook-patches |
		paste -d' ' .git/fhook-commits - > .git/fhook-applied
}

# unsaved_work TREE: print "edits" or "commits" if a work tree has some that are not in patches/.
unsaved_work()
{
	[ -d "$1/.git" ] || return 0
	touch "$1/.git/fhook-applied"
	unsaved_range=HEAD
	! git -C "$1" rev-parse -q --verify base > /dev/null || unsaved_range=base..HEAD
	if git -C "$1" rev-list "$unsaved_range" 2> /dev/null |
	   awk 'FILENAME == ARGV[1] { applied[$1]; next } !($1 in applied) { found = 1 }
		END { exit !found }' "$1/.git/fhook-applied" -; then
		echo commits
	# A tree that git cannot read may have edits.
	elif [ -n "$(git -C "$1" status --porcelain --untracked-files=no 2>&1 | head -n 1)" ]; then
		echo edits
	fi
}

# format_patches OPTION...: git format-patch, the same on every machine.
format_patches()
{
	pgit -c core.abbrev=12 -c diff.algorithm=histogram format-patch -q \
		--zero-commit --no-signature --no-numbered --no-base \
		--no-thread --subject-prefix=PATCH --abbrev=12 \
		--no-renames --stat=72 --always "$@"
}

# need_space DIR GIGABYTES: report a full disk before a build, not in the middle of it.
need_space()
{
	mkdir -p "$1"
	free=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1048576) }')
	[ "$free" -ge "$2" ] ||
		die "$1 has $free GB free and this needs about $2 GB: make room, or set BUILD= to a directory on another disk."
}

# A flavour is named as its build directory below BUILD: "x86", or
# "mainline/x86" for the unpatched kernel in the same configuration.  Its
# source is the "linux" beside it.
#
# Debian's name of an architecture.
debian_arch()
{
	case $1 in
	x86_64)	echo amd64 ;;
	*)	echo "$1" ;;
	esac
}

# debian_mirror LABEL: the mirror that this machine uses for Debian itself, or for its security
# updates (Debian-Security).
debian_mirror()
{
	# shellcheck disable=SC2016	# apt's variables
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
		awk -v label="$1" '$2 == "Debian" && $3 == label { print $1; exit }'
}

# set_flavour NAME: sets flavour, obj, src, karch, cross and fragments.
set_flavour()
{
	flavour=$1
	obj=$BUILD/$flavour
	src=$(dirname "$obj")/linux
	row=$(awk -v f="${flavour##*/}" '$1 == f' "$top/scripts/build/config/flavours")
	[ -n "$row" ] ||
		die "there is no flavour '$flavour': choose one of $(awk '/^[^#]/ { printf "%s ", $1 }' "$top/scripts/build/config/flavours")"
	# shellcheck disable=SC2086
	set -- $row
	karch=$2
	shift 2
	fragments=$*
	case $karch in
	x86_64) cross=x86_64-linux-gnu- native=x86_64 ;;
	arm64)	cross=aarch64-linux-gnu- native=aarch64 ;;
	*)	die "no kernel is built here for '$karch'." ;;
	esac
	[ "$native" != "$(uname -m)" ] || cross=
}

# need_list: sets list, the committed results of mainline's tests on the unpatched kernel of the
# architecture of set_flavour.
need_list()
{
	list=$top/bases/$BASE/mainline-$karch.list
	[ -f "$list" ] ||
		die "there is no $list to compare mainline's tests with: run make baseline BASE=$BASE ARCH=$karch first."
}

# compiler_cache: sets cc, and the environment in which a flavour is compiled.
#
# The cache is shared by all flavours and trees below one build directory
# (and with CCACHE_DIR= by other clones: the paths it sees are relative).  It has the
# name of the compiler, so that installing or removing it does not rebuild everything.
# It gets the included files from the compiler, which saves preprocessing, a quarter of
# the time; ccache-cc has the exceptions.  Everything else that would make two builds of the
# same source differ is pinned.
compiler_cache()
{
	# The kernel's makefiles would take it for the directory of KVM.
	unset KVM
	cc=${CC:-${cross}gcc}
	if [ -z "${NO_CCACHE:-}" ] && [ -x "/usr/lib/ccache/$cc" ]; then
		mkdir -p "$obj/ccache"
		ln -sfn "$top/scripts/build/ccache-cc" "$obj/ccache/$cc"
		export CCACHE_PATH="$PATH"
		PATH=$obj/ccache:$PATH
		CCACHE_BASEDIR=${CCACHE_BASEDIR:-$(dirname "$(realpath "$obj")")}
		CCACHE_SLOPPINESS=time_macros CCACHE_DEPEND=1
		export PATH CCACHE_BASEDIR CCACHE_SLOPPINESS CCACHE_DEPEND
	fi
	export KBUILD_BUILD_TIMESTAMP='Sun Nov 17 22:15:08 UTC 2024'
	export KBUILD_BUILD_VERSION="${KBUILD_BUILD_VERSION:-1}"
	export KBUILD_BUILD_USER=fhook KBUILD_BUILD_HOST=fhook
}

# stage NAME COMMAND...: run COMMAND with its output in a log, and print the time it took; on
# a terminal, also how far it is.  The caller sets stages to their number.
stages=1 stage_number=0
stage()
{
	stage_number=$((stage_number + 1))
	stage_title="[$stage_number/$stages] $1 ... "
	printf %s "$stage_title"
	stage_start=$(now)
	stage_log=$BUILD/stage.log
	shift
	mkdir -p "$BUILD"
	progress_begin "$stage_title"
	# Not in a condition: there, set -e would not hold inside COMMAND.
	set +e
	(set -e; "$@") > "$stage_log" 2>&1
	stage_status=$?
	set -e
	progress_end "$stage_title"
	if [ "$stage_status" -eq 0 ]; then
		echo "$(($(now) - stage_start)) s"
	else
		echo "failed after $(($(now) - stage_start)) s"
		tail -n 60 "$stage_log" >&2
	fi
	return "$stage_status"
}

# shellcheck source=scripts/progress.sh
. "$top/scripts/progress.sh"
