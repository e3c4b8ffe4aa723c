/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: watches in the background whether the server can be reached, for the shell's prompt.
 *
 * A gRPC health check (grpc.health.v1) every few seconds keeps the connection open, notices a
 * server that hangs, and connects again after the connection was lost.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/maglevc/session.h"

struct grpc_client_call;

enum link_state {
	LINK_CONNECTING,
	LINK_REACHABLE,
	LINK_UNREACHABLE,
	LINK_SILENT, /* connected, but the server does not answer */
};

struct link {
	struct session *session;
	ev_timer tick;
	unsigned ticks;		       /* seconds since the start */
	struct grpc_client_call *call; /* NULL: no check is under way */
	bool tried;		       /* at least one check has ended */
	bool silent;		       /* the last check ran into its deadline */
	struct buf why;		       /* why the last check failed; empty if it did not */
};

/* *l must stay in place until link_stop(). session_connect() must have been called before. */
void link_start(struct link *l, struct session *s);
void link_stop(struct link *l);
enum link_state link_state(const struct link *l);
