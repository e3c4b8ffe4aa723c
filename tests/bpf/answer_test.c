/* SPDX-License-Identifier: Apache-2.0 */
/* The ICMP errors that the program itself sends: time exceeded and too big. */
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

static struct frame_spec packet(bool v4, size_t length)
{
	unsigned headers = v4 ? 28 : 48;

	return (struct frame_spec){ .source = v4 ? CLIENT4 : CLIENT6,
				    .destination = v4 ? VIP4 : VIP6,
				    .protocol = IPPROTO_UDP,
				    .source_port = 40000,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .payload = (unsigned)length - headers };
}

/* The error that spec gets: from the VIP, back to where it came from, quoting what fits. */
static void expect(const struct frame_spec *spec, bool v4, uint32_t mtu, struct frame *ret)
{
	size_t limit = v4 ? 548 : 1232;
	struct frame ip;
	struct frame_icmp icmp = { .source = spec->destination,
				   .destination = spec->source,
				   .smac = frame_our_mac,
				   .dmac = frame_client_mac,
				   .ttl = 64,
				   .tos = 0xc0,
				   .df = true,
				   .data = mtu };

	frame_build_ip(spec, &ip);
	icmp.quote = ip.bytes;
	icmp.quote_size = (ip.size < limit ? ip.size : limit) / 4 * 4;
	if (v4) {
		icmp.type = mtu ? 3 : 11;
		icmp.code = mtu ? 4 : 0;
	} else {
		icmp.type = mtu ? 2 : 3;
	}
	frame_build_icmp(&icmp, ret);
}

static void check_answer(const struct frame_spec *spec, bool v4, uint32_t mtu)
{
	struct frame in, got, want;

	frame_build(spec, &in);
	expect(spec, v4, mtu, &want);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
	lab_assert_same(&got, &want);
	assert_int_equal(lab_events(&lab, mtu ? ABI_ANSWER_TOO_BIG : ABI_ANSWER_TIME_EXCEEDED), 1);
	assert_int_equal(lab_all_events(&lab), 1);
	assert_int_equal(lab_server_packets(&lab, 1), 0);
}

static void a_packet_at_its_last_hop_is_answered(void **state)
{
	static const size_t lengths[] = { 48, 49, 50, 51, 100, 548, 549, 700, 1232, 1233, 1300 };

	for (unsigned mix = 0; mix < 4 * ARRAY_SIZE(lengths); mix++) {
		bool v4 = mix & 1;
		struct frame_spec spec = packet(v4, lengths[mix / 4]);

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_UDP, 80, SERVER4);
		spec.ttl = mix & 2 ? 1 : 0;
		check_answer(&spec, v4, 0);
		assert_int_equal(lab_count_flows(&lab), 0);
	}
}

static void options_are_quoted(void **state)
{
	struct frame_spec spec = packet(true, 100);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	spec.options = 40;
	spec.ttl = 1;
	check_answer(&spec, true, 0);
}

static void padding_is_not_quoted(void **state)
{
	struct frame_spec spec = packet(true, 28);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	spec.ttl = 1;
	spec.padding = 18;
	check_answer(&spec, true, 0);
}

/* The answer has the tags that the packet had. */
static void an_answer_goes_back_into_its_vlan(void **state)
{
	for (unsigned tags = 1; tags <= 2; tags++) {
		struct frame_spec spec = packet(true, 100);
		struct frame in, got, plain, want;

		lab_reset(&lab);
		lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
		spec.ttl = 1;
		spec.tags = tags;
		frame_build(&spec, &in);
		expect(&spec, true, 0, &plain);
		memcpy(want.bytes, plain.bytes, 12);
		memcpy(want.bytes + 12, in.bytes + 12, 4 * tags);
		memcpy(want.bytes + 12 + 4 * tags, plain.bytes + 12, plain.size - 12);
		want.size = plain.size + 4 * tags;
		assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
		lab_assert_same(&got, &want);
	}
}

/* Underlay of 1500: 24 bytes for GRE4, 44 for GRE6. */
static void what_just_fits_is_sent_and_one_byte_more_is_answered(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		bool v4 = mix & 1, gre4 = mix & 2;
		uint32_t mtu = gre4 ? 1476 : 1456;
		struct frame_spec fits = packet(v4, mtu), over = packet(v4, mtu + 1);

		lab_reset(&lab);
		lab_add_one(&lab, fits.destination, IPPROTO_UDP, 80, gre4 ? SERVER4 : SERVER6);
		assert_int_equal(lab_server_of(&lab, &fits), 1);
		lab_reset(&lab);
		lab_add_one(&lab, fits.destination, IPPROTO_UDP, 80, gre4 ? SERVER4 : SERVER6);
		check_answer(&over, v4, mtu);
	}
}

static void a_locked_mtu_of_the_route_counts(void **state)
{
	struct frame_spec spec = packet(true, 1377);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, "10.0.17.2");
	check_answer(&spec, true, 1376);
}

/* The kernel gets it in its outer header, without DF, and cuts that. */
static void a_packet_that_may_be_cut_is_the_kernels(void **state)
{
	struct frame_spec spec = packet(true, 1500);
	struct frame_outer o = { .source = LAB_SOURCE4,
				 .destination = SERVER4,
				 .smac = frame_client_mac,
				 .dmac = frame_our_mac };
	struct frame in, got, want;

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	spec.df = false;
	spec.id = 0x4321;
	frame_build(&spec, &in);
	frame_expect_gre(&spec, &o, &want);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_PASS);
	lab_assert_same(&got, &want);
	assert_int_equal(lab_events(&lab, ABI_PASS_FRAGMENT), 1);
}

static void nobody_can_cut_gre6_so_it_is_answered(void **state)
{
	struct frame_spec spec = packet(true, 1500);

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER6);
	spec.df = false;
	check_answer(&spec, true, 1456);
}

static void answers_are_limited(void **state)
{
	struct frame_spec spec = packet(true, 100);
	struct frame in, out;
	unsigned sent = 0;

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	lab_settings(&lab)->icmp_gap_ns = 4000000000; /* of no consequence for the test's length */
	lab_settings(&lab)->icmp_burst = 4;
	spec.ttl = 1;
	frame_build(&spec, &in);
	for (unsigned i = 0; i < 50; i++)
		sent += lab_run(&lab, &in, &out) == XDP_REDIRECT;
	/* a limit and a burst for each CPU that the test happened to run on */
	assert_in_range(sent, 5, 5 * xdp_cpus());
	assert_int_equal(lab_events(&lab, ABI_ANSWER_TIME_EXCEEDED), sent);
	assert_int_equal(lab_events(&lab, ABI_DROP_ICMP_LIMIT), 50 - sent);
}

static void nobody_is_answered_at_an_impossible_address(void **state)
{
	static const char *const sources[] = { "0.0.0.0",	  "127.0.0.1", "224.0.0.5",
					       "255.255.255.255", "::",	       "ff02::1" };

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		bool v4 = !strchr(sources[i], ':');
		struct frame_spec spec = packet(v4, 100);
		struct frame in, out;

		lab_reset(&lab);
		lab_add_one(&lab, spec.destination, IPPROTO_UDP, 80, SERVER4);
		spec.source = sources[i];
		spec.ttl = 1;
		frame_build(&spec, &in);
		assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
		assert_int_equal(lab_events(&lab, ABI_DROP_UNANSWERED), 1);
	}
}

static void of_fragments_only_the_first_is_answered(void **state)
{
	struct frame_spec spec = packet(true, 100);
	struct frame in, out;

	lab_add_one(&lab, VIP4, 0, 0, SERVER4);
	spec.df = false;
	spec.ttl = 1;
	spec.fragment = 0x2000;
	check_answer(&spec, true, 0);
	spec.fragment = 0x2001;
	frame_build(&spec, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_DROP);
	assert_int_equal(lab_events(&lab, ABI_DROP_UNANSWERED), 1);
}

static void an_answer_is_a_transmit_if_so_set(void **state)
{
	struct frame_spec spec = packet(true, 100);
	struct frame in, out;

	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	lab_settings(&lab)->flags |= ABI_SET_TX;
	spec.ttl = 1;
	frame_build(&spec, &in);
	assert_int_equal(lab_run(&lab, &in, &out), XDP_TX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_packet_at_its_last_hop_is_answered, reset),
		cmocka_unit_test_setup(options_are_quoted, reset),
		cmocka_unit_test_setup(padding_is_not_quoted, reset),
		cmocka_unit_test_setup(an_answer_goes_back_into_its_vlan, reset),
		cmocka_unit_test_setup(what_just_fits_is_sent_and_one_byte_more_is_answered, reset),
		cmocka_unit_test_setup(a_locked_mtu_of_the_route_counts, reset),
		cmocka_unit_test_setup(a_packet_that_may_be_cut_is_the_kernels, reset),
		cmocka_unit_test_setup(nobody_can_cut_gre6_so_it_is_answered, reset),
		cmocka_unit_test_setup(answers_are_limited, reset),
		cmocka_unit_test_setup(nobody_is_answered_at_an_impossible_address, reset),
		cmocka_unit_test_setup(of_fragments_only_the_first_is_answered, reset),
		cmocka_unit_test_setup(an_answer_is_a_transmit_if_so_set, reset),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
