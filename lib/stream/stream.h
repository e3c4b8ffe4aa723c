/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: one non-blocking byte stream: a TCP or Unix socket, plain or in TLS.
 *
 * A stream is embedded in its owner and reports to it through callbacks. All callbacks are called
 * from a step of the stream's task (lib/loop/task.h), never from within a function that the owner
 * has called. So all connections of a loop take turns and share one time budget per turn, and a
 * connection that is flooded does not delay the others. One step reads once, in TLS at most a
 * bounded number of records.
 *
 * The states of a stream:
 *
 *	closed -> [CONNECTING] -> [PROXY] -> [SECURING] -> OPEN -> [LINGERING] -> closed
 *
 * stream_adopt() begins at OPEN, stream_connect() at CONNECTING. The owner of an OPEN stream calls
 * stream_want() for what it waits for, and stream_read() after ready(STREAM_READ). Output is queued
 * in the stream and sent as the socket takes it; the owner bounds the queue (stream_is_full()).
 *
 * A stream without a socket can still be woken and have a deadline. No function here blocks. A
 * stream belongs to the thread of its loop, and does not move to another one.
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
 * In a step, input is reported before an expired deadline, so that a delay in this program is not
 * taken for silence of the peer. Each callback may call any function of the stream and may free its
 * memory after stream_end().
 */
struct stream_events {
	/*
	 * The stream has become OPEN, after stream_connect(), stream_secure() or
	 * stream_expect_proxy(). Required if one of them is used.
	 */
	void (*opened)(struct stream *s);
	void (*ready)(struct stream *s, unsigned what);
	/*
	 * The stream has failed with a negative errno (stream_reason() describes it), or
	 * stream_linger() has ended (0). Nothing is reported after that; the owner must call
	 * stream_close() or stream_end().
	 */
	void (*closed)(struct stream *s, int error);
	void (*expired)(struct stream *s); /* the deadline has passed; NULL: never set */
};

enum stream_state {
	STREAM_CLOSED, /* no socket */
	STREAM_CONNECTING,
	STREAM_PROXY, /* receiving or sending the header of the PROXY protocol */
	STREAM_SECURING,
	STREAM_OPEN,
	STREAM_LINGERING,
	STREAM_FAILED, /* closed() was called; the owner has to close it */
};

/* Owners may read fd, tls, state, failed_in and sent; all other members are private. */
struct stream {
	struct task task;
	const struct stream_events *events;
	struct tls *tls;	     /* NULL: plain */
	struct stream__proxy *proxy; /* NULL: no header of the PROXY protocol */
	ev_io io;
	ev_timer deadline;
	struct stream__out *out; /* NULL: nothing is queued, and no marks are set */
	uint64_t sent;		 /* bytes that the socket has taken */
	int64_t due_at;		 /* monotonic ns of the deadline */
	int fd;			 /* -1: none */
	int error;		 /* to be reported; 0: none */
	uint8_t state;		 /* enum stream_state */
	uint8_t failed_in;	 /* the state before STREAM_FAILED */
	uint8_t want;		 /* STREAM_READ, STREAM_WRITE */
	uint8_t seen;		 /* STREAM_READ, STREAM_WRITE, STREAM_WAKE since the last step */
	uint8_t rank;		 /* of its task; that of a handshake may be lower */
	bool due;		 /* the deadline has passed and is not reported yet */
	bool crossed;		 /* TLS must write before it can read */
	bool shut;		 /* shutdown() follows when the queue is empty */
	bool eof;		 /* end of file was read while lingering */
	bool last;		 /* no bytes follow the next ones that are sent */
};

/* The loop and events are borrowed; *s must stay in place until stream_end(). */
void stream_init(struct stream *s, struct ev_loop *loop, enum task_rank rank,
		 const struct stream_events *events);
/* Closes the stream and stops the deadline. No callback follows. May be called twice. */
void stream_end(struct stream *s);

/* Takes ownership of a connected, non-blocking socket. The stream must be closed. */
void stream_adopt(struct stream *s, int fd);
/*
 * Connects. The result is reported by opened() or closed(), also if socket() or connect() itself
 * fails.
 */
void stream_connect(struct stream *s, const struct sockaddr *to, socklen_t len);
/* The same for a Unix socket: a path, or "@name" for an abstract name. */
void stream_connect_unix(struct stream *s, const char *path);
/* Makes the stream fail from its next step, for owners that cannot set it up. error < 0. */
void stream_fail(struct stream *s, int error);
/* Takes ownership of tls, made for the stream's socket. opened() follows the handshake. */
void stream_secure(struct stream *s, struct tls *tls);
/*
 * The peer is a proxy that sends a header of the PROXY protocol first (lib/stream/proxy.h). To be
 * called right after stream_adopt(). opened() is called after the header and, with stream_secure(),
 * after the TLS handshake. Bytes after the header are left for TLS or the owner. Without a complete
 * and valid header the stream fails with -EPROTO. The owner's deadline bounds the time.
 */
void stream_expect_proxy(struct stream *s);
/*
 * Sends a header of the PROXY protocol before all other bytes, also those of TLS. To be called
 * right after stream_connect(). Returns -EINVAL or -EMSGSIZE of stream_proxy_format(); no header is
 * sent then.
 */
int stream_send_proxy(struct stream *s, const struct stream_proxy *header);
/* The received header, NULL if there is none. Valid until the stream is closed or released. */
const struct stream_proxy *stream_proxy_header(const struct stream *s);
/*
 * The addresses of the two sides: from the PROXY header if it has addresses, else from the socket.
 * Returns the errno of the socket, or -EAFNOSUPPORT for a Unix socket; *ret is untouched then.
 */
int stream_peer(const struct stream *s, struct endpoint *ret);
int stream_local(const struct stream *s, struct endpoint *ret);
/* Closes the socket and drops the queue. The deadline stays. The stream can be used again. */
void stream_close(struct stream *s);
/* The same with RST: the peer gets an error, and no socket stays in TIME_WAIT. */
void stream_reset(struct stream *s);
/* Gives socket and TLS to the caller and closes the stream. Returns -1 if there is no socket. */
int stream_release(struct stream *s, struct tls **ret_tls);
/*
 * Moves socket, TLS, PROXY header and queue of an OPEN stream to a closed stream of the same loop.
 * to is OPEN then and wants nothing yet; its queue is sent. from is closed; its deadline stays.
 */
void stream_move(struct stream *to, struct stream *from);

/* STREAM_READ, STREAM_WRITE, both or 0. The queue is sent regardless of it. */
void stream_want(struct stream *s, unsigned what);
/* Makes the next step call ready(STREAM_WAKE); on the way to OPEN it is kept until then. */
void stream_wake(struct stream *s);
/* expired() is called ns from now, never earlier; 0: no deadline. Replaces the one before. */
void stream_set_deadline(struct stream *s, int64_t ns);

/*
 * Returns the number of bytes read, 0 at the end of file, -EAGAIN if there are none now, or a
 * negative errno. Only for OPEN streams. One call per ready(STREAM_READ) is enough, because ready()
 * is called again while there may be more.
 */
ssize_t stream_read(struct stream *s, void *p, size_t n);

/*
 * Sends as much as the socket takes and queues the rest. Returns 0 or a negative errno, which is
 * never -EAGAIN; the stream can only be closed then.
 */
int stream_send(struct stream *s, const void *p, size_t n);
/*
 * The same for several pieces, in one call of the kernel if there is no TLS. At most
 * STREAM_PIECES_MAX.
 */
#define STREAM_PIECES_MAX 8
int stream_sendv(struct stream *s, const struct str *pieces, size_t n);
/*
 * The caller ends the stream, or lingers, in this turn, after it has sent the next bytes. The
 * kernel then sends the end in the same segment as the bytes.
 */
static inline void stream_is_last(struct stream *s)
{
	s->last = true;
}
/* The queue itself, for appending. Call stream_flush() afterwards. */
struct buf *stream_out(struct stream *s);
/* 0 if the queue is empty, -EAGAIN if the rest is sent in later steps, or a negative errno. */
int stream_flush(struct stream *s);
/* Bytes in the queue. */
size_t stream_unsent(const struct stream *s);
/* Bytes of memory allocated for the queue. */
size_t stream_held(const struct stream *s);
/* Frees memory of the queue that is not in use. */
void stream_shrink(struct stream *s);
/*
 * Water marks of the queue: stream_is_full() from high bytes on, ready(STREAM_WRITE) at low bytes
 * or fewer. The defaults are 64 KiB and 0. With low SIZE_MAX all progress is reported.
 */
void stream_set_marks(struct stream *s, size_t high, size_t low);
bool stream_is_full(const struct stream *s);

/*
 * Move up to n bytes between the socket and the end of a pipe, without copying them. In: as
 * stream_read(), and -EAGAIN also if the pipe is full. Out: the number of bytes that the socket
 * took, -EAGAIN or a negative errno; the queue must be empty. STREAM_WRITE is reported when the
 * socket takes more. Only for OPEN streams without TLS. splice() cannot be told not to raise
 * SIGPIPE, so the calling thread must block it or the program must ignore it.
 */
ssize_t stream_splice_in(struct stream *s, int pipe, size_t n);
ssize_t stream_splice_out(struct stream *s, int pipe, size_t n);

/* Ends our direction (FIN) when the queue is empty; reading continues. */
void stream_shutdown(struct stream *s);
/*
 * Sends the queue, ends our direction and discards input until the peer ends its own or ns have
 * passed; then calls closed(0). With close() at once, unread input would make the kernel send RST,
 * and the peer could lose bytes that it has not read yet.
 */
void stream_linger(struct stream *s, int64_t ns);

/*
 * Describes an error of closed(), stream_read() or stream_send(), with the text of the PROXY header
 * or of TLS if there is one. Valid until the stream is closed.
 */
const char *stream_reason(const struct stream *s, int error);
