/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: what a speaker wants of FRR, and its text.
 *
 * The text is laid out so that a change of one prefix is a change of one line. A prefix belongs to
 * a class: the attributes with which it is announced, and to which peers. Its origin is tagged with
 * the number of its class (network P route-map ORIGIN, which sets a tag), and each peer's outbound
 * route map has one entry per class, which matches the tag and sets the attributes. So prefixes
 * come and go without any change of a list or route map. A tag exists only inside bgpd: there is no
 * message in which a peer could see it.
 *
 * A peer is sent only prefixes of its classes, and nothing is accepted from it.
 *
 * Everything is written in one fixed order: routers by VRF, peers by name, classes by number,
 * prefixes by address, communities by value. The same model gives the same bytes.
 *
 * Pure. Strings are borrowed from the caller, which has checked them: they contain no control
 * characters, so that each stays in its line, and, except `extra`, no spaces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

/* Zero means FRR's default. */
struct frr_bfd {
	const char *name;
	uint32_t receive_ms, transmit_ms, multiplier;
	bool echo_mode;
	uint32_t echo_ms; /* both directions */
	bool passive;
	uint32_t minimum_ttl;
};

/* What the routes of a class have, or those that are sent to a peer. */
struct frr_attributes {
	bool has_local_preference; /* only internal peers are sent it */
	bool has_med;
	uint32_t local_preference, med;
	const char *const *communities; /* "65000:1", "no-export" */
	size_t n_communities;
	const char *const *large_communities; /* "64512:1:2" */
	size_t n_large_communities;
};

enum frr_peer_as { FRR_AS_NUMBER, FRR_AS_INTERNAL, FRR_AS_EXTERNAL };

struct frr_peer {
	const char *name;      /* letters, digits, '-', '_', '.'; unique; part of route maps */
	struct addr address;   /* none: interface */
	const char *interface; /* unnumbered; NULL: address */
	enum frr_peer_as as_kind;
	uint32_t asn;	      /* FRR_AS_NUMBER */
	uint32_t local_asn;   /* shown to this peer instead of the router's; 0: none */
	uint16_t port;	      /* 0: 179 */
	struct addr source;   /* none: chosen by the kernel */
	const char *password; /* NULL: none */
	const char *bfd;      /* a profile; NULL: no BFD */
	bool has_timers;      /* keepalive and hold; both may be 0 */
	uint32_t keepalive_s, hold_s;
	uint32_t connect_s; /* 0: FRR's default */
	bool ebgp_multihop, graceful_restart;
	bool ipv4, ipv6; /* families that are activated */
	/* of all routes: communities are added to those of a class; its other values win */
	struct frr_attributes attributes;
};

#define FRR_CLASS_MAX 65534
/* The route map that tags prefixes of a class is this, followed by its number. */
#define FRR_ORIGIN_MAP "maglev-origin-"

/*
 * Attributes of prefixes. A class that has other attributes for other peers is several entries with
 * one number; no peer is in two of them, and a peer that is in none is not sent its prefixes.
 */
struct frr_class {
	uint32_t number; /* 1..FRR_CLASS_MAX; kept while the class lives */
	struct frr_attributes attributes;
	unsigned prepend;	  /* times that the own ASN is added for external peers; 0..10 */
	const char *const *peers; /* names; announced only to these. n 0: to all */
	size_t n_peers;
};

struct frr_prefix {
	struct addr address; /* without host bits */
	uint8_t length;
	uint32_t class; /* number; there is such a class */
};

struct frr_router {
	uint32_t asn;
	struct addr id;	 /* none: FRR chooses */
	const char *vrf; /* NULL: the default one */
	const struct frr_peer *peers;
	size_t n_peers;
	const struct frr_prefix *prefixes; /* no two with the same address and length */
	size_t n_prefixes;
};

struct frr_model {
	const char *log_level; /* to syslog, FRR's word: "informational"; NULL: no line about it */
	const struct frr_router *routers;
	size_t n_routers;
	const struct frr_class *classes; /* of all routers */
	size_t n_classes;
	const struct frr_bfd *profiles;
	size_t n_profiles;
	const char *extra; /* text that is added as it is; NULL: none */
};

/* Whether a session is one of iBGP. own: the router's ASN. */
bool frr_peer_is_internal(const struct frr_peer *p, uint32_t own);

/* Appends the configuration. The arrays may be in any order. */
void frr_render(const struct frr_model *m, struct buf *out);
