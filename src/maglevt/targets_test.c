/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "wire/config_yaml.h"

static struct targets t;

static int start(void **state)
{
	t = (struct targets){ .arena = arena_new() };
	return 0;
}

static int stop(void **state)
{
	targets_free(&t);
	arena_free(t.arena);
	return 0;
}

static void add(const char *yaml, const char *scheme)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct l4_doc doc;

	assert_int_equal(
		config_yaml_parse(yaml, strlen(yaml), CONFIG_LENIENT, arena, &doc, &errors), 0);
	targets_add(&t, &doc, scheme);
}

static void check(const char *expected)
{
	_cleanup_(buf_free) struct buf got = { 0 };

	for (size_t i = 0; i < t.n; i++)
		buf_printf(&got, "%s%s", i ? ", " : "", t.items[i].text);
	assert_string_equal(buf_cstr(&got), expected);
}

#define FRONTEND(name, address, port)                                                              \
	"    " name ": { address: '" address "', protocol: tcp, port: " #port " }\n"

/* FR-7.4 */
static void the_port_says_how_to_ask(void **state)
{
	add("maglev:\n  frontends:\n" FRONTEND("a", "192.0.2.1", 80)
		    FRONTEND("b", "192.0.2.1", 8080) FRONTEND("c", "2001:db8::1", 443)
			    FRONTEND("d", "192.0.2.1", 8443) FRONTEND("e", "192.0.2.1", 25),
	    NULL);
	check("a http://192.0.2.1:80, b http://192.0.2.1:8080, c https://[2001:db8::1]:443, "
	      "d https://192.0.2.1:8443, e tcp://192.0.2.1:25");
	assert_string_equal(t.items[2].label, "https [2001:db8::1]:443");
}

static void a_scheme_can_be_asked_for(void **state)
{
	add("maglev:\n  frontends:\n" FRONTEND("a", "192.0.2.1", 9000), "https");
	check("a https://192.0.2.1:9000");
}

static void the_same_vip_in_two_files_is_one(void **state)
{
	add("maglev:\n  frontends:\n" FRONTEND("a", "192.0.2.1", 80) FRONTEND("b", "192.0.2.2", 80),
	    NULL);
	add("maglev:\n  frontends:\n" FRONTEND("x", "192.0.2.1", 80)
		    FRONTEND("y", "192.0.2.1", 443),
	    NULL);
	check("a http://192.0.2.1:80, b http://192.0.2.2:80, y https://192.0.2.1:443");
}

static void what_cannot_be_asked_over_tcp_is_left_out(void **state)
{
	add("maglev:\n  frontends:\n"
	    "    udp: { address: 192.0.2.1, protocol: udp, port: 53 }\n"
	    "    all: { address: 192.0.2.2 }\n"
	    "    bad: { address: nonsense, protocol: tcp, port: 80 }\n"
	    "    big: { address: 192.0.2.2, protocol: tcp, port: 70000 }\n" FRONTEND(
		    "good", "192.0.2.3", 80),
	    NULL);
	check("good http://192.0.2.3:80");
	assert_int_equal(t.skipped, 4);
}

/* Errors that do not concern frontends are ignored. */
static void mistakes_elsewhere_in_the_file_do_not_matter(void **state)
{
	add("maglev:\n  nonsense: 1\n  backends: { web1: { address: x, what: [] } }\n"
	    "  frontends:\n" FRONTEND("a", "192.0.2.1", 80),
	    NULL);
	check("a http://192.0.2.1:80");
}

#define CHECKED(check)                                                                             \
	"maglev:\n  healthchecks:\n    other: { type: http, port: 9 }\n    c: { " check " }\n"     \
	"  backends: { b: { healthcheck: other }, a: { healthcheck: c }, s: {} }\n"                \
	"  frontends:\n    f:\n      address: 192.0.2.1\n      protocol: tcp\n      port: 8000\n"  \
	"      pools: [{ name: p, backends: { s: {}, b: {}, missing: {} } },\n"                    \
	"              { name: q, backends: { a: {} } }]\n"

/* That of the first backend that has a check of the port of the VIP. */
static void a_check_says_what_to_ask(void **state)
{
	const struct target *f;

	add(CHECKED("type: https, port: 8000, params: { path: /up, host: www.example.net,\n"
		    "server-name: sni.example.net, response-code: '200-204, 401' }"),
	    NULL);
	check("f https://192.0.2.1:8000");
	f = &t.items[0];
	assert_string_equal(f->path, "/up");
	assert_string_equal(f->host, "www.example.net");
	assert_string_equal(f->server_name, "sni.example.net");
	assert_int_equal(f->n_codes, 2);
	assert_int_equal(f->codes[0].first, 200);
	assert_int_equal(f->codes[0].last, 204);
	assert_int_equal(f->codes[1].first, 401);
}

static void what_a_check_does_not_say_is_not_known(void **state)
{
	add(CHECKED("type: http, port: 8000"), NULL);
	check("f http://192.0.2.1:8000");
	assert_string_equal(t.items[0].path, "/");
	assert_null(t.items[0].host);
	assert_null(t.items[0].server_name);
	assert_null(t.items[0].codes);
}

static void a_scheme_that_is_asked_for_goes_before_the_check(void **state)
{
	add(CHECKED("type: http, port: 8000, params: { path: /up }"), "https");
	check("f https://192.0.2.1:8000");
	assert_string_equal(t.items[0].path, "/up");
}

static void a_check_of_another_port_or_kind_says_nothing(void **state)
{
	add(CHECKED("type: http, port: 8001, params: { path: /up }"), NULL);
	check("f tcp://192.0.2.1:8000");
	assert_null(t.items[0].path);
	targets_free(&t);
	t = (struct targets){ .arena = t.arena };
	add(CHECKED("type: tcp, port: 8000"), NULL);
	check("f tcp://192.0.2.1:8000");
}

static void codes_with_a_mistake_are_none(void **state)
{
	add(CHECKED("type: http, port: 8000, params: { path: up, response-code: '200,x' }"), NULL);
	assert_null(t.items[0].codes);
	assert_int_equal(t.items[0].n_codes, 0);
	assert_string_equal(t.items[0].path, "/");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_port_says_how_to_ask),
		CASE(a_scheme_can_be_asked_for),
		CASE(the_same_vip_in_two_files_is_one),
		CASE(what_cannot_be_asked_over_tcp_is_left_out),
		CASE(mistakes_elsewhere_in_the_file_do_not_matter),
		CASE(a_check_says_what_to_ask),
		CASE(what_a_check_does_not_say_is_not_known),
		CASE(a_scheme_that_is_asked_for_goes_before_the_check),
		CASE(a_check_of_another_port_or_kind_says_nothing),
		CASE(codes_with_a_mistake_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
