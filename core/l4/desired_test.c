/* SPDX-License-Identifier: Apache-2.0 */
/*
 * www (IPv4 backends):	primary  a 100, b 50	fallback  b 20, c 10
 * six (IPv4 VIP, IPv6 backend):	only  z 7
 * empty: no pools
 */
#include "core/l4/desired.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "core/l4/fixture.h"

struct world {
	struct fixture *fixture;
	struct l4_frontend *www;
	struct l4_model model;
};

enum { EMPTY, SIX, WWW };

static int build_with(void **state, bool flush_on_down)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fixture *f = w->fixture = fixture_new();

	fixture_check(f, "tcp", 1, 1);
	fixture_backend(f, "c", "10.0.0.1", "tcp"); /* names and addresses sort differently */
	fixture_backend(f, "a", "10.0.0.20", "tcp");
	fixture_backend(f, "b", "10.0.0.3", "tcp");
	fixture_backend(f, "z", "2001:db8::5", "tcp");
	w->www = fixture_frontend(f, "www", "198.51.100.1", 80);
	w->www->flush_on_down = flush_on_down;
	w->www->src_ip_sticky = true;
	fixture_pool(f, "primary");
	fixture_member(f, "a", 100);
	fixture_member(f, "b", 50);
	fixture_pool(f, "fallback");
	fixture_member(f, "b", 20);
	fixture_member(f, "c", 10);
	fixture_frontend(f, "six", "198.51.100.2", 0);
	fixture_pool(f, "only");
	fixture_member(f, "z", 7);
	fixture_frontend(f, "empty", "198.51.100.3", 80);
	l4_model_init(&w->model, fixture_config(f), 1);
	*state = w;
	return 0;
}

static int build(void **state)
{
	return build_with(state, true);
}

static int build_gentle(void **state)
{
	return build_with(state, false);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

/* One letter per backend a, b, c: ? unknown, U up, D down, P paused, X disabled. */
static struct l4_model *with(void **state, const char *letters)
{
	static const char alphabet[] = "?UDPX";
	struct world *w = *state;

	for (size_t i = 0; letters[i]; i++)
		w->model.backends[i]->health.state =
			(enum health_state)(strchr(alphabet, letters[i]) - alphabet);
	return &w->model;
}

/* "10.0.0.1=0 10.0.0.3=50! 10.0.0.20=0~": ! is flush, ~ is hold */
static void assert_wanted(const struct l4_model *m, bool guard, const char *text)
{
	_cleanup_(lb_vip_free) struct lb_vip v = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };
	char as[ADDR_STRLEN];

	assert_true(l4_desired_vip(m, WWW, guard, &v));
	for (size_t i = 0; i < v.as.n; i++)
		buf_printf(&out, "%s%s=%u%s%s", i ? " " : "",
			   addr_format(&v.as.items[i].address, as), v.as.items[i].weight,
			   v.as.items[i].flush ? "!" : "", v.as.items[i].hold ? "~" : "");
	assert_string_equal(buf_cstr(&out), text);
}

/* FR-4.1, NFR-2.1: the union of all pools, in numeric order */
static void every_backend_of_every_pool_is_wanted_in_numeric_order(void **state)
{
	assert_wanted(with(state, "UUU"), false, "10.0.0.1=0 10.0.0.3=50 10.0.0.20=100");
}

/* FR-2.2 */
static void a_failover_moves_the_weights_to_the_next_pool(void **state)
{
	assert_wanted(with(state, "DDU"), false, "10.0.0.1=10 10.0.0.3=0! 10.0.0.20=0!");
}

/* a backend in two pools has its largest effective weight */
static void a_backend_in_two_pools_is_one_server(void **state)
{
	assert_wanted(with(state, "DUD"), false, "10.0.0.1=0! 10.0.0.3=50 10.0.0.20=0!");
	assert_int_equal(l4_model_set_weight(with(state, "DUD"), "www", "primary", "b", 0), 0);
	assert_wanted(with(state, "DUD"), false, "10.0.0.1=0! 10.0.0.3=20 10.0.0.20=0!");
}

/* FR-4.3: standby, unknown and paused are drained, not flushed */
static void a_flush_needs_the_backends_own_state_as_its_cause(void **state)
{
	assert_wanted(with(state, "UU?"), false, "10.0.0.1=0 10.0.0.3=50 10.0.0.20=100");
	assert_wanted(with(state, "PU?"), false, "10.0.0.1=0 10.0.0.3=50 10.0.0.20=0");
	assert_wanted(with(state, "XUX"), false, "10.0.0.1=0! 10.0.0.3=50 10.0.0.20=0!");
}

/* FR-4.3 */
static void without_flush_on_down_only_disabled_flushes(void **state)
{
	assert_wanted(with(state, "DXU"), false, "10.0.0.1=10 10.0.0.3=0! 10.0.0.20=0");
}

/* all-down guard: down by probe is held, the operator's commands count */
static void the_guard_holds_what_is_down_and_nothing_else(void **state)
{
	assert_wanted(with(state, "DXU"), true, "10.0.0.1=10 10.0.0.3=0! 10.0.0.20=0~");
	assert_wanted(with(state, "DDD"), true, "10.0.0.1=0~ 10.0.0.3=0~ 10.0.0.20=0~");
	assert_wanted(with(state, "P?U"), true, "10.0.0.1=10 10.0.0.3=0 10.0.0.20=0");
}

/* all-down guard: a weight of 0 is the operator's, and no reason to flush */
static void a_weight_of_zero_is_not_held(void **state)
{
	struct l4_model *m = with(state, "DDD");

	assert_int_equal(l4_model_set_weight(m, "www", "primary", "a", 0), 0);
	assert_int_equal(l4_model_set_weight(m, "www", "fallback", "b", 0), 0);
	assert_wanted(m, true, "10.0.0.1=0~ 10.0.0.3=0~ 10.0.0.20=0");
	assert_int_equal(l4_model_set_weight(m, "www", "primary", "b", 0), 0);
	assert_wanted(m, true, "10.0.0.1=0~ 10.0.0.3=0 10.0.0.20=0");
	assert_wanted(m, false, "10.0.0.1=0! 10.0.0.3=0! 10.0.0.20=0!");
}

/* the encapsulation follows the family of the backends, not of the VIP */
static void encapsulation_follows_the_backends(void **state)
{
	struct l4_model *m = with(state, "UUU");
	_cleanup_(lb_vip_free) struct lb_vip six = { 0 }, www = { 0 };

	assert_true(l4_desired_vip(m, SIX, false, &six));
	assert_int_equal(six.encap, LB_ENCAP_GRE6);
	assert_int_equal(six.key.protocol, L4_PROTOCOL_ANY);
	assert_int_equal(six.key.port, 0);
	assert_false(six.src_ip_sticky);
	assert_true(l4_desired_vip(m, WWW, false, &www));
	assert_int_equal(www.encap, LB_ENCAP_GRE4);
	assert_int_equal(www.key.protocol, IPPROTO_TCP);
	assert_int_equal(www.key.port, 80);
	assert_true(www.src_ip_sticky);
}

static void only_vpp_is_told_how_long_a_table_is(void **state)
{
	struct l4_model *m = with(state, "UUU");
	const struct l4_config *real = m->config;
	struct l4_config config = *real;
	_cleanup_(lb_vip_free) struct lb_vip vpp = { 0 }, xdp = { 0 };

	m->config = &config;
	config.lb.new_flows_table_length = 4096;
	config.dataplane = L4_DATAPLANE_VPP;
	assert_true(l4_desired_vip(m, WWW, false, &vpp));
	assert_int_equal(vpp.table_length, 4096);
	config.dataplane = L4_DATAPLANE_XDP;
	assert_true(l4_desired_vip(m, WWW, false, &xdp));
	assert_int_equal(xdp.table_length, 0);
	m->config = real;
}

/* there is nothing to send to */
static void a_frontend_without_pools_is_not_programmed(void **state)
{
	struct lb_vip v = { 0 };

	assert_false(l4_desired_vip(with(state, "UUU"), EMPTY, false, &v));
	assert_int_equal(v.as.n, 0);
}

static void the_global_configuration_is_carried_over(void **state)
{
	struct l4_config c = { .lb = { .flow_timeout = 41 * NSEC_PER_SEC,
				       .sticky_buckets_per_core = 2048 } };
	struct lb_conf got;

	assert_int_equal(addr_parse("192.0.2.1", &c.lb.src4), 0);
	assert_int_equal(addr_parse("2001:db8::1", &c.lb.src6), 0);
	l4_desired_conf(&c, &got);
	assert_int_equal(addr_cmp(&got.src4, &c.lb.src4), 0);
	assert_int_equal(addr_cmp(&got.src6, &c.lb.src6), 0);
	assert_int_equal(got.flow_timeout_s, 41);
	assert_int_equal(got.sticky_buckets_per_core, 2048);
}

#define story(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		story(every_backend_of_every_pool_is_wanted_in_numeric_order),
		story(a_failover_moves_the_weights_to_the_next_pool),
		story(a_backend_in_two_pools_is_one_server),
		story(a_flush_needs_the_backends_own_state_as_its_cause),
		cmocka_unit_test_setup_teardown(without_flush_on_down_only_disabled_flushes,
						build_gentle, tear_down),
		story(the_guard_holds_what_is_down_and_nothing_else),
		story(a_weight_of_zero_is_not_held),
		story(encapsulation_follows_the_backends),
		story(only_vpp_is_told_how_long_a_table_is),
		story(a_frontend_without_pools_is_not_programmed),
		cmocka_unit_test(the_global_configuration_is_carried_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
