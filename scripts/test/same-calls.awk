# SPDX-License-Identifier: GPL-2.0
#
# Usage: awk -v begin=TASK [-v least=CALLS] -f same-calls.awk DECODED TRACER
#
# Check that the decoder and a tracer saw the same calls.  DECODED has lines "TASK entry
# FUNCTION" and "TASK gap WHY", TRACER has lines "TASK FUNCTION".  For tasks above BEGIN,
# DECODED must begin with all calls of TRACER, without a gap.  They must be 50,000 calls, or
# CALLS, of 20 tasks.

# The next earlier call of the tracer, if it equals the decoded one.
function put_back(task, next_one)
{
	while (held[task] && decoded[task, at[task] + 1] == first(task) &&
	       decoded[task, at[task] + 1] != next_one) {
		sub(/^[^ ]* /, "", list[task])
		held[task]--
		at[task]++
	}
}

function first(task)
{
	return substr(list[task], 1, index(list[task], " ") - 1)
}

NR == FNR {
	if ($2 != "gap") {
		decoded[$1, ++have[$1]] = $3
	} else if ($1 > begin) {
		bad[$1] = 1
		tasks[$1] = 1
		print "task " $1 " has a gap: " substr($0, length($1) + 6)
	}
	next
}

$1 <= begin || ($1 in bad) { next }

{ tasks[$1] = 1 }

{
	put_back($1, $2)
	if (decoded[$1, at[$1] + 1] == $2) {
		at[$1]++
		same++
	} else if (held[$1] < 3) {
		list[$1] = list[$1] $2 " "
		held[$1]++
		moved++
	} else {
		bad[$1] = 1
		print "task " $1 ", entry " at[$1] + 1 ": " $2 ", not " decoded[$1, at[$1] + 1]
	}
}

END {
	for (t in tasks) {
		n++
		wrong += t in bad
	}
	print n " tasks, " same + 0 " entries in the same order, " moved + 0 \
		" of both sides of an interrupt, " wrong + 0 " tasks differ"
	exit wrong || n < 20 || same < (least ? least : 50000) || moved * 1000 > same
}
