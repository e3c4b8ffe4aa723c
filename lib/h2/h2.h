/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2: HTTP/2 server and client connections on an event loop (RFC 9113), over TCP with prior
 * knowledge or over TLS with ALPN "h2".
 *
 * A host has many connections and one set of callbacks; a connection has many streams. Each
 * connection and each stream comes with an area of zeroed memory for the user's own data. All
 * functions and callbacks run on the loop's thread and none of them blocks. Output is collected and
 * written at the end of a step of the connection.
 *
 * Bounds: the number of connections, the streams per connection, the size of a header list, the
 * output queued for the socket, the time for the handshake and for one block of headers, and the
 * rate of stream resets and of frames that carry nothing. A peer that exceeds one of the rates is
 * sent GOAWAY with ENHANCE_YOUR_CALM and its connection is closed. The bytes queued in a stream are
 * not bounded here: the user checks h2_queued().
 *
 * The library does not log; it keeps counters (struct h2_stats).
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

/*
 * The name is in lower case (RFC 9113 §8.2) and is not copied: it must be a string constant. The
 * value is copied before the function that takes it returns.
 */
struct h2_field {
	const char *name;
	struct str value;
};

/* The error codes of RFC 9113 §7 that we use. A peer may send others. */
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
 * Every member may be NULL, except finish() for servers that call h2_end(). user is that of the
 * host's configuration. A callback must not free the host; it may respond to a stream or reset it.
 */
struct h2_events {
	/* The peer's SETTINGS have arrived. Client: requests can be made from now on. */
	void (*open)(struct h2_conn *c, void *user);
	/* The peer has sent GOAWAY: it accepts no new streams; the open ones continue. */
	void (*going)(struct h2_conn *c, void *user);
	/*
	 * The connection has ended; why is one sentence, valid during the call. It is the last
	 * callback of a connection. All of its streams have been closed before.
	 */
	void (*lost)(struct h2_conn *c, const char *why, void *user);

	/* Server: a request begins. Its headers follow. */
	void (*begin)(struct h2_stream *s, void *user);
	/* One field of the headers or trailers, valid during the call; lower-case name. */
	void (*header)(struct h2_stream *s, struct str name, struct str value, void *user);
	/* All fields of a block have arrived; also called for 1xx responses and trailers. */
	void (*headers)(struct h2_stream *s, void *user);
	/* Part of the body, cut anywhere. The bytes are valid during the call. */
	void (*data)(struct h2_stream *s, struct str bytes, void *user);
	/* The peer has ended its side (END_STREAM). */
	void (*end)(struct h2_stream *s, void *user);
	/* The queue has become empty. Do not append from here: wait for the next loop turn. */
	void (*drained)(struct h2_stream *s, void *user);
	/* Server: the queue is empty after h2_end(); this must call h2_trailers(). */
	void (*finish)(struct h2_stream *s, void *user);
	/*
	 * The stream has ended. Called exactly once per stream, unless h2_reset() ended it. error
	 * is H2_NO_ERROR after an orderly end. s must not be used after this returns.
	 */
	void (*closed)(struct h2_stream *s, uint32_t error, void *user);
};

/* Zero means the default, which is the number in each comment. Times are in ns. */
struct h2_config {
	bool server;
	const struct h2_events *events; /* borrowed */
	void *user;
	size_t conn_area, stream_area; /* bytes of user data in each; default none */
	size_t max_connections;	       /* 4096; see lib/stream/crowd.h for the one that is closed */
	size_t max_per_source;	       /* a quarter of max_connections; not for local clients */
	uint32_t max_streams;	       /* 128 open at once per connection, opened by the peer */
	uint32_t max_header_list;      /* 16 KiB, counted as in RFC 9113 §6.5.2 */
	uint32_t window;	       /* 256 KiB: initial receive window of a stream */
	int64_t handshake_timeout;     /* 10 s each: TCP and TLS; SETTINGS; a header block */
	int64_t keepalive;	       /* 60 s without input: PING; 20 s later: closed */
	int64_t idle_timeout;	       /* server: GOAWAY after 30 min without a stream */
	unsigned max_resets;	       /* server: 500 streams ended by an error in 10 s */
	unsigned max_noise;	       /* 20000 frames in 10 s that carry nothing */
};

struct h2_stats {
	size_t connections, streams; /* open now */
	size_t queued;		     /* bytes queued in all streams */
	uint64_t accepted, refused, evicted, opened;
	uint64_t protocol_errors; /* connections ended by a protocol error */
	uint64_t timeouts;	  /* of handshakes, headers and keepalives */
	uint64_t calmed;	  /* connections ended with ENHANCE_YOUR_CALM */
	uint64_t resets;	  /* streams ended by an error, from either side */
	uint64_t bytes_in, bytes_out;
};

/* The configuration is copied, events is borrowed. Never fails; opens no socket. */
struct h2_host *h2_host_new(struct ev_loop *loop, const struct h2_config *config);
/*
 * Closes all connections at once; closed() and lost() are called for each stream and connection.
 * The done() of a drain is not called. NULL is allowed.
 */
void h2_host_free(struct h2_host *h);
const struct h2_stats *h2_host_stats(const struct h2_host *h);

/* Server: listens, at most once per host. Returns -errno of socket, bind or listen. */
int h2_listen(struct h2_host *h, struct endpoint at);
/* The same with a socket that listens already (stream_listener_adopt()). */
int h2_listen_on(struct h2_host *h, int fd);
/* The listening socket, to be passed to another process; it still belongs to the host. -1: none. */
int h2_socket(const struct h2_host *h);
/* Stops listening, because another process has the socket (stream_listener_leave()). */
void h2_hand_over(struct h2_host *h);
/* The bound address, with the port that the kernel chose if it was 0. */
struct endpoint h2_endpoint(const struct h2_host *h);
/* Server: connections accepted from now on use this context; NULL means plaintext. Borrowed. */
void h2_set_tls(struct h2_host *h, struct tls_context *tls);
/*
 * Server: serves a connected, non-blocking socket as if it had been accepted. Takes ownership of
 * fd and closes it when the host is full.
 */
void h2_adopt(struct h2_host *h, int fd, struct endpoint peer);
/*
 * Server: stops listening, sends GOAWAY on every connection and closes each when its last stream
 * has ended. A connection without streams that gets none within 100 ms is closed without waiting
 * for the peer. done is called once, from the loop, when no connection is left; it may free the
 * host. Call h2_drain() at most once.
 */
void h2_drain(struct h2_host *h, void (*done)(void *user), void *user);

/*
 * Client: connects. Never fails: the result is reported by open() or lost(), from the loop. tls may
 * be NULL and is borrowed; the server's certificate is verified for tls_name.
 */
struct h2_conn *h2_connect(struct h2_host *h, struct endpoint to, struct tls_context *tls,
			   const char *tls_name);
/* Client: opens no more streams and closes the connection when its last stream has ended. */
void h2_leave(struct h2_conn *c);

void *h2_conn_area(struct h2_conn *c);
struct endpoint h2_conn_peer(const struct h2_conn *c);
/* The common name of the peer's verified certificate, NULL without one. Owned by c. */
const char *h2_conn_peer_name(struct h2_conn *c);
/* Bytes queued in the streams of c. */
size_t h2_conn_queued(const struct h2_conn *c);
/* Why c is being closed, "" if it is not. Owned by c. */
const char *h2_conn_why(const struct h2_conn *c);

/* The stream's area of user data, and the stream that an area belongs to. */
void *h2_stream_area(struct h2_stream *s);
struct h2_stream *h2_stream_of(void *area);
struct h2_conn *h2_stream_conn(const struct h2_stream *s);

/*
 * Client: begins a request, with at most 16 fields. Returns NULL if the connection takes no more
 * streams. The body follows with h2_out() and h2_sent(); h2_end() ends it.
 */
struct h2_stream *h2_request(struct h2_conn *c, const struct h2_field *fields, size_t n);
/* Server: sends the response headers, at most 16, once; last means that no body follows. */
void h2_respond(struct h2_stream *s, const struct h2_field *fields, size_t n, bool last);

/*
 * The stream's output queue. Append to it, then call h2_sent() (or h2_end()) before any other
 * function of the stream. The bytes are sent as the peer's flow control windows allow, after
 * h2_respond() or h2_request().
 */
struct buf *h2_out(struct h2_stream *s);
void h2_sent(struct h2_stream *s);
/* Bytes in the queue. */
size_t h2_queued(const struct h2_stream *s);
/* Ends the body. A client's request is complete then; a server gets finish() for the trailers. */
void h2_end(struct h2_stream *s);
/* Server: sends the trailers, at most 16. Only from within finish(). */
void h2_trailers(struct h2_stream *s, const struct h2_field *fields, size_t n);
/*
 * Server: the stream costs its client little if it is lost, such as one that waits for a change of
 * health. A connection that has only minor streams may be closed to make room for others.
 */
void h2_set_minor(struct h2_stream *s);
/* Sends RST_STREAM. No callback is called for s after this, and s must not be used again. */
void h2_reset(struct h2_stream *s, enum h2_error error);
