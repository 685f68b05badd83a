# SPDX-License-Identifier: GPL-2.0
#
# Usage: awk -v runs=N -f same-runs.awk SEEN DECODED
#
# Both have lines "TASK KIND FUNCTION", by tasks, of threads of a program that always does
# the same. It was run so often; SEEN has the first time. Each must have been decoded so.

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
