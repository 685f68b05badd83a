#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: rivals.sh TOOLS DIR [TOOL...]
#
# Record the same small programs by fhook, uftrace and perf, or only by the named ones, and print
# for each case what is wanted and what each of them does, with tabs between: the table of
# calltrace.rst. fhook rewrites the programs and records by QEMU's plugin. uftrace patches them
# when they start, unless they were compiled with -pg. perf puts a probe on each function, which
# needs root. A dash means that the tool cannot be run here.
set -eu

. "$(dirname "$0")/test_lib.sh"
[ $# -ge 3 ] || set -- "$@" fhook uftrace perf
shift 2
rivals=$*
group=fhook_rivals
# perf copies the programs to the home directory.
export HOME="$PWD"

# No probe stays.
remove_probes()
{
	perf probe -q -d "$group:*" > probe.said 2>&1 || :
}
trap remove_probes EXIT

# Each of these prints names, one for each call that is recorded of PROGRAM; the names of the
# case are in $names.
calls_fhook()
{
	set --
	for name in $names; do
		set -- "$@" -F "$name"
	done
	[ "$names" != '*' ] || set -- -F '*'
	rm -rf recording recording-* traced
	$fhook rewrite --skip "$@" -o traced "$program" > said 2>&1 || return 0
	$fhook record --plugin -o recording ./traced > out 2>&1 || :
	$fhook print --events --children recording 2> said | awk -F '\t' '$2 == "entry" { print $3 }'
}

calls_uftrace()
{
	set --
	for name in $names; do
		set -- "$@" -P "^$name\$"
	done
	[ "$names" != '*' ] || set -- -P .
	case $program in
	*-pg) set -- ;;
	esac
	rm -rf recording
	uftrace record --no-libcall -d recording "$@" "./$program" > out 2>&1 || :
	uftrace replay -d recording -f none --no-libcall 2> said |
		sed -n 's/^ *\([^ }/][^(]*\)().*/\1/p'
}

add_probes()
{
	remove_probes
	for name in $names; do
		perf probe -q -x "$program" -a "$group:$(echo "$name" | tr -c 'a-z\n' _)=$name" \
			> probe.said 2>&1 || :
	done
}

calls_perf()
{
	add_probes
	rm -f perf.data
	perf record -q -g -o perf.data -e "$group:*" "./$program" > out 2>&1 || :
	perf script -i perf.data -G -F event 2> said | sed "s/ *$group:\([a-z_]*\):.*/\1/"
}

has()
{
	case $1 in
	fhook) qemu-x86_64 --help | grep -q -e -plugin ;;
	uftrace) uftrace --version > said 2>&1 ;;
	perf) [ -w /sys/kernel/tracing/uprobe_events ] && perf --version > said 2>&1 ;;
	esac
}

# cells COMMAND...: what COMMAND_fhook, COMMAND_uftrace and COMMAND_perf print.
cells()
{
	cells_of=$1
	shift
	for rival in $rivals; do
		if has "$rival"; then
			printf '\t%s' "$("${cells_of}_$rival" "$@")"
		else
			printf '\t-'
		fi
	done
	echo
}

# row CASE WANTED PROGRAM NAMES [SHOWN]: how many calls of the functions are recorded, which have
# other names in the recording if SHOWN gives them.
row()
{
	printf '%s\t%s' "$1" "$2"
	program=$3 names=$4 shown=${5:-$(echo "$4" | tr ' ' '|')}
	cells counted
}

counted_fhook()
{
	calls_fhook | grep -cxE "$shown" || :
}

counted_uftrace()
{
	calls_uftrace | grep -cxE "$shown" || :
}

counted_perf()
{
	calls_perf | grep -cxE "$shown" || :
}

# Calls of a program that runs already, and goes on when it gets a line.
running_fhook()
{
	# Only a kernel with fhook does this, which the others do not need.
	echo 0
}

running_uftrace()
{
	# Its option --pid is about programs that it has started.
	uftrace record --help 2>&1 | grep -q 'pid=PID .*of an interactive' && echo 0
}

running_perf()
{
	program=waits names='work twice'
	add_probes
	rm -f line perf.data
	mkfifo line
	./waits < line > out &
	exec 3> line
	perf record -q -o perf.data -e "$group:*" -p "$!" > said 2>&1 &
	while [ ! -s perf.data ]; do
		sleep 1
	done
	sleep 1
	echo >&3
	exec 3>&-
	wait
	perf script -i perf.data -F event 2> said | grep -c "$group:" || :
}

# Two programs, of which the second makes one call more.
# both: record the first one in "old", then the second.
both()
{
	names='work twice' program=calls
	"calls_$rival" > out
	rm -rf old
	mv "$1" old
	program="more"
	"calls_$rival" > out
}

differ_fhook()
{
	both recording
	$fhook diff old recording > said || :
	grep -q '^@ thread .*, event 12, in work' said && echo place || echo no
}

differ_uftrace()
{
	both recording
	uftrace report -d old --diff recording --diff-policy full --no-libcall > out 2> said
	grep -qE ' 5 +6 +\+1 +twice' out && echo numbers || echo no
}

differ_perf()
{
	both perf.data
	perf diff old perf.data > out 2> said
	grep -qE '[0-9]%.* twice' out && echo shares || echo no
}

# Bytes of each of the entries and exits of a function, of which it has 43782; perf has only
# the entries.
bytes_fhook()
{
	program=large names=twice
	calls_fhook > out
	cat recording/*.trace | wc -c | awk '{ printf "%.1f\n", $1 / 43782 }'
}

bytes_uftrace()
{
	program=large names=twice
	calls_uftrace > out
	cat recording/[0-9]*.dat | wc -c | awk '{ printf "%.1f\n", $1 / 43782 }'
}

bytes_perf()
{
	program=large names=twice
	add_probes
	perf record -q -o perf.data -e "$group:*" ./large > out 2> said || :
	wc -c < perf.data | awk '{ printf "%.1f\n", $1 / 21891 }'
}

# output_TOOL FORMAT: has a recording an output that looks like this format?
output_fhook()
{
	case $1 in
	chrome) set -- --json traceEvents ;;
	flame) set -- --folded 'work;twice;twice [0-9]' ;;
	dot) set -- --dot '^digraph' ;;
	callgrind) set -- --callgrind '^fn=' ;;
	esac
	program=calls names='work twice'
	calls_fhook > out
	$fhook print "$1" recording > out 2> said
	grep -q -e "$2" out && echo yes || echo no
}

output_uftrace()
{
	case $1 in
	chrome) set -- --chrome traceEvents ;;
	flame) set -- --flame-graph 'work;twice [0-9]' ;;
	dot) set -- --graphviz '^digraph' ;;
	callgrind) set -- --callgrind '^fn=' ;;
	esac
	program=calls names='work twice'
	calls_uftrace > out
	# Flame graphs have samples, of which a short call may have none.
	uftrace dump -d recording --sample-time=10ns "$1" > out 2> said || :
	grep -q -e "$2" out && echo yes || echo no
}

# It has no options for the others.
output_perf()
{
	program=calls names='work twice'
	calls_perf > out
	case $1 in
	chrome) perf data -i perf.data convert --to-json out.json > said 2>&1 || :
		grep -q traceEvents out.json && echo yes || echo no ;;
	flame) perf report -i perf.data --stdio --no-children -g folded,caller > out 2> said || :
		grep -q 'work;twice' out && echo yes || echo no ;;
	*) echo no ;;
	esac
}

cat > calls.c <<-'END'
	#include <stdio.h>
	__attribute__((noinline)) int twice(int n)
	{
	        return n < 2 ? n : twice(n - 1) + twice(n - 2);
	}
	__attribute__((noinline)) int work(int n) { return twice(n) + 1; }
	#ifndef MAIN
	int main(void) { return !printf("%d\n", work(3)); }
	#endif
END
{
	echo '#define MAIN'
	cat calls.c
} > part.h
cat > threads.c <<-'END'
	#include <pthread.h>
	#include "part.h"
	static void *thread(void *arg) { return (void *)(long)work(3); }
	int main(void)
	{
	        pthread_t threads[4];
	        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, NULL);
	        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	}
END
cat > fork.c <<-'END'
	#include <sys/wait.h>
	#include <unistd.h>
	#include "part.h"
	int main(void) { fork(); work(3); wait(NULL); }
END
cat > killed.c <<-'END'
	#include <signal.h>
	#include "part.h"
	int main(void) { work(3); raise(SIGKILL); }
END
cat > waits.c <<-'END'
	#include "part.h"
	int main(void) { getchar(); work(3); }
END
cat > throws.cc <<-'END'
	extern "C" {
	void leaf(void) { throw 1; }
	void middle(void) { leaf(); }
	void after(void) { }
	void outer(void) { try { middle(); } catch (int) { } after(); }
	}
	int main(void) { outer(); }
END
cat > fib.go <<-'END'
	package main
	func twice(n int) int { if n < 2 { return n }; return twice(n-1) + twice(n-2) }
	func main() { println(twice(3)) }
END
gcc -O0 -o calls calls.c
strip -o calls-stripped calls
gcc -O0 -pg -o calls-pg calls.c
gcc -O0 -static -o calls-static calls.c
gcc -O0 -pthread -o threads threads.c
gcc -O0 -o fork fork.c
gcc -O0 -o killed killed.c
gcc -O0 -o waits waits.c
sed 's/twice(n) + 1/twice(n) + twice(0)/' calls.c > more.c
gcc -O0 -o more more.c
sed 's/work(3)/twice(20)/' calls.c > large.c
gcc -O0 -o large large.c
g++ -O0 -o throws throws.cc
CGO_ENABLED=0 GO111MODULE=off go build -ldflags -s -o go-stripped fib.go

# Functions of a stripped program are known by their addresses.
stripped=$(nm calls | sed -n 's/^0*\([0-9a-f]*\) T \(work\|twice\)$/func_\1/p' | paste -s -d '|')

row "calls, compiled with -O0" 6 calls 'work twice'
row "calls, compiled with -pg" 6 calls-pg 'work twice'
row "calls, linked statically" 6 calls-static 'work twice'
row "calls, stripped" 6 calls-stripped '*' "work|twice|$stripped"
row "calls, in Go and stripped" 5 go-stripped main.twice
row "calls, in four threads" 24 threads 'work twice'
row "calls, in two processes" 12 fork 'work twice'
row "calls, before a signal kills" 6 killed 'work twice'
row "calls, with an exception" 4 throws 'leaf middle after outer'
printf 'calls, after the program has begun\t6'
cells running
printf 'bytes of an entry or exit\tfew'
cells bytes
printf 'difference of two programs\tplace'
cells differ
printf 'trace for Chrome and Perfetto\tyes'
cells output chrome
printf 'stacks for flame graphs\tyes'
cells output flame
printf 'call graph for graphviz\tyes'
cells output dot
printf 'profile for KCachegrind\tyes'
cells output callgrind
