/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_doc: parses the bytes of a router's configuration, a file or the body of a request.
 *
 * This is the parse phase only: each value has the type that its key wants, and its place. The
 * rules about values are in core/l7/config.h.
 */
#pragma once

#include "core/l7/doc.h"
#include "lib/config/document.h"

enum router_syntax { ROUTER_YAML, ROUTER_JSON };

/*
 * Fills *ret, whose contents live in arena. Returns -EINVAL if anything was added to errors, sorted
 * by place, each with the path of its key; *ret then holds what could be read, for
 * router_json_error().
 */
int router_doc_parse(struct str bytes, enum router_syntax syntax, struct arena *arena,
		     struct l7_doc *ret, struct errs *errors);
/* The same for a file and those that it includes. */
int router_doc_load(const struct config_sources *sources, enum router_syntax syntax,
		    struct arena *arena, struct l7_doc *ret, struct errs *errors);
/* The same for the servers of one pool as JSON: {"servers": [...]} or {"upstreams": [...]}. */
int router_doc_parse_servers(struct str bytes, struct arena *arena, struct l7_doc_pool *ret,
			     struct errs *errors);
