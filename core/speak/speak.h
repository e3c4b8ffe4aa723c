/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speak: whether a node of a cluster announces the addresses of a Service, how, and why not.
 *
 * Over BGP every node that may announce does, and its peers choose among them. On a local network
 * one node owns the addresses: the first of the candidates in the order of core/l2/hash, which all
 * speakers compute alike.
 *
 * The rules and the words for the reasons are those of MetalLB: what people know of it stays
 * true. An endpoint is usable while it is ready, or terminating and still serving.
 * With externalTrafficPolicy Local a node needs a usable endpoint of its own, else one anywhere. A
 * Service on the Maglev data plane needs one anywhere, and that of this node, instead.
 *
 * Pure. Results are in the arena and refer to the configuration and to the facts.
 */
#pragma once

#include "base/arena.h"
#include "core/l2/hash.h"
#include "core/metal/config.h"

#define SPEAK_EXCLUDE_LABEL "node.kubernetes.io/exclude-from-external-load-balancers"

/* Each has its own word. */
enum speak_reason {
	SPEAK_ANNOUNCED,
	SPEAK_DELETED,		 /* the Service is being deleted, or is gone */
	SPEAK_NOT_LOAD_BALANCER, /* of another type */
	SPEAK_OTHER_CLASS,	 /* of another loadBalancerClass */
	SPEAK_NO_CONFIG,	 /* there was no valid configuration yet */
	SPEAK_NO_IP,		 /* it has no address */
	SPEAK_INVALID_IP,	 /* its status has something that is no address */
	SPEAK_IP_NOT_ALLOWED,	 /* no pool has its addresses */
	SPEAK_NOT_OWNER,    /* no advertisement of its pool selects this node, or another owns it */
	SPEAK_NO_MATCH,	    /* none of those selects the Service */
	SPEAK_CONFLICT,	    /* two of them contradict each other */
	SPEAK_NODE_NETWORK, /* the node's network is unavailable */
	SPEAK_NODE_EXCLUDED,	  /* the node has the exclude label */
	SPEAK_NO_LOCAL_ENDPOINTS, /* Local, and no usable endpoint here */
	SPEAK_NO_ENDPOINTS,	  /* no usable endpoint at all */
	SPEAK_SHARED,		  /* a shared address, and an advertisement with serviceSelectors */
	SPEAK_NO_INTERFACE,  /* the interfaces of the advertisements do not exist on the owner */
	SPEAK_NO_DATA_PLANE, /* on the Maglev data plane, and that of this node is not ready */
	SPEAK_NO_PEER,	     /* no BGP peer gets it */
	SPEAK_REASONS
};

const char *speak_reason_name(enum speak_reason r); /* "announced", "noLocalEndpoints", ... */
const char *speak_reason_text(enum speak_reason r); /* a sentence for people; "" if announced */

struct speak_node {
	const char *name;
	struct labels labels;
	bool network_unavailable; /* the condition NetworkUnavailable is True */
	bool is_alive;		  /* its speaker takes part in elections (core/l2/alive) */
};

/* What all decisions of one moment share. */
struct speak_cluster {
	const struct metal_config *config; /* of this node */
	/* With the peers and BGP advertisements of all nodes; NULL: those of one are not valid. */
	const struct metal_config *whole;
	const struct speak_node *nodes; /* sorted by name */
	size_t n_nodes;
	const struct speak_node *own; /* this node, one of them */
	bool ignore_exclude;	      /* nodes with the label count as others */
	l2_digest_fn sha256;
};

/* A Service of the right type and class. */
struct speak_service {
	struct labels labels;
	const struct addr *addresses;
	size_t n_addresses;
	bool local;		  /* externalTrafficPolicy: Local */
	bool shared;		  /* it has a sharing key */
	const char *const *nodes; /* of its usable endpoints: sorted, each once */
	size_t n_nodes;
	bool has_endpoint; /* a usable one anywhere, also without a node */
	/*
	 * It asks for the Maglev data plane (core/cluster), which reaches endpoints on all nodes:
	 * none need be here. is_served: that of this node serves it.
	 */
	bool by_data_plane, is_served;
};

/* advertisements: those that select pool, node and Service; also if it is not announced. */
struct speak_bgp {
	enum speak_reason reason;
	const struct metal_bgp *const *advertisements;
	size_t n;
};

struct speak_l2 {
	enum speak_reason reason;		      /* SPEAK_ANNOUNCED: this node is the owner */
	const struct metal_l2 *const *advertisements; /* as above */
	size_t n;
	const char *const *candidates; /* nodes; the first owns the addresses */
	size_t n_candidates;
	struct metal_texts interfaces; /* of this node, sorted; n 0: all */
};

void speak_bgp(const struct speak_cluster *c, const struct speak_service *s, struct arena *arena,
	       struct speak_bgp *ret);
void speak_l2(const struct speak_cluster *c, const struct speak_service *s, struct arena *arena,
	      struct speak_l2 *ret);

/* NULL if there is none. */
const struct speak_node *speak_find_node(const struct speak_cluster *c, const char *name);
bool speak_is_excluded(const struct speak_cluster *c, const struct speak_node *n);
/* Why a node cannot announce, whatever the protocol; SPEAK_ANNOUNCED: it can. */
enum speak_reason speak_judge_node(const struct speak_cluster *c, const struct speak_node *n);
/* Whether the Service needs an endpoint on the node, and has none there. */
bool speak_lacks_endpoint(const struct speak_service *s, const char *node);
/* Whether one of the advertisements selects a node. */
bool speak_l2_selects(const struct speak_l2 *of, const struct labels *node);
