#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# version.sh VERSION SOURCE-DIR
#
# Prints the contents of version.h as three C strings: the version, the commit and the date. The
# date is SOURCE_DATE_EPOCH if that is set, otherwise that of the commit, so that two builds of one
# commit are identical. A copy of a checkout (a source package, an image) may have a file .revision
# with the commit and its date in seconds. Elsewhere (a tarball inside another repository) both are
# "unknown", except for a date from SOURCE_DATE_EPOCH.
set -eu

version=$1
cd "$2"

commit=unknown
epoch=${SOURCE_DATE_EPOCH:-}
if prefix=$(git rev-parse --show-prefix 2>/dev/null) && [ -z "$prefix" ]; then
	commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit=unknown
	[ -n "$epoch" ] || epoch=$(git log -1 --format=%ct 2>/dev/null) || epoch=
elif [ -s .revision ]; then
	read -r commit seconds <.revision
	commit=${commit:-unknown} epoch=${epoch:-$seconds}
fi

date=unknown
[ -z "$epoch" ] || date=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ) || date=unknown

printf '"%s", "%s", "%s"\n' "$version" "$commit" "$date"
