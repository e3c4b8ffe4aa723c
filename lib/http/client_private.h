/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the client share: the client, its connections and its calls. */
#pragma once

#include <sys/queue.h>

#include "base/addr.h"
#include "lib/http/client.h"
#include "lib/net/lookup.h"
#include "lib/stream/stream.h"

#define HTTP__INPUT_SIZE ((size_t)16 * 1024)

/* A connection. It belongs to a call, or to the pool while `call` is NULL. */
struct http__link {
	struct http_client *client;
	TAILQ_ENTRY(http__link) idle;
	char *key; /* of its target */
	struct stream stream;
	struct http_call *call;
	struct buf in; /* read, and not looked at */
	bool used;     /* has carried a call before */
	bool eof;      /* the server has ended its side */
};

enum http__phase {
	HTTP__START,	/* nothing was done */
	HTTP__LOOK_UP,	/* the name is looked up */
	HTTP__CONNECT,	/* to one of the addresses, TLS included */
	HTTP__RESPONSE, /* the request is sent, the head is awaited */
	HTTP__CONTENT,	/* the head has come */
};

struct http_call {
	struct http_client *client;
	TAILQ_ENTRY(http_call) all;
	struct http_call_config config; /* its strings are the caller's, but for those below */
	struct http__link *link;
	char *key, *name; /* of the target: for the pool, for people */
	char *host, *socket, *server_name, *method;
	uint16_t port;
	struct buf request; /* the head, and a body that is whole */

	enum http__phase phase;
	int64_t phase_ends, ends; /* monotonic ns */
	struct net_lookup *lookup;
	struct endpoint found[NET_LOOKUP_MAX];
	size_t n_found, tried;
	char *trouble; /* why the look-up found nothing */

	struct http_stream source;
	bool sending; /* closed() of the source is owed */
	bool waiting; /* for http_call_wake() */
	bool sent;    /* all of the request is in the queue of the stream */
	uint64_t made;

	unsigned interim; /* 1xx responses so far */
	size_t scanned;
	struct buf head; /* its bytes, once it is whole */
	bool keep;	 /* what the head says of the connection */
	struct http_body body;
	struct buf content, trailers;
	size_t fed;  /* bytes at the front of link->in that take() has not taken */
	bool paused; /* until http_call_resume() */

	bool heard;	/* a byte of a response has come */
	bool retried;	/* once is enough */
	bool running;	/* a callback of its own is under way */
	bool cancelled; /* in such a callback */
};

struct http_client {
	struct ev_loop *loop;
	struct http_client_config config;
	struct http_client_stats stats;
	TAILQ_HEAD(http__links, http__link) idle; /* newest first */
	TAILQ_HEAD(http__calls, http_call) calls;
	struct http_head head; /* of the response being looked at: one at a time */
	struct http_header trailers[HTTP_HEADERS_MAX];
	char input[HTTP__INPUT_SIZE];
	bool closing;
};

/* client.c */
/* A kept connection for the call, or a new one that is not connected. */
void http__link_take(struct http_call *call, bool fresh);
/* The call is done with its connection: kept, or closed. */
void http__link_give(struct http_call *call, bool keep);
/* Closes a connection of the pool: something happened to it. */
void http__link_drop(struct http__link *l);
/* Now and ns, without overflow. */
int64_t http__from_now(int64_t ns);
/* Frees a call that is in no callback. The source is told. */
void http__call_free(struct http_call *call);

/* call.c */
/* The events of a connection; a connection without a call is closed by any of them. */
extern const struct stream_events http__link_events;
/* Ends the call with an error. */
void http__call_fail(struct http_call *call, int error, const char *words);
/* Sets the deadline that is next. */
void http__call_set_deadline(struct http_call *call);

/* request.c */
/* Fills key, name and the head of the request. -EINVAL. */
int http__call_prepare(struct http_call *call);
