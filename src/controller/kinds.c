/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/kinds.h"

static const char *const kept[] = { ANNOTATIONS "*", OLD_ANNOTATIONS "*", NULL };

static const struct k8s_field port_fields[] = {
	K8S_FIELD("protocol", K8S_NAME, struct service_port, protocol),
	K8S_FIELD("port", K8S_INT, struct service_port, port),
};
static const struct k8s_layout port_layout = K8S_LAYOUT(struct service_port, port_fields);

static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_STRING, struct service_ingress, ip),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct service_ingress, ingress_fields);

static const struct k8s_field service_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct service, labels),
	K8S_FIELD("metadata.annotations", K8S_MAP, struct service, annotations, .keep = kept),
	K8S_FIELD("spec.type", K8S_NAME, struct service, type),
	K8S_FIELD("spec.loadBalancerClass", K8S_NAME, struct service, class),
	K8S_FIELD("spec.externalTrafficPolicy", K8S_NAME, struct service, traffic_policy),
	K8S_FIELD("spec.ipFamilyPolicy", K8S_NAME, struct service, family_policy),
	K8S_FIELD("spec.loadBalancerIP", K8S_STRING, struct service, wanted_ip),
	K8S_FIELD("spec.clusterIP", K8S_STRING, struct service, cluster_ip),
	K8S_FIELD("spec.clusterIPs", K8S_STRINGS, struct service, cluster_ips),
	K8S_FIELD("spec.ipFamilies", K8S_STRINGS, struct service, families),
	K8S_FIELD("spec.selector", K8S_MAP, struct service, selector),
	K8S_FIELD("spec.ports", K8S_LIST, struct service, ports, .of = &port_layout),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct service, ingress,
		  .of = &ingress_layout),
};
const struct k8s_layout service_layout = K8S_LAYOUT(struct service, service_fields);

static const struct k8s_field config_status_fields[] = {
	K8S_FIELD("status.validConfig", K8S_BOOL, struct config_status, valid),
	K8S_FIELD("status.error", K8S_STRING, struct config_status, error),
	K8S_FIELD("status.lastError", K8S_STRING, struct config_status, last_error),
	K8S_FIELD("status.inForce", K8S_NAME, struct config_status, in_force),
};
const struct k8s_layout config_status_layout =
	K8S_LAYOUT(struct config_status, config_status_fields);

static const struct k8s_field condition_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct condition, type),
	K8S_FIELD("status", K8S_NAME, struct condition, status),
	K8S_FIELD("reason", K8S_NAME, struct condition, reason),
	K8S_FIELD("message", K8S_STRING, struct condition, message),
};
static const struct k8s_layout condition_layout = K8S_LAYOUT(struct condition, condition_fields);

static const struct k8s_field config_state_fields[] = {
	K8S_FIELD("status.result", K8S_NAME, struct config_state, result),
	K8S_FIELD("status.errorSummary", K8S_STRING, struct config_state, summary),
	K8S_FIELD("status.conditions", K8S_LIST, struct config_state, conditions,
		  .of = &condition_layout),
};
const struct k8s_layout config_state_layout = K8S_LAYOUT(struct config_state, config_state_fields);

static const struct k8s_field secret_fields[] = {
	K8S_FIELD("data", K8S_MAP, struct secret, data),
};
const struct k8s_layout secret_layout = K8S_LAYOUT(struct secret, secret_fields);
