/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: their addresses, which do not overlap, and the services that may have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "core/metal/build.h"
#include "core/metal/number.h"

/* All networks so far, by their first address. */
struct networks {
	VEC(struct metal_prefix) list;
};

static bool overlaps(const struct metal_prefix *a, const struct metal_prefix *b)
{
	return metal_prefix_has(a, &b->address) || metal_prefix_has(b, &a->address);
}

/* Those before do not overlap each other, so only the neighbours of the place can overlap it. */
static int add_network(struct metal__build *b, struct networks *all, const char *pool,
		       const struct metal_prefix *p)
{
	size_t n = all->list.n;
	size_t at = sorted_place(n, i, addr_cmp(&all->list.items[i].address, &p->address) < 0);
	char mine[METAL_PREFIX_STRLEN], other[METAL_PREFIX_STRLEN];

	for (size_t i = at ? at - 1 : 0; i <= at && i < n; i++) {
		const struct metal_prefix *seen = &all->list.items[i];

		if (overlaps(seen, p))
			return metal__fail(b,
					   "CIDR \"%s\" in pool \"%s\" overlaps with already "
					   "defined CIDR \"%s\"",
					   metal_prefix_format(p, mine), pool,
					   metal_prefix_format(seen, other));
	}
	vec_insert_at(&all->list, at);
	all->list.items[at] = *p;
	return 0;
}

static int build_addresses(struct metal__build *b, const struct metal_pool_doc *d,
			   struct metal_pool *pool)
{
	struct metal__range *ranges = arena_array_of(b->arena, d->addresses.n, struct metal__range);
	struct metal_prefix *all;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < d->addresses.n; i++) {
		if (metal__range_parse(b, d->addresses.items[i], &ranges[i]) < 0)
			return metal__within(b, "invalid CIDR %s in pool \"%s\": ",
					     metal__quote(b, d->addresses.items[i]), d->name);
		n += ranges[i].n;
	}
	all = arena_array_of(b->arena, n, struct metal_prefix);
	for (size_t i = 0; i < d->addresses.n; i++) {
		memcpy(&all[at], ranges[i].prefixes, ranges[i].n * sizeof(*all));
		at += ranges[i].n;
		pool->has4 |= ranges[i].prefixes->address.family == AF_INET;
		pool->has6 |= ranges[i].prefixes->address.family == AF_INET6;
	}
	pool->prefixes = all;
	pool->n_prefixes = n;
	return 0;
}

/* The names that are listed and those of the namespaces that are selected. */
static void resolve_namespaces(struct metal__build *b, const struct metal_pool_doc *d,
			       struct metal_pool *pool)
{
	size_t n = d->namespaces.n, kept = 0;
	const char **names = arena_array_of(b->arena, n + b->doc->n_namespaces, const char *);
	struct metal_texts sorted;
	const char **unique;

	for (size_t i = 0; i < n; i++)
		names[i] = d->namespaces.items[i];
	for (size_t i = 0; i < b->doc->n_namespaces; i++)
		if (labels_match_any(&d->namespace_selectors, &b->doc->namespaces[i].labels))
			names[n++] = b->doc->namespaces[i].name;
	sorted = metal__sorted(b, (struct metal_texts){ names, n });
	unique = arena_array_of(b->arena, n, const char *);
	for (size_t i = 0; i < sorted.n; i++)
		if (!kept || strcmp(unique[kept - 1], sorted.items[i]) != 0)
			unique[kept++] = sorted.items[i];
	pool->namespaces = (struct metal_texts){ unique, kept };
}

static int check_allocation(struct metal__build *b, const struct metal_pool_doc *d)
{
	if (metal__unique(b, d->namespaces, "") < 0)
		return metal__fail(b, "duplicate definition in namespaces field");
	if (metal__unique_selectors(b, &d->namespace_selectors, "namespaceSelectors") < 0 ||
	    metal__unique_selectors(b, &d->service_selectors, "serviceSelectors") < 0)
		return -EINVAL;
	if (metal__valid_selectors(b, &d->namespace_selectors) < 0)
		return metal__join(b, "invalid namespace label selector in ip pool %s", d->name);
	if (metal__valid_selectors(b, &d->service_selectors) < 0)
		return metal__join(b, "invalid service label selector in ip pool %s", d->name);
	return 0;
}

static int build_allocation(struct metal__build *b, const struct metal_pool_doc *d,
			    struct metal_pool *pool)
{
	pool->is_pinned = d->has_allocation;
	if (!d->has_allocation)
		return 0;
	if (check_allocation(b, d) < 0)
		return -EINVAL;
	if (d->priority < 0 || d->priority > UINT32_MAX)
		return metal__fail(b, "invalid priority %lld", (long long)d->priority);
	pool->priority = (uint32_t)d->priority;
	pool->some_namespaces = d->namespaces.n || d->namespace_selectors.n;
	resolve_namespaces(b, d, pool);
	pool->services = metal__selectors(b, &d->service_selectors);
	return 0;
}

static int build_pool(struct metal__build *b, const struct metal_pool_doc *d,
		      struct metal_pool *pool)
{
	*pool = (struct metal_pool){ .name = arena_strdup(b->arena, d->name),
				     .auto_assign = d->auto_assign,
				     .avoid_buggy_ips = d->avoid_buggy_ips };
	if (!metal__is_set(d->name))
		return metal__fail(b, "missing pool name");
	if (!d->addresses.n)
		return metal__fail(b, "pool has no prefixes defined");
	if (build_addresses(b, d, pool) < 0)
		return -EINVAL;
	return build_allocation(b, d, pool);
}

static int add_pool(struct metal__build *b, size_t i, struct metal_pool *pools,
		    struct networks *all)
{
	const char *name = b->doc->pools[i].name;

	if (build_pool(b, &b->doc->pools[i], &pools[i]) < 0)
		return metal__within(b, "parsing address pool %s: ", name);
	if (i && strcmp(pools[i - 1].name, name) == 0)
		return metal__fail(b, "duplicate definition of pool \"%s\"", name);
	for (size_t j = 0; j < pools[i].n_prefixes; j++)
		if (add_network(b, all, name, &pools[i].prefixes[j]) < 0)
			return -EINVAL;
	return 0;
}

int metal__build_pools(struct metal__build *b)
{
	struct metal_pool *pools = arena_array_of(b->arena, b->doc->n_pools, struct metal_pool);
	struct networks all = { 0 };
	int r = 0;

	for (size_t i = 0; i < b->doc->n_pools && r == 0; i++)
		r = add_pool(b, i, pools, &all);
	vec_free(&all.list);
	b->config.pools = pools;
	b->config.n_pools = b->doc->n_pools;
	return r;
}
