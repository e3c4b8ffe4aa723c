/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the client share: the client and its calls. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "lib/grpc/client.h"
#include "lib/grpc/grpc_private.h"
#include "lib/h2/h2.h"
#include "lib/net/lookup.h"

struct grpc_client_call {
	struct grpc_client *client;
	TAILQ_ENTRY(grpc_client_call) all; /* of waiting, running or ended */
	struct grpc__calls *in;		   /* which of them */
	const struct grpc_method *method;
	struct grpc_client_events events;
	struct h2_stream *stream; /* while running */
	struct buf request;	  /* framed, while waiting */
	int64_t timeout, started;
	ev_timer timer;
	struct grpc__reader reader;
	unsigned http_status;
	bool is_grpc, gzip;
	bool has_status;
	bool answered;	/* a message has come */
	bool telling;	/* message() is running */
	bool cancelled; /* while it was */
	enum grpc_status status;
	struct buf text;
};

TAILQ_HEAD(grpc__calls, grpc_client_call);

struct grpc_client {
	struct ev_loop *loop;
	struct grpc_client_config config; /* strings are its own */
	char *name;			  /* the host of the target, and its port */
	uint16_t port;
	struct net_lookup *lookup; /* while the name is looked up */
	struct endpoint addresses[NET_LOOKUP_MAX];
	size_t n_addresses, next_address;
	struct h2_host *host;
	struct h2_conn *conn; /* on which calls begin; NULL: none */
	bool open;	      /* it can take them */
	struct grpc__calls waiting, running, ended;
	ev_timer deliver; /* never started: fed, so that done() is called from the loop itself */
	struct arena *scratch;
};

/* client_call.c */
void grpc__call_start(struct grpc_client_call *call);
/* Its done() is due. */
void grpc__call_end(struct grpc_client_call *call, enum grpc_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void grpc__call_free(struct grpc_client_call *call);

/* client.c */
void grpc__client_connect(struct grpc_client *c);

/* For both: callbacks of the host. */
void grpc__on_header(struct h2_stream *s, struct str name, struct str value, void *user);
void grpc__on_headers(struct h2_stream *s, void *user);
void grpc__on_data(struct h2_stream *s, struct str bytes, void *user);
void grpc__on_closed(struct h2_stream *s, uint32_t error, void *user);
