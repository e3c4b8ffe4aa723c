/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_claims: the state of a mux after a pass, and automatic ports that were given back.
 *
 * With <prefix>/release-grace a number that an automatic port gave back is remembered, and no other
 * automatic port gets it until its time is over, so that clients that still use it do not reach
 * another application. The port that had it may have it again at any time. A channel that asks for
 * exactly this number gets it, too: that is somebody's decision.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "src/mux/plan_private.h"

/* When a number becomes free; INT64_MAX: not known. */
static int64_t free_at(const struct mux_work *w, const struct mux_claim *c)
{
	/* a clock that was set back must not make it last longer */
	int64_t from = c->released < w->facts->now ? c->released : w->facts->now;

	return w->grace < 0 || w->grace > INT64_MAX - from ? INT64_MAX : from + w->grace;
}

static void remember(struct mux_work *w, const struct mux_claim *c, int64_t released)
{
	struct mux_claim copy = *c;

	copy.released = released;
	if (free_at(w, &copy) <= w->facts->now ||
	    w->state_size + mux_claim_size(&copy) > MUX_STATE_MAX / 2)
		return;
	w->state_size += mux_claim_size(&copy);
	w->marks[c->protocol][c->mux_port] |= MUX_RELEASED;
	vec_push(&w->released, copy);
}

/* Whether the port that a claim names owns its number. */
static bool is_owned(const struct mux_work *w, const struct mux_claim *c)
{
	uint32_t owner = w->owner[c->protocol][c->mux_port];
	const struct mux_wish *wish = owner ? &w->wishes[owner - 1] : NULL;
	const struct k8s_object *o = wish ? &wish->of->service->object : NULL;

	return wish && strcmp(o->namespace, c->namespace) == 0 &&
	       strcmp(o->name, c->service) == 0 && strcmp(wish->name, c->port_name) == 0;
}

static int claim_cmp(const void *a, const void *b)
{
	const struct mux_claim *x = a, *y = b;
	int r = mux_claim_cmp(x, y);

	return r ? r : (x->mux_port > y->mux_port) - (x->mux_port < y->mux_port);
}

void mux__read_released(struct mux_work *w)
{
	const struct mux_state *s = w->facts->state;

	for (size_t i = 0; s && i < s->n_released; i++)
		remember(w, &s->released[i], s->released[i].released);
	for (size_t i = 0; s && i < s->n_claims; i++)
		if (s->claims[i].automatic && !is_owned(w, &s->claims[i]))
			remember(w, &s->claims[i], w->facts->now);
	if (w->released.n)
		qsort(w->released.items, w->released.n, sizeof(struct mux_claim), claim_cmp);
}

uint16_t mux__released_to(const struct mux_work *w, const struct mux_wish *wish)
{
	const struct mux_claim port = { .namespace = wish->of->service->object.namespace,
					.service = wish->of->service->object.name,
					.port_name = wish->name,
					.protocol = wish->protocol };
	size_t at = sorted_place(w->released.n, i, mux_claim_cmp(&w->released.items[i], &port) < 0);

	for (; at < w->released.n && mux_claim_cmp(&w->released.items[at], &port) == 0; at++) {
		uint16_t number = w->released.items[at].mux_port;

		if (!w->owner[port.protocol][number] &&
		    !(w->marks[port.protocol][number] & MUX_WISHED) &&
		    mux_ranges_have(&w->ranges, number))
			return number;
	}
	return 0;
}

static bool same_claims(const struct mux_claim *a, const struct mux_claim *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (mux_claim_cmp(&a[i], &b[i]) != 0 || a[i].mux_port != b[i].mux_port ||
		    a[i].channel_port != b[i].channel_port || a[i].automatic != b[i].automatic ||
		    a[i].released != b[i].released)
			return false;
	return true;
}

/* Whether two lists have the same claims; the order of the first does not matter. */
static bool same_list(struct mux_work *w, const struct mux_claim *stored, size_t n_stored,
		      const struct mux_claim *wanted, size_t n)
{
	struct mux_claim *sorted;

	if (n_stored != n)
		return false;
	if (!n)
		return true;
	sorted = arena_copy(w->scratch, stored, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), claim_cmp);
	return same_claims(sorted, wanted, n);
}

/* Whether what is stored is complete, apart from the claims. */
static bool is_signed(const struct mux_work *w)
{
	const struct mux_config_map *m = w->facts->config_map;
	const struct mux_state *s = w->facts->state;

	return m && mux_note(w->settings, &m->annotations, "mux") && s && s->name && s->namespace &&
	       !s->migrated &&
	       cstr_eq(k8s_map_get(&m->labels, "app.kubernetes.io/name"), "svc-lb-mux") &&
	       cstr_eq(k8s_map_get(&m->labels, "app.kubernetes.io/component"), "mux-state");
}

static struct mux_claim claim_of(struct mux_work *w, const struct mux_wish *wish)
{
	return (struct mux_claim){
		.namespace = wish->of->shown->namespace,
		.service = wish->of->shown->name,
		.port_name = wish->name,
		.protocol = wish->protocol,
		.automatic = wish->automatic,
		.channel_port = wish->port,
		.mux_port = wish->got ? wish->got : wish->owned,
	};
}

/* Released numbers that are still free, copied to the view. */
static size_t keep_released(struct mux_work *w, struct mux_claim *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < w->released.n; i++) {
		const struct mux_claim *c = &w->released.items[i];
		int64_t at = free_at(w, c);

		if (w->owner[c->protocol][c->mux_port])
			continue;
		ret[n] = *c;
		ret[n].namespace = arena_strdup(w->keep, c->namespace);
		ret[n].service = arena_strdup(w->keep, c->service);
		ret[n++].port_name = arena_strdup(w->keep, c->port_name);
		if (at != INT64_MAX && (!w->view->due || at < w->view->due))
			w->view->due = at;
	}
	return n;
}

void mux__make_state(struct mux_work *w)
{
	struct mux_view_private *v = w->view->private;
	struct mux_claim *claims = arena_array_of(w->keep, w->n_wishes + 1, struct mux_claim);
	struct mux_claim *released = arena_array_of(w->keep, w->released.n + 1, struct mux_claim);
	const struct mux_state *stored = w->facts->state;
	size_t n = 0, n_released = keep_released(w, released);

	for (size_t i = 0; i < w->n_wishes; i++)
		if (w->wishes[i].got || w->wishes[i].owned)
			claims[n++] = claim_of(w, &w->wishes[i]);
	qsort(claims, n, sizeof(*claims), claim_cmp);
	v->state = (struct mux_state){ .namespace = w->view->namespace,
				       .name = w->view->name,
				       .claims = claims,
				       .n_claims = n,
				       .released = released,
				       .n_released = n_released };
	v->write_state = !is_signed(w) ||
			 !same_list(w, stored->claims, stored->n_claims, claims, n) ||
			 !same_list(w, stored->released, stored->n_released, released, n_released);
}
