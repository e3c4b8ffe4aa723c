/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint8_t ours[L2_MAC] = { 2, 0, 0, 0, 0, 1 };

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct str str(const uint8_t *p, size_t n)
{
	return (struct str){ (const char *)p, n };
}

/* A request of 192.0.2.1 (02:00:00:00:00:09) for 192.0.2.10, as it is on the wire. */
static const uint8_t request[L2_ARP_FRAME] = "\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x09\x08\x06"
					     "\0\x01\x08\0\x06\x04\0\x01"
					     "\x02\0\0\0\0\x09\xc0\0\x02\x01"
					     "\0\0\0\0\0\0\xc0\0\x02\x0a";

static void a_request_is_read(void **state)
{
	struct addr sender = address("192.0.2.1"), target = address("192.0.2.10");
	struct l2_arp a;

	assert_int_equal(l2_arp_decode(str(request, sizeof(request)), &a), 0);
	assert_int_equal(a.op, L2_ARP_REQUEST);
	assert_int_equal(addr_cmp(&a.sender, &sender), 0);
	assert_int_equal(addr_cmp(&a.target, &target), 0);
	assert_memory_equal(a.destination, "\xff\xff\xff\xff\xff\xff", L2_MAC);
	assert_memory_equal(a.sender_mac, "\x02\0\0\0\0\x09", L2_MAC);
}

static void an_answer_goes_to_the_one_that_asked(void **state)
{
	static const uint8_t expected[L2_ARP_FRAME] = "\x02\0\0\0\0\x09\x02\0\0\0\0\x01\x08\x06"
						      "\0\x01\x08\0\x06\x04\0\x02"
						      "\x02\0\0\0\0\x01\xc0\0\x02\x0a"
						      "\x02\0\0\0\0\x09\xc0\0\x02\x01";
	uint8_t out[L2_ARP_FRAME];
	struct l2_arp a;

	l2_arp_decode(str(request, sizeof(request)), &a);
	a = l2_arp_answer(&a, ours);
	l2_arp_encode(&a, out);
	assert_memory_equal(out, expected, sizeof(expected));
}

static void gratuitous_frames_go_to_all(void **state)
{
	static const uint8_t reply[L2_ARP_FRAME] =
		"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x01\x08\x06"
		"\0\x01\x08\0\x06\x04\0\x02"
		"\x02\0\0\0\0\x01\xc0\0\x02\x0a"
		"\x02\0\0\0\0\x01\xc0\0\x02\x0a";
	struct addr vip = address("192.0.2.10");
	struct l2_arp a = l2_arp_gratuitous(L2_ARP_REPLY, ours, &vip);
	uint8_t out[L2_ARP_FRAME];

	l2_arp_encode(&a, out);
	assert_memory_equal(out, reply, sizeof(reply));
	a = l2_arp_gratuitous(L2_ARP_REQUEST, ours, &vip);
	l2_arp_encode(&a, out);
	assert_int_equal(out[21], L2_ARP_REQUEST);
	assert_memory_equal(out + 32, "\0\0\0\0\0\0", L2_MAC);
	assert_memory_equal(out + 38, "\xc0\0\x02\x0a", 4);
}

static void other_frames_are_not_arp(void **state)
{
	static const size_t kinds[] = { 12, 14, 16, 18, 19, 20, 21 };
	struct l2_arp a = { .op = 99 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint8_t frame[L2_ARP_FRAME];

		memcpy(frame, request, sizeof(frame));
		frame[kinds[i]] ^= 0x10;
		assert_int_equal(l2_arp_decode(str(frame, sizeof(frame)), &a), -EPROTO);
	}
	assert_int_equal(l2_arp_decode(str(request, sizeof(request) - 1), &a), -EPROTO);
	assert_int_equal(a.op, 99);
}

/* For 2001:db8::10, from 02:00:00:00:00:09; the option has type 1 and length 1. */
static const uint8_t solicitation[32] = "\x87\0\0\0\0\0\0\0"
					"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x10"
					"\x01\x01\x02\0\0\0\0\x09";

static void a_solicitation_is_read(void **state)
{
	struct addr target = address("2001:db8::10");
	struct l2_solicitation s;

	assert_int_equal(l2_solicitation_decode(str(solicitation, 32), &s), 0);
	assert_int_equal(addr_cmp(&s.target, &target), 0);
	assert_true(s.has_mac);
	/* one of duplicate address detection has no option */
	assert_int_equal(l2_solicitation_decode(str(solicitation, 24), &s), 0);
	assert_false(s.has_mac);
}

static void broken_solicitations_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = { { 0, 136 }, { 1, 1 }, { 8, 0xff }, { 25, 0 }, { 25, 2 } };
	struct l2_solicitation s = { .has_mac = true };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t message[32];

		memcpy(message, solicitation, sizeof(message));
		message[cases[i].at] = cases[i].value;
		assert_int_equal(l2_solicitation_decode(str(message, 32), &s), -EPROTO);
	}
	assert_int_equal(l2_solicitation_decode(str(solicitation, 23), &s), -EPROTO);
	assert_int_equal(l2_solicitation_decode(str(solicitation, 25), &s), -EPROTO);
	assert_true(s.has_mac);
}

static void an_advertisement_has_its_flags_and_its_address(void **state)
{
	static const uint8_t expected[L2_ADVERTISEMENT] =
		"\x88\0\0\0\x20\0\0\0"
		"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x10"
		"\x02\x01\x02\0\0\0\0\x01";
	struct l2_advertisement a = { .target = address("2001:db8::10"), .override = true };
	uint8_t out[L2_ADVERTISEMENT];

	memcpy(a.mac, ours, L2_MAC);
	l2_advertisement_encode(&a, out);
	assert_memory_equal(out, expected, sizeof(expected));
	a.override = false;
	a.solicited = true;
	l2_advertisement_encode(&a, out);
	assert_int_equal(out[4], 0x40);
}

static void the_group_has_the_last_three_bytes(void **state)
{
	struct addr target = address("2001:db8::12:3456:789a"), g = l2_solicited_group(&target);
	char text[ADDR_STRLEN];

	assert_string_equal(addr_format(&g, text), "ff02::1:ff56:789a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read),
		cmocka_unit_test(an_answer_goes_to_the_one_that_asked),
		cmocka_unit_test(gratuitous_frames_go_to_all),
		cmocka_unit_test(other_frames_are_not_arp),
		cmocka_unit_test(a_solicitation_is_read),
		cmocka_unit_test(broken_solicitations_are_refused),
		cmocka_unit_test(an_advertisement_has_its_flags_and_its_address),
		cmocka_unit_test(the_group_has_the_last_three_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
