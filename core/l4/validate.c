/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the semantic phase of the configuration (FR-5.2).
 *
 * In comes a struct l4_doc, where every value has its type and its place; out goes a struct
 * l4_config, where every value has its meaning. Between them stands one struct l4__build, passed
 * to one function per section:
 *
 *	validate_dataplane.c	which data plane; vpp.lb, xdp, the source addresses they need
 *	validate_check.c	healthchecks
 *	validate_backend.c	backends, and the checks they name
 *	validate_frontend.c	frontends, pools, members, and the backends they name
 *	validate_vip.c		what frontends may not do to each other
 *	validate_doubt.c	warnings, once there is no error
 *	validate_value.c	what one value may be; how a complaint is worded
 *	validate_near.c		"did you mean"
 *
 * All mistakes are told in one pass. A value that is wrong is told once and then counts as not
 * given: an entry keeps its name, so references to it resolve, and rules that would have to
 * compare a wrong value are left out. No rule compares everything with everything; what must be
 * compared is sorted first.
 *
 * The result lives in the caller's arena and holds nothing of the document. What only the build
 * needs lives in an arena of its own and goes with it.
 */
#include "core/l4/validate.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/names.h"
#include "core/l4/validate_build.h"

const struct l4__spot l4__root = { .name = "maglev" };
const struct l4__spot l4__checks_spot = { .in = &l4__root, .name = "healthchecks" };
const struct l4__spot l4__backends_spot = { .in = &l4__root, .name = "backends" };
const struct l4__spot l4__frontends_spot = { .in = &l4__root, .name = "frontends" };

static const struct l4__spot healthchecker = { .in = &l4__root, .name = "healthchecker" };

static int by_name(const void *pa, const void *pb)
{
	const struct l4__entry *a = pa, *b = pb;
	int cmp = strcmp(a->name, b->name);

	if (cmp)
		return cmp;
	/* all docs of a section are in one array, in the order of the file */
	return (const char *)a->doc < (const char *)b->doc ? -1 : 1;
}

void l4__sort_entries(struct l4__build *b, const struct l4__spot *section,
		      struct l4__entry *entries, size_t n)
{
	if (n)
		qsort(entries, n, sizeof(*entries), by_name);
	for (size_t i = 0; i < n; i++) {
		struct l4__spot spot = { .in = section, .name = entries[i].name };

		l4__printable(b, &spot, NULL, entries[i].at, entries[i].name, L4__NAME_MAX);
		if (i && strcmp(entries[i - 1].name, entries[i].name) == 0)
			l4__fail(b, &spot, NULL, entries[i].at,
				 "is there twice, for the first time on line %u",
				 entries[i - 1].at.line);
	}
}

/* A name as `ip netns` takes it, or an absolute path. */
static bool netns_ok(struct l4__build *b, const struct doc_text *d)
{
	if (!l4__token(b, &healthchecker, "netns", d, *d->v == '/' ? PATH_MAX - 1 : NAME_MAX))
		return false;
	if (*d->v == '/' ||
	    (!strchr(d->v, '/') && strcmp(d->v, ".") != 0 && strcmp(d->v, "..") != 0))
		return true;
	l4__fail(b, &healthchecker, "netns", d->at,
		 "%s is neither the name of a network namespace nor an absolute path",
		 l4__quote(b, d->v));
	return false;
}

static void build_healthchecker(struct l4__build *b)
{
	static const struct l4__range history = { "transition-history", 1, 10000, 5 };
	const struct doc_text *netns = &b->doc->netns;

	b->config->transition_history =
		(unsigned)l4__number(b, &healthchecker, &history, &b->doc->transition_history);
	b->config->all_down_guard = l4__flag(&b->doc->all_down_guard, true);
	if (netns->set && *netns->v && netns_ok(b, netns))
		b->config->netns = arena_strdup(b->arena, netns->v);
}

typedef void (*member_fn)(struct l4__build *b, size_t backend, size_t frontend);

/* Calls fn once for each backend that a frontend references, frontends in ascending order. */
static void each_reference(struct l4__build *b, member_fn fn)
{
	for (size_t f = 0; f < b->config->n_frontends; f++)
		for (size_t p = 0; p < b->frontends[f].n_pools; p++) {
			const struct l4_pool *pool = &b->frontends[f].pools[p];

			for (size_t i = 0; i < pool->n_members; i++)
				fn(b, pool->members[i].backend, f);
		}
}

static void count_reference(struct l4__build *b, size_t backend, size_t frontend)
{
	b->backends[backend].n_frontends++;
}

/* A backend in two pools of one frontend is one reference: they come one after the other. */
static void add_reference(struct l4__build *b, size_t backend, size_t frontend)
{
	struct l4_backend *to = &b->backends[backend];
	size_t *list = (size_t *)(uintptr_t)to->frontends;

	if (to->n_frontends && list[to->n_frontends - 1] == frontend)
		return;
	list[to->n_frontends++] = frontend;
}

static void index_references(struct l4__build *b)
{
	each_reference(b, count_reference);
	for (size_t i = 0; i < b->config->n_backends; i++) {
		b->backends[i].frontends =
			arena_array_of(b->arena, b->backends[i].n_frontends, size_t);
		b->backends[i].n_frontends = 0;
	}
	each_reference(b, add_reference);
}

static void build_sections(struct l4__build *b)
{
	build_healthchecker(b);
	l4__build_dataplane(b);
	l4__build_checks(b);
	l4__build_backends(b);
	l4__build_frontends(b);
	l4__compare_vips(b);
	l4__build_lb(b);
	l4__build_xdp(b);
}

int l4_config_build(const struct l4_doc *doc, const struct l4_rules *rules, struct arena *arena,
		    struct l4_config *ret, struct errs *errors, struct errs *warnings)
{
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	struct l4_config config = { 0 };
	struct l4__build b = {
		.doc = doc,
		.rules = rules,
		.arena = arena,
		.scratch = scratch,
		.errors = errors,
		.warnings = warnings,
		.config = &config,
	};
	size_t before;

	assert(doc && rules && rules->regexp_ok && arena && ret && errors && warnings);

	before = l4__errors(&b);
	build_sections(&b);
	errs_sort(errors);
	if (l4__errors(&b) != before)
		return -EINVAL;

	index_references(&b);
	l4_names_build(&config, b.frontends, arena);
	l4__find_doubts(&b);
	errs_sort(warnings);
	*ret = config;
	return 0;
}
