/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the planner for EndpointSlices and Endpoints, and for passes over a part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "src/mux/names.h"
#include "src/mux/testkit.h"

#define MUX "svc-mux/mux"
#define P "svc-mux.nowake.ai/"

static int set_up(void **state)
{
	*state = test_cluster_new();
	return 0;
}

static int tear_down(void **state)
{
	test_cluster_free(*state);
	return 0;
}

static void expect_logged(struct test_cluster *c, const char *start)
{
	if (!test_logged(c, start))
		fail_msg("no \"%s\" in:\n%s", start, test_log(c));
}

/* The name of the slice that is made from a slice of a channel in the namespace app. */
static const char *made(struct test_cluster *c, const char *channel, const char *source)
{
	static char where[400];
	struct arena *arena = arena_new();

	snprintf(where, sizeof(where), "svc-mux/%s",
		 mux_slice_name(test_settings(c), "mux", "app", channel, source, arena));
	arena_free(arena);
	return where;
}

/* Slices: one for each slice of the channel, verbatim but for the names of ports */
static void a_slice_is_made_from_each_slice(void **state)
{
	struct test_cluster *c = *state;
	const char *slice;

	test_mux(c, MUX, "'port-range':'1-9'");
	test_channel(c, "app/api", "http:80", NULL);
	test_put(c, TEST_SLICE, "app/api-x",
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'api'}},'addressType':'IPv4',"
		 "'ports':[{'name':'http','port':8080,'protocol':'TCP','appProtocol':'h2c'},"
		 "{'name':'unknown','port':9,'protocol':'TCP'},{'port':10,'protocol':'TCP'},"
		 "{'name':'http','port':11,'protocol':'UDP'}],'endpoints':[{'addresses':"
		 "['10.0.0.1'],'conditions':{'ready':true,'serving':true,'terminating':false},"
		 "'hostname':'h','nodeName':'n1','zone':'z1','targetRef':{'kind':'Pod','namespace':"
		 "'app','name':'p','uid':'u'},'hints':{'forZones':[{'name':'z1'}]}},{'addresses':"
		 "['10.0.0.2'],'conditions':{'ready':false}}]}");
	test_settle(c);
	slice = made(c, "api", "api-x");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "addressType"), "IPv4");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "metadata.labels"),
			    "{\"kubernetes.io/service-name\":\"mux\",\"endpointslice.kubernetes.io/"
			    "managed-by\":\"maglev-mux\"}");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "metadata|annotations|" P "channel"),
			    "app/api");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "metadata.ownerReferences.0.kind"),
			    "Service");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "metadata.ownerReferences.0.name"),
			    "mux");
	assert_string_equal(test_get(c, TEST_SLICE, slice, "ports"),
			    "[{\"name\":\"bcaefde\",\"port\":8080,\"protocol\":\"TCP\","
			    "\"appProtocol\":\"h2c\"}]");
	assert_string_equal(
		test_get(c, TEST_SLICE, slice, "endpoints"),
		"[{\"addresses\":[\"10.0.0.1\"],\"conditions\":{\"ready\":true,\"serving\":true,"
		"\"terminating\":false},\"hostname\":\"h\",\"nodeName\":\"n1\",\"zone\":\"z1\","
		"\"targetRef\":{\"kind\":\"Pod\",\"namespace\":\"app\",\"name\":\"p\",\"uid\":\"u\""
		"}},{\"addresses\":[\"10.0.0.2\"],\"conditions\":{\"ready\":false}}]");
}

/* Slices: both families; the Endpoints object has that of the mux */
static void both_families_are_written(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_put(c, TEST_SLICE, "app/api-6",
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'api'}},'addressType':'IPv6',"
		 "'ports':[{'name':'http','port':8080,'protocol':'TCP'}],'endpoints':[{'addresses':"
		 "['2001:db8::1'],'conditions':{'ready':true}}]}");
	test_put(c, TEST_SLICE, "app/api-f",
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'api'}},'addressType':'FQDN',"
		 "'ports':[{'name':'http','port':8080,'protocol':'TCP'}],'endpoints':[{'addresses':"
		 "['x.example'],'conditions':{'ready':true}}]}");
	test_settle(c);
	assert_string_equal(test_get(c, TEST_SLICE, made(c, "api", "api-6"), "addressType"),
			    "IPv6");
	assert_false(test_exists(c, TEST_SLICE, made(c, "api", "api-f")));
	assert_null(strstr(test_get(c, TEST_ENDPOINTS, MUX, "subsets"), "2001"));
	/* a pod with two addresses is one pod */
	assert_int_equal(test_view(c)->channels[0].ready, 1);
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'ipFamilies':['IPv6','IPv4']}}");
	test_settle(c);
	assert_non_null(strstr(test_get(c, TEST_ENDPOINTS, MUX, "subsets"), "2001:db8::1"));
}

/* Endpoints: labels, annotations, owner, and what is copied */
static void endpoints_are_aggregated(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_patch(c, TEST_SERVICE, MUX,
		   "{'metadata':{'labels':{'team':'edge','app.kubernetes.io/managed-by':'Helm'}}}");
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:80", NULL); /* refused: its endpoints are not there */
	test_put(
		c, TEST_SLICE, "app/a-x",
		"{'metadata':{'labels':{'kubernetes.io/service-name':'a'}},'addressType':'IPv4',"
		"'ports':[{'name':'http','port':8080,'protocol':'TCP'}],'endpoints':["
		"{'addresses':['10.0.0.1'],'nodeName':'n','hostname':'h','targetRef':{'kind':'Pod',"
		"'namespace':'app','name':'p','uid':'u'}},{'addresses':['10.0.0.2'],"
		"'conditions':{'ready':false}},{'addresses':['10.0.0.3'],'conditions':{'ready':"
		"false,'serving':true,'terminating':true}}]}");
	test_settle(c);
	assert_string_equal(
		test_get(c, TEST_ENDPOINTS, MUX, "metadata.labels"),
		"{\"team\":\"edge\",\"app.kubernetes.io/component\":\"mux-endpoints\",\"app."
		"kubernetes.io/managed-by\":\"svc-lb-mux\",\"endpointslice.kubernetes.io/"
		"skip-mirror\":\"true\"}");
	assert_string_equal(test_get(c, TEST_ENDPOINTS, MUX, "metadata.annotations"),
			    "{\"" P "channels\":\"[\\\"app/a\\\", \\\"app/b\\\"]\",\"" P
			    "managed\":\"true\",\"" P "mux\":\"svc-mux/mux\"}");
	assert_string_equal(test_get(c, TEST_ENDPOINTS, MUX,
				     "metadata.ownerReferences.0.blockOwnerDeletion"),
			    "true");
	assert_string_equal(
		test_get(c, TEST_ENDPOINTS, MUX, "subsets"),
		"[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"hostname\":\"h\",\"nodeName\":\"n\","
		"\"targetRef\":{\"kind\":\"Pod\",\"namespace\":\"app\",\"name\":\"p\",\"uid\":\"u\""
		"}}],\"notReadyAddresses\":[{\"ip\":\"10.0.0.2\"}],\"ports\":[{\"name\":"
		"\"f0ad37a\",\"port\":8080,\"protocol\":\"TCP\"}]}]");
	/* what others add stays, and is not written about */
	test_patch(c, TEST_ENDPOINTS, MUX,
		   "{'metadata':{'labels':{'x':'y'},'annotations':{'kubectl.kubernetes.io/"
		   "last-applied-configuration':'z','" P "note':'n'}}}");
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0);
	/* an API server may arrange subsets in its own way */
	test_patch(c, TEST_ENDPOINTS, MUX,
		   "{'subsets':[{'notReadyAddresses':[{'ip':'10.0.0.2'}],'ports':[{'name':"
		   "'f0ad37a','port':8080,'protocol':'TCP'}]},{'addresses':[{'ip':'10.0.0.1',"
		   "'hostname':'h','nodeName':'n','targetRef':{'kind':'Pod','namespace':'app',"
		   "'name':'p','uid':'u'}}],'ports':[{'name':'f0ad37a','port':8080,'protocol':"
		   "'TCP'}]}]}");
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0);
	/* but a wrong name is mended */
	test_patch(c, TEST_ENDPOINTS, MUX,
		   "{'subsets':[{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'wrong','port':"
		   "8080,'protocol':'TCP'}]}]}");
	test_settle(c);
	assert_non_null(strstr(test_get(c, TEST_ENDPOINTS, MUX, "subsets"), "f0ad37a"));
}

/* A renamed port with the same backends reaches the endpoints */
static void a_renamed_port_reaches_the_endpoints(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_settle(c);
	test_patch(c, TEST_SERVICE, "app/api",
		   "{'spec':{'ports':[{'name':'web','port':80,'protocol':'TCP'}]}}");
	test_patch(c, TEST_SLICE, "app/api-x",
		   "{'ports':[{'name':'web','port':8080,'protocol':'TCP'}]}");
	test_settle(c);
	assert_null(strstr(test_get(c, TEST_ENDPOINTS, MUX, "subsets"), "bcaefde"));
	assert_null(strstr(test_get(c, TEST_SLICE, made(c, "api", "api-x"), "ports"), "bcaefde"));
}

/* Endpoints of a channel count if it has no slice; unnamed ports are left out */
static void endpoints_stand_in_for_slices(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_delete(c, TEST_SLICE, "app/api-x");
	test_put(c, TEST_ENDPOINTS, "app/api",
		 "{'subsets':[{'addresses':[{'ip':'192.0.2.1'},{'ip':'2001:db8::1'}],"
		 "'notReadyAddresses':[{'ip':'192.0.2.2'}],'ports':[{'name':'http','port':8080,"
		 "'protocol':'TCP'},{'port':9}]},{'addresses':[{'ip':'192.0.2.3'}],'ports':"
		 "[{'port':9}]}]}");
	test_settle(c);
	assert_string_equal(test_get(c, TEST_SLICE, made(c, "api", "subset-0-IPv4"), "endpoints"),
			    "[{\"addresses\":[\"192.0.2.1\"],\"conditions\":{\"ready\":true}},"
			    "{\"addresses\":[\"192.0.2.2\"],\"conditions\":{\"ready\":false}}]");
	assert_true(test_exists(c, TEST_SLICE, made(c, "api", "subset-0-IPv6")));
	assert_false(test_exists(c, TEST_SLICE, made(c, "api", "subset-1-IPv4")));
	/* a slice comes: it alone counts */
	test_put(c, TEST_SLICE, "app/api-y",
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'api'}},'addressType':'IPv4',"
		 "'ports':[{'name':'http','port':1,'protocol':'TCP'}],'endpoints':[{'addresses':"
		 "['192.0.2.9']}]}");
	test_settle(c);
	assert_int_equal(test_count(c, TEST_SLICE), 2);
	assert_true(test_exists(c, TEST_SLICE, made(c, "api", "api-y")));
}

/* What we wrote is never taken for a backend */
static void written_slices_are_no_source(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_patch(
		c, TEST_SLICE, "app/api-x",
		"{'metadata':{'labels':{'endpointslice.kubernetes.io/managed-by':'maglev-mux'}}}");
	test_settle(c);
	assert_int_equal(test_view(c)->channels[0].ready, 0);
}

/* Events: added and removed backends, ready ones, by address and port */
static void changes_of_backends_are_told(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_patch(c, TEST_SLICE, "app/api-x", "{'endpoints':[{'addresses':['10.0.0.9']}]}");
	test_settle(c);
	test_forget_log(c);
	test_patch(c, TEST_SLICE, "app/api-x",
		   "{'endpoints':[{'addresses':['10.0.0.2']},{'addresses':['10.0.0.1']},"
		   "{'addresses':['10.0.0.7'],'conditions':{'ready':false}}]}");
	test_settle(c);
	expect_logged(c, "MuxEndpointsChanged svc-mux/mux: Added 2 endpoint(s): 10.0.0.1:8080/TCP, "
			 "10.0.0.2:8080/TCP; Removed 1 endpoint(s): 10.0.0.9:8080/TCP");
	test_forget_log(c);
	test_patch(c, TEST_SLICE, "app/api-x",
		   "{'endpoints':[{'addresses':['10.0.0.2']},{'addresses':['10.0.0.1']}]}");
	test_settle(c);
	expect_logged(c, "MuxEndpointsChanged svc-mux/mux: Mux endpoints updated: 2 ready, 0 not "
			 "ready");
}

/* A slice with n addresses from 10.x.0.0 on. */
static void put_many(struct test_cluster *c, const char *where, const char *service, unsigned net,
		     unsigned n)
{
	struct buf list = { 0 };

	for (unsigned i = 0; i < n; i++)
		buf_printf(&list, "%s{'addresses':['10.%u.%u.%u']}", i ? "," : "", net, i >> 8,
			   i & 255);
	test_put(c, TEST_SLICE, where,
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'%s'}},'addressType':'IPv4',"
		 "'ports':[{'name':'http','port':8080,'protocol':'TCP'}],'endpoints':[%s]}",
		 service, buf_cstr(&list));
	buf_free(&list);
}

/* Endpoints have 1,000 addresses and say so; slices have all */
static void a_large_endpoints_object_is_truncated(void **state)
{
	static const char note[] = "metadata|annotations|endpoints.kubernetes.io/over-capacity";
	struct test_cluster *c = *state;
	const struct mux_endpoints *e;
	size_t n = 0;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:81", NULL);
	put_many(c, "app/a-x", "a", 1, 600);
	put_many(c, "app/b-x", "b", 2, 400);
	test_settle(c);
	assert_string_equal(test_get(c, TEST_ENDPOINTS, MUX, note), "");
	put_many(c, "app/b-x", "b", 2, 401);
	test_settle(c);
	assert_string_equal(test_get(c, TEST_ENDPOINTS, MUX, note), "truncated");
	e = (const struct mux_endpoints *)k8s_cache_get(test_cache(c, TEST_ENDPOINTS), "svc-mux",
							"mux");
	for (size_t i = 0; i < e->subsets.n; i++)
		n += ((const struct mux_subset *)e->subsets.items)[i].ready.n;
	assert_int_equal(n, MUX_ENDPOINTS_MAX);
	assert_non_null(
		strstr(test_get(c, TEST_SLICE, made(c, "b", "b-x"), "endpoints"), "10.2.1.144"));
	put_many(c, "app/b-x", "b", 2, 1);
	test_settle(c);
	assert_string_equal(test_get(c, TEST_ENDPOINTS, MUX, note), "");
}

/* A change of endpoints needs a look at one channel only */
static void a_pass_over_one_channel_is_enough(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:81", NULL);
	test_settle(c);
	test_patch(c, TEST_SLICE, "app/b-x",
		   "{'endpoints':[{'addresses':['10.0.0.1']},{'addresses':['10.0.0.2']}]}");
	/* the slice, the Endpoints, the texts of the mux */
	assert_int_equal(test_scoped_pass(c, MUX, "app/b"), 3);
	assert_string_equal(test_value(c, MUX, "summary"),
			    "2 channel(s) | 2 port(s) | 3 pod(s) | DNS: pending");
	assert_int_equal(test_scoped_pass(c, MUX, "app/b"), 0);
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0);
	/* a slice of ours that was deleted comes again */
	test_delete(c, TEST_SLICE, made(c, "a", "a-x"));
	assert_int_equal(test_scoped_pass(c, MUX, "app/a"), 1);
	/* texts that were changed are mended by a pass over nothing */
	test_note(c, MUX, "topology", "mine");
	assert_int_equal(test_scoped_pass(c, MUX, ""), 1);
	test_note(c, "app/a", "ports", "mine");
	assert_int_equal(test_scoped_pass(c, MUX, "app/a"), 1);
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0);
}

static const struct mux_service *service(struct test_cluster *c, const char *ns, const char *name)
{
	return (const struct mux_service *)k8s_cache_get(test_cache(c, TEST_SERVICE), ns, name);
}

/* A view knows what it was made from, apart from what we write ourselves */
static void a_view_knows_what_it_was_made_from(void **state)
{
	const struct mux_settings *s;
	struct test_cluster *c = *state;

	s = test_settings(c);
	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_pass(c, MUX, SIZE_MAX);
	/* after our own writes */
	assert_true(mux_view_knows(test_view(c), s, service(c, "svc-mux", "mux")));
	assert_true(mux_view_knows(test_view(c), s, service(c, "app", "a")));
	test_note(c, MUX, "summary", "mine");
	assert_true(mux_view_knows(test_view(c), s, service(c, "svc-mux", "mux")));
	test_note(c, MUX, "port-range", "1-2");
	assert_false(mux_view_knows(test_view(c), s, service(c, "svc-mux", "mux")));
	test_settle(c);
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'ports':[{'name':'x','port':1}]}}");
	assert_false(mux_view_knows(test_view(c), s, service(c, "svc-mux", "mux")));
	test_settle(c);
	test_patch(c, TEST_SERVICE, MUX,
		   "{'status':{'loadBalancer':{'ingress':[{'ip':'1.1.1.1'}]}}}");
	assert_false(mux_view_knows(test_view(c), s, service(c, "svc-mux", "mux")));
	test_note(c, "app/a", "external-ports", "http:81");
	assert_false(mux_view_knows(test_view(c), s, service(c, "app", "a")));
	test_channel(c, "app/b", "http:82", NULL);
	assert_false(mux_view_knows(test_view(c), s, service(c, "app", "b")));
	assert_false(mux_view_knows_state(test_view(c), NULL));
	test_settle(c);
	assert_true(mux_view_knows_state(test_view(c), (const struct mux_config_map *)k8s_cache_get(
							       test_cache(c, TEST_CONFIG_MAP),
							       "svc-mux", "mux-port-allocations")));
}

/* Long texts have a bound, so that an object stays an object */
static void texts_of_a_large_mux_have_a_bound(void **state)
{
	struct test_cluster *c = *state;
	char name[200];

	test_mux(c, MUX, "'port-range':'1-65535'");
	for (int i = 0; i < 800; i++) {
		snprintf(name, sizeof(name),
			 "namespace-with-a-long-name-for-a-large-mux/channel-with-a-long-name-for-"
			 "a-large-mux-%04d",
			 i);
		test_channel(c, name, "http:80", "'external-ports':'http:auto'");
	}
	test_pass(c, MUX, SIZE_MAX);
	assert_true(strlen(test_value(c, MUX, "channels")) < 66000);
	assert_true(strlen(test_value(c, MUX, "topology")) < 33500);
	assert_non_null(strstr(test_value(c, MUX, "topology"), "more)\n\nSummary: 800 channel(s)"));
}

/* A patch of a large Service is expensive, so its texts wait; endpoints and ports do not */
static void texts_of_a_large_mux_wait(void **state)
{
	int64_t now = 1700000000 * NSEC_PER_SEC;
	struct test_cluster *c = *state;
	char name[32];

	test_mux(c, MUX, "'port-range':'1-65535'");
	for (int i = 0; i < 210; i++) {
		snprintf(name, sizeof(name), "app/c%03d", i);
		test_channel(c, name, "http:80", "'external-ports':'http:auto'");
	}
	test_settle(c);
	test_patch(c, TEST_SLICE, "app/c007-x",
		   "{'endpoints':[{'addresses':['10.9.9.9']},"
		   "{'addresses':['10.9.9.8']}]}");
	test_set_time(c, now + NSEC_PER_SEC);
	assert_int_equal(test_scoped_pass(c, MUX, "app/c007"), 2); /* slice and Endpoints */
	assert_int_equal(test_plan(c)->due, now + 210 * 20 * NSEC_PER_MSEC);
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0); /* also in a full pass */
	assert_int_equal(test_plan(c)->due, now + 210 * 20 * NSEC_PER_MSEC);
	test_set_time(c, test_plan(c)->due);
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 1);
	assert_non_null(strstr(test_value(c, MUX, "summary"), "211 pod(s)"));
	assert_int_equal(test_plan(c)->due, 0);
	/* with another change they are written at once */
	test_delete(c, TEST_SERVICE, "app/c009");
	test_pass(c, MUX, SIZE_MAX);
	assert_non_null(strstr(test_value(c, MUX, "summary"), "209 channel(s)"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_slice_is_made_from_each_slice),   T(both_families_are_written),
		T(endpoints_are_aggregated),	      T(a_renamed_port_reaches_the_endpoints),
		T(endpoints_stand_in_for_slices),     T(written_slices_are_no_source),
		T(changes_of_backends_are_told),      T(a_large_endpoints_object_is_truncated),
		T(a_pass_over_one_channel_is_enough), T(a_view_knows_what_it_was_made_from),
		T(texts_of_a_large_mux_have_a_bound), T(texts_of_a_large_mux_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
