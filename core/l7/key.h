/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key: what identifies the sender of a request: a header, a cookie or the address. Pure.
 *
 * Hashes are functions of their text alone, so that all routers agree on them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/field.h"
#include "core/l7/config.h"

/*
 * The value of the first cookie of that name in the Cookie fields of a request (RFC 6265, 4.2.1),
 * as it was sent. Names of cookies have case. p is NULL if there is none.
 */
struct str l7_cookie(const struct field *headers, size_t n, struct str name);
/* The value of a header or cookie; empty if it is missing or empty. */
struct str l7_key_value(const struct field *headers, size_t n, enum l7_key key, struct str name);

uint64_t l7_key_hash(struct str value);
uint64_t l7_key_hash_source(const struct addr *a);

/*
 * A server of a pool as a number that tells nothing about it, for session persistence: it stays the
 * same as long as pool, host and port do.
 */
uint64_t l7_key_of_server(const char *pool, const char *host, uint16_t port);
/* That number as text, and back. False if the text is not one. */
#define L7_KEY_STRLEN 17
const char *l7_key_format(uint64_t key, char text[static L7_KEY_STRLEN]);
bool l7_key_parse(struct str text, uint64_t *ret);
/* Appends the line of an answer that gives it to the client: Set-Cookie, or the header. */
void l7_key_give(const struct l7_persistence *p, uint64_t key, struct buf *out);
