/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal: shared by the files of the VPP driver.
 */
#pragma once

#include "base/str.h"
#include "lib/loop/backoff.h"
#include "lib/loop/task.h"
#include "lib/vpp/api.h"
#include "lib/vpp/stats.h"
#include "src/maglevd/dataplane/vpp/messages.h"
#include "src/maglevd/dataplane/vpp/text.h"
#include "src/maglevd/dataplane/vpp/vpp.h"

#define VPPLB__WINDOW 64 /* most requests under way at once, separately for apply and for gather */

/* observe.c: reads the state back. */
struct vpplb__observe {
	dataplane_observed_fn done; /* NULL: no request */
	void *user;
	struct lb_state state;
	struct vpplb_text text;
	size_t text_size;
	int64_t text_asked; /* monotonic ns */
	bool text_known;    /* not asked for: gather has a recent one */
	int err;
};

/* apply.c: carries out operations. */
struct vpplb__slot { /* the user pointer of one request under way */
	struct dataplane *dp;
	size_t op;
};

struct vpplb__apply {
	dataplane_applied_fn done; /* NULL: no request */
	void *user;
	const struct lb_op *ops;
	size_t n, sent, under_way;
	int err; /* of the first operation that failed, failed_at */
	size_t failed_at;
	struct vpplb__slot slots[VPPLB__WINDOW];
};

/* gather.c: reads the counters. */
struct vpplb__route {
	struct addr host;
	uint32_t column; /* in VPP's counters; VPP_NO_COLUMN: not known, or no route */
	bool asked;
	bool server; /* the address of a server; a VIP may have it too */
};

/* The entries of the stats segment that are read. */
enum vpplb__entry {
	VPPLB__BOOT_TIME = LB_PACKETS_KINDS, /* after the packet counters of VIPs */
	VPPLB__ROUTE_TO,
	VPPLB__ROUTE_VIA,
	VPPLB__ENTRIES
};

/* One reading of the segment. Each value is the sum over VPP's threads. */
struct vpplb__reading {
	size_t n_vips, n_routes;
	uint32_t *vip_columns; /* of the VIPs, and last the column of VIP 0 */
	uint64_t *packets[LB_PACKETS_KINDS];
	uint32_t *route_columns;
	struct vpp_count *to, *via; /* of the routes */
	uint64_t boot_time;
	unsigned entry; /* what is read next, and of which thread */
	uint32_t thread;
};

/* The states of gather; see the essay in gather.c. */
enum vpplb__gathering { VPPLB__IDLE, VPPLB__TEXT, VPPLB__LIST, VPPLB__ROUTES, VPPLB__READING };

struct vpplb__gather {
	ev_timer tick;	  /* begins a reading */
	ev_timer again;	  /* the segment was being changed: reads it again */
	struct task work; /* does LIST and READING */
	enum vpplb__gathering step;
	struct vpp_entry entries[VPPLB__ENTRIES];
	struct vpplb__reading reading;
	unsigned tries; /* of reading the segment, this time */
	struct vpplb_text text;
	bool text_due, text_fresh,
		routes_due;		 /* ask for it; its hosts are not listed yet; look up all */
	bool text_long;			 /* long enough to be asked for less often */
	int64_t text_next, routes_next;	 /* monotonic ns: the next time, unless due */
	int64_t text_asked, text_since;	 /* monotonic ns: of the last request; of the text kept */
	VEC(struct vpplb__route) routes; /* by address */
	size_t route_at, routes_asked, routes_under_way;
	struct vpplb__slot slots[VPPLB__WINDOW];
	struct lb_counters counters, old; /* the newest; the one that callers may still read */
	bool any;			  /* counters is valid */
	bool broken;			  /* a failure was logged, and no reading succeeded since */
};

/* who.c: the VPP at the other end, and counts of messages. */
struct vpplb__who {
	struct dataplane_info info;
	struct buf version, build_date, build_directory, problem;
	struct buf logged; /* the last problem that was logged */
	struct dataplane_messages messages[2 * VPPLB_MESSAGES + 3];
	bool said_no; /* the answer being delivered is a refusal */
};

struct dataplane {
	struct ev_loop *loop;
	struct dataplane_events events;
	struct dataplane_vpp_setup setup;
	const struct l4_config *config;

	struct vpp_api *api;	     /* NULL between two attempts */
	struct vpp_stats *stats;     /* while it connects */
	struct vpp_segment *segment; /* when it is connected */
	bool known;		     /* version and pid have arrived */
	bool supported, up;
	struct backoff retry;
	ev_timer tell; /* of 0 s: calls the completion of a request */

	struct vpplb__who who;
	struct vpplb__observe observe;
	struct vpplb__apply apply;
	struct vpplb__gather gather;
};

/* The verbs of dataplane.h. _drop forgets the request, _tell completes it from the loop. */
void vpplb__observe(struct dataplane *dp, dataplane_observed_fn done, void *user);
void vpplb__observe_drop(struct dataplane *dp);
void vpplb__observe_tell(struct dataplane *dp);

void vpplb__apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
		  dataplane_applied_fn done, void *user);
void vpplb__apply_drop(struct dataplane *dp);
void vpplb__apply_tell(struct dataplane *dp);

void vpplb__gather_init(struct dataplane *dp);
void vpplb__gather_start(struct dataplane *dp);
/* A segment is connected: reads when VPP started, unless VPP is changing the segment right now. */
void vpplb__gather_attach(struct dataplane *dp);
/* Stops, and forgets the text and columns of this connection; the newest counters stay. */
void vpplb__gather_drop(struct dataplane *dp);
void vpplb__gather_free(struct dataplane *dp);
/* VIPs or servers were added or removed: columns have to be looked up again. */
void vpplb__gather_moved(struct dataplane *dp);
/* Whether the text is long, still true as far as is known, and not due to be asked for again. */
bool vpplb__gather_knows(const struct dataplane *dp);
/*
 * Takes over a text that observe has asked for at since (monotonic ns); left alone while a reading
 * is under way.
 */
void vpplb__gather_take(struct dataplane *dp, struct vpplb_text *text, size_t size, int64_t since);

void vpplb__who_init(struct vpplb__who *who);
void vpplb__who_free(struct vpplb__who *who);
/* Why VPP is not connected, or why it cannot be programmed; "": no problem. */
void vpplb__who_trouble(struct vpplb__who *who, const char *problem);
/* The connection is gone: forgets version, pid and times; the problem stays. */
void vpplb__who_forget(struct vpplb__who *who);
void vpplb__who_version(struct vpplb__who *who, const struct vpplb_version *v);
/* True when this problem is not the one that was logged last; it is remembered. */
bool vpplb__who_is_new(struct vpplb__who *who, const char *trouble);
/* The trace callback of lib/vpp; user is the struct dataplane. */
void vpplb__who_count(void *dp, enum vpp_trace what, const char *name);

/* An answer with an error: it is logged, and counted when vpplb__who_count() is called next. */
void vpplb__refused(struct dataplane *dp, const char *name, int32_t retval);

/*
 * Asks for the VIPs as VPP prints them, which is more than its API tells. -errno of
 * vpp_api_call().
 */
int vpplb__ask_text(struct dataplane *dp, vpp_answer_fn answered);
/* The text of that answer; ret->p is NULL when VPP refused. False when the answer is malformed. */
bool vpplb__read_text(struct dataplane *dp, struct vpp_reader *r, struct str *ret);
