/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the resources of metallb.io after validation: values checked, names resolved.
 *
 * All resources together are one configuration: it is valid or it is not, and the first mistake, in
 * a fixed order, is the one that is told, in the words of MetalLB. Objects are looked at in the
 * order of their names, so that the same resources always give the same error.
 *
 * A program keeps the last valid configuration until a new one is valid.
 *
 * Arrays are sorted by name. A config is made of an arena that the caller owns, and does not refer
 * to the document: texts are copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/labels/labels.h"
#include "core/metal/doc.h"

/* A network; the bits after length are zero. */
struct metal_prefix {
	struct addr address;
	uint8_t length;
};

#define METAL_PREFIX_STRLEN (ADDR_STRLEN + 4)
/* "192.0.2.0/24"; returns buf. */
const char *metal_prefix_format(const struct metal_prefix *p, char buf[static METAL_PREFIX_STRLEN]);
bool metal_prefix_has(const struct metal_prefix *p, const struct addr *a);

struct metal_pool {
	const char *name;
	bool auto_assign, avoid_buggy_ips;
	const struct metal_prefix *prefixes; /* in the order of the resource, ranges split */
	size_t n_prefixes;
	bool has4, has6;
	/* Which services may have its addresses: all, if it is not pinned. */
	bool is_pinned;
	uint32_t priority;		    /* 0: the last */
	struct metal_texts namespaces;	    /* sorted, selectors resolved */
	bool some_namespaces;		    /* false: those of all namespaces */
	struct labels_selectors services;   /* n 0: all */
	const struct metal_bgp *const *bgp; /* the advertisements that select this pool, by name */
	size_t n_bgp;
	const struct metal_l2 *const *l2;
	size_t n_l2;
};

enum metal_as { METAL_AS_NUMBER, METAL_AS_INTERNAL, METAL_AS_EXTERNAL };

struct metal_peer {
	const char *name;
	uint32_t my_asn, asn, local_asn; /* asn: METAL_AS_NUMBER only; local_asn 0: none */
	enum metal_as as;
	struct addr address;   /* none: interface */
	const char *interface; /* NULL: address */
	struct addr source, router_id;
	uint16_t port;
	bool has_timers; /* both may be 0: the session has none */
	int64_t hold_ns, keepalive_ns;
	int64_t connect_ns; /* 0: the default of the program */
	struct labels_selectors nodes;
	const char *password;		 /* also from the Secret; NULL: none */
	const struct metal_bfd *profile; /* NULL: no BFD */
	const char *vrf;		 /* NULL: the default one */
	bool graceful_restart, ebgp_multihop, dual_stack;
};

struct metal_bgp {
	const char *name;
	uint8_t length4, length6;
	uint32_t local_pref;			 /* 0: not set */
	struct metal_texts communities;		 /* "65000:1", sorted by number */
	struct metal_texts large_communities;	 /* "64512:1:2", sorted by number */
	struct metal_texts peers;		 /* sorted; n 0: all */
	struct labels_selectors nodes, services; /* n 0: all */
};

struct metal_preference {
	uint8_t weight;
	struct labels_selector nodes;
};

struct metal_l2 {
	const char *name;
	struct metal_texts interfaces; /* sorted; n 0: all */
	struct labels_selectors nodes, services;
	const struct metal_preference *preferences;
	size_t n_preferences;
};

/* 0: the default of the program. */
struct metal_bfd {
	const char *name;
	uint32_t receive_ms, transmit_ms, multiplier, echo_ms, minimum_ttl;
	bool echo_mode, passive;
};

struct metal_config {
	const struct metal_pool *pools;
	size_t n_pools;
	const struct metal_peer *peers;
	size_t n_peers;
	const struct metal_bgp *bgp;
	size_t n_bgp;
	const struct metal_l2 *l2;
	size_t n_l2;
	const struct metal_bfd *profiles;
	size_t n_profiles;
};

struct metal_options {
	/* Pools, communities and namespaces only: what the allocation of addresses needs. */
	bool pools_only;
	/*
	 * References to what may come later (BFD profiles, Secrets, names of communities) are not
	 * looked up: for webhooks, so that resources may be applied in any order.
	 */
	bool early;
	bool without_secrets; /* Secrets are not known: only their references are accepted */
	/*
	 * The labels of one node: peers and BGP advertisements that do not select it are left out
	 * first, also from the rules. NULL: all.
	 */
	const struct labels *node;
};

struct metal_error {
	const char *text; /* in the arena */
	bool passing;	  /* a reference to something that may come later */
};

/*
 * Checks all resources and builds the configuration in the arena. -EINVAL, with the first mistake
 * in *ret_error, if there is one; *ret is untouched then. options may be NULL.
 */
int metal_config_build(const struct metal_doc *doc, const struct metal_options *options,
		       struct arena *arena, struct metal_config *ret,
		       struct metal_error *ret_error);

/* NULL if there is none. */
const struct metal_pool *metal_config_pool(const struct metal_config *c, const char *name);
const struct metal_peer *metal_config_peer(const struct metal_config *c, const char *name);

/* ---- which of it applies ---- */

/* Whether a list of selectors selects these labels; an empty list selects everything. */
bool metal_selects(const struct labels_selectors *s, const struct labels *l);
/* Whether the pool has this address: avoidBuggyIPs takes those that end with 0 or 255 out. */
bool metal_pool_has(const struct metal_pool *p, const struct addr *a);
/* The pool that has all n addresses; NULL if there is none. */
const struct metal_pool *metal_pool_of(const struct metal_config *c, const struct addr *addresses,
				       size_t n);
/* Whether a service may have addresses of the pool. */
bool metal_pool_admits(const struct metal_pool *p, const char *namespace,
		       const struct labels *service);

/*
 * Whether two advertisements of the same pool contradict each other for a service that both select:
 * another local preference for the same prefix, peer and node. nodes: those of the cluster.
 */
bool metal_bgp_conflict(const struct metal_bgp *a, const struct metal_bgp *b,
			const struct metal_pool *pool, const struct metal_place *nodes,
			size_t n_nodes);
/* Whether a session with the peer carries addresses of a family: its own, or both. */
bool metal_peer_carries(const struct metal_peer *p, uint8_t family);
/* Whether an advertisement is meant for a peer. */
bool metal_bgp_for_peer(const struct metal_bgp *b, const char *peer);
/* The prefix that is announced for an address. */
struct metal_prefix metal_bgp_prefix(const struct metal_bgp *b, const struct addr *a);
/* The sum of the weights of the preferences that select a node. */
int metal_l2_score(const struct metal_l2 *l, const struct labels *node);
