/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a valid document, the reports of several mistakes, and the cost of large
 * documents.
 */
#include "core/l4/validate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

/* ---- the valid document ---- */

static void assert_address(const struct addr *a, const char *text)
{
	char buf[ADDR_STRLEN];

	assert_string_equal(addr_format(a, buf), text);
}

/* FR-1.1 .. FR-1.4: every key of a check arrives */
static void a_check_carries_what_was_written(void **state)
{
	const struct l4_check *c;
	struct fixture f;

	fixture_begin(&f);
	assert_clean(&f);
	c = l4_config_check(&f.config, "web");
	assert_non_null(c);
	assert_int_equal(c->type, L4_CHECK_HTTPS);
	assert_int_equal(c->port, 80);
	assert_int_equal(c->schedule.interval, 5 * S);
	assert_int_equal(c->schedule.fast_interval, 500 * MS);
	assert_int_equal(c->schedule.down_interval, 10 * S);
	assert_int_equal(c->timeout, 2 * S);
	assert_int_equal(c->rule.rise, 4);
	assert_int_equal(c->rule.fall, 1);
	assert_true(c->keep_alive);
	assert_address(&c->src4, "192.0.2.7");
	assert_address(&c->src6, "2001:db8::7");
	assert_string_equal(c->http.path, "/healthz?deep=1");
	assert_string_equal(c->http.host, "www.example.net");
	assert_string_equal(c->http.server_name, "sni.example.net");
	assert_string_equal(c->http.regexp, "^OK");
	assert_true(c->http.insecure_skip_verify);
	assert_int_equal(c->http.codes.n, 3);
	assert_int_equal(c->http.codes.items[0].first, 200);
	assert_int_equal(c->http.codes.items[0].last, 200);
	assert_int_equal(c->http.codes.items[1].first, 204);
	assert_int_equal(c->http.codes.items[2].first, 300);
	assert_int_equal(c->http.codes.items[2].last, 399);
	fixture_end(&f);
}

/* FR-1.3: unset intervals fall back to interval; the others have the documented defaults */
static void a_check_is_filled_with_defaults(void **state)
{
	const struct l4_check *c;
	struct fixture f;

	fixture_begin(&f);
	set_text(&f, &f.check[CONN].type, "http");
	assert_clean(&f);
	c = l4_config_check(&f.config, "conn");
	assert_non_null(c);
	assert_int_equal(c->port, 53);
	assert_int_equal(c->schedule.interval, 2 * S);
	assert_int_equal(c->schedule.fast_interval, 2 * S);
	assert_int_equal(c->schedule.down_interval, 2 * S);
	assert_int_equal(c->timeout, 1 * S);
	assert_int_equal(c->rule.rise, 2);
	assert_int_equal(c->rule.fall, 3);
	assert_false(c->keep_alive);
	assert_false(addr_is_set(&c->src4));
	assert_false(addr_is_set(&c->src6));
	assert_string_equal(c->http.path, "/");
	assert_null(c->http.host);
	assert_null(c->http.server_name);
	assert_null(c->http.regexp);
	assert_false(c->http.insecure_skip_verify);
	assert_int_equal(c->http.codes.n, 1);
	assert_int_equal(c->http.codes.items[0].first, 200);
	assert_int_equal(c->http.codes.items[0].last, 399);
	c = l4_config_check(&f.config, "ping");
	assert_int_equal(c->type, L4_CHECK_ICMP);
	assert_int_equal(c->port, 0);
	assert_int_equal(c->http.codes.n, 0);
	fixture_end(&f);
}

/* FR-2.1: backends are sorted and their checks resolved */
static void backends_are_sorted_and_resolved(void **state)
{
	static const char *const names[] = { "six", "web1", "web2", "web9" };
	struct fixture f;

	fixture_begin(&f);
	assert_clean(&f);
	assert_int_equal(f.config.n_backends, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(f.config.backends[i].name, names[i]);
	assert_ptr_equal(f.config.backends[0].check, l4_config_check(&f.config, "conn"));
	assert_ptr_equal(f.config.backends[1].check, l4_config_check(&f.config, "web"));
	assert_null(f.config.backends[3].check);
	assert_address(&f.config.backends[0].address, "2001:db8:1::1");
	assert_address(&f.config.backends[1].address, "10.0.0.11");
	assert_true(f.config.backends[1].enabled);
	assert_false(f.config.backends[3].enabled);
	assert_int_equal(f.config.backends[1].n_frontends, 2);
	assert_int_equal(f.config.backends[1].frontends[0], l4_config_frontend(&f.config, "all"));
	assert_int_equal(f.config.backends[1].frontends[1], l4_config_frontend(&f.config, "www"));
	assert_string_equal(f.config.checks[0].name, "conn");
	assert_string_equal(f.config.checks[2].name, "web");
	fixture_end(&f);
}

/* FR-2.2: pools keep their order, their members are sorted by name, weights default to 100 */
static void a_frontend_carries_its_pools(void **state)
{
	const struct l4_frontend *www;
	struct fixture f;

	fixture_begin(&f);
	assert_clean(&f);
	assert_int_equal(f.config.n_frontends, 3);
	www = &f.config.frontends[2];
	assert_string_equal(www->name, "www");
	assert_string_equal(www->description, "public web");
	assert_address(&www->address, "198.51.100.10");
	assert_int_equal(www->protocol, IPPROTO_TCP);
	assert_int_equal(www->port, 80);
	assert_true(www->src_ip_sticky);
	assert_false(www->flush_on_down);
	assert_int_equal(www->n_pools, 2);
	assert_string_equal(www->pools[0].name, "primary");
	assert_int_equal(www->pools[0].n_members, 2);
	assert_int_equal(www->pools[0].members[0].backend, l4_config_backend(&f.config, "web1"));
	assert_int_equal(www->pools[0].members[0].weight, 100);
	assert_int_equal(www->pools[0].members[1].backend, l4_config_backend(&f.config, "web2"));
	assert_int_equal(www->pools[0].members[1].weight, 30);
	assert_string_equal(www->pools[1].name, "fallback");
	assert_int_equal(www->pools[1].members[0].backend, l4_config_backend(&f.config, "web9"));
	fixture_end(&f);
}

static void frontends_are_sorted_and_filled_with_defaults(void **state)
{
	const struct l4_frontend *all, *six;
	struct fixture f;

	fixture_begin(&f);
	assert_clean(&f);
	all = &f.config.frontends[0];
	six = &f.config.frontends[1];
	assert_string_equal(all->name, "all");
	assert_string_equal(all->description, "");
	assert_int_equal(all->protocol, L4_PROTOCOL_ANY);
	assert_int_equal(all->port, 0);
	assert_false(all->src_ip_sticky);
	assert_true(all->flush_on_down);
	assert_string_equal(six->name, "six");
	assert_int_equal(six->protocol, IPPROTO_UDP);
	assert_int_equal(six->port, 53);
	fixture_end(&f);
}

static void settings_have_their_defaults(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	assert_clean(&f);
	assert_int_equal(f.config.transition_history, 5);
	assert_null(f.config.netns);
	assert_true(f.config.all_down_guard);
	assert_int_equal(f.config.dataplane, L4_DATAPLANE_VPP);
	assert_address(&f.config.lb.src4, "192.0.2.1");
	assert_address(&f.config.lb.src6, "2001:db8::1");
	assert_int_equal(f.config.lb.sync_interval, 30 * S);
	assert_int_equal(f.config.lb.flow_timeout, 40 * S);
	assert_int_equal(f.config.lb.startup_min_delay, 5 * S);
	assert_int_equal(f.config.lb.startup_max_delay, 30 * S);
	assert_int_equal(f.config.lb.sticky_buckets_per_core, 1024);
	assert_int_equal(f.config.lb.new_flows_table_length, 16384);
	assert_int_equal(f.config.xdp.mode, L4_XDP_AUTO);
	assert_int_equal(f.config.xdp.transmit, L4_XDP_REDIRECT);
	assert_int_equal(f.config.xdp.interfaces.n, 0);
	assert_string_equal(f.config.xdp.pin, "/sys/fs/bpf/maglev");
	assert_int_equal(f.config.xdp.table_size, 65537);
	assert_int_equal(f.config.xdp.flow_table_size, 1000000);
	fixture_end(&f);
}

static void settings_carry_what_was_written(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	use_xdp(&f);
	set_number(&f, &f.doc.transition_history, 10000);
	set_text(&f, &f.doc.netns, "/run/netns/dataplane");
	set_flag(&f, &f.doc.all_down_guard, false);
	set_duration(&f, &f.doc.lb.sync_interval, 1);
	set_duration(&f, &f.doc.lb.flow_timeout, 120 * S);
	set_duration(&f, &f.doc.lb.startup_min_delay, 0);
	set_duration(&f, &f.doc.lb.startup_max_delay, 0);
	set_number(&f, &f.doc.lb.sticky_buckets_per_core, 1);
	set_number(&f, &f.doc.lb.new_flows_table_length, 32768);
	set_text(&f, &f.interface[1], "ens1f0.100");
	f.doc.xdp.interfaces.n = 2;
	set_text(&f, &f.doc.xdp.mode, "generic");
	set_text(&f, &f.doc.xdp.transmit, "tx");
	set_text(&f, &f.doc.xdp.pin, "/sys/fs/bpf/other");
	set_number(&f, &f.doc.xdp.table_size, 5000011);
	set_number(&f, &f.doc.xdp.flow_table_size, 4096);
	assert_clean(&f);
	assert_int_equal(f.config.transition_history, 10000);
	assert_string_equal(f.config.netns, "/run/netns/dataplane");
	assert_false(f.config.all_down_guard);
	assert_int_equal(f.config.lb.sync_interval, 1);
	assert_int_equal(f.config.lb.flow_timeout, 120 * S);
	assert_int_equal(f.config.lb.startup_min_delay, 0);
	assert_int_equal(f.config.lb.startup_max_delay, 0);
	assert_int_equal(f.config.lb.sticky_buckets_per_core, 1);
	assert_int_equal(f.config.lb.new_flows_table_length, 32768);
	assert_int_equal(f.config.dataplane, L4_DATAPLANE_XDP);
	assert_int_equal(f.config.xdp.interfaces.n, 2);
	assert_string_equal(f.config.xdp.interfaces.items[0], "eth0");
	assert_string_equal(f.config.xdp.interfaces.items[1], "ens1f0.100");
	assert_int_equal(f.config.xdp.mode, L4_XDP_GENERIC);
	assert_int_equal(f.config.xdp.transmit, L4_XDP_TX);
	assert_string_equal(f.config.xdp.pin, "/sys/fs/bpf/other");
	assert_int_equal(f.config.xdp.table_size, 5000011);
	assert_int_equal(f.config.xdp.flow_table_size, 4096);
	fixture_end(&f);
}

/* ---- all at once ---- */

/* FR-5.2: all errors in one pass, in the order of the file, without warnings */
static void all_errors_are_told_in_the_order_of_the_file(void **state)
{
	static const char *const keys[] = {
		"maglev.healthchecks.web.port",
		"maglev.healthchecks.web.params.path",
		"maglev.backends.web2.address",
		"maglev.frontends.www.protocol",
		"maglev.frontends.www.pools[0].backends.web2.weight",
		"maglev.vpp.lb.ipv4-src-address",
	};
	struct fixture f;

	fixture_begin(&f);
	f.doc.lb.ipv4_src_address.v = "nowhere";
	f.primary[0].weight.v = 1000;
	f.frontend[F_WWW].protocol.v = "icmp";
	f.backend[WEB2].address.v = "10.0.0";
	f.check[WEB].params.path.v = "x";
	f.check[WEB].port.v = 0;
	assert_int_equal(fixture_build(&f), -EINVAL);
	assert_int_equal(f.errors.n, ARRAY_SIZE(keys));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_string_equal(f.errors.items[i].key, keys[i]);
	assert_int_equal(f.warnings.n, 0);
	fixture_end(&f);
}

/* Text of the document is cut and cleaned, so that a complaint stays one short line. */
static void complaints_stay_one_short_line(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	set_text(&f, &f.check[WEB].type, "a\nb\xff\x1b[31m");
	set_text(&f, &f.frontend[F_WWW].protocol, repeat('p', 4000));
	assert_int_equal(fixture_build(&f), -EINVAL);
	assert_int_equal(f.errors.n, 2);
	assert_non_null(strstr(f.errors.items[0].text, "\"a\\x0ab\\xff\\x1b[31m\" is not one of"));
	assert_non_null(strstr(f.errors.items[1].text, "ppp...\" is not one of"));
	assert_true(strlen(f.errors.items[1].text) < 200);
	fixture_end(&f);
}

/* NFR-5.2: an empty document is valid if the data plane needs nothing */
static void an_empty_document_is_fine_for_none(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	f.doc = (struct l4_doc){ 0 };
	assert_int_equal(fixture_build(&f), -EINVAL);
	assert_int_equal(f.errors.n, 2);
	assert_string_equal(f.errors.items[0].key, LB_KEY "ipv4-src-address");
	f.errors.n = 0;
	use_none(&f);
	assert_clean(&f);
	assert_int_equal(f.config.n_backends, 0);
	fixture_end(&f);
}

/* ---- size ---- */

#define MANY 40000
#define CPU_SECONDS 3 /* much more than needed, far less than comparing pairs would take */

/* Frontend i has one of two addresses, so that the runs of one address are long, too. */
static void make_many(struct fixture *f, const char *reference)
{
	struct doc_backend *backends = arena_array_of(f->arena, MANY, struct doc_backend);
	struct doc_frontend *frontends = arena_array_of(f->arena, MANY, struct doc_frontend);
	struct doc_pool *pools = arena_array_of(f->arena, MANY, struct doc_pool);
	struct doc_member *members = arena_array_of(f->arena, MANY, struct doc_member);

	for (size_t i = 0; i < MANY; i++) {
		backends[i].name = arena_printf(f->arena, "backend-%zu", i * 7919 % MANY);
		set_text(f, &backends[i].address,
			 arena_printf(f->arena, "2001:db8::1:%zx:%zx", i >> 16, i & 0xffff));
		members[i].backend = reference ? reference : backends[i].name;
		make_pool(f, &pools[i], "only", &members[i], 1);
		frontends[i] = (struct doc_frontend){
			.name = arena_printf(f->arena, "frontend-%zu", i * 7919 % MANY),
			.pools = &pools[i],
			.n_pools = 1,
		};
		set_text(f, &frontends[i].address, i & 1 ? "2001:db8:2::1" : "2001:db8:2::2");
		set_text(f, &frontends[i].protocol, i & 2 ? "tcp" : "udp");
		set_number(f, &frontends[i].port, (int64_t)(i / 4 + 1));
	}
	f->doc.n_checks = 0;
	f->doc.backends = backends;
	f->doc.frontends = frontends;
	f->doc.n_backends = f->doc.n_frontends = MANY;
}

/* One frontend with all backends, in as many pools: nothing is compared pairwise. */
static void make_wide(struct fixture *f)
{
	struct doc_pool *pools = arena_array_of(f->arena, MANY, struct doc_pool);
	struct doc_member *members = arena_array_of(f->arena, MANY, struct doc_member);

	make_many(f, NULL);
	for (size_t i = 0; i < MANY; i++) {
		members[i].backend = f->doc.backends[i].name;
		make_pool(f, &pools[i], arena_printf(f->arena, "pool-%zu", i), &members[i], 1);
	}
	f->doc.frontends = &f->frontend[F_SIX];
	f->doc.n_frontends = 1;
	f->frontend[F_SIX].pools = pools;
	f->frontend[F_SIX].n_pools = MANY;
	set_text(f, &f->doc.dataplane, "none");
}

static int build_in_time(struct fixture *f)
{
	clock_t start = clock();
	int r = fixture_build(f);

	assert_true(clock() - start < (clock_t)CPU_SECONDS * CLOCKS_PER_SEC);
	return r;
}

/* no stall at any size: no rule compares all pairs */
static void size_costs_no_more_than_sorting(void **state)
{
	struct fixture f;
	size_t i;

	fixture_begin(&f);
	make_many(&f, NULL);
	assert_int_equal(build_in_time(&f), 0);
	i = l4_config_backend(&f.config, "backend-39999");
	assert_string_equal(f.config.backends[i].name, "backend-39999");
	fixture_end(&f);

	fixture_begin(&f);
	make_wide(&f);
	assert_int_equal(build_in_time(&f), 0);
	assert_int_equal(f.config.frontends[0].n_pools, MANY);
	fixture_end(&f);
}

static void many_mistakes_are_counted_but_not_pondered(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	make_many(&f, "backend-123456789");
	assert_int_equal(build_in_time(&f), -EINVAL);
	assert_int_equal(f.errors.n, ERRS_MAX);
	assert_int_equal(f.errors.dropped, MANY - ERRS_MAX);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_check_carries_what_was_written),
		cmocka_unit_test(a_check_is_filled_with_defaults),
		cmocka_unit_test(backends_are_sorted_and_resolved),
		cmocka_unit_test(a_frontend_carries_its_pools),
		cmocka_unit_test(frontends_are_sorted_and_filled_with_defaults),
		cmocka_unit_test(settings_have_their_defaults),
		cmocka_unit_test(settings_carry_what_was_written),
		cmocka_unit_test(all_errors_are_told_in_the_order_of_the_file),
		cmocka_unit_test(complaints_stay_one_short_line),
		cmocka_unit_test(an_empty_document_is_fine_for_none),
		cmocka_unit_test(size_costs_no_more_than_sorting),
		cmocka_unit_test(many_mistakes_are_counted_but_not_pondered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
