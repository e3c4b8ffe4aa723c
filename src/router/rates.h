/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates: rates and latencies of routes, pools and servers in the last seconds.
 *
 * All counters are read once a second, in slices, for as long as the process runs, so that every
 * client sees the same figures and sees them at once. For the control thread.
 */
#pragma once

#include "core/stats/recent.h"
#include "lib/loop/loop.h"
#include "src/router/router.h"
#include "src/router/stats.h"

struct rates;

/* What has a number of its own: a route, a pool, a server. */
struct rates_key {
	enum stats_kind kind;
	uint32_t number;
	uint64_t id;
};

struct rates *rates_new(struct ev_loop *loop, struct router *r);
/* Must come before the router is freed. NULL is allowed. */
void rates_free(struct rates *s);
/* Zeros for what was not read yet. */
struct recent_figures rates_of(const struct rates *s, const struct rates_key *key);
/* Requests that did not get a good answer; of a server also tries that got none. */
uint64_t rates_errors(enum stats_kind kind, const struct stats_values *v);
/* Of all requests together. */
struct recent_figures rates_of_all(const struct rates *s);
