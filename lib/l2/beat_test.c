/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/beat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/tls/digest.h"

#define KEY STR("a key that both know")

static struct l2_beat example(void)
{
	struct l2_beat b = { .group = 7, .wait_ms = 200, .boot = 3, .sequence = 9, .name = "lb1" };

	b.n = 2;
	addr_parse("192.0.2.10", &b.vips[0].vip);
	addr_parse("2001:db8::10", &b.vips[1].vip);
	b.vips[0].priority = 200;
	b.vips[0].owner = true;
	b.vips[0].claims = 0x1234;
	b.vips[1].priority = 100;
	b.vips[1].preempt = true;
	return b;
}

static int decode(const uint8_t *bytes, size_t n, struct l2_beat *ret)
{
	return l2_beat_decode((struct str){ (const char *)bytes, n }, KEY, ret);
}

static size_t sign(uint8_t *bytes, size_t n)
{
	tls_hmac_sha256(KEY.p, KEY.n, bytes, n, bytes + n);
	return n + TLS_SHA256;
}

static void a_heartbeat_is_read_as_it_was_written(void **state)
{
	struct l2_beat b = example(), back;
	uint8_t bytes[L2_BEAT_MAX];
	size_t n = l2_beat_encode(&b, KEY, bytes);

	assert_int_equal(n, 32 + 3 + (5 + 4) + (5 + 16) + 32);
	assert_int_equal(decode(bytes, n, &back), 0);
	assert_memory_equal(&b, &back, sizeof(b));
}

static void the_bytes_are_those_of_the_format(void **state)
{
	static const uint8_t expected[] =
		"MGL2\x01\x03\x02\x00"
		"\0\0\0\x07\0\0\0\xc8"
		"\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x09"
		"lb1"
		"\x04\x01\xc8\x12\x34\xc0\x00\x02\x0a"
		"\x06\x02\x64\x00\x00\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x10";
	struct l2_beat b = example();
	uint8_t bytes[L2_BEAT_MAX];

	l2_beat_encode(&b, KEY, bytes);
	assert_memory_equal(bytes, expected, sizeof(expected) - 1);
}

static void the_largest_heartbeat_fits(void **state)
{
	struct l2_beat b = example(), back;
	uint8_t bytes[L2_BEAT_MAX];
	size_t n;

	memset(b.name, 'x', L2_BEAT_NAME);
	b.n = L2_BEAT_VIPS;
	for (size_t i = 0; i < b.n; i++)
		b.vips[i] = b.vips[1];
	n = l2_beat_encode(&b, KEY, bytes);
	assert_int_equal(decode(bytes, n, &back), 0);
	assert_int_equal(back.n, L2_BEAT_VIPS);
}

static void every_changed_bit_is_noticed(void **state)
{
	struct l2_beat b = example(), back = { .group = 42 };
	uint8_t bytes[L2_BEAT_MAX];
	size_t n = l2_beat_encode(&b, KEY, bytes);

	for (size_t bit = 0; bit < n * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(decode(bytes, n, &back) < 0);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t len = 0; len < n; len++)
		assert_true(decode(bytes, len, &back) < 0);
	assert_int_equal(back.group, 42);
}

static void another_key_is_rejected(void **state)
{
	struct l2_beat b = example(), back;
	uint8_t bytes[L2_BEAT_MAX];
	size_t n = l2_beat_encode(&b, STR("a key that only one knows"), bytes);

	assert_int_equal(decode(bytes, n, &back), -EKEYREJECTED);
}

/* Signed properly, but not a heartbeat: byte `at` has another value. */
static void signed_nonsense_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		int error;
	} cases[] = {
		{ 0, 'X', -EPROTO },   { 4, 2, -EPROTONOSUPPORT }, { 5, 0, -EPROTO },
		{ 5, 64, -EPROTO },    { 5, 4, -EPROTO },	   { 6, 1, -EPROTO },
		{ 6, 3, -EPROTO },     { 6, 49, -EPROTO },	   { 7, 1, -EPROTO },
		{ 12, 1, -EPROTO },    { 15, 9, -EPROTO },	   { 33, '\n', -EPROTO },
		{ 33, 0, -EPROTO },    { 35, 5, -EPROTO },	   { 36, 4, -EPROTO },
		{ 34, 0xff, -EPROTO },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct l2_beat b = example(), back;
		uint8_t bytes[L2_BEAT_MAX];
		size_t n = l2_beat_encode(&b, KEY, bytes) - TLS_SHA256;

		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(decode(bytes, sign(bytes, n), &back), cases[i].error);
	}
}

static void bytes_after_the_last_vip_are_refused(void **state)
{
	struct l2_beat b = example(), back;
	uint8_t bytes[L2_BEAT_MAX];
	size_t n = l2_beat_encode(&b, KEY, bytes) - TLS_SHA256;

	bytes[n] = 0;
	assert_int_equal(decode(bytes, sign(bytes, n + 1), &back), -EPROTO);
}

static bool fresh(struct l2_beat_guard *g, const char *name, uint64_t boot, uint64_t sequence)
{
	struct l2_beat b = { .boot = boot, .sequence = sequence };

	snprintf(b.name, sizeof(b.name), "%s", name);
	return l2_beat_is_fresh(g, &b);
}

static void only_what_is_newer_is_fresh(void **state)
{
	struct l2_beat_guard g = { 0 };

	assert_true(fresh(&g, "a", 5, 10));
	assert_false(fresh(&g, "a", 5, 10));
	assert_false(fresh(&g, "a", 5, 9));
	assert_true(fresh(&g, "a", 5, 12));
	assert_true(fresh(&g, "b", 1, 1));
	assert_true(fresh(&g, "a", 6, 0));
	assert_false(fresh(&g, "a", 5, 1000));
	assert_false(fresh(&g, "b", 1, 1));
}

static void the_sender_that_was_silent_for_longest_is_forgotten(void **state)
{
	struct l2_beat_guard g = { 0 };
	char name[8];

	for (unsigned i = 0; i < L2_BEAT_SENDERS; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_true(fresh(&g, name, 1, 1));
	}
	assert_true(fresh(&g, "m0", 1, 2));
	assert_true(fresh(&g, "new", 1, 1));
	assert_int_equal(g.n, L2_BEAT_SENDERS);
	assert_false(fresh(&g, "m0", 1, 2));
	assert_false(fresh(&g, "m2", 1, 1));
	assert_true(fresh(&g, "m1", 1, 1)); /* this one was forgotten */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heartbeat_is_read_as_it_was_written),
		cmocka_unit_test(the_bytes_are_those_of_the_format),
		cmocka_unit_test(the_largest_heartbeat_fits),
		cmocka_unit_test(every_changed_bit_is_noticed),
		cmocka_unit_test(another_key_is_rejected),
		cmocka_unit_test(signed_nonsense_is_refused),
		cmocka_unit_test(bytes_after_the_last_vip_are_refused),
		cmocka_unit_test(only_what_is_newer_is_fresh),
		cmocka_unit_test(the_sender_that_was_silent_for_longest_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
