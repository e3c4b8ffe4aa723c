/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the client: the client, its connections and its calls. */
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
	struct buf in; /* read but not parsed yet */
	bool used;     /* has carried a call before */
	bool eof;      /* the server has ended its side */
};

enum http__phase {
	HTTP__START,	/* nothing was done yet */
	HTTP__LOOK_UP,	/* the name is looked up */
	HTTP__CONNECT,	/* to one of the addresses, TLS included */
	HTTP__TUNNEL,	/* waits for the proxy's answer to CONNECT, then for TLS */
	HTTP__RESPONSE, /* sends the request and waits for the head */
	HTTP__CONTENT,	/* the head has arrived */
};

struct http_call {
	struct http_client *client;
	TAILQ_ENTRY(http_call) all;
	struct http_call_config config; /* its strings belong to the caller; see the copies below */
	struct http__link *link;
	char *key, *name; /* of the target: to find connections, and for messages */
	char *host, *socket, *server_name, *method;
	uint16_t port;
	char *proxy;	    /* host of the proxy; NULL: none */
	uint16_t dial_port; /* of the proxy, or port */
	struct buf tunnel;  /* the request for a tunnel */
	struct buf request; /* the head, and a body that is not in slices */

	enum http__phase phase;
	int64_t phase_ends, ends; /* monotonic ns */
	struct net_lookup *lookup;
	struct endpoint found[NET_LOOKUP_MAX];
	size_t n_found, tried;
	char *trouble; /* why the lookup found nothing */

	struct http_stream source;
	bool sending; /* closed() of the source must still be called */
	bool waiting; /* for http_call_wake() */
	bool sent;    /* all of the request is in the queue of the stream */
	uint64_t made;

	unsigned interim; /* 1xx responses so far */
	size_t scanned;
	struct buf head; /* its bytes, once it is complete */
	bool keep;	 /* the head allows to keep the connection */
	struct http_body body;
	struct buf content, trailers;
	size_t fed;  /* bytes at the front of link->in that take() has not taken */
	bool paused; /* until http_call_resume() */

	bool heard;	/* a byte of a response has arrived */
	bool retried;	/* a call is repeated only once */
	bool running;	/* one of its callbacks is running */
	bool cancelled; /* in such a callback */
};

struct http_client {
	struct ev_loop *loop;
	struct http_client_config config;
	struct http_client_stats stats;
	TAILQ_HEAD(http__links, http__link) idle; /* newest first */
	TAILQ_HEAD(http__calls, http_call) calls;
	struct http_head head; /* of the response that is being parsed: one at a time */
	struct field trailers[HTTP_HEADERS_MAX];
	char input[HTTP__INPUT_SIZE];
	bool closing;
};

/* client.c */
/* Gives the call a kept connection, or a new one that is not connected yet. */
void http__link_take(struct http_call *call, bool fresh);
/* The call no longer needs its connection, which is kept or closed. */
void http__link_give(struct http_call *call, bool keep);
/* Closes a kept connection. */
void http__link_drop(struct http__link *l);
/* The time ns from now, without overflow. */
int64_t http__from_now(int64_t ns);
/* Frees a call that is in no callback. closed() of its source is called. */
void http__call_free(struct http_call *call);

/* call.c */
/* The events of a connection. Any event closes a connection without a call. */
extern const struct stream_events http__link_events;
/* Ends the call with an error. */
void http__call_fail(struct http_call *call, int error, const char *words);
/* Sets the stream's deadline to the next one of the call. */
void http__call_set_deadline(struct http_call *call);

/* request.c */
/* Fills key, name and the head of the request. -EINVAL. */
int http__call_prepare(struct http_call *call);
