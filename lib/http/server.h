/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: a small HTTP/1.1 server for admin, metrics and dashboard endpoints.
 *
 * One server is one listening socket on one loop. Everything runs on that loop's thread and nothing
 * blocks. All work of a connection, including handlers, is done in steps of a task (lib/stream), so
 * that connections take turns and share one time budget per turn of the loop.
 *
 * A table of routes names the handlers; the server itself answers 404, 405, 400, 408, 413, 417, 431
 * and 503. A handler is called once per request, when the request is complete (or its head: see
 * HTTP_IN_PIECES). It answers with a complete body (http_reply), or with a stream that produces the
 * next slice when the last one was sent (http_reply_stream). It does so before it returns, or later
 * after http_reply_later(). Requests of one connection are answered in order.
 *
 * These are bounded: the number of connections, the size of head and body of a request, the time to
 * send a request, the time to take an answer (per HTTP_SLICE bytes), and the idle time.
 *
 * At the limit of connections, a new one replaces the oldest idle one; if there is none, the oldest
 * whose request is incomplete; if there is none, one whose client has taken nothing of its answer
 * for a second. If all connections wait for their answers, the new one is refused. The memory of
 * all requests and answers together is bounded as well: above max_held, the connection that has
 * made no progress for the longest time is closed.
 *
 * The library never logs. It counts (http_server_stats) and calls trace().
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
	HTTP_GET = 1 << 0, /* also HEAD: the server drops the content */
	HTTP_POST = 1 << 1,
	HTTP_PUT = 1 << 2,
	HTTP_PATCH = 1 << 3,
	HTTP_DELETE = 1 << 4,
	HTTP_OPTIONS = 1 << 5,
};

/*
 * A flag beside the methods of a route: its handler is called as soon as the head has arrived,
 * without body and trailers, and takes the body with http_receive(), whatever its size. If it
 * answers without doing so and the request has a body, the connection is closed after the answer.
 */
#define HTTP_IN_PIECES (1U << 16)

/* A request, valid until its handler returns. */
struct http_request {
	const struct http_head *head;
	struct str path;  /* as sent, up to the '?'; without scheme and host */
	struct str query; /* after the '?', or empty */
	struct str body;
	const struct field *trailers; /* of a chunked body */
	size_t n_trailers;
	/* IPv4 clients have an IPv4 address, also on a dual-stack socket. Unset on Unix. */
	struct endpoint peer;
	const char *peer_name; /* of its certificate; NULL: it has shown none */
};

/*
 * Before it returns, it calls http_reply(), http_reply_stream(), http_reply_later() or one of their
 * variants. It may drain the server, but must not free it.
 */
typedef void (*http_handler_fn)(struct http_exchange *x, const struct http_request *request,
				void *user);

/* The first route with the request's path and method is used. */
struct http_route {
	unsigned methods; /* of enum http_method, and maybe HTTP_IN_PIECES */
	const char *path; /* exact; or with a '*' at its end: all paths with that prefix */
	http_handler_fn handler;
};

/*
 * Routes of another module, with their own user pointer. They are searched before the server's own.
 */
struct http_mount {
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	void *user; /* of their handlers */
};

/* An answer, for trace(); valid during the callback. method is empty if none was read. */
struct http_trace {
	struct endpoint peer;
	struct str method, target;
	unsigned status;
	int64_t took; /* ns from the handler's call to its answer; 0 without one */
};

/* Zero means the default. Times are ns. */
struct http_server_config {
	struct endpoint listen; /* no address: any, both families; port 0: any free */
	const char *path;	/* a Unix socket instead; see lib/stream/listener.h */
	mode_t mode;		/* of its file; 0: 0600 */
	/*
	 * A socket that listens already, instead of both, of an earlier process; see
	 * stream_listener_adopt(). 0: none.
	 */
	int inherited;
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	void *user;		     /* of handlers, admits, trace and error */
	struct http_mount mount;     /* zeroed: none */
	struct tls_context *tls;     /* NULL: plaintext; borrowed */
	const struct field *headers; /* added to every answer; borrowed */
	size_t n_headers;
	size_t max_connections; /* 1000; above, see the top of this file and lib/stream/crowd.h */
	size_t max_per_source;	/* a quarter of max_connections; not for local clients */
	size_t max_body;	/* 64 KiB; of a request */
	size_t max_held;	/* 64 MiB; of all connections; up to 4 KiB per buffer are free */
	/*
	 * 10 s: from the first byte of a request to its last. With a body in pieces: for each
	 * HTTP_SLICE bytes; the time does not run while the handler does not take them.
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
	/* Writes the server's own error answers with http_reply(); NULL: plain text. */
	void (*error)(struct http_exchange *x, unsigned status, void *user);
};

struct http_server_stats {
	size_t connections; /* open now */
	size_t held;	    /* bytes of requests and answers; see max_held */
	uint64_t accepted;
	uint64_t refused;	/* above a limit: answered with 503, or closed */
	uint64_t evicted;	/* idle ones closed to make room */
	uint64_t cut;		/* others closed to make room */
	uint64_t accept_errors; /* out of descriptors or memory; accepting then pauses */
	uint64_t requests;	/* that reached routing */
	uint64_t malformed;	/* answered with 400, 413, 417 or 431 by the server */
	uint64_t timeouts;	/* all kinds except idle */
	uint64_t cancelled;	/* streams, bodies and later answers that did not finish */
	uint64_t upgraded;	/* connections handed over */
	uint64_t tls_failures;	/* handshakes */
	uint64_t bytes_sent;
};

/*
 * Opens the listener. Returns the errors of stream_listener_open(); *ret is untouched then, and an
 * inherited socket still belongs to the caller.
 */
int http_server_new(struct ev_loop *loop, const struct http_server_config *config,
		    struct http_server **ret);
/*
 * Closes everything at once and cancels streams. NULL is allowed. Must not be called from within a
 * callback of the server, except `done` of http_server_drain().
 */
void http_server_free(struct http_server *s);
/* The address that it listens on, with the real port; unset for a Unix socket. */
struct endpoint http_server_endpoint(const struct http_server *s);
/* The listening socket, to be passed to another process; it still belongs to the server. */
int http_server_socket(const struct http_server *s);
/*
 * Stops listening without a trace, because another process has the same socket: connections that
 * wait, and the file of a Unix socket, are left to it.
 */
void http_server_hand_over(struct http_server *s);
const struct http_server_stats *http_server_stats(const struct http_server *s);
/* For new connections; open ones keep theirs. Only if the server already uses TLS. */
void http_server_set_tls(struct http_server *s, struct tls_context *tls);
/*
 * Stops listening, closes idle connections that have had an answer, cancels streams that wait, and
 * lets unfinished requests and answers finish; each connection is closed after that. When no
 * connection is left, `done` is called once from the loop, never from within this function; it may
 * free the server. The caller decides how long to wait; http_server_free() ends it. Call it once.
 * Unfinished TLS handshakes, connections that had no request yet, and clients that do not close
 * after their last answer, get 0.3 s.
 */
void http_server_drain(struct http_server *s, void (*done)(void *user), void *user);

/* Adds a header to the answer that follows. -EINVAL if name or value is not valid in a header. */
int http_reply_header(struct http_exchange *x, const char *name, struct str value);
/* Answers with a complete body, which is copied. content_type may be NULL without a body. */
void http_reply(struct http_exchange *x, unsigned status, const char *content_type,
		struct str body);
/*
 * The answer comes later, from the loop; the handler decides how long that may take. x exists until
 * it is answered, or until gone() reports that the client no longer waits: exactly one of the two.
 * May be called again until then, by the code that takes over: its gone() counts from then on.
 */
void http_reply_later(struct http_exchange *x, void (*gone)(void *user), void *user);
/* The same as http_reply() with the status and its reason as a line of plain text. */
void http_reply_status(struct http_exchange *x, unsigned status);

/*
 * Answers with a stream. Without a known length it is chunked for HTTP/1.1, and ends with the
 * connection for HTTP/1.0. x exists until closed().
 */
void http_reply_stream(struct http_exchange *x, unsigned status, const char *content_type,
		       const struct http_stream *stream);
/* A stream that waits has more. Allowed in any callback; produce() is called later. */
void http_wake(struct http_exchange *x);

/*
 * The body of a request, taken in pieces. All callbacks are called from a step of a task; each may
 * answer. A complete answer ends the receiving; if it comes before end(), the connection is closed
 * after it. While an answer in slices is sent, receiving continues until the end of the answer.
 */
struct http_sink {
	/*
	 * Takes the first bytes of piece and returns their number. If not all were taken, nothing
	 * more is read from the client until http_resume().
	 */
	size_t (*take)(struct str piece, void *user);
	/* The whole body was taken. The trailers are valid during the callback. */
	void (*end)(const struct field *trailers, size_t n, void *user);
	/* See http_reply_later(): the client is gone or too slow, or its body is malformed. */
	void (*gone)(void *user);
	void *user;
};

/*
 * To be called by the handler of a route with HTTP_IN_PIECES; includes http_reply_later(). If the
 * client waits for "100 Continue", it is sent now.
 */
void http_receive(struct http_exchange *x, const struct http_sink *sink);
/* Calls take() again, from the loop. No effect if reading was not stopped. */
void http_resume(struct http_exchange *x);

/*
 * Answers with 101 and the headers added before, and moves the connection to the caller's closed
 * stream, which is OPEN then and has the answer in its queue. Bytes that the client has already
 * sent after its request are appended to ret_early. The server no longer counts the connection and
 * does not wait for it when it drains. x no longer exists.
 *
 * -EINVAL if the client has not asked for an upgrade, or its request has a body that was not taken.
 * Nothing is done then, and x must still be answered.
 */
int http_upgrade(struct http_exchange *x, const char *protocol, struct stream *to,
		 struct buf *ret_early);

/* "Not Found"; "" for unknown codes. */
const char *http_status_reason(unsigned status);
