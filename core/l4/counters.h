/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: the counters of a data plane at one moment.
 *
 * Counters count from the start of the data plane, or from the creation of the VIP or AS in it,
 * and fall only when that restarts. `has` tells which figures a data plane provides: the others
 * are 0 and mean nothing. VIPs and ASes are in the order of struct lb_state, servers by address,
 * events in an order that the driver chooses but never changes, each once. The containers own
 * their arrays.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/vec.h"
#include "core/l4/lb.h"

/* The fate of a packet to a VIP. */
enum lb_packets {
	LB_PACKETS_NEXT,      /* packets of known flows */
	LB_PACKETS_FIRST,     /* packets that began a flow */
	LB_PACKETS_UNTRACKED, /* forwarded without a flow entry: none could be kept */
	LB_PACKETS_NO_SERVER  /* dropped: the VIP has no server with weight */
};
#define LB_PACKETS_KINDS 4

/* "next", "first", "untracked", "no-server" */
const char *lb_packets_name(enum lb_packets kind);

enum lb_has {
	LB_HAS_VIP_BYTES = 1 << 0,
	LB_HAS_AS_TRAFFIC = 1 << 1,	/* packets and bytes per (VIP, AS) */
	LB_HAS_AS_BUCKETS = 1 << 2,	/* slots of the table per (VIP, AS) */
	LB_HAS_AS_FLOWS = 1 << 3,	/* live flows per (VIP, AS) */
	LB_HAS_SERVER_TRAFFIC = 1 << 4, /* packets and bytes per server over all VIPs */
};

struct lb_as_counters {
	struct addr address;
	uint64_t packets, bytes;
	uint32_t buckets, flows;
};

struct lb_vip_counters {
	struct lb_vip_key key;
	uint64_t packets[LB_PACKETS_KINDS];
	uint64_t bytes;
	uint32_t buckets; /* size of the table */
	VEC(struct lb_as_counters) as;
};

/* Traffic to one server for all VIPs together, encapsulation included. */
struct lb_server_counters {
	struct addr address;
	uint64_t packets, bytes;
};

/* Packets that were not balanced, by cause. Names are words-with-dashes. */
struct lb_event_counter {
	const char *name; /* static storage */
	uint64_t packets;
};

struct lb_counters {
	int64_t at; /* unix ns: when they were read */
	/* monotonic ns: the flows were counted after this; a count takes time */
	int64_t flows_since;
	unsigned has; /* enum lb_has */
	VEC(struct lb_vip_counters) vips;
	VEC(struct lb_server_counters) servers;
	VEC(struct lb_event_counter) events;
};

void lb_counters_free(struct lb_counters *c);
/* Lookup by key; NULL if there is none. */
const struct lb_vip_counters *lb_counters_vip(const struct lb_counters *c,
					      const struct lb_vip_key *key);
const struct lb_as_counters *lb_counters_as(const struct lb_vip_counters *v,
					    const struct addr *address);
/*
 * Whether an observed AS has weight 0 and no live flow. False as long as that is not known, also
 * while the count is older than the weight. counted is the AS in the counters; NULL: it is not
 * there.
 */
bool lb_is_drained(const struct lb_as *observed, const struct lb_counters *c,
		   const struct lb_as_counters *counted);
/*
 * Finds the entry or inserts a zeroed one in order. The pointer is valid until the next
 * change of the list.
 */
struct lb_vip_counters *lb_counters_put_vip(struct lb_counters *c, const struct lb_vip_key *key);
struct lb_as_counters *lb_counters_put_as(struct lb_vip_counters *v, const struct addr *address);
struct lb_server_counters *lb_counters_put_server(struct lb_counters *c,
						  const struct addr *address);

/*
 * The index of the first entry after key, which need not exist (NULL: the very first). A walk in
 * slices continues here after newer counters have arrived.
 */
size_t lb_counters_vip_behind(const struct lb_counters *c, const struct lb_vip_key *key);
size_t lb_counters_as_behind(const struct lb_vip_counters *v, const struct addr *address);
size_t lb_counters_server_behind(const struct lb_counters *c, const struct addr *address);
