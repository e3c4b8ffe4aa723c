/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks along counters that change between two steps, as they may between two parts of a page.
 */
#include "src/maglevd/metrics_plane.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct addr ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

/* A server of the VIP on that port; NULL: the VIP alone. */
static void put(struct lb_counters *c, uint16_t port, const char *as)
{
	struct lb_vip_key key = { ip("192.0.2.1"), IPPROTO_TCP, port };
	struct lb_vip_counters *v = lb_counters_put_vip(c, &key);

	if (as) {
		struct addr address = ip(as);

		lb_counters_put_as(v, &address);
	}
}

/* Expects the next item as "port address"; "" at the end. */
static void expect(const struct lb_counters *c, struct metrics_plane_place *place,
		   enum metrics_plane_walk walk, const char *wanted)
{
	struct metrics_plane_item item;
	_cleanup_(buf_free) struct buf text = { 0 };
	char address[ADDR_STRLEN];

	if (metrics_plane_next(c, walk, place, &item)) {
		assert_ptr_equal(item.all, c);
		if (item.vip)
			buf_printf(&text, "%u", item.vip->key.port);
		if (item.as)
			buf_printf(&text, " %s", addr_format(&item.as->address, address));
		if (item.server)
			buf_printf(&text, "%s", addr_format(&item.server->address, address));
	}
	assert_string_equal(buf_cstr(&text), wanted);
}

static void fill(struct lb_counters *c)
{
	put(c, 1, NULL);
	put(c, 2, "10.0.0.1");
	put(c, 2, "10.0.0.2");
	put(c, 3, NULL);
	put(c, 4, "10.0.0.1");
	put(c, 5, NULL);
}

static void servers_are_walked_vip_by_vip(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct metrics_plane_place place = { 0 };

	fill(&c);
	expect(&c, &place, METRICS_PLANE_ASES, "2 10.0.0.1");
	expect(&c, &place, METRICS_PLANE_ASES, "2 10.0.0.2");
	expect(&c, &place, METRICS_PLANE_ASES, "4 10.0.0.1");
	expect(&c, &place, METRICS_PLANE_ASES, "");
	expect(&c, &place, METRICS_PLANE_ASES, "");
}

static void vips_are_walked_with_servers_or_without(void **state)
{
	static const char *const ports[] = { "1", "2", "3", "4", "5", "" };
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct metrics_plane_place place = { 0 };

	fill(&c);
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		expect(&c, &place, METRICS_PLANE_VIPS, ports[i]);
}

static void a_walk_goes_on_in_newer_counters(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 }, newer = { 0 }, last = { 0 };
	struct metrics_plane_place place = { 0 };

	fill(&c);
	expect(&c, &place, METRICS_PLANE_ASES, "2 10.0.0.1");
	put(&newer, 1, "10.0.0.9"); /* before the present position: too late for this page */
	put(&newer, 2, "10.0.0.0");
	put(&newer, 2, "10.0.0.3");
	put(&newer, 3, "10.0.0.7");
	expect(&newer, &place, METRICS_PLANE_ASES, "2 10.0.0.3");
	put(&last, 1, "10.0.0.9"); /* without the VIP at the present position */
	put(&last, 3, "10.0.0.1");
	expect(&last, &place, METRICS_PLANE_ASES, "3 10.0.0.1");
	expect(&last, &place, METRICS_PLANE_ASES, "");
}

static void servers_over_all_vips_are_walked_by_address(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct metrics_plane_place place = { 0 };
	struct addr one = ip("10.0.0.1"), two = ip("2001:db8::1");

	expect(&c, &place, METRICS_PLANE_SERVERS, "");
	lb_counters_put_server(&c, &two);
	lb_counters_put_server(&c, &one);
	expect(&c, &place, METRICS_PLANE_SERVERS, "10.0.0.1");
	expect(&c, &place, METRICS_PLANE_SERVERS, "2001:db8::1");
	expect(&c, &place, METRICS_PLANE_SERVERS, "");
}

static void the_whole_is_there_once(void **state)
{
	static const struct lb_counters c;
	struct metrics_plane_place place = { 0 };
	struct metrics_plane_item item;

	assert_true(metrics_plane_next(&c, METRICS_PLANE_WHOLE, &place, &item));
	assert_ptr_equal(item.all, &c);
	assert_false(metrics_plane_next(&c, METRICS_PLANE_WHOLE, &place, &item));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_walked_vip_by_vip),
		cmocka_unit_test(vips_are_walked_with_servers_or_without),
		cmocka_unit_test(a_walk_goes_on_in_newer_counters),
		cmocka_unit_test(servers_over_all_vips_are_walked_by_address),
		cmocka_unit_test(the_whole_is_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
