/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs: what is applied is what is observed, and packets go where the state says.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/testing/random.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/xdp/counters.h"
#include "src/maglevd/dataplane/xdp/testkit.h"
#include "src/maglevd/dataplane/xdp/vlans.h"
#include "src/maglevd/testing.h"

#define VIP WORLD_VIP
#define VIP6 "2001:db8:100::10"

static void assert_same_vip(const struct lb_vip *a, const struct lb_vip *b)
{
	assert_int_equal(lb_vip_key_cmp(&a->key, &b->key), 0);
	assert_int_equal(a->encap, b->encap);
	assert_int_equal(a->src_ip_sticky, b->src_ip_sticky);
	assert_int_equal(a->as.n, b->as.n);
	for (size_t i = 0; i < a->as.n; i++) {
		assert_int_equal(addr_cmp(&a->as.items[i].address, &b->as.items[i].address), 0);
		assert_int_equal(a->as.items[i].weight, b->as.items[i].weight);
		assert_int_equal(a->as.items[i].flush, b->as.items[i].flush);
	}
}

static void assert_same(const struct lb_state *a, const struct lb_state *b)
{
	assert_int_equal(a->has_conf, b->has_conf);
	if (a->has_conf)
		assert_true(lb_conf_equal(&a->conf, &b->conf));
	assert_int_equal(a->vips.n, b->vips.n);
	for (size_t i = 0; i < a->vips.n; i++)
		assert_same_vip(&a->vips.items[i], &b->vips.items[i]);
}

static void start(struct world *w)
{
	world_start(w, &(struct world_config){ 0 });
	world_wait_up(w);
}

static void make_www(struct world *w)
{
	start(w);
	world_make_www(w);
}

static void a_fresh_data_plane_is_empty(void **state)
{
	struct world *w = *state;

	start(w);
	world_observe(w);
	assert_false(w->state.has_conf);
	assert_int_equal(w->state.vips.n, 0);
}

static void what_is_applied_is_observed_and_forwarded(void **state)
{
	struct world *w = *state;

	make_www(w);
	world_observe(w);
	assert_true(w->state.has_conf);
	assert_int_equal(w->state.conf.flow_timeout_s, 40);
	assert_int_equal(w->state.vips.n, 1);
	assert_int_equal(w->state.vips.items[0].as.n, 2);
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
	assert_in_range(world_share(w, world_www(), "10.0.0.2"), 30, 70);
	world_check_tables(w);
}

static void every_flow_timeout_is_read_back(void **state)
{
	struct world *w = *state;

	start(w);
	for (unsigned s = 1; s <= 120; s++) {
		const struct lb_op op = op_conf(s);

		world_do(w, &op, 1);
		world_observe(w);
		assert_int_equal(w->state.conf.flow_timeout_s, s);
	}
}

static void a_known_flow_stays_until_it_is_flushed(void **state)
{
	struct world *w = *state;
	struct lb_op drain = op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.1", 0);
	unsigned flow;

	make_www(w);
	flow = world_open_flow(w);
	world_do(w, &drain, 1);
	assert_int_equal(world_flow_server(w, flow), 1);
	assert_int_equal(world_share(w, world_www(), "10.0.0.1"), 0);
	world_observe(w);
	assert_false(w->state.vips.items[0].as.items[0].flush);

	drain.flush = true;
	world_do(w, &drain, 1);
	assert_int_equal(world_flow_server(w, flow), 2);
	world_observe(w);
	assert_true(w->state.vips.items[0].as.items[0].flush);

	drain.flush = false;
	drain.weight = 100;
	world_do(w, &drain, 1);
	world_observe(w);
	assert_false(w->state.vips.items[0].as.items[0].flush);
}

static void a_server_that_is_deleted_loses_its_flows(void **state)
{
	struct world *w = *state;
	const struct lb_op del = op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.1", 0);
	const struct lb_op add = op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.1", 0);
	unsigned flow;

	make_www(w);
	flow = world_open_flow(w);
	world_do(w, &del, 1);
	world_do(w, &add, 1);
	assert_int_equal(world_flow_server(w, flow), 2);
}

/* The ids of the servers in use, in the order in which they were added. */
static uint32_t host_of(const struct world *w, uint32_t id)
{
	assert_int_not_equal(w->maps.servers[id].vip, 0);
	return w->maps.servers[id].host;
}

static void servers_of_two_vips_share_a_host_until_the_last_is_gone(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key other = op_vip(LB_OP_VIP_ADD, WORLD_VIP, 443).vip;
	const struct lb_op add[] = {
		op_vip(LB_OP_VIP_ADD, WORLD_VIP, 443),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 443, "10.0.0.2", 100),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 443, "10.0.0.3", 100),
	};
	const struct lb_op remove[] = { op_as(LB_OP_AS_DEL, WORLD_VIP, 80, "10.0.0.2", 0) };
	const struct lb_op replace[] = {
		op_as(LB_OP_AS_DEL, WORLD_VIP, 443, "10.0.0.2", 0),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 443, "10.0.0.4", 100),
	};

	start(w);
	world_make_www(w);
	world_do(w, add, ARRAY_SIZE(add));
	assert_in_range(world_share(w, &other, "10.0.0.2"), 30, 70);
	assert_int_equal(host_of(w, 2), host_of(w, 3));
	assert_int_not_equal(host_of(w, 1), host_of(w, 4));
	world_do(w, remove, ARRAY_SIZE(remove));
	assert_in_range(world_share(w, &other, "10.0.0.2"), 30, 70);
	world_do(w, replace, ARRAY_SIZE(replace)); /* the freed host rests: it has another one */
	assert_int_equal(host_of(w, 5), host_of(w, 4) + 1);
	assert_int_equal(world_share(w, &other, "10.0.0.2"), 0);
	assert_in_range(world_share(w, &other, "10.0.0.4"), 30, 70);
	world_check_tables(w);
}

static void operations_on_one_server_follow_each_other(void **state)
{
	struct world *w = *state;
	const struct lb_op ops[] = {
		op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.1", 0),
		op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.1", 50),
		op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.1", 100),
		op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.2", 0),
		op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.3", 100),
	};

	make_www(w);
	world_do(w, ops, ARRAY_SIZE(ops));
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
	assert_in_range(world_share(w, world_www(), "10.0.0.3"), 30, 70);
	world_check_tables(w);
}

static void the_first_that_fails_ends_the_request(void **state)
{
	struct world *w = *state;
	const struct lb_op ops[] = {
		op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.1", 10),
		op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.9", 10),
		op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.2", 10),
	};

	make_www(w);
	assert_int_equal(world_apply(w, ops, ARRAY_SIZE(ops)), -ENOENT);
	assert_int_equal(w->done, 1);
	world_observe(w);
	assert_int_equal(w->state.vips.items[0].as.items[0].weight, 10);
	assert_int_equal(w->state.vips.items[0].as.items[1].weight, 100);
	world_check_tables(w);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct world *w = *state;
	const struct lb_op again = op_vip(LB_OP_VIP_ADD, VIP, 80);
	const struct lb_op full = op_vip(LB_OP_VIP_DEL, VIP, 80);
	const struct lb_op none = op_vip(LB_OP_VIP_DEL, VIP, 81);
	const struct lb_op twice = op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.1", 1);
	const struct lb_op family = op_as(LB_OP_AS_ADD, VIP, 80, "2001:db8:11::1", 1);
	const struct lb_op lost = op_as(LB_OP_AS_ADD, VIP, 81, "10.0.0.1", 1);

	make_www(w);
	assert_int_equal(world_apply(w, &again, 1), -EEXIST);
	assert_int_equal(world_apply(w, &full, 1), -EBUSY);
	assert_int_equal(world_apply(w, &none, 1), -ENOENT);
	assert_int_equal(world_apply(w, &twice, 1), -EEXIST);
	assert_int_equal(world_apply(w, &family, 1), -EAFNOSUPPORT);
	assert_int_equal(world_apply(w, &lost, 1), -ENOENT);
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
}

static void an_address_is_ours_as_long_as_it_has_a_vip(void **state)
{
	struct world *w = *state;
	const struct lb_op all[] = { op_conf(40), op_vip(LB_OP_VIP_ADD, VIP, 0),
				     op_as(LB_OP_AS_ADD, VIP, 0, "10.0.0.1", 1) };
	const struct lb_op one[] = { op_vip(LB_OP_VIP_ADD, VIP, 80),
				     op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.2", 1) };
	const struct lb_op less[] = { op_as(LB_OP_AS_DEL, VIP, 0, "10.0.0.1", 0),
				      op_vip(LB_OP_VIP_DEL, VIP, 0) };
	const struct lb_op more[] = { op_vip(LB_OP_VIP_ADD, VIP, 0),
				      op_as(LB_OP_AS_ADD, VIP, 0, "10.0.0.3", 1) };
	const struct lb_op none[] = { op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.2", 0),
				      op_vip(LB_OP_VIP_DEL, VIP, 80) };
	struct lb_vip_key other = op_vip(LB_OP_VIP_ADD, VIP, 81).vip;

	start(w);
	world_do(w, all, ARRAY_SIZE(all));
	world_do(w, one, ARRAY_SIZE(one));
	assert_int_equal(world_share(w, world_www(), "10.0.0.2"), 100);
	assert_int_equal(world_share(w, &other, "10.0.0.1"), 100);
	world_do(w, less, ARRAY_SIZE(less));
	assert_int_equal(world_share(w, world_www(), "10.0.0.2"), 100);
	assert_int_equal(world_send(w, "203.0.113.7", &other, 1, 2).family, AF_UNSPEC);
	world_do(w, more, ARRAY_SIZE(more));
	world_do(w, none, ARRAY_SIZE(none));
	assert_int_equal(world_share(w, world_www(), "10.0.0.3"), 100);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
}

static void ipv6_is_forwarded_too(void **state)
{
	struct world *w = *state;
	struct lb_op ops[] = {
		op_conf(40),
		op_vip(LB_OP_VIP_ADD, VIP6, 443),
		op_as(LB_OP_AS_ADD, VIP6, 443, "2001:db8:11::1", 1),
	};
	struct addr server = testing_address("2001:db8:11::1"), to;

	ops[1].encap = LB_ENCAP_GRE6;
	ops[1].src_ip_sticky = true;
	start(w);
	world_do(w, ops, ARRAY_SIZE(ops));
	to = world_send(w, "2001:db8:99::7", &ops[1].vip, 1000, 2);
	assert_int_equal(addr_cmp(&to, &server), 0);
	world_observe(w);
	assert_int_equal(w->state.vips.items[0].encap, LB_ENCAP_GRE6);
	assert_true(w->state.vips.items[0].src_ip_sticky);
}

/*
 * The VLAN is only an entry in the map, because not every kernel has VLANs: packets that leave by
 * d0 get its tag.
 */
static void packets_to_a_vlan_get_its_tag(void **state)
{
	struct world *w = *state;
	struct xdplb_vlans vlans = { 0 };
	struct xdplb_inventory b;

	make_www(w);
	assert_int_equal(world_share(w, world_www(), "10.0.0.1") > 0, 1);
	xdplb__inventory_open(&b, &w->maps, false);
	vec_push(&vlans.list, (struct xdp_vlan){ .ifindex = if_nametoindex("d0"),
						 .below = if_nametoindex("d0"),
						 .id = 5,
						 .tag_type = htons(0x8100) });
	vec_push(&vlans.list, (struct xdp_vlan){ .ifindex = 77, .below = 1, .id = 6 });
	xdplb__vlans_put(&vlans, &b);
	world_send(w, "203.0.113.7", world_www(), 5000, 2);
	assert_int_equal(w->vlan, 5);
	vlans.list.n = 0;
	xdplb__vlans_put(&vlans, &b);
	world_send(w, "203.0.113.7", world_www(), 5001, 2);
	assert_int_equal(w->vlan, 0);
	assert_int_equal(xdp_map_next(&b.maps->map[PLANE_LINKS], NULL, &(uint32_t){ 0 }), -ENOENT);
	vec_free(&vlans.list);
	xdplb__inventory_close(&b);
	world_observe(w);
	assert_int_equal(w->state.conf.flow_timeout_s, 40);
}

/* A VIP that is added again gets another index and other ids, and counts from 0. */
static void counters_are_read_and_begin_with_the_vip(void **state)
{
	struct world *w = *state;
	const struct lb_op away[] = { op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.1", 0),
				      op_as(LB_OP_AS_DEL, VIP, 80, "10.0.0.2", 0),
				      op_vip(LB_OP_VIP_DEL, VIP, 80) };
	const struct lb_op back[] = { op_vip(LB_OP_VIP_ADD, VIP, 80),
				      op_as(LB_OP_AS_ADD, VIP, 80, "10.0.0.1", 1) };
	struct xdplb_counters c = { 0 };
	struct xdplb_inventory b;

	make_www(w);
	world_share(w, world_www(), "10.0.0.1");
	xdplb__inventory_open(&b, &w->maps, false);
	xdplb__counters_begin(&c, &b);
	while (!xdplb__counters_step(&c, &b))
		;
	assert_int_equal(c.ready.vips.n, 1);
	assert_int_equal(c.ready.vips.items[0].packets[LB_PACKETS_FIRST], 100);
	assert_int_equal(c.ready.vips.items[0].bytes, 100 * 40);
	assert_int_equal(c.ready.vips.items[0].as.items[0].packets +
				 c.ready.vips.items[0].as.items[1].packets,
			 100);
	assert_int_equal(c.ready.events.n, ABI_EVENTS);
	world_do(w, away, ARRAY_SIZE(away));
	world_do(w, back, ARRAY_SIZE(back));
	xdplb__inventory_read(&b);
	xdplb__counters_begin(&c, &b);
	while (!xdplb__counters_step(&c, &b))
		;
	assert_int_equal(c.ready.vips.items[0].packets[LB_PACKETS_FIRST], 0);
	assert_int_equal(c.ready.vips.items[0].as.items[0].packets, 0);
	xdplb__counters_free(&c);
	xdplb__inventory_close(&b);
}

static void make_many_servers(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char server[32];
		struct lb_op op;

		snprintf(server, sizeof(server), "10.0.1.%u", i);
		op = op_as(LB_OP_AS_ADD, WORLD_VIP, 80, server, 0);
		world_do(w, &op, 1);
	}
}

/*
 * No step reads all servers of a VIP. A server that is added or removed between two steps does
 * not affect the others.
 */
static void counters_of_many_servers_are_read_in_steps(void **state)
{
	struct world *w = *state;
	const struct world_config roomy = { .frontends = 64 };
	const struct lb_op gone = op_as(LB_OP_AS_DEL, WORLD_VIP, 80, "10.0.0.1", 0);
	struct xdplb_counters c = { 0 };
	struct xdplb_inventory b;

	world_start(w, &roomy);
	world_wait_up(w);
	world_make_www(w);
	make_many_servers(w, 198);
	world_share(w, world_www(), "10.0.0.1");
	xdplb__inventory_open(&b, &w->maps, false);
	xdplb__counters_begin(&c, &b);
	for (unsigned i = 0; i < 4; i++) /* the flows, the VIP, two parts of its servers */
		assert_false(xdplb__counters_step(&c, &b));
	assert_in_range(c.fresh.vips.items[0].as.n, 1, 199);
	world_do(w, &gone, 1);
	xdplb__inventory_read(&b);
	while (!xdplb__counters_step(&c, &b))
		;
	assert_int_equal(c.ready.vips.items[0].as.n, 200);
	for (size_t i = 1; i < 200; i++)
		assert_true(addr_cmp(&c.ready.vips.items[0].as.items[i - 1].address,
				     &c.ready.vips.items[0].as.items[i].address) < 0);
	xdplb__counters_free(&c);
	xdplb__inventory_close(&b);
}

static const struct lb_vip_counters *count_all(struct xdplb_counters *c,
					       const struct xdplb_inventory *b)
{
	xdplb__counters_begin(c, b);
	while (!xdplb__counters_step(c, b))
		;
	return &c->ready.vips.items[0];
}

static void slots_follow_the_weights(void **state)
{
	struct world *w = *state;
	const struct lb_op less = op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.1", 25),
			   none = op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.2", 0);
	const struct lb_vip_counters *vip;
	struct xdplb_counters c = { 0 };
	struct xdplb_inventory b;

	make_www(w);
	world_share(w, world_www(), "10.0.0.1"); /* opens the maps */
	xdplb__inventory_open(&b, &w->maps, false);
	vip = count_all(&c, &b);
	assert_true(c.ready.has & LB_HAS_AS_BUCKETS);
	assert_int_equal(vip->buckets, 1009);
	assert_in_range(vip->as.items[0].buckets, 504, 505);
	assert_int_equal(vip->as.items[0].buckets + vip->as.items[1].buckets, 1009);
	world_do(w, &less, 1);
	xdplb__inventory_read(&b);
	vip = count_all(&c, &b);
	assert_in_range(vip->as.items[0].buckets, 200, 203);
	world_do(w, &none, 1);
	xdplb__inventory_read(&b);
	vip = count_all(&c, &b);
	assert_int_equal(vip->as.items[0].buckets, 1009);
	assert_int_equal(vip->as.items[1].buckets, 0);
	xdplb__counters_free(&c);
	xdplb__inventory_close(&b);
}

/* Changes the stamp of every flow that is stored. */
static void age_flows(const struct xdplb_maps *m, uint32_t ticks)
{
	struct xdp_window all;
	struct abi_bucket *buckets;

	assert_int_equal(xdp_window_open(&m->map[PLANE_FLOWS], 0, m->sizes.buckets, &all), 0);
	buckets = all.values;
	for (uint32_t i = 0; i < m->sizes.buckets * ABI_BUCKET_FLOWS; i++) {
		__u64 *flow = &buckets[i / ABI_BUCKET_FLOWS].flow[i % ABI_BUCKET_FLOWS];

		if (*flow)
			*flow = ABI_FLOW(ABI_FLOW_AS(*flow), ABI_FLOW_GENERATION(*flow),
					 ABI_FLOW_STAMP(*flow) - ticks, ABI_FLOW_TAG(*flow));
	}
	xdp_window_close(&all);
}

static unsigned stored_flows(const struct xdplb_maps *m)
{
	struct xdp_window all;
	const __u64 *words;
	unsigned n = 0;

	assert_int_equal(xdp_window_open(&m->map[PLANE_FLOWS], 0, m->sizes.buckets, &all), 0);
	words = all.values;
	for (uint32_t i = 0; i < m->sizes.buckets * ABI_BUCKET_FLOWS; i++)
		n += words[i] != 0;
	xdp_window_close(&all);
	return n;
}

/* 100 flows, of which a flush ends those of one server and the timeout the rest. */
static void live_flows_are_counted_and_dead_ones_cleared(void **state)
{
	struct world *w = *state;
	struct lb_op flush = op_as(LB_OP_AS_WEIGHT, VIP, 80, "10.0.0.1", 0);
	const struct lb_vip_counters *vip;
	struct xdplb_counters c = { 0 };
	struct xdplb_inventory b;
	unsigned first;
	int64_t before;

	make_www(w);
	first = world_share(w, world_www(), "10.0.0.1");
	xdplb__inventory_open(&b, &w->maps, false);
	before = loop_monotonic();
	vip = count_all(&c, &b);
	assert_true(c.ready.has & LB_HAS_AS_FLOWS);
	assert_in_range(c.ready.flows_since, before, loop_monotonic());
	assert_int_equal(vip->as.items[0].flows, first);
	assert_int_equal(vip->as.items[1].flows, 100 - first);

	age_flows(&w->maps, ABI_FLOW_TIMEOUT(40, w->maps.hz) - 1); /* the last tick of their life */
	vip = count_all(&c, &b);
	assert_int_equal(vip->as.items[0].flows + vip->as.items[1].flows, 100);

	flush.flush = true;
	world_do(w, &flush, 1);
	xdplb__inventory_read(&b);
	vip = count_all(&c, &b);
	assert_int_equal(vip->as.items[0].flows, 0);
	assert_int_equal(vip->as.items[1].flows, 100 - first);
	assert_int_equal(stored_flows(&w->maps), 100 - first);

	age_flows(&w->maps, 3);
	vip = count_all(&c, &b);
	assert_int_equal(vip->as.items[1].flows, 0);
	assert_int_equal(stored_flows(&w->maps), 0);
	xdplb__counters_free(&c);
	xdplb__inventory_close(&b);
}

static bool has_counted(void *user)
{
	struct world *w = user;

	return dataplane_xdp.counters(w->dp) != NULL;
}

/* Counters are available right after a restart: the periodic reading would come 5 s later. */
static void the_first_reading_comes_with_the_connection(void **state)
{
	struct world *w = *state;
	int64_t up;

	make_www(w);
	world_stop(w);
	world_start(w, &(struct world_config){ 0 });
	world_wait_up(w);
	up = loop_monotonic();
	assert_true(testing_wait(w->loop, has_counted, w));
	assert_true(loop_monotonic() - up < 4 * NSEC_PER_SEC);
	assert_int_equal(dataplane_xdp.counters(w->dp)->vips.n, 1);
}

/* ---- random operations, compared with a model ---- */

static struct lb_op random_op(struct dice *dice)
{
	static const char *const vips[] = { "198.51.100.1", "198.51.100.2", "198.51.100.3" };
	static const unsigned ports[] = { 0, 80, 443 };
	static const enum lb_op_kind kinds[] = { LB_OP_VIP_ADD,	  LB_OP_VIP_DEL,  LB_OP_AS_ADD,
						 LB_OP_AS_ADD,	  LB_OP_AS_ADD,	  LB_OP_AS_DEL,
						 LB_OP_AS_WEIGHT, LB_OP_AS_WEIGHT };
	char server[16];
	struct lb_op op;

	snprintf(server, sizeof(server), "10.0.0.%u", dice_roll(dice, 6) + 1);
	op = op_as(kinds[dice_roll(dice, ARRAY_SIZE(kinds))],
		   vips[dice_roll(dice, ARRAY_SIZE(vips))],
		   ports[dice_roll(dice, ARRAY_SIZE(ports))], server, dice_roll(dice, 3) * 50);
	op.flush = dice_roll(dice, 2);
	op.src_ip_sticky = op.kind == LB_OP_VIP_ADD && dice_roll(dice, 2);
	return op;
}

/* A new flow goes to a server that has weight, if there is one. */
static void check_packet(struct world *w, const struct lb_vip *vip, unsigned port)
{
	struct addr to = world_send(w, "203.0.113.9", &vip->key, port, 2);
	const struct lb_as *as;

	for (size_t i = 0; i < vip->as.n; i++) {
		if (!vip->as.items[i].weight)
			continue;
		as = lb_vip_as(vip, &to);
		assert_non_null(as);
		assert_true(as->weight > 0);
		return;
	}
	assert_int_equal(to.family, AF_UNSPEC);
}

static void check_against(struct world *w, const struct lb_state *model, unsigned *port)
{
	world_observe(w);
	assert_same(&w->state, model);
	for (size_t i = 0; i < model->vips.n; i++)
		for (unsigned k = 0; k < 4; k++)
			check_packet(w, &model->vips.items[i], ++*port);
}

static void random_batch(struct world *w, struct dice *dice, struct lb_state *model)
{
	struct lb_op ops[12];
	size_t n = dice_roll(dice, ARRAY_SIZE(ops)) + 1, done = 0;
	bool works = true;

	for (size_t i = 0; i < n; i++)
		ops[i] = random_op(dice);
	for (; done < n && works; done += works)
		works = lb_state_apply(model, &ops[done]);
	assert_int_equal(world_apply(w, ops, n) < 0, !works);
	assert_int_equal(w->done, done);
}

static void any_operations_lead_where_the_model_says(void **state)
{
	struct world *w = *state;
	struct dice dice = dice_of_run(0);
	struct lb_state model = { 0 };
	const struct lb_op conf = op_conf(40);
	/* operations seldom wait for a rest */
	const struct world_config roomy = { .frontends = 100 };
	unsigned port = 1;

	world_start(w, &roomy);
	world_wait_up(w);
	world_do(w, &conf, 1);
	lb_state_apply(&model, &conf);
	for (unsigned i = 0; i < 150; i++) {
		random_batch(w, &dice, &model);
		check_against(w, &model, &port);
		if (i % 50 == 49) {
			world_stop(w);
			world_start(w, &roomy);
			world_wait_up(w);
			check_against(w, &model, &port);
		}
	}
	world_check_tables(w);
	lb_state_free(&model);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_fresh_data_plane_is_empty),
		IN_WORLD(what_is_applied_is_observed_and_forwarded),
		IN_WORLD(every_flow_timeout_is_read_back),
		IN_WORLD(a_known_flow_stays_until_it_is_flushed),
		IN_WORLD(a_server_that_is_deleted_loses_its_flows),
		IN_WORLD(servers_of_two_vips_share_a_host_until_the_last_is_gone),
		IN_WORLD(operations_on_one_server_follow_each_other),
		IN_WORLD(the_first_that_fails_ends_the_request),
		IN_WORLD(what_does_not_fit_is_refused),
		IN_WORLD(an_address_is_ours_as_long_as_it_has_a_vip),
		IN_WORLD(ipv6_is_forwarded_too),
		IN_WORLD(packets_to_a_vlan_get_its_tag),
		IN_WORLD(counters_are_read_and_begin_with_the_vip),
		IN_WORLD(counters_of_many_servers_are_read_in_steps),
		IN_WORLD(slots_follow_the_weights),
		IN_WORLD(live_flows_are_counted_and_dead_ones_cleared),
		IN_WORLD(the_first_reading_comes_with_the_connection),
		IN_WORLD(any_operations_lead_where_the_model_says),
	};
	const char *reason = testing_prepare();

	if (reason)
		return testing_skip(reason);
	return cmocka_run_group_tests_name("xdp_driver", tests, NULL, NULL);
}
