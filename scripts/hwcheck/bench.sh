# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# The benchmark, as fhook-hwcheck reports it: instructions and cycles by the processor's
# counters, and nanoseconds.  To be sourced.

parameters=/sys/module/fhook/parameters

# The benchmark changes these, and leaves the first two changed.
keep_settings()
{
	for file in "$parameters/kprobes" "$parameters/fprobes" "$tracing/uhook/boost"; do
		[ ! -e "$file" ] || echo "$file $(cat "$file")"
	done > "$work/settings"
}

restore_settings()
{
	[ -e "$work/settings" ] || return 0
	while read -r file value; do
		echo "$value" > "$file"
	done < "$work/settings"
	rm "$work/settings"
}

# say_rows FILE: rows "BENCH CASE UNIT MAINLINE FHOOK", as "bench.UNIT.SIDE.CASE"
say_rows()
{
	sed -n 's/.*BENCH\t//p' "$1" | tr -d '\r' |
	while IFS='	' read -r case unit mainline fhook; do
		for side in mainline fhook; do
			value=$mainline
			[ "$side" = mainline ] || value=$fhook
			case $value in
			'' | *[!0-9.]*) continue ;;
			esac
			name=$unit
			if [ "$unit" = ps ]; then
				name=ns
				value=$(awk -v ps="$value" 'BEGIN { printf "%.1f\n", ps / 1000 }')
			fi
			say "bench.$name.$side.$case" "$value $name"
		done
	done
}

# One run of the benchmark.  The memory that hooks need is in its rows, and is said once.
measure()
{
	mark
	if run-bench "$1" > "$work/bench" 2>&1; then
		since_mark > "$work/rows"
		[ "$1" = ps ] || sed -i '/\tbytes\t/d' "$work/rows"
		if grep -q BENCH "$work/rows"; then
			say "bench.$1" "measured"
			say_rows "$work/rows"
		else
			say "bench.$1" "failed: the kernel log does not have the figures any more"
		fi
	elif since_mark | grep -q "counter of $1 cannot be used"; then
		not_seen "bench.$1" "the processor's counter of $1 cannot be used here"
	elif ! modinfo -n fhook_bench > /dev/null 2>&1; then
		not_seen "bench.$1" "there is no module fhook_bench for this kernel"
	else
		tail -n 3 "$work/bench" >&2
		say "bench.$1" "failed"
	fi
	! grep -q '^fhook_bench ' /proc/modules || modprobe -r fhook_bench
}

say_bench()
{
	if [ -n "$short" ]; then
		not_seen bench "it is left out of a short run"
		return
	fi
	keep_settings
	for count in instructions cycles ps; do
		progress "the benchmark, $count"
		measure "$count"
	done
	restore_settings
}
