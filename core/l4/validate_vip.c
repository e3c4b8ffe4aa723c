/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conflicts between frontends. They are sorted by address, protocol and port; each run of one
 * address is then checked on its own. Of two that conflict, the later one in the file is reported.
 */
#include <stdlib.h>

#include "core/l4/validate_build.h"

struct ref {
	const struct l4_frontend *f;
	const struct l4__vip *vip;
	const struct doc_frontend *doc;
};

/*
 * Within an address: frontends with a valid key first, all-port before per-port, then the
 * order of the file.
 */
static int by_key(const void *pa, const void *pb)
{
	const struct ref *a = pa, *b = pb;
	int cmp = addr_cmp(&a->f->address, &b->f->address);

	if (cmp)
		return cmp;
	if (a->vip->has_key != b->vip->has_key)
		return a->vip->has_key ? -1 : 1;
	if (a->f->protocol != b->f->protocol)
		return a->f->protocol < b->f->protocol ? -1 : 1;
	if (a->f->port != b->f->port)
		return a->f->port < b->f->port ? -1 : 1;
	return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static bool same_key(const struct ref *a, const struct ref *b)
{
	return a->vip->has_key && b->vip->has_key && a->f->protocol == b->f->protocol &&
	       a->f->port == b->f->port;
}

static void find_duplicates(struct l4__build *b, const struct ref *run, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct rule_spot spot = { .in = &l4__frontends_spot, .name = run[i].doc->name };

		if (same_key(&run[i - 1], &run[i]))
			rule_fail(&b->sink, &spot, "address", run[i].doc->address.at,
				  "frontend %s has the same address, protocol and port",
				  rule_quote(&b->sink, run[i - 1].f->name));
	}
}

/*
 * The first per-port VIP of a run that begins with an all-port one; NULL if there is no conflict.
 */
static const struct ref *find_per_port(const struct ref *run, size_t n)
{
	if (!run[0].vip->has_key || run[0].f->protocol != L4_PROTOCOL_ANY)
		return NULL;
	for (size_t i = 1; i < n; i++)
		if (run[i].vip->has_key && run[i].f->protocol != L4_PROTOCOL_ANY)
			return &run[i];
	return NULL;
}

static void find_all_port(struct l4__build *b, const struct ref *run, size_t n)
{
	const struct ref *one = find_per_port(run, n);
	const struct ref *later, *other;
	struct rule_spot spot = { .in = &l4__frontends_spot };

	if (!one)
		return;
	later = one->doc > run->doc ? one : run;
	other = later == one ? run : one;
	spot.name = later->doc->name;
	rule_fail(&b->sink, &spot, "address", later->doc->address.at,
		  "%s here and %s in frontend %s exclude each other on one address",
		  later == one ? "one port" : "all ports", later == one ? "all ports" : "one port",
		  rule_quote(&b->sink, other->f->name));
}

/* The first frontend of the file with a known family sets it for the run. */
static const struct ref *first_family(const struct ref *run, size_t n)
{
	const struct ref *first = NULL;

	for (size_t i = 0; i < n; i++)
		if (run[i].vip->family != AF_UNSPEC && (!first || run[i].doc < first->doc))
			first = &run[i];
	return first;
}

static void find_other_family(struct l4__build *b, const struct ref *run, size_t n)
{
	const struct ref *first = first_family(run, n);

	for (size_t i = 0; i < n; i++) {
		struct rule_spot spot = { .in = &l4__frontends_spot, .name = run[i].doc->name };

		if (run[i].vip->family == AF_UNSPEC || run[i].vip->family == first->vip->family)
			continue;
		rule_fail(&b->sink, &spot, "address", run[i].doc->address.at,
			  "its backends are %s, those of frontend %s on the same address %s",
			  l4__family_name(run[i].vip->family), rule_quote(&b->sink, first->f->name),
			  l4__family_name(first->vip->family));
	}
}

static void compare_run(struct l4__build *b, const struct ref *run, size_t n)
{
	find_duplicates(b, run, n);
	find_all_port(b, run, n);
	find_other_family(b, run, n);
}

void l4__compare_vips(struct l4__build *b)
{
	struct ref *refs = arena_array_of(b->sink.scratch, b->config->n_frontends, struct ref);
	size_t n = 0, end;

	for (size_t i = 0; i < b->config->n_frontends; i++)
		if (addr_is_set(&b->frontends[i].address))
			refs[n++] = (struct ref){ &b->frontends[i], &b->vips[i],
						  b->frontend_entries[i].doc };
	if (n)
		qsort(refs, n, sizeof(*refs), by_key);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (addr_cmp(&refs[i].f->address, &refs[end].f->address) != 0)
				break;
		compare_run(b, &refs[i], end - i);
	}
}
