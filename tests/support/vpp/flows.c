/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/flows.h"

#include <assert.h>
#include <stdlib.h>

#define NO_VIP UINT32_MAX

static void refer(struct flows *f, uint32_t as, int by)
{
	while (as >= f->references.n)
		vec_push(&f->references, 0);
	f->references.items[as] += (uint32_t)by;
}

static uint32_t n_places(const struct flows *f)
{
	return f->places ? f->buckets * FLOWS_PER_BUCKET : 0;
}

static bool is_over(const struct flow *flow, uint32_t now)
{
	return now >= flow->expires;
}

void flows_free(struct flows *f)
{
	free(f->places);
	vec_free(&f->references);
	*f = (struct flows){ 0 };
}

void flows_prepare(struct flows *f, uint32_t buckets, uint32_t timeout)
{
	assert(buckets > 0 && (buckets & (buckets - 1)) == 0);

	if (f->places && f->buckets != buckets) {
		for (uint32_t i = 0; i < n_places(f); i++)
			refer(f, f->places[i].as, -1);
		free(f->places);
		f->places = NULL;
	}
	f->timeout = timeout;
	if (f->places)
		return;
	f->buckets = buckets;
	f->places = mem_zalloc((size_t)buckets * FLOWS_PER_BUCKET * sizeof(*f->places));
	refer(f, 0, (int)n_places(f));
}

/*
 * Finding a flow extends its lifetime. A place with AS 0 counts as not found, but stays occupied
 * until it expires: the packet of a VIP without servers blocks a place, as in VPP.
 */
uint32_t flows_find(struct flows *f, uint32_t hash, uint32_t vip, uint32_t now, uint32_t *ret_place)
{
	uint32_t first = (hash & (f->buckets - 1)) * FLOWS_PER_BUCKET, place = FLOWS_NO_PLACE;

	for (uint32_t i = first; i < first + FLOWS_PER_BUCKET; i++) {
		struct flow *flow = &f->places[i];

		if (is_over(flow, now)) {
			place = place == FLOWS_NO_PLACE ? i : place;
		} else if (flow->hash == hash && flow->vip == vip) {
			flow->expires = now + f->timeout;
			if (flow->as)
				return flow->as;
		}
	}
	*ret_place = place;
	return 0;
}

void flows_keep(struct flows *f, uint32_t place, const struct flow *flow)
{
	refer(f, f->places[place].as, -1);
	refer(f, flow->as, 1);
	f->places[place] = *flow;
}

/* Flushed places refer to AS 0, so that the sum of all references stays the number of places. */
void flows_flush(struct flows *f, uint32_t vip, uint32_t as)
{
	for (uint32_t i = 0; i < n_places(f); i++) {
		struct flow *flow = &f->places[i];

		if (flow->vip != vip || (as != FLOWS_ANY_AS && flow->as != as))
			continue;
		refer(f, flow->as, -1);
		refer(f, 0, 1);
		flow->vip = NO_VIP;
		flow->as = 0;
	}
}

uint32_t flows_of(const struct flows *f, uint32_t as)
{
	return as < f->references.n ? f->references.items[as] : 0;
}

uint32_t flows_alive(const struct flows *f, uint32_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_places(f); i++)
		n += !is_over(&f->places[i], now);
	return n;
}
