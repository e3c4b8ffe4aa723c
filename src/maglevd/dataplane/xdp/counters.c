/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/xdp/counters.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/loop.h"

#define SERVERS_OF_STEP 64 /* each server takes a cache line of each CPU */

/* the words of a VIP are copied by their number */
_Static_assert((int)ABI_KIND_NEXT == LB_PACKETS_NEXT && (int)ABI_KIND_FIRST == LB_PACKETS_FIRST &&
		       (int)ABI_KIND_UNTRACKED == LB_PACKETS_UNTRACKED &&
		       (int)ABI_KIND_NO_SERVER == LB_PACKETS_NO_SERVER &&
		       (int)ABI_KINDS == LB_PACKETS_KINDS,
	       "kinds of packets");

const char *xdplb__event_name(enum abi_event event)
{
	static const char *const names[ABI_EVENTS] = {
		[ABI_DROP_MALFORMED] = "drop-malformed",
		[ABI_DROP_FRAGMENT] = "drop-fragment",
		[ABI_DROP_NO_SERVER] = "drop-no-server",
		[ABI_DROP_NO_SOURCE] = "drop-no-source",
		[ABI_DROP_NO_ROUTE] = "drop-no-route",
		[ABI_DROP_BLACKHOLE] = "drop-blackhole",
		[ABI_DROP_UNREACHABLE] = "drop-unreachable",
		[ABI_DROP_PROHIBIT] = "drop-prohibit",
		[ABI_DROP_FORWARDING_OFF] = "drop-forwarding-off",
		[ABI_DROP_ROUTE_TYPE] = "drop-route-type",
		[ABI_DROP_NO_ROOM] = "drop-no-room",
		[ABI_DROP_UNANSWERED] = "drop-unanswered",
		[ABI_DROP_ICMP_LIMIT] = "drop-icmp-limit",
		[ABI_PASS_NO_NEIGHBOUR] = "pass-no-neighbour",
		[ABI_PASS_FRAGMENT] = "pass-fragment",
		[ABI_ANSWER_TOO_BIG] = "answer-too-big",
		[ABI_ANSWER_TIME_EXCEEDED] = "answer-time-exceeded",
		[ABI_NOTE_ICMP_ERROR] = "note-icmp-error",
		[ABI_NOTE_EVICTED] = "note-evicted",
	};

	assert((size_t)event < ARRAY_SIZE(names) && names[event]);
	return names[event];
}

/* qsort_r's context is the array of VIPs. */
static int by_key(const void *a, const void *b, void *vips)
{
	const struct xdplb_vip *v = vips;

	return lb_vip_key_cmp(&v[*(const uint32_t *)a].key, &v[*(const uint32_t *)b].key);
}

void xdplb__counters_begin(struct xdplb_counters *c, const struct xdplb_inventory *b)
{
	lb_counters_free(&c->fresh);
	c->vips.n = 0;
	for (uint32_t i = 1; i < b->maps->sizes.vips; i++)
		if (b->vips[i].used)
			vec_push(&c->vips, i);
	if (c->vips.n)
		qsort_r(c->vips.items, c->vips.n, sizeof(*c->vips.items), by_key, b->vips);
	c->next = 0;
	c->vip = 0;
	c->under_way = true;
	c->flows_done = false;
	xdplb__flows_begin(&c->flows, b->maps);
	if (c->slots)
		return;
	c->slots = mem_zalloc(b->maps->sizes.servers * sizeof(*c->slots));
	c->counted = mem_zalloc(b->maps->sizes.vips * sizeof(*c->counted));
}

/* ---- slots ---- */

static void add_slots(const struct xdplb_inventory *b, const struct abi_table_line *lines,
		      uint32_t *slots)
{
	for (uint32_t i = 0; i < b->maps->sizes.table_size; i++) {
		uint32_t id = lines[i / ABI_LINE_SLOTS].as[i % ABI_LINE_SLOTS];

		if (id < b->maps->sizes.servers)
			slots[id]++;
	}
}

/* Counts the slots of each server of a VIP, unless its table is still the one that was counted. */
static void count_slots(struct xdplb_counters *c, const struct xdplb_inventory *b, uint32_t vip)
{
	const struct xdplb_vip *v = &b->vips[vip];
	const struct xdplb_counted now = { b->maps->vips[vip].table, v->switches };
	struct xdp_window lines;

	if (now.table == c->counted[vip].table && now.switches == c->counted[vip].switches)
		return;
	for (size_t i = 0; i < v->servers.n; i++)
		c->slots[v->servers.items[i]] = 0;
	if (now.table && now.table <= b->maps->sizes.tables) {
		if (xdplb__maps_table(b->maps, now.table - 1, &lines) < 0)
			return; /* tried again in the next reading */
		add_slots(b, lines.values, c->slots);
		xdp_window_close(&lines);
	}
	c->counted[vip] = now;
}

/* ---- reading ---- */

/*
 * A server without a weight has no slots: the number that is kept may be of another server that had
 * the id before.
 */
static void read_server(const struct xdplb_counters *c, const struct xdplb_inventory *b,
			uint32_t id, struct lb_vip_counters *ret)
{
	bool has_weight = b->maps->servers[id].weight & ABI_AS_WEIGHT;
	struct lb_as_counters as = { .address = xdplb__maps_server(b->maps, id),
				     .buckets = has_weight ? c->slots[id] : 0,
				     .flows = c->flows.counts[id] };
	uint64_t words[2];

	xdplb__maps_sum(b->maps, PLANE_AS_COUNTS, id, words, ARRAY_SIZE(words));
	as.packets = words[0];
	as.bytes = words[1];
	vec_push(&ret->as, as);
}

/*
 * An index may have been given to another VIP since the indexes were sorted. That VIP is left out
 * if it would break the order of keys, on which the users of the counters rely.
 */
static bool is_in_order(const struct lb_counters *out, const struct lb_vip_key *key)
{
	return !out->vips.n || lb_vip_key_cmp(&out->vips.items[out->vips.n - 1].key, key) < 0;
}

/* False if the VIP is gone; otherwise its servers are read next. */
static bool read_vip(struct xdplb_counters *c, const struct xdplb_inventory *b, uint32_t i)
{
	const struct xdplb_vip *v = &b->vips[i];
	struct lb_counters *out = &c->fresh;
	struct lb_vip_counters ret = { .key = v->key };
	uint64_t words[ABI_KINDS + 1];

	if (!v->used || !is_in_order(out, &v->key))
		return false;
	xdplb__maps_sum(b->maps, PLANE_VIP_COUNTS, i, words, ARRAY_SIZE(words));
	for (size_t kind = 0; kind < ABI_KINDS; kind++)
		ret.packets[kind] = words[kind];
	ret.bytes = words[ABI_KINDS];
	ret.buckets = b->maps->vips[i].table ? b->maps->sizes.table_size : 0;
	count_slots(c, b, i);
	vec_push(&out->vips, ret);
	return true;
}

/*
 * Continues after the last server by address and not by position, because servers and VIPs may
 * change between two steps. True when the VIP is complete, or was replaced by another one.
 */
static bool read_servers(struct xdplb_counters *c, const struct xdplb_inventory *b)
{
	const struct xdplb_vip *v = &b->vips[c->vip];
	struct lb_vip_counters *ret = &c->fresh.vips.items[c->fresh.vips.n - 1];
	size_t at = xdplb__inventory_servers_after(b, c->vip, &c->after);
	size_t end = at + SERVERS_OF_STEP < v->servers.n ? at + SERVERS_OF_STEP : v->servers.n;

	if (!v->used || lb_vip_key_cmp(&v->key, &ret->key) != 0)
		return true;
	for (; at < end; at++) {
		uint32_t id = v->servers.items[at];

		c->after = xdplb__maps_server(b->maps, id);
		read_server(c, b, id, ret);
	}
	return at == v->servers.n;
}

static void read_events(const struct xdplb_inventory *b, struct lb_counters *out)
{
	for (uint32_t i = 0; i < ABI_EVENTS; i++) {
		struct lb_event_counter event = { .name = xdplb__event_name(i) };

		if (xdp_map_sum(&b->maps->map[PLANE_EVENTS], i, &event.packets, 1) == 0)
			vec_push(&out->events, event);
	}
}

/* A slice of flows, one VIP or SERVERS_OF_STEP servers per step; the events come last. */
bool xdplb__counters_step(struct xdplb_counters *c, const struct xdplb_inventory *b)
{
	assert(c->under_way);
	if (!c->flows_done) {
		c->flows_done = xdplb__flows_step(&c->flows, b->maps);
		return false;
	}
	if (c->vip) {
		if (read_servers(c, b))
			c->vip = 0;
		return false;
	}
	if (c->next < c->vips.n) {
		uint32_t vip = c->vips.items[c->next++];

		c->vip = read_vip(c, b, vip) ? vip : 0;
		c->after = (struct addr){ 0 };
		return false;
	}
	read_events(b, &c->fresh);
	c->fresh.at = loop_realtime();
	c->fresh.has = LB_HAS_VIP_BYTES | LB_HAS_AS_TRAFFIC | LB_HAS_AS_BUCKETS |
		       (c->flows.failed ? 0 : LB_HAS_AS_FLOWS);
	c->fresh.flows_since = c->flows.since;
	lb_counters_free(&c->ready);
	c->ready = c->fresh;
	c->fresh = (struct lb_counters){ 0 };
	c->under_way = false;
	return true;
}

void xdplb__counters_stop(struct xdplb_counters *c)
{
	lb_counters_free(&c->fresh);
	c->under_way = false;
	xdplb__flows_stop(&c->flows);
	free(TAKE_PTR(c->slots));
	free(TAKE_PTR(c->counted));
}

void xdplb__counters_free(struct xdplb_counters *c)
{
	xdplb__counters_stop(c);
	xdplb__flows_free(&c->flows);
	lb_counters_free(&c->ready);
	vec_free(&c->vips);
}
