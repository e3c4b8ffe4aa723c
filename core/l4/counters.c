/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: sorted lists like those of lb.c: VIPs, the ASes of each, and servers. Everything is
 * found by binary search, so that a walk in slices can continue by key.
 */
#include "core/l4/counters.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/sorted.h"

const char *lb_packets_name(enum lb_packets kind)
{
	static const char *const names[] = {
		[LB_PACKETS_NEXT] = "next",
		[LB_PACKETS_FIRST] = "first",
		[LB_PACKETS_UNTRACKED] = "untracked",
		[LB_PACKETS_NO_SERVER] = "no-server",
	};

	_Static_assert(ARRAY_SIZE(names) == LB_PACKETS_KINDS, "every kind has its name");
	assert((size_t)kind < ARRAY_SIZE(names));
	return names[kind];
}

void lb_counters_free(struct lb_counters *c)
{
	for (size_t i = 0; i < c->vips.n; i++)
		vec_free(&c->vips.items[i].as);
	vec_free(&c->vips);
	vec_free(&c->servers);
	vec_free(&c->events);
}

/* The index of key, or where it would be inserted: the first VIP that is not before it. */
static size_t vip_place(const struct lb_counters *c, const struct lb_vip_key *key)
{
	return sorted_place(c->vips.n, i, lb_vip_key_cmp(&c->vips.items[i].key, key) < 0);
}

static size_t as_place(const struct lb_vip_counters *v, const struct addr *address)
{
	return sorted_place(v->as.n, i, addr_cmp(&v->as.items[i].address, address) < 0);
}

static size_t server_place(const struct lb_counters *c, const struct addr *address)
{
	return sorted_place(c->servers.n, i, addr_cmp(&c->servers.items[i].address, address) < 0);
}

static bool vip_is_at(const struct lb_counters *c, size_t i, const struct lb_vip_key *key)
{
	return i < c->vips.n && lb_vip_key_cmp(&c->vips.items[i].key, key) == 0;
}

static bool as_is_at(const struct lb_vip_counters *v, size_t i, const struct addr *address)
{
	return i < v->as.n && addr_cmp(&v->as.items[i].address, address) == 0;
}

static bool server_is_at(const struct lb_counters *c, size_t i, const struct addr *address)
{
	return i < c->servers.n && addr_cmp(&c->servers.items[i].address, address) == 0;
}

const struct lb_vip_counters *lb_counters_vip(const struct lb_counters *c,
					      const struct lb_vip_key *key)
{
	size_t i = vip_place(c, key);

	return vip_is_at(c, i, key) ? &c->vips.items[i] : NULL;
}

const struct lb_as_counters *lb_counters_as(const struct lb_vip_counters *v,
					    const struct addr *address)
{
	size_t i = as_place(v, address);

	return as_is_at(v, i, address) ? &v->as.items[i] : NULL;
}

bool lb_is_drained(const struct lb_as *observed, const struct lb_counters *c,
		   const struct lb_as_counters *counted)
{
	return observed->weight == 0 && observed->idle_since && c->has & LB_HAS_AS_FLOWS &&
	       c->flows_since > observed->idle_since && counted && counted->flows == 0;
}

struct lb_vip_counters *lb_counters_put_vip(struct lb_counters *c, const struct lb_vip_key *key)
{
	size_t i = vip_place(c, key);

	if (!vip_is_at(c, i, key)) {
		struct lb_vip_counters fresh = { .key = *key }; /* may point into the array */

		vec_insert_at(&c->vips, i);
		c->vips.items[i] = fresh;
	}
	return &c->vips.items[i];
}

struct lb_as_counters *lb_counters_put_as(struct lb_vip_counters *v, const struct addr *address)
{
	size_t i = as_place(v, address);

	if (!as_is_at(v, i, address)) {
		struct lb_as_counters fresh = { .address = *address };

		vec_insert_at(&v->as, i);
		v->as.items[i] = fresh;
	}
	return &v->as.items[i];
}

struct lb_server_counters *lb_counters_put_server(struct lb_counters *c, const struct addr *address)
{
	size_t i = server_place(c, address);

	if (!server_is_at(c, i, address)) {
		struct lb_server_counters fresh = { .address = *address };

		vec_insert_at(&c->servers, i);
		c->servers.items[i] = fresh;
	}
	return &c->servers.items[i];
}

size_t lb_counters_vip_behind(const struct lb_counters *c, const struct lb_vip_key *key)
{
	size_t i = key ? vip_place(c, key) : 0;

	return i + (key && vip_is_at(c, i, key));
}

size_t lb_counters_as_behind(const struct lb_vip_counters *v, const struct addr *address)
{
	size_t i = address ? as_place(v, address) : 0;

	return i + (address && as_is_at(v, i, address));
}

size_t lb_counters_server_behind(const struct lb_counters *c, const struct addr *address)
{
	size_t i = address ? server_place(c, address) : 0;

	return i + (address && server_is_at(c, i, address));
}
