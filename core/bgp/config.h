/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: speaker.yaml after validation: every value checked, every name resolved.
 *
 * Arrays are sorted by name. Everything lives in the caller's arena and refers to nothing in the
 * document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "core/announce/announce.h"
#include "core/bgp/doc.h"
#include "core/frr/model.h"
#include "core/l2/election.h"

#define BGP_NONE SIZE_MAX /* the index of nothing */

struct bgp_peer {
	struct frr_peer frr;
	const char *vrf; /* NULL: the default one */
};

struct bgp_advertisement {
	const char *name;
	struct schema_texts communities, large_communities; /* sorted, no duplicates */
	bool has_local_preference, has_med;
	uint32_t local_preference, med;
	unsigned length4, length6; /* bits of the prefix of a VIP */
	struct schema_texts peers; /* sorted; n 0: all */
};

struct bgp_maglevd {
	const char *name, *address;
	bool tls;
	const char *ca, *certificate, *key; /* paths; NULL: none */
};

/* A group of speakers on one network, which elect an owner for each VIP. */
struct bgp_l2 {
	const char *name, *interface;
	struct str key;
	uint32_t number; /* of the group, on the network */
	struct l2_rule rule;
	uint8_t family; /* of the heartbeats */
	uint16_t port;
};

/* One frontend of one maglevd. */
struct bgp_source {
	size_t maglevd;
	const char *frontend;
};

struct bgp_vip {
	const char *name;
	struct addr address;
	size_t advertisement; /* BGP_NONE: not announced over BGP */
	size_t l2;	      /* BGP_NONE: not announced on a local network */
	uint8_t l2_priority;
	const struct bgp_source *sources; /* n 0: always announced */
	size_t n_sources;
	struct announce_rule rule;
	bool has_worse_med;
	uint32_t worse_med;
	unsigned worse_prepend;
};

struct bgp_config {
	const char *name;      /* of this speaker among others */
	uint32_t asn;	       /* 0: without BGP */
	struct addr router_id; /* none: FRR chooses */
	const struct frr_bfd *profiles;
	size_t n_profiles;
	const struct bgp_peer *peers;
	size_t n_peers;
	const struct bgp_advertisement *advertisements;
	size_t n_advertisements;
	const struct bgp_maglevd *maglevds;
	size_t n_maglevds;
	const struct bgp_l2 *l2;
	size_t n_l2;
	const struct bgp_vip *vips;
	size_t n_vips;
};

struct bgp_key_file {
	struct str bytes;
	bool is_public; /* every user may read it */
};

/* What the rules need of the machine. */
struct bgp_machine {
	const char *name; /* its host name */
	/* The contents of a small file, in arena; 0 or a negative errno. */
	int (*read_key)(const char *path, struct arena *arena, struct bgp_key_file *ret);
};

/*
 * Checks a document and builds the configuration in arena. -EINVAL if anything was added to errors;
 * *ret is untouched then. All mistakes are reported at once. Two VIPs may share a prefix, if an
 * aggregation length makes it so, but only with the same advertisement.
 */
int bgp_config_build(const struct bgp_doc *doc, const struct bgp_machine *machine,
		     struct arena *arena, struct bgp_config *ret, struct errs *errors,
		     struct errs *warnings);

struct bgp_prefix {
	struct addr address; /* without host bits */
	uint8_t length;
};

/* The prefix that is announced for a VIP; without BGP the address alone. */
struct bgp_prefix bgp_vip_prefix(const struct bgp_config *c, const struct bgp_vip *v);
int bgp_prefix_cmp(const struct bgp_prefix *a, const struct bgp_prefix *b);
/* "192.0.2.1/32" */
#define BGP_PREFIX_STRLEN (ADDR_STRLEN + 4)
const char *bgp_prefix_format(const struct bgp_prefix *p, char buf[static BGP_PREFIX_STRLEN]);
/* The VIP of this name; NULL if there is none. */
const struct bgp_vip *bgp_config_vip(const struct bgp_config *c, const char *name);
