/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_kinds: which kinds of objects the speaker follows in a cluster, and what it keeps of them.
 * Those of the configuration are of wire/metal.h.
 */
#pragma once

#include "lib/k8s/kind.h"

/* A row of the operator's table each; the order is that of the table. */
enum kube_kind {
	KUBE_SERVICES,
	KUBE_SLICES,
	KUBE_NODES,
	KUBE_LEASES,
	/* from here to KUBE_SECRETS: the configuration */
	KUBE_POOLS,
	KUBE_PEERS,
	KUBE_BGP_ADVERTISEMENTS,
	KUBE_L2_ADVERTISEMENTS,
	KUBE_BFD_PROFILES,
	KUBE_COMMUNITIES,
	KUBE_NAMESPACES,
	KUBE_SECRETS,
	/* from here: what the speaker writes about its own node */
	KUBE_SERVICE_BGP,
	KUBE_SERVICE_L2,
	KUBE_SESSION_STATUS,
	KUBE_SESSION_STATE,
	KUBE_CONFIGURATION,
	KUBE_KINDS
};

#define KUBE_STATUS_FIRST KUBE_SERVICE_BGP
#define KUBE_STATUS_KINDS (KUBE_KINDS - KUBE_STATUS_FIRST)

#define KUBE_LABEL_NODE "metallb.io/node"
#define KUBE_LABEL_PEER "metallb.io/peer"
#define KUBE_LABEL_SERVICE "metallb.io/service"
#define KUBE_LABEL_SERVICE_NAME "metallb.io/service-name"
#define KUBE_LABEL_SERVICE_NAMESPACE "metallb.io/service-namespace"
#define KUBE_LABEL_COMPONENT "metallb.io/component-type"
#define KUBE_LABEL_NODE_NAME "metallb.io/node-name"
#define KUBE_LABEL_FRR_NODE "frrk8s.metallb.io/node"
#define KUBE_LABEL_FRR_PEER "frrk8s.metallb.io/peer"
#define KUBE_LABEL_FRR_VRF "frrk8s.metallb.io/vrf"

#define KUBE_LABEL_SIZE 64 /* bytes, with the NUL */
/*
 * A name as the value of a label, which has at most 63 bytes: a longer one is cut, and a hash of
 * the whole takes the place of its end. Characters that a label cannot have are replaced, and
 * followed by the hash, too. Returns text.
 */
const char *kube_label(const char *name, char text[static KUBE_LABEL_SIZE]);
#define KUBE_HASH_BEGIN 2166136261U
/* FNV-1a of a text after others; h of the first is KUBE_HASH_BEGIN. */
uint32_t kube_hash(uint32_t h, const char *text);

struct kube_ingress {
	const char *ip;
};

struct kube_service {
	struct k8s_object object;
	struct k8s_list labels, annotations;
	const char *type, *class, *policy;
	struct k8s_list ingress; /* of struct kube_ingress */
	struct k8s_list ports;	 /* of struct wire_service_port */
};

struct kube_endpoint {
	const char *node;
	uint8_t ready, serving;
};

struct kube_slice {
	struct k8s_object object;
	struct k8s_list labels;	   /* only kubernetes.io/service-name */
	struct k8s_list endpoints; /* of struct kube_endpoint */
};

struct kube_condition {
	const char *type, *status;
};

struct kube_node {
	struct k8s_object object;
	struct k8s_list labels;
	struct k8s_list conditions; /* of struct kube_condition */
};

struct kube_lease {
	struct k8s_object object;
	struct k8s_list labels; /* only that of the node */
	const char *holder;
};

/* Any of the objects that the speaker writes. */
struct kube_status {
	struct k8s_object object;
	struct k8s_list labels;
	const char *status; /* JSON; NULL: none */
};

extern const struct k8s_layout kube_service_layout, kube_slice_layout, kube_node_layout,
	kube_lease_layout, kube_status_layout;

/* An endpoint that may get connections: ready, or terminating and still serving. */
bool kube_endpoint_is_usable(const struct kube_endpoint *e);
