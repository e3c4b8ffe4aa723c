/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: what VPP prints for "show lb vips verbose", which has what its dumps lack: the index of a
 * VIP, which is the column of its counters, whether it is sticky, and the live flows of a server.
 *
 * It is text for people, and may change with every version: whatever is not understood is left out.
 * Only one thing that is programmed depends on it: a VIP that it says to be sticky, or not to be.
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
	uint32_t buckets;		 /* of all */
	bool src_ip_sticky, sticky_told; /* in words that are known */
	size_t as_first, n_as;		 /* in as */
	size_t route;			 /* for who keeps routes: nothing of the text */
};

/* VIPs by key, each once; the servers of a VIP by address, each once. Removed ones are left out. */
struct vpplb_text {
	VEC(struct vpplb_text_vip) vips;
	VEC(struct vpplb_text_as) as;
};

void vpplb_text_parse(struct str text, struct vpplb_text *ret); /* into what is empty */
void vpplb_text_free(struct vpplb_text *t);
/* NULL when it is not told of. */
const struct vpplb_text_vip *vpplb_text_find(const struct vpplb_text *t,
					     const struct lb_vip_key *key);
