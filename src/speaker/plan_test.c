/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const char *const both[] = { "a", "b" };
static const char *const only_b[] = { "b" };
static const char *const tags[] = { "64512:100" };

static const struct bgp_peer peers[] = {
	{ .frr = { .name = "a",
		   .address = { AF_INET, { 10, 0, 0, 2 } },
		   .asn = 64513,
		   .ipv4 = true } },
	{ .frr = { .name = "b",
		   .address = { AF_INET, { 10, 0, 0, 3 } },
		   .asn = 64514,
		   .ipv4 = true },
	  .vrf = "red" },
};

/* A configuration of two VIPs in one advertisement that aggregates to /24. */
struct fixture {
	struct bgp_advertisement advertisements[2];
	struct bgp_vip vips[3];
	struct bgp_config config;
	enum announce_state states[3];
};

static void make(struct fixture *f)
{
	*f = (struct fixture){
		.advertisements = { { .name = "default",
				      .communities = { tags, 1 },
				      .has_med = true,
				      .med = 50,
				      .length4 = 32,
				      .length6 = 128,
				      .peers = { both, 2 } },
				    { .name = "wide", .length4 = 24, .length6 = 64 } },
		.vips = { { .name = "one", .address = { AF_INET, { 192, 0, 2, 1 } } },
			  { .name = "three",
			    .address = { AF_INET, { 203, 0, 113, 1 } },
			    .advertisement = 1 },
			  { .name = "two",
			    .address = { AF_INET, { 203, 0, 113, 2 } },
			    .advertisement = 1 } },
		.states = { ANNOUNCE_UP, ANNOUNCE_UP, ANNOUNCE_UP },
	};
	f->config = (struct bgp_config){ .asn = 64512,
					 .peers = peers,
					 .n_peers = 2,
					 .advertisements = f->advertisements,
					 .n_advertisements = 2,
					 .vips = f->vips,
					 .n_vips = 3 };
}

static const char *text_of(struct fixture *f, struct buf *out)
{
	out->n = 0;
	plan_text(&f->config, f->states, out);
	return buf_cstr(out);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* Lines of a that b does not have. */
static size_t lines_missing(const char *a, const char *b)
{
	size_t n = 0;

	while (*a) {
		size_t len = strcspn(a, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s\n", (int)len, a);
		n += strstr(b, line) == NULL;
		a += len + (a[len] == '\n');
	}
	return n;
}

static void a_withdrawal_changes_one_line(void **state)
{
	_cleanup_(buf_free) struct buf before = { 0 }, after = { 0 };
	struct fixture f;

	make(&f);
	f.config.n_peers = 1;
	text_of(&f, &before);
	f.states[0] = ANNOUNCE_WITHDRAWN;
	text_of(&f, &after);
	assert_int_equal(lines_missing(buf_cstr(&before), buf_cstr(&after)), 1);
	assert_int_equal(lines_missing(buf_cstr(&after), buf_cstr(&before)), 0);
	assert_non_null(strstr(buf_cstr(&before), "network 192.0.2.1/32"));
	assert_null(strstr(buf_cstr(&after), "network 192.0.2.1/32"));
}

static void worse_and_draining_change_one_line(void **state)
{
	static const enum announce_state states[] = { ANNOUNCE_WORSE, ANNOUNCE_DRAINING };
	_cleanup_(buf_free) struct buf before = { 0 }, after = { 0 };
	struct fixture f;

	make(&f);
	f.config.n_peers = 1;
	f.vips[0].rule.fallback = ANNOUNCE_THEN_WORSE;
	f.vips[0].worse_prepend = 3;
	text_of(&f, &before);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		f.states[0] = states[i];
		text_of(&f, &after);
		assert_int_equal(lines_missing(buf_cstr(&before), buf_cstr(&after)), 1);
		assert_int_equal(lines_missing(buf_cstr(&after), buf_cstr(&before)), 1);
		assert_int_equal(count(buf_cstr(&after), "network 192.0.2.1/32"), 1);
	}
	assert_non_null(strstr(buf_cstr(&before), "graceful-shutdown"));
	assert_non_null(strstr(buf_cstr(&before), "64512 64512 64512"));
}

static void vips_of_one_prefix_keep_it_while_one_is_announced(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct fixture f;

	make(&f);
	f.config.n_peers = 1;
	assert_int_equal(count(text_of(&f, &out), "network 203.0.113.0/24"), 1);
	f.states[1] = ANNOUNCE_WITHDRAWN;
	assert_int_equal(count(text_of(&f, &out), "network 203.0.113.0/24"), 1);
	f.states[2] = ANNOUNCE_WITHDRAWN;
	assert_int_equal(count(text_of(&f, &out), "network 203.0.113.0/24"), 0);
}

static void a_prefix_is_only_in_vrfs_whose_peers_get_it(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct fixture f;

	make(&f);
	assert_int_equal(count(text_of(&f, &out), "network 192.0.2.1/32"), 2);
	f.advertisements[0].peers = (struct schema_texts){ only_b, 1 };
	assert_int_equal(count(text_of(&f, &out), "network 192.0.2.1/32"), 1);
	assert_int_equal(count(buf_cstr(&out), "router bgp 64512 vrf red"), 1);
	assert_false(plan_reaches(&f.config, &f.vips[0], &peers[0]));
	assert_true(plan_reaches(&f.config, &f.vips[0], &peers[1]));
}

static void other_advertisements_keep_their_numbers(void **state)
{
	_cleanup_(buf_free) struct buf before = { 0 }, after = { 0 };
	struct fixture f;

	make(&f);
	f.config.n_peers = 1;
	text_of(&f, &after);
	f.config.n_vips = 1;
	text_of(&f, &before);
	assert_int_equal(lines_missing(buf_cstr(&before), buf_cstr(&after)), 0);
}

static void a_vip_without_an_advertisement_is_no_business_of_frr(void **state)
{
	_cleanup_(buf_free) struct buf with = { 0 }, without = { 0 };
	struct fixture f;

	make(&f);
	f.vips[2].advertisement = BGP_NONE;
	text_of(&f, &with);
	assert_null(strstr(buf_cstr(&with), "203.0.113.2"));
	assert_false(plan_reaches(&f.config, &f.vips[2], &peers[0]));
	f.config.n_vips = 2;
	assert_string_equal(buf_cstr(&with), text_of(&f, &without));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_withdrawal_changes_one_line),
		cmocka_unit_test(worse_and_draining_change_one_line),
		cmocka_unit_test(vips_of_one_prefix_keep_it_while_one_is_announced),
		cmocka_unit_test(a_prefix_is_only_in_vrfs_whose_peers_get_it),
		cmocka_unit_test(other_advertisements_keep_their_numbers),
		cmocka_unit_test(a_vip_without_an_advertisement_is_no_business_of_frr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
