# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Functions shared by the benchmarks of the call trace: to run and record programs, and to
# write a row. Sourced, never run, by scripts with three arguments: the directories where
# tools/fhook is built, of the programs here, and of the benchmark.
#
# A program of the benchmark is a NAME (fib, minigzip, sqlite or python) and a VARIANT,
# which says how it was built and by which compiler; it is DIR/NAME-VARIANT. Programs
# built by Debian count as gcc's. bench_build.sh builds them all.
#
# A row is the case, the unit, the rival's figure and ours, with tabs between them. A
# line that begins with # is a remark, to be printed below the rows.

# shellcheck disable=SC2034	# not all of them need all
tools=$1 tests=$2 dir=$3

# N of fib(N) in recordings.
fib_recorded=27

# run NAME VARIANT PREFIX...: run the program, in the same environment each time, because
# the loader's work is part of a branch trace.
run()
{
	run_name=$1 run_file=$dir/$1-$2
	shift 2
	case $run_name in
	fib) set -- "$@" "$run_file" $fib_recorded ;;
	minigzip) set -- "$@" "$run_file" ;;
	sqlite) set -- "LD_LIBRARY_PATH=$run_file" "$@" \
		sqlite3 -batch -init "$dir/work.sql" :memory: .exit ;;
	python) set -- PYTHONHASHSEED=0 "$@" "$run_file" -S -B "$dir/work.py" ;;
	esac
	env -i "PATH=$PATH" "$@" < "$dir/text"
}

# rewritten NAME VARIANT PLAIN OPTION...: of the program's variant PLAIN, with stubs in
# the functions that the options say.
rewritten()
{
	rewritten_name=$1 rewritten_variant=$2
	rewritten_to=$dir/$1-$2 rewritten_from=$dir/$1-$3
	shift 3
	# A library's map is not the program's.
	if [ "$rewritten_name" = sqlite ]; then
		mkdir -p "$rewritten_to"
		rewritten_to=$rewritten_to/libsqlite3.so.0
		rewritten_from=$rewritten_from/libsqlite3.so.0
	fi
	"$tools/fhook-rewrite" --skip "$@" -o "$rewritten_to" "$rewritten_from" \
		2> "$dir/said" || { tail -n 1 "$dir/said" >&2; return 1; }
	[ "$rewritten_name" != sqlite ] ||
		"$tools/fhook" calltrace map "$rewritten_to" > "$dir/sqlite-$rewritten_variant/map"
}

# words PROFILE: how rows call it.
words()
{
	case $1 in
	no-target) echo "without target" ;;
	target) echo "with target" ;;
	cycles) echo "with cycles" ;;
	esac
}

recording_of()
{
	echo "$dir/recordings/$1-$2-$3"
}

# record NAME VARIANT PROFILE: by the plugin, unless it was done before.
record()
{
	record_out=$(recording_of "$@")
	[ ! -e "$record_out/info" ] || return 0
	mkdir -p "$dir/recordings"
	record_name=$1 record_variant=$2
	set -- "$tools/fhook" calltrace record --plugin -p "$3" -o "$record_out"
	[ "$record_name" != sqlite ] || set -- "$@" -m "$dir/sqlite-$record_variant/map"
	[ "${record_variant%-arm64}" = "$record_variant" ] ||
		set -- QEMU_LD_PREFIX=/usr/aarch64-linux-gnu "$@"
	run "$record_name" "$record_variant" "$@" > "$dir/said" 2>&1 ||
		{ tail -n 3 "$dir/said" >&2; return 1; }
}

# summary NAME VARIANT PROFILE WORDS: this number of the recording's summary.
summary()
{
	"$tools/fhook" calltrace print --summary "$(recording_of "$1" "$2" "$3")" |
		sed -n "s/^$4 \([0-9.]*\)\$/\1/p"
}

# whole NAME VARIANT PROFILE: fail if something is missing in the recording.
whole()
{
	for whole_words in gaps "bytes lost" "addresses of no stub"; do
		[ "$(summary "$@" "$whole_words")" = 0 ] || {
			echo "the recording of $1-$2 ($3) has $whole_words." >&2
			return 1
		}
	done
}

trace_bytes()
{
	cat "$(recording_of "$@")"/*.trace | wc -c
}

# fib_events N: of fib(N); each call has two.
fib_events()
{
	awk -v n="$1" 'BEGIN { a = 1; b = 1
		for (i = 1; i <= n; i++) { c = a + b + 1; a = b; b = c }
		print 2 * a }'
}

# row CASE UNIT RIVAL OURS
row()
{
	printf '%s\t%s\t%s\t%s\n' "$@"
}

# middle FILE: of the numbers in it, the median, and where the middle half begins and ends.
middle()
{
	sort -g "$1" | awk '{ value[NR] = $1 } END { printf "%.2f %.2f %.2f\n",
		value[int((NR + 1) / 2)], value[int((NR + 3) / 4)], value[int((3 * NR + 3) / 4)] }'
}

# measured CASE UNIT RIVAL OURS: medians of files of numbers; the middle half of ours is
# in the unit. RIVAL may be -.
measured()
{
	measured_case=$1 measured_unit=$2 measured_rival=-
	[ "$3" = - ] || measured_rival=$(middle "$3" | cut -d ' ' -f 1)
	middle "$4" | {
		read -r median from to
		row "$measured_case" "$measured_unit ($from..$to)" "$measured_rival" "$median"
	}
}

# lacks PACKAGE WHAT COMMAND...: if COMMAND fails, true, and a sentence that WHAT is not
# measured.
lacks()
{
	lacks_package=$1 lacks_what=$2
	shift 2
	! "$@" > "$dir/said" 2>&1 || return 1
	echo "# calltrace: $lacks_what: not measured, for want of the Debian package $lacks_package."
}
