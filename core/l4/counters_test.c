/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/counters.h"

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

static struct lb_vip_key key(const char *address, uint16_t port)
{
	return (struct lb_vip_key){ ip(address), IPPROTO_TCP, port };
}

static void each_kind_of_packet_has_its_word(void **state)
{
	assert_string_equal(lb_packets_name(LB_PACKETS_NEXT), "next");
	assert_string_equal(lb_packets_name(LB_PACKETS_FIRST), "first");
	assert_string_equal(lb_packets_name(LB_PACKETS_UNTRACKED), "untracked");
	assert_string_equal(lb_packets_name(LB_PACKETS_NO_SERVER), "no-server");
}

/* VIPs 10.0.0.1 to 10.0.0.5, added in another order, each with its port as packet count. */
static void put_vips(struct lb_counters *c)
{
	static const uint16_t order[] = { 3, 1, 5, 4, 2 };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct lb_vip_key k = key("10.0.0.1", order[i]);

		lb_counters_put_vip(c, &k)->bytes = order[i];
	}
}

static void what_is_put_is_found_in_order(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct lb_vip_key k = key("10.0.0.1", 6);

	put_vips(&c);
	assert_int_equal(c.vips.n, 5);
	for (uint16_t port = 1; port <= 5; port++) {
		k.port = port;
		assert_int_equal(c.vips.items[port - 1].bytes, port);
		assert_ptr_equal(lb_counters_vip(&c, &k), &c.vips.items[port - 1]);
		assert_ptr_equal(lb_counters_put_vip(&c, &k), &c.vips.items[port - 1]);
	}
	k.port = 6;
	assert_null(lb_counters_vip(&c, &k));
	k.port = 0;
	assert_null(lb_counters_vip(&c, &k));
	assert_int_equal(c.vips.n, 5);
}

static void servers_of_a_vip_are_found_by_address(void **state)
{
	static const char *const in[] = { "2001:db8::1", "10.0.0.10", "10.0.0.9" };
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct lb_vip_key k = key("192.0.2.1", 80);
	struct lb_vip_counters *v = lb_counters_put_vip(&c, &k);
	struct addr a, stranger = ip("10.0.0.11");

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		a = ip(in[i]);
		lb_counters_put_as(v, &a)->packets = i + 1;
	}
	assert_int_equal(v->as.n, 3);
	assert_int_equal(v->as.items[0].packets, 3);
	assert_int_equal(v->as.items[2].packets, 1);
	a = ip("10.0.0.10");
	assert_int_equal(lb_counters_as(v, &a)->packets, 2);
	assert_null(lb_counters_as(v, &stranger));
	lb_counters_put_as(v, &a)->packets = 7;
	assert_int_equal(v->as.n, 3);
	assert_int_equal(v->as.items[1].packets, 7);
}

static void servers_over_all_vips_are_kept_by_address(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct addr one = ip("10.0.0.1"), two = ip("10.0.0.2"), none = ip("10.0.0.3");

	lb_counters_put_server(&c, &two)->bytes = 2;
	lb_counters_put_server(&c, &one)->bytes = 1;
	lb_counters_put_server(&c, &two)->packets = 3;
	assert_int_equal(c.servers.n, 2);
	assert_int_equal(c.servers.items[0].bytes, 1);
	assert_int_equal(c.servers.items[1].bytes, 2);
	assert_int_equal(c.servers.items[1].packets, 3);
	assert_int_equal(lb_counters_server_behind(&c, NULL), 0);
	assert_int_equal(lb_counters_server_behind(&c, &one), 1);
	assert_int_equal(lb_counters_server_behind(&c, &two), 2);
	assert_int_equal(lb_counters_server_behind(&c, &none), 2);
}

/* An interrupted walk continues, whether or not the last entry still exists. */
static void what_is_behind_is_found_without_what_was_before(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };
	struct lb_vip_key k = key("10.0.0.1", 3);
	struct addr nine = ip("10.0.0.9"), ten = ip("10.0.0.10"), first = ip("10.0.0.1");
	struct lb_vip_counters *v;

	put_vips(&c);
	assert_int_equal(lb_counters_vip_behind(&c, NULL), 0);
	assert_int_equal(lb_counters_vip_behind(&c, &k), 3);
	k.port = 0;
	assert_int_equal(lb_counters_vip_behind(&c, &k), 0);
	k = key("10.0.0.0", 9);
	assert_int_equal(lb_counters_vip_behind(&c, &k), 0);
	k = key("10.0.0.2", 1);
	assert_int_equal(lb_counters_vip_behind(&c, &k), 5);
	v = &c.vips.items[0];
	lb_counters_put_as(v, &nine);
	lb_counters_put_as(v, &ten);
	assert_int_equal(lb_counters_as_behind(v, NULL), 0);
	assert_int_equal(lb_counters_as_behind(v, &first), 0);
	assert_int_equal(lb_counters_as_behind(v, &nine), 1);
	assert_int_equal(lb_counters_as_behind(v, &ten), 2);
}

static void what_was_freed_can_be_filled_again(void **state)
{
	_cleanup_(lb_counters_free) struct lb_counters c = { 0 };

	put_vips(&c);
	vec_push(&c.events, (struct lb_event_counter){ "fragment", 1 });
	lb_counters_free(&c);
	assert_int_equal(c.vips.n + c.servers.n + c.events.n, 0);
	put_vips(&c);
	assert_int_equal(c.vips.n, 5);
}

static void drained_needs_a_count_that_is_younger_than_the_weight(void **state)
{
	struct lb_as as = { .idle_since = 10 };
	struct lb_counters c = { .has = LB_HAS_AS_FLOWS, .flows_since = 11 };
	struct lb_as_counters counted = { .flows = 0 };

	assert_true(lb_is_drained(&as, &c, &counted));
	counted.flows = 1;
	assert_false(lb_is_drained(&as, &c, &counted));
	counted.flows = 0;
	c.flows_since = 10;
	assert_false(lb_is_drained(&as, &c, &counted));
	c.flows_since = 11;
	assert_false(lb_is_drained(&as, &c, NULL));
	as.weight = 1;
	assert_false(lb_is_drained(&as, &c, &counted));
	as.weight = 0;
	as.idle_since = 0;
	assert_false(lb_is_drained(&as, &c, &counted));
	as.idle_since = 10;
	c.has = LB_HAS_AS_BUCKETS;
	assert_false(lb_is_drained(&as, &c, &counted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_packet_has_its_word),
		cmocka_unit_test(what_is_put_is_found_in_order),
		cmocka_unit_test(servers_of_a_vip_are_found_by_address),
		cmocka_unit_test(servers_over_all_vips_are_kept_by_address),
		cmocka_unit_test(what_is_behind_is_found_without_what_was_before),
		cmocka_unit_test(what_was_freed_can_be_filled_again),
		cmocka_unit_test(drained_needs_a_count_that_is_younger_than_the_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
