/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way_facts: what the last known state of all upstreams says about a query (core/way).
 *
 * Lists may have thousands of items, and each is a text. Those that the query may be about are
 * found by names and addresses in the texts; only these are parsed. It is a superset of what
 * core/way will choose. Bounds: WAY_FACTS_FRONTENDS of each maglevd, WAY_FACTS_ROUTES and
 * WAY_FACTS_LISTENERS of each router.
 */
#pragma once

#include "core/way/way.h"
#include "proto/router.pb-c.h"

struct dashboard;

#define WAY_FACTS_FRONTENDS 100
#define WAY_FACTS_ROUTES 64
#define WAY_FACTS_LISTENERS 256

/*
 * explained: the answer of each router, in the order of the dashboard; NULL: none. Everything that
 * is returned is in the arena. *ret_left_out: frontends beyond the bound.
 */
struct way_facts way_facts_read(const struct dashboard *d, const struct way_query *q,
				const Maglev__RequestExplanation *const *explained,
				struct arena *arena, size_t *ret_left_out);
