/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: the event hub of WatchEvents (FR-6.3, NFR-3.2, NFR-3.4).
 *
 * It observes the engine, the reconciler and, while a subscriber wants log lines, the log. Every
 * subscriber first gets the current states, then all changes, without a gap and without
 * duplicates.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"
#include "proto/maglev.pb-c.h"

struct engine;
struct grpc_call;
struct reconcile;
struct watch;

struct watch_stats {
	size_t subscribers;
	uint64_t events;  /* sent to all subscribers together */
	uint64_t dropped; /* subscribers that were dropped because they fell behind */
};

#define WATCH_SUBSCRIBERS_MAX 4096

/* Engine and reconciler must outlive it. It is the only observer of the reconciler. */
struct watch *watch_new(struct ev_loop *loop, struct engine *engine, struct reconcile *reconcile);
/* There must be no subscriber: the server is drained or freed before. */
void watch_free(struct watch *w);
/* Takes over the call: adds a subscriber, or fails the call. */
void watch_subscribe(struct watch *w, struct grpc_call *call, const Maglev__WatchRequest *request);
const struct watch_stats *watch_stats(const struct watch *w);
