/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: speaker.yaml as it was written, value by value, each with its place.
 *
 * lib/config/document fills it along the tables of schema.c; validate.c reads it. Everything lives
 * in the caller's arena. The member `at` of a struct is the place of its name or key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/doc.h"
#include "core/bgp/keys.h"

struct bgp_doc_router {
	bool set;
	struct place at;
	BGP_ROUTER_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_bfd {
	const char *name;
	struct place at;
	BGP_BFD_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_peer {
	const char *name;
	struct place at;
	BGP_PEER_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_advertisement {
	const char *name;
	struct place at;
	BGP_ADVERTISEMENT_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_maglevd {
	const char *name;
	struct place at;
	BGP_MAGLEVD_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_l2 {
	const char *name;
	struct place at;
	BGP_L2_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_worse {
	bool set;
	struct place at;
	BGP_WORSE_KEYS(SCHEMA_MEMBER)
};

struct bgp_doc_vip {
	const char *name;
	struct place at;
	BGP_VIP_KEYS(SCHEMA_MEMBER)
	struct bgp_doc_worse worse;
};

struct bgp_doc {
	BGP_SPEAKER_KEYS(SCHEMA_MEMBER)
	struct bgp_doc_router router;
	const struct bgp_doc_bfd *bfd;
	size_t n_bfd;
	const struct bgp_doc_peer *peers;
	size_t n_peers;
	const struct bgp_doc_advertisement *advertisements;
	size_t n_advertisements;
	const struct bgp_doc_maglevd *maglevds;
	size_t n_maglevds;
	const struct bgp_doc_l2 *l2;
	size_t n_l2;
	const struct bgp_doc_vip *vips;
	size_t n_vips;
};

/* The whole file: one mapping "speaker". */
extern const struct schema_section bgp_schema;
/* The entries of its named mappings, for rule_entries(). */
extern const struct schema_section bgp_schema_bfd, bgp_schema_peer, bgp_schema_advertisement,
	bgp_schema_maglevd, bgp_schema_l2, bgp_schema_vip;
