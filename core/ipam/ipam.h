/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipam: which service has which addresses of the pools.
 *
 * A lease is what one service has: one address, or one of each family, all of one pool. Several
 * services may share an address, if they ask for it with the same sharing key, send it to the same
 * pods (backend), and use different ports.
 *
 * The choice is a function of the leases, the pools and the request, so that it can be told in
 * advance: pools that are pinned to some services first, by priority and name, then the others by
 * name; in a pool the networks in their order, and in each the lowest address that is free or can
 * be shared. An allocation costs a search over the used addresses of a network, however full it is.
 *
 * Pure. The pools are those of a struct metal_config, which must stay until the next
 * ipam_set_pools(). Reasons are in the words of MetalLB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"
#include "core/labels/labels.h"
#include "core/metal/config.h"

enum ipam_families { IPAM_NONE = 0, IPAM_IPV4 = 1, IPAM_IPV6 = 2, IPAM_DUAL = 3 };
enum ipam_policy { IPAM_SINGLE_STACK, IPAM_PREFER_DUAL, IPAM_REQUIRE_DUAL };

struct ipam_port {
	const char *protocol; /* "TCP" */
	uint16_t port;
};

#define IPAM_ADDRESSES 2 /* of one service: one of each family */

/* What a service asks for. Everything is borrowed during the call. */
struct ipam_request {
	const char *key; /* of the service: "namespace/name" */
	const char *namespace;
	struct labels labels;
	enum ipam_families families; /* of its cluster addresses */
	enum ipam_policy policy;
	bool prefers6;	     /* its first family is IPv6 */
	const char *sharing; /* NULL or "": it does not share */
	const char *backend; /* which pods; NULL or "": any */
	const struct ipam_port *ports;
	size_t n_ports;
	const char *pool; /* NULL or "": any */
	const struct addr *wanted;
	size_t n_wanted; /* 0: any address */
};

struct ipam_lease {
	const char *key;
	const char *pool; /* its name */
	struct addr addresses[IPAM_ADDRESSES];
	size_t n;
	const char *sharing, *backend; /* "" if none */
};

struct ipam;

struct ipam *ipam_new(void);
void ipam_free(struct ipam *m); /* NULL is allowed */

/*
 * Other pools. A lease whose addresses are all in one pool stays, also if that is another pool than
 * before; others end, and freed() is called for each, in the order of keys, with a lease that is
 * valid during the call. freed may be NULL.
 */
void ipam_set_pools(struct ipam *m, const struct metal_config *config,
		    void (*freed)(const struct ipam_lease *lease, void *user), void *user);

/*
 * Each of these changes the lease of request->key, or returns -EADDRNOTAVAIL, with the reason
 * appended to why, and changes nothing.
 *
 * ipam_assign(): exactly these addresses. Repeating it is harmless; ports and keys may be new.
 * ipam_allocate(): the wanted addresses, or any of the wanted pool, or any. The service must have
 * no lease.
 * ipam_widen(): one address more, of the other family and the same pool.
 */
int ipam_assign(struct ipam *m, const struct ipam_request *request, const struct addr *addresses,
		size_t n, struct buf *why);
int ipam_allocate(struct ipam *m, const struct ipam_request *request, struct buf *why);
int ipam_widen(struct ipam *m, const struct ipam_request *request, struct buf *why);
/* False if there was no lease. */
bool ipam_release(struct ipam *m, const char *key);

/* NULL if the service has none. Valid until its lease changes. */
const struct ipam_lease *ipam_get(const struct ipam *m, const char *key);
size_t ipam_count(const struct ipam *m);
/* In the order of keys. */
const struct ipam_lease *ipam_at(const struct ipam *m, size_t i);

/* An address that several services share counts once. A huge network counts as INT64_MAX. */
struct ipam_usage {
	int64_t assigned4, assigned6, available4, available6;
	size_t services;
};
/* All zeros for an unknown pool. */
struct ipam_usage ipam_usage(const struct ipam *m, const char *pool);

/* The families of addresses; IPAM_NONE for none, or if two are of the same family. */
enum ipam_families ipam_families_of(const struct addr *addresses, size_t n);
/* "ipv4", "ipv6", "dual". */
const char *ipam_families_name(enum ipam_families f);
/* Appends ["192.0.2.1" "fc00::1"]. */
void ipam_format(struct buf *out, const struct addr *addresses, size_t n);
