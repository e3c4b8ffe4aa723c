/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the way that a balancer knows: announcement and sessions; frontend, pool, backend. */
#include <string.h>

#include "base/cleanup.h"
#include "core/way/way_private.h"

#define NAMED 4 /* servers that a sentence names; of others the number is given */

static bool is(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

/* ---- announcement ---- */

static const struct way_session *find_session(const struct way_speaker *s, const char *peer)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		if (is(s->sessions[i].peer, peer))
			return &s->sessions[i];
	return NULL;
}

/* Adds the sessions of its peers; returns how many of them are down. */
static size_t add_sessions(struct way__work *w, const struct way_speaker *s,
			   const struct way_announcement *a)
{
	size_t down = 0;

	for (size_t i = 0; i < a->n_peers; i++) {
		const struct way_session *one = find_session(s, a->peers[i]);

		if (!one)
			continue;
		down += !one->up;
		way__add(w, &(struct way_step){ .kind = WAY_SESSION,
						.place = s->source.name,
						.name = one->peer,
						.detail = "",
						.state = one->up ? WAY_GOOD : WAY_BROKEN,
						.word = *one->state ? one->state
							: one->up   ? "up"
								    : "down",
						.reason = one->up ? "" : one->error,
						.since = one->since,
						.share = -1 });
	}
	return down;
}

/* A VIP that an operator drained, or that another member of the network owns, is idle. */
static enum way_state announcement_state(const struct way_speaker *s,
					 const struct way_announcement *a)
{
	if (!s->source.connected)
		return WAY_UNKNOWN;
	if (a->attracts)
		return is(a->state, "announced") ? WAY_GOOD : WAY_POOR;
	return a->drained || (a->standby && *a->owner) ? WAY_IDLE : WAY_BROKEN;
}

/* "no session is up" alone does not help: the sessions say why. */
static const char *announcement_reason(struct way__work *w, const struct way_speaker *s,
				       const struct way_announcement *a)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!s->source.connected)
		return s->source.error;
	buf_adds(&out, *a->summary ? a->summary : a->reason);
	for (size_t i = 0; !a->attracts && !a->drained && i < a->n_peers; i++) {
		const struct way_session *one = find_session(s, a->peers[i]);

		if (one && !one->up && *one->error)
			buf_printf(&out, "; %s: %s", one->peer, one->error);
	}
	if (*s->problem)
		buf_printf(&out, "; %s", s->problem);
	return arena_strdup(w->arena, buf_cstr(&out));
}

enum way_state way__announcement(struct way__work *w, const struct way_speaker *s,
				 const struct way_announcement *a)
{
	enum way_state state = announcement_state(s, a);
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_ANNOUNCEMENT,
						      .place = s->source.name,
						      .name = a->vip,
						      .detail = a->address,
						      .word = a->state,
						      .reason = announcement_reason(w, s, a),
						      .since = a->since,
						      .share = -1 });

	w->depth++;
	if (add_sessions(w, s, a) && state == WAY_GOOD)
		state = WAY_POOR;
	w->depth--;
	if (a->attracts && a->drained)
		way__note(w, "%s is being drained at %s%s%s", a->address, s->source.name,
			  *a->drain_reason ? ": " : "", a->drain_reason);
	way__step(w, step)->state = state;
	return state;
}

/* ---- backends ---- */

static void describe(const struct way_backend *b, struct buf *out)
{
	if (is(b->state, "down"))
		buf_printf(out, "%s%s%s", b->code, *b->code && *b->reason ? " " : "", b->reason);
	else if ((is(b->state, "paused") || is(b->state, "disabled")) && *b->override_reason)
		buf_printf(out, "by an operator: %s", b->override_reason);
}

static enum way_state member_state(const char *word)
{
	if (is(word, "up"))
		return WAY_GOOD;
	if (is(word, "down"))
		return WAY_BROKEN;
	return is(word, "unknown") ? WAY_UNKNOWN : WAY_IDLE;
}

/* The routers at a backend, as far as the query is about them. */
static void add_routers(struct way__work *w, const struct way_frontend *f,
			const struct way_backend *b, struct way__sum *sum)
{
	for (size_t i = 0; i < w->facts->n_routers; i++) {
		const struct way_router *r = &w->facts->routers[i];

		for (size_t k = 0; k < r->n_listeners; k++) {
			const struct way_listener *l = &r->listeners[k];

			if (way__leads_to(f, b->name, b->address, r, l) &&
			    way__listener_in_focus(w, r, l))
				way__sum_add(sum, way__router(w, r, l), true);
		}
	}
}

/* A router that is broken behind a backend that is up breaks the backend. */
static enum way_state add_behind(struct way__work *w, const struct way_frontend *f,
				 const struct way_backend *b, enum way_state state)
{
	struct way__sum sum = { 0 };
	bool idle = w->idle;

	if (!b)
		return state;
	w->idle = idle || state != WAY_GOOD;
	w->depth++;
	add_routers(w, f, b, &sum);
	w->depth--;
	w->idle = idle;
	return sum.carriers && state == WAY_GOOD ? way__sum_state(&sum) : state;
}

/* The total is that of all effective weights of the pool. */
static enum way_state add_member(struct way__work *w, const struct way_maglevd *m,
				 const struct way_frontend *f, const struct way_member *member,
				 uint32_t total)
{
	const struct way_backend *b = way__backend(m, member->backend);
	const char *word = b ? b->state : member->state;
	struct way_traffic traffic = b && !member->traffic.known ? b->traffic : member->traffic;
	_cleanup_(buf_free) struct buf reason = { 0 };
	size_t step;

	if (b)
		describe(b, &reason);
	step = way__add(w, &(struct way_step){
				   .kind = WAY_BACKEND,
				   .place = m->source.name,
				   .name = member->backend,
				   .detail = b ? b->address : "",
				   .word = word,
				   .reason = arena_strdup(w->arena, buf_cstr(&reason)),
				   .since = b ? b->since : 0,
				   .share = total ? (double)member->effective_weight / total : 0,
				   .traffic = traffic });
	way__step(w, step)->state = add_behind(w, f, b, member_state(word));
	return way__step(w, step)->state;
}

/* ---- pools ---- */

static bool member_in_focus(const struct way__work *w, const struct way_maglevd *m,
			    const struct way_member *member)
{
	const struct way_backend *b = way__backend(m, member->backend), *only = w->focus.backend;

	return !only || (b && is(b->name, only->name) && is(b->address, only->address));
}

static uint32_t total_weight(const struct way_pool *p)
{
	uint32_t total = 0;

	for (size_t i = 0; i < p->n_members; i++)
		total += p->members[i].effective_weight;
	return total;
}

/* Only the active pool gets traffic, and of it the members that have a weight. */
static enum way_state add_members(struct way__work *w, const struct way_maglevd *m,
				  const struct way_frontend *f, const struct way_pool *p)
{
	uint32_t total = total_weight(p);
	struct way__sum sum = { 0 };
	bool idle = w->idle;

	for (size_t i = 0; i < p->n_members; i++) {
		bool carries = p->active && p->members[i].effective_weight;

		if (!member_in_focus(w, m, &p->members[i]))
			continue;
		w->idle = idle || !carries;
		way__sum_add(&sum, add_member(w, m, f, &p->members[i], total), carries);
	}
	w->idle = idle;
	if (p->active && sum.carriers)
		return way__sum_state(&sum);
	if (p->active && w->focus.backend)
		return WAY_POOR;
	return sum.others_broken == p->n_members ? WAY_BROKEN : WAY_IDLE;
}

static enum way_state add_pool(struct way__work *w, const struct way_maglevd *m,
			       const struct way_frontend *f, const struct way_pool *p)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_POOL,
						      .place = m->source.name,
						      .name = p->name,
						      .detail = "",
						      .word = p->active ? "active" : "not active",
						      .reason = p->n_members ? "" : "it is empty",
						      .share = p->active ? 1 : 0 });
	enum way_state state;

	w->depth++;
	state = add_members(w, m, f, p);
	w->depth--;
	if (!p->n_members)
		state = WAY_BROKEN;
	way__step(w, step)->state = state;
	return state;
}

/* ---- frontends ---- */

static void add_servers(const struct way_maglevd *m, const struct way_pool *p, size_t *named,
			struct buf *out)
{
	for (size_t i = 0; i < p->n_members; i++) {
		const struct way_backend *b = way__backend(m, p->members[i].backend);
		_cleanup_(buf_free) struct buf why = { 0 };

		if ((*named)++ >= NAMED)
			continue;
		if (b)
			describe(b, &why);
		buf_printf(out, "%s%s %s", *named > 1 ? ", " : "", p->members[i].backend,
			   b ? b->state : p->members[i].state);
		if (why.n)
			buf_printf(out, " (%s)", buf_cstr(&why));
	}
}

/* The servers of the first pools, up to last, which is not one of them. */
static void name_servers(const struct way_maglevd *m, const struct way_frontend *f, size_t last,
			 struct buf *out)
{
	size_t named = 0;

	for (size_t i = 0; i < last; i++)
		add_servers(m, &f->pools[i], &named, out);
	if (named > NAMED)
		buf_printf(out, " and %zu more", named - NAMED);
}

void way__why_down(const struct way_maglevd *m, const struct way_frontend *f, struct buf *out)
{
	buf_adds(out, "no server can be used: ");
	name_servers(m, f, f->n_pools, out);
}

static size_t active_pool(const struct way_frontend *f)
{
	for (size_t i = 0; i < f->n_pools; i++)
		if (f->pools[i].active)
			return i;
	return f->n_pools;
}

/* A pool other than the first is active: why, as a note and as the reason. */
static void note_failover(struct way__work *w, const struct way_maglevd *m,
			  const struct way_frontend *f, size_t active, size_t step)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_printf(&out, "pool %s is active, because the servers before it cannot be used: ",
		   f->pools[active].name);
	name_servers(m, f, active, &out);
	way__step(w, step)->reason = arena_strdup(w->arena, buf_cstr(&out));
	way__note(w, "frontend %s at %s: %s", f->name, m->source.name, buf_cstr(&out));
}

/* What the data plane does to a frontend that is up. */
static enum way_state judge_plane(struct way__work *w, const struct way_maglevd *m,
				  const struct way_frontend *f, size_t step, enum way_state state)
{
	const char *name = m->source.name;

	if (is(m->dataplane, "none")) {
		way__step(w, step)->reason = "the data plane is none: nothing is forwarded";
		way__blame(w, step, "the data plane of %s is none: it forwards nothing", name);
		return WAY_BROKEN;
	}
	if (*m->dataplane && !m->plane_connected) {
		way__step(w, step)->reason =
			*m->plane_problem ? m->plane_problem : "the data plane cannot be reached";
		way__blame(w, step, "the data plane %s of %s is not connected%s%s", m->dataplane,
			   name, *m->plane_problem ? ": " : "", m->plane_problem);
		return WAY_BROKEN;
	}
	if (*m->plane_problem)
		way__note(w, "the data plane of %s: %s", name, m->plane_problem);
	if (f->pending)
		way__note(w, "frontend %s at %s is not written to the data plane yet", f->name,
			  name);
	return (f->pending || *m->plane_problem) && state == WAY_GOOD ? WAY_POOR : state;
}

static enum way_state judge_down(struct way__work *w, const struct way_maglevd *m,
				 const struct way_frontend *f, size_t step)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	way__why_down(m, f, &why);
	way__step(w, step)->reason = arena_strdup(w->arena, buf_cstr(&why));
	way__blame(w, step, "frontend %s at %s is down: %s", f->name, m->source.name,
		   buf_cstr(&why));
	return WAY_BROKEN;
}

static enum way_state judge_frontend(struct way__work *w, const struct way_maglevd *m,
				     const struct way_frontend *f, size_t step,
				     enum way_state of_active)
{
	size_t active = active_pool(f);
	enum way_state state = of_active;

	if (is(f->state, "down"))
		return judge_down(w, m, f, step);
	if (!is(f->state, "up") || active == f->n_pools) {
		way__step(w, step)->reason =
			f->n_pools ? "no probe has decided yet" : "it has no pools";
		return WAY_UNKNOWN;
	}
	if (active > 0) {
		note_failover(w, m, f, active, step);
		state = state == WAY_GOOD ? WAY_POOR : state;
	}
	return judge_plane(w, m, f, step, state);
}

static const char *vip_text(struct way__work *w, const struct way_frontend *f)
{
	bool v6 = strchr(f->address, ':');

	if (!f->port)
		return f->address;
	return arena_printf(w->arena, v6 ? "[%s]:%u/%s" : "%s:%u/%s", f->address, f->port,
			    f->protocol);
}

enum way_state way__frontend(struct way__work *w, const struct way_maglevd *m,
			     const struct way_frontend *f)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_FRONTEND,
						      .place = m->source.name,
						      .name = f->name,
						      .detail = vip_text(w, f),
						      .word = f->state,
						      .reason = "",
						      .since = f->since,
						      .share = -1,
						      .traffic = f->traffic });
	enum way_state active = WAY_UNKNOWN, state;
	bool idle = w->idle;

	w->depth++;
	w->idle = idle || !m->source.connected;
	for (size_t i = 0; i < f->n_pools; i++) {
		enum way_state of_pool = add_pool(w, m, f, &f->pools[i]);

		active = f->pools[i].active ? of_pool : active;
	}
	w->idle = idle;
	w->depth--;
	if (!m->source.connected) {
		way__step(w, step)->reason = m->source.error;
		return way__step(w, step)->state = WAY_UNKNOWN;
	}
	state = judge_frontend(w, m, f, step, active);
	return way__step(w, step)->state = state;
}
