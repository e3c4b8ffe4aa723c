/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frontend www with backends a (up) and b (down); the observed state differs from test to test.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/desired.h"
#include "core/l4/fixture.h"
#include "lib/pb/pb.h"
#include "wire/api.h"

struct world {
	struct fixture *fixture;
	struct arena *arena;
	struct l4_model model;
	struct lb_state observed;
	struct wire_lb lb;
};

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct health_change change;

	w->fixture = fixture_new();
	w->arena = arena_new();
	fixture_check(w->fixture, "web", 2, 3);
	fixture_backend(w->fixture, "a", "10.0.0.1", "web");
	fixture_backend(w->fixture, "b", "10.0.0.2", "web");
	fixture_frontend(w->fixture, "empty", "198.51.100.9", 80);
	fixture_frontend(w->fixture, "www", "198.51.100.5", 80);
	fixture_pool(w->fixture, "primary");
	fixture_member(w->fixture, "a", 100);
	fixture_member(w->fixture, "b", 100);
	l4_model_init(&w->model, fixture_config(w->fixture), 1);
	l4_backend_record(&w->model, w->model.backends[0], CODE_L4OK, false, 2, &change);
	l4_backend_record(&w->model, w->model.backends[1], CODE_L4CON, true, 2, &change);
	w->lb = (struct wire_lb){ .dataplane = "vpp",
				  .model = &w->model,
				  .observed = &w->observed,
				  .connected = true,
				  .status = LB_CONNECTED,
				  .warmup = WARMUP_DONE,
				  .last_full_sync = 77,
				  .problem = "" };
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	lb_state_free(&w->observed);
	l4_model_free(&w->model);
	fixture_free(w->fixture);
	arena_free(w->arena);
	free(w);
	return 0;
}

static struct lb_vip *observe_vip(struct world *w, const char *address)
{
	struct lb_vip_key key = { .protocol = IPPROTO_TCP, .port = 80 };

	assert_int_equal(addr_parse(address, &key.address), 0);
	return lb_state_put_vip(&w->observed, &key);
}

static void observe_as(struct lb_vip *vip, const char *address, uint8_t weight)
{
	struct addr a;

	assert_int_equal(addr_parse(address, &a), 0);
	lb_vip_put_as(vip, &a)->weight = weight;
}

/* The VIPs, converted one at a time. */
static Maglev__VPPLBState *all_vips(struct world *w)
{
	Maglev__VPPLBState *all = wire_lb_state(&w->lb, w->arena), *part;
	struct wire_lb_walk walk;

	assert_int_equal(all->n_vips, 0);
	all->vips = arena_array_of(w->arena, 16, Maglev__VPPLBVIP *);
	wire_lb_walk_begin(&walk, w->model.config);
	while ((part = wire_lb_vips(&walk, &w->lb, 1, w->arena))) {
		assert_int_equal(part->n_vips, 1);
		all->vips[all->n_vips++] = part->vips[0];
	}
	wire_lb_walk_end(&walk);
	return all;
}

/* "vip frontend present wanted: as backend weight->wanted present wanted, ..." */
static void assert_vips(struct world *w, const char *wanted)
{
	const Maglev__VPPLBState *s = all_vips(w);
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t v = 0; v < s->n_vips; v++) {
		const Maglev__VPPLBVIP *vip = s->vips[v];

		buf_printf(&text, "%s/%s/%u %s%s%s:", vip->address, vip->protocol, vip->port,
			   vip->frontend, vip->present ? " present" : "",
			   vip->wanted ? " wanted" : "");
		for (size_t i = 0; i < vip->n_application_servers; i++) {
			const Maglev__VPPLBAS *as = vip->application_servers[i];

			buf_printf(&text, " %s=%s", as->address, as->backend);
			buf_adds(&text, as->present ? "" : " missing");
			buf_adds(&text, as->wanted ? "" : " stale");
			buf_printf(&text, " %u->%u;", as->weight, as->wanted_weight);
		}
		buf_addc(&text, '\n');
	}
	assert_string_equal(buf_cstr(&text), wanted);
}

static void what_is_wanted_shows_while_nothing_is_there(void **state)
{
	struct world *w = *state;

	assert_vips(w, "198.51.100.5/tcp/80 www wanted: 10.0.0.1=a missing 0->100;"
		       " 10.0.0.2=b missing 0->0;\n");
	w->lb.observed = NULL;
	assert_vips(w, "198.51.100.5/tcp/80 www wanted: 10.0.0.1=a missing 0->100;"
		       " 10.0.0.2=b missing 0->0;\n");
}

static void what_is_there_stands_beside_what_is_wanted(void **state)
{
	struct world *w = *state;
	struct lb_vip *vip = observe_vip(w, "198.51.100.5");

	observe_as(vip, "10.0.0.0", 3);
	observe_as(vip, "10.0.0.2", 100);
	observe_as(vip, "10.0.0.7", 4);
	observe_as(observe_vip(w, "198.51.100.4"), "10.0.0.1", 5);
	observe_vip(w, "198.51.100.6");
	assert_vips(w, "198.51.100.4/tcp/80  present: 10.0.0.1= stale 5->0;\n"
		       "198.51.100.5/tcp/80 www present wanted: 10.0.0.0= stale 3->0;"
		       " 10.0.0.1=a missing 0->100; 10.0.0.2=b 100->0; 10.0.0.7= stale 4->0;\n"
		       "198.51.100.6/tcp/80  present:\n");
}

static void the_guard_wants_what_is_there(void **state)
{
	struct world *w = *state;
	struct lb_vip *vip = observe_vip(w, "198.51.100.5");

	observe_as(vip, "10.0.0.1", 100);
	observe_as(vip, "10.0.0.2", 60);
	w->lb.guard = true;
	assert_vips(w, "198.51.100.5/tcp/80 www present wanted: 10.0.0.1=a 100->100;"
		       " 10.0.0.2=b 60->60;\n");
}

static void assert_json(const ProtobufCMessage *message, const char *wanted)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	pb_json_write(message, PB_JSON_COMPACT, &text);
	assert_string_equal(buf_cstr(&text), wanted);
}

static void the_conf_is_the_observed_one_or_else_the_wanted_one(void **state)
{
	struct world *w = *state;
	Maglev__VPPLBState *s = wire_lb_state(&w->lb, w->arena);

	assert_json(&s->base, "{\"dataplane\":\"vpp\",\"connected\":true,"
			      "\"ipv4_src_address\":\"\",\"ipv6_src_address\":\"\","
			      "\"sticky_buckets_per_core\":1024,\"flow_timeout\":40,\"vips\":[],"
			      "\"held\":false,\"warmup\":\"done\",\"last_full_sync\":\"77\","
			      "\"problem\":\"\",\"as_of\":\"0\",\"status\":\"connected\","
			      "\"interfaces\":[],\"has_as_buckets\":false,"
			      "\"has_as_flows\":false,\"counted\":\"0\"}");
	w->observed.has_conf = true;
	w->observed.conf = (struct lb_conf){ .sticky_buckets_per_core = 7, .flow_timeout_s = 8 };
	assert_int_equal(addr_parse("2001:db8::1", &w->observed.conf.src6), 0);
	w->lb.guard = true;
	w->lb.warmup = WARMUP_RELEASING;
	w->lb.problem = "too old";
	w->lb.as_of = 5;
	w->lb.connected = false;
	w->lb.status = LB_DISCONNECTED;
	s = wire_lb_state(&w->lb, w->arena);
	assert_json(&s->base, "{\"dataplane\":\"vpp\",\"connected\":false,"
			      "\"ipv4_src_address\":\"\",\"ipv6_src_address\":\"2001:db8::1\","
			      "\"sticky_buckets_per_core\":7,\"flow_timeout\":8,\"vips\":[],"
			      "\"held\":true,\"warmup\":\"releasing\",\"last_full_sync\":\"77\","
			      "\"problem\":\"too old\",\"as_of\":\"5\","
			      "\"status\":\"disconnected\",\"interfaces\":[],"
			      "\"has_as_buckets\":false,\"has_as_flows\":false,"
			      "\"counted\":\"0\"}");
}

static void a_vip_shows_how_it_is_made(void **state)
{
	struct world *w = *state;
	struct lb_vip *vip = observe_vip(w, "198.51.100.5");

	vip->src_ip_sticky = true;
	vip->encap = LB_ENCAP_GRE6;
	assert_string_equal(all_vips(w)->vips[0]->encap, "gre6");
	assert_true(all_vips(w)->vips[0]->src_ip_sticky);
	w->lb.observed = NULL;
	assert_string_equal(all_vips(w)->vips[0]->encap, "gre4");
	assert_false(all_vips(w)->vips[0]->src_ip_sticky);
}

static void buckets_and_flows_come_from_the_counters(void **state)
{
	struct world *w = *state;
	_cleanup_(lb_counters_free) struct lb_counters counters = { 0 };
	struct lb_vip *vip = observe_vip(w, "198.51.100.5");
	struct lb_as_counters *counted;
	const Maglev__VPPLBVIP *shown;

	observe_as(vip, "10.0.0.1", 100);
	counted = lb_counters_put_as(lb_counters_put_vip(&counters, &vip->key),
				     &vip->as.items[0].address);
	counted->buckets = 1024;
	counted->flows = 17;
	w->lb.counters = &counters;
	shown = all_vips(w)->vips[0];
	assert_int_equal(shown->application_servers[0]->buckets, 1024);
	assert_int_equal(shown->application_servers[0]->flows, 17);
	assert_int_equal(shown->application_servers[1]->buckets, 0);
}

static void a_server_is_drained_when_a_later_count_finds_no_flow(void **state)
{
	struct world *w = *state;
	_cleanup_(lb_counters_free) struct lb_counters counters = { .has = LB_HAS_AS_FLOWS,
								    .flows_since = 5,
								    .at = 9 };
	struct lb_vip *vip = observe_vip(w, "198.51.100.5");

	observe_as(vip, "10.0.0.1", 0);
	vip->as.items[0].idle_since = 5;
	lb_counters_put_as(lb_counters_put_vip(&counters, &vip->key), &vip->as.items[0].address);
	w->lb.counters = &counters;
	assert_false(all_vips(w)->vips[0]->application_servers[0]->drained);
	counters.flows_since = 6;
	assert_true(all_vips(w)->vips[0]->application_servers[0]->drained);
	assert_false(all_vips(w)->vips[0]->application_servers[1]->drained); /* not there */
	assert_true(wire_lb_state(&w->lb, w->arena)->has_as_flows);
	assert_false(wire_lb_state(&w->lb, w->arena)->has_as_buckets);
	assert_int_equal(wire_lb_state(&w->lb, w->arena)->counted, 9);
	w->lb.counters = NULL;
	assert_false(all_vips(w)->vips[0]->application_servers[0]->drained);
}

static void interfaces_are_told_with_what_is_wrong(void **state)
{
	struct world *w = *state;
	const struct lb_interface interfaces[] = {
		{ .name = "eth0", .attached = true, .mode = "native", .problem = "" },
		{ .name = "nope0", .mode = "", .problem = "there is no such interface" },
	};
	const struct lb_attachment attachment = { .interfaces = interfaces, .n = 2 };
	Maglev__VPPLBState *s;

	w->lb.status = LB_DEGRADED;
	w->lb.attachment = &attachment;
	s = wire_lb_state(&w->lb, w->arena);
	assert_string_equal(s->status, "degraded");
	assert_int_equal(s->n_interfaces, 2);
	assert_json(&s->interfaces[0]->base,
		    "{\"name\":\"eth0\",\"attached\":true,\"mode\":\"native\",\"problem\":\"\"}");
	assert_json(&s->interfaces[1]->base, "{\"name\":\"nope0\",\"attached\":false,\"mode\":\"\","
					     "\"problem\":\"there is no such interface\"}");
}

/* The walk still looks at one VIP after the other, and ends after the last. */
static void one_backend_is_told_without_the_others(void **state)
{
	struct world *w = *state;
	struct wire_lb_walk walk;
	Maglev__VPPLBState *part;
	size_t looks = 0, found = 0;

	observe_vip(w, "198.51.100.1"); /* a foreign one */
	w->lb.backend = "b";
	wire_lb_walk_begin(&walk, w->model.config);
	while ((part = wire_lb_vips(&walk, &w->lb, 1, w->arena))) {
		looks++;
		found += part->n_vips;
		if (!part->n_vips)
			continue;
		assert_string_equal(part->vips[0]->frontend, "www");
		assert_int_equal(part->vips[0]->n_application_servers, 1);
		assert_string_equal(part->vips[0]->application_servers[0]->backend, "b");
	}
	wire_lb_walk_end(&walk);
	assert_int_equal(looks, 2);
	assert_int_equal(found, 1);
}

/* Entries that maglevd did not make are shown as they are. */
static void a_protocol_that_is_not_ours_is_shown_by_number(void **state)
{
	struct world *w = *state;

	observe_vip(w, "198.51.100.5")->key.protocol = 132;
	assert_string_equal(all_vips(w)->vips[1]->protocol, "132");
}

static void operations_are_told_in_their_order(void **state)
{
	struct world *w = *state;
	struct lb_ops ops = { 0 };
	struct lb_vip want = { 0 };

	assert_true(l4_desired_vip(&w->model, 1, false, &want));
	diff_vip(&want, NULL, &ops);
	ops.list.n = 2;
	assert_json(&wire_lb_operations("xdp", &ops, w->arena)->base,
		    "{\"dataplane\":\"xdp\",\"operations\":["
		    "\"vip-add 198.51.100.5:80/tcp gre4\","
		    "\"as-add 198.51.100.5:80/tcp 10.0.0.1 100\"],\"withheld\":[]}");
	lb_vip_free(&want);
	vec_free(&ops.list);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(what_is_wanted_shows_while_nothing_is_there),
		STORY(what_is_there_stands_beside_what_is_wanted),
		STORY(the_guard_wants_what_is_there),
		STORY(the_conf_is_the_observed_one_or_else_the_wanted_one),
		STORY(a_vip_shows_how_it_is_made),
		STORY(buckets_and_flows_come_from_the_counters),
		STORY(a_server_is_drained_when_a_later_count_finds_no_flow),
		STORY(interfaces_are_told_with_what_is_wrong),
		STORY(one_backend_is_told_without_the_others),
		STORY(a_protocol_that_is_not_ours_is_shown_by_number),
		STORY(operations_are_told_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
