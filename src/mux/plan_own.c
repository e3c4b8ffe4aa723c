/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_own: who owns which number before a pass, the strongest evidence first:
 *
 *	1. a claim in the state
 *	2. a port of the mux whose name is the hash of exactly one port of a channel
 *	3. the annotation <prefix>/ports of exactly one channel
 *
 * A number is owned only while its owner still wants it: a channel that asks for another number, or
 * an automatic port outside of the range, gives it back here, so that others get it in this very
 * pass. A channel whose wishes cannot be understood keeps what it had, because nobody knows better.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "src/mux/plan_private.h"

/* Annotations longer than this, or of channels with more ports, are no evidence. */
#define MAPPING_MAX 65536
#define MAPPING_PORTS_MAX 100

static struct mux_entrant *find_entrant(struct mux_work *w, const char *namespace, const char *name)
{
	size_t at = sorted_place(w->n_entrants, i, ({
					 const struct k8s_object *o =
						 &w->entrants[i].service->object;
					 int r = strcmp(o->namespace, namespace);

					 (r ? r : strcmp(o->name, name)) < 0;
				 }));
	const struct k8s_object *o;

	if (at == w->n_entrants)
		return NULL;
	o = &w->entrants[at].service->object;
	if (strcmp(o->namespace, namespace) != 0 || strcmp(o->name, name) != 0)
		return NULL;
	return &w->entrants[at];
}

static struct mux_wish *find_wish(struct mux_work *w, const struct mux_claim *c)
{
	struct mux_entrant *e = find_entrant(w, c->namespace, c->service);

	for (size_t i = 0; e && i < e->n_wishes; i++)
		if (e->wishes[i].protocol == c->protocol &&
		    strcmp(e->wishes[i].name, c->port_name) == 0)
			return &e->wishes[i];
	return NULL;
}

/* Whether a port still wants a number that it had. */
static bool still_wants(const struct mux_work *w, const struct mux_wish *wish, uint16_t port)
{
	if (wish->of->outlaw || !*wish->name)
		return false;
	if (!wish->of->valid)
		return true;
	if (!wish->automatic)
		return wish->want == port;
	/* without a range the channel is refused, but has its numbers again with the next one */
	return !w->ranges.n || mux_ranges_have(&w->ranges, port);
}

static bool own(struct mux_work *w, struct mux_wish *wish, uint16_t port)
{
	uint32_t *owner = &w->owner[wish->protocol][port];

	if (wish->owned || *owner || !still_wants(w, wish, port))
		return false;
	*owner = (uint32_t)(wish - w->wishes) + 1;
	wish->owned = port;
	return true;
}

static void own_claims(struct mux_work *w)
{
	const struct mux_state *s = w->facts->state;

	for (size_t i = 0; s && i < s->n_claims; i++) {
		struct mux_wish *wish = find_wish(w, &s->claims[i]);

		if (wish && own(w, wish, s->claims[i].mux_port) && !wish->of->valid)
			wish->automatic = s->claims[i].automatic;
	}
}

/* Wishes in the order of their hashes. */
struct by_hash {
	struct mux_wish **items;
	size_t n;
};

static int hash_cmp(const void *a, const void *b)
{
	return strcmp((*(struct mux_wish *const *)a)->hash, (*(struct mux_wish *const *)b)->hash);
}

static struct by_hash sort_by_hash(struct mux_work *w)
{
	struct by_hash h = { arena_array_of(w->scratch, w->n_wishes + 1, struct mux_wish *), 0 };

	for (size_t i = 0; i < w->n_wishes; i++)
		if (*w->wishes[i].name)
			h.items[h.n++] = &w->wishes[i];
	qsort(h.items, h.n, sizeof(*h.items), hash_cmp);
	return h;
}

/* A port of the mux, as it is. */
struct live {
	const char *name;
	size_t len;
	uint16_t port;
	enum mux_protocol protocol;
};

/* Longer names first: they are of ports whose short name another one had (plan_names.c). */
static int live_cmp(const void *a, const void *b)
{
	const struct live *x = a, *y = b;

	if (x->len != y->len)
		return x->len > y->len ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t list_live(struct mux_work *w, struct live **ret)
{
	const struct mux_service *mux = w->facts->mux;
	const struct mux_service_port *ports = mux->ports.items;
	struct live *live = arena_array_of(w->scratch, mux->ports.n + 1, struct live);
	size_t n = 0;

	for (size_t i = 0; i < mux->ports.n; i++) {
		struct live l = { .name = ports[i].name, .port = (uint16_t)ports[i].port };

		if (!l.name || mux_protocol_parse(ports[i].protocol, &l.protocol) < 0)
			continue;
		l.len = strlen(l.name);
		if (l.len >= MUX_NAME_MIN && l.len <= MUX_NAME_MAX)
			live[n++] = l;
	}
	qsort(live, n, sizeof(*live), live_cmp);
	*ret = live;
	return n;
}

/*
 * The one port that this port of the mux belongs to; NULL if it is none, or if it could be several.
 * One that owns the number is preferred.
 */
static struct mux_wish *wish_of_live(const struct by_hash *h, const struct live *l)
{
	size_t at = sorted_place(h->n, i, strncmp(h->items[i]->hash, l->name, l->len) < 0);
	struct mux_wish *only = NULL;
	size_t candidates = 0;

	for (; at < h->n && strncmp(h->items[at]->hash, l->name, l->len) == 0; at++) {
		struct mux_wish *wish = h->items[at];

		if (wish->protocol != l->protocol || *wish->live_name)
			continue;
		if (wish->owned == l->port)
			return wish;
		candidates++;
		only = wish;
	}
	return candidates == 1 ? only : NULL;
}

static void own_live(struct mux_work *w)
{
	struct by_hash h = sort_by_hash(w);
	struct live *live;
	size_t n = list_live(w, &live);

	for (size_t i = 0; i < n; i++) {
		struct mux_wish *wish = wish_of_live(&h, &live[i]);

		if (!wish)
			continue;
		memcpy(wish->live_name, live[i].name, live[i].len + 1);
		own(w, wish, live[i].port);
		wish->live = wish->owned == live[i].port;
	}
}

static const char *mapping_of(const struct mux_work *w, const struct mux_entrant *e)
{
	const char *text = mux_note(w->settings, &e->service->annotations, "ports");

	if (!text || !e->valid || e->n_wishes > MAPPING_PORTS_MAX || strlen(text) > MAPPING_MAX)
		return NULL;
	return text;
}

/* Ports that own no number, and those that annotations have for them. */
struct mapped {
	struct mux_wish *wish;
	uint16_t port;
};

static int mapped_cmp(const void *a, const void *b)
{
	const struct mapped *x = a, *y = b;
	int key_x = x->wish->protocol << 16 | x->port, key_y = y->wish->protocol << 16 | y->port;

	return key_x - key_y;
}

static size_t list_mapped(struct mux_work *w, struct mapped *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_wishes; i++) {
		struct mux_wish *wish = &w->wishes[i];
		const char *text = wish->owned ? NULL : mapping_of(w, wish->of);
		uint16_t port = text ? mux_mapped_port(text, wish->name) : 0;

		if (port)
			ret[n++] = (struct mapped){ wish, port };
	}
	qsort(ret, n, sizeof(*ret), mapped_cmp);
	return n;
}

static void own_mapped(struct mux_work *w)
{
	struct mapped *list = arena_array_of(w->scratch, w->n_wishes + 1, struct mapped);
	size_t n = list_mapped(w, list);

	for (size_t i = 0; i < n; i++)
		if ((!i || mapped_cmp(&list[i - 1], &list[i]) != 0) &&
		    (i + 1 == n || mapped_cmp(&list[i], &list[i + 1]) != 0))
			own(w, list[i].wish, list[i].port);
}

void mux__find_owners(struct mux_work *w)
{
	own_claims(w);
	own_live(w);
	own_mapped(w);
}

void mux__keep_live(struct mux_work *w)
{
	own_live(w);
	for (size_t i = 0; i < w->n_entrants; i++) {
		struct mux_entrant *e = &w->entrants[i];
		bool any = false;

		for (size_t j = 0; j < e->n_wishes; j++) {
			struct mux_wish *wish = &e->wishes[j];

			if (!wish->live)
				continue;
			wish->got = wish->shown->mux_port = wish->owned;
			wish->shown->mux_name = arena_strdup(w->keep, wish->live_name);
			any = true;
			w->view->n_ports++;
		}
		e->shown->fate = any ? MUX_SERVED : MUX_PENDING;
		w->view->n_served += any;
	}
}
