/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_handover: what a router tells the process that takes over from it, as text.
 *
 *	maglev-router 1
 *	generation 12
 *	last 14
 *	listener 127.0.0.1:80
 *	listener 127.0.0.1:80
 *	udp 127.0.0.1:53
 *	admin 127.0.0.1:9901
 *	grpc 127.0.0.1:9902
 *	sessions -
 *	tickets 5f0c...
 *	server 0 3 down
 *	server 1 0 - 192.0.2.1 192.0.2.2
 *
 *	{"listeners":[...], ...}
 *
 * A line for each listening socket, in the order of the descriptors that go with the text: the
 * address as configured, so its port can be 0. There is one for each socket of an address. After
 * the empty line comes the configuration in force, as the document of the admin API; nothing if
 * there is none yet. The order of the lines is free except that of the sockets.
 *
 * A line "server" is for one about which more is known than its configuration: the numbers of its
 * pool and of itself in that, whether it is down, and the addresses of its name.
 *
 * A line "tickets" has the keys of session tickets, in hexadecimal.
 *
 * The two processes can be of different versions, in both directions. So a reader skips lines with
 * words that it does not know. A number after "maglev-router" other than 1 means that this is not
 * possible.
 */
#pragma once

#include "base/addr.h"
#include "base/arena.h"
#include "base/str.h"

#define ROUTER_HANDOVER_SOCKETS 16384
#define ROUTER_HANDOVER_SERVERS 1000000
#define ROUTER_HANDOVER_ADDRESSES 128 /* of a server */
#define ROUTER_HANDOVER_LINE 8192     /* bytes of a line */

enum router_handover_kind {
	ROUTER_HANDOVER_LISTENER,
	ROUTER_HANDOVER_ADMIN,
	ROUTER_HANDOVER_GRPC,
	ROUTER_HANDOVER_UDP,	  /* as a listener, of datagrams */
	ROUTER_HANDOVER_SESSIONS, /* where sessions come from later: router_session.h */
};

struct router_handover_socket {
	enum router_handover_kind kind;
	struct endpoint at; /* of a listener, of either kind */
	const char *text;   /* of the others: as in --admin-addr and --grpc-addr */
};

struct router_handover_server {
	uint32_t pool, server; /* their numbers in the configuration */
	bool down;
	const struct addr *addresses;
	size_t n;
};

struct router_handover {
	uint64_t generation; /* 0: there is no configuration */
	uint64_t last;	     /* the highest number of one so far, maybe of a rollout that failed */
	struct router_handover_socket *sockets;
	size_t n;
	struct router_handover_server *servers;
	size_t n_servers;
	const uint8_t *tickets; /* keys of session tickets */
	size_t n_tickets;	/* bytes; 0: none */
	struct str config;
};

void router_handover_write(const struct router_handover *h, struct buf *out);
/*
 * Fills *ret, whose parts are in arena; config is part of text. -EBADMSG if it is malformed,
 * -EPROTONOSUPPORT for another version, -E2BIG above a bound; *ret is untouched then.
 */
int router_handover_parse(struct str text, struct arena *arena, struct router_handover *ret);
