/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lb plugin: VIPs, the ASes of each, and garbage collection.
 *
 * VIPs and ASes live in pools, as in VPP, so that their indexes are the same: they are visible in
 * counters and in the CLI. Deleting only marks; collection frees. An AS is freed if it was marked
 * at least ten seconds ago and no flow refers to it, a VIP if it is marked and empty. A VIP is
 * examined at most once a minute, by a timer, and whenever one of its ASes is added or deleted.
 *
 * Packets are handled in datapath.c.
 */
#include "tests/support/vpp/plugin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/vpp/plugin_internal.h"

#define DEFAULT_BUCKETS 1024
#define DEFAULT_TIMEOUT 40
#define TABLE_CRASH (1u << 28)
#define WEIGHT_MAX 100

static const struct {
	const char *name;
	bool vip4, gre4;
} types[] = {
	[PLUGIN_IP6_GRE6] = { "ip6-gre6", false, false },
	[PLUGIN_IP6_GRE4] = { "ip6-gre4", false, true },
	[PLUGIN_IP4_GRE6] = { "ip4-gre6", true, false },
	[PLUGIN_IP4_GRE4] = { "ip4-gre4", true, true },
	[PLUGIN_IP4_L3DSR] = { "ip4-l3dsr", true, true },
	[PLUGIN_IP4_NAT4] = { "ip4-nat4", true, true },
	[PLUGIN_IP6_NAT6] = { "ip6-nat6", false, false },
};

static const struct {
	bool vip4;
	uint32_t encap;
	enum plugin_type type;
} encaps[] = {
	{ true, PLUGIN_GRE4, PLUGIN_IP4_GRE4 },	  { true, PLUGIN_GRE6, PLUGIN_IP4_GRE6 },
	{ true, PLUGIN_L3DSR, PLUGIN_IP4_L3DSR }, { true, PLUGIN_NAT4, PLUGIN_IP4_NAT4 },
	{ false, PLUGIN_GRE4, PLUGIN_IP6_GRE4 },  { false, PLUGIN_GRE6, PLUGIN_IP6_GRE6 },
	{ false, PLUGIN_NAT6, PLUGIN_IP6_NAT6 },
};

const char *const plugin_counter_names[PLUGIN_COUNTERS] = {
	[PLUGIN_EXISTING] = "packet from existing sessions",
	[PLUGIN_FIRST] = "first session packet",
	[PLUGIN_UNTRACKED] = "untracked packet",
	[PLUGIN_NO_SERVER] = "no server configured",
};

const char *plugin_type_name(enum plugin_type type)
{
	return types[type].name;
}

bool plugin_type_is_gre4(enum plugin_type type)
{
	return types[type].gre4;
}

static bool is_power_of_two(uint32_t n)
{
	return (n & (n - 1)) == 0; /* true for 0 as well, as in VPP */
}

/*
 * The fallback is the first type of VPP, which it uses for encapsulations that it does not know.
 */
static enum plugin_type type_of(bool vip4, uint32_t encap)
{
	for (size_t i = 0; i < ARRAY_SIZE(encaps); i++)
		if (encaps[i].vip4 == vip4 && encaps[i].encap == encap)
			return encaps[i].type;
	return PLUGIN_IP6_GRE6;
}

/* ---- life ---- */

/* A reused index keeps the old contents, as in VPP; only new ones are zeroed. */
static void new_vip(struct plugin *p, uint32_t *ret)
{
	*ret = pool_get(&p->vip_pool);
	if (*ret == p->vips.n)
		vec_push(&p->vips, (struct plugin_vip){ 0 });
}

static void new_as(struct plugin *p, uint32_t *ret)
{
	*ret = pool_get(&p->as_pool);
	if (*ret == p->ass.n)
		vec_push(&p->ass, (struct plugin_as){ 0 });
}

/* VPP reserves VIP 0 and AS 0 for its own use, so the first real ones have index 1. */
void plugin_init(struct plugin *p)
{
	uint32_t vip, as;

	*p = (struct plugin){ .buckets = DEFAULT_BUCKETS, .flow_timeout = DEFAULT_TIMEOUT };
	memset(p->src4, 0xff, sizeof(p->src4));
	memset(p->src6, 0xff, sizeof(p->src6));
	fib_init(&p->fib);
	new_vip(p, &vip);
	new_as(p, &as);
	p->vips.items[vip].used = true;
	p->vips.items[vip].table_length = 1;
	memset(p->vips.items[vip].key.prefix.b, 0xff, 16);
	p->vips.items[vip].key.protocol = PLUGIN_ALL_PORTS;
}

static void free_vip(struct plugin_vip *vip)
{
	pool_free(&vip->slots);
	vec_free(&vip->as_of_slot);
	plugin__table_changed(vip);
}

void plugin_free(struct plugin *p)
{
	for (size_t i = 0; i < p->vips.n; i++)
		free_vip(&p->vips.items[i]);
	vec_free(&p->vips);
	vec_free(&p->ass);
	pool_free(&p->vip_pool);
	pool_free(&p->as_pool);
	for (size_t i = 0; i < PLUGIN_COUNTERS; i++)
		vec_free(&p->counters[i]);
	fib_free(&p->fib);
	flows_free(&p->flows);
	vec_free(&p->misuse);
}

/* what must be a string literal: it is not copied. */
static void blame(struct plugin *p, const char *what)
{
	vec_push(&p->misuse, what);
}

/* ---- conf ---- */

/* VPP checks the buckets before it changes anything, so a refused call has no effect. */
int plugin_conf(struct plugin *p, const uint8_t src4[static 4], const uint8_t src6[static 16],
		uint32_t buckets, uint32_t flow_timeout)
{
	if (buckets == PLUGIN_KEEP)
		buckets = p->buckets;
	if (!is_power_of_two(buckets))
		return PLUGIN_INVALID_MEMORY_SIZE;
	if (buckets == 0)
		blame(p, "lb_conf with 0 buckets");
	memcpy(p->src4, src4, sizeof(p->src4));
	memcpy(p->src6, src6, sizeof(p->src6));
	p->buckets = buckets;
	p->flow_timeout = flow_timeout == PLUGIN_KEEP ? p->flow_timeout : flow_timeout;
	return 0;
}

/* ---- garbage ---- */

/* Compares 32-bit times that may wrap, as VPP does. */
static bool reached(uint32_t now, uint32_t then)
{
	return now - then < INT32_MAX;
}

static void collect_as(struct plugin *p, struct plugin_vip *vip, uint32_t slot)
{
	uint32_t i = vip->as_of_slot.items[slot];

	fib_drop(&p->fib, &p->ass.items[i].address, 128);
	pool_put(&vip->slots, slot);
	pool_put(&p->as_pool, i);
}

/*
 * Frees the removed ASes of a VIP, unless that was done within the last minute. An AS stays for
 * a grace period, and for as long as a flow refers to it.
 */
static void collect_vip(struct plugin *p, struct plugin_vip *vip, uint32_t now)
{
	if (!reached(now, vip->last_collection + PLUGIN_COLLECT_EVERY))
		return;
	vip->last_collection = now;
	pool_foreach(slot, &vip->slots)
	{
		uint32_t i = vip->as_of_slot.items[slot];
		const struct plugin_as *as = &p->ass.items[i];

		if (!(as->flags & PLUGIN_AS_USED) && reached(now, as->last_used + PLUGIN_GRACE) &&
		    flows_of(&p->flows, i) == 0)
			collect_as(p, vip, slot);
	}
}

void plugin_collect(struct plugin *p, uint32_t now)
{
	pool_foreach(i, &p->vip_pool)
	{
		struct plugin_vip *vip = &p->vips.items[i];

		collect_vip(p, vip, now);
		if (vip->used || vip->slots.n)
			continue;
		free_vip(vip);
		pool_put(&p->vip_pool, i);
	}
}

/* ---- VIPs ---- */

static bool same_prefix(const struct plugin_vip *vip, const struct plugin_key *key)
{
	return vip->used && vip->key.plen == key->plen &&
	       ip46_cmp(&vip->key.prefix, &key->prefix) == 0;
}

static bool same_port(const struct plugin_vip *vip, const struct plugin_key *key)
{
	return vip->key.protocol == key->protocol && vip->key.port == key->port;
}

struct plugin_key plugin_key_of(struct ip46 prefix, uint8_t plen, uint8_t protocol, uint16_t port)
{
	ip46_mask(&prefix, plen);
	return (struct plugin_key){ .prefix = prefix,
				    .plen = plen,
				    .protocol = port ? protocol : PLUGIN_ALL_PORTS,
				    .port = port };
}

int plugin_vip_find(const struct plugin *p, const struct plugin_key *key, uint32_t *ret)
{
	pool_foreach(i, &p->vip_pool)
	{
		if (same_prefix(&p->vips.items[i], key) && same_port(&p->vips.items[i], key)) {
			*ret = i;
			return 0;
		}
	}
	return PLUGIN_NO_SUCH_ENTRY;
}

/* Finds another VIP on the same prefix; NULL if this one is the only one. */
static const struct plugin_vip *neighbour(const struct plugin *p, const struct plugin_key *key)
{
	pool_foreach(i, &p->vip_pool)
	{
		if (same_prefix(&p->vips.items[i], key) && !same_port(&p->vips.items[i], key))
			return &p->vips.items[i];
	}
	return NULL;
}

/*
 * The checks of VPP in their order, since the first one that fails decides the retval. On one
 * prefix there is either a single all-port VIP or several with ports, all of one type.
 */
static int check_vip(struct plugin *p, const struct plugin_vip_args *args, enum plugin_type type)
{
	const struct plugin_key *key = &args->key;
	const struct plugin_vip *other = neighbour(p, key);
	bool vip4 = ip46_prefix_is4(&key->prefix, key->plen);
	uint32_t there;

	if (plugin_vip_find(p, key, &there) == 0)
		return PLUGIN_VALUE_EXIST;
	if (other && (key->port == 0 || other->key.port == 0))
		return PLUGIN_VALUE_EXIST;
	if (other && other->type != type)
		return PLUGIN_INVALID_ARGUMENT;
	if (!is_power_of_two(args->table_length))
		return PLUGIN_INVALID_MEMORY_SIZE;
	if (types[type].vip4 != vip4)
		return PLUGIN_INVALID_ADDRESS_FAMILY;
	return 0;
}

/* Records requests that VPP does not validate. True if the request would crash VPP. */
static bool judge_vip(struct plugin *p, const struct plugin_vip_args *args)
{
	bool vip4 = ip46_prefix_is4(&args->key.prefix, args->key.plen);

	if (args->table_length == 0)
		p->crash = "a table length of 0";
	else if (args->table_length >= TABLE_CRASH)
		p->crash = "a huge table length";
	else if (!vip4 && args->key.plen > 128)
		p->crash = "an IPv6 prefix length above 128";
	if (vip4 && args->key.plen > 128)
		blame(p, "an IPv4 prefix length above 32");
	if (!vip4 && args->encap > PLUGIN_GRE6 && args->encap != PLUGIN_NAT6)
		blame(p, "an encapsulation that no IPv6 VIP has");
	return p->crash != NULL;
}

/* A VIP that reuses an index starts with counters of 0. */
static void clear_counters(struct plugin *p, uint32_t vip)
{
	for (size_t i = 0; i < PLUGIN_COUNTERS; i++) {
		while (p->counters[i].n <= vip)
			vec_push(&p->counters[i], 0);
		p->counters[i].items[vip] = 0;
	}
}

/*
 * Sets only what VPP sets: other members keep the values of the VIP that had this index before.
 */
static void fill_vip(struct plugin_vip *vip, const struct plugin_vip_args *args,
		     enum plugin_type type, uint32_t now)
{
	vip->key = args->key;
	vip->type = type;
	vip->used = true;
	vip->src_ip_sticky = args->src_ip_sticky;
	vip->table_length = args->table_length;
	vip->last_collection = now;
	if (type == PLUGIN_IP4_L3DSR)
		vip->dscp_or_srv_type = args->dscp & 0x3f;
	if (type == PLUGIN_IP4_NAT4 || type == PLUGIN_IP6_NAT6) {
		vip->dscp_or_srv_type = args->srv_type;
		vip->target_port = args->target_port;
	}
}

/*
 * After a crash the result does not matter; the server ends the process, see server_changed().
 */
int plugin_vip_add(struct plugin *p, uint32_t now, const struct plugin_vip_args *args)
{
	const struct plugin_key *key = &args->key;
	enum plugin_type type = type_of(ip46_prefix_is4(&key->prefix, key->plen), args->encap);
	int err = check_vip(p, args, type);
	uint32_t i;

	if (err)
		return err;
	if (judge_vip(p, args))
		return 0;
	new_vip(p, &i);
	fill_vip(&p->vips.items[i], args, type, now);
	clear_counters(p, i);
	fib_hold(&p->fib, &key->prefix, key->plen, FIB_VIP);
	return 0;
}

/*
 * The VIP is only marked, and its ASes with it. plugin_collect() frees it once the ASes are
 * gone.
 */
int plugin_vip_del(struct plugin *p, uint32_t now, const struct plugin_key *key)
{
	struct plugin_vip *vip;
	uint32_t i;
	int err = plugin_vip_find(p, key, &i);

	if (err)
		return err;
	vip = &p->vips.items[i];
	if (vip->slots.n)
		collect_vip(p, vip, now);
	pool_foreach(slot, &vip->slots)
	{
		struct plugin_as *as = &p->ass.items[vip->as_of_slot.items[slot]];

		as->flags = 0;
		as->last_used = now;
	}
	plugin__table_changed(vip);
	vip->used = false;
	fib_drop(&p->fib, &key->prefix, key->plen);
	return 0;
}

/* ---- ASes ---- */

/* Also finds ASes that were removed and not yet collected: adding such an AS revives it. */
static int find_as(const struct plugin *p, const struct plugin_vip *vip, const struct ip46 *address,
		   uint32_t *ret)
{
	pool_foreach(slot, &vip->slots)
	{
		uint32_t i = vip->as_of_slot.items[slot];

		if (ip46_cmp(&p->ass.items[i].address, address) == 0) {
			*ret = i;
			return 0;
		}
	}
	return PLUGIN_NO_SUCH_ENTRY;
}

static void create_as(struct plugin *p, uint32_t vip_index, const struct ip46 *address,
		      uint32_t *ret)
{
	struct plugin_vip *vip = &p->vips.items[vip_index];
	struct plugin_as *as;
	uint32_t slot;

	new_as(p, ret);
	as = &p->ass.items[*ret];
	as->address = *address;
	as->vip = vip_index;
	as->stats_index = fib_hold(&p->fib, address, 128, FIB_AS);
	slot = pool_get(&vip->slots);
	if (slot == vip->as_of_slot.n)
		vec_push(&vip->as_of_slot, *ret);
	vip->as_of_slot.items[slot] = *ret;
}

static void judge_weight(struct plugin *p, uint8_t weight)
{
	if (weight > WEIGHT_MAX)
		blame(p, "a weight above 100");
}

/* An AS that was removed but not collected is reused, with its flows unless flush is set. */
int plugin_as_add(struct plugin *p, uint32_t now, const struct plugin_as_args *args)
{
	uint32_t vip, as;
	int err = plugin_vip_find(p, &args->vip, &vip);

	if (err)
		return err;
	if (find_as(p, &p->vips.items[vip], &args->address, &as) == 0) {
		if (p->ass.items[as].flags & PLUGIN_AS_USED)
			return PLUGIN_VALUE_EXIST;
		if (args->flush)
			flows_flush(&p->flows, vip, as);
	} else if (ip46_is4(&args->address) != types[p->vips.items[vip].type].gre4) {
		return PLUGIN_INVALID_ADDRESS_FAMILY;
	} else {
		create_as(p, vip, &args->address, &as);
	}
	judge_weight(p, args->weight);
	p->ass.items[as].flags = PLUGIN_AS_USED;
	p->ass.items[as].weight = args->weight;
	plugin__table_changed(&p->vips.items[vip]);
	collect_vip(p, &p->vips.items[vip], now);
	return 0;
}

int plugin_as_del(struct plugin *p, uint32_t now, const struct plugin_as_args *args)
{
	uint32_t vip, as;

	if (plugin_vip_find(p, &args->vip, &vip) ||
	    find_as(p, &p->vips.items[vip], &args->address, &as))
		return PLUGIN_NO_SUCH_ENTRY;
	collect_vip(p, &p->vips.items[vip], now);
	p->ass.items[as].flags = 0;
	p->ass.items[as].last_used = now;
	if (args->flush)
		flows_flush(&p->flows, vip, as);
	plugin__table_changed(&p->vips.items[vip]);
	return 0;
}

/* Unlike plugin_as_add(), this does not find removed ASes and does not collect. */
int plugin_as_set_weight(struct plugin *p, const struct plugin_as_args *args)
{
	uint32_t vip, as;

	if (plugin_vip_find(p, &args->vip, &vip) ||
	    find_as(p, &p->vips.items[vip], &args->address, &as) ||
	    !(p->ass.items[as].flags & PLUGIN_AS_USED))
		return PLUGIN_NO_SUCH_ENTRY;
	judge_weight(p, args->weight);
	p->ass.items[as].weight = args->weight;
	plugin__table_changed(&p->vips.items[vip]);
	if (args->flush)
		flows_flush(&p->flows, vip, as);
	return 0;
}

int plugin_flush_vip(struct plugin *p, const struct plugin_key *key)
{
	uint32_t vip;

	if (plugin_vip_find(p, key, &vip) == 0)
		flows_flush(&p->flows, vip, FLOWS_ANY_AS);
	else
		blame(p, "lb_flush_vip for a VIP that is not there");
	return 0;
}
