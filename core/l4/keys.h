/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys: every key of maglev.yaml that has a value, one row each.
 *
 *	X(key, shape, member of the document, kind, member of the configuration)
 *
 * The rows become the members of the document's structs (doc.h) and the tables of schema.c, which
 * the reader of the file, the comparison of two configurations and partial copies follow. A new
 * key needs a row here, a member in config.h, a rule in validate_*.c, and a row in
 * docs/reference/configuration.md.
 *
 * The order is the one in which `config reload` lists changes. .vital marks keys that a reader
 * needs even if it only wants to know the frontends.
 */
#pragma once

#include "base/schema.h"

#define L4_HEALTHCHECKER_KEYS(X)                                                                   \
	X("transition-history", INT, transition_history, schema_uint, transition_history)          \
	X("netns", WORD, netns, schema_text, netns)                                                \
	X("all-down-guard", BOOL, all_down_guard, schema_bool, all_down_guard)

#define L4_CHECK_KEYS(X)                                                                           \
	X("type", TEXT, type, l4_kind_check_type, type)                                            \
	X("port", INT, port, schema_u16, port)                                                     \
	X("ports", TEXT, ports, l4_kind_check_ports, ports)                                        \
	X("interval", DURATION, interval, schema_duration, schedule.interval)                      \
	X("fast-interval", DURATION, fast_interval, schema_duration, schedule.fast_interval)       \
	X("down-interval", DURATION, down_interval, schema_duration, schedule.down_interval)       \
	X("timeout", DURATION, timeout, schema_duration, timeout)                                  \
	X("rise", INT, rise, schema_uint, rule.rise)                                               \
	X("fall", INT, fall, schema_uint, rule.fall)                                               \
	X("keep-alive", BOOL, keep_alive, schema_bool, keep_alive)                                 \
	X("probe-ipv4-src", TEXT, probe_ipv4_src, schema_addr, src4)                               \
	X("probe-ipv6-src", TEXT, probe_ipv6_src, schema_addr, src6)

#define L4_PARAMS_KEYS(X)                                                                          \
	X("path", TEXT, path, schema_text, http.path)                                              \
	X("host", TEXT, host, schema_text, http.host)                                              \
	X("response-code", WORD, response_code, l4_kind_codes, http.codes)                         \
	X("response-regexp", TEXT, response_regexp, schema_text, http.regexp)                      \
	X("server-name", TEXT, server_name, schema_text, http.server_name)                         \
	X("insecure-skip-verify", BOOL, insecure_skip_verify, schema_bool,                         \
	  http.insecure_skip_verify)                                                               \
	X("ca-file", TEXT, ca_file, l4_kind_ca, http.ca)                                           \
	X("send", WORD, send, schema_text, talk.send)                                              \
	X("send-hex", WORD, send_hex, schema_text, talk.send_hex)                                  \
	X("expect", WORD, expect, schema_text, talk.expect)                                        \
	X("expect-regexp", TEXT, expect_regexp, schema_text, talk.regexp)                          \
	X("query-name", TEXT, query_name, schema_text, dns.name)                                   \
	X("query-type", TEXT, query_type, l4_kind_dns_type, dns.type)                              \
	X("expect-rcode", TEXT, expect_rcode, l4_kind_dns_rcode, dns.rcode)                        \
	X("expect-address", TEXT, expect_address, schema_addr, dns.address)

#define L4_BACKEND_KEYS(X)                                                                         \
	X("address", TEXT, address, schema_addr, address)                                          \
	X("healthcheck", WORD, healthcheck, l4_kind_check, check)                                  \
	X("enabled", BOOL, enabled, schema_bool, enabled)

#define L4_MEMBER_KEYS(X) X("weight", INT, weight, schema_uint, weight)

#define L4_POOL_KEYS(X)                                                                            \
	X("name", WORD, name, schema_text, name)                                                   \
	X("slow-start", DURATION, slow_start, schema_duration, slow_start)

#define L4_FRONTEND_KEYS(X)                                                                        \
	X("description", WORD, description, schema_text, description)                              \
	X("address", TEXT, address, schema_addr, address, .vital = true)                           \
	X("protocol", TEXT, protocol, l4_kind_protocol, protocol, .vital = true)                   \
	X("port", INT, port, schema_u16, port, .vital = true)                                      \
	X("src-ip-sticky", BOOL, src_ip_sticky, schema_bool, src_ip_sticky)                        \
	X("flush-on-down", BOOL, flush_on_down, schema_bool, flush_on_down)

#define L4_LB_KEYS(X)                                                                              \
	X("ipv4-src-address", TEXT, ipv4_src_address, schema_addr, lb.src4)                        \
	X("ipv6-src-address", TEXT, ipv6_src_address, schema_addr, lb.src6)                        \
	X("sync-interval", DURATION, sync_interval, schema_duration, lb.sync_interval)             \
	X("flow-timeout", DURATION, flow_timeout, schema_duration, lb.flow_timeout)                \
	X("sticky-buckets-per-core", INT, sticky_buckets_per_core, schema_uint,                    \
	  lb.sticky_buckets_per_core)                                                              \
	X("new-flows-table-length", INT, new_flows_table_length, schema_uint,                      \
	  lb.new_flows_table_length)                                                               \
	X("startup-min-delay", DURATION, startup_min_delay, schema_duration, lb.startup_min_delay) \
	X("startup-max-delay", DURATION, startup_max_delay, schema_duration, lb.startup_max_delay)

#define L4_DATAPLANE_KEYS(X) X("dataplane", TEXT, dataplane, l4_kind_dataplane, dataplane)

#define L4_XDP_KEYS(X)                                                                             \
	X("interfaces", WORDS, interfaces, schema_texts, xdp.interfaces)                           \
	X("mode", TEXT, mode, l4_kind_xdp_mode, xdp.mode)                                          \
	X("transmit", TEXT, transmit, l4_kind_xdp_transmit, xdp.transmit)                          \
	X("pin", TEXT, pin, schema_text, xdp.pin)                                                  \
	X("table-size", INT, table_size, schema_uint, xdp.table_size)                              \
	X("flow-table-size", INT, flow_table_size, schema_uint, xdp.flow_table_size)
