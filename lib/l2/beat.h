/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat: the heartbeat of a member of a group, as bytes. Pure.
 *
 * All numbers are in network byte order:
 *
 *	offset	bytes
 *	0	4	"MGL2"
 *	4	1	version: 1
 *	5	1	length of the name, 1 .. 63
 *	6	1	number of VIPs, 0 .. 48
 *	7	1	0
 *	8	4	group: several groups may share a network and a key
 *	12	4	ms until the next heartbeat, 10 .. 10000
 *	16	8	boot: grows with every start of the sender
 *	24	8	sequence: grows with every heartbeat of a boot
 *	32	...	name of the sender: printable UTF-8
 *		...	each VIP: family (4 or 6), flags (1: owner, 2: pre-empts), priority,
 *			2 bytes of the number of its claims, 4 or 16 bytes of the address
 *		32	HMAC-SHA256 of everything before it
 *
 * A heartbeat with more VIPs than one datagram holds is sent as several; each VIP speaks for
 * itself, and one that is not mentioned says nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

#define L2_BEAT_NAME 63
#define L2_BEAT_VIPS 48	    /* in one heartbeat */
#define L2_BEAT_MAX 1200    /* bytes; more than any heartbeat has, and no link has less */
#define L2_BEAT_SENDERS 32  /* that a guard remembers */
#define L2_BEAT_WAIT_MIN 10 /* ms */
#define L2_BEAT_WAIT_MAX 10000

struct l2_beat_vip {
	struct addr vip;
	uint8_t priority;
	bool owner, preempt;
	uint16_t claims; /* how often the sender has become the owner */
};

struct l2_beat {
	uint32_t group;
	uint32_t wait_ms; /* until the next */
	uint64_t boot, sequence;
	char name[L2_BEAT_NAME + 1];
	size_t n;
	struct l2_beat_vip vips[L2_BEAT_VIPS];
};

/* Writes a heartbeat that is valid by the table above, and returns its length. */
size_t l2_beat_encode(const struct l2_beat *b, struct str key, uint8_t out[static L2_BEAT_MAX]);
/*
 * 0, or with *ret untouched: -EPROTO for bytes that are no heartbeat, -EPROTONOSUPPORT for
 * another version, -EKEYREJECTED for one that was not signed with this key. The signature is
 * checked before anything else is read.
 */
int l2_beat_decode(struct str bytes, struct str key, struct l2_beat *ret);

/*
 * Against heartbeats that were recorded and sent again: of each sender only those are fresh whose
 * (boot, sequence) is greater than the greatest so far. Zeroed it knows no sender. When it is
 * full, the sender that was silent for the longest time is forgotten.
 */
struct l2_beat_guard {
	size_t n;
	struct {
		char name[L2_BEAT_NAME + 1];
		uint64_t boot, sequence;
	} senders[L2_BEAT_SENDERS]; /* the one that spoke last is first */
};

bool l2_beat_is_fresh(struct l2_beat_guard *g, const struct l2_beat *b);
