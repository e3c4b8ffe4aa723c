/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of addresses.
 *
 * The lowest free address of a network follows from its sorted slots: as long as no address is left
 * out, the slot at index i is the address with number i. That holds up to the first gap and for no
 * slot after it, so the gap is found by binary search. Addresses that the pool avoids do not count.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "core/ipam/private.h"

/* ---- the lowest address ---- */

static bool is_avoided(const struct ipam__range *range, metal_number n)
{
	return range->pool->metal->avoid_buggy_ips && range->prefix.address.family == AF_INET &&
	       ((n & 0xff) == 0 || (n & 0xff) == 0xff);
}

/* Addresses of the network before this one that can be used. */
metal_number ipam__rank(const struct ipam__range *range, metal_number at)
{
	metal_number first = metal_number_of(&range->prefix.address), n = at - first, avoided;

	if (!range->pool->metal->avoid_buggy_ips || range->prefix.address.family != AF_INET)
		return n;
	/* those that end with 0: n/256 rounded up from a multiple; those with 255: one before */
	avoided = (at + 255) / 256 - (first + 255) / 256 + at / 256 - first / 256;
	return n - avoided;
}

/* The lowest address that nobody uses; false if there is none. */
static bool find_free(const struct ipam__range *range, struct addr *ret)
{
	const struct ipam__slots *used = &range->used;
	uint8_t family = range->prefix.address.family;
	metal_number first = metal_number_of(&range->prefix.address), at = first, last;
	unsigned host = metal_bits(family) - range->prefix.length;
	size_t gap;

	if (range->size != INT64_MAX && (int64_t)used->n >= range->size)
		return false;
	gap = sorted_place(used->n, i,
			   ipam__rank(range, metal_number_of(&used->items[i]->address)) <= i);
	if (gap)
		at = metal_number_of(&used->items[gap - 1]->address) + 1;
	last = host >= 128 ? ~(metal_number)0 : first + (((metal_number)1 << host) - 1);
	while (at <= last && is_avoided(range, at))
		at++;
	if (at > last)
		return false;
	*ret = metal_address(family, at);
	return true;
}

/* The lowest address of the network that others use and the request may share. */
static bool find_shared(const struct ipam *m, const struct ipam__range *range,
			const struct ipam_request *r, struct addr *ret)
{
	const struct ipam__group *g =
		*ipam__text(r->sharing) ? ipam__find_group(m, r->sharing, ipam__text(r->backend))
					: NULL;

	if (!g)
		return false;
	for (size_t i = ipam__slot_place(&g->list, &range->prefix.address);
	     i < g->list.n && metal_prefix_has(&range->prefix, &g->list.items[i]->address); i++)
		if (ipam__may_share(g->list.items[i], r, NULL)) {
			*ret = g->list.items[i]->address;
			return true;
		}
	return false;
}

static bool find_lowest(const struct ipam *m, const struct ipam__range *range,
			const struct ipam_request *r, struct addr *ret)
{
	struct addr unused, shared;
	bool has_unused = find_free(range, &unused), has_shared = find_shared(m, range, r, &shared);

	if (!has_unused && !has_shared)
		return false;
	*ret = has_unused && (!has_shared || addr_cmp(&unused, &shared) < 0) ? unused : shared;
	return true;
}

/* ---- choosing ---- */

/* What a pool can give: an address of each family, or none. */
struct offer {
	struct ipam__pool *pool;
	struct addr four, six;
};

static struct offer ask_pool(const struct ipam *m, struct ipam__pool *pool,
			     const struct ipam_request *r)
{
	struct offer o = { .pool = pool };

	for (size_t i = 0; i < pool->n_ranges; i++) {
		const struct ipam__range *range = pool->ranges[i];
		struct addr *to = range->prefix.address.family == AF_INET ? &o.four : &o.six;
		unsigned family = to == &o.four ? IPAM_IPV4 : IPAM_IPV6;

		if (r->families & family && !addr_is_set(to))
			find_lowest(m, range, r, to);
	}
	return o;
}

static unsigned offered(const struct offer *o)
{
	return (addr_is_set(&o->four) ? IPAM_IPV4 : 0U) | (addr_is_set(&o->six) ? IPAM_IPV6 : 0U);
}

/* IPv4 first. */
static int take(struct ipam *m, const struct ipam_request *r, const struct offer *o)
{
	struct addr addresses[IPAM_ADDRESSES];
	size_t n = 0;

	if (addr_is_set(&o->four))
		addresses[n++] = o->four;
	if (addr_is_set(&o->six))
		addresses[n++] = o->six;
	ipam__put(m, r, addresses, n, o->pool);
	return 0;
}

/* The best offers so far for a service that takes one family if it cannot have both. */
struct best {
	struct offer first, second; /* of its first family, of the other */
};

/* True if the offer is what the service wants; else it may be remembered. */
static bool weigh(const struct ipam_request *r, const struct offer *o, struct best *best)
{
	unsigned got = offered(o), first = r->prefers6 ? IPAM_IPV6 : IPAM_IPV4;

	if (got == r->families)
		return true;
	if (r->policy != IPAM_PREFER_DUAL || r->families != IPAM_DUAL)
		return false;
	if (got & first && !best->first.pool)
		best->first = *o;
	else if (got && !(got & first) && !best->second.pool)
		best->second = *o;
	return false;
}

static int choose_among(struct ipam *m, const struct ipam_request *r, bool pinned)
{
	size_t n = pinned ? m->n_pinned : m->n_pools;
	struct best best = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct ipam__pool *pool = pinned ? m->pinned[i] : &m->pools[i];
		struct offer o;

		if (!pool->metal->auto_assign || pool->metal->is_pinned != pinned ||
		    !metal_pool_admits(pool->metal, r->namespace, &r->labels))
			continue;
		o = ask_pool(m, pool, r);
		if (weigh(r, &o, &best))
			return take(m, r, &o);
	}
	if (best.first.pool || best.second.pool)
		return take(m, r, best.first.pool ? &best.first : &best.second);
	return -EADDRNOTAVAIL;
}

int ipam__choose_in_pool(struct ipam *m, const struct ipam_request *r, struct buf *why)
{
	struct ipam__pool *pool = ipam__find_pool(m, r->pool);
	struct offer o;
	unsigned got;

	if (!pool) {
		buf_printf(why, "unknown pool \"%s\"", r->pool);
		return -EADDRNOTAVAIL;
	}
	if (!metal_pool_admits(pool->metal, r->namespace, &r->labels)) {
		buf_printf(why, "pool %s not compatible for ip assignment", r->pool);
		return -EADDRNOTAVAIL;
	}
	o = ask_pool(m, pool, r);
	got = offered(&o);
	if (got == r->families ||
	    (got && r->families == IPAM_DUAL && r->policy == IPAM_PREFER_DUAL))
		return take(m, r, &o);
	buf_printf(why, "no available IPs in pool %s", r->pool);
	if (got || !(pool->metal->has4 && pool->metal->has6))
		buf_printf(why, " for %s IPFamily", ipam_families_name(r->families));
	return -EADDRNOTAVAIL;
}

int ipam__choose(struct ipam *m, const struct ipam_request *r, struct buf *why)
{
	if (choose_among(m, r, true) == 0 || choose_among(m, r, false) == 0)
		return 0;
	buf_adds(why, "no available IPs");
	return -EADDRNOTAVAIL;
}

int ipam__choose_other(struct ipam *m, const struct ipam_request *r, struct ipam__entry *e,
		       struct buf *why)
{
	struct ipam_request more = *r;
	struct offer o;

	more.families = e->lease.addresses[0].family == AF_INET ? IPAM_IPV6 : IPAM_IPV4;
	o = ask_pool(m, e->pool, &more);
	if (!offered(&o)) {
		buf_printf(why, "no available IPs in pool %s for %s IPFamily", e->lease.pool,
			   ipam_families_name(more.families));
		return -EADDRNOTAVAIL;
	}
	*(more.families == IPAM_IPV6 ? &o.four : &o.six) = e->lease.addresses[0];
	return take(m, r, &o);
}
