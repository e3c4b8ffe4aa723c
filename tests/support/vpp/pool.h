/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: allocates indexes in the same order as VPP's pools.
 *
 * An allocation returns the index that was freed last, or else the next unused one. Iteration is in
 * ascending order. The elements are the owner's, in an array beside the pool, and are not cleared
 * when an index is reused: VPP shows stale values of earlier elements, and so do we.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct pool {
	VEC(bool) used;
	VEC(uint32_t) freed;
	size_t n; /* in use */
};

static inline uint32_t pool_get(struct pool *p)
{
	uint32_t i = (uint32_t)p->used.n;

	p->n++;
	if (p->freed.n) {
		i = p->freed.items[--p->freed.n];
		p->used.items[i] = true;
		return i;
	}
	vec_push(&p->used, true);
	return i;
}

static inline void pool_put(struct pool *p, uint32_t i)
{
	assert(p->used.items[i]);
	p->used.items[i] = false;
	vec_push(&p->freed, i);
	p->n--;
}

static inline void pool_free(struct pool *p)
{
	vec_free(&p->used);
	vec_free(&p->freed);
	p->n = 0;
}

#define pool_foreach(i, p)                                                                         \
	for (uint32_t i = 0; i < (p)->used.n; i++)                                                 \
		if ((p)->used.items[i])
