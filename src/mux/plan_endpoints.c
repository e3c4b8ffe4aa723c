/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_endpoints: the Endpoints object of a mux, for programs that do not read slices yet.
 *
 * It has one family, that of the mux, and MUX_ENDPOINTS_MAX addresses, as those that Kubernetes
 * makes; if there are more it is marked as truncated in the same way. It is compared by content and
 * not by text, because an API server may arrange subsets in its own way. Keys of others in labels
 * and annotations are left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/mux/plan_private.h"

/* One address with one port. */
struct flat {
	const struct mux_address *address;
	const struct mux_endpoint_port *port;
	bool ready;
};

struct flats {
	struct flat *items;
	size_t n, cap;
};

static int text_cmp(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int flat_cmp(const void *a, const void *b)
{
	const struct flat *x = a, *y = b;
	const struct mux_target *s = &x->address->target, *t = &y->address->target;
	int r = text_cmp(x->port->name, y->port->name);

	if (r == 0)
		r = text_cmp(x->address->ip, y->address->ip);
	if (r == 0)
		r = (x->port->port > y->port->port) - (x->port->port < y->port->port);
	if (r == 0)
		r = x->ready - y->ready;
	if (r == 0)
		r = text_cmp(x->port->protocol, y->port->protocol);
	if (r == 0)
		r = text_cmp(x->port->app_protocol, y->port->app_protocol);
	if (r == 0)
		r = text_cmp(x->address->hostname, y->address->hostname);
	if (r == 0)
		r = text_cmp(x->address->node, y->address->node);
	if (r == 0)
		r = text_cmp(s->uid, t->uid);
	if (r == 0)
		r = text_cmp(s->name, t->name);
	if (r == 0)
		r = text_cmp(s->namespace, t->namespace);
	return r ? r : text_cmp(s->kind, t->kind);
}

static void flatten(struct flats *out, const struct mux_subset *s, bool ready)
{
	const struct k8s_list *list = ready ? &s->ready : &s->not_ready;
	const struct mux_address *addresses = list->items;
	const struct mux_endpoint_port *ports = s->ports.items;

	for (size_t i = 0; i < list->n; i++)
		for (size_t j = 0; j < s->ports.n; j++)
			vec_push(out, (struct flat){ &addresses[i], &ports[j], ready });
}

static struct flats flats_of(const struct k8s_list *subsets)
{
	const struct mux_subset *s = subsets->items;
	struct flats out = { 0 };

	for (size_t i = 0; i < subsets->n; i++) {
		flatten(&out, &s[i], true);
		flatten(&out, &s[i], false);
	}
	if (out.n)
		qsort(out.items, out.n, sizeof(out.items[0]), flat_cmp);
	return out;
}

static bool same_subsets(const struct k8s_list *a, const struct k8s_list *b)
{
	struct flats x = flats_of(a), y = flats_of(b);
	bool same = x.n == y.n;

	for (size_t i = 0; same && i < x.n; i++)
		same = flat_cmp(&x.items[i], &y.items[i]) == 0;
	vec_free(&x);
	vec_free(&y);
	return same;
}

/* Addresses of a group that fit; what terminates is not an endpoint any more. */
static struct k8s_list addresses_of(struct mux_planning *p, const struct mux_group *g, bool ready,
				    size_t *room)
{
	const struct mux_endpoint *e = g->endpoints.items;
	struct mux_address *out = arena_array_of(p->arena, g->endpoints.n + 1, struct mux_address);
	uint32_t n = 0;

	for (size_t i = 0; i < g->endpoints.n && *room; i++) {
		if ((e[i].ready != K8S_NO) != ready || e[i].terminating == K8S_YES ||
		    !e[i].addresses.n)
			continue;
		out[n++] = (struct mux_address){ k8s_string_at(&e[i].addresses, 0), e[i].hostname,
						 e[i].node, e[i].target };
		--*room;
	}
	return (struct k8s_list){ out, n };
}

struct collection {
	VEC(struct mux_subset) subsets;
	size_t room;
	const char *family;
};

static void collect(struct mux_planning *p, struct mux_view_channel *c, struct collection *all)
{
	const struct mux_group *groups;
	struct mux_sight sight = { 0 };
	size_t n;

	p->facts->look(c->namespace, c->name, &sight, p->facts->user);
	n = mux__groups(p, c, &sight, &groups);
	for (size_t i = 0; i < n && all->room; i++) {
		struct mux_subset s = { .ports = groups[i].ports };

		if (strcmp(groups[i].family, all->family) != 0)
			continue;
		s.ready = addresses_of(p, &groups[i], true, &all->room);
		s.not_ready = addresses_of(p, &groups[i], false, &all->room);
		if (s.ready.n || s.not_ready.n)
			vec_push(&all->subsets, s);
	}
}

/* Labels of the mux, and ours over them. */
static size_t list_labels(struct mux_planning *p, const struct k8s_pair **ret)
{
	static const struct k8s_pair ours[] = {
		{ "app.kubernetes.io/component", "mux-endpoints" },
		{ "app.kubernetes.io/managed-by", "svc-lb-mux" },
		{ "endpointslice.kubernetes.io/skip-mirror", "true" },
	};
	const struct k8s_list *labels = &p->facts->mux->labels;
	const struct k8s_pair *pairs = labels->items;
	struct k8s_pair *out =
		arena_array_of(p->arena, labels->n + ARRAY_SIZE(ours), struct k8s_pair);
	const struct k8s_list own = { ours, ARRAY_SIZE(ours) };
	size_t n = 0;

	for (size_t i = 0; i < labels->n; i++)
		if (!k8s_map_get(&own, pairs[i].key))
			out[n++] = pairs[i];
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		out[n++] = ours[i];
	*ret = out;
	return n;
}

static size_t list_notes(struct mux_planning *p, bool truncated, const struct k8s_pair **ret)
{
	struct k8s_pair *out = arena_array_of(p->arena, 4, struct k8s_pair);

	out[0] = (struct k8s_pair){ mux_key(p->settings, "channels", p->arena),
				    mux__text_channels(p->view, p->arena) };
	out[1] = (struct k8s_pair){ mux_key(p->settings, "managed", p->arena), "true" };
	out[2] = (struct k8s_pair){ mux_key(p->settings, "mux", p->arena),
				    arena_printf(p->arena, "%s/%s", p->view->namespace,
						 p->view->name) };
	out[3] = (struct k8s_pair){ MUX_NOTE_OVER_CAPACITY, truncated ? "truncated" : NULL };
	*ret = out;
	return 4;
}

static bool has_all(const struct k8s_list *have, const struct k8s_pair *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!cstr_eq(k8s_map_get(have, want[i].key), want[i].value))
			return false;
	return true;
}

static void write_endpoints(struct mux_planning *p, const struct mux_write *content)
{
	const struct mux_endpoints *old = p->facts->endpoints;
	struct mux_write *w =
		mux__write(p, MUX_STAGE_BACKENDS, old ? MUX_PATCH : MUX_CREATE, MUX_ENDPOINTS);
	struct mux_owner *owner = arena_new_of(p->arena, struct mux_owner);

	*owner = (struct mux_owner){ p->view->name, p->view->uid };
	w->namespace = p->view->namespace;
	w->name = p->view->name;
	w->labels = content->labels;
	w->n_labels = content->n_labels;
	w->annotations = content->annotations;
	w->n_annotations = content->n_annotations;
	w->subsets = content->subsets;
	w->owner = old ? NULL : owner;
	w->what = arena_printf(p->arena, "%u subset(s)", content->subsets->n);
	p->created = !old;
}

/* Whether there is more than the object has room for. */
static bool is_truncated(const struct mux_view *v, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_channels && !room; i++)
		if (v->channels[i].fate == MUX_SERVED)
			n += v->channels[i].ready + v->channels[i].not_ready;
	return n > MUX_ENDPOINTS_MAX;
}

void mux__plan_endpoints(struct mux_planning *p)
{
	const struct k8s_list *families = &p->facts->mux->ip_families;
	const struct mux_endpoints *old = p->facts->endpoints;
	struct collection all = { .room = MUX_ENDPOINTS_MAX,
				  .family = families->n ? k8s_string_at(families, 0) : "IPv4" };
	struct mux_write w = { 0 };

	for (size_t i = 0; i < p->view->n_channels && all.room; i++)
		if (p->view->channels[i].fate == MUX_SERVED)
			collect(p, &p->view->channels[i], &all);
	w.subsets = mux__list(p,
			      arena_copy(p->arena, all.subsets.items,
					 all.subsets.n * sizeof(struct mux_subset)),
			      all.subsets.n);
	vec_free(&all.subsets);
	w.n_labels = list_labels(p, &w.labels);
	w.n_annotations = list_notes(p, is_truncated(p->view, all.room), &w.annotations);
	if (!old || !has_all(&old->labels, w.labels, w.n_labels) ||
	    !has_all(&old->annotations, w.annotations, w.n_annotations) ||
	    !same_subsets(&old->subsets, w.subsets))
		write_endpoints(p, &w);
}
