/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fib: the routes that the lb plugin adds to table 0, and their counters.
 *
 * A route exists as long as it is held. Its stats index is the column of its counters. A freed
 * index is reused by the next route, the one freed last first.
 */
#pragma once

#include "tests/support/vpp/ip46.h"
#include "tests/support/vpp/pool.h"

/* VPP has used the lower indexes before the plugin adds its first route. */
#define FIB_FIRST_STATS_INDEX 8

enum fib_kind { FIB_VIP, FIB_AS };

struct fib_count {
	uint64_t packets, bytes;
};

struct fib_route {
	struct ip46 prefix;
	uint8_t plen;
	enum fib_kind kind;
	unsigned holders;
	uint32_t stats_index;
};

struct fib {
	VEC(struct fib_route) routes; /* sorted by prefix and length */
	struct pool indexes;
	VEC(struct fib_count) to, via; /* by stats index */
};

void fib_init(struct fib *f);
void fib_free(struct fib *f);
/*
 * Takes a reference to the route, which is added if it does not exist. Returns its stats index.
 */
uint32_t fib_hold(struct fib *f, const struct ip46 *prefix, uint8_t plen, enum fib_kind kind);
void fib_drop(struct fib *f, const struct ip46 *prefix, uint8_t plen);
/* Finds the route with exactly that prefix; NULL if there is none. */
const struct fib_route *fib_find(const struct fib *f, const struct ip46 *prefix, uint8_t plen);
