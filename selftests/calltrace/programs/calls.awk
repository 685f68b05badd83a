# SPDX-License-Identifier: GPL-2.0
#
# From the lines of a record (THREAD KIND FUNCTION [TARGET]) to what was called, with
# its depth: the same for each way to record it. What is on top of a function that is
# left, or that control comes back to, is left as well. One line a thread, sorted by
# the caller, for the numbers of threads mean nothing.
function leave(t) {
	calls[t] = calls[t] " <" depth[t] ":" stack[t, depth[t]]
	depth[t]--
}
# Is the function on the stack?
function is_open(t, f,   i) {
	for (i = depth[t]; i > 0; i--)
		if (stack[t, i] == f)
			return 1
	return 0
}
function drop_above(t, f) {
	if (!is_open(t, f)) {
		calls[t] = calls[t] " STRAY:" f
		return 0
	}
	while (stack[t, depth[t]] != f)
		leave(t)
	return 1
}
# What had ended in a tail call ends with what it went to.
function leave_tails(t) {
	while (depth[t] && tail[t, depth[t]])
		leave(t)
}
# First the map, for a tail to what has no entry is an exit.
FNR == NR {
	if ($4 == "entry")
		has_entry[$6] = 1
	next
}
skip != "" && $3 ~ skip { next }
skip != "" { sub(/^_ZN1t7largestI.*/, "t::largest", $3) }
# The two names of a constructor or destructor are one function.
{ sub(/C1E/, "C2E", $3); sub(/D1E/, "D2E", $3) }
# Of a tail to what is not known, nothing but an entry may follow directly.
$2 != "entry" && unknown[$1] { leave_tails($1) }
{ unknown[$1] = 0 }
$2 == "entry" {
	stack[$1, ++depth[$1]] = $3
	tail[$1, depth[$1]] = 0
	calls[$1] = calls[$1] " >" depth[$1] ":" $3
}
$2 == "tail" && $4 != "-" && !has_entry[$4] { $2 = "exit" }
$2 == "exit" && drop_above($1, $3) {
	leave($1)
	leave_tails($1)
}
$2 == "land" { drop_above($1, $3) }
$2 == "tail" && drop_above($1, $3) {
	tail[$1, depth[$1]] = 1
	unknown[$1] = $4 == "-"
}
END {
	for (t in calls)
		print calls[t]
}
