/* SPDX-License-Identifier: Apache-2.0 */
/* testing_server: a fake maglevd that runs on the loop of the test. */
#pragma once

#include "base/addr.h"
#include "base/str.h"
#include "lib/grpc/server.h"
#include "src/maglevc/command.h"

/* How the server behaves. May be changed between calls. */
enum mood {
	MOOD_KIND,	  /* answers from testing.h; sends three events and keeps the stream open */
	MOOD_ENDING,	  /* the same, but ends the stream */
	MOOD_LATE,	  /* the same, but it takes twice 300 ms */
	MOOD_REFUSING,	  /* FAILED_PRECONDITION, with a sentence */
	MOOD_WITHOUT_VPP, /* UNAVAILABLE, with a sentence */
	MOOD_HANGING,	  /* never answers */
	MOOD_MISTAKEN,	  /* answers that the configuration is bad */
	MOOD_INTERRUPTED, /* three events, then SIGINT as from Ctrl-C */
	MOOD_GONE,	  /* closes the connection in the middle of the call */
};

struct testing_server {
	struct ev_loop *loop;
	struct grpc_server *server;
	char address[ENDPOINT_STRLEN];
	enum mood mood;
	ev_timer later;
	struct grpc_call *late; /* the call that later will answer */

	enum act act;	    /* that the last call asked for */
	struct buf request; /* of the last call, as compact JSON */
	unsigned calls;
	bool cancelled; /* the client has cancelled a stream */
};

/*
 * Listens on a free port of 127.0.0.1, see address. tls is borrowed; NULL: none. Asserts on
 * failure.
 */
void testing_server_start(struct testing_server *t, struct ev_loop *loop, struct tls_context *tls);
void testing_server_stop(struct testing_server *t);
