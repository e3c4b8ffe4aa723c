/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: a configuration as it was written, value by value, each with its place.
 *
 * The parse phase (wire/config_yaml) fills it: every value has the right type (a number, a
 * duration) but is not checked yet. The semantic phase (validate.h) reads it. The members for
 * single values are generated from the rows of keys.h, under the names given there. Everything
 * lives in the caller's arena. The member `at` of a struct is the place of its name or key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/doc.h"
#include "base/err.h"
#include "core/l4/keys.h"

struct doc_params {
	bool set;
	struct place at;
	L4_PARAMS_KEYS(SCHEMA_MEMBER)
};

struct doc_check {
	const char *name;
	struct place at; /* of the name */
	L4_CHECK_KEYS(SCHEMA_MEMBER)
	struct doc_params params;
};

struct doc_backend {
	const char *name;
	struct place at;
	L4_BACKEND_KEYS(SCHEMA_MEMBER)
};

struct doc_member {
	const char *backend;
	struct place at;
	L4_MEMBER_KEYS(SCHEMA_MEMBER)
};

struct doc_pool {
	struct place at;
	L4_POOL_KEYS(SCHEMA_MEMBER)
	const struct doc_member *members;
	size_t n_members;
};

struct doc_frontend {
	const char *name;
	struct place at;
	L4_FRONTEND_KEYS(SCHEMA_MEMBER)
	const struct doc_pool *pools;
	size_t n_pools;
};

struct doc_lb {
	bool set;
	struct place at;
	L4_LB_KEYS(SCHEMA_MEMBER)
};

struct doc_xdp {
	bool set;
	struct place at;
	L4_XDP_KEYS(SCHEMA_MEMBER)
};

struct l4_doc {
	L4_HEALTHCHECKER_KEYS(SCHEMA_MEMBER)
	const struct doc_check *checks;
	size_t n_checks;
	const struct doc_backend *backends;
	size_t n_backends;
	const struct doc_frontend *frontends;
	size_t n_frontends;
	struct doc_lb lb;     /* vpp.lb */
	struct doc_lb top_lb; /* lb: the same section, for data planes other than VPP */
	L4_DATAPLANE_KEYS(SCHEMA_MEMBER)
	struct doc_xdp xdp;
};
