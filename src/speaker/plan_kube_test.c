/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/plan_kube.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define V4(a, b, c, d)                                                                             \
	{                                                                                          \
		AF_INET,                                                                           \
		{                                                                                  \
			a, b, c, d                                                                 \
		}                                                                                  \
	}
#define V6(last)                                                                                   \
	{                                                                                          \
		AF_INET6,                                                                          \
		{                                                                                  \
			0xfd, [15] = (last)                                                        \
		}                                                                                  \
	}

static const char *const first_community[] = { "64512:1" }, *const second_community[] = {
	"64512:2"
};
static const char *const large_community[] = { "64512:1:2" };
static const char *const to_left[] = { "left" };

static const struct metal_bgp all = {
	.name = "all", .length4 = 32, .length6 = 128, .communities = { first_community, 1 }
};
static const struct metal_bgp left_only = { .name = "left-only",
					    .length4 = 32,
					    .length6 = 128,
					    .local_pref = 150,
					    .communities = { second_community, 1 },
					    .large_communities = { large_community, 1 },
					    .peers = { to_left, 1 } };
static const struct metal_bgp whole = { .name = "whole", .length4 = 24, .length6 = 128 };

static struct metal_peer peers[] = {
	{ .name = "left", .my_asn = 64512, .asn = 64512, .address = V4(10, 0, 0, 1) },
	{ .name = "right", .my_asn = 64512, .asn = 64513, .address = V4(10, 0, 0, 2) },
	{ .name = "six", .my_asn = 64512, .asn = 64513, .address = V6(2) },
};
static const struct metal_bgp *of_pool[] = { &all };
static const struct metal_pool pool = { .name = "pool", .has4 = true, .bgp = of_pool, .n_bgp = 1 };
static struct metal_config config = { .peers = peers, .n_peers = 3, .pools = &pool, .n_pools = 1 };

static const struct addr one = V4(192, 0, 2, 1), two = V4(192, 0, 2, 2), six = V6(9);

static void render(const struct plan_announcement *list, size_t n, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct bgp_config made;

	assert_null(plan_kube_peers(&config, arena, &made));
	out->n = 0;
	plan_kube_text(&config, &made, list, n, out);
	buf_cstr(out);
}

static void check(const struct buf *text, const char *line, bool there)
{
	if ((strstr(text->p, line) != NULL) != there)
		fail_msg("%s: %s\n%s", there ? "absent" : "there", line, text->p);
}

/* The number after "network PREFIX route-map maglev-origin-"; 0 if there is none. */
static unsigned class_of(const struct buf *text, const char *prefix)
{
	char line[128];
	const char *at;

	snprintf(line, sizeof(line), "  network %s route-map maglev-origin-", prefix);
	at = strstr(text->p, line);
	return at ? (unsigned)strtoul(at + strlen(line), NULL, 10) : 0;
}

/* The entry of a class in the map of a peer: "" if there is none. */
static const char *entry(const struct buf *text, const char *peer, unsigned class,
			 char ret[static 256])
{
	char line[128];
	const char *at, *end;

	snprintf(line, sizeof(line), "route-map maglev-out-%s permit %u\n match tag %u\n", peer,
		 class, class);
	at = strstr(text->p, line);
	ret[0] = '\0';
	if (!at)
		return ret;
	at += strlen(line);
	end = strstr(at, "exit\n");
	snprintf(ret, 256, "%.*s", (int)(end - at), at);
	return ret;
}

static void a_prefix_goes_to_the_peers_of_its_family(void **state)
{
	const struct metal_bgp *const list[] = { &all };
	const struct addr both[] = { one, six };
	const struct plan_announcement a = { both, 2, list, 1, false };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct metal_texts reached;
	struct bgp_config made;

	render(&a, 1, &text);
	assert_true(class_of(&text, "192.0.2.1/32") && class_of(&text, "fd00::9/128"));
	plan_kube_peers(&config, arena, &made);
	reached = plan_kube_reached(&made, &a, arena);
	assert_int_equal(reached.n, 3);
	reached = plan_kube_reached(&made, &(struct plan_announcement){ &one, 1, list, 1, false },
				    arena);
	assert_int_equal(reached.n, 2);
	assert_string_equal(reached.items[1], "right");
}

/* For each peer the communities of the advertisements that are meant for it. */
static void advertisements_add_up_for_each_peer(void **state)
{
	const struct metal_bgp *const list[] = { &all, &left_only };
	const struct plan_announcement a = { &one, 1, list, 2, false };
	_cleanup_(buf_free) struct buf text = { 0 };
	char lines[256];
	unsigned class;

	render(&a, 1, &text);
	class = class_of(&text, "192.0.2.1/32");
	assert_string_equal(entry(&text, "left", class, lines), " set community 64512:1 64512:2\n"
								" set large-community 64512:1:2\n"
								" set local-preference 150\n");
	assert_string_equal(entry(&text, "right", class, lines), " set community 64512:1\n");
}

static void an_aggregate_of_two_services_is_one_network(void **state)
{
	const struct metal_bgp *const list[] = { &all, &whole };
	const struct plan_announcement both[] = { { &one, 1, list, 2, false },
						  { &two, 1, list, 2, false } };
	_cleanup_(buf_free) struct buf text = { 0 };

	render(both, 2, &text);
	assert_true(class_of(&text, "192.0.2.1/32") == class_of(&text, "192.0.2.2/32"));
	assert_true(class_of(&text, "192.0.2.0/24") != class_of(&text, "192.0.2.1/32"));
	check(&text, "network 192.0.2.0/24", true);
	assert_null(strstr(strstr(text.p, "network 192.0.2.0/24") + 1, "network 192.0.2.0/24"));
}

/* It drains only if nothing announces it normally. */
static void a_drain_is_the_last_word(void **state)
{
	const struct metal_bgp *const list[] = { &all };
	const struct plan_announcement leaving = { &one, 1, list, 1, true };
	const struct plan_announcement both[] = { leaving, { &one, 1, list, 1, false } };
	_cleanup_(buf_free) struct buf text = { 0 };
	char lines[256];

	render(&leaving, 1, &text);
	assert_string_equal(entry(&text, "right", class_of(&text, "192.0.2.1/32"), lines),
			    " set community 64512:1 graceful-shutdown\n");
	assert_string_equal(entry(&text, "left", class_of(&text, "192.0.2.1/32"), lines),
			    " set community 64512:1 graceful-shutdown\n set local-preference 0\n");
	render(both, 2, &text);
	assert_string_equal(entry(&text, "right", class_of(&text, "192.0.2.1/32"), lines),
			    " set community 64512:1\n");
}

/* So that the first Service changes one line and no route map. */
static void the_class_of_a_pool_is_there_before_its_services(void **state)
{
	const struct metal_bgp *const list[] = { &all };
	const struct plan_announcement a = { &one, 1, list, 1, false };
	_cleanup_(buf_free) struct buf before = { 0 }, after = { 0 };
	char network[64];

	render(NULL, 0, &before);
	render(&a, 1, &after);
	snprintf(network, sizeof(network), "  network 192.0.2.1/32 route-map maglev-origin-%u\n",
		 class_of(&after, "192.0.2.1/32"));
	assert_int_equal(after.n, before.n + strlen(network));
}

static void an_advertisement_for_no_peer_of_the_node_is_no_network(void **state)
{
	const struct metal_bgp *const list[] = { &left_only };
	const struct plan_announcement a = { &six, 1, list, 1, false };
	_cleanup_(buf_free) struct buf text = { 0 };

	render(&a, 1, &text); /* left has IPv4 only */
	assert_int_equal(class_of(&text, "fd00::9/128"), 0);
}

static void a_vrf_has_a_router_with_its_own_number(void **state)
{
	const struct metal_bgp *const list[] = { &left_only };
	const struct plan_announcement a = { &one, 1, list, 1, false };
	_cleanup_(buf_free) struct buf text = { 0 };

	peers[0].vrf = "red";
	peers[0].my_asn = 64700;
	render(&a, 1, &text);
	peers[0].vrf = NULL;
	peers[0].my_asn = 64512;
	check(&text, "router bgp 64700 vrf red\n", true);
	check(&text, "router bgp 64512\n", true);
	assert_true(strstr(text.p, "network 192.0.2.1/32") > strstr(text.p, "vrf red"));
}

/* Resources are written by people of a cluster; a line break would be a command to FRR. */
static void texts_that_frr_cannot_read_are_refused(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct bgp_config made;

	peers[0].password = "two words";
	assert_non_null(strstr(plan_kube_peers(&config, arena, &made), "peer left has a password"));
	peers[0].password = "line\nend";
	assert_non_null(plan_kube_peers(&config, arena, &made));
	peers[0].password = NULL;
	peers[1].vrf = "red\n neighbor 10.9.9.9 remote-as 1";
	assert_non_null(strstr(plan_kube_peers(&config, arena, &made), "peer right has a vrf"));
	peers[1].vrf = NULL;
	assert_null(plan_kube_peers(&config, arena, &made));
}

static void a_peer_has_the_values_of_its_resource(void **state)
{
	static const struct metal_bfd profile = { .name = "fast", .receive_ms = 100 };
	_cleanup_(buf_free) struct buf text = { 0 };
	struct metal_peer was = peers[1];

	peers[1].profile = &profile;
	peers[1].password = "secret";
	peers[1].has_timers = true;
	peers[1].hold_ns = 9 * NSEC_PER_SEC;
	peers[1].keepalive_ns = 3 * NSEC_PER_SEC;
	peers[1].connect_ns = NSEC_PER_SEC;
	peers[1].ebgp_multihop = true;
	config.profiles = &profile;
	config.n_profiles = 1;
	render(NULL, 0, &text);
	peers[1] = was;
	config.n_profiles = 0;
	check(&text, " neighbor 10.0.0.2 bfd profile fast\n", true);
	check(&text, " neighbor 10.0.0.2 password secret\n", true);
	check(&text, " neighbor 10.0.0.2 timers 3 9\n", true);
	check(&text, " neighbor 10.0.0.2 timers connect 1\n", true);
	check(&text, " neighbor 10.0.0.2 ebgp-multihop 255\n", true);
	check(&text, " profile fast\n  receive-interval 100\n", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prefix_goes_to_the_peers_of_its_family),
		cmocka_unit_test(advertisements_add_up_for_each_peer),
		cmocka_unit_test(an_aggregate_of_two_services_is_one_network),
		cmocka_unit_test(a_drain_is_the_last_word),
		cmocka_unit_test(the_class_of_a_pool_is_there_before_its_services),
		cmocka_unit_test(an_advertisement_for_no_peer_of_the_node_is_no_network),
		cmocka_unit_test(a_vrf_has_a_router_with_its_own_number),
		cmocka_unit_test(texts_that_frr_cannot_read_are_refused),
		cmocka_unit_test(a_peer_has_the_values_of_its_resource),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
