/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the metrics of maglevd for Prometheus (FR-6.2). The table of maglevd's own families is
 * in metrics.c, those that every daemon has are in lib/admin; docs/reference/metrics.md describes
 * all.
 */
#pragma once

#include "lib/http/server.h"

struct api;
struct engine;
struct maglevd_metrics;
struct operator_frame;
struct overrides;
struct prober;
struct reconcile;
struct reload;

struct maglevd_metrics_sources {
	struct ev_loop *loop;
	struct engine *engine;
	const struct prober *prober;
	const struct reconcile *reconcile;
	const struct reload *reload;
	const struct operator_frame *op; /* NULL: no cluster is followed */
	struct overrides *overrides;	 /* NULL: they are not kept */
};

struct maglevd_metrics *maglevd_metrics_new(const struct maglevd_metrics_sources *sources);
/* Also shows the counters of the API from now on. NULL: there is no API. */
void maglevd_metrics_set_api(struct maglevd_metrics *m, const struct api *api);
/* All streams must be closed before. */
void maglevd_metrics_free(struct maglevd_metrics *m);
/*
 * One page, written part by part from the live state as the client reads it. Each part is small
 * unless the producer is called from a task's step that has time left. user is the struct
 * maglevd_metrics, as admin_config.metrics demands.
 */
struct http_stream maglevd_metrics_stream(void *user);
