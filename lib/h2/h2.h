/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2: HTTP/2 connections on a loop, server's and client's, plain (prior knowledge) or in TLS.
 *
 * A host has many connections and one set of callbacks; a connection has many streams. Whoever uses
 * it keeps his own data of a stream in the area that comes with it. Everything runs on the loop's
 * thread, nothing blocks. What is sent is gathered and goes out once per turn of the loop.
 *
 * Bounds: connections, streams of a connection, size of headers, what is queued below the streams,
 * time for the handshake and for a block of headers, and how often a peer may reset streams or send
 * frames that only make work. Who exceeds them is sent GOAWAY (ENHANCE_YOUR_CALM) and closed. What
 * a stream queues is bounded by its user (h2_queued).
 *
 * Never logs; counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/loop/loop.h"

struct h2_conn;
struct h2_host;
struct h2_stream;
struct tls_context;

/* The name is lower case and lives forever; the value is copied. */
struct h2_field {
	const char *name;
	struct str value;
};

/* Of RFC 9113 §7; others may come from a peer. */
enum h2_error {
	H2_NO_ERROR = 0,
	H2_PROTOCOL_ERROR = 1,
	H2_INTERNAL_ERROR = 2,
	H2_REFUSED_STREAM = 7,
	H2_CANCEL = 8,
	H2_ENHANCE_YOUR_CALM = 11,
	H2_INADEQUATE_SECURITY = 12,
};

/*
 * All may be NULL. user is the host's. None of them may free the host; a stream may be answered or
 * reset from within each.
 */
struct h2_events {
	/* Client: requests can be made now. Server: somebody speaks HTTP/2 there. */
	void (*open)(struct h2_conn *c, void *user);
	/* The peer takes no new streams; those it has go on. */
	void (*going)(struct h2_conn *c, void *user);
	/* The last one of a connection; its streams have been closed before. */
	void (*lost)(struct h2_conn *c, const char *why, void *user);

	/* Server: a request begins. */
	void (*begin)(struct h2_stream *s, void *user);
	/* One field of the headers or of the trailers; names are lower case. */
	void (*header)(struct h2_stream *s, struct str name, struct str value, void *user);
	/* That were all; informational ones (1xx) and trailers count as well. */
	void (*headers)(struct h2_stream *s, void *user);
	void (*data)(struct h2_stream *s, struct str bytes, void *user);
	/* Nothing more will come. */
	void (*end)(struct h2_stream *s, void *user);
	/* Nothing is queued any more. Not from here, but from the loop, more may follow. */
	void (*drained)(struct h2_stream *s, void *user);
	/* After h2_end(), when everything queued has gone: h2_trailers() now. Server only. */
	void (*finish)(struct h2_stream *s, void *user);
	/*
	 * The last one, exactly one for every stream but those that h2_reset() ended; error is
	 * H2_NO_ERROR after an orderly end. s is gone when it returns.
	 */
	void (*closed)(struct h2_stream *s, uint32_t error, void *user);
};

/* Zero means the default. Times are ns. */
struct h2_config {
	bool server;
	const struct h2_events *events; /* borrowed */
	void *user;
	size_t conn_area, stream_area; /* bytes that come with each, zeroed */
	size_t max_connections;	       /* 4096; above, the longest idle one makes room */
	uint32_t max_streams;	       /* 128, at once, opened by the peer */
	uint32_t max_header_list;      /* 16 KiB, counted as in RFC 9113 §6.5.2 */
	uint32_t window;	       /* 256 KiB: what may be on its way to us, per stream */
	int64_t handshake_timeout;     /* 10 s: connect, TLS, preface; and each block of headers */
	int64_t keepalive;	       /* 60 s of silence: PING; another 20 s: closed */
	int64_t idle_timeout;	       /* 30 min without streams, for servers; then GOAWAY */
	unsigned max_resets;	       /* 500 streams that ended in an error, in 10 s */
	unsigned max_noise;	       /* 20000 frames without a use, in 10 s */
};

struct h2_stats {
	size_t connections, streams; /* open now */
	size_t queued;		     /* bytes that wait in all streams */
	uint64_t accepted, refused, evicted, opened;
	uint64_t protocol_errors; /* that ended a connection */
	uint64_t timeouts;	  /* of handshakes, headers and keepalives */
	uint64_t calmed;	  /* connections ended for abuse */
	uint64_t resets;	  /* streams that ended in an error */
	uint64_t bytes_in, bytes_out;
};

struct h2_host *h2_host_new(struct ev_loop *loop, const struct h2_config *config);
/* Closes everything at once, telling each stream and connection. NULL is fine. */
void h2_host_free(struct h2_host *h);
const struct h2_stats *h2_host_stats(const struct h2_host *h);

/* Server: listens. -errno of socket, bind or listen. */
int h2_listen(struct h2_host *h, struct endpoint at);
struct endpoint h2_endpoint(const struct h2_host *h);
/* Server: connections from now on use this context; NULL: none. Borrowed. */
void h2_set_tls(struct h2_host *h, struct tls_context *tls);
/* Server: serves a connected, non-blocking socket as if it had been accepted; fd is taken. */
void h2_adopt(struct h2_host *h, int fd, struct endpoint peer);
/*
 * Server: stops listening, sends GOAWAY everywhere, closes each connection when its last stream has
 * ended; one that has none, and gets none within 100 ms, without waiting for the peer. done is
 * called once, from the loop, when none is left; it may free the host.
 */
void h2_drain(struct h2_host *h, void (*done)(void *user), void *user);

/*
 * Client: connects; open() or lost() tells how it went, from the loop. tls may be NULL; tls_name is
 * what the server's certificate is verified for.
 */
struct h2_conn *h2_connect(struct h2_host *h, struct endpoint to, struct tls_context *tls,
			   const char *tls_name);
/* Client: closes it when its last stream has ended; no new ones. */
void h2_leave(struct h2_conn *c);

void *h2_conn_area(struct h2_conn *c);
struct endpoint h2_conn_peer(const struct h2_conn *c);
/* The common name of the peer's verified certificate; NULL without one. */
const char *h2_conn_peer_name(struct h2_conn *c);
/* Bytes that wait in its streams. */
size_t h2_conn_queued(const struct h2_conn *c);
/* Why it is being closed; "" while it is not. */
const char *h2_conn_why(const struct h2_conn *c);

void *h2_stream_area(struct h2_stream *s);
struct h2_stream *h2_stream_of(void *area);
struct h2_conn *h2_stream_conn(const struct h2_stream *s);

/* Client: NULL when the connection takes no more streams. Data follows by h2_out(), h2_end(). */
struct h2_stream *h2_request(struct h2_conn *c, const struct h2_field *fields, size_t n);
/* Server: the headers of the answer; last: there is nothing behind them. Once. */
void h2_respond(struct h2_stream *s, const struct h2_field *fields, size_t n, bool last);

/*
 * The stream's outgoing queue, to append to; then h2_sent(). Nothing else may be done in between.
 * Goes out as the peer's windows allow, after h2_respond() or h2_request().
 */
struct buf *h2_out(struct h2_stream *s);
void h2_sent(struct h2_stream *s);
/* Bytes that wait in it. */
size_t h2_queued(const struct h2_stream *s);
/* No more data. A client's request is over then; a server is asked for trailers (finish). */
void h2_end(struct h2_stream *s);
/* From within finish(). */
void h2_trailers(struct h2_stream *s, const struct h2_field *fields, size_t n);
/* RST_STREAM. No callback comes any more for s, and it must not be touched again. */
void h2_reset(struct h2_stream *s, enum h2_error error);
