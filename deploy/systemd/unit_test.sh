#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unit_test.sh UNIT...: checks the units with systemd-analyze, how exposed they are, and that they grant the capabilities that the programs
# need. Prints TAP.
#
# The programs need not be installed: a substitute takes their place. Any other message of
# systemd-analyze is a failure.
set -u

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
needs=$(dirname "$0")/../../src/maglevd/capability.c
count=0

# tell NAME COMPLAINTS: one test case, which passes if there are no complaints.
tell()
{
	count=$((count + 1))
	[ -z "$2" ] && echo "ok $count - $1" && return
	echo "not ok $count - $1"
	echo "$2" | sed 's/^/# /'
}

verify()
{
	sed -E 's,=[^ ]*/sbin/[a-z-]+,=/bin/true,' "$1" >"$folder/$(basename "$1")"
	systemd-analyze verify --man=no --recursive-errors=no "$folder/$(basename "$1")" 2>&1 || echo "ended with $?"
}

# lacks_for_arp UNIT: the same for the sockets of lib/l2.
lacks_for_arp()
{
	for set in AmbientCapabilities CapabilityBoundingSet; do
		grep -q "^$set=CAP_NET_RAW$" "$1" || echo "$set is not CAP_NET_RAW"
	done
	grep -qw '^RestrictAddressFamilies=.*AF_PACKET' "$1" || echo "no packet sockets"
}

# lacks UNIT: prints settings that every unit must have and this one lacks, and capabilities that maglevd may need but is not granted.
lacks()
{
	grep -q '^ExecStartPre=/[^ ]*/sbin/[a-z-]* --check$' "$1" || echo "no check before the start"
	grep -q '^ExecReload=/bin/kill -HUP [$]MAINPID$' "$1" || echo "no reload"
	[ "$(basename "$1")" = maglev-speaker.service ] && lacks_for_arp "$1"
	case $(basename "$1") in
	maglevd.service | maglev-speaker.service)
		grep -q '^Environment=MAGLEV_[A-Z_]*GRPC_ADDR=127.0.0.1:' "$1" || echo "its API is open to other machines"
		;;
	esac
	[ "$(basename "$1")" = maglevd.service ] || return
	grep -q '^ReadWritePaths=-/sys/fs/bpf/maglev$' "$1" || echo "its pins are read-only"
	grep -o '"CAP_[A-Z_]*"' "$needs" | tr -d '"' | while read -r capability; do
		for set in AmbientCapabilities CapabilityBoundingSet; do
			grep -qw "^$set=.*$capability" "$1" || echo "$set lacks $capability"
		done
	done
}

# exposed UNIT: what systemd-analyze security says, if that is more than here, in tenths; docs/guide/getting-started.md has the same.
exposed()
{
	case $(basename "$1" .service) in
	frr-reloader | maglevd-frontend) bound=17 ;;
	maglev-router) bound=18 ;;
	maglev-speaker) bound=21 ;;
	maglevd) bound=24 ;;
	*) bound=0 ;;
	esac
	said=$(systemd-analyze security --no-pager --offline=true --threshold=$bound "$folder/$(basename "$1")" 2>&1) || echo "$said"
}

echo "1..$(($# * 3))"
for unit in "$@"; do
	tell "systemd takes $(basename "$unit")" "$(verify "$unit")"
	tell "$(basename "$unit") checks, reloads and grants what is needed" "$(lacks "$unit")"
	tell "$(basename "$unit") is as hardened as it was" "$(exposed "$unit")"
done
