#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rules_test.sh FOLDER: checks the alert rules with promtool. Prints TAP.
set -u

count=0

# expect NAME COMMAND...
expect() {
	name=$1
	shift
	count=$((count + 1))
	if said=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "$said" | sed 's/^/# /'
	fi
}

echo "1..12"
for program in maglevd speaker router gateway mux controller; do
	expect "promtool takes the alerts of $program" promtool check rules "$1/$program.rules.yml"
	expect "alerts of $program are raised when they should be" promtool test rules "$1/$program.rules_test.yml"
done
