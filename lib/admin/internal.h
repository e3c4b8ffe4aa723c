/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#pragma once

#include "lib/admin/admin.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"

struct admin {
	struct admin_config config;
	struct http_server *server; /* NULL: no listener of its own */
	struct loop_lag lag;
	struct metrics_histogram turns;
};

/* metrics.c */
void admin__metrics_start(struct admin *a);
void admin__metrics_stop(struct admin *a);
void admin__on_metrics(struct http_exchange *x, const struct http_request *request, void *user);

/* level.c */
/* Whether the request comes from this machine itself, as far as that can be known. */
bool admin__is_local(const struct http_request *request);
void admin__on_level(struct http_exchange *x, const struct http_request *request, void *user);
void admin__on_set_level(struct http_exchange *x, const struct http_request *request, void *user);
