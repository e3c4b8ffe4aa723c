/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/headers.h"

#define F(name, value)                                                                             \
	{                                                                                          \
		{ name, sizeof(name) - 1 },                                                        \
		{                                                                                  \
			value, sizeof(value) - 1                                                   \
		}                                                                                  \
	}
#define S(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static const struct field in[] = { F("Host", "h"), F("X-A", "1"), F("x-a", "2"), F("X-B", "3") };

/* "name=value " for each field. */
static void expect(const struct l7_header_edits *const *edits, size_t n, const char *want)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct field out[32];
	size_t count = l7_headers_apply(in, ARRAY_SIZE(in), edits, n, out);

	assert_true(count <= l7_headers_bound(ARRAY_SIZE(in), edits, n));
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%.*s=%.*s ", (int)out[i].name.n, out[i].name.p,
			   (int)out[i].value.n, out[i].value.p);
	assert_string_equal(buf_cstr(&text), want);
}

static const struct field set[] = { F("x-A", "new") }, added[] = { F("X-B", "4"), F("X-C", "5") };
static const struct str removed[] = { S("X-b"), S("x-none") };
static const struct l7_header_edits nothing, sets = { .set = set, .n_set = 1 },
					     adds = { .add = added, .n_add = 2 },
					     removes = { .remove = removed, .n_remove = 2 };

static void edits_do_what_their_names_say(void **state)
{
	const struct l7_header_edits *one[1];

	one[0] = &nothing;
	expect(one, 0, "Host=h X-A=1 x-a=2 X-B=3 ");
	expect(one, 1, "Host=h X-A=1 x-a=2 X-B=3 ");
	one[0] = &sets;
	expect(one, 1, "Host=h X-B=3 x-A=new ");
	one[0] = &adds;
	expect(one, 1, "Host=h X-A=1 x-a=2 X-B=3 X-B=4 X-C=5 ");
	one[0] = &removes;
	expect(one, 1, "Host=h X-A=1 x-a=2 ");
}

static void lists_are_applied_in_order(void **state)
{
	const struct l7_header_edits *add_remove[] = { &adds, &removes };
	const struct l7_header_edits *remove_add[] = { &removes, &adds };

	expect(add_remove, 2, "Host=h X-A=1 x-a=2 X-C=5 ");
	expect(remove_add, 2, "Host=h X-A=1 x-a=2 X-B=4 X-C=5 ");
}

static void fields_of_one_connection_are_known(void **state)
{
	static const struct str connection[] = { S("close, X-One ,,"),
						 S("x-two, content-length,Host") };
	static const char *const hops[] = { "Connection", "keep-alive",
					    "TE",	  "Transfer-Encoding",
					    "UPGRADE",	  "x-one",
					    "X-Two",	  "close" };
	static const char *const others[] = { "Host",	 "x-three", "x",
					      "trailer", "expect",  "Content-Length" };

	for (size_t i = 0; i < ARRAY_SIZE(hops); i++)
		assert_true(l7_header_is_hop(str_of(hops[i]), connection, 2));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(l7_header_is_hop(str_of(others[i]), connection, 2));
	assert_false(l7_header_is_hop(STR("x-one"), connection, 0));
}

static void a_disguise_is_seen_through(void **state)
{
	static const char *const disguised[] = { "X_Forwarded_For", "x-forwarded_proto",
						 "x_forwarded-host", "CONTENT_LENGTH",
						 "transfer_encoding" };
	static const char *const others[] = {
		"X-Forwarded-For",  "content-length", "x_forwarded_fox", "transfer-encodin_", "_",
		"my_own_field_name"
	};

	for (size_t i = 0; i < ARRAY_SIZE(disguised); i++)
		assert_true(l7_header_is_disguised(str_of(disguised[i])));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(l7_header_is_disguised(str_of(others[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_do_what_their_names_say),
		cmocka_unit_test(lists_are_applied_in_order),
		cmocka_unit_test(fields_of_one_connection_are_known),
		cmocka_unit_test(a_disguise_is_seen_through),
	};

	return cmocka_run_group_tests_name("core/l7/headers", tests, NULL, NULL);
}
