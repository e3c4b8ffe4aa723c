/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way: from a query to VIPs.
 *
 * First the query is resolved: an address or a name may be that of a VIP, a backend or a part of a
 * router, and the first kind that has it counts. This gives a focus (what is shown of branches) and
 * a set of VIPs. Each VIP is then walked from the announcement on; the steps are added in the order
 * of the packet, and a step gets its state after everything below it has one. A sentence is blamed
 * on the first step that loses traffic; what gets none by design is not blamed.
 *
 * vip.c has the balancers of a VIP, balancer.c and router.c add the steps of their programs, join.c
 * says what belongs together.
 */
#include "core/way/way.h"

#include <string.h>

#include "base/cleanup.h"
#include "core/way/way_private.h"

struct vips {
	VEC(struct way__vip) items;
};

/* ---- steps, sentences ---- */

/* Beyond the bound one more item is overwritten again and again, and is not part of the result. */
size_t way__add(struct way__work *w, const struct way_step *step)
{
	vec_reserve(&w->steps, WAY_STEPS_MAX + 1);
	if (w->steps.n == WAY_STEPS_MAX)
		w->left_out++;
	w->steps.items[w->steps.n] = *step;
	w->steps.items[w->steps.n].depth = w->depth;
	if (w->steps.n == WAY_STEPS_MAX)
		return WAY_STEPS_MAX;
	return w->steps.n++;
}

void way__blame(struct way__work *w, size_t step, const char *fmt, ...)
{
	va_list ap;

	if (w->idle || w->why)
		return;
	va_start(ap, fmt);
	w->why = arena_vprintf(w->arena, fmt, ap);
	va_end(ap);
	w->broken = step;
}

void way__note(struct way__work *w, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(w->arena, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < w->notes.n; i++)
		if (strcmp(w->notes.items[i], text) == 0)
			return;
	if (w->notes.n < WAY_NOTES_MAX)
		vec_push(&w->notes, text);
}

void way__sum_add(struct way__sum *sum, enum way_state state, bool carries)
{
	if (!carries) {
		sum->others_broken += state == WAY_BROKEN;
		return;
	}
	sum->carriers++;
	sum->broken += state == WAY_BROKEN;
	sum->lossy += state == WAY_LOSSY;
	sum->poor += state == WAY_POOR;
	sum->unknown += state == WAY_UNKNOWN;
}

enum way_state way__sum_state(const struct way__sum *sum)
{
	if (sum->broken == sum->carriers)
		return WAY_BROKEN;
	if (sum->broken || sum->lossy)
		return WAY_LOSSY;
	if (sum->unknown == sum->carriers)
		return WAY_UNKNOWN;
	return sum->poor || sum->unknown || sum->others_broken ? WAY_POOR : WAY_GOOD;
}

/* ---- which VIPs a query is about ---- */

static int by_vip(const void *a, const void *b)
{
	const struct way__vip *one = a, *other = b;
	struct addr x = { 0 }, y = { 0 };
	int r;

	addr_parse(one->address, &x);
	addr_parse(other->address, &y);
	r = addr_cmp(&x, &y);
	if (r == 0)
		r = strcmp(one->protocol, other->protocol);
	return r ? r : (one->port > other->port) - (one->port < other->port);
}

static void add_once(struct vips *vips, const struct way__vip *v)
{
	for (size_t i = 0; i < vips->items.n; i++)
		if (by_vip(&vips->items.items[i], v) == 0)
			return;
	vec_push(&vips->items, *v);
}

static bool address_is(const char *text, const struct way_query *q)
{
	struct addr a;

	return addr_parse(text, &a) == 0 && addr_cmp(&a, &q->addr) == 0;
}

/* Whether a frontend, or an announcement of its address, is what the query names. */
static bool names_frontend(const struct way_query *q, const struct way_frontend *f)
{
	if (q->kind == WAY_NAME)
		return strcmp(f->name, q->name) == 0;
	return q->kind == WAY_ADDRESS && address_is(f->address, q) &&
	       (!q->port || !f->port || f->port == q->port) &&
	       (!q->protocol || !f->port || strcmp(f->protocol, q->protocol) == 0);
}

/* Whether packets of the frontend that go to one of its backends reach the listener. */
static bool reaches(const struct way_maglevd *m, const struct way_frontend *f,
		    const struct way_router *r, const struct way_listener *l)
{
	for (size_t i = 0; i < f->n_pools; i++)
		for (size_t k = 0; k < f->pools[i].n_members; k++) {
			const struct way_backend *b =
				way__backend(m, f->pools[i].members[k].backend);

			if (b && way__leads_to(f, b->name, b->address, r, l))
				return true;
		}
	return false;
}

/* Whether packets of the frontend reach a listener that the query is about. */
static bool leads_to_focus(const struct way__work *w, const struct way_maglevd *m,
			   const struct way_frontend *f)
{
	for (size_t i = 0; i < w->facts->n_routers; i++) {
		const struct way_router *r = &w->facts->routers[i];

		for (size_t k = 0; k < r->n_listeners; k++)
			if (way__listener_in_focus(w, r, &r->listeners[k]) &&
			    reaches(m, f, r, &r->listeners[k]))
				return true;
	}
	return false;
}

typedef bool (*chooser)(const struct way__work *w, const struct way_maglevd *m,
			const struct way_frontend *f);

static bool is_named(const struct way__work *w, const struct way_maglevd *m,
		     const struct way_frontend *f)
{
	return names_frontend(w->query, f);
}

static bool has_focus(const struct way__work *w, const struct way_maglevd *m,
		      const struct way_frontend *f)
{
	const struct way_backend *only = w->focus.backend;
	const struct way_backend *b = way__backend(m, only->name);

	return b && strcmp(b->address, only->address) == 0 && way__member(f, only->name);
}

static bool choose(const struct way__work *w, chooser wanted, struct vips *to)
{
	for (size_t i = 0; i < w->facts->n_maglevds; i++) {
		const struct way_maglevd *m = &w->facts->maglevds[i];

		for (size_t k = 0; k < m->n_frontends; k++) {
			const struct way_frontend *f = &m->frontends[k];

			if (wanted(w, m, f))
				add_once(to,
					 &(struct way__vip){ f->address, f->protocol, f->port });
		}
	}
	return to->items.n > 0;
}

/* The announcement that the query names, or that has its address; NULL: none. */
static const struct way_announcement *announcement_asked(const struct way__work *w)
{
	const struct way_query *q = w->query;

	for (size_t i = 0; i < w->facts->n_speakers; i++) {
		const struct way_speaker *s = &w->facts->speakers[i];

		for (size_t k = 0; k < s->n_announcements; k++) {
			const struct way_announcement *a = &s->announcements[k];

			if (q->kind == WAY_NAME ? strcmp(a->vip, q->name) == 0
						: address_is(a->address, q))
				return a;
		}
	}
	return NULL;
}

/* The address of a frontend that differs from the query in port or protocol; NULL: none. */
static const char *address_asked(const struct way__work *w)
{
	for (size_t i = 0; w->query->kind == WAY_ADDRESS && i < w->facts->n_maglevds; i++) {
		const struct way_maglevd *m = &w->facts->maglevds[i];

		for (size_t k = 0; k < m->n_frontends; k++)
			if (address_is(m->frontends[k].address, w->query))
				return m->frontends[k].address;
	}
	return NULL;
}

/* A VIP of a speaker, by its name or its address; its frontends, or the address alone. */
static bool choose_announced(struct way__work *w, struct vips *to)
{
	const struct way_announcement *a = announcement_asked(w);
	const char *address = a ? a->address : address_asked(w);
	const struct way_query *asked = w->query;
	struct way_query by_address = { .kind = WAY_ADDRESS };

	if (!address || addr_parse(address, &by_address.addr) < 0)
		return false;
	if (asked->kind == WAY_NAME) {
		w->query = &by_address;
		choose(w, is_named, to);
		w->query = asked;
	}
	if (!to->items.n)
		add_once(to, &(struct way__vip){ address, asked->protocol ? asked->protocol : "any",
						 asked->port });
	return true;
}

/* A backend by its name or address; the first one that has it. */
static const struct way_backend *backend_asked(const struct way__work *w)
{
	const struct way_query *q = w->query;

	for (size_t i = 0; i < w->facts->n_maglevds; i++)
		for (size_t k = 0; k < w->facts->maglevds[i].n_backends; k++) {
			const struct way_backend *b = &w->facts->maglevds[i].backends[k];

			if (q->kind == WAY_NAME ? strcmp(b->name, q->name) == 0
						: address_is(b->address, q))
				return b;
		}
	return NULL;
}

/* ---- parts of routers ---- */

static bool server_is(const struct way_server *s, const struct way_query *q)
{
	const char *colon;
	uint64_t port;

	if (q->kind == WAY_ADDRESS)
		return address_is(s->host, q) && (!q->port || q->port == s->port);
	if (strcmp(s->host, q->name) == 0)
		return true;
	colon = strrchr(q->name, ':');
	return colon && str_eq(way__host(q->name), str_of(s->host)) &&
	       str_to_u64(str_of(colon + 1), UINT16_MAX, &port) == 0 && port == s->port;
}

static bool focus_on_pool(struct way__focus *focus, const struct way_router_pool *p,
			  const struct way_query *q)
{
	if (q->kind == WAY_NAME && strcmp(p->name, q->name) == 0) {
		focus->pool = p->name;
		return true;
	}
	for (size_t i = 0; i < p->n_servers; i++)
		if (server_is(&p->servers[i], q)) {
			focus->server = &p->servers[i];
			return true;
		}
	return false;
}

static bool focus_on_router(struct way__focus *focus, const struct way_router *r,
			    const struct way_query *q)
{
	for (size_t i = 0; q->kind == WAY_NAME && i < r->n_routes; i++)
		if (strcmp(r->routes[i].name, q->name) == 0) {
			focus->route = r->routes[i].name;
			return true;
		}
	for (size_t i = 0; i < r->n_pools; i++)
		if (focus_on_pool(focus, &r->pools[i], q))
			return true;
	return false;
}

/* Routers that no frontend of the facts leads to begin a way of their own. */
static bool is_reached(const struct way__work *w, const struct way_router *r,
		       const struct way_listener *l)
{
	for (size_t i = 0; i < w->facts->n_maglevds; i++) {
		const struct way_maglevd *m = &w->facts->maglevds[i];

		for (size_t k = 0; k < m->n_frontends; k++)
			if (reaches(m, &m->frontends[k], r, l))
				return true;
	}
	return false;
}

static void add_direct(struct way__work *w, struct way__sum *sum)
{
	for (size_t i = 0; i < w->facts->n_routers; i++) {
		const struct way_router *r = &w->facts->routers[i];
		bool added = false;

		for (size_t k = 0; k < r->n_listeners && !added; k++) {
			const struct way_listener *l = &r->listeners[k];

			if (!way__listener_in_focus(w, r, l) || is_reached(w, r, l))
				continue;
			way__sum_add(sum, way__router(w, r, l), true);
			way__note(
				w,
				"no frontend that is known here leads to listener %s of router %s",
				l->name, r->source.name);
			added = w->focus.request;
		}
	}
}

static bool focus_on_routers(struct way__work *w)
{
	if (w->query->kind == WAY_REQUEST) {
		w->focus.request = true;
		for (size_t i = 0; i < w->facts->n_routers; i++)
			if (w->facts->routers[i].explanation)
				return true;
		return false;
	}
	for (size_t i = 0; i < w->facts->n_routers; i++)
		if (focus_on_router(&w->focus, &w->facts->routers[i], w->query))
			return true;
	return false;
}

/* ---- the whole ---- */

/* Fills the VIPs and the focus; false: nothing has what is asked for. */
static bool resolve(struct way__work *w, struct vips *vips, bool *ret_routers)
{
	*ret_routers = false;
	if (w->query->kind != WAY_REQUEST) {
		if (choose(w, is_named, vips) || choose_announced(w, vips))
			return true;
		w->focus.backend = backend_asked(w);
		if (w->focus.backend) {
			choose(w, has_focus, vips);
			return true;
		}
	}
	*ret_routers = focus_on_routers(w);
	if (*ret_routers)
		choose(w, leads_to_focus, vips);
	return *ret_routers;
}

static bool note_silent(struct way__work *w, const struct way_source *s, const char *what)
{
	if (!s->connected)
		way__note(w, "%s %s cannot be asked: %s", what, s->name, s->error);
	return !s->connected;
}

/* What cannot be asked may have a part in the way. Returns whether there is something. */
static bool note_all_silent(struct way__work *w)
{
	const struct way_facts *f = w->facts;
	bool any = false;

	for (size_t i = 0; i < f->n_maglevds; i++)
		any |= note_silent(w, &f->maglevds[i].source, "maglevd");
	for (size_t i = 0; i < f->n_speakers; i++)
		any |= note_silent(w, &f->speakers[i].source, "speaker");
	for (size_t i = 0; i < f->n_routers; i++)
		any |= note_silent(w, &f->routers[i].source, "router");
	return any;
}

/* Nothing was found. It may be known to one that could not be asked. */
static enum way_state blame_nothing(struct way__work *w)
{
	bool request = w->query->kind == WAY_REQUEST;

	if (request)
		way__blame(w, SIZE_MAX, "no router that answers was asked where %s goes",
			   w->query->text);
	else
		way__blame(w, SIZE_MAX,
			   "%s is not a VIP, a frontend, a backend, a route, a pool or a server of "
			   "those that were asked",
			   w->query->text);
	return note_all_silent(w) ? WAY_UNKNOWN : WAY_BROKEN;
}

/* A backend that no frontend uses gets no packets. */
static enum way_state blame_unused(struct way__work *w)
{
	const struct way_backend *b = w->focus.backend;

	way__blame(w, SIZE_MAX, "no frontend has the backend %s", b ? b->name : w->query->text);
	return WAY_BROKEN;
}

static enum way_state walk(struct way__work *w)
{
	struct way__sum sum = { 0 };
	struct vips vips = { 0 };
	bool routers, found = resolve(w, &vips, &routers);

	if (vips.items.n)
		qsort(vips.items.items, vips.items.n, sizeof(*vips.items.items), by_vip);
	for (size_t i = 0; i < vips.items.n; i++)
		way__sum_add(&sum, way__vip(w, &vips.items.items[i]), true);
	vec_free(&vips.items);
	if (routers)
		add_direct(w, &sum);
	if (!found)
		return blame_nothing(w);
	note_all_silent(w);
	return sum.carriers ? way__sum_state(&sum) : blame_unused(w);
}

struct way way_find(const struct way_facts *facts, const struct way_query *query,
		    struct arena *arena)
{
	struct way__work w = { .facts = facts, .query = query, .arena = arena, .broken = SIZE_MAX };
	struct way way = { .state = walk(&w) };

	way.steps = arena_copy(arena, w.steps.items, w.steps.n * sizeof(*w.steps.items));
	way.n = w.steps.n;
	way.left_out = w.left_out;
	way.notes = arena_copy(arena, w.notes.items, w.notes.n * sizeof(*w.notes.items));
	way.n_notes = w.notes.n;
	way.broken = w.broken < w.steps.n ? w.broken : SIZE_MAX;
	way.why = w.why ? w.why : "";
	vec_free(&w.steps);
	vec_free(&w.notes);
	return way;
}

const char *way_kind_name(enum way_kind k)
{
	static const char *const names[WAY_KINDS] = {
		[WAY_VIP] = "vip",
		[WAY_BALANCER] = "balancer",
		[WAY_ANNOUNCEMENT] = "announcement",
		[WAY_SESSION] = "session",
		[WAY_FRONTEND] = "frontend",
		[WAY_POOL] = "pool",
		[WAY_BACKEND] = "backend",
		[WAY_ROUTER] = "router",
		[WAY_ROUTE] = "route",
		[WAY_ROUTER_POOL] = "router-pool",
		[WAY_SERVER] = "server",
	};

	return names[k];
}

const char *way_state_name(enum way_state s)
{
	static const char *const names[WAY_STATES] = {
		[WAY_GOOD] = "good", [WAY_IDLE] = "idle",   [WAY_UNKNOWN] = "unknown",
		[WAY_POOR] = "poor", [WAY_LOSSY] = "lossy", [WAY_BROKEN] = "broken",
	};

	return names[s];
}
