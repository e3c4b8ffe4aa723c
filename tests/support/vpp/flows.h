/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows: the established-flow table of one worker.
 *
 * Buckets of four places. A place remembers which AS a flow of a VIP goes to, and refers to that
 * AS until it is overwritten or flushed: a mere timeout frees the place for others, but does not
 * give up the reference. AS 0 is "nobody": packets to a VIP without servers take places as well.
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
/* What every packet does first; another number of buckets forgets all flows. */
void flows_prepare(struct flows *f, uint32_t buckets, uint32_t timeout);
/*
 * The AS of that flow, 0 when none is known; then *ret_place is where it could be kept, or
 * FLOWS_NO_PLACE.
 */
uint32_t flows_find(struct flows *f, uint32_t hash, uint32_t vip, uint32_t now,
		    uint32_t *ret_place);
void flows_keep(struct flows *f, uint32_t place, const struct flow *flow);
/* Forgets the flows of a VIP to that AS, or to all. */
void flows_flush(struct flows *f, uint32_t vip, uint32_t as);
uint32_t flows_of(const struct flows *f, uint32_t as);
uint32_t flows_alive(const struct flows *f, uint32_t now);
