/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the server share: the server, its connections, and who calls whom. */
#pragma once

#include <sys/queue.h>

#include "lib/http/server.h"
#include "lib/stream/listener.h"
#include "lib/tls/tls.h"

#define HTTP__READ_SIZE ((size_t)16 * 1024)
#define HTTP__DATE_SIZE 64
#define HTTP__KEEP_MAX ((size_t)4096) /* of a buffer; a larger one is given back when it can be */

/* A connection is in exactly one; http__conn_advance() runs its step. */
enum http__state {
	HTTP__IDLE,   /* nothing of a request has come */
	HTTP__HEAD,   /* part of a head has */
	HTTP__BODY,   /* the head has, its body has not */
	HTTP__ANSWER, /* the answer is on its way */
	HTTP__LINGER, /* the last answer goes out; what comes in is thrown away */
	HTTP__STATES
};

/* Who makes room: the first rank first, and within it whoever has been there for longest. */
enum http__rank {
	HTTP__SPARE,  /* answered: idle, or lingering */
	HTTP__ASKING, /* nothing of its request has come, or not all */
	HTTP__TAKING, /* it is the client's turn to take its answer, before it asks for more */
	HTTP__RANKS,  /* none of them: the answer is awaited, or it is over the limit */
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
};

struct http__conn {
	struct http_server *server;
	TAILQ_ENTRY(http__conn) all, ranked, queued;
	enum http__rank rank;
	ev_tstamp since; /* of the rank, or of its last answer or progress in it */
	enum http__state state;
	int fd;
	struct tls *tls; /* NULL: plaintext */
	bool secured;	 /* its handshake is done, or there is none */
	struct endpoint peer;
	ev_io io;
	ev_timer deadline;
	struct buf in;		/* from the start of the head that is being read */
	size_t head_len;	/* of that head, once it is whole */
	size_t scanned;		/* see http_parse_request() */
	struct http_body body;	/* of the request */
	struct buf content;	/* its bytes so far */
	struct buf out;		/* the answer */
	size_t out_at;		/* what has gone */
	size_t gone;		/* since the deadline was set */
	size_t held;		/* of stats.held */
	struct http_exchange x; /* while answering */
	bool in_queue;		/* its stream's next slice is wanted, and not its turn yet */
	bool its_turn;		/* it is */
	bool served;		/* an answer has gone out, or begun to */
	bool moved;		/* so has something since the rank was last looked at */
	bool refused;		/* over the limit */
	bool peer_closed;	/* nothing more will come in */
	bool shut;		/* nothing more will go out */
};

TAILQ_HEAD(http__conns, http__conn);

struct http_server {
	struct ev_loop *loop;
	struct http_server_config config;
	struct stream_listener listener; /* closed once draining */
	struct http__conns conns;
	struct http__conns ranks[HTTP__RANKS]; /* oldest first */
	struct http__conns queue;	       /* whose streams are to be asked, in turn */
	ev_timer asking;		       /* active while there are any */
	unsigned turn;			       /* of the loop, in which streams were last asked */
	int64_t turn_ends; /* monotonic ns: from then on they wait for the next one */
	size_t n_refused;
	struct http_server_stats stats;
	struct http_head head; /* of the request being handled: one at a time */
	char input[HTTP__READ_SIZE];
	int64_t date_at; /* second of `date` */
	char date[HTTP__DATE_SIZE];
	bool draining;
	ev_timer drained;
	void (*done)(void *user);
	void *done_user;
};

/* connection.c; all but new and watch may free the connection */
struct http__conn *http__conn_new(struct http_server *s, int fd, struct endpoint peer);
void http__conn_close(struct http__conn *c);
/* Answers with a status of the server's own and ends the connection after it. */
void http__conn_refuse(struct http__conn *c, unsigned status);
/* Closes it unless a request has come, or an answer is going out that has an end. */
void http__conn_drain(struct http__conn *c);
/* A later answer has come. */
void http__conn_answered(struct http__conn *c);
/* It is its stream's turn to be asked for a slice. */
void http__conn_produce(struct http__conn *c);
/* Says to the loop what the connection waits for. */
void http__conn_watch(struct http__conn *c, bool also_write);

/* server.c */
/* So much is held by this connection from now on; others may have to go for it. */
void http__server_hold(struct http_server *s, struct http__conn *c, size_t bytes);
/* Whether its stream may be asked for a slice now; otherwise it is queued, behind those who are. */
bool http__server_turn(struct http_server *s, struct http__conn *c);
void http__server_unqueue(struct http_server *s, struct http__conn *c);
void http__server_forget(struct http_server *s, struct http__conn *c);

/* reply.c */
/* Asks the stream for its next slice, framed. */
void http__produce(struct http_exchange *x);
/* The exchange is over; tells the stream, if there is one. */
void http__exchange_end(struct http_exchange *x, bool whole);

/* Answers with a status of the server's own. */
void http__reply_error(struct http_exchange *x, unsigned status);

/* route.c */
/* Finds the handler, or answers itself. */
void http__route(struct http_exchange *x, const struct http_request *request);
/* Fills path and query from the target. */
void http__split_target(struct str target, struct http_request *ret);
