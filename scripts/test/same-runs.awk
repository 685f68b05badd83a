# SPDX-License-Identifier: GPL-2.0
#
# Usage: awk -v runs=N -f same-runs.awk SEEN DECODED
#
# Check the decoded calls of a program that ran N times and always makes the same calls.
# Both files have lines "TASK KIND FUNCTION", sorted by task.  SEEN has the calls of the
# first run; each run in DECODED must equal it.

FILENAME == ARGV[1] {
	threads += !($1 in seen)
	seen[$1] = seen[$1] $2 $3 "\n"
	next
}

$1 != last { order[n++] = last = $1 }

{ decoded[$1] = decoded[$1] $2 $3 "\n" }

END {
	print threads " threads, " n " in " runs " runs"
	for (i = 0; i < n; i++) {
		first = order[i % threads]
		if (decoded[order[i]] != seen[first]) {
			print "task " order[i] " did not do what was seen of " first
			wrong = 1
		}
	}
	exit wrong || n != threads * runs
}
