# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Checks of fhook-hwcheck that only hardware can answer.  Each says "passed", "failed" or "not
# seen" with the reason, so that a report never has the result of an emulator.  To be sourced.

# verdict NAME COMMAND...: passed if it succeeds
verdict()
{
	name=$1
	shift
	if "$@" > "$work/said" 2>&1; then
		say "hardware.$name" "passed"
	else
		tail -n 3 "$work/said" >&2
		say "hardware.$name" "failed"
	fi
}

# said_before KEY: the value that the report has for it
said_before()
{
	sed -n "s/^$1 = //p" "$work/report"
}

# unless_x86 NAME: say that this is another architecture
unless_x86()
{
	[ "$(uname -m)" != x86_64 ] || return 1
	not_seen "hardware.$1" "it is for x86_64, and this is $(uname -m)"
}

# Entries and returns of functions of the kernel, by hooks at once on all of them that match.
kernel_hooks()
{
	echo 'h:hwcheck/whole vfs_*%span' > "$tracing/fhook_events" || return
	echo > "$tracing/trace"
	echo 1 > "$tracing/events/hwcheck/enable"
	cat /proc/version > "$work/version"
	echo 0 > "$tracing/events/hwcheck/enable"
	records=$(grep -c 'whole: ' "$tracing/trace")
	echo > "$tracing/fhook_events"
	echo > "$tracing/trace"
	[ "$records" -gt 0 ]
}

# Where the kernel enforces landing pads, a trampoline without one ends the task here.
say_ibt()
{
	verdict kernel-hooks kernel_hooks
	! unless_x86 ibt || return 0
	if ! has_feature ibt; then
		not_seen hardware.ibt "the kernel uses no indirect branch tracking here"
	elif ! has_option X86_KERNEL_IBT; then
		not_seen hardware.ibt "this kernel is built without X86_KERNEL_IBT"
	else
		say hardware.ibt "$(said_before hardware.kernel-hooks)"
	fi
}

# program_hooks PROGRAM: run it with each kind of hook at its function "work", which checks
# itself, and with a hook of the kernel at each of its calls; exit status 4 of the program means
# that it needs something that is not here, and its last line says what.
program_hooks()
{
	path=$(command -v "$1")
	[ -n "$path" ] || {
		echo "the program $1 is not installed"
		return 4
	}
	"$path" offsets > "$work/offsets" || return
	site=$path:$(awk '$1 == "work" { print $2 }' "$work/offsets")
	handler=$path:$(awk '$1 == "handler" { print $2 }' "$work/offsets")
	"$path" work 100 || return
	handlers="user=count user=record user=$handler"
	# With these registers, only handlers without vectors are called.
	! has_feature sve || handlers="user=count user=record"
	{
		for hook in $handlers; do
			echo "$site $hook"
		done
		awk -v path="$path" '$1 ~ /^call/ { print path ":" $2 }' "$work/offsets"
	} > "$work/hooks"
	while read -r hook; do
		echo "u:hwcheck/call $hook" > "$tracing/uhook_events" || return
		[ ! -e "$tracing/events/hwcheck/call" ] ||
			echo 1 > "$tracing/events/hwcheck/call/enable"
		"$path" work 20000 > "$work/worked" 2>&1 < /dev/null
		status=$?
		cat "$work/worked" "$tracing/uhook/profile"
		all=$(awk '/^hwcheck\/call / {
			for (i = 2; i < NF; i++) if ($i ~ /^(kernel|user|jumped)$/) n += $(i + 1)
			print n + 0 }' "$tracing/uhook/profile")
		[ ! -e "$tracing/events/hwcheck/call" ] ||
			echo 0 > "$tracing/events/hwcheck/call/enable"
		echo > "$tracing/uhook_events"
		echo "$hook: $all hits, status $status"
		[ "$status" -eq 0 ] && [ "$all" -gt 0 ] || return 1
		[ "$hook" != "$site user=$handler" ] || ! grep -qx 'handled 0' "$work/worked" ||
			return 1
	done < "$work/hooks"
}

# say_program NAME PROGRAM
say_program()
{
	program_hooks "$2" > "$work/said" 2>&1
	case $? in
	0) say "hardware.$1" "passed, $("$2" kind)" ;;
	4) not_seen "hardware.$1" "$(tail -n 1 "$work/said")" ;;
	*)
		tail -n 3 "$work/said" >&2
		say "hardware.$1" "failed" ;;
	esac
}

# The widest registers that the processor has are tested.
say_vectors()
{
	say_program vectors uhook_vectors
	! unless_x86 avx512 || return 0
	widest=$(uhook_vectors kind)
	if [ "$widest" = AVX-512 ]; then
		say hardware.avx512 "$(said_before hardware.vectors)"
	else
		not_seen hardware.avx512 "this processor has $widest"
	fi
}

# say_tests NAME DESCRIPTION...: what these kselftests show, on several CPUs of hardware
say_tests()
{
	name=$1
	shift
	if [ -n "$emulated" ]; then
		not_seen "hardware.$name" "$emulated"
	elif [ "$(grep -c '^processor' /proc/cpuinfo)" -lt 2 ]; then
		not_seen "hardware.$name" "this machine has one CPU"
	elif [ -n "$short" ] || [ ! -s "$work/kselftest.ktap" ]; then
		not_seen "hardware.$name" "the kselftests that show it were not run"
	else
		for description; do
			passed "$work/kselftest.ktap" "$description" || {
				say "hardware.$name" "failed"
				return
			}
		done
		say "hardware.$name" "passed"
	fi
}

say_modified_code()
{
	set -- "fhook - every function hooked under load" \
		"uhook - probes come and go under threads" \
		"uhook jumps - they come and go in running programs"
	say_tests cross-modifying-code "$@"
	if [ "$(uname -m)" = aarch64 ]; then
		say_tests arm64-caches "$@"
	else
		not_seen hardware.arm64-caches "it is for arm64, and this is $(uname -m)"
	fi
}

say_hardware()
{
	progress "the checks that need hardware"
	say_ibt
	say_program shadow-stack uhook_shadow_stack
	say_vectors
	say_modified_code
}
