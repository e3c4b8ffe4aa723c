/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static struct http_head head; /* too large for a stack frame that is measured */

static void parse_request(const char *text)
{
	assert_int_equal(http_parse_request(text, strlen(text), NULL, &head), strlen(text));
}

/* ---- targets ---- */

static const struct {
	const char *line, *host;
	unsigned status;
	const char *ret_host, *ret_target;
} targets[] = {
	{ "GET /a?b", "h", 0, "h", "/a?b" },
	{ "GET http://x:81/a?b", "h", 0, "x:81", "/a?b" },
	{ "GET HTTPS://x", "h", 0, "x", "/" },
	{ "GET http://x?b", "h", 400, NULL, NULL },
	{ "GET http:///a", "h", 400, NULL, NULL },
	{ "GET http://u@x/", "h", 400, NULL, NULL },
	{ "GET http://x,y/", "h", 400, NULL, NULL },
	{ "GET ftp://x/", "h", 400, NULL, NULL },
	{ "GET *", "h", 400, NULL, NULL },
	{ "OPTIONS *", "h", 0, "h", "*" },
	{ "GET a", "h", 400, NULL, NULL },
	{ "CONNECT h:1", "h:1", 405, NULL, NULL },
	{ "GET /", "[2001:db8::1]:80", 0, "[2001:db8::1]:80", "/" },
	{ "GET /", "", 0, "", "/" },
};

static void a_target_gives_host_and_path_or_a_status(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		char text[200];
		struct str host, target;

		snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: %s\r\n\r\n", targets[i].line,
			 targets[i].host);
		parse_request(text);
		assert_int_equal(head_read_target(&head, &host, &target), targets[i].status);
		if (targets[i].status)
			continue;
		assert_true(str_eq(host, str_of(targets[i].ret_host)));
		assert_true(str_eq(target, str_of(targets[i].ret_target)));
	}
}

/* ---- requests ---- */

static const struct endpoint client = { .port = 1234 };

static void expect_request(struct head_request r, const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct endpoint from = client;

	assert_int_equal(addr_parse("192.0.2.7", &from.addr), 0);
	r.from = &head;
	r.client = &from;
	r.scheme = STR("http");
	if (!r.target.n)
		r.target = head.target;
	head_write_request(&r, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void fields_of_the_connection_are_dropped(void **state)
{
	parse_request("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close, X-A\r\nX-A: 1\r\n"
		      "X-B: 2\r\nTE: trailers\r\nUpgrade: x\r\nX_Forwarded_For: 1\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "GET /a HTTP/1.1\r\nHost: h\r\nX-B: 2\r\n\r\n");
}

static void no_connection_takes_length_or_host_away(void **state)
{
	parse_request("POST / HTTP/1.1\r\nConnection: host\r\nHost: h\r\nContent-Length: 3\r\n"
		      "Connection: content-length\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
}

static void all_connection_fields_count(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_adds(&text, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = 0; i < 40; i++)
		buf_printf(&text, "Connection: x-%d\r\nX-%d: 1\r\n", i, i);
	buf_adds(&text, "\r\n");
	parse_request(buf_cstr(&text));
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

/* What the client says itself never reaches the server. */
static void the_subject_is_that_of_the_certificate(void **state)
{
	struct head_request r = { .forwarded = L7_FORWARDED_KEEP,
				  .subject_name = STR("X-Subject"),
				  .subject = STR("CN=a") };

	parse_request("GET / HTTP/1.1\r\nHost: h\r\nx-subject: CN=root\r\nX-Subject: CN=b\r\n"
		      "X_Subject: CN=c\r\nX-Other: 1\r\n\r\n");
	expect_request(r, "GET / HTTP/1.1\r\nHost: h\r\nX-Other: 1\r\nX-Subject: CN=a\r\n\r\n");
	r.subject = (struct str){ 0 };
	expect_request(r, "GET / HTTP/1.1\r\nHost: h\r\nX-Other: 1\r\n\r\n");
}

static void chunks_are_announced_again(void **state)
{
	parse_request("POST /a HTTP/1.0\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
	parse_request("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "POST /a HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n");
}

static void forwarded_fields_follow_the_policy(void **state)
{
	const struct str asked = STR("h");

	parse_request("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 10.0.0.1\r\n"
		      "X-Forwarded-Proto: https\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_APPEND, .asked = asked },
		       "GET / HTTP/1.1\r\nHost: h\r\nx-forwarded-for: 10.0.0.1, 192.0.2.7\r\n"
		       "x-forwarded-proto: http\r\nx-forwarded-host: h\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_REPLACE, .asked = asked },
		       "GET / HTTP/1.1\r\nHost: h\r\nx-forwarded-for: 192.0.2.7\r\n"
		       "x-forwarded-proto: http\r\nx-forwarded-host: h\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP, .asked = asked },
		       "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 10.0.0.1\r\n"
		       "X-Forwarded-Proto: https\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_DROP, .asked = asked },
		       "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

static void a_new_host_and_edits_are_written(void **state)
{
	static const struct field set[] = { { TEXT("X-A"), TEXT("2") } };
	static const struct l7_header_edits edits = { .set = set, .n_set = 1 };
	struct head_request r = { .host = STR("new"),
				  .target = STR("/b"),
				  .forwarded = L7_FORWARDED_KEEP,
				  .edits = { &edits },
				  .n_edits = 1 };

	parse_request("GET /a HTTP/1.1\r\nHost: old\r\nX-A: 1\r\n\r\n");
	expect_request(r, "GET /b HTTP/1.1\r\nhost: new\r\nX-A: 2\r\n\r\n");
}

static void an_upgrade_goes_on_if_it_is_wanted(void **state)
{
	parse_request("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP, .upgrade = true },
		       "GET / HTTP/1.1\r\nHost: h\r\nconnection: upgrade\r\nupgrade: ws\r\n\r\n");
	expect_request((struct head_request){ .forwarded = L7_FORWARDED_KEEP },
		       "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

static void some_upgrades_are_not_passed_on(void **state)
{
	static const struct {
		const char *fields;
		bool wanted;
	} rows[] = {
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\n", true },
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n", true },
		{ "Connection: Upgrade\r\nUpgrade: a, b/1\r\n", true },
		{ "Connection: Upgrade\r\nUpgrade: H2C\r\n", false },
		{ "Connection: Upgrade\r\nUpgrade: websocket , h2c\r\n", false },
		{ "Connection: Upgrade\r\n", false },
		{ "Upgrade: websocket\r\n", false },
		{ "Connection: Upgrade\r\nUpgrade: a\r\nContent-Length: 1\r\n", false },
		{ "Connection: Upgrade\r\nUpgrade: a\r\nTransfer-Encoding: chunked\r\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200];

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].fields);
		parse_request(text);
		assert_int_equal(head_wants_upgrade(&head), rows[i].wanted);
	}
	parse_request("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	assert_false(head_wants_upgrade(&head));
}

static void forwarded_is_written_as_the_rfc_says(void **state)
{
	struct head_request r = { .forwarded = L7_FORWARDED_REPLACE,
				  .fields = L7_FORWARDED,
				  .asked = STR("a\"b\\c") };
	_cleanup_(buf_free) struct buf out = { 0 };
	struct endpoint six = { .port = 1 };

	parse_request("GET / HTTP/1.1\r\nHost: h\r\nForwarded: for=1.1.1.1\r\n"
		      "X-Forwarded-For: 1.1.1.1\r\n\r\n");
	expect_request(r, "GET / HTTP/1.1\r\nHost: h\r\n"
			  "forwarded: for=192.0.2.7;host=\"a\\\"b\\\\c\";proto=http\r\n\r\n");
	/* with append, fields that are not written stay as they came */
	r.forwarded = L7_FORWARDED_APPEND;
	expect_request(r, "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.1.1.1\r\n"
			  "forwarded: for=1.1.1.1, for=192.0.2.7;host=\"a\\\"b\\\\c\";proto=http"
			  "\r\n\r\n");
	assert_int_equal(addr_parse("2001:db8::1", &six.addr), 0);
	r = (struct head_request){ .from = &head,
				   .client = &six,
				   .target = head.target,
				   .scheme = STR("https"),
				   .forwarded = L7_FORWARDED_REPLACE,
				   .fields = L7_FORWARDED_BOTH };
	head_write_request(&r, &out);
	assert_string_equal(buf_cstr(&out),
			    "GET / HTTP/1.1\r\nHost: h\r\nx-forwarded-for: 2001:db8::1\r\n"
			    "x-forwarded-proto: https\r\n"
			    "forwarded: for=\"[2001:db8::1]\";proto=https\r\n\r\n");
}

static void a_trusted_client_knows_scheme_and_host(void **state)
{
	struct head_request r = { .forwarded = L7_FORWARDED_APPEND,
				  .trusted = true,
				  .asked = STR("h") };

	parse_request("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-Proto: https\r\n"
		      "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n\r\n");
	expect_request(r, "GET / HTTP/1.1\r\nHost: h\r\n"
			  "x-forwarded-for: 1.1.1.1, 2.2.2.2, 192.0.2.7\r\n"
			  "x-forwarded-proto: https\r\nx-forwarded-host: h\r\n\r\n");
}

/* ---- answers ---- */

static void expect_answer(const char *text, struct head_answer a, const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(http_parse_response(text, strlen(text), NULL, &head), strlen(text));
	a.from = &head;
	head_write_answer(&a, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void the_framing_is_that_of_the_client(void **state)
{
	static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	static const char open[] = "HTTP/1.0 200 Fine\r\nX: 1\r\n\r\n";

	expect_answer(chunked, (struct head_answer){ .keep = true },
		      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
	expect_answer(chunked, (struct head_answer){ .framing = HEAD_CLOSE, .old = true },
		      "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
	expect_answer(open, (struct head_answer){ .framing = HEAD_CHUNKED, .keep = true },
		      "HTTP/1.1 200 Fine\r\nX: 1\r\ntransfer-encoding: chunked\r\n\r\n");
	expect_answer("HTTP/1.1 204 No\r\nContent-Length: 9\r\nA: 1\r\n\r\n",
		      (struct head_answer){ .keep = true }, "HTTP/1.1 204 No\r\nA: 1\r\n\r\n");
	expect_answer("HTTP/1.1 103 Go\r\nTransfer-Encoding: chunked\r\n\r\n",
		      (struct head_answer){ .keep = true }, "HTTP/1.1 103 Go\r\n\r\n");
	expect_answer("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n",
		      (struct head_answer){ .keep = true },
		      "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n");
	expect_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n",
		      (struct head_answer){ .keep = true },
		      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n");
	expect_answer("HTTP/1.1 204 No\r\n\r\n", (struct head_answer){ .keep = true, .old = true },
		      "HTTP/1.1 204 No\r\nconnection: keep-alive\r\n\r\n");
}

static void cors_replaces_what_the_server_said(void **state)
{
	expect_answer("HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nA: 1\r\n\r\n",
		      (struct head_answer){ .keep = true, .cors = STR("a-c: x\r\n") },
		      "HTTP/1.1 200 OK\r\nA: 1\r\na-c: x\r\n\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_gives_host_and_path_or_a_status),
		cmocka_unit_test(fields_of_the_connection_are_dropped),
		cmocka_unit_test(no_connection_takes_length_or_host_away),
		cmocka_unit_test(all_connection_fields_count),
		cmocka_unit_test(the_subject_is_that_of_the_certificate),
		cmocka_unit_test(chunks_are_announced_again),
		cmocka_unit_test(forwarded_fields_follow_the_policy),
		cmocka_unit_test(forwarded_is_written_as_the_rfc_says),
		cmocka_unit_test(a_trusted_client_knows_scheme_and_host),
		cmocka_unit_test(a_new_host_and_edits_are_written),
		cmocka_unit_test(an_upgrade_goes_on_if_it_is_wanted),
		cmocka_unit_test(some_upgrades_are_not_passed_on),
		cmocka_unit_test(the_framing_is_that_of_the_client),
		cmocka_unit_test(cors_replaces_what_the_server_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
