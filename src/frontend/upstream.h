/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: one maglevd, maglev-speaker or maglev-router: the connection, the stream of its events,
 * and its last known state.
 *
 * Each upstream has its own connection, calls and timers on the common loop and shares nothing with
 * the others. If the server cannot be reached or does not answer in time, it is marked as not
 * connected, its last known state is kept, and a new connection is tried every second. All state
 * belongs to the server (NFR-5.4); this is a copy.
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
	UPSTREAM_ANNOUNCEMENTS,
	UPSTREAM_SESSIONS,
	UPSTREAM_LISTENERS,
	UPSTREAM_ROUTES,
	UPSTREAM_POOLS,
	UPSTREAM_LISTS,
};

/* The kind of a server: its API, and how its state is read. */
struct upstream_kind;
extern const struct upstream_kind upstream_maglevd, upstream_speaker, upstream_router;

/*
 * The last known state of a server, as JSON. Empty texts stand for null. Lists and texts that its
 * kind does not have are empty.
 */
struct upstream_view {
	const char *kind; /* "server" (a maglevd), "speaker" or "router" */
	const char *name, *address;
	bool connected;
	const char *error; /* why it is not connected, or has no events; empty: all is well */
	int64_t since;	   /* unix ns of the last change of connected */
	int64_t refreshed; /* unix ns when the state was last known to be current; 0: never */
	struct listing lists[UPSTREAM_LISTS];
	struct buf vpp, lb, lb_error, counters; /* of a maglevd */
	struct buf info;			/* of a speaker or a router */
	struct buf generations;			/* of a router */
};

struct upstream_stats {
	uint64_t losses; /* of connections */
	uint64_t calls;
	uint64_t refusals;	 /* calls that did not end with OK */
	uint64_t events;	 /* received on the stream */
	uint64_t lines_left_out; /* of these, log lines dropped by the rate limit */
};

struct upstream_config {
	const struct upstream_kind *kind;
	const char *name, *address; /* copied */
	struct tls_context *tls;    /* NULL: plaintext; borrowed */
	const char *events_level;   /* the lowest level of log lines to receive; of a maglevd */
	/*
	 * Called for every change with the type and payload of an event of the dashboard's API.
	 * at is unix ns. Must not free the upstream.
	 */
	void (*changed)(const struct upstream_view *view, const char *type, int64_t at,
			struct str payload, void *user);
	void *user;
};

/* Starts connecting from the loop. Never fails: an unreachable server is a state. */
struct upstream *upstream_new(struct ev_loop *loop, const struct upstream_config *config);
void upstream_free(struct upstream *u);
/*
 * Replaces the TLS context, for new connections; an open one keeps its own. Only if there was
 * one.
 */
void upstream_set_tls(struct upstream *u, struct tls_context *tls);
const struct upstream_view *upstream_view(const struct upstream *u);
const struct upstream_stats *upstream_stats(const struct upstream *u);

struct upstream_user {
	const char *name, *address;
};

/*
 * Makes a call on behalf of other code. Returns false if the server is not connected. Otherwise
 * done() is called exactly once: from the loop, also if the connection is lost (UNAVAILABLE), or
 * from upstream_free() (CANCELLED). If no answer arrived, the text says that the call may have
 * been carried out all the same. Changes that it causes are published by the events of the
 * server.
 */
bool upstream_call(struct upstream *u, const struct grpc_method *method,
		   const ProtobufCMessage *request, int64_t timeout,
		   const struct grpc_client_events *events);
/* The same for a user of the dashboard, who is named to the server with the address. */
bool upstream_call_for(struct upstream *u, const struct upstream_user *by,
		       const struct grpc_method *method, const ProtobufCMessage *request,
		       int64_t timeout, const struct grpc_client_events *events);
