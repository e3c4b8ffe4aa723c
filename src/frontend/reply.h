/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: shared by the handlers of the dashboard: JSON answers, shared texts, parsing of paths
 * and queries.
 */
#pragma once

#include "base/str.h"

struct blob;
struct http_exchange;

/* Replies with {"error":"text"}. */
void reply_error(struct http_exchange *x, unsigned status, const char *text);
/* The same with a fixed sentence for the status. */
void reply_status(struct http_exchange *x, unsigned status);
/* Replies with JSON that must not be cached. json is copied. */
void reply_json(struct http_exchange *x, unsigned status, struct str json);
/*
 * The same from a shared text. It is sent in slices, so that a slow client costs the memory of
 * one slice. The connection is closed if the text is freed meanwhile.
 */
void reply_blob(struct http_exchange *x, struct blob *json);
/* Replies with bytes of static storage duration, in slices as well. */
void reply_static(struct http_exchange *x, const char *content_type, struct str bytes);

/* The value of a query parameter, not decoded; empty if it is absent. */
struct str reply_query(struct str query, struct str name);
/*
 * Appends a path segment, percent-decoded. -EINVAL for bad escapes, NUL and invalid UTF-8; out
 * may have been appended to then.
 */
int reply_decode(struct str part, struct buf *out);
