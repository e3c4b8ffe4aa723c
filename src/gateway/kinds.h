/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds: the kinds that maglev-gateway follows: where they are served, and which fields are kept.
 */
#pragma once

#include "lib/k8s/kind.h"
#include "src/gateway/facts.h"

#define GW_VERSIONS_MAX 3

struct gw_kind_info {
	const char *kind;			   /* "HTTPRoute" */
	const char *group;			   /* "" for core kinds */
	const char *versions[GW_VERSIONS_MAX + 1]; /* that can be read, the preferred first */
	const char *resource;			   /* "httproutes" */
	const struct k8s_layout *layout;
	bool optional; /* may be absent from the cluster */
	bool namespaced;
	bool has_status; /* that the gateway writes */
};

extern const struct gw_kind_info gw_kinds[GW_KINDS]; /* by enum gw_kind */
