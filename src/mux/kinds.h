/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds: the fields of Kubernetes objects that maglev-mux keeps.
 *
 * The tables depend on the prefix of the annotations, which is a setting, so they are made at the
 * start. Strings that a source slice and the slice or Endpoints made from it have in common are
 * stored once (K8S_NAME).
 */
#pragma once

#include "lib/k8s/kind.h"

struct mux_service_port {
	const char *name, *protocol; /* NULL if absent; protocol is then TCP */
	int64_t port, node_port;     /* 0 if absent */
};

struct mux_ingress {
	const char *ip, *hostname, *ip_mode; /* NULL if absent */
	const char *ports;		     /* JSON text, or NULL */
};

struct mux_service {
	struct k8s_object object;
	const char *type, *class;
	/* Annotations: ours (the prefix), those of GKE, of external-dns and of the original. */
	struct k8s_list annotations, labels;	 /* of struct k8s_pair */
	struct k8s_list finalizers, ip_families; /* of const char * */
	struct k8s_list ports;			 /* of struct mux_service_port */
	struct k8s_list ingress;		 /* of struct mux_ingress */
	uint8_t selector;			 /* K8S_YES if there is one */
};

struct mux_target {
	const char *kind, *namespace, *name, *uid; /* NULL if absent */
};

struct mux_endpoint {
	struct k8s_list addresses; /* of const char * */
	const char *hostname, *node, *zone;
	struct mux_target target;
	uint8_t ready, serving, terminating; /* enum k8s_bool */
};

struct mux_endpoint_port {
	const char *name, *protocol, *app_protocol; /* NULL if absent */
	int64_t port;				    /* 0 if absent */
};

struct mux_slice {
	struct k8s_object object;
	const char *family;		  /* addressType: "IPv4", "IPv6", "FQDN" */
	struct k8s_list labels;		  /* service-name and managed-by */
	struct k8s_list annotations;	  /* <prefix>/channel */
	struct k8s_list ports, endpoints; /* of struct mux_endpoint_port, struct mux_endpoint */
};

/* An address of an Endpoints object. */
struct mux_address {
	const char *ip, *hostname, *node;
	struct mux_target target;
};

struct mux_subset {
	struct k8s_list ready, not_ready; /* of struct mux_address */
	struct k8s_list ports;		  /* of struct mux_endpoint_port */
};

struct mux_endpoints {
	struct k8s_object object;
	struct k8s_list labels, annotations;
	struct k8s_list subsets; /* of struct mux_subset */
};

struct mux_config_map {
	struct k8s_object object;
	struct k8s_list labels, annotations; /* <prefix>/mux */
	struct k8s_list data;		     /* only MUX_STATE_KEY */
};

struct mux_namespace {
	struct k8s_object object;
	struct k8s_list labels;
};

#define MUX_LABEL_SERVICE "kubernetes.io/service-name"
#define MUX_LABEL_MANAGED_BY "endpointslice.kubernetes.io/managed-by"
#define MUX_MANAGED_BY "maglev-mux" /* its value on the slices that maglev-mux writes */

/* Annotations of others. */
#define MUX_NOTE_GKE_RBS "cloud.google.com/l4-rbs"
#define MUX_NOTE_GKE_TYPE "networking.gke.io/load-balancer-type"
#define MUX_NOTE_GKE_ADDRESSES "networking.gke.io/load-balancer-ip-addresses"
#define MUX_NOTE_DNS_HOSTNAME "external-dns.alpha.kubernetes.io/hostname"
#define MUX_NOTE_DNS_PROXIED "external-dns.alpha.kubernetes.io/cloudflare-proxied"
#define MUX_NOTE_KOPF "kopf.zalando.org/last-handled-configuration"
#define MUX_NOTE_OVER_CAPACITY "endpoints.kubernetes.io/over-capacity"

/* Everything lives until mux_kinds_free(). */
struct mux_kinds {
	struct arena *arena;
	struct k8s_layout service, slice, endpoints, config_map, namespace;
};

/* prefix is that of the settings; it is copied. */
struct mux_kinds *mux_kinds_new(const char *prefix);
void mux_kinds_free(struct mux_kinds *k); /* NULL is allowed */
