/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of upstream. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "base/vec.h"
#include "lib/loop/backoff.h"
#include "lib/loop/task.h"
#include "lib/pb/pb.h"
#include "proto/maglev.pb-c.h"
#include "src/frontend/pace.h"
#include "src/frontend/upstream.h"

/* Queries that are made together, at their own pace. Every kind of server has the first two. */
enum upstream__round {
	UPSTREAM__LISTS,
	UPSTREAM__LIVE, /* what it has in memory; also a check of liveness */
	UPSTREAM__LB,
	UPSTREAM__COUNTERS,
	UPSTREAM__ROUNDS,
};

#define UPSTREAM__QUERIES 6 /* bound of those of a kind; asserted */

#define UPSTREAM__FIELDS 24 /* bound of the fields of an answer; asserted */

struct upstream__query {
	enum upstream__round round;
	const struct grpc_method *method;
	enum upstream_list list; /* UPSTREAM_LISTS: not a list, kept as text */
	/*
	 * Stores the answer as JSON; an empty text with the reason if the call failed. NULL: a
	 * failure means that the server is lost.
	 */
	void (*keep)(struct upstream *u, struct buf *text, const char *error);
};

/* Space for any request to a server. */
union upstream__request {
	ProtobufCMessage base;
	char space[256];
};

struct upstream_kind {
	const char *word; /* its name in the dashboard's API: "server", "speaker", "router" */
	const struct upstream__query *queries;
	size_t n_queries;
	enum upstream__round rounds; /* the first ones, up to this one */
	const struct grpc_method *watch;
	void (*fill_watch)(const struct upstream *u, ProtobufCMessage *request); /* may be NULL */
	void (*event)(struct upstream *u, const ProtobufCMessage *event);
};

/* The state of a query: the call, and then the reading of its answer. */
struct upstream__asking {
	struct upstream *upstream;
	const struct upstream__query *query;
	bool under_way;
	/* the answer while it is being read */
	bool reading;
	struct buf bytes;
	struct pb_pieces pieces;
	struct buf arrays[UPSTREAM__FIELDS]; /* JSON of the pieces, by field */
	size_t cost;			     /* bytes that the pieces occupy, roughly */
};

/* News of an event that arrived while lists were being read. */
struct upstream__late {
	enum upstream_list list;
	bool whole;
	char *name;
	struct buf json;
};

/* A call on behalf of other code. */
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
	bool open;		    /* its connection is established */
	struct backoff retry;	    /* of the connection */
	struct backoff rewatch;	    /* of the stream */

	struct pace rounds[UPSTREAM__ROUNDS];
	unsigned
		pending[UPSTREAM__ROUNDS]; /* answers and readings that the round still waits for */
	struct upstream__asking asking[UPSTREAM__QUERIES];
	struct task reading;		 /* reads answers piece by piece */
	struct arena *scratch;		 /* for one piece; reset after each */
	struct buf updates, all_updates; /* changes of the lists while their round is under way */
	VEC(struct upstream__late) late; /* events during that round, in the order of arrival */
	size_t late_bytes;
	struct buf changed[UPSTREAM_LISTS]; /* JSON of changed items that is not published yet */
	ev_timer tell;			    /* active while there are some */

	bool told;	      /* events were published since the stream was opened */
	struct buf no_stream; /* why the last stream of events ended; empty: there is one */
	int64_t watching;     /* monotonic ns when the stream was opened; 0: there is none */
	int64_t lines_until;  /* monotonic ns up to which its log has used its rate limit */
	struct upstream__calls calls; /* on behalf of other code */
};

/* query.c */
extern const struct pb_bounds upstream__bounds;		 /* of anything that a server sends */
extern const char *const upstream__keys[UPSTREAM_LISTS]; /* "frontends", ... */
/* Appends a key to the object that is being written, which the first call opens. */
void upstream__add_key(struct buf *out, const char *key);
/* Swaps the texts if they differ; true then. The caller frees the old one with text. */
bool upstream__replace(struct buf *kept, struct buf *text);
void upstream__add_or_null(struct buf *out, const struct buf *json);
/* An empty request of the method. */
void upstream__init_request(const struct grpc_method *method, union upstream__request *request);
void upstream__begin(struct upstream *u, enum upstream__round round);
/* Step of the task `reading`. */
bool upstream__read_step(struct task *t);
/* Drops all queries that are under way or being read. */
void upstream__forget(struct upstream *u);

/* items.c */
/*
 * Applies an item of an event that has all fields (whole) or some of them. Its first field is
 * its name. Deferred while lists are being read.
 */
void upstream__take_item(struct upstream *u, enum upstream_list list, const ProtobufCMessage *item,
			 bool whole);
/* Called when lists have been read: applies the deferred items. */
void upstream__take_late(struct upstream *u);
/* Publishes changed items now. */
void upstream__tell_items(struct upstream *u);
/* Callback of the timer `tell`. */
void upstream__on_tell(struct ev_loop *loop, ev_timer *w, int revents);
/* Drops changes that are not published; the next lists are sent whole. */
void upstream__forget_items(struct upstream *u);

/* upstream.c */
/* Gives the connection up: ends everything that is under way and schedules a new attempt. */
void upstream__lose(struct upstream *u, const char *why);
/* Starts the round as soon as its pace allows. */
void upstream__want(struct upstream *u, enum upstream__round round);
void upstream__want_all(struct upstream *u);
/* The error text of a server that answers: empty, or why its events do not arrive. */
const char *upstream__no_stream(struct upstream *u);
/* Changes the connected state; publishes an event if it or the error differs. */
void upstream__set_connected(struct upstream *u, bool connected, const char *error);
/* Publishes an event of the dashboard's API. */
void upstream__tell(struct upstream *u, const char *type, int64_t at, struct str payload);
