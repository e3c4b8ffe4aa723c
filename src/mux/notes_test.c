/* SPDX-License-Identifier: Apache-2.0 */
/* The grammars of annotations, with the messages that users see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/mux/notes.h"

#define PREFIX "svc-mux.nowake.ai"

static int set_up(void **state)
{
	*state = arena_new();
	return 0;
}

static int tear_down(void **state)
{
	arena_free(*state);
	return 0;
}

static const char *show_overrides(struct arena *a, const struct mux_overrides *o)
{
	struct buf out = { 0 };
	const char *text;

	for (size_t i = 0; i < o->n; i++) {
		buf_printf(&out, "%s%s:", i ? "," : "", o->items[i].name);
		if (o->items[i].port)
			buf_printf(&out, "%u", o->items[i].port);
		else
			buf_add_lit(&out, "auto");
	}
	text = arena_strdup(a, buf_cstr(&out));
	buf_free(&out);
	return text;
}

/* external-ports: commas, blanks, the first colon, auto in any case, integers from 1 to 65535 */
static void external_ports_have_a_grammar(void **state)
{
	static const struct {
		const char *text, *shown, *why;
	} rows[] = {
		{ NULL, "", NULL },
		{ "", "", NULL },
		{ " , ,", "", NULL },
		{ "http:8080,grpc:9090", "http:8080,grpc:9090", NULL },
		{ ",http:80,,", "http:80", NULL },
		{ " http : 80 , grpc : AUTO ", "http:80,grpc:auto", NULL },
		{ "http:0080", "http:80", NULL },
		{ "Http:1", "Http:1", NULL },
		{ "http:65535", "http:65535", NULL },
		{ "http", NULL,
		  "Invalid " PREFIX "/external-ports entry 'http'; expected name:port" },
		{ "http=80", NULL,
		  "Invalid " PREFIX "/external-ports entry 'http=80'; expected name:port" },
		{ ":80", NULL,
		  "Invalid " PREFIX "/external-ports entry ':80'; port name is required" },
		{ "a:1;b:2", NULL,
		  "Invalid " PREFIX "/external-ports port '1;b:2'; expected integer" },
		{ "http:x", NULL, "Invalid " PREFIX "/external-ports port 'x'; expected integer" },
		{ "http:", NULL, "Invalid " PREFIX "/external-ports port ''; expected integer" },
		{ "http:80.0", NULL,
		  "Invalid " PREFIX "/external-ports port '80.0'; expected integer" },
		{ "http:0x50", NULL,
		  "Invalid " PREFIX "/external-ports port '0x50'; expected integer" },
		{ "http:1e3", NULL,
		  "Invalid " PREFIX "/external-ports port '1e3'; expected integer" },
		{ "http:80:90", NULL,
		  "Invalid " PREFIX "/external-ports port '80:90'; expected integer" },
		{ "http:+80", NULL,
		  "Invalid " PREFIX "/external-ports port '+80'; expected integer" },
		{ "http:70000", NULL,
		  "Invalid " PREFIX "/external-ports port 70000; expected 1-65535" },
		{ "http:0", NULL, "Invalid " PREFIX "/external-ports port 0; expected 1-65535" },
		{ "http:99999999999999999999999", NULL,
		  "Invalid " PREFIX
		  "/external-ports port 99999999999999999999999; expected 1-65535" },
		{ "ok:1,\x1b[2J", NULL,
		  "Invalid " PREFIX "/external-ports entry '\\x1b[2J'; expected name:port" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mux_overrides o;
		const char *why = NULL;
		int r = mux_parse_external_ports(PREFIX, rows[i].text, *state, &o, &why);

		assert_int_equal(r < 0, rows[i].why != NULL);
		if (r < 0)
			assert_string_equal(why, rows[i].why);
		else
			assert_string_equal(show_overrides(*state, &o), rows[i].shown);
	}
}

/* external-ports: the last entry of a name counts */
static void the_last_entry_of_a_name_counts(void **state)
{
	struct mux_overrides o;
	const char *why;

	assert_int_equal(mux_parse_external_ports(PREFIX, "http:80,x:1,http:81", *state, &o, &why),
			 0);
	assert_int_equal(mux_override_of(&o, "http")->port, 81);
	assert_int_equal(mux_parse_external_ports(PREFIX, "http:auto,http:80", *state, &o, &why),
			 0);
	assert_int_equal(mux_override_of(&o, "http")->port, 80);
	assert_null(mux_override_of(&o, "grpc"));
}

/* Lists from outside have a bound */
static void too_many_entries_are_refused(void **state)
{
	struct mux_overrides o;
	struct mux_ranges r;
	struct mux_admits a;
	struct buf ports = { 0 }, numbers = { 0 };
	const char *why;

	for (size_t i = 0; i <= MUX_OVERRIDES_MAX; i++) {
		buf_printf(&ports, "p%zu:1,", i);
		buf_add_lit(&numbers, "1,");
	}
	assert_true(mux_parse_external_ports(PREFIX, buf_cstr(&ports), *state, &o, &why) < 0);
	assert_string_equal(why, "Invalid " PREFIX "/external-ports; more than 1000 entries");
	assert_true(mux_parse_port_range(PREFIX, buf_cstr(&numbers), *state, &r, &why) < 0);
	assert_string_equal(why, "Invalid " PREFIX "/port-range; more than 256 entries");
	assert_true(mux_parse_allowed_namespaces(PREFIX, buf_cstr(&numbers), *state, &a, &why) < 0);
	assert_string_equal(why, "Invalid " PREFIX "/allowed-namespaces; more than 256 entries");
	buf_free(&ports);
	buf_free(&numbers);
}

/* port-range: numbers and ranges in the order of the text */
static void port_ranges_have_a_grammar(void **state)
{
	static const struct {
		const char *text, *shown, *why;
	} rows[] = {
		{ NULL, "", NULL },
		{ " , ", "", NULL },
		{ "20000-20099", "20000-20099", NULL },
		{ "20000 - 20005, 30", "20000-20005,30", NULL },
		{ "9-9,1-3,2-8,1-3", "9,1-3,2-8,1-3", NULL },
		{ "20009-20000", NULL,
		  "Invalid " PREFIX "/port-range range '20009-20000'; start is greater than end" },
		{ "abc", NULL, "Invalid " PREFIX "/port-range port 'abc'; expected integer" },
		{ "0", NULL, "Invalid " PREFIX "/port-range port 0; expected 1-65535" },
		{ "1-65536", NULL, "Invalid " PREFIX "/port-range port 65536; expected 1-65535" },
		{ "20000-", NULL, "Invalid " PREFIX "/port-range port ''; expected integer" },
		{ "-20000", NULL, "Invalid " PREFIX "/port-range port ''; expected integer" },
		{ "1-2-3", NULL, "Invalid " PREFIX "/port-range port '2-3'; expected integer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mux_ranges ranges;
		const char *why = NULL;
		int r = mux_parse_port_range(PREFIX, rows[i].text, *state, &ranges, &why);

		assert_int_equal(r < 0, rows[i].why != NULL);
		if (r < 0)
			assert_string_equal(why, rows[i].why);
		else
			assert_string_equal(mux_ranges_show(&ranges, *state), rows[i].shown);
	}
}

static void a_range_has_its_ends(void **state)
{
	struct mux_ranges r;
	const char *why;

	assert_int_equal(mux_parse_port_range(PREFIX, "10-12,20", *state, &r, &why), 0);
	assert_false(mux_ranges_have(&r, 9));
	assert_true(mux_ranges_have(&r, 10));
	assert_true(mux_ranges_have(&r, 12));
	assert_false(mux_ranges_have(&r, 13));
	assert_true(mux_ranges_have(&r, 20));
}

/* max-ports: absent or empty is no limit */
static void max_ports_has_a_grammar(void **state)
{
	static const struct {
		const char *text;
		unsigned value;
		const char *why;
	} rows[] = {
		{ NULL, 0, NULL },
		{ "", 0, NULL },
		{ " 100 ", 100, NULL },
		{ "1", 1, NULL },
		{ "99999999999999999999", UINT32_MAX, NULL },
		{ "abc", 0, "Invalid " PREFIX "/max-ports value 'abc'; expected integer" },
		{ " ", 0, "Invalid " PREFIX "/max-ports value ''; expected integer" },
		{ "0", 0, "Invalid " PREFIX "/max-ports value 0; expected >= 1" },
		{ "-5", 0, "Invalid " PREFIX "/max-ports value -5; expected >= 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned value = 77;
		const char *why = NULL;
		int r = mux_parse_max_ports(PREFIX, rows[i].text, *state, &value, &why);

		assert_int_equal(r < 0, rows[i].why != NULL);
		if (r < 0)
			assert_string_equal(why, rows[i].why);
		assert_int_equal(value, r < 0 ? 77 : rows[i].value);
	}
}

static void release_grace_is_a_duration(void **state)
{
	const char *why = NULL;
	int64_t v = -7;

	assert_int_equal(mux_parse_release_grace(PREFIX, NULL, *state, &v, &why), 0);
	assert_int_equal(v, 0);
	assert_int_equal(mux_parse_release_grace(PREFIX, " 10m ", *state, &v, &why), 0);
	assert_int_equal(v, 600 * NSEC_PER_SEC);
	assert_true(mux_parse_release_grace(PREFIX, "-1s", *state, &v, &why) < 0);
	assert_true(mux_parse_release_grace(PREFIX, "10", *state, &v, &why) < 0);
	assert_string_equal(why, "Invalid " PREFIX
				 "/release-grace value '10'; expected a duration such as 10m");
	assert_int_equal(v, 600 * NSEC_PER_SEC);
}

static void allowed_namespaces_are_names_beginnings_and_labels(void **state)
{
	struct mux_admits a;
	const char *why;

	assert_int_equal(mux_parse_allowed_namespaces(PREFIX, NULL, *state, &a, &why), 0);
	assert_true(a.all);
	assert_int_equal(mux_parse_allowed_namespaces(PREFIX, "", *state, &a, &why), 0);
	assert_false(a.all);
	assert_int_equal(a.n, 0);
	assert_int_equal(mux_parse_allowed_namespaces(
				 PREFIX, "app, team-*, example.net/tier = gold", *state, &a, &why),
			 0);
	assert_int_equal(a.n, 3);
	assert_int_equal(a.items[0].kind, MUX_ADMIT_NAME);
	assert_int_equal(a.items[1].kind, MUX_ADMIT_START);
	assert_string_equal(a.items[1].text, "team-");
	assert_int_equal(a.items[2].kind, MUX_ADMIT_LABEL);
	assert_string_equal(a.items[2].text, "example.net/tier");
	assert_string_equal(a.items[2].value, "gold");
	assert_true(mux_parse_allowed_namespaces(PREFIX, "a,B_c", *state, &a, &why) < 0);
	assert_string_equal(why, "Invalid " PREFIX
				 "/allowed-namespaces entry 'B_c'; expected a namespace, a "
				 "beginning such as team-*, or label=value");
	assert_true(mux_parse_allowed_namespaces(PREFIX, "=x", *state, &a, &why) < 0);
}

/* ports: junk is ignored when it is read back */
static void a_mapping_is_read_back(void **state)
{
	static const char text[] = "junk, x:1, http:80->8080 ,grpc:9090->20001, http:1->2, y->3";

	assert_int_equal(mux_mapped_port(text, "http"), 8080);
	assert_int_equal(mux_mapped_port(text, "grpc"), 20001);
	assert_int_equal(mux_mapped_port(text, "x"), 0);
	assert_int_equal(mux_mapped_port(text, "y"), 0);
	assert_int_equal(mux_mapped_port("http:80->pending", "http"), 0);
	assert_int_equal(mux_mapped_port("http:80->70000", "http"), 0);
	assert_int_equal(mux_mapped_port("", "http"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(external_ports_have_a_grammar),
		cmocka_unit_test(the_last_entry_of_a_name_counts),
		cmocka_unit_test(too_many_entries_are_refused),
		cmocka_unit_test(port_ranges_have_a_grammar),
		cmocka_unit_test(a_range_has_its_ends),
		cmocka_unit_test(max_ports_has_a_grammar),
		cmocka_unit_test(release_grace_is_a_duration),
		cmocka_unit_test(allowed_namespaces_are_names_beginnings_and_labels),
		cmocka_unit_test(a_mapping_is_read_back),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
