/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: the streams of a method that sends a state, item by item, and then what changes in it.
 *
 * A subscriber gets every item first, then each item again after it has changed. Of an item that
 * changed several times before it could be sent only the newest state is sent, so a subscriber
 * needs one bit per item, however slow it is. One that does not read within 10 s what is queued for
 * it is dropped with RESOURCE_EXHAUSTED.
 *
 * The items are the caller's and have numbers from 0. An event is a message whose first three
 * fields are `uint64 seq = 1`, `int64 at = 2` and `bool replay = 3`; they differ from subscriber to
 * subscriber and are added here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "lib/loop/loop.h"

struct grpc_call;
struct service_watch;

#define SERVICE_WATCH_MAX 1024 /* subscribers */

struct service_watch_stats {
	size_t subscribers;
	uint64_t events;  /* sent to all subscribers together */
	uint64_t dropped; /* subscribers that were dropped because they fell behind */
};

/* Copied. */
struct service_watch_config {
	/* When it differs, the numbers mean other items, and every subscriber gets all of them. */
	uint64_t (*generation)(void *user);
	size_t (*items)(void *user); /* at least 1 */
	/*
	 * Encodes the event of an item, without the fields above. Figures are what changes all the
	 * time; an item whose figures alone have changed is sent only to subscribers that want
	 * them. They are left out if figures is false, to see whether the rest has changed.
	 */
	void (*encode)(size_t item, bool figures, struct arena *arena, struct buf *out, void *user);
	/* Items from this one on, and item 0, may change without service_watch_changed(). */
	size_t (*polled)(void *user);
	/* Once a second while there are subscribers, before anything is looked at; or NULL. */
	void (*tick)(void *user);
	bool figures; /* items have some */
	void *user;
};

struct service_watch *service_watch_new(struct ev_loop *loop,
					const struct service_watch_config *config);
/* There must be no subscriber: the server is freed before. NULL is allowed. */
void service_watch_free(struct service_watch *w);
/* Takes over the call: adds a subscriber, or fails the call. */
void service_watch_subscribe(struct service_watch *w, struct grpc_call *call, bool figures);
/* Something may have changed: it is looked for soon. Cheap, and may be called at any time. */
void service_watch_changed(struct service_watch *w);
const struct service_watch_stats *service_watch_stats(const struct service_watch *w);
