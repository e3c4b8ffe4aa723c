/* SPDX-License-Identifier: Apache-2.0 */
/* ICMP that comes in: errors find the server of the flow that they quote; all else passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "tests/bpf/lab.h"

#define SERVERS 8

struct family {
	const char *vip, *client, *router;
	const char *source;
	uint8_t too_big, echo;
};
static const struct family families[] = {
	{ "198.51.100.10", "192.0.2.77", "203.0.113.9", LAB_SOURCE4, 3, 8 },
	{ "2001:db8:100::10", "2001:db8:77::1", "2001:db8:99::9", LAB_SOURCE6, 2, 128 },
};

static struct lab lab;
static uint32_t vip, servers[SERVERS];

static void start(const struct family *f, uint8_t protocol, uint16_t port)
{
	char text[64];

	lab_reset(&lab);
	vip = lab_add_vip(&lab, f->vip, protocol, port);
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(text, sizeof(text), f == families ? "10.0.11.%u" : "2001:db8:11::%u",
			 i + 2);
		servers[i] = lab_add_server(&lab, vip, text);
	}
	lab_set_table(&lab, vip, servers, SERVERS);
}

static struct frame_spec from_client(const struct family *f, uint8_t protocol, uint16_t port)
{
	return (struct frame_spec){ .source = f->client,
				    .destination = f->vip,
				    .protocol = protocol,
				    .source_port = port,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .payload = 20 };
}

static struct frame_spec to_client(const struct family *f, uint8_t protocol, uint16_t port)
{
	struct frame_spec spec = from_client(f, protocol, port);

	spec.source = f->vip;
	spec.destination = f->client;
	spec.source_port = 80;
	spec.destination_port = port;
	return spec;
}

/* A router on the way to the client complains about a packet of a server. */
static void build_error(const struct family *f, const struct frame_spec *quoted, size_t cut,
			uint8_t ttl, struct frame *ret)
{
	struct frame ip;
	struct frame_icmp icmp = { .source = f->router,
				   .destination = f->vip,
				   .smac = frame_client_mac,
				   .dmac = frame_our_mac,
				   .ttl = ttl,
				   .type = f->too_big,
				   .code = f->too_big == 3 ? 4 : 0,
				   .data = 1300 };

	frame_build_ip(quoted, &ip);
	icmp.quote = ip.bytes;
	icmp.quote_size = ip.size < cut ? ip.size : cut;
	frame_build_icmp(&icmp, ret);
}

/* The error of a flow goes to a server, in GRE, with nothing changed but its TTL. */
static void check_error_to(const struct family *f, const struct frame_spec *quoted, size_t cut,
			   uint32_t server)
{
	struct frame_spec like = { .source = f->router };
	struct frame in, lower, got, want;
	struct frame_outer o = { .source = f->source,
				 .smac = frame_our_mac,
				 .dmac = frame_client_mac };
	char text[64];

	snprintf(text, sizeof(text), f == families ? "10.0.11.%u" : "2001:db8:11::%u",
		 server - servers[0] + 2);
	o.destination = text;
	build_error(f, quoted, cut, 50, &in);
	build_error(f, quoted, cut, 49, &lower);
	lower.size -= 14;
	memmove(lower.bytes, lower.bytes + 14, lower.size);
	frame_wrap_gre(&like, &lower, &o, &want);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
	lab_assert_same(&got, &want);
}

static void check_passes(const struct frame *in)
{
	struct frame got;

	assert_int_equal(lab_run(&lab, in, &got), XDP_PASS);
	lab_assert_same(&got, in);
	assert_int_equal(lab_all_events(&lab), 0);
}

static void an_error_reaches_the_server_of_the_flow_it_quotes(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		const struct family *f = &families[mix & 1];
		uint8_t protocol = mix & 2 ? IPPROTO_TCP : IPPROTO_UDP;

		start(f, protocol, 80);
		for (uint16_t port = 1000; port < 1040; port++) {
			struct frame_spec out = from_client(f, protocol, port);
			struct frame_spec back = to_client(f, protocol, port);

			check_error_to(f, &back, 2000, lab_server_of(&lab, &out));
		}
		assert_int_equal(lab_events(&lab, ABI_NOTE_ICMP_ERROR), 40);
		assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_NEXT), 40);
	}
}

static void an_error_follows_the_flow_and_not_the_table(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct family *f = &families[i];
		struct frame_spec out = from_client(f, IPPROTO_TCP, 5000);
		struct frame_spec back = to_client(f, IPPROTO_TCP, 5000);
		uint32_t server, other;

		start(f, IPPROTO_TCP, 80);
		server = lab_server_of(&lab, &out);
		other = server == servers[0] ? servers[1] : servers[0];
		lab_set_table(&lab, vip, &other, 1);
		check_error_to(f, &back, 2000, server);
	}
}

/* RFC 792 promises no more than the header and eight bytes. */
static void eight_bytes_behind_the_header_are_enough(void **state)
{
	struct frame_spec out = from_client(&families[0], IPPROTO_TCP, 5000);
	struct frame_spec back = to_client(&families[0], IPPROTO_TCP, 5000);

	start(&families[0], IPPROTO_TCP, 80);
	check_error_to(&families[0], &back, 28, lab_server_of(&lab, &out));
	back.options = 12;
	check_error_to(&families[0], &back, 20 + 12 + 8, lab_server_of(&lab, &out));
}

static void extension_headers_may_be_quoted(void **state)
{
	struct frame_spec out = from_client(&families[1], IPPROTO_UDP, 5000);
	struct frame_spec back = to_client(&families[1], IPPROTO_UDP, 5000);

	start(&families[1], IPPROTO_UDP, 80);
	back.n_extensions = 2;
	back.extensions[0] = IPPROTO_HOPOPTS;
	back.extensions[1] = IPPROTO_DSTOPTS;
	check_error_to(&families[1], &back, 2000, lab_server_of(&lab, &out));
}

static void an_error_leaves_no_trace_in_the_flow_table(void **state)
{
	struct frame_spec back = to_client(&families[0], IPPROTO_TCP, 5000);
	struct frame_spec out = from_client(&families[0], IPPROTO_TCP, 5000);
	struct frame in, got;
	uint64_t flow;

	start(&families[0], IPPROTO_TCP, 80);
	build_error(&families[0], &back, 2000, 50, &in);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
	assert_int_equal(lab_count_flows(&lab), 0);
	assert_int_equal(lab_vip_packets(&lab, vip, ABI_KIND_UNTRACKED), 1);
	lab_server_of(&lab, &out);
	lab_age(lab_only_flow(&lab), 3);
	flow = *lab_only_flow(&lab);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_REDIRECT);
	assert_int_equal(*lab_only_flow(&lab), flow);
}

/* Whoever sends an error with our table in mind hits the server of the table. */
static void an_error_of_an_unknown_flow_goes_by_the_table(void **state)
{
	struct frame_spec out = from_client(&families[0], IPPROTO_TCP, 5000);
	struct frame_spec back = to_client(&families[0], IPPROTO_TCP, 5000);
	uint32_t server;

	start(&families[0], IPPROTO_TCP, 80);
	server = lab_server_of(&lab, &out);
	memset(lab.flows, 0, LAB_BUCKETS * sizeof(*lab.flows));
	check_error_to(&families[0], &back, 2000, server);
}

static void an_error_is_never_answered_with_one(void **state)
{
	struct frame_spec back = to_client(&families[0], IPPROTO_TCP, 5000);
	struct frame in, got;

	start(&families[0], IPPROTO_TCP, 80);
	build_error(&families[0], &back, 2000, 1, &in);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_DROP);
	back.payload = 1480;
	build_error(&families[0], &back, 1470, 60, &in);
	frame_put16(in.bytes + 14 + 6, 0x4000);
	assert_int_equal(lab_run(&lab, &in, &got), XDP_DROP);
	assert_int_equal(lab_events(&lab, ABI_DROP_UNANSWERED), 2);
}

static void an_error_that_quotes_somebody_else_passes(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct family *f = &families[i];
		struct frame_spec back = to_client(f, IPPROTO_TCP, 5000);
		struct frame in;

		start(f, IPPROTO_TCP, 80);
		back.source = f->client;
		build_error(f, &back, 2000, 50, &in);
		check_passes(&in);
		back = to_client(f, IPPROTO_TCP, 5000);
		back.source_port = 81;
		build_error(f, &back, 2000, 50, &in);
		check_passes(&in);
		back = to_client(f, IPPROTO_UDP, 5000);
		build_error(f, &back, 2000, 50, &in);
		check_passes(&in);
	}
}

static void a_quote_without_ports_passes(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct family *f = &families[i];
		struct frame_spec back = to_client(f, IPPROTO_TCP, 5000);
		unsigned header = i == 0 ? 20 : 40;
		struct frame in;

		start(f, IPPROTO_TCP, 80);
		for (unsigned cut = 0; cut < header + 4; cut++) {
			build_error(f, &back, cut, 50, &in);
			check_passes(&in);
			in.size += 60; /* what looks like ports is padding */
			check_passes(&in);
		}
		build_error(f, &back, header + 4, 50, &in);
		assert_int_equal(lab_run(&lab, &in, &(struct frame){ 0 }), XDP_REDIRECT);
	}
}

static void a_later_fragment_in_a_quote_passes(void **state)
{
	struct frame_spec back = to_client(&families[0], IPPROTO_TCP, 5000);
	struct frame in;

	start(&families[0], IPPROTO_TCP, 80);
	back.fragment = 100;
	build_error(&families[0], &back, 2000, 50, &in);
	check_passes(&in);
}

static void echo_passes(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct family *f = &families[i & 1];
		struct frame_icmp icmp = { .source = f->client,
					   .destination = f->vip,
					   .smac = frame_client_mac,
					   .dmac = frame_our_mac,
					   .ttl = 60,
					   .type = f->echo };
		struct frame in;

		start(f, i & 2 ? IPPROTO_TCP : 0, i & 2 ? 80 : 0);
		frame_build_icmp(&icmp, &in);
		check_passes(&in);
	}
}

static void an_error_to_another_address_passes(void **state)
{
	struct family other = families[0];
	struct frame_spec back;
	struct frame in;

	start(&families[0], IPPROTO_TCP, 80);
	other.vip = "198.51.100.11";
	back = to_client(&other, IPPROTO_TCP, 5000);
	build_error(&other, &back, 2000, 50, &in);
	check_passes(&in);
}

static void an_all_port_vip_takes_errors_of_any_port(void **state)
{
	struct frame_spec out = from_client(&families[0], IPPROTO_UDP, 5000);
	struct frame_spec back = to_client(&families[0], IPPROTO_UDP, 5000);

	start(&families[0], 0, 0);
	out.destination_port = back.source_port = 7777;
	check_error_to(&families[0], &back, 2000, lab_server_of(&lab, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_reaches_the_server_of_the_flow_it_quotes),
		cmocka_unit_test(an_error_follows_the_flow_and_not_the_table),
		cmocka_unit_test(eight_bytes_behind_the_header_are_enough),
		cmocka_unit_test(extension_headers_may_be_quoted),
		cmocka_unit_test(an_error_leaves_no_trace_in_the_flow_table),
		cmocka_unit_test(an_error_of_an_unknown_flow_goes_by_the_table),
		cmocka_unit_test(an_error_is_never_answered_with_one),
		cmocka_unit_test(an_error_that_quotes_somebody_else_passes),
		cmocka_unit_test(a_quote_without_ports_passes),
		cmocka_unit_test(a_later_fragment_in_a_quote_passes),
		cmocka_unit_test(echo_passes),
		cmocka_unit_test(an_error_to_another_address_passes),
		cmocka_unit_test(an_all_port_vip_takes_errors_of_any_port),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("icmp", tests, NULL, NULL);
}
