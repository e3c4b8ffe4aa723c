/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2: HTTP/2 server and client connections on an event loop (RFC 9113), over TCP with prior
 * knowledge or over TLS with ALPN "h2".
 *
 * A host has many connections and one set of callbacks; a connection has many streams. Each
 * connection and each stream comes with an area of zeroed memory for the user's own data. All
 * functions and callbacks run on the loop's thread and none of them blocks. Callbacks are called
 * from steps of the connection (lib/loop/task.h), never from within a function that the user has
 * called; but h2_host_free() closes all connections, and h2_take() and h2_adopt() may close another
 * one to make room. Output is collected and written at the end of a step.
 *
 * Flow control is the user's, in both directions. Input: each byte of data() is returned with
 * h2_consume() when it was passed on; a peer sends at most `window` bytes of a stream ahead of
 * that. Only the window of the stream waits for the user. That of the connection is returned at
 * once, so that a stream that is not consumed does not hold up the others; a connection holds at
 * most max_streams times window. Output: a stream has a queue; a user stops at h2_is_full() and
 * goes on at writable().
 *
 * Bounds: the number of connections, the streams per connection, the size of a header list, the
 * output queued for the socket, the time for the handshake and for one block of headers, and the
 * rate of stream resets and of frames that carry nothing. A peer that exceeds one of the rates is
 * sent GOAWAY with ENHANCE_YOUR_CALM and its connection is closed. The queue of a stream is bounded
 * by its user.
 *
 * Streams of a connection are served in turn, a frame each. Priorities that a peer sends are
 * ignored (RFC 9113 §5.3.2, RFC 9218).
 *
 * The library does not log; it keeps counters (struct h2_stats).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/field.h"
#include "base/str.h"
#include "lib/loop/loop.h"

struct h2_conn;
struct h2_host;
struct h2_stream;
struct stream;
struct tls_context;

/*
 * The error codes of RFC 9113 §7 that we use. A peer may send others. H2_LOST is not one of them:
 * the connection of the stream has ended.
 */
enum h2_error {
	H2_NO_ERROR = 0,
	H2_PROTOCOL_ERROR = 1,
	H2_INTERNAL_ERROR = 2,
	H2_STREAM_CLOSED = 5,
	H2_REFUSED_STREAM = 7,
	H2_CANCEL = 8,
	H2_CONNECT_ERROR = 10,
	H2_ENHANCE_YOUR_CALM = 11,
	H2_INADEQUATE_SECURITY = 12,
	H2_HTTP_1_1_REQUIRED = 13,
	H2_LOST = 1 << 30,
};

/* What a block of fields is. */
enum h2_block {
	H2_HEAD,    /* a request, or the final response */
	H2_INTERIM, /* a 1xx response */
	H2_TRAILERS,
};

/*
 * Every member may be NULL. user is that of the host's configuration. A callback must not free the
 * host; it may call all other functions.
 */
struct h2_events {
	/* The peer's SETTINGS have arrived. Client: requests can be made from now on. */
	void (*open)(struct h2_conn *c, void *user);
	/* The peer has changed its SETTINGS: h2_conn_room() may differ. */
	void (*settings)(struct h2_conn *c, void *user);
	/*
	 * The peer has sent GOAWAY: it accepts no new streams. Those that it has not processed are
	 * closed with H2_REFUSED_STREAM after this; the others continue.
	 */
	void (*going)(struct h2_conn *c, void *user);
	/* Input was read, and all callbacks for it were called: it can be passed on now. */
	void (*settled)(struct h2_conn *c, void *user);
	/*
	 * The connection has ended; why is one line, safe to show, valid during the call. It is the
	 * last callback of a connection. All of its streams have been closed before.
	 */
	void (*lost)(struct h2_conn *c, const char *why, void *user);

	/* Server: a request begins. Its fields follow. */
	void (*begin)(struct h2_stream *s, void *user);
	/* A field of a block, valid during the call; lower-case name. Pseudo fields are first. */
	void (*header)(struct h2_stream *s, struct str name, struct str value, void *user);
	/* All fields of a block have arrived. h2_is_ended() tells whether anything follows. */
	void (*headers)(struct h2_stream *s, enum h2_block block, void *user);
	/*
	 * Instead of headers(), if a head is larger than max_header_list: header() was called for
	 * the fields up to there. Server: it can be answered, with 431. Without this callback, and
	 * for trailers, the stream is reset with ENHANCE_YOUR_CALM.
	 */
	void (*oversized)(struct h2_stream *s, void *user);
	/*
	 * Part of the body, cut anywhere, valid during the call. h2_consume() must follow for all
	 * bytes, now or later. Without this callback, data is consumed and dropped.
	 */
	void (*data)(struct h2_stream *s, struct str bytes, void *user);
	/* The peer has ended its side (END_STREAM). */
	void (*end)(struct h2_stream *s, void *user);
	/* The queue has fallen to the low mark: more can be appended, also from here. */
	void (*writable)(struct h2_stream *s, void *user);
	/*
	 * The stream has ended. Called exactly once per stream, unless h2_reset() ended it. error
	 * is H2_NO_ERROR after an orderly end, H2_LOST if the connection has ended. Client:
	 * H2_REFUSED_STREAM says that the server has not processed the request, so it can be sent
	 * again on another connection; all else says that it may have. s must not be used after
	 * this returns.
	 */
	void (*closed)(struct h2_stream *s, uint32_t error, void *user);
};

/* Zero means the default, which is the number in each comment. Times are in ns. */
struct h2_config {
	bool server;
	bool connect_protocol;		/* server: extended CONNECT (RFC 8441) is offered */
	const struct h2_events *events; /* borrowed */
	void *user;
	size_t conn_area, stream_area; /* bytes of user data in each; default none */
	/* server: 4096; see lib/stream/crowd.h for the one that is closed. SIZE_MAX: no bound */
	size_t max_connections;
	size_t max_per_source;	   /* a quarter of max_connections; not for local clients */
	uint32_t max_streams;	   /* 128 open at once per connection, opened by the peer */
	uint32_t max_header_list;  /* 16 KiB, counted as in RFC 9113 §6.5.2 */
	uint32_t window;	   /* 64 KiB: receive window of a stream */
	size_t high, low;	   /* 64 KiB, 0: marks of the queue of a stream */
	int64_t handshake_timeout; /* 10 s each: TCP and TLS; SETTINGS; a header block */
	int64_t keepalive;	   /* 60 s without input: PING */
	int64_t ping_timeout;	   /* 20 s later without any input: the connection is closed */
	int64_t idle_timeout;	   /* without a stream: h2_leave(). Server: 30 min, client: never */
	unsigned max_resets;	   /* server: 500 streams in 10 s that the peer ended by an error */
	unsigned max_noise;	   /* 20000 frames in 10 s that carry nothing */
};

struct h2_stats {
	size_t connections, streams; /* open now */
	size_t queued;		     /* bytes queued in all streams */
	size_t unread;		     /* bytes of data() that were not consumed */
	uint64_t accepted, refused, evicted, opened;
	uint64_t protocol_errors; /* connections ended by a protocol error */
	uint64_t timeouts;	  /* of handshakes, headers and keepalives */
	uint64_t calmed;	  /* connections ended with ENHANCE_YOUR_CALM */
	uint64_t resets;	  /* streams ended by an error, from either side */
	uint64_t bytes_in, bytes_out;
};

/* The configuration is copied, events is borrowed. Never fails; opens no socket. */
struct h2_host *h2_host_new(struct ev_loop *loop, const struct h2_config *config);
/* Replaces the numbers of the configuration. Those that SETTINGS name hold for new connections. */
void h2_host_set(struct h2_host *h, const struct h2_config *config);
/*
 * Closes all connections at once; closed() and lost() are called for each stream and connection.
 * The done() of a drain is not called. NULL is allowed.
 */
void h2_host_free(struct h2_host *h);
const struct h2_stats *h2_host_stats(const struct h2_host *h);

/* ---- connections ---- */

/*
 * Takes an OPEN stream (stream_move()), whose peer speaks HTTP/2: the caller has looked at ALPN or
 * at the preface. early are bytes that were read from it already, copied. Server and client.
 * Returns NULL if the host is full; the stream is untouched then.
 */
struct h2_conn *h2_take(struct h2_host *h, struct stream *from, struct str early,
			struct endpoint peer);

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
 * Client: connects. Never fails: the result is reported by open() or lost(), from the loop. tls may
 * be NULL and is borrowed; the server's certificate is verified for tls_name.
 */
struct h2_conn *h2_connect(struct h2_host *h, struct endpoint to, struct tls_context *tls,
			   const char *tls_name);

/*
 * Ends a connection when its last stream has ended; no more streams can be opened on it. A server
 * sends GOAWAY twice, with a PING between, and serves streams that are on their way.
 */
void h2_leave(struct h2_conn *c);
/* Ends a connection with all its streams from the loop: GOAWAY with that error, then lost(). */
void h2_abort(struct h2_conn *c, enum h2_error error, const char *why);
/*
 * Stops listening and calls h2_leave() for every connection. A connection without streams that gets
 * none within 100 ms is closed without waiting for the peer. done is called once, from the loop,
 * when no connection is left; it may free the host. Call h2_drain() at most once.
 */
void h2_drain(struct h2_host *h, void (*done)(void *user), void *user);

void *h2_conn_area(struct h2_conn *c);
/* The connection that an area belongs to. */
struct h2_conn *h2_conn_of(void *area);
struct endpoint h2_conn_peer(const struct h2_conn *c);
/* The common name of the peer's verified certificate, NULL without one. Owned by c. */
const char *h2_conn_peer_name(struct h2_conn *c);
/* Its byte stream, to ask for addresses and TLS; never to read, write or close. */
struct stream *h2_conn_stream(struct h2_conn *c);
/* Open streams, and bytes queued in them. */
size_t h2_conn_streams(const struct h2_conn *c);
size_t h2_conn_queued(const struct h2_conn *c);
/*
 * Client: how many more streams can be opened now; 0 before the transport is open, after GOAWAY and
 * h2_leave(), and when the numbers of streams are used up. Until open() it is a guess: requests
 * that turn out to be too many are closed with H2_REFUSED_STREAM by the server.
 */
size_t h2_conn_room(const struct h2_conn *c);
/* Client: the server takes extended CONNECT (RFC 8441). */
bool h2_conn_can_connect(const struct h2_conn *c);
/* Monotonic ns of the last input. */
int64_t h2_conn_heard(const struct h2_conn *c);
/* The error for which c was ended here with GOAWAY; H2_NO_ERROR: none. The code may be any. */
uint32_t h2_conn_error(const struct h2_conn *c);
/* Why c is being closed, "" if it is not. Owned by c. */
const char *h2_conn_why(const struct h2_conn *c);

/* ---- streams ---- */

/* The stream's area of user data, and the stream that an area belongs to. */
void *h2_stream_area(struct h2_stream *s);
struct h2_stream *h2_stream_of(void *area);
struct h2_conn *h2_stream_conn(const struct h2_stream *s);
int32_t h2_stream_id(const struct h2_stream *s);

/*
 * Fields that are sent: any number of them, pseudo fields first. All is copied; names may have
 * upper-case letters and are sent in lower case. The caller sees to it that names and values are
 * valid (RFC 9113 §8.2) and that none is about the connection (connection, keep-alive,
 * proxy-connection, transfer-encoding, upgrade, te other than trailers). A block larger than
 * H2_BLOCK_MAX, counted as in RFC 9113 §6.5.2, is refused with -EMSGSIZE; nothing is sent then.
 */
#define H2_BLOCK_MAX ((size_t)256 * 1024)

/*
 * Client: begins a request; last means that no body follows. Returns NULL if the connection takes
 * no more streams, or if the block is too large. Requests above h2_conn_room() wait in c.
 */
struct h2_stream *h2_request(struct h2_conn *c, const struct field *fields, size_t n, bool last);
/* Server: a 1xx response, before h2_respond(); any number. */
int h2_inform(struct h2_stream *s, const struct field *fields, size_t n);
/* Server: sends the response head, once; last means that no body follows. */
int h2_respond(struct h2_stream *s, const struct field *fields, size_t n, bool last);

/* Appends a copy to the queue of the stream; after h2_request() or h2_respond(). */
void h2_send(struct h2_stream *s, struct str bytes);
/* The queue itself, for appending; h2_sent() (or h2_end()) follows before any other function. */
struct buf *h2_out(struct h2_stream *s);
void h2_sent(struct h2_stream *s);
/* Bytes in the queue; whether they have reached the high mark. */
size_t h2_queued(const struct h2_stream *s);
bool h2_is_full(const struct h2_stream *s);
/*
 * Ends our side after what is queued, with trailers if n is not 0. -EMSGSIZE if they are too
 * large: nothing has happened then.
 */
int h2_end(struct h2_stream *s, const struct field *trailers, size_t n);

/* n bytes of data() need no room here any more: the peer may send as many. */
void h2_consume(struct h2_stream *s, size_t n);
/* Bytes of data() that were not consumed. */
size_t h2_unread(const struct h2_stream *s);
/* The peer has ended its side. True in headers() already, if the block was the last frame. */
bool h2_is_ended(const struct h2_stream *s);
/* Bytes of DATA so far: framed for sending, and received. */
uint64_t h2_stream_sent(const struct h2_stream *s);
uint64_t h2_stream_received(const struct h2_stream *s);

/*
 * Server: the stream costs its client little if it is lost, such as one that waits for a change of
 * health. A connection that has only minor streams may be closed to make room for others.
 */
void h2_set_minor(struct h2_stream *s);
/*
 * Server: the client may go on after our end. Otherwise it is told to stop, by RST_STREAM with
 * NO_ERROR, if its request is not complete then (RFC 9113 §8.1). For tunnels, and for requests of
 * which only END_STREAM is missing. The user bounds the time and calls h2_reset().
 */
void h2_set_patient(struct h2_stream *s);
/* Sends RST_STREAM. No callback is called for s after this, and s must not be used again. */
void h2_reset(struct h2_stream *s, enum h2_error error);
