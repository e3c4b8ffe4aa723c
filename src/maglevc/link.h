/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: watches in the background whether the servers can be reached, for the shell's prompt.
 *
 * A gRPC health check (grpc.health.v1) every few seconds keeps the connection open, notices a
 * server that hangs, and connects again after the connection was lost.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/maglevc/session.h"

struct grpc_client_call;

/* From good to bad. */
enum link_state {
	LINK_REACHABLE,
	LINK_CONNECTING,
	LINK_SILENT, /* connected, but the server does not answer */
	LINK_UNREACHABLE,
};

/* One server. */
struct link_check {
	const struct session_client *client;
	struct grpc_client_call *call; /* NULL: no check is under way */
	bool tried;		       /* at least one check has ended */
	bool silent;		       /* the last check ran into its deadline */
	struct buf why;		       /* why the last check failed; empty if it did not */
};

struct link {
	struct session *session;
	ev_timer tick;
	unsigned ticks; /* seconds since the start */
	struct link_check *checks;
	size_t n;
};

/* *l must stay in place until link_stop(). session_connect() must have been called before. */
void link_start(struct link *l, struct session *s);
void link_stop(struct link *l);
/* The worst state of all servers. */
enum link_state link_state(const struct link *l);
/* How many servers do not answer. */
size_t link_lost(const struct link *l);
