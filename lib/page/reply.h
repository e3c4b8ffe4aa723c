/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: answers in JSON, static bytes in slices, and the parts of paths and queries.
 */
#pragma once

#include "base/str.h"

struct http_exchange;

/* Replies with {"error":"text"}. */
void page_error(struct http_exchange *x, unsigned status, const char *text);
/* The same with a fixed sentence for the status. */
void page_status(struct http_exchange *x, unsigned status);
/* Replies with JSON that must not be cached. json is copied. */
void page_json(struct http_exchange *x, unsigned status, struct str json);
/* Replies with bytes of static storage duration, in slices: a slow client costs one of them. */
void page_static(struct http_exchange *x, const char *content_type, struct str bytes);

/* The value of a query parameter, not decoded; empty if it is absent. */
struct str page_query(struct str query, struct str name);
/*
 * Appends a path segment, percent-decoded. -EINVAL for bad escapes, NUL and invalid UTF-8; out
 * may have been appended to then.
 */
int page_decode(struct str part, struct buf *out);
