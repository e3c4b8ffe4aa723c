/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the router's own families, for lib/admin. the user is a struct metrics_state. */
#pragma once

#include "lib/http/server.h"
#include "src/router/router.h"

/* How configurations came, and whether they were applied. */
enum metrics_source { METRICS_FILE, METRICS_API, METRICS_SOURCES };

struct metrics_state {
	const struct router *router;
	uint64_t applied[METRICS_SOURCES], refused[METRICS_SOURCES];
	uint64_t upgrade_failures;
};

struct http_stream metrics_page(void *state);
