/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/dns_message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

static struct dns_question question(const char *name, enum dns_type type)
{
	struct dns_question q = { .id = 0x1234, .type = type };

	assert_int_equal(dns_name_parse(name, &q.name), 0);
	return q;
}

/* An answer is built as text: a literal with all its zeroes. */
#define ANSWER(flags, answers, authorities)                                                        \
	"\x12\x34" flags "\x00\x01" answers authorities "\x00\x00"
#define WWW                                                                                        \
	"\x03www\x07"                                                                              \
	"example\x03"                                                                              \
	"com\x00"
#define ASKED_A WWW "\x00\x01\x00\x01"
#define POINTER "\xc0\x0c" /* to the name that was asked for */
#define A(ttl, address) "\x00\x01\x00\x01\x00\x00" ttl "\x00\x04" address

#define READ(bytes, q, ret) dns_read_answer((const uint8_t *)(bytes), sizeof(bytes) - 1, (q), (ret))

static void a_query_is_what_servers_expect(void **state)
{
	struct dns_question q = question("WWW.example.com.", DNS_AAAA);
	static const char want[] =
		"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" WWW "\x00\x1c\x00\x01";
	uint8_t out[DNS_QUERY_MAX];

	assert_int_equal(dns_write_query(&q, out), sizeof(want) - 1);
	assert_memory_equal(out, want, sizeof(want) - 1);
}

static void names_have_bounds(void **state)
{
	static const char *const bad[] = { "", ".", "a..b", ".a" };
	_cleanup_(buf_free) struct buf text = { 0 };
	struct dns_name name;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(dns_name_parse(bad[i], &name), -EINVAL);
	for (unsigned i = 0; i < 64; i++)
		buf_addc(&text, 'x');
	assert_int_equal(dns_name_parse(buf_cstr(&text), &name), -EINVAL);
	text.n--;
	assert_int_equal(dns_name_parse(buf_cstr(&text), &name), 0);
	text.n = 0;
	for (unsigned i = 0; i < 126; i++)
		buf_adds(&text, "a.");
	buf_addc(&text, 'a');
	assert_int_equal(dns_name_parse(buf_cstr(&text), &name), 0);
	assert_int_equal(name.n, DNS_WIRE_NAME);
	buf_adds(&text, ".a");
	assert_int_equal(dns_name_parse(buf_cstr(&text), &name), -EINVAL);
}

static void addresses_are_found(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;
	char text[ADDR_STRLEN];

	/* twice the same, one of another name, one of another class */
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x05", "\x00\x00") ASKED_A POINTER A(
				      "\x01\x00", "\x0a\x00\x00\x02") POINTER A("\x00\x3c",
										"\x0a\x00\x00\x01")
				      POINTER A("\x01\x00", "\x0a\x00\x00\x02") "\x01x\x00" A(
					      "\x00\x01", "\x0a\x00\x00\x03") POINTER
			      "\x00\x01\x00\x03\x00\x00\x00\x01\x00\x04\x0a\x00\x00\x04",
			      &q, &a),
			 0);
	assert_int_equal(a.verdict, DNS_FOUND);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.ttl, 60);
	assert_string_equal(addr_format(&a.found[0], text), "10.0.0.2");
	assert_string_equal(addr_format(&a.found[1], text), "10.0.0.1");
}

static void aliases_are_followed_in_any_order(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;

	/* b A; a CNAME b; www CNAME a */
	assert_int_equal(
		READ(ANSWER("\x81\x80", "\x00\x03", "\x00\x00") ASKED_A
		     "\x01"
		     "b\x00" A(
			     "\x01\x00",
			     "\x0a\x00\x00\x01") "\x01"
						 "a\x00\x00\x05\x00\x01\x00\x00\x00\x09\x00\x03\x01"
						 "b\x00" POINTER
						 "\x00\x05\x00\x01\x00\x00\x01\x00\x00\x03\x01"
						 "a\x00",
		     &q, &a),
		0);
	assert_int_equal(a.verdict, DNS_FOUND);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.ttl, 9); /* that of the alias */
}

static void a_ring_of_aliases_ends(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;

	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x01", "\x00\x00") ASKED_A POINTER
			      "\x00\x05\x00\x01\x00\x00\x00\x09\x00\x02" POINTER,
			      &q, &a),
			 0);
	assert_int_equal(a.verdict, DNS_NO_DATA);
}

#define SOA(ttl, minimum)                                                                          \
	"\x00\x00\x06\x00\x01\x00\x00" ttl "\x00\x16\x00\x00"                                      \
	"0123456789abcdef\x00\x00" minimum

static void what_does_not_exist_has_a_time(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;

	assert_int_equal(READ(ANSWER("\x81\x83", "\x00\x00", "\x00\x01")
				      ASKED_A SOA("\x0e\x10", "\x00\x3c"),
			      &q, &a),
			 0);
	assert_int_equal(a.verdict, DNS_NO_NAME);
	assert_int_equal(a.ttl, 60);
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x00", "\x00\x01")
				      ASKED_A SOA("\x00\x05", "\x00\x3c"),
			      &q, &a),
			 0);
	assert_int_equal(a.verdict, DNS_NO_DATA);
	assert_int_equal(a.ttl, 5);
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x00", "\x00\x00") ASKED_A, &q, &a), 0);
	assert_int_equal(a.verdict, DNS_NO_DATA);
	assert_int_equal(a.ttl, 0);
}

static void servers_may_cut_or_fail(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;

	assert_int_equal(READ(ANSWER("\x83\x80", "\x00\x09", "\x00\x00") ASKED_A, &q, &a), 0);
	assert_int_equal(a.verdict, DNS_TRUNCATED);
	assert_int_equal(READ(ANSWER("\x81\x82", "\x00\x00", "\x00\x00") ASKED_A, &q, &a), 0);
	assert_int_equal(a.verdict, DNS_FAILED);
	assert_int_equal(a.code, 2);
}

static void answers_to_other_questions_are_refused(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A), other = q;
	struct dns_answer a;
	static const char good[] = ANSWER("\x81\x80", "\x00\x00", "\x00\x00") ASKED_A;

	assert_int_equal(READ(good, &q, &a), 0);
	other.id++;
	assert_int_equal(READ(good, &other, &a), -EBADMSG);
	other = question("www.example.com", DNS_AAAA);
	assert_int_equal(READ(good, &other, &a), -EBADMSG);
	other = question("www.example.org", DNS_A);
	assert_int_equal(READ(good, &other, &a), -EBADMSG);
	/* a question, not an answer; and another operation */
	assert_int_equal(READ(ANSWER("\x01\x00", "\x00\x00", "\x00\x00") ASKED_A, &q, &a),
			 -EBADMSG);
	assert_int_equal(READ(ANSWER("\xa1\x80", "\x00\x00", "\x00\x00") ASKED_A, &q, &a),
			 -EBADMSG);
}

static void malformed_answers_are_refused(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	static const char good[] = ANSWER("\x81\x80", "\x00\x01", "\x00\x00")
		ASKED_A POINTER A("\x00\x3c", "\x0a\x00\x00\x01");
	struct dns_answer a;

	assert_int_equal(READ(good, &q, &a), 0);
	for (size_t n = 0; n < sizeof(good) - 1; n++)
		assert_int_equal(dns_read_answer((const uint8_t *)good, n, &q, &a), -EBADMSG);
	/* a name that points to itself, to a later byte, and a length with reserved bits */
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x01", "\x00\x00") ASKED_A
			      "\xc0\x21" A("\x00\x3c", "\x0a\x00\x00\x01"),
			      &q, &a),
			 -EBADMSG);
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x01", "\x00\x00") ASKED_A
			      "\xc0\x2f" A("\x00\x3c", "\x0a\x00\x00\x01"),
			      &q, &a),
			 -EBADMSG);
	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x01", "\x00\x00") ASKED_A
			      "\x80\x00" A("\x00\x3c", "\x0a\x00\x00\x01"),
			      &q, &a),
			 -EBADMSG);
}

static void an_address_of_the_wrong_size_is_none(void **state)
{
	struct dns_question q = question("www.example.com", DNS_A);
	struct dns_answer a;

	assert_int_equal(READ(ANSWER("\x81\x80", "\x00\x01", "\x00\x00") ASKED_A POINTER
			      "\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x03\x0a\x00\x01",
			      &q, &a),
			 0);
	assert_int_equal(a.verdict, DNS_NO_DATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_what_servers_expect),
		cmocka_unit_test(names_have_bounds),
		cmocka_unit_test(addresses_are_found),
		cmocka_unit_test(aliases_are_followed_in_any_order),
		cmocka_unit_test(a_ring_of_aliases_ends),
		cmocka_unit_test(what_does_not_exist_has_a_time),
		cmocka_unit_test(servers_may_cut_or_fail),
		cmocka_unit_test(answers_to_other_questions_are_refused),
		cmocka_unit_test(malformed_answers_are_refused),
		cmocka_unit_test(an_address_of_the_wrong_size_is_none),
	};

	return cmocka_run_group_tests_name("lib/net/dns_message", tests, NULL, NULL);
}
