/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families of routes, pools and servers, for metrics.c. */
#pragma once

#include "base/str.h"
#include "src/router/generation.h"
#include "src/router/metrics.h"
#include "src/router/stats.h"

extern const char *const metrics__classes[STATS_CLASSES];

/* A walk over all families. The generation is borrowed; NULL: there are no items. */
struct metrics_items;

struct metrics_items *metrics__items_new(const struct stats *stats, const struct generation *g,
					 size_t limit);
/* NULL is allowed. */
void metrics__items_free(struct metrics_items *m);
/* Writes the next few samples. False at the end. */
bool metrics__items_write(struct metrics_items *m, struct buf *out);

/* metrics_show.c; show: NULL without a gRPC API. */
void metrics__add_show(struct buf *out, const struct show *show);
