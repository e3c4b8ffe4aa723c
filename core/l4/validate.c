/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the semantic phase of the configuration (FR-5.2).
 *
 * The input is a struct l4_doc, where every value has its type and its place; the output is a
 * struct l4_config, where every value is checked and resolved. A struct l4__build is passed to
 * one function per section:
 *
 *	validate_dataplane.c	which data plane; vpp.lb, xdp, the source addresses they need
 *	validate_check.c	healthchecks
 *	validate_params.c	which parameters a check has, and those that are not of HTTP
 *	validate_backend.c	backends, and the checks they name
 *	validate_frontend.c	frontends, pools, members, and the backends they name
 *	validate_vip.c		conflicts between frontends
 *	validate_ports.c	which ports of a backend are probed
 *	validate_doubt.c	warnings, if there is no error
 *
 * Rules that any document needs (ranges, words, addresses, the wording of complaints) are in
 * base/rule.h.
 *
 * All mistakes are reported in one pass. An invalid value is reported once and then counts as not
 * given: an entry keeps its name, so references to it resolve, and rules that would have to
 * compare an invalid value are skipped. No rule compares all pairs; entries are sorted before
 * they are compared.
 *
 * The result lives in the caller's arena and refers to nothing in the document. Temporary data
 * lives in an arena that is freed at the end of the build.
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

const struct rule_spot l4__root = { .name = "maglev" };
const struct rule_spot l4__checks_spot = { .in = &l4__root, .name = "healthchecks" };
const struct rule_spot l4__backends_spot = { .in = &l4__root, .name = "backends" };
const struct rule_spot l4__frontends_spot = { .in = &l4__root, .name = "frontends" };

static const struct rule_spot healthchecker = { .in = &l4__root, .name = "healthchecker" };

#define NEAR_ERRORS 20 /* after this many errors, suggestions are left out */

/* Fewer edits are allowed for a short name, which resembles too many others. */
const char *l4__near(struct l4__build *b, const char *name, const struct rule_entry *entries,
		     size_t n)
{
	struct near near = { .wanted = str_of(name),
			     .limit = strlen(name) < 4 ? 1 : 2,
			     .max = NEAR_MAX };

	/* each suggestion compares all names: a file full of wrong ones would take long */
	if (b->sink.errors->n >= NEAR_ERRORS)
		return "";
	for (size_t i = 0; i < n; i++)
		near_consider(&near, entries[i].name);
	return rule_near(&b->sink, &near);
}

/*
 * VPP recognizes an IPv4 address in its API by 12 leading zero bytes, so an IPv6 address in ::/96
 * would silently become IPv4.
 */
bool l4__host(struct l4__build *b, const struct rule_spot *in, const char *word,
	      const struct doc_text *d, struct addr *ret)
{
	static const uint8_t zero[12];
	bool vpp = b->dataplane_known && b->config->dataplane == L4_DATAPLANE_VPP;
	struct addr a = { 0 };

	if (!rule_address(&b->sink, in, word, AF_UNSPEC, d, &a))
		return false;
	if (vpp && a.family == AF_INET6 && memcmp(a.bytes, zero, sizeof(zero)) == 0) {
		rule_fail(&b->sink, in, word, d->at, "%s is inside ::/96, which VPP takes for IPv4",
			  rule_quote(&b->sink, d->v));
		return false;
	}
	*ret = a;
	return true;
}

/* Whether the value is a name for `ip netns` or an absolute path. */
static bool netns_ok(struct l4__build *b, const struct doc_text *d)
{
	if (!rule_token(&b->sink, &healthchecker, "netns", d,
			*d->v == '/' ? PATH_MAX - 1 : NAME_MAX))
		return false;
	if (*d->v == '/' ||
	    (!strchr(d->v, '/') && strcmp(d->v, ".") != 0 && strcmp(d->v, "..") != 0))
		return true;
	rule_fail(&b->sink, &healthchecker, "netns", d->at,
		  "%s is neither the name of a network namespace nor an absolute path",
		  rule_quote(&b->sink, d->v));
	return false;
}

static void build_healthchecker(struct l4__build *b)
{
	static const struct rule_range history = { "transition-history", 1, 10000, 5 };
	const struct doc_text *netns = &b->doc->netns;

	b->config->transition_history = (unsigned)rule_number(&b->sink, &healthchecker, &history,
							      &b->doc->transition_history);
	b->config->all_down_guard = rule_flag(&b->doc->all_down_guard, true);
	if (netns->set && *netns->v && netns_ok(b, netns))
		b->config->netns = arena_strdup(b->arena, netns->v);
}

typedef void (*member_fn)(struct l4__build *b, size_t backend, size_t frontend);

/* Calls fn for each member of each frontend, frontends in ascending order. */
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

/*
 * A backend in two pools of one frontend is one reference. All members of a frontend are visited
 * before those of the next, so looking at the last entry is enough.
 */
static void add_reference(struct l4__build *b, size_t backend, size_t frontend)
{
	struct l4_backend *to = &b->backends[backend];
	size_t *list = (size_t *)(uintptr_t)to->frontends;

	if (to->n_frontends && list[to->n_frontends - 1] == frontend)
		return;
	list[to->n_frontends++] = frontend;
}

/*
 * Counts first, to allocate each list once. The count may be too large, which wastes a few bytes.
 */
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

/*
 * Order matters: addresses need the data plane (l4__host()), references need their targets, and
 * source addresses need the families of the frontends.
 */
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
		.sink = { scratch, errors, warnings },
		.config = &config,
	};
	size_t before;

	assert(doc && rules && rules->regexp_ok && arena && ret && errors && warnings);

	before = rule_errors(&b.sink);
	build_sections(&b);
	errs_sort(errors);
	if (rule_errors(&b.sink) != before)
		return -EINVAL;

	index_references(&b);
	l4__find_ports(&b);
	errs_sort(errors);
	if (rule_errors(&b.sink) != before)
		return -EINVAL;
	l4_names_build(&config, b.frontends, arena);
	l4__find_doubts(&b);
	errs_sort(warnings);
	*ret = config;
	return 0;
}
