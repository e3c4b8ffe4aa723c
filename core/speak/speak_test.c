/* SPDX-License-Identifier: Apache-2.0 */
#include "core/speak/absence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define V4(last)                                                                                   \
	{                                                                                          \
		AF_INET,                                                                           \
		{                                                                                  \
			192, 0, 2, (last)                                                          \
		}                                                                                  \
	}

/* ---- a cluster: a and b are workers, e is an edge node ---- */

static const struct label worker[] = { { "role", "worker" } }, edge[] = { { "role", "edge" } };
static const struct label excluded[] = { { SPEAK_EXCLUDE_LABEL, "" }, { "role", "worker" } };
static const struct label gold[] = { { "tier", "gold" } };

static const char *const edge_values[] = { "edge" }, *const gold_values[] = { "gold" };
static const struct labels_requirement is_edge = { "role", LABELS_IN, "In", edge_values, 1 };
static const struct labels_requirement is_gold = { "tier", LABELS_IN, "In", gold_values, 1 };
static const struct labels_selector edge_only = { &is_edge, 1 }, gold_only = { &is_gold, 1 };

static const struct metal_bgp plain = { .name = "plain", .length4 = 32, .length6 = 128 };
static const struct metal_bgp at_edge = {
	.name = "at-edge", .length4 = 32, .length6 = 128, .nodes = { &edge_only, 1 }
};
static const struct metal_bgp for_gold = { .name = "for-gold",
					   .length4 = 32,
					   .length6 = 128,
					   .local_pref = 200,
					   .services = { &gold_only, 1 } };
static const struct metal_bgp preferred = {
	.name = "preferred", .length4 = 32, .length6 = 128, .local_pref = 100
};

static const char *const eth0[] = { "eth0" }, *const two[] = { "eth0", "eth1" };
static const struct metal_preference to_edge = { 50, { &is_edge, 1 } };
static const struct metal_l2 lan = { .name = "lan" };
static const struct metal_l2 on_eth0 = { .name = "on-eth0", .interfaces = { eth0, 1 } };
static const struct metal_l2 on_two = { .name = "on-two", .interfaces = { two, 2 } };
static const struct metal_l2 edge_lan = { .name = "edge-lan", .nodes = { &edge_only, 1 } };
static const struct metal_l2 gold_lan = { .name = "gold-lan", .services = { &gold_only, 1 } };
static const struct metal_l2 rather_edge = { .name = "rather-edge",
					     .preferences = &to_edge,
					     .n_preferences = 1 };

static const struct metal_prefix network = { V4(0), 24 };
static const struct addr address = V4(7), foreign = { AF_INET, { 10, 0, 0, 1 } };

/* The node whose name is last in the alphabet is the first. */
static void reverse_alphabet(const void *p, size_t n, uint8_t ret[static L2_DIGEST])
{
	memset(ret, 0, L2_DIGEST);
	ret[0] = (uint8_t)(255 - *(const uint8_t *)p);
}

struct cluster {
	struct metal_pool pool;
	struct metal_config config;
	struct speak_node nodes[3];
	struct speak_cluster cluster;
	const struct metal_bgp *bgp[4];
	const struct metal_l2 *l2[4];
};

static struct cluster *make(struct cluster *c)
{
	*c = (struct cluster){ 0 };
	c->nodes[0] = (struct speak_node){ .name = "a", .labels = { worker, 1 }, .is_alive = true };
	c->nodes[1] = (struct speak_node){ .name = "b", .labels = { worker, 1 }, .is_alive = true };
	c->nodes[2] = (struct speak_node){ .name = "e", .labels = { edge, 1 }, .is_alive = true };
	c->pool = (struct metal_pool){ .name = "pool",
				       .prefixes = &network,
				       .n_prefixes = 1,
				       .has4 = true,
				       .bgp = c->bgp,
				       .l2 = c->l2 };
	c->config = (struct metal_config){ .pools = &c->pool, .n_pools = 1 };
	c->cluster = (struct speak_cluster){ .config = &c->config,
					     .nodes = c->nodes,
					     .n_nodes = 3,
					     .own = &c->nodes[0],
					     .sha256 = reverse_alphabet };
	return c;
}

static void use_bgp(struct cluster *c, const struct metal_bgp *b)
{
	c->bgp[c->pool.n_bgp++] = b;
}

static void use_l2(struct cluster *c, const struct metal_l2 *l)
{
	c->l2[c->pool.n_l2++] = l;
}

static const char *const on_a[] = { "a" }, *const on_b[] = { "b" }, *const on_ab[] = { "a", "b" };

static struct speak_service service(void)
{
	return (struct speak_service){ .addresses = &address,
				       .n_addresses = 1,
				       .nodes = on_b,
				       .n_nodes = 1,
				       .has_endpoint = true };
}

/* ---- BGP ---- */

static const char *bgp(struct cluster *c, struct speak_service s)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct speak_bgp ret;

	speak_bgp(&c->cluster, &s, arena, &ret);
	return speak_reason_name(ret.reason);
}

static void every_node_announces_over_bgp(void **state)
{
	struct cluster c;

	use_bgp(make(&c), &plain);
	assert_string_equal(bgp(&c, service()), "announced");
	c.cluster.own = &c.nodes[2];
	assert_string_equal(bgp(&c, service()), "announced");
}

static void why_not_over_bgp(void **state)
{
	struct cluster c;
	struct speak_service s = service();

	make(&c);
	assert_string_equal(bgp(&c, s), "notOwner"); /* no advertisement */
	use_bgp(&c, &at_edge);
	assert_string_equal(bgp(&c, s), "notOwner"); /* none that selects this node */
	c.cluster.own = &c.nodes[2];
	assert_string_equal(bgp(&c, s), "announced");
	use_bgp(make(&c), &for_gold);
	assert_string_equal(bgp(&c, s), "noMatchingAdvertisement");
	s.labels = (struct labels){ gold, 1 };
	assert_string_equal(bgp(&c, s), "announced");
	use_bgp(&c, &preferred);
	assert_string_equal(bgp(&c, s), "conflictingAdvertisements");
	s.n_addresses = 0;
	assert_string_equal(bgp(&c, s), "noIPAllocated");
	s = service();
	s.addresses = &foreign;
	assert_string_equal(bgp(&c, s), "ipNotAllowed");
}

static void a_node_may_be_unable_to_announce(void **state)
{
	struct cluster c;

	use_bgp(make(&c), &plain);
	c.nodes[0].labels = (struct labels){ excluded, 2 };
	assert_string_equal(bgp(&c, service()), "nodeLabeledExcludeBalancers");
	c.cluster.ignore_exclude = true;
	assert_string_equal(bgp(&c, service()), "announced");
	c.nodes[0].network_unavailable = true;
	assert_string_equal(bgp(&c, service()), "nodeNetworkUnavailable");
}

static void the_traffic_policy_says_whose_endpoints_count(void **state)
{
	struct cluster c;
	struct speak_service s = service();

	use_bgp(make(&c), &plain);
	s.local = true;
	assert_string_equal(bgp(&c, s), "noLocalEndpoints");
	s.nodes = on_a;
	assert_string_equal(bgp(&c, s), "announced");
	s.n_nodes = 0;
	s.has_endpoint = false;
	assert_string_equal(bgp(&c, s), "noEndpoints");
	s.local = false;
	assert_string_equal(bgp(&c, s), "noEndpoints");
	s.has_endpoint = true; /* of a machine that is no node */
	assert_string_equal(bgp(&c, s), "announced");
}

static void the_data_plane_needs_no_endpoint_here(void **state)
{
	struct cluster c;
	struct speak_service s = service();

	use_bgp(make(&c), &plain);
	s.local = s.by_data_plane = true;
	assert_string_equal(bgp(&c, s), "dataPlaneNotReady");
	s.is_served = true;
	assert_string_equal(bgp(&c, s), "announced");
	c.nodes[0].labels = (struct labels){ excluded, 2 };
	assert_string_equal(bgp(&c, s), "nodeLabeledExcludeBalancers");
	s.is_served = false; /* nothing to drain */
	assert_string_equal(bgp(&c, s), "dataPlaneNotReady");
	s.n_nodes = 0;
	s.has_endpoint = false;
	assert_string_equal(bgp(&c, s), "noEndpoints");
}

/* The advertisements are known also while the node drains. */
static void a_refusal_of_the_node_keeps_the_advertisements(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct cluster c;
	struct speak_service s = service();
	struct speak_bgp ret;

	use_bgp(make(&c), &plain);
	use_bgp(&c, &for_gold);
	c.nodes[0].labels = (struct labels){ excluded, 2 };
	speak_bgp(&c.cluster, &s, arena, &ret);
	assert_int_equal(ret.reason, SPEAK_NODE_EXCLUDED);
	assert_int_equal(ret.n, 1);
	assert_ptr_equal(ret.advertisements[0], &plain);
}

/* ---- local networks ---- */

/* "owner: candidates [interfaces]", or the reason */
static const char *l2(struct cluster *c, struct speak_service s, char text[static 128])
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };
	struct speak_l2 ret;

	speak_l2(&c->cluster, &s, arena, &ret);
	buf_adds(&out, speak_reason_name(ret.reason));
	for (size_t i = 0; i < ret.n_candidates; i++)
		buf_printf(&out, " %s", ret.candidates[i]);
	for (size_t i = 0; i < ret.interfaces.n; i++)
		buf_printf(&out, " %s", ret.interfaces.items[i]);
	snprintf(text, 128, "%s", buf_cstr(&out));
	return text;
}

static void one_node_owns_an_address(void **state)
{
	struct cluster c;
	char text[128];

	use_l2(make(&c), &lan);
	assert_string_equal(l2(&c, service(), text), "notOwner e b a");
	c.cluster.own = &c.nodes[2];
	assert_string_equal(l2(&c, service(), text), "announced e b a");
	c.nodes[2].is_alive = false;
	c.cluster.own = &c.nodes[1];
	assert_string_equal(l2(&c, service(), text), "announced b a");
}

static void an_owner_needs_its_data_plane(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[128];

	use_l2(make(&c), &lan);
	s.local = s.by_data_plane = true;
	assert_string_equal(l2(&c, s, text), "notOwner e b a");
	c.cluster.own = &c.nodes[2];
	assert_string_equal(l2(&c, s, text), "dataPlaneNotReady e b a");
	s.is_served = true;
	assert_string_equal(l2(&c, s, text), "announced e b a");
}

static void candidates_are_able_and_selected(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[128];

	use_l2(make(&c), &lan);
	c.nodes[1].labels = (struct labels){ excluded, 2 };
	c.nodes[2].network_unavailable = true;
	assert_string_equal(l2(&c, s, text), "announced a");
	use_l2(make(&c), &edge_lan);
	assert_string_equal(l2(&c, s, text), "noMatchingAdvertisement e");
	use_l2(make(&c), &lan);
	s.local = true;
	s.nodes = on_ab;
	s.n_nodes = 2;
	assert_string_equal(l2(&c, s, text), "notOwner b a");
	c.cluster.own = &c.nodes[2];
	assert_string_equal(l2(&c, s, text), "noLocalEndpoints b a");
	s.has_endpoint = false;
	assert_string_equal(l2(&c, s, text), "noEndpoints");
	use_l2(make(&c), &gold_lan);
	assert_string_equal(l2(&c, service(), text), "noMatchingAdvertisement");
}

static void preferences_go_before_the_hash(void **state)
{
	struct cluster c;
	char text[128];

	use_l2(make(&c), &rather_edge);
	c.nodes[2].name = "0"; /* the last by its hash */
	c.cluster.own = &c.nodes[2];
	assert_string_equal(l2(&c, service(), text), "announced 0 b a");
	c.nodes[2].labels = (struct labels){ worker, 1 };
	assert_string_equal(l2(&c, service(), text), "notOwner b a 0");
}

static void interfaces_add_up(void **state)
{
	struct cluster c;
	char text[128];

	use_l2(make(&c), &on_eth0);
	c.nodes[1].is_alive = c.nodes[2].is_alive = false;
	assert_string_equal(l2(&c, service(), text), "announced a eth0");
	use_l2(&c, &on_two);
	assert_string_equal(l2(&c, service(), text), "announced a eth0 eth1");
	use_l2(&c, &lan); /* all */
	assert_string_equal(l2(&c, service(), text), "announced a");
}

/* An address that another Service has too cannot follow one of them. */
static void shared_addresses_go_with_no_service_selector(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[128];

	use_l2(make(&c), &gold_lan);
	s.labels = (struct labels){ gold, 1 };
	s.shared = true;
	assert_string_equal(l2(&c, s, text), "sharedIPWithServiceSelector");
	s.shared = false;
	assert_string_equal(l2(&c, s, text), "notOwner e b a");
}

/* ---- nobody announces it ---- */

static const char *const to_spine[] = { "spine" };
static const struct metal_bgp for_spine = {
	.name = "for-spine", .length4 = 32, .length6 = 128, .peers = { to_spine, 1 }
};
static const struct metal_peer tor = { .name = "tor", .address = V4(254) };
static const struct metal_peer six_only = { .name = "six", .address = { AF_INET6, { 0xfd } } };
static const struct metal_peer edge_tor = { .name = "edge-tor",
					    .address = V4(254),
					    .nodes = { &edge_only, 1 } };

static struct cluster *make_whole(struct cluster *c, const struct metal_peer *peer)
{
	make(c)->config.peers = peer;
	c->config.n_peers = 1;
	c->cluster.whole = &c->config;
	return c;
}

/* "reason: message" for both protocols, or "" */
static const char *absence(struct cluster *c, struct speak_service s, char text[static 512])
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct speak_absence by_bgp, by_l2;
	struct speak_l2 of;

	c->config.n_bgp = c->pool.n_bgp;
	c->config.n_l2 = c->pool.n_l2;
	speak_l2(&c->cluster, &s, arena, &of);
	speak_bgp_absence(&c->cluster, &s, arena, &by_bgp);
	speak_l2_absence(&c->cluster, &s, &of, arena, &by_l2);
	*text = '\0';
	if (by_bgp.reason != SPEAK_ANNOUNCED)
		snprintf(text, 256, "bgp %s: %s", speak_reason_name(by_bgp.reason), by_bgp.message);
	if (by_l2.reason != SPEAK_ANNOUNCED)
		snprintf(text + strlen(text), 256, "%sl2 %s: %s", *text ? "; " : "",
			 speak_reason_name(by_l2.reason), by_l2.message);
	return text;
}

/* The nodes that could announce it say themselves why they do not. */
static void nothing_is_said_while_a_node_speaks_for_itself(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[512];

	use_bgp(make_whole(&c, &tor), &plain);
	assert_string_equal(absence(&c, s, text), "");
	s.has_endpoint = false;
	s.n_nodes = 0;
	s.local = true;
	assert_string_equal(absence(&c, s, text), "");
	use_bgp(make_whole(&c, &tor), &at_edge);
	assert_string_equal(absence(&c, service(), text), "");
	use_l2(make_whole(&c, &tor), &lan);
	assert_string_equal(absence(&c, service(), text), "");
}

static void a_service_without_an_advertisement_is_told_for_both(void **state)
{
	struct cluster c;
	char text[512];

	make_whole(&c, &tor);
	assert_string_equal(absence(&c, service(), text),
			    "bgp noMatchingAdvertisement: no BGPAdvertisement and no "
			    "L2Advertisement selects the pool pool; l2 noMatchingAdvertisement: no "
			    "BGPAdvertisement and no L2Advertisement selects the pool pool");
}

static void addresses_are_told_for_the_protocols_in_use(void **state)
{
	static const struct addr both[] = { V4(7), { AF_INET, { 10, 0, 0, 1 } } };
	struct cluster c;
	struct speak_service s = service();
	char text[512];

	s.addresses = both;
	s.n_addresses = 2;
	use_bgp(make_whole(&c, &tor), &plain);
	assert_string_equal(absence(&c, s, text),
			    "bgp ipNotAllowed: no IPAddressPool has all of its addresses");
	use_l2(make_whole(&c, &tor), &lan);
	assert_string_equal(absence(&c, s, text),
			    "l2 ipNotAllowed: no IPAddressPool has all of its addresses");
	s.addresses = &foreign; /* another program has given it */
	s.n_addresses = 1;
	assert_string_equal(absence(&c, s, text), "");
	s.n_addresses = 0; /* every Service begins so */
	assert_string_equal(absence(&c, s, text), "");
}

static void why_no_node_announces_over_bgp(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[512];

	use_bgp(make_whole(&c, &tor), &for_gold);
	assert_string_equal(absence(&c, s, text),
			    "bgp noMatchingAdvertisement: no BGPAdvertisement of the pool pool "
			    "selects the labels of the Service");
	use_bgp(make_whole(&c, &tor), &at_edge);
	c.nodes[2].is_alive = false;
	assert_string_equal(absence(&c, s, text),
			    "bgp notOwner: no node with a living speaker is selected by at-edge");
	use_bgp(make_whole(&c, &tor), &for_spine);
	assert_string_equal(absence(&c, s, text),
			    "bgp noMatchingPeer: no BGPPeer of a node that for-spine selects gets "
			    "it and carries its family");
	use_bgp(make_whole(&c, &six_only), &plain);
	assert_string_equal(absence(&c, s, text),
			    "bgp noMatchingPeer: no BGPPeer of a node that plain selects gets it "
			    "and carries its family");
	use_bgp(make_whole(&c, &edge_tor), &plain);
	assert_string_equal(absence(&c, s, text), "");
	s.local = true; /* its endpoint is on b, its peer at e */
	assert_string_equal(
		absence(&c, s, text),
		"bgp noLocalEndpoints: externalTrafficPolicy is Local, and no node that "
		"a BGPAdvertisement selects has a usable endpoint; those with one: b");
}

/* The configuration of another node is not valid: its ConfigurationState says so. */
static void without_the_whole_configuration_nothing_is_said_about_bgp(void **state)
{
	struct cluster c;
	char text[512];

	use_bgp(make_whole(&c, &tor), &for_gold);
	c.cluster.whole = NULL;
	assert_string_equal(absence(&c, service(), text), "");
}

static void why_no_node_owns_an_address(void **state)
{
	struct cluster c;
	struct speak_service s = service();
	char text[512];

	use_l2(make_whole(&c, &tor), &gold_lan);
	assert_string_equal(absence(&c, s, text),
			    "l2 noMatchingAdvertisement: no L2Advertisement of the pool pool "
			    "selects the labels of the Service");
	use_l2(make_whole(&c, &tor), &edge_lan);
	c.nodes[2].is_alive = false;
	assert_string_equal(absence(&c, s, text),
			    "l2 noMatchingAdvertisement: no L2Advertisement selects a node with a "
			    "living speaker");
	c.nodes[2] = (struct speak_node){
		.name = "e", .labels = { edge, 1 }, .network_unavailable = true, .is_alive = true
	};
	assert_string_equal(absence(&c, s, text),
			    "l2 nodeNetworkUnavailable: of every node that an L2Advertisement "
			    "selects: the network of the node is unavailable");
	c.nodes[2].network_unavailable = false;
	s.local = true;
	assert_string_equal(absence(&c, s, text),
			    "l2 noLocalEndpoints: externalTrafficPolicy is Local, and no node that "
			    "an L2Advertisement selects has a usable endpoint; those with one: b");
	s.has_endpoint = false;
	assert_string_equal(absence(&c, s, text),
			    "l2 noEndpoints: no endpoint of the Service is ready or serving");
}

static void one_living_node_speaks_for_all(void **state)
{
	struct cluster c;
	size_t n = 0;

	make(&c);
	c.nodes[2].is_alive = false; /* it would be the first */
	for (size_t i = 0; i < 3; i++) {
		c.cluster.own = &c.nodes[i];
		n += speak_is_reporter(&c.cluster, "192.0.2.7");
		assert_int_equal(speak_is_reporter(&c.cluster, "192.0.2.7"), i == 1);
	}
	assert_int_equal(n, 1);
}

static void every_reason_has_a_word(void **state)
{
	for (size_t i = 0; i < SPEAK_REASONS; i++) {
		assert_non_null(speak_reason_name(i));
		assert_non_null(speak_reason_text(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_announces_over_bgp),
		cmocka_unit_test(why_not_over_bgp),
		cmocka_unit_test(a_node_may_be_unable_to_announce),
		cmocka_unit_test(the_traffic_policy_says_whose_endpoints_count),
		cmocka_unit_test(the_data_plane_needs_no_endpoint_here),
		cmocka_unit_test(a_refusal_of_the_node_keeps_the_advertisements),
		cmocka_unit_test(one_node_owns_an_address),
		cmocka_unit_test(an_owner_needs_its_data_plane),
		cmocka_unit_test(candidates_are_able_and_selected),
		cmocka_unit_test(preferences_go_before_the_hash),
		cmocka_unit_test(interfaces_add_up),
		cmocka_unit_test(shared_addresses_go_with_no_service_selector),
		cmocka_unit_test(nothing_is_said_while_a_node_speaks_for_itself),
		cmocka_unit_test(a_service_without_an_advertisement_is_told_for_both),
		cmocka_unit_test(addresses_are_told_for_the_protocols_in_use),
		cmocka_unit_test(why_no_node_announces_over_bgp),
		cmocka_unit_test(without_the_whole_configuration_nothing_is_said_about_bgp),
		cmocka_unit_test(why_no_node_owns_an_address),
		cmocka_unit_test(one_living_node_speaks_for_all),
		cmocka_unit_test(every_reason_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
