/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: one connection to VPP's binary API, from its beginning to its end.
 *
 *	connect -> ready() once VPP has sent its table of messages -> ended() exactly once
 *
 * After ended() the client can only be freed. A program that wants to reconnect makes a new
 * client, because message numbers and the client index hold for one connection only. Requests are
 * sent in order, any number without waiting, and VPP answers in order. A request cannot fail by
 * itself: if VPP does not answer in time, it may or may not have executed the request, so the
 * whole connection ends and no outstanding request is answered any more. A message that cannot be
 * parsed also ends it.
 *
 * All callbacks come from the loop, never from inside a function of this header. A callback may
 * call any function except vpp_api_free(); ended() may call that one, too. Nothing blocks.
 *
 * Bounds: VPP_API_PENDING_MAX outstanding requests, the size of a message in either direction,
 * the records of a dump, and one read of 64 KiB per turn of the loop.
 */
#pragma once

#include "lib/loop/loop.h"
#include "lib/vpp/message.h"
#include "lib/vpp/table.h"

#define VPP_API_PENDING_MAX 1024
#define VPP_API_REQUEST_MAX ((size_t)64 * 1024)
#define VPP_API_DETAILS_MAX ((size_t)1 << 18)

struct vpp_api;

enum vpp_end {
	VPP_END_UNREACHABLE, /* no connection could be made */
	VPP_END_REFUSED,     /* VPP refused us as a client */
	VPP_END_CLOSED,	     /* by VPP */
	VPP_END_BROKEN,	     /* reading or writing failed */
	VPP_END_TIMEOUT,     /* an answer did not come in time */
	VPP_END_GARBAGE,     /* a message could not be parsed */
};
const char *vpp_end_name(enum vpp_end why); /* "unreachable", ... */

enum vpp_trace { VPP_SENT, VPP_SEND_FAILED, VPP_RECEIVED, VPP_RECEIVE_FAILED };

/* Zero means the default. Times are ns. */
struct vpp_api_config {
	const char *path, *client_name; /* copied */
	int64_t timeout;		/* 5 s: for one answer, counted from the answer before it */
	int64_t keepalive;  /* 10 s: interval of pings while no request is outstanding */
	size_t max_message; /* 1 MiB: largest message accepted from VPP */
	void (*ready)(void *user);
	/* text is one line for people; it is freed with the client. */
	void (*ended)(void *user, enum vpp_end why, const char *text);
	/*
	 * Called for each message sent, received or failed; may be NULL. name as in struct
	 * vpp_message.
	 */
	void (*trace)(void *user, enum vpp_trace what, const char *name);
	void *user;
};

/* Message names with their checksums. The client keeps the pointers, so the strings are static. */
struct vpp_message {
	const char *request, *answer; /* the answer of a dump is one of its records */
};
extern const struct vpp_message vpp_control_ping;

/* Starts to connect. It never returns NULL: a failure is reported through ended(). */
struct vpp_api *vpp_api_connect(struct ev_loop *loop, const struct vpp_api_config *config);
/* The same over a connected stream socket, which the client then owns. */
struct vpp_api *vpp_api_adopt(struct ev_loop *loop, const struct vpp_api_config *config, int fd);
/* Closes the connection; no callback is called any more. NULL is allowed. */
void vpp_api_free(struct vpp_api *a);

/* The messages that VPP knows; empty before ready(). Borrowed from the client. */
const struct vpp_table *vpp_api_table(const struct vpp_api *a);

/*
 * Called with an answer, positioned after its number and context; valid only during the call. If
 * the reader turns bad, the callback discards what it has read; the client then ends the
 * connection.
 */
typedef void (*vpp_answer_fn)(void *user, struct vpp_reader *answer);
typedef void (*vpp_done_fn)(void *user);

/*
 * Sends m with its fields (those after number, client and context; NULL: none) and calls answered
 * with the answer; answered may be NULL. -ENOTCONN before ready() and after the end, -ENOENT if
 * VPP does not know m or its answer, -EMSGSIZE, -ENOBUFS if too many requests are outstanding;
 * nothing was sent then.
 */
int vpp_api_call(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn answered, void *user);
/* The same for a dump: record is called for each record, then done once. */
int vpp_api_dump(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn record, vpp_done_fn done, void *user);
/* How many more calls fit now; a dump counts as two. */
size_t vpp_api_room(const struct vpp_api *a);
