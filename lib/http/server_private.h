/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the server share: the server, its connections, and the calls between them. */
#pragma once

#include <sys/queue.h>

#include "lib/http/server.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define HTTP__READ_SIZE ((size_t)16 * 1024)
#define HTTP__DATE_SIZE 64
#define HTTP__KEEP_MAX ((size_t)4096) /* of a buffer; a larger one is given back when it can be */

/* A connection is in exactly one; each has a step. */
enum http__state {
	HTTP__IDLE,   /* nothing of a request has come */
	HTTP__HEAD,   /* part of a head has come */
	HTTP__BODY,   /* the head has come, the body is not whole */
	HTTP__ANSWER, /* the answer is on its way */
	HTTP__LINGER, /* the last answer goes out; what comes in is thrown away */
	HTTP__MOVED,  /* http_upgrade() has handed the socket over */
	HTTP__STATES
};

/*
 * Which connection is closed when another one needs the room: one of the first rank that has any,
 * and of that rank the one that has been in it for longest.
 */
enum http__rank {
	HTTP__SPARE,  /* answered: idle, or lingering */
	HTTP__ASKING, /* nothing of its request has come, or not all */
	HTTP__TAKING, /* it is the client's turn to take its answer, before it asks for more */
	HTTP__RANKS,  /* never: the client waits for the answer, or it is over the limit itself */
};

struct http_exchange {
	struct http__conn *conn;
	unsigned minor;	  /* of the client's version */
	bool head_only;	  /* HEAD: no content */
	bool close;	  /* the last one of this connection */
	bool answered;	  /* http_reply*() has been called */
	unsigned status;  /* of the answer */
	struct buf extra; /* headers of http_reply_header() */
	bool later;	  /* gone() is owed, or an answer */
	void (*gone)(void *user);
	void *gone_user;
	struct buf asked; /* of a later answer: the method, and the target behind it */
	size_t method_n;
	struct http_stream stream;
	bool streaming; /* closed() is owed */
	bool ended;	/* nothing more to produce */
	bool lost;	/* there would be, but it is gone */
	uint64_t made;	/* bytes that the stream has produced */
	bool waiting;	/* for http_wake() */
	bool upgrade;	/* the client has asked for one */
	bool pieces;	/* the route takes bodies in pieces */
	struct http_sink sink;
	bool receiving; /* take() and end() are still to be called */
	bool paused;	/* until http_resume() */
};

struct http__conn {
	struct http_server *server;
	TAILQ_ENTRY(http__conn) all, ranked;
	enum http__rank rank;
	ev_tstamp since; /* of the rank, or of its last answer or progress in it */
	enum http__state state;
	struct stream stream; /* its queue holds the answer */
	struct endpoint peer;
	struct buf in;		/* from the start of the head that is being read */
	size_t head_len;	/* of that head, once it is whole */
	size_t scanned;		/* see http_parse_request() */
	struct http_body body;	/* of the request */
	struct buf content;	/* its bytes so far */
	struct buf trailers;	/* its trailer lines so far */
	size_t fed;		/* see receive.c */
	uint64_t counted;	/* bytes sent that are part of stats.bytes_sent */
	size_t taken;		/* by the client, or of its body, since the deadline was set */
	size_t held;		/* of stats.held */
	struct http_exchange x; /* while answering */
	bool secured;		/* its TLS handshake is done, or there is none */
	bool served;		/* an answer has gone out, or begun to */
	bool moved;		/* bytes have gone out since the rank was last set */
	bool refused;		/* over the limit */
	bool peer_closed;	/* nothing more will come in */
};

TAILQ_HEAD(http__conns, http__conn);

struct http_server {
	struct ev_loop *loop;
	struct http_server_config config;
	struct stream_listener listener; /* closed once draining */
	struct http__conns conns;
	struct http__conns ranks[HTTP__RANKS]; /* oldest first */
	struct http__conn *running;	       /* whose step is under way: it is never closed */
	size_t n_refused;
	struct http_server_stats stats;
	struct http_head head; /* of the request being handled: one at a time */
	struct http_header trailers[HTTP_HEADERS_MAX]; /* of the same request */
	char input[HTTP__READ_SIZE];
	int64_t date_at; /* second of `date` */
	char date[HTTP__DATE_SIZE];
	bool draining;
	ev_timer drained;
	void (*done)(void *user);
	void *done_user;
};

/* connection.c */
struct http__conn *http__conn_new(struct http_server *s, int fd, struct endpoint peer);
/* Closes it at once and frees it. */
void http__conn_close(struct http__conn *c);
/* Answers with a status of the server's own and ends the connection after it. */
void http__conn_refuse(struct http__conn *c, unsigned status);
/* Closes it unless a request has come, or an answer is going out that has an end. May free c. */
void http__conn_drain(struct http__conn *c);
/* A later answer has come. */
void http__conn_answered(struct http__conn *c);
/* The handler takes more of the body. */
void http__conn_resumed(struct http__conn *c);

/* server.c */
/* This connection holds so much from now on; others are closed when all hold too much. */
void http__server_hold(struct http_server *s, struct http__conn *c, size_t bytes);
void http__server_forget(struct http_server *s, struct http__conn *c);

/* receive.c */
/*
 * Hands over what has come of the body. 1 when there was no time for all of it, 0 when there is
 * nothing more to do now, or a negative errno as of http_body_feed() and http_parse_trailers().
 */
int http__receive(struct http__conn *c);

/* reply.c */
/* Asks the stream for its next slice, framed. */
void http__produce(struct http_exchange *x);
/* The exchange is over; tells the stream, if there is one. */
void http__exchange_end(struct http_exchange *x, bool whole);

/* Answers with a status of the server's own. */
void http__reply_error(struct http_exchange *x, unsigned status);

/* route.c */
struct http__choice {
	const struct http_route *route; /* NULL: there is none */
	void *user;			/* of its handler */
	unsigned allowed;		/* without a route: the methods that would have one */
	bool mounted;			/* the route is one of the mount */
};
struct http__choice http__find_route(const struct http_server *s,
				     const struct http_request *request);
/* Finds the handler, or answers itself. */
void http__route(struct http_exchange *x, const struct http_request *request);
/* Fills path and query from the target. */
void http__split_target(struct str target, struct http_request *ret);
