/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: sends the broker's events to browsers, as Server-Sent Events.
 *
 * A subscriber is a position in the broker's sequence and has no queue. A subscriber that is more
 * than EVENTS_LAG_MAX events behind (a replay may begin further back) is sent a "resync" event and
 * continues with the newest. The connection is closed if the browser does not take a slice within
 * the server's write timeout, or if an event leaves the broker's ring while it is partly sent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct broker;
struct events;
struct http_exchange;
struct http_request;

#define EVENTS_LAG_MAX 256
#define EVENTS_SUBSCRIBERS_MAX 3000

struct events_stats {
	size_t subscribers;
	uint64_t subscribed;
	uint64_t resumed; /* subscribed with an id, and got the events after it */
	uint64_t resyncs; /* times a browser was told to read the state again */
	uint64_t lost;	  /* closed because an event left the ring while partly sent */
	uint64_t refused; /* over the limit */
};

struct events *events_new(struct ev_loop *loop, struct broker *broker);
/* The HTTP server must be freed before, because it closes the streams. e may be NULL. */
void events_free(struct events *e);
/* Answers a request with a stream, or with 503 if there are too many. */
void events_subscribe(struct events *e, struct http_exchange *x,
		      const struct http_request *request);
/* Called after an event was published: wakes all streams. */
void events_wake(struct events *e);
const struct events_stats *events_stats(const struct events *e);
