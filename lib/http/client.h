/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: an HTTP/1.1 client on a loop, over TCP or a Unix socket, plain or in TLS.
 *
 * A call is one request and its response. It looks up the name in a child process, connects, sends
 * the request, whole or slice by slice, and hands over the response, collected or piece by piece.
 * Nothing blocks; all callbacks of a call come from steps of a task, never from within a function
 * of this file. done() is the last one and comes exactly once, unless the call is cancelled.
 *
 * Connections are kept open for later calls to the same target. When a server closes a kept
 * connection just as a request is sent on it, and nothing of a response has come, a request that
 * may be repeated (GET, HEAD, PUT, DELETE, OPTIONS; not with a body in slices) is sent once more on
 * a new connection.
 *
 * Everything that a server can make large or slow is bounded: the head, the trailers, the number of
 * interim responses (1xx), a collected body, the time to connect, the time up to the head, the time
 * for all of it. A body in pieces has no bound of its own; the caller takes it at its own pace.
 *
 * Redirects, cookies, proxies and content codings are the caller's.
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
	size_t max_calls;	    /* 1000; under way */
	size_t max_idle;	    /* 64; kept connections, the oldest is closed above */
	size_t max_idle_per_target; /* 8 */
	int64_t idle_timeout;	    /* 30 s */
};

/* Where a request goes. Connections are shared by calls for which all of this is the same. */
struct http_target {
	/* A name, or an address without brackets. It stands in Host, and TLS verifies it. */
	const char *host;
	uint16_t port;		 /* 0: 80, in TLS 443 */
	const char *socket;	 /* a Unix socket instead of host and port: a path, or "@name" */
	struct tls_context *tls; /* NULL: plain. Lives until http_client_close_idle() or the end */
	const char *server_name; /* what TLS asks for and verifies; NULL: host */
};

/* How a call ended. All of it lives during done(). */
struct http_result {
	int error;		      /* 0: the response is whole; else a negative errno */
	const char *reason;	      /* words for it, with the target; "" without an error */
	const struct http_head *head; /* NULL when none has come */
	struct str body;	      /* what was collected; empty with take() */
	const struct http_header *trailers;
	size_t n_trailers;
};

/*
 * Zero means the default. Strings, headers and body are copied. Errors of a call: -ETIMEDOUT,
 * -EMSGSIZE (larger than max_body), -EBADMSG (not HTTP as we accept it), -ECONNRESET (ended too
 * early), -EHOSTUNREACH (the name has no address), -EPIPE (the source was lost), -ECANCELED (the
 * client was freed), and what sockets and TLS say.
 */
struct http_call_config {
	struct http_target target;
	const char *method;		   /* GET */
	const char *path;		   /* with the query: "/a?b" */
	const struct http_header *headers; /* beside Host, Content-Length and Transfer-Encoding */
	size_t n_headers;
	struct str body;
	const struct http_stream *source; /* the body in slices instead; its closed() is called */
	int64_t connect_timeout;	  /* 5 s, ns: look-up, connect, TLS */
	int64_t head_timeout;		  /* 30 s: from the end of the request to the head */
	int64_t timeout;		  /* 60 s: for all; HTTP_NO_TIMEOUT: no bound */
	size_t max_body;		  /* 1 MiB; without take() */
	/* The head has come; it lives during the call. May be NULL. */
	void (*head)(const struct http_head *head, void *user);
	/*
	 * Takes the first bytes of piece, and returns how many. If that is less than all, no more
	 * is read until http_call_resume(). NULL: the body is collected, and done() has it.
	 */
	size_t (*take)(struct str piece, void *user);
	/* The call is gone when this returns. It may start others, and free the client. */
	void (*done)(const struct http_result *result, void *user);
	void *user;
};

struct http_client_stats {
	size_t calls;	      /* under way */
	size_t idle;	      /* connections kept */
	uint64_t connections; /* made in all */
	uint64_t reused;      /* calls on a kept connection */
	uint64_t retried;
};

struct http_client *http_client_new(struct ev_loop *loop, const struct http_client_config *config);
/* Calls under way end with -ECANCELED now. NULL is fine. From a callback only in done(). */
void http_client_free(struct http_client *c);
const struct http_client_stats *http_client_stats(const struct http_client *c);
/* Closes kept connections: certificates have changed, or a TLS context is to be freed. */
void http_client_close_idle(struct http_client *c);

/*
 * -EINVAL when target, method, path or headers cannot be; -EBUSY above max_calls; *ret untouched
 * then, and nothing is called.
 */
int http_call(struct http_client *c, const struct http_call_config *config, struct http_call **ret);
/* Ends it at any time, from anywhere on the thread, without done(). NULL is fine. */
void http_call_cancel(struct http_call *call);
/* take() is called again; nothing if it was not due. */
void http_call_resume(struct http_call *call);
/* There is more in a source that waits. */
void http_call_wake(struct http_call *call);
