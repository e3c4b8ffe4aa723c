/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the server: the server, its calls and its built-in services. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "lib/grpc/descriptor.h"
#include "lib/grpc/grpc_private.h"
#include "lib/grpc/server.h"
#include "lib/h2/h2.h"

#define GRPC__PATH_MAX 256 /* with the NUL; longer paths are unknown methods */

/* A method of the server. */
struct grpc__entry {
	struct grpc_method method;
	grpc_handler_fn handler;
	void *user;
	bool many; /* client streaming: the handler is called per message, END_STREAM finishes */
};

/* False for an unknown method (NULL). */
static inline bool grpc__is_stream(const struct grpc__entry *e)
{
	return e && (e->method.server_streaming || e->many);
}

/* Lives in the area of its connection. */
struct grpc__peer {
	size_t held; /* bytes of requests that no handler has taken yet */
};

/* Lives in the area of its stream. */
struct grpc_call {
	struct grpc_server *server;
	LIST_ENTRY(grpc_call) all;
	const struct grpc__entry *entry; /* NULL: unknown method */
	struct grpc__reader reader;
	ev_timer timer;	 /* until the request is complete: request_timeout; then the deadline */
	int64_t started; /* monotonic ns */
	int64_t timeout; /* ns, of grpc-timeout; 0: none */
	bool post, is_grpc, gzip, bad_encoding, bad_timeout; /* from the request headers */
	bool begun;					     /* all request headers have arrived */
	bool dispatched;				     /* the handler was called */
	bool answering;					     /* h2_respond() was called */
	bool ended; /* the status is decided; only trailers may be missing */
	enum grpc_status status;
	char *text;			   /* percent-encoded grpc-message; NULL: none */
	char *metadata[GRPC_METADATA_MAX]; /* as in the configuration; NULL: not sent */
	void (*cancelled)(void *user);
	void *cancelled_user;
	void (*drained)(void *user);
	void *drained_user;
};

struct grpc_server {
	struct ev_loop *loop;
	struct grpc_server_config config;
	struct h2_host *host;
	VEC(struct grpc__entry) entries;
	struct map by_path;
	VEC(const char *) services; /* sorted, unique; the strings are in arena */
	struct arena *arena;	    /* freed with the server */
	struct arena *scratch;	    /* for the request being decoded; reset after its handler */
	struct grpc__descriptors *descriptors; /* NULL: no reflection */
	LIST_HEAD(, grpc_call) calls;	       /* that have not ended */
	struct grpc_server_stats *stats;
	size_t held; /* sum of the held bytes of all connections */
	bool draining;
	/* Of the header block being received: HTTP/2 does not interleave blocks (RFC 9113 §4.3). */
	char path[GRPC__PATH_MAX];
};

/* call.c */
extern const struct h2_events grpc__server_events;
/* Ends a call for another reason than its handler's: cancelled() is called. */
void grpc__end(struct grpc_call *call, enum grpc_status status, const char *text);

/* server.c */
bool grpc__has_service(const struct grpc_server *s, const char *name);

/* health.c, reflection.c: built-in methods; the user of their handlers is the server. */
extern const struct grpc__entry grpc__health_entries[2];
extern const struct grpc__entry grpc__reflection_entries[2];
