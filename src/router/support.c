/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/support.h"

#include <errno.h>

#include "base/cleanup.h"

static void __attribute__((format(printf, 3, 4)))
refuse(struct errs *errors, struct place at, const char *fmt, ...)
{
	va_list args;
	char *key;

	va_start(args, fmt);
	key = arena_vprintf(errors->arena, fmt, args);
	va_end(args);
	errs_add_coded(errors, "NotSupported", at, key, "is not supported yet");
}

static void check_pool(const struct l7_doc_pool *p, size_t i, struct errs *errors)
{
	for (size_t k = 0; k < p->n_upstreams; k++)
		if (p->upstreams[k].tls.v)
			refuse(errors, p->upstreams[k].tls.at, "pools[%zu].upstreams[%zu].tls", i,
			       k);
}

int support_check(const struct l7_doc *doc, struct errs *errors)
{
	size_t before = errors->n + errors->dropped;

	for (size_t i = 0; i < doc->n_pools; i++)
		check_pool(&doc->pools[i], i, errors);
	errs_sort(errors);
	return errors->n + errors->dropped == before ? 0 : -EINVAL;
}
