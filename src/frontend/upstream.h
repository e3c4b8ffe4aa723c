/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: one maglevd: a connection, the stream of its events, and what it last said.
 *
 * Each has its own connection, calls and timers on the one loop, and shares nothing with the others.
 * While it cannot be reached, or does not answer in time, it is marked so, what it last said stays,
 * and a new connection is tried every second. All state is the server's (NFR-5.4); what is kept here
 * is a copy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/grpc/client.h"
#include "lib/log/log.h"
#include "lib/loop/loop.h"
#include "src/frontend/listing.h"

struct tls_context;
struct upstream;

enum upstream_list {
	UPSTREAM_FRONTENDS,
	UPSTREAM_BACKENDS,
	UPSTREAM_HEALTHCHECKS,
	UPSTREAM_LISTS,
};

/* What an upstream last said, as JSON. Empty texts stand for null. */
struct upstream_view {
	const char *name, *address;
	bool connected;
	const char *error; /* why not, or what is missing all the same; empty: all is well */
	int64_t since;	   /* unix ns, of connected */
	int64_t refreshed; /* unix ns: when it was last known to be current; 0: never */
	struct listing lists[UPSTREAM_LISTS];
	struct buf vpp, lb, lb_error, counters;
};

struct upstream_stats {
	uint64_t losses;
	uint64_t calls;
	uint64_t refusals;	 /* calls that did not end with OK */
	uint64_t events;	 /* of the stream */
	uint64_t lines_left_out; /* of these, log lines beyond what one server may say */
};

struct upstream_config {
	const char *name, *address; /* copied */
	struct tls_context *tls;    /* NULL: plaintext; borrowed */
	const char *events_level;   /* of the lines of its log that are wanted */
	/* Something changed: the type and payload of an event, as the dashboard's API has them. */
	void (*changed)(const struct upstream_view *view, const char *type, int64_t at,
			struct str payload, void *user);
	void *user;
};

struct upstream *upstream_new(struct ev_loop *loop, const struct upstream_config *config);
void upstream_free(struct upstream *u);
/* Where there was one: for connections to come; one that is there keeps its own. */
void upstream_set_tls(struct upstream *u, struct tls_context *tls);
const struct upstream_view *upstream_view(const struct upstream *u);
const struct upstream_stats *upstream_stats(const struct upstream *u);

/*
 * A call for somebody else. False when there is no connection, nor one on its way; otherwise done()
 * comes, from the loop, also when the connection is lost (UNAVAILABLE) and, from upstream_free(),
 * when all ends (CANCELLED). Where no answer came, the text says that it may have been done all the
 * same. What it changed is told by the server's events.
 */
bool upstream_call(struct upstream *u, const struct grpc_method *method,
		   const ProtobufCMessage *request, int64_t timeout,
		   const struct grpc_client_events *events);
