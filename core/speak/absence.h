/* SPDX-License-Identifier: Apache-2.0 */
/*
 * absence: why no node of the cluster announces a Service over a protocol, and which node says so.
 *
 * A node that could announce a Service over BGP says itself why it does not, and the owner of an
 * address says that it owns it. If there is no such node, nobody would say anything. So every
 * speaker decides whether another one speaks; if none does, one of them gives the reason: the first
 * living one in the order of core/l2/hash.
 *
 * Of a Service without an address nothing is said: it shows that itself, and every Service begins
 * so. Neither is it of addresses that no pool has: somebody else has given them. A protocol that
 * has no advertisement for the pool of a Service is not meant for it, and its absence needs no
 * reason, unless no other protocol is meant for it either.
 *
 * Pure. Results are in the arena.
 */
#pragma once

#include "core/speak/speak.h"

struct speak_absence {
	enum speak_reason reason; /* SPEAK_ANNOUNCED: there is nothing to say */
	const char *message;	  /* a sentence that names what has to be mended; "": none */
};

/* Nothing is said while c->whole is NULL: it is not known what other nodes do. */
void speak_bgp_absence(const struct speak_cluster *c, const struct speak_service *s,
		       struct arena *arena, struct speak_absence *ret);
/* of: the result of speak_l2() for the same Service. */
void speak_l2_absence(const struct speak_cluster *c, const struct speak_service *s,
		      const struct speak_l2 *of, struct arena *arena, struct speak_absence *ret);

/* Whether this node speaks for the others about a Service; key: its first address, or its name. */
bool speak_is_reporter(const struct speak_cluster *c, const char *key);
