/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: a small HTTP/1.1 server for admin, metrics and dashboard endpoints.
 *
 * One server is one listening socket on one loop; everything runs on that loop's thread and nothing
 * blocks. All work of a connection, handlers included, is done in steps of a task (lib/stream), so
 * that connections take turns and share one budget of time per turn of the loop. A table of routes
 * names the handlers; the server itself answers 404, 405, 400, 408, 413, 417, 431 and 503. A
 * handler is called once per request, when all of it has come (or its head: see HTTP_IN_PIECES). It
 * answers either whole (http_reply) or with a stream whose producer is asked for the next slice
 * when the last one has gone (http_reply_stream): before it returns or, if it says so
 * (http_reply_later), when it has what it needs. Requests of one connection are answered in order.
 *
 * Bounds: connections, size of head and body of a request, time to send a request, time to take an
 * answer (per HTTP_SLICE bytes), idle time. What a stream has not produced needs no memory.
 *
 * At the limit of connections a new one takes the place of the oldest that is idle, else of the
 * oldest whose request is not whole, else of one whose client takes nothing of its answer for a
 * second. Only where all others wait for their answers is it refused. The memory of all requests
 * and answers together is bounded, too: beyond max_held, the connection that has been without
 * progress for longest is closed.
 *
 * The library never logs: it counts (http_server_stats) and, if wanted, traces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/http/message.h"
#include "lib/http/slice.h"
#include "lib/loop/loop.h"

struct http_server;
struct http_exchange; /* one request and its answer */
struct stream;
struct tls_context;

enum http_method {
	HTTP_GET = 1 << 0, /* HEAD too: the server drops the content */
	HTTP_POST = 1 << 1,
	HTTP_PUT = 1 << 2,
	HTTP_PATCH = 1 << 3,
	HTTP_DELETE = 1 << 4,
	HTTP_OPTIONS = 1 << 5,
};

/*
 * Beside the methods of a route: its handler is called as soon as the head has come, without body
 * and trailers, and takes the body by http_receive(), whatever its size. An answer that it gives
 * without that is the last of the connection, unless the request has no body.
 */
#define HTTP_IN_PIECES (1U << 16)

/* A request as its handler sees it. All of it is gone when the handler returns. */
struct http_request {
	const struct http_head *head;
	struct str path;  /* as sent, up to the '?'; without scheme and host */
	struct str query; /* after the '?', or empty */
	struct str body;
	const struct http_header *trailers; /* of a chunked body */
	size_t n_trailers;
	/* An IPv4 client is IPv4, also on a dual-stack socket; none on a Unix socket. */
	struct endpoint peer;
};

/*
 * Answers x before it returns, by http_reply() or http_reply_stream(), or says that it will, by
 * http_reply_later(). May drain, never free.
 */
typedef void (*http_handler_fn)(struct http_exchange *x, const struct http_request *request,
				void *user);

/* The first route whose path matches and that takes the method answers. */
struct http_route {
	unsigned methods; /* of enum http_method, and maybe HTTP_IN_PIECES */
	const char *path; /* exact; or "/some/" and "*" for all that begins so */
	http_handler_fn handler;
};

/*
 * Routes that another room brings to a server, with a user of their own. They are looked at before
 * the server's own, and together with those for 405.
 */
struct http_mount {
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	void *user; /* of their handlers */
};

/* An answer has been decided on; strings live during the call. method is empty if none was read. */
struct http_trace {
	struct endpoint peer;
	struct str method, target;
	unsigned status;
};

/* Zero means the default. Times are ns. */
struct http_server_config {
	struct endpoint listen;		 /* no address: any, both families; port 0: any free one */
	const char *path;		 /* a Unix socket instead; see lib/stream/listener.h */
	mode_t mode;			 /* of its file; 0: 0600 */
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	void *user;			   /* of handlers, admits, trace and error */
	struct http_mount mount;	   /* zeroed: none */
	struct tls_context *tls;	   /* NULL: plaintext; borrowed */
	const struct http_header *headers; /* of every answer, the server's own too; borrowed */
	size_t n_headers;
	size_t max_connections; /* 1000; above, somebody makes room (see below), or it is 503 */
	size_t max_body;	/* 64 KiB; of a request */
	size_t max_held;	/* 64 MiB; of all connections, each has 4 KiB a buffer beside */
	/*
	 * 10 s: from the first byte of a request to its last. A body in pieces has that time for
	 * each HTTP_SLICE bytes, and none while its handler does not take them.
	 */
	int64_t request_timeout;
	int64_t idle_timeout;  /* 60 s: between two requests of one connection */
	int64_t write_timeout; /* 30 s: for the client to take HTTP_SLICE bytes */
	/*
	 * Called before a request is routed, unless a mounted route takes it. Returns false if it
	 * has answered x, by http_reply(). NULL: all are admitted.
	 */
	bool (*admits)(struct http_exchange *x, const struct http_request *request, void *user);
	void (*trace)(const struct http_trace *trace, void *user);
	/* Answers x with an error of the server's own, by http_reply(); NULL: plain text. */
	void (*error)(struct http_exchange *x, unsigned status, void *user);
};

struct http_server_stats {
	size_t connections; /* open now */
	size_t held;	    /* bytes of requests and answers; see max_held */
	uint64_t accepted;
	uint64_t refused;	/* over the limit: answered 503, or closed */
	uint64_t evicted;	/* answered ones closed to make room */
	uint64_t cut;		/* others closed to make room */
	uint64_t accept_errors; /* out of descriptors or memory; accepting then pauses */
	uint64_t requests;	/* that reached routing */
	uint64_t malformed;	/* answered 400, 413, 417 or 431 by the server */
	uint64_t timeouts;	/* of any kind but idle */
	uint64_t cancelled;	/* streams, bodies and later answers that did not reach their end */
	uint64_t upgraded;	/* connections handed over */
	uint64_t tls_failures;	/* handshakes */
	uint64_t bytes_sent;
};

/* Listens. -errno as of stream_listener_open(); *ret untouched then. */
int http_server_new(struct ev_loop *loop, const struct http_server_config *config,
		    struct http_server **ret);
/*
 * Closes everything at once; cancels streams. NULL is fine. Never from within a callback of its
 * own, but for drain's `done`.
 */
void http_server_free(struct http_server *s);
/* Where it listens, with the port that was found; none on a Unix socket. */
struct endpoint http_server_endpoint(const struct http_server *s);
const struct http_server_stats *http_server_stats(const struct http_server *s);
/* For connections to come; those that are there keep theirs. Only where there was one. */
void http_server_set_tls(struct http_server *s, struct tls_context *tls);
/*
 * Stops listening, closes idle connections, cancels streams that wait, and lets requests and
 * answers under way finish, each the last of its connection. `done` is called once, from the loop,
 * never from within this call, when no connection is left; it may free the server. How long to
 * wait for that is the caller's choice: http_server_free() ends it. Call it once. Handshakes that
 * are under way, and clients that do not close after their last answer, get 0.3 s.
 */
void http_server_drain(struct http_server *s, void (*done)(void *user), void *user);

/* Adds a header to the answer that follows. -EINVAL if name or value could not stand in one. */
int http_reply_header(struct http_exchange *x, const char *name, struct str value);
/* The whole answer; body is copied. content_type may be NULL when there is no body. */
void http_reply(struct http_exchange *x, unsigned status, const char *content_type,
		struct str body);
/*
 * The answer comes later, from the loop; how long to wait for it is the handler's choice. x lives
 * until it is answered, or until gone() says that nobody waits any more: exactly one of the two.
 */
void http_reply_later(struct http_exchange *x, void (*gone)(void *user), void *user);
/* As http_reply(), with the status and its reason as a line of plain text. */
void http_reply_status(struct http_exchange *x, unsigned status);

/*
 * Where the length is not known: chunked for HTTP/1.1, ended by the connection's end for HTTP/1.0.
 * x lives until closed().
 */
void http_reply_stream(struct http_exchange *x, unsigned status, const char *content_type,
		       const struct http_stream *stream);
/* There is more for a stream that waits. From anywhere on the thread; does not call produce. */
void http_wake(struct http_exchange *x);

/*
 * The body of a request, taken in pieces. All calls come from a step of a task; each may answer. An
 * answer that is whole ends the receiving, and is the last of the connection when it comes before
 * end(). Beside an answer in slices the receiving goes on, up to the answer's end.
 */
struct http_sink {
	/*
	 * Takes the first bytes of piece, and returns how many. If that is less than all, no more
	 * is read from the client until http_resume().
	 */
	size_t (*take)(struct str piece, void *user);
	/* All of it was taken. The trailers live during the call. */
	void (*end)(const struct http_header *trailers, size_t n, void *user);
	/* As of http_reply_later(): the client is gone, too slow, or its body is malformed. */
	void (*gone)(void *user);
	void *user;
};

/*
 * From within the handler of a route with HTTP_IN_PIECES; it includes http_reply_later(). A client
 * that waits for "100 Continue" is sent it now.
 */
void http_receive(struct http_exchange *x, const struct http_sink *sink);
/* take() is called again, from the loop. From anywhere on the thread; nothing if it was not due. */
void http_resume(struct http_exchange *x);

/*
 * Answers 101 with the headers added before, and hands the connection over to the caller's closed
 * stream: it is OPEN then, the answer is in its queue, and each side ends on its own as in any
 * stream. Bytes that the client sent ahead are added to ret_early. The server does not count the
 * connection any more, nor wait for it when it drains. x is gone.
 *
 * -EINVAL when the client has not asked to upgrade, or its request has a body that was not taken;
 * nothing is done then, and x is still to be answered.
 */
int http_upgrade(struct http_exchange *x, const char *protocol, struct stream *to,
		 struct buf *ret_early);

/* "Not Found"; "" for codes that are not known. */
const char *http_status_reason(unsigned status);
