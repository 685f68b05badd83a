# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# KTAP output for checks outside of ftracetest, in the guest and on the host.  To be
# sourced; the caller uses plan, then check.

number=0

plan()
{
	printf 'KTAP version 1\n1..%s\n' "$1"
}

# check NAME COMMAND...
check()
{
	number=$((number + 1))
	name=$1
	shift
	if said=$("$@" 2>&1); then
		echo "ok $number $name"
	else
		printf '%s\n' "$said" | sed 's/^/# /'
		echo "not ok $number $name"
	fi
}
