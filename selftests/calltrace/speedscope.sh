#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: speedscope.sh CACHE TOOLS DIR
#
# speedscope itself, from npm and in a browser without a window, shows the functions and times
# of a recording. The status is 4 where it cannot be had.
set -eu

cache=$1
shift
tests=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/test_lib.sh"

command -v chromium > /dev/null || {
	echo "chromium is not installed: the package chromium has it"
	exit 4
}
page=$("$tests/fetch_npm.sh" speedscope 1.25.0 "$cache") || {
	echo "$page"
	exit 4
}
page=$page/dist/release/index.html

# shows NAME LINE...: total time, own time and name of each function, in lines of their own.
# The browser's clock does not wait, so the table is there when it has run for ten seconds.
shows()
{
	name=$1
	shift
	$fhook print --speedscope "$name" > profile.json
	printf 'speedscope.loadFileFromBase64("%s", "%s")\n' "$name" \
		"$(base64 -w 0 profile.json)" > profile.js
	HOME=$PWD timeout 120 chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$PWD/browser" --allow-file-access-from-files \
		--virtual-time-budget=10000 --dump-dom \
		"file://$page#view=sandwich&localProfilePath=$PWD/profile.js" 2> log |
		sed 's/<style.*<\/style>//g; s/<[^>]*>/\n/g' |
		sed '1,/^Symbol Name$/d; /^ *$/d; s/&amp;/\&/g; s/&lt;/</g; s/&gt;/>/g' > shown
	printf '%s\n' "$@" > wanted
	diff wanted shown > said || fails "$name: $(tail -n 3 log)"
}

"$tests/make_recording.py" timed -i "clock 1000000" main+ a+ b+ b- a- '_ZN3FooclEi+' b+ b- \
	'_ZN3FooclEi-' main-
shows timed '900.00ns (100%)' '300.00ns (33%)' main \
	'300.00ns (33%)' '200.00ns (22%)' 'Foo::operator()(int)' \
	'200.00ns (22%)' '200.00ns (22%)' b '300.00ns (33%)' '200.00ns (22%)' a

# Without times, events count; a recursive call counts once; and all names are shown.
"$tests/make_recording.py" events 'é<&>+' g+ 'é<&>+' 'é<&>-' g- 'é<&>-'
shows events '5 (100%)' '3 (60%)' 'é<&>' '3 (60%)' '2 (40%)' g
exit "$status"
