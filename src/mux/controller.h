/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller: keeps every mux of a cluster as its plan says.
 *
 *	observe		which keys a change touches; the facts of a key
 *	plan		what a mux is to be (plan.h, pure)
 *	apply		the writes of a plan, stage by stage
 *	controller	keys, their turns, events
 *
 * A key is a mux, by namespace and name, whether it exists or not; or a stray: a Service with
 * something wrong that belongs to no mux. It remembers what has changed since its last turn: so
 * much that the view must be made again (stale), or some channels.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "lib/metrics/metrics.h"
#include "lib/operator/operator.h"
#include "src/mux/options.h"
#include "src/mux/plan.h"

/* The kinds that are followed, in the order of the operator's table. */
enum kind { KIND_SERVICE, KIND_SLICE, KIND_ENDPOINTS, KIND_CONFIG_MAP, KIND_NAMESPACE, KINDS };

/* Indexes of their caches. */
enum { SERVICES_OF_MUX, SERVICES_OF_ROLE };
enum { SLICES_OF_SERVICE, SLICES_OF_CHANNEL, SLICES_OF_MUX };

/* Changed channels that a key remembers one by one; when there are more, it is stale. */
#define KEY_CHANNELS_MAX 256
/* Muxes that have their turn at once. */
#define CONTROLLER_PARALLEL 8

struct apply;
struct controller;

/* A slice or Endpoints object that was deleted, until the cache knows it. */
struct key_deletion {
	enum kind kind;
	char *namespace, *name, *uid;
};

/* The write of the Endpoints beside the turns (late.h). */
struct key_late {
	struct apply *apply;  /* under way */
	bool wanted;	      /* a newer one is */
	int64_t began, until; /* monotonic ns: of the last one, and of the pause after it */
	ev_timer again;
	/* That the write borrows from; freed after it if the key has another one by then. */
	struct mux_view *view;
	bool owns_view;
};

struct key {
	struct controller *controller;
	char *id; /* "namespace/name" */
	char *namespace, *name;
	bool stray;
	struct queue_item item;
	struct mux_view *view; /* of the last turn; NULL before the first, and of a stray */
	/* what has changed since */
	bool stale;
	struct map changed;  /* of channels: "namespace/name", to itself */
	int64_t since;	     /* monotonic ns of the first change; 0: none */
	int64_t began;	     /* the same, of the changes that the running turn is about */
	struct apply *apply; /* while it writes */
	struct key_late late;
	struct operator_mark marks[KINDS];
	VEC(struct key_deletion) deletions;
	ev_timer due;
	bool existed;	  /* there was such a mux */
	char *told;	  /* of a stray: what its events were about */
	uint64_t printed; /* of a dry run: fingerprint of the plan that was printed last */
};

struct controller_stats {
	uint64_t passes, full_passes, failed_passes;
	uint64_t writes[MUX_SERVICE_STATUS + 1][MUX_DELETE + 1];
	uint64_t failed_writes, conflicts;
	uint64_t normal_events, warning_events;
	struct metrics_histogram planning; /* s of processor time of a pass before its writes */
	struct metrics_histogram settling; /* s from a change to the end of its writes */
};

struct controller {
	struct ev_loop *loop;
	const struct options *options;
	struct mux_settings settings;
	struct mux_kinds *kinds;
	struct operator_kind rows[KINDS];
	struct operator_frame *op;
	struct map by_id;	  /* of keys of muxes */
	struct map strays_by_id;  /* of strays */
	VEC(struct key *) keys;	  /* muxes by namespace and name */
	VEC(struct key *) strays; /* in no order */
	ev_timer resync;
	struct controller_stats stats;
	/* An event, as it is emitted; for the page. May be NULL. */
	void (*on_event)(const struct mux_event *event, void *user);
	/* What controller_next() returns may differ. May be NULL. */
	void (*on_change)(void *user);
	void *user;
};

/* Logs why it fails. Nothing is asked before controller_start(). */
int controller_new(struct controller *c, struct ev_loop *loop, const struct options *options);
void controller_start(struct controller *c);
/* done() is called when the writes under way have ended and the lease is given back. */
void controller_drain(struct controller *c, void (*done)(void *user), void *user);
void controller_free(struct controller *c);
/* The first view after (namespace, name); after two empty names the first of all. NULL: no more. */
const struct mux_view *controller_next(const struct controller *c, const char *namespace,
				       const char *name);

/* ---- what observe.c calls ---- */

/* The mux has changed so that its view must be made again. */
void controller_touch(struct controller *c, const char *namespace, const char *name);
/* A channel of it has changed, or (NULL) only what exists of the mux itself. */
void controller_touch_channel(struct controller *c, const char *namespace, const char *name,
			      const struct k8s_object *channel);
void controller_touch_stray(struct controller *c, const struct k8s_object *service);
struct key *controller_key(const struct controller *c, const char *namespace, const char *name);

/* ---- what apply.c calls ---- */

void controller_emit(struct controller *c, const struct mux_event *events, size_t n);
