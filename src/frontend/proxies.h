/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxies: the proxies of --trusted-proxy, and the client of a request that one of them forwards.
 *
 * Any client can send X-Forwarded-For. The rightmost entry was added by the peer of our connection,
 * so it is believed if the peer is trusted. The entry to the left of it is believed if the address
 * in the rightmost entry is trusted too, and so on. Pure.
 */
#pragma once

#include "base/addr.h"
#include "base/str.h"
#include "base/vec.h"

struct http_head;

struct proxy {
	struct addr addr; /* bits after the prefix are kept as given, and ignored */
	unsigned bits;
};

struct proxies {
	VEC(struct proxy) items;
};

#define PROXIES_MAX 64

/* Items are "ADDR" or "ADDR/LEN". -EINVAL with a sentence in why; *ret is untouched then. */
int proxies_parse(char *const *items, size_t n, struct proxies *ret, struct buf *why);
void proxies_free(struct proxies *p);
/*
 * The client of a request: the first address, going back from the peer, that is not a trusted
 * proxy. An entry that cannot be parsed ends the search at the address before it.
 */
struct addr proxies_client(const struct proxies *p, const struct addr *peer,
			   const struct http_head *head);
