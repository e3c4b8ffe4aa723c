/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat: signed heartbeats over UDP multicast on one interface.
 *
 * Datagrams go to a link-local group (for IPv4 224.0.0.254, for IPv6 ff02::114; both are those of
 * RFC 4727) with TTL 255. One that arrives with another TTL has passed a router and is dropped, as
 * is one that is not signed with the key, belongs to another group or is not fresh. The family is
 * that of the network; either carries VIPs of both.
 *
 * Never blocks. For one thread.
 */
#pragma once

#include "lib/l2/beat.h"
#include "lib/l2/port.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/net/net.h"

#define L2_HEARTBEAT_PORT 9112

/* Why a datagram was dropped. Each has its own word. */
enum l2_refusal {
	L2_REFUSED_TTL,	      /* not 255 */
	L2_REFUSED_FORMAT,    /* not a heartbeat */
	L2_REFUSED_VERSION,   /* of another version */
	L2_REFUSED_SIGNATURE, /* signed with another key */
	L2_REFUSED_GROUP,     /* of another group with the same key */
	L2_REFUSED_NAME,      /* another member has the own name */
	L2_REFUSED_REPLAY,    /* not newer than the last one of its sender */
	L2_REFUSALS
};

struct l2_heartbeat_config {
	struct net_ns *ns;     /* borrowed; outlives the heartbeat */
	const char *interface; /* borrowed, like name and key */
	uint8_t family;	       /* AF_INET or AF_INET6 */
	uint16_t port;
	uint32_t group;
	const char *name; /* of this member; 1 .. L2_BEAT_NAME bytes, printable */
	struct str key;
	uint64_t
		boot; /* greater than at the last start of the program; for example the time in ns */
};

/* user is that of l2_heartbeat_open(). */
struct l2_heartbeat_events {
	void (*heard)(const struct l2_beat *b, void *user);
	/* who: the sender if the signature is right, else NULL; may be NULL */
	void (*refused)(enum l2_refusal why, const char *who, void *user);
};

struct l2_heartbeat_stats {
	uint64_t sent, failed, received; /* datagrams; received: that were accepted */
	uint64_t refused[L2_REFUSALS];
};

struct l2_heartbeat {
	struct l2_heartbeat_config config;
	const struct l2_heartbeat_events *events;
	void *user;
	ev_io io;
	struct task task;
	struct l2_port port;
	struct l2_beat_guard guard;
	uint64_t sequence;
	struct l2_heartbeat_stats stats;
};

/*
 * *h must not move until it is closed. 0 or a negative errno: -ENODEV without such an interface, or
 * that of socket(), bind() or the join of the group.
 */
int l2_heartbeat_open(struct l2_heartbeat *h, struct ev_loop *loop,
		      const struct l2_heartbeat_config *config,
		      const struct l2_heartbeat_events *events, void *user);
/* Closing twice is allowed; so is closing in a callback. */
void l2_heartbeat_close(struct l2_heartbeat *h);
/*
 * Says how this member stands for VIPs, in as many datagrams as are needed; with none it says that
 * it is there. 0 or the errno of the last one that could not be sent.
 */
int l2_heartbeat_send(struct l2_heartbeat *h, const struct l2_beat_vip *vips, size_t n,
		      uint32_t wait_ms);

/*
 * Reads what has arrived, up to a bound. To be called before a member is taken for dead: if this
 * process was late, the heartbeats are waiting, and the other one is not to blame.
 */
void l2_heartbeat_look(struct l2_heartbeat *h);

const char *l2_refusal_name(enum l2_refusal r); /* "ttl", "format", ... */
