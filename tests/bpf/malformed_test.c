/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that nobody should send: cut, lying about lengths, overgrown, random. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "tests/bpf/lab.h"

#define VIP4 "198.51.100.10"
#define VIP6 "2001:db8:100::10"
#define SERVER4 "10.0.11.2"
#define SERVER6 "2001:db8:11::2"
#define OTHER 132 /* a protocol without ports that we know */

static struct lab lab;

/* Both protocols on port 80 of both addresses. */
static int reset(void **state)
{
	lab_reset(&lab);
	lab_add_one(&lab, VIP4, IPPROTO_TCP, 80, SERVER4);
	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER6);
	lab_add_one(&lab, VIP6, IPPROTO_TCP, 80, SERVER6);
	lab_add_one(&lab, VIP6, IPPROTO_UDP, 80, SERVER4);
	return 0;
}

static struct frame_spec packet(bool v4, uint8_t protocol)
{
	return (struct frame_spec){ .source = v4 ? "192.0.2.77" : "2001:db8:77::1",
				    .destination = v4 ? VIP4 : VIP6,
				    .protocol = protocol,
				    .source_port = 40000,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .payload = 12 };
}

static void check_passes(const struct frame *in)
{
	struct frame got;

	assert_int_equal(lab_run(&lab, in, &got), XDP_PASS);
	lab_assert_same(&got, in);
	assert_int_equal(lab_all_events(&lab), 0);
}

static void check_dropped(const struct frame *in, enum abi_event event)
{
	uint64_t before = lab_events(&lab, event);
	struct frame got;

	assert_int_equal(lab_run(&lab, in, &got), XDP_DROP);
	assert_int_equal(lab_events(&lab, event), before + 1);
}

static void check_sent(const struct frame *in)
{
	struct frame got;

	assert_int_equal(lab_run(&lab, in, &got), XDP_REDIRECT);
}

/* The kernel takes no frame of less than an Ethernet header. */
static void a_frame_cut_anywhere_passes(void **state)
{
	for (unsigned mix = 0; mix < 32; mix++) {
		struct frame_spec spec = packet(mix & 1, mix & 2 ? IPPROTO_TCP : IPPROTO_UDP);
		struct frame in;

		spec.tags = mix & 4 ? 2 : 0;
		spec.options = mix & 8 ? 16 : 0;
		spec.n_extensions = mix & 16 ? 3 : 0;
		spec.extensions[0] = spec.extensions[1] = spec.extensions[2] = IPPROTO_DSTOPTS;
		frame_build(&spec, &in);
		check_sent(&in);
		while (--in.size >= 14)
			check_passes(&in);
	}
}

/* A total length that leaves no TCP or UDP header is dropped, one below its own header passes. */
static void every_ipv4_length_goes_where_the_rule_says(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		uint8_t protocol = mix & 1 ? IPPROTO_TCP : IPPROTO_UDP;
		unsigned options = mix & 2 ? 8 : 0, need = protocol == IPPROTO_TCP ? 20 : 8;
		struct frame_spec spec = packet(true, protocol);
		struct frame in;
		unsigned length;

		spec.options = options;
		frame_build(&spec, &in);
		for (length = 0; length < 20 + options; length++) {
			frame_put16(in.bytes + 16, (uint16_t)length);
			reset(NULL);
			check_passes(&in);
		}
		for (; length < 20 + options + need; length++) {
			frame_put16(in.bytes + 16, (uint16_t)length);
			check_dropped(&in, ABI_DROP_MALFORMED);
		}
		for (; length <= in.size - 14; length++) {
			frame_put16(in.bytes + 16, (uint16_t)length);
			check_sent(&in);
		}
		reset(NULL);
		for (; length < 65536; length += 97) {
			frame_put16(in.bytes + 16, (uint16_t)length);
			check_passes(&in);
		}
	}
}

static void every_ipv6_length_goes_where_the_rule_says(void **state)
{
	for (unsigned mix = 0; mix < 2; mix++) {
		uint8_t protocol = mix & 1 ? IPPROTO_TCP : IPPROTO_UDP;
		unsigned need = protocol == IPPROTO_TCP ? 20 : 8, length;
		struct frame_spec spec = packet(false, protocol);
		struct frame in;

		frame_build(&spec, &in);
		for (length = 0; length < need; length++) {
			frame_put16(in.bytes + 18, (uint16_t)length);
			check_dropped(&in, ABI_DROP_MALFORMED);
		}
		for (; length <= in.size - 54; length++) {
			frame_put16(in.bytes + 18, (uint16_t)length);
			check_sent(&in);
		}
		reset(NULL);
		for (; length < 65536; length += 97) {
			frame_put16(in.bytes + 18, (uint16_t)length);
			check_passes(&in);
		}
	}
}

static void a_wrong_version_or_header_length_passes(void **state)
{
	for (unsigned first = 0; first < 256; first++) {
		struct frame_spec four = packet(true, IPPROTO_TCP),
				  six = packet(false, IPPROTO_TCP);
		struct frame in;

		frame_build(&four, &in);
		in.bytes[14] = (uint8_t)first;
		if (first >> 4 != 4 || (first & 15) < 5)
			check_passes(&in);
		frame_build(&six, &in);
		in.bytes[14] = (uint8_t)first;
		if (first >> 4 != 6)
			check_passes(&in);
	}
}

static void seven_extension_headers_are_too_many(void **state)
{
	struct frame_spec spec = packet(false, IPPROTO_TCP);
	struct frame in;

	memset(spec.extensions, IPPROTO_DSTOPTS, sizeof(spec.extensions));
	spec.n_extensions = 6;
	frame_build(&spec, &in);
	check_sent(&in);
	spec.n_extensions = 7;
	frame_build(&spec, &in);
	check_dropped(&in, ABI_DROP_MALFORMED);
	spec.destination = "2001:db8:100::11";
	frame_build(&spec, &in);
	reset(NULL);
	check_passes(&in);
}

static void an_extension_header_that_ends_outside_is_malformed(void **state)
{
	struct frame_spec spec = packet(false, IPPROTO_TCP);
	struct frame in;

	spec.n_extensions = 1;
	spec.extensions[0] = IPPROTO_ROUTING;
	frame_build(&spec, &in);
	for (unsigned length = 3; length < 256; length++) {
		in.bytes[14 + 40 + 1] = (uint8_t)length;
		check_dropped(&in, ABI_DROP_MALFORMED);
	}
}

static void an_authentication_header_counts_in_words(void **state)
{
	struct frame_spec spec = packet(false, IPPROTO_TCP);
	struct frame in;

	spec.n_extensions = 1;
	spec.extensions[0] = IPPROTO_AH; /* 8 bytes are a length of 0 */
	frame_build(&spec, &in);
	check_sent(&in);
}

/* By port there is no VIP for it; an all-port VIP takes it. */
static void a_protocol_behind_extension_headers_is_found(void **state)
{
	struct frame_spec spec = packet(false, OTHER);
	struct frame in;

	spec.n_extensions = 2;
	spec.extensions[0] = spec.extensions[1] = IPPROTO_HOPOPTS;
	frame_build(&spec, &in);
	check_passes(&in);
	lab_add_one(&lab, "2001:db8:100::12", 0, 0, SERVER6);
	spec.destination = "2001:db8:100::12";
	frame_build(&spec, &in);
	check_sent(&in);
}

/* In 128 bits an IPv4 VIP looks like this; in an IPv6 header it is a fraud. */
static void an_ipv4_address_in_an_ipv6_header_passes(void **state)
{
	struct frame_spec spec = packet(false, IPPROTO_TCP);
	struct frame in;

	spec.destination = "::ffff:" VIP4;
	frame_build(&spec, &in);
	check_passes(&in);
	spec = packet(false, IPPROTO_TCP);
	spec.source = "::ffff:192.0.2.77";
	frame_build(&spec, &in);
	check_passes(&in);
}

static void tags_without_a_packet_pass(void **state)
{
	struct frame in = { .size = 14 };

	for (unsigned tags = 0; tags < 6; tags++, in.size += 4) {
		frame_put16(in.bytes + in.size - 2, 0x8100);
		check_passes(&in);
		in.size += 2;
		check_passes(&in);
		in.size -= 2;
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Good frames with some bytes changed: passed as they are, or ours, but never a wrong length. */
static void random_damage_never_does_more_than_the_rules_say(void **state)
{
	uint32_t random = 20260101;

	for (unsigned i = 0; i < 4000; i++) {
		uint32_t kind = next_random(&random);
		struct frame_spec spec = packet(kind & 1, kind & 2 ? IPPROTO_TCP : IPPROTO_UDP);
		struct frame in, got;
		uint32_t verdict;
		uint64_t events;

		spec.tags = kind >> 2 & 1;
		spec.n_extensions = kind >> 3 & 3;
		memset(spec.extensions, IPPROTO_DSTOPTS, sizeof(spec.extensions));
		frame_build(&spec, &in);
		for (unsigned n = 1 + (kind >> 8 & 7); n > 0; n--) {
			uint32_t where = next_random(&random);

			in.bytes[where % in.size] = (uint8_t)(where >> 24);
		}
		events = lab_all_events(&lab);
		verdict = lab_run(&lab, &in, &got);
		if (verdict == XDP_PASS && events == lab_all_events(&lab))
			lab_assert_same(&got, &in);
		else if (verdict == XDP_DROP)
			assert_int_equal(lab_all_events(&lab), events + 1);
		else
			assert_in_range(got.size, in.size > 60 ? in.size - 60 : 0, in.size + 60);
		assert_true(verdict == XDP_PASS || verdict == XDP_DROP || verdict == XDP_REDIRECT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_frame_cut_anywhere_passes, reset),
		cmocka_unit_test_setup(every_ipv4_length_goes_where_the_rule_says, reset),
		cmocka_unit_test_setup(every_ipv6_length_goes_where_the_rule_says, reset),
		cmocka_unit_test_setup(a_wrong_version_or_header_length_passes, reset),
		cmocka_unit_test_setup(seven_extension_headers_are_too_many, reset),
		cmocka_unit_test_setup(an_extension_header_that_ends_outside_is_malformed, reset),
		cmocka_unit_test_setup(an_authentication_header_counts_in_words, reset),
		cmocka_unit_test_setup(a_protocol_behind_extension_headers_is_found, reset),
		cmocka_unit_test_setup(an_ipv4_address_in_an_ipv6_header_passes, reset),
		cmocka_unit_test_setup(tags_without_a_packet_pass, reset),
		cmocka_unit_test_setup(random_damage_never_does_more_than_the_rules_say, reset),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("malformed", tests, NULL, NULL);
}
