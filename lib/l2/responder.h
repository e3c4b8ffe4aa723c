/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder: says on one interface that VIPs are at its hardware address.
 *
 * A claimed VIP is announced to all neighbours at once and then every 1.1 s for 5 s: IPv4 with a
 * gratuitous ARP request and reply, IPv6 with an unsolicited neighbour advertisement that
 * overrides. From then on requests for it are answered. A VIP that was released is not announced
 * or answered any more; its new owner says the rest.
 *
 * The VIP must not be an address of that interface, since the kernel answers for those itself. One
 * responder has one interface; many may have the same VIP. Never blocks. For one thread.
 */
#pragma once

#include "base/addr.h"
#include "base/vec.h"
#include "lib/l2/port.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/net/net.h"

#define L2_ANNOUNCEMENTS 5		      /* of a claim: at 0, 1.1, 2.2, 3.3 and 4.4 s */
#define L2_ANNOUNCE_EVERY INT64_C(1100000000) /* ns */
#define L2_CLAIMS_MAX 4096		      /* of one responder */

struct l2_claim {
	struct addr vip;
	unsigned left;				   /* announcements that are due */
	int64_t announce_at;			   /* monotonic ns; while left */
	uint64_t requests, answers, announcements; /* received, sent, sent */
};

/* A socket and the task that reads from it. */
struct l2_responder_socket {
	struct l2_responder *responder;
	ev_io io;
	struct task task;
};

struct l2_responder {
	struct net_ns *ns;
	char *interface;
	struct l2_port port;
	struct l2_responder_socket arp, ndp;
	ev_timer timer; /* to the next announcement */
	struct task announcer;
	size_t cursor; /* of the announcer: the next claim to be looked at */
	struct ev_loop *loop;
	VEC(struct l2_claim) claims; /* in the order of addr_cmp() */
	uint64_t failed;	     /* frames that could not be sent */
};

/*
 * Opens the sockets for both families on an interface of ns, which is borrowed. *r must not move
 * until it is closed. 0 or a negative errno: -ENODEV without such an interface, -EOPNOTSUPP if it
 * is not Ethernet, -EPERM without CAP_NET_RAW. IPv6 may be switched off in the kernel; then only
 * claims of IPv6 addresses fail.
 */
int l2_responder_open(struct l2_responder *r, struct ev_loop *loop, struct net_ns *ns,
		      const char *interface);
/* Closing twice is allowed. */
void l2_responder_close(struct l2_responder *r);

/*
 * Claims a VIP, or announces a claimed one again, in this turn of the loop if there are not
 * thousands. 0, -EAFNOSUPPORT if its family has no socket,
 * -ENOSPC over the bound, or the errno of joining the group of its solicitations.
 */
int l2_responder_claim(struct l2_responder *r, const struct addr *vip);
/* No effect on a VIP that is not claimed. */
void l2_responder_release(struct l2_responder *r, const struct addr *vip);
/* The claim of a VIP with its counters, or NULL; valid until the next claim or release. */
const struct l2_claim *l2_responder_find(const struct l2_responder *r, const struct addr *vip);
/*
 * 0 while the interface is up and has a carrier, -ENETDOWN while it is not, -ENODEV if it is gone,
 * also if there is another one with its name: it must be opened again then.
 */
int l2_responder_check(const struct l2_responder *r);
