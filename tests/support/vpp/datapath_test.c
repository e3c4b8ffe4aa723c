/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the lb plugin distributes flows, forwards and counts, and which values it accepts, as
 * observed on a real VPP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/vpp/testkit.h"

/* ---- shares ---- */

static void slots_are_shared_by_weight(void **state)
{
	kit_have_two();
	assert_int_equal(kit_add_as(VIP, C, 50), 0);
	assert_int_equal(kit_buckets_of(VIP, A), 408);
	assert_int_equal(kit_buckets_of(VIP, B), 408);
	assert_int_equal(kit_buckets_of(VIP, C), 208);
	kit_set_weight(VIP, A, 1, false);
	kit_set_weight(VIP, B, 3, false);
	kit_set_weight(VIP, C, 0, false);
	assert_int_equal(kit_buckets_of(VIP, A), 256);
	assert_int_equal(kit_buckets_of(VIP, B), 768);
	assert_int_equal(kit_buckets_of(VIP, C), 0);
}

static void flows_follow_the_slots(void **state)
{
	unsigned got[3] = { 0 };

	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE4, 16384), 0);
	kit_add_as(VIP, A, 100);
	kit_add_as(VIP, B, 50);
	kit_add_as(VIP, C, 10);
	for (uint32_t flow = 0; flow < 900; flow++)
		got[kit_packet_to(TO, flow * 2654435761u)[7] - '1']++; /* 545, 305, 50 in VPP */
	assert_in_range(got[0], 500, 620);
	assert_in_range(got[1], 230, 340);
	assert_in_range(got[2], 25, 90);
}

static void have_25(uint32_t slots)
{
	char address[] = "10.0.1.a";

	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE6, slots), 0);
	for (unsigned i = 0; i < 25; i++) {
		snprintf(address, sizeof(address), "fd::%x", i + 1);
		assert_int_equal(kit_add_as(VIP, address, i < 12 ? 100 : 50), 0);
	}
}

static void weights_are_ignored_when_their_sum_exceeds_the_slots(void **state)
{
	have_25(1024);
	assert_int_equal(kit_buckets_of(VIP, "fd::1"), 41);
	assert_int_equal(kit_buckets_of(VIP, "fd::18"), 41);
}

static void a_larger_table_makes_the_weights_count(void **state)
{
	have_25(16384);
	assert_int_equal(kit_buckets_of(VIP, "fd::1"), 878);
	assert_int_equal(kit_buckets_of(VIP, "fd::18"), 450);
}

static void shares_do_not_depend_on_the_order_of_the_calls(void **state)
{
	const char *const vips[] = { "192.0.2.1/32", "192.0.2.2/32" };
	const uint32_t *first, *second;
	unsigned different = 0;

	for (unsigned v = 0; v < 2; v++) {
		assert_int_equal(kit_add_vip(vips[v], 80), 0);
		for (unsigned i = 0; i < 3; i++) {
			unsigned which = v ? 2 - i : i;
			char address[] = "10.0.0.1";

			address[7] = (char)('1' + which);
			assert_int_equal(kit_add_as(vips[v], address, (uint8_t)(30 * which + 10)),
					 0);
		}
	}
	first = plugin_table(&kit_plugin, 1);
	second = plugin_table(&kit_plugin, 2);
	for (uint32_t i = 0; i < SLOTS; i++)
		different += ip46_cmp(&kit_plugin.ass.items[first[i]].address,
				      &kit_plugin.ass.items[second[i]].address) != 0;
	assert_int_equal(different, 0);
}

static void the_table_has_as_many_slots_of_each_as_the_shares_say(void **state)
{
	uint32_t counts[64] = { 0 };
	const uint32_t *table;

	have_25(1024);
	table = plugin_table(&kit_plugin, 1);
	for (uint32_t i = 0; i < 1024; i++)
		counts[table[i]]++;
	assert_int_equal(counts[1], kit_buckets_of(VIP, "fd::1"));
	assert_int_equal(counts[25], kit_buckets_of(VIP, "fd::19"));
	assert_int_equal(counts[0], 0);
}

/* ---- packets ---- */

static void a_vip_without_servers_fills_places_and_flows_go_untracked_later(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	for (unsigned i = 0; i < FLOWS_PER_BUCKET; i++)
		assert_string_equal(kit_packet_to(TO, 1), NOBODY);
	assert_int_equal(kit_counted(PLUGIN_NO_SERVER, 1), FLOWS_PER_BUCKET);
	assert_int_equal(kit_add_as(VIP, A, 100), 0);
	assert_string_equal(kit_packet_to(TO, 1), A);
	assert_int_equal(kit_counted(PLUGIN_UNTRACKED, 1), 1);
	kit_now += kit_plugin.flow_timeout;
	assert_string_equal(kit_packet_to(TO, 1), A);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 1), 1);
	assert_string_equal(kit_packet_to(TO, 1), A);
	assert_int_equal(kit_counted(PLUGIN_EXISTING, 1), 1);
}

static void a_per_port_vip_swallows_the_other_ports_of_its_prefix(void **state)
{
	kit_have_two();
	assert_string_equal(kit_packet_to_port(TO, TCP, 81, 1), NOBODY);
	assert_string_equal(kit_packet_to_port(TO, UDP, 80, 1), NOBODY);
	assert_int_equal(kit_counted(PLUGIN_NO_SERVER, 0), 2);
	assert_int_equal(kit_counted(PLUGIN_NO_SERVER, 1), 0);
	assert_string_equal(kit_packet_to_port("192.0.2.9", TCP, 80, 1),
			    NOBODY); /* another address: not counted */
	assert_int_equal(kit_counted(PLUGIN_NO_SERVER, 0), 2);
}

static void the_most_specific_prefix_swallows_what_a_wider_one_would_take(void **state)
{
	struct plugin_as_args args = { .vip = kit_key("192.0.2.0/24", 0, 0),
				       .address = kit_ip(C),
				       .weight = 1 };

	assert_int_equal(kit_add_vip("192.0.2.0/24", 0), 0);
	assert_int_equal(plugin_as_add(&kit_plugin, kit_now, &args), 0);
	kit_have_two();
	assert_string_equal(kit_packet_to_port("192.0.2.9", TCP, 81, 1), C);
	assert_string_equal(kit_packet_to_port(TO, TCP, 81, 1), NOBODY);
}

static void an_all_port_vip_takes_them_all(void **state)
{
	struct plugin_as_args args = { .vip = kit_key("198.51.100.0/24", 0, 0),
				       .address = kit_ip(A),
				       .weight = 1 };

	assert_int_equal(kit_add_vip("198.51.100.0/24", 0), 0);
	assert_int_equal(plugin_as_add(&kit_plugin, kit_now, &args), 0);
	assert_string_equal(kit_packet_to_port("198.51.100.7", UDP, 53, 1), A);
}

static void routes_count_before_and_after_encapsulation(void **state)
{
	const struct fib_route *vip, *as;
	struct plugin_key k = kit_key(VIP, TCP, 80);
	struct ip46 a = kit_ip(A);

	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_as(VIP, A, 100), 0);
	for (unsigned i = 0; i < 30; i++)
		kit_packet_to(TO, i % 10);
	vip = fib_find(&kit_plugin.fib, &k.prefix, k.plen);
	as = fib_find(&kit_plugin.fib, &a, 128);
	assert_int_equal(vip->stats_index, FIB_FIRST_STATS_INDEX);
	assert_int_equal(kit_plugin.fib.to.items[vip->stats_index].bytes, 30 * 48);
	assert_int_equal(kit_plugin.fib.via.items[as->stats_index].packets, 30);
	assert_int_equal(kit_plugin.fib.via.items[as->stats_index].bytes, 30 * 72);
	assert_int_equal(kit_plugin.fib.to.items[as->stats_index].packets, 0);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 1), 10);
	assert_int_equal(kit_counted(PLUGIN_EXISTING, 1), 20);
}

static void another_number_of_buckets_forgets_all_flows_at_the_next_packet(void **state)
{
	kit_have_two();
	kit_packet_to(TO, 1);
	assert_int_equal(
		plugin_conf(&kit_plugin, kit_plugin.src4, kit_plugin.src6, 2048, PLUGIN_KEEP), 0);
	kit_packet_to(TO, 1);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 1), 2);
	assert_int_equal(flows_of(&kit_plugin.flows, 1) + flows_of(&kit_plugin.flows, 2), 1);
}

/* ---- values ---- */

static void conf_wants_a_power_of_two_and_keeps_what_is_all_ones(void **state)
{
	uint8_t src4[4] = { 192, 0, 2, 1 }, src6[16] = { 0x20, 1 };

	assert_int_equal(kit_plugin.buckets, 1024);
	assert_int_equal(kit_plugin.flow_timeout, 40);
	assert_int_equal(kit_plugin.src4[0], 255);
	assert_int_equal(plugin_conf(&kit_plugin, src4, src6, 1000, 60),
			 PLUGIN_INVALID_MEMORY_SIZE);
	assert_int_equal(kit_plugin.src4[0], 255);
	assert_int_equal(plugin_conf(&kit_plugin, src4, src6, 2048, PLUGIN_KEEP), 0);
	assert_int_equal(plugin_conf(&kit_plugin, src4, src6, PLUGIN_KEEP, 60), 0);
	assert_int_equal(kit_plugin.buckets, 2048);
	assert_int_equal(kit_plugin.flow_timeout, 60);
	assert_memory_equal(kit_plugin.src4, src4, 4);
}

static void an_impossible_encapsulation_is_refused_for_ipv4_and_becomes_gre6_for_ipv6(void **state)
{
	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_NAT6, SLOTS),
			 PLUGIN_INVALID_ADDRESS_FAMILY);
	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, 99, SLOTS), PLUGIN_INVALID_ADDRESS_FAMILY);
	assert_int_equal(kit_plugin.misuse.n, 0);
	assert_int_equal(kit_add_vip_as("2001:db8::1/128", TCP, 80, 99, SLOTS), 0);
	assert_int_equal(kit_plugin.vips.items[1].type, PLUGIN_IP6_GRE6);
	assert_int_equal(kit_plugin.misuse.n, 1);
}

static void a_table_that_is_no_power_of_two_is_refused(void **state)
{
	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE4, 1000),
			 PLUGIN_INVALID_MEMORY_SIZE);
	assert_int_equal(kit_plugin.vip_pool.n, 1);
	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE4, 1), 0);
}

static void a_table_of_no_slots_or_too_many_crashes(void **state)
{
	kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE4, 0);
	assert_string_equal(kit_plugin.crash, "a table length of 0");
	kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE4, 1u << 28);
	assert_string_equal(kit_plugin.crash, "a huge table length");
}

static void an_absurd_prefix_length_crashes_with_ipv6_and_is_nonsense_with_ipv4(void **state)
{
	struct plugin_vip_args six = { .key = plugin_key_of(kit_ip("2001:db8::1"), 129, TCP, 80),
				       .encap = PLUGIN_GRE6,
				       .table_length = SLOTS };
	struct plugin_vip_args four = { .key = plugin_key_of(kit_ip(TO), 96 + 33, TCP, 80),
					.table_length = SLOTS };

	assert_int_equal(plugin_vip_add(&kit_plugin, kit_now, &four), 0);
	assert_null(kit_plugin.crash);
	assert_int_equal(kit_plugin.misuse.n, 1);
	plugin_vip_add(&kit_plugin, kit_now, &six);
	assert_non_null(kit_plugin.crash);
}

static void no_buckets_are_taken_and_crash_at_the_first_packet(void **state)
{
	kit_have_two();
	assert_int_equal(plugin_conf(&kit_plugin, kit_plugin.src4, kit_plugin.src6, 0, 40), 0);
	assert_null(kit_plugin.crash);
	kit_packet_to(TO, 1);
	assert_non_null(kit_plugin.crash);
}

static void an_ipv6_address_inside_the_first_96_zeros_is_an_ipv4_one(void **state)
{
	struct plugin_key k = plugin_key_of(kit_ip("::c000:201"), 128, TCP, 80);

	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_index_of(VIP, TCP, 80), 1);
	assert_int_equal(plugin_vip_find(&kit_plugin, &k, &(uint32_t){ 0 }), 0);
}

static void a_weight_above_100_is_taken_and_blamed(void **state)
{
	kit_have_two();
	assert_int_equal(kit_set_weight(VIP, A, 200, false), 0);
	assert_int_equal(kit_weight_of(VIP, A), 200);
	assert_int_equal(kit_plugin.misuse.n, 1);
}

static void flushing_a_vip_forgets_its_flows_and_only_its(void **state)
{
	struct plugin_key k = kit_key(VIP, TCP, 80);

	kit_have_two();
	assert_int_equal(kit_add_vip("192.0.2.2/32", 80), 0);
	assert_int_equal(kit_add_as("192.0.2.2/32", C, 1), 0);
	kit_packet_to(TO, 1);
	kit_packet_to("192.0.2.2", 2);
	assert_int_equal(plugin_flush_vip(&kit_plugin, &k), 0);
	assert_int_equal(flows_of(&kit_plugin.flows, 1) + flows_of(&kit_plugin.flows, 2), 0);
	assert_int_equal(flows_of(&kit_plugin.flows, 3), 1);
}

static void flushing_an_unknown_vip_is_not_reported(void **state)
{
	struct plugin_key k = kit_key(VIP, TCP, 80);

	assert_int_equal(plugin_flush_vip(&kit_plugin, &k), 0);
	assert_int_equal(kit_plugin.misuse.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_CASE(slots_are_shared_by_weight),
		KIT_CASE(flows_follow_the_slots),
		KIT_CASE(weights_are_ignored_when_their_sum_exceeds_the_slots),
		KIT_CASE(a_larger_table_makes_the_weights_count),
		KIT_CASE(shares_do_not_depend_on_the_order_of_the_calls),
		KIT_CASE(the_table_has_as_many_slots_of_each_as_the_shares_say),
		KIT_CASE(a_vip_without_servers_fills_places_and_flows_go_untracked_later),
		KIT_CASE(a_per_port_vip_swallows_the_other_ports_of_its_prefix),
		KIT_CASE(the_most_specific_prefix_swallows_what_a_wider_one_would_take),
		KIT_CASE(an_all_port_vip_takes_them_all),
		KIT_CASE(routes_count_before_and_after_encapsulation),
		KIT_CASE(another_number_of_buckets_forgets_all_flows_at_the_next_packet),
		KIT_CASE(conf_wants_a_power_of_two_and_keeps_what_is_all_ones),
		KIT_CASE(an_impossible_encapsulation_is_refused_for_ipv4_and_becomes_gre6_for_ipv6),
		KIT_CASE(a_table_that_is_no_power_of_two_is_refused),
		KIT_CASE(a_table_of_no_slots_or_too_many_crashes),
		KIT_CASE(an_absurd_prefix_length_crashes_with_ipv6_and_is_nonsense_with_ipv4),
		KIT_CASE(no_buckets_are_taken_and_crash_at_the_first_packet),
		KIT_CASE(an_ipv6_address_inside_the_first_96_zeros_is_an_ipv4_one),
		KIT_CASE(a_weight_above_100_is_taken_and_blamed),
		KIT_CASE(flushing_a_vip_forgets_its_flows_and_only_its),
		KIT_CASE(flushing_an_unknown_vip_is_not_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
