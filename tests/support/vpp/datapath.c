/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handling of packets: the table of new flows, and the way of one packet.
 *
 * An AS enters the table once per unit of weight, each time (a replica) with its own permutation.
 * Entries are ordered by replica and address and take slots in turn. The number of slots of an AS
 * depends on that order only and is the same as in VPP. Which slots they are depends on the hash,
 * which is not that of VPP.
 */
#include <assert.h>
#include <stdlib.h>

#include "tests/support/vpp/plugin_internal.h"

#define IP4_HEADER 20
#define IP6_HEADER 40
#define GRE_HEADER 4

struct entry {
	uint32_t as, replica, at, skip;
	struct ip46 address;
};

void plugin__table_changed(struct plugin_vip *vip)
{
	free(vip->table);
	vip->table = NULL;
}

static int by_replica_and_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->replica != y->replica)
		return x->replica < y->replica ? -1 : 1;
	return ip46_cmp(&x->address, &y->address);
}

/*
 * FNV-1a of the address and the replica, mixed so that all bits of the result depend on all
 * bytes.
 */
static uint64_t hash_of(const struct entry *e)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(e->address.b); i++)
		h = (h ^ e->address.b[i]) * 0x100000001b3u;
	h = (h ^ e->replica) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static struct entry *entries_of(const struct plugin *p, const struct plugin_vip *vip, size_t *ret_n)
{
	VEC(struct entry) found = { 0 };

	pool_foreach(slot, &vip->slots)
	{
		uint32_t i = vip->as_of_slot.items[slot];
		const struct plugin_as *as = &p->ass.items[i];
		uint32_t weight = as->flags & PLUGIN_AS_USED ? as->weight : 0;

		for (uint32_t r = 0; r < weight; r++)
			vec_push(&found,
				 (struct entry){ .as = i, .replica = r, .address = as->address });
	}
	if (found.n)
		qsort(found.items, found.n, sizeof(found.items[0]), by_replica_and_address);
	*ret_n = found.n;
	return found.items;
}

/* The skip is odd and the length a power of two, so the walk reaches every slot. */
static void take_slot(struct plugin_vip *vip, struct entry *e)
{
	uint32_t mask = vip->table_length - 1;

	while (vip->table[e->at])
		e->at = (e->at + e->skip) & mask;
	vip->table[e->at] = e->as;
}

static void build(const struct plugin *p, struct plugin_vip *vip)
{
	size_t n;
	struct entry *entries = entries_of(p, vip, &n);

	vip->table = mem_zalloc(vip->table_length * sizeof(*vip->table));
	for (size_t i = 0; i < n; i++) {
		entries[i].at = (uint32_t)(hash_of(&entries[i]) >> 32) & (vip->table_length - 1);
		entries[i].skip = (uint32_t)hash_of(&entries[i]) | 1;
	}
	for (size_t taken = 0; n && taken < vip->table_length; taken++)
		take_slot(vip, &entries[taken % n]);
	free(entries);
}

const uint32_t *plugin_table(struct plugin *p, uint32_t vip)
{
	if (!p->vips.items[vip].table)
		build(p, &p->vips.items[vip]);
	return p->vips.items[vip].table;
}

/* ASes that can get slots, ordered by address, and where their slots are counted. */
struct share {
	const struct plugin_as *as;
	uint32_t *n;
};

static int by_address(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return ip46_cmp(&x->as->address, &y->as->address);
}

/*
 * Gives one slot to each AS that has a replica of that number, in order, while slots are left.
 */
static uint32_t deal_replica(struct share *shares, size_t n, uint32_t replica, uint32_t left)
{
	for (size_t i = 0; i < n && left; i++)
		if (shares[i].as->weight > replica) {
			++*shares[i].n;
			left--;
		}
	return left;
}

/*
 * Computes the counts without building the table: each AS gets its share of the full rounds, and
 * the remaining slots are dealt in the order of the table.
 */
void plugin_buckets(const struct plugin *p, uint32_t vip_index, uint32_t *by_slot)
{
	const struct plugin_vip *vip = &p->vips.items[vip_index];
	VEC(struct share) shares = { 0 };
	uint32_t total = 0, left;

	pool_foreach(slot, &vip->slots)
	{
		const struct plugin_as *as = &p->ass.items[vip->as_of_slot.items[slot]];

		by_slot[slot] = 0;
		if (!(as->flags & PLUGIN_AS_USED) || as->weight == 0)
			continue;
		vec_push(&shares, (struct share){ as, &by_slot[slot] });
		total += as->weight;
	}
	if (total == 0)
		return;
	qsort(shares.items, shares.n, sizeof(shares.items[0]), by_address);
	for (size_t i = 0; i < shares.n; i++)
		*shares.items[i].n = vip->table_length / total * shares.items[i].as->weight;
	left = vip->table_length % total;
	for (uint32_t replica = 0; left; replica++)
		left = deal_replica(shares.items, shares.n, replica, left);
	vec_free(&shares);
}

/* ---- packets ---- */

static bool is_for(const struct plugin_vip *vip, const struct plugin_packet *packet)
{
	return vip->key.port == 0 ||
	       (vip->key.protocol == packet->protocol && vip->key.port == packet->port);
}

/* The most specific prefix is chosen first, then the port on it; 0 if that has no VIP. */
static uint32_t vip_for(const struct plugin *p, const struct plugin_packet *packet,
			const struct fib_route **ret_route)
{
	const struct plugin_vip *best = NULL;
	uint32_t found = 0;

	pool_foreach(i, &p->vip_pool)
	{
		const struct plugin_vip *vip = &p->vips.items[i];

		if (i == 0 || !vip->used || (best && vip->key.plen < best->key.plen) ||
		    !ip46_covers(&vip->key.prefix, vip->key.plen, &packet->to))
			continue;
		if (!best || vip->key.plen > best->key.plen)
			found = 0;
		best = vip;
		found = is_for(vip, packet) ? i : found;
	}
	*ret_route = best ? fib_find(&p->fib, &best->key.prefix, best->key.plen) : NULL;
	return found;
}

static uint32_t choose(struct plugin *p, uint32_t vip, const struct plugin_packet *packet)
{
	return plugin_table(p, vip)[packet->flow & (p->vips.items[vip].table_length - 1)];
}

static uint32_t route_flow(struct plugin *p, uint32_t vip, uint32_t now,
			   const struct plugin_packet *packet, enum plugin_counter *ret_counter)
{
	uint32_t place, as;

	flows_prepare(&p->flows, p->buckets, p->flow_timeout);
	as = flows_find(&p->flows, packet->flow, vip, now, &place);
	*ret_counter = PLUGIN_EXISTING;
	if (as)
		return as;
	as = choose(p, vip, packet);
	*ret_counter = PLUGIN_UNTRACKED;
	if (place == FLOWS_NO_PLACE)
		return as;
	flows_keep(&p->flows, place,
		   &(struct flow){ .hash = packet->flow,
				   .vip = vip,
				   .as = as,
				   .expires = now + p->flow_timeout });
	*ret_counter = as ? PLUGIN_FIRST : PLUGIN_NO_SERVER;
	return as;
}

static void count_sent(struct plugin *p, uint32_t vip, uint32_t as,
		       const struct plugin_packet *packet)
{
	struct fib_count *via = &p->fib.via.items[p->ass.items[as].stats_index];
	bool outer4 = plugin_type_is_gre4(p->vips.items[vip].type);

	via->packets++;
	via->bytes += packet->length + GRE_HEADER + (outer4 ? IP4_HEADER : IP6_HEADER);
}

uint32_t plugin_packet(struct plugin *p, uint32_t now, const struct plugin_packet *packet)
{
	const struct fib_route *route;
	uint32_t vip = vip_for(p, packet, &route), as = 0;
	enum plugin_counter counter = PLUGIN_NO_SERVER;

	if (!route)
		return 0;
	if (p->buckets == 0) {
		p->crash = "a packet with 0 buckets";
		return 0;
	}
	p->fib.to.items[route->stats_index].packets++;
	p->fib.to.items[route->stats_index].bytes += packet->length;
	if (vip)
		as = route_flow(p, vip, now, packet, &counter);
	p->counters[counter].items[vip]++;
	if (as)
		count_sent(p, vip, as, packet);
	return as;
}
