/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxies: the proxies of --trusted-proxy, and whose request it is that one of them passes on.
 *
 * Anybody can write X-Forwarded-For. What the rightmost entry says was written by whoever sent us
 * the request, so it is believed if that one is trusted; the entry left of it if the one that it
 * names is trusted, too; and so on. Pure.
 */
#pragma once

#include "base/addr.h"
#include "base/str.h"
#include "base/vec.h"

struct http_head;

struct proxy {
	struct addr addr; /* the bits behind the prefix are as they were given */
	unsigned bits;
};

struct proxies {
	VEC(struct proxy) items;
};

#define PROXIES_MAX 64

/* Items are "ADDR" or "ADDR/LEN". -EINVAL with the trouble in why; *ret untouched then. */
int proxies_parse(char *const *items, size_t n, struct proxies *ret, struct buf *why);
void proxies_free(struct proxies *p);
/* The rightmost address on the way of a request that is none of the proxies'. */
struct addr proxies_client(const struct proxies *p, const struct addr *peer,
			   const struct http_head *head);
