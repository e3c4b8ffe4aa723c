/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the data plane, row by row as in validate_rules_test.c, and the warnings. */
#include "core/l4/validate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

/* ---- the data plane ---- */

/* VPP itself checks nothing, so the constraints of its plugin are checked here */
static void lb_rules(void **state)
{
	static const char whole[] = "must be whole seconds", power[] = "must be a power of two";
	static const char max[] = LB_KEY "startup-max-delay",
			  length[] = LB_KEY "new-flows-table-length";
	static const char buckets[] = LB_KEY "sticky-buckets-per-core";
	static const struct row bad[] = {
		SET_DURATION(NULL, doc.lb.flow_timeout, 999 * MS, LB_KEY "flow-timeout",
			     "at least 1s, not 999ms"),
		SET_DURATION(NULL, doc.lb.flow_timeout, 121 * S, LB_KEY "flow-timeout",
			     "at most 2m0s, not 2m1s"),
		SET_DURATION(NULL, doc.lb.flow_timeout, 1500 * MS, LB_KEY "flow-timeout", whole),
		SET_DURATION(NULL, doc.lb.sync_interval, 0, LB_KEY "sync-interval", "more than 0"),
		SET_DURATION(NULL, doc.lb.startup_min_delay, -1, LB_KEY "startup-min-delay",
			     "at least 0s"),
		SET_DURATION(NULL, doc.lb.startup_max_delay, -1, max, "at least"),
		SET_DURATION(NULL, doc.lb.startup_max_delay, 4 * S, max,
			     "less than startup-min-delay (5s), but is 4s"),
		SET_DURATION(NULL, doc.lb.startup_min_delay, 31 * S, max,
			     "(31s), but is 30s by default"),
		SET_NUMBER(NULL, doc.lb.sticky_buckets_per_core, 0, buckets, "between 1 and"),
		SET_NUMBER(NULL, doc.lb.sticky_buckets_per_core, 1000, buckets, power),
		SET_NUMBER(NULL, doc.lb.sticky_buckets_per_core, 1 << 21, buckets, "1048576"),
		SET_NUMBER(NULL, doc.lb.new_flows_table_length, 0, length,
			   "between 1024 and 32768"),
		SET_NUMBER(NULL, doc.lb.new_flows_table_length, 512, length,
			   "between 1024 and 32768"),
		SET_NUMBER(NULL, doc.lb.new_flows_table_length, 65536, length,
			   "between 1024 and 32768"),
		SET_NUMBER(NULL, doc.lb.new_flows_table_length, 3000, length, power),
	};
	static const struct row good[] = {
		SET_DURATION(NULL, doc.lb.flow_timeout, 1 * S, NULL, NULL),
		SET_DURATION(NULL, doc.lb.startup_max_delay, 5 * S, NULL, NULL),
		SET_NUMBER(NULL, doc.lb.new_flows_table_length, 1024, NULL, NULL),
		SET_NUMBER(NULL, doc.lb.sticky_buckets_per_core, 1 << 20, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

static void no_lb_section(struct fixture *f)
{
	f->doc.lb = (struct doc_lb){ 0 };
	use_none(f);
}

static void no_frontend_but_six(struct fixture *f)
{
	use_xdp(f);
	f->doc.frontends = &f->frontend[F_SIX];
	f->doc.n_frontends = 1;
	f->doc.backends = &f->backend[SIX];
	f->doc.n_backends = 1;
	f->doc.checks = &f->check[CONN];
	f->doc.n_checks = 1;
	f->touched = f->doc.lb.at;
}

static void no_sources_and_told_so(struct fixture *f)
{
	f->doc.lb = (struct doc_lb){ 0 };
	f->rules.no_dataplane = true;
}

/* source addresses: both for vpp, for xdp those of its backends' families, else none */
static void source_address_rules(void **state)
{
	static const char v4[] = LB_KEY "ipv4-src-address", v6[] = LB_KEY "ipv6-src-address";
	static const struct row bad[] = {
		LEAVE_OUT(NULL, doc.lb.ipv4_src_address, doc.lb.at, v4,
			  "is required: vpp sends to IPv4 servers from it"),
		LEAVE_OUT(NULL, doc.lb.ipv6_src_address, doc.lb.at, v6, "is required: vpp"),
		LEAVE_OUT(use_xdp, doc.lb.ipv4_src_address, doc.lb.at, v4,
			  "is required: xdp sends to IPv4 servers from it"),
		LEAVE_OUT(no_frontend_but_six, doc.lb.ipv6_src_address, doc.lb.at, v6,
			  "is required: xdp sends to IPv6 servers from it"),
		SET_TEXT(NULL, doc.lb.ipv4_src_address, "2001:db8::1", v4,
			 "is not an IPv4 address"),
		SET_TEXT(NULL, doc.lb.ipv6_src_address, "192.0.2.1", v6, "is not an IPv6 address"),
		SET_TEXT(use_none, doc.lb.ipv6_src_address, "192.0.2.1", v6,
			 "is not an IPv6 address"),
		SET_TEXT(NULL, doc.lb.ipv4_src_address, "", v4, "not an IP"),
		SET_TEXT(NULL, doc.lb.ipv4_src_address, "255.255.255.255", v4, "broadcast"),
	};
	static const struct row good[] = {
		JUST(no_lb_section, NULL, NULL),
		JUST(no_sources_and_told_so, NULL, NULL),
		LEAVE_OUT(no_frontend_but_six, doc.lb.ipv4_src_address, doc.lb.at, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

static void say_xdp_without_section(struct fixture *f)
{
	set_text(f, &f->doc.dataplane, "xdp");
}

static void no_interfaces(struct fixture *f)
{
	use_xdp(f);
	f->doc.xdp.interfaces.n = 0;
	f->touched = f->doc.xdp.at;
}

static void many_interfaces(struct fixture *f)
{
	use_xdp(f);
	for (size_t i = 0; i < 65; i++)
		set_text(f, &f->interface[i], arena_printf(f->arena, "eth%zu", i));
	f->doc.xdp.interfaces.n = 65;
}

static void two_interfaces(struct fixture *f)
{
	use_xdp(f);
	f->doc.xdp.interfaces.n = 2;
}

/* which data plane, and what xdp needs */
static void dataplane_rules(void **state)
{
	static const struct row bad[] = {
		SET_TEXT(NULL, doc.dataplane, "fake", "maglev.dataplane",
			 "\"fake\" is not one of vpp, xdp, none"),
		SET_TEXT(no_lb_section, doc.dataplane, "VPP", "maglev.dataplane", "is not one of"),
		JUST(say_xdp_without_section, "maglev.xdp.interfaces", "at least one interface"),
		JUST(no_interfaces, "maglev.xdp.interfaces", "at least one interface"),
		JUST(many_interfaces, "maglev.xdp.interfaces", "more than 64"),
	};
	static const struct row good[] = {
		SET_TEXT(no_interfaces, doc.dataplane, "vpp", NULL, NULL),
		SET_TEXT(use_xdp, doc.dataplane, "none", NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* the keys of the section xdp */
static void xdp_rules(void **state)
{
	static const char iface[] = "maglev.xdp.interfaces[1]",
			  name[] = "not the name of an interface";
	static const char table[] = "maglev.xdp.table-size", flows[] = "maglev.xdp.flow-table-size";
	static char long_pin[402];
	static const struct row bad[] = {
		SET_TEXT(two_interfaces, interface[1], "", iface, "must not be empty"),
		SET_TEXT(two_interfaces, interface[1], "sixteen-letters-", iface,
			 "longer than 15 bytes"),
		SET_TEXT(two_interfaces, interface[1], "a/b", iface, name),
		SET_TEXT(two_interfaces, interface[1], "eth0:1", iface, name),
		SET_TEXT(two_interfaces, interface[1], "..", iface, name),
		SET_TEXT(two_interfaces, interface[1], "a b", iface, "space"),
		SET_TEXT(two_interfaces, interface[1], "eth0", iface, "\"eth0\" is listed twice"),
		SET_TEXT(use_xdp, doc.xdp.mode, "offload", "maglev.xdp.mode",
			 "\"offload\" is not one of auto, native, generic"),
		SET_TEXT(use_xdp, doc.xdp.transmit, "auto", "maglev.xdp.transmit",
			 "\"auto\" is not one of redirect, tx"),
		SET_TEXT(use_xdp, doc.xdp.pin, "maglev", "maglev.xdp.pin",
			 "is not an absolute path"),
		SET_TEXT(use_xdp, doc.xdp.pin, "", "maglev.xdp.pin", "must not be empty"),
		SET_TEXT(use_xdp, doc.xdp.pin, long_pin, "maglev.xdp.pin", "longer than 400"),
		SET_NUMBER(use_xdp, doc.xdp.table_size, 65536, table,
			   "must be a prime, not 65536; 65537 is one"),
		SET_NUMBER(use_xdp, doc.xdp.table_size, 5000012, table, "between 251 and 5000011"),
		SET_NUMBER(use_xdp, doc.xdp.table_size, 0, table, "between 251 and 5000011"),
		SET_NUMBER(use_xdp, doc.xdp.table_size, 63001, table, "must be a prime"),
		SET_NUMBER(use_xdp, doc.xdp.flow_table_size, 1023, flows,
			   "between 1024 and 67108864"),
		SET_NUMBER(use_xdp, doc.xdp.flow_table_size, (1 << 26) + 1, flows,
			   "between 1024 and 67108864"),
	};
	static const struct row good[] = {
		SET_TEXT(two_interfaces, interface[1], "fifteen-letters", NULL, NULL),
		SET_TEXT(use_xdp, doc.xdp.mode, "native", NULL, NULL),
		SET_TEXT(use_xdp, doc.xdp.transmit, "redirect", NULL, NULL),
		SET_NUMBER(use_xdp, doc.xdp.table_size, 251, NULL, NULL),
	};

	memset(long_pin, '/', sizeof(long_pin) - 1);
	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* an empty --vpp-api-addr means the same as dataplane: none */
static void no_dataplane_wins_over_the_file(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	f.rules.no_dataplane = true;
	assert_clean(&f);
	assert_int_equal(f.config.dataplane, L4_DATAPLANE_NONE);
	fixture_end(&f);
}

static void told_to_use_none(struct fixture *f)
{
	f->rules.no_dataplane = true;
}

static void xdp_without_interfaces_and_told_to_use_none(struct fixture *f)
{
	use_xdp(f);
	f->doc.xdp.interfaces.n = 0;
	told_to_use_none(f);
}

/*
 * Values that only the data plane in the file would refuse are accepted, and the
 * file is still read.
 */
static void no_dataplane_has_no_rules_of_its_own(void **state)
{
	static const struct row good[] = {
		SET_TEXT(told_to_use_none, backend[SIX].address, "::1", NULL, NULL),
		JUST(xdp_without_interfaces_and_told_to_use_none, NULL, NULL),
	};
	static const struct row bad[] = {
		SET_TEXT(told_to_use_none, doc.dataplane, "fake", "maglev.dataplane",
			 "is not one of"),
	};

	EACH(good, assert_accepted);
	EACH(bad, assert_refused);
}

/* ---- warnings ---- */

static void many_heavy_members(struct fixture *f, size_t n)
{
	struct doc_backend *backends = arena_array_of(f->arena, n + 4, struct doc_backend);
	struct doc_member *members = arena_array_of(f->arena, n, struct doc_member);

	memcpy(backends, f->backend, sizeof(f->backend));
	for (size_t i = 0; i < n; i++) {
		struct doc_backend *b = &backends[i + 4];

		*b = (struct doc_backend){ .name = arena_printf(f->arena, "heavy%zu", i) };
		set_text(f, &b->address, arena_printf(f->arena, "10.1.%zu.%zu", i / 256, i % 256));
		members[i] = (struct doc_member){ .backend = b->name };
	}
	f->doc.backends = backends;
	f->doc.n_backends = n + 4;
	f->all_pool[0].members = members;
	f->all_pool[0].n_members = n;
	f->touched = f->frontend[F_ALL].at;
}

static void sum_above_table(struct fixture *f)
{
	many_heavy_members(f, 11);
	f->doc.lb.new_flows_table_length = (struct doc_int){ .set = true, .v = 1024 };
}

static void sum_above_table_in_xdp(struct fixture *f)
{
	use_xdp(f);
	sum_above_table(f);
}

/* In the frontend twice, but counted once with the larger weight: 10 x 100 <= 1024. */
static void same_members_in_two_pools(struct fixture *f)
{
	struct doc_pool *pools = arena_array_of(f->arena, 2, struct doc_pool);
	struct doc_member *lighter;

	sum_above_table(f);
	f->doc.n_backends--;
	f->all_pool[0].n_members = 10;
	lighter = arena_copy(f->arena, f->all_pool[0].members, 10 * sizeof(*lighter));
	set_number(f, &lighter[3].weight, 1);
	pools[0] = pools[1] = f->all_pool[0];
	pools[1].name.v = "again";
	pools[1].members = lighter;
	f->frontend[F_ALL].pools = pools;
	f->frontend[F_ALL].n_pools = 2;
}

static void all_weights_zero(struct fixture *f)
{
	set_number(f, &f->six[0].weight, 0);
	f->touched = f->frontend[F_SIX].at;
}

static void no_pools(struct fixture *f)
{
	f->frontend[F_ALL].n_pools = 0;
	f->touched = f->frontend[F_ALL].at;
}

static void unused_check(struct fixture *f)
{
	f->backend[SIX].healthcheck.set = false;
	f->touched = f->check[CONN].at;
}

static void unused_backend(struct fixture *f)
{
	f->frontend[F_WWW].n_pools = 1;
	f->touched = f->backend[WEB9].at;
}

static void plain_http(struct fixture *f)
{
	f->check[WEB].type.v = "http";
	f->check[WEB].params.server_name.set = f->check[WEB].params.insecure_skip_verify.set =
		false;
}

/* weights that sum above the table length of VPP are warned about */
static void doubts_are_warned_about(void **state)
{
	static const struct row rows[] = {
		JUST(sum_above_table, "maglev.frontends.all.pools",
		     "sum to 1100, above new-flows-table-length (1024)"),
		JUST(all_weights_zero, "maglev.frontends.six.pools", "all weights are 0"),
		JUST(no_pools, "maglev.frontends.all.pools", "not programmed"),
		JUST(unused_check, "maglev.healthchecks.conn", "no backend uses it"),
		JUST(unused_backend, "maglev.backends.web9", "no frontend uses it"),
		SET_DURATION(NULL, check[WEB].timeout, 6 * S, WEB_KEY "timeout",
			     "6s is longer than the interval 5s"),
		SET_DURATION(NULL, check[CONN].interval, 500 * MS,
			     "maglev.healthchecks.conn.timeout",
			     "1s is longer than the interval 500ms"),
		SET_NUMBER(NULL, check[PING].port, 80, "maglev.healthchecks.ping.port",
			   "icmp has no ports"),
		SET_TEXT(plain_http, check[WEB].params.server_name, "www", PARAMS_KEY "server-name",
			 "only https"),
		SET_FLAG(plain_http, check[WEB].params.insecure_skip_verify, true,
			 PARAMS_KEY "insecure-skip-verify", "only https"),
	};
	static const struct row good[] = {
		JUST(sum_above_table_in_xdp, NULL, NULL),
		JUST(same_members_in_two_pools, NULL, NULL),
		JUST(plain_http, NULL, NULL),
		SET_FLAG(plain_http, check[WEB].params.insecure_skip_verify, false, NULL, NULL),
	};

	EACH(rows, assert_doubted);
	EACH(good, assert_accepted);
}

/* FR-1.1: values that plain http ignores do not change the check */
static void http_checks_carry_nothing_of_tls(void **state)
{
	struct fixture f;

	fixture_begin(&f);
	set_text(&f, &f.check[WEB].type, "http");
	assert_int_equal(fixture_build(&f), 0);
	assert_null(l4_config_check(&f.config, "web")->http.server_name);
	assert_false(l4_config_check(&f.config, "web")->http.insecure_skip_verify);
	fixture_end(&f);
}

/* the section in its other place */
static void move_lb(struct fixture *f)
{
	f->doc.top_lb = f->doc.lb;
	f->doc.lb = (struct doc_lb){ 0 };
}

static void copy_lb(struct fixture *f)
{
	f->doc.top_lb = f->doc.lb;
	f->touched = f->doc.lb.at;
}

static void xdp_without_lb(struct fixture *f)
{
	use_xdp(f);
	f->doc.lb = (struct doc_lb){ 0 };
	set_text(f, &f->doc.dataplane, "xdp");
	f->doc.frontends = &f->frontend[F_SIX];
	f->doc.n_frontends = 1;
}

static void lb_may_stand_at_the_top(void **state)
{
	static const struct row bad[] = {
		JUST(copy_lb, "maglev.vpp.lb", "is given beside lb, which is the same section"),
		SET_DURATION(move_lb, doc.top_lb.sync_interval, 0, "maglev.lb.sync-interval",
			     "more than 0"),
		JUST(xdp_without_lb, "maglev.lb.ipv6-src-address",
		     "is required: xdp sends to IPv6"),
	};
	struct fixture f;

	EACH(bad, assert_refused);
	fixture_begin(&f);
	move_lb(&f);
	set_duration(&f, &f.doc.top_lb.flow_timeout, 7 * S);
	assert_clean(&f);
	assert_int_equal(f.config.lb.flow_timeout, 7 * S);
	assert_true(addr_is_set(&f.config.lb.src4));
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lb_may_stand_at_the_top),
		cmocka_unit_test(lb_rules),
		cmocka_unit_test(source_address_rules),
		cmocka_unit_test(dataplane_rules),
		cmocka_unit_test(xdp_rules),
		cmocka_unit_test(no_dataplane_wins_over_the_file),
		cmocka_unit_test(no_dataplane_has_no_rules_of_its_own),
		cmocka_unit_test(doubts_are_warned_about),
		cmocka_unit_test(http_checks_carry_nothing_of_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
