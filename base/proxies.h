/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxies: trusted proxies, and the client of a request that one of them forwards.
 *
 * Any client can send X-Forwarded-For or Forwarded (RFC 7239). The rightmost entry was added by the
 * peer of our connection, so it is believed if the peer is trusted. The entry to the left of it is
 * believed if the address in the rightmost entry is trusted too, and so on. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/field.h"
#include "base/str.h"

struct proxy {
	struct addr addr; /* bits after the prefix are kept as given, and ignored */
	unsigned bits;
};

struct proxies {
	struct proxy *items;
	size_t n, cap;
};

#define PROXIES_MAX 64
#define PROXIES_HOPS 64 /* entries that are looked at */

/* "ADDR" or "ADDR/LEN". -EINVAL; *ret is untouched then. */
int proxy_parse(const char *text, struct proxy *ret);
/* A list of them. -EINVAL with a sentence in why; *ret is untouched then. */
int proxies_parse(char *const *items, size_t n, struct proxies *ret, struct buf *why);
void proxies_free(struct proxies *p);

bool proxies_trust(const struct proxies *p, const struct addr *a);
/*
 * The client of a request with these fields: the first address, going back from the peer, that is
 * not a trusted proxy. An entry that cannot be parsed ends the search at the address before it.
 */
struct addr proxies_client(const struct proxies *p, const struct addr *peer,
			   const struct field *fields, size_t n);
/* The same with Forwarded instead of X-Forwarded-For. */
struct addr proxies_client_forwarded(const struct proxies *p, const struct addr *peer,
				     const struct field *fields, size_t n);
