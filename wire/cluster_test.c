/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/k8s/feed.h"

/* One object, from its JSON. */
struct made {
	struct k8s_names *names;
	struct k8s_kind *kind;
	const struct k8s_object *object;
};

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	struct made *m = user;

	m->object = k8s_object_keep(m->kind, e->object);
	return true;
}

/* Single quotes stand for double ones. */
static struct made make(const struct k8s_layout *layout, const char *text)
{
	_cleanup_(cleanup_free) char *json = mem_strdup(text);
	struct made m = { .names = k8s_names_new() };
	struct k8s_feed *feed;

	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	m.kind = k8s_kind_new(layout, m.names);
	feed = k8s_feed_new(m.kind, K8S_FEED_OBJECT, on_object, &m);
	if (k8s_feed_take(feed, json, strlen(json)) < 0 || k8s_feed_end(feed) < 0)
		fail_msg("%s: %s", k8s_feed_reason(feed), text);
	k8s_feed_free(feed);
	assert_non_null(m.object);
	return m;
}

static void unmake(struct made *m)
{
	k8s_object_unref(m->kind, m->object);
	k8s_kind_free(m->kind);
	k8s_names_free(m->names);
}

static const char service[] =
	"{'metadata':{'resourceVersion':'1','name':'web','namespace':'default','annotations':"
	"{'maglev.dev/data-plane':'maglev','other':'x'}},'spec':{'type':'LoadBalancer',"
	"'externalTrafficPolicy':'Local','sessionAffinity':'ClientIP','healthCheckNodePort':30001,"
	"'ports':[{'port':80},{'port':53,'protocol':'UDP'},{'port':9,'protocol':'SCTP'}]},"
	"'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1'},{'hostname':'x.example'}]}}}";

static void a_service_with_its_slices(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct made s = make(&wire_service_layout, service);
	struct made slice = make(
		&wire_slice_layout,
		"{'metadata':{'resourceVersion':'1','name':'web-1','namespace':'default','labels':"
		"{'kubernetes.io/service-name':'web'}},'addressType':'IPv6','endpoints':["
		"{'addresses':['fd00::1'],'nodeName':'a'},"
		"{'addresses':['fd00::2'],'nodeName':'b','conditions':"
		"{'ready':false,'serving':true,'terminating':true}},"
		"{'addresses':['fd00::3'],'conditions':{'ready':false,'serving':false}}]}");
	const struct wire_slice *slices[] = { (const struct wire_slice *)slice.object };
	struct cluster_service got =
		wire_cluster_service((const struct wire_service *)s.object, slices, 1, arena);

	assert_true(wire_service_asks((const struct wire_service *)s.object));
	assert_string_equal(wire_slice_service(slices[0]), "web");
	assert_string_equal(got.namespace, "default");
	assert_string_equal(got.name, "web");
	assert_true(got.local && got.sticky);
	assert_int_equal(got.health_port, 30001);
	assert_int_equal(got.n_addresses, 1);
	assert_string_equal(got.addresses[0], "192.0.2.1");
	assert_int_equal(got.n_ports, 3);
	assert_int_equal(got.ports[1].port, 53);
	assert_string_equal(got.ports[0].protocol, "tcp");
	assert_string_equal(got.ports[1].protocol, "udp");
	assert_null(got.ports[2].protocol);
	assert_int_equal(got.n_endpoints, 3);
	assert_string_equal(got.endpoints[0].node, "a");
	assert_int_equal(got.endpoints[0].family, AF_INET6);
	assert_true(got.endpoints[0].ready);
	assert_true(!got.endpoints[1].ready && got.endpoints[1].serving);
	assert_true(!got.endpoints[2].ready && !got.endpoints[2].serving);
	assert_null(got.endpoints[2].node);
	unmake(&slice);
	unmake(&s);
}

static void only_the_exact_annotation_asks(void **state)
{
	static const char *const texts[] = {
		"{'metadata':{'resourceVersion':'1','name':'w'},'spec':{'type':'LoadBalancer'}}",
		"{'metadata':{'resourceVersion':'1','name':'w','annotations':{'maglev.dev/"
		"data-plane':'kube-proxy'}},"
		"'spec':{'type':'LoadBalancer'}}",
		"{'metadata':{'resourceVersion':'1','name':'w','annotations':{'maglev.dev/"
		"data-plane':'maglev'}},"
		"'spec':{'type':'ClusterIP'}}",
		"{'metadata':{'resourceVersion':'1','name':'w','deletionTimestamp':'2026-01-01T00:"
		"00:00Z',"
		"'annotations':{'maglev.dev/data-plane':'maglev'}},'spec':{'type':'LoadBalancer'}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct made s = make(&wire_service_layout, texts[i]);

		assert_false(wire_service_asks((const struct wire_service *)s.object));
		unmake(&s);
	}
}

static void a_node_has_its_first_internal_addresses(void **state)
{
	struct made n =
		make(&wire_node_layout,
		     "{'metadata':{'resourceVersion':'1','name':'a'},'status':{'addresses':["
		     "{'type':'ExternalIP','address':'198.51.100.1'},"
		     "{'type':'InternalIP','address':'nonsense'},"
		     "{'type':'InternalIP','address':'10.0.0.1'},"
		     "{'type':'InternalIP','address':'10.0.0.2'},"
		     "{'type':'InternalIP','address':'2001:db8::1'},"
		     "{'type':'Hostname','address':'a'}]}}");
	struct cluster_node got = wire_cluster_node((const struct wire_node *)n.object);

	assert_string_equal(got.name, "a");
	assert_string_equal(got.address4, "10.0.0.1");
	assert_string_equal(got.address6, "2001:db8::1");
	unmake(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_with_its_slices),
		cmocka_unit_test(only_the_exact_annotation_asks),
		cmocka_unit_test(a_node_has_its_first_internal_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
