/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "core/l4/schema.h"
#include "core/l4/validate.h"
#include "lib/yaml/yaml_file.h"
#include "wire/config_yaml.h"

static const char *example_path;

static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	return true;
}

static const struct l4_config *build(struct str text, struct arena *arena)
{
	static const struct l4_rules rules = { .regexp_ok = regexp_ok };
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l4_config *c = arena_new_of(arena, struct l4_config);
	struct l4_doc doc;

	if (config_yaml_parse(text.p, text.n, CONFIG_STRICT, arena, &doc, &errors) < 0 ||
	    l4_config_build(&doc, &rules, arena, c, &errors, &warnings) < 0) {
		_cleanup_(buf_free) struct buf why = { 0 };

		errs_print(&errors, "text", &why);
		fail_msg("%s\n%.*s", buf_cstr(&why), (int)text.n, text.p);
	}
	return c;
}

static void write_all(const struct l4_config *c, enum config_format format, struct buf *out)
{
	for (size_t i = 0; i < config_text_pieces(c); i++)
		config_text_add(c, format, i, out);
}

static void check_pool(const struct l4_pool *a, const struct l4_pool *b)
{
	assert_true(schema_equal(&l4_schema_pool, a, b));
	assert_int_equal(a->n_members, b->n_members);
	for (size_t i = 0; i < a->n_members; i++) {
		assert_int_equal(a->members[i].backend, b->members[i].backend);
		assert_true(schema_equal(&l4_schema_member, &a->members[i], &b->members[i]));
	}
}

static void check_equal(const struct l4_config *a, const struct l4_config *b)
{
	assert_int_equal(a->n_checks, b->n_checks);
	assert_int_equal(a->n_backends, b->n_backends);
	assert_int_equal(a->n_frontends, b->n_frontends);
	assert_true(schema_equal(&l4_schema_maglev, a, b));
	for (size_t i = 0; i < a->n_checks; i++) {
		assert_string_equal(a->checks[i].name, b->checks[i].name);
		assert_true(schema_equal(&l4_schema_check, &a->checks[i], &b->checks[i]));
	}
	for (size_t i = 0; i < a->n_backends; i++) {
		assert_string_equal(a->backends[i].name, b->backends[i].name);
		assert_true(schema_equal(&l4_schema_backend, &a->backends[i], &b->backends[i]));
	}
	for (size_t i = 0; i < a->n_frontends; i++) {
		const struct l4_frontend *f = &a->frontends[i], *g = &b->frontends[i];

		assert_string_equal(f->name, g->name);
		assert_true(schema_equal(&l4_schema_frontend, f, g));
		assert_int_equal(f->n_pools, g->n_pools);
		for (size_t j = 0; j < f->n_pools; j++)
			check_pool(&f->pools[j], &g->pools[j]);
	}
}

/* Both texts of a configuration are read back to an equal one. */
static void check_round_trip(struct str text)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l4_config *c = build(text, arena);

	for (int format = CONFIG_FORMAT_YAML; format <= CONFIG_FORMAT_JSON; format++) {
		_cleanup_(buf_free) struct buf out = { 0 };

		write_all(c, (enum config_format)format, &out);
		check_equal(c, build((struct str){ out.p, out.n }, arena));
	}
}

#define SOURCES "ipv4-src-address: 192.0.2.1, ipv6-src-address: '2001:db8::1'"

/* Every key has a value that is not its default. */
static const char everything[] =
	"maglev:\n"
	"  healthchecker: { transition-history: 7, netns: 'probes', all-down-guard: false }\n"
	"  healthchecks:\n"
	"    web:\n"
	"      type: https\n"
	"      port: 8443\n"
	"      interval: 3s\n"
	"      fast-interval: 250ms\n"
	"      down-interval: 1m30s\n"
	"      timeout: 900ms\n"
	"      rise: 4\n"
	"      fall: 5\n"
	"      keep-alive: true\n"
	"      probe-ipv4-src: 192.0.2.7\n"
	"      probe-ipv6-src: '2001:db8::7'\n"
	"      params:\n"
	"        path: '/health?a=\"b\":#c'\n"
	"        host: www.example.net\n"
	"        response-code: 200-299,404\n"
	"        response-regexp: '^OK: \\d+$'\n"
	"        server-name: other.example.net\n"
	"        insecure-skip-verify: true\n"
	"        ca-file: /etc/ssl/our:ca.pem\n"
	"    ping: { type: icmp }\n"
	"    'no': { type: tcp, port: 25 }\n"
	"    smtp: { type: tcp, port: 25, params: { send: \"EHLO x\\r\\n\", expect: '250 ',\n"
	"      expect-regexp: '^220' } }\n"
	"    ntp: { type: udp, port: 123, params: { send-hex: 1b00, expect: a } }\n"
	"    name: { type: dns, port: 53, params: { query-name: example.net, query-type: AAAA,\n"
	"      expect-rcode: NOERROR, expect-address: '2001:db8::53' } }\n"
	"    gone: { type: dns, port: 53, params: { query-name: x.example.net,\n"
	"      expect-rcode: NXDOMAIN } }\n"
	"    every: { type: tcp, ports: vip }\n"
	"  backends:\n"
	"    web1: { address: 10.0.0.11, healthcheck: web, enabled: false }\n"
	"    '17': { address: '2001:db8::11', healthcheck: 'no' }\n"
	"    'a b': { address: 10.0.0.12, healthcheck: ping }\n"
	"    static: { address: 10.0.0.13 }\n"
	"  frontends:\n"
	"    www:\n"
	"      description: 'für alle: \"public\"'\n"
	"      address: 198.51.100.10\n"
	"      protocol: tcp\n"
	"      port: 80\n"
	"      src-ip-sticky: true\n"
	"      flush-on-down: false\n"
	"      pools:\n"
	"        - { name: primary, slow-start: 20s, backends: { web1: { weight: 0 }, 'a b': { "
	"weight: 7 } } }\n"
	"        - { name: 'null', backends: { static: {} } }\n"
	"    six: { address: '2001:db8::80', pools: [{ name: p, backends: { '17': {} } }] }\n"
	"    empty: { address: 198.51.100.11, protocol: udp, port: 53 }\n"
	"  dataplane: xdp\n"
	"  vpp: { lb: { " SOURCES ", sync-interval: 31s, flow-timeout: 41s,\n"
	"    sticky-buckets-per-core: 2048, new-flows-table-length: 8192, startup-min-delay: 0s,\n"
	"    startup-max-delay: 31s } }\n"
	"  xdp: { interfaces: [eth0, 'eth1.17'], mode: native, transmit: tx, pin: /sys/fs/bpf/x,\n"
	"    table-size: 4099, flow-table-size: 2048 }\n";

static void what_is_written_is_read_back(void **state)
{
	check_round_trip(str_of(everything));
	check_round_trip(STR("maglev: { vpp: { lb: { " SOURCES " } } }\n"));
	check_round_trip(STR("maglev: { dataplane: none }\n"));
}

static void the_example_is_read_back(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf bytes = { 0 };
	struct errs errors = { .arena = arena };

	assert_int_equal(yaml_read_file(example_path, &bytes, &errors), 0);
	check_round_trip((struct str){ bytes.p, bytes.n });
}

/*
 * A key of the schema that everything[] lacks is one that nobody has tested. Keys without a value
 * in the configuration, in older places of the file, are not written.
 */
static void check_keys(const struct schema_section *s, const char *text)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		_cleanup_(buf_free) struct buf key = { 0 };

		if (strcmp(s->fields[i].key, "vpp") == 0)
			continue;
		buf_printf(&key, "%s:", s->fields[i].key);
		if (!strstr(text, buf_cstr(&key)))
			fail_msg("%s is not written", s->fields[i].key);
		if (s->fields[i].section)
			check_keys(s->fields[i].section, text);
	}
}

static void every_key_is_written(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };

	write_all(build(str_of(everything), arena), CONFIG_FORMAT_YAML, &out);
	check_keys(&l4_schema, buf_cstr(&out));
}

#define SMALL                                                                                      \
	"maglev: { dataplane: none, healthchecks: { c: { type: http, port: 80 } },\n"              \
	"  backends: { b: { address: 10.0.0.1, healthcheck: c } },\n"                              \
	"  frontends: { f: { address: 192.0.2.1, protocol: tcp, port: 80,\n"                       \
	"    pools: [{ name: p, backends: { b: {} } }] } } }\n"

static void defaults_are_written(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };

	write_all(build(str_of(SMALL), arena), CONFIG_FORMAT_YAML, &out);
	assert_string_equal(buf_cstr(&out), "maglev:\n"
					    "  healthchecker:\n"
					    "    transition-history: 5\n"
					    "    all-down-guard: true\n"
					    "  dataplane: none\n"
					    "  lb:\n"
					    "    sync-interval: 30s\n"
					    "    flow-timeout: 40s\n"
					    "    sticky-buckets-per-core: 1024\n"
					    "    new-flows-table-length: 16384\n"
					    "    startup-min-delay: 5s\n"
					    "    startup-max-delay: 30s\n"
					    "  healthchecks:\n"
					    "    c:\n"
					    "      type: http\n"
					    "      port: 80\n"
					    "      interval: 2s\n"
					    "      fast-interval: 2s\n"
					    "      down-interval: 2s\n"
					    "      timeout: 1s\n"
					    "      rise: 2\n"
					    "      fall: 3\n"
					    "      keep-alive: false\n"
					    "      params:\n"
					    "        path: /\n"
					    "        response-code: 200-399\n"
					    "  backends:\n"
					    "    b:\n"
					    "      address: 10.0.0.1\n"
					    "      healthcheck: c\n"
					    "      enabled: true\n"
					    "  frontends:\n"
					    "    f:\n"
					    "      address: 192.0.2.1\n"
					    "      protocol: tcp\n"
					    "      port: 80\n"
					    "      src-ip-sticky: false\n"
					    "      flush-on-down: true\n"
					    "      pools:\n"
					    "        - name: p\n"
					    "          slow-start: 0s\n"
					    "          backends:\n"
					    "            b: { weight: 100 }\n");
}

static void json_has_the_same_structure(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };

	write_all(build(STR("maglev: { dataplane: none, frontends: { f: { address: 192.0.2.1,\n"
			    "  pools: [{ name: p, backends: { b: {} } }] } },\n"
			    "  backends: { b: { address: 10.0.0.1 } } }\n"),
			arena),
		  CONFIG_FORMAT_JSON, &out);
	assert_non_null(strstr(buf_cstr(&out), "\n    \"frontends\": {\n"
					       "      \"f\": {\n"
					       "        \"address\": \"192.0.2.1\",\n"
					       "        \"src-ip-sticky\": false,\n"
					       "        \"flush-on-down\": true,\n"
					       "        \"pools\": [\n"
					       "          {\n"
					       "            \"name\": \"p\",\n"
					       "            \"slow-start\": \"0s\",\n"
					       "            \"backends\": {\n"
					       "              \"b\": { \"weight\": 100 }\n"
					       "            }\n"
					       "          }\n"
					       "        ]\n"
					       "      }\n"
					       "    }\n"
					       "  }\n"
					       "}\n"));
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(the_example_is_read_back),
		cmocka_unit_test(every_key_is_written),
		cmocka_unit_test(defaults_are_written),
		cmocka_unit_test(json_has_the_same_structure),
	};

	assert_true(argc > 1);
	example_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
