/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/lb.h"

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

static struct lb_vip_key key(const char *address, uint8_t protocol, uint16_t port)
{
	return (struct lb_vip_key){ ip(address), protocol, port };
}

/* NFR-2.1: numeric, IPv4 first */
static void servers_are_kept_by_number_with_ipv4_first(void **state)
{
	static const char *const in[] = { "2001:db8::1", "10.0.0.10", "10.0.0.9", "::1",
					  "9.0.0.1" };
	static const char *const out[] = { "9.0.0.1", "10.0.0.9", "10.0.0.10", "::1",
					   "2001:db8::1" };
	_cleanup_(lb_vip_free) struct lb_vip v = { 0 };
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		struct addr a = ip(in[i]);

		lb_vip_put_as(&v, &a)->weight = (uint8_t)(i + 1);
	}
	assert_int_equal(v.as.n, ARRAY_SIZE(out));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		assert_string_equal(addr_format(&v.as.items[i].address, text), out[i]);
	assert_int_equal(v.as.items[0].weight, 5);
}

/* VIPs are sorted by address, protocol, port */
static void vips_are_kept_by_address_then_protocol_then_port(void **state)
{
	struct lb_vip_key sorted[] = {
		key("10.0.0.1", IPPROTO_TCP, 80),   key("10.0.0.1", IPPROTO_TCP, 443),
		key("10.0.0.1", IPPROTO_UDP, 53),   key("10.0.0.2", 0, 0),
		key("2001:db8::1", IPPROTO_TCP, 1),
	};
	static const size_t order[] = { 3, 0, 4, 2, 1 };
	_cleanup_(lb_state_free) struct lb_state s = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		lb_state_put_vip(&s, &sorted[order[i]]);
	assert_int_equal(s.vips.n, ARRAY_SIZE(sorted));
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		assert_int_equal(lb_vip_key_cmp(&s.vips.items[i].key, &sorted[i]), 0);
}

static void what_is_put_twice_is_there_once(void **state)
{
	struct lb_vip_key k = key("10.0.0.1", IPPROTO_TCP, 80);
	struct addr a = ip("10.1.0.1");
	_cleanup_(lb_state_free) struct lb_state s = { 0 };

	lb_vip_put_as(lb_state_put_vip(&s, &k), &a)->weight = 7;
	assert_int_equal(lb_vip_put_as(lb_state_put_vip(&s, &k), &a)->weight, 7);
	assert_int_equal(s.vips.n, 1);
	assert_int_equal(s.vips.items[0].as.n, 1);
}

static void what_was_removed_is_not_found(void **state)
{
	struct lb_vip_key k = key("10.0.0.1", IPPROTO_TCP, 80), other = key("10.0.0.1", 0, 0);
	struct addr a = ip("10.1.0.1"), b = ip("10.1.0.2");
	_cleanup_(lb_state_free) struct lb_state s = { 0 };
	struct lb_vip *v = lb_state_put_vip(&s, &k);

	lb_vip_put_as(v, &a);
	lb_vip_put_as(v, &b);
	assert_true(lb_vip_remove_as(v, &a));
	assert_false(lb_vip_remove_as(v, &a));
	assert_null(lb_vip_as(v, &a));
	assert_non_null(lb_vip_as(v, &b));
	assert_null(lb_state_vip(&s, &other));
	assert_false(lb_state_remove_vip(&s, &other));
	assert_true(lb_state_remove_vip(&s, &k));
	assert_null(lb_state_vip(&s, &k));
}

static void a_vip_prints_as_people_write_it(void **state)
{
	struct {
		struct lb_vip_key key;
		const char *text;
	} rows[] = {
		{ key("198.51.100.10", IPPROTO_TCP, 80), "198.51.100.10:80/tcp" },
		{ key("2001:db8::1", IPPROTO_UDP, 53), "[2001:db8::1]:53/udp" },
		{ key("198.51.100.10", 0, 0), "198.51.100.10 any" },
		{ key("2001:db8::1", 0, 0), "2001:db8::1 any" },
		{ key("198.51.100.10", IPPROTO_SCTP, 9), "198.51.100.10:9/132" },
	};
	char text[LB_VIP_KEY_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(lb_vip_key_format(&rows[i].key, text), rows[i].text);
}

static void every_field_of_the_configuration_counts(void **state)
{
	struct lb_conf a = { ip("192.0.2.1"), ip("2001:db8::1"), 1024, 40 }, b;

	assert_true(lb_conf_equal(&a, &a));
	b = a;
	b.src4 = ip("192.0.2.2");
	assert_false(lb_conf_equal(&a, &b));
	b = a;
	b.src6 = (struct addr){ 0 };
	assert_false(lb_conf_equal(&a, &b));
	b = a;
	b.sticky_buckets_per_core = 2048;
	assert_false(lb_conf_equal(&a, &b));
	b = a;
	b.flow_timeout_s = 41;
	assert_false(lb_conf_equal(&a, &b));
}

static void a_copy_shares_nothing_and_forgets_what_was_flushed(void **state)
{
	struct lb_state a = { .has_conf = true, .conf.flow_timeout_s = 40 }, b = { 0 };
	struct lb_vip_key k = key("198.51.100.10", IPPROTO_TCP, 80);
	struct addr as = ip("10.0.0.1");

	*lb_vip_put_as(lb_state_put_vip(&a, &k), &as) =
		(struct lb_as){ .address = as, .weight = 7, .flush = true };
	lb_state_copy(&a, &b);
	lb_vip_as(lb_state_vip(&a, &k), &as)->weight = 9;
	assert_int_equal(lb_vip_as(lb_state_vip(&b, &k), &as)->weight, 7);
	assert_false(lb_vip_as(lb_state_vip(&b, &k), &as)->flush);
	assert_true(b.has_conf && lb_conf_equal(&a.conf, &b.conf));
	lb_state_free(&a);
	lb_state_free(&b);
}

static void a_protocol_that_is_not_ours_is_a_number(void **state)
{
	static const struct {
		uint8_t protocol;
		const char *text;
	} rows[] = { { 0, "any" }, { IPPROTO_TCP, "tcp" }, { IPPROTO_UDP, "udp" }, { 255, "255" } };
	char text[LB_PROTOCOL_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(lb_protocol_format(rows[i].protocol, text), rows[i].text);
}

static void a_data_plane_without_all_its_interfaces_is_degraded(void **state)
{
	struct lb_interface interfaces[] = { { .name = "eth0", .attached = true },
					     { .name = "eth1", .attached = true } };
	const struct lb_attachment all = { .interfaces = interfaces, .n = 2 };

	assert_int_equal(lb_status_judge(true, NULL), LB_CONNECTED);
	assert_int_equal(lb_status_judge(false, NULL), LB_DISCONNECTED);
	assert_int_equal(lb_status_judge(true, &all), LB_CONNECTED);
	interfaces[1].attached = false;
	assert_int_equal(lb_status_judge(true, &all), LB_DEGRADED);
	assert_int_equal(lb_status_judge(false, &all), LB_DISCONNECTED);
	assert_string_equal(lb_status_name(LB_DEGRADED), "degraded");
}

/* A weight that is 0 again after it was not counts from the second time on. */
static void the_time_of_weight_0_is_kept_from_look_to_look(void **state)
{
	struct lb_state before = { 0 }, now = { 0 };
	struct lb_vip_key k = key("198.51.100.10", IPPROTO_TCP, 80);
	struct addr as = ip("10.0.0.1");
	struct lb_as *old = lb_vip_put_as(lb_state_put_vip(&before, &k), &as);
	struct lb_as *new = lb_vip_put_as(lb_state_put_vip(&now, &k), &as);

	lb_state_note_idle(&before, &now, 5);
	assert_int_equal(old->idle_since, 5);
	lb_state_note_idle(&now, &before, 9);
	assert_int_equal(new->idle_since, 5);
	new->weight = 1;
	lb_state_note_idle(&now, &before, 10);
	assert_int_equal(new->idle_since, 0);
	old->weight = 0;
	lb_state_note_idle(&before, &now, 11);
	assert_int_equal(old->idle_since, 11);
	lb_state_free(&before);
	lb_state_free(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_kept_by_number_with_ipv4_first),
		cmocka_unit_test(vips_are_kept_by_address_then_protocol_then_port),
		cmocka_unit_test(what_is_put_twice_is_there_once),
		cmocka_unit_test(what_was_removed_is_not_found),
		cmocka_unit_test(a_vip_prints_as_people_write_it),
		cmocka_unit_test(a_copy_shares_nothing_and_forgets_what_was_flushed),
		cmocka_unit_test(every_field_of_the_configuration_counts),
		cmocka_unit_test(a_protocol_that_is_not_ours_is_a_number),
		cmocka_unit_test(a_data_plane_without_all_its_interfaces_is_degraded),
		cmocka_unit_test(the_time_of_weight_0_is_kept_from_look_to_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
