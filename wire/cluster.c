/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/cluster.h"

#include "base/str.h"

#define LABEL_SERVICE "kubernetes.io/service-name"

/* ---- Services ---- */

static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_STRING, struct wire_ingress, ip),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct wire_ingress, ingress_fields);

static const struct k8s_field port_fields[] = {
	K8S_FIELD("protocol", K8S_NAME, struct wire_service_port, protocol),
	K8S_FIELD("port", K8S_INT, struct wire_service_port, port),
};
const struct k8s_layout wire_service_port_layout =
	K8S_LAYOUT(struct wire_service_port, port_fields);

static const char *const annotations[] = { CLUSTER_ANNOTATION, NULL };
static const struct k8s_field service_fields[] = {
	K8S_FIELD("metadata.annotations", K8S_MAP, struct wire_service, annotations,
		  .keep = annotations),
	K8S_FIELD("spec.type", K8S_NAME, struct wire_service, type),
	K8S_FIELD("spec.externalTrafficPolicy", K8S_NAME, struct wire_service, policy),
	K8S_FIELD("spec.sessionAffinity", K8S_NAME, struct wire_service, affinity),
	K8S_FIELD("spec.healthCheckNodePort", K8S_INT, struct wire_service, health_port),
	K8S_FIELD("spec.ports", K8S_LIST, struct wire_service, ports,
		  .of = &wire_service_port_layout),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct wire_service, ingress,
		  .of = &ingress_layout),
};
const struct k8s_layout wire_service_layout = K8S_LAYOUT(struct wire_service, service_fields);

/* ---- EndpointSlices ---- */

static const struct k8s_field endpoint_fields[] = {
	K8S_FIELD("addresses", K8S_STRINGS, struct wire_slice_endpoint, addresses),
	K8S_FIELD("nodeName", K8S_NAME, struct wire_slice_endpoint, node),
	K8S_FIELD("conditions.ready", K8S_BOOL, struct wire_slice_endpoint, ready),
	K8S_FIELD("conditions.serving", K8S_BOOL, struct wire_slice_endpoint, serving),
};
static const struct k8s_layout endpoint_layout =
	K8S_LAYOUT(struct wire_slice_endpoint, endpoint_fields);

static const char *const slice_labels[] = { LABEL_SERVICE, NULL };
static const struct k8s_field slice_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct wire_slice, labels, .keep = slice_labels),
	K8S_FIELD("addressType", K8S_NAME, struct wire_slice, family),
	K8S_FIELD("endpoints", K8S_LIST, struct wire_slice, endpoints, .of = &endpoint_layout),
};
const struct k8s_layout wire_slice_layout = K8S_LAYOUT(struct wire_slice, slice_fields);

/* ---- Nodes ---- */

static const struct k8s_field address_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct wire_node_address, type),
	K8S_FIELD("address", K8S_STRING, struct wire_node_address, address),
};
static const struct k8s_layout address_layout =
	K8S_LAYOUT(struct wire_node_address, address_fields);

static const struct k8s_field node_fields[] = {
	K8S_FIELD("status.addresses", K8S_LIST, struct wire_node, addresses, .of = &address_layout),
};
const struct k8s_layout wire_node_layout = K8S_LAYOUT(struct wire_node, node_fields);

/* ---- facts ---- */

const char *wire_slice_service(const struct wire_slice *s)
{
	return k8s_map_get(&s->labels, LABEL_SERVICE);
}

bool wire_annotations_ask(const struct k8s_list *list)
{
	return cstr_eq(k8s_map_get(list, CLUSTER_ANNOTATION), CLUSTER_ANNOTATION_VALUE);
}

bool wire_service_asks(const struct wire_service *s)
{
	return cstr_eq(s->type, "LoadBalancer") && wire_annotations_ask(&s->annotations) &&
	       s->object.deleting != K8S_YES;
}

/* The words of the configuration; NULL for SCTP. */
static const char *protocol_of(const char *text)
{
	if (!text || cstr_eq(text, "TCP"))
		return "tcp";
	return cstr_eq(text, "UDP") ? "udp" : NULL;
}

const struct cluster_port *wire_service_ports(const struct k8s_list *ports, struct arena *arena)
{
	const struct wire_service_port *from = ports->items;
	struct cluster_port *made = arena_array_of(arena, ports->n, struct cluster_port);

	for (size_t i = 0; i < ports->n; i++)
		made[i] = (struct cluster_port){ (uint16_t)from[i].port,
						 protocol_of(from[i].protocol) };
	return made;
}

static void read_addresses(const struct wire_service *s, struct arena *arena,
			   struct cluster_service *ret)
{
	const struct wire_ingress *from = s->ingress.items;
	const char **made = arena_array_of(arena, s->ingress.n, const char *);

	for (size_t i = 0; i < s->ingress.n; i++)
		if (from[i].ip && *from[i].ip)
			made[ret->n_addresses++] = from[i].ip;
	ret->addresses = made;
}

/*
 * A state that is not known counts as ready, as everywhere in Kubernetes. Names instead of
 * addresses (FQDN) are nowhere on a node.
 */
static struct cluster_endpoint endpoint_of(const struct wire_slice *slice,
					   const struct wire_slice_endpoint *e)
{
	return (struct cluster_endpoint){
		.node = cstr_eq(slice->family, "FQDN") ? NULL : e->node,
		.address = e->addresses.n ? k8s_string_at(&e->addresses, 0) : "",
		.family = cstr_eq(slice->family, "IPv6") ? AF_INET6 : AF_INET,
		.ready = e->ready != K8S_NO,
		.serving = e->serving == K8S_YES,
	};
}

static void read_endpoints(const struct wire_slice *const *slices, size_t n, struct arena *arena,
			   struct cluster_service *ret)
{
	struct cluster_endpoint *made;
	size_t max = 0;

	for (size_t i = 0; i < n; i++)
		max += slices[i]->endpoints.n;
	made = arena_array_of(arena, max, struct cluster_endpoint);
	for (size_t i = 0; i < n; i++) {
		const struct wire_slice_endpoint *list = slices[i]->endpoints.items;

		for (size_t k = 0; k < slices[i]->endpoints.n; k++)
			made[ret->n_endpoints++] = endpoint_of(slices[i], &list[k]);
	}
	ret->endpoints = made;
}

struct cluster_service wire_cluster_service(const struct wire_service *s,
					    const struct wire_slice *const *slices, size_t n_slices,
					    struct arena *arena)
{
	struct cluster_service ret = {
		.namespace = s->object.namespace,
		.name = s->object.name,
		.local = cstr_eq(s->policy, "Local"),
		.sticky = cstr_eq(s->affinity, "ClientIP"),
		.health_port = (uint16_t)s->health_port,
		.ports = wire_service_ports(&s->ports, arena),
		.n_ports = s->ports.n,
	};

	read_addresses(s, arena, &ret);
	read_endpoints(slices, n_slices, arena, &ret);
	return ret;
}

struct cluster_node wire_cluster_node(const struct wire_node *n)
{
	const struct wire_node_address *list = n->addresses.items;
	struct cluster_node ret = { .name = n->object.name };
	struct addr a;

	for (size_t i = 0; i < n->addresses.n; i++) {
		const char **to;

		if (!cstr_eq(list[i].type, "InternalIP") || !list[i].address ||
		    addr_parse(list[i].address, &a) < 0)
			continue;
		to = a.family == AF_INET ? &ret.address4 : &ret.address6;
		*to = *to ? *to : list[i].address;
	}
	return ret;
}
