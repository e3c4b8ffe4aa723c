/* SPDX-License-Identifier: Apache-2.0 */
/* kinds: the fields of Services and of our statuses that the controller keeps. */
#pragma once

#include "lib/k8s/kind.h"

#define ANNOTATIONS "metallb.io/"
#define OLD_ANNOTATIONS "metallb.universe.tf/"
#define ANNOTATION_POOL "address-pool"
#define ANNOTATION_ADDRESSES "loadBalancerIPs"
#define ANNOTATION_SHARING "allow-shared-ip"
#define ANNOTATION_FROM_POOL "ip-allocated-from-pool" /* written by us */

struct service {
	struct k8s_object object;
	struct k8s_list labels, annotations, selector;
	const char *type, *class, *traffic_policy, *family_policy;
	const char *wanted_ip, *cluster_ip;
	struct k8s_list cluster_ips, families;
	struct k8s_list ports;	 /* of struct service_port */
	struct k8s_list ingress; /* of struct service_ingress */
};

struct service_port {
	const char *protocol;
	int64_t port;
};

struct service_ingress {
	const char *ip;
};

/* ConfigurationStatus: the name in the design document of MetalLB. */
struct config_status {
	struct k8s_object object;
	uint8_t valid;
	const char *error, *last_error, *in_force;
};

/* ConfigurationState: MetalLB's own name. */
struct config_state {
	struct k8s_object object;
	const char *result, *summary;
	struct k8s_list conditions; /* of struct condition */
};

struct condition {
	const char *type, *status, *reason, *message;
};

/* The certificates of the webhooks; values are base64. */
struct secret {
	struct k8s_object object;
	struct k8s_list data; /* ca.crt, ca.key, tls.crt, tls.key */
};

extern const struct k8s_layout service_layout, config_status_layout, config_state_layout,
	secret_layout;
