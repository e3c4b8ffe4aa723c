/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct fields_request request; /* too large for a stack frame that is measured */

/* "name=value;" of each field. */
static const char *shown(struct buf *out)
{
	out->n = 0;
	for (size_t i = 0; i < request.n; i++) {
		buf_add(out, request.list[i].name.p, request.list[i].name.n);
		buf_addc(out, '=');
		buf_add(out, request.list[i].value.p, request.list[i].value.n);
		buf_addc(out, ';');
	}
	return buf_cstr(out);
}

static void a_head_becomes_fields_and_its_framing_is_gone(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	const char text[] = "POST /a?b HTTP/1.1\r\nHost: h:1\r\nX-A: b\r\n"
			    "transfer-encoding: chunked\r\nconnection: upgrade\r\n"
			    "upgrade: other\r\nkeep-alive: 1\r\nx-b: \r\n\r\n3\r\nabc";

	assert_int_equal(fields_of_request(str_of(text), false, true, &request),
			 strlen(text) - strlen("3\r\nabc"));
	assert_string_equal(shown(&out), ":method=POST;:scheme=http;:authority=h:1;:path=/a?b;"
					 "X-A=b;x-b=;te=trailers;");
	assert_true(request.chunked && !request.socket && !request.is_head);
}

static void the_length_of_a_body_is_known(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_true(fields_of_request(STR("HEAD * HTTP/1.1\r\nhost: h\r\ncontent-length: 12\r\n"
					  "\r\n"),
				      true, false, &request));
	assert_string_equal(shown(&out), ":method=HEAD;:scheme=https;:authority=h;:path=*;"
					 "content-length=12;te=trailers;");
	assert_true(request.is_head && request.length == 12 && !request.chunked);
}

#define SOCKET                                                                                     \
	"GET /s HTTP/1.1\r\nhost: h\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"            \
	"sec-websocket-version: 13\r\nconnection: upgrade\r\nupgrade: WebSocket\r\n\r\n"

static void an_upgrade_to_a_websocket_becomes_connect_if_the_server_takes_it(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_true(fields_of_request(STR(SOCKET), true, true, &request));
	assert_string_equal(shown(&out), ":method=CONNECT;:scheme=https;:authority=h;:path=/s;"
					 ":protocol=websocket;sec-websocket-version=13;");
	assert_true(request.socket && str_eq(request.key, STR("dGhlIHNhbXBsZSBub25jZQ==")));
	assert_true(fields_of_request(STR(SOCKET), true, false, &request));
	assert_false(request.socket);
	assert_true(str_eq(request.list[0].value, STR("GET")));
}

/* The example of RFC 6455, 1.3. */
static void the_key_of_a_websocket_has_its_answer(void **state)
{
	char accept[FIELDS_ACCEPT_SIZE];

	fields_accept(STR("dGhlIHNhbXBsZSBub25jZQ=="), accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void what_is_not_a_complete_head_or_too_long_is_refused(void **state)
{
	_cleanup_(buf_free) struct buf long_one = { 0 };

	assert_false(
		fields_of_request(STR("GET / HTTP/1.1\r\nhost: h\r\n"), false, false, &request));
	assert_false(fields_of_request(STR(""), false, false, &request));
	buf_add_lit(&long_one, "GET / HTTP/1.1\r\n");
	for (size_t i = 0; i < FIELDS_MAX; i++)
		buf_add_lit(&long_one, "a: b\r\n");
	buf_add_lit(&long_one, "\r\n");
	assert_false(
		fields_of_request((struct str){ long_one.p, long_one.n }, false, false, &request));
}

static void an_answer_is_written_as_of_http_1(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	fields_add_status(&out, 404);
	fields_add(&out, STR("a"), STR("b"));
	assert_string_equal(buf_cstr(&out), "HTTP/1.1 404 Not Found\r\na: b\r\n");
	assert_true(fields_is_hop(STR("Keep-Alive")) && !fields_is_hop(STR("grpc-status")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_becomes_fields_and_its_framing_is_gone),
		cmocka_unit_test(the_length_of_a_body_is_known),
		cmocka_unit_test(an_upgrade_to_a_websocket_becomes_connect_if_the_server_takes_it),
		cmocka_unit_test(the_key_of_a_websocket_has_its_answer),
		cmocka_unit_test(what_is_not_a_complete_head_or_too_long_is_refused),
		cmocka_unit_test(an_answer_is_written_as_of_http_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
