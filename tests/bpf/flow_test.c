/* SPDX-License-Identifier: Apache-2.0 */
/* Which server a packet gets: table, flow table, flush, drain, timeout, floods, counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "tests/bpf/lab.h"

#define VIP4 "198.51.100.10"
#define VIP6 "2001:db8:100::10"
#define SERVERS 8

static struct lab lab;
static uint32_t vip, servers[SERVERS];

/* One VIP with eight servers, each with an eighth of the table. */
static int reset(void **state)
{
	char text[32];

	lab_reset(&lab);
	vip = lab_add_vip(&lab, VIP4, IPPROTO_TCP, 80);
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(text, sizeof(text), "10.0.11.%u", i + 2);
		servers[i] = lab_add_server(&lab, vip, text);
	}
	lab_set_table(&lab, vip, servers, SERVERS);
	return 0;
}

static struct frame_spec flow(unsigned port)
{
	return (struct frame_spec){ .source = "192.0.2.77",
				    .destination = VIP4,
				    .protocol = IPPROTO_TCP,
				    .source_port = (uint16_t)port,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true };
}

static uint32_t server_of(unsigned port)
{
	struct frame_spec spec = flow(port);

	return lab_server_of(&lab, &spec);
}

/* The server that has the whole table takes what is new. */
static void give_table_to(uint32_t server)
{
	lab_set_table(&lab, vip, &server, 1);
}

static uint32_t another_than(uint32_t server)
{
	return server == servers[0] ? servers[1] : servers[0];
}

/*
 * The hash is a contract between balancers of different releases. These are the servers (eighths
 * of the table) of golden flows; a change here breaks mixed groups of balancers.
 */
static void the_choice_for_a_new_flow_never_changes_between_releases(void **state)
{
	static const uint8_t golden[] = { 6, 6, 1, 5, 7, 4, 1, 5, 4, 2, 5, 2, 6, 0, 2, 5 };

	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++)
		assert_int_equal(server_of(1000 + i) - servers[0], golden[i]);
}

/* Another boot has another seed, and other things in its flow table. */
static void two_balancers_agree_on_new_flows(void **state)
{
	uint32_t first[200];

	for (unsigned i = 0; i < ARRAY_SIZE(first); i++)
		first[i] = server_of(2000 + i);
	memset(lab.flows, 0, LAB_BUCKETS * sizeof(*lab.flows));
	lab.config->seed[0] = 77;
	lab.config->seed[1] = 78;
	for (unsigned i = ARRAY_SIZE(first); i-- > 0;)
		assert_int_equal(server_of(2000 + i), first[i]);
}

static void new_flows_are_spread_as_the_table_is(void **state)
{
	unsigned got[SERVERS] = { 0 };
	unsigned n = 8000;

	for (unsigned i = 0; i < n; i++)
		got[server_of(10000 + i) - servers[0]]++;
	for (unsigned i = 0; i < SERVERS; i++)
		assert_in_range(got[i], n / SERVERS * 85 / 100, n / SERVERS * 115 / 100);
}

static void a_flow_stays_when_the_table_changes(void **state)
{
	uint32_t server = server_of(5000);

	give_table_to(another_than(server));
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(server_of(5000), server);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 1);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 5);
}

static void a_drained_server_keeps_its_flows_and_gets_no_new_ones(void **state)
{
	uint32_t server = server_of(5000);

	give_table_to(another_than(server));
	assert_int_equal(server_of(5000), server);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(server_of(6000 + i), another_than(server));
	assert_int_equal(server_of(5000), server);
}

static void without_a_table_known_flows_go_on_and_new_ones_are_dropped(void **state)
{
	uint32_t server = server_of(5000);

	lab_set_table(&lab, vip, NULL, 0);
	assert_int_equal(server_of(5000), server);
	assert_int_equal(server_of(5001), 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NO_SERVER), 1);
	assert_int_equal(lab_events(&lab, ABI_DROP_NO_SERVER), 1);
	assert_int_equal(lab_count_flows(&lab), 1);
}

static void a_flush_moves_the_flows_of_that_server_only(void **state)
{
	uint32_t before[100], flushed = servers[3];

	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		before[i] = server_of(7000 + i);
	give_table_to(servers[0]);
	lab.servers[flushed].generation++;
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		assert_int_equal(server_of(7000 + i),
				 before[i] == flushed ? servers[0] : before[i]);
}

static void a_flushed_flow_is_known_again_at_once(void **state)
{
	uint32_t server = server_of(5000);

	lab.servers[server].generation++;
	assert_int_equal(server_of(5000), server);
	give_table_to(another_than(server));
	assert_int_equal(server_of(5000), server);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 2);
	assert_int_equal(lab_count_flows(&lab), 1);
}

static void a_removed_server_loses_its_flows(void **state)
{
	uint32_t server = server_of(5000), other = another_than(server);

	give_table_to(other);
	lab.servers[server].generation++;
	lab.servers[server].vip = 0;
	assert_int_equal(server_of(5000), other);
}

/* A packet that comes late, with a table that is not its VIP's any more. */
static void a_server_of_another_vip_is_no_server(void **state)
{
	uint32_t other = lab_add_vip(&lab, "198.51.100.11", IPPROTO_TCP, 80);
	uint32_t stranger = lab_add_server(&lab, other, "10.0.11.99");

	give_table_to(stranger);
	assert_int_equal(server_of(5000), 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NO_SERVER), 1);
}

static void a_flow_lives_for_the_timeout(void **state)
{
	uint32_t server = server_of(5000);

	give_table_to(another_than(server));
	lab_age(lab_only_flow(&lab), lab.flow_timeout - 1);
	assert_int_equal(server_of(5000), server);
	/* and was stamped again */
	lab_age(lab_only_flow(&lab), lab.flow_timeout - 1);
	assert_int_equal(server_of(5000), server);
}

static void a_flow_past_the_timeout_is_new(void **state)
{
	uint32_t server = server_of(5000);

	give_table_to(another_than(server));
	lab_age(lab_only_flow(&lab), lab.flow_timeout + 1);
	assert_int_equal(server_of(5000), another_than(server));
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 2);
	assert_int_equal(lab_count_flows(&lab), 1);
}

/* Two CPUs do not turn the page of the clock at the same instant. */
static void a_flow_from_a_tick_ahead_is_alive(void **state)
{
	uint32_t server = server_of(5000);

	give_table_to(another_than(server));
	lab_age(lab_only_flow(&lab), (unsigned)-1);
	assert_int_equal(server_of(5000), server);
}

static void a_stored_flow_is_what_the_abi_says(void **state)
{
	uint32_t server = server_of(5000);
	uint64_t first = *lab_only_flow(&lab);

	assert_int_equal(ABI_FLOW_AS(first), server);
	assert_int_equal(ABI_FLOW_GENERATION(first), lab.servers[server].generation);
	assert_false(first & ABI_FLOW_CONFIRMED);
	server_of(5000);
	assert_true(*lab_only_flow(&lab) & ABI_FLOW_CONFIRMED);
	assert_int_equal(ABI_FLOW_TAG(*lab_only_flow(&lab)), ABI_FLOW_TAG(first));
}

/* All flows in one bucket: the first eight are seen twice, and then nothing moves them. */
static void a_flood_never_evicts_what_was_seen_twice(void **state)
{
	uint32_t kept[ABI_BUCKET_FLOWS];

	lab.config->flow_mask = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++) {
		kept[i] = server_of(3000 + i);
		server_of(3000 + i);
	}
	give_table_to(servers[0]);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(server_of(20000 + i), servers[0]);
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++)
		assert_int_equal(server_of(3000 + i), kept[i]);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED), 3000);
	assert_int_equal(lab_events(&lab, ABI_NOTE_EVICTED), 0);
}

static void a_flood_evicts_only_flows_of_one_packet(void **state)
{
	uint32_t kept;

	lab.config->flow_mask = 0;
	kept = server_of(3000);
	server_of(3000);
	for (unsigned i = 0; i < 1000; i++)
		server_of(20000 + i);
	assert_int_equal(lab_events(&lab, ABI_NOTE_EVICTED), 1000 - (ABI_BUCKET_FLOWS - 1));
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED), 0);
	give_table_to(another_than(kept));
	assert_int_equal(server_of(3000), kept);
}

static void the_oldest_flow_of_one_packet_goes_first(void **state)
{
	uint32_t kept[ABI_BUCKET_FLOWS];

	lab.config->flow_mask = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++)
		kept[i] = server_of(3000 + i);
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++)
		lab_age((uint64_t *)&lab.flows[0].flow[i], i == 2 ? 9 : 5);
	server_of(20000);
	give_table_to(servers[0]);
	assert_int_equal(lab_events(&lab, ABI_NOTE_EVICTED), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(kept); i++) {
		if (i != 2)
			assert_int_equal(server_of(3000 + i), kept[i]);
	}
	assert_int_equal(server_of(3002), servers[0]);
}

static void a_dead_flow_gives_its_place_even_if_seen_twice(void **state)
{
	lab.config->flow_mask = 0;
	for (unsigned i = 0; i < ABI_BUCKET_FLOWS; i++) {
		server_of(3000 + i);
		server_of(3000 + i);
	}
	lab_age((uint64_t *)&lab.flows[0].flow[5], lab.flow_timeout + 1);
	server_of(20000);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), ABI_BUCKET_FLOWS + 1);
	assert_int_equal(lab_events(&lab, ABI_NOTE_EVICTED), 0);
}

static struct frame_spec opening(unsigned port)
{
	struct frame_spec spec = flow(port);

	spec.opens = true;
	return spec;
}

/* The second packet is; it has the same choice, as long as the table stays. */
static void past_the_limit_an_opening_packet_is_not_stored(void **state)
{
	struct frame_spec spec = opening(5000);
	uint32_t server;

	lab_settings(&lab)->new_flows = 0;
	server = lab_server_of(&lab, &spec);
	assert_int_equal(lab_count_flows(&lab), 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED), 1);
	assert_int_equal(server_of(5000), server);
	assert_int_equal(lab_count_flows(&lab), 1);
	give_table_to(another_than(server));
	assert_int_equal(server_of(5000), server);
}

/* In one quarter of a tick on one CPU; the test may see a few of them. */
static void a_flood_of_opening_packets_is_stored_up_to_the_limit(void **state)
{
	unsigned n = 500;

	lab_settings(&lab)->new_flows = 10;
	for (unsigned i = 0; i < n; i++) {
		struct frame_spec spec = opening(20000 + i);

		assert_int_not_equal(lab_server_of(&lab, &spec), 0);
	}
	assert_true(lab_count_flows(&lab) >= 10);
	assert_true(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED) > 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED) +
				 lab_vip_packets(&lab, vip, ABI_KIND_FIRST),
			 n);
}

static void below_the_limit_an_opening_packet_is_stored(void **state)
{
	struct frame_spec spec = opening(5000);
	uint32_t server = lab_server_of(&lab, &spec);

	give_table_to(another_than(server));
	assert_int_equal(lab_server_of(&lab, &spec), server);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 1);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 1);
}

/* The client uses the port of a known flow again, and the table does not name its server. */
static void an_opening_packet_leaves_a_drained_server(void **state)
{
	struct frame_spec spec = opening(5000);
	uint32_t server = lab_server_of(&lab, &spec), other = another_than(server);

	lab.servers[server].weight = 0;
	give_table_to(other);
	assert_int_equal(server_of(5000), server);
	assert_int_equal(lab_server_of(&lab, &spec), other);
	assert_int_equal(server_of(5000), other);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 2);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 2);
	assert_int_equal(lab_count_flows(&lab), 1);
}

/* It is a retransmission, or the client uses the port again: both stay. */
static void a_repeated_opening_packet_stays_on_a_server_with_weight(void **state)
{
	struct frame_spec spec = opening(5000);
	uint32_t server = lab_server_of(&lab, &spec);

	lab.servers[server].weight = 1;
	give_table_to(another_than(server));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(lab_server_of(&lab, &spec), server);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 3);
}

/* Nobody takes new connections: the packet is dropped, and the flow is not refreshed by it. */
static void an_opening_packet_finds_no_server_when_all_are_drained(void **state)
{
	struct frame_spec spec = opening(5000);
	uint32_t server = lab_server_of(&lab, &spec);
	uint64_t before;

	lab.servers[server].weight = 0;
	lab_set_table(&lab, vip, NULL, 0);
	lab_age(lab_only_flow(&lab), 5);
	before = *lab_only_flow(&lab);
	assert_int_equal(lab_server_of(&lab, &spec), 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NO_SERVER), 1);
	assert_true(*lab_only_flow(&lab) == before);
	assert_int_equal(server_of(5000), server);
}

/* As many keys as fit in sight of one home; they push each other aside. */
static void vips_that_share_a_home_are_all_found(void **state)
{
	struct frame_spec spec = flow(5000);
	uint32_t by_port[ABI_VIP_PROBES - 1];

	lab_reset(&lab);
	lab.config->vip_mask = ABI_VIP_PROBES - 1;
	for (unsigned i = 0; i < ARRAY_SIZE(by_port); i++) {
		uint32_t server;

		by_port[i] = lab_add_vip(&lab, VIP4, IPPROTO_TCP, (uint16_t)(80 + i));
		server = lab_add_server(&lab, by_port[i], "10.0.11.2");
		lab_set_table(&lab, by_port[i], &server, 1);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(by_port); i++) {
		spec.destination_port = (uint16_t)(80 + i);
		assert_int_not_equal(lab_server_of(&lab, &spec), 0);
		assert_int_equal(lab_vip_packets(&lab, by_port[i], ABI_KIND_FIRST), 1);
	}
}

/* The one behind it is found still. */
static void a_vip_that_is_gone_is_not_in_the_way(void **state)
{
	struct frame_spec spec = flow(5000);
	uint32_t gone = 0;

	lab.config->vip_mask = ABI_VIP_PROBES - 1;
	memset(lab.cells, 0, lab.cells_map.entries * sizeof(*lab.cells));
	for (unsigned i = 0; i < ABI_VIP_PROBES - 1; i++)
		lab_add_one(&lab, VIP4, IPPROTO_TCP, (uint16_t)(80 + i), "10.0.11.2");
	for (unsigned i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip_cell *cell = &lab.cells[i];

		if (cell->key.port != htons(86) && cell->vip != ABI_CELL_BY_PORT) {
			cell->vip = ABI_CELL_GONE;
			gone++;
		}
	}
	assert_int_equal(gone, ABI_VIP_PROBES - 2);
	assert_int_equal(lab_server_of(&lab, &spec), 0);
	spec.destination_port = 86;
	assert_int_not_equal(lab_server_of(&lab, &spec), 0);
}

/* Same source address, any port: one server; not so without the flag. */
static void a_sticky_vip_goes_by_source_address_alone(void **state)
{
	uint32_t server;
	bool differs = false;

	lab.vips[vip].flags = ABI_VIP_SRC_STICKY;
	server = server_of(1);
	for (unsigned i = 2; i < 200; i++)
		assert_int_equal(server_of(i), server);
	lab.vips[vip].flags = 0;
	for (unsigned i = 200; i < 400; i++)
		differs |= server_of(i) != server;
	assert_true(differs);
}

static void a_sticky_vip_spreads_sources(void **state)
{
	unsigned got[SERVERS] = { 0 };
	char text[32];

	lab.vips[vip].flags = ABI_VIP_SRC_STICKY;
	for (unsigned i = 0; i < 4000; i++) {
		struct frame_spec spec = flow(1024);

		snprintf(text, sizeof(text), "192.0.%u.%u", i / 250, i % 250 + 1);
		spec.source = text;
		got[lab_server_of(&lab, &spec) - servers[0]]++;
	}
	for (unsigned i = 0; i < SERVERS; i++)
		assert_in_range(got[i], 4000 / SERVERS * 8 / 10, 4000 / SERVERS * 12 / 10);
}

/* On two ports of one address the same flow is two flows. */
static void flows_of_two_vips_do_not_mix(void **state)
{
	uint32_t other = lab_add_vip(&lab, VIP4, IPPROTO_TCP, 443);
	uint32_t server = lab_add_server(&lab, other, "10.0.11.99");
	struct frame_spec spec = flow(5000);

	lab_set_table(&lab, other, &server, 1);
	server_of(5000);
	spec.destination_port = 443;
	assert_int_equal(lab_server_of(&lab, &spec), server);
	assert_int_equal(lab_count_flows(&lab), 2);
}

static void counters_count_packets_and_bytes(void **state)
{
	struct frame_spec spec = flow(5000);
	uint32_t server = lab_server_of(&lab, &spec);

	spec.payload = 60;
	spec.padding = 10;
	assert_int_equal(lab_server_of(&lab, &spec), server);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 1);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 1);
	assert_int_equal(lab_vip_bytes(&lab, vip), 40 + 100);
	assert_int_equal(lab_server_packets(&lab, server), 2);
	assert_int_equal(lab_server_bytes(&lab, server), 40 + 100);
	assert_int_equal(lab_all_events(&lab), 0);
}

static void ipv6_flows_are_remembered_too(void **state)
{
	uint32_t other = lab_add_vip(&lab, VIP6, IPPROTO_UDP, 53), got[2];
	uint32_t two[] = { lab_add_server(&lab, other, "2001:db8:11::2"),
			   lab_add_server(&lab, other, "2001:db8:11::3") };
	struct frame_spec spec = { .source = "2001:db8:77::1",
				   .destination = VIP6,
				   .protocol = IPPROTO_UDP,
				   .source_port = 999,
				   .destination_port = 53,
				   .ttl = 61 };

	lab_set_table(&lab, other, two, 2);
	got[0] = lab_server_of(&lab, &spec);
	lab_set_table(&lab, other, got[0] == two[0] ? &two[1] : &two[0], 1);
	assert_int_equal(lab_server_of(&lab, &spec), got[0]);
	spec.source_port = 1000;
	assert_int_not_equal(lab_server_of(&lab, &spec), got[0]);
}

/* All fragments of a packet meet at one server, and leave nothing behind. */
static void fragments_to_an_all_port_vip_meet(void **state)
{
	struct frame_spec spec = flow(5000);
	uint32_t all = lab_add_vip(&lab, "198.51.100.12", 0, 0), server;

	for (unsigned i = 0; i < SERVERS; i++)
		lab.servers[servers[i]].vip = all;
	lab_set_table(&lab, all, servers, SERVERS);
	spec.destination = "198.51.100.12";
	spec.protocol = IPPROTO_UDP;
	spec.fragment = 0x2000;
	spec.df = false;
	server = lab_server_of(&lab, &spec);
	assert_int_not_equal(server, 0);
	for (unsigned i = 1; i < 50; i++) {
		spec.fragment = (uint16_t)(i | (i < 49 ? 0x2000 : 0));
		spec.source_port = (uint16_t)(i * 999); /* what stands there is payload */
		assert_int_equal(lab_server_of(&lab, &spec), server);
	}
	assert_int_equal(lab_vip_packets(&lab, all, ABI_KIND_UNTRACKED), 50);
	assert_int_equal(lab_count_flows(&lab), 0);
}

static void fragments_to_a_vip_by_port_are_dropped(void **state)
{
	struct frame_spec spec = flow(5000);
	struct frame_spec six = { .source = "2001:db8:77::1",
				  .destination = VIP6,
				  .protocol = IPPROTO_UDP,
				  .ttl = 61,
				  .fragment = 0x0001,
				  .extensions = { IPPROTO_FRAGMENT },
				  .n_extensions = 1 };
	struct frame in, out;

	lab_add_vip(&lab, VIP6, IPPROTO_UDP, 53);
	spec.df = false;
	spec.fragment = 0x2000;
	frame_build(&spec, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
	spec.fragment = 3;
	frame_build(&spec, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
	frame_build(&six, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
	assert_int_equal(lab_events(&lab, ABI_DROP_FRAGMENT), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_choice_for_a_new_flow_never_changes_between_releases,
				       reset),
		cmocka_unit_test_setup(two_balancers_agree_on_new_flows, reset),
		cmocka_unit_test_setup(new_flows_are_spread_as_the_table_is, reset),
		cmocka_unit_test_setup(a_flow_stays_when_the_table_changes, reset),
		cmocka_unit_test_setup(a_drained_server_keeps_its_flows_and_gets_no_new_ones,
				       reset),
		cmocka_unit_test_setup(without_a_table_known_flows_go_on_and_new_ones_are_dropped,
				       reset),
		cmocka_unit_test_setup(a_flush_moves_the_flows_of_that_server_only, reset),
		cmocka_unit_test_setup(a_flushed_flow_is_known_again_at_once, reset),
		cmocka_unit_test_setup(a_removed_server_loses_its_flows, reset),
		cmocka_unit_test_setup(a_server_of_another_vip_is_no_server, reset),
		cmocka_unit_test_setup(a_flow_lives_for_the_timeout, reset),
		cmocka_unit_test_setup(a_flow_past_the_timeout_is_new, reset),
		cmocka_unit_test_setup(a_flow_from_a_tick_ahead_is_alive, reset),
		cmocka_unit_test_setup(a_stored_flow_is_what_the_abi_says, reset),
		cmocka_unit_test_setup(a_flood_never_evicts_what_was_seen_twice, reset),
		cmocka_unit_test_setup(a_flood_evicts_only_flows_of_one_packet, reset),
		cmocka_unit_test_setup(the_oldest_flow_of_one_packet_goes_first, reset),
		cmocka_unit_test_setup(a_dead_flow_gives_its_place_even_if_seen_twice, reset),
		cmocka_unit_test_setup(past_the_limit_an_opening_packet_is_not_stored, reset),
		cmocka_unit_test_setup(a_flood_of_opening_packets_is_stored_up_to_the_limit, reset),
		cmocka_unit_test_setup(below_the_limit_an_opening_packet_is_stored, reset),
		cmocka_unit_test_setup(an_opening_packet_leaves_a_drained_server, reset),
		cmocka_unit_test_setup(a_repeated_opening_packet_stays_on_a_server_with_weight,
				       reset),
		cmocka_unit_test_setup(an_opening_packet_finds_no_server_when_all_are_drained,
				       reset),
		cmocka_unit_test_setup(vips_that_share_a_home_are_all_found, reset),
		cmocka_unit_test_setup(a_vip_that_is_gone_is_not_in_the_way, reset),
		cmocka_unit_test_setup(a_sticky_vip_goes_by_source_address_alone, reset),
		cmocka_unit_test_setup(a_sticky_vip_spreads_sources, reset),
		cmocka_unit_test_setup(flows_of_two_vips_do_not_mix, reset),
		cmocka_unit_test_setup(counters_count_packets_and_bytes, reset),
		cmocka_unit_test_setup(ipv6_flows_are_remembered_too, reset),
		cmocka_unit_test_setup(fragments_to_an_all_port_vip_meet, reset),
		cmocka_unit_test_setup(fragments_to_a_vip_by_port_are_dropped, reset),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
