/* SPDX-License-Identifier: Apache-2.0 */
/* private: what the files of this room share. */
#pragma once

#include "base/vec.h"
#include "core/ipam/ipam.h"
#include "core/metal/number.h"

struct ipam__entry;

/* An address that is in use. */
struct ipam__slot {
	struct addr address;
	struct ipam__group *group; /* NULL: not shared */
	VEC(struct ipam__entry *) users;
};

struct ipam__slots {
	struct ipam__slot **items;
	size_t n, cap;
};

/* Slots that services with the same sharing key and backend may use. */
struct ipam__group {
	char *sharing, *backend;
	struct ipam__slots list; /* sorted by address */
};

/* A network of a pool. */
struct ipam__range {
	struct metal_prefix prefix;
	struct ipam__pool *pool;
	struct ipam__slots used; /* sorted by address */
	int64_t size;
};

struct ipam__pool {
	const struct metal_pool *metal;
	struct ipam__range **ranges; /* in the order of the resource */
	size_t n_ranges;
	size_t services;
};

struct ipam__entry {
	struct ipam_lease lease;
	char *key, *sharing, *backend;
	struct ipam__pool *pool;
	struct ipam_port *ports;
	size_t n_ports;
	struct ipam__slot *slots[IPAM_ADDRESSES];
};

struct ipam {
	struct ipam__pool *pools; /* by name */
	size_t n_pools;
	struct ipam__range *ranges; /* by address; they do not overlap */
	size_t n_ranges;
	struct ipam__pool **pinned; /* by priority and name */
	size_t n_pinned;
	VEC(struct ipam__entry *) entries; /* by key */
	VEC(struct ipam__group *) groups;  /* by sharing key and backend */
};

static inline const char *ipam__text(const char *s)
{
	return s ? s : "";
}

/* NULL, or the place where it would be. */
struct ipam__entry *ipam__find_entry(const struct ipam *m, const char *key);
size_t ipam__entry_place(const struct ipam *m, const char *key);
struct ipam__pool *ipam__find_pool(const struct ipam *m, const char *name);
/* The network of an address, whether its pool avoids that address or not. */
struct ipam__range *ipam__find_range(const struct ipam *m, const struct addr *a);
size_t ipam__slot_place(const struct ipam__slots *list, const struct addr *a);
struct ipam__slot *ipam__find_slot(const struct ipam__slots *list, const struct addr *a);
struct ipam__group *ipam__find_group(const struct ipam *m, const char *sharing,
				     const char *backend);
/* The pool that has all the addresses. */
struct ipam__pool *ipam__pool_of(const struct ipam *m, const struct addr *addresses, size_t n);
/* Whether the request may use an address that is in use. why may be NULL. */
bool ipam__may_share(const struct ipam__slot *s, const struct ipam_request *r, struct buf *why);

/* The addresses of a lease are no longer used by it, or are used by it as those of a pool. */
void ipam__detach(struct ipam *m, struct ipam__entry *e);
void ipam__attach(struct ipam *m, struct ipam__entry *e, struct ipam__pool *pool);
void ipam__free_entry(struct ipam__entry *e);
/* Sets the lease of a request to addresses that were checked. */
void ipam__put(struct ipam *m, const struct ipam_request *r, const struct addr *addresses, size_t n,
	       struct ipam__pool *pool);
/* Addresses of the network before this one that can be used. */
metal_number ipam__rank(const struct ipam__range *range, metal_number at);
/* Sets the lease to the best free addresses, or tells why there are none. */
int ipam__choose(struct ipam *m, const struct ipam_request *r, struct buf *why);
int ipam__choose_in_pool(struct ipam *m, const struct ipam_request *r, struct buf *why);
/* The lease has one address: adds one of the other family. */
int ipam__choose_other(struct ipam *m, const struct ipam_request *r, struct ipam__entry *e,
		       struct buf *why);
