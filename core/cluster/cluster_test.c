/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/rule.h"
#include "base/str.h"
#include "core/l4/validate.h"
#include "core/testing/random.h"

/* ---- a cluster of four nodes, of which "here" is ours ---- */

static const struct cluster_node nodes[] = {
	{ "a", "10.0.0.1", "2001:db8::1" },
	{ "b", "10.0.0.2", "2001:db8::2" },
	{ "c", "10.0.0.3", NULL },
	{ "here", "10.0.0.9", "2001:db8::9" },
};
static const struct cluster_port http[] = { { 80, "tcp" } };
static const struct cluster_port several[] = { { 80, "tcp" }, { 53, "udp" }, { 7, NULL } };
static const char *const vip4[] = { "192.0.2.1" }, *const both[] = { "192.0.2.1", "2001:db8:1::1" };

#define READY(node, address)                                                                       \
	{                                                                                          \
		(node), (address), AF_INET, true, true                                             \
	}
#define READY6(node, address)                                                                      \
	{                                                                                          \
		(node), (address), AF_INET6, true, true                                            \
	}
#define LEAVING(node, address)                                                                     \
	{                                                                                          \
		(node), (address), AF_INET, false, true                                            \
	}
#define UNREADY(node, address)                                                                     \
	{                                                                                          \
		(node), (address), AF_INET, false, false                                           \
	}
#define ENDPOINTS(...)                                                                             \
	.endpoints = (const struct cluster_endpoint[]){ __VA_ARGS__ },                             \
	.n_endpoints = sizeof((const struct cluster_endpoint[]){ __VA_ARGS__ }) /                  \
		       sizeof(struct cluster_endpoint)
#define WEB                                                                                        \
	.namespace = "default", .name = "web", .local = true, .health_port = 30001,                \
	.addresses = vip4, .n_addresses = 1, .ports = http, .n_ports = 1

struct world {
	struct arena *arena;
	struct l4_doc doc;
	struct errs warnings, errors;
	struct l4_config config;
	uint64_t seed; /* of a random cluster */
};

static bool any_regexp(const char *pattern, char *reason, size_t reason_size)
{
	return true;
}

/* Extends the document and validates it; the result must be valid whatever the cluster has. */
static struct world *extend_as(struct world *w, const struct cluster *c)
{
	static const struct l4_rules rules = { .regexp_ok = any_regexp };

	w->doc.dataplane = (struct doc_text){ .set = true, .v = "xdp" };
	w->doc.xdp.set = true;
	w->doc.xdp.interfaces = (struct doc_words){
		.set = true,
		.items = (const struct doc_text[]){ { .set = true, .v = "eth0" } },
		.n = 1
	};
	cluster_extend(c, w->arena, &w->doc, &w->warnings);
	if (l4_config_build(&w->doc, &rules, w->arena, &w->config, &w->errors,
			    &(struct errs){ .arena = w->arena }) < 0)
		fail_msg("%s: %s (seed %llu)", w->errors.items[0].key, w->errors.items[0].text,
			 (unsigned long long)w->seed);
	return w;
}

static struct world *extend(struct world *w, const struct cluster_service *services, size_t n)
{
	return extend_as(w, &(struct cluster){ .services = services,
					       .n_services = n,
					       .nodes = nodes,
					       .n_nodes = ARRAY_SIZE(nodes),
					       .own = "here" });
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->arena = arena_new();
	w->warnings.arena = w->errors.arena = w->arena;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	arena_free(w->arena);
	free(w);
	return 0;
}

/* "NAME=WEIGHT ..." of the only pool of a frontend. */
static const char *members(const struct world *w, const char *frontend)
{
	size_t i = l4_config_frontend(&w->config, frontend);
	struct buf text = { 0 };
	char *ret;

	assert_true(i != SIZE_MAX);
	for (size_t m = 0; m < w->config.frontends[i].pools[0].n_members; m++) {
		const struct l4_member *one = &w->config.frontends[i].pools[0].members[m];

		buf_printf(&text, "%s%s=%u", m ? " " : "", w->config.backends[one->backend].name,
			   one->weight);
	}
	ret = arena_strdup(w->arena, buf_cstr(&text));
	buf_free(&text);
	return ret;
}

static void assert_warned(const struct world *w, const char *key, const char *text)
{
	for (size_t i = 0; i < w->warnings.n; i++)
		if (strcmp(w->warnings.items[i].key, key) == 0 &&
		    strstr(w->warnings.items[i].text, text))
			return;
	fail_msg("no warning \"%s\" about %s", text, key);
}

/* ---- what a Service becomes ---- */

static void a_service_is_a_frontend_with_its_nodes(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1"), READY("b", "2"),
							  READY("b", "3")) };
	struct world *w = extend(*state, &s, 1);
	const struct l4_frontend *f = &w->config.frontends[0];
	const struct l4_backend *b = &w->config.backends[0];
	char text[ADDR_STRLEN];

	assert_int_equal(w->config.n_frontends, 1);
	assert_string_equal(f->name, "default/web/192.0.2.1:80/tcp");
	assert_string_equal(f->description, "Service default/web");
	assert_string_equal(members(w, f->name), "default/web@a=1 default/web@b=2");
	assert_string_equal(addr_format(&b->address, text), "10.0.0.1");
	assert_int_equal(b->check->type, L4_CHECK_HTTP);
	assert_int_equal(b->check->port, 30001);
	assert_string_equal(b->check->http.path, "/healthz");
	assert_string_equal(addr_format(&w->config.lb.src4, text), "10.0.0.9");
	assert_string_equal(addr_format(&w->config.lb.src6, text), "2001:db8::9");
	assert_int_equal(w->warnings.n, 0);
}

static void each_address_and_port_is_a_frontend(void **state)
{
	const struct cluster_service s = { .namespace = "default",
					   .name = "dns",
					   .local = true,
					   .health_port = 30001,
					   .addresses = both,
					   .n_addresses = 2,
					   .ports = several,
					   .n_ports = 3,
					   .sticky = true,
					   ENDPOINTS(READY("a", "1"), READY6("a", "2"),
						     READY6("b", "3")) };
	struct world *w = extend(*state, &s, 1);

	assert_int_equal(w->config.n_frontends, 4);
	assert_string_equal(members(w, "default/dns/192.0.2.1:53/udp"), "default/dns@a=1");
	assert_string_equal(members(w, "default/dns/[2001:db8:1::1]:80/tcp"),
			    "default/dns@a=1 default/dns@b=1");
	assert_true(w->config.frontends[0].src_ip_sticky);
	assert_warned(w, "Service default/dns", "neither TCP nor UDP");
}

static void one_endpoint_in_two_slices_counts_once(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1"), READY("a", "1"),
							  LEAVING("a", "1"), READY("b", "2")) };

	extend(*state, &s, 1);
	assert_string_equal(members(*state, "default/web/192.0.2.1:80/tcp"),
			    "default/web@a=1 default/web@b=1");
}

static void nodes_whose_endpoints_end_get_no_new_connections(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1"), LEAVING("b", "2"),
							  UNREADY("c", "3")) };

	struct world *w = extend(*state, &s, 1);

	assert_string_equal(members(w, "default/web/192.0.2.1:80/tcp"),
			    "default/web@a=1 default/web@b=0");
	assert_string_equal(w->config.backends[0].check->name, "kube-healthz-30001");
	assert_int_equal(w->config.backends[0].check->http.codes.n, 1);
	/* b is not down while kube-proxy says that none is ready: its connections stay */
	assert_string_equal(w->config.backends[1].check->name, "kube-alive-30001");
	assert_int_equal(w->config.backends[1].check->http.codes.items[1].first, 503);
}

static void endpoints_that_end_are_used_if_there_are_no_others(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(LEAVING("b", "2"), UNREADY("c", "3")) };

	extend(*state, &s, 1);
	assert_string_equal(members(*state, "default/web/192.0.2.1:80/tcp"), "default/web@b=1");
}

static void many_endpoints_are_scaled(void **state)
{
	struct cluster_endpoint list[402];
	char names[ARRAY_SIZE(list)][8];
	const struct cluster_service s = { WEB, .endpoints = list,
					   .n_endpoints = ARRAY_SIZE(list) };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		list[i] = (struct cluster_endpoint)READY(i == 0	    ? "a"
							 : i <= 200 ? "b"
								    : "c",
							 names[i]);
	}
	extend(*state, &s, 1);
	assert_string_equal(members(*state, "default/web/192.0.2.1:80/tcp"),
			    "default/web@a=1 default/web@b=99 default/web@c=100");
}

static void a_service_without_endpoints_is_no_frontend(void **state)
{
	const struct cluster_service list[] = {
		{ WEB, ENDPOINTS(UNREADY("a", "1")) },
		{ WEB, ENDPOINTS(READY("gone", "1"), READY(NULL, "2")) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		assert_int_equal(extend(*state, &list[i], 1)->config.n_frontends, 0);
}

/* ---- what is left out ---- */

static void a_service_that_cannot_be_served_is_told(void **state)
{
	struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1")) };
	struct world *w = *state;

	s.local = false;
	assert_int_equal(extend(w, &s, 1)->config.n_frontends, 0);
	assert_warned(w, "Service default/web", "externalTrafficPolicy Local");
	s.local = true;
	s.health_port = 0;
	assert_int_equal(extend(w, &s, 1)->config.n_frontends, 0);
	assert_warned(w, "Service default/web", "no healthCheckNodePort");
}

static void an_address_that_no_rule_accepts_is_left_out(void **state)
{
	static const char *const list[] = { "0.0.0.0", "192.0.2.1" };
	struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1")) };

	s.addresses = list;
	s.n_addresses = 2;
	assert_int_equal(extend(*state, &s, 1)->config.n_frontends, 1);
	assert_warned(*state, "Service default/web.address", "0.0.0.0");
}

static void a_service_waits_for_its_address_silently(void **state)
{
	struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1")) };

	s.n_addresses = 0;
	assert_int_equal(extend(*state, &s, 1)->config.n_frontends, 0);
	assert_int_equal(((struct world *)*state)->warnings.n, 0);
}

static void the_first_of_two_services_has_a_port(void **state)
{
	const struct cluster_service list[] = {
		{ WEB, ENDPOINTS(READY("a", "1")) },
		{ .namespace = "other",
		  .name = "web",
		  .local = true,
		  .health_port = 30002,
		  .addresses = vip4,
		  .n_addresses = 1,
		  .ports = several,
		  .n_ports = 2,
		  ENDPOINTS(READY("b", "1")) },
	};
	struct world *w = extend(*state, list, 2);

	assert_int_equal(w->config.n_frontends, 2);
	assert_string_equal(members(w, "default/web/192.0.2.1:80/tcp"), "default/web@a=1");
	assert_string_equal(members(w, "other/web/192.0.2.1:53/udp"), "other/web@b=1");
	assert_warned(w, "Service other/web", "another Service has this address and port");
}

static void the_file_wins(void **state)
{
	static const struct doc_frontend own = { .name = "mine",
						 .address = { .set = true, .v = "192.0.2.1" } };
	static const struct doc_backend backend = { .name = "other/web@b",
						    .address = { .set = true, .v = "10.9.9.9" } };
	static const char *const free_address[] = { "192.0.2.2" };
	const struct cluster_service list[] = {
		{ WEB, ENDPOINTS(READY("a", "1")) },
		{ .namespace = "other",
		  .name = "web",
		  .local = true,
		  .health_port = 30002,
		  .addresses = free_address,
		  .n_addresses = 1,
		  .ports = http,
		  .n_ports = 1,
		  ENDPOINTS(READY("b", "1")) },
	};
	struct world *w = *state;

	w->doc.frontends = &own;
	w->doc.backends = &backend;
	w->doc.n_frontends = w->doc.n_backends = 1;
	extend(w, list, 2);
	assert_int_equal(w->config.n_frontends, 1);
	assert_string_equal(w->config.frontends[0].name, "mine");
	assert_warned(w, "Service default/web", "the configuration file has a frontend");
	assert_warned(w, "Service other/web", "a backend has the name");
}

static void nodes_with_one_address_count_once(void **state)
{
	static const struct cluster_node twins[] = { { "a", "10.0.0.1", NULL },
						     { "b", "10.0.0.1", NULL },
						     { "here", "10.0.0.9", NULL } };
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1"), READY("b", "2")) };

	extend_as(*state, &(struct cluster){ &s, 1, twins, 3, "here" });
	assert_string_equal(members(*state, "default/web/192.0.2.1:80/tcp"), "default/web@a=1");
}

/* ---- families ---- */

static void gre_is_of_the_family_of_this_node(void **state)
{
	static const struct cluster_node six[] = { { "a", NULL, "2001:db8::1" },
						   { "c", "10.0.0.3", NULL },
						   { "here", NULL, "2001:db8::9" } };
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1"), READY("c", "2")) };

	extend_as(*state, &(struct cluster){ &s, 1, six, 3, "here" });
	assert_string_equal(members(*state, "default/web/192.0.2.1:80/tcp"), "default/web@a=1");
	assert_warned(*state, "Service default/web.c", "no internal address of IPv6");
}

static void a_node_that_is_not_known_serves_nothing(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1")) };

	extend_as(*state, &(struct cluster){ &s, 1, nodes, 2, "elsewhere" });
	assert_int_equal(((struct world *)*state)->config.n_frontends, 0);
	assert_warned(*state, "elsewhere", "this node is not known");
}

/* Whichever of the two sections has them. */
static void the_sources_of_the_file_stay(void **state)
{
	const struct cluster_service s = { WEB, ENDPOINTS(READY("a", "1")) };
	struct world *w = *state;
	char text[ADDR_STRLEN];

	w->doc.lb.set = true;
	w->doc.lb.ipv4_src_address = (struct doc_text){ .set = true, .v = "10.0.0.77" };
	extend(w, &s, 1);
	assert_string_equal(addr_format(&w->config.lb.src4, text), "10.0.0.77");
	assert_string_equal(addr_format(&w->config.lb.src6, text), "2001:db8::9");
	w->doc = (struct l4_doc){ .top_lb = w->doc.lb };
	w->doc.top_lb.ipv6_src_address = (struct doc_text){ 0 };
	extend(w, &s, 1);
	assert_string_equal(addr_format(&w->config.lb.src4, text), "10.0.0.77");
	assert_string_equal(addr_format(&w->config.lb.src6, text), "2001:db8::9");
}

/* ---- names ---- */

static void long_names_are_cut_and_stay_different(void **state)
{
	static const struct cluster_endpoint on_a = READY("a", "1");
	char name[2][64];
	struct cluster_service list[2];
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		memset(name[i], 'n', 63);
		name[i][62] = (char)('x' + i);
		name[i][63] = '\0';
		list[i] = (struct cluster_service){ WEB, .endpoints = &on_a, .n_endpoints = 1 };
		list[i].namespace = name[0];
		list[i].name = name[i];
	}
	list[1].ports = &several[1];
	extend(w, list, 2);
	assert_int_equal(w->config.n_frontends, 2);
	assert_int_equal(w->config.n_backends, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(strlen(w->config.frontends[i].name), RULE_NAME_MAX);
}

/* ---- anything ---- */

#define ROUNDS 700
#define PICK(r, list) (list)[dice_roll((r), ARRAY_SIZE(list))]

struct chaos {
	struct dice dice;
	struct cluster_endpoint endpoints[6][8];
	struct cluster_service services[6];
	struct cluster_port ports[6][3];
	struct cluster_node nodes[5];
	const char *addresses[6][3];
};

static void make_service(struct chaos *c, size_t i)
{
	static const char *const names[] = { "a", "b", "web", "mine" };
	static const char *const addresses[] = { "192.0.2.1",	    "192.0.2.2", "2001:db8:1::1",
						 "255.255.255.255", "x",	 "ff02::1" };
	static const char *const on[] = { "a", "b", "c", "here", "gone", NULL };
	static const uint16_t ports[] = { 0, 1, 80, 65535 };
	static const char *const protocols[] = { "tcp", "udp", NULL };
	struct dice *r = &c->dice;
	struct cluster_service *s = &c->services[i];

	*s = (struct cluster_service){ .namespace = PICK(r, names),
				       .name = PICK(r, names),
				       .local = dice_roll(r, 5),
				       .sticky = dice_roll(r, 2),
				       .health_port = PICK(r, ports),
				       .addresses = c->addresses[i],
				       .n_addresses = dice_roll(r, 4),
				       .ports = c->ports[i],
				       .n_ports = dice_roll(r, 4),
				       .endpoints = c->endpoints[i],
				       .n_endpoints = dice_roll(r, 9) };
	for (size_t k = 0; k < 3; k++) {
		c->addresses[i][k] = PICK(r, addresses);
		c->ports[i][k] = (struct cluster_port){ PICK(r, ports), PICK(r, protocols) };
	}
	for (size_t k = 0; k < 8; k++)
		c->endpoints[i][k] =
			(struct cluster_endpoint){ PICK(r, on), PICK(r, names),
						   dice_roll(r, 2) ? AF_INET : AF_INET6,
						   dice_roll(r, 2), dice_roll(r, 2) };
}

static void make_chaos(struct chaos *c)
{
	static const char *const names[] = { "a", "b", "c", "here", "z" };
	static const char *const four[] = { "10.0.0.1", "10.0.0.2", "0.0.0.0", "192.0.2.1", NULL };
	static const char *const six[] = { "2001:db8::1", "2001:db8::2", "fe80::1", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(c->services); i++)
		make_service(c, i);
	for (size_t i = 0; i < ARRAY_SIZE(c->nodes); i++)
		c->nodes[i] = (struct cluster_node){ names[i], PICK(&c->dice, four),
						     PICK(&c->dice, six) };
}

/* A cluster cannot make a configuration that is refused: extend_as() fails if one is. */
static void whatever_a_cluster_has_is_valid(void **state)
{
	static const struct doc_frontend mine = { .name = "a/a/192.0.2.2:80/tcp",
						  .address = { .set = true, .v = "192.0.2.77" } };
	static const struct doc_backend backend = { .name = "a/web@b",
						    .address = { .set = true, .v = "10.9.9.9" } };
	struct world *w = *state;
	struct chaos c;
	size_t frontends = 0;

	for (unsigned round = 0; round < DICE_RUNS * ROUNDS; round++) {
		struct cluster cluster = { c.services, ARRAY_SIZE(c.services), c.nodes,
					   ARRAY_SIZE(c.nodes), "here" };

		if (round % ROUNDS == 0)
			c.dice = dice_of_run(round / ROUNDS);
		make_chaos(&c);
		arena_reset(w->arena);
		*w = (struct world){ .arena = w->arena, .seed = c.dice.seed };
		w->warnings.arena = w->errors.arena = w->arena;
		w->doc.frontends = &mine;
		w->doc.backends = &backend;
		w->doc.n_frontends = w->doc.n_backends = round % 2;
		extend_as(w, &cluster);
		frontends += w->config.n_frontends;
	}
	assert_true(frontends > ROUNDS);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_service_is_a_frontend_with_its_nodes),
		T(each_address_and_port_is_a_frontend),
		T(one_endpoint_in_two_slices_counts_once),
		T(nodes_whose_endpoints_end_get_no_new_connections),
		T(endpoints_that_end_are_used_if_there_are_no_others),
		T(many_endpoints_are_scaled),
		T(a_service_without_endpoints_is_no_frontend),
		T(a_service_that_cannot_be_served_is_told),
		T(an_address_that_no_rule_accepts_is_left_out),
		T(a_service_waits_for_its_address_silently),
		T(the_first_of_two_services_has_a_port),
		T(the_file_wins),
		T(nodes_with_one_address_count_once),
		T(gre_is_of_the_family_of_this_node),
		T(a_node_that_is_not_known_serves_nothing),
		T(the_sources_of_the_file_stay),
		T(long_names_are_cut_and_stay_different),
		T(whatever_a_cluster_has_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
