/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generation: a configuration, compiled for the data threads.
 *
 * Compiled by the control thread, never changed after that. A data thread holds a reference for as
 * long as one of its exchanges uses it. When the last reference is gone, the generation is given
 * back to the control thread, which frees it.
 */
#pragma once

#include <stdatomic.h>

#include "core/l7/balance.h"
#include "core/l7/config.h"
#include "src/router/names.h"
#include "src/router/servers.h"
#include "src/router/settings.h"

struct generation_pool {
	const struct l7_pool *config;
	struct name *name;	 /* for its statistics */
	struct server **servers; /* in the order of the configuration */
	struct l7_schedule schedule;
};

struct generation_listener {
	const struct l7_listener *config;
	struct l7_entries entries;
	const struct l7_table *table;
};

/* An address that is listened on, and the listeners that share it. */
struct generation_port {
	struct endpoint at;
	const size_t *listeners;
	size_t n;
	const struct l7_table *hosts; /* which of them, by host; NULL if there is only one */
};

/* What outlives generations. */
struct generation_shared {
	struct servers *servers;
	struct names *routes, *pools;
};

#define GENERATION_UNROUTED "-" /* stands for the route of requests that have none */

struct generation {
	uint64_t number;
	struct l7_config config; /* of the settings */
	struct generation_listener *listeners;
	struct generation_port *ports; /* sorted by address */
	size_t n_ports;
	struct generation_pool *pools;
	uint32_t n_servers;   /* numbers of servers are below this */
	struct name **routes; /* of the configuration's routes, for their statistics */
	struct name *fallback_name, *unrouted;
	struct l7_target fallback; /* for requests that no route matches; without rule: none */
	/* the rest is private */
	struct arena *arena;
	struct settings *settings;
	atomic_uint references;
	struct generation *next;
};

/* Compiles settings, which the generation owns from now on. It has one reference. */
struct generation *generation_new(struct settings *settings, const struct generation_shared *shared,
				  uint64_t number);
/* For the control thread, when there are no references any more. */
void generation_free(struct generation *g);

/* The port of that address; NULL if there is none. */
const struct generation_port *generation_port(const struct generation *g,
					      const struct endpoint *at);
/*
 * The rule for a request that came to a port, maybe that of the default route; NULL if there is
 * none. *ret_listener is the listener that the host belongs to; NULL: it belongs to none.
 */
const struct l7_target *generation_find(const struct generation *g, const struct generation_port *p,
					const struct l7_request *r,
					const struct generation_listener **ret_listener);

static inline void generation_hold(struct generation *g)
{
	atomic_fetch_add_explicit(&g->references, 1, memory_order_relaxed);
}

/* Returns true for the last one: the caller has to see to it that the generation is freed. */
static inline bool generation_release(struct generation *g)
{
	return atomic_fetch_sub_explicit(&g->references, 1, memory_order_acq_rel) == 1;
}
