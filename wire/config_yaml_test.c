/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "lib/yaml/yaml_file.h"
#include "wire/config_yaml.h"

static const char *example_path;

struct parsed {
	struct arena *arena;
	struct errs errors;
	struct l4_doc doc;
	int r;
};

static struct parsed parse_bytes(const char *bytes, size_t n, enum config_mode mode)
{
	struct parsed p = { .arena = arena_new() };

	p.errors.arena = p.arena;
	p.r = config_yaml_parse(bytes, n, mode, p.arena, &p.doc, &p.errors);
	return p;
}

static struct parsed parse(const char *text)
{
	return parse_bytes(text, strlen(text), CONFIG_STRICT);
}

static void assert_good(const struct parsed *p)
{
	for (size_t i = 0; i < p->errors.n; i++)
		print_message("%u:%u: %s: %s\n", p->errors.items[i].at.line,
			      p->errors.items[i].at.column, p->errors.items[i].key,
			      p->errors.items[i].text);
	assert_int_equal(p->errors.n, 0);
	assert_int_equal(p->r, 0);
}

static struct parsed parse_good(const char *text)
{
	struct parsed p = parse(text);

	assert_good(&p);
	return p;
}

/* Compares all complaints, as the operator would read them. */
static void assert_complaints(const char *text, const char *want)
{
	static const struct l4_doc untouched;
	struct parsed p = parse(text);
	struct buf out = { 0 };

	errs_print(&p.errors, "f", &out);
	assert_string_equal(buf_cstr(&out), want);
	assert_int_equal(p.r, -EINVAL);
	assert_memory_equal(&p.doc, &untouched, sizeof(untouched));
	buf_free(&out);
	arena_free(p.arena);
}

static void assert_text(const struct doc_text *t, const char *want, unsigned line, unsigned column)
{
	assert_true(t->set);
	assert_string_equal(t->v, want);
	assert_int_equal(t->at.line, line);
	assert_int_equal(t->at.column, column);
}

static const char *const everything =
	"maglev:\n"
	"  healthchecker: { transition-history: 7, netns: probes, all-down-guard: false }\n"
	"  healthchecks:\n"
	"    web:\n"
	"      type: https\n"
	"      port: 443\n"
	"      interval: 2s\n"
	"      fast-interval: 500ms\n"
	"      down-interval: 1m30s\n"
	"      timeout: 1.5s\n"
	"      rise: 2\n"
	"      fall: 3\n"
	"      keep-alive: true\n"
	"      probe-ipv4-src: 192.0.2.1\n"
	"      probe-ipv6-src: 2001:db8::1\n"
	"      params:\n"
	"        path: /healthz\n"
	"        host: www.example.net\n"
	"        response-code: 200-299\n"
	"        response-regexp: \"^OK\\n\"\n"
	"        server-name: sni.example.net\n"
	"        insecure-skip-verify: true\n"
	"  backends:\n"
	"    web1: { address: 10.0.0.11, healthcheck: web, enabled: true }\n"
	"    web9: { address: 10.0.0.19 }\n"
	"  frontends:\n"
	"    www:\n"
	"      description: public web\n"
	"      address: 198.51.100.10\n"
	"      protocol: tcp\n"
	"      port: 80\n"
	"      src-ip-sticky: true\n"
	"      flush-on-down: false\n"
	"      pools:\n"
	"        - { name: primary,  backends: { web1: { weight: 90 } } }\n"
	"        - { name: fallback, backends: { web9: {}, web1: } }\n"
	"  vpp:\n"
	"    lb: { ipv4-src-address: 192.0.2.1, ipv6-src-address: \"2001:db8::1\",\n"
	"          sync-interval: 30s, flow-timeout: 40s, sticky-buckets-per-core: 1024,\n"
	"          new-flows-table-length: 16384, startup-min-delay: 0, startup-max-delay: 30s }\n"
	"  dataplane: xdp\n"
	"  xdp: { interfaces: [eth0, eth1], mode: auto, pin: /sys/fs/bpf/maglev,\n"
	"         table-size: 65537, flow-table-size: 1000000, transmit: tx }\n";

static void every_key_of_a_check_is_read_to_its_place(void **state)
{
	struct parsed p = parse_good(everything);
	const struct doc_check *c = p.doc.checks;

	assert_int_equal(p.doc.n_checks, 1);
	assert_string_equal(c->name, "web");
	assert_int_equal(c->at.line, 4);
	assert_int_equal(c->at.column, 5);
	assert_text(&c->type, "https", 5, 13);
	assert_true(c->port.set && c->port.v == 443 && c->port.at.line == 6);
	assert_true(c->interval.set && c->interval.v == 2 * NSEC_PER_SEC);
	assert_true(c->fast_interval.v == 500 * NSEC_PER_MSEC && c->fast_interval.at.line == 8);
	assert_true(c->down_interval.v == 90 * NSEC_PER_SEC);
	assert_true(c->timeout.v == 1500 * NSEC_PER_MSEC);
	assert_true(c->rise.v == 2 && c->fall.v == 3);
	assert_true(c->keep_alive.set && c->keep_alive.v);
	assert_text(&c->probe_ipv4_src, "192.0.2.1", 14, 23);
	assert_text(&c->probe_ipv6_src, "2001:db8::1", 15, 23);
	assert_true(c->params.set);
	assert_int_equal(c->params.at.line, 17);
	assert_text(&c->params.path, "/healthz", 17, 15);
	assert_text(&c->params.host, "www.example.net", 18, 15);
	assert_text(&c->params.response_code, "200-299", 19, 24);
	assert_text(&c->params.response_regexp, "^OK\n", 20, 26);
	assert_text(&c->params.server_name, "sni.example.net", 21, 22);
	assert_true(c->params.insecure_skip_verify.set && c->params.insecure_skip_verify.v);
	arena_free(p.arena);
}

static void every_key_of_backends_and_frontends_is_read_to_its_place(void **state)
{
	struct parsed p = parse_good(everything);
	const struct doc_frontend *f = p.doc.frontends;

	assert_int_equal(p.doc.n_backends, 2);
	assert_string_equal(p.doc.backends[0].name, "web1");
	assert_text(&p.doc.backends[0].address, "10.0.0.11", 24, 22);
	assert_text(&p.doc.backends[0].healthcheck, "web", 24, 46);
	assert_true(p.doc.backends[0].enabled.set && p.doc.backends[0].enabled.v);
	assert_false(p.doc.backends[1].healthcheck.set);
	assert_false(p.doc.backends[1].enabled.set);

	assert_int_equal(p.doc.n_frontends, 1);
	assert_string_equal(f->name, "www");
	assert_text(&f->description, "public web", 28, 20);
	assert_text(&f->address, "198.51.100.10", 29, 16);
	assert_text(&f->protocol, "tcp", 30, 17);
	assert_int_equal(f->port.v, 80);
	assert_true(f->src_ip_sticky.v);
	assert_true(f->flush_on_down.set && !f->flush_on_down.v);
	assert_int_equal(f->n_pools, 2);
	assert_text(&f->pools[0].name, "primary", 35, 19);
	assert_int_equal(f->pools[0].at.line, 35);
	assert_int_equal(f->pools[0].at.column, 11);
	assert_int_equal(f->pools[0].n_members, 1);
	assert_int_equal(f->pools[0].members[0].weight.v, 90);
	assert_int_equal(f->pools[1].n_members, 2);
	assert_string_equal(f->pools[1].members[0].backend, "web9");
	assert_false(f->pools[1].members[0].weight.set);
	assert_string_equal(f->pools[1].members[1].backend, "web1");
	assert_false(f->pools[1].members[1].weight.set);
	arena_free(p.arena);
}

static void every_key_of_the_data_planes_is_read_to_its_place(void **state)
{
	struct parsed p = parse_good(everything);
	const struct doc_lb *lb = &p.doc.lb;
	const struct doc_xdp *xdp = &p.doc.xdp;

	assert_int_equal(p.doc.transition_history.v, 7);
	assert_text(&p.doc.netns, "probes", 2, 50);
	assert_true(p.doc.all_down_guard.set && !p.doc.all_down_guard.v);
	assert_true(lb->set);
	assert_int_equal(lb->at.line, 38);
	assert_text(&lb->ipv4_src_address, "192.0.2.1", 38, 29);
	assert_text(&lb->ipv6_src_address, "2001:db8::1", 38, 58);
	assert_true(lb->sync_interval.v == 30 * NSEC_PER_SEC);
	assert_true(lb->flow_timeout.v == 40 * NSEC_PER_SEC);
	assert_true(lb->startup_min_delay.set && lb->startup_min_delay.v == 0);
	assert_true(lb->startup_max_delay.v == 30 * NSEC_PER_SEC);
	assert_int_equal(lb->sticky_buckets_per_core.v, 1024);
	assert_int_equal(lb->new_flows_table_length.v, 16384);
	assert_text(&p.doc.dataplane, "xdp", 41, 14);
	assert_true(xdp->set);
	assert_int_equal(xdp->interfaces.n, 2);
	assert_text(&xdp->interfaces.items[1], "eth1", 42, 29);
	assert_text(&xdp->mode, "auto", 42, 42);
	assert_text(&xdp->pin, "/sys/fs/bpf/maglev", 42, 53);
	assert_text(&xdp->transmit, "tx", 43, 65);
	assert_int_equal(xdp->table_size.v, 65537);
	assert_int_equal(xdp->flow_table_size.v, 1000000);
	arena_free(p.arena);
}

static void sections_without_a_value_are_empty(void **state)
{
	struct parsed p =
		parse_good("maglev:\n"
			   "  healthchecker:\n"
			   "  healthchecks: ~\n"
			   "  backends:\n"
			   "  frontends: {a: , b: {pools: }, c: {pools: [{backends: }]}}\n"
			   "  vpp:\n"
			   "  xdp:\n");

	assert_int_equal(p.doc.n_backends, 0);
	assert_int_equal(p.doc.n_frontends, 3);
	assert_string_equal(p.doc.frontends[0].name, "a");
	assert_int_equal(p.doc.frontends[1].n_pools, 0);
	assert_int_equal(p.doc.frontends[2].n_pools, 1);
	assert_int_equal(p.doc.frontends[2].pools[0].n_members, 0);
	assert_false(p.doc.lb.set);
	assert_true(p.doc.xdp.set);
	arena_free(p.arena);
	arena_free(parse_good("maglev:").arena);
}

static void names_that_look_like_numbers_are_text(void **state)
{
	struct parsed p =
		parse_good("maglev:\n"
			   "  healthchecks: {1: {params: {response-code: 200}}}\n"
			   "  backends: {10.1: {healthcheck: 1}, true: {}, ~: {}}\n"
			   "  frontends: {0x1: {description: 2024, pools: [{name: 1}]}}\n");

	assert_string_equal(p.doc.checks[0].name, "1");
	assert_text(&p.doc.checks[0].params.response_code, "200", 2, 46);
	assert_string_equal(p.doc.backends[0].name, "10.1");
	assert_text(&p.doc.backends[0].healthcheck, "1", 3, 34);
	assert_string_equal(p.doc.backends[1].name, "true");
	assert_string_equal(p.doc.backends[2].name, "~");
	assert_string_equal(p.doc.frontends[0].name, "0x1");
	assert_text(&p.doc.frontends[0].description, "2024", 4, 34);
	assert_text(&p.doc.frontends[0].pools[0].name, "1", 4, 55);
	arena_free(p.arena);
}

static void anchors_and_merge_keys_save_typing(void **state)
{
	struct parsed p = parse_good("maglev:\n"
				     "  healthchecks:\n"
				     "    a: &a {type: http, port: 80, interval: 2s}\n"
				     "    b: {<<: *a, port: 81}\n"
				     "  frontends:\n"
				     "    x: {pools: &pools [{name: p}]}\n"
				     "    y: {pools: *pools}\n");

	assert_text(&p.doc.checks[1].type, "http", 3, 18);
	assert_int_equal(p.doc.checks[1].port.v, 81);
	assert_text(&p.doc.frontends[1].pools[0].name, "p", 6, 31);
	arena_free(p.arena);
}

static void the_single_key_maglev_is_required(void **state)
{
	assert_complaints("[]", "f:1:1: the document must be a mapping with the key 'maglev', "
				"not a list\n");
	assert_complaints("{}", "f:1:1: the key 'maglev' is missing\n");
	assert_complaints("", "f:1:1: the document is empty\n");
	assert_complaints("maglev: []\n", "f:1:9: maglev: must be a mapping, not a list\n");
	assert_complaints("maglev: {}\nother: 1\n", "f:2:1: other: unknown key\n");
	assert_complaints("meglev: {}\n", "f:1:1: the key 'maglev' is missing\n"
					  "f:1:1: meglev: unknown key; did you mean 'maglev'?\n");
}

static void unknown_keys_are_told_with_the_nearest_known_one(void **state)
{
	assert_complaints(
		"maglev:\n"
		"  healthchecks:\n"
		"    web: {fast_interval: 1s, fastinterval: 1s, colour: red, prot: 80}\n"
		"  frontends:\n"
		"    www:\n"
		"      pools:\n"
		"        - backends: {web1: {weigth: 1}}\n"
		"          nmae: x\n",
		"f:3:11: maglev.healthchecks.web.fast_interval: unknown key; "
		"did you mean 'fast-interval'?\n"
		"f:3:30: maglev.healthchecks.web.fastinterval: unknown key; "
		"did you mean 'fast-interval'?\n"
		"f:3:48: maglev.healthchecks.web.colour: unknown key\n"
		"f:3:61: maglev.healthchecks.web.prot: unknown key; did you mean 'port'?\n"
		"f:7:29: maglev.frontends.www.pools[0].backends.web1.weigth: unknown key; "
		"did you mean 'weight'?\n"
		"f:8:11: maglev.frontends.www.pools[0].nmae: unknown key; "
		"did you mean 'name'?\n");
}

static void duplicate_keys_are_told_with_both_places(void **state)
{
	assert_complaints("maglev:\n  backends:\n    a: {}\n    a: {}\n",
			  "f:4:5: maglev.backends.a: duplicate key, "
			  "first at line 3, column 5\n");
}

static void durations_carry_a_unit(void **state)
{
	assert_complaints(
		"maglev:\n"
		"  healthchecks:\n"
		"    w:\n"
		"      interval: 2\n"
		"      fast-interval: \"1.5\"\n"
		"      down-interval: 5 sec\n"
		"      timeout: [1s]\n"
		"  vpp: {lb: {sync-interval: 9999999h, flow-timeout: true,\n"
		"    startup-min-delay: , startup-max-delay: -}}\n",
		"f:4:17: maglev.healthchecks.w.interval: durations carry a unit: 2s, 500ms\n"
		"f:5:22: maglev.healthchecks.w.fast-interval: "
		"durations carry a unit: 2s, 500ms\n"
		"f:6:22: maglev.healthchecks.w.down-interval: '5 sec' is not a duration; "
		"write it as 2s, 500ms or 1m30s\n"
		"f:7:16: maglev.healthchecks.w.timeout: must be a duration such as 2s or "
		"500ms, not a list\n"
		"f:8:29: maglev.vpp.lb.sync-interval: is too long a duration\n"
		"f:8:53: maglev.vpp.lb.flow-timeout: must be a duration such as 2s or "
		"500ms, not true or false\n"
		"f:9:24: maglev.vpp.lb.startup-min-delay: has no value; "
		"write a duration such as 2s, or leave the key out\n"
		"f:9:45: maglev.vpp.lb.startup-max-delay: durations carry a unit: "
		"2s, 500ms\n");
}

static void whole_numbers_are_decimal_and_fit(void **state)
{
	struct parsed p = parse_good("maglev: {healthchecks: {w: {port: -9223372036854775808, "
				     "rise: +5, fall: 0}}}");

	assert_true(p.doc.checks[0].port.v == INT64_MIN);
	assert_int_equal(p.doc.checks[0].rise.v, 5);
	assert_true(p.doc.checks[0].fall.set);
	arena_free(p.arena);
	assert_complaints("maglev:\n"
			  "  xdp:\n"
			  "    table-size: 9223372036854775808\n"
			  "    flow-table-size: 1e6\n"
			  "  healthchecks:\n"
			  "    a: {port: \"80\", rise: 0x2, fall: 010}\n"
			  "    b: {port: http, rise: 2.0, fall: }\n",
			  "f:3:17: maglev.xdp.table-size: is too large a number\n"
			  "f:4:22: maglev.xdp.flow-table-size: must be a whole number, "
			  "not a number with a fraction\n"
			  "f:6:15: maglev.healthchecks.a.port: must be a whole number, "
			  "not quoted text\n"
			  "f:6:27: maglev.healthchecks.a.rise: must be a decimal number\n"
			  "f:6:38: maglev.healthchecks.a.fall: must be written without leading "
			  "zeros, which some would read as octal\n"
			  "f:7:15: maglev.healthchecks.b.port: must be a whole number, not text\n"
			  "f:7:27: maglev.healthchecks.b.rise: must be a whole number, "
			  "not a number with a fraction\n"
			  "f:7:38: maglev.healthchecks.b.fall: has no value; "
			  "write a whole number, or leave the key out\n");
}

static void booleans_are_true_or_false(void **state)
{
	struct parsed p =
		parse_good("maglev: {backends: {a: {enabled: True}, b: {enabled: FALSE}}}");

	assert_true(p.doc.backends[0].enabled.v);
	assert_true(p.doc.backends[1].enabled.set && !p.doc.backends[1].enabled.v);
	arena_free(p.arena);
	assert_complaints("maglev:\n"
			  "  frontends:\n"
			  "    w: {src-ip-sticky: yes, flush-on-down: \"true\"}\n"
			  "  backends: {b: {enabled: 1}}\n",
			  "f:3:24: maglev.frontends.w.src-ip-sticky: must be true or false, "
			  "not 'yes'\n"
			  "f:3:44: maglev.frontends.w.flush-on-down: must be true or false, "
			  "not quoted text\n"
			  "f:4:27: maglev.backends.b.enabled: must be true or false, "
			  "not a number\n");
}

static void text_is_text_and_sections_are_mappings(void **state)
{
	assert_complaints("maglev:\n"
			  "  dataplane: 5\n"
			  "  xdp: {interfaces: eth0, mode: {}}\n"
			  "  backends:\n"
			  "    a: {address: 10, healthcheck: true}\n"
			  "    b: 10.0.0.1\n"
			  "    c: {address: }\n"
			  "  frontends: {w: {pools: {name: p}}, v: {pools: [p]}}\n",
			  "f:2:14: maglev.dataplane: must be text, not a number; "
			  "if it is meant so, put it in quotes\n"
			  "f:3:21: maglev.xdp.interfaces: must be a list, not text\n"
			  "f:3:33: maglev.xdp.mode: must be text, not a mapping\n"
			  "f:5:18: maglev.backends.a.address: must be text, not a number; "
			  "if it is meant so, put it in quotes\n"
			  "f:5:35: maglev.backends.a.healthcheck: must be text, "
			  "not true or false; if it is meant so, put it in quotes\n"
			  "f:6:8: maglev.backends.b: must be a mapping, not text\n"
			  "f:7:18: maglev.backends.c.address: has no value; "
			  "write text, or leave the key out\n"
			  "f:8:26: maglev.frontends.w.pools: must be a list, not a mapping\n"
			  "f:8:50: maglev.frontends.v.pools[0]: must be a mapping, not text\n");
}

static void names_are_not_empty_and_printable(void **state)
{
	assert_complaints("maglev:\n  backends:\n    \"\": {}\n    \"a\\nb\": {}\n"
			  "    \"a\\u202Eb\": {}\n",
			  "f:3:5: maglev.backends.: a name must not be empty\n"
			  "f:4:5: maglev.backends.a\\x0ab: a name must be printable\n"
			  "f:5:5: maglev.backends.a\\u202eb: a name must be printable\n");
}

static void broken_yaml_is_told_with_its_place(void **state)
{
	assert_complaints("maglev:\n  backends: {\n",
			  "f:3:1: did not find expected node content while parsing a flow node "
			  "that began at line 3\n");
}

static void a_thousand_mistakes_are_counted_and_a_hundred_told(void **state)
{
	struct buf text = { 0 };
	struct parsed p;

	buf_adds(&text, "maglev:\n  backends:\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "    b%d: {adress: x}\n", i);
	p = parse(buf_cstr(&text));
	assert_int_equal(p.errors.n, ERRS_MAX);
	assert_int_equal(p.errors.dropped, 1000 - ERRS_MAX);
	buf_free(&text);
	arena_free(p.arena);
}

static void a_lenient_reader_takes_the_frontends_and_what_else_it_can(void **state)
{
	static const char text[] = "maglev:\n"
				   "  version: 12\n"
				   "  healthchecks: nonsense\n"
				   "  backends: {a: {address: 5}, b: {address: 10.0.0.1}, c: x}\n"
				   "  dataplane: []\n"
				   "  xdp: 5\n"
				   "  frontends:\n"
				   "    w:\n"
				   "      address: 192.0.2.1\n"
				   "      protocol: tcp\n"
				   "      port: 80\n"
				   "      colour: red\n"
				   "      src-ip-sticky: 7\n"
				   "      pools: 3\n";
	struct parsed p = parse_bytes(text, strlen(text), CONFIG_LENIENT);

	assert_good(&p);
	assert_int_equal(p.doc.n_frontends, 1);
	assert_text(&p.doc.frontends[0].address, "192.0.2.1", 9, 16);
	assert_int_equal(p.doc.frontends[0].port.v, 80);
	assert_false(p.doc.frontends[0].src_ip_sticky.set);
	assert_int_equal(p.doc.n_backends, 3);
	assert_false(p.doc.backends[0].address.set);
	assert_true(p.doc.backends[1].address.set);
	assert_false(p.doc.dataplane.set);
	assert_false(p.doc.xdp.set);
	arena_free(p.arena);
}

static void a_lenient_reader_refuses_frontends_that_it_cannot_read(void **state)
{
	static const char *const texts[] = {
		"maglev: {frontends: []}",
		"maglev: {frontends: {w: x}}",
		"maglev: {frontends: {w: {address: 5}}}",
		"maglev: {frontends: {w: {port: http}}}",
		"maglev: 5",
		"other: {}",
		"maglev: {a: 1, a: 2}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct parsed p = parse_bytes(texts[i], strlen(texts[i]), CONFIG_LENIENT);

		assert_int_equal(p.r, -EINVAL);
		assert_int_equal(p.errors.n, 1);
		arena_free(p.arena);
	}
}

static void the_shipped_example_parses_strictly(void **state)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct buf bytes = { 0 };
	struct parsed p;

	assert_int_equal(yaml_read_file(example_path, &bytes, &errors), 0);
	p = parse_bytes(bytes.p, bytes.n, CONFIG_STRICT);
	assert_good(&p);
	assert_int_equal(p.doc.n_checks, 4);
	assert_int_equal(p.doc.n_backends, 8);
	assert_int_equal(p.doc.n_frontends, 3);
	buf_free(&bytes);
	arena_free(p.arena);
	arena_free(arena);
}

static struct buf many_backends(int n)
{
	struct buf b = { 0 };

	buf_adds(&b, "maglev:\n  healthchecks: {web: {type: http, port: 80}}\n  backends:\n");
	for (int i = 0; i < n; i++)
		buf_printf(&b,
			   "    server-%05d:\n      address: 10.%d.%d.%d\n"
			   "      healthcheck: web\n      enabled: true\n",
			   i, i >> 16, i >> 8 & 255, i & 255);
	buf_adds(&b, "  frontends:\n    www:\n      address: 192.0.2.1\n      pools:\n"
		     "        - name: all\n          backends:\n");
	for (int i = 0; i < n; i++)
		buf_printf(&b, "            server-%05d: {weight: 100}\n", i);
	return b;
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* A release build needs about 40 ms of CPU; the bound allows for sanitizers on a slow machine. */
static void ten_thousand_backends_cost_little_time_and_memory(void **state)
{
	struct buf text = many_backends(10000);
	int64_t start = cpu_ns();
	struct parsed p = parse_bytes(text.p, text.n, CONFIG_STRICT);
	int64_t spent = cpu_ns() - start;

	print_message("# %zu bytes: %lld us, %zu KiB\n", text.n, (long long)spent / 1000,
		      arena_used(p.arena) / 1024);
	assert_good(&p);
	assert_int_equal(p.doc.n_backends, 10000);
	assert_int_equal(p.doc.frontends[0].pools[0].n_members, 10000);
	assert_true(arena_used(p.arena) < 40 * text.n);
	assert_true(spent < 3 * NSEC_PER_SEC);
	arena_free(p.arena);
	buf_free(&text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_of_a_check_is_read_to_its_place),
		cmocka_unit_test(every_key_of_backends_and_frontends_is_read_to_its_place),
		cmocka_unit_test(every_key_of_the_data_planes_is_read_to_its_place),
		cmocka_unit_test(sections_without_a_value_are_empty),
		cmocka_unit_test(names_that_look_like_numbers_are_text),
		cmocka_unit_test(anchors_and_merge_keys_save_typing),
		cmocka_unit_test(the_single_key_maglev_is_required),
		cmocka_unit_test(unknown_keys_are_told_with_the_nearest_known_one),
		cmocka_unit_test(duplicate_keys_are_told_with_both_places),
		cmocka_unit_test(durations_carry_a_unit),
		cmocka_unit_test(whole_numbers_are_decimal_and_fit),
		cmocka_unit_test(booleans_are_true_or_false),
		cmocka_unit_test(text_is_text_and_sections_are_mappings),
		cmocka_unit_test(names_are_not_empty_and_printable),
		cmocka_unit_test(broken_yaml_is_told_with_its_place),
		cmocka_unit_test(a_thousand_mistakes_are_counted_and_a_hundred_told),
		cmocka_unit_test(a_lenient_reader_takes_the_frontends_and_what_else_it_can),
		cmocka_unit_test(a_lenient_reader_refuses_frontends_that_it_cannot_read),
		cmocka_unit_test(the_shipped_example_parses_strictly),
		cmocka_unit_test(ten_thousand_backends_cost_little_time_and_memory),
	};

	assert(argc == 2);
	example_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
