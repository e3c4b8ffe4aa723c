/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, new maps for other sizes, and two balancers that agree.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevd/dataplane/xdp/testkit.h"
#include "src/maglevd/testing.h"

static const struct world_config usual;

static void start_with_www(struct world *w, const struct world_config *c)
{
	world_start(w, c);
	world_wait_up(w);
	world_make_www(w);
}

static void wait_remade(struct world *w)
{
	world_wait_log(w, "xdp-remade");
	world_forget_log(w);
	world_forget_maps(w);
}

static void drain_first(struct world *w)
{
	const struct lb_op drain = op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", 0);

	world_do(w, &drain, 1);
}

static void check_www(struct world *w)
{
	world_observe(w);
	assert_true(w->state.has_conf);
	assert_int_equal(w->state.vips.n, 1);
	assert_int_equal(w->state.vips.items[0].as.n, 2);
	assert_int_equal(w->state.vips.items[0].as.items[0].weight, 0);
	world_check_tables(w);
}

static void another_table_size_keeps_flows(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 65537 };
	unsigned flow;

	start_with_www(w, &usual);
	flow = world_open_flow(w);
	drain_first(w);
	world_reconfigure(w, &larger);
	wait_remade(w);
	assert_int_equal(world_flow_server(w, flow), 1);
	assert_int_equal(w->maps.sizes.table_size, 65537);
	check_www(w);
	assert_int_equal(w->downs, 0);
}

static void another_flow_table_forgets_flows_and_nothing_else(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .flows = 100000 };
	unsigned flow;

	start_with_www(w, &usual);
	flow = world_open_flow(w);
	drain_first(w);
	world_reconfigure(w, &larger);
	wait_remade(w);
	assert_int_equal(world_flow_server(w, flow), 2);
	assert_int_equal(w->maps.sizes.buckets, 16384);
	check_www(w);
}

static void more_frontends_make_more_room(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .frontends = 300 };
	uint64_t packets = 0;
	unsigned flow;

	start_with_www(w, &usual);
	flow = world_open_flow(w);
	drain_first(w);
	world_reconfigure(w, &larger);
	wait_remade(w);
	assert_int_equal(world_flow_server(w, flow), 1);
	assert_true(w->maps.sizes.vips > 300 && w->maps.sizes.servers > 1200);
	check_www(w);
	for (uint32_t i = 1; i < w->maps.sizes.vips; i++) {
		uint64_t words[ABI_KINDS];

		xdplb__maps_sum(&w->maps, PLANE_VIP_COUNTS, i, words, ABI_KINDS);
		packets += words[ABI_KIND_FIRST];
	}
	assert_true(packets > 0); /* counted before the new maps were created */
	world_forget_log(w);
	world_reconfigure(w, &usual); /* smaller: the maps stay */
	testing_pass(w->loop, 0.2);
	assert_false(world_logged(w, "xdp-remade"));
}

static void sizes_that_changed_over_a_restart_are_taken_on(void **state)
{
	struct world *w = *state;
	const struct world_config other = { .table_size = 2003 };
	unsigned flow;

	start_with_www(w, &usual);
	flow = world_open_flow(w);
	drain_first(w);
	world_stop(w);
	world_start(w, &other);
	wait_remade(w);
	world_wait_up(w);
	assert_int_equal(world_flow_server(w, flow), 1);
	check_www(w);
}

/* Served by the old maps while the new ones are loaded, and by the new ones after that. */
static void requests_go_on_meanwhile(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 65537 };
	unsigned served = 0;

	start_with_www(w, &usual);
	world_reconfigure(w, &larger);
	for (; !world_logged(w, "xdp-remade"); served++) {
		const struct lb_op op =
			op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.2", served % 2 ? 100 : 50);

		world_do(w, &op, 1);
	}
	assert_true(served > 1);
	drain_first(w);
	world_forget_maps(w);
	check_www(w);
}

/* A request is applied to the old maps after the new ones were created. */
static void settings_that_change_meanwhile_are_those_of_the_new_maps(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 65537 };
	const struct lb_op conf = op_conf(77);

	start_with_www(w, &usual);
	world_reconfigure(w, &larger);
	world_do(w, &conf, 1);
	assert_false(world_logged(w, "xdp-remade"));
	wait_remade(w);
	world_observe(w);
	assert_int_equal(w->state.conf.flow_timeout_s, 77);
}

/* A request waits for tables until the new maps are loaded; no other request follows it. */
static void new_maps_take_over_when_the_request_under_way_is_done(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 65537 };
	struct lb_op ops[80];

	for (unsigned i = 0; i < ARRAY_SIZE(ops); i += 2) {
		ops[i] = op_conf(40);
		ops[i + 1] = op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", i % 4 ? 100 : 50);
	}
	start_with_www(w, &usual);
	world_reconfigure(w, &larger);
	world_do(w, ops, ARRAY_SIZE(ops));
	wait_remade(w);
}

/* The servers are in the new maps, but their table is not. */
static bool is_remaking(void *user)
{
	const struct world *w = user;
	struct xdp_map map;
	struct abi_as server = { 0 };
	char path[128];
	bool found = false;

	snprintf(path, sizeof(path), "%s/next/%s", w->pin, ABI_MAP_SERVERS);
	if (xdp_map_open(path, &map) < 0)
		return false;
	for (uint32_t id = 1; id < map.entries && !found; id++)
		found = xdp_map_read(&map, &id, &server) == 0 && server.vip;
	xdp_map_close(&map);
	return found;
}

static void an_interface_that_goes_meanwhile_costs_no_table(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 655373 };

	start_with_www(w, &usual);
	world_reconfigure(w, &larger);
	assert_true(testing_wait(w->loop, is_remaking, w));
	testing_run("ip link del d0");
	world_reconfigure(w, &larger); /* checks immediately */
	world_wait_down(w);
	wait_remade(w);
	testing_run("ip link add d0 type veth peer name d1 && ip link set d0 up");
	world_wait_up(w);
	world_check_tables(w);
}

static void what_an_interrupted_remake_has_left_is_cleaned_up(void **state)
{
	struct world *w = *state;
	char next[128];
	struct xdplb_why why;

	start_with_www(w, &usual);
	drain_first(w);
	snprintf(next, sizeof(next), "%s/next", w->pin);
	world_share(w, world_www(), "10.0.0.1");
	assert_int_equal(xdplb__maps_pin(&w->maps, next, &why), 0);
	world_stop(w);
	world_start(w, &usual);
	world_wait_up(w);
	assert_int_equal(access(next, F_OK), -1);
	check_www(w);
}

/* A maglevd that ended before the first maps had their final name, or their contents. */
static void what_an_interrupted_start_has_left_is_cleaned_up(void **state)
{
	struct world *w = *state;
	char maps[128], next[128];

	start_with_www(w, &usual);
	world_share(w, world_www(), "10.0.0.1");
	w->maps.config->layout = 0;
	world_stop(w);
	snprintf(maps, sizeof(maps), "%s/maps", w->pin);
	snprintf(next, sizeof(next), "%s/next", w->pin);
	assert_int_equal(rename(maps, next), 0);
	world_start(w, &usual);
	world_wait_up(w);
	assert_int_equal(access(next, F_OK), -1);
	world_forget_maps(w);
	world_make_www(w);
	world_check_tables(w);
}

/* The new maps replace the old ones in one step, whatever happens to the old ones. */
static void there_are_maps_at_any_time(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 2003 };
	char maps[128], stranger[128];

	start_with_www(w, &usual);
	snprintf(maps, sizeof(maps), "%s/maps", w->pin);
	snprintf(stranger, sizeof(stranger), "%s/maps/stranger", w->pin);
	assert_int_equal(mkdir(stranger, 0700), 0); /* the old folder cannot be removed */
	world_reconfigure(w, &larger);
	wait_remade(w);
	assert_null(xdplb__maps_unpinned(maps));
	snprintf(stranger, sizeof(stranger), "%s/next/stranger", w->pin);
	assert_int_equal(rmdir(stranger), 0);
}

static void what_could_not_be_made_again_is_tried_again(void **state)
{
	struct world *w = *state;
	const struct world_config larger = { .table_size = 2003 };
	char next[128], obstacle[128];

	start_with_www(w, &usual);
	snprintf(next, sizeof(next), "%s/next", w->pin);
	snprintf(obstacle, sizeof(obstacle), "%s/next/%s", w->pin, ABI_MAP_CONFIG);
	assert_int_equal(mkdir(next, 0700), 0);
	assert_int_equal(mkdir(obstacle, 0700), 0);
	world_reconfigure(w, &larger);
	world_wait_log(w, "xdp-remake-failed");
	assert_int_equal(rmdir(obstacle), 0);
	wait_remade(w);
	world_check_tables(w);
	assert_int_equal(w->maps.sizes.table_size, 2003);
}

static void a_large_table_is_built_in_slices(void **state)
{
	struct world *w = *state;
	const struct world_config largest = { .table_size = 5000011, .frontends = 1 };
	struct lb_op ops[3];

	world_start(w, &largest);
	world_wait_up(w);
	ops[0] = op_conf(40);
	ops[1] = op_vip(LB_OP_VIP_ADD, WORLD_VIP, 80);
	ops[2] = op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.1", 1);
	world_do(w, ops, ARRAY_SIZE(ops));
	assert_int_equal(world_share(w, world_www(), "10.0.0.1"), 100);
}

static size_t mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Mapping all of them took the loop too long: 10 ms for 1,000 VIPs. */
static void tables_are_mapped_one_by_one(void **state)
{
	struct world *w = *state;
	const struct world_config largest = { .table_size = 5000011, .frontends = 1 };
	size_t before = mapped();

	world_start(w, &largest);
	world_wait_up(w);
	assert_true(mapped() < before + (32 << 20)); /* there are ten tables of 10 MB */
}

/* ---- limits ---- */

static void too_much_is_told_with_the_limit(void **state)
{
	struct world *w = *state;
	int r = 0;

	start_with_www(w, &usual);
	for (unsigned i = 0; i < 200 && r == 0; i++) {
		char server[32];
		struct lb_op op;

		snprintf(server, sizeof(server), "10.0.1.%u", i);
		op = op_as(LB_OP_AS_ADD, WORLD_VIP, 80, server, 0);
		r = world_apply(w, &op, 1);
	}
	assert_int_equal(r, -ENOSPC);
	assert_true(world_logged(w, "\"limit\":\"servers\""));
	world_check_tables(w);
}

static void too_many_vips_are_told_with_the_limit(void **state)
{
	struct world *w = *state;
	int r = 0;

	world_start(w, &usual);
	world_wait_up(w);
	for (unsigned i = 1; i < 200 && r == 0; i++) {
		const struct lb_op op = op_vip(LB_OP_VIP_ADD, WORLD_VIP, i);

		r = world_apply(w, &op, 1);
	}
	assert_int_equal(r, -ENOSPC);
	assert_true(world_logged(w, "\"limit\":\"VIPs\""));
}

/* All tables except one may be resting: a change waits, and does not fail. */
static void many_changes_in_a_second_wait_for_tables(void **state)
{
	struct world *w = *state;

	start_with_www(w, &usual);
	for (unsigned i = 0; i < 40; i++) {
		const struct lb_op op =
			op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", i % 2 ? 100 : 50);

		world_do(w, &op, 1);
	}
	world_check_tables(w);
}

/* Cells of removed VIPs are used again, and the other VIPs are found all the time. */
static void vips_come_and_go_beside_each_other(void **state)
{
	struct world *w = *state;

	start_with_www(w, &usual);
	for (unsigned i = 0; i < 150; i++) {
		const struct lb_op ops[] = { op_vip(LB_OP_VIP_ADD, WORLD_VIP, 1000 + i % 50),
					     op_vip(LB_OP_VIP_DEL, WORLD_VIP, 1000 + i % 50) };

		world_do(w, ops, ARRAY_SIZE(ops));
	}
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 1);
}

/* ---- two balancers ---- */

/* In different orders, with detours, and in two folders. */
static void two_balancers_send_the_same_packets_to_the_same_servers(void **state)
{
	struct world *w = *state, *other = NULL;
	const struct world_config c = { .table_size = 65537 };
	const struct world_config elsewhere = { .table_size = 65537, .interfaces = "d1" };
	const struct lb_op forth[] = {
		op_conf(40),
		op_vip(LB_OP_VIP_ADD, WORLD_VIP, 80),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.1", 10),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.2", 20),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.3", 70),
	};
	const struct lb_op back[] = {
		op_vip(LB_OP_VIP_ADD, WORLD_VIP, 443),
		op_vip(LB_OP_VIP_ADD, WORLD_VIP, 80),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.3", 1),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.9", 100),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.2", 20),
		op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.3", 70),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.1", 10),
		op_as(LB_OP_AS_DEL, WORLD_VIP, 80, "10.0.0.9", 0),
		op_conf(40),
	};

	world_twin(w, &other);
	world_start(w, &c);
	world_start(other, &elsewhere);
	world_wait_up(w);
	world_wait_up(other);
	world_do(w, forth, ARRAY_SIZE(forth));
	world_do(other, back, ARRAY_SIZE(back));
	for (unsigned port = 1024; port < 3024; port++) {
		struct addr a = world_send(w, "203.0.113.7", world_www(), port, 2);
		struct addr b = world_send(other, "203.0.113.7", world_www(), port, 2);

		assert_true(addr_is_set(&a));
		assert_int_equal(addr_cmp(&a, &b), 0);
	}
	world_twin_free(other);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(another_table_size_keeps_flows),
		IN_WORLD(another_flow_table_forgets_flows_and_nothing_else),
		IN_WORLD(more_frontends_make_more_room),
		IN_WORLD(sizes_that_changed_over_a_restart_are_taken_on),
		IN_WORLD(requests_go_on_meanwhile),
		IN_WORLD(settings_that_change_meanwhile_are_those_of_the_new_maps),
		IN_WORLD(new_maps_take_over_when_the_request_under_way_is_done),
		IN_WORLD(an_interface_that_goes_meanwhile_costs_no_table),
		IN_WORLD(what_an_interrupted_remake_has_left_is_cleaned_up),
		IN_WORLD(what_an_interrupted_start_has_left_is_cleaned_up),
		IN_WORLD(there_are_maps_at_any_time),
		IN_WORLD(what_could_not_be_made_again_is_tried_again),
		IN_WORLD(a_large_table_is_built_in_slices),
		IN_WORLD(tables_are_mapped_one_by_one),
		IN_WORLD(too_much_is_told_with_the_limit),
		IN_WORLD(too_many_vips_are_told_with_the_limit),
		IN_WORLD(many_changes_in_a_second_wait_for_tables),
		IN_WORLD(vips_come_and_go_beside_each_other),
		IN_WORLD(two_balancers_send_the_same_packets_to_the_same_servers),
	};
	const char *reason = testing_prepare();

	if (reason)
		return testing_skip(reason);
	return cmocka_run_group_tests_name("xdp_sizes", tests, NULL, NULL);
}
