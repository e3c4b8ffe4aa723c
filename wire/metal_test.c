/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/metal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/metal/config.h"
#include "lib/k8s/feed.h"

/* Resources of a cluster, made of the text of their specs. */
struct cluster {
	struct k8s_names *names;
	struct k8s_kind *kinds[WIRE_METAL_KINDS];
	VEC(const struct k8s_object *) objects[WIRE_METAL_KINDS];
	enum wire_metal_kind adding;
	struct arena *arena;
};

static int set_up(void **state)
{
	struct cluster *c = mem_zalloc(sizeof(*c));

	c->names = k8s_names_new();
	c->arena = arena_new();
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++)
		c->kinds[i] = k8s_kind_new(wire_metal_kinds[i].layout, c->names);
	*state = c;
	return 0;
}

static void clear(struct cluster *c)
{
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++) {
		for (size_t j = 0; j < c->objects[i].n; j++)
			k8s_object_unref(c->kinds[i], c->objects[i].items[j]);
		vec_free(&c->objects[i]);
	}
	arena_reset(c->arena);
}

static int tear_down(void **state)
{
	struct cluster *c = *state;

	clear(c);
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++)
		k8s_kind_free(c->kinds[i]);
	k8s_names_free(c->names);
	arena_free(c->arena);
	free(c);
	return 0;
}

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	struct cluster *c = user;

	vec_push(&c->objects[c->adding], k8s_object_keep(c->kinds[c->adding], e->object));
	return true;
}

static void add_text(struct cluster *c, enum wire_metal_kind kind, const char *text)
{
	struct k8s_feed *feed = k8s_feed_new(c->kinds[kind], K8S_FEED_OBJECT, on_object, c);

	c->adding = kind;
	if (k8s_feed_take(feed, text, strlen(text)) < 0 || k8s_feed_end(feed) < 0)
		fail_msg("%s: %s", k8s_feed_reason(feed), text);
	k8s_feed_free(feed);
}

/* spec: single quotes stand for double ones. */
static void add(struct cluster *c, enum wire_metal_kind kind, const char *name, const char *spec)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text,
		   "{'metadata':{'name':'%s','namespace':'metallb-system','resourceVersion':'1',"
		   "'labels':{'name':'%s'}},'type':'kubernetes.io/basic-auth','spec':{%s},"
		   "'data':{'password':'c2VjcmV0'}}",
		   name, name, spec);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\'')
			text.p[i] = '"';
	add_text(c, kind, buf_cstr(&text));
}

static const char *build(struct cluster *c, const struct metal_options *options,
			 struct metal_config *ret)
{
	struct wire_metal from = { 0 };
	struct metal_error error = { 0 };
	struct metal_doc doc;

	for (size_t i = 0; i < WIRE_METAL_KINDS; i++)
		from.kinds[i] = (struct wire_metal_objects){ c->objects[i].items, c->objects[i].n };
	wire_metal_doc(&from, c->arena, &doc);
	if (metal_config_build(&doc, options, c->arena, ret, &error) == 0)
		return NULL;
	return error.text;
}

#define POOL WIRE_POOLS
#define PEER WIRE_PEERS
#define BGP WIRE_BGP_ADVERTISEMENTS
#define L2 WIRE_L2_ADVERTISEMENTS
#define BFD WIRE_BFD_PROFILES
#define ALIAS WIRE_COMMUNITIES

struct item {
	enum wire_metal_kind kind;
	const char *name, *spec;
};

/* What is said about the resources; NULL: they are valid. */
static const struct {
	const char *error;
	struct item items[4];
} table[] = {
	{ NULL,
	  { { POOL, "p", "'addresses':['10.0.0.0/24','10.0.1.1 - 10.0.1.9','fc00::/120']" } } },
	{ "parsing address pool p: pool has no prefixes defined", { { POOL, "p", "" } } },
	{ "parsing address pool p: invalid CIDR \"10.0.0.0/33\" in pool \"p\": invalid CIDR "
	  "\"10.0.0.0/33\"",
	  { { POOL, "p", "'addresses':['10.0.0.0/33']" } } },
	{ "parsing address pool p: invalid CIDR \"10.0.0.9-10.0.0.1\" in pool \"p\": invalid IP "
	  "range \"10.0.0.9-10.0.0.1\": start IP \"10.0.0.9\" is after the end IP \"10.0.0.1\"",
	  { { POOL, "p", "'addresses':['10.0.0.9-10.0.0.1']" } } },
	{ "parsing address pool p: invalid CIDR \"10.0.0.9-x\" in pool \"p\": invalid IP range "
	  "\"10.0.0.9-x\": invalid end IP \"x\"",
	  { { POOL, "p", "'addresses':['10.0.0.9-x']" } } },
	{ "CIDR \"10.0.0.0/25\" in pool \"q\" overlaps with already defined CIDR \"10.0.0.0/24\"",
	  { { POOL, "q", "'addresses':['10.0.0.9/25']" },
	    { POOL, "p", "'addresses':['10.0.0.0/24']" } } },
	{ "CIDR \"10.0.0.0/8\" in pool \"q\" overlaps with already defined CIDR \"10.9.0.0/24\"",
	  { { POOL, "p", "'addresses':['10.9.0.0/24']" },
	    { POOL, "q", "'addresses':['10.0.0.0/8']" } } },
	{ "parsing address pool p: duplicate definition in namespaces field",
	  { { POOL, "p",
	      "'addresses':['10.0.0.0/24'],'serviceAllocation':{'namespaces':['a','b','a']}" } } },
	{ "parsing address pool p: duplicate definition of serviceSelectors \"a=b\"",
	  { { POOL, "p",
	      "'addresses':['10.0.0.0/24'],'serviceAllocation':{'serviceSelectors':["
	      "{'matchLabels':{'a':'b'}},{'matchLabels':{'a':'b'}}]}" } } },
	{ "parsing address pool p: duplicate definition of match expression value in label "
	  "selector "
	  "\"x\"",
	  { { POOL, "p",
	      "'addresses':['10.0.0.0/24'],'serviceAllocation':{'namespaceSelectors':["
	      "{'matchExpressions':[{'key':'a','operator':'In','values':['x','x']}]}]}" } } },

	{ NULL, { { PEER, "r", "'myASN':64500,'peerASN':64501,'peerAddress':'10.0.0.1'" } } },
	{ "parsing peer r missing local ASN",
	  { { PEER, "r", "'peerASN':1,'peerAddress':'10.0.0.1'" } } },
	{ "parsing peer r missing peer ASN and dynamicASN",
	  { { PEER, "r", "'myASN':1,'peerAddress':'10.0.0.1'" } } },
	{ "parsing peer r both peer ASN and dynamicASN specified",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'dynamicASN':'external','peerAddress':'10.0.0.1'" } } },
	{ "parsing peer r invalid ebgp-multihop parameter set for an ibgp peer",
	  { { PEER, "r", "'myASN':1,'peerASN':1,'ebgpMultiHop':true,'peerAddress':'10.0.0.1'" } } },
	{ "parsing peer r peer has no Address or Interface specified",
	  { { PEER, "r", "'myASN':1,'peerASN':2" } } },
	{ "parsing peer r invalid BGPPeer address \"10.0.0.256\"",
	  { { PEER, "r", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.256'" } } },
	{ "parsing peer r invalid router ID \"r1\"",
	  { { PEER, "r", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','routerID':'r1'" } } },
	{ "parsing peer r invalid source IP \"s1\"",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','sourceAddress':'s1'" } } },
	{ "parsing peer r invalid BGPPeer timers: invalid hold time \"1s\": must be 0 or >=3s",
	  { { PEER, "r", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','holdTime':'1s'" } } },
	{ "parsing peer r invalid BGPPeer timers: invalid keepaliveTime \"9s\", must be lower than "
	  "holdTime \"3s\"",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','holdTime':'3s','keepaliveTime':'"
	      "9s'" } } },
	{ "parsing peer r connect time should contain a whole number of seconds",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','connectTime':'1500ms'" } } },
	{ "parsing peer r can not have both password and secret ref set in peer config "
	  "\"metallb-system\"/\"r\"",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','password':'x','passwordSecret':{'"
	      "name':'s'}" } } },
	{ "parsing peer r secret ref not found for peer config \"metallb-system\"/\"r\"\n"
	  "failed to parse peer r password secret",
	  { { PEER, "r",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','passwordSecret':{'name':'s'}" } } },
	{ "peer r referencing non existing bfd profile fast",
	  { { PEER, "r", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','bfdProfile':'fast'" } } },
	{ "peer 10.0.0.2 has myAsn different from 10.0.0.1, in FRR mode peers selecting the same "
	  "node must have the same myAsn within the same VRF",
	  { { PEER, "a", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1'" },
	    { PEER, "b", "'myASN':3,'peerASN':2,'peerAddress':'10.0.0.2'" } } },
	{ NULL,
	  { { PEER, "a", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1'" },
	    { PEER, "b", "'myASN':3,'peerASN':2,'peerAddress':'10.0.0.2','vrf':'red'" } } },
	{ "peer 10.0.0.1 already exists, FRR mode doesn't support duplicate BGPPeers selecting the "
	  "same node",
	  { { PEER, "a", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1'" },
	    { PEER, "b", "'myASN':1,'peerASN':4,'peerAddress':'10.0.0.1'" } } },
	{ "peer 1.1.1.1 has RouterID different from , in FRR mode peers selecting the same node "
	  "must "
	  "all have the same RouterID",
	  { { PEER, "a", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1'" },
	    { PEER, "b",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.2','routerID':'1.1.1.1'" } } },
	{ NULL,
	  { { PEER, "a",
	      "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','nodeSelectors':[{'matchLabels':{'"
	      "name':'n1'}}]" },
	    { PEER, "b",
	      "'myASN':3,'peerASN':2,'peerAddress':'10.0.0.1','nodeSelectors':[{'matchLabels':{'"
	      "name':'n2'}}]" },
	    { WIRE_NODES, "n1", "" },
	    { WIRE_NODES, "n2", "" } } },

	{ "parsing bfd profile #1: invalid value 1, must be in 2-255 range\n"
	  "invalid detect multiplier value",
	  { { BFD, "f", "'detectMultiplier':1" } } },
	{ "pool p has bgpadvertisement a which references peer r which has bfd echo enabled, which "
	  "is not possible",
	  { { BFD, "f", "'echoMode':true" },
	    { PEER, "r", "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','bfdProfile':'f'" },
	    { POOL, "p", "'addresses':['fc00::/120']" },
	    { BGP, "a", "" } } },

	{ "duplicate definition of community \"vpn\"",
	  { { ALIAS, "c", "'communities':[{'name':'vpn','value':'1:2'}]" },
	    { ALIAS, "d", "'communities':[{'name':'vpn','value':'1:3'}]" } } },
	{ "parsing community \"vpn\": invalid community value: invalid section \"70000\" of "
	  "community \"1:70000\", err: \"strconv.ParseUint: parsing \"70000\": value out of "
	  "range\"",
	  { { ALIAS, "c", "'communities':[{'name':'vpn','value':'1:70000'}]" } } },
	{ "invalid community format: vpn\ninvalid community \"vpn\" in BGP advertisement",
	  { { BGP, "a", "'communities':['vpn']" } } },
	{ "duplicate definition of community \"1:2\"",
	  { { BGP, "a", "'communities':['1:2','1:2']" } } },
	{ "duplicate definition of ipAddressPools \"p\"",
	  { { BGP, "a", "'ipAddressPools':['p','p']" } } },
	{ "duplicate definition of nodeSelectors \"a=b\"",
	  { { L2, "a",
	      "'nodeSelectors':[{'matchLabels':{'a':'b'}},{'matchLabels':{'a':'b'}}]" } } },
	{ "\"Like\" is not a valid label selector operator\nfailed to parse node selector for a",
	  { { L2, "a",
	      "'nodeSelectors':[{'matchExpressions':[{'key':'a','operator':'Like'}]}]" } } },
	{ "invalid aggregation length \"33\" for IPv4",
	  { { BGP, "a", "'aggregationLength':33" } } },
	{ "serviceSelectors and aggregationLength are mutually exclusive, both cannot be set in a",
	  { { BGP, "a", "'aggregationLength':24,'serviceSelectors':[{}]" } } },
	{ "invalid aggregation length 24: prefix 26 in this pool is more specific than the "
	  "aggregation length for addresses 10.0.0.0/26",
	  { { POOL, "p", "'addresses':['10.0.0.0/26']" },
	    { BGP, "a", "'aggregationLength':24" } } },
	{ "invalid local preference 200: local preferernce 100 was already set for the same type "
	  "of "
	  "BGP update. Check existing BGP advertisements with common pools and aggregation lengths",
	  { { POOL, "p", "'addresses':['10.0.0.0/24']" },
	    { BGP, "a", "'localPref':100" },
	    { BGP, "b", "'localPref':200" },
	    { WIRE_NODES, "n1", "" } } },
	{ NULL,
	  { { POOL, "p", "'addresses':['10.0.0.0/24']" },
	    { BGP, "a", "'localPref':100,'aggregationLength':24" },
	    { BGP, "b", "'localPref':200" },
	    { WIRE_NODES, "n1", "" } } },
	{ NULL,
	  { { POOL, "p", "'addresses':['10.0.0.0/24']" },
	    { BGP, "a", "'localPref':100,'peers':['x']" },
	    { BGP, "b", "'localPref':200,'peers':['y']" },
	    { WIRE_NODES, "n1", "" } } },
};

static void every_mistake_has_the_words_of_metallb(void **state)
{
	struct cluster *c = *state;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct metal_config config;
		const char *got;

		for (size_t j = 0; j < 4 && table[i].items[j].name; j++)
			add(c, table[i].items[j].kind, table[i].items[j].name,
			    table[i].items[j].spec);
		got = build(c, NULL, &config);
		if ((got == NULL) != (table[i].error == NULL) ||
		    (got && strcmp(got, table[i].error) != 0))
			fail_msg("row %zu:\n%s\ninstead of\n%s", i, got ? got : "valid",
				 table[i].error ? table[i].error : "valid");
		clear(c);
	}
}

static void values_of_resources_arrive(void **state)
{
	struct cluster *c = *state;
	struct metal_config config;
	const struct metal_peer *peer;

	add(c, POOL, "p",
	    "'addresses':['10.0.0.0/24'],'autoAssign':false,'avoidBuggyIPs':true,"
	    "'serviceAllocation':{'priority':5,'namespaces':['z'],"
	    "'namespaceSelectors':[{'matchLabels':{'name':'blue'}}]}");
	add(c, WIRE_NAMESPACES, "blue", "");
	add(c, WIRE_NAMESPACES, "red", "");
	add(c, WIRE_SECRETS, "s", "");
	add(c, BFD, "f", "'receiveInterval':20,'minimumTtl':7,'passiveMode':true");
	add(c, PEER, "r",
	    "'myASN':64500,'dynamicASN':'internal','interface':'eth0','keepaliveTime':'2s',"
	    "'connectTime':'5s','bfdProfile':'f','passwordSecret':{'name':'s'},'vrf':'red',"
	    "'dualStackAddressFamily':true");
	add(c, ALIAS, "c", "'communities':[{'name':'vpn','value':'65535:65281'}]");
	add(c, BGP, "a", "'communities':['large:1:2:3','vpn','00001:2'],'ipAddressPools':['p']");
	add(c, L2, "l",
	    "'interfaces':['eth1','eth0'],'ipAddressPoolSelectors':[{'matchLabels':{'name':'p'}}],"
	    "'preferredNodeSelectors':[{'weight':7,'preference':{'matchLabels':{'name':'n'}}}]");
	assert_null(build(c, NULL, &config));
	assert_int_equal(config.n_pools, 1);
	assert_false(config.pools->auto_assign);
	assert_true(config.pools->avoid_buggy_ips);
	assert_int_equal(config.pools->priority, 5);
	assert_int_equal(config.pools->namespaces.n, 2);
	assert_string_equal(config.pools->namespaces.items[0], "blue");
	assert_int_equal(config.pools->n_bgp, 1);
	assert_int_equal(config.pools->n_l2, 1);
	peer = config.peers;
	assert_int_equal(peer->as, METAL_AS_INTERNAL);
	assert_int_equal(peer->hold_ns, 6000000000);
	assert_int_equal(peer->connect_ns, 5000000000);
	assert_string_equal(peer->password, "secret");
	assert_int_equal(peer->profile->receive_ms, 20);
	assert_true(peer->profile->passive);
	assert_int_equal(peer->port, 179);
	assert_int_equal(config.bgp->communities.n, 2);
	assert_string_equal(config.bgp->communities.items[0], "1:2");
	assert_string_equal(config.bgp->large_communities.items[0], "1:2:3");
	assert_string_equal(config.l2->interfaces.items[0], "eth0");
	assert_int_equal(config.l2->preferences->weight, 7);
}

static void webhooks_do_not_look_up_what_may_come_later(void **state)
{
	struct cluster *c = *state;
	struct metal_config config;

	add(c, PEER, "r",
	    "'myASN':1,'peerASN':2,'peerAddress':'10.0.0.1','bfdProfile':'f','passwordSecret':{'"
	    "name':'s'}");
	add(c, BGP, "a", "'communities':['vpn']");
	assert_non_null(build(c, NULL, &config));
	assert_null(build(c, &(struct metal_options){ .early = true }, &config));
}

static void a_bad_peer_does_not_hide_good_pools(void **state)
{
	struct cluster *c = *state;
	struct metal_config config;

	add(c, POOL, "p", "'addresses':['10.0.0.0/24']");
	add(c, PEER, "r", "'myASN':1");
	assert_non_null(build(c, NULL, &config));
	assert_null(build(c, &(struct metal_options){ .pools_only = true }, &config));
	assert_int_equal(config.n_pools, 1);
}

static void a_bad_peer_of_another_node_does_not_matter(void **state)
{
	static const struct label mine[] = { { "name", "n2" } };
	struct labels node = { mine, 1 };
	struct cluster *c = *state;
	struct metal_config config;

	add(c, PEER, "r", "'myASN':1,'nodeSelectors':[{'matchLabels':{'name':'n1'}}]");
	assert_non_null(build(c, NULL, &config));
	assert_null(build(c, &(struct metal_options){ .node = &node }, &config));
	assert_int_equal(config.n_peers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_mistake_has_the_words_of_metallb, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(values_of_resources_arrive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(webhooks_do_not_look_up_what_may_come_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bad_peer_does_not_hide_good_pools, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bad_peer_of_another_node_does_not_matter, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
