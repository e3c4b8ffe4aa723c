/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of speaker.yaml, from the bytes of a file to the configuration or its complaints. */
#include "src/speaker/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define ROUTER "speaker:\n  router: { asn: 64512 }\n"
#define PEER "  peers: { tor: { address: 10.0.0.2, asn: 64513 } }\n"
#define REST                                                                                       \
	"  advertisements: { default: {} }\n"                                                      \
	"  maglevds: { a: { address: '127.0.0.1:9090' } }\n"

static struct str on_bytes(void *user, unsigned file)
{
	assert_int_equal(file, 0);
	return str_of(user);
}

/* Reads a text, which includes nothing; the caller frees the arena. */
static struct config_load read_text(const char *text)
{
	const struct config_sources sources = { .bytes = on_bytes,
						.user = (void *)(uintptr_t)text };
	struct config_load load = { .arena = arena_new(), .sources = &sources };
	struct config_source source = settings_source("speaker.yaml");

	load.errors.arena = load.warnings.arena = load.arena;
	load.result = source.build(str_of(text), &load, NULL);
	load.sources = NULL;
	return load;
}

/* The complaints, each "line:column: key: text". */
static void complaints(const char *text, struct buf *out)
{
	struct config_load load = read_text(text);

	out->n = 0;
	errs_print(&load.errors, "f", out);
	arena_free(load.arena);
}

static void assert_refused(const char *text, const char *complaint)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	complaints(text, &out);
	if (!strstr(buf_cstr(&out), complaint))
		fail_msg("\"%s\" is not in: %s", complaint, buf_cstr(&out));
}

static void the_smallest_file_has_defaults(void **state)
{
	struct config_load load = read_text(
		ROUTER PEER REST "  vips: { www: { address: 192.0.2.1, frontends: [a/www] } }\n");
	const struct settings *s = load.config;
	const struct bgp_vip *v;
	const struct bgp_peer *p;

	assert_int_equal(load.result, CONFIG_OK);
	v = bgp_config_vip(&s->config, "www");
	assert_non_null(v);
	assert_int_equal(v->rule.min_up, 0);
	assert_int_equal(v->rule.min_servers, 1);
	assert_int_equal(v->rule.hold, 60 * NSEC_PER_SEC);
	assert_int_equal(v->rule.drain_time, 30 * NSEC_PER_SEC);
	assert_int_equal(v->rule.fallback, ANNOUNCE_THEN_WITHDRAW);
	assert_int_equal(v->n_sources, 1);
	assert_string_equal(v->sources[0].frontend, "www");
	p = &s->config.peers[0];
	assert_true(p->frr.ipv4 && !p->frr.ipv6 && !p->frr.has_timers && !p->vrf);
	assert_null(bgp_config_vip(&s->config, "w"));
	arena_free(load.arena);
}

static void everything_is_read(void **state)
{
	struct config_load load = read_text(
		"speaker:\n"
		"  router: { asn: 4200000000, router-id: 10.0.0.1 }\n"
		"  bfd-profiles: { fast: { receive-interval: 100ms, transmit-interval: 200ms, "
		"detect-multiplier: 3, echo-mode: true, echo-interval: 50ms, passive-mode: true, "
		"minimum-ttl: 254 } }\n"
		"  peers:\n"
		"    tor1: { address: 10.0.0.2, asn: external, password: s3cret, hold-time: 9s, "
		"connect-time: 5s, ebgp-multihop: true, bfd: fast, graceful-restart: true, "
		"source: 10.0.0.1, port: 1179, vrf: red, local-asn: 65000, families: [ipv4, ipv6] "
		"}\n"
		"    tor2: { interface: eth0, asn: internal, communities: [no-peer, 'large:4:5:6', "
		"'1:2'], local-preference: 300, med: 0 }\n"
		"  advertisements: { default: { communities: [no-export, '64512:100', "
		"'64512:100', 'large:1:2:3'], local-preference: 0, med: 50, "
		"aggregation-length: 24, aggregation-length-v6: 64, peers: [tor2, tor1] } }\n"
		"  maglevds: { a: { address: '[::1]:9090', ca: /ca, certificate: /c, key: /k } }\n"
		"  vips:\n"
		"    www: { address: 192.0.2.17, frontends: [a/x/y], min-up: 2s, min-servers: 2, "
		"when-down: worse, worse: { med: 1000, prepend: 3 }, hold: 5m, drain-time: 0s }\n"
		"    dns: { address: '2001:db8::1' }\n");
	const struct settings *s = load.config;
	const struct frr_peer *p;
	const struct bgp_advertisement *a;
	const struct bgp_vip *v;
	char text[BGP_PREFIX_STRLEN];
	struct bgp_prefix prefix;

	assert_int_equal(load.result, CONFIG_OK);
	p = &s->config.peers[0].frr;
	assert_int_equal(p->as_kind, FRR_AS_EXTERNAL);
	assert_true(p->has_timers && p->hold_s == 9 && p->keepalive_s == 3 && p->connect_s == 5);
	assert_true(p->ebgp_multihop && p->graceful_restart && p->ipv4 && p->ipv6);
	assert_string_equal(p->bfd, "fast");
	assert_string_equal(s->config.peers[0].vrf, "red");
	assert_string_equal(s->config.peers[1].frr.interface, "eth0");
	assert_true(s->config.peers[1].frr.ipv4 && s->config.peers[1].frr.ipv6);
	assert_false(p->attributes.has_med || p->attributes.has_local_preference);
	p = &s->config.peers[1].frr;
	assert_int_equal(p->attributes.n_communities, 2);
	assert_string_equal(p->attributes.communities[1], "no-peer");
	assert_string_equal(p->attributes.large_communities[0], "4:5:6");
	assert_true(p->attributes.has_local_preference && p->attributes.local_preference == 300);
	assert_true(p->attributes.has_med && p->attributes.med == 0);
	a = &s->config.advertisements[0];
	assert_int_equal(a->attributes.n_communities, 2);
	assert_string_equal(a->attributes.large_communities[0], "1:2:3");
	assert_true(a->attributes.has_local_preference && a->attributes.local_preference == 0);
	assert_string_equal(a->peers.items[0], "tor1");
	assert_true(s->config.maglevds[0].tls);
	v = bgp_config_vip(&s->config, "www");
	assert_string_equal(v->sources[0].frontend, "x/y");
	assert_true(v->has_worse_med && v->worse_med == 1000 && v->worse_prepend == 3);
	prefix = bgp_vip_prefix(&s->config, v);
	assert_string_equal(bgp_prefix_format(&prefix, text), "192.0.2.0/24");
	prefix = bgp_vip_prefix(&s->config, bgp_config_vip(&s->config, "dns"));
	assert_string_equal(bgp_prefix_format(&prefix, text), "2001:db8::/64");
	arena_free(load.arena);
}

static void all_mistakes_are_reported_at_once(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	complaints("speaker:\n  router: { asn: 0 }\n"
		   "  peers: { 'a b': { asn: 70000x, hold-time: 2s } }\n"
		   "  vips: { www: { address: 300.0.0.1 } }\n",
		   &out);
	assert_non_null(strstr(buf_cstr(&out), "f:2:18: speaker.router.asn: must be between"));
	assert_non_null(strstr(buf_cstr(&out), "has characters other than letters"));
	assert_non_null(strstr(buf_cstr(&out), "internal or external"));
	assert_non_null(strstr(buf_cstr(&out), "hold-time: must be 0s or at least 3s"));
	assert_non_null(strstr(buf_cstr(&out), "address: is required, or interface"));
	assert_non_null(strstr(buf_cstr(&out), "vips.www.address:"));
	assert_non_null(strstr(buf_cstr(&out), "there is no advertisement \"default\""));
}

static void syntax_is_told_from_rules(void **state)
{
	struct config_load load = read_text("speaker: { router: { asn: x } }\n");

	assert_int_equal(load.result, CONFIG_PARSE_ERROR);
	arena_free(load.arena);
	load = read_text("speaker: { router: { asn: 0 } }\n");
	assert_int_equal(load.result, CONFIG_SEMANTIC_ERROR);
	arena_free(load.arena);
	load = read_text("speaker: { routre: { asn: 1 } }\n");
	assert_int_equal(load.result, CONFIG_PARSE_ERROR);
	arena_free(load.arena);
}

static void names_that_do_not_exist_are_refused(void **state)
{
	assert_refused(ROUTER PEER REST
		       "  vips: { x: { address: 192.0.2.1, frontends: [b/www] } }\n",
		       "there is no maglevd \"b\"; did you mean \"a\"?");
	assert_refused(ROUTER PEER REST "  vips: { x: { address: 192.0.2.1, frontends: [www] } }\n",
		       "separated by '/'");
	assert_refused(ROUTER "  peers: { tor: { address: 10.0.0.2, asn: 1, bfd: fast } }\n" REST,
		       "there is no BFD profile \"fast\"");
	assert_refused(ROUTER PEER "  advertisements: { default: { peers: [tro] } }\n",
		       "there is no peer \"tro\"; did you mean \"tor\"?");
}

static void values_that_frr_would_refuse_are_refused(void **state)
{
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, asn: 1, hold-time: 1500ms } }\n",
		       "must be a whole number of seconds");
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, asn: 1, hold-time: 9s, "
			      "keepalive-time: 10s } }\n",
		       "must not be longer than the hold-time");
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, interface: eth0, asn: 1 } }\n",
		       "must not be set with an address");
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, asn: 1, password: 'a b' } }\n",
		       "password:");
	assert_refused(ROUTER PEER "  advertisements: { default: { communities: ['1:2:3'] } }\n",
		       "must be two numbers");
	assert_refused(ROUTER PEER "  advertisements: { default: { communities: ['1:65536'] } }\n",
		       "must be two numbers");
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, asn: 1, communities: [x] } }\n",
		       "speaker.peers.t.communities: \"x\" must be two numbers");
	assert_refused(ROUTER "  peers: { t: { address: 10.0.0.2, asn: 1, med: 4294967296 } }\n",
		       "speaker.peers.t.med:");
	assert_refused(ROUTER "  maglevds: { a: { address: localhost } }\n", "must be host:port");
	assert_refused(ROUTER "  maglevds: { a: { address: 'h:1', key: /k } }\n",
		       "is required with a key");
	assert_refused(ROUTER "  maglevds: { a: { address: 'h:1', tls: false, ca: /k } }\n",
		       "must not be false");
}

static void a_local_preference_for_an_external_peer_is_doubted(void **state)
{
	static const struct {
		const char *asn;
		unsigned warnings;
	} cases[] = { { "64513", 1 },
		      { "external", 1 },
		      { "64512", 0 },
		      { "internal", 0 },
		      { "65000, local-asn: 65000", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_free) struct buf text = { 0 };
		struct config_load load;

		buf_printf(&text,
			   ROUTER "  peers: { t: { address: 10.0.0.2, local-preference: 1, "
				  "asn: %s } }\n",
			   cases[i].asn);
		load = read_text(buf_cstr(&text));
		assert_int_equal(load.result, CONFIG_OK);
		assert_int_equal(load.warnings.n, cases[i].warnings);
		arena_free(load.arena);
	}
}

static void a_worse_announcement_must_differ(void **state)
{
	assert_refused(ROUTER PEER REST "  vips: { x: { address: 192.0.2.1, when-down: worse } }\n",
		       "needs a med or a prepend");
}

static void two_vips_of_one_prefix_need_one_advertisement(void **state)
{
	static const char wide[] =
		ROUTER PEER "  advertisements: { default: { aggregation-length: 24 }, "
			    "other: { aggregation-length: 24 } }\n";
	_cleanup_(buf_free) struct buf text = { 0 }, out = { 0 };

	buf_printf(&text, "%s  vips: { x: { address: 192.0.2.1 }, y: { address: 192.0.2.2 } }\n",
		   wide);
	complaints(buf_cstr(&text), &out);
	assert_int_equal(out.n, 0);
	text.n = 0;
	buf_printf(&text,
		   "%s  vips: { x: { address: 192.0.2.1 }, "
		   "y: { address: 192.0.2.2, advertisement: other } }\n",
		   wide);
	assert_refused(buf_cstr(&text), "must be that of \"x\", which has the same prefix");
	text.n = 0;
	buf_printf(&text, "%s  vips: { x: { address: 192.0.2.1 }, y: { address: 192.0.2.1 } }\n",
		   wide);
	assert_refused(buf_cstr(&text), "is already the address of \"x\"");
}

static void an_address_belongs_to_one_vip(void **state)
{
	assert_refused(ROUTER PEER
		       "  advertisements: { default: { aggregation-length: 24 } }\n"
		       "  vips: { x: { address: 192.0.2.1 }, y: { address: 192.0.2.2 }, "
		       "z: { address: 192.0.2.2 } }\n",
		       "vips.z.address: is already the address of \"y\"");
}

/* ---- l2 ---- */

/* A file with a key; the caller removes it. */
static void make_key(char path[static 32], const char *text, mode_t mode)
{
	int fd;

	snprintf(path, 32, "/tmp/speaker-key.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

#define KEY "sixteen bytes or more"
#define L2_ONLY                                                                                    \
	"speaker:\n  name: lb1\n"                                                                  \
	"  l2: { lan: { interface: eth0, key-file: %s%s } }\n"                                     \
	"  vips: { www: { address: 192.0.2.1, l2: lan%s } }\n"

/* L2_ONLY with a key, more keys of the group and of the VIP; the caller frees the arena. */
static struct config_load read_l2(const char *key, const char *group, const char *vip)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct config_load load;
	char path[32];

	make_key(path, key, 0600);
	buf_printf(&text, L2_ONLY, path, group, vip);
	load = read_text(buf_cstr(&text));
	unlink(path);
	return load;
}

static void assert_l2_refused(const char *group, const char *vip, const char *complaint)
{
	struct config_load load = read_l2(KEY, group, vip);
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(&load.errors, "f", &out);
	if (!strstr(buf_cstr(&out), complaint))
		fail_msg("\"%s\" is not in: %s", complaint, buf_cstr(&out));
	arena_free(load.arena);
}

static void a_file_without_bgp_needs_no_router(void **state)
{
	struct config_load load = read_l2("\n " KEY " \n", "", "");
	const struct settings *s = load.config;
	const struct bgp_l2 *g;

	assert_int_equal(load.result, CONFIG_OK);
	assert_int_equal(load.warnings.n, 0);
	assert_int_equal(s->config.asn, 0);
	assert_string_equal(s->config.name, "lb1");
	g = &s->config.l2[0];
	assert_string_equal(g->interface, "eth0");
	assert_true(str_eq(g->key, STR(KEY)));
	assert_true(g->number == 0 && g->family == AF_INET && g->port == 9112);
	assert_true(g->rule.priority == 100 && g->rule.preempt && g->rule.losses == 3);
	assert_int_equal(g->rule.heartbeat, 200 * NSEC_PER_MSEC);
	assert_true(s->config.vips[0].advertisement == BGP_NONE && s->config.vips[0].l2 == 0);
	assert_int_equal(s->config.vips[0].l2_priority, 100);
	arena_free(load.arena);
}

static void all_keys_of_l2_are_read(void **state)
{
	struct config_load load = read_l2(KEY,
					  ", group: 7, priority: 200, preempt: false, "
					  "heartbeat: 50ms, losses: 5, family: ipv6, port: 9999",
					  ", l2-priority: 255, when-down: worse");
	const struct settings *s = load.config;
	const struct bgp_l2 *g;

	assert_int_equal(load.result, CONFIG_OK);
	g = &s->config.l2[0];
	assert_true(g->number == 7 && g->family == AF_INET6 && g->port == 9999);
	assert_true(g->rule.priority == 200 && !g->rule.preempt && g->rule.losses == 5);
	assert_int_equal(g->rule.heartbeat, 50 * NSEC_PER_MSEC);
	assert_int_equal(s->config.vips[0].l2_priority, 255);
	assert_int_equal(s->config.vips[0].rule.fallback, ANNOUNCE_THEN_WORSE);
	arena_free(load.arena);
}

static void a_vip_may_be_announced_in_both_ways(void **state)
{
	assert_l2_refused("", ", advertisement: default", "there is no advertisement \"default\"");
	assert_l2_refused("", ", advertisement: default",
			  "f:4:11: speaker.router.asn: is required");
	assert_l2_refused("", " }, x: { address: 192.0.2.2", "speaker.router.asn: is required");
	assert_l2_refused("", " }, x: { address: 192.0.2.1, l2: lan",
			  "vips.x.address: is already the address of \"www\"");
}

static void mistakes_of_l2_are_refused(void **state)
{
	assert_l2_refused(", priority: 0", "", "f:3:");
	assert_l2_refused(", priority: 0", "", "l2.lan.priority: must be between 1 and 255");
	assert_l2_refused(", losses: 1", "", "l2.lan.losses: must be between 2 and 100");
	assert_l2_refused(", heartbeat: 1ms", "", "l2.lan.heartbeat: must be at least 10ms");
	assert_l2_refused(", heartbeat: 10500us", "", "must be a whole number of milliseconds");
	assert_l2_refused(", family: ip", "", "l2.lan.family:");
	assert_l2_refused(", port: 0", "", "l2.lan.port: must be between");
	assert_l2_refused(", group: -1", "", "l2.lan.group: must be between");
	assert_l2_refused("", ", l2-priority: 256", "vips.www.l2-priority: must be between");
	assert_l2_refused(" }, b: { interface: eth0, key-file: /none", "",
			  "l2.lan.group: 0 is already the group of \"b\"");
	assert_l2_refused(" }, b: { interface: eth0, key-file: /none", "",
			  "l2.b.key-file: \"/none\" cannot be read: No such file or directory");
	assert_l2_refused(" }, b: { key-file: /", "", "l2.b.interface: is required");
	assert_l2_refused(" }, b: { interface: a-name-that-is-too-long", "", "is longer than 15");
	assert_l2_refused(" }, b: { interface: eth1", "", "l2.b.key-file: is required");
	assert_refused("speaker: { vips: { x: { address: 192.0.2.1, l2: lna } } }",
		       "there is no group of l2 \"lna\"");
	assert_refused(ROUTER REST "  vips: { x: { address: 192.0.2.1, l2-priority: 1 } }\n",
		       "l2-priority: needs l2");
	assert_refused("speaker: { name: '' }", "speaker.name: must not be empty");
	assert_refused("speaker: { peers: { a: { address: 10.0.0.1, asn: 1 } } }",
		       "f:1:21: speaker.router.asn: is required");
}

static void keys_are_long_and_private(void **state)
{
	struct config_load load = read_l2(" fifteen bytes..\n\n", "", "");
	_cleanup_(buf_free) struct buf text = { 0 };
	char path[32];

	assert_int_equal(load.result, CONFIG_SEMANTIC_ERROR);
	assert_non_null(strstr(load.errors.items[0].text, "must hold at least 16 bytes, not 15"));
	arena_free(load.arena);
	make_key(path, KEY, 0644);
	buf_printf(&text, L2_ONLY, path, "", ", worse: { med: 1 }");
	load = read_text(buf_cstr(&text));
	unlink(path);
	assert_int_equal(load.result, CONFIG_OK);
	assert_int_equal(load.warnings.n, 2);
	assert_non_null(strstr(load.warnings.items[0].text, "can be read by every user"));
	assert_non_null(strstr(load.warnings.items[1].text, "no effect without an advertisement"));
	arena_free(load.arena);
}

static void the_host_name_is_the_default(void **state)
{
	struct config_load load = read_text("speaker: {}");
	const struct settings *s = load.config;
	char host[256] = "";

	assert_int_equal(load.result, CONFIG_OK);
	gethostname(host, sizeof(host) - 1);
	assert_string_equal(s->config.name, host);
	arena_free(load.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_file_has_defaults),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(all_mistakes_are_reported_at_once),
		cmocka_unit_test(syntax_is_told_from_rules),
		cmocka_unit_test(names_that_do_not_exist_are_refused),
		cmocka_unit_test(values_that_frr_would_refuse_are_refused),
		cmocka_unit_test(a_local_preference_for_an_external_peer_is_doubted),
		cmocka_unit_test(a_worse_announcement_must_differ),
		cmocka_unit_test(two_vips_of_one_prefix_need_one_advertisement),
		cmocka_unit_test(an_address_belongs_to_one_vip),
		cmocka_unit_test(a_file_without_bgp_needs_no_router),
		cmocka_unit_test(all_keys_of_l2_are_read),
		cmocka_unit_test(a_vip_may_be_announced_in_both_ways),
		cmocka_unit_test(mistakes_of_l2_are_refused),
		cmocka_unit_test(keys_are_long_and_private),
		cmocka_unit_test(the_host_name_is_the_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
