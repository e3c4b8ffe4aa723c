/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The semantic rules, row by row: each row breaks one thing in a valid document and names the key
 * and the text of the complaint. Every row also checks that the error has the place of the value,
 * that it is the only one, and that the result is untouched.
 */
#include "core/l4/validate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

/* ---- healthchecker ---- */

/* FR-5.2: transition-history and netns */
static void healthchecker_rules(void **state)
{
	static const char history[] = "maglev.healthchecker.transition-history";
	static const char netns[] = "maglev.healthchecker.netns";
	static const char neither[] = "neither the name of a network namespace nor an absolute";
	const struct row bad[] = {
		SET_NUMBER(NULL, doc.transition_history, 0, history, "not 0"),
		SET_NUMBER(NULL, doc.transition_history, 10001, history, "10000"),
		SET_TEXT(NULL, doc.netns, "a/b", netns, neither),
		SET_TEXT(NULL, doc.netns, ".", netns, neither),
		SET_TEXT(NULL, doc.netns, "..", netns, neither),
		SET_TEXT(NULL, doc.netns, "a b", netns, "space"),
		SET_TEXT(NULL, doc.netns, "a\nb", netns, "not printable"),
		SET_TEXT(NULL, doc.netns, repeat('n', 256), netns, "255 bytes"),
	};
	const struct row good[] = {
		SET_NUMBER(NULL, doc.transition_history, 1, NULL, NULL),
		SET_TEXT(NULL, doc.netns, "", NULL, NULL),
		SET_TEXT(NULL, doc.netns, "dataplane", NULL, NULL),
		SET_TEXT(NULL, doc.netns, "/proc/1/ns/net", NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* ---- healthchecks ---- */

/* FR-1.1: a check has one of four types, and a port unless it is icmp */
static void check_type_and_port_rules(void **state)
{
	static const char between[] = "between 1 and 65535";
	static const struct row bad[] = {
		LEAVE_OUT(NULL, check[WEB].type, check[WEB].at, WEB_KEY "type",
			  "is required: one of icmp, tcp, http, https"),
		SET_TEXT(NULL, check[WEB].type, "ftp", WEB_KEY "type",
			 "\"ftp\" is not one of icmp, tcp, http, https"),
		SET_TEXT(NULL, check[CONN].type, "TCP", "maglev.healthchecks.conn.type",
			 "is not one of"),
		SET_TEXT(NULL, check[CONN].type, "", "maglev.healthchecks.conn.type",
			 "is not one of"),
		LEAVE_OUT(NULL, check[WEB].port, check[WEB].at, WEB_KEY "port",
			  "is required for https"),
		LEAVE_OUT(NULL, check[CONN].port, check[CONN].at, "maglev.healthchecks.conn.port",
			  "is required for tcp"),
		SET_NUMBER(NULL, check[WEB].port, 0, WEB_KEY "port", between),
		SET_NUMBER(NULL, check[WEB].port, 65536, WEB_KEY "port", between),
		SET_NUMBER(NULL, check[WEB].port, -1, WEB_KEY "port", between),
		SET_NUMBER(NULL, check[PING].port, 65616, "maglev.healthchecks.ping.port", between),
	};

	EACH(bad, assert_refused);
}

/* FR-1.2, FR-1.3: rise, fall, intervals, timeout */
static void check_timing_rules(void **state)
{
	static const char positive[] = "must be more than 0", day[] = "at most 24h0m0s";
	static const struct row bad[] = {
		SET_NUMBER(NULL, check[WEB].rise, 0, WEB_KEY "rise", "not 0"),
		SET_NUMBER(NULL, check[WEB].fall, 0, WEB_KEY "fall", "not 0"),
		SET_NUMBER(NULL, check[WEB].rise, 1001, WEB_KEY "rise", "1000"),
		SET_NUMBER(NULL, check[WEB].fall, -3, WEB_KEY "fall", "not -3"),
		SET_DURATION(NULL, check[WEB].interval, 0, WEB_KEY "interval", positive),
		SET_DURATION(NULL, check[WEB].fast_interval, -S, WEB_KEY "fast-interval",
			     "not -1s"),
		SET_DURATION(NULL, check[WEB].down_interval, 0, WEB_KEY "down-interval", positive),
		SET_DURATION(NULL, check[WEB].timeout, 0, WEB_KEY "timeout", positive),
		SET_DURATION(NULL, check[WEB].interval, 24 * 3600 * S + 1, WEB_KEY "interval", day),
		SET_DURATION(NULL, check[WEB].timeout, INT64_MAX, WEB_KEY "timeout", day),
	};
	static const struct row good[] = {
		SET_NUMBER(NULL, check[WEB].rise, 1000, NULL, NULL),
		SET_DURATION(NULL, check[WEB].fast_interval, 1, NULL, NULL),
		SET_DURATION(NULL, check[WEB].interval, 24 * 3600 * S, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* probe sources must be of their family */
static void probe_source_rules(void **state)
{
	static const char v4[] = WEB_KEY "probe-ipv4-src", v6[] = WEB_KEY "probe-ipv6-src";
	static const struct row bad[] = {
		SET_TEXT(NULL, check[WEB].probe_ipv4_src, "2001:db8::1", v4,
			 "is not an IPv4 address"),
		SET_TEXT(NULL, check[WEB].probe_ipv6_src, "192.0.2.1", v6,
			 "is not an IPv6 address"),
		SET_TEXT(NULL, check[WEB].probe_ipv4_src, "eth0", v4,
			 "\"eth0\" is not an IP address"),
		SET_TEXT(NULL, check[WEB].probe_ipv4_src, "0.0.0.0", v4, "unspecified"),
		SET_TEXT(NULL, check[WEB].probe_ipv6_src, "ff02::1", v6, "multicast"),
		SET_TEXT(NULL, check[WEB].probe_ipv6_src, "fe80::1", v6, "link-local"),
	};

	EACH(bad, assert_refused);
}

/* FR-1.1: response-code is a list of codes and ranges */
static void response_code_rules(void **state)
{
	static const char like[] = "is not like \"200\", \"200-299\"", range[] = "100 to 599";
	static const char *const bad[][2] = {
		{ "", like },	      { "abc", like },	       { "200,", like },
		{ ",200", like },     { "200-", like },	       { "-200", like },
		{ "2xx", like },      { "200-299-300", like }, { "200;204", like },
		{ "0x200", like },    { "2 00", like },	       { "299-200", range },
		{ "99", range },      { "600", range },	       { "0", range },
		{ "200-600", range }, { "50-200", range },     { "200,700", range },
		{ "+200", like },     { "200\t,\n204", like }, { "99999999999999999999", range },
	};
	static const struct row good[] = {
		SET_TEXT(NULL, check[WEB].params.response_code, "200", NULL, NULL),
		SET_TEXT(NULL, check[WEB].params.response_code, "100-599", NULL, NULL),
		SET_TEXT(NULL, check[WEB].params.response_code, "204,200,200-200", NULL, NULL),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(&(struct row)SET_TEXT(NULL, check[WEB].params.response_code,
						     bad[i][0], PARAMS_KEY "response-code",
						     bad[i][1]));
	EACH(good, assert_accepted);
}

/* FR-1.1: text in a request cannot smuggle in more than itself */
static void http_params_rules(void **state)
{
	const struct row bad[] = {
		SET_TEXT(NULL, check[WEB].params.path, "healthz", PARAMS_KEY "path",
			 "does not begin with a slash"),
		SET_TEXT(NULL, check[WEB].params.path, "", PARAMS_KEY "path", "must not be empty"),
		SET_TEXT(NULL, check[WEB].params.path, "/a b", PARAMS_KEY "path", "holds a space"),
		SET_TEXT(NULL, check[WEB].params.path, "/a\r\nX: y", PARAMS_KEY "path",
			 "not printable"),
		SET_TEXT(NULL, check[WEB].params.path, "/gr\xc3\xbc\xc3\x9f", PARAMS_KEY "path",
			 "outside ASCII"),
		SET_TEXT(NULL, check[WEB].params.path, repeat('/', 2049), PARAMS_KEY "path",
			 "longer than 2048 bytes"),
		SET_TEXT(NULL, check[WEB].params.host, "www\r\nX: y", PARAMS_KEY "host",
			 "not printable"),
		SET_TEXT(NULL, check[WEB].params.host, "www example", PARAMS_KEY "host",
			 "holds a space"),
		SET_TEXT(NULL, check[WEB].params.host, "http://www/", PARAMS_KEY "host",
			 "is not a host name"),
		SET_TEXT(NULL, check[WEB].params.host, "", PARAMS_KEY "host", "must not be empty"),
		SET_TEXT(NULL, check[WEB].params.server_name, "a\x7f", PARAMS_KEY "server-name",
			 "not printable"),
		SET_TEXT(NULL, check[WEB].params.server_name, "a b", PARAMS_KEY "server-name",
			 "holds a space"),
		SET_TEXT(NULL, check[WEB].params.response_regexp, "(a",
			 PARAMS_KEY "response-regexp",
			 "\"(a\" does not compile: missing closing parenthesis"),
	};

	EACH(bad, assert_refused);
}

/* params and keep-alive are for http and https */
static void checks_without_http_take_none_of_its_keys(void **state)
{
	static const char only[] = "is only for http and https, not for tcp";
	static const struct row bad[] = {
		SET_TEXT(NULL, check[CONN].params.path, "no slash",
			 "maglev.healthchecks.conn.params.path", only),
		SET_TEXT(NULL, check[CONN].params.host, "www",
			 "maglev.healthchecks.conn.params.host", only),
		SET_TEXT(NULL, check[CONN].params.response_code, "200",
			 "maglev.healthchecks.conn.params.response-code", only),
		SET_TEXT(NULL, check[CONN].params.response_regexp, "(a",
			 "maglev.healthchecks.conn.params.response-regexp", only),
		SET_TEXT(NULL, check[CONN].params.server_name, "www",
			 "maglev.healthchecks.conn.params.server-name",
			 "is only for https and tls, not for tcp"),
		SET_FLAG(NULL, check[CONN].params.insecure_skip_verify, true,
			 "maglev.healthchecks.conn.params.insecure-skip-verify",
			 "is only for https and tls, not for tcp"),
		SET_FLAG(NULL, check[CONN].keep_alive, true, "maglev.healthchecks.conn.keep-alive",
			 only),
		SET_FLAG(NULL, check[PING].keep_alive, true, "maglev.healthchecks.ping.keep-alive",
			 "not for icmp"),
	};
	static const struct row good[] = {
		SET_FLAG(NULL, check[CONN].keep_alive, false, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* ---- names ---- */

static void name_backend(struct fixture *f, const char *name)
{
	f->backend[WEB9].name = f->fallback[0].backend = name;
	f->touched = f->backend[WEB9].at;
}

/* names are arbitrary, as long as they can be printed */
static void name_rules(void **state)
{
	static const char long_name[129 + 1] =
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
	static const struct {
		const char *name, *key, *fragment; /* no fragment: valid */
	} rows[] = {
		{ "", "maglev.backends.", "must not be empty" },
		{ "a\nb", "maglev.backends.a\\x0ab", "holds \\x0a, which" },
		{ "a\xc2\x9b", "maglev.backends.a\\u009b", "holds \\u009b, which" },
		{ "a\xe2\x80\xa8", "maglev.backends.a\\u2028", "holds \\u2028, which" },
		{ "a\xe2\x80\xae", "maglev.backends.a\\u202e", "holds \\u202e, which" },
		{ "a\xff", "maglev.backends.a\\xff", "holds \\xff, which" },
		{ "web 9", NULL, NULL },
		{ "k\xc3\xb6ln.9/[x]", NULL, NULL },
		{ long_name + 1, NULL, NULL },
	};
	struct fixture f;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fixture_begin(&f);
		name_backend(&f, rows[i].name);
		if (rows[i].fragment) {
			assert_int_equal(fixture_build(&f), -EINVAL);
			assert_told(&f, &f.errors,
				    &(struct row){ .key = rows[i].key,
						   .fragment = rows[i].fragment });
		} else {
			assert_clean(&f);
		}
		fixture_end(&f);
	}
	fixture_begin(&f);
	name_backend(&f, long_name);
	assert_int_equal(fixture_build(&f), -EINVAL);
	assert_int_equal(f.errors.n, 1);
	assert_non_null(strstr(f.errors.items[0].text, "longer than 128 bytes"));
	fixture_end(&f);
}

static void same_check_name(struct fixture *f)
{
	f->check[CONN].name = "ping";
	f->backend[SIX].healthcheck.v = "ping";
	f->touched = f->check[CONN].at;
}

static void same_member(struct fixture *f)
{
	f->primary[1].backend = "web2";
	f->touched = f->www_pool[0].at;
}

/* The reader already refuses these, but a document may come from elsewhere. */
static void names_are_unique(void **state)
{
	static const struct row bad[] = {
		JUST(same_check_name, "maglev.healthchecks.ping", "occurs twice"),
		JUST(same_member, "maglev.frontends.www.pools[0].backends",
		     "\"web2\" is in this pool twice"),
	};

	EACH(bad, assert_refused);
}

/* ---- backends ---- */

/* an address that no server can have is refused */
static void backend_address_rules(void **state)
{
	static const char not_ip[] = "is not an IP address";
	static const char *const bad[][2] = {
		{ "", not_ip },
		{ "web1.example.net", not_ip },
		{ "10.0.0", not_ip },
		{ "10.0.0.256", not_ip },
		{ " 10.0.0.1", not_ip },
		{ "10.0.0.1:80", not_ip },
		{ "[2001:db8::1]", not_ip },
		{ "fe80::1%eth0", not_ip },
		{ "10.0.0.1/32", "is not a single address" },
		{ "0.0.0.0", "unspecified" },
		{ "::", "unspecified" },
		{ "224.0.0.1", "multicast" },
		{ "239.255.255.255", "multicast" },
		{ "ff05::2", "multicast" },
		{ "255.255.255.255", "broadcast" },
		{ "fe80::1", "link-local" },
		{ "febf::1", "link-local" },
		{ "::ffff:10.0.0.1", "write it as IPv4" },
		{ "::1", "inside ::/96, which VPP takes for IPv4" },
		{ "::10.0.0.1", "inside ::/96" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(&(struct row)SET_TEXT(NULL, backend[WEB1].address, bad[i][0],
						     WEB1_ADDRESS, bad[i][1]));
	assert_refused(&(struct row)LEAVE_OUT(NULL, backend[WEB1].address, backend[WEB1].at,
					      WEB1_ADDRESS, "is required"));
}

static void backend_addresses_that_are_fine(void **state)
{
	static const struct row good[] = {
		SET_TEXT(NULL, backend[WEB1].address, "127.0.0.1", NULL, NULL),
		SET_TEXT(NULL, backend[WEB1].address, "223.255.255.255", NULL, NULL),
		SET_TEXT(NULL, backend[WEB1].address, "240.0.0.1", NULL, NULL),
		SET_TEXT(NULL, backend[SIX].address, "fec0::1", NULL, NULL),
		SET_TEXT(use_none, backend[SIX].address, "::1", NULL, NULL),
		SET_TEXT(use_xdp, backend[SIX].address, "::2", NULL, NULL),
	};

	EACH(good, assert_accepted);
}

/* every referenced health check must exist */
static void unknown_healthchecks_are_told_with_near_names(void **state)
{
	static const char key[] = "maglev.backends.web1.healthcheck";
	static const struct row bad[] = {
		SET_TEXT(NULL, backend[WEB1].healthcheck, "wed", key,
			 "there is no healthcheck \"wed\"; did you mean \"web\"?"),
		SET_TEXT(NULL, backend[WEB1].healthcheck, "pnig", key, "did you mean \"ping\"?"),
		SET_TEXT(NULL, backend[WEB1].healthcheck, "elsewhere", key,
			 "there is no healthcheck \"elsewhere\""),
		SET_TEXT(NULL, backend[WEB1].healthcheck, "", key, "there is no healthcheck \"\""),
	};

	EACH(bad, assert_refused);
}

/* ---- frontends ---- */

/* one host address; protocol and port together or not at all */
static void frontend_key_rules(void **state)
{
	const struct row bad[] = {
		LEAVE_OUT(NULL, frontend[F_WWW].address, frontend[F_WWW].at, WWW_KEY "address",
			  "is required"),
		SET_TEXT(NULL, frontend[F_WWW].address, "198.51.100.0/24", WWW_KEY "address",
			 "is not a single address"),
		SET_TEXT(NULL, frontend[F_WWW].description, "shop\xe2\x80\xae",
			 WWW_KEY "description", "holds \\u202e, which is not printable"),
		SET_TEXT(NULL, frontend[F_WWW].description, repeat('d', 1025),
			 WWW_KEY "description", "1024 bytes"),
		SET_TEXT(NULL, frontend[F_WWW].address, "www", WWW_KEY "address",
			 "is not an IP address"),
		SET_TEXT(NULL, frontend[F_WWW].address, "0.0.0.0", WWW_KEY "address",
			 "unspecified"),
		SET_TEXT(NULL, frontend[F_WWW].address, "ff02::1", WWW_KEY "address", "multicast"),
		SET_TEXT(NULL, frontend[F_WWW].address, "::5", WWW_KEY "address", "inside ::/96"),
		SET_TEXT(NULL, frontend[F_WWW].protocol, "sctp", WWW_KEY "protocol",
			 "\"sctp\" is not one of tcp, udp"),
		LEAVE_OUT(NULL, frontend[F_WWW].port, frontend[F_WWW].protocol.at, WWW_KEY "port",
			  "is required with a protocol"),
		LEAVE_OUT(NULL, frontend[F_WWW].protocol, frontend[F_WWW].port.at,
			  WWW_KEY "protocol", "is required with a port: one of tcp, udp"),
		SET_NUMBER(NULL, frontend[F_WWW].port, 0, WWW_KEY "port", "between 1 and 65535"),
		SET_NUMBER(NULL, frontend[F_WWW].port, 65536, WWW_KEY "port",
			   "between 1 and 65535"),
	};

	EACH(bad, assert_refused);
}

static void no_members(struct fixture *f)
{
	f->www_pool[1].n_members = 0;
	f->touched = f->www_pool[1].at;
}

static void unknown_member(struct fixture *f)
{
	f->primary[1].backend = "wbe1";
	f->touched = f->primary[1].at;
}

static void only_unknown_member(struct fixture *f)
{
	f->fallback[0].backend = "elsewhere";
	f->touched = f->fallback[0].at;
}

/* FR-2.1, FR-2.2: pools are named, not empty, of known backends, weights 0..100 */
static void pool_rules(void **state)
{
	static const struct row bad[] = {
		LEAVE_OUT(NULL, www_pool[0].name, www_pool[0].at, PRIMARY_KEY "name",
			  "is required"),
		SET_TEXT(NULL, www_pool[0].name, "", PRIMARY_KEY "name", "must not be empty"),
		SET_TEXT(NULL, www_pool[0].name, "a\tb", PRIMARY_KEY "name", "not printable"),
		SET_TEXT(NULL, www_pool[1].name, "primary", WWW_KEY "pools[1].name",
			 "\"primary\" is already a pool of this frontend"),
		JUST(no_members, WWW_KEY "pools[1].backends", "at least one backend"),
		JUST(unknown_member, PRIMARY_KEY "backends.wbe1",
		     "there is no backend \"wbe1\"; did you mean \"web1\", \"web2\" or"),
		JUST(only_unknown_member, WWW_KEY "pools[1].backends.elsewhere",
		     "there is no backend"),
		SET_NUMBER(NULL, primary[0].weight, 101, PRIMARY_KEY "backends.web2.weight",
			   "between 0 and 100, not 101"),
		SET_NUMBER(NULL, primary[0].weight, -1, PRIMARY_KEY "backends.web2.weight",
			   "not -1"),
	};
	static const struct row good[] = {
		SET_NUMBER(NULL, primary[0].weight, 0, NULL, NULL),
		SET_TEXT(NULL, six_pool[0].name, "primary", NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

static void other_family_in_pool(struct fixture *f)
{
	f->primary[1].backend = "six";
	f->touched = f->primary[1].at;
}

static void other_family_in_second_pool(struct fixture *f)
{
	f->fallback[0].backend = "six";
	f->touched = f->fallback[0].at;
}

static void same_address_in_pool(struct fixture *f)
{
	f->backend[WEB1].address.v = "10.0.0.12";
	f->touched = f->primary[1].at;
}

static void same_address_in_second_pool(struct fixture *f)
{
	f->backend[WEB9].address.v = "10.0.0.12";
	f->touched = f->fallback[0].at;
}

/* FR-2.1: one family in a frontend, and no two backends with one address */
static void members_of_a_frontend_fit_together(void **state)
{
	static const struct row bad[] = {
		JUST(other_family_in_pool, PRIMARY_KEY "backends.six",
		     "is IPv6, but \"web2\" of this frontend is IPv4"),
		JUST(other_family_in_second_pool, WWW_KEY "pools[1].backends.six",
		     "is IPv6, but \"web2\" of this frontend is IPv4"),
		JUST(same_address_in_pool, PRIMARY_KEY "backends.web1",
		     "has the same address as \"web2\" of this frontend"),
		JUST(same_address_in_second_pool, WWW_KEY "pools[1].backends.web9",
		     "has the same address as \"web2\" of this frontend"),
	};

	EACH(bad, assert_refused);
}

/* a backend may be in two pools; two frontends may have backends with one address */
static void what_members_may_share(void **state)
{
	struct doc_backend backends[5];
	struct doc_pool pools[3];
	struct fixture f;

	fixture_begin(&f);
	memcpy(backends, f.backend, sizeof(f.backend));
	backends[4] = f.backend[WEB9];
	backends[4].name = "web9-again";
	f.doc.backends = backends;
	f.doc.n_backends = ARRAY_SIZE(backends);
	f.all[0].backend = "web9-again";
	memcpy(pools, f.www_pool, sizeof(f.www_pool));
	pools[2] = f.www_pool[0];
	pools[2].name.v = "again";
	f.frontend[F_WWW].pools = pools;
	f.frontend[F_WWW].n_pools = ARRAY_SIZE(pools);
	assert_clean(&f);
	fixture_end(&f);
}

static void same_vip(struct fixture *f)
{
	f->frontend[F_WWW].address.v = "2001:db8:0::10";
	f->frontend[F_WWW].protocol.v = "udp";
	f->frontend[F_WWW].port.v = 53;
	f->six[0].backend = "web9";
	f->frontend[F_ALL].n_pools = 0;
	f->touched = f->frontend[F_SIX].address.at;
}

static void same_all_port(struct fixture *f)
{
	f->frontend[F_WWW].address.v = "198.51.100.20";
	f->frontend[F_WWW].protocol.set = f->frontend[F_WWW].port.set = false;
	f->touched = f->frontend[F_ALL].address.at;
}

static void all_port_after_port(struct fixture *f)
{
	f->frontend[F_ALL].address.v = "198.51.100.10";
	f->touched = f->frontend[F_ALL].address.at;
}

static void port_after_all_port(struct fixture *f)
{
	f->frontend[F_WWW].protocol.set = f->frontend[F_WWW].port.set = false;
	f->frontend[F_SIX].address.v = "198.51.100.10";
	f->six[0].backend = "web9";
	f->touched = f->frontend[F_SIX].address.at;
}

/* its key comes first, but it comes later in the file */
static void other_family_on_address(struct fixture *f)
{
	f->frontend[F_SIX].address.v = "198.51.100.10";
	f->frontend[F_SIX].protocol.v = "tcp";
	f->frontend[F_SIX].port.v = 79;
	f->touched = f->frontend[F_SIX].address.at;
}

/* VIPs that share an address use backends of one family, and their keys are unique */
static void frontends_do_not_clash(void **state)
{
	static const struct row bad[] = {
		JUST(same_vip, "maglev.frontends.six.address",
		     "frontend \"www\" has the same address, protocol and port"),
		JUST(same_all_port, "maglev.frontends.all.address",
		     "frontend \"www\" has the same address, protocol and port"),
		JUST(all_port_after_port, "maglev.frontends.all.address",
		     "all ports here and one port in frontend \"www\" exclude"),
		JUST(port_after_all_port, "maglev.frontends.six.address",
		     "one port here and all ports in frontend \"www\" exclude"),
		JUST(other_family_on_address, "maglev.frontends.six.address",
		     "its backends are IPv6, those of frontend \"www\" on the same "
		     "address IPv4"),
	};

	EACH(bad, assert_refused);
}

static void other_protocol(struct fixture *f)
{
	f->frontend[F_SIX].address.v = "198.51.100.10";
	f->frontend[F_SIX].port.v = 80;
	f->six[0].backend = "web9";
	f->backend[SIX].healthcheck.set = false;
	f->doc.n_backends = 3;
	f->doc.n_checks = 2;
}

static void frontends_may_share_an_address(void **state)
{
	static const struct row good[] = {
		JUST(other_protocol, NULL, NULL),
	};

	EACH(good, assert_accepted);
}

/* ---- no follow-ups ---- */

static void wrong_backend_address(struct fixture *f)
{
	f->frontend[F_ALL].address.v = "2001:db8::10";
	f->frontend[F_ALL].protocol = (struct doc_text){ true, { .line = 1, .column = 1 }, "tcp" };
	f->frontend[F_ALL].port = (struct doc_int){ true, { .line = 1, .column = 1 }, 53 };
}

static void wrong_type(struct fixture *f)
{
	f->check[WEB].port.set = false;
}

static void wrong_protocol(struct fixture *f)
{
	f->frontend[F_ALL].address.v = "198.51.100.10";
	f->frontend[F_ALL].protocol = (struct doc_text){ true, { .line = 1, .column = 1 }, "tcp" };
	f->frontend[F_ALL].port = (struct doc_int){ true, { .line = 1, .column = 1 }, 80 };
}

static void wrong_dataplane(struct fixture *f)
{
	f->doc.lb = (struct doc_lb){ 0 };
	f->doc.xdp.set = true;
	f->backend[SIX].address.v = "::7";
}

static void short_max_delay(struct fixture *f)
{
	set_duration(f, &f->doc.lb.startup_max_delay, 2 * S);
}

/* One mistake, one error: consequences of an invalid value are not reported again. */
static void mistakes_do_not_breed(void **state)
{
	static const struct row bad[] = {
		SET_TEXT(wrong_backend_address, backend[WEB1].address, "x", WEB1_ADDRESS,
			 "is not an IP address"),
		SET_TEXT(wrong_type, check[WEB].type, "htps", WEB_KEY "type", "is not one of"),
		SET_TEXT(wrong_protocol, frontend[F_WWW].protocol, "tpc", WWW_KEY "protocol",
			 "is not one of"),
		SET_TEXT(wrong_protocol, frontend[F_WWW].address, "198.51.100", WWW_KEY "address",
			 "is not an IP address"),
		SET_TEXT(wrong_dataplane, doc.dataplane, "dpdk", "maglev.dataplane",
			 "is not one of"),
		SET_DURATION(short_max_delay, doc.lb.startup_min_delay, 25 * 3600 * S,
			     LB_KEY "startup-min-delay", "at most 24h0m0s"),
	};

	EACH(bad, assert_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthchecker_rules),
		cmocka_unit_test(check_type_and_port_rules),
		cmocka_unit_test(check_timing_rules),
		cmocka_unit_test(probe_source_rules),
		cmocka_unit_test(response_code_rules),
		cmocka_unit_test(http_params_rules),
		cmocka_unit_test(checks_without_http_take_none_of_its_keys),
		cmocka_unit_test(name_rules),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(backend_address_rules),
		cmocka_unit_test(backend_addresses_that_are_fine),
		cmocka_unit_test(unknown_healthchecks_are_told_with_near_names),
		cmocka_unit_test(frontend_key_rules),
		cmocka_unit_test(pool_rules),
		cmocka_unit_test(members_of_a_frontend_fit_together),
		cmocka_unit_test(what_members_may_share),
		cmocka_unit_test(frontends_do_not_clash),
		cmocka_unit_test(frontends_may_share_an_address),
		cmocka_unit_test(mistakes_do_not_breed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
