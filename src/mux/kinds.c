/* SPDX-License-Identifier: Apache-2.0 */
/* kinds: the tables of the fields that maglev-mux keeps. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "src/mux/kinds.h"
#include "src/mux/state.h"

static const struct k8s_field service_port_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct mux_service_port, name),
	K8S_FIELD("protocol", K8S_NAME, struct mux_service_port, protocol),
	K8S_FIELD("port", K8S_INT, struct mux_service_port, port),
	K8S_FIELD("nodePort", K8S_INT, struct mux_service_port, node_port),
};
static const struct k8s_layout service_port_layout =
	K8S_LAYOUT(struct mux_service_port, service_port_fields);

static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_NAME, struct mux_ingress, ip),
	K8S_FIELD("hostname", K8S_NAME, struct mux_ingress, hostname),
	K8S_FIELD("ipMode", K8S_NAME, struct mux_ingress, ip_mode),
	K8S_FIELD("ports", K8S_JSON, struct mux_ingress, ports),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct mux_ingress, ingress_fields);

static const struct k8s_field service_fields[] = {
	K8S_FIELD("spec.type", K8S_NAME, struct mux_service, type),
	K8S_FIELD("spec.loadBalancerClass", K8S_NAME, struct mux_service, class),
	K8S_FIELD("metadata.labels", K8S_MAP, struct mux_service, labels),
	K8S_FIELD("metadata.finalizers", K8S_STRINGS, struct mux_service, finalizers),
	K8S_FIELD("spec.ipFamilies", K8S_STRINGS, struct mux_service, ip_families),
	K8S_FIELD("spec.ports", K8S_LIST, struct mux_service, ports, .of = &service_port_layout),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct mux_service, ingress,
		  .of = &ingress_layout),
	K8S_FIELD("spec.selector", K8S_PRESENT, struct mux_service, selector),
};

#define TARGET_FIELDS(owner)                                                                       \
	K8S_FIELD("targetRef.kind", K8S_NAME, owner, target.kind),                                 \
		K8S_FIELD("targetRef.namespace", K8S_NAME, owner, target.namespace),               \
		K8S_FIELD("targetRef.name", K8S_NAME, owner, target.name),                         \
		K8S_FIELD("targetRef.uid", K8S_NAME, owner, target.uid)

static const struct k8s_field endpoint_fields[] = {
	K8S_FIELD("addresses", K8S_STRINGS, struct mux_endpoint, addresses),
	K8S_FIELD("hostname", K8S_NAME, struct mux_endpoint, hostname),
	K8S_FIELD("nodeName", K8S_NAME, struct mux_endpoint, node),
	K8S_FIELD("zone", K8S_NAME, struct mux_endpoint, zone),
	TARGET_FIELDS(struct mux_endpoint),
	K8S_FIELD("conditions.ready", K8S_BOOL, struct mux_endpoint, ready),
	K8S_FIELD("conditions.serving", K8S_BOOL, struct mux_endpoint, serving),
	K8S_FIELD("conditions.terminating", K8S_BOOL, struct mux_endpoint, terminating),
};
static const struct k8s_layout endpoint_layout = K8S_LAYOUT(struct mux_endpoint, endpoint_fields);

static const struct k8s_field endpoint_port_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct mux_endpoint_port, name),
	K8S_FIELD("protocol", K8S_NAME, struct mux_endpoint_port, protocol),
	K8S_FIELD("appProtocol", K8S_NAME, struct mux_endpoint_port, app_protocol),
	K8S_FIELD("port", K8S_INT, struct mux_endpoint_port, port),
};
static const struct k8s_layout endpoint_port_layout =
	K8S_LAYOUT(struct mux_endpoint_port, endpoint_port_fields);

static const char *const slice_labels[] = { MUX_LABEL_SERVICE, MUX_LABEL_MANAGED_BY, NULL };

static const struct k8s_field slice_fields[] = {
	K8S_FIELD("addressType", K8S_NAME, struct mux_slice, family),
	K8S_FIELD("metadata.labels", K8S_MAP, struct mux_slice, labels, .keep = slice_labels),
	K8S_FIELD("ports", K8S_LIST, struct mux_slice, ports, .of = &endpoint_port_layout),
	K8S_FIELD("endpoints", K8S_LIST, struct mux_slice, endpoints, .of = &endpoint_layout),
};

static const struct k8s_field address_fields[] = {
	K8S_FIELD("ip", K8S_NAME, struct mux_address, ip),
	K8S_FIELD("hostname", K8S_NAME, struct mux_address, hostname),
	K8S_FIELD("nodeName", K8S_NAME, struct mux_address, node),
	TARGET_FIELDS(struct mux_address),
};
static const struct k8s_layout address_layout = K8S_LAYOUT(struct mux_address, address_fields);

static const struct k8s_field subset_fields[] = {
	K8S_FIELD("addresses", K8S_LIST, struct mux_subset, ready, .of = &address_layout),
	K8S_FIELD("notReadyAddresses", K8S_LIST, struct mux_subset, not_ready,
		  .of = &address_layout),
	K8S_FIELD("ports", K8S_LIST, struct mux_subset, ports, .of = &endpoint_port_layout),
};
static const struct k8s_layout subset_layout = K8S_LAYOUT(struct mux_subset, subset_fields);

static const struct k8s_field endpoints_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct mux_endpoints, labels),
	K8S_FIELD("subsets", K8S_LIST, struct mux_endpoints, subsets, .of = &subset_layout),
};

static const char *const config_map_labels[] = { "app.kubernetes.io/name",
						 "app.kubernetes.io/component", NULL };

/* The key has a dot, so it cannot be the end of a path: it is the one member of a map. */
static const char *const config_map_data[] = { MUX_STATE_KEY, NULL };

static const struct k8s_field config_map_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct mux_config_map, labels,
		  .keep = config_map_labels),
	K8S_FIELD("data", K8S_MAP, struct mux_config_map, data, .keep = config_map_data),
};

static const struct k8s_field namespace_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct mux_namespace, labels),
};
static const struct k8s_layout namespace_layout =
	K8S_LAYOUT(struct mux_namespace, namespace_fields);

/* A layout of the fixed fields and of the annotations, of which these keys are kept. */
static struct k8s_layout with_annotations(struct arena *arena, struct k8s_layout fixed,
					  size_t offset, const char *const *keep)
{
	struct k8s_field *fields = arena_array_of(arena, fixed.n_fields + 1, struct k8s_field);

	for (size_t i = 0; i < fixed.n_fields; i++)
		fields[i] = fixed.fields[i];
	fields[fixed.n_fields] = (struct k8s_field){
		.path = "metadata.annotations", .type = K8S_MAP, .offset = offset, .keep = keep
	};
	fixed.fields = fields;
	fixed.n_fields++;
	return fixed;
}

/* The list of keys that begins with <prefix>/WHAT and ends with NULL. */
static const char *const *keep_list(struct arena *arena, const char *prefix, const char *what,
				    const char *const *others, size_t n)
{
	const char **list = arena_array_of(arena, n + 2, const char *);

	list[0] = arena_printf(arena, "%s/%s", prefix, what);
	for (size_t i = 0; i < n; i++)
		list[i + 1] = others[i];
	return list;
}

/* Annotations of others that decide something: see plan_limit.c, plan_dns.c, plan_leftovers(). */
static const char *const service_notes[] = {
	MUX_NOTE_GKE_RBS,      MUX_NOTE_GKE_TYPE,    MUX_NOTE_GKE_ADDRESSES,
	MUX_NOTE_DNS_HOSTNAME, MUX_NOTE_DNS_PROXIED, MUX_NOTE_KOPF,
};
static const char *const endpoints_notes[] = { MUX_NOTE_OVER_CAPACITY };

#define LAYOUT_OF(type, fields) ((struct k8s_layout)K8S_LAYOUT(type, fields))

struct mux_kinds *mux_kinds_new(const char *prefix)
{
	struct mux_kinds *k = mem_zalloc(sizeof(*k));
	struct arena *a = k->arena = arena_new();
	const char *const *all =
		keep_list(a, prefix, "*", service_notes, ARRAY_SIZE(service_notes));

	k->service = with_annotations(a, LAYOUT_OF(struct mux_service, service_fields),
				      offsetof(struct mux_service, annotations), all);
	k->slice = with_annotations(a, LAYOUT_OF(struct mux_slice, slice_fields),
				    offsetof(struct mux_slice, annotations),
				    keep_list(a, prefix, "channel", NULL, 0));
	k->endpoints = with_annotations(a, LAYOUT_OF(struct mux_endpoints, endpoints_fields),
					offsetof(struct mux_endpoints, annotations),
					keep_list(a, prefix, "*", endpoints_notes,
						  ARRAY_SIZE(endpoints_notes)));
	k->config_map = with_annotations(a, LAYOUT_OF(struct mux_config_map, config_map_fields),
					 offsetof(struct mux_config_map, annotations),
					 keep_list(a, prefix, "mux", NULL, 0));
	k->namespace = namespace_layout;
	return k;
}

void mux_kinds_free(struct mux_kinds *k)
{
	if (!k)
		return;
	arena_free(k->arena);
	free(k);
}
