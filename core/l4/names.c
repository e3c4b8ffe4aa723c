/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of indices in the configuration's arena: all frontends by VIP key, all backends by
 * address, and for each frontend its backends by address, each once even if it is in several
 * pools. Validation guarantees that two backends of one frontend never share an address and two
 * frontends never a VIP.
 */
#include "core/l4/names.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "core/l4/desired.h"

static int frontend_cmp(const void *a, const void *b, void *config)
{
	const struct l4_config *c = config;
	struct lb_vip_key x = l4_frontend_key(&c->frontends[*(const size_t *)a]);
	struct lb_vip_key y = l4_frontend_key(&c->frontends[*(const size_t *)b]);

	return lb_vip_key_cmp(&x, &y);
}

/* Indices follow the names, so equal addresses are ordered by name. */
static int backend_cmp(const void *a, const void *b, void *config)
{
	const struct l4_config *c = config;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = addr_cmp(&c->backends[x].address, &c->backends[y].address);

	return order ? order : (x > y) - (x < y);
}

static size_t count_members(const struct l4_frontend *f)
{
	size_t n = 0;

	for (size_t p = 0; p < f->n_pools; p++)
		n += f->pools[p].n_members;
	return n;
}

static void build_by_address(struct l4_config *c, struct l4_frontend *f, struct arena *a)
{
	size_t *list = arena_array_of(a, count_members(f), size_t), n = 0, unique = 0;

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++)
			list[n++] = f->pools[p].members[i].backend;
	if (n)
		qsort_r(list, n, sizeof(*list), backend_cmp, c);
	for (size_t i = 0; i < n; i++)
		if (!unique || list[unique - 1] != list[i])
			list[unique++] = list[i];
	f->by_address = list;
	f->n_backends = unique;
}

/* The indices 0 to n - 1, sorted by cmp. */
static size_t *sorted(struct l4_config *c, size_t n, int (*cmp)(const void *, const void *, void *),
		      struct arena *a)
{
	size_t *list = arena_array_of(a, n, size_t);

	for (size_t i = 0; i < n; i++)
		list[i] = i;
	if (n)
		qsort_r(list, n, sizeof(*list), cmp, c);
	return list;
}

void l4_names_build(struct l4_config *c, struct l4_frontend *frontends, struct arena *a)
{
	assert(c->frontends == frontends);
	for (size_t i = 0; i < c->n_frontends; i++)
		build_by_address(c, &frontends[i], a);
	c->by_vip = sorted(c, c->n_frontends, frontend_cmp, a);
	c->by_address = sorted(c, c->n_backends, backend_cmp, a);
}

static int vip_cmp(const struct l4_config *c, size_t frontend, const struct lb_vip_key *key)
{
	struct lb_vip_key at = l4_frontend_key(&c->frontends[frontend]);

	return lb_vip_key_cmp(&at, key);
}

size_t l4_frontend_of(const struct l4_config *c, const struct lb_vip_key *key)
{
	size_t at = sorted_place(c->n_frontends, i, vip_cmp(c, c->by_vip[i], key) < 0);

	return at < c->n_frontends && vip_cmp(c, c->by_vip[at], key) == 0 ? c->by_vip[at]
									  : SIZE_MAX;
}

size_t l4_backend_of(const struct l4_config *c, size_t frontend, const struct addr *address)
{
	const struct l4_frontend *f = &c->frontends[frontend];
	const struct l4_backend *b = c->backends;
	size_t at;

	assert(frontend < c->n_frontends);
	at = sorted_place(f->n_backends, i, addr_cmp(&b[f->by_address[i]].address, address) < 0);
	if (at == f->n_backends || addr_cmp(&b[f->by_address[at]].address, address) != 0)
		return SIZE_MAX;
	return f->by_address[at];
}

size_t l4_backends_at(const struct l4_config *c, const struct addr *address, size_t *ret_first)
{
	const struct l4_backend *b = c->backends;
	const size_t *list = c->by_address;
	size_t n = c->n_backends;

	*ret_first = sorted_place(n, i, addr_cmp(&b[list[i]].address, address) < 0);
	return sorted_place(n, i, addr_cmp(&b[list[i]].address, address) <= 0) - *ret_first;
}
