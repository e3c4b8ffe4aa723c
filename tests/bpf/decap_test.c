/* SPDX-License-Identifier: Apache-2.0 */
/* The servers' end: what the balancer wrapped comes out as it was, everything else stays. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <decap.skel.h>
#include <linux/bpf.h>

#include "lib/xdp/xdp.h"
#include "tests/bpf/frame.h"

static int program;

static const struct frame_outer outers[] = {
	{ .source = "10.0.2.2", .destination = "10.0.11.2" },
	{ .source = "2001:db8:2::2", .destination = "2001:db8:11::2" },
};

static struct frame_spec packet(bool v4, unsigned payload)
{
	return (struct frame_spec){ .source = v4 ? "192.0.2.77" : "2001:db8:77::1",
				    .destination = v4 ? "198.51.100.10" : "2001:db8:100::10",
				    .protocol = IPPROTO_TCP,
				    .source_port = 40000,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .payload = payload };
}

static void run(const struct frame *in, struct frame *ret)
{
	struct xdp_run run = { .frame = in->bytes,
			       .size = (uint32_t)in->size,
			       .out = ret->bytes,
			       .out_size = sizeof(ret->bytes) };

	assert_int_equal(xdp_run(program, &run), 0);
	assert_int_equal(run.verdict, XDP_PASS);
	ret->size = run.out_size;
}

static void wrap(const struct frame_spec *inner, const struct frame_outer *like, struct frame *ret)
{
	struct frame_outer outer = *like;

	outer.smac = frame_client_mac;
	outer.dmac = frame_our_mac;
	frame_expect_gre(inner, &outer, ret);
}

static void check_untouched(const struct frame *in)
{
	struct frame got;

	run(in, &got);
	assert_int_equal(got.size, in->size);
	assert_memory_equal(got.bytes, in->bytes, in->size);
}

/* One hop less: that is the balancer's. */
static void what_was_wrapped_comes_out_as_it_was(void **state)
{
	static const unsigned payloads[] = { 0, 1, 1400 };

	for (unsigned mix = 0; mix < 12; mix++) {
		struct frame_spec inner = packet(mix & 1, payloads[mix / 4]);
		struct frame in, got, want;

		wrap(&inner, &outers[mix / 2 % 2], &in);
		inner.ttl--;
		frame_build(&inner, &want);
		run(&in, &got);
		assert_int_equal(got.size, want.size);
		assert_memory_equal(got.bytes, want.bytes, want.size);
	}
}

static void a_packet_that_is_not_in_gre_passes(void **state)
{
	for (unsigned mix = 0; mix < 4; mix++) {
		struct frame_spec spec = packet(mix & 1, 100);
		struct frame in;

		spec.tags = mix / 2;
		frame_build(&spec, &in);
		check_untouched(&in);
	}
}

/* Every byte that says what kind of GRE it is: no other value is taken for ours. */
static void gre_of_another_kind_passes(void **state)
{
	static const struct {
		unsigned outer, at;
		uint8_t value;
	} changes[] = {
		{ 0, 34, 0x80 }, { 0, 34, 0x20 }, { 0, 35, 1 },	 { 0, 36, 0x65 }, { 0, 37, 1 },
		{ 0, 14, 0x46 }, { 0, 20, 0x20 }, { 0, 21, 1 },	 { 0, 23, 4 },	  { 1, 54, 0x80 },
		{ 1, 57, 1 },	 { 1, 14, 0x50 }, { 1, 20, 44 }, { 0, 12, 0x81 }, { 1, 13, 1 },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct frame_spec inner = packet(true, 100);
		struct frame in;

		wrap(&inner, &outers[changes[i].outer], &in);
		in.bytes[changes[i].at] = changes[i].value;
		check_untouched(&in);
	}
}

static void a_frame_cut_before_the_inner_packet_passes(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct frame_spec inner = packet(true, 100);
		struct frame in;

		wrap(&inner, &outers[i], &in);
		for (in.size = 14; in.size < (i == 0 ? 38U : 58U); in.size++)
			check_untouched(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_wrapped_comes_out_as_it_was),
		cmocka_unit_test(a_packet_that_is_not_in_gre_passes),
		cmocka_unit_test(gre_of_another_kind_passes),
		cmocka_unit_test(a_frame_cut_before_the_inner_packet_passes),
	};
	struct xdp_object *object;
	size_t size;
	const void *elf = decap__elf_bytes(&size);
	int failed;

	if (xdp_object_open(elf, size, &object) < 0)
		return 1;
	if (xdp_object_load(object) == -EPERM) {
		printf("1..1\nok 1 - decapsulation # SKIP BPF is not permitted here\n");
		xdp_object_free(object);
		return 0;
	}
	program = xdp_object_program(object, "maglev_decap");
	failed = cmocka_run_group_tests_name("decap", tests, NULL, NULL);
	xdp_object_free(object);
	return failed;
}
