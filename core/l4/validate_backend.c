/* SPDX-License-Identifier: Apache-2.0 */
/* The section backends: the servers, and the checks they name. */
#include "core/l4/validate_build.h"

/*
 * An unknown check is reported; the backend then counts as static, which is harmless because the
 * configuration is refused anyway.
 */
static const struct l4_check *find_check(struct l4__build *b, const struct rule_spot *spot,
					 const struct doc_text *d)
{
	const struct l4_check *check = l4_config_check(b->config, d->v);

	if (!check)
		rule_fail(&b->sink, spot, "healthcheck", d->at, "there is no healthcheck %s%s",
			  rule_quote(&b->sink, d->v),
			  l4__near(b, d->v, b->check_entries, b->config->n_checks));
	return check;
}

static void build_backend(struct l4__build *b, const struct doc_backend *d,
			  struct l4_backend *backend)
{
	struct rule_spot spot = { .in = &l4__backends_spot, .name = d->name };

	backend->name = arena_strdup(b->arena, d->name);
	backend->enabled = rule_flag(&d->enabled, true);
	if (d->address.set)
		l4__host(b, &spot, "address", &d->address, &backend->address);
	else
		rule_fail(&b->sink, &spot, "address", d->at, "is required");
	if (d->healthcheck.set)
		backend->check = find_check(b, &spot, &d->healthcheck);
}

void l4__build_backends(struct l4__build *b)
{
	size_t n = b->doc->n_backends;
	const struct rule_entry *entries =
		rule_entries(&b->sink, &l4__backends_spot, &l4_schema_backend, b->doc->backends, n);

	b->backend_entries = entries;
	b->backends = arena_array_of(b->arena, n, struct l4_backend);
	for (size_t i = 0; i < n; i++)
		build_backend(b, entries[i].doc, &b->backends[i]);
	b->config->backends = b->backends;
	b->config->n_backends = n;
}
