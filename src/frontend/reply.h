/* SPDX-License-Identifier: Apache-2.0 */
/* reply: what handlers of the dashboard share: JSON answers, shared texts, parts of a target. */
#pragma once

#include "base/str.h"

struct blob;
struct http_exchange;

/* {"error":"text"} */
void reply_error(struct http_exchange *x, unsigned status, const char *text);
/* The same where the status says it all, with a sentence of its own. */
void reply_status(struct http_exchange *x, unsigned status);
/* JSON that nobody may keep. */
void reply_json(struct http_exchange *x, unsigned status, struct str json);
/*
 * The same from a text that others have, too; in slices, so that a slow client costs one slice. If
 * the text is let go meanwhile, the connection ends.
 */
void reply_blob(struct http_exchange *x, struct blob *json);
/* Bytes that stay where they are for as long as the program runs; in slices, too. */
void reply_static(struct http_exchange *x, const char *content_type, struct str bytes);

/* The value of a parameter of the query, as sent; empty when it is not there. */
struct str reply_query(struct str query, struct str name);
/* Adds a part of a path with its %XX decoded. -EINVAL for bad ones, NULs and what is not UTF-8. */
int reply_decode(struct str part, struct buf *out);
