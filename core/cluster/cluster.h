/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster: Services of a Kubernetes cluster as entries of maglevd's configuration.
 *
 * A Service asks for the Maglev data plane by an annotation. Each of its addresses and ports
 * becomes a frontend. The servers of a frontend are nodes: those that have endpoints of the
 * Service, with the number of ready endpoints as their weight. Packets reach a node in GRE, and
 * kube-proxy there passes them to a pod. docs/design/cluster-dataplane.md says why.
 *
 * The entries are added to the document of the configuration file, so they are validated with
 * it. What the file has wins; a Service that would make the configuration invalid is left out.
 *
 * Pure, and the same for the same facts on every node.
 */
#pragma once

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "core/l4/doc.h"

/* The annotation of a Service, and the value that asks for the data plane. */
#define CLUSTER_ANNOTATION "maglev.dev/data-plane"
#define CLUSTER_ANNOTATION_VALUE "maglev"

struct cluster_port {
	uint16_t port;
	const char *protocol; /* "tcp", "udp"; NULL: another, which is not balanced */
};

/* One of an EndpointSlice. The same one may be in several slices. */
struct cluster_endpoint {
	const char *node;    /* NULL: none */
	const char *address; /* as written */
	int family;
	bool ready, serving;
};

/* A Service of type LoadBalancer with the annotation. */
struct cluster_service {
	const char *namespace, *name;
	bool local;		      /* externalTrafficPolicy: Local */
	bool sticky;		      /* sessionAffinity: ClientIP */
	const char *const *addresses; /* of its status, as written */
	size_t n_addresses;
	const struct cluster_port *ports;
	size_t n_ports;
	uint16_t health_port; /* healthCheckNodePort; 0: none */
	const struct cluster_endpoint *endpoints;
	size_t n_endpoints;
};

struct cluster_node {
	const char *name;
	const char *address4, *address6; /* its internal ones; NULL: none */
};

struct cluster {
	const struct cluster_service *services; /* sorted by namespace and name */
	size_t n_services;
	const struct cluster_node *nodes; /* sorted by name */
	size_t n_nodes;
	const char *own; /* the name of this node */
};

/*
 * Adds the entries of the cluster to the document, and the addresses of this node as GRE sources
 * if the file has none. New texts and arrays are in the arena; the document refers to the facts
 * as well. What is left out, and why, is added to warnings.
 */
void cluster_extend(const struct cluster *c, struct arena *arena, struct l4_doc *doc,
		    struct errs *warnings);

/*
 * The name of the frontend for an address and port of a Service: "NAMESPACE/NAME/ADDRESS:PORT/tcp".
 * The speaker asks for it by this name.
 */
const char *cluster_frontend_name(const char *namespace, const char *name,
				  const struct addr *address, const struct cluster_port *port,
				  struct arena *arena);
