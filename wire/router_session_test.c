/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/router_session.h"

static struct endpoint at(const char *text)
{
	struct endpoint e;

	assert_int_equal(endpoint_parse(text, &e), 0);
	return e;
}

static struct router_session some(void)
{
	return (struct router_session){
		.at = at(":53"),
		.client = at("[2001:db8::9]:4000"),
		.local = at("[2001:db8::1]:1").addr,
		.family = AF_INET6,
		.iface = 7,
		.turn = 3,
		.in = 57,
		.out = UINT64_MAX,
		.received = 1,
		.sent = 2,
		.age = 5000,
		.silent = 20,
		.confirmed = true,
		.stream = STR("a name 1 2"),
		.pool = STR("pool\n"),
		.server = STR("127.0.0.1:53"),
	};
}

static void assert_same(const struct router_session *a, const struct router_session *b)
{
	assert_int_equal(endpoint_cmp(&a->at, &b->at), 0);
	assert_int_equal(endpoint_cmp(&a->client, &b->client), 0);
	assert_int_equal(addr_cmp(&a->local, &b->local), 0);
	assert_int_equal(a->family, b->family);
	assert_int_equal(a->iface, b->iface);
	assert_int_equal(a->turn, b->turn);
	assert_true(a->in == b->in && a->out == b->out);
	assert_true(a->received == b->received && a->sent == b->sent);
	assert_true(a->age == b->age && a->silent == b->silent);
	assert_true(a->confirmed == b->confirmed && a->unanswered == b->unanswered);
	assert_true(str_eq(a->stream, b->stream) && str_eq(a->pool, b->pool));
	assert_true(str_eq(a->server, b->server));
}

static void several_return_from_one_text(void **state)
{
	struct router_session one = some(), two = some(), back;
	_cleanup_(buf_free) struct buf out = { 0 };
	struct str rest;

	two.local = (struct addr){ 0 };
	two.client = at("192.0.2.9:1");
	two.family = AF_INET;
	two.confirmed = false;
	two.unanswered = true;
	two.pool = two.server = STR("");
	assert_true(router_session_write(&one, &out));
	assert_true(router_session_write(&two, &out));
	rest = (struct str){ out.p, out.n };
	assert_int_equal(router_session_parse(&rest, &back), 0);
	assert_same(&one, &back);
	assert_int_equal(router_session_parse(&rest, &back), 0);
	assert_same(&two, &back);
	assert_int_equal(rest.n, 0);
	assert_int_equal(router_session_parse(&rest, &back), -EBADMSG);
}

static void what_is_cut_short_is_malformed(void **state)
{
	struct router_session s = some(), back;
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_true(router_session_write(&s, &out));
	for (size_t n = 0; n < out.n; n++) {
		struct str rest = { out.p, n };

		assert_int_equal(router_session_parse(&rest, &back), -EBADMSG);
		assert_int_equal(rest.n, n);
	}
}

static void a_name_that_is_too_long_is_not_written(void **state)
{
	struct router_session s = some();
	_cleanup_(buf_free) struct buf out = { 0 };
	char name[601];

	memset(name, 'x', sizeof(name));
	s.pool = (struct str){ name, sizeof(name) };
	assert_false(router_session_write(&s, &out));
	assert_int_equal(out.n, 0);
	s.pool.n--;
	s.stream = s.server = s.pool;
	assert_true(router_session_write(&s, &out));
	assert_true(out.n <= ROUTER_SESSION_MAX);
}

static void wrong_words_are_malformed(void **state)
{
	static const char *const rows[] = {
		"x 192.0.2.9:1 - 4 0 1 0 0 0 0 0 0 0 0 0 0 ",
		":53 x - 4 0 1 0 0 0 0 0 0 0 0 0 0 ",
		":53 192.0.2.9:1 x 4 0 1 0 0 0 0 0 0 0 0 0 0 ",
		":53 192.0.2.9:1 - 5 0 1 0 0 0 0 0 0 0 0 0 0 ",
		":53 192.0.2.9:1 - 4 0 1 0 0 0 0 0 0 4 0 0 0 ",
		":53 192.0.2.9:1 - 4 0 1 0 0 0 0 0 0 0 1 0 0 ",
		":53 192.0.2.9:1 - 4 0 1 0 0 0 0 9223372036854775807 0 0 0 0 0 ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str rest = str_of(rows[i]);
		struct router_session s;

		assert_int_equal(router_session_parse(&rest, &s), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_return_from_one_text),
		cmocka_unit_test(what_is_cut_short_is_malformed),
		cmocka_unit_test(a_name_that_is_too_long_is_not_written),
		cmocka_unit_test(wrong_words_are_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
