/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view: a generation as the API shows it: held, with the names of its listeners, routes, streams
 * and pools sorted.
 *
 * An answer or a stream keeps the view with which it began, so that it is whole, however often the
 * configuration changes meanwhile. For the control thread.
 */
#pragma once

#include "src/router/router.h"

#define VIEW_FALLBACK "(default)" /* the name of the default route */

struct view_users {
	const size_t *routes; /* in the order of view.routes */
	size_t n;
	const size_t *streams; /* the same for streams */
	size_t n_streams;
};

struct view {
	struct generation *g; /* held; NULL: there is no configuration */
	/* indices of the configuration, sorted by name; n_routes of it is the default route */
	size_t *listeners, *routes, *streams, *pools;
	size_t n_listeners, n_routes, n_streams, n_pools;
	const struct view_users *users; /* of each pool, by its index in the configuration */
	/* the rest is private */
	struct router *router;
	struct arena *arena;
	unsigned references;
};

/* A view of the generation in force, with one reference. */
struct view *view_new(struct router *r);
struct view *view_hold(struct view *v);
/* NULL is allowed. */
void view_release(struct view *v);
/* Its number; 0: there is no configuration. */
uint64_t view_number(const struct view *v);
/* The name of a route by its index in the configuration. */
const char *view_route_name(const struct view *v, size_t route);
/* The rules of a route, which may be the default one. */
const struct l7_rule *view_rules(const struct view *v, size_t route, size_t *ret_n);
/* Places in the sorted lists; SIZE_MAX: there is no such name. */
size_t view_find_route(const struct view *v, const char *name);
size_t view_find_pool(const struct view *v, const char *name);
