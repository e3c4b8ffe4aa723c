/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three structures hold the same facts: leases by key; the used addresses (slots) of each network,
 * sorted; and groups of slots that have the same sharing key and backend.
 */
#include "core/ipam/ipam.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/ipam/private.h"

/* ---- words ---- */

enum ipam_families ipam_families_of(const struct addr *addresses, size_t n)
{
	unsigned families = IPAM_NONE;

	for (size_t i = 0; i < n; i++) {
		unsigned one = addresses[i].family == AF_INET ? IPAM_IPV4 : IPAM_IPV6;

		if (families & one)
			return IPAM_NONE;
		families |= one;
	}
	return (enum ipam_families)families;
}

const char *ipam_families_name(enum ipam_families f)
{
	static const char *const names[] = { "unknown", "ipv4", "ipv6", "dual" };

	return names[f];
}

void ipam_format(struct buf *out, const struct addr *addresses, size_t n)
{
	char one[ADDR_STRLEN];

	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s\"%s\"", i ? " " : "", addr_format(&addresses[i], one));
	buf_addc(out, ']');
}

/* ---- the interface ---- */

struct ipam *ipam_new(void)
{
	return mem_zalloc(sizeof(struct ipam));
}

static void free_pools(struct ipam *m)
{
	for (size_t i = 0; i < m->n_ranges; i++)
		vec_free(&m->ranges[i].used);
	for (size_t i = 0; i < m->n_pools; i++)
		free(m->pools[i].ranges);
	free(m->ranges);
	free(m->pools);
	free(m->pinned);
	m->ranges = NULL;
	m->pools = NULL;
	m->pinned = NULL;
	m->n_ranges = m->n_pools = m->n_pinned = 0;
}

void ipam_free(struct ipam *m)
{
	if (!m)
		return;
	while (m->entries.n)
		ipam_release(m, m->entries.items[m->entries.n - 1]->key);
	vec_free(&m->entries);
	vec_free(&m->groups);
	free_pools(m);
	free(m);
}

/* The number of addresses that can be used. */
static int64_t range_size(const struct ipam__range *range)
{
	unsigned host = metal_bits(range->prefix.address.family) - range->prefix.length;
	metal_number first = metal_number_of(&range->prefix.address);

	if (host >= 62)
		return INT64_MAX;
	return (int64_t)ipam__rank(range, first + ((metal_number)1 << host));
}

static int compare_ranges(const void *a, const void *b)
{
	const struct ipam__range *x = a, *y = b;

	return addr_cmp(&x->prefix.address, &y->prefix.address);
}

/* 0 is the last. */
static int compare_pinned(const void *a, const void *b)
{
	const struct metal_pool *x = (*(struct ipam__pool *const *)a)->metal,
				*y = (*(struct ipam__pool *const *)b)->metal;
	uint32_t p = x->priority - 1, q = y->priority - 1;

	if (p != q)
		return p < q ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void link_ranges(struct ipam *m)
{
	for (size_t i = 0; i < m->n_pools; i++) {
		struct ipam__pool *pool = &m->pools[i];

		pool->n_ranges = pool->metal->n_prefixes;
		pool->ranges = mem_resize(NULL, pool->n_ranges, sizeof(struct ipam__range *));
		for (size_t j = 0; j < pool->n_ranges; j++)
			pool->ranges[j] = ipam__find_range(m, &pool->metal->prefixes[j].address);
	}
}

static void make_pools(struct ipam *m, const struct metal_config *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_pools; i++)
		n += c->pools[i].n_prefixes;
	m->pools = mem_zalloc((c->n_pools + 1) * sizeof(*m->pools));
	m->pinned = mem_zalloc((c->n_pools + 1) * sizeof(struct ipam__pool *));
	m->ranges = mem_zalloc((n + 1) * sizeof(*m->ranges));
	m->n_pools = c->n_pools;
	for (size_t i = 0; i < c->n_pools; i++) {
		m->pools[i].metal = &c->pools[i];
		if (c->pools[i].is_pinned)
			m->pinned[m->n_pinned++] = &m->pools[i];
		for (size_t j = 0; j < c->pools[i].n_prefixes; j++)
			m->ranges[m->n_ranges++] =
				(struct ipam__range){ .prefix = c->pools[i].prefixes[j],
						      .pool = &m->pools[i] };
	}
	qsort(m->ranges, m->n_ranges, sizeof(*m->ranges), compare_ranges);
	qsort(m->pinned, m->n_pinned, sizeof(struct ipam__pool *), compare_pinned);
	for (size_t i = 0; i < m->n_ranges; i++)
		m->ranges[i].size = range_size(&m->ranges[i]);
	link_ranges(m);
}

void ipam_set_pools(struct ipam *m, const struct metal_config *config,
		    void (*freed)(const struct ipam_lease *lease, void *user), void *user)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->entries.n; i++)
		ipam__detach(m, m->entries.items[i]);
	free_pools(m);
	make_pools(m, config);
	for (size_t i = 0; i < m->entries.n; i++) {
		struct ipam__entry *e = m->entries.items[i];
		struct ipam__pool *pool = ipam__pool_of(m, e->lease.addresses, e->lease.n);

		if (pool) {
			ipam__attach(m, e, pool);
			m->entries.items[kept++] = e;
			continue;
		}
		e->lease.pool = "";
		if (freed)
			freed(&e->lease, user);
		ipam__free_entry(e);
	}
	m->entries.n = kept;
}

int ipam_assign(struct ipam *m, const struct ipam_request *r, const struct addr *addresses,
		size_t n, struct buf *why)
{
	struct ipam__pool *pool = ipam__pool_of(m, addresses, n);
	char one[ADDR_STRLEN], two[ADDR_STRLEN];

	if (!pool) {
		ipam_format(why, addresses, n);
		buf_adds(why, " is not allowed in config");
		return -EADDRNOTAVAIL;
	}
	if (!metal_pool_admits(pool->metal, r->namespace, &r->labels)) {
		buf_printf(why, "pool %s not compatible for ip assignment", pool->metal->name);
		return -EADDRNOTAVAIL;
	}
	if (n > IPAM_ADDRESSES) {
		buf_adds(why, "more than two addresses ");
		ipam_format(why, addresses, n);
		return -EADDRNOTAVAIL;
	}
	if (n == 2 && addresses[0].family == addresses[1].family) {
		buf_printf(why, "\"%s\" \"%s\" has the same family",
			   addr_format(&addresses[0], one), addr_format(&addresses[1], two));
		return -EADDRNOTAVAIL;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ipam__slot *s =
			ipam__find_slot(&ipam__find_range(m, &addresses[i])->used, &addresses[i]);

		if (s && !ipam__may_share(s, r, why))
			return -EADDRNOTAVAIL;
	}
	ipam__put(m, r, addresses, n, pool);
	return 0;
}

static int assign_wanted(struct ipam *m, const struct ipam_request *r, struct buf *why)
{
	const struct ipam__pool *pool = ipam__pool_of(m, r->wanted, r->n_wanted);
	const char *wrong = NULL;

	if (ipam_families_of(r->wanted, r->n_wanted) != r->families)
		wrong = "does not match the ipFamily of the service";
	else if (*ipam__text(r->pool) && pool && strcmp(pool->metal->name, r->pool) != 0)
		wrong = "is not compatible with requested address pool";
	if (!wrong)
		return ipam_assign(m, r, r->wanted, r->n_wanted, why);
	buf_adds(why, "requested loadBalancer IP(s) ");
	ipam_format(why, r->wanted, r->n_wanted);
	buf_printf(why, " %s", wrong);
	if (ipam_families_of(r->wanted, r->n_wanted) == r->families)
		buf_printf(why, " %s", r->pool);
	return -EADDRNOTAVAIL;
}

int ipam_allocate(struct ipam *m, const struct ipam_request *r, struct buf *why)
{
	assert(r->families != IPAM_NONE && !ipam__find_entry(m, r->key));

	if (r->n_wanted)
		return assign_wanted(m, r, why);
	return *ipam__text(r->pool) ? ipam__choose_in_pool(m, r, why) : ipam__choose(m, r, why);
}

int ipam_widen(struct ipam *m, const struct ipam_request *r, struct buf *why)
{
	struct ipam__entry *e = ipam__find_entry(m, r->key);

	assert(e && e->lease.n == 1);
	return ipam__choose_other(m, r, e, why);
}

bool ipam_release(struct ipam *m, const char *key)
{
	struct ipam__entry *e = ipam__find_entry(m, key);
	size_t at;

	if (!e)
		return false;
	at = ipam__entry_place(m, key);
	vec_remove_at(&m->entries, at);
	ipam__detach(m, e);
	ipam__free_entry(e);
	return true;
}

const struct ipam_lease *ipam_get(const struct ipam *m, const char *key)
{
	const struct ipam__entry *e = ipam__find_entry(m, key);

	return e ? &e->lease : NULL;
}

size_t ipam_count(const struct ipam *m)
{
	return m->entries.n;
}

const struct ipam_lease *ipam_at(const struct ipam *m, size_t i)
{
	assert(i < m->entries.n);
	return &m->entries.items[i]->lease;
}

static int64_t add_sizes(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

struct ipam_usage ipam_usage(const struct ipam *m, const char *name)
{
	const struct ipam__pool *pool = ipam__find_pool(m, name);
	struct ipam_usage u = { 0 };

	if (!pool)
		return u;
	u.services = pool->services;
	for (size_t i = 0; i < pool->n_ranges; i++) {
		const struct ipam__range *range = pool->ranges[i];
		bool four = range->prefix.address.family == AF_INET;

		*(four ? &u.assigned4 : &u.assigned6) += (int64_t)range->used.n;
		*(four ? &u.available4 : &u.available6) =
			add_sizes(four ? u.available4 : u.available6, range->size);
	}
	u.available4 -= u.assigned4;
	u.available6 -= u.assigned6;
	return u;
}
