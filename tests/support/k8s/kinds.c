/* SPDX-License-Identifier: Apache-2.0 */
/* kinds: the fields that a controller such as maglev-mux would keep. */
#include <string.h>

#include "tests/support/k8s/tool.h"

struct port {
	const char *name, *protocol, *target;
	int64_t port, node_port;
};

static const struct k8s_field port_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct port, name),
	K8S_FIELD("protocol", K8S_NAME, struct port, protocol),
	K8S_FIELD("targetPort", K8S_TEXT, struct port, target),
	K8S_FIELD("port", K8S_INT, struct port, port),
	K8S_FIELD("nodePort", K8S_INT, struct port, node_port),
};
static const struct k8s_layout port_layout = K8S_LAYOUT(struct port, port_fields);

struct ingress {
	const char *ip, *hostname;
};

static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_STRING, struct ingress, ip),
	K8S_FIELD("hostname", K8S_STRING, struct ingress, hostname),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct ingress, ingress_fields);

struct service {
	struct k8s_object object;
	const char *type, *class, *policy;
	struct k8s_list annotations, selector, cluster_ips, ports, ingress;
};

static const char *const kept[] = { "maglev.example/*", NULL };

static const struct k8s_field service_fields[] = {
	K8S_FIELD("metadata.annotations", K8S_MAP, struct service, annotations, .keep = kept),
	K8S_FIELD("spec.type", K8S_NAME, struct service, type),
	K8S_FIELD("spec.loadBalancerClass", K8S_NAME, struct service, class),
	K8S_FIELD("spec.externalTrafficPolicy", K8S_NAME, struct service, policy),
	K8S_FIELD("spec.selector", K8S_MAP, struct service, selector),
	K8S_FIELD("spec.clusterIPs", K8S_STRINGS, struct service, cluster_ips),
	K8S_FIELD("spec.ports", K8S_LIST, struct service, ports, .of = &port_layout),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct service, ingress,
		  .of = &ingress_layout),
};
static const struct k8s_layout service_layout = K8S_LAYOUT(struct service, service_fields);

static void show_service(struct buf *out, const struct k8s_object *o)
{
	const struct service *s = (const struct service *)o;
	const struct port *ports = s->ports.items;
	const char *note = k8s_map_get(&s->annotations, "maglev.example/note");

	for (size_t i = 0; i < s->ports.n; i++)
		buf_printf(out, "%s%lld", i ? "," : "", (long long)ports[i].port);
	if (note)
		buf_printf(out, " %s", note);
}

struct endpoint_of {
	struct k8s_list addresses;
	const char *node, *zone, *target;
	uint8_t ready, serving, terminating;
};

static const struct k8s_field endpoint_fields[] = {
	K8S_FIELD("addresses", K8S_STRINGS, struct endpoint_of, addresses),
	K8S_FIELD("nodeName", K8S_NAME, struct endpoint_of, node),
	K8S_FIELD("zone", K8S_NAME, struct endpoint_of, zone),
	K8S_FIELD("targetRef.name", K8S_STRING, struct endpoint_of, target),
	K8S_FIELD("conditions.ready", K8S_BOOL, struct endpoint_of, ready),
	K8S_FIELD("conditions.serving", K8S_BOOL, struct endpoint_of, serving),
	K8S_FIELD("conditions.terminating", K8S_BOOL, struct endpoint_of, terminating),
};
static const struct k8s_layout endpoint_layout = K8S_LAYOUT(struct endpoint_of, endpoint_fields);

struct slice {
	struct k8s_object object;
	const char *family, *service;
	struct k8s_list labels, ports, endpoints;
};

static const char *const slice_labels[] = { "kubernetes.io/service-name", NULL };

static const struct k8s_field slice_fields[] = {
	K8S_FIELD("addressType", K8S_NAME, struct slice, family),
	K8S_FIELD("metadata.labels", K8S_MAP, struct slice, labels, .keep = slice_labels),
	K8S_FIELD("ports", K8S_LIST, struct slice, ports, .of = &port_layout),
	K8S_FIELD("endpoints", K8S_LIST, struct slice, endpoints, .of = &endpoint_layout),
};
static const struct k8s_layout slice_layout = K8S_LAYOUT(struct slice, slice_fields);

static void show_slice(struct buf *out, const struct k8s_object *o)
{
	const struct slice *s = (const struct slice *)o;
	const struct endpoint_of *e = s->endpoints.items;

	for (size_t i = 0; i < s->endpoints.n; i++)
		if (e[i].ready != K8S_NO && e[i].addresses.n)
			buf_printf(out, "%s%s", out->n ? "," : "",
				   k8s_string_at(&e[i].addresses, 0));
}

struct config_map {
	struct k8s_object object;
	struct k8s_list data;
};

static const struct k8s_field config_map_fields[] = {
	K8S_FIELD("data", K8S_MAP, struct config_map, data),
};
static const struct k8s_layout config_map_layout = K8S_LAYOUT(struct config_map, config_map_fields);

static void show_config_map(struct buf *out, const struct k8s_object *o)
{
	const char *value = k8s_map_get(&((const struct config_map *)o)->data, "value");

	buf_adds(out, value ? value : "");
}

struct widget {
	struct k8s_object object;
	const char *spec;
};

static const struct k8s_field widget_fields[] = {
	K8S_FIELD("spec", K8S_JSON, struct widget, spec),
};
static const struct k8s_layout widget_layout = K8S_LAYOUT(struct widget, widget_fields);

static void show_widget(struct buf *out, const struct k8s_object *o)
{
	const char *spec = ((const struct widget *)o)->spec;

	buf_adds(out, spec ? spec : "");
}

static const struct tool_kind kinds[] = {
	{ "services", { "", "v1", "services" }, &service_layout, show_service },
	{ "endpointslices",
	  { "discovery.k8s.io", "v1", "endpointslices" },
	  &slice_layout,
	  show_slice },
	{ "configmaps", { "", "v1", "configmaps" }, &config_map_layout, show_config_map },
	{ "widgets", { "maglev.example", "v1", "widgets" }, &widget_layout, show_widget },
};

const struct tool_kind *tool_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}
