/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the server: the server, its connections, and their functions. */
#pragma once

#include <sys/queue.h>

#include "lib/http/server.h"
#include "lib/stream/crowd.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define HTTP__READ_SIZE ((size_t)16 * 1024)
#define HTTP__DATE_SIZE 64
#define HTTP__KEEP_MAX ((size_t)4096) /* an unused buffer larger than this is freed */

/* The states of a connection; each has a step function. */
enum http__state {
	HTTP__IDLE,   /* nothing of a request has arrived */
	HTTP__HEAD,   /* a part of the head has arrived */
	HTTP__BODY,   /* the head has arrived, the body is incomplete */
	HTTP__ANSWER, /* the handler was called; the answer is made or sent */
	HTTP__LINGER, /* the last answer is sent; input is discarded */
	HTTP__MOVED,  /* http_upgrade() has moved the socket elsewhere */
	HTTP__STATES
};

/*
 * Which connection is closed to make room for another: one of the first rank that has any, and in
 * that rank the one that has been there for the longest time (lib/stream/crowd.h).
 */
enum http__rank {
	HTTP__SPARE,  /* answered: idle or lingering */
	HTTP__ASKING, /* its first request is incomplete or has not begun */
	HTTP__TAKING, /* the client has to take its answer */
	/* never closed: the client waits for us, or it is being refused */
	HTTP__RANKS = STREAM_KEPT
};

struct http_exchange {
	struct http__conn *conn;
	unsigned minor;	  /* of the client's version */
	bool head_only;	  /* HEAD: no content */
	bool close;	  /* the connection is closed after this answer */
	bool answered;	  /* http_reply*() has been called */
	unsigned status;  /* of the answer */
	int64_t asked_at; /* when the handler was called, monotonic ns; 0: it was not */
	struct buf extra; /* headers of http_reply_header() */
	bool later;	  /* either gone() or an answer must follow */
	void (*gone)(void *user);
	void *gone_user;
	struct buf asked; /* for a later answer: the method, then the target */
	size_t method_n;
	struct http_stream stream;
	bool streaming; /* closed() must still be called */
	bool ended;	/* everything was produced */
	bool lost;	/* HTTP_STREAM_LOST */
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
	TAILQ_ENTRY(http__conn) all;
	struct stream_member member; /* of the crowd; one that is refused is not in it */
	ev_tstamp since;	     /* when it entered the rank, or last made progress in it */
	enum http__state state;
	struct stream stream; /* its queue holds the answer */
	struct endpoint peer;
	struct buf in;		/* input, from the start of the current head */
	size_t head_len;	/* of that head, once it is complete */
	size_t scanned;		/* see http_parse_request() */
	struct http_body body;	/* of the request */
	struct buf content;	/* its bytes so far */
	struct buf trailers;	/* its trailer lines so far */
	size_t fed;		/* see receive.c */
	uint64_t counted;	/* bytes sent that are part of stats.bytes_sent */
	size_t taken;		/* by the client, or of its body, since the deadline was set */
	size_t held;		/* its part of stats.held */
	struct http_exchange x; /* while answering */
	bool secured;		/* its TLS handshake is done, or there is none */
	bool served;		/* an answer was sent, at least in part */
	bool moved;		/* bytes were sent since the rank was last set */
	bool refused;		/* above the limit of connections */
	bool peer_closed;	/* end of file was read */
};

TAILQ_HEAD(http__conns, http__conn);

struct http_server {
	struct ev_loop *loop;
	struct http_server_config config;
	struct stream_listener listener; /* closed once draining */
	struct http__conns conns;
	struct stream_crowd crowd;
	struct http__conn *running; /* its step is running: it is never closed */
	size_t n_refused;
	struct http_server_stats stats;
	struct http_head head;			 /* of the request being handled: one at a time */
	struct field trailers[HTTP_HEADERS_MAX]; /* of the same request */
	char input[HTTP__READ_SIZE];
	int64_t date_at; /* second of `date` */
	char date[HTTP__DATE_SIZE];
	bool draining;
	ev_timer drained;
	void (*done)(void *user);
	void *done_user;
};

/* connection.c */
struct http__conn *http__conn_new(struct http_server *s, int fd, struct endpoint peer,
				  bool refused);
/* Closes it at once and frees it. */
void http__conn_close(struct http__conn *c);
/* Answers with a status of the server's own and ends the connection after it. */
void http__conn_refuse(struct http__conn *c, unsigned status);
/* Closes it, unless a request has arrived or an answer that has an end is sent. May free c. */
void http__conn_drain(struct http__conn *c);
/* A later answer was given. */
void http__conn_answered(struct http__conn *c);
/* The handler takes more of the body. */
void http__conn_resumed(struct http__conn *c);

/* server.c */
/* This connection now holds that much memory. Closes others if all together hold too much. */
void http__server_hold(struct http_server *s, struct http__conn *c, size_t bytes);
void http__server_forget(struct http_server *s, struct http__conn *c);

/* receive.c */
/*
 * Passes the part of the body that has arrived to the handler. Returns 1 if there was no time for
 * all of it, 0 if there is nothing more to do now, or an error of http_body_feed() or
 * http_parse_trailers().
 */
int http__receive(struct http__conn *c);

/* reply.c */
/* Produces the next slice of the stream. */
void http__produce(struct http_exchange *x);
/* The exchange is over; calls closed() of its stream, if there is one. */
void http__exchange_end(struct http_exchange *x, bool whole);

/* Answers with a status of the server's own. */
void http__reply_error(struct http_exchange *x, unsigned status);

/* route.c */
struct http__choice {
	const struct http_route *route; /* NULL: there is none */
	void *user;			/* of its handler */
	unsigned allowed;		/* without a route: methods that the path has */
	bool mounted;			/* the route is one of the mount */
};
struct http__choice http__find_route(const struct http_server *s,
				     const struct http_request *request);
/* Calls the handler, or answers 404 or 405. */
void http__route(struct http_exchange *x, const struct http_request *request);
/* Fills path and query from the target. */
void http__split_target(struct str target, struct http_request *ret);
