# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The session of "make demo", run in the guest.  "run" prints a command as if
# it had been typed, then its output.  With an argument, the titles are in colour.

bold='' cyan='' plain=''
[ -z "${1:-}" ] || { bold='\033[1m' cyan='\033[36m' plain='\033[0m'; }

# bash prints the error of a failed write, dash only that it failed.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"

PATH=$PATH:/selftests/fhook
status=0
run()
{
	printf "$bold# %s$plain\n" "$1"
	eval "$1" 2>&1 || status=1
	echo
}

title()
{
	printf "$cyan%s$plain\n" "$1"
}

title "The command fhook hooks functions while something runs; nothing is left afterwards:"
run "fhook count 'vfs_*' -- cat /etc/hosts"
run "fhook time vfs_read vfs_write -- cat /etc/hosts"
# shellcheck disable=SC2016
run "fhook trace 'do_sys_openat2(file=+0(\$arg2):ustring)' -- cat /etc/hosts"
run "fhook count -p bash 'execute_*' -- bash -c 'for i in 1 2 3; do :; done'"

title "A typo gets a sentence:"
run "! fhook count vfs_raed"

title "The same by hand: hook vfs_read, and all functions that match a glob:"
run "cd /sys/kernel/tracing"
# The single-quoted text is printed as typed.
# shellcheck disable=SC2016
run "echo 'h:reads vfs_read count=\$arg3' > fhook_events"
# shellcheck disable=SC2016
run "echo 'h:opens do_sys_open* file=+0(\$arg2):ustring' >> fhook_events"
run "echo 1 > events/fhooks/enable"
run "cat /etc/passwd > /dev/null; head -24 trace"

title "A typo gets an error sentence and a caret:"
run "echo 'h:bad vfs_raed' >> fhook_events; tail -3 error_log"

title "These are ordinary trace events; triggers and histograms work on them:"
run "echo 'hist:keys=common_pid' > events/fhooks/reads/trigger; cat events/fhooks/reads/hist"

title "Whole calls, with return value and duration in nanoseconds:"
# shellcheck disable=SC2016
run "echo 'h:took vfs_read%span got=\$retval:s64' >> fhook_events"
run "echo 'hist:keys=duration.log2' > events/fhooks/took/trigger"
run "cat /etc/passwd > /dev/null; cat events/fhooks/took/hist"

title "A module hooks a function through the API:"
run "dmesg -c > /dev/null; modprobe fhook-sample; dmesg"

title "ftrace on the same function, at the same time:"
run "echo vfs_read > set_ftrace_filter; echo function > current_tracer"
run "cat fhook/enabled_functions fhook/stat"

title "Count calls of a function in a program, without an exception after the first hit:"
# The offset of a symbol in the file, which any tool for ELF files can find.  This shell
# does not call the function between two readings of the counts.
function=$(uhook_entries /bin/bash evalexp)
run "echo 'u:sums /bin/bash:$function user=count' > uhook_events"
# jumped: run bash; were all of its hits jumps, except the first?
counts()
{
	awk '$1 == "uhooks/sums" { print $5, $7 }' uhook/profile
}
jumped()
{
	before=$(counts)
	run "bash -c 'for ((i = 0; i < 5000; i++)); do :; done'"
	run "tail -1 uhook/profile"
	after=$(counts)
	[ $((${after% *} - ${before% *})) -lt 10 ] && [ $((${after#* } - ${before#* })) -gt 10000 ]
}
# The addresses of a process are random, and so are the possible targets of a jump over a
# short instruction.
tries=4
until jumped; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || {
		echo "The program's hits took exceptions, which is a mistake."
		status=1
		break
	}
	echo "That process has a mapping at the target of the jump; try another one:"
done

title "Replace a function of the running kernel, and restore it:"
run "cat /proc/cmdline"
run "modprobe fhook-redirect"
run "cat /proc/cmdline"
run "cat fhook/redirects"
grep -q redirected /proc/cmdline || {
	echo "It was not replaced, which is a mistake."
	status=1
}
run "echo 0 > /sys/module/fhook_redirect/parameters/on; cat /proc/cmdline"
! grep -q redirected /proc/cmdline || {
	echo "It is still replaced, which is a mistake."
	status=1
}

# Did all hooks exist, and were they hit?
for hook in fhooks/reads fhooks/opens fhook_sample; do
	awk -v h="$hook" '$1 == h && $3 > 0 { hit = 1 } END { exit !hit }' fhook/stat || {
		echo "$hook was not hit, which is a mistake."
		status=1
	}
done
exit "$status"
