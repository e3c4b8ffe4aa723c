/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: a configuration as it was written, value by value, each with its place.
 *
 * The parse phase (wire/config_yaml) fills it: every value has the right type (a number is a
 * number, a duration a duration) but means nothing yet. The semantic phase (validate.h) reads it.
 * A value that was not written has set == false; so "unset" and "0" differ. Everything lives in
 * the caller's arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct doc_text {
	bool set;
	struct place at;
	const char *v;
};

struct doc_int {
	bool set;
	struct place at;
	int64_t v;
};

struct doc_bool {
	bool set;
	struct place at;
	bool v;
};

struct doc_duration {
	bool set;
	struct place at;
	int64_t v; /* ns */
};

struct doc_params {
	bool set;
	struct place at;
	struct doc_text path, host, response_code, response_regexp, server_name;
	struct doc_bool insecure_skip_verify;
};

struct doc_check {
	const char *name;
	struct place at; /* of the name */
	struct doc_text type;
	struct doc_int port, rise, fall;
	struct doc_duration interval, fast_interval, down_interval, timeout;
	struct doc_bool keep_alive;
	struct doc_text probe_ipv4_src, probe_ipv6_src;
	struct doc_params params;
};

struct doc_backend {
	const char *name;
	struct place at;
	struct doc_text address, healthcheck;
	struct doc_bool enabled;
};

struct doc_member {
	const char *backend;
	struct place at;
	struct doc_int weight;
};

struct doc_pool {
	struct place at;
	struct doc_text name;
	const struct doc_member *members;
	size_t n_members;
};

struct doc_frontend {
	const char *name;
	struct place at;
	struct doc_text description, address, protocol;
	struct doc_int port;
	struct doc_bool src_ip_sticky, flush_on_down;
	const struct doc_pool *pools;
	size_t n_pools;
};

struct doc_lb {
	bool set;
	struct place at;
	struct doc_text ipv4_src_address, ipv6_src_address;
	struct doc_duration sync_interval, flow_timeout, startup_min_delay, startup_max_delay;
	struct doc_int sticky_buckets_per_core, new_flows_table_length;
};

struct doc_xdp {
	bool set;
	struct place at;
	const struct doc_text *interfaces;
	size_t n_interfaces;
	struct doc_text mode, pin;
	struct doc_int table_size, flow_table_size;
};

struct l4_doc {
	struct doc_int transition_history;
	struct doc_text netns;
	struct doc_bool all_down_guard;
	const struct doc_check *checks;
	size_t n_checks;
	const struct doc_backend *backends;
	size_t n_backends;
	const struct doc_frontend *frontends;
	size_t n_frontends;
	struct doc_lb lb;
	struct doc_text dataplane;
	struct doc_xdp xdp;
};
