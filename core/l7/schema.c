/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of a router's configuration: which mappings there are and what is in them, innermost
 * first. Keys with a value are rows of keys.h. The rows have no place in the configuration: two
 * configurations are compared by the tables that are compiled from them, not key by key.
 */
#include "core/l7/doc.h"

#define ROW(doc_, key_, shape_, member_)                                                           \
	{ .key = key_, .shape = SCHEMA_##shape_, .offset = offsetof(struct doc_, member_) },

/* An element of a list. */
#define ELEMENT(doc_, fields_)                                                                     \
	{                                                                                          \
		SCHEMA_FIELDS(fields_), .doc_size = sizeof(struct doc_), .has_at = true,           \
					.doc_at = offsetof(struct doc_, at),                       \
	}

#define SINGLE(doc_, fields_)                                                                      \
	{                                                                                          \
		SCHEMA_FIELDS(fields_), .doc_size = sizeof(struct doc_), .has_set = true,          \
					.doc_set = offsetof(struct doc_, set), .has_at = true,     \
					.doc_at = offsetof(struct doc_, at),                       \
	}

#define CERTIFICATE(...) ROW(l7_doc_certificate, __VA_ARGS__)
static const struct schema_field certificate_fields[] = { L7_CERTIFICATE_KEYS(CERTIFICATE) };
static const struct schema_section certificate = ELEMENT(l7_doc_certificate, certificate_fields);

#define TLS_CLIENTS(...) ROW(l7_doc_tls_clients, __VA_ARGS__)
static const struct schema_field tls_clients_fields[] = { L7_TLS_CLIENTS_KEYS(TLS_CLIENTS) };
static const struct schema_section tls_clients = SINGLE(l7_doc_tls_clients, tls_clients_fields);

#define LISTENER_TLS(...) ROW(l7_doc_listener_tls, __VA_ARGS__)
static const struct schema_field listener_tls_fields[] = {
	L7_LISTENER_TLS_KEYS(LISTENER_TLS)
		SCHEMA_ARRAY("certificates", LIST, l7_doc_listener_tls, certificates, certificate),
	SCHEMA_NESTED("clients", l7_doc_listener_tls, clients, tls_clients),
};
static const struct schema_section listener_tls = SINGLE(l7_doc_listener_tls, listener_tls_fields);

#define LISTENER(...) ROW(l7_doc_listener, __VA_ARGS__)
static const struct schema_field listener_fields[] = {
	L7_LISTENER_KEYS(LISTENER) SCHEMA_NESTED("tls", l7_doc_listener, tls, listener_tls),
};
static const struct schema_section listener = ELEMENT(l7_doc_listener, listener_fields);

#define CLIENTS(...) ROW(l7_doc_clients, __VA_ARGS__)
static const struct schema_field clients_fields[] = { L7_CLIENTS_KEYS(CLIENTS) };
static const struct schema_section clients = SINGLE(l7_doc_clients, clients_fields);

/* ---- pools ---- */

#define UPSTREAM(...) ROW(l7_doc_upstream, __VA_ARGS__)
static const struct schema_field upstream_fields[] = { L7_UPSTREAM_KEYS(UPSTREAM) };
static const struct schema_section upstream = ELEMENT(l7_doc_upstream, upstream_fields);

#define LB_CONFIG(...) ROW(l7_doc_lb_config, __VA_ARGS__)
static const struct schema_field lb_config_fields[] = { L7_LB_CONFIG_KEYS(LB_CONFIG) };
static const struct schema_section lb_config = SINGLE(l7_doc_lb_config, lb_config_fields);

#define PROBE(...) ROW(l7_doc_probe, __VA_ARGS__)
static const struct schema_field probe_fields[] = { L7_PROBE_KEYS(PROBE) };
static const struct schema_section probe = SINGLE(l7_doc_probe, probe_fields);

#define EJECTION(...) ROW(l7_doc_ejection, __VA_ARGS__)
static const struct schema_field ejection_fields[] = { L7_EJECTION_KEYS(EJECTION) };
static const struct schema_section ejection = SINGLE(l7_doc_ejection, ejection_fields);

#define LIMITS(...) ROW(l7_doc_limits, __VA_ARGS__)
static const struct schema_field limits_fields[] = { L7_LIMITS_KEYS(LIMITS) };
static const struct schema_section limits = SINGLE(l7_doc_limits, limits_fields);

#define POOL_TLS(...) ROW(l7_doc_pool_tls, __VA_ARGS__)
static const struct schema_field pool_tls_fields[] = { L7_POOL_TLS_KEYS(POOL_TLS) };
static const struct schema_section pool_tls = SINGLE(l7_doc_pool_tls, pool_tls_fields);

#define POOL(...) ROW(l7_doc_pool, __VA_ARGS__)
static const struct schema_field pool_fields[] = {
	L7_POOL_KEYS(POOL) SCHEMA_ARRAY("upstreams", LIST, l7_doc_pool, upstreams, upstream),
	SCHEMA_NESTED("lb_config", l7_doc_pool, lb_config, lb_config),
	SCHEMA_NESTED("probe", l7_doc_pool, probe, probe),
	SCHEMA_NESTED("ejection", l7_doc_pool, ejection, ejection),
	SCHEMA_NESTED("limits", l7_doc_pool, limits, limits),
	SCHEMA_NESTED("tls", l7_doc_pool, tls, pool_tls),
};
static const struct schema_section pool = ELEMENT(l7_doc_pool, pool_fields);

static const struct schema_field servers_fields[] = {
	L7_SERVERS_KEYS(POOL) SCHEMA_ARRAY("upstreams", LIST, l7_doc_pool, upstreams, upstream),
};
const struct schema_section l7_servers_schema = { SCHEMA_FIELDS(servers_fields) };

/* ---- filters ---- */

#define EDITS(key_, shape_, member_) ROW(l7_doc_edits, key_, shape_, edits.member_)
static const struct schema_field edits_fields[] = { L7_EDITS_KEYS(EDITS) };
static const struct schema_section edits = SINGLE(l7_doc_edits, edits_fields);

#define PATH(...) ROW(l7_doc_path, __VA_ARGS__)
static const struct schema_field path_fields[] = { L7_PATH_KEYS(PATH) };
static const struct schema_section path = SINGLE(l7_doc_path, path_fields);

#define REDIRECT(...) ROW(l7_doc_redirect, __VA_ARGS__)
static const struct schema_field redirect_fields[] = {
	L7_REDIRECT_KEYS(REDIRECT) SCHEMA_NESTED("path", l7_doc_redirect, path, path),
};
static const struct schema_section redirect = SINGLE(l7_doc_redirect, redirect_fields);

#define REWRITE(...) ROW(l7_doc_rewrite, __VA_ARGS__)
static const struct schema_field rewrite_fields[] = {
	L7_REWRITE_KEYS(REWRITE) SCHEMA_NESTED("path", l7_doc_rewrite, path, path),
};
static const struct schema_section rewrite = SINGLE(l7_doc_rewrite, rewrite_fields);

#define FRACTION(...) ROW(l7_doc_fraction, __VA_ARGS__)
static const struct schema_field fraction_fields[] = { L7_FRACTION_KEYS(FRACTION) };
static const struct schema_section fraction = SINGLE(l7_doc_fraction, fraction_fields);

#define MIRROR(...) ROW(l7_doc_mirror, __VA_ARGS__)
static const struct schema_field mirror_fields[] = {
	L7_MIRROR_KEYS(MIRROR) SCHEMA_NESTED("fraction", l7_doc_mirror, fraction, fraction),
};
static const struct schema_section mirror = ELEMENT(l7_doc_mirror, mirror_fields);

#define CORS(...) ROW(l7_doc_cors, __VA_ARGS__)
static const struct schema_field cors_fields[] = { L7_CORS_KEYS(CORS) };
static const struct schema_section cors = SINGLE(l7_doc_cors, cors_fields);

static const struct schema_field filters_fields[] = {
	SCHEMA_NESTED("request_headers", l7_doc_filters, request, edits),
	SCHEMA_NESTED("response_headers", l7_doc_filters, response, edits),
	SCHEMA_NESTED("redirect", l7_doc_filters, redirect, redirect),
	SCHEMA_NESTED("rewrite", l7_doc_filters, rewrite, rewrite),
	SCHEMA_ARRAY("mirrors", LIST, l7_doc_filters, mirrors, mirror),
	SCHEMA_NESTED("cors", l7_doc_filters, cors, cors),
};
static const struct schema_section filters = SINGLE(l7_doc_filters, filters_fields);

/* ---- rules ---- */

#define CONDITION(...) ROW(l7_doc_condition, __VA_ARGS__)
static const struct schema_field condition_fields[] = { L7_CONDITION_KEYS(CONDITION) };
static const struct schema_section condition = ELEMENT(l7_doc_condition, condition_fields);

#define GRPC(...) ROW(l7_doc_grpc, __VA_ARGS__)
static const struct schema_field grpc_fields[] = { L7_GRPC_KEYS(GRPC) };
static const struct schema_section grpc = SINGLE(l7_doc_grpc, grpc_fields);

#define MATCH(...) ROW(l7_doc_match, __VA_ARGS__)
static const struct schema_field match_fields[] = {
	L7_MATCH_KEYS(MATCH) SCHEMA_NESTED("path", l7_doc_match, path, path),
	SCHEMA_NESTED("grpc", l7_doc_match, grpc, grpc),
	SCHEMA_ARRAY("headers", LIST, l7_doc_match, headers, condition),
	SCHEMA_ARRAY("queries", LIST, l7_doc_match, queries, condition),
};
static const struct schema_section match = ELEMENT(l7_doc_match, match_fields);

#define BACKEND(...) ROW(l7_doc_backend, __VA_ARGS__)
static const struct schema_field backend_fields[] = {
	L7_BACKEND_KEYS(BACKEND) SCHEMA_NESTED("filters", l7_doc_backend, filters, filters),
};
static const struct schema_section backend = ELEMENT(l7_doc_backend, backend_fields);

#define TIMEOUTS(...) ROW(l7_doc_timeouts, __VA_ARGS__)
static const struct schema_field timeouts_fields[] = { L7_TIMEOUTS_KEYS(TIMEOUTS) };
static const struct schema_section timeouts = SINGLE(l7_doc_timeouts, timeouts_fields);

#define RETRY(...) ROW(l7_doc_retry, __VA_ARGS__)
static const struct schema_field retry_fields[] = { L7_RETRY_KEYS(RETRY) };
static const struct schema_section retry = SINGLE(l7_doc_retry, retry_fields);

#define PERSISTENCE(...) ROW(l7_doc_persistence, __VA_ARGS__)
static const struct schema_field persistence_fields[] = { L7_PERSISTENCE_KEYS(PERSISTENCE) };
static const struct schema_section persistence = SINGLE(l7_doc_persistence, persistence_fields);

/* The rows of a rule; a route has them, too, and its struct begins with that of a rule. */
#define RULE(...) ROW(l7_doc_rule, __VA_ARGS__)
#define RULE_ROWS                                                                                  \
	L7_RULE_KEYS(RULE)                                                                         \
	SCHEMA_ARRAY("matches", LIST, l7_doc_rule, matches, match),                                \
		SCHEMA_NESTED("filters", l7_doc_rule, filters, filters),                           \
		SCHEMA_ARRAY("backends", LIST, l7_doc_rule, backends, backend),                    \
		SCHEMA_NESTED("timeouts", l7_doc_rule, timeouts, timeouts),                        \
		SCHEMA_NESTED("retry", l7_doc_rule, retry, retry),                                 \
		SCHEMA_NESTED("persistence", l7_doc_rule, persistence, persistence)

static const struct schema_field rule_fields[] = { RULE_ROWS };
static const struct schema_section rule = SINGLE(l7_doc_rule, rule_fields);

_Static_assert(offsetof(struct l7_doc_route, rule) == 0, "RULE_ROWS are offsets in a route");

#define ROUTE(...) ROW(l7_doc_route, __VA_ARGS__)
static const struct schema_field route_fields[] = {
	L7_ROUTE_KEYS(ROUTE) SCHEMA_ARRAY("rules", LIST, l7_doc_route, rules, rule),
	RULE_ROWS,
};
static const struct schema_section route = {
	SCHEMA_FIELDS(route_fields),
	.doc_size = sizeof(struct l7_doc_route),
	.has_at = true,
	.doc_at = offsetof(struct l7_doc_route, rule.at),
};

/* ---- streams ---- */

#define STREAM(...) ROW(l7_doc_stream, __VA_ARGS__)
static const struct schema_field stream_fields[] = {
	L7_STREAM_KEYS(STREAM) SCHEMA_ARRAY("backends", LIST, l7_doc_stream, backends, backend),
};
static const struct schema_section stream = ELEMENT(l7_doc_stream, stream_fields);

/* ---- the document ---- */

#define ACCESS_LOG(...) ROW(l7_doc_access_log, __VA_ARGS__)
static const struct schema_field access_log_fields[] = {
	L7_ACCESS_LOG_KEYS(ACCESS_LOG)
		SCHEMA_NESTED("fraction", l7_doc_access_log, fraction, fraction),
};
static const struct schema_section access_log = SINGLE(l7_doc_access_log, access_log_fields);

#define ROOT(...) ROW(l7_doc, __VA_ARGS__)
static const struct schema_field root_fields[] = {
	SCHEMA_ARRAY("listeners", LIST, l7_doc, listeners, listener),
	SCHEMA_ARRAY("routes", LIST, l7_doc, routes, route),
	SCHEMA_NESTED("default_route", l7_doc, default_route, rule),
	SCHEMA_ARRAY("streams", LIST, l7_doc, streams, stream),
	SCHEMA_ARRAY("pools", LIST, l7_doc, pools, pool),
	SCHEMA_NESTED("access_log", l7_doc, access_log, access_log),
	SCHEMA_NESTED("clients", l7_doc, clients, clients),
	L7_ROOT_KEYS(ROOT)
};
const struct schema_section l7_schema = { SCHEMA_FIELDS(root_fields) };
