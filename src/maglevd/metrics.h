/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the metrics of maglevd for Prometheus (FR-6.2). The table of all families is in
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

/* Measures the loop's lag from now on. */
struct maglevd_metrics *maglevd_metrics_new(struct ev_loop *loop,
					    const struct maglevd_metrics_sources *sources);
/* Shows the API's counters too from now on. NULL: there is no API. */
void maglevd_metrics_set_api(struct maglevd_metrics *m, const struct api *api);
/* All streams must have been closed. */
void maglevd_metrics_free(struct maglevd_metrics *m);
/*
 * One page, written part by part from the live state as the client takes it. Each part is small
 * unless the producer is called from a task's step that has time left.
 */
struct http_stream maglevd_metrics_stream(struct maglevd_metrics *m);
