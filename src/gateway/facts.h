/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts: what maglev-gateway keeps of the objects that it follows.
 *
 * Each struct is a projection (lib/k8s/kind.h); kinds.c has the tables that fill it. A pointer is
 * NULL if the value is absent, a number is as its comment says. What the API server fills in by
 * default is not relied upon.
 */
#pragma once

#include "lib/k8s/kind.h"
#include "wire/labels.h"

#define GW_GROUP "gateway.networking.k8s.io"

enum gw_kind {
	GW_GATEWAY_CLASS,
	GW_GATEWAY,
	GW_LISTENER_SET,
	GW_HTTP_ROUTE,
	GW_GRPC_ROUTE,
	GW_TLS_ROUTE,
	GW_TCP_ROUTE,
	GW_UDP_ROUTE,
	GW_REFERENCE_GRANT,
	GW_BACKEND_TLS_POLICY,
	GW_SERVICE,
	GW_ENDPOINT_SLICE,
	GW_SECRET,
	GW_CONFIG_MAP,
	GW_NAMESPACE,
};
#define GW_KINDS 15

/* ---- parts that several kinds have ---- */

struct gw_condition {
	const char *type, *status, *reason, *message, *time;
	int64_t generation; /* observedGeneration; -1: absent */
};

/* A reference to another object; which members are used depends on where it stands. */
struct gw_ref {
	const char *group, *kind, *namespace, *name;
	const char *section; /* sectionName */
	int64_t port;	     /* -1: absent */
};

/* An entry of status.parents or status.ancestors. */
struct gw_parent {
	struct gw_ref ref;
	const char *controller;
	struct k8s_list conditions; /* struct gw_condition */
};

/* Which namespaces something is allowed from. */
struct gw_namespaces {
	const char *from; /* All, Same, Selector, None */
	struct wire_selector selector;
};

struct gw_header {
	const char *name, *value;
};

/* ---- GatewayClass ---- */

struct gw_class {
	struct k8s_object object;
	const char *created, *controller;
	struct gw_ref parameters;
	struct k8s_list conditions;
	struct k8s_list features; /* status.supportedFeatures: struct gw_feature */
	struct k8s_list finalizers;
};

struct gw_feature {
	const char *name;
};

/* ---- Gateway and ListenerSet ---- */

struct gw_route_kind {
	const char *group, *kind;
};

struct gw_listener {
	const char *name, *hostname, *protocol;
	int64_t port;
	uint8_t has_tls;
	const char *tls_mode;	      /* Terminate, Passthrough */
	struct k8s_list certificates; /* struct gw_ref */
	uint8_t has_allowed;
	struct gw_namespaces namespaces;
	struct k8s_list kinds; /* struct gw_route_kind */
};

/* An entry of status.listeners. */
struct gw_listener_status {
	const char *name;
	int64_t attached;      /* attachedRoutes; -1: absent */
	struct k8s_list kinds; /* supportedKinds: struct gw_route_kind */
	struct k8s_list conditions;
};

struct gw_address {
	const char *type, *value; /* NULL type: IPAddress */
};

/* How certificates of clients are verified. */
struct gw_validation {
	uint8_t given;
	const char *mode;   /* AllowValidOnly, AllowInsecureFallback */
	struct k8s_list ca; /* struct gw_ref */
};

struct gw_port_validation {
	int64_t port;
	struct gw_validation validation;
};

struct gw_gateway {
	struct k8s_object object;
	const char *created, *class;
	struct k8s_list listeners;	     /* struct gw_listener */
	struct k8s_list addresses;	     /* struct gw_address */
	struct k8s_list labels, annotations; /* of spec.infrastructure: pairs */
	struct gw_ref parameters;	     /* of spec.infrastructure */
	struct gw_namespaces allowed;	     /* allowedListeners.namespaces */
	uint8_t has_backend_tls;
	struct gw_ref client_certificate; /* spec.tls.backend.clientCertificateRef */
	struct gw_validation validation;  /* spec.tls.frontend.default.validation */
	struct k8s_list per_port;	  /* struct gw_port_validation */
	/* status */
	struct k8s_list conditions, listener_status, status_addresses;
	int64_t attached_sets; /* -1: absent */
};

struct gw_listener_set {
	struct k8s_object object;
	const char *created;
	struct gw_ref parent;
	struct k8s_list listeners; /* struct gw_listener */
	struct k8s_list conditions, listener_status;
};

/* ---- routes ---- */

enum gw_filter_type {
	GW_FILTER_UNKNOWN,
	GW_FILTER_REQUEST_HEADERS,
	GW_FILTER_RESPONSE_HEADERS,
	GW_FILTER_REDIRECT,
	GW_FILTER_REWRITE,
	GW_FILTER_MIRROR,
	GW_FILTER_CORS,
};

struct gw_edits {
	struct k8s_list set, add; /* struct gw_header */
	struct k8s_list remove;	  /* strings */
};

struct gw_path_edit {
	const char *type, *full, *prefix;
};

struct gw_filter {
	const char *type;
	struct gw_edits request, response;
	struct {
		const char *scheme, *hostname;
		struct gw_path_edit path;
		int64_t port, status; /* -1: absent */
	} redirect;
	struct {
		const char *hostname;
		struct gw_path_edit path;
	} rewrite;
	struct {
		struct gw_ref backend;
		int64_t percent, numerator, denominator; /* -1: absent */
	} mirror;
	struct {
		struct k8s_list origins, methods, headers, expose; /* strings */
		uint8_t credentials;
		int64_t max_age; /* -1: absent */
	} cors;
};

struct gw_backend {
	struct gw_ref ref;
	int64_t weight;		 /* 1 if absent */
	struct k8s_list filters; /* struct gw_filter */
};

struct gw_condition_on {
	const char *type, *name, *value;
};

/* A match of an HTTPRoute, or of a GRPCRoute. */
struct gw_match {
	const char *path_type, *path;	  /* of HTTP */
	const char *method;		  /* of HTTP */
	struct k8s_list headers, queries; /* struct gw_condition_on */
	uint8_t has_grpc;		  /* a match on the method of gRPC */
	const char *grpc_type, *service, *grpc_method;
};

struct gw_persistence {
	uint8_t given;
	const char *name, *type, *absolute, *lifetime; /* lifetime: lifetimeType of the cookie */
	const char *cookie_name, *cookie_path, *cookie_lifetime, *header_name;
};

struct gw_rule {
	const char *name;
	struct k8s_list matches;  /* struct gw_match */
	struct k8s_list filters;  /* struct gw_filter */
	struct k8s_list backends; /* struct gw_backend */
	const char *request_timeout, *backend_timeout;
	uint8_t has_retry;
	const char *codes; /* a list of statuses, as JSON */
	int64_t attempts;  /* -1: absent */
	const char *backoff;
	struct gw_persistence persistence;
};

/* HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute. */
struct gw_route {
	struct k8s_object object;
	const char *created;
	struct k8s_list parents_wanted; /* spec.parentRefs: struct gw_ref */
	struct k8s_list hostnames;	/* strings */
	struct k8s_list rules;		/* struct gw_rule */
	struct k8s_list parents;	/* status.parents: struct gw_parent */
};

/* ---- ReferenceGrant, BackendTLSPolicy ---- */

struct gw_grant {
	struct k8s_object object;
	struct k8s_list from; /* struct gw_ref: group, kind, namespace */
	struct k8s_list to;   /* struct gw_ref: group, kind, name */
};

struct gw_alternative {
	const char *type, *hostname, *uri;
};

struct gw_policy {
	struct k8s_object object;
	const char *created;
	struct k8s_list targets; /* struct gw_ref: group, kind, name, section */
	struct k8s_list ca;	 /* struct gw_ref */
	const char *well_known, *hostname;
	struct k8s_list alternatives; /* struct gw_alternative */
	struct k8s_list ancestors;    /* status.ancestors: struct gw_parent */
};

/* ---- core kinds ---- */

struct gw_service_port {
	const char *name, *protocol, *app_protocol;
	int64_t port;
};

struct gw_service {
	struct k8s_object object;
	const char *type;
	struct k8s_list ports; /* struct gw_service_port */
};

struct gw_slice_port {
	const char *name, *protocol;
	int64_t port; /* -1: absent */
};

struct gw_endpoint {
	struct k8s_list addresses; /* strings */
	uint8_t ready, serving, terminating;
};

#define GW_SERVICE_LABEL "kubernetes.io/service-name"

struct gw_slice {
	struct k8s_object object;
	const char *family;	   /* addressType */
	struct k8s_list labels;	   /* only GW_SERVICE_LABEL */
	struct k8s_list ports;	   /* struct gw_slice_port */
	struct k8s_list endpoints; /* struct gw_endpoint */
};

/* Values of a Secret are base64; only the keys of TLS are kept. */
struct gw_secret {
	struct k8s_object object;
	const char *type;
	struct k8s_list data; /* pairs: tls.crt, tls.key, ca.crt */
};

struct gw_config_map {
	struct k8s_object object;
	struct k8s_list data; /* pairs */
};

struct gw_namespace {
	struct k8s_object object;
	struct k8s_list labels; /* pairs */
};
