/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds: tables from the JSON of the API server to the structs of facts.h.
 *
 * HTTPRoute and GRPCRoute fill the same structs, but their matches have a member of the same name
 * and of another type, so each has its own tables from the route down to the match.
 */
#include "src/gateway/kinds.h"

/* ---- references and conditions ---- */

#define REF(where, owner, member)                                                                  \
	K8S_FIELD(where "group", K8S_NAME, owner, member.group),                                   \
		K8S_FIELD(where "kind", K8S_NAME, owner, member.kind),                             \
		K8S_FIELD(where "namespace", K8S_NAME, owner, member.namespace),                   \
		K8S_FIELD(where "name", K8S_STRING, owner, member.name),                           \
		K8S_FIELD(where "sectionName", K8S_NAME, owner, member.section),                   \
		K8S_FIELD(where "port", K8S_INT, owner, member.port, .absent = -1)

static const struct k8s_field ref_fields[] = {
	K8S_FIELD("group", K8S_NAME, struct gw_ref, group),
	K8S_FIELD("kind", K8S_NAME, struct gw_ref, kind),
	K8S_FIELD("namespace", K8S_NAME, struct gw_ref, namespace),
	K8S_FIELD("name", K8S_STRING, struct gw_ref, name),
	K8S_FIELD("sectionName", K8S_NAME, struct gw_ref, section),
	K8S_FIELD("port", K8S_INT, struct gw_ref, port, .absent = -1),
};
static const struct k8s_layout ref_layout = K8S_LAYOUT(struct gw_ref, ref_fields);

static const struct k8s_field condition_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_condition, type),
	K8S_FIELD("status", K8S_NAME, struct gw_condition, status),
	K8S_FIELD("reason", K8S_NAME, struct gw_condition, reason),
	K8S_FIELD("message", K8S_NAME, struct gw_condition, message),
	K8S_FIELD("lastTransitionTime", K8S_NAME, struct gw_condition, time),
	K8S_FIELD("observedGeneration", K8S_INT, struct gw_condition, generation, .absent = -1),
};
static const struct k8s_layout condition_layout = K8S_LAYOUT(struct gw_condition, condition_fields);

static const struct k8s_field parent_fields[] = {
	REF("parentRef.", struct gw_parent, ref),
	K8S_FIELD("controllerName", K8S_NAME, struct gw_parent, controller),
	K8S_FIELD("conditions", K8S_LIST, struct gw_parent, conditions, .of = &condition_layout),
};
static const struct k8s_layout parent_layout = K8S_LAYOUT(struct gw_parent, parent_fields);

static const struct k8s_field ancestor_fields[] = {
	REF("ancestorRef.", struct gw_parent, ref),
	K8S_FIELD("controllerName", K8S_NAME, struct gw_parent, controller),
	K8S_FIELD("conditions", K8S_LIST, struct gw_parent, conditions, .of = &condition_layout),
};
static const struct k8s_layout ancestor_layout = K8S_LAYOUT(struct gw_parent, ancestor_fields);

#define NAMESPACES(where, owner, member)                                                           \
	K8S_FIELD(where "from", K8S_NAME, owner, member.from),                                     \
		WIRE_SELECTOR(where "selector", owner, member.selector)

/* ---- GatewayClass ---- */

static const struct k8s_field feature_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_feature, name),
};
static const struct k8s_layout feature_layout = K8S_LAYOUT(struct gw_feature, feature_fields);

static const struct k8s_field class_fields[] = {
	K8S_FIELD("metadata.creationTimestamp", K8S_STRING, struct gw_class, created),
	K8S_FIELD("metadata.finalizers", K8S_STRINGS, struct gw_class, finalizers),
	K8S_FIELD("spec.controllerName", K8S_NAME, struct gw_class, controller),
	REF("spec.parametersRef.", struct gw_class, parameters),
	K8S_FIELD("status.conditions", K8S_LIST, struct gw_class, conditions,
		  .of = &condition_layout),
	K8S_FIELD("status.supportedFeatures", K8S_LIST, struct gw_class, features,
		  .of = &feature_layout),
};
static const struct k8s_layout class_layout = K8S_LAYOUT(struct gw_class, class_fields);

/* ---- Gateway, ListenerSet ---- */

static const struct k8s_field route_kind_fields[] = {
	K8S_FIELD("group", K8S_NAME, struct gw_route_kind, group),
	K8S_FIELD("kind", K8S_NAME, struct gw_route_kind, kind),
};
static const struct k8s_layout route_kind_layout =
	K8S_LAYOUT(struct gw_route_kind, route_kind_fields);

static const struct k8s_field listener_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_listener, name),
	K8S_FIELD("hostname", K8S_STRING, struct gw_listener, hostname),
	K8S_FIELD("protocol", K8S_NAME, struct gw_listener, protocol),
	K8S_FIELD("port", K8S_INT, struct gw_listener, port),
	K8S_FIELD("tls", K8S_PRESENT, struct gw_listener, has_tls),
	K8S_FIELD("tls.mode", K8S_NAME, struct gw_listener, tls_mode),
	K8S_FIELD("tls.certificateRefs", K8S_LIST, struct gw_listener, certificates,
		  .of = &ref_layout),
	K8S_FIELD("allowedRoutes", K8S_PRESENT, struct gw_listener, has_allowed),
	NAMESPACES("allowedRoutes.namespaces.", struct gw_listener, namespaces),
	K8S_FIELD("allowedRoutes.kinds", K8S_LIST, struct gw_listener, kinds,
		  .of = &route_kind_layout),
};
static const struct k8s_layout listener_layout = K8S_LAYOUT(struct gw_listener, listener_fields);

static const struct k8s_field listener_status_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_listener_status, name),
	K8S_FIELD("attachedRoutes", K8S_INT, struct gw_listener_status, attached, .absent = -1),
	K8S_FIELD("supportedKinds", K8S_LIST, struct gw_listener_status, kinds,
		  .of = &route_kind_layout),
	K8S_FIELD("conditions", K8S_LIST, struct gw_listener_status, conditions,
		  .of = &condition_layout),
};
static const struct k8s_layout listener_status_layout =
	K8S_LAYOUT(struct gw_listener_status, listener_status_fields);

static const struct k8s_field address_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_address, type),
	K8S_FIELD("value", K8S_STRING, struct gw_address, value),
};
static const struct k8s_layout address_layout = K8S_LAYOUT(struct gw_address, address_fields);

#define VALIDATION(where, owner, member)                                                           \
	K8S_FIELD(where, K8S_PRESENT, owner, member.given),                                        \
		K8S_FIELD(where ".mode", K8S_NAME, owner, member.mode),                            \
		K8S_FIELD(where ".caCertificateRefs", K8S_LIST, owner, member.ca,                  \
			  .of = &ref_layout)

static const struct k8s_field per_port_fields[] = {
	K8S_FIELD("port", K8S_INT, struct gw_port_validation, port),
	VALIDATION("tls.validation", struct gw_port_validation, validation),
};
static const struct k8s_layout per_port_layout =
	K8S_LAYOUT(struct gw_port_validation, per_port_fields);

static const struct k8s_field gateway_fields[] = {
	K8S_FIELD("metadata.creationTimestamp", K8S_STRING, struct gw_gateway, created),
	K8S_FIELD("spec.gatewayClassName", K8S_NAME, struct gw_gateway, class),
	K8S_FIELD("spec.listeners", K8S_LIST, struct gw_gateway, listeners, .of = &listener_layout),
	K8S_FIELD("spec.addresses", K8S_LIST, struct gw_gateway, addresses, .of = &address_layout),
	K8S_FIELD("spec.infrastructure.labels", K8S_MAP, struct gw_gateway, labels),
	K8S_FIELD("spec.infrastructure.annotations", K8S_MAP, struct gw_gateway, annotations),
	REF("spec.infrastructure.parametersRef.", struct gw_gateway, parameters),
	NAMESPACES("spec.allowedListeners.namespaces.", struct gw_gateway, allowed),
	K8S_FIELD("spec.tls.backend", K8S_PRESENT, struct gw_gateway, has_backend_tls),
	REF("spec.tls.backend.clientCertificateRef.", struct gw_gateway, client_certificate),
	VALIDATION("spec.tls.frontend.default.validation", struct gw_gateway, validation),
	K8S_FIELD("spec.tls.frontend.perPort", K8S_LIST, struct gw_gateway, per_port,
		  .of = &per_port_layout),
	K8S_FIELD("status.conditions", K8S_LIST, struct gw_gateway, conditions,
		  .of = &condition_layout),
	K8S_FIELD("status.listeners", K8S_LIST, struct gw_gateway, listener_status,
		  .of = &listener_status_layout),
	K8S_FIELD("status.addresses", K8S_LIST, struct gw_gateway, status_addresses,
		  .of = &address_layout),
	K8S_FIELD("status.attachedListenerSets", K8S_INT, struct gw_gateway, attached_sets,
		  .absent = -1),
};
static const struct k8s_layout gateway_layout = K8S_LAYOUT(struct gw_gateway, gateway_fields);

static const struct k8s_field listener_set_fields[] = {
	K8S_FIELD("metadata.creationTimestamp", K8S_STRING, struct gw_listener_set, created),
	REF("spec.parentRef.", struct gw_listener_set, parent),
	K8S_FIELD("spec.listeners", K8S_LIST, struct gw_listener_set, listeners,
		  .of = &listener_layout),
	K8S_FIELD("status.conditions", K8S_LIST, struct gw_listener_set, conditions,
		  .of = &condition_layout),
	K8S_FIELD("status.listeners", K8S_LIST, struct gw_listener_set, listener_status,
		  .of = &listener_status_layout),
};
static const struct k8s_layout listener_set_layout =
	K8S_LAYOUT(struct gw_listener_set, listener_set_fields);

/* ---- filters ---- */

static const struct k8s_field header_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_header, name),
	K8S_FIELD("value", K8S_STRING, struct gw_header, value),
};
static const struct k8s_layout header_layout = K8S_LAYOUT(struct gw_header, header_fields);

#define EDITS(where, member)                                                                       \
	K8S_FIELD(where ".set", K8S_LIST, struct gw_filter, member.set, .of = &header_layout),     \
		K8S_FIELD(where ".add", K8S_LIST, struct gw_filter, member.add,                    \
			  .of = &header_layout),                                                   \
		K8S_FIELD(where ".remove", K8S_STRINGS, struct gw_filter, member.remove)

#define PATH_EDIT(where, member)                                                                   \
	K8S_FIELD(where ".type", K8S_NAME, struct gw_filter, member.type),                         \
		K8S_FIELD(where ".replaceFullPath", K8S_STRING, struct gw_filter, member.full),    \
		K8S_FIELD(where ".replacePrefixMatch", K8S_STRING, struct gw_filter,               \
			  member.prefix)

static const struct k8s_field filter_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_filter, type),
	EDITS("requestHeaderModifier", request),
	EDITS("responseHeaderModifier", response),
	K8S_FIELD("requestRedirect.scheme", K8S_NAME, struct gw_filter, redirect.scheme),
	K8S_FIELD("requestRedirect.hostname", K8S_STRING, struct gw_filter, redirect.hostname),
	PATH_EDIT("requestRedirect.path", redirect.path),
	K8S_FIELD("requestRedirect.port", K8S_INT, struct gw_filter, redirect.port, .absent = -1),
	K8S_FIELD("requestRedirect.statusCode", K8S_INT, struct gw_filter, redirect.status,
		  .absent = -1),
	K8S_FIELD("urlRewrite.hostname", K8S_STRING, struct gw_filter, rewrite.hostname),
	PATH_EDIT("urlRewrite.path", rewrite.path),
	REF("requestMirror.backendRef.", struct gw_filter, mirror.backend),
	K8S_FIELD("requestMirror.percent", K8S_INT, struct gw_filter, mirror.percent, .absent = -1),
	K8S_FIELD("requestMirror.fraction.numerator", K8S_INT, struct gw_filter, mirror.numerator,
		  .absent = -1),
	K8S_FIELD("requestMirror.fraction.denominator", K8S_INT, struct gw_filter,
		  mirror.denominator, .absent = -1),
	K8S_FIELD("cors.allowOrigins", K8S_STRINGS, struct gw_filter, cors.origins),
	K8S_FIELD("cors.allowMethods", K8S_STRINGS, struct gw_filter, cors.methods),
	K8S_FIELD("cors.allowHeaders", K8S_STRINGS, struct gw_filter, cors.headers),
	K8S_FIELD("cors.exposeHeaders", K8S_STRINGS, struct gw_filter, cors.expose),
	K8S_FIELD("cors.allowCredentials", K8S_BOOL, struct gw_filter, cors.credentials),
	K8S_FIELD("cors.maxAge", K8S_INT, struct gw_filter, cors.max_age, .absent = -1),
};
static const struct k8s_layout filter_layout = K8S_LAYOUT(struct gw_filter, filter_fields);

/* ---- rules ---- */

static const struct k8s_field backend_fields[] = {
	REF("", struct gw_backend, ref),
	K8S_FIELD("weight", K8S_INT, struct gw_backend, weight, .absent = 1),
	K8S_FIELD("filters", K8S_LIST, struct gw_backend, filters, .of = &filter_layout),
};
static const struct k8s_layout backend_layout = K8S_LAYOUT(struct gw_backend, backend_fields);

static const struct k8s_field condition_on_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_condition_on, type),
	K8S_FIELD("name", K8S_NAME, struct gw_condition_on, name),
	K8S_FIELD("value", K8S_STRING, struct gw_condition_on, value),
};
static const struct k8s_layout condition_on_layout =
	K8S_LAYOUT(struct gw_condition_on, condition_on_fields);

static const struct k8s_field http_match_fields[] = {
	K8S_FIELD("path.type", K8S_NAME, struct gw_match, path_type),
	K8S_FIELD("path.value", K8S_STRING, struct gw_match, path),
	K8S_FIELD("method", K8S_NAME, struct gw_match, method),
	K8S_FIELD("headers", K8S_LIST, struct gw_match, headers, .of = &condition_on_layout),
	K8S_FIELD("queryParams", K8S_LIST, struct gw_match, queries, .of = &condition_on_layout),
};
static const struct k8s_layout http_match_layout = K8S_LAYOUT(struct gw_match, http_match_fields);

static const struct k8s_field grpc_match_fields[] = {
	K8S_FIELD("method", K8S_PRESENT, struct gw_match, has_grpc),
	K8S_FIELD("method.type", K8S_NAME, struct gw_match, grpc_type),
	K8S_FIELD("method.service", K8S_STRING, struct gw_match, service),
	K8S_FIELD("method.method", K8S_STRING, struct gw_match, grpc_method),
	K8S_FIELD("headers", K8S_LIST, struct gw_match, headers, .of = &condition_on_layout),
};
static const struct k8s_layout grpc_match_layout = K8S_LAYOUT(struct gw_match, grpc_match_fields);

#define PERSISTENCE(where)                                                                         \
	K8S_FIELD(where, K8S_PRESENT, struct gw_rule, persistence.given),                          \
		K8S_FIELD(where ".sessionName", K8S_NAME, struct gw_rule, persistence.name),       \
		K8S_FIELD(where ".type", K8S_NAME, struct gw_rule, persistence.type),              \
		K8S_FIELD(where ".absoluteTimeout", K8S_NAME, struct gw_rule,                      \
			  persistence.absolute),                                                   \
		K8S_FIELD(where ".cookieConfig.lifetimeType", K8S_NAME, struct gw_rule,            \
			  persistence.lifetime),                                                   \
		K8S_FIELD(where ".cookie.name", K8S_NAME, struct gw_rule,                          \
			  persistence.cookie_name),                                                \
		K8S_FIELD(where ".cookie.path", K8S_NAME, struct gw_rule,                          \
			  persistence.cookie_path),                                                \
		K8S_FIELD(where ".cookie.lifetimeType", K8S_NAME, struct gw_rule,                  \
			  persistence.cookie_lifetime),                                            \
		K8S_FIELD(where ".header.name", K8S_NAME, struct gw_rule, persistence.header_name)

#define RULE_FIELDS                                                                                \
	K8S_FIELD("name", K8S_NAME, struct gw_rule, name),                                         \
		K8S_FIELD("filters", K8S_LIST, struct gw_rule, filters, .of = &filter_layout),     \
		K8S_FIELD("backendRefs", K8S_LIST, struct gw_rule, backends,                       \
			  .of = &backend_layout),                                                  \
		PERSISTENCE("sessionPersistence")

static const struct k8s_field http_rule_fields[] = {
	RULE_FIELDS,
	K8S_FIELD("matches", K8S_LIST, struct gw_rule, matches, .of = &http_match_layout),
	K8S_FIELD("timeouts.request", K8S_NAME, struct gw_rule, request_timeout),
	K8S_FIELD("timeouts.backendRequest", K8S_NAME, struct gw_rule, backend_timeout),
	K8S_FIELD("retry", K8S_PRESENT, struct gw_rule, has_retry),
	K8S_FIELD("retry.codes", K8S_JSON, struct gw_rule, codes),
	K8S_FIELD("retry.attempts", K8S_INT, struct gw_rule, attempts, .absent = -1),
	K8S_FIELD("retry.backoff", K8S_NAME, struct gw_rule, backoff),
};
static const struct k8s_layout http_rule_layout = K8S_LAYOUT(struct gw_rule, http_rule_fields);

/* Also of TLSRoute, TCPRoute and UDPRoute, which have backends alone. */
static const struct k8s_field grpc_rule_fields[] = {
	RULE_FIELDS,
	K8S_FIELD("matches", K8S_LIST, struct gw_rule, matches, .of = &grpc_match_layout),
};
static const struct k8s_layout grpc_rule_layout = K8S_LAYOUT(struct gw_rule, grpc_rule_fields);

/* ---- routes ---- */

#define ROUTE_FIELDS(rules_of)                                                                     \
	K8S_FIELD("metadata.creationTimestamp", K8S_STRING, struct gw_route, created),             \
		K8S_FIELD("spec.parentRefs", K8S_LIST, struct gw_route, parents_wanted,            \
			  .of = &ref_layout),                                                      \
		K8S_FIELD("spec.hostnames", K8S_STRINGS, struct gw_route, hostnames),              \
		K8S_FIELD("spec.rules", K8S_LIST, struct gw_route, rules, .of = &(rules_of)),      \
		K8S_FIELD("status.parents", K8S_LIST, struct gw_route, parents,                    \
			  .of = &parent_layout)

static const struct k8s_field http_route_fields[] = { ROUTE_FIELDS(http_rule_layout) };
static const struct k8s_layout http_route_layout = K8S_LAYOUT(struct gw_route, http_route_fields);

static const struct k8s_field grpc_route_fields[] = { ROUTE_FIELDS(grpc_rule_layout) };
static const struct k8s_layout grpc_route_layout = K8S_LAYOUT(struct gw_route, grpc_route_fields);

/* ---- ReferenceGrant, BackendTLSPolicy ---- */

static const struct k8s_field grant_fields[] = {
	K8S_FIELD("spec.from", K8S_LIST, struct gw_grant, from, .of = &ref_layout),
	K8S_FIELD("spec.to", K8S_LIST, struct gw_grant, to, .of = &ref_layout),
};
static const struct k8s_layout grant_layout = K8S_LAYOUT(struct gw_grant, grant_fields);

static const struct k8s_field alternative_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_alternative, type),
	K8S_FIELD("hostname", K8S_STRING, struct gw_alternative, hostname),
	K8S_FIELD("uri", K8S_STRING, struct gw_alternative, uri),
};
static const struct k8s_layout alternative_layout =
	K8S_LAYOUT(struct gw_alternative, alternative_fields);

static const struct k8s_field policy_fields[] = {
	K8S_FIELD("metadata.creationTimestamp", K8S_STRING, struct gw_policy, created),
	K8S_FIELD("spec.targetRefs", K8S_LIST, struct gw_policy, targets, .of = &ref_layout),
	K8S_FIELD("spec.validation.caCertificateRefs", K8S_LIST, struct gw_policy, ca,
		  .of = &ref_layout),
	K8S_FIELD("spec.validation.wellKnownCACertificates", K8S_NAME, struct gw_policy,
		  well_known),
	K8S_FIELD("spec.validation.hostname", K8S_STRING, struct gw_policy, hostname),
	K8S_FIELD("spec.validation.subjectAltNames", K8S_LIST, struct gw_policy, alternatives,
		  .of = &alternative_layout),
	K8S_FIELD("status.ancestors", K8S_LIST, struct gw_policy, ancestors,
		  .of = &ancestor_layout),
};
static const struct k8s_layout policy_layout = K8S_LAYOUT(struct gw_policy, policy_fields);

/* ---- core kinds ---- */

static const struct k8s_field service_port_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_service_port, name),
	K8S_FIELD("protocol", K8S_NAME, struct gw_service_port, protocol),
	K8S_FIELD("appProtocol", K8S_NAME, struct gw_service_port, app_protocol),
	K8S_FIELD("port", K8S_INT, struct gw_service_port, port),
};
static const struct k8s_layout service_port_layout =
	K8S_LAYOUT(struct gw_service_port, service_port_fields);

static const struct k8s_field service_fields[] = {
	K8S_FIELD("spec.type", K8S_NAME, struct gw_service, type),
	K8S_FIELD("spec.ports", K8S_LIST, struct gw_service, ports, .of = &service_port_layout),
};
static const struct k8s_layout service_layout = K8S_LAYOUT(struct gw_service, service_fields);

static const struct k8s_field slice_port_fields[] = {
	K8S_FIELD("name", K8S_NAME, struct gw_slice_port, name),
	K8S_FIELD("protocol", K8S_NAME, struct gw_slice_port, protocol),
	K8S_FIELD("port", K8S_INT, struct gw_slice_port, port, .absent = -1),
};
static const struct k8s_layout slice_port_layout =
	K8S_LAYOUT(struct gw_slice_port, slice_port_fields);

static const struct k8s_field endpoint_fields[] = {
	K8S_FIELD("addresses", K8S_STRINGS, struct gw_endpoint, addresses),
	K8S_FIELD("conditions.ready", K8S_BOOL, struct gw_endpoint, ready),
	K8S_FIELD("conditions.serving", K8S_BOOL, struct gw_endpoint, serving),
	K8S_FIELD("conditions.terminating", K8S_BOOL, struct gw_endpoint, terminating),
};
static const struct k8s_layout endpoint_layout = K8S_LAYOUT(struct gw_endpoint, endpoint_fields);

static const char *const slice_labels[] = { GW_SERVICE_LABEL, NULL };

static const struct k8s_field slice_fields[] = {
	K8S_FIELD("addressType", K8S_NAME, struct gw_slice, family),
	K8S_FIELD("metadata.labels", K8S_MAP, struct gw_slice, labels, .keep = slice_labels),
	K8S_FIELD("ports", K8S_LIST, struct gw_slice, ports, .of = &slice_port_layout),
	K8S_FIELD("endpoints", K8S_LIST, struct gw_slice, endpoints, .of = &endpoint_layout),
};
static const struct k8s_layout slice_layout = K8S_LAYOUT(struct gw_slice, slice_fields);

static const char *const secret_keys[] = { "tls.crt", "tls.key", "ca.crt", NULL };

static const struct k8s_field secret_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct gw_secret, type),
	K8S_FIELD("data", K8S_MAP, struct gw_secret, data, .keep = secret_keys),
};
static const struct k8s_layout secret_layout = K8S_LAYOUT(struct gw_secret, secret_fields);

static const struct k8s_field config_map_fields[] = {
	K8S_FIELD("data", K8S_MAP, struct gw_config_map, data),
};
static const struct k8s_layout config_map_layout =
	K8S_LAYOUT(struct gw_config_map, config_map_fields);

static const struct k8s_field namespace_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct gw_namespace, labels),
};
static const struct k8s_layout namespace_layout = K8S_LAYOUT(struct gw_namespace, namespace_fields);

/* ---- all of them ---- */

#define API(kind_, resource_, layout_, ...)                                                        \
	{                                                                                          \
		.kind = (kind_), .group = GW_GROUP, .resource = (resource_), .layout = &(layout_), \
		.optional = true, .namespaced = true, .has_status = true, __VA_ARGS__              \
	}
#define PLAIN(kind_, group_, resource_, layout_)                                                   \
	{                                                                                          \
		.kind = (kind_), .group = (group_), .versions = { "v1" }, .resource = (resource_), \
		.layout = &(layout_), .namespaced = true                                           \
	}

const struct gw_kind_info gw_kinds[GW_KINDS] = {
	[GW_GATEWAY_CLASS] = { .kind = "GatewayClass",
			       .group = GW_GROUP,
			       .versions = { "v1", "v1beta1" },
			       .resource = "gatewayclasses",
			       .layout = &class_layout,
			       .optional = true,
			       .has_status = true },
	[GW_GATEWAY] = API("Gateway", "gateways", gateway_layout, .versions = { "v1", "v1beta1" }),
	[GW_LISTENER_SET] =
		API("ListenerSet", "listenersets", listener_set_layout, .versions = { "v1" }),
	[GW_HTTP_ROUTE] =
		API("HTTPRoute", "httproutes", http_route_layout, .versions = { "v1", "v1beta1" }),
	[GW_GRPC_ROUTE] =
		API("GRPCRoute", "grpcroutes", grpc_route_layout, .versions = { "v1", "v1alpha2" }),
	[GW_TLS_ROUTE] = API("TLSRoute", "tlsroutes", grpc_route_layout,
			     .versions = { "v1", "v1alpha3", "v1alpha2" }),
	[GW_TCP_ROUTE] =
		API("TCPRoute", "tcproutes", grpc_route_layout, .versions = { "v1", "v1alpha2" }),
	[GW_UDP_ROUTE] =
		API("UDPRoute", "udproutes", grpc_route_layout, .versions = { "v1", "v1alpha2" }),
	[GW_REFERENCE_GRANT] = { .kind = "ReferenceGrant",
				 .group = GW_GROUP,
				 .versions = { "v1", "v1beta1" },
				 .resource = "referencegrants",
				 .layout = &grant_layout,
				 .optional = true,
				 .namespaced = true },
	[GW_BACKEND_TLS_POLICY] = API("BackendTLSPolicy", "backendtlspolicies", policy_layout,
				      .versions = { "v1", "v1alpha3" }),
	[GW_SERVICE] = PLAIN("Service", "", "services", service_layout),
	[GW_ENDPOINT_SLICE] =
		PLAIN("EndpointSlice", "discovery.k8s.io", "endpointslices", slice_layout),
	[GW_SECRET] = PLAIN("Secret", "", "secrets", secret_layout),
	[GW_CONFIG_MAP] = PLAIN("ConfigMap", "", "configmaps", config_map_layout),
	[GW_NAMESPACE] = { .kind = "Namespace",
			   .group = "",
			   .versions = { "v1" },
			   .resource = "namespaces",
			   .layout = &namespace_layout },
};
