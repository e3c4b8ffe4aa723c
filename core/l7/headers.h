/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headers: which header fields go on, and which are added. Pure.
 *
 * A request passes several lists of edits, for example that of its rule and that of its backend;
 * they are applied in their order. `set` replaces all fields of that name by one, `add` adds one,
 * `remove` drops all. Within one list no name occurs twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/field.h"

struct l7_header_edits {
	const struct field *set, *add;
	size_t n_set, n_add;
	const struct str *remove;
	size_t n_remove;
};

/*
 * Writes the fields that result to out, and returns their number. in is not changed; results are
 * slices of in and of the edits. out has room for l7_headers_bound() fields and must not
 * overlap with in.
 */
size_t l7_headers_apply(const struct field *in, size_t n,
			const struct l7_header_edits *const *edits, size_t n_edits,
			struct field *out);
/* The most fields that n fields can become. */
size_t l7_headers_bound(size_t n, const struct l7_header_edits *const *edits, size_t n_edits);

/*
 * Whether a field concerns only one connection and must not be passed on (RFC 9110, 7.6.1):
 * Connection, the names that it lists, and those that older proxies used. `connection` holds the
 * values of all Connection fields of the message. Host and Content-Length are passed on even if
 * they are listed, because the next reader would see another message without them.
 */
bool l7_header_is_hop(struct str name, const struct str *connection, size_t n);
/*
 * Whether a name with '_' is that of a field which the router itself sets or checks, written
 * differently: X_Forwarded_For. CGI and its successors do not distinguish '_' from '-'.
 */
bool l7_header_is_disguised(struct str name);
