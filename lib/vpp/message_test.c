/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/message.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void assert_bytes(struct buf *b, const void *expected, size_t n)
{
	assert_int_equal(b->n, n);
	assert_memory_equal(b->p, expected, n);
	buf_free(b);
}

static void numbers_are_big_endian(void **state)
{
	const uint8_t expected[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07 };
	struct buf b = { 0 };
	struct vpp_reader r = vpp_reader_of(expected, sizeof(expected));

	vpp_put_u8(&b, 0x01);
	vpp_put_u16(&b, 0x0203);
	vpp_put_u32(&b, 0x04050607);
	assert_bytes(&b, expected, sizeof(expected));

	assert_int_equal(vpp_get_u8(&r), 0x01);
	assert_int_equal(vpp_get_u16(&r), 0x0203);
	assert_int_equal(vpp_get_u32(&r), 0x04050607);
	assert_false(r.bad);
	assert_int_equal(r.n, 0);
}

static void return_codes_have_a_sign(void **state)
{
	struct vpp_reader r = vpp_reader_of("\xff\xff\xff\xaf", 4);

	assert_int_equal(vpp_get_i32(&r), -81);
}

/* An IPv4 address comes first and is followed by zeros. */
static void addresses_are_seventeen_bytes(void **state)
{
	const uint8_t ip4[18] = { 0, 192, 0, 2, 1, [17] = 32 };
	const uint8_t ip6[18] = { 1, 0x20, 0x01, 0x0d, 0xb8, [16] = 1, [17] = 128 };
	struct addr four = address("192.0.2.1"), six = address("2001:db8::1"), back;
	struct buf b = { 0 };
	struct vpp_reader r;
	uint8_t length;

	vpp_put_prefix(&b, &four, 32);
	assert_bytes(&b, ip4, sizeof(ip4));
	vpp_put_prefix(&b, &six, 128);
	assert_bytes(&b, ip6, sizeof(ip6));

	r = vpp_reader_of(ip4, sizeof(ip4));
	back = vpp_get_prefix(&r, &length);
	assert_int_equal(addr_cmp(&back, &four), 0);
	assert_int_equal(length, 32);
	r = vpp_reader_of(ip6, sizeof(ip6));
	back = vpp_get_prefix(&r, &length);
	assert_int_equal(addr_cmp(&back, &six), 0);
	assert_int_equal(length, 128);
	assert_false(r.bad);
}

static void garbage_behind_an_ip4_address_is_not_part_of_it(void **state)
{
	const uint8_t bytes[17] = { 0, 192, 0, 2, 1, 0xde, 0xad };
	struct vpp_reader r = vpp_reader_of(bytes, sizeof(bytes));
	struct addr a = vpp_get_addr(&r), expected = address("192.0.2.1");

	assert_memory_equal(&a, &expected, sizeof(a));
}

static void an_unknown_family_is_bad(void **state)
{
	const uint8_t bytes[17] = { 2 };
	struct vpp_reader r = vpp_reader_of(bytes, sizeof(bytes));
	struct addr a = vpp_get_addr(&r);

	assert_true(r.bad);
	assert_false(addr_is_set(&a));
}

static void names_are_padded_or_cut(void **state)
{
	struct buf b = { 0 };
	struct vpp_reader r;

	vpp_put_name(&b, "maglevd", 10);
	assert_bytes(&b, "maglevd\0\0", 10);
	vpp_put_name(&b, "maglevd", 4);
	assert_bytes(&b, "magl", 4);

	r = vpp_reader_of("vpe\0garbage", 11);
	assert_true(str_eq(vpp_get_name(&r, 8), STR("vpe")));
	assert_int_equal(r.n, 3);
	r = vpp_reader_of("full", 4);
	assert_true(str_eq(vpp_get_name(&r, 4), STR("full")));
}

static void text_has_its_length_before_it(void **state)
{
	struct buf b = { 0 };
	struct vpp_reader r = vpp_reader_of("\0\0\0\7show lb", 11);

	vpp_put_text(&b, STR("show lb"));
	assert_bytes(&b, "\0\0\0\7show lb", 11);
	assert_true(str_eq(vpp_get_text(&r), STR("show lb")));
}

static void a_length_beyond_the_end_is_bad(void **state)
{
	struct vpp_reader r = vpp_reader_of("\xff\xff\xff\xffshow lb", 11);

	assert_int_equal(vpp_get_text(&r).n, 0);
	assert_true(r.bad);
}

/* A decoder that continues after an error never gets a partial value. */
static void a_bad_reader_stays_bad(void **state)
{
	struct vpp_reader r = vpp_reader_of("\1\2\3", 3);

	assert_int_equal(vpp_get_u32(&r), 0);
	assert_true(r.bad);
	assert_int_equal(vpp_get_u8(&r), 0);
	assert_int_equal(vpp_get_bytes(&r, 0).n, 0);
	assert_int_equal(vpp_get_name(&r, 1).n, 0);
	assert_true(r.bad);
}

static void a_frame_says_how_long_its_message_is(void **state)
{
	const uint8_t expected[18] = { [11] = 2, [17] = 23 };
	struct buf b = { 0 };
	size_t begin = vpp_frame_begin(&b);

	vpp_put_u16(&b, 23);
	vpp_frame_end(&b, begin);
	assert_bytes(&b, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_big_endian),
		cmocka_unit_test(return_codes_have_a_sign),
		cmocka_unit_test(addresses_are_seventeen_bytes),
		cmocka_unit_test(garbage_behind_an_ip4_address_is_not_part_of_it),
		cmocka_unit_test(an_unknown_family_is_bad),
		cmocka_unit_test(names_are_padded_or_cut),
		cmocka_unit_test(text_has_its_length_before_it),
		cmocka_unit_test(a_length_beyond_the_end_is_bad),
		cmocka_unit_test(a_bad_reader_stays_bad),
		cmocka_unit_test(a_frame_says_how_long_its_message_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
