/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite: another path, host or address for a request, by the rules of the Gateway API. Pure.
 *
 * A prefix is replaced by segments: of "/foo/bar" with the prefix "/foo", "/xyz" and "/xyz/" both
 * make "/xyz/bar", and "/" makes "/bar". A path never becomes empty.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum l7_path_edit { L7_PATH_KEPT, L7_PATH_REPLACED, L7_PATH_PREFIX };

struct l7_rewrite {
	struct str host; /* empty: kept */
	enum l7_path_edit edit;
	struct str path; /* the new path, or the new prefix */
};

/* Appends the new path. prefix is that of the rule that matched; L7_PATH_PREFIX needs one. */
void l7_rewrite_path(const struct l7_rewrite *w, struct str prefix, struct str path,
		     struct buf *out);

struct l7_redirect {
	struct str scheme; /* empty: kept */
	uint16_t port;	   /* 0: that of the scheme, if there is one, else of the listener */
	unsigned status;   /* 301, 302, 303, 307, 308 */
	struct l7_rewrite to;
};

/* Where a request came to, as far as the client knows. */
struct l7_place {
	struct str scheme; /* "http", "https" */
	struct str host;   /* as sent */
	uint16_t port;	   /* of the listener */
	struct str path, query;
};

/* Appends the value of Location. A default port is left out. The query is kept. */
void l7_redirect_location(const struct l7_redirect *r, struct str prefix,
			  const struct l7_place *from, struct buf *out);
