/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/fib.h"

#include <assert.h>

static int order(const struct fib_route *r, const struct ip46 *prefix, uint8_t plen)
{
	int c = ip46_cmp(&r->prefix, prefix);

	return c ? c : (int)r->plen - (int)plen;
}

/* The index of the route, or the index at which it would be inserted. */
static size_t place(const struct fib *f, const struct ip46 *prefix, uint8_t plen)
{
	size_t low = 0, high = f->routes.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (order(&f->routes.items[mid], prefix, plen) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t new_index(struct fib *f)
{
	uint32_t i = pool_get(&f->indexes);

	if (i >= f->to.n) {
		vec_push(&f->to, (struct fib_count){ 0 });
		vec_push(&f->via, (struct fib_count){ 0 });
	}
	f->to.items[i] = f->via.items[i] = (struct fib_count){ 0 };
	return i;
}

void fib_init(struct fib *f)
{
	*f = (struct fib){ 0 };
	for (unsigned i = 0; i < FIB_FIRST_STATS_INDEX; i++)
		new_index(f);
}

void fib_free(struct fib *f)
{
	vec_free(&f->routes);
	pool_free(&f->indexes);
	vec_free(&f->to);
	vec_free(&f->via);
}

uint32_t fib_hold(struct fib *f, const struct ip46 *prefix, uint8_t plen, enum fib_kind kind)
{
	size_t i = place(f, prefix, plen);

	if (i == f->routes.n || order(&f->routes.items[i], prefix, plen) != 0) {
		vec_insert_at(&f->routes, i);
		f->routes.items[i] = (struct fib_route){
			.prefix = *prefix, .plen = plen, .kind = kind, .stats_index = new_index(f)
		};
	}
	f->routes.items[i].holders++;
	return f->routes.items[i].stats_index;
}

void fib_drop(struct fib *f, const struct ip46 *prefix, uint8_t plen)
{
	size_t i = place(f, prefix, plen);

	assert(i < f->routes.n && order(&f->routes.items[i], prefix, plen) == 0);
	if (--f->routes.items[i].holders)
		return;
	pool_put(&f->indexes, f->routes.items[i].stats_index);
	vec_remove_at(&f->routes, i);
}

const struct fib_route *fib_find(const struct fib *f, const struct ip46 *prefix, uint8_t plen)
{
	size_t i = place(f, prefix, plen);

	if (i == f->routes.n || order(&f->routes.items[i], prefix, plen) != 0)
		return NULL;
	return &f->routes.items[i];
}
