# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
#
# What the tests of the call trace tools share. Sourced, never run, by a test whose
# arguments are, perhaps after a shift, TOOLS and DIR: it works in DIR, which is emptied.

tools=$1 dir=$2
fhook="$tools/fhook calltrace"
programs=$(cd "$(dirname "$0")" && pwd)/programs
status=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit

# fails SENTENCE...: the test fails; what the tool said is in the file "said", if there is one.
fails()
{
	echo "$*"
	[ ! -s said ] || cat said
	status=1
}

# write_libraries: one.c and two.c, with functions of these names, which call another one
# that calls itself three times.
write_libraries()
{
	cat > one.c <<-'END'
		int inner_one(int n) { return n <= 0 ? 1 : n * inner_one(n - 1); }
		int one(int n) { return inner_one(n) + 1; }
	END
	sed 's/one/two/g' one.c > two.c
}
