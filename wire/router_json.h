/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_json: a router's configuration as JSON, for its admin API and for programs that drive it.
 *
 * What is written can be read again by router_doc_parse(), and the result is the same
 * configuration. A route is written in the short form (host, path_prefix, pool_idx, strip_prefix)
 * as far as that can express it.
 */
#pragma once

#include "core/l7/config.h"

/* {"routes":[...],"default_route":{...},"generation":5} */
void router_json_routes(const struct l7_config *c, uint64_t generation, struct buf *out);
/* What is known about servers beside their configuration. */
struct router_json_state {
	/* Appends the state of a server of c->pools[pool] as a JSON value. */
	void (*server)(size_t pool, size_t server, struct buf *out, const void *user);
	const void *user;
};

/* {"pools":[...],"generation":5}; with a state, each upstream has the member "state". */
void router_json_pools(const struct l7_config *c, uint64_t generation,
		       const struct router_json_state *state, struct buf *out);
/* The whole document; private keys that are in it are replaced by a digest. */
void router_json_config(const struct l7_config *c, struct buf *out);
/* The same with the keys, for another process of the router. */
void router_json_whole(const struct l7_config *c, struct buf *out);

/*
 * The entries of a configuration, one at a time: two entries have the same text if and only if they
 * mean the same, so pools are named and servers have no idx. out must be empty.
 */
enum router_entry {
	ROUTER_LISTENERS,
	ROUTER_ROUTES,
	ROUTER_STREAMS,
	ROUTER_POOLS,
	ROUTER_REST, /* the default route, and the other keys of the document */
};
#define ROUTER_ENTRIES 5

size_t router_json_entries(const struct l7_config *c, enum router_entry kind);
const char *router_json_entry_name(const struct l7_config *c, enum router_entry kind, size_t i);
void router_json_entry(const struct l7_config *c, enum router_entry kind, size_t i,
		       struct buf *out);
/* The same as a part of a document that a router is given: with private keys. */
void router_json_entry_whole(const struct l7_config *c, enum router_entry kind, size_t i,
			     struct buf *out);

/*
 * {"status":"error","error":"InvalidPoolIndex","message":"Route 'api' references ..."} for the
 * first of the errors, of which there is at least one; if there are more, or places are wanted, all
 * of them follow as "errors", with their places. doc is what was read, and gives the names.
 */
void router_json_error(const struct errs *errors, const struct l7_doc *doc, bool places,
		       struct buf *out);
/* Adds "warnings":[{"message":...,"line":...,"column":...}] to an object; nothing without any. */
void router_json_warnings(const struct errs *warnings, const struct l7_doc *doc, struct buf *out);
