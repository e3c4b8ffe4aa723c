/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ipam/ipam.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"

/* Pools of one test, written as "name=network,network ...". */
struct fixture {
	struct arena *arena;
	struct ipam *ipam;
	struct metal_pool_doc docs[8];
	size_t n;
	struct buf why;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->arena = arena_new();
	f->ipam = ipam_new();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ipam_free(f->ipam);
	arena_free(f->arena);
	buf_free(&f->why);
	free(f);
	return 0;
}

static struct metal_pool_doc *pool(struct fixture *f, const char *name, const char *one,
				   const char *two)
{
	const char **addresses = arena_array_of(f->arena, 2, const char *);
	struct metal_pool_doc *d = &f->docs[f->n++];

	addresses[0] = one;
	addresses[1] = two;
	*d = (struct metal_pool_doc){ .name = name,
				      .addresses = { addresses, two ? 2 : 1 },
				      .auto_assign = true };
	return d;
}

static void on_freed(const struct ipam_lease *lease, void *user)
{
	struct buf *keys = user;

	buf_printf(keys, "%s ", lease->key);
}

static void load(struct fixture *f, struct buf *freed)
{
	struct metal_config *c = arena_new_of(f->arena, struct metal_config);
	struct metal_error error;

	if (metal_config_build(&(struct metal_doc){ .pools = f->docs, .n_pools = f->n }, NULL,
			       f->arena, c, &error) < 0)
		fail_msg("%s", error.text);
	ipam_set_pools(f->ipam, c, freed ? on_freed : NULL, freed);
}

static struct ipam_request ask(const char *key)
{
	static const struct ipam_port http = { "TCP", 80 };

	return (struct ipam_request){
		.key = key, .namespace = "ns", .families = IPAM_IPV4, .ports = &http, .n_ports = 1
	};
}

static const char *addresses_of(struct fixture *f, const char *key)
{
	const struct ipam_lease *l = ipam_get(f->ipam, key);

	f->why.n = 0;
	if (l) {
		ipam_format(&f->why, l->addresses, l->n);
		buf_printf(&f->why, " of %s", l->pool);
	}
	return buf_cstr(&f->why);
}

/* The addresses, or the reason why there are none. */
static const char *allocate(struct fixture *f, struct ipam_request r)
{
	f->why.n = 0;
	return ipam_allocate(f->ipam, &r, &f->why) < 0 ? buf_cstr(&f->why) : addresses_of(f, r.key);
}

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static const char *want(struct fixture *f, struct ipam_request r, const char *text)
{
	struct addr a = address(text);

	r.wanted = &a;
	r.n_wanted = 1;
	return allocate(f, r);
}

static void the_lowest_free_address_is_taken(void **state)
{
	struct fixture *f = *state;

	pool(f, "p", "10.0.0.4/31", "10.0.0.0/31");
	load(f, NULL);
	assert_string_equal(allocate(f, ask("a")), "[\"10.0.0.4\"] of p");
	assert_string_equal(allocate(f, ask("b")), "[\"10.0.0.5\"] of p");
	assert_string_equal(allocate(f, ask("c")), "[\"10.0.0.0\"] of p");
	assert_true(ipam_release(f->ipam, "a"));
	assert_false(ipam_release(f->ipam, "a"));
	assert_string_equal(allocate(f, ask("d")), "[\"10.0.0.4\"] of p");
	assert_string_equal(allocate(f, ask("e")), "[\"10.0.0.1\"] of p");
	assert_string_equal(allocate(f, ask("f")), "no available IPs");
}

static void pinned_pools_come_first_by_priority(void **state)
{
	static const char *const ns[] = { "ns" };
	struct fixture *f = *state;
	struct metal_pool_doc *d;
	struct ipam_request elsewhere = ask("x");

	pool(f, "a", "10.0.0.0/32", NULL);
	d = pool(f, "b", "10.0.0.1/32", NULL);
	d->has_allocation = true;
	d = pool(f, "c", "10.0.0.2/32", NULL);
	d->has_allocation = true;
	d->priority = 20;
	d->namespaces = (struct metal_texts){ ns, 1 };
	d = pool(f, "d", "10.0.0.3/32", NULL);
	d->has_allocation = true;
	d->priority = 10;
	load(f, NULL);
	assert_string_equal(allocate(f, ask("1")), "[\"10.0.0.3\"] of d");
	elsewhere.namespace = "other";
	assert_string_equal(allocate(f, elsewhere), "[\"10.0.0.1\"] of b");
	assert_string_equal(allocate(f, ask("2")), "[\"10.0.0.2\"] of c");
	assert_string_equal(allocate(f, ask("3")), "[\"10.0.0.0\"] of a");
	assert_string_equal(allocate(f, ask("4")), "no available IPs");
}

static void requests_are_refused_in_the_words_of_metallb(void **state)
{
	static const char *const other[] = { "other" };
	struct fixture *f = *state;
	struct ipam_request r = ask("s");
	struct metal_pool_doc *d;

	pool(f, "p", "10.0.0.0/24", NULL)->auto_assign = false;
	d = pool(f, "q", "10.0.1.0/24", NULL);
	d->has_allocation = true;
	d->namespaces = (struct metal_texts){ other, 1 };
	pool(f, "s", "10.0.2.0/24", NULL)->avoid_buggy_ips = true;
	load(f, NULL);
	assert_string_equal(want(f, r, "192.0.2.1"), "[\"192.0.2.1\"] is not allowed in config");
	assert_string_equal(want(f, r, "10.0.1.1"), "pool q not compatible for ip assignment");
	assert_string_equal(want(f, r, "10.0.2.255"), "[\"10.0.2.255\"] is not allowed in config");
	assert_string_equal(
		want(f, r, "fc00::1"),
		"requested loadBalancer IP(s) [\"fc00::1\"] does not match the ipFamily "
		"of the service");
	r.pool = "s";
	assert_string_equal(want(f, r, "10.0.0.7"),
			    "requested loadBalancer IP(s) [\"10.0.0.7\"] is not compatible with "
			    "requested address pool s");
	r.pool = "nowhere";
	assert_string_equal(allocate(f, r), "unknown pool \"nowhere\"");
	r.pool = "q";
	assert_string_equal(allocate(f, r), "pool q not compatible for ip assignment");
	r.pool = "p";
	r.families = IPAM_IPV6;
	assert_string_equal(allocate(f, r), "no available IPs in pool p for ipv6 IPFamily");
	r.families = IPAM_IPV4;
	assert_string_equal(allocate(f, r), "[\"10.0.0.0\"] of p");
	assert_true(ipam_release(f->ipam, "s"));
	r.pool = NULL;
	assert_string_equal(want(f, r, "10.0.0.9"), "[\"10.0.0.9\"] of p");
}

static void services_share_an_address_with_a_key_and_other_ports(void **state)
{
	static const struct ipam_port https = { "TCP", 443 }, quic = { "UDP", 80 };
	struct fixture *f = *state;
	struct ipam_request a = ask("a"), b = ask("b"), c = ask("c"), d = ask("d");

	pool(f, "p", "10.0.0.1/32", NULL);
	load(f, NULL);
	a.sharing = b.sharing = c.sharing = "key";
	assert_string_equal(allocate(f, a), "[\"10.0.0.1\"] of p");
	assert_string_equal(want(f, b, "10.0.0.1"),
			    "port TCP/80 is already in use on \"10.0.0.1\"");
	b.ports = &https;
	assert_string_equal(allocate(f, b), "[\"10.0.0.1\"] of p");
	c.ports = &quic;
	assert_string_equal(want(f, c, "10.0.0.1"), "[\"10.0.0.1\"] of p");
	assert_string_equal(want(f, d, "10.0.0.1"),
			    "can't change sharing key for \"d\", address also in use by a,b,c: new "
			    "service does not allow sharing");
	d.sharing = "other";
	assert_string_equal(want(f, d, "10.0.0.1"),
			    "can't change sharing key for \"d\", address also in use by a,b,c: "
			    "sharing key \"other\" does not match existing sharing key \"key\"");
	d.sharing = "key";
	d.backend = "app=d";
	assert_string_equal(want(f, d, "10.0.0.1"),
			    "can't change sharing key for \"d\", address also in use by a,b,c: "
			    "backend key \"app=d\" does not match existing sharing key \"\"");
	assert_int_equal(ipam_usage(f->ipam, "p").assigned4, 1);
	assert_int_equal(ipam_usage(f->ipam, "p").services, 3);
}

static void the_only_user_may_change_its_key(void **state)
{
	struct addr one = address("10.0.0.1");
	struct fixture *f = *state;
	struct ipam_request a = ask("a"), b = ask("b");

	pool(f, "p", "10.0.0.1/32", NULL);
	load(f, NULL);
	assert_string_equal(allocate(f, a), "[\"10.0.0.1\"] of p");
	assert_string_equal(
		want(f, b, "10.0.0.1"),
		"can't change sharing key for \"b\", address also in use by a: existing "
		"service does not allow sharing");
	a.sharing = "key";
	assert_int_equal(ipam_assign(f->ipam, &a, &one, 1, &f->why), 0);
	assert_string_equal(ipam_get(f->ipam, "a")->sharing, "key");
	b.sharing = "key";
	b.n_ports = 0;
	assert_string_equal(allocate(f, b), "[\"10.0.0.1\"] of p");
	a.sharing = "new";
	f->why.n = 0;
	assert_int_equal(ipam_assign(f->ipam, &a, &one, 1, &f->why), -EADDRNOTAVAIL);
	assert_string_equal(ipam_get(f->ipam, "a")->sharing, "key");
}

static void both_families_come_from_one_pool(void **state)
{
	struct fixture *f = *state;
	struct ipam_request r = ask("a");

	pool(f, "a", "10.0.0.0/31", NULL);
	pool(f, "b", "fc00::/127", "10.0.1.0/32");
	load(f, NULL);
	r.families = IPAM_DUAL;
	r.policy = IPAM_REQUIRE_DUAL;
	assert_string_equal(allocate(f, r), "[\"10.0.1.0\" \"fc00::\"] of b");
	r.key = "b";
	assert_string_equal(allocate(f, r), "no available IPs");
	r.pool = "b";
	assert_string_equal(allocate(f, r), "no available IPs in pool b for dual IPFamily");
	r.pool = NULL;
	r.policy = IPAM_PREFER_DUAL;
	assert_string_equal(allocate(f, r), "[\"10.0.0.0\"] of a");
	r.key = "c";
	r.prefers6 = true;
	assert_string_equal(allocate(f, r), "[\"fc00::1\"] of b");
	r.key = "d";
	assert_string_equal(allocate(f, r), "[\"10.0.0.1\"] of a");
}

static void a_second_family_is_added_when_there_is_one(void **state)
{
	struct fixture *f = *state;
	struct ipam_request r = ask("a");

	pool(f, "p", "10.0.0.0/31", "fc00::/128");
	load(f, NULL);
	r.families = IPAM_DUAL;
	r.policy = IPAM_PREFER_DUAL;
	assert_string_equal(allocate(f, r), "[\"10.0.0.0\" \"fc00::\"] of p");
	r.key = "b";
	assert_string_equal(allocate(f, r), "[\"10.0.0.1\"] of p");
	f->why.n = 0;
	assert_int_equal(ipam_widen(f->ipam, &r, &f->why), -EADDRNOTAVAIL);
	assert_string_equal(buf_cstr(&f->why), "no available IPs in pool p for ipv6 IPFamily");
	ipam_release(f->ipam, "a");
	assert_int_equal(ipam_widen(f->ipam, &r, &f->why), 0);
	assert_string_equal(addresses_of(f, "b"), "[\"10.0.0.1\" \"fc00::\"] of p");
}

static void other_pools_keep_addresses_that_they_have(void **state)
{
	_cleanup_(buf_free) struct buf freed = { 0 };
	struct fixture *f = *state;

	pool(f, "p", "10.0.0.0/30", NULL);
	load(f, NULL);
	for (const char *key = "abcd"; *key; key++)
		allocate(f, ask(arena_strndup(f->arena, key, 1)));
	f->n = 0;
	pool(f, "renamed", "10.0.0.0/32", NULL);
	pool(f, "split", "10.0.0.2/31", NULL);
	load(f, &freed);
	assert_string_equal(buf_cstr(&freed), "b ");
	assert_null(ipam_get(f->ipam, "b"));
	assert_string_equal(addresses_of(f, "a"), "[\"10.0.0.0\"] of renamed");
	assert_string_equal(addresses_of(f, "d"), "[\"10.0.0.3\"] of split");
	assert_int_equal(ipam_usage(f->ipam, "split").available4, 0);
	assert_int_equal(ipam_usage(f->ipam, "p").services, 0);
}

/* TestPoolCount of MetalLB. */
static void addresses_are_counted_as_metallb_does(void **state)
{
	static const struct {
		const char *one, *two;
		bool avoid;
		int64_t four, six;
	} rows[] = {
		{ "10.0.0.0/24", NULL, false, 256, 0 },
		{ "10.0.0.0/24", "10.0.1.128/25", false, 384, 0 },
		{ "10.0.0.0/24", "10.0.1.128/25", true, 381, 0 },
		{ "1.2.3.0/31", NULL, true, 1, 0 },
		{ "1.2.3.0/31", "1000::/127", true, 1, 2 },
		{ "1.2.3.255/32", "1000::/64", true, 0, INT64_MAX },
		{ "10.0.0.0/16", "1000::/66", true, 65536 - 512, INT64_MAX },
		{ "10.0.0.0/16", "1000::/67", false, 65536, INT64_C(1) << 61 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ipam_usage u;

		f->n = 0;
		pool(f, "p", rows[i].one, rows[i].two)->avoid_buggy_ips = rows[i].avoid;
		load(f, NULL);
		u = ipam_usage(f->ipam, "p");
		assert_int_equal(u.available4, rows[i].four);
		assert_true(u.available6 == rows[i].six);
	}
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* The bound is for optimized code; the sanitizers make it about ten times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOWNESS 10
#endif
#endif
#ifndef SLOWNESS
#define SLOWNESS 1
#endif

static void five_thousand_services_take_less_than_50_ms(void **state)
{
	struct fixture *f = *state;
	int64_t took;
	char key[32];

	pool(f, "p", "10.0.0.0/16", NULL)->avoid_buggy_ips = true;
	load(f, NULL);
	took = now();
	for (unsigned i = 0; i < 5000; i++) {
		struct ipam_request r = ask(key);

		snprintf(key, sizeof(key), "ns/service-%u", i * 2467 % 5000);
		f->why.n = 0;
		assert_int_equal(ipam_allocate(f->ipam, &r, &f->why), 0);
	}
	took = now() - took;
	print_message("# 5000 services: %.1f ms\n", (double)took / (double)NSEC_PER_MSEC);
	assert_in_range(took, 0, 50 * NSEC_PER_MSEC * SLOWNESS);
	assert_int_equal(ipam_usage(f->ipam, "p").assigned4, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_lowest_free_address_is_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(pinned_pools_come_first_by_priority, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(requests_are_refused_in_the_words_of_metallb,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			services_share_an_address_with_a_key_and_other_ports, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_only_user_may_change_its_key, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(both_families_come_from_one_pool, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_second_family_is_added_when_there_is_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_pools_keep_addresses_that_they_have, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(addresses_are_counted_as_metallb_does, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(five_thousand_services_take_less_than_50_ms, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
