/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: the resources of metallb.io as they are written in the cluster, before any rule.
 *
 * Texts may be NULL or "" if they are not set. Everything is borrowed. wire/metal.h makes these
 * structs from the objects of Kubernetes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/labels/labels.h"

struct metal_texts {
	const char *const *items;
	size_t n;
};

struct metal_pool_doc {
	const char *name;
	struct labels labels;
	struct metal_texts addresses; /* "192.0.2.0/24", "192.0.2.1-192.0.2.9" */
	bool auto_assign, avoid_buggy_ips;
	bool has_allocation; /* serviceAllocation is there, if only with a priority */
	int64_t priority;
	struct metal_texts namespaces;
	struct labels_selectors namespace_selectors, service_selectors;
};

struct metal_peer_doc {
	const char *name, *namespace;
	uint32_t my_asn, peer_asn, local_asn; /* 0: not set */
	const char *dynamic_asn;	      /* "internal", "external" */
	const char *address, *interface, *source, *router_id;
	uint16_t port;					       /* 0: 179 */
	const char *hold_time, *keepalive_time, *connect_time; /* durations of Go: "1m30s" */
	struct labels_selectors nodes;
	const char *password, *password_secret; /* the second is the name of a Secret */
	const char *bfd_profile, *vrf;
	bool graceful_restart, ebgp_multihop, disable_mp, dual_stack;
};

struct metal_bgp_doc {
	const char *name;
	int64_t length4, length6; /* aggregation; 0: not set */
	uint32_t local_pref;	  /* 0: not set */
	struct metal_texts communities, pools, peers;
	struct labels_selectors pool_selectors, nodes, services;
};

struct metal_preference_doc {
	int64_t weight;
	struct labels_selector nodes;
};

struct metal_l2_doc {
	const char *name;
	struct metal_texts pools, interfaces;
	struct labels_selectors pool_selectors, nodes, services;
	const struct metal_preference_doc *preferences;
	size_t n_preferences;
};

#define METAL_UNSET (-1)

/* METAL_UNSET: not set. */
struct metal_bfd_doc {
	const char *name;
	int64_t receive_ms, transmit_ms, multiplier, echo_ms, minimum_ttl;
	bool echo_mode, passive;
};

struct metal_alias_doc {
	const char *name, *value;
};

struct metal_community_doc {
	const char *name;
	const struct metal_alias_doc *aliases;
	size_t n_aliases;
};

/* A Node or a Namespace. */
struct metal_place {
	const char *name;
	struct labels labels;
};

struct metal_secret_doc {
	const char *name, *namespace, *type;
	const char *password; /* decoded; NULL: it has no such key */
};

/* All resources, each array in any order. */
struct metal_doc {
	const struct metal_pool_doc *pools;
	const struct metal_peer_doc *peers;
	const struct metal_bgp_doc *bgp;
	const struct metal_l2_doc *l2;
	const struct metal_bfd_doc *profiles;
	const struct metal_community_doc *communities;
	const struct metal_place *nodes, *namespaces;
	const struct metal_secret_doc *secrets;
	size_t n_pools, n_peers, n_bgp, n_l2, n_profiles, n_communities, n_nodes, n_namespaces,
		n_secrets;
};
