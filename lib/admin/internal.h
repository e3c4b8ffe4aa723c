/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/admin. */
#pragma once

#include "lib/admin/admin.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"

struct admin {
	struct admin_config config;
	struct http_server *server;	/* NULL: no listener */
	struct loop_lag lag;		/* calls back with the length of each turn of the loop */
	struct metrics_histogram turns; /* those lengths, in seconds */
};

/* metrics.c */
void admin__metrics_start(struct admin *a);
void admin__metrics_stop(struct admin *a);
void admin__on_metrics(struct http_exchange *x, const struct http_request *request, void *user);

/* level.c */
void admin__on_level(struct http_exchange *x, const struct http_request *request, void *user);
void admin__on_set_level(struct http_exchange *x, const struct http_request *request, void *user);
