/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_kube: what a node of a cluster tells FRR, from the configuration and from what is announced.
 * Pure: the same input gives the same bytes.
 *
 * Several advertisements may apply to one prefix, each with its own peers. Their communities add up
 * for each peer, as MetalLB does it. So a class (core/frr/model.h) is a set of advertisements, and
 * its entries are the peers that get the same ones of them. The class of all advertisements of a
 * pool that select every Service is always there, so that the first Service changes one network and
 * no route map. Its number is derived from the names of its advertisements.
 */
#pragma once

#include "core/bgp/config.h"
#include "core/metal/config.h"
#include "core/speak/speak.h"

/*
 * The peers and BFD profiles of the configuration as FRR knows them, in the arena. NULL, or why FRR
 * cannot have them: a text in the arena.
 */
const char *plan_kube_peers(const struct metal_config *c, struct arena *arena,
			    struct bgp_config *ret);

/* One Service whose prefixes are announced. */
struct plan_announcement {
	const struct addr *addresses;
	size_t n_addresses;
	const struct metal_bgp *const *advertisements;
	size_t n;
	bool draining; /* with the graceful-shutdown community */
};

/* Appends the configuration of FRR. peers is of plan_kube_peers() for c. */
void plan_kube_text(const struct metal_config *c, const struct bgp_config *peers,
		    const struct plan_announcement *list, size_t n, struct buf *out);
/* The names of the peers that are sent a prefix of the Service: sorted, in the arena. */
struct metal_texts plan_kube_reached(const struct bgp_config *peers,
				     const struct plan_announcement *a, struct arena *arena);
