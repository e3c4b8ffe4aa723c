#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# version_test.sh VERSION.SH: what it prints inside and outside of a checkout. Answers in TAP.
set -u

script=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
unset GIT_DIR GIT_WORK_TREE SOURCE_DATE_EPOCH
count=0

# expect NAME WANT GOT
expect() {
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1"
	else
		printf 'not ok %s - %s\n# wanted %s\n# got %s\n' "$count" "$1" "$2" "$3"
	fi
}

echo 1..6
expect outside_of_a_checkout_commit_and_date_are_unknown \
	'"1.2.3", "unknown", "unknown"' "$("$script" 1.2.3 "$folder")"
expect source_date_epoch_is_the_date \
	'"1.2.3", "unknown", "1970-01-02T00:00:00Z"' "$(SOURCE_DATE_EPOCH=86400 "$script" 1.2.3 "$folder")"

export GIT_AUTHOR_DATE='2026-04-15T09:30:00Z' GIT_COMMITTER_DATE='2026-04-15T09:30:00Z'
git -C "$folder" init -q
git -C "$folder" -c user.name=t -c user.email=t@example.net commit -q --allow-empty -m one
commit=$(git -C "$folder" rev-parse --short=12 HEAD)
expect a_checkout_has_its_commit_and_the_date_of_that \
	"\"1.2.3\", \"$commit\", \"2026-04-15T09:30:00Z\"" "$("$script" 1.2.3 "$folder")"

mkdir "$folder/tarball"
expect a_tarball_inside_of_another_checkout_is_not_that_checkout \
	'"1.2.3", "unknown", "unknown"' "$("$script" 1.2.3 "$folder/tarball")"

echo '0123456789ab 86400' >"$folder/tarball/.revision"
expect a_copy_of_a_checkout_says_its_commit \
	'"1.2.3", "0123456789ab", "1970-01-02T00:00:00Z"' "$("$script" 1.2.3 "$folder/tarball")"
expect source_date_epoch_is_the_date_of_a_copy_too \
	'"1.2.3", "0123456789ab", "1970-01-01T00:00:00Z"' "$(SOURCE_DATE_EPOCH=0 "$script" 1.2.3 "$folder/tarball")"
