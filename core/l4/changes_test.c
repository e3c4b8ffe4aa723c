/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two identical scenes with checks web and ping, backends a, b and c, frontends dns and www. A test
 * changes the second one before it becomes a configuration, and lists the lines that it expects.
 */
#include "core/l4/changes.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/fixture.h"

struct scene {
	struct fixture *f;
	struct l4_check *web, *ping;
	struct l4_backend *a, *b;
	struct l4_frontend *dns, *www;
	struct l4_config *config;
};

static const struct l4_code_range codes[] = { { 200, 299 }, { 304, 304 } };

static void set_checks(struct scene *s)
{
	s->ping = fixture_check(s->f, "ping", 2, 3);
	s->ping->type = L4_CHECK_ICMP;
	s->ping->port = 0;
	s->web = fixture_check(s->f, "web", 2, 3);
	s->web->type = L4_CHECK_HTTP;
	s->web->http = (struct l4_http_params){ .path = "/", .host = "www", .codes = { codes, 2 } };
}

static struct scene set_scene(void)
{
	struct scene s = { .f = fixture_new() };

	set_checks(&s);
	s.a = fixture_backend(s.f, "a", "10.0.0.1", "web");
	s.b = fixture_backend(s.f, "b", "2001:db8::2", NULL);
	fixture_backend(s.f, "c", "10.0.0.3", "ping");
	s.dns = fixture_frontend(s.f, "dns", "198.51.100.2", 0);
	s.www = fixture_frontend(s.f, "www", "198.51.100.1", 80);
	fixture_pool(s.f, "primary");
	fixture_member(s.f, "a", 100);
	fixture_member(s.f, "b", 50);
	fixture_pool(s.f, "fallback");
	fixture_member(s.f, "c", 100);
	return s;
}

/* Makes a model of now, compares it with next, and checks all lines, each with a newline. */
static void assert_lines(struct scene *now, struct scene *next, const char *wanted)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct l4_model model;
	struct l4_changes changes;

	l4_model_init(&model, now->config ? now->config : fixture_config(now->f), 1);
	changes = l4_changes(&model, next->config ? next->config : fixture_config(next->f), arena);
	for (size_t i = 0; i < changes.n; i++)
		buf_printf(&text, "%s\n", changes.lines[i]);
	assert_string_equal(buf_cstr(&text), wanted);
	l4_model_free(&model);
	fixture_free(now->f);
	fixture_free(next->f);
}

/* One change in a scene, and its line. */
#define LINE(change, line)                                                                         \
	do {                                                                                       \
		struct scene now = set_scene(), next = set_scene();                                \
		next.change;                                                                       \
		assert_lines(&now, &next, line "\n");                                              \
	} while (0)

/* The same for a setting that is not part of a named entry. */
#define GLOBAL_LINE(change, line)                                                                  \
	do {                                                                                       \
		struct scene now = set_scene(), next = set_scene();                                \
		next.config = fixture_config(next.f);                                              \
		next.config->change;                                                               \
		assert_lines(&now, &next, line "\n");                                              \
	} while (0)

static void the_same_file_changes_nothing(void **state)
{
	struct scene now = set_scene(), next = set_scene();

	assert_lines(&now, &next, "");
}

static void each_key_of_a_check_has_its_line(void **state)
{
	static const struct l4_code_range other[] = { { 204, 204 } };

	LINE(web->type = L4_CHECK_HTTPS, "healthcheck web: type http -> https");
	LINE(web->port = 8080, "healthcheck web: port 80 -> 8080");
	LINE(web->schedule.interval = NSEC_PER_SEC, "healthcheck web: interval 2s -> 1s");
	LINE(web->schedule.fast_interval = 500 * NSEC_PER_MSEC,
	     "healthcheck web: fast-interval 1s -> 500ms");
	LINE(web->schedule.down_interval = 1, "healthcheck web: down-interval 5s -> 1ns");
	LINE(web->timeout = 90 * NSEC_PER_SEC, "healthcheck web: timeout 1s -> 1m30s");
	LINE(web->rule.rise = 4, "healthcheck web: rise 2 -> 4");
	LINE(ping->rule.fall = 1, "healthcheck ping: fall 3 -> 1");
	LINE(web->keep_alive = true, "healthcheck web: keep-alive false -> true");
	LINE(web->src4 = next.a->address, "healthcheck web: probe-ipv4-src none -> 10.0.0.1");
	LINE(web->src6 = next.b->address, "healthcheck web: probe-ipv6-src none -> 2001:db8::2");
	LINE(web->http.path = "/x", "healthcheck web: path \"/\" -> \"/x\"");
	LINE(web->http.host = NULL, "healthcheck web: host \"www\" -> none");
	LINE(web->http.codes.items = other;
	     next.web->http.codes.n = 1, "healthcheck web: response-code 200-299,304 -> 204");
	LINE(web->http.regexp = "^OK\n", "healthcheck web: response-regexp none -> \"^OK\\x0a\"");
	LINE(web->http.server_name = "w", "healthcheck web: server-name none -> \"w\"");
	LINE(web->http.insecure_skip_verify = true,
	     "healthcheck web: insecure-skip-verify false -> true");
}

static void each_key_of_a_backend_has_its_line(void **state)
{
	LINE(a->address = next.b->address, "backend a: address 10.0.0.1 -> 2001:db8::2");
	LINE(a->enabled = false, "backend a: enabled true -> false");
}

static void each_key_of_a_frontend_has_its_line(void **state)
{
	LINE(www->description = "gr\xfcn", "frontend www: description \"\" -> \"gr\\xfcn\"");
	LINE(www->address = next.a->address, "frontend www: address 198.51.100.1 -> 10.0.0.1");
	LINE(www->protocol = IPPROTO_UDP, "frontend www: protocol tcp -> udp");
	LINE(www->port = 443, "frontend www: port 80 -> 443");
	LINE(dns->src_ip_sticky = true, "frontend dns: src-ip-sticky false -> true");
	LINE(dns->flush_on_down = false, "frontend dns: flush-on-down true -> false");
}

static void each_key_of_the_daemon_has_its_line(void **state)
{
	static const char *const interfaces[] = { "eth0", "eth1" };

	GLOBAL_LINE(transition_history = 9, "healthchecker.transition-history: 5 -> 9");
	GLOBAL_LINE(netns = "blue", "healthchecker.netns: none -> \"blue\"");
	GLOBAL_LINE(all_down_guard = false, "healthchecker.all-down-guard: true -> false");
	GLOBAL_LINE(dataplane = L4_DATAPLANE_NONE, "dataplane: vpp -> none");
	GLOBAL_LINE(lb.src4.family = AF_INET, "lb.ipv4-src-address: none -> 0.0.0.0");
	GLOBAL_LINE(lb.src6.family = AF_INET6, "lb.ipv6-src-address: none -> ::");
	GLOBAL_LINE(lb.sync_interval = NSEC_PER_SEC, "lb.sync-interval: 30s -> 1s");
	GLOBAL_LINE(lb.flow_timeout = NSEC_PER_SEC, "lb.flow-timeout: 40s -> 1s");
	GLOBAL_LINE(lb.sticky_buckets_per_core = 7, "lb.sticky-buckets-per-core: 1024 -> 7");
	GLOBAL_LINE(lb.new_flows_table_length = 7, "lb.new-flows-table-length: 16384 -> 7");
	GLOBAL_LINE(lb.startup_min_delay = 0, "lb.startup-min-delay: 5s -> 0s");
	GLOBAL_LINE(lb.startup_max_delay = 0, "lb.startup-max-delay: 30s -> 0s");
	GLOBAL_LINE(xdp.interfaces.n = 2; next.config->xdp.interfaces.items = interfaces,
					  "xdp.interfaces: none -> eth0,eth1");
	GLOBAL_LINE(xdp.mode = L4_XDP_NATIVE, "xdp.mode: auto -> native");
	GLOBAL_LINE(xdp.transmit = L4_XDP_TX, "xdp.transmit: redirect -> tx");
	GLOBAL_LINE(xdp.pin = "/p", "xdp.pin: none -> \"/p\"");
	GLOBAL_LINE(xdp.table_size = 7, "xdp.table-size: 0 -> 7");
	GLOBAL_LINE(xdp.flow_table_size = 7, "xdp.flow-table-size: 0 -> 7");
}

static void what_comes_and_goes_is_told_by_name(void **state)
{
	struct scene now = set_scene(), next = { .f = fixture_new() };

	set_checks(&next);
	fixture_check(next.f, "new", 1, 1);
	fixture_backend(next.f, "a", "10.0.0.1", NULL);
	fixture_backend(next.f, "aa", "10.0.0.4", "new");
	fixture_backend(next.f, "c", "10.0.0.3", "ping");
	fixture_frontend(next.f, "www", "198.51.100.1", 80);
	fixture_pool(next.f, "fallback");
	fixture_member(next.f, "c", 10);
	fixture_pool(next.f, "last");
	fixture_member(next.f, "a", 1);
	fixture_pool(next.f, "primary");
	fixture_member(next.f, "a", 100);
	fixture_member(next.f, "aa", 100);
	assert_lines(&now, &next,
		     "healthcheck new: added\n"
		     "backend a: healthcheck web -> none\n"
		     "backend aa: added\n"
		     "backend b: removed\n"
		     "frontend dns: removed\n"
		     "frontend www: pool fallback: backend c: weight 100 -> 10\n"
		     "frontend www: pool last: added\n"
		     "frontend www: pool primary: backend aa: added\n"
		     "frontend www: pool primary: backend b: removed\n"
		     "frontend www: order of pools primary, fallback -> fallback, last, primary\n");
}

static void a_pool_that_went_is_told_and_the_order_is_not(void **state)
{
	struct scene now = set_scene(), next = set_scene();

	next.config = fixture_config(next.f);
	((struct l4_frontend *)(uintptr_t)&next.config->frontends[1])->n_pools = 1;
	assert_lines(&now, &next, "frontend www: pool fallback: removed\n");
}

/* Pools are found by a map: a search through all of them for each one would take minutes here. */
static void pools_without_number_are_compared_in_time(void **state)
{
	enum { MANY = 100000 };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct scene now = set_scene(), next = set_scene();
	struct l4_pool *pools = arena_array_of(arena, MANY, struct l4_pool);
	struct l4_frontend *www;

	for (size_t i = 0; i < MANY; i++)
		pools[i].name = arena_printf(arena, "pool%zu", i);
	now.config = fixture_config(now.f);
	next.config = fixture_config(next.f);
	www = (struct l4_frontend *)(uintptr_t)&now.config->frontends[1];
	www->pools = pools;
	www->n_pools = MANY - 1;
	www = (struct l4_frontend *)(uintptr_t)&next.config->frontends[1];
	www->pools = pools + 1;
	www->n_pools = MANY - 1;
	assert_lines(&now, &next,
		     "frontend www: pool pool0: removed\nfrontend www: pool pool99999: added\n");
}

/* A value set at run time wins over the file. */
static void what_stays_as_it_was_set_is_told(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct scene now = set_scene(), next = { .f = fixture_new() };
	struct health_change change;
	struct l4_changes c;
	struct l4_model m;

	set_checks(&next);
	fixture_backend(next.f, "a", "10.0.0.1", "web")->enabled = false;
	fixture_backend(next.f, "b", "2001:db8::2", NULL);
	fixture_backend(next.f, "c", "10.0.0.3", "ping");
	fixture_frontend(next.f, "dns", "198.51.100.2", 0);
	fixture_frontend(next.f, "www", "198.51.100.1", 80);
	fixture_pool(next.f, "primary");
	fixture_member(next.f, "a", 30);
	fixture_member(next.f, "b", 40);
	fixture_pool(next.f, "fallback");
	fixture_member(next.f, "c", 100);

	l4_model_init(&m, fixture_config(now.f), 1);
	l4_backend_disable(&m, m.backends[0], 2, &change);
	assert_int_equal(l4_model_set_weight(&m, "www", "primary", "a", 77), 0);
	assert_int_equal(l4_model_set_weight(&m, "www", "primary", "b", 40), 0);
	c = l4_changes(&m, fixture_config(next.f), arena);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.lines[0],
			    "backend a: enabled true -> false (disabled at run time, which stays)");
	assert_string_equal(c.lines[1], "frontend www: pool primary: backend a: weight 100 -> 30"
					" (set to 77 at run time, which stays)");
	assert_string_equal(c.lines[2], "frontend www: pool primary: backend b: weight 50 -> 40");
	l4_model_free(&m);
	fixture_free(now.f);
	fixture_free(next.f);
}

/* So many backends at address; NULL: none at all. */
static struct fixture *many_backends(const char *address, struct arena *arena)
{
	struct fixture *f = fixture_new();

	for (unsigned i = 0; address && i < L4_CHANGES_MAX + 5; i++)
		fixture_backend(f, arena_printf(arena, "b%u", i), address, NULL);
	return f;
}

static void assert_many(const char *from, const char *to, const char *first)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct fixture *now = many_backends(from, arena), *next = many_backends(to, arena);
	struct l4_changes c;
	struct l4_model m;

	l4_model_init(&m, fixture_config(now), 1);
	c = l4_changes(&m, fixture_config(next), arena);
	assert_int_equal(c.n, L4_CHANGES_MAX + 1);
	assert_string_equal(c.lines[0], first);
	assert_string_equal(c.lines[L4_CHANGES_MAX], "and 5 more");
	l4_model_free(&m);
	fixture_free(now);
	fixture_free(next);
}

static void a_long_list_ends_with_how_many_more_there_are(void **state)
{
	assert_many(NULL, "10.0.0.1", "backend b0: added");
	assert_many("10.0.0.1", NULL, "backend b0: removed");
	assert_many("10.0.0.1", "10.0.0.2", "backend b0: address 10.0.0.1 -> 10.0.0.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_file_changes_nothing),
		cmocka_unit_test(each_key_of_a_check_has_its_line),
		cmocka_unit_test(each_key_of_a_backend_has_its_line),
		cmocka_unit_test(each_key_of_a_frontend_has_its_line),
		cmocka_unit_test(each_key_of_the_daemon_has_its_line),
		cmocka_unit_test(what_comes_and_goes_is_told_by_name),
		cmocka_unit_test(a_pool_that_went_is_told_and_the_order_is_not),
		cmocka_unit_test(pools_without_number_are_compared_in_time),
		cmocka_unit_test(what_stays_as_it_was_set_is_told),
		cmocka_unit_test(a_long_list_ends_with_how_many_more_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
