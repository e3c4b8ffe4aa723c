/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: a listening TCP socket on a loop.
 *
 * Hands each connection to its owner as a non-blocking descriptor. When descriptors or memory run
 * out, accepting pauses: the socket stays readable, and asking again at once would only spin.
 */
#pragma once

#include "base/addr.h"
#include "lib/loop/loop.h"

struct net_listener_events {
	/* A connection; fd is the owner's from now on. */
	void (*accepted)(int fd, struct endpoint peer, void *user);
	/* Out of descriptors or memory: closing something helps. */
	void (*starved)(int error, void *user);
	void *user;
};

struct net_listener {
	struct ev_loop *loop;
	struct net_listener_events events;
	struct endpoint bound; /* where it listens, with the port that was found */
	int fd;		       /* -1 when closed */
	ev_io acceptable;
	ev_timer pause;
};

/*
 * No address: any, both families (or IPv4 alone on a machine that has no IPv6); port 0: any free
 * one. *l must stay in place until closed. -errno of socket, bind or listen; *l untouched then.
 */
int net_listener_open(struct net_listener *l, struct ev_loop *loop, struct endpoint at,
		      const struct net_listener_events *events);
/* Connections whose handshake is done are handed over first: closing would reset them. */
void net_listener_drain(struct net_listener *l);
/* Twice is fine. */
void net_listener_close(struct net_listener *l);
