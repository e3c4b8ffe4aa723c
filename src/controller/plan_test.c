/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/k8s/feed.h"

struct fixture {
	struct arena *arena;
	struct k8s_names *names;
	struct k8s_kind *kind;
	struct ipam *ipam;
	struct metal_config config;
	const struct k8s_object *object;
	struct plan plan;
	struct buf text;
};

static void set_pools(struct fixture *f, const char *four, const char *six)
{
	const char **addresses = arena_array_of(f->arena, 2, const char *);
	struct metal_pool_doc *d = arena_new_of(f->arena, struct metal_pool_doc);
	struct metal_error error;

	addresses[0] = four;
	addresses[1] = six;
	*d = (struct metal_pool_doc){ .name = "p",
				      .addresses = { addresses, 2 },
				      .auto_assign = true };
	assert_int_equal(metal_config_build(&(struct metal_doc){ .pools = d, .n_pools = 1 }, NULL,
					    f->arena, &f->config, &error),
			 0);
	ipam_set_pools(f->ipam, &f->config, NULL, NULL);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->arena = arena_new();
	f->names = k8s_names_new();
	f->kind = k8s_kind_new(&service_layout, f->names);
	f->ipam = ipam_new();
	set_pools(f, "10.0.0.0/30", "fc00::/126");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	k8s_object_unref(f->kind, f->object);
	ipam_free(f->ipam);
	k8s_kind_free(f->kind);
	k8s_names_free(f->names);
	arena_free(f->arena);
	buf_free(&f->text);
	free(f);
	return 0;
}

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	struct fixture *f = user;

	k8s_object_unref(f->kind, f->object);
	f->object = k8s_object_keep(f->kind, e->object);
	return true;
}

struct spec {
	const char *name, *annotations, *spec, *ingress;
};

/* Single quotes stand for double ones. Returns "addresses of pool: events". */
static const char *look(struct fixture *f, struct spec s)
{
	struct k8s_feed *feed = k8s_feed_new(f->kind, K8S_FEED_OBJECT, on_object, f);
	_cleanup_(buf_free) struct buf json = { 0 };

	buf_printf(
		&json,
		"{'metadata':{'namespace':'ns','name':'%s','resourceVersion':'1','annotations':{%s}"
		"},"
		"'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.1','clusterIPs':['10.96.0.1'],"
		"'ports':[{'protocol':'TCP','port':80}]%s%s},'status':{'loadBalancer':{'ingress':[%"
		"s]}}}",
		s.name ? s.name : "web", s.annotations ? s.annotations : "", s.spec ? "," : "",
		s.spec ? s.spec : "", s.ingress ? s.ingress : "");
	for (size_t i = 0; i < json.n; i++)
		json.p[i] = json.p[i] == '\'' ? '"' : json.p[i];
	if (k8s_feed_take(feed, json.p, json.n) < 0 || k8s_feed_end(feed) < 0)
		fail_msg("%s", k8s_feed_reason(feed));
	k8s_feed_free(feed);
	plan_service(f->ipam, f->config.n_pools, (const struct service *)f->object, f->arena,
		     &f->plan);
	f->text.n = 0;
	ipam_format(&f->text, f->plan.addresses, f->plan.n);
	buf_printf(&f->text, " of %s", f->plan.pool ? f->plan.pool : "none");
	for (size_t i = 0; i < f->plan.n_events; i++)
		buf_printf(&f->text, "; %s%s: %s", f->plan.events[i].warning ? "!" : "",
			   f->plan.events[i].reason, f->plan.events[i].note);
	return buf_cstr(&f->text);
}

static bool differs(const struct fixture *f)
{
	return plan_differs((const struct service *)f->object, &f->plan);
}

#define DUAL "'clusterIPs':['10.96.0.1','fd00::1'],'ipFamilies':['IPv4','IPv6'],"
#define FROM_P "'metallb.io/ip-allocated-from-pool':'p'"

static void a_new_service_gets_an_address(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(look(f, (struct spec){ 0 }),
			    "[\"10.0.0.0\"] of p; IPAllocated: Assigned IP [\"10.0.0.0\"]");
	assert_true(differs(f));
	/* and that is all, when it was written */
	assert_string_equal(
		look(f, (struct spec){ .annotations = FROM_P, .ingress = "{'ip':'10.0.0.0'}" }),
		"[\"10.0.0.0\"] of p");
	assert_false(differs(f));
}

static void a_service_keeps_what_it_has(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(look(f, (struct spec){ .ingress = "{'ip':'10.0.0.2'}" }),
			    "[\"10.0.0.2\"] of p");
	assert_true(differs(f)); /* the annotation is missing */
	assert_string_equal(
		look(f, (struct spec){ .name = "other", .ingress = "{'ip':'10.0.0.2'}" }),
		"[\"10.0.0.0\"] of p; ClearAssignment: current IP for \"ns/other\" not "
		"allowed by config, will attempt for new IP assignment: can't change "
		"sharing key for \"ns/other\", address also in use by ns/web: existing "
		"service does not allow sharing; IPAllocated: Assigned IP [\"10.0.0.0\"]");
}

static void a_service_of_another_type_has_nothing(void **state)
{
	struct fixture *f = *state;

	look(f, (struct spec){ 0 });
	assert_string_equal(look(f, (struct spec){ .spec = "'type':'ClusterIP'" }), "[] of none");
	assert_false(differs(f));
	assert_int_equal(ipam_count(f->ipam), 0);
	look(f, (struct spec){ .spec = "'type':'ClusterIP'", .annotations = FROM_P });
	assert_true(differs(f));
}

static void requested_addresses_are_given(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(look(f, (struct spec){ .spec = "'loadBalancerIP':'10.0.0.3'" }),
			    "[\"10.0.0.3\"] of p; IPAllocated: Assigned IP [\"10.0.0.3\"]");
	assert_string_equal(look(f, (struct spec){ .annotations = "'metallb.io/loadBalancerIPs':' "
								  "10.0.0.1'",
						   .ingress = "{'ip':'10.0.0.3'}" }),
			    "[\"10.0.0.1\"] of p; IPAllocated: Assigned IP [\"10.0.0.1\"]");
	assert_string_equal(
		look(f, (struct spec){ .annotations =
					       "'metallb.universe.tf/loadBalancerIPs':'10.0.0.1'",
				       .spec = "'loadBalancerIP':'10.0.0.3'",
				       .ingress = "{'ip':'10.0.0.1'}" }),
		"[\"10.0.0.1\"] of p; !LoadBalancerFailed: invalid requested loadbalancer IPs: "
		"service can not have both metallb.io/loadBalancerIPs and svc.Spec.LoadBalancerIP");
	assert_false(differs(f));
	assert_string_equal(
		look(f, (struct spec){ .name = "bad", .spec = "'loadBalancerIP':'10.0.0'" }),
		"[] of none; !AllocationFailed: Failed to allocate IP for \"ns/bad\": "
		"invalid spec.loadBalancerIP \"10.0.0\"");
	assert_string_equal(
		look(f, (struct spec){ .name = "far", .spec = "'loadBalancerIP':'192.0.2.1'" }),
		"[] of none; !AllocationFailed: Failed to allocate IP for \"ns/far\": "
		"[\"192.0.2.1\"] is not allowed in config");
}

static void another_pool_annotation_moves_the_service(void **state)
{
	struct fixture *f = *state;

	look(f, (struct spec){ 0 });
	assert_string_equal(look(f, (struct spec){ .annotations = "'metallb.io/address-pool':'q'",
						   .ingress = "{'ip':'10.0.0.0'}" }),
			    "[] of none; !AllocationFailed: Failed to allocate IP for \"ns/web\": "
			    "unknown pool \"q\"");
	assert_true(differs(f));
}

static void dual_stack_follows_the_policy(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(
		look(f, (struct spec){ .spec = DUAL "'ipFamilyPolicy':'RequireDualStack'" }),
		"[\"10.0.0.0\" \"fc00::\"] of p; IPAllocated: Assigned IP [\"10.0.0.0\" "
		"\"fc00::\"]");
	assert_string_equal(
		look(f,
		     (struct spec){ .name = "one", .spec = "'ipFamilyPolicy':'RequireDualStack'" }),
		"[] of none; !not enough clusterips: Service requires dual stack but not "
		"enough clusterips [10.96.0.1]");
	assert_string_equal(look(f,
				 (struct spec){ .name = "prefer",
						.spec = DUAL "'ipFamilyPolicy':'PreferDualStack'",
						.ingress = "{'ip':'10.0.0.1'}" }),
			    "[\"10.0.0.1\" \"fc00::1\"] of p; IPAllocated: Assigned additional IP "
			    "\"fc00::1\"");
	assert_string_equal(look(f, (struct spec){ .name = "single",
						   .spec = "'ipFamilyPolicy':'PreferDualStack'" }),
			    "[\"10.0.0.2\"] of p; IPAllocated: Assigned IP [\"10.0.0.2\"]");
}

/* With externalTrafficPolicy Local, services with other pods may not share. */
static void the_backend_of_local_services_counts(void **state)
{
#define SHARED "'metallb.io/allow-shared-ip':'k'"
	struct fixture *f = *state;

	look(f, (struct spec){ .name = "a",
			       .annotations = SHARED,
			       .spec = "'externalTrafficPolicy':'Local','selector':{'app':'a'}" });
	assert_string_equal(
		look(f, (struct spec){ .name = "b",
				       .annotations = SHARED,
				       .spec = "'externalTrafficPolicy':'Local',"
					       "'selector':{'app':'b'},'ports':[{'port':81}]" }),
		"[\"10.0.0.1\"] of p; IPAllocated: Assigned IP [\"10.0.0.1\"]");
	assert_string_equal(
		look(f, (struct spec){ .name = "c",
				       .annotations = SHARED,
				       .spec = "'externalTrafficPolicy':'Local',"
					       "'selector':{'app':'a'},'ports':[{'port':81}]" }),
		"[\"10.0.0.0\"] of p; IPAllocated: Assigned IP [\"10.0.0.0\"]");
}

static void classes_say_whose_a_service_is(void **state)
{
	struct service plain = { 0 }, other = { .class = "x/y" };

	assert_true(plan_is_ours(&plain, ""));
	assert_false(plan_is_ours(&other, ""));
	assert_true(plan_is_ours(&other, "x/y"));
	assert_false(plan_is_ours(&plain, "x/y"));
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(a_new_service_gets_an_address),
		STORY(a_service_keeps_what_it_has),
		STORY(a_service_of_another_type_has_nothing),
		STORY(requested_addresses_are_given),
		STORY(another_pool_annotation_moves_the_service),
		STORY(dual_stack_follows_the_policy),
		STORY(the_backend_of_local_services_counts),
		STORY(classes_say_whose_a_service_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
