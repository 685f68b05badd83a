# SPDX-License-Identifier: GPL-2.0
#
# Convert a record (THREAD KIND FUNCTION [TARGET]) to the called functions, with
# their depths: the same for each way to record it. Functions above one that is left, or that
# control returns to, are left as well. One line a thread, sorted by the caller, because
# thread numbers mean nothing.
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
# A function that ended in a tail call ends with the target of that.
function leave_tails(t) {
	while (depth[t] && tail[t, depth[t]])
		leave(t)
}
# First the map: a tail call to a function without an entry is an exit.
FNR == NR {
	if ($4 == "entry")
		has_entry[$6] = 1
	next
}
skip != "" && $3 ~ skip { next }
skip != "" { sub(/^_ZN1t7largestI.*/, "t::largest", $3) }
# The two names of a constructor or destructor are one function.
{ sub(/C1E/, "C2E", $3); sub(/D1E/, "D2E", $3) }
# A tail call to an unknown target must be followed directly by an entry.
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
