/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of maglev.yaml: which mappings there are and what is in them, innermost first. Keys
 * with a value are rows of keys.h; this file has only the mappings and lists that contain them.
 */
#include "core/l4/schema.h"

#include "core/l4/config.h"
#include "core/l4/doc.h"

#define PARAMS(...) SCHEMA_ROW(doc_params, l4_check, __VA_ARGS__)
static const struct schema_field params_fields[] = { L4_PARAMS_KEYS(PARAMS) };

const struct schema_section l4_schema_params = {
	SCHEMA_FIELDS(params_fields),
	.has_set = true,
	.doc_set = offsetof(struct doc_params, set),
	.has_at = true,
	.doc_at = offsetof(struct doc_params, at),
};

#define CHECK(...) SCHEMA_ROW(doc_check, l4_check, __VA_ARGS__)
static const struct schema_field check_fields[] = {
	L4_CHECK_KEYS(CHECK) SCHEMA_NESTED("params", doc_check, params, l4_schema_params),
};

const struct schema_section l4_schema_check = {
	SCHEMA_FIELDS(check_fields),
	.doc_size = sizeof(struct doc_check),
	.doc_name = offsetof(struct doc_check, name),
	.has_at = true,
	.doc_at = offsetof(struct doc_check, at),
	.config_size = sizeof(struct l4_check),
	.has_config_name = true,
	.config_name = offsetof(struct l4_check, name),
};

#define BACKEND(...) SCHEMA_ROW(doc_backend, l4_backend, __VA_ARGS__)
static const struct schema_field backend_fields[] = { L4_BACKEND_KEYS(BACKEND) };

const struct schema_section l4_schema_backend = {
	SCHEMA_FIELDS(backend_fields),
	.doc_size = sizeof(struct doc_backend),
	.doc_name = offsetof(struct doc_backend, name),
	.has_at = true,
	.doc_at = offsetof(struct doc_backend, at),
	.config_size = sizeof(struct l4_backend),
	.has_config_name = true,
	.config_name = offsetof(struct l4_backend, name),
};

#define MEMBER(...) SCHEMA_ROW(doc_member, l4_member, __VA_ARGS__)
static const struct schema_field member_fields[] = { L4_MEMBER_KEYS(MEMBER) };

const struct schema_section l4_schema_member = {
	SCHEMA_FIELDS(member_fields),
	.doc_size = sizeof(struct doc_member),
	.doc_name = offsetof(struct doc_member, backend),
	.has_at = true,
	.doc_at = offsetof(struct doc_member, at),
	.config_size = sizeof(struct l4_member),
};

#define POOL(...) SCHEMA_ROW(doc_pool, l4_pool, __VA_ARGS__)
static const struct schema_field pool_fields[] = {
	L4_POOL_KEYS(POOL) SCHEMA_ARRAY("backends", NAMED, doc_pool, members, l4_schema_member),
};

const struct schema_section l4_schema_pool = {
	SCHEMA_FIELDS(pool_fields),
	.doc_size = sizeof(struct doc_pool),
	.has_at = true,
	.doc_at = offsetof(struct doc_pool, at),
	.config_size = sizeof(struct l4_pool),
};

#define FRONTEND(...) SCHEMA_ROW(doc_frontend, l4_frontend, __VA_ARGS__)
static const struct schema_field frontend_fields[] = {
	L4_FRONTEND_KEYS(FRONTEND) SCHEMA_ARRAY("pools", LIST, doc_frontend, pools, l4_schema_pool),
};

const struct schema_section l4_schema_frontend = {
	SCHEMA_FIELDS(frontend_fields),
	.doc_size = sizeof(struct doc_frontend),
	.doc_name = offsetof(struct doc_frontend, name),
	.has_at = true,
	.doc_at = offsetof(struct doc_frontend, at),
	.config_size = sizeof(struct l4_frontend),
	.has_config_name = true,
	.config_name = offsetof(struct l4_frontend, name),
};

#define LB(...) SCHEMA_ROW(doc_lb, l4_config, __VA_ARGS__)
static const struct schema_field lb_fields[] = { L4_LB_KEYS(LB) };

/*
 * The same keys in their older place. Only one of the two sections may be written, so the values of
 * the configuration are described once, by the rows above.
 */
#define OLD_LB(key_, shape_, member_, ...)                                                         \
	{ .key = (key_), .shape = SCHEMA_##shape_, .offset = offsetof(struct doc_lb, member_) },
static const struct schema_field old_lb_fields[] = { L4_LB_KEYS(OLD_LB) };

static const struct schema_section old_lb = {
	SCHEMA_FIELDS(old_lb_fields),
	.has_set = true,
	.doc_set = offsetof(struct doc_lb, set),
	.has_at = true,
	.doc_at = offsetof(struct doc_lb, at),
};

static const struct schema_section lb = {
	SCHEMA_FIELDS(lb_fields),
	.has_set = true,
	.doc_set = offsetof(struct doc_lb, set),
	.has_at = true,
	.doc_at = offsetof(struct doc_lb, at),
};

#define XDP(...) SCHEMA_ROW(doc_xdp, l4_config, __VA_ARGS__)
static const struct schema_field xdp_fields[] = { L4_XDP_KEYS(XDP) };

static const struct schema_section xdp = {
	SCHEMA_FIELDS(xdp_fields),
	.has_set = true,
	.doc_set = offsetof(struct doc_xdp, set),
	.has_at = true,
	.doc_at = offsetof(struct doc_xdp, at),
};

/*
 * "healthchecker" and "vpp" have no struct of their own: their values are in struct l4_doc
 * itself.
 */
#define TOP(...) SCHEMA_ROW(l4_doc, l4_config, __VA_ARGS__)
static const struct schema_field healthchecker_fields[] = { L4_HEALTHCHECKER_KEYS(TOP) };
static const struct schema_section healthchecker = { SCHEMA_FIELDS(healthchecker_fields) };

static const struct schema_field vpp_fields[] = { SCHEMA_NESTED("lb", l4_doc, lb, old_lb) };
static const struct schema_section vpp = { SCHEMA_FIELDS(vpp_fields) };

static const struct schema_field maglev_fields[] = {
	{ .key = "healthchecker", .shape = SCHEMA_SECTION, .section = &healthchecker },
	SCHEMA_ARRAY("healthchecks", NAMED, l4_doc, checks, l4_schema_check),
	SCHEMA_ARRAY("backends", NAMED, l4_doc, backends, l4_schema_backend),
	SCHEMA_ARRAY("frontends", NAMED, l4_doc, frontends, l4_schema_frontend, .vital = true),
	L4_DATAPLANE_KEYS(TOP) /* the macro ends with a comma */
	SCHEMA_NESTED("lb", l4_doc, top_lb, lb),
	{ .key = "vpp", .shape = SCHEMA_SECTION, .section = &vpp },
	SCHEMA_NESTED("xdp", l4_doc, xdp, xdp),
};

const struct schema_section l4_schema_maglev = {
	SCHEMA_FIELDS(maglev_fields),
	.config_size = sizeof(struct l4_config),
};

static const struct schema_field root_fields[] = {
	{ .key = "maglev", .shape = SCHEMA_SECTION, .section = &l4_schema_maglev, .vital = true },
};

const struct schema_section l4_schema = { SCHEMA_FIELDS(root_fields), .needs_first = true };
