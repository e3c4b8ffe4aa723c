/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the lb plugin keeps VIPs and ASes, as observed on a real VPP. Nothing here is derived from
 * what a client expects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/vpp/testkit.h"

/* ---- VIP identity ---- */

static void a_vip_is_its_masked_prefix_length_protocol_and_port(void **state)
{
	assert_int_equal(kit_add_vip("198.51.100.77/24", 80), 0);
	assert_int_equal(kit_index_of("198.51.100.0/24", TCP, 80), 1);
	assert_int_equal(kit_index_of("198.51.100.99/24", TCP, 80), 1);
	assert_int_equal(kit_add_vip("198.51.100.0/24", 80), PLUGIN_VALUE_EXIST);
	assert_int_equal(kit_add_vip("198.51.100.0/24", 81), 0);
	assert_int_equal(kit_add_vip_as("198.51.100.0/24", UDP, 80, PLUGIN_GRE4, SLOTS), 0);
	assert_int_equal(kit_add_vip("198.51.100.0/25", 80), 0);
	assert_int_equal(kit_plugin.vip_pool.n, 5);
}

static void adding_an_existing_vip_changes_nothing_even_with_other_parameters(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_vip_as(VIP, TCP, 80, PLUGIN_GRE6, 16), PLUGIN_VALUE_EXIST);
	assert_int_equal(kit_plugin.vips.items[1].type, PLUGIN_IP4_GRE4);
	assert_int_equal(kit_plugin.vips.items[1].table_length, SLOTS);
}

static void an_all_port_vip_and_per_port_vips_exclude_each_other(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_vip(VIP, 0), PLUGIN_VALUE_EXIST);
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	assert_int_equal(kit_add_vip(VIP, 0), 0);
	assert_int_equal(kit_add_vip(VIP, 80), PLUGIN_VALUE_EXIST);
	assert_int_equal(kit_add_vip_as(VIP, UDP, 0, PLUGIN_GRE4, SLOTS), PLUGIN_VALUE_EXIST);
}

static void all_per_port_vips_of_a_prefix_have_the_same_encapsulation(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_vip_as(VIP, TCP, 443, PLUGIN_GRE6, SLOTS),
			 PLUGIN_INVALID_ARGUMENT);
	assert_int_equal(kit_add_vip_as(VIP, TCP, 443, PLUGIN_GRE4, SLOTS), 0);
}

static void another_prefix_length_of_the_same_address_is_no_conflict(void **state)
{
	assert_int_equal(kit_add_vip("198.51.100.0/24", 0), 0);
	assert_int_equal(kit_add_vip_as("198.51.100.0/32", TCP, 80, PLUGIN_GRE6, SLOTS), 0);
}

static void delete_and_add_gives_a_new_index_new_counters_and_no_flows(void **state)
{
	kit_have_two();
	kit_packet_to(TO, 1);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 1), 1);
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	kit_have_two();
	assert_int_equal(kit_index_of(VIP, TCP, 80), 2);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 2), 0);
	kit_packet_to(TO, 1);
	assert_int_equal(kit_counted(PLUGIN_EXISTING, 2), 0);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 2), 1);
	assert_int_equal(kit_counted(PLUGIN_FIRST, 1), 1); /* the column of a deleted VIP stays */
}

/* ---- AS add ---- */

static void adding_an_as_in_use_is_refused_and_its_weight_stays(void **state)
{
	kit_have_two();
	assert_int_equal(kit_add_as(VIP, A, 7), PLUGIN_VALUE_EXIST);
	assert_int_equal(kit_weight_of(VIP, A), 100);
}

static void adding_a_removed_as_revives_it_with_the_new_weight(void **state)
{
	kit_have_two();
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	assert_int_equal(kit_listed(A, 0), 1);
	assert_int_equal(kit_add_as(VIP, A, 7), 0);
	assert_int_equal(kit_listed(A, 0), 0);
	assert_int_equal(kit_listed(A, PLUGIN_AS_USED), 1);
	assert_int_equal(kit_weight_of(VIP, A), 7);
}

static void an_as_of_the_wrong_family_is_refused(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_as(VIP, "2001:db8::1", 100), PLUGIN_INVALID_ADDRESS_FAMILY);
	assert_int_equal(kit_add_vip_as("2001:db8::80/128", TCP, 80, PLUGIN_GRE4, SLOTS), 0);
	assert_int_equal(kit_add_as("2001:db8::80/128", "2001:db8::1", 100),
			 PLUGIN_INVALID_ADDRESS_FAMILY);
	assert_int_equal(kit_add_as("2001:db8::80/128", A, 100), 0);
}

static void an_as_of_an_absent_vip_is_refused(void **state)
{
	assert_int_equal(kit_add_as(VIP, A, 100), PLUGIN_NO_SUCH_ENTRY);
	assert_int_equal(kit_del_as(VIP, A, true), PLUGIN_NO_SUCH_ENTRY);
	assert_int_equal(kit_set_weight(VIP, A, 1, true), PLUGIN_NO_SUCH_ENTRY);
}

static void one_address_may_be_in_several_vips_with_a_weight_each(void **state)
{
	kit_have_two();
	assert_int_equal(kit_add_vip("192.0.2.2/32", 80), 0);
	assert_int_equal(kit_add_as("192.0.2.2/32", A, 7), 0);
	assert_int_equal(kit_weight_of(VIP, A), 100);
	assert_int_equal(kit_weight_of("192.0.2.2/32", A), 7);
}

static void flush_on_add_matters_only_when_reviving(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_add_as_flush(VIP, C, 100), 0);
	assert_string_equal(kit_packet_to(TO, flow), A);
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	assert_int_equal(kit_add_as(VIP, A, 0), 0);
	assert_string_equal(kit_packet_to(TO, flow), A);
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	assert_int_equal(kit_add_as_flush(VIP, A, 0), 0);
	assert_string_not_equal(kit_packet_to(TO, flow), A);
}

/* ---- AS delete ---- */

/* The VIP was added at 1, so it is examined from 61 on. */
static void an_as_goes_ten_seconds_after_its_removal_and_not_before(void **state)
{
	kit_have_two();
	kit_now = 51;
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_now = 52;
	assert_int_equal(kit_del_as(VIP, B, true), 0);
	plugin_collect(&kit_plugin, 61);
	assert_int_equal(kit_listed(A, 0), 0);
	assert_int_equal(kit_listed(B, 0), 1);
	plugin_collect(&kit_plugin, 121);
	assert_int_equal(kit_listed(B, 0), 0);
}

static void deleting_an_as_again_is_fine_and_restarts_its_ten_seconds(void **state)
{
	kit_have_two();
	kit_now = 45;
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_now = 55;
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	plugin_collect(&kit_plugin, 61);
	assert_int_equal(kit_listed(A, 0), 1); /* 16 s after the first, 6 s after the second */
}

static void deleting_an_as_that_was_never_known_or_was_collected_is_refused(void **state)
{
	kit_have_two();
	assert_int_equal(kit_del_as(VIP, C, true), PLUGIN_NO_SUCH_ENTRY);
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_wait_seconds(120);
	assert_int_equal(kit_del_as(VIP, A, true), PLUGIN_NO_SUCH_ENTRY);
}

static void without_flush_flows_go_on_to_a_removed_as_until_they_time_out(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	kit_now += 30;
	assert_string_equal(kit_packet_to(TO, flow), A);
	kit_now += 30;
	assert_string_equal(kit_packet_to(TO, flow), A);
	kit_now += kit_plugin.flow_timeout;
	assert_string_equal(kit_packet_to(TO, flow), B);
}

static void with_flush_the_next_packet_picks_another_as(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	assert_string_equal(kit_packet_to(TO, flow), B);
}

/* ---- weight ---- */

static void setting_the_same_weight_is_fine(void **state)
{
	kit_have_two();
	assert_int_equal(kit_set_weight(VIP, A, 100, false), 0);
	assert_int_equal(kit_weight_of(VIP, A), 100);
}

static void setting_the_weight_of_an_absent_or_removed_as_is_refused(void **state)
{
	kit_have_two();
	assert_int_equal(kit_set_weight(VIP, C, 1, false), PLUGIN_NO_SUCH_ENTRY);
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	assert_int_equal(kit_set_weight(VIP, A, 1, false), PLUGIN_NO_SUCH_ENTRY);
}

static void weight_0_drains_new_flows_and_keeps_the_others(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_set_weight(VIP, A, 0, false), 0);
	assert_string_equal(kit_packet_to(TO, flow), A);
	for (uint32_t other = 5000; other < 5100; other++)
		assert_string_equal(kit_packet_to(TO, other), B);
}

static void weight_0_with_flush_moves_flows_at_once(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_set_weight(VIP, A, 0, true), 0);
	assert_string_equal(kit_packet_to(TO, flow), B);
}

static void with_all_weights_0_new_flows_are_dropped(void **state)
{
	kit_have_two();
	assert_int_equal(kit_set_weight(VIP, A, 0, false), 0);
	assert_int_equal(kit_set_weight(VIP, B, 0, false), 0);
	assert_string_equal(kit_packet_to(TO, 1), NOBODY);
	assert_int_equal(kit_counted(PLUGIN_NO_SERVER, 1), 1);
	assert_int_equal(kit_buckets_of(VIP, A), 0);
}

/* ---- VIP delete ---- */

static void deleting_a_vip_removes_its_as_and_its_route_at_once(void **state)
{
	kit_have_two();
	assert_true(kit_has_route(VIP));
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	assert_false(kit_has_route(VIP));
	assert_int_equal(kit_listed(A, 0), 1);
	assert_int_equal(kit_listed(B, 0), 1);
	assert_int_equal(kit_del_vip(VIP, 80), PLUGIN_NO_SUCH_ENTRY);
}

static void the_route_stays_while_another_vip_has_the_prefix(void **state)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_vip(VIP, 443), 0);
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	assert_true(kit_has_route(VIP));
	assert_int_equal(kit_del_vip(VIP, 443), 0);
	assert_false(kit_has_route(VIP));
}

static void the_route_of_an_as_stays_until_it_is_collected(void **state)
{
	kit_have_two();
	assert_true(kit_has_route("10.0.0.1/32"));
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	assert_true(kit_has_route("10.0.0.1/32"));
	kit_wait_seconds(120);
	assert_false(kit_has_route("10.0.0.1/32"));
}

static void a_vip_that_comes_back_at_once_has_two_records_of_its_as(void **state)
{
	kit_have_two();
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	kit_have_two();
	assert_int_equal(kit_listed(A, 0), 1);
	assert_int_equal(kit_listed(A, PLUGIN_AS_USED), 1);
}

/* ---- garbage ---- */

static void what_was_removed_goes_within_two_minutes(void **state)
{
	kit_have_two();
	kit_now = 46;
	assert_int_equal(kit_del_vip(VIP, 80), 0);
	kit_wait_seconds(60 - kit_now); /* 14 s, but the VIP is younger than a minute */
	assert_int_equal(kit_plugin.vip_pool.n, 2);
	kit_wait_seconds(60);
	assert_int_equal(kit_plugin.vip_pool.n, 1);
	assert_int_equal(kit_plugin.as_pool.n, 1);
}

static void nothing_goes_in_its_first_ten_seconds(void **state)
{
	kit_have_two();
	kit_now = 115;
	assert_int_equal(kit_del_as(VIP, A, true),
			 0); /* looks for garbage itself: not before 175 kit_now */
	kit_wait_seconds(5);
	assert_int_equal(kit_listed(A, 0), 1);
	kit_wait_seconds(60);
	assert_int_equal(kit_listed(A, 0), 0);
}

static void adding_an_as_collects_in_its_vip_once_a_minute(void **state)
{
	kit_have_two();
	kit_now = 30;
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_now = 59;
	assert_int_equal(kit_add_as(VIP, C, 1), 0);
	assert_int_equal(kit_listed(A, 0), 1);
	kit_now = 61;
	assert_int_equal(kit_add_as(VIP, "10.0.0.4", 1), 0);
	assert_int_equal(kit_listed(A, 0), 0);
}

static void deleting_an_as_collects_those_deleted_before(void **state)
{
	kit_have_two();
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_now = 61;
	assert_int_equal(kit_del_as(VIP, B, true), 0);
	assert_int_equal(kit_listed(A, 0), 0);
	assert_int_equal(kit_listed(B, 0), 1);
}

static void a_flow_keeps_its_removed_as_for_ever(void **state)
{
	kit_have_two();
	kit_flow_to(TO, A);
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	kit_wait_seconds(240);
	assert_int_equal(kit_listed(A, 0), 1);
	assert_int_equal(kit_del_as(VIP, A, true), 0);
	kit_wait_seconds(120);
	assert_int_equal(kit_listed(A, 0), 0);
}

static void the_reference_goes_when_the_place_is_taken_by_another_flow(void **state)
{
	uint32_t flow;

	kit_have_two();
	flow = kit_flow_to(TO, A);
	assert_int_equal(kit_del_as(VIP, A, false), 0);
	kit_now += kit_plugin.flow_timeout;
	assert_string_equal(kit_packet_to(TO, flow), B); /* the same place */
	kit_wait_seconds(120);
	assert_int_equal(kit_listed(A, 0), 0);
}

static void indexes_come_back_last_freed_first(void **state)
{
	assert_int_equal(kit_add_vip("192.0.2.1/32", 80), 0);
	assert_int_equal(kit_add_vip("192.0.2.2/32", 80), 0);
	assert_int_equal(kit_add_vip("192.0.2.3/32", 80), 0);
	assert_int_equal(kit_del_vip("192.0.2.1/32", 80), 0);
	assert_int_equal(kit_add_vip("192.0.2.4/32", 80), 0);
	assert_int_equal(kit_index_of("192.0.2.4/32", TCP, 80), 4); /* not collected yet */
	assert_int_equal(kit_del_vip("192.0.2.3/32", 80), 0);
	kit_wait_seconds(60);
	assert_int_equal(kit_add_vip("192.0.2.5/32", 80), 0);
	assert_int_equal(kit_index_of("192.0.2.5/32", TCP, 80), 3);
	assert_int_equal(kit_add_vip("192.0.2.6/32", 80), 0);
	assert_int_equal(kit_index_of("192.0.2.6/32", TCP, 80), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_CASE(a_vip_is_its_masked_prefix_length_protocol_and_port),
		KIT_CASE(adding_an_existing_vip_changes_nothing_even_with_other_parameters),
		KIT_CASE(an_all_port_vip_and_per_port_vips_exclude_each_other),
		KIT_CASE(all_per_port_vips_of_a_prefix_have_the_same_encapsulation),
		KIT_CASE(another_prefix_length_of_the_same_address_is_no_conflict),
		KIT_CASE(delete_and_add_gives_a_new_index_new_counters_and_no_flows),
		KIT_CASE(adding_an_as_in_use_is_refused_and_its_weight_stays),
		KIT_CASE(adding_a_removed_as_revives_it_with_the_new_weight),
		KIT_CASE(an_as_of_the_wrong_family_is_refused),
		KIT_CASE(an_as_of_an_absent_vip_is_refused),
		KIT_CASE(one_address_may_be_in_several_vips_with_a_weight_each),
		KIT_CASE(flush_on_add_matters_only_when_reviving),
		KIT_CASE(an_as_goes_ten_seconds_after_its_removal_and_not_before),
		KIT_CASE(deleting_an_as_again_is_fine_and_restarts_its_ten_seconds),
		KIT_CASE(deleting_an_as_that_was_never_known_or_was_collected_is_refused),
		KIT_CASE(without_flush_flows_go_on_to_a_removed_as_until_they_time_out),
		KIT_CASE(with_flush_the_next_packet_picks_another_as),
		KIT_CASE(setting_the_same_weight_is_fine),
		KIT_CASE(setting_the_weight_of_an_absent_or_removed_as_is_refused),
		KIT_CASE(weight_0_drains_new_flows_and_keeps_the_others),
		KIT_CASE(weight_0_with_flush_moves_flows_at_once),
		KIT_CASE(with_all_weights_0_new_flows_are_dropped),
		KIT_CASE(deleting_a_vip_removes_its_as_and_its_route_at_once),
		KIT_CASE(the_route_stays_while_another_vip_has_the_prefix),
		KIT_CASE(the_route_of_an_as_stays_until_it_is_collected),
		KIT_CASE(a_vip_that_comes_back_at_once_has_two_records_of_its_as),
		KIT_CASE(what_was_removed_goes_within_two_minutes),
		KIT_CASE(nothing_goes_in_its_first_ten_seconds),
		KIT_CASE(adding_an_as_collects_in_its_vip_once_a_minute),
		KIT_CASE(deleting_an_as_collects_those_deleted_before),
		KIT_CASE(a_flow_keeps_its_removed_as_for_ever),
		KIT_CASE(the_reference_goes_when_the_place_is_taken_by_another_flow),
		KIT_CASE(indexes_come_back_last_freed_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
