/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster: Services, EndpointSlices and Nodes as a cluster has them, and the facts for
 * core/cluster.
 */
#pragma once

#include "base/arena.h"
#include "core/cluster/cluster.h"
#include "lib/k8s/kind.h"

struct wire_ingress {
	const char *ip;
};

struct wire_service_port {
	const char *protocol; /* NULL: TCP */
	int64_t port;
};

struct wire_service {
	struct k8s_object object;
	struct k8s_list annotations; /* only CLUSTER_ANNOTATION */
	const char *type, *policy, *affinity;
	int64_t health_port;
	struct k8s_list ports;	 /* of struct wire_service_port */
	struct k8s_list ingress; /* of struct wire_ingress */
};

struct wire_slice_endpoint {
	struct k8s_list addresses; /* texts */
	const char *node;
	uint8_t ready, serving;
};

struct wire_slice {
	struct k8s_object object;
	struct k8s_list labels; /* only that with the name of the Service */
	const char *family;	/* "IPv4", "IPv6", "FQDN" */
	struct k8s_list endpoints;
};

struct wire_node_address {
	const char *type, *address;
};

struct wire_node {
	struct k8s_object object;
	struct k8s_list addresses; /* of struct wire_node_address */
};

extern const struct k8s_layout wire_service_layout, wire_slice_layout, wire_node_layout;
extern const struct k8s_layout wire_service_port_layout;

/* The name of the Service of a slice; NULL: none. */
const char *wire_slice_service(const struct wire_slice *s);
/* Whether annotations ask for the Maglev data plane. */
bool wire_annotations_ask(const struct k8s_list *annotations);
/* Whether a Service does, is of type LoadBalancer and is not being deleted. */
bool wire_service_asks(const struct wire_service *s);
/* A list of struct wire_service_port, in the arena. Texts are constants. */
const struct cluster_port *wire_service_ports(const struct k8s_list *ports, struct arena *arena);

/*
 * The facts about a Service with its slices, and about a node. Arrays are in the arena, texts are
 * those of the objects: both must outlive the result.
 */
struct cluster_service wire_cluster_service(const struct wire_service *s,
					    const struct wire_slice *const *slices, size_t n_slices,
					    struct arena *arena);
struct cluster_node wire_cluster_node(const struct wire_node *n);
