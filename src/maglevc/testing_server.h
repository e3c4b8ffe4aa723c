/* SPDX-License-Identifier: Apache-2.0 */
/* testing_server: a maglevd that only pretends, on the loop of the test. */
#pragma once

#include "base/addr.h"
#include "base/str.h"
#include "lib/grpc/server.h"
#include "src/maglevc/command.h"

enum mood {
	MOOD_KIND,	  /* answers with what testing.h has; three events, and the stream stays */
	MOOD_ENDING,	  /* the same, but ends streams */
	MOOD_LATE,	  /* the same, but it takes twice 300 ms */
	MOOD_REFUSING,	  /* FAILED_PRECONDITION, with a sentence */
	MOOD_WITHOUT_VPP, /* UNAVAILABLE, with a sentence */
	MOOD_HANGING,	  /* never answers */
	MOOD_MISTAKEN,	  /* configurations are not good */
	MOOD_INTERRUPTED, /* three events, and somebody presses Ctrl-C */
	MOOD_GONE,	  /* closes everything in the middle of the call */
};

struct testing_server {
	struct ev_loop *loop;
	struct grpc_server *server;
	char address[ENDPOINT_STRLEN];
	enum mood mood;
	ev_timer later;
	struct grpc_call *late;

	enum act act;	    /* of the last call */
	struct buf request; /* the same as compact JSON */
	unsigned calls;
	bool cancelled; /* the client has left a stream */
};

void testing_server_start(struct testing_server *t, struct ev_loop *loop, struct tls_context *tls);
void testing_server_stop(struct testing_server *t);
