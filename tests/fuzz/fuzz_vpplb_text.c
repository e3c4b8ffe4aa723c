/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as what VPP prints of its VIPs: whatever is made of them is in order, each thing once. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "src/maglevd/dataplane/vpp/text.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void check_servers(const struct vpplb_text *t, const struct vpplb_text_vip *v)
{
	check(v->as_first <= t->as.n && v->n_as <= t->as.n - v->as_first);
	for (size_t i = 1; i < v->n_as; i++)
		check(addr_cmp(&t->as.items[v->as_first + i - 1].address,
			       &t->as.items[v->as_first + i].address) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = mem_copy(data, size); /* so that a step too far is seen */
	struct vpplb_text t = { 0 };

	vpplb_text_parse((struct str){ copy, size }, &t);
	for (size_t i = 0; i < t.vips.n; i++) {
		if (i)
			check(lb_vip_key_cmp(&t.vips.items[i - 1].key, &t.vips.items[i].key) < 0);
		check(vpplb_text_find(&t, &t.vips.items[i].key) == &t.vips.items[i]);
		check_servers(&t, &t.vips.items[i]);
	}
	vpplb_text_free(&t);
	free(copy);
	return 0;
}
