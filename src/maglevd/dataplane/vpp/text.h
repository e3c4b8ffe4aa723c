/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: parses the output of "show lb vips verbose", which has what the dumps of VPP lack: the
 * index of a VIP, which is the column of its counters, whether it is sticky, and the live flows
 * of a server.
 *
 * It is text for people and may change with every version: whatever is not understood is left
 * out. Only one programmed property depends on it: whether a VIP is sticky.
 */
#pragma once

#include "base/str.h"
#include "core/l4/lb.h"

#define VPPLB_TEXT_COMMAND "show lb vips verbose"

struct vpplb_text_as {
	struct addr address;
	uint32_t buckets, flows;
};

struct vpplb_text_vip {
	struct lb_vip_key key;
	uint32_t index;
	uint32_t buckets;		 /* of the whole table */
	bool src_ip_sticky, sticky_told; /* sticky_told: the line was understood completely */
	size_t as_first, n_as;		 /* the range of its servers in vpplb_text.as */
	size_t route;			 /* set by gather: the index of its route */
};

/*
 * VIPs sorted by key, each once; the servers of a VIP sorted by address, each once. Removed ones
 * are left out.
 */
struct vpplb_text {
	VEC(struct vpplb_text_vip) vips;
	VEC(struct vpplb_text_as) as;
};

void vpplb_text_parse(struct str text, struct vpplb_text *ret); /* *ret must be empty */
void vpplb_text_free(struct vpplb_text *t);
/* NULL when the text does not have the VIP. */
const struct vpplb_text_vip *vpplb_text_find(const struct vpplb_text *t,
					     const struct lb_vip_key *key);
