/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: an HTTP/1.1 client on a loop, over TCP or a Unix socket, plain or in TLS.
 *
 * A call is one request and its response. It looks up the name in a child process, connects, sends
 * the request, at once or slice by slice, and delivers the response, collected or piece by piece.
 * Nothing blocks. All callbacks of a call are called from steps of a task, never from within a
 * function of this file. done() is the last one and is called exactly once, unless the call is
 * cancelled.
 *
 * Connections are kept open for later calls to the same target. A server may close a kept
 * connection at the moment when a request is sent on it. If no byte of a response has arrived then,
 * and the request may be repeated (GET, HEAD, PUT, DELETE, OPTIONS; not with a body in slices), it
 * is sent once more on a new connection.
 *
 * Everything that a server can make large or slow is bounded: the head, the trailers, the number of
 * interim responses (1xx), a collected body, the time to connect, the time until the head, and the
 * total time. A body in pieces has no bound of its own; the caller takes it at its own pace.
 *
 * Redirects, cookies and content codings are left to the caller.
 *
 * A client belongs to the thread of its loop. Outside of the main thread its targets must be
 * addresses or Unix sockets, since a lookup forks (lib/net/lookup.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/http/message.h"
#include "lib/http/slice.h"
#include "lib/loop/loop.h"

struct http_client;
struct http_call;
struct tls_context;

#define HTTP_NO_TIMEOUT INT64_MAX

/* Zero means the default. */
struct http_client_config {
	size_t max_calls;	    /* 1000; at the same time */
	size_t max_idle;	    /* 64; kept connections; above, the oldest is closed */
	size_t max_idle_per_target; /* 8 */
	int64_t idle_timeout;	    /* 30 s */
};

/* A proxy that makes tunnels (CONNECT, RFC 9110 §9.3.6), for plain targets and for those in TLS. */
struct http_proxy {
	const char *host;	   /* a name, or an address without brackets */
	uint16_t port;		   /* 0: 80 */
	const char *authorization; /* value of Proxy-Authorization; NULL: none */
};

/* Where a request goes. Calls with equal targets share connections. */
struct http_target {
	/* A name, or an address without brackets. It is sent as Host, and TLS verifies it. */
	const char *host;
	uint16_t port;		 /* 0: 80, in TLS 443 */
	const char *socket;	 /* a Unix socket instead of host and port: a path, or "@name" */
	struct tls_context *tls; /* NULL: plain. Used until http_client_close_idle() or _free() */
	const char *server_name; /* name for SNI and verification; NULL: host */
	const struct http_proxy *proxy; /* NULL: none. Not with a Unix socket. Copied */
};

/* How a call ended. Valid during done(). */
struct http_result {
	int error;		      /* 0: the response is complete; else a negative errno */
	const char *reason;	      /* describes the error, with the target; "": none */
	const struct http_head *head; /* NULL if none has arrived */
	struct str body;	      /* the collected body; empty with take() */
	const struct field *trailers;
	size_t n_trailers;
};

/*
 * Zero means the default. Strings, headers and body are copied. Errors of a call: -ETIMEDOUT,
 * -EMSGSIZE (larger than max_body), -EBADMSG (malformed, see message.h), -ECONNRESET (ended too
 * early), -EHOSTUNREACH (the name has no address), -EPIPE (the source was lost), -EPERM
 * (may_send() said no), -ECANCELED (the client was freed), and errors of sockets and TLS.
 */
struct http_call_config {
	struct http_target target;
	const char *method;	     /* GET */
	const char *path;	     /* with the query: "/a?b" */
	const struct field *headers; /* besides Host, Content-Length, Transfer-Encoding */
	size_t n_headers;
	struct str body;
	const struct http_stream *source; /* instead of body: in slices; closed() is called */
	int64_t connect_timeout;	  /* 5 s, ns: look-up, connect, TLS */
	int64_t head_timeout;		  /* 30 s: from the end of the request to the head */
	int64_t timeout;		  /* 60 s: in total; HTTP_NO_TIMEOUT: no bound */
	size_t max_body;		  /* 1 MiB; without take() */
	/*
	 * Asked when the connection is there, right before the request is sent, also if it is sent
	 * once more. False: nothing is sent, and the call ends with -EPERM. NULL: it may be sent.
	 */
	bool (*may_send)(void *user);
	/* The head has arrived; it is valid during the callback. May be NULL. */
	void (*head)(const struct http_head *head, void *user);
	/*
	 * Takes the first bytes of piece and returns their number. If not all were taken, reading
	 * stops until http_call_resume(). NULL: the body is collected for done().
	 */
	size_t (*take)(struct str piece, void *user);
	/* The call is freed when this returns. It may start other calls and free the client. */
	void (*done)(const struct http_result *result, void *user);
	void *user;
};

struct http_client_stats {
	size_t calls;	      /* not finished yet */
	size_t idle;	      /* connections kept */
	uint64_t connections; /* opened in total */
	uint64_t reused;      /* calls on a kept connection */
	uint64_t retried;
};

struct http_client *http_client_new(struct ev_loop *loop, const struct http_client_config *config);
/* Unfinished calls end with -ECANCELED. NULL is allowed. Of the callbacks, only done() may. */
void http_client_free(struct http_client *c);
const struct http_client_stats *http_client_stats(const struct http_client *c);
/* Closes kept connections, for example because certificates have changed. */
void http_client_close_idle(struct http_client *c);

/*
 * -EINVAL if target, method, path or headers are invalid; -EBUSY above max_calls. *ret is untouched
 * then, and no callback is called.
 */
int http_call(struct http_client *c, const struct http_call_config *config, struct http_call **ret);
/* Ends the call without done(). Allowed at any time, also in callbacks. NULL is allowed. */
void http_call_cancel(struct http_call *call);
/* Calls take() again, from the loop. No effect if reading was not stopped. */
void http_call_resume(struct http_call *call);
/* The source, which returned HTTP_STREAM_WAIT, has more. */
void http_call_wake(struct http_call *call);
