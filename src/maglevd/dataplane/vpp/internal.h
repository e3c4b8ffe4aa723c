/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the driver. */
#pragma once

#include "base/str.h"
#include "lib/loop/backoff.h"
#include "lib/loop/task.h"
#include "lib/vpp/api.h"
#include "lib/vpp/stats.h"
#include "src/maglevd/dataplane/vpp/messages.h"
#include "src/maglevd/dataplane/vpp/text.h"
#include "src/maglevd/dataplane/vpp/vpp.h"

#define VPPLB__WINDOW 64 /* requests under way at once, each for apply and for gather */

/* observe.c: reads the state back. */
struct vpplb__observe {
	dataplane_observed_fn done; /* NULL: nobody asks */
	void *user;
	struct lb_state state;
	struct vpplb_text text;
	size_t text_size;
	bool text_known; /* not asked for: gather has one that will do */
	int err;
};

/* apply.c: carries out operations. */
struct vpplb__slot {
	struct dataplane *dp;
	size_t op;
};

struct vpplb__apply {
	dataplane_applied_fn done; /* NULL: nobody asks */
	void *user;
	const struct lb_op *ops;
	size_t n, sent, under_way;
	int err; /* of the first that failed, failed_at */
	size_t failed_at;
	struct vpplb__slot slots[VPPLB__WINDOW];
};

/* gather.c: reads the counters. */
struct vpplb__route {
	struct addr host;
	uint32_t column; /* VPP_NO_COLUMN: not known, or there is none */
	bool asked;
	bool server; /* not only a VIP */
};

/* What is read of the segment. */
enum vpplb__entry {
	VPPLB__BOOT_TIME = LB_PACKETS_KINDS, /* behind the packets of the VIPs */
	VPPLB__ROUTE_TO,
	VPPLB__ROUTE_VIA,
	VPPLB__ENTRIES
};

/* What is taken from the segment, column by column, each a sum over VPP's threads. */
struct vpplb__reading {
	size_t n_vips, n_routes;
	uint32_t *vip_columns; /* and one more, for VIP 0 */
	uint64_t *packets[LB_PACKETS_KINDS];
	uint32_t *route_columns;
	struct vpp_count *to, *via; /* of the routes */
	uint64_t boot_time;
	unsigned entry; /* what comes next, and of which thread */
	uint32_t thread;
};

/* What gather is doing; see the essay in gather.c. */
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
		routes_due;		 /* to be asked for; not listed yet; to be found anew */
	bool text_long;			 /* worth sparing VPP */
	int64_t text_next, routes_next;	 /* monotonic ns: not asked for before, unless due */
	VEC(struct vpplb__route) routes; /* by address */
	size_t route_at, routes_asked, routes_under_way;
	struct vpplb__slot slots[VPPLB__WINDOW];
	struct lb_counters counters, old; /* the newest, and the one that may still be looked at */
	bool any;			  /* there is a newest */
	bool broken;			  /* said so */
};

/* who.c: who is at the other end, and what was said. */
struct vpplb__who {
	struct dataplane_info info;
	struct buf version, build_date, build_directory, problem;
	struct buf logged; /* the last trouble that was logged */
	struct dataplane_messages messages[2 * VPPLB_MESSAGES + 3];
	bool said_no; /* the answer being delivered is a refusal */
};

struct dataplane {
	struct ev_loop *loop;
	struct dataplane_events events;
	struct dataplane_vpp_setup setup;
	const struct l4_config *config;

	struct vpp_api *api;	     /* NULL between two attempts */
	struct vpp_stats *stats;     /* while its segment is on the way */
	struct vpp_segment *segment; /* once it is there */
	bool known;		     /* VPP has told who it is */
	bool supported, up;
	struct backoff retry;
	ev_timer tell; /* what became of a request, in a turn of its own */

	struct vpplb__who who;
	struct vpplb__observe observe;
	struct vpplb__apply apply;
	struct vpplb__gather gather;
};

void vpplb__observe(struct dataplane *dp, dataplane_observed_fn done, void *user);
void vpplb__observe_drop(struct dataplane *dp);
void vpplb__observe_tell(struct dataplane *dp);

void vpplb__apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
		  dataplane_applied_fn done, void *user);
void vpplb__apply_drop(struct dataplane *dp);
void vpplb__apply_tell(struct dataplane *dp);

void vpplb__gather_init(struct dataplane *dp);
void vpplb__gather_start(struct dataplane *dp);
/* There is a segment: when VPP started is read, if that can be done right now. */
void vpplb__gather_attach(struct dataplane *dp);
/* Forgets what was true of this connection; the newest counters stay. */
void vpplb__gather_drop(struct dataplane *dp);
void vpplb__gather_free(struct dataplane *dp);
/* VIPs or servers came or went: columns have to be found anew. */
void vpplb__gather_moved(struct dataplane *dp);
/* Whether the text is long, still true as far as we know, and not to be asked for again yet. */
bool vpplb__gather_knows(const struct dataplane *dp);
/* A text that somebody else has read; taken over. */
void vpplb__gather_take(struct dataplane *dp, struct vpplb_text *text, size_t size);

void vpplb__who_init(struct vpplb__who *who);
void vpplb__who_free(struct vpplb__who *who);
/* Nobody is there, for this reason; or somebody who cannot be programmed. */
void vpplb__who_trouble(struct vpplb__who *who, const char *problem);
void vpplb__who_forget(struct vpplb__who *who);
void vpplb__who_version(struct vpplb__who *who, const struct vpplb_version *v);
/* True when this trouble is not the one that was logged last. */
bool vpplb__who_news(struct vpplb__who *who, const char *trouble);
void vpplb__who_count(void *dp, enum vpp_trace what, const char *name);

/* A refusal: counted and logged. */
void vpplb__refused(struct dataplane *dp, const char *name, int32_t retval);

/* The table as VPP prints it, which has more than its API tells. -errno of vpp_api_call(). */
int vpplb__ask_text(struct dataplane *dp, vpp_answer_fn answered);
/* The text of that answer, without a place where VPP refused; false: nothing that can be read. */
bool vpplb__read_text(struct dataplane *dp, struct vpp_reader *r, struct str *ret);
