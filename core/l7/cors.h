/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cors: which pages of other origins may use an answer, by the rules of the Fetch standard and of
 * the Gateway API's CORS filter. Pure.
 *
 * A preflight (OPTIONS with Origin and Access-Control-Request-Method) is answered here and never
 * reaches a server. Every other request goes on; its answer gets the headers if the origin is
 * allowed. With credentials nothing is ever answered by "*", since browsers refuse that: the
 * origin, methods and headers of the request are repeated instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/field.h"

struct l7_cors {
	/* "*", or "https://www.example.com:8443"; a "*" at the start of the host is any text */
	const struct str *origins;
	size_t n_origins;
	const struct str *methods, *headers, *expose; /* "*" alone: any */
	size_t n_methods, n_headers, n_expose;
	bool credentials;
	uint32_t max_age; /* s */
};

/* What a request says about it; empty texts: nothing. */
struct l7_cors_request {
	struct str method, origin, wants_method, wants_headers;
};

bool l7_cors_is_preflight(const struct l7_cors_request *r);
bool l7_cors_allows(const struct l7_cors *c, struct str origin);

#define L7_CORS_FIELDS 7

/*
 * The fields for the answer to a request; none if its origin is not allowed. Values that are put
 * together live in scratch, which the caller keeps until the fields are no longer used.
 */
size_t l7_cors_fields(const struct l7_cors *c, const struct l7_cors_request *r, struct buf *scratch,
		      struct field ret[static L7_CORS_FIELDS]);
