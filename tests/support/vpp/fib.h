/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fib: the routes that the lb plugin makes in table 0, and what they counted.
 *
 * A route is there as long as somebody holds it. Its stats index is the column of its counters,
 * and is given to the next route once this one has gone: the last one freed comes first.
 */
#pragma once

#include "tests/support/vpp/ip46.h"
#include "tests/support/vpp/pool.h"

/* What a VPP has of its own before the plugin makes the first one. */
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
	VEC(struct fib_route) routes; /* by prefix and length */
	struct pool indexes;
	VEC(struct fib_count) to, via; /* by stats index */
};

void fib_init(struct fib *f);
void fib_free(struct fib *f);
/* Returns the stats index. */
uint32_t fib_hold(struct fib *f, const struct ip46 *prefix, uint8_t plen, enum fib_kind kind);
void fib_drop(struct fib *f, const struct ip46 *prefix, uint8_t plen);
/* The route of exactly that prefix; NULL when there is none. */
const struct fib_route *fib_find(const struct fib *f, const struct ip46 *prefix, uint8_t plen);
