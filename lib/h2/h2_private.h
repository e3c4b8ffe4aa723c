/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share: host, connections, streams, and who calls whom. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdalign.h>
#include <sys/queue.h>

#include "lib/h2/h2.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define H2__READ_SIZE ((size_t)16 * 1024) /* a TLS record */
#define H2__KEEP_MAX ((size_t)4096)	  /* a larger buffer is given back when empty */

enum h2__state {
	H2__OPENING,  /* the stream connects, or the TLS handshake is under way */
	H2__GREETING, /* the peer's SETTINGS have not come */
	H2__OPEN,
	H2__LINGER, /* the last has been sent; what comes is thrown away */
};

struct h2_stream {
	struct h2_conn *conn;
	LIST_ENTRY(h2_stream) all; /* of its connection */
	int32_t id;
	struct buf out;	    /* queued */
	size_t out_at;	    /* what of it has gone */
	size_t counted;	    /* what of it is in the sums of connection and host */
	size_t header_size; /* of the block being received */
	bool muted;	    /* reset: no callback any more */
	bool deferred;	    /* nghttp2 waits to be told of data */
	bool ended;	    /* h2_end() */
	bool headers_sent;  /* ours are on the wire */
	bool local_ended;   /* and all of a server's answer is */
	bool remote_ended;  /* theirs is over */
	alignas(max_align_t) char area[];
};

struct h2_conn {
	struct h2_host *host;
	TAILQ_ENTRY(h2_conn) all, idles;
	struct stream stream; /* its deadline is the nearest of all that can become due */
	enum h2__state state;
	nghttp2_session *session;
	struct endpoint peer;
	struct buf rest; /* of what was read, when the time of a step was over; mostly empty */
	LIST_HEAD(, h2_stream) streams;
	size_t n_streams;
	size_t queued;		/* by all of them */
	uint64_t counted;	/* of stream.sent, in the host's stats */
	int64_t since;		/* when the state was entered; monotonic ns, as all of these */
	int64_t heard;		/* bytes came last */
	int64_t pinged;		/* a PING of ours waits for its answer; 0: none */
	int64_t headers_since;	/* a block of headers has begun and is not whole; 0: none */
	int32_t headers_of;	/* the stream of that block */
	size_t headers_size;	/* of that block, refused fields included */
	int64_t idle_since;	/* no streams; 0: some */
	int64_t drain_since;	/* the first GOAWAY of a drain was queued; 0: not draining */
	int64_t drain_due;	/* the second one goes out, whether the PING was answered or not */
	int64_t window_start;	/* of counting abuse */
	unsigned resets, noise; /* in that window */
	enum h2_error error;	/* that it is to end with; 0: not */
	bool idle;
	bool busy;	  /* inside nghttp2: neither flush nor free */
	bool final_sent;  /* the second GOAWAY of a drain */
	bool bystander;	  /* of a drain: not waited for when the last word has been sent */
	bool going;	  /* the peer has sent GOAWAY */
	bool leaving;	  /* close when the last stream has gone */
	char trouble[96]; /* the last that nghttp2 complained of */
	char why[160];
	alignas(max_align_t) char area[];
};

TAILQ_HEAD(h2__conns, h2_conn);

struct h2_host {
	struct ev_loop *loop;
	struct h2_config config;
	struct h2_stats stats;
	struct stream_listener listener;
	struct tls_context *tls;
	struct h2__conns conns;
	struct h2__conns idle; /* longest first */
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	bool draining;
	ev_timer drained;
	void (*done)(void *user);
	void *done_user;
	char input[H2__READ_SIZE];
};

/* host.c */
void h2__forget(struct h2_conn *c);
/* In or out of the list of those that may make room. */
void h2__set_idle(struct h2_conn *c, bool idle);

/* connection.c; all but new may free the connection */
struct h2_conn *h2__conn_new(struct h2_host *h, struct endpoint peer);
/* Bytes can go both ways: the preface. */
void h2__conn_greet(struct h2_conn *c);
void h2__conn_close(struct h2_conn *c, const char *why);
void h2__conn_drain(struct h2_conn *c);
/* Nothing was asked since the host's drain began, and the peer's kernel has all that was sent. */
bool h2__conn_is_bystander(const struct h2_conn *c);
/* There is something to send: that happens in a step of the connection. */
void h2__conn_touch(struct h2_conn *c);
/* When the next thing is due has come nearer. */
void h2__conn_rearm(struct h2_conn *c);

/* session.c: nghttp2's callbacks, and what they are told */
void h2__session_prepare(struct h2_host *h);
int h2__session_new(struct h2_conn *c);
/* The answer to the PING of a drain, or no answer: the GOAWAY that counts. */
void h2__session_final_goaway(struct h2_conn *c);

/* stream.c */
struct h2_stream *h2__stream_new(struct h2_conn *c);
/* Its user hears that it is closed; nghttp2 closes it later. */
void h2__stream_abandon(struct h2_stream *s, uint32_t error);
/* Tells its user, unless it was reset by him. */
void h2__stream_close(struct h2_stream *s, uint32_t error);
