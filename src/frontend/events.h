/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: the broker's events to browsers, as Server-Sent Events.
 *
 * A browser is a place in the broker's sequence and costs no queue: it falls behind by at most
 * EVENTS_LAG_MAX events (a replay may begin further back) before it is told to start over, and what
 * it has not taken of one slice within the server's write timeout ends its connection. So does an
 * event that leaves the broker's ring while it is half sent: nobody keeps it for the slow.
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
	uint64_t resumed; /* with what they had missed */
	uint64_t resyncs; /* told to start over */
	uint64_t lost;	  /* ended, since an event had left the ring half sent */
	uint64_t refused; /* over the limit */
};

struct events *events_new(struct ev_loop *loop, struct broker *broker);
/* The HTTP server is freed before. */
void events_free(struct events *e);
/* Answers with the stream. */
void events_subscribe(struct events *e, struct http_exchange *x,
		      const struct http_request *request);
/* There is something new in the broker. */
void events_wake(struct events *e);
const struct events_stats *events_stats(const struct events *e);
