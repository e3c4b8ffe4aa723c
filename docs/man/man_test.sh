#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man_test.sh PAGE...: whether groff and mandoc show our pages without a complaint. Answers in TAP.
set -u

count=0

# expect_silence NAME COMMAND...
expect_silence() {
	name=$1
	shift
	count=$((count + 1))
	if said=$("$@" 2>&1) && [ -z "$said" ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "$said" | sed 's/^/# /'
	fi
}

echo "1..$((2 * $#))"
for page in "$@"; do
	expect_silence "groff takes $(basename "$page")" groff -mandoc -Kutf8 -Tutf8 -ww -z "$page"
	# style is left out: there mandoc also asks for pages that are not installed
	expect_silence "mandoc takes $(basename "$page")" mandoc -Tlint -Wwarning "$page"
done
