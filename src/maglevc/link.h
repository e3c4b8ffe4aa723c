/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: whether the server is there, found out while nobody asks for anything else.
 *
 * A small question (gRPC's health check) every few seconds keeps the connection, notices a server
 * that hangs, and makes the connection anew after it was lost.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/maglevc/session.h"

struct grpc_client_call;

enum link_state {
	LINK_CONNECTING,
	LINK_REACHABLE,
	LINK_UNREACHABLE,
	LINK_SILENT, /* connected, but there is no answer */
};

struct link {
	struct session *session;
	ev_timer tick;
	unsigned ticks;
	struct grpc_client_call *call; /* NULL: none under way */
	bool tried;		       /* there was an answer, or a failure */
	bool silent;
	struct buf why; /* the last failure; "" for none */
};

/* *l must stay in place until stopped. The session must have been connected, or have failed to. */
void link_start(struct link *l, struct session *s);
void link_stop(struct link *l);
enum link_state link_state(const struct link *l);
