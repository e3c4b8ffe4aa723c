/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of upstream share. */
#pragma once

#include <sys/queue.h>

#include "proto/maglev.pb-c.h"
#include "src/frontend/pace.h"
#include "src/frontend/upstream.h"

/* What is asked for together, at its own pace. */
enum upstream__round { UPSTREAM__LISTS, UPSTREAM__LB, UPSTREAM__COUNTERS, UPSTREAM__ROUNDS };

#define UPSTREAM__QUERIES 6

/* A query under way. */
struct upstream__asking {
	struct upstream *upstream;
	unsigned query;
	bool under_way;
};

struct upstream_call {
	TAILQ_ENTRY(upstream_call) all;
	struct upstream *upstream;
	struct grpc_client_events events;
	bool forgotten;
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
	ev_timer retry;		    /* of the connection */
	ev_timer rewatch;	    /* of the stream */

	struct pace rounds[UPSTREAM__ROUNDS];
	unsigned pending[UPSTREAM__ROUNDS];
	struct upstream__asking asking[UPSTREAM__QUERIES];
	struct buf news, all_news;    /* of the lists, while their round is under way */
	struct upstream__calls calls; /* for others */
};

/* query.c */
void upstream__begin(struct upstream *u, enum upstream__round round);

/* upstream.c */
/* The connection is of no use any more: everything under way ends, and it is tried again. */
void upstream__lose(struct upstream *u, const char *why);
void upstream__set_connected(struct upstream *u, bool connected, const char *error);
void upstream__tell(struct upstream *u, const char *type, int64_t at, struct str payload);
