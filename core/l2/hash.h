/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: which of a given list of nodes announces an address, without any word between them.
 *
 * Every node sorts the same list in the same way, so all agree as far as their lists do. The order
 * is the one of MetalLB: by score, the highest first, then by the SHA-256 of NODE#ADDRESS. So each
 * address has an order of its own, and the addresses of a node that dies spread over the others.
 *
 * Pure: the digest is passed in, because its code is in a library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define L2_DIGEST 32 /* bytes of SHA-256 */

typedef void (*l2_digest_fn)(const void *p, size_t n, uint8_t ret[static L2_DIGEST]);

struct l2_candidate {
	const char *node; /* borrowed */
	int score;	  /* preference; the highest wins */
	uint8_t digest[L2_DIGEST];
};

/*
 * Fills the digests and sorts the candidates: the first is the owner, the second follows if the
 * first is gone. ip is the text of the address, or of the first one if several go together.
 */
void l2_elect_by_hash(struct l2_candidate *candidates, size_t n, const char *ip,
		      l2_digest_fn sha256);
