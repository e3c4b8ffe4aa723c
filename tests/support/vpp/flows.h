/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows: the established-flow table of one worker.
 *
 * A bucket has four places. A place stores the AS of a flow of a VIP and holds a reference to that
 * AS until it is overwritten or flushed: a timeout makes the place available, but does not drop the
 * reference. AS 0 stands for "no server": packets to a VIP without servers take places as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define FLOWS_PER_BUCKET 4
#define FLOWS_NO_PLACE UINT32_MAX
#define FLOWS_ANY_AS UINT32_MAX

struct flow {
	uint32_t hash, vip, as, expires;
};

struct flows {
	struct flow *places; /* NULL until the first packet */
	uint32_t buckets, timeout;
	VEC(uint32_t) references; /* by AS */
};

void flows_free(struct flows *f);
/* Called first for every packet. A different number of buckets drops all flows. */
void flows_prepare(struct flows *f, uint32_t buckets, uint32_t timeout);
/*
 * Finds the AS of a flow, or 0 if none is known. In that case *ret_place is a place where it can
 * be stored, or FLOWS_NO_PLACE.
 */
uint32_t flows_find(struct flows *f, uint32_t hash, uint32_t vip, uint32_t now,
		    uint32_t *ret_place);
void flows_keep(struct flows *f, uint32_t place, const struct flow *flow);
/* Drops the flows of a VIP to that AS, or to all. */
void flows_flush(struct flows *f, uint32_t vip, uint32_t as);
uint32_t flows_of(const struct flows *f, uint32_t as);
uint32_t flows_alive(const struct flows *f, uint32_t now);
