/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct document *document_with(const char *const *routes, size_t n)
{
	struct document *d = document_new();

	document_set(d, DOCUMENT_LISTENERS, "l", "", STR("{\"name\":\"l\"}"));
	document_set(d, DOCUMENT_POOLS, "p", "", STR("{\"name\":\"p\",\"upstreams\":[],\"x\":1}"));
	document_set_servers(d, "p", STR("{\"upstreams\":[7]}"));
	for (size_t i = 0; i < n; i++)
		document_set(d, DOCUMENT_ROUTES, routes[i], "", STR("{\"a\":1}"));
	return d;
}

static void assert_written(const struct document *d, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	document_write(d, &out);
	assert_string_equal(buf_cstr(&out), want);
}

static void entries_are_in_order_one_in_a_line(void **state)
{
	static const char *const names[] = { "b", "a" };
	struct document *d = document_with(names, 2);

	document_set(d, DOCUMENT_ROUTES, "0", "!", STR("{\"last\":1}"));
	assert_written(d, "{\"listeners\":[\n{\"name\":\"l\"}\n],\"routes\":[\n{\"a\":1},\n"
			  "{\"a\":1},\n{\"last\":1}\n],\"streams\":[\n],\"pools\":[\n"
			  "{\"name\":\"p\",\"upstreams\":[7],\"x\":1}\n]}\n");
	assert_true(document_set(d, DOCUMENT_ROUTES, "0", "", STR("{\"last\":1}")));
	assert_string_equal(document_name(d, DOCUMENT_ROUTES, 0), "0");
	document_free(d);
}

static void the_same_entries_have_the_same_digest(void **state)
{
	static const char *const names[] = { "a", "b" };
	static const char *const other[] = { "b", "c", "a" };
	struct document *one = document_with(names, 2), *two = document_with(other, 3);
	char x[DOCUMENT_DIGEST], y[DOCUMENT_DIGEST];

	document_digest(one, x);
	document_digest(two, y);
	assert_string_not_equal(x, y);
	assert_true(document_remove(two, DOCUMENT_ROUTES, "c"));
	document_digest(two, y);
	assert_string_equal(x, y);
	document_set_servers(two, "p", STR("{\"upstreams\":[1]}"));
	document_digest(two, y);
	assert_string_not_equal(x, y);
	document_set_servers(two, "p", STR("{\"upstreams\":[7]}"));
	document_digest(two, y);
	assert_string_equal(x, y);
	document_free(one);
	document_free(two);
}

static void servers_alone_are_a_small_change(void **state)
{
	struct document *d = document_with(NULL, 0);
	const char *pool;
	uint64_t version, had;

	document_set(d, DOCUMENT_POOLS, "q", "", STR("{\"name\":\"q\",\"upstreams\":[]}"));
	document_set_servers(d, "q", STR("{\"upstreams\":[]}"));
	had = document_version(d);
	assert_int_equal(document_since(d, had, &pool, &version), DOCUMENT_NOTHING);
	assert_int_equal(document_since(d, 0, &pool, &version), DOCUMENT_WHOLE);
	assert_false(document_set_servers(d, "p", STR("{\"upstreams\":[7]}")));
	document_set_servers(d, "q", STR("{\"upstreams\":[2]}"));
	document_set_servers(d, "p", STR("{\"upstreams\":[1]}"));
	assert_int_equal(document_stale_pools(d, had), 2);
	assert_int_equal(document_since(d, had, &pool, &version), DOCUMENT_SERVERS);
	assert_string_equal(pool, "q");
	assert_int_equal(document_since(d, version, &pool, &version), DOCUMENT_SERVERS);
	assert_string_equal(pool, "p");
	assert_int_equal(version, document_version(d));
	/* a pool that is new is not known to routers */
	document_set(d, DOCUMENT_POOLS, "new", "", STR("{\"name\":\"new\",\"upstreams\":[]}"));
	document_set_servers(d, "new", STR("{\"upstreams\":[3]}"));
	assert_int_equal(document_since(d, version, &pool, &version), DOCUMENT_WHOLE);
	document_free(d);
}

static void a_refused_entry_is_left_out_until_it_changes(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	struct document *d = document_with(names, 3);
	char before[DOCUMENT_DIGEST], after[DOCUMENT_DIGEST];
	enum document_part part;
	const char *name;

	document_digest(d, before);
	assert_false(document_refuse(d, 1, "no", &part, &name));
	assert_false(document_refuse(d, 3, "the key of routes", &part, &name));
	assert_true(document_refuse(d, 5, "bad", &part, &name));
	assert_int_equal(part, DOCUMENT_ROUTES);
	assert_string_equal(name, "b");
	assert_string_equal(document_refusal(d, DOCUMENT_ROUTES, "b"), "bad");
	assert_true(document_refuse(d, 8, "bad pool", &part, &name));
	assert_int_equal(part, DOCUMENT_POOLS);
	assert_int_equal(document_refused(d), 2);
	assert_written(d, "{\"listeners\":[\n{\"name\":\"l\"}\n],\"routes\":[\n{\"a\":1},\n"
			  "{\"a\":1}\n],\"streams\":[\n],\"pools\":[\n]}\n");
	assert_false(document_set(d, DOCUMENT_ROUTES, "b", "", STR("{\"a\":1}")));
	/* what depended on the pool may be good again */
	document_set_servers(d, "p", STR("{\"upstreams\":[8]}"));
	document_set_servers(d, "p", STR("{\"upstreams\":[7]}"));
	assert_int_equal(document_refused(d), 0);
	document_digest(d, after);
	assert_string_equal(before, after);
	document_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_in_order_one_in_a_line),
		cmocka_unit_test(the_same_entries_have_the_same_digest),
		cmocka_unit_test(servers_alone_are_a_small_change),
		cmocka_unit_test(a_refused_entry_is_left_out_until_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
