/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the server share: the server, its calls, and the services of its own. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "lib/grpc/descriptor.h"
#include "lib/grpc/grpc_private.h"
#include "lib/grpc/server.h"
#include "lib/h2/h2.h"

#define GRPC__PATH_MAX 256

/* A method that is served. */
struct grpc__entry {
	struct grpc_method method;
	grpc_handler_fn handler;
	void *user;
	bool many; /* the handler is called for each message that comes; the end of them ends it */
};

/* False for what is not known. */
static inline bool grpc__is_stream(const struct grpc__entry *e)
{
	return e && (e->method.server_streaming || e->many);
}

/* Of a connection. */
struct grpc__peer {
	size_t held; /* bytes of requests that are not whole */
};

/* Lives in the area of its stream. */
struct grpc_call {
	struct grpc_server *server;
	LIST_ENTRY(grpc_call) all;
	const struct grpc__entry *entry; /* NULL: not known */
	struct grpc__reader reader;
	ev_timer timer; /* until the request is whole: the time for that; then the deadline */
	int64_t started;
	int64_t timeout;				     /* 0: none */
	bool post, is_grpc, gzip, bad_encoding, bad_timeout; /* what its headers said */
	bool begun;					     /* its headers have come */
	bool dispatched;				     /* a handler has it */
	bool answering; /* the headers of the answer are on their way */
	bool ended;	/* by anybody; only trailers may be missing */
	enum grpc_status status;
	char *text; /* percent-encoded; NULL: none */
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
	VEC(const char *) services; /* sorted, once each; strings of the arena below */
	struct arena *arena;	    /* lives as the server does */
	struct arena *scratch;	    /* of the request being decoded */
	struct grpc__descriptors *descriptors;
	LIST_HEAD(, grpc_call) calls;
	struct grpc_server_stats *stats;
	size_t held; /* by all connections */
	bool draining;
	char path[GRPC__PATH_MAX]; /* of the headers being read */
};

/* call.c */
extern const struct h2_events grpc__server_events;
/* Ends a call by another hand than its handler's. */
void grpc__end(struct grpc_call *call, enum grpc_status status, const char *text);

/* server.c */
bool grpc__has_service(const struct grpc_server *s, const char *name);

/* health.c, reflection.c: their methods, to be added to the server's; user is the server. */
extern const struct grpc__entry grpc__health_entries[2];
extern const struct grpc__entry grpc__reflection_entries[2];
