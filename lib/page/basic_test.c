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
#include "lib/page/basic.h"

static const struct page_credentials credentials = { "operator", "s3cret:pass" };

/* The head of a POST with these lines. */
static void parse(const char *lines, struct http_head *ret)
{
	static char text[2048];
	int n = snprintf(text, sizeof(text), "POST /admin/ HTTP/1.1\r\n%s\r\n", lines);

	assert_int_equal(http_parse_request(text, (size_t)n, NULL, ret), n);
}

static enum page_verdict check(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return page_basic_check(&credentials, &head);
}

static void the_right_credentials_are_let_in(void **state)
{
	/* operator:s3cret:pass */
	assert_int_equal(check("Host: a\r\nAuthorization: Basic b3BlcmF0b3I6czNjcmV0OnBhc3M=\r\n"),
			 PAGE_AUTH_OK);
	assert_int_equal(check("Host: a\r\nAuthorization: basic b3BlcmF0b3I6czNjcmV0OnBhc3M\r\n"),
			 PAGE_AUTH_OK);
}

static void none_and_other_kinds_are_missing(void **state)
{
	assert_int_equal(check("Host: a\r\n"), PAGE_AUTH_MISSING);
	assert_int_equal(check("Host: a\r\nAuthorization: Bearer x\r\n"), PAGE_AUTH_MISSING);
	assert_int_equal(check("Host: a\r\nAuthorization:\r\n"), PAGE_AUTH_MISSING);
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
		assert_int_equal(check(lines), PAGE_AUTH_WRONG);
	}
}

static bool has_pass(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return page_has_cookie(&head, STR("pass"), STR("0123"));
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

/* The user is of no interest: what follows the first colon has to be the password. */
static void without_a_user_the_password_alone_counts(void **state)
{
	static const struct page_credentials any = { NULL, "s3cret:pass" };
	static const struct {
		const char *given;
		enum page_verdict verdict;
	} rows[] = {
		{ "b3BlcmF0b3I6czNjcmV0OnBhc3M=", PAGE_AUTH_OK }, /* operator:s3cret:pass */
		{ "OnMzY3JldDpwYXNz", PAGE_AUTH_OK },		  /* :s3cret:pass */
		{ "czNjcmV0OnBhc3M=", PAGE_AUTH_WRONG },	  /* s3cret:pass */
		{ "eDpzM2NyZXQ=", PAGE_AUTH_WRONG },		  /* x:s3cret */
		{ "eDo=", PAGE_AUTH_WRONG },			  /* x: */
		{ "eA==", PAGE_AUTH_WRONG },			  /* x */
		{ "", PAGE_AUTH_WRONG },
	};
	char lines[256];
	struct http_head request;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(lines, sizeof(lines), "Host: a\r\nAuthorization: Basic %s\r\n",
			 rows[i].given);
		parse(lines, &request);
		assert_int_equal(page_basic_check(&any, &request), rows[i].verdict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_credentials_are_let_in),
		cmocka_unit_test(none_and_other_kinds_are_missing),
		cmocka_unit_test(everything_else_is_wrong),
		cmocka_unit_test(without_a_user_the_password_alone_counts),
		cmocka_unit_test(a_cookie_is_found_among_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
