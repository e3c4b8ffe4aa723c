/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the client: the client and its calls. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "lib/grpc/client.h"
#include "lib/grpc/grpc_private.h"
#include "lib/h2/h2.h"
#include "lib/net/lookup.h"

/* Metadata, percent-encoded. Shared by the calls that began with it. */
struct grpc__metadata {
	size_t references;
	size_t n;
	const char *names[GRPC_METADATA_MAX];
	struct buf values[GRPC_METADATA_MAX];
};

struct grpc_client_call {
	struct grpc_client *client;
	struct grpc__metadata *metadata;   /* NULL: none */
	TAILQ_ENTRY(grpc_client_call) all; /* in one of the client's three lists */
	struct grpc__calls *in;		   /* that list */
	const struct grpc_method *method;
	struct grpc_client_events events;
	struct h2_stream *stream; /* NULL unless running */
	struct buf request;	  /* framed; empty once it was handed to the stream */
	int64_t timeout, started;
	ev_timer timer;
	struct grpc__reader reader;
	unsigned http_status;
	bool is_grpc;	 /* content-type of the response */
	bool has_status; /* grpc-status has arrived */
	bool answered;	 /* a message has arrived */
	bool telling;	 /* message() or content() is running */
	bool cancelled;	 /* it was cancelled from within: freed when the callback returns */
	enum grpc_status status;
	struct buf text; /* decoded grpc-message, or our own reason */
};

TAILQ_HEAD(grpc__calls, grpc_client_call);

struct grpc_client {
	struct ev_loop *loop;
	struct grpc_client_config config; /* with its own copies of the strings */
	char *name;			  /* the host of the target */
	uint16_t port;
	struct net_lookup *lookup; /* NULL: no lookup is running */
	struct endpoint addresses[NET_LOOKUP_MAX];
	size_t n_addresses, next_address;
	struct h2_host *host;
	struct h2_conn *conn; /* for new calls; NULL: none. Older ones may still be closing */
	bool open;	      /* conn can take calls */
	struct grpc__calls waiting, running, ended;
	ev_timer deliver;      /* never started, only fed: done() is called from the loop */
	struct arena *scratch; /* for the message being decoded */
	struct grpc__metadata *metadata; /* of the calls to come; NULL: none */
};

/* client_call.c */
/* Sends a waiting call on the client's open connection. */
void grpc__call_start(struct grpc_client_call *call);
/* Decides the result; done() follows from the loop. Without effect if it has ended. */
void grpc__call_end(struct grpc_client_call *call, enum grpc_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void grpc__call_free(struct grpc_client_call *call);

/* Ends one reference. NULL is allowed. */
void grpc__metadata_unref(struct grpc__metadata *m);

/* client.c */
/* Opens a connection unless there is one or a lookup is running. */
void grpc__client_connect(struct grpc_client *c);

/* Callbacks of the HTTP/2 host, in client_call.c. */
void grpc__on_header(struct h2_stream *s, struct str name, struct str value, void *user);
void grpc__on_headers(struct h2_stream *s, enum h2_block block, void *user);
void grpc__on_data(struct h2_stream *s, struct str bytes, void *user);
void grpc__on_closed(struct h2_stream *s, uint32_t error, void *user);
