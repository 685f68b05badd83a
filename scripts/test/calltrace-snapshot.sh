# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# What the tests of snapshots and of running processes share: a program with libfhook-record
# and its recording. Sourced.

cs_fhook=$host/fhook/fhook
cs_dir=$scratch/snapshot

cs_make()
{
	build_tools && mkdir -p "$cs_dir" &&
		gcc -O1 -Wall -finstrument-functions -pthread -rdynamic -o "$cs_dir/program" \
			"$top/selftests/calltrace/programs/snapshot.c" "$host/fhook/libfhook-record.a"
}

# cs_entries FUNCTION NUMBER: so many of its entries are recorded.
cs_entries()
{
	cs_count=$("$cs_fhook" calltrace print --events "$cs_dir/rec" |
		grep -c "	entry	$1\(	\|$\)") || :
	echo "$1: $cs_count"
	[ "$cs_count" -eq "$2" ]
}

cs_ended_at()
{
	grep -qxF "fhook: The recording has ended at $1." "$cs_dir/err"
}

# cs_until_true COMMAND...: within 20 seconds
cs_until_true()
{
	cs_tries=0
	until "$@" 2> /dev/null; do
		cs_tries=$((cs_tries + 1))
		[ "$cs_tries" -lt 200 ] || return
		sleep .1
	done
}

# cs_refuses SENTENCE ARGUMENT...: nothing is recorded or run.
cs_refuses()
{
	cs_text=$1
	shift
	rm -rf "$cs_dir"/rec*
	! "$cs_fhook" calltrace record -o "$cs_dir/rec" "$@" \
		> "$cs_dir/out" 2> "$cs_dir/err" || return
	cat "$cs_dir/out" "$cs_dir/err"
	grep -qF "$cs_text" "$cs_dir/err" && [ ! -e "$cs_dir/rec" ] && ! grep 'the end' "$cs_dir/out"
}
