/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metal: the resources of metallb.io as a cluster has them, and the document for core/metal.
 *
 * The tables of fields are here, so that every program reads the same resources in the same way.
 */
#pragma once

#include "base/arena.h"
#include "core/metal/doc.h"
#include "lib/k8s/kind.h"

#define WIRE_METAL_GROUP "metallb.io"

enum wire_metal_kind {
	WIRE_POOLS,
	WIRE_PEERS,
	WIRE_BGP_ADVERTISEMENTS,
	WIRE_L2_ADVERTISEMENTS,
	WIRE_BFD_PROFILES,
	WIRE_COMMUNITIES,
	WIRE_NODES,	 /* objects begin like struct wire_place */
	WIRE_NAMESPACES, /* the same */
	WIRE_SECRETS,
	WIRE_METAL_KINDS,
};

struct wire_metal_row {
	const char *group, *version, *plural,
		*kind; /* "metallb.io", "v1beta1", ..., "IPAddressPool" */
	const struct k8s_layout *layout;
};

extern const struct wire_metal_row wire_metal_kinds[WIRE_METAL_KINDS];

struct wire_pool {
	struct k8s_object object;
	struct k8s_list labels, addresses, namespaces, namespace_selectors, service_selectors;
	int64_t priority;
	uint8_t auto_assign, avoid_buggy_ips, has_allocation;
	/* status; -1: not set */
	int64_t assigned4, assigned6, available4, available6, services;
};

struct wire_peer {
	struct k8s_object object;
	int64_t my_asn, peer_asn, local_asn, port;
	const char *dynamic_asn, *address, *interface, *source, *router_id;
	const char *hold_time, *keepalive_time, *connect_time;
	const char *password, *password_secret, *bfd_profile, *vrf;
	uint8_t graceful_restart, ebgp_multihop, disable_mp, dual_stack;
	struct k8s_list node_selectors;
};

struct wire_bgp_advertisement {
	struct k8s_object object;
	int64_t length4, length6, local_pref; /* 0: not set */
	struct k8s_list communities, pools, peers;
	struct k8s_list pool_selectors, node_selectors, service_selectors;
};

struct wire_l2_advertisement {
	struct k8s_object object;
	struct k8s_list pools, interfaces, preferences;
	struct k8s_list pool_selectors, node_selectors, service_selectors;
};

struct wire_bfd_profile {
	struct k8s_object object;
	int64_t receive_ms, transmit_ms, multiplier, echo_ms, minimum_ttl; /* METAL_UNSET */
	uint8_t echo_mode, passive;
};

struct wire_community {
	struct k8s_object object;
	struct k8s_list aliases; /* of struct wire_alias */
};

struct wire_alias {
	const char *name, *value;
};

/* A Node or a Namespace. A program may keep more fields in a struct that begins so. */
struct wire_place {
	struct k8s_object object;
	struct k8s_list labels;
};

struct wire_secret {
	struct k8s_object object;
	const char *type, *password; /* in base64 */
};

/* The objects of each kind, in any order. */
struct wire_metal_objects {
	const struct k8s_object *const *items;
	size_t n;
};

struct wire_metal {
	struct wire_metal_objects kinds[WIRE_METAL_KINDS];
};

/* The document is in the arena and refers to the objects: both must outlive it. */
void wire_metal_doc(const struct wire_metal *from, struct arena *arena, struct metal_doc *ret);
