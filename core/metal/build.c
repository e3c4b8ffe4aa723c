/* SPDX-License-Identifier: Apache-2.0 */
#include "core/metal/build.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/sorted.h"

__attribute__((format(printf, 3, 0))) static int set_error(struct metal__build *b, bool passing,
							   const char *fmt, va_list ap)
{
	b->error.text = arena_vprintf(b->arena, fmt, ap);
	b->error.passing = passing;
	return -EINVAL;
}

int metal__fail(struct metal__build *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_error(b, false, fmt, ap);
	va_end(ap);
	return r;
}

int metal__miss(struct metal__build *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_error(b, true, fmt, ap);
	va_end(ap);
	return r;
}

int metal__within(struct metal__build *b, const char *fmt, ...)
{
	const char *inner = b->error.text;
	va_list ap;

	va_start(ap, fmt);
	b->error.text = arena_printf(b->arena, "%s%s", arena_vprintf(b->arena, fmt, ap), inner);
	va_end(ap);
	return -EINVAL;
}

int metal__join(struct metal__build *b, const char *fmt, ...)
{
	const char *inner = b->error.text;
	va_list ap;

	va_start(ap, fmt);
	b->error.text = arena_printf(b->arena, "%s\n%s", inner, arena_vprintf(b->arena, fmt, ap));
	va_end(ap);
	return -EINVAL;
}

const char *metal__quote(struct metal__build *b, const char *text)
{
	return arena_printf(b->arena, "\"%s\"", err_shown(text ? text : "", b->arena));
}

const char *metal__text(struct metal__build *b, const char *text)
{
	return metal__is_set(text) ? arena_strdup(b->arena, text) : NULL;
}

struct metal_texts metal__texts(struct metal__build *b, struct metal_texts texts)
{
	const char **items = arena_array_of(b->arena, texts.n, const char *);

	for (size_t i = 0; i < texts.n; i++)
		items[i] = arena_strdup(b->arena, texts.items[i]);
	return (struct metal_texts){ items, texts.n };
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct metal_texts metal__sorted(struct metal__build *b, struct metal_texts texts)
{
	const char **items = arena_array_of(b->arena, texts.n, const char *);

	for (size_t i = 0; i < texts.n; i++)
		items[i] = arena_strdup(b->arena, texts.items[i]);
	if (texts.n)
		qsort(items, texts.n, sizeof(*items), compare_texts);
	return (struct metal_texts){ items, texts.n };
}

bool metal__has_text(struct metal_texts sorted, const char *text)
{
	size_t at = sorted_place(sorted.n, i, strcmp(sorted.items[i], text) < 0);

	return at < sorted.n && strcmp(sorted.items[at], text) == 0;
}

struct labels_selector metal__selector(struct metal__build *b, const struct labels_selector *s)
{
	struct labels_requirement *items =
		arena_array_of(b->arena, s->n, struct labels_requirement);

	for (size_t i = 0; i < s->n; i++) {
		const struct labels_requirement *from = &s->items[i];
		struct metal_texts values =
			metal__texts(b, (struct metal_texts){ from->values, from->n_values });

		items[i] = (struct labels_requirement){ .key = arena_strdup(b->arena, from->key),
							.op = from->op,
							.word = metal__text(b, from->word),
							.values = values.items,
							.n_values = values.n };
	}
	return (struct labels_selector){ items, s->n };
}

struct labels_selectors metal__selectors(struct metal__build *b, const struct labels_selectors *s)
{
	struct labels_selector *items = arena_array_of(b->arena, s->n, struct labels_selector);

	for (size_t i = 0; i < s->n; i++)
		items[i] = metal__selector(b, &s->items[i]);
	return (struct labels_selectors){ items, s->n };
}

int metal__unique(struct metal__build *b, struct metal_texts texts, const char *what)
{
	struct metal_texts sorted = metal__sorted(b, texts);

	for (size_t i = 1; i < sorted.n; i++)
		if (strcmp(sorted.items[i - 1], sorted.items[i]) == 0)
			return metal__fail(b, "duplicate definition of %s %s", what,
					   metal__quote(b, sorted.items[i]));
	return 0;
}

static const char *text_of(struct metal__build *b, const struct labels_selector *s)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	labels_selector_format(s, &text);
	return arena_strndup(b->arena, text.p ? text.p : "", text.n);
}

/* Values within a requirement, and requirements within a selector. */
static int unique_requirements(struct metal__build *b, const struct labels_selector *s)
{
	const char **texts = arena_array_of(b->arena, s->n, const char *);
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		texts[i] = text_of(b, &(struct labels_selector){ &s->items[i], 1 });
		r = metal__unique(b,
				  (struct metal_texts){ s->items[i].values, s->items[i].n_values },
				  "match expression value in label selector");
	}
	return r < 0 ? r
		     : metal__unique(b, (struct metal_texts){ texts, s->n }, "match expressions");
}

int metal__unique_selectors(struct metal__build *b, const struct labels_selectors *s,
			    const char *what)
{
	const char **texts = arena_array_of(b->arena, s->n, const char *);
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		texts[i] = text_of(b, &s->items[i]);
		r = unique_requirements(b, &s->items[i]);
	}
	return r < 0 ? r : metal__unique(b, (struct metal_texts){ texts, s->n }, what);
}

int metal__valid_selectors(struct metal__build *b, const struct labels_selectors *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *wrong = labels_selector_check(&s->items[i], b->arena);

		if (wrong)
			return metal__fail(b, "%s", wrong);
	}
	return 0;
}

/* ---- the document, sorted by name and as far as the options want it ---- */

/* Every struct of the document begins with its name. */
static_assert(!offsetof(struct metal_pool_doc, name) && !offsetof(struct metal_peer_doc, name) &&
		      !offsetof(struct metal_bgp_doc, name) &&
		      !offsetof(struct metal_l2_doc, name) &&
		      !offsetof(struct metal_bfd_doc, name) &&
		      !offsetof(struct metal_community_doc, name),
	      "compare_texts() compares names");

static void *sorted(struct metal__build *b, const void *docs, size_t n, size_t size)
{
	void *copy = arena_array(b->arena, n, size);

	if (n) {
		memcpy(copy, docs, n * size);
		qsort(copy, n, size, compare_texts);
	}
	return copy;
}

#define SORT(list, n) ((list) = sorted(b, (list), (n), sizeof(*(list))))

static void sort_doc(struct metal__build *b, struct metal_doc *d)
{
	SORT(d->pools, d->n_pools);
	SORT(d->communities, d->n_communities);
	if (b->options->pools_only) {
		d->n_peers = d->n_bgp = d->n_l2 = d->n_profiles = 0;
		return;
	}
	SORT(d->peers, d->n_peers);
	SORT(d->bgp, d->n_bgp);
	SORT(d->l2, d->n_l2);
	SORT(d->profiles, d->n_profiles);
}

/* Only what selects the node of the options. */
static void keep_node(struct metal__build *b, struct metal_doc *d)
{
	struct metal_peer_doc *peers = arena_array_of(b->arena, d->n_peers, struct metal_peer_doc);
	struct metal_bgp_doc *bgp = arena_array_of(b->arena, d->n_bgp, struct metal_bgp_doc);
	const struct labels *node = b->options->node;
	size_t n_peers = 0, n_bgp = 0;

	for (size_t i = 0; i < d->n_peers; i++)
		if (metal_selects(&d->peers[i].nodes, node))
			peers[n_peers++] = d->peers[i];
	for (size_t i = 0; i < d->n_bgp; i++)
		if (metal_selects(&d->bgp[i].nodes, node))
			bgp[n_bgp++] = d->bgp[i];
	d->peers = peers;
	d->n_peers = n_peers;
	d->bgp = bgp;
	d->n_bgp = n_bgp;
}

static void choose_nodes(struct metal__build *b, struct metal_doc *d)
{
	struct metal_place *one;

	b->nodes = d->nodes;
	b->n_nodes = d->n_nodes;
	if (!b->options->node)
		return;
	one = arena_new_of(b->arena, struct metal_place);
	*one = (struct metal_place){ "", *b->options->node };
	b->nodes = one;
	b->n_nodes = 1;
	keep_node(b, d);
}

/* ---- rules about several kinds ---- */

static int no_echo(struct metal__build *b, const struct metal_pool *pool,
		   const struct metal_bgp *bgp)
{
	for (size_t i = 0; i < b->config.n_peers; i++) {
		const struct metal_peer *peer = &b->config.peers[i];

		if (peer->profile && peer->profile->echo_mode &&
		    metal_bgp_for_peer(bgp, peer->name))
			return metal__fail(b,
					   "pool %s has bgpadvertisement %s which references peer "
					   "%s which has bfd echo enabled, which is not possible",
					   pool->name, bgp->name, peer->name);
	}
	return 0;
}

/* BFD has no echo mode for IPv6. */
static int check_echo(struct metal__build *b)
{
	for (size_t i = 0; i < b->config.n_pools; i++) {
		const struct metal_pool *pool = &b->config.pools[i];

		for (size_t j = 0; pool->has6 && j < pool->n_bgp; j++)
			if (no_echo(b, pool, pool->bgp[j]) < 0)
				return -EINVAL;
	}
	return 0;
}

static int (*const steps[])(struct metal__build *) = {
	metal__check_pairs, metal__build_profiles, metal__build_peers, metal__build_aliases,
	metal__build_pools, metal__build_l2,	   metal__build_bgp,   check_echo,
};

int metal_config_build(const struct metal_doc *doc, const struct metal_options *options,
		       struct arena *arena, struct metal_config *ret, struct metal_error *ret_error)
{
	static const struct metal_options all = { 0 };
	struct metal_doc sorted = *doc;
	struct metal__build b = { .doc = &sorted,
				  .options = options ? options : &all,
				  .arena = arena };

	sort_doc(&b, &sorted);
	choose_nodes(&b, &sorted);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i](&b) < 0) {
			*ret_error = b.error;
			return -EINVAL;
		}
	*ret = b.config;
	return 0;
}
