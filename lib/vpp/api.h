/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: one connection to VPP's binary API, from its beginning to its end.
 *
 *	connect -> ready() once VPP has told which messages it knows -> ended() exactly once
 *
 * Behind ended() nothing is left but to free it; whoever wants another connection makes another
 * one, as nothing that was learnt here holds there. Requests are sent in order, any number behind
 * each other, and VPP answers them in order. A request has no failure of its own: what VPP does not
 * answer in time may have been done or not, so the whole connection ends, and whatever was asked
 * on it is not answered any more. The same goes for what cannot be understood.
 *
 * All callbacks come from the loop, never from within a function here. In them anything may be
 * called but vpp_api_free(), and in ended() that, too. Nothing blocks.
 *
 * Bounds: VPP_API_PENDING_MAX requests without an answer, the size of a message in either
 * direction, the records of a dump, and one read of 64 KiB in each turn of the loop.
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
	VPP_END_REFUSED,     /* VPP does not take us as a client */
	VPP_END_CLOSED,	     /* by VPP */
	VPP_END_BROKEN,	     /* reading or writing failed */
	VPP_END_TIMEOUT,     /* an answer did not come */
	VPP_END_GARBAGE,     /* what came cannot be understood */
};
const char *vpp_end_name(enum vpp_end why); /* "unreachable", ... */

enum vpp_trace { VPP_SENT, VPP_SEND_FAILED, VPP_RECEIVED, VPP_RECEIVE_FAILED };

/* Zero means the default. Times are ns. */
struct vpp_api_config {
	const char *path, *client_name; /* copied */
	int64_t timeout;		/* 5 s: for an answer, once those before it have come */
	int64_t keepalive;		/* 10 s: how often VPP is asked for a sign of life */
	size_t max_message;		/* 1 MiB; from VPP */
	void (*ready)(void *user);
	/* text: one line for people; gone with the client. */
	void (*ended)(void *user, enum vpp_end why, const char *text);
	/* One message went, came, or did not; may be NULL. name as in struct vpp_message. */
	void (*trace)(void *user, enum vpp_trace what, const char *name);
	void *user;
};

/* Names with their checksums; the strings live as long as the program. */
struct vpp_message {
	const char *request, *answer; /* the answer of a dump is one of its records */
};
extern const struct vpp_message vpp_control_ping;

struct vpp_api *vpp_api_connect(struct ev_loop *loop, const struct vpp_api_config *config);
/* The same over a stream that is connected already, and is the client's from now on. */
struct vpp_api *vpp_api_adopt(struct ev_loop *loop, const struct vpp_api_config *config, int fd);
/* Closes it; no callback any more. NULL is fine. */
void vpp_api_free(struct vpp_api *a);

/* What VPP knows; empty before ready(). */
const struct vpp_table *vpp_api_table(const struct vpp_api *a);

/*
 * An answer, read from behind its number and context on; gone when this returns. Whoever finds it
 * bad forgets it and returns: the client then ends the connection.
 */
typedef void (*vpp_answer_fn)(void *user, struct vpp_reader *answer);
typedef void (*vpp_done_fn)(void *user);

/*
 * Sends m with its fields (behind number, client and context; NULL: none) and calls answered with
 * the answer. -ENOTCONN before ready() and behind the end, -ENOENT when VPP does not know m or its
 * answer, -EMSGSIZE, -ENOBUFS when too many wait: nothing was sent then.
 */
int vpp_api_call(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn answered, void *user);
/* The same for a dump: record is called for each, then done once. */
int vpp_api_dump(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn record, vpp_done_fn done, void *user);
/* How many more calls would be taken now; a dump counts as two. */
size_t vpp_api_room(const struct vpp_api *a);
