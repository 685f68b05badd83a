# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# The tests that fhook-hwcheck runs: kselftests, KUnit, and mainline's tests without hooks and
# with them.  To be sourced.

# Descriptions of the tests that -s runs: a few seconds of each kind.
short_fhook="everything off, and on again|no exception after the first hit"
short_mainline="Basic trace file check|event tracing - enable/disable with event level"

# mark: what the kernel logs from here on is printed by since_mark
mark()
{
	marked="fhook-hwcheck: $$ $(cut -d' ' -f1 /proc/uptime)"
	echo "$marked" > /dev/kmsg
}

# The lines without time and caller; nothing if the log has lost the mark.
since_mark()
{
	dmesg | awk -v mark="$marked" '
		found { sub(/^\[[^]]*\]( *\[[^]]*\])? /, ""); print }
		index($0, mark) { found = 1 }'
}

# numbered, in awk: the name of a test, of which the second and later ones have a number, as
# scripts/test/report gives them, because a key is in a report once
numbered='
	function numbered(name)
	{
		return name (++seen[name] > 1 ? " (" seen[name] ")" : "")
	}'

# say_ktap KEY FILE [INDENT]: the number of tests, and each that has not passed; "failed" if there
# are none, because they could not run
say_ktap()
{
	awk -v indent="${3:-}" "$numbered"'
		substr($0, 1, length(indent)) != indent { next }
		{ line = substr($0, length(indent) + 1) }
		line !~ /^(not )?ok [0-9]+/ { next }
		{
			result = line ~ /^not/ ? "failed" : "passed"
			sub(/^(not )?ok [0-9]+ *(- )?/, "", line)
			reason = "no reason given"
			if (at = index(line, " # SKIP")) {
				result = "skipped"
				if (length(line) > at + 8)
					reason = substr(line, at + 8)
				line = substr(line, 1, at - 1)
			}
			gsub(/=/, ":", line)
			line = numbered(line)
			count[result]++
			if (result == "skipped")
				print "test." line "\tskipped: " reason
			else if (result == "failed")
				print "test." line "\tfailed"
		}
		END {
			if (!count["passed"] && !count["failed"] && !count["skipped"])
				exit
			print "passed\t" count["passed"] + 0 " tests"
			print "failed\t" count["failed"] + 0 " tests"
			print "skipped\t" count["skipped"] + 0 " tests"
		}' "$2" > "$work/rows"
	if [ ! -s "$work/rows" ]; then
		tail -n 3 "$2" >&2
		say "$1" "failed: no test has a result"
	fi
	while IFS='	' read -r key value; do
		say "$1.$key" "$value"
	done < "$work/rows"
}

# passed FILE DESCRIPTION: whether a test whose description begins so has passed
passed()
{
	grep -qE "^ok [0-9]+ (- )?$2[^#]*\$" "$1"
}

say_kselftest()
{
	progress "kselftests"
	pattern=.
	[ -z "$short" ] || pattern=$short_fhook
	run-ftracetest "$SELFTESTS/fhook/test.d" "$pattern" > "$work/kselftest.ktap" 2>&1
	say_ktap kselftest "$work/kselftest.ktap"
}

say_kunit()
{
	progress "KUnit"
	if ! modinfo -n fhook_kunit > "$work/module" 2>&1; then
		not_seen kunit "this kernel has no module fhook_kunit"
		return
	fi
	# Where it is a module, it runs no test unless it is asked to.
	if [ -d /sys/module/kunit ]; then
		modprobe -r fhook_kunit kunit 2> /dev/null
	fi
	modprobe kunit enable=1 2> /dev/null
	mark
	if ! modprobe fhook_kunit 2> "$work/said"; then
		not_seen kunit "the module fhook_kunit cannot be loaded"
		return
	fi
	since_mark > "$work/kunit.ktap"
	modprobe -r fhook_kunit
	if grep -qE '^    (not )?ok ' "$work/kunit.ktap"; then
		say_ktap kunit "$work/kunit.ktap" '    '
	else
		not_seen kunit "the kernel log has no results: boot with kunit.enable=1"
	fi
}

# mainline NAME: mainline's tests, with results in $work/mainline-NAME.ktap
mainline()
{
	pattern=.
	[ -z "$short" ] || pattern=$short_mainline
	run-mainline "$pattern" > "$work/mainline-$1.ktap" 2>&1
	say_ktap "mainline.$1" "$work/mainline-$1.ktap"
}

# A test that passes only without hooks is a failure of fhook.
say_mainline()
{
	progress "mainline's tests, without hooks"
	mainline unhooked
	progress "mainline's tests, with hooks"
	HOOKED=y mainline hooked
	modprobe -r fhook_user
	grep -q '^ok ' "$work/mainline-unhooked.ktap" || return 0
	lost=$(awk "$numbered"'
		FNR == 1 { split("", seen) }
		!/^(not )?ok [0-9]+/ { next }
		{
			line = $0
			sub(/^(not )?ok [0-9]+ *(- )?/, "", line)
			sub(/ # SKIP.*/, "", line)
			line = numbered(line)
		}
		FILENAME == ARGV[1] { if (/^ok / && !/# SKIP/) good[line] = 1; next }
		/^ok / && !/# SKIP/ { delete good[line] }
		END { for (test in good) n++; print n + 0 }' \
		"$work/mainline-unhooked.ktap" "$work/mainline-hooked.ktap")
	say mainline.lost "$lost tests"
}
