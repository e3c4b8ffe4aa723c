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

/* The head of a POST with these lines. */
static void parse(const char *lines, struct http_head *ret)
{
	static char text[2048];
	int n = snprintf(text, sizeof(text), "POST /admin/ HTTP/1.1\r\n%s\r\n", lines);

	assert_int_equal(http_parse_request(text, (size_t)n, NULL, ret), n);
}

static const char *foreign(const char *lines)
{
	struct http_head head;

	parse(lines, &head);
	return auth_foreign(&head);
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
		cmocka_unit_test(our_own_pages_and_programs_may_act),
		cmocka_unit_test(other_pages_may_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
