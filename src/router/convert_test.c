/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/convert.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct http_head head, again; /* too large for a stack frame that is measured */
static char text[HTTP_HEAD_MAX], packed[HTTP_HEAD_MAX];
static struct convert_fields fields;

#define GET_FIELDS                                                                                 \
	{ STR(":method"), STR("GET") }, { STR(":scheme"), STR("http") },                           \
		{ STR(":path"), STR("/a?b") },                                                     \
	{                                                                                          \
		STR(":authority"), STR("h")                                                        \
	}
#define POST_FIELDS                                                                                \
	{ STR(":method"), STR("POST") }, { STR(":scheme"), STR("https") },                         \
		{ STR(":path"), STR("/") },                                                        \
	{                                                                                          \
		STR(":authority"), STR("h:8443")                                                   \
	}

static int convert(const struct field *list, size_t n, bool ended)
{
	const struct convert_request r = { .fields = &fields, .ended = ended, .key = STR("KEY") };

	fields = (struct convert_fields){ .p = packed, .cap = sizeof(packed) };
	for (size_t i = 0; i < n; i++)
		convert_add(&fields, list[i].name, list[i].value);
	return convert_request(&r, text, &head);
}

/* The head that was filled in is that which the parser finds in the text. */
static void assert_same_as_parsed(int n)
{
	assert_int_equal(http_parse_request(text, (size_t)n, NULL, &again), n);
	assert_true(str_eq(head.method, again.method) && str_eq(head.target, again.target));
	assert_int_equal(head.n_headers, again.n_headers);
	for (size_t i = 0; i < head.n_headers; i++)
		assert_true(str_eq(head.headers[i].name, again.headers[i].name) &&
			    str_eq(head.headers[i].value, again.headers[i].value));
	assert_int_equal(head.minor, again.minor);
	assert_int_equal(head.chunked, again.chunked);
	assert_int_equal(head.has_length, again.has_length);
	assert_int_equal(head.length, again.length);
	assert_int_equal(head.upgrade, again.upgrade);
	assert_int_equal(head.keep_alive, again.keep_alive);
	assert_int_equal(head.expect_continue, again.expect_continue);
}

static void assert_text(const struct field *list, size_t n, bool ended, const char *want)
{
	int r = convert(list, n, ended);

	assert_int_equal(r, strlen(want));
	assert_memory_equal(text, want, strlen(want));
	assert_same_as_parsed(r);
}

#define ASSERT_TEXT(list, ended, want) assert_text(list, ARRAY_SIZE(list), ended, want)
#define ASSERT_REFUSED(list, why) assert_int_equal(convert(list, ARRAY_SIZE(list), true), why)

static void a_request_becomes_text(void **state)
{
	const struct field get[] = { GET_FIELDS,
				     { STR("accept"), STR("*/*") },
				     { STR("x-empty"), STR("") } };
	const struct field post[] = { POST_FIELDS, { STR("expect"), STR("100-continue") } };
	const struct field sized[] = { POST_FIELDS, { STR("content-length"), STR("7") } };

	ASSERT_TEXT(get, true, "GET /a?b HTTP/1.1\r\nhost: h\r\naccept: */*\r\nx-empty: \r\n\r\n");
	ASSERT_TEXT(post, false,
		    "POST / HTTP/1.1\r\nhost: h:8443\r\nexpect: 100-continue\r\n"
		    "transfer-encoding: chunked\r\n\r\n");
	ASSERT_TEXT(sized, false, "POST / HTTP/1.1\r\nhost: h:8443\r\ncontent-length: 7\r\n\r\n");
	assert_int_equal(head.length, 7);
}

static void crumbs_become_one_cookie(void **state)
{
	const struct field list[] = { GET_FIELDS,
				      { STR("cookie"), STR("a=1") },
				      { STR("x"), STR("y") },
				      { STR("cookie"), STR("b=2; c=3") },
				      { STR("cookie"), STR("") } };

	ASSERT_TEXT(list, true,
		    "GET /a?b HTTP/1.1\r\nhost: h\r\nx: y\r\ncookie: a=1; b=2; c=3\r\n\r\n");
}

static void host_may_stand_for_authority(void **state)
{
	const struct field alone[] = { { STR(":method"), STR("GET") },
				       { STR(":scheme"), STR("http") },
				       { STR(":path"), STR("/") },
				       { STR("x"), STR("y") },
				       { STR("host"), STR("h") } };
	const struct field both[] = { GET_FIELDS, { STR("host"), STR("H") } };
	const struct field other[] = { GET_FIELDS, { STR("host"), STR("i") } };

	ASSERT_TEXT(alone, true, "GET / HTTP/1.1\r\nhost: h\r\nx: y\r\n\r\n");
	ASSERT_TEXT(both, true, "GET /a?b HTTP/1.1\r\nhost: h\r\n\r\n");
	ASSERT_REFUSED(other, -EBADMSG);
}

static void an_extended_connect_becomes_an_upgrade(void **state)
{
	const struct field list[] = { { STR(":method"), STR("CONNECT") },
				      { STR(":protocol"), STR("websocket") },
				      { STR(":scheme"), STR("https") },
				      { STR(":path"), STR("/chat") },
				      { STR(":authority"), STR("h") },
				      { STR("sec-websocket-key"), STR("theirs") },
				      { STR("sec-websocket-version"), STR("13") } };
	struct field other[ARRAY_SIZE(list)];

	assert_text(list, ARRAY_SIZE(list), false,
		    "GET /chat HTTP/1.1\r\nhost: h\r\nsec-websocket-version: 13\r\n"
		    "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: KEY\r\n\r\n");
	memcpy(other, list, sizeof(list));
	other[1].value = STR("connect-udp");
	ASSERT_REFUSED(other, -EPROTONOSUPPORT);
	other[0].value = STR("GET");
	ASSERT_REFUSED(other, -EBADMSG);
}

static void a_plain_connect_keeps_its_target(void **state)
{
	const struct field list[] = { { STR(":method"), STR("CONNECT") },
				      { STR(":authority"), STR("h:443") } };

	ASSERT_TEXT(list, false, "CONNECT h:443 HTTP/1.1\r\nhost: h:443\r\n\r\n");
}

static void what_http_1_cannot_say_is_refused(void **state)
{
	static const struct field bad[] = {
		{ { "connection", 10 }, { "close", 5 } },
		{ { "transfer-encoding", 17 }, { "chunked", 7 } },
		{ { "upgrade", 7 }, { "h2c", 3 } },
		{ { "te", 2 }, { "gzip", 4 } },
		{ { "Upper", 5 }, { "x", 1 } },
		{ { "a b", 3 }, { "x", 1 } },
		{ { "", 0 }, { "x", 1 } },
		{ { "a", 1 }, { "x\r\ny: z", 7 } },
		{ { "a", 1 }, { "x\0y", 3 } },
		{ { "a", 1 }, { " x", 2 } },
		{ { "a", 1 }, { "x\t", 2 } },
		{ { "content-length", 14 }, { "1x", 2 } },
		{ { ":path", 5 }, { "/again", 6 } },
		{ { ":other", 6 }, { "x", 1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct field list[] = { GET_FIELDS, bad[i] };

		ASSERT_REFUSED(list, -EBADMSG);
	}
	for (size_t i = 0; i < 4; i++) { /* each of the four is needed */
		struct field list[] = { GET_FIELDS };

		list[i] = (struct field){ STR("x"), STR("y") };
		ASSERT_REFUSED(list, -EBADMSG);
	}
}

static void limits_of_a_head(void **state)
{
	static char long_value[HTTP_HEAD_MAX];
	const struct field large[] = { GET_FIELDS, { STR("x"), { long_value, 16000 } } };
	const struct field larger[] = { GET_FIELDS, { STR("x"), { long_value, 16380 } } };
	struct field many[HTTP_HEADERS_MAX + 4] = { GET_FIELDS };

	memset(long_value, 'x', sizeof(long_value));
	assert_true(convert(large, ARRAY_SIZE(large), true) > 16000);
	ASSERT_REFUSED(larger, -E2BIG);
	for (size_t i = 4; i < ARRAY_SIZE(many); i++)
		many[i] = (struct field){ STR("x"), STR("y") };
	assert_true(convert(many, HTTP_HEADERS_MAX + 3, true) > 0); /* with host: 100 */
	ASSERT_REFUSED(many, -ENOBUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_becomes_text),
		cmocka_unit_test(crumbs_become_one_cookie),
		cmocka_unit_test(host_may_stand_for_authority),
		cmocka_unit_test(an_extended_connect_becomes_an_upgrade),
		cmocka_unit_test(a_plain_connect_keeps_its_target),
		cmocka_unit_test(what_http_1_cannot_say_is_refused),
		cmocka_unit_test(limits_of_a_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
