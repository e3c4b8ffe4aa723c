/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the router's own families, for lib/admin. the user is a struct metrics_state.
 *
 * At most `limit` routes, pools and servers have samples of their own, in the order of the
 * configuration; the rest of each are added up as "other". A page is written in slices, about the
 * generation that was in force when it began.
 */
#pragma once

#include "lib/http/server.h"
#include "src/router/rollout.h"
#include "src/router/router.h"
#include "src/router/show.h"

/* How configurations came, and whether they were applied. */
enum metrics_source { METRICS_FILE, METRICS_API, METRICS_SOURCES };

struct metrics_state {
	struct router *router;
	const struct rollout *rollout;
	struct ev_loop *loop;
	size_t limit;	   /* of --metrics-limit */
	struct show *show; /* NULL without --grpc-addr */
	uint64_t applied[METRICS_SOURCES], refused[METRICS_SOURCES];
	uint64_t upgrade_failures;
};

struct http_stream metrics_page(void *state);
