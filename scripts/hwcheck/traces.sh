# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Recordings of calls by the processor, which fhook-hwcheck compares event by event with what
# fhook's function tracer recorded at the same time.  To be sourced.

devices=/sys/bus/event_source/devices
traced="vfs_* ksys_*"
# The size of the tracer's buffer and the state of tracing_on, while both are changed.
buffer='' was_on=''

# Tasks that begin while both recorders record, each with hundreds of calls.
record_work()
{
	cat <<-'END'
		sh -c 'echo $$' > "$1/begin"
		echo 1 > "$2/tracing_on"
		for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
			cat /proc/[1-9]*/stat > "$1/null" 2>&1
			ls -l /proc/sys/fs /proc/sys/vm > "$1/null"
		done
		echo 0 > "$2/tracing_on"
	END
}

# record HOW: record the kernel by "fhook calltrace record --kernel HOW" and by the tracer.
record()
{
	how=$1
	rm -rf "$work/recording"
	set --
	set -f
	for function in $traced; do
		set -- "$@" -F "$function"
	done
	set +f
	record_work > "$work/work.sh"
	fhook calltrace record --kernel "$how" -o "$work/recording" "$@" \
		sh "$work/work.sh" "$work" "$tracing"
}

# Let the tracer have exactly the functions that calltrace takes.
choose_functions()
{
	calltrace=$tracing/fhook/calltrace
	echo "$traced" | tr '\n\t' '  ' > "$calltrace/functions" || return
	# A name that is also that of a function which is not traced is left out.
	awk '/^# / { sub(/^# /, ""); sub(/:.*/, ""); no[$0]; next }
		{ yes[$0] }
		END { for (f in yes) if (!(f in no)) print f }' \
		"$calltrace/functions" > "$work/these"
	true > "$calltrace/functions"
	[ -s "$work/these" ] || return
	was_on=$(cat "$tracing/tracing_on")
	# Before its first use, the buffer is small, and the size that it will have is in brackets.
	buffer=$(sed 's/.*expanded: //; s/[ )].*//' "$tracing/buffer_size_kb")
	echo 0 > "$tracing/tracing_on"
	echo > "$tracing/trace"
	echo 40000 > "$tracing/buffer_size_kb"
	cat "$work/these" > "$tracing/set_fhook_filter" && echo fhook > "$tracing/current_tracer"
}

# Restore whatever choose_functions has changed, also after an interruption.
restore_tracer()
{
	functions=$tracing/fhook/calltrace/functions
	[ ! -e "$functions" ] || true > "$functions"
	[ -n "$buffer" ] || return 0
	echo nop > "$tracing/current_tracer"
	echo > "$tracing/set_fhook_filter"
	echo "$buffer" > "$tracing/buffer_size_kb"
	echo "$was_on" > "$tracing/tracing_on"
	echo > "$tracing/trace"
	buffer=
}

tracer_off()
{
	echo 0 > "$tracing/tracing_on"
	cat "$tracing/trace" > "$work/trace"
	restore_tracer
}

# compare_recordings: prints how many entries are the same
compare_recordings()
{
	fhook calltrace print --events "$work/recording" | awk -F '\t' '/^task / {
		sub(/^task /, "", $1)
		if ($2 == "entry" || $2 == "gap") print $1, $2, $3 }' > "$work/decoded"
	sed -n 's/^.\{16\}-\([0-9]*\) .*: \([^ ]*\) <-.*/\1 \2/p' "$work/trace" > "$work/calls"
	awk -v begin="$(cat "$work/begin")" -v least=1000 \
		-f "$here/same-calls.awk" "$work/decoded" "$work/calls"
}

# compared KEY HOW: compare a recording of the kernel, or say why there is none
compared()
{
	if ! command -v fhook > /dev/null; then
		not_seen "$1" "the command fhook is not installed"
		return
	fi
	if [ ! -e "$tracing/fhook/calltrace/functions" ]; then
		not_seen "$1" "this kernel is built without FHOOK_CALLTRACE"
		return
	fi
	choose_functions > "$work/said" 2>&1 && record "$2" >> "$work/said" 2>&1
	recorded=$?
	tracer_off 2>> "$work/said"
	if [ "$recorded" -ne 0 ]; then
		tail -n 3 "$work/said" >&2
		say "$1" "failed: nothing was recorded"
	elif said=$(compare_recordings); then
		say "$1" "passed: $(echo "$said" | tail -n 1)"
	else
		echo "$said" >&2
		say "$1" "failed: $(echo "$said" | tail -n 1)"
	fi
}

say_intel_pt()
{
	if [ ! -d "$devices/intel_pt" ]; then
		not_seen recording.intel-pt "perf offers no Intel PT here"
	else
		compared recording.intel-pt --hardware
	fi
}

say_etm()
{
	if [ -d "$devices/cs_etm" ]; then
		not_seen recording.etm "fhook does not import perf's recordings of ETM"
	else
		not_seen recording.etm "perf offers no ETM here"
	fi
}

# The record by events shows on every machine that comparing works.
say_recording()
{
	progress "recordings of calls"
	compared recording.software --software
	say_intel_pt
	say_etm
}
