# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
#
# The report of fhook-hwcheck: lines "KEY = VALUE", in $work/report until it is complete.  A
# key is a name with dots, and the last part of it may have spaces.  scripts/bench/hwcheck-table
# reads it.  To be sourced; the caller sets $work to a directory of its own.

report_version=1

# say KEY VALUE: one line of the report
say()
{
	printf '%s = %s\n' "$1" "$2" | tr '\t' ' ' | tr -cd ' -~\n' | cut -c 1-400 >> "$work/report"
}

# not_seen NAME REASON: a part or check that could not be done
not_seen()
{
	say "$1" "not seen: $2"
}

# progress TEXT: a line for the person at the terminal, not for the report
progress()
{
	echo "fhook-hwcheck: $*" >&2
}

# Common names, which are not removed from reports, and words without which hwcheck-table refuses
# a report
words=" root fhook linux debian localhost none user test tests kernel \
hwcheck full complete passed failed skipped instructions cycles bytes exceptions "

# names: the names of this machine and of its users, and addresses, one a line
names()
{
	uname -n
	hostname 2> /dev/null
	printf '%s\n' "${SUDO_USER:-}" "${LOGNAME:-}" "${USER:-}"
	awk -F: '$3 >= 1000 && $3 < 60000 { print $1 }' /etc/passwd
	cat /etc/machine-id /sys/class/dmi/id/*serial /sys/class/net/*/address 2> /dev/null
}

# The report without names, which it should not have anyway. A name of one or two letters is left,
# and one that is a word of reports. Keys are left, too, except descriptions of tests.
without_names()
{
	names | LC_ALL=C sort -u | awk -v words="$words" '
		FILENAME == "-" {
			if (length($0) > 2 && !index(words, " " $0 " "))
				name[$0] = 1
			next
		}
		{
			start = index($0, " = ")
			if (at = index(substr($0, 1, start), ".test."))
				start = at + 5
			key = substr($0, 1, start)
			text = substr($0, start + 1)
			for (n in name)
				while (at = whole(text, n))
					text = substr(text, 1, at - 1) "-" \
						substr(text, at + length(n))
			print key text
		}
		function whole(text, word, from, at) {
			from = 1
			while (at = index(substr(text, from), word)) {
				at += from - 1
				if (substr(" " text, at, 1) !~ /[A-Za-z0-9_]/ &&
				    substr(text, at + length(word), 1) !~ /[A-Za-z0-9_]/)
					return at
				from = at + 1
			}
			return 0
		}' - "$work/report"
}
