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

static void check_filters(const struct l7_doc_filters *f, const char *key, struct errs *errors)
{
	if (f->n_mirrors)
		refuse(errors, f->mirrors[0].at, "%s.filters.mirrors", key);
}

static void check_rule(const struct l7_doc_rule *r, const char *key, struct errs *errors)
{
	check_filters(&r->filters, key, errors);
	for (size_t i = 0; i < r->n_backends; i++)
		check_filters(&r->backends[i].filters,
			      arena_printf(errors->arena, "%s.backends[%zu]", key, i), errors);
}

static void check_route(const struct l7_doc_route *r, size_t i, struct errs *errors)
{
	const char *key = arena_printf(errors->arena, "routes[%zu]", i);

	check_rule(&r->rule, key, errors);
	for (size_t k = 0; k < r->n_rules; k++)
		check_rule(&r->rules[k], arena_printf(errors->arena, "%s.rules[%zu]", key, k),
			   errors);
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

	for (size_t i = 0; i < doc->n_routes; i++)
		check_route(&doc->routes[i], i, errors);
	if (doc->default_route.set)
		check_rule(&doc->default_route, "default_route", errors);
	for (size_t i = 0; i < doc->n_pools; i++)
		check_pool(&doc->pools[i], i, errors);
	errs_sort(errors);
	return errors->n + errors->dropped == before ? 0 : -EINVAL;
}
