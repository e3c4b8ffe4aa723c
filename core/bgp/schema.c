/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of speaker.yaml: which mappings there are and what is in them, innermost first. Keys
 * with a value are rows of keys.h. The rows have no place in the configuration: two configurations
 * are compared by what they make of FRR, not key by key.
 */
#include "core/bgp/doc.h"

#define ROW(doc_, key_, shape_, member_)                                                           \
	{ .key = key_, .shape = SCHEMA_##shape_, .offset = offsetof(struct doc_, member_) },

#define NAMED(doc_, fields_)                                                                       \
	{                                                                                          \
		SCHEMA_FIELDS(fields_), .doc_size = sizeof(struct doc_),                           \
					.doc_name = offsetof(struct doc_, name), .has_at = true,   \
					.doc_at = offsetof(struct doc_, at),                       \
	}

#define SINGLE(doc_, fields_)                                                                      \
	{                                                                                          \
		SCHEMA_FIELDS(fields_), .has_set = true, .doc_set = offsetof(struct doc_, set),    \
					.has_at = true, .doc_at = offsetof(struct doc_, at),       \
	}

#define ROUTER(...) ROW(bgp_doc_router, __VA_ARGS__)
static const struct schema_field router_fields[] = { BGP_ROUTER_KEYS(ROUTER) };
static const struct schema_section router = SINGLE(bgp_doc_router, router_fields);

#define BFD(...) ROW(bgp_doc_bfd, __VA_ARGS__)
static const struct schema_field bfd_fields[] = { BGP_BFD_KEYS(BFD) };
const struct schema_section bgp_schema_bfd = NAMED(bgp_doc_bfd, bfd_fields);

#define PEER(...) ROW(bgp_doc_peer, __VA_ARGS__)
static const struct schema_field peer_fields[] = { BGP_PEER_KEYS(PEER) };
const struct schema_section bgp_schema_peer = NAMED(bgp_doc_peer, peer_fields);

#define ADVERTISEMENT(...) ROW(bgp_doc_advertisement, __VA_ARGS__)
static const struct schema_field advertisement_fields[] = { BGP_ADVERTISEMENT_KEYS(ADVERTISEMENT) };
const struct schema_section bgp_schema_advertisement =
	NAMED(bgp_doc_advertisement, advertisement_fields);

#define MAGLEVD(...) ROW(bgp_doc_maglevd, __VA_ARGS__)
static const struct schema_field maglevd_fields[] = { BGP_MAGLEVD_KEYS(MAGLEVD) };
const struct schema_section bgp_schema_maglevd = NAMED(bgp_doc_maglevd, maglevd_fields);

#define L2(...) ROW(bgp_doc_l2, __VA_ARGS__)
static const struct schema_field l2_fields[] = { BGP_L2_KEYS(L2) };
const struct schema_section bgp_schema_l2 = NAMED(bgp_doc_l2, l2_fields);

#define WORSE(...) ROW(bgp_doc_worse, __VA_ARGS__)
static const struct schema_field worse_fields[] = { BGP_WORSE_KEYS(WORSE) };
static const struct schema_section worse = SINGLE(bgp_doc_worse, worse_fields);

#define VIP(...) ROW(bgp_doc_vip, __VA_ARGS__)
static const struct schema_field vip_fields[] = {
	BGP_VIP_KEYS(VIP) SCHEMA_NESTED("worse", bgp_doc_vip, worse, worse),
};
const struct schema_section bgp_schema_vip = NAMED(bgp_doc_vip, vip_fields);

#define SPEAKER(...) ROW(bgp_doc, __VA_ARGS__)
static const struct schema_field speaker_fields[] = {
	BGP_SPEAKER_KEYS(SPEAKER) /* and the mappings */
	SCHEMA_NESTED("router", bgp_doc, router, router),
	SCHEMA_ARRAY("bfd-profiles", NAMED, bgp_doc, bfd, bgp_schema_bfd),
	SCHEMA_ARRAY("peers", NAMED, bgp_doc, peers, bgp_schema_peer),
	SCHEMA_ARRAY("advertisements", NAMED, bgp_doc, advertisements, bgp_schema_advertisement),
	SCHEMA_ARRAY("maglevds", NAMED, bgp_doc, maglevds, bgp_schema_maglevd),
	SCHEMA_ARRAY("l2", NAMED, bgp_doc, l2, bgp_schema_l2),
	SCHEMA_ARRAY("vips", NAMED, bgp_doc, vips, bgp_schema_vip),
};
static const struct schema_section speaker = { SCHEMA_FIELDS(speaker_fields) };

static const struct schema_field root_fields[] = {
	{ .key = "speaker", .shape = SCHEMA_SECTION, .section = &speaker },
};
const struct schema_section bgp_schema = { SCHEMA_FIELDS(root_fields), .needs_first = true };
