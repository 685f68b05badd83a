#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: fetch_npm.sh NAME VERSION DIR
#
# Unpack a package of npm below DIR, without those that it depends on, and print where it is.
# One that was fetched before is used again. npm writes nothing to the home directory. If it
# cannot be had, the status is 4, and the last line of output says why.
set -eu

dir=$3/$2
if [ ! -f "$dir/package/package.json" ]; then
	command -v npm > /dev/null || {
		echo "npm is not installed: the package npm has it"
		exit 4
	}
	mkdir -p "$dir"
	(cd "$dir" && rm -f ./*.tgz && timeout 120 npm pack --cache=npm "$1@$2" > log 2>&1 &&
		tar xf ./*.tgz) || {
		echo "npm does not give $1 $2: see $dir/log"
		exit 4
	}
fi
echo "$dir/package"
