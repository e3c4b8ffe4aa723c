/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/h2: host, connections, streams, and the calls between the files. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdalign.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "lib/h2/h2.h"
#include "lib/stream/crowd.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define H2__READ_SIZE ((size_t)64 * 1024)
#define H2__OUT_MAX ((size_t)64 * 1024) /* bytes collected for one write */
#define H2__KEEP_MAX ((size_t)4096)	/* an empty buffer larger than this is freed */
#define H2__SPARE_MAX 256		/* streams that a host keeps for later use */
#define H2__FIELD_OVERHEAD 32		/* RFC 9113 §6.5.2 */

enum h2__state {
	H2__OPENING,  /* the stream connects, or the TLS handshake is under way */
	H2__GREETING, /* waiting for the peer's SETTINGS */
	H2__OPEN,
	H2__LINGER, /* everything has been sent; input is discarded until the peer closes */
};

struct h2_stream {
	/* A spare stream has these two; the rest is poisoned. */
	LIST_ENTRY(h2_stream) all; /* of its connection, or of the spare ones */
	struct buf out;		   /* output queue, and the trailers after it */
	struct h2_conn *conn;
	LIST_ENTRY(h2_stream) ready; /* of those whose writable() is to be called */
	int32_t id;
	uint32_t n_trailers; /* that we send */
	size_t out_at;	     /* bytes of out that were framed */
	size_t out_end;	     /* of the queue, if there are trailers */
	size_t counted;	     /* bytes of out included in the sums of connection and host */
	size_t unread;	     /* bytes of data() that were not consumed */
	size_t header_size;  /* of the block being received, as in RFC 9113 §6.5.2 */
	uint64_t sent, received;
	bool muted;	    /* reset or abandoned: no more callbacks for it */
	bool aborted;	    /* reset by the user */
	bool deferred;	    /* nghttp2 waits for nghttp2_session_resume_data() */
	bool is_ready;	    /* among the ready ones */
	bool ended;	    /* nothing can be appended any more */
	bool responded;	    /* h2_respond() was called */
	bool headers_sent;  /* our headers have been sent */
	bool local_ended;   /* our END_STREAM was sent */
	bool remote_ended;  /* END_STREAM was received */
	bool head_received; /* the request or the final response */
	bool interim;	    /* the block being received has a status of 1xx */
	bool oversized;	    /* the block being received is too large */
	bool minor;	    /* h2_set_minor() was called */
	bool patient;	    /* h2_set_patient() was called */
	alignas(max_align_t) char area[];
};

LIST_HEAD(h2__streams, h2_stream);

struct h2_conn {
	struct h2_host *host;
	TAILQ_ENTRY(h2_conn) all;
	struct stream_member member; /* of the host's crowd, if it has one */
	struct stream stream;	     /* its deadline is the earliest of next_due() */
	enum h2__state state;
	nghttp2_session *session;
	struct endpoint peer;
	struct buf rest; /* input that was read but not parsed before the step's time was over */
	struct h2__streams streams, ready;
	size_t n_streams;
	size_t n_minor;		/* those of them that are minor */
	size_t queued;		/* bytes queued in all streams */
	uint8_t head[9];	/* of the frame being received */
	uint8_t n_head;		/* bytes of it that have been received */
	size_t frame_left;	/* bytes of that frame which are to come */
	int32_t highest;	/* id of a request that has begun */
	int32_t *resets_sent;	/* ids of the latest max_streams RST_STREAM frames; NULL: none */
	uint32_t n_resets_sent; /* in all; the next one replaces the oldest */
	uint32_t max_streams;	/* that the peer was told */
	uint64_t counted;	/* bytes of stream.sent that the host's stats include */
	int64_t since;		/* when the state was entered; monotonic ns, like all below */
	int64_t armed;		/* the deadline of the stream */
	int64_t heard;		/* when bytes were last received */
	int64_t pinged;		/* when an unanswered keepalive PING was sent; 0: none */
	int64_t headers_since;	/* when an incomplete header block began; 0: none */
	int32_t headers_of;	/* the stream of that block */
	size_t headers_size;	/* of that block, including fields that were refused */
	int64_t idle_since;	/* when the last stream closed; 0: there are streams */
	int64_t drain_since;	/* when the first GOAWAY of a drain was queued; 0: no drain */
	int64_t drain_due;	/* when the second GOAWAY is sent even without a PING ACK */
	int64_t window_start;	/* of the 10 s in which abuse is counted */
	unsigned resets, noise; /* in that window */
	enum h2_error error;	/* close with this error after nghttp2 returns; 0: none */
	uint32_t ended_with;	/* the error of the GOAWAY that we have sent */
	bool aborted;		/* h2_abort(): close with that error, which may be 0 */
	bool busy;		/* inside nghttp2 or a callback: neither flushed nor freed */
	bool final_sent;	/* the second GOAWAY of a drain was queued */
	bool bystander;		/* unused during a drain: closed without lingering */
	bool going;		/* the peer has sent GOAWAY */
	bool leaving;		/* client, h2_leave(): close after the last stream */
	char trouble[96];	/* the last error text of nghttp2 */
	char why[160];
	alignas(max_align_t) char area[];
};

TAILQ_HEAD(h2__conns, h2_conn);

struct h2_host {
	struct ev_loop *loop;
	struct h2_config config;
	struct h2_stats stats;
	struct stream_listener listener;
	struct tls_context *tls; /* borrowed; NULL: plaintext */
	struct h2__conns conns;
	struct stream_crowd crowd; /* server: its connections */
	bool crowded;		   /* there is one: the number of connections is bounded */
	bool draining;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct h2__streams spare;
	size_t n_spare;
	VEC(nghttp2_nv) fields; /* of the block that is being sent */
	ev_timer drained;	/* fires at once, so that done() is called from the loop */
	void (*done)(void *user);
	void *done_user;
	struct buf out;		   /* shared by all connections: each write is sent or copied */
	char input[H2__READ_SIZE]; /* likewise: each read is parsed or copied */
};

static inline const struct h2_config *h2__config(const struct h2_conn *c)
{
	return &c->host->config;
}

/* host.c */
/* Removes c from the host's lists and counters. Does not free it. */
void h2__forget(struct h2_conn *c);
/* Ranks c again after its number of streams, or of minor ones, has changed. */
void h2__rank(struct h2_conn *c);

/* connection.c; close may free the connection */
struct h2_conn *h2__conn_new(struct h2_host *h, struct endpoint peer);
/* The transport is ready: creates the session, whose preface the next step sends. */
void h2__conn_greet(struct h2_conn *c);
/* Closes at once: calls closed() and lost() and frees c. Not while c is busy. */
void h2__conn_close(struct h2_conn *c, const char *why);
/* No stream since the host's drain began, and the peer's kernel has acknowledged all output. */
bool h2__conn_is_bystander(const struct h2_conn *c);
/* There may be output: schedules a step of the connection, which sends it. */
void h2__conn_touch(struct h2_conn *c);
/* Sets the deadline again after something that next_due() depends on has changed. */
void h2__conn_rearm(struct h2_conn *c);
/* The last stream has closed. */
void h2__conn_idle(struct h2_conn *c);

/* session.c: the callbacks of nghttp2 */
void h2__session_prepare(struct h2_host *h);
void h2__session_new(struct h2_conn *c);
/* Whether a frame of this type is an error, because the peer knows that the stream is closed. */
bool h2__session_is_closed(struct h2_conn *c, uint8_t type, int32_t id);
/* The second GOAWAY of a drain, with the last stream id: later streams are ignored. */
void h2__session_final_goaway(struct h2_conn *c);

/* stream.c */
struct h2_stream *h2__stream_new(struct h2_conn *c);
/* Frees the streams that are kept for later use. */
void h2__streams_end(struct h2_host *h);
/* Calls closed() and drops the queue. s is freed later, when nghttp2 closes the stream. */
void h2__stream_abandon(struct h2_stream *s, uint32_t error);
/* Calls closed(), unless the user has reset the stream or was called before; frees s. */
void h2__stream_close(struct h2_stream *s, uint32_t error);
/* The user got n bytes of data(). */
void h2__stream_received(struct h2_stream *s, size_t n);
/* Calls writable() where it is due. False: there was none. */
bool h2__streams_tell(struct h2_conn *c);
/* For nghttp2: appends a DATA frame to the host's output. */
int h2__stream_frame(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t n,
		     nghttp2_data_source *source, void *user);
