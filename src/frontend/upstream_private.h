/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of upstream share. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "base/vec.h"
#include "lib/loop/backoff.h"
#include "lib/pb/pb.h"
#include "proto/maglev.pb-c.h"
#include "src/frontend/pace.h"
#include "src/frontend/upstream.h"

/* What is asked for together, at its own pace. */
enum upstream__round {
	UPSTREAM__LISTS,
	UPSTREAM__VPP,
	UPSTREAM__LB,
	UPSTREAM__COUNTERS,
	UPSTREAM__ROUNDS,
};

#define UPSTREAM__QUERIES 6

#define UPSTREAM__FIELDS 16 /* of an answer */

/* A query under way. */
struct upstream__asking {
	struct upstream *upstream;
	unsigned query;
	bool under_way;
	/* its answer, while that is read */
	bool reading;
	struct buf bytes;
	struct pb_pieces pieces;
	struct buf arrays[UPSTREAM__FIELDS]; /* JSON of the pieces; by field */
};

/* What an event said of an item while lists were being read. */
struct upstream__late {
	enum upstream_list list;
	bool whole;
	char *name;
	struct buf json;
};

struct upstream_call {
	TAILQ_ENTRY(upstream_call) all;
	struct upstream *upstream;
	struct grpc_client_events events;
};

TAILQ_HEAD(upstream__calls, upstream_call);

struct upstream {
	struct ev_loop *loop;
	struct upstream_config config;
	struct upstream_view view;
	char *name, *address, *error;
	struct upstream_stats stats;

	struct grpc_client *client; /* NULL between attempts */
	bool open;		    /* its connection */
	struct backoff retry;	    /* of the connection */
	struct backoff rewatch;	    /* of the stream */

	struct pace rounds[UPSTREAM__ROUNDS];
	unsigned pending[UPSTREAM__ROUNDS]; /* that have not been answered, or read */
	struct upstream__asking asking[UPSTREAM__QUERIES];
	ev_timer slice; /* of the reading */
	struct arena *scratch;
	struct buf news, all_news;	 /* of the lists, while their round is under way */
	VEC(struct upstream__late) late; /* the same; in the order in which they came */
	size_t late_bytes;
	struct buf changed[UPSTREAM_LISTS]; /* items that changed since the last one was told */
	ev_timer tell;			    /* active while there are some */

	bool told;	      /* browsers have had events since the lists were last told whole */
	struct buf no_stream; /* why the last stream of events ended; empty: there is one */
	int64_t watching;     /* monotonic ns since when; 0: not now */
	int64_t lines_until;  /* monotonic ns: for so long its log has used up what it may say */
	struct upstream__calls calls; /* for others */
};

/* query.c */
extern const char *const upstream__keys[UPSTREAM_LISTS]; /* "frontends", ... */
/* Opens the member of that key in an object that is being written. */
void upstream__add_key(struct buf *out, const char *key);
void upstream__begin(struct upstream *u, enum upstream__round round);
/* For ev_timer slice. */
void upstream__on_slice(struct ev_loop *loop, ev_timer *w, int revents);
/* Drops whatever is under way or being read. */
void upstream__forget(struct upstream *u);

/* items.c */
/* An event said all (whole), or some fields, of an item; its first field is its name. */
void upstream__take_item(struct upstream *u, enum upstream_list list, const ProtobufCMessage *item,
			 bool whole);
/* Lists have been read: what events said of their items meanwhile comes after them. */
void upstream__take_late(struct upstream *u);
/* Tells what waits to be told. */
void upstream__tell_items(struct upstream *u);
/* For ev_timer tell. */
void upstream__on_tell(struct ev_loop *loop, ev_timer *w, int revents);
/* Drops what waits; the next lists are told whole. */
void upstream__forget_items(struct upstream *u);

/* upstream.c */
/* The connection is of no use any more: everything under way ends, and it is tried again. */
void upstream__lose(struct upstream *u, const char *why);
/* Asks for it as soon as its pace allows. */
void upstream__want(struct upstream *u, enum upstream__round round);
/* What there is to say of a server that answers: empty, or that its events do not come. */
const char *upstream__no_stream(struct upstream *u);
void upstream__set_connected(struct upstream *u, bool connected, const char *error);
void upstream__tell(struct upstream *u, const char *type, int64_t at, struct str payload);
