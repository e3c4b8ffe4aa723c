/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of layout 1, as a maglevd before layout 2 has left them, are taken over with all flows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <net/if.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/maglevd/dataplane/xdp/testkit.h"
#include "src/maglevd/testing.h"

#define OTHER_VIP "198.51.100.11"

static const struct world_config usual;

/* Layout 1, as its header had it. */
struct as1 {
	__u32 address[4];
	__u32 vip;
	__u8 family, generation, weight, flags;
	__u32 reserved[2];
};

struct as1_local {
	__u64 packets, bytes, rest[5];
};

static struct xdp_map make_map(uint32_t type, uint32_t value_size, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr = { .map_type = type,
				.key_size = sizeof(uint32_t),
				.value_size = value_size,
				.max_entries = entries,
				.map_flags = flags };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	assert_true(fd >= 0);
	return (struct xdp_map){
		.fd = fd, .type = type, .key_size = 4, .value_size = value_size, .entries = entries
	};
}

/* The pin of a map is that of another one from here on. */
static void put_pin(const struct world *w, const char *name, struct xdp_map *map)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/maps/%s", w->pin, name);
	unlink(path);
	if (!map)
		return;
	assert_int_equal(xdp_map_pin(map, path), 0);
	xdp_map_close(map);
}

static bool has_pin(const struct world *w, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/maps/%s", w->pin, name);
	return access(path, F_OK) == 0;
}

static void put_servers(const struct world *w, uint32_t entries)
{
	struct xdp_map map =
		make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct as1), entries, BPF_F_MMAPABLE);

	for (uint32_t id = 0; id < entries && id < w->maps.sizes.servers; id++) {
		const struct abi_as *s = &w->maps.servers[id];
		const struct abi_host *host = &w->maps.hosts[s->host];
		struct as1 old = { .vip = s->vip,
				   .family = host->family,
				   .generation = s->generation,
				   .weight = s->weight & ABI_AS_WEIGHT,
				   .flags = s->weight & ABI_AS_FLUSHED ? 1 : 0 };

		memcpy(old.address, host->address, sizeof(old.address));
		assert_int_equal(xdp_map_write(&map, &id, &old), 0);
	}
	put_pin(w, ABI_MAP_SERVERS, &map);
}

/* Counters as per-CPU values: the words of each CPU, followed by what the next hop was. */
static void put_counts(const struct world *w, enum xdplb_map from, const char *name, uint32_t size)
{
	uint32_t entries = from == PLANE_VIP_COUNTS ? w->maps.sizes.vips : w->maps.sizes.servers;
	struct xdp_map map = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, size, entries, 0);
	_cleanup_(cleanup_free) uint8_t *values = mem_zalloc(size * (size_t)xdp_cpus());

	for (uint32_t i = 0; i < entries; i++) {
		for (unsigned cpu = 0; cpu < xdp_cpus(); cpu++) {
			memset(values + cpu * size, 0xee, size);
			memcpy(values + cpu * size, xdplb__maps_counts(&w->maps, from, cpu, i),
			       w->maps.map[from].value_size);
		}
		assert_int_equal(xdp_map_write(&map, &i, values), 0);
	}
	put_pin(w, name, &map);
}

/* The pinned maps become what an older maglevd would have left in their place. */
static void make_old(struct world *w)
{
	put_servers(w, w->maps.sizes.servers);
	put_counts(w, PLANE_VIP_COUNTS, ABI_MAP_VIP_COUNTS, sizeof(struct abi_vip_counts));
	put_counts(w, PLANE_AS_COUNTS, "lb_as_local", sizeof(struct as1_local));
	put_pin(w, ABI_MAP_HOSTS, NULL);
	put_pin(w, ABI_MAP_AS_COUNTS, NULL);
	put_pin(w, ABI_MAP_HOPS, NULL);
	w->maps.config->layout = 1;
	w->maps.config->vips = w->maps.config->servers = 0;
	world_forget_maps(w);
}

static uint32_t program_on(const char *interface)
{
	struct xdp_device_state state;

	assert_int_equal(xdp_device_state(if_nametoindex(interface), &state), 0);
	return state.program;
}

/* A VIP with a drained server that has a flow, and another VIP with the same servers. */
static unsigned start_and_stop(struct world *w)
{
	const struct lb_op ops[] = {
		op_vip(LB_OP_VIP_ADD, OTHER_VIP, 443),
		op_as(LB_OP_AS_ADD, OTHER_VIP, 443, "10.0.0.2", 100),
		op_as(LB_OP_AS_ADD, OTHER_VIP, 443, "10.0.0.1", 50),
		op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", 0),
	};
	unsigned flow;

	world_start(w, &usual);
	world_wait_up(w);
	world_make_www(w);
	flow = world_open_flow(w);
	world_do(w, ops, ARRAY_SIZE(ops));
	assert_int_equal(world_flow_server(w, flow), 1);
	world_stop(w);
	return flow;
}

static uint64_t packets_of(struct world *w, enum xdplb_map map, uint32_t i, size_t word)
{
	uint64_t words[ABI_KINDS];

	xdplb__maps_sum(&w->maps, map, i, words, word + 1);
	return words[word];
}

static void layout_1_is_taken_over_with_flows_and_counters(void **state)
{
	struct world *w = *state;
	unsigned flow = start_and_stop(w);
	uint64_t first = packets_of(w, PLANE_VIP_COUNTS, 1, ABI_KIND_FIRST);
	uint64_t sent = packets_of(w, PLANE_AS_COUNTS, 1, 0);
	uint32_t before = program_on("d0");

	assert_true(first > 0 && sent > 0);
	make_old(w);
	world_forget_log(w);
	world_start(w, &usual);
	world_wait_up(w);
	assert_true(world_logged(w, "\"from\":1,\"to\":2"));
	assert_int_not_equal(program_on("d0"), before);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 2);
	assert_int_equal(w->state.vips.items[0].as.items[0].weight, 0);
	assert_int_equal(w->state.vips.items[0].as.items[1].weight, 100);
	assert_int_equal(w->state.vips.items[1].as.items[0].weight, 50);
	assert_int_equal(world_flow_server(w, flow), 1);
	world_check_tables(w);
	assert_int_equal(packets_of(w, PLANE_VIP_COUNTS, 1, ABI_KIND_FIRST), first);
	assert_int_equal(packets_of(w, PLANE_AS_COUNTS, 1, 0), sent + 1);
	assert_false(has_pin(w, "lb_as_local"));
	assert_true(has_pin(w, ABI_MAP_HOPS));
}

static void servers_of_two_vips_share_a_host_after_it(void **state)
{
	struct world *w = *state;
	const struct lb_op weigh = op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", 100);

	start_and_stop(w);
	make_old(w);
	world_start(w, &usual);
	world_wait_up(w);
	world_do(w, &weigh, 1);
	assert_in_range(world_share(w, world_www(), "10.0.0.1"), 30, 70);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(w->maps.servers[i].host, i == 1 || i == 4 ? 1 : 2);
}

static void what_was_flushed_is_known_after_it(void **state)
{
	struct world *w = *state;
	struct lb_op flush = op_as(LB_OP_AS_WEIGHT, WORLD_VIP, 80, "10.0.0.1", 0);
	unsigned flow;

	world_start(w, &usual);
	world_wait_up(w);
	world_make_www(w);
	flow = world_open_flow(w);
	flush.flush = true;
	world_do(w, &flush, 1);
	world_stop(w);
	make_old(w);
	world_start(w, &usual);
	world_wait_up(w);
	world_observe(w);
	assert_true(w->state.vips.items[0].as.items[0].flush);
	assert_int_equal(world_flow_server(w, flow), 2);
}

/* Only the flow table and the counters may be missing. */
static void a_missing_flow_table_costs_the_flows_and_nothing_else(void **state)
{
	struct world *w = *state;
	unsigned flow = start_and_stop(w);

	make_old(w);
	put_pin(w, ABI_MAP_FLOWS, NULL);
	put_pin(w, "lb_as_local", NULL);
	world_start(w, &usual);
	world_wait_up(w);
	world_observe(w);
	assert_int_equal(w->state.vips.n, 2);
	assert_int_equal(world_flow_server(w, flow), 2);
}

static void without_an_essential_map_everything_is_made_new(void **state)
{
	struct world *w = *state;

	start_and_stop(w);
	make_old(w);
	put_pin(w, ABI_MAP_VIPS, NULL);
	world_forget_log(w);
	world_start(w, &usual);
	world_wait_up(w);
	assert_true(world_logged(w, "the pin of lb_vips is gone"));
	assert_false(world_logged(w, "xdp-upgraded"));
	world_observe(w);
	assert_int_equal(w->state.vips.n, 0);
}

static void maps_that_do_not_belong_together_are_left_alone(void **state)
{
	struct world *w = *state;
	uint32_t program;

	start_and_stop(w);
	w->maps.config->flow_mask = 7;
	make_old(w);
	program = program_on("d0");
	world_start(w, &usual);
	world_wait_log(w, "do not belong together");
	assert_int_equal(w->ups, 0);
	assert_int_equal(program_on("d0"), program);
	assert_true(has_pin(w, "lb_as_local"));
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		IN_WORLD(layout_1_is_taken_over_with_flows_and_counters),
		IN_WORLD(servers_of_two_vips_share_a_host_after_it),
		IN_WORLD(what_was_flushed_is_known_after_it),
		IN_WORLD(a_missing_flow_table_costs_the_flows_and_nothing_else),
		IN_WORLD(without_an_essential_map_everything_is_made_new),
		IN_WORLD(maps_that_do_not_belong_together_are_left_alone),
	};
	const char *reason = testing_prepare();

	if (reason)
		return testing_skip(reason);
	return cmocka_run_group_tests_name("xdp_upgrade", tests, NULL, NULL);
}
