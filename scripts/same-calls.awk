# SPDX-License-Identifier: GPL-2.0
#
# Usage: awk -v begin=TASK -f same-calls.awk DECODED TRACER
#
# DECODED has lines "TASK entry FUNCTION" and "TASK gap WHY", TRACER "TASK FUNCTION".
# Of tasks above BEGIN, what TRACER has must be what DECODED begins with.

# The next of what the tracer had earlier, if that is what was decoded now.
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
	if ($2 == "gap") {
		unsure[$1] = 1
	} else {
		decoded[$1, ++have[$1]] = $3
		count[$1, $3]++
	}
	next
}

$1 <= begin || ($1 in bad) { next }

{ tasks[$1] = 1 }

$1 in unsure {
	if (count[$1, $2]-- <= 0) {
		bad[$1] = 1
		print "task " $1 " has " $2 " once more than was decoded"
	}
	next
}

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
		unordered += t in unsure
	}
	print n " tasks, " same + 0 " entries in the same order, " moved + 0 \
		" of both sides of an interrupt, " unordered + 0 " tasks in any order, " \
		wrong + 0 " tasks differ"
	exit wrong || n < 20 || same < 50000 || moved * 1000 > same || unordered * 4 > n
}
