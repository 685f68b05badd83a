# SPDX-License-Identifier: GPL-2.0
#
# Usage: awk -f transcript.awk SOURCE
#
# A sample's opening comment has a session with it: after a tab, commands
# ("# command"), each followed by its output.  Run these commands, and fail
# at the first that prints something else: those after it count on it.  No
# difference is
# - one number for another, hexadecimal or not, unless one of them is 0:
#   addresses, sizes, process IDs and times are others each time
# - how many blanks there are, which columns of numbers depend on
# - this kernel's command line, where the session has "console=" and more
# - anything in place of "...": in a line part of it, alone any number of lines

BEGIN {
	getline cmdline < "/proc/cmdline"
}

/^ \*\// {
	exit
}

!sub(/^ \*\t/, "") {
	here = 0
	next
}

sub(/^# /, "") {
	command[++commands] = $0
	wants[commands] = 0
	here = 1
	next
}

here {
	wanted[commands, ++wants[commands]] = /^console=/ ? cmdline : $0
}

function normal(line,	out, word)
{
	while (match(line, /[0-9A-Za-z_]+/)) {
		word = substr(line, RSTART, RLENGTH)
		if (word ~ /^[0-9]+$/ && word != "0")
			word = "N"
		else if (word ~ /^0x[0-9a-f]+$/ && word != "0x0")
			word = "0xN"
		out = out substr(line, 1, RSTART - 1) word
		line = substr(line, RSTART + RLENGTH)
	}
	out = out line
	gsub(/[ \t]+/, " ", out)
	sub(/^ /, "", out)
	sub(/ $/, "", out)
	return out
}

function same_line(want, line,	part, n, i, at)
{
	want = normal(want)
	line = normal(line)
	n = split(want, part, /\.\.\./)
	if (n < 2)
		return want == line
	if (index(line, part[1]) != 1 && part[1] != "")
		return 0
	line = substr(line, length(part[1]) + 1)
	for (i = 2; i < n; i++) {
		at = index(line, part[i])
		if (part[i] != "" && !at)
			return 0
		line = substr(line, at + length(part[i]))
	}
	at = length(line) - length(part[n])
	return at >= 0 && substr(line, at + 1) == part[n]
}

# Is the output of command c, from line l on, the expected one from w on?
function same(c, w, l)
{
	if (w > wants[c])
		return l > lines
	if (wanted[c, w] == "...")
		return same(c, w + 1, l) || l <= lines && same(c, w, l + 1)
	return l <= lines && same_line(wanted[c, w], printed[l]) &&
		same(c, w + 1, l + 1)
}

END {
	if (!commands) {
		print "There is no session in " FILENAME "."
		exit 1
	}
	for (c = 1; c <= commands; c++) {
		print "# " command[c]
		run = "{ " command[c] "; } 2>&1 < /dev/null"
		lines = 0
		while ((run | getline line) > 0) {
			printed[++lines] = line
			print line
		}
		close(run)
		if (same(c, 1, 1))
			continue
		print "That is not the transcript in " FILENAME ", which has:"
		for (w = 1; w <= wants[c]; w++)
			print wanted[c, w]
		exit 1
	}
}
