/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: one non-blocking byte stream: a TCP or Unix socket, plain or in TLS.
 *
 * A stream is embedded in its owner and reports to it through callbacks. All callbacks come from a
 * step of the stream's task (lib/loop/task.h), never from within a call of the owner's. So all
 * connections of a loop take turns, share one budget of time per turn, and one that is flooded
 * costs the others nothing. One step reads once, in TLS at most a bounded number of records.
 *
 * The way of a stream:
 *
 *	closed -> [CONNECTING] -> [PROXY] -> [SECURING] -> OPEN -> [LINGERING] -> closed
 *
 * stream_adopt() begins at OPEN, stream_connect() at CONNECTING. The owner of an OPEN stream says
 * with stream_want() what it waits for, and reads with stream_read() when it is told. Output is
 * queued in the stream and goes out as the socket takes it; its owner bounds it (stream_is_full()).
 *
 * A stream without a socket can still be woken and have a deadline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/loop/task.h"

struct stream_proxy;
struct tls;
struct stream;

/* What a stream can be ready for. */
enum {
	STREAM_READ = EV_READ,	 /* bytes, or the end of them */
	STREAM_WRITE = EV_WRITE, /* the queue has fallen to the low mark */
	STREAM_WAKE = 4,	 /* stream_wake() */
};

/*
 * In a step, what has arrived is reported before a deadline that has passed, so that lateness of
 * this program is not taken for silence of the peer. Each callback may call any function of the
 * stream and may free its memory after stream_end().
 */
struct stream_events {
	/*
	 * Connected and secured: bytes can go both ways. After stream_connect(), stream_secure()
	 * and stream_expect_proxy().
	 */
	void (*opened)(struct stream *s);
	void (*ready)(struct stream *s, unsigned what);
	/*
	 * It is of no use any more: a negative errno (stream_reason() has words for it), or 0 after
	 * stream_linger(). Nothing is reported after that; the owner calls stream_close().
	 */
	void (*closed)(struct stream *s, int error);
	void (*expired)(struct stream *s); /* the deadline has passed; NULL: never set */
};

enum stream_state {
	STREAM_CLOSED, /* no socket */
	STREAM_CONNECTING,
	STREAM_PROXY, /* the header of the PROXY protocol comes, or goes */
	STREAM_SECURING,
	STREAM_OPEN,
	STREAM_LINGERING,
	STREAM_FAILED, /* told so; waits to be closed */
};

/* Fields are the room's own, but fd, tls, state, failed_in and sent may be read. */
struct stream {
	struct task task;
	const struct stream_events *events;
	struct tls *tls;	     /* NULL: plain */
	struct stream__proxy *proxy; /* NULL: no header of the PROXY protocol */
	ev_io io;
	ev_timer deadline;
	struct stream__out *out; /* NULL: nothing is queued, and no marks are set */
	uint64_t sent;		 /* bytes that the socket took */
	int64_t due_at;		 /* monotonic ns of the deadline */
	int fd;			 /* -1: none */
	int error;		 /* to be reported; 0: none */
	uint8_t state;		 /* enum stream_state */
	uint8_t failed_in;	 /* the state before STREAM_FAILED */
	uint8_t want;		 /* STREAM_READ, STREAM_WRITE */
	uint8_t seen;		 /* STREAM_READ, STREAM_WRITE, STREAM_WAKE since the last step */
	bool due;		 /* the deadline has passed, and nobody was told */
	bool crossed;		 /* TLS must write before it can read */
	bool shut;		 /* our side ends after the queue */
	bool eof;		 /* a linger has read the peer's end */
};

/* The loop and events are borrowed; *s must stay in place until stream_end(). */
void stream_init(struct stream *s, struct ev_loop *loop, enum task_rank rank,
		 const struct stream_events *events);
/* Closes it and stops the deadline. No callback comes after this. Twice is fine. */
void stream_end(struct stream *s);

/* Takes a connected, non-blocking socket, or any that the owner watches with stream_want(). */
void stream_adopt(struct stream *s, int fd);
/*
 * Connects; opened() or closed() tells how it went. A failure of socket() or connect() itself is
 * told by closed() as well, from the loop.
 */
void stream_connect(struct stream *s, const struct sockaddr *to, socklen_t len);
/* closed(error) comes from the loop: the owner could not set the stream up. */
void stream_fail(struct stream *s, int error);
/* Takes tls, made for the stream's socket. The handshake follows; opened() tells. */
void stream_secure(struct stream *s, struct tls *tls);
/*
 * The peer is a proxy that sends a header of the PROXY protocol first (lib/stream/proxy.h). Right
 * after stream_adopt(); opened() follows when the header has come and, with stream_secure(), TLS is
 * ready. What comes after the header is left for TLS or the owner. Without a whole and valid header
 * the stream is closed with -EPROTO; the time is bounded by the owner's deadline.
 */
void stream_expect_proxy(struct stream *s);
/*
 * Sends a header of the PROXY protocol before everything else, TLS as well. Right after
 * stream_connect(). -EINVAL or -EMSGSIZE of stream_proxy_format(); no header is sent then.
 */
int stream_send_proxy(struct stream *s, const struct stream_proxy *header);
/* The header that has come, NULL when none has. Lives until the stream is closed or released. */
const struct stream_proxy *stream_proxy_header(const struct stream *s);
/*
 * Addresses of the two sides: those of the header when it has some, else the socket's own. The
 * errno of the socket, or -EAFNOSUPPORT for a Unix socket.
 */
int stream_peer(const struct stream *s, struct endpoint *ret);
int stream_local(const struct stream *s, struct endpoint *ret);
/* Closes the socket; drops what is queued. The deadline stays. The stream can be used again. */
void stream_close(struct stream *s);
/* The same by reset: the peer sees an error, and no TIME_WAIT is left. */
void stream_reset(struct stream *s);
/* Takes socket and TLS away from the stream, which is closed then. -1 when there is none. */
int stream_release(struct stream *s, struct tls **ret_tls);
/*
 * Hands socket, TLS, PROXY header and queue of an OPEN stream over to a closed one of the same
 * loop, which is OPEN then and wants nothing yet; what is queued goes out. `from` is closed; its
 * deadline stays.
 */
void stream_move(struct stream *to, struct stream *from);

/* STREAM_READ, STREAM_WRITE, both or 0. What is queued goes out without it. */
void stream_want(struct stream *s, unsigned what);
/* ready(STREAM_WAKE) comes in a step. */
void stream_wake(struct stream *s);
/* From now; 0: none. Never told early. */
void stream_set_deadline(struct stream *s, int64_t ns);

/*
 * Bytes that came, 0 at the end, -EAGAIN for none right now, or a negative errno. Only OPEN
 * streams. Once per ready(STREAM_READ) is enough: it is called again while there may be more.
 */
ssize_t stream_read(struct stream *s, void *p, size_t n);

/*
 * Sends as much as the socket takes and queues the rest. 0, or a negative errno (not -EAGAIN); the
 * stream is of no use then.
 */
int stream_send(struct stream *s, const void *p, size_t n);
/* The queue itself, to append to; then stream_flush(). */
struct buf *stream_out(struct stream *s);
/* 0 when all has gone, -EAGAIN when the rest goes out by itself, or a negative errno. */
int stream_flush(struct stream *s);
size_t stream_unsent(const struct stream *s);
/* Bytes of memory that the queue takes up. */
size_t stream_held(const struct stream *s);
/* Gives back what the queue does not need. */
void stream_shrink(struct stream *s);
/*
 * Water marks: full at `high` bytes and above; ready(STREAM_WRITE) at `low` and below. At first 64
 * KiB and 0. With low SIZE_MAX every progress is told.
 */
void stream_set_marks(struct stream *s, size_t high, size_t low);
bool stream_is_full(const struct stream *s);

/* Ends our side when all that is queued has gone; reading goes on. */
void stream_shutdown(struct stream *s);
/*
 * Sends what is queued, ends our side, and throws away what comes until the peer ends its side or
 * `ns` have passed; then closed(0). A close at once would destroy what the peer has not read yet.
 */
void stream_linger(struct stream *s, int64_t ns);

/*
 * Words for an error of closed(), stream_read() or stream_send(); those of the PROXY header or of
 * TLS where there are some.
 */
const char *stream_reason(const struct stream *s, int error);
