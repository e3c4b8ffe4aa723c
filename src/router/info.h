/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info: the state of the router as messages of its API. Everything is allocated in the arena, or
 * borrowed from the view. Places are those in the sorted lists of the view.
 */
#pragma once

#include "proto/router.pb-c.h"
#include "src/router/rates.h"
#include "src/router/rollout.h"
#include "src/router/view.h"

/* A new message in an arena. */
#define INFO_NEW(a, type, init)                                                                    \
	({                                                                                         \
		type *new_ = arena_new_of((a), type);                                              \
		init(new_);                                                                        \
		new_;                                                                              \
	})

/* protobuf-c's texts are not const, although encoding only reads them. */
static inline char *info_text(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* Where the state is; borrowed. */
struct info_sources {
	struct router *router;
	const struct rates *rates;
	const struct rollout *rollout; /* NULL: there is none to be shown */
	const char *name;	       /* of this router */
	int64_t started;	       /* unix ns */
	const char *refusal;	       /* why the last configuration was refused; "": it was not */
};

/* A view, and what is shown of it. */
struct info {
	const struct info_sources *from;
	const struct view *view;
	bool figures; /* traffic, connections: what changes all the time */
	struct arena *arena;
};

Maglev__RouterInfo *info_router(const struct info *i);
Maglev__RouterListener *info_listener(const struct info *i, size_t place);
Maglev__RouterRoute *info_route(const struct info *i, size_t place);
Maglev__RouterStream *info_stream(const struct info *i, size_t place);
Maglev__RouterPool *info_pool(const struct info *i, size_t place);
/* The servers of a pool by its index in the configuration; *ret_n is their number. */
Maglev__RouterServer **info_servers(const struct info *i, size_t pool, size_t *ret_n);
/* Weights as shares of their sum; 0 without any. */
double info_share(uint64_t weight, uint64_t sum);
