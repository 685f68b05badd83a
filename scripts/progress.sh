# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# The progress of a stage on a terminal, in one line that is rewritten: commits or files that
# were built in it, and tests and cases that were done since the script began, or the last line
# of its log.  To be sourced by scripts/lib.sh.  Nothing reports progress: it is read from the
# logs and results while they are written.  What runs took is kept in the file "measured" of the
# build directory.

# What is measured for all stages of a run of this script together.
progress_run="${0##*/} $ARCH $*"

# measured WHAT: print the value of the last time in this build directory, if there is one.
measured()
{
	[ ! -f "$BUILD/measured" ] ||
		what=$1 awk -F '\t' '$1 == ENVIRON["what"] { print $2 }' "$BUILD/measured"
}

# measure WHAT VALUE: keep it for the next time.
measure()
{
	touch "$BUILD/measured"
	{
		what=$1 awk -F '\t' '$1 != ENVIRON["what"]' "$BUILD/measured"
		printf '%s\t%s\n' "$1" "$2"
	} > "$BUILD/measured.$$"
	mv "$BUILD/measured.$$" "$BUILD/measured"
}

# newer STAMP FILE...: print the names of the files that were written after a stamp.
newer()
{
	newer_than=$BUILD/progress.$1
	shift
	find "$@" -maxdepth 0 -type f -newer "$newer_than" 2> /dev/null || :
}

# count PATTERN FILE...: the number of lines that match, in all files.
count()
{
	[ $# -gt 1 ] || set -- "$1" /dev/null
	cat_pattern=$1
	shift
	cat "$@" 2> /dev/null | grep -cE "$cat_pattern" || :
}

# of NUMBER TOTAL WORDS: print how much is done; TOTAL may be empty, or outdated.
of()
{
	if [ "${2:-0}" -ge "$1" ]; then
		echo "$1 of $2 $3"
	else
		echo "$1 $3"
	fi
}

# The results of tests since the run began: those of guests, of the virtual machine, and of this
# machine, which are in one file when all have ended.
test_results()
{
	newer run "$BUILD"/*/*.out "$BUILD"/mainline/*/*.out "$BUILD"/topic-*/*/*.out \
		"$BUILD"/vm/vm.ktap
	if [ -e "$BUILD/host/results" ]; then
		newer run "$BUILD"/host/results/*
	else
		newer run "$BUILD"/host/host.ktap
	fi
}

# The number of tests or of cases measured.
tests_done()
{
	# shellcheck disable=SC2046
	count '^ *(not )?ok [0-9]' $(test_results)
}

cases_done()
{
	# shellcheck disable=SC2046
	count '(^|[[:space:]])BENCH[[:space:]]' $(test_results)
}

# files_compiled LOG: how many files a build has compiled
files_compiled()
{
	count '^  (CC|AS)( \[M\])? +[^/ ][^ ]*\.o$' "$1"
}

# built LOG: the same, in words.  Only of a first build is it known about how many there are: as
# many as the last time.
built()
{
	built_of='' built_took=''
	case $1 in
	"$BUILD"/check/*) ;;
	*)	[ -f "${1%/*}/kernel.image" ] || {
			built_of=${1%/*}
			built_of=${built_of#"$BUILD"/}
			built_took=$(measured "first build $built_of")
			built_of=$(measured "files $built_of" | grep . ||
				awk -v base="$BASE" -v flavour="${built_of##*/}" \
				'$1 == base && $2 == flavour { print $3 }' \
				"$top/scripts/build/config/files")
		} ;;
	esac
	built_files=$(files_compiled "$1")
	# A build that was interrupted has compiled a part of them before.
	[ "${built_of:-0}" -ge "$built_files" ] || built_of=
	[ "$built_files" -eq 0 ] ||
		echo "$built_files${built_of:+ of about $built_of} files${built_took:+, $built_took s the last time}"
}

# Print all that is counted, in parts.
progress_parts()
{
	commits=$(newer stage "$BUILD"/check/*/progress)
	if [ -n "$commits" ]; then
		# shellcheck disable=SC2086
		cat $commits
	else
		newer stage "$BUILD"/*/build.log "$BUILD"/*/*/build.log | while read -r log; do
			built "$log"
		done
	fi
	tests=$(tests_done)
	[ "$tests" -eq 0 ] || of "$tests" "$(measured "tests $progress_run")" tests
	cases=$(cases_done)
	[ "$cases" -eq 0 ] || of "$cases" "$(measured "cases $progress_run")" cases
}

# Print it in one line, or if nothing is counted, the last line of the log.
progress_line()
{
	progress_parts | awk '{ printf "%s%s", separator, $0; separator = ", " }
		END { exit !NR }' || tail -n 1 "$stage_log" 2> /dev/null | tr -cd ' -~'
}

# Write the line again as long as the script runs.  A line that is too long would wrap.
watch_progress()
{
	exec 3>&1
	while sleep 1 && kill -0 "$$" 2> /dev/null; do
		width=$(stty size 2> /dev/null <&3 | cut -d' ' -f2)
		[ "${width:-0}" -gt 1 ] || width=80
		printf '\r%s\033[K' "$(printf '%s' "$1$(progress_line)" | cut -c "1-$((width - 1))")"
	done
}

# progress_begin TITLE, progress_end TITLE: around a stage whose line begins with TITLE
progress_begin()
{
	touch "$BUILD/progress.stage"
	[ "$stage_number" -gt 1 ] || touch "$BUILD/progress.run"
	# File systems count time in ticks, and what is written now is newer.
	sleep 0.02
	progress_watcher=
	case ${TERM:-dumb} in
	dumb) return ;;
	esac
	[ -t 1 ] || return 0
	# The locks of the script are not its own.
	watch_progress "$1" 7>&- 8>&- 9>&- &
	progress_watcher=$!
}

progress_end()
{
	[ -z "$progress_watcher" ] || {
		kill "$progress_watcher" 2> /dev/null || :
		wait "$progress_watcher" 2> /dev/null || :
		printf '\r%s\033[K' "$1"
	}
	[ "$stage_number" -eq "$stages" ] || return 0
	for progress_what in tests cases; do
		progress_number=$("${progress_what}_done")
		[ "$progress_number" -eq 0 ] ||
			measure "$progress_what $progress_run" "$progress_number"
	done
}
