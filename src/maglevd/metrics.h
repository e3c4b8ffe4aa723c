/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: what maglevd shows to Prometheus (FR-6.2). The one table of every family is in
 * metrics.c; docs/reference/metrics.md describes them.
 */
#pragma once

#include "lib/http/server.h"
#include "lib/loop/loop.h"

struct api;
struct engine;
struct maglevd_metrics;
struct prober;
struct reconcile;
struct reload;

struct maglevd_metrics_sources {
	struct engine *engine;
	const struct prober *prober;
	const struct reconcile *reconcile;
	const struct reload *reload;
};

/* Watches the loop's lag from now on. */
struct maglevd_metrics *maglevd_metrics_new(struct ev_loop *loop,
					    const struct maglevd_metrics_sources *sources);
/* Shows the API's numbers too, from now on; NULL: there is none. */
void maglevd_metrics_set_api(struct maglevd_metrics *m, const struct api *api);
/* No stream may be open any more. */
void maglevd_metrics_free(struct maglevd_metrics *m);
/* One page, computed from live state in slices as the client takes it. */
struct http_stream maglevd_metrics_stream(struct maglevd_metrics *m);
