/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of models. model_test.conf is that of `example`; tests/e2e/test_frr_render.py loads it
 * into FRR and compares what peers receive with the classes below.
 */
#include "core/frr/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "core/frr/diff.h"

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
			0x20, 0x01, 0x0d, 0xb8, [15] = (last)                                      \
		}                                                                                  \
	}
#define ULA(last)                                                                                  \
	{                                                                                          \
		AF_INET6,                                                                          \
		{                                                                                  \
			0xfd, [15] = (last)                                                        \
		}                                                                                  \
	}

static const struct frr_bfd profiles[] = {
	{ .name = "slow", .receive_ms = 1000, .transmit_ms = 1000, .passive = true },
	{ .name = "fast", .receive_ms = 100, .transmit_ms = 100, .multiplier = 5 },
};

static const char *const for_away[] = { "64512:777", "64512:10" };
static const char *const large_for_away[] = { "64512:1:9" };

static const struct frr_peer peers[] = {
	{ .name = "tor",
	  .address = V4(10, 0, 0, 2),
	  .asn = 64513,
	  .password = "open-sesame",
	  .bfd = "fast",
	  .has_timers = true,
	  .keepalive_s = 3,
	  .hold_s = 9,
	  .connect_s = 1,
	  .graceful_restart = true,
	  .ipv4 = true },
	{ .name = "tor6", .address = ULA(2), .asn = 64513, .connect_s = 1, .ipv6 = true },
	{ .name = "core",
	  .address = V4(10, 0, 0, 3),
	  .as_kind = FRR_AS_INTERNAL,
	  .connect_s = 1,
	  .graceful_restart = true,
	  .ipv4 = true,
	  .ipv6 = true,
	  .attributes = { .has_local_preference = true, .local_preference = 120 } },
	{ .name = "away",
	  .address = V4(10, 0, 0, 4),
	  .asn = 64515,
	  .local_asn = 64999,
	  .port = 1790,
	  .source = V4(10, 0, 0, 1),
	  .ebgp_multihop = true,
	  .connect_s = 1,
	  .ipv4 = true,
	  .attributes = { .has_med = true,
			  .med = 70,
			  .communities = for_away,
			  .n_communities = 2,
			  .large_communities = large_for_away,
			  .n_large_communities = 1 } },
	{ .name = "spine",
	  .interface = "uplink",
	  .as_kind = FRR_AS_EXTERNAL,
	  .bfd = "fast",
	  .connect_s = 1,
	  .ipv4 = true,
	  .ipv6 = true },
};

static const char *const communities[] = { "no-export", "64512:10", "64512:2", "65535:65281" };
static const char *const large[] = { "64512:1:20", "64512:1:3" };
static const char *const leaving[] = { "graceful-shutdown" };
static const char *const tors[] = { "tor", "tor6", "core" };
static const char *const only_core[] = { "core" };

static const struct frr_class classes[] = {
	{ .number = 3, .prepend = 3, .peers = tors, .n_peers = 3 },
	{ .number = 1 },
	{ .number = 2,
	  .attributes = { .has_local_preference = true,
			  .local_preference = 150,
			  .has_med = true,
			  .med = 50,
			  .communities = communities,
			  .n_communities = 4,
			  .large_communities = large,
			  .n_large_communities = 2 } },
	{ .number = 7,
	  .attributes = { .has_local_preference = true,
			  .local_preference = 0,
			  .communities = leaving,
			  .n_communities = 1 },
	  .peers = only_core,
	  .n_peers = 1 },
};

static const struct frr_prefix prefixes[] = {
	{ V6(2), 128, 2 },	     { V4(192, 0, 2, 10), 32, 3 },   { V4(192, 0, 2, 2), 32, 2 },
	{ V4(192, 0, 2, 1), 32, 1 }, { V4(198, 51, 100, 0), 24, 7 }, { V6(1), 128, 1 },
	{ V6(16), 128, 3 },
};

static const struct frr_router routers[] = {
	{ .asn = 64512,
	  .id = V4(10, 0, 0, 1),
	  .peers = peers,
	  .n_peers = ARRAY_SIZE(peers),
	  .prefixes = prefixes,
	  .n_prefixes = ARRAY_SIZE(prefixes) },
};

static const struct frr_model example = {
	.log_level = "informational",
	.routers = routers,
	.n_routers = ARRAY_SIZE(routers),
	.classes = classes,
	.n_classes = ARRAY_SIZE(classes),
	.profiles = profiles,
	.n_profiles = ARRAY_SIZE(profiles),
};

/* ---- helpers ---- */

static void render(const struct frr_model *m, struct buf *out)
{
	frr_render(m, out);
	buf_cstr(out);
}

static void check(const struct frr_model *m, const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	render(m, &out);
	assert_string_equal(out.p, expected);
}

static void parse(const struct frr_model *m, struct frr_conf *ret)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	render(m, &out);
	assert_int_equal(frr_conf_parse((struct str){ out.p, out.n }, ret), 0);
}

/* The operations from one model to another, one per line. */
static void print_plan(const struct frr_model *from, const struct frr_model *to, struct buf *out)
{
	_cleanup_(frr_conf_free) struct frr_conf running = { 0 }, wanted = { 0 };
	_cleanup_(frr_plan_free) struct frr_plan plan = { 0 };

	parse(from, &running);
	parse(to, &wanted);
	frr_diff(&running, &running, &wanted, &plan);
	if (plan.why[0])
		buf_printf(out, "why: %s\n", plan.why);
	for (size_t i = 0; i < plan.ops.n; i++) {
		frr_op_print(&plan.ops.items[i], out);
		buf_addc(out, '\n');
	}
}

static void check_plan(const struct frr_model *from, const struct frr_model *to,
		       const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	print_plan(from, to, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

/* A copy of the example, to be changed: one router, and arrays of its own. */
struct copy {
	struct frr_model m;
	struct frr_router router;
	struct frr_peer peers[8];
	struct frr_prefix prefixes[16];
	struct frr_class classes[8];
	struct frr_bfd profiles[4];
};

static void copy(struct copy *c)
{
	c->m = example;
	c->router = routers[0];
	memcpy(c->peers, peers, sizeof(peers));
	memcpy(c->prefixes, prefixes, sizeof(prefixes));
	memcpy(c->classes, classes, sizeof(classes));
	memcpy(c->profiles, profiles, sizeof(profiles));
	c->router.peers = c->peers;
	c->router.prefixes = c->prefixes;
	c->m.routers = &c->router;
	c->m.classes = c->classes;
	c->m.profiles = c->profiles;
}

/* ---- texts ---- */

static void the_example_is_the_file(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	char golden[16384];
	FILE *file = fopen(EXAMPLE, "re");
	size_t n;

	assert_non_null(file);
	n = fread(golden, 1, sizeof(golden) - 1, file);
	fclose(file);
	golden[n] = '\0';
	render(&example, &out);
	assert_string_equal(out.p, strchr(golden, '\n') + 1); /* after its licence */
}

#define HEAD                                                                                       \
	"ip nht resolve-via-default\n"                                                             \
	"ipv6 nht resolve-via-default\n"                                                           \
	"!\n"                                                                                      \
	"route-map maglev-in deny 10\n"                                                            \
	"exit\n"

static void an_empty_model_accepts_and_announces_nothing(void **state)
{
	check(&(struct frr_model){ 0 }, HEAD);
}

static void extra_text_comes_last_and_ends_with_a_newline(void **state)
{
	check(&(struct frr_model){ .extra = "ip route 192.0.2.0/24 blackhole" },
	      HEAD "!\nip route 192.0.2.0/24 blackhole\n");
	check(&(struct frr_model){ .extra = "hostname a\n" }, HEAD "!\nhostname a\n");
}

/* A family that neither a peer nor a prefix uses is not written. */
static void routers_of_vrfs_come_after_the_default_one(void **state)
{
	const struct frr_peer peer = { .name = "a", .address = V4(10, 1, 0, 1), .asn = 1 };
	const struct frr_router both[] = {
		{ .asn = 64513, .vrf = "red", .peers = &peer, .n_peers = 1 },
		{ .asn = 4200000000 },
	};

	check(&(struct frr_model){ .routers = both, .n_routers = 2 },
	      HEAD "!\n"
		   "router bgp 4200000000\n"
		   " no bgp ebgp-requires-policy\n"
		   " no bgp default ipv4-unicast\n"
		   " coalesce-time 0\n"
		   " no bgp network import-check\n"
		   " no bgp shutdown\n"
		   "exit\n"
		   "!\n"
		   "route-map maglev-out-a deny 65535\n"
		   "exit\n"
		   "!\n"
		   "router bgp 64513 vrf red\n"
		   " no bgp ebgp-requires-policy\n"
		   " no bgp default ipv4-unicast\n"
		   " coalesce-time 0\n"
		   " no bgp network import-check\n"
		   " no bgp shutdown\n"
		   " neighbor 10.1.0.1 remote-as 1\n"
		   " neighbor 10.1.0.1 graceful-restart-disable\n"
		   "exit\n");
}

/* The lines of one peer of a router with ASN 64512; it has no families. */
static void check_peer(struct frr_peer peer, const char *expected)
{
	const struct frr_router router = { .asn = 64512, .peers = &peer, .n_peers = 1 };
	const struct frr_model m = { .routers = &router, .n_routers = 1 };
	_cleanup_(buf_free) struct buf out = { 0 };
	char *from, *to;

	peer.name = "x";
	render(&m, &out);
	from = strstr(out.p, " neighbor");
	assert_non_null(from);
	to = strstr(from, "exit\n");
	assert_non_null(to);
	*to = '\0';
	assert_string_equal(from, expected);
}

static void a_peer_has_the_lines_that_it_needs(void **state)
{
	const struct addr v4 = V4(10, 0, 0, 9), v6 = ULA(9);

	check_peer((struct frr_peer){ .address = v6, .asn = 64513 },
		   " neighbor fd00::9 remote-as 64513\n"
		   " neighbor fd00::9 disable-connected-check\n"
		   " neighbor fd00::9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .address = v6, .asn = 64513, .ebgp_multihop = true },
		   " neighbor fd00::9 remote-as 64513\n"
		   " neighbor fd00::9 ebgp-multihop 255\n"
		   " neighbor fd00::9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .address = v6, .asn = 64512, .ebgp_multihop = true },
		   " neighbor fd00::9 remote-as 64512\n"
		   " neighbor fd00::9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .address = v6, .as_kind = FRR_AS_EXTERNAL },
		   " neighbor fd00::9 remote-as external\n"
		   " neighbor fd00::9 disable-connected-check\n"
		   " neighbor fd00::9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .interface = "eth0", .as_kind = FRR_AS_INTERNAL },
		   " neighbor eth0 interface remote-as internal\n"
		   " neighbor eth0 graceful-restart-disable\n");
	check_peer(
		(struct frr_peer){ .address = v4, .asn = 64512, .port = 179, .has_timers = true },
		" neighbor 10.0.0.9 remote-as 64512\n"
		" neighbor 10.0.0.9 timers 0 0\n"
		" neighbor 10.0.0.9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .address = v4, .asn = 1, .bfd = "p", .source = v4 },
		   " neighbor 10.0.0.9 remote-as 1\n"
		   " neighbor 10.0.0.9 bfd\n"
		   " neighbor 10.0.0.9 bfd profile p\n"
		   " neighbor 10.0.0.9 update-source 10.0.0.9\n"
		   " neighbor 10.0.0.9 graceful-restart-disable\n");
	check_peer((struct frr_peer){ .address = v4, .asn = 1, .graceful_restart = true },
		   " neighbor 10.0.0.9 remote-as 1\n"
		   " neighbor 10.0.0.9 graceful-restart\n");
}

static bool bfdd_has(struct frr_peer peer, const char *text)
{
	static const struct frr_bfd profile = { .name = "p" };
	const struct frr_router router = {
		.asn = 64512, .vrf = "red", .peers = &peer, .n_peers = 1
	};
	const struct frr_model m = {
		.profiles = &profile, .n_profiles = 1, .routers = &router, .n_routers = 1
	};
	_cleanup_(buf_free) struct buf out = { 0 };
	bool bgpd;

	peer.name = "peer";
	peer.bfd = "p";
	peer.graceful_restart = true;
	render(&m, &out);
	bgpd = strstr(buf_cstr(&out), " bfd profile p\n") != NULL;
	assert_true(bgpd != (strstr(out.p, text) != NULL));
	return !bgpd;
}

/* bfdd ends a session with the bgpd that asked for it */
static void bfd_outlives_bgpd_where_bfdd_can_find_the_peer_alone(void **state)
{
	const char *const block = " peer 10.0.0.9 vrf red\n  profile p\n exit\n";
	const struct addr v4 = V4(10, 0, 0, 9), own = V4(10, 0, 0, 1);

	assert_true(bfdd_has((struct frr_peer){ .address = v4, .asn = 1 }, block));
	assert_true(bfdd_has((struct frr_peer){ .address = v4, .asn = 1, .source = own },
			     " peer 10.0.0.9 local-address 10.0.0.1 vrf red\n  profile p\n"));
	assert_false(bfdd_has((struct frr_peer){ .address = v4, .asn = 64512 }, block));
	assert_false(bfdd_has((struct frr_peer){ .address = v4, .asn = 1, .ebgp_multihop = true },
			      block));
	assert_false(bfdd_has((struct frr_peer){ .interface = "eth0", .as_kind = FRR_AS_EXTERNAL },
			      " peer "));
}

static void a_profile_names_only_what_is_set(void **state)
{
	const struct frr_bfd all = { .name = "all",
				     .receive_ms = 10,
				     .transmit_ms = 20,
				     .multiplier = 4,
				     .echo_mode = true,
				     .echo_ms = 30,
				     .passive = true,
				     .minimum_ttl = 250 };

	check(&(struct frr_model){ .profiles = &all, .n_profiles = 1 },
	      HEAD "!\n"
		   "bfd\n"
		   " profile all\n"
		   "  detect-multiplier 4\n"
		   "  receive-interval 10\n"
		   "  transmit-interval 20\n"
		   "  echo transmit-interval 30\n"
		   "  echo receive-interval 30\n"
		   "  echo-mode\n"
		   "  passive-mode\n"
		   "  minimum-ttl 250\n"
		   " exit\n"
		   "exit\n");
}

/* "route-map maglev-out-PEER permit N", with the lines of the entry */
static void check_entry(const struct buf *out, const char *entry, bool there)
{
	if ((strstr(out->p, entry) != NULL) != there)
		fail_msg("%s: %s", there ? "absent" : "there", entry);
}

static void a_class_may_differ_by_peer(void **state)
{
	static const char *const first[] = { "a" }, *const second[] = { "b" };
	static const char *const one[] = { "64512:1" }, *const two[] = { "64512:2" };
	const struct frr_class both[] = {
		{ .number = 7,
		  .peers = second,
		  .n_peers = 1,
		  .attributes = { .communities = two, .n_communities = 1 } },
		{ .number = 7,
		  .peers = first,
		  .n_peers = 1,
		  .attributes = { .communities = one, .n_communities = 1 } },
	};
	const struct frr_peer three[] = {
		{ .name = "a", .address = V4(10, 0, 0, 1), .asn = 1, .ipv4 = true },
		{ .name = "b", .address = V4(10, 0, 0, 2), .asn = 1, .ipv4 = true },
		{ .name = "c", .address = V4(10, 0, 0, 3), .asn = 1, .ipv4 = true },
	};
	const struct frr_prefix prefix = { V4(192, 0, 2, 1), 32, 7 };
	const struct frr_router router = {
		.asn = 64512, .peers = three, .n_peers = 3, .prefixes = &prefix, .n_prefixes = 1
	};
	const struct frr_model m = {
		.routers = &router, .n_routers = 1, .classes = both, .n_classes = 2
	};
	_cleanup_(buf_free) struct buf out = { 0 };
	const char *origin;

	render(&m, &out);
	buf_cstr(&out);
	check_entry(&out, "route-map maglev-out-a permit 7\n match tag 7\n set community 64512:1\n",
		    true);
	check_entry(&out, "route-map maglev-out-b permit 7\n match tag 7\n set community 64512:2\n",
		    true);
	check_entry(&out, "route-map maglev-out-c permit 7\n", false);
	origin = strstr(out.p, "route-map maglev-origin-7 permit 10\n");
	assert_non_null(origin);
	assert_null(strstr(origin + 1, "route-map maglev-origin-7 permit 10\n"));
}

/* ---- properties ---- */

static void shuffle(uint64_t *r, void *items, size_t n, size_t size)
{
	char *p = items, held[sizeof(struct frr_peer)];

	assert_true(size <= sizeof(held));
	for (size_t i = n; i > 1; i--) {
		size_t j = random_next(r) % i;

		memcpy(held, p + (i - 1) * size, size);
		memmove(p + (i - 1) * size, p + j * size, size);
		memcpy(p + j * size, held, size);
	}
}

static void any_order_gives_the_same_bytes(void **state)
{
	_cleanup_(buf_free) struct buf expected = { 0 };
	uint64_t r = 7;

	render(&example, &expected);
	for (unsigned i = 0; i < 200; i++) {
		_cleanup_(buf_free) struct buf out = { 0 };
		const char *tags[4];
		struct copy c;

		copy(&c);
		memcpy(tags, communities, sizeof(communities));
		shuffle(&r, c.peers, ARRAY_SIZE(peers), sizeof(peers[0]));
		shuffle(&r, c.prefixes, ARRAY_SIZE(prefixes), sizeof(prefixes[0]));
		shuffle(&r, c.classes, ARRAY_SIZE(classes), sizeof(classes[0]));
		shuffle(&r, c.profiles, ARRAY_SIZE(profiles), sizeof(profiles[0]));
		shuffle(&r, tags, ARRAY_SIZE(tags), sizeof(tags[0]));
		for (size_t j = 0; j < ARRAY_SIZE(classes); j++)
			if (c.classes[j].attributes.n_communities == 4)
				c.classes[j].attributes.communities = tags;
		render(&c.m, &out);
		assert_string_equal(out.p, expected.p);
	}
}

/* What the parser does not know can only be changed by a full reload: it is constant. */
static void only_constant_lines_are_foreign(void **state)
{
	static const char *const foreign[] = {
		"log syslog informational",
		"ip nht resolve-via-default",
		"ipv6 nht resolve-via-default",
		"router bgp 64512",
		"router bgp 64512: bgp router-id 10.0.0.1",
		"router bgp 64512: no bgp ebgp-requires-policy",
		"router bgp 64512: no bgp default ipv4-unicast",
		"router bgp 64512: coalesce-time 2000",
		"router bgp 64512: bgp graceful-restart preserve-fw-state",
		"router bgp 64512: no bgp network import-check",
		"router bgp 64512: no bgp shutdown",
	};
	_cleanup_(frr_conf_free) struct frr_conf conf = { 0 };

	parse(&example, &conf);
	assert_int_equal(conf.foreign.n, ARRAY_SIZE(foreign));
	for (size_t i = 0; i < conf.foreign.n; i++)
		assert_string_equal(conf.foreign.items[i], foreign[i]);
}

static void there_is_no_list_at_all(void **state)
{
	_cleanup_(frr_conf_free) struct frr_conf conf = { 0 };

	parse(&example, &conf);
	for (size_t i = 0; i < conf.statements.n; i++)
		assert_int_not_equal(conf.statements.items[i].kind, FRR_LIST);
}

static void one_prefix_is_one_operation(void **state)
{
	struct copy c;

	copy(&c);
	c.prefixes[c.router.n_prefixes++] = (struct frr_prefix){ V4(192, 0, 2, 0), 32, 2 };
	check_plan(&example, &c.m,
		   "bgpd: router bgp 64512 / address-family ipv4 unicast: "
		   "network 192.0.2.0/32 route-map maglev-origin-2\n");
	check_plan(&c.m, &example,
		   "bgpd: router bgp 64512 / address-family ipv4 unicast: "
		   "no network 192.0.2.0/32\n");
	copy(&c);
	c.prefixes[0].class = 1;
	check_plan(&example, &c.m,
		   "bgpd: router bgp 64512 / address-family ipv6 unicast: "
		   "network 2001:db8::2/128 route-map maglev-origin-1\n");
}

static void an_attribute_changes_only_entries_of_its_class(void **state)
{
	struct copy c;

	copy(&c);
	c.classes[2].attributes.med = 60;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-away permit 2: set metric 60\n"
		   "bgpd: route-map maglev-out-core permit 2: set metric 60\n"
		   "bgpd: route-map maglev-out-spine permit 2: set metric 60\n"
		   "bgpd: route-map maglev-out-tor permit 2: set metric 60\n"
		   "bgpd: route-map maglev-out-tor6 permit 2: set metric 60\n");
	copy(&c);
	c.classes[2].attributes.has_local_preference = false;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-core permit 2: set local-preference 120\n");
	copy(&c);
	c.classes[3].attributes.n_communities = 0;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-core permit 7: no set community "
		   "graceful-shutdown\n");
	copy(&c);
	c.classes[0].prepend = 0;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-tor6 permit 3: no set as-path prepend\n"
		   "bgpd: route-map maglev-out-tor permit 3: no set as-path prepend\n");
}

static void an_attribute_of_a_peer_changes_only_its_map(void **state)
{
	struct copy c;

	copy(&c);
	c.peers[3].attributes.med = 71;
	check_plan(&example, &c.m, "bgpd: route-map maglev-out-away permit 1: set metric 71\n");
	copy(&c);
	c.peers[3].attributes.n_communities = 1;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-away permit 1: set community 64512:777\n");
	copy(&c);
	c.peers[2].attributes.has_local_preference = false;
	check_plan(&example, &c.m,
		   "bgpd: route-map maglev-out-core permit 3: no set local-preference 120\n"
		   "bgpd: route-map maglev-out-core permit 1: no set local-preference 120\n");
}

static void a_class_less_for_a_peer_is_one_entry_less(void **state)
{
	struct copy c;

	copy(&c);
	c.classes[0].n_peers = 2;
	check_plan(&example, &c.m, "bgpd: no route-map maglev-out-core permit 3\n");
}

/* Any operation that speaks of a peer names this one. */
static void a_peer_changes_nothing_of_another(void **state)
{
	for (size_t gone = 0; gone < ARRAY_SIZE(peers); gone++) {
		_cleanup_(buf_free) struct buf plan = { 0 };
		const char *id = peers[gone].interface;
		struct str rest, line;
		char address[ADDR_STRLEN], map[64], neighbor[64], peer[64];
		struct copy c;

		copy(&c);
		c.peers[gone] = c.peers[--c.router.n_peers];
		print_plan(&c.m, &example, &plan);
		print_plan(&example, &c.m, &plan);
		snprintf(map, sizeof(map), "maglev-out-%s ", peers[gone].name);
		snprintf(neighbor, sizeof(neighbor), "neighbor %s ",
			 id ? id : addr_format(&peers[gone].address, address));
		snprintf(peer, sizeof(peer), "peer %s", id ? id : address);
		rest = (struct str){ plan.p, plan.n - 1 };
		while (str_cut(&rest, '\n', &line)) {
			_cleanup_(buf_free) struct buf text = { 0 };

			buf_add(&text, line.p, line.n);
			if (!strstr(buf_cstr(&text), map) && !strstr(text.p, neighbor) &&
			    !strstr(text.p, peer))
				fail_msg("%s: %s", peers[gone].name, text.p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_is_the_file),
		cmocka_unit_test(an_empty_model_accepts_and_announces_nothing),
		cmocka_unit_test(extra_text_comes_last_and_ends_with_a_newline),
		cmocka_unit_test(routers_of_vrfs_come_after_the_default_one),
		cmocka_unit_test(a_peer_has_the_lines_that_it_needs),
		cmocka_unit_test(bfd_outlives_bgpd_where_bfdd_can_find_the_peer_alone),
		cmocka_unit_test(a_profile_names_only_what_is_set),
		cmocka_unit_test(a_class_may_differ_by_peer),
		cmocka_unit_test(any_order_gives_the_same_bytes),
		cmocka_unit_test(only_constant_lines_are_foreign),
		cmocka_unit_test(there_is_no_list_at_all),
		cmocka_unit_test(one_prefix_is_one_operation),
		cmocka_unit_test(an_attribute_changes_only_entries_of_its_class),
		cmocka_unit_test(an_attribute_of_a_peer_changes_only_its_map),
		cmocka_unit_test(a_class_less_for_a_peer_is_one_entry_less),
		cmocka_unit_test(a_peer_changes_nothing_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
