#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: fetch_source.sh PACKAGE DIR
#
# Unpack the source of a Debian package below DIR, and print where it is. It comes from
# the archives of the machine's packages; lists are kept in DIR, and the machine's own stay
# unchanged. A source that was fetched before is used again.
set -eu

package=$1
mkdir -p "$2/lists/partial" "$2/cache/archives/partial"
cd "$2"

unpacked()
{
	find "$PWD" -maxdepth 1 -type d -name "$package-*"
}

fetch()
{
	# shellcheck disable=SC2016	# no variables of the shell
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u |
		sed 's,^,deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ,' \
		> sources.list
	set -- -qq -o "Dir::Etc::SourceList=$PWD/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/lists" \
		-o "Dir::Cache=$PWD/cache"
	# One of several archives may be unreachable.
	apt-get "$@" update || :
	apt-get "$@" source "$package"
}

if [ -z "$(unpacked)" ] && ! fetch > log 2>&1; then
	echo "the source of $package cannot be had: $(tail -n 1 log)" >&2
	exit 1
fi
unpacked
