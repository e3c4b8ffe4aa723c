/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/message.h"
#include "src/frontend/auth.h"

static const struct auth auth = { "operator", "s3cret:pass" };

/* The head of a POST with these lines. */
static void parse(const char *lines, struct http_head *ret)
{
	static char text[2048];
	int n = snprintf(text, sizeof(text), "POST /admin/ HTTP/1.1\r\n%s\r\n", lines);

	assert_int_equal(http_parse_request(text, (size_t)n, NULL, ret), n);
}

static enum auth_verdict check(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return auth_check(&auth, &head);
}

static const char *foreign(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return auth_foreign(&head);
}

static void the_right_credentials_are_let_in(void **state)
{
	/* operator:s3cret:pass */
	assert_int_equal(check("Host: a\r\nAuthorization: Basic b3BlcmF0b3I6czNjcmV0OnBhc3M=\r\n"),
			 AUTH_OK);
	assert_int_equal(check("Host: a\r\nAuthorization: basic b3BlcmF0b3I6czNjcmV0OnBhc3M\r\n"),
			 AUTH_OK);
}

static void none_and_other_kinds_are_missing(void **state)
{
	assert_int_equal(check("Host: a\r\n"), AUTH_MISSING);
	assert_int_equal(check("Host: a\r\nAuthorization: Bearer x\r\n"), AUTH_MISSING);
	assert_int_equal(check("Host: a\r\nAuthorization:\r\n"), AUTH_MISSING);
}

static void everything_else_is_wrong(void **state)
{
	static const char *const wrong[] = {
		"",							    /* nothing */
		"b3BlcmF0b3I6",						    /* operator: */
		"b3BlcmF0b3I6czNjcmV0OnBhc3N4",				    /* one byte more */
		"b3BlcmF0b3I6czNjcmV0OnBhcw==",				    /* one less */
		"b3BlcmF0b3I6czNjcmV0OnBhc3NvcGVyYXRvcjpzM2NyZXQ6cGFzcw==", /* twice */
		"T1BFUkFUT1I6czNjcmV0OnBhc3M=", /* OPERATOR:s3cret:pass */
		"b3BlcmF0b3I6czNjcmV0OnBhc3M*", /* not base64 */
		"AAAA",
	};
	char lines[256];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(lines, sizeof(lines), "Host: a\r\nAuthorization: Basic %s\r\n", wrong[i]);
		assert_int_equal(check(lines), AUTH_WRONG);
	}
}

static bool has_pass(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return auth_has_cookie(&head, STR("pass"), STR("0123"));
}

static void a_cookie_is_found_among_others(void **state)
{
	assert_true(has_pass("Host: a\r\nCookie: pass=0123\r\n"));
	assert_true(has_pass("Host: a\r\nCookie: x=1; pass=0123; y\r\n"));
	assert_true(has_pass("Host: a\r\nCookie: pass=old; pass=0123\r\n"));
	assert_false(has_pass("Host: a\r\n"));
	assert_false(has_pass("Host: a\r\nCookie: pass\r\n"));
	assert_false(has_pass("Host: a\r\nCookie: pass=\r\n"));
	assert_false(has_pass("Host: a\r\nCookie: pass=01234\r\n"));
	assert_false(has_pass("Host: a\r\nCookie: xpass=0123; Pass=0123\r\n"));
}

#define OURS "Host: a:8080\r\nX-Maglev-Admin: 1\r\nContent-Type: application/json\r\n"

static void our_own_pages_and_programs_may_act(void **state)
{
	assert_null(foreign(OURS));
	assert_null(foreign(OURS "Origin: http://a:8080\r\nSec-Fetch-Site: same-origin\r\n"));
	assert_null(foreign(OURS "Origin: https://A:8080\r\n")); /* a proxy encrypts */
	assert_null(foreign("Host: a\r\nX-Maglev-Admin: 1\r\n"
			    "Content-Type: application/json; charset=utf-8\r\n"));
}

static void other_pages_may_not(void **state)
{
	static const char *const lines[] = {
		"Host: a\r\nContent-Type: application/json\r\n",
		"Host: a\r\nX-Maglev-Admin: 2\r\nContent-Type: application/json\r\n",
		"Host: a\r\nX-Maglev-Admin: 1\r\n",
		"Host: a\r\nX-Maglev-Admin: 1\r\nContent-Type: text/plain\r\n",
		OURS "Sec-Fetch-Site: cross-site\r\n",
		OURS "Sec-Fetch-Site: same-site\r\n",
		OURS "Sec-Fetch-Site: none\r\n",
		OURS "Origin: http://a\r\n",
		OURS "Origin: http://evil.example:8080\r\n",
		OURS "Origin: null\r\n",
		OURS "Origin:\r\n",
		OURS "Origin: http://a:8080.evil.example\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_non_null(foreign(lines[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_credentials_are_let_in),
		cmocka_unit_test(none_and_other_kinds_are_missing),
		cmocka_unit_test(everything_else_is_wrong),
		cmocka_unit_test(a_cookie_is_found_among_others),
		cmocka_unit_test(our_own_pages_and_programs_may_act),
		cmocka_unit_test(other_pages_may_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
