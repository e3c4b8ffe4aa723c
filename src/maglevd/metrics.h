/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: what maglevd shows to Prometheus (FR-6.2). The one table of maglevd's own families is in
 * metrics.c, those that every daemon has are in lib/admin; docs/reference/metrics.md describes all.
 */
#pragma once

#include "lib/http/server.h"

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

struct maglevd_metrics *maglevd_metrics_new(const struct maglevd_metrics_sources *sources);
/* Shows the API's numbers as well from now on; NULL: there is none. */
void maglevd_metrics_set_api(struct maglevd_metrics *m, const struct api *api);
/* No stream may be open any more. */
void maglevd_metrics_free(struct maglevd_metrics *m);
/*
 * One page, computed from live state in slices as the client takes it. user is the struct
 * maglevd_metrics, as admin_config.metrics has it.
 */
struct http_stream maglevd_metrics_stream(void *user);
