/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l2/hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Equal digests mean equal names; then the order does not matter. */
static int compare(const void *a, const void *b)
{
	const struct l2_candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return memcmp(x->digest, y->digest, L2_DIGEST);
}

void l2_elect_by_hash(struct l2_candidate *candidates, size_t n, const char *ip,
		      l2_digest_fn sha256)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < n; i++) {
		text.n = 0;
		buf_adds(&text, candidates[i].node);
		buf_addc(&text, '#');
		buf_adds(&text, ip);
		sha256(text.p, text.n, candidates[i].digest);
	}
	if (n > 1)
		qsort(candidates, n, sizeof(*candidates), compare);
}
