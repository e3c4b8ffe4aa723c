/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/kube_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/cluster.h"

/* ---- Services ---- */

static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_STRING, struct kube_ingress, ip),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct kube_ingress, ingress_fields);

static const char *const annotations[] = { "metallb.io/allow-shared-ip",
					   "metallb.universe.tf/allow-shared-ip",
					   CLUSTER_ANNOTATION, NULL };
static const struct k8s_field service_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct kube_service, labels),
	K8S_FIELD("metadata.annotations", K8S_MAP, struct kube_service, annotations,
		  .keep = annotations),
	K8S_FIELD("spec.type", K8S_NAME, struct kube_service, type),
	K8S_FIELD("spec.loadBalancerClass", K8S_NAME, struct kube_service, class),
	K8S_FIELD("spec.externalTrafficPolicy", K8S_NAME, struct kube_service, policy),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct kube_service, ingress,
		  .of = &ingress_layout),
	K8S_FIELD("spec.ports", K8S_LIST, struct kube_service, ports,
		  .of = &wire_service_port_layout),
};
const struct k8s_layout kube_service_layout = K8S_LAYOUT(struct kube_service, service_fields);

/* ---- EndpointSlices ---- */

static const struct k8s_field endpoint_fields[] = {
	K8S_FIELD("nodeName", K8S_NAME, struct kube_endpoint, node),
	K8S_FIELD("conditions.ready", K8S_BOOL, struct kube_endpoint, ready),
	K8S_FIELD("conditions.serving", K8S_BOOL, struct kube_endpoint, serving),
};
static const struct k8s_layout endpoint_layout = K8S_LAYOUT(struct kube_endpoint, endpoint_fields);

static const char *const slice_labels[] = { "kubernetes.io/service-name", NULL };
static const struct k8s_field slice_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct kube_slice, labels, .keep = slice_labels),
	K8S_FIELD("endpoints", K8S_LIST, struct kube_slice, endpoints, .of = &endpoint_layout),
};
const struct k8s_layout kube_slice_layout = K8S_LAYOUT(struct kube_slice, slice_fields);

bool kube_endpoint_is_usable(const struct kube_endpoint *e)
{
	return e->ready != K8S_NO || e->serving == K8S_YES;
}

/* ---- Nodes and Leases ---- */

static const struct k8s_field condition_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct kube_condition, type),
	K8S_FIELD("status", K8S_NAME, struct kube_condition, status),
};
static const struct k8s_layout condition_layout =
	K8S_LAYOUT(struct kube_condition, condition_fields);

static const struct k8s_field node_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct kube_node, labels),
	K8S_FIELD("status.conditions", K8S_LIST, struct kube_node, conditions,
		  .of = &condition_layout),
};
const struct k8s_layout kube_node_layout = K8S_LAYOUT(struct kube_node, node_fields);

static const char *const lease_labels[] = { KUBE_LABEL_NODE, NULL };
static const struct k8s_field lease_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct kube_lease, labels, .keep = lease_labels),
	K8S_FIELD("spec.holderIdentity", K8S_STRING, struct kube_lease, holder),
};
const struct k8s_layout kube_lease_layout = K8S_LAYOUT(struct kube_lease, lease_fields);

/* ---- what is written ---- */

static const struct k8s_field status_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct kube_status, labels),
	K8S_FIELD("status", K8S_JSON, struct kube_status, status),
};
const struct k8s_layout kube_status_layout = K8S_LAYOUT(struct kube_status, status_fields);

uint32_t kube_hash(uint32_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619U;
	return h;
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *text, size_t n)
{
	if (n >= KUBE_LABEL_SIZE ||
	    (n && !(is_alphanumeric(text[0]) && is_alphanumeric(text[n - 1]))))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_alphanumeric(text[i]) && !strchr("-_.", text[i]))
			return false;
	return true;
}

const char *kube_label(const char *name, char text[static KUBE_LABEL_SIZE])
{
	size_t n = strlen(name);

	if (is_label(name, n)) {
		memcpy(text, name, n + 1);
		return text;
	}
	snprintf(text, KUBE_LABEL_SIZE, "%.54s-%08" PRIx32, name, kube_hash(KUBE_HASH_BEGIN, name));
	for (char *p = text; *p; p++)
		if (!is_alphanumeric(*p) && (p == text || !strchr("-_.", *p)))
			*p = p == text ? 'x' : '-';
	return text;
}
