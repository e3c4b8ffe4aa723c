/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys: every key of a router's configuration that has a value, one row each.
 *
 *	X(key, shape, member of the document)
 *
 * The rows become the members of the document's structs (doc.h) and the tables of schema.c. A new
 * key needs a row here, a rule in validate_*.c, a line in wire/router_json*.c, and a row in
 * docs/reference/router.md.
 */
#pragma once

#include "base/schema.h"

#define L7_LISTENER_KEYS(X)                                                                        \
	X("name", WORD, name)                                                                      \
	X("address", WORD, address)                                                                \
	X("protocol", WORD, protocol)                                                              \
	X("host", WORD, host)                                                                      \
	X("expect_proxy", BOOL, expect_proxy)                                                      \
	X("http2", BOOL, http2)                                                                    \
	X("forwarded", WORD, forwarded)                                                            \
	X("forwarded_fields", WORD, fields)                                                        \
	X("trusted_proxies", WORDS, trusted)                                                       \
	X("tracing", WORD, tracing)                                                                \
	X("trace_percent", INT, trace_percent)                                                     \
	X("server_timing", BOOL, server_timing)                                                    \
	X("paths", WORD, paths)

/* ---- TLS of a listener ---- */

#define L7_CERTIFICATE_KEYS(X)                                                                     \
	X("certificate", WORD, certificate)                                                        \
	X("key", WORD, key)                                                                        \
	X("ocsp", WORD, ocsp)

#define L7_TLS_CLIENTS_KEYS(X)                                                                     \
	X("mode", WORD, mode)                                                                      \
	X("ca", WORD, ca)                                                                          \
	X("header", WORD, header)

#define L7_LISTENER_TLS_KEYS(X)                                                                    \
	X("mode", WORD, mode)                                                                      \
	X("min_version", WORD, min_version)                                                        \
	X("ciphers", WORDS, ciphers)                                                               \
	X("tickets", BOOL, tickets)

#define L7_CLIENTS_KEYS(X)                                                                         \
	X("connections", INT, connections)                                                         \
	X("connections_each", INT, each)                                                           \
	X("sessions", INT, sessions)                                                               \
	X("sessions_each", INT, sessions_each)                                                     \
	X("requests", INT, requests)                                                               \
	X("head_bytes", INT, head)                                                                 \
	X("fields", INT, fields)                                                                   \
	X("body_bytes", INT, body)                                                                 \
	X("min_rate", INT, rate)                                                                   \
	X("grace", DURATION, grace)

/* ---- pools ---- */

#define L7_UPSTREAM_KEYS(X)                                                                        \
	X("host", WORD, host)                                                                      \
	X("port", INT, port)                                                                       \
	X("idx", INT, idx)                                                                         \
	X("tls", BOOL, tls)                                                                        \
	X("weight", INT, weight)                                                                   \
	X("drain", BOOL, drain)

#define L7_LB_CONFIG_KEYS(X)                                                                       \
	X("enable_probing", BOOL, enable)                                                          \
	X("unhealthy_threshold", INT, unhealthy)                                                   \
	X("healthy_threshold", INT, healthy)                                                       \
	X("probe_interval_ms", INT, interval_ms)                                                   \
	X("probe_timeout_ms", INT, timeout_ms)                                                     \
	X("health_path", TEXT, path)

#define L7_PROBE_KEYS(X)                                                                           \
	X("type", WORD, type)                                                                      \
	X("service", WORD, service)                                                                \
	X("path", TEXT, path)                                                                      \
	X("host", WORD, host)                                                                      \
	X("status", WORD, status)                                                                  \
	X("interval", DURATION, interval)                                                          \
	X("timeout", DURATION, timeout)                                                            \
	X("rise", INT, rise)                                                                       \
	X("fall", INT, fall)

#define L7_EJECTION_KEYS(X)                                                                        \
	X("failures", INT, failures)                                                               \
	X("time", DURATION, time)                                                                  \
	X("max_percent", INT, most)

#define L7_LIMITS_KEYS(X)                                                                          \
	X("connections", INT, connections)                                                         \
	X("waiting", INT, waiting)                                                                 \
	X("wait", DURATION, wait)                                                                  \
	X("requests", INT, requests)                                                               \
	X("retries", INT, retries)                                                                 \
	X("idle", INT, idle)                                                                       \
	X("idle_time", DURATION, idle_time)

/* TLS to servers. */
#define L7_POOL_TLS_KEYS(X)                                                                        \
	X("ca", WORD, ca)                                                                          \
	X("name", WORD, name)                                                                      \
	X("names", WORDS, names)                                                                   \
	X("certificate", WORD, certificate)                                                        \
	X("key", WORD, key)                                                                        \
	X("verify", BOOL, verify)                                                                  \
	X("min_version", WORD, min_version)

/* Of a pool alone, for updates of its servers. */
#define L7_SERVERS_KEYS(X) X("servers", WORDS, servers)

#define L7_POOL_KEYS(X)                                                                            \
	X("name", WORD, name)                                                                      \
	X("servers", WORDS, servers)                                                               \
	X("balance", WORD, balance)                                                                \
	X("hash_key", WORD, hash_key)                                                              \
	X("connect_timeout", DURATION, connect_timeout)                                            \
	X("slow_start", DURATION, slow_start)                                                      \
	X("send_proxy", BOOL, send_proxy)                                                          \
	X("protocol", WORD, protocol)

/* ---- filters ---- */

#define L7_EDITS_KEYS(X)                                                                           \
	X("set", PAIRS, set)                                                                       \
	X("add", PAIRS, add)                                                                       \
	X("remove", WORDS, remove)

#define L7_PATH_KEYS(X)                                                                            \
	X("type", WORD, type)                                                                      \
	X("value", WORD, value)

#define L7_REDIRECT_KEYS(X)                                                                        \
	X("scheme", WORD, scheme)                                                                  \
	X("hostname", WORD, host)                                                                  \
	X("port", INT, port)                                                                       \
	X("status", INT, status)

#define L7_REWRITE_KEYS(X) X("hostname", WORD, host)

#define L7_FRACTION_KEYS(X)                                                                        \
	X("numerator", INT, numerator)                                                             \
	X("denominator", INT, denominator)

#define L7_MIRROR_KEYS(X)                                                                          \
	X("pool", WORD, pool)                                                                      \
	X("pool_idx", INT, pool_idx)                                                               \
	X("percent", INT, percent)

#define L7_CORS_KEYS(X)                                                                            \
	X("allow_origins", WORDS, origins)                                                         \
	X("allow_methods", WORDS, methods)                                                         \
	X("allow_headers", WORDS, headers)                                                         \
	X("expose_headers", WORDS, expose)                                                         \
	X("allow_credentials", BOOL, credentials)                                                  \
	X("max_age", DURATION, max_age)

/* ---- rules ---- */

#define L7_CONDITION_KEYS(X)                                                                       \
	X("name", WORD, name)                                                                      \
	X("type", WORD, type)                                                                      \
	X("value", WORD, value)

/* Of a match: which calls of gRPC. */
#define L7_GRPC_KEYS(X)                                                                            \
	X("type", WORD, type)                                                                      \
	X("service", WORD, service)                                                                \
	X("method", WORD, method)

#define L7_MATCH_KEYS(X) X("method", WORD, method)

#define L7_BACKEND_KEYS(X)                                                                         \
	X("pool", WORD, pool)                                                                      \
	X("pool_idx", INT, pool_idx)                                                               \
	X("weight", INT, weight)                                                                   \
	X("invalid", BOOL, invalid)

#define L7_TIMEOUTS_KEYS(X)                                                                        \
	X("request", DURATION, request)                                                            \
	X("backend", DURATION, backend)

#define L7_RETRY_KEYS(X)                                                                           \
	X("attempts", INT, attempts)                                                               \
	X("codes", WORDS, codes)                                                                   \
	X("backoff", DURATION, backoff)

#define L7_PERSISTENCE_KEYS(X)                                                                     \
	X("type", WORD, type)                                                                      \
	X("name", WORD, name)                                                                      \
	X("path", WORD, path)                                                                      \
	X("lifetime", DURATION, lifetime)

#define L7_RULE_KEYS(X)                                                                            \
	X("name", WORD, name)                                                                      \
	X("path_prefix", WORD, path_prefix)                                                        \
	X("path_exact", WORD, path_exact)                                                          \
	X("pool", WORD, pool)                                                                      \
	X("pool_idx", INT, pool_idx)                                                               \
	X("strip_prefix", BOOL, strip_prefix)                                                      \
	X("grpc_web", BOOL, grpc_web)

#define L7_ROUTE_KEYS(X)                                                                           \
	X("host", WORD, host)                                                                      \
	X("hosts", WORDS, hosts)                                                                   \
	X("listeners", WORDS, listeners)

#define L7_STREAM_KEYS(X)                                                                          \
	X("name", WORD, name)                                                                      \
	X("listeners", WORDS, listeners)                                                           \
	X("hosts", WORDS, hosts)                                                                   \
	X("pool", WORD, pool)                                                                      \
	X("pool_idx", INT, pool_idx)                                                               \
	X("idle_timeout", DURATION, idle_timeout)                                                  \
	X("answers", INT, answers)

#define L7_ACCESS_LOG_KEYS(X)                                                                      \
	X("percent", INT, percent)                                                                 \
	X("slow", DURATION, slow)                                                                  \
	X("failed", BOOL, failed)                                                                  \
	X("headers", WORDS, headers)

#define L7_ROOT_KEYS(X) X("allowed_hosts", WORDS, allowed_hosts)
