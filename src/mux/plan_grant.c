/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_grant: who gets which number in a pass.
 *
 * Channels are taken in three rounds, each in the order of namespace and name: those that are on
 * the mux with all their ports, those that own all their numbers, the others. So at the limit
 * nobody is replaced by a newcomer whose name sorts before.
 *
 * A channel is taken whole or not at all. What a refused channel owned before stays its own; what
 * it was given on the way is given back at once.
 */
#include <stdlib.h>
#include <string.h>

#include "src/mux/plan_private.h"

#define STATE_FRAME 1000 /* bytes of the text of a state beside its claims */

static const char *owner_text(const struct mux_work *w, uint32_t owner)
{
	const struct mux_wish *wish = &w->wishes[owner - 1];
	const struct k8s_object *o = &wish->of->service->object;

	return arena_printf(w->scratch, "%s/%s:%.*s", o->namespace, o->name, MUX_NAME_MIN,
			    wish->hash);
}

/* The next number in the ranges that is free for an automatic port; 0: none is left. */
static uint16_t next_free(struct mux_work *w, enum mux_protocol p)
{
	for (; w->next[p].range < w->ranges.n; w->next[p].range++, w->next[p].port = 0) {
		const struct mux_range *r = &w->ranges.items[w->next[p].range];

		if (!w->next[p].port)
			w->next[p].port = r->first;
		for (; w->next[p].port <= r->last; w->next[p].port++)
			if (!w->owner[p][w->next[p].port] && !w->marks[p][w->next[p].port])
				return (uint16_t)w->next[p].port;
	}
	return 0;
}

/* A number for an automatic port; 0 after *ret_why. */
static uint16_t allocate(struct mux_work *w, const struct mux_wish *wish, const char **ret_why)
{
	uint16_t port = wish->owned;

	if (!w->ranges.n && !(port && w->range_invalid)) {
		*ret_why = mux__printf(
			w, "%s/external-ports automatic allocation requires a mux port range",
			w->settings->prefix);
		return 0;
	}
	if (!port)
		port = mux__released_to(w, wish);
	if (!port)
		port = next_free(w, wish->protocol);
	if (!port)
		*ret_why = mux__printf(w, "No available %s port in mux port range %s",
				       mux_protocol_name(wish->protocol),
				       mux_ranges_show(&w->ranges, w->scratch));
	return port;
}

/* Wishes of one channel in the order in which conflicts are told. */
static int conflict_cmp(const void *a, const void *b)
{
	const struct mux_wish *x = *(struct mux_wish *const *)a, *y = *(struct mux_wish *const *)b;
	int r = strcmp(mux_protocol_name(x->protocol), mux_protocol_name(y->protocol));

	if (r == 0)
		r = (x->got > y->got) - (x->got < y->got);
	return r ? r : strcmp(x->hash, y->hash);
}

/* Takes the numbers; NULL, or the conflicts, after which nothing is taken. */
static const char *take_numbers(struct mux_work *w, struct mux_entrant *e)
{
	struct mux_wish **order = arena_array_of(w->scratch, e->n_wishes + 1, struct mux_wish *);
	struct buf conflicts = { 0 };
	const char *text = NULL;

	for (size_t i = 0; i < e->n_wishes; i++)
		order[i] = &e->wishes[i];
	qsort(order, e->n_wishes, sizeof(*order), conflict_cmp);
	for (size_t i = 0; i < e->n_wishes; i++) {
		uint32_t *owner = &w->owner[order[i]->protocol][order[i]->got];
		uint32_t self = (uint32_t)(order[i] - w->wishes) + 1;

		if (*owner && *owner != self)
			buf_printf(&conflicts, "%s%u/%s is already claimed by %s",
				   conflicts.n ? "; " : "", order[i]->got,
				   mux_protocol_name(order[i]->protocol), owner_text(w, *owner));
		else
			*owner = self;
	}
	if (conflicts.n)
		text = arena_strndup(w->keep, conflicts.p, conflicts.n);
	buf_free(&conflicts);
	return text;
}

/* Undoes what was given to a channel that is refused, but not what it owned. */
static void give_back(struct mux_work *w, struct mux_entrant *e)
{
	for (size_t i = 0; i < e->n_wishes; i++) {
		struct mux_wish *wish = &e->wishes[i];
		uint32_t *owner = &w->owner[wish->protocol][wish->got];

		if (wish->got != wish->owned && *owner == (uint32_t)(wish - w->wishes) + 1)
			*owner = 0;
		wish->got = 0;
	}
}

/* False after a refusal, with nothing changed. */
static bool resolve(struct mux_work *w, struct mux_entrant *e)
{
	const char *why = NULL, *conflicts;

	for (size_t i = 0; i < e->n_wishes && !why; i++) {
		struct mux_wish *wish = &e->wishes[i];

		wish->got = wish->automatic ? allocate(w, wish, &why) : wish->want;
		/* so that the next automatic port of this channel gets another one */
		if (wish->automatic && wish->got)
			w->owner[wish->protocol][wish->got] = (uint32_t)(wish - w->wishes) + 1;
	}
	if (why) {
		give_back(w, e);
		mux__refuse(w, e, "InvalidPortMapping", why);
		return false;
	}
	conflicts = take_numbers(w, e);
	if (!conflicts)
		return true;
	give_back(w, e);
	mux__refuse(w, e, "MuxPortConflict", conflicts);
	return false;
}

/* The bytes that the state needs for the claims of a channel that it owns, or not yet. */
static size_t size_of_claims(const struct mux_entrant *e, bool owned)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_wishes; i++)
		if (owned == (e->wishes[i].owned != 0))
			n += mux_claim_size(
				&(struct mux_claim){ .namespace = e->service->object.namespace,
						     .service = e->service->object.name,
						     .port_name = e->wishes[i].name });
	return n;
}

/* False after a refusal. */
static bool check_limits(struct mux_work *w, struct mux_entrant *e)
{
	const char *why = w->view->gke ? "the GKE Service LoadBalancer port limit"
			  : w->limit < MUX_PORTS_MAX
				  ? mux__printf(w, "%s/max-ports", w->settings->prefix)
				  : "the size of a Kubernetes Service";

	if (w->n_granted + e->n_wishes > w->limit) {
		mux__refuse(w, e, "MuxPortLimitExceeded",
			    mux__printf(w,
					"mux %s/%s is limited to %u port(s); skipping channel "
					"would exceed %s",
					w->facts->namespace, w->facts->name, w->limit, why));
		return false;
	}
	if (w->state_size + size_of_claims(e, false) > MUX_STATE_MAX - STATE_FRAME) {
		mux__refuse(w, e, "MuxPortLimitExceeded",
			    mux__printf(w,
					"mux %s/%s has no room for more port(s) in its state "
					"ConfigMap",
					w->facts->namespace, w->facts->name));
		return false;
	}
	return true;
}

static void grant(struct mux_work *w, struct mux_entrant *e)
{
	__typeof__(w->next[0]) saved[MUX_PROTOCOLS];

	if (!check_limits(w, e))
		return;
	memcpy(saved, w->next, sizeof(saved));
	if (!resolve(w, e)) {
		memcpy(w->next, saved, sizeof(saved));
		return;
	}
	e->decided = true;
	e->shown->fate = MUX_SERVED;
	w->view->n_served++;
	w->n_granted += (unsigned)e->n_wishes;
	w->state_size += size_of_claims(e, false);
	for (size_t i = 0; i < e->n_wishes; i++)
		e->wishes[i].shown->mux_port = e->wishes[i].got;
}

static unsigned round_of(const struct mux_entrant *e)
{
	unsigned r = 0;

	for (size_t i = 0; i < e->n_wishes; i++) {
		if (!e->wishes[i].owned)
			return 2;
		if (!e->wishes[i].live)
			r = 1;
	}
	return r;
}

/* Numbers that channels ask for are not given to automatic ports. */
static void mark_wishes(struct mux_work *w)
{
	for (size_t i = 0; i < w->n_wishes; i++) {
		const struct mux_wish *wish = &w->wishes[i];

		if (wish->of->valid && !wish->of->outlaw && wish->want)
			w->marks[wish->protocol][wish->want] |= MUX_WISHED;
	}
}

void mux__grant(struct mux_work *w)
{
	uint8_t *rounds = arena_array_of(w->scratch, w->n_entrants + 1, uint8_t);

	mark_wishes(w);
	for (size_t i = 0; i < w->n_entrants; i++) {
		rounds[i] = (uint8_t)round_of(&w->entrants[i]);
		w->state_size += size_of_claims(&w->entrants[i], true);
	}
	for (unsigned r = 0; r < 3; r++)
		for (size_t i = 0; i < w->n_entrants; i++)
			if (rounds[i] == r && !w->entrants[i].decided)
				grant(w, &w->entrants[i]);
	for (size_t i = 0; i < w->n_wishes; i++)
		if (!w->wishes[i].got)
			w->wishes[i].shown->held = w->wishes[i].owned;
}
