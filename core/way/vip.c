/* SPDX-License-Identifier: Apache-2.0 */
/* A VIP and its balancers: which of them attract it, and whether they agree. */
#include <string.h>

#include "base/cleanup.h"
#include "core/way/way_private.h"

/* ---- the balancers of a VIP ---- */

static bool is_vip(const struct way_frontend *f, const struct way__vip *v)
{
	return f->port == v->port && strcmp(f->protocol, v->protocol) == 0 &&
	       way__same_address(f->address, v->address);
}

static const struct way_frontend *find_frontend(const struct way_maglevd *m,
						const struct way__vip *v)
{
	for (size_t i = 0; i < m->n_frontends; i++)
		if (is_vip(&m->frontends[i], v))
			return &m->frontends[i];
	return NULL;
}

static const struct way_announcement *find_announcement(const struct way_speaker *s,
							const char *address)
{
	for (size_t i = 0; i < s->n_announcements; i++)
		if (way__same_address(s->announcements[i].address, address))
			return &s->announcements[i];
	return NULL;
}

/* What is known of one balancer; each part may be missing. */
struct balancer {
	const struct way_maglevd *maglevd;
	const struct way_frontend *frontend;
	const struct way_speaker *speaker;
	const struct way_announcement *announcement;
};

struct balancers {
	VEC(struct balancer) items;
};

/* The speakers that belong to m, or to no maglevd if it is NULL, and have the VIP. */
static size_t add_speakers(const struct way_facts *facts, const struct way_maglevd *m,
			   const struct way_frontend *f, const char *address, struct balancers *to)
{
	size_t before = to->items.n;

	for (size_t i = 0; i < facts->n_speakers; i++) {
		const struct way_speaker *s = &facts->speakers[i];
		const struct way_announcement *a = find_announcement(s, address);

		if (a && way__maglevd_of(facts, s) == m)
			vec_push(&to->items, (struct balancer){ m, f, s, a });
	}
	return to->items.n - before;
}

/* The speaker on the balancer of m; NULL: none. */
static const struct way_speaker *speaker_on(const struct way_facts *facts,
					    const struct way_maglevd *m)
{
	for (size_t i = 0; i < facts->n_speakers; i++)
		if (way__maglevd_of(facts, &facts->speakers[i]) == m)
			return &facts->speakers[i];
	return NULL;
}

/* In the order of the maglevds; speakers without a maglevd are last. */
static void find_balancers(const struct way_facts *facts, const struct way__vip *v,
			   struct balancers *to)
{
	for (size_t i = 0; i < facts->n_maglevds; i++) {
		const struct way_maglevd *m = &facts->maglevds[i];
		const struct way_frontend *f = find_frontend(m, v);

		if (!add_speakers(facts, m, f, v->address, to) && f)
			vec_push(&to->items, (struct balancer){ m, f, speaker_on(facts, m), NULL });
	}
	add_speakers(facts, NULL, NULL, v->address, to);
}

static const char *name_of(const struct balancer *b)
{
	return b->maglevd ? b->maglevd->source.name : b->speaker->source.name;
}

/* ---- one balancer ---- */

static const char *text_of(struct way__work *w, const struct way__vip *v)
{
	bool any = strcmp(v->protocol, "any") == 0;

	if (!v->port)
		return v->address;
	return arena_printf(w->arena, strchr(v->address, ':') ? "[%s]:%u%s%s" : "%s:%u%s%s",
			    v->address, v->port, any ? "" : "/", any ? "" : v->protocol);
}

/*
 * What the announcement says. Without one it is not known who attracts the VIP: a frontend is then
 * looked at as if it got traffic.
 */
static enum way_state add_announcement(struct way__work *w, const struct balancer *b,
				       const char *address)
{
	if (b->announcement)
		return way__announcement(w, b->speaker, b->announcement);
	if (!b->speaker)
		return WAY_UNKNOWN;
	if (!b->speaker->source.connected)
		return WAY_UNKNOWN;
	way__note(w, "speaker %s has no VIP with the address %s", b->speaker->source.name, address);
	return WAY_IDLE;
}

/* A balancer that attracts a VIP for which it has no frontend. */
static enum way_state judge_missing(struct way__work *w, const struct balancer *b,
				    const struct way__vip *v, size_t step)
{
	const struct way_source *m = b->maglevd ? &b->maglevd->source : NULL;

	if (m && m->connected) {
		way__step(w, step)->reason = "it has no frontend with this VIP";
		way__blame(w, step, "%s has no frontend with %s", m->name, text_of(w, v));
		return WAY_BROKEN;
	}
	if (!m)
		way__note(w, "the maglevd of speaker %s is not asked", b->speaker->source.name);
	return WAY_UNKNOWN;
}

static enum way_state add_balancer(struct way__work *w, const struct balancer *b,
				   const struct way__vip *v, bool *ret_carries)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_BALANCER,
						      .place = name_of(b),
						      .name = name_of(b),
						      .detail = "",
						      .word = "",
						      .reason = "",
						      .share = -1 });
	enum way_state announced, state;
	bool idle = w->idle;

	w->depth++;
	announced = add_announcement(w, b, v->address);
	*ret_carries = announced != WAY_IDLE && announced != WAY_BROKEN;
	w->idle = idle || !*ret_carries;
	state = b->frontend ? way__frontend(w, b->maglevd, b->frontend)
			    : judge_missing(w, b, v, step);
	w->idle = idle;
	w->depth--;
	if (!*ret_carries)
		state = announced;
	else if (announced == WAY_POOR && state == WAY_GOOD)
		state = WAY_POOR;
	way__step(w, step)->word = announced == WAY_UNKNOWN ? ""
				   : *ret_carries	    ? "attracts it"
							    : "does not attract it";
	return way__step(w, step)->state = state;
}

/* ---- balancers that disagree ---- */

static const struct way_pool *active_of(const struct way_frontend *f)
{
	for (size_t i = 0; i < f->n_pools; i++)
		if (f->pools[i].active)
			return &f->pools[i];
	return NULL;
}

const struct way_member *way__member(const struct way_frontend *f, const char *name)
{
	for (size_t i = 0; i < f->n_pools; i++)
		for (size_t k = 0; k < f->pools[i].n_members; k++)
			if (strcmp(f->pools[i].members[k].backend, name) == 0)
				return &f->pools[i].members[k];
	return NULL;
}

static void compare_members(struct way__work *w, const struct balancer *a, const struct balancer *b,
			    const struct way_pool *p)
{
	for (size_t i = 0; i < p->n_members; i++) {
		const struct way_member *one = &p->members[i];
		const struct way_member *other = way__member(b->frontend, one->backend);

		if (!other)
			way__note(w, "%s and %s disagree: only %s has the server %s", name_of(a),
				  name_of(b), name_of(a), one->backend);
		else if (strcmp(one->state, other->state) != 0)
			way__note(w, "%s and %s disagree: %s is %s at %s and %s at %s", name_of(a),
				  name_of(b), one->backend, one->state, name_of(a), other->state,
				  name_of(b));
		else if (one->effective_weight != other->effective_weight)
			way__note(w, "%s and %s disagree: %s has the weight %u at %s and %u at %s",
				  name_of(a), name_of(b), one->backend, one->effective_weight,
				  name_of(a), other->effective_weight, name_of(b));
	}
}

/* Members that only b has; the others were compared already. */
static void compare_others(struct way__work *w, const struct balancer *a, const struct balancer *b,
			   const struct way_pool *p)
{
	for (size_t i = 0; i < p->n_members; i++)
		if (!way__member(a->frontend, p->members[i].backend))
			way__note(w, "%s and %s disagree: only %s has the server %s", name_of(a),
				  name_of(b), name_of(b), p->members[i].backend);
}

static bool disagree(struct way__work *w, const struct balancer *a, const struct balancer *b)
{
	const struct way_pool *one = active_of(a->frontend), *other = active_of(b->frontend);
	const char *first = one ? one->name : "none", *second = other ? other->name : "none";
	size_t before = w->notes.n;

	if (strcmp(first, second) != 0)
		way__note(w, "%s and %s disagree: the active pool is %s at %s and %s at %s",
			  name_of(a), name_of(b), first, name_of(a), second, name_of(b));
	for (size_t i = 0; i < a->frontend->n_pools; i++)
		compare_members(w, a, b, &a->frontend->pools[i]);
	for (size_t i = 0; i < b->frontend->n_pools; i++)
		compare_others(w, a, b, &b->frontend->pools[i]);
	return w->notes.n > before;
}

static bool is_current(const struct balancer *b)
{
	return b->frontend && b->maglevd->source.connected;
}

/* Compares each with the first that has the frontend. */
static bool any_disagree(struct way__work *w, const struct balancers *all)
{
	const struct balancer *first = NULL;
	bool found = false;

	for (size_t i = 0; i < all->items.n; i++) {
		const struct balancer *b = &all->items.items[i];

		if (!is_current(b))
			continue;
		if (first && b->maglevd != first->maglevd)
			found |= disagree(w, first, b);
		else if (!first)
			first = b;
	}
	return found;
}

/* ---- a VIP ---- */

/* Why one balancer does not attract the VIP. */
static const char *why_not(struct way__work *w, const struct balancer *b)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!b->announcement)
		return "its speaker has no such VIP";
	buf_adds(&out,
		 *b->announcement->summary ? b->announcement->summary : b->announcement->reason);
	for (size_t i = 0; i < b->speaker->n_sessions; i++) {
		const struct way_session *s = &b->speaker->sessions[i];

		if (!s->up && strcmp(b->announcement->state, "withdrawn") != 0)
			buf_printf(&out, " (%s is %s%s%s)", s->peer, *s->state ? s->state : "down",
				   *s->error ? ": " : "", s->error);
	}
	if (b->frontend && strcmp(b->frontend->state, "down") == 0 && !b->announcement->drained) {
		buf_adds(&out, "; ");
		way__why_down(b->maglevd, b->frontend, &out);
	}
	return arena_strdup(w->arena, buf_cstr(&out));
}

/* "lb1, lb2: drained; lb3: no session is up" */
static void blame_nobody(struct way__work *w, const struct balancers *all, const struct way__vip *v,
			 size_t step)
{
	const char **why = arena_array_of(w->arena, all->items.n, const char *);
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!all->items.n) {
		way__blame(w, step, "no frontend has %s", text_of(w, v));
		return;
	}
	for (size_t i = 0; i < all->items.n; i++)
		why[i] = why_not(w, &all->items.items[i]);
	for (size_t i = 0; i < all->items.n; i++) {
		if (!why[i])
			continue;
		buf_printf(&out, "%s%s", out.n ? "; " : "", name_of(&all->items.items[i]));
		for (size_t k = i + 1; k < all->items.n; k++) {
			if (!why[k] || strcmp(why[i], why[k]) != 0)
				continue;
			buf_printf(&out, ", %s", name_of(&all->items.items[k]));
			why[k] = NULL;
		}
		buf_printf(&out, ": %s", why[i]);
	}
	way__blame(w, step, "nobody announces %s: %s", v->address, buf_cstr(&out));
}

static void note_no_speakers(struct way__work *w, const struct balancers *all, const char *address)
{
	for (size_t i = 0; i < all->items.n; i++)
		if (all->items.items[i].speaker)
			return;
	if (all->items.n)
		way__note(w, "no speaker was asked: it is not known who attracts %s", address);
}

enum way_state way__vip(struct way__work *w, const struct way__vip *v)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_VIP,
						      .place = "",
						      .name = text_of(w, v),
						      .detail = "",
						      .word = "",
						      .reason = "",
						      .share = -1 });
	struct balancers all = { 0 };
	struct way__sum sum = { 0 };
	enum way_state state;
	bool carries;

	find_balancers(w->facts, v, &all);
	w->depth++;
	for (size_t i = 0; i < all.items.n; i++) {
		state = add_balancer(w, &all.items.items[i], v, &carries);
		way__sum_add(&sum, state, carries);
	}
	w->depth--;
	state = way__sum_state(&sum);
	if (any_disagree(w, &all) && state == WAY_GOOD)
		state = WAY_POOR;
	if (!sum.carriers)
		blame_nobody(w, &all, v, step);
	note_no_speakers(w, &all, v->address);
	vec_free(&all.items);
	return way__step(w, step)->state = state;
}
