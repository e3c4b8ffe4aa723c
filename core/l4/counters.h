/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: what a data plane has counted, at one moment.
 *
 * Everything counts from the start of the data plane, or of the VIP or AS in it, and never falls
 * but there. Which figures a data plane has is in `has`: the others are 0 and mean nothing. VIPs
 * and ASes are in the order of struct lb_state, servers by address, events as the driver likes but
 * always in the same order and each once. The containers own their arrays.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/vec.h"
#include "core/l4/lb.h"

enum lb_packets {
	LB_PACKETS_NEXT,      /* of known flows */
	LB_PACKETS_FIRST,     /* that began a flow */
	LB_PACKETS_UNTRACKED, /* that no flow could be kept for */
	LB_PACKETS_NO_SERVER  /* dropped: nobody to send them to */
};
#define LB_PACKETS_KINDS 4

/* "next", "first", "untracked", "no-server" */
const char *lb_packets_name(enum lb_packets kind);

enum lb_has {
	LB_HAS_VIP_BYTES = 1 << 0,
	LB_HAS_AS_TRAFFIC = 1 << 1,	/* packets and bytes per (VIP, AS) */
	LB_HAS_AS_BUCKETS = 1 << 2,	/* share of the table */
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
	uint32_t buckets; /* of all */
	VEC(struct lb_as_counters) as;
};

/* To one server for all VIPs together, encapsulation included. */
struct lb_server_counters {
	struct addr address;
	uint64_t packets, bytes;
};

/* Packets that met another fate than being balanced, by its name, in words-with-dashes. */
struct lb_event_counter {
	const char *name; /* lives as long as the program */
	uint64_t packets;
};

struct lb_counters {
	int64_t at;   /* unix ns: when they were read */
	unsigned has; /* enum lb_has */
	VEC(struct lb_vip_counters) vips;
	VEC(struct lb_server_counters) servers;
	VEC(struct lb_event_counter) events;
};

void lb_counters_free(struct lb_counters *c);
/* NULL when it is not there. */
const struct lb_vip_counters *lb_counters_vip(const struct lb_counters *c,
					      const struct lb_vip_key *key);
const struct lb_as_counters *lb_counters_as(const struct lb_vip_counters *v,
					    const struct addr *address);
/* Finds or inserts in order. The pointer lives until the next change of the list. */
struct lb_vip_counters *lb_counters_put_vip(struct lb_counters *c, const struct lb_vip_key *key);
struct lb_as_counters *lb_counters_put_as(struct lb_vip_counters *v, const struct addr *address);
struct lb_server_counters *lb_counters_put_server(struct lb_counters *c,
						  const struct addr *address);

/*
 * The index of the first one behind, which need not be there (NULL: the very first): how a walk in
 * slices goes on when newer counters have come in between.
 */
size_t lb_counters_vip_behind(const struct lb_counters *c, const struct lb_vip_key *key);
size_t lb_counters_as_behind(const struct lb_vip_counters *v, const struct addr *address);
size_t lb_counters_server_behind(const struct lb_counters *c, const struct addr *address);
