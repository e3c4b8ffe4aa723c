/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/names.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"

static struct addr ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

/*
 * Two backends share an address, in two frontends; b is in two pools; names and addresses
 * sort differently.
 */
static const struct l4_config *build(struct fixture *f)
{
	fixture_backend(f, "a", "10.0.0.9", NULL);
	fixture_backend(f, "b", "10.0.0.5", NULL);
	fixture_backend(f, "c", "2001:db8::1", NULL);
	fixture_backend(f, "twin", "10.0.0.9", NULL);
	fixture_frontend(f, "first", "198.51.100.9", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "a", 100);
	fixture_member(f, "b", 100);
	fixture_pool(f, "fallback");
	fixture_member(f, "b", 50);
	fixture_member(f, "c", 50);
	fixture_frontend(f, "other", "198.51.100.1", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "twin", 100);
	fixture_frontend(f, "poolless", "198.51.100.5", 0);
	return fixture_config(f);
}

static void a_vip_is_found_whatever_its_name(void **state)
{
	_cleanup_(fixture_freep) struct fixture *f = fixture_new();
	const struct l4_config *c = build(f);
	struct lb_vip_key key = { ip("198.51.100.9"), IPPROTO_TCP, 80 };

	assert_int_equal(l4_frontend_of(c, &key), l4_config_frontend(c, "first"));
	key.address = ip("198.51.100.1");
	assert_int_equal(l4_frontend_of(c, &key), l4_config_frontend(c, "other"));
	key.port = 81;
	assert_int_equal(l4_frontend_of(c, &key), SIZE_MAX);
	key = (struct lb_vip_key){ ip("198.51.100.5"), L4_PROTOCOL_ANY, 0 };
	assert_int_equal(l4_frontend_of(c, &key), l4_config_frontend(c, "poolless"));
}

static void a_server_is_found_in_its_frontend(void **state)
{
	static const struct {
		const char *frontend, *address, *backend;
	} rows[] = {
		{ "first", "10.0.0.9", "a" },	 { "first", "10.0.0.5", "b" },
		{ "first", "2001:db8::1", "c" }, { "other", "10.0.0.9", "twin" },
		{ "other", "10.0.0.5", NULL },	 { "poolless", "10.0.0.5", NULL },
		{ "first", "10.0.0.6", NULL },
	};
	_cleanup_(fixture_freep) struct fixture *f = fixture_new();
	const struct l4_config *c = build(f);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr address = ip(rows[i].address);

		assert_int_equal(
			l4_backend_of(c, l4_config_frontend(c, rows[i].frontend), &address),
			rows[i].backend ? l4_config_backend(c, rows[i].backend) : SIZE_MAX);
	}
	assert_int_equal(c->frontends[l4_config_frontend(c, "first")].n_backends, 3);
}

static void all_backends_of_an_address_are_found_by_name(void **state)
{
	_cleanup_(fixture_freep) struct fixture *f = fixture_new();
	const struct l4_config *c = build(f);
	struct addr both = ip("10.0.0.9"), none = ip("10.0.0.6");
	size_t first;

	assert_int_equal(l4_backends_at(c, &both, &first), 2);
	assert_string_equal(c->backends[c->by_address[first]].name, "a");
	assert_string_equal(c->backends[c->by_address[first + 1]].name, "twin");
	assert_int_equal(l4_backends_at(c, &none, &first), 0);
}

static void without_frontends_nothing_is_anybodys(void **state)
{
	_cleanup_(fixture_freep) struct fixture *f = fixture_new();
	struct lb_vip_key key = { ip("198.51.100.9"), IPPROTO_TCP, 80 };
	size_t first;

	assert_int_equal(l4_frontend_of(fixture_config(f), &key), SIZE_MAX);
	assert_int_equal(l4_backends_at(fixture_config(f), &key.address, &first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vip_is_found_whatever_its_name),
		cmocka_unit_test(a_server_is_found_in_its_frontend),
		cmocka_unit_test(all_backends_of_an_address_are_found_by_name),
		cmocka_unit_test(without_frontends_nothing_is_anybodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
