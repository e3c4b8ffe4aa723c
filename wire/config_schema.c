/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of maglev.yaml, innermost mappings first. A new key is a new line here, and a member
 * of the struct that it fills (core/l4/doc.h).
 */
#include "wire/config_schema.h"

#include "base/cleanup.h"
#include "core/l4/doc.h"

#define FIELDS(table) .fields = (table), .n_fields = ARRAY_SIZE(table)

#define FIELD(name, what, type, member, ...)                                                       \
	{                                                                                          \
		.key = name, .shape = CONFIG_##what, .offset = offsetof(struct type, member),      \
		##__VA_ARGS__                                                                      \
	}

/* An array with its length in n_member. */
#define ARRAY(name, what, type, member, ...)                                                       \
	FIELD(name, what, type, member, .count = offsetof(struct type, n_##member), ##__VA_ARGS__)

static const struct config_field params_fields[] = {
	FIELD("path", TEXT, doc_params, path),
	FIELD("host", TEXT, doc_params, host),
	FIELD("response-code", WORD, doc_params, response_code),
	FIELD("response-regexp", TEXT, doc_params, response_regexp),
	FIELD("server-name", TEXT, doc_params, server_name),
	FIELD("insecure-skip-verify", BOOL, doc_params, insecure_skip_verify),
};

static const struct config_section params = {
	FIELDS(params_fields),
	.has_set = true,
	.set = offsetof(struct doc_params, set),
	.has_at = true,
	.at = offsetof(struct doc_params, at),
};

static const struct config_field check_fields[] = {
	FIELD("type", TEXT, doc_check, type),
	FIELD("port", INT, doc_check, port),
	FIELD("interval", DURATION, doc_check, interval),
	FIELD("fast-interval", DURATION, doc_check, fast_interval),
	FIELD("down-interval", DURATION, doc_check, down_interval),
	FIELD("timeout", DURATION, doc_check, timeout),
	FIELD("rise", INT, doc_check, rise),
	FIELD("fall", INT, doc_check, fall),
	FIELD("keep-alive", BOOL, doc_check, keep_alive),
	FIELD("probe-ipv4-src", TEXT, doc_check, probe_ipv4_src),
	FIELD("probe-ipv6-src", TEXT, doc_check, probe_ipv6_src),
	FIELD("params", SECTION, doc_check, params, .section = &params),
};

static const struct config_section check = {
	FIELDS(check_fields),
	.size = sizeof(struct doc_check),
	.name = offsetof(struct doc_check, name),
	.has_at = true,
	.at = offsetof(struct doc_check, at),
};

static const struct config_field backend_fields[] = {
	FIELD("address", TEXT, doc_backend, address),
	FIELD("healthcheck", WORD, doc_backend, healthcheck),
	FIELD("enabled", BOOL, doc_backend, enabled),
};

static const struct config_section backend = {
	FIELDS(backend_fields),
	.size = sizeof(struct doc_backend),
	.name = offsetof(struct doc_backend, name),
	.has_at = true,
	.at = offsetof(struct doc_backend, at),
};

static const struct config_field member_fields[] = {
	FIELD("weight", INT, doc_member, weight),
};

static const struct config_section member = {
	FIELDS(member_fields),
	.size = sizeof(struct doc_member),
	.name = offsetof(struct doc_member, backend),
	.has_at = true,
	.at = offsetof(struct doc_member, at),
};

static const struct config_field pool_fields[] = {
	FIELD("name", WORD, doc_pool, name),
	ARRAY("backends", NAMED, doc_pool, members, .section = &member),
};

static const struct config_section pool = {
	FIELDS(pool_fields),
	.size = sizeof(struct doc_pool),
	.has_at = true,
	.at = offsetof(struct doc_pool, at),
};

static const struct config_field frontend_fields[] = {
	FIELD("description", WORD, doc_frontend, description),
	FIELD("address", TEXT, doc_frontend, address, .vital = true),
	FIELD("protocol", TEXT, doc_frontend, protocol, .vital = true),
	FIELD("port", INT, doc_frontend, port, .vital = true),
	FIELD("src-ip-sticky", BOOL, doc_frontend, src_ip_sticky),
	FIELD("flush-on-down", BOOL, doc_frontend, flush_on_down),
	ARRAY("pools", LIST, doc_frontend, pools, .section = &pool),
};

static const struct config_section frontend = {
	FIELDS(frontend_fields),
	.size = sizeof(struct doc_frontend),
	.name = offsetof(struct doc_frontend, name),
	.has_at = true,
	.at = offsetof(struct doc_frontend, at),
};

static const struct config_field lb_fields[] = {
	FIELD("ipv4-src-address", TEXT, doc_lb, ipv4_src_address),
	FIELD("ipv6-src-address", TEXT, doc_lb, ipv6_src_address),
	FIELD("sync-interval", DURATION, doc_lb, sync_interval),
	FIELD("flow-timeout", DURATION, doc_lb, flow_timeout),
	FIELD("sticky-buckets-per-core", INT, doc_lb, sticky_buckets_per_core),
	FIELD("new-flows-table-length", INT, doc_lb, new_flows_table_length),
	FIELD("startup-min-delay", DURATION, doc_lb, startup_min_delay),
	FIELD("startup-max-delay", DURATION, doc_lb, startup_max_delay),
};

static const struct config_section lb = {
	FIELDS(lb_fields),
	.has_set = true,
	.set = offsetof(struct doc_lb, set),
	.has_at = true,
	.at = offsetof(struct doc_lb, at),
};

static const struct config_field xdp_fields[] = {
	ARRAY("interfaces", WORDS, doc_xdp, interfaces),
	FIELD("mode", TEXT, doc_xdp, mode),
	FIELD("pin", TEXT, doc_xdp, pin),
	FIELD("table-size", INT, doc_xdp, table_size),
	FIELD("flow-table-size", INT, doc_xdp, flow_table_size),
};

static const struct config_section xdp = {
	FIELDS(xdp_fields),
	.has_set = true,
	.set = offsetof(struct doc_xdp, set),
	.has_at = true,
	.at = offsetof(struct doc_xdp, at),
};

/* These two have no struct of their own: their values lie in struct l4_doc itself. */
static const struct config_field healthchecker_fields[] = {
	FIELD("transition-history", INT, l4_doc, transition_history),
	FIELD("netns", WORD, l4_doc, netns),
	FIELD("all-down-guard", BOOL, l4_doc, all_down_guard),
};

static const struct config_section healthchecker = { FIELDS(healthchecker_fields) };

static const struct config_field vpp_fields[] = {
	FIELD("lb", SECTION, l4_doc, lb, .section = &lb),
};

static const struct config_section vpp = { FIELDS(vpp_fields) };

static const struct config_field maglev_fields[] = {
	{ .key = "healthchecker", .shape = CONFIG_SECTION, .section = &healthchecker },
	ARRAY("healthchecks", NAMED, l4_doc, checks, .section = &check),
	ARRAY("backends", NAMED, l4_doc, backends, .section = &backend),
	ARRAY("frontends", NAMED, l4_doc, frontends, .section = &frontend, .vital = true),
	{ .key = "vpp", .shape = CONFIG_SECTION, .section = &vpp },
	FIELD("dataplane", TEXT, l4_doc, dataplane),
	FIELD("xdp", SECTION, l4_doc, xdp, .section = &xdp),
};

static const struct config_section maglev = { FIELDS(maglev_fields) };

static const struct config_field root_fields[] = {
	{ .key = "maglev", .shape = CONFIG_SECTION, .section = &maglev, .vital = true },
};

const struct config_section config_schema_root = { FIELDS(root_fields) };
