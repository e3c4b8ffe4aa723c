/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: a router's configuration as it was written, value by value, each with its place.
 *
 * lib/config/document fills it along the tables of schema.c, from YAML or JSON; validate.c reads
 * it. Everything lives in the caller's arena. The member `at` of a struct is its place. A list that
 * was not written is NULL; one that was written empty is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/doc.h"
#include "core/l7/keys.h"

struct l7_doc_certificate {
	struct place at;
	L7_CERTIFICATE_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_tls_clients {
	bool set;
	struct place at;
	L7_TLS_CLIENTS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_listener_tls {
	bool set;
	struct place at;
	L7_LISTENER_TLS_KEYS(SCHEMA_MEMBER)
	const struct l7_doc_certificate *certificates;
	size_t n_certificates;
	struct l7_doc_tls_clients clients;
};

struct l7_doc_listener {
	struct place at;
	L7_LISTENER_KEYS(SCHEMA_MEMBER)
	struct l7_doc_listener_tls tls;
};

struct l7_doc_clients {
	bool set;
	struct place at;
	L7_CLIENTS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_upstream {
	struct place at;
	L7_UPSTREAM_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_lb_config {
	bool set;
	struct place at;
	L7_LB_CONFIG_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_probe {
	bool set;
	struct place at;
	L7_PROBE_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_ejection {
	bool set;
	struct place at;
	L7_EJECTION_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_limits {
	bool set;
	struct place at;
	L7_LIMITS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_pool_tls {
	bool set;
	struct place at;
	L7_POOL_TLS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_pool {
	struct place at;
	L7_POOL_KEYS(SCHEMA_MEMBER)
	const struct l7_doc_upstream *upstreams;
	size_t n_upstreams;
	struct l7_doc_lb_config lb_config;
	struct l7_doc_probe probe;
	struct l7_doc_ejection ejection;
	struct l7_doc_limits limits;
	struct l7_doc_pool_tls tls;
};

struct l7_doc_edits {
	bool set;
	struct place at;
	struct {
		L7_EDITS_KEYS(SCHEMA_MEMBER)
	} edits;
};

/* Of a match: exact, prefix, regex; of a redirect or rewrite: full, prefix. */
struct l7_doc_path {
	bool set;
	struct place at;
	L7_PATH_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_redirect {
	bool set;
	struct place at;
	L7_REDIRECT_KEYS(SCHEMA_MEMBER)
	struct l7_doc_path path;
};

struct l7_doc_rewrite {
	bool set;
	struct place at;
	L7_REWRITE_KEYS(SCHEMA_MEMBER)
	struct l7_doc_path path;
};

struct l7_doc_fraction {
	bool set;
	struct place at;
	L7_FRACTION_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_mirror {
	struct place at;
	L7_MIRROR_KEYS(SCHEMA_MEMBER)
	struct l7_doc_fraction fraction;
};

struct l7_doc_cors {
	bool set;
	struct place at;
	L7_CORS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_filters {
	bool set;
	struct place at;
	struct l7_doc_edits request, response;
	struct l7_doc_redirect redirect;
	struct l7_doc_rewrite rewrite;
	const struct l7_doc_mirror *mirrors;
	size_t n_mirrors;
	struct l7_doc_cors cors;
};

struct l7_doc_condition {
	struct place at;
	L7_CONDITION_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_grpc {
	bool set;
	struct place at;
	L7_GRPC_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_match {
	struct place at;
	L7_MATCH_KEYS(SCHEMA_MEMBER)
	struct l7_doc_path path;
	struct l7_doc_grpc grpc;
	const struct l7_doc_condition *headers, *queries;
	size_t n_headers, n_queries;
};

struct l7_doc_backend {
	struct place at;
	L7_BACKEND_KEYS(SCHEMA_MEMBER)
	struct l7_doc_filters filters;
};

struct l7_doc_timeouts {
	bool set;
	struct place at;
	L7_TIMEOUTS_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_retry {
	bool set;
	struct place at;
	L7_RETRY_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_persistence {
	bool set;
	struct place at;
	L7_PERSISTENCE_KEYS(SCHEMA_MEMBER)
};

struct l7_doc_rule {
	bool set; /* default_route: whether there is one */
	struct place at;
	L7_RULE_KEYS(SCHEMA_MEMBER)
	const struct l7_doc_match *matches;
	size_t n_matches;
	struct l7_doc_filters filters;
	const struct l7_doc_backend *backends;
	size_t n_backends;
	struct l7_doc_timeouts timeouts;
	struct l7_doc_retry retry;
	struct l7_doc_persistence persistence;
};

/* A route has either rules, or the keys of its only rule. */
struct l7_doc_route {
	struct l7_doc_rule rule; /* first, so that the rows of a rule serve a route, too */
	L7_ROUTE_KEYS(SCHEMA_MEMBER)
	const struct l7_doc_rule *rules;
	size_t n_rules;
};

struct l7_doc_stream {
	struct place at;
	L7_STREAM_KEYS(SCHEMA_MEMBER)
	const struct l7_doc_backend *backends;
	size_t n_backends;
};

struct l7_doc_access_log {
	bool set;
	struct place at;
	L7_ACCESS_LOG_KEYS(SCHEMA_MEMBER)
	struct l7_doc_fraction fraction;
};

struct l7_doc {
	const struct l7_doc_listener *listeners;
	size_t n_listeners;
	const struct l7_doc_route *routes;
	size_t n_routes;
	struct l7_doc_rule default_route;
	const struct l7_doc_stream *streams;
	size_t n_streams;
	const struct l7_doc_pool *pools;
	size_t n_pools;
	struct l7_doc_access_log access_log;
	struct l7_doc_clients clients;
	L7_ROOT_KEYS(SCHEMA_MEMBER)
};

/* The whole document. */
extern const struct schema_section l7_schema;
/* Of a struct l7_doc_pool: its servers alone. */
extern const struct schema_section l7_servers_schema;
