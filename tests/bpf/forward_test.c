/* SPDX-License-Identifier: Apache-2.0 */
/* What a server gets, byte by byte, and where the frame goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "tests/bpf/lab.h"

#define VIP4 "198.51.100.10"
#define VIP6 "2001:db8:100::10"
#define CLIENT4 "192.0.2.77"
#define CLIENT6 "2001:db8:77::1"
#define SERVER4 "10.0.11.2"
#define SERVER6 "2001:db8:11::2"

static struct lab lab;

static int reset(void **state)
{
	lab_reset(&lab);
	return 0;
}

static struct frame_spec packet(bool v4, uint8_t protocol)
{
	return (struct frame_spec){ .source = v4 ? CLIENT4 : CLIENT6,
				    .destination = v4 ? VIP4 : VIP6,
				    .protocol = protocol,
				    .source_port = 40000,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .id = 0x1234,
				    .payload = 32 };
}

static struct frame_outer outer(bool v4)
{
	return (struct frame_outer){ .source = v4 ? LAB_SOURCE4 : LAB_SOURCE6,
				     .destination = v4 ? SERVER4 : SERVER6,
				     .smac = frame_our_mac,
				     .dmac = frame_client_mac };
}

/* The frame of spec comes out as the one that outer makes of it. */
static void check(const struct frame_spec *spec, const struct frame_outer *o)
{
	struct frame in, got, want;

	frame_build(spec, &in);
	frame_expect_gre(spec, o, &want);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
	lab_assert_same(&got, &want);
}

static void check_untouched(const struct frame_spec *spec)
{
	struct frame in, got;

	frame_build(spec, &in);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_PASS);
	lab_assert_same(&got, &in);
	assert_int_equal(lab_all_events(&lab), 0);
}

static void every_mix_of_family_and_protocol_gets_the_right_headers(void **state)
{
	for (unsigned mix = 0; mix < 8; mix++) {
		bool inner4 = mix & 1, outer4 = mix & 2;
		uint8_t protocol = mix & 4 ? IPPROTO_TCP : IPPROTO_UDP;
		struct frame_spec spec = packet(inner4, protocol);
		struct frame_outer o = outer(outer4);

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, protocol, 80, o.destination);
		check(&spec, &o);
		assert_int_equal(lab_all_events(&lab), 0);
	}
}

static void dscp_is_copied_and_ecn_is_not(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		struct frame_spec spec = packet(mix & 1, IPPROTO_TCP);
		struct frame_outer o = outer(mix & 2);

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_TCP, 80, o.destination);
		spec.tos = 0xbb; /* EF, CE */
		check(&spec, &o);
	}
}

static void outer_df_is_that_of_the_inner_packet(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_UDP);
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	spec.df = false;
	check(&spec, &o);
}

static void every_ttl_goes_down_by_one_with_its_checksum(void **state)
{
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	for (unsigned i = 2; i < 256; i++) {
		struct frame_spec spec = packet(true, IPPROTO_TCP);

		spec.ttl = (uint8_t)i;
		spec.id = (uint16_t)(i * 257);
		check(&spec, &o);
	}
}

static void a_header_checksum_of_any_value_stays_right(void **state)
{
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	for (unsigned id = 0; id < 65536; id += 31) {
		struct frame_spec spec = packet(true, IPPROTO_UDP);

		spec.id = (uint16_t)id;
		check(&spec, &o);
	}
}

static void options_travel_along(void **state)
{
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	for (unsigned options = 4; options <= 40; options += 4) {
		struct frame_spec spec = packet(true, IPPROTO_TCP);

		spec.options = options;
		check(&spec, &o);
	}
}

static void extension_headers_travel_along(void **state)
{
	static const uint8_t kinds[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS };
	struct frame_outer o = outer(false);

	lab_add_one(&lab, VIP6, IPPROTO_TCP, 80, SERVER6);
	for (unsigned n = 1; n <= 6; n++) {
		struct frame_spec spec = packet(false, IPPROTO_TCP);

		spec.n_extensions = n;
		for (unsigned i = 0; i < n; i++)
			spec.extensions[i] = kinds[i % 3];
		check(&spec, &o);
	}
}

static void an_atomic_fragment_is_an_ordinary_packet(void **state)
{
	struct frame_spec spec = packet(false, IPPROTO_UDP);
	struct frame_outer o = outer(false);

	lab_add_one(&lab, VIP6, IPPROTO_UDP, 80, SERVER6);
	spec.n_extensions = 1;
	spec.extensions[0] = IPPROTO_FRAGMENT;
	check(&spec, &o);
}

static void vlan_tags_are_taken_off(void **state)
{
	for (unsigned mix = 0; mix < 8; mix++) {
		struct frame_spec spec = packet(mix & 1, IPPROTO_TCP);
		struct frame_outer o = outer(mix & 2);

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_TCP, 80, o.destination);
		spec.tags = mix & 4 ? 2 : 1;
		check(&spec, &o);
	}
}

static void three_tags_are_not_ours(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	spec.tags = 3;
	check_untouched(&spec);
}

static void padding_stays_outside_the_lengths(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	spec.payload = 0;
	spec.padding = 6;
	check(&spec, &o);
}

static void a_route_by_another_device_has_its_addresses(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame_outer o = { .source = LAB_SOURCE4,
				 .destination = "10.0.12.2",
				 .smac = lab_second_mac,
				 .dmac = lab_second_router_mac };

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, "10.0.12.2");
	check(&spec, &o);
}

/* The program knows a VLAN by lb_links alone, so any device can play one. */
static void a_vlan_on_the_way_out_is_a_tag(void **state)
{
	struct abi_link link = { .ifindex = lab.l0, .vlan = 7, .tag_type = htons(0x8100) };

	for (unsigned mix = 0; mix < 12; mix++) {
		struct frame_spec spec = packet(mix & 1, IPPROTO_TCP);
		struct frame_outer o = { .source = mix & 2 ? LAB_SOURCE4 : LAB_SOURCE6,
					 .destination = mix & 2 ? "10.0.12.2" : "2001:db8:12::2",
					 .smac = lab_second_mac,
					 .dmac = lab_second_router_mac,
					 .vlan = 7 };

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_TCP, 80, o.destination);
		assert_int_equal(xdp_map_write(&lab.links, &lab.l1, &link), 0);
		lab_settings(&lab)->flags |= ABI_SET_LINKS;
		spec.tags = mix / 4;
		check(&spec, &o);
	}
}

static void a_device_that_is_no_vlan_has_no_tag(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	lab_settings(&lab)->flags |= ABI_SET_LINKS;
	check(&spec, &o);
}

static void the_way_back_is_a_transmit_if_so_set(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame in, out;

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	lab_settings(&lab)->flags |= ABI_SET_TX;
	frame_build(&spec, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_TX);
	lab_reset(&lab);
	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, "10.0.12.2");
	lab_settings(&lab)->flags |= ABI_SET_TX;
	assert_int_equal(lab_run(&lab, &in, &out), XDP_REDIRECT);
}

/* The kernel resolves the neighbour; it gets the frame as if it had come with the outer header. */
static void an_unresolved_neighbour_is_the_kernels(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		struct frame_spec spec = packet(mix & 1, IPPROTO_TCP);
		struct frame_outer o = outer(mix & 2);
		struct frame in, got, want;

		lab_reset(&lab);
		o.destination = mix & 2 ? "10.0.16.2" : "2001:db8:16::2";
		o.smac = frame_client_mac;
		o.dmac = frame_our_mac;
		lab_add_one(&lab, spec.destination, IPPROTO_TCP, 80, o.destination);
		frame_build(&spec, &in);
		frame_expect_gre(&spec, &o, &want);
		assert_int_equal(lab_run(&lab, &in, &got), XDP_PASS);
		lab_assert_same(&got, &want);
		assert_int_equal(lab_events(&lab, ABI_PASS_NO_NEIGHBOUR), 1);
		assert_int_equal(lab_all_events(&lab), 1);
	}
}

static void a_server_without_a_way_gets_nothing(void **state)
{
	static const struct {
		const char *server;
		enum abi_event event;
	} ways[] = {
		{ "10.0.13.2", ABI_DROP_BLACKHOLE }, { "10.0.14.2", ABI_DROP_UNREACHABLE },
		{ "10.0.15.2", ABI_DROP_PROHIBIT },  { "10.99.0.2", ABI_DROP_NO_ROUTE },
		{ "10.0.3.2", ABI_DROP_NO_ROUTE },   { "2001:db8:99::2", ABI_DROP_NO_ROUTE },
	};
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame in, out;

	frame_build(&spec, &in);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		lab_reset(&lab);
		lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, ways[i].server);
		assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
		assert_int_equal(lab_events(&lab, ways[i].event), 1);
		assert_int_equal(lab_all_events(&lab), 1);
		assert_int_equal(lab_server_packets(&lab, 1), 0);
	}
}

/* The kernel gets the packet as it came, and delivers it. It counts as sent. */
static void a_server_that_is_this_host_is_the_kernels(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		struct frame_spec spec = packet(mix & 1, IPPROTO_TCP);
		struct frame in, out;

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_TCP, 80,
			    mix & 2 ? LAB_SOURCE4 : LAB_SOURCE6);
		frame_build(&spec, &in);
		for (unsigned i = 1; i <= 2; i++) {
			assert_int_equal(lab_run(&lab, &in, &out), XDP_PASS);
			lab_assert_same(&out, &in);
			assert_int_equal(lab_server_packets(&lab, 1), i);
		}
		assert_int_equal(lab_all_events(&lab), 0);
	}
}

/* Whether any CPU has asked for the way to a host. */
static bool has_route(uint32_t host)
{
	bool known = false;

	for (unsigned cpu = 0; cpu < xdp_cpu_numbers(); cpu++)
		known |= lab.hops[cpu * LAB_SERVERS + host].known;
	return known;
}

static void two_vips_share_a_host_and_count_apart(void **state)
{
	uint32_t vip = lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	uint32_t other = lab_add_one(&lab, VIP4, IPPROTO_TCP, 443, SERVER4);
	struct frame_spec spec = packet(true, IPPROTO_TCP);

	lab.servers[2].host = lab.servers[1].host;
	assert_int_equal(lab_server_of(&lab, &spec), 1);
	spec.destination_port = 443;
	for (unsigned i = 0; i < 3; i++) {
		struct frame in, out;

		frame_build(&spec, &in);
		assert_int_equal(lab_run(&lab, &in, &out), XDP_REDIRECT);
	}
	assert_true(has_route(1));
	assert_false(has_route(2));
	assert_int_equal(lab_server_packets(&lab, 1), 1);
	assert_int_equal(lab_server_packets(&lab, 2), 3);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_FIRST), 1);
	assert_int_equal(lab_vip_packets(&lab, other, ABI_KIND_NEXT), 2);
}

static void a_family_without_source_address_gets_nothing(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame in, out;

	frame_build(&spec, &in);
	for (unsigned v4 = 0; v4 < 2; v4++) {
		lab_reset(&lab);
		lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, v4 ? SERVER4 : SERVER6);
		lab_settings(&lab)->source4 = 0;
		memset(lab_settings(&lab)->source6, 0, 16);
		assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
		assert_int_equal(lab_events(&lab, ABI_DROP_NO_SOURCE), 1);
	}
}

static void what_is_not_ours_passes_untouched(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	lab_add_one(&lab, VIP6, IPPROTO_TCP, 80, SERVER6);
	spec.destination_port = 81;
	check_untouched(&spec);
	spec = packet(true, IPPROTO_UDP);
	check_untouched(&spec);
	spec = packet(true, IPPROTO_TCP);
	spec.destination = "198.51.100.11";
	spec.ttl = 1;
	check_untouched(&spec);
	spec.fragment = 0x2000;
	check_untouched(&spec);
	spec = packet(false, IPPROTO_TCP);
	spec.destination = "2001:db8:100::11";
	check_untouched(&spec);
	spec = packet(true, 132);
	check_untouched(&spec);
}

static void other_ethernet_types_pass_untouched(void **state)
{
	static const uint16_t types[] = { 0x0806, 0x88cc, 0x0000, 0x8847 };
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame in, out;

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	frame_build(&spec, &in);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		frame_put16(in.bytes + 12, types[i]);
		assert_int_equal(lab_run(&lab, &in, &out), XDP_PASS);
		lab_assert_same(&out, &in);
	}
}

static void an_all_port_vip_takes_every_port_and_protocol(void **state)
{
	static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP, 132, IPPROTO_ESP };
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, 0, 0, SERVER4);
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		struct frame_spec spec = packet(true, protocols[i]);

		spec.destination_port = (uint16_t)(i * 1000);
		check(&spec, &o);
	}
}

static void a_changed_source_address_is_switched_whole(void **state)
{
	struct frame_spec spec = packet(true, IPPROTO_TCP);
	struct frame_outer o = outer(true);

	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	lab.config->settings[1] = lab.config->settings[0];
	lab.config->settings[1].source4 = htonl(0x0a000999);
	check(&spec, &o);
	lab.config->active = 1;
	o.source = "10.0.9.153";
	check(&spec, &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_mix_of_family_and_protocol_gets_the_right_headers,
				       reset),
		cmocka_unit_test_setup(dscp_is_copied_and_ecn_is_not, reset),
		cmocka_unit_test_setup(outer_df_is_that_of_the_inner_packet, reset),
		cmocka_unit_test_setup(every_ttl_goes_down_by_one_with_its_checksum, reset),
		cmocka_unit_test_setup(a_header_checksum_of_any_value_stays_right, reset),
		cmocka_unit_test_setup(options_travel_along, reset),
		cmocka_unit_test_setup(extension_headers_travel_along, reset),
		cmocka_unit_test_setup(an_atomic_fragment_is_an_ordinary_packet, reset),
		cmocka_unit_test_setup(vlan_tags_are_taken_off, reset),
		cmocka_unit_test_setup(three_tags_are_not_ours, reset),
		cmocka_unit_test_setup(padding_stays_outside_the_lengths, reset),
		cmocka_unit_test_setup(a_route_by_another_device_has_its_addresses, reset),
		cmocka_unit_test_setup(a_vlan_on_the_way_out_is_a_tag, reset),
		cmocka_unit_test_setup(a_device_that_is_no_vlan_has_no_tag, reset),
		cmocka_unit_test_setup(the_way_back_is_a_transmit_if_so_set, reset),
		cmocka_unit_test_setup(an_unresolved_neighbour_is_the_kernels, reset),
		cmocka_unit_test_setup(a_server_that_is_this_host_is_the_kernels, reset),
		cmocka_unit_test_setup(a_server_without_a_way_gets_nothing, reset),
		cmocka_unit_test_setup(two_vips_share_a_host_and_count_apart, reset),
		cmocka_unit_test_setup(a_family_without_source_address_gets_nothing, reset),
		cmocka_unit_test_setup(what_is_not_ours_passes_untouched, reset),
		cmocka_unit_test_setup(other_ethernet_types_pass_untouched, reset),
		cmocka_unit_test_setup(an_all_port_vip_takes_every_port_and_protocol, reset),
		cmocka_unit_test_setup(a_changed_source_address_is_switched_whole, reset),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
