/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/way.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/str.h"

/* protobuf-c declares strings without const; messages are only read. */
static char *borrow(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* ---- maglevd ---- */

static struct way_pool pool_of(const Maglev__PoolInfo *m, struct arena *arena)
{
	struct way_member *members = arena_array_of(arena, m->n_backends, struct way_member);

	for (size_t i = 0; i < m->n_backends; i++) {
		const Maglev__PoolBackendInfo *b = m->backends[i];

		members[i] = (struct way_member){ .backend = b->name,
						  .weight = b->weight,
						  .effective_weight = b->effective_weight,
						  .state = b->state };
	}
	return (struct way_pool){ m->name, m->active, members, m->n_backends };
}

struct way_frontend wire_way_frontend(const Maglev__FrontendInfo *m, struct arena *arena)
{
	struct way_pool *pools = arena_array_of(arena, m->n_pools, struct way_pool);

	for (size_t i = 0; i < m->n_pools; i++)
		pools[i] = pool_of(m->pools[i], arena);
	return (struct way_frontend){ .name = m->name,
				      .address = m->address,
				      .protocol = m->protocol,
				      .port = (uint16_t)m->port,
				      .state = m->state,
				      .since = m->since,
				      .pending = m->pending,
				      .pools = pools,
				      .n_pools = m->n_pools };
}

struct way_backend wire_way_backend(const Maglev__BackendInfo *m)
{
	return (struct way_backend){ .name = m->name,
				     .address = m->address,
				     .state = m->state,
				     .since = m->since,
				     .code = m->last_code,
				     .reason = m->last_reason,
				     .override_reason = m->override ? m->override->reason : "" };
}

void wire_way_plane(const Maglev__VPPLBState *m, struct way_maglevd *to)
{
	to->dataplane = m->dataplane;
	to->plane_connected = m->connected;
	to->plane_problem = m->problem;
}

/* ---- speaker ---- */

void wire_way_speaker(const Maglev__SpeakerInfo *m, struct arena *arena, struct way_speaker *to)
{
	const char **maglevds = arena_array_of(arena, m->n_maglevds, const char *);

	for (size_t i = 0; i < m->n_maglevds; i++)
		maglevds[i] = m->maglevds[i]->address;
	to->problem = m->problem;
	to->maglevds = maglevds;
	to->n_maglevds = m->n_maglevds;
}

struct way_announcement wire_way_announcement(const Maglev__AnnouncementInfo *m)
{
	const Maglev__AnnouncementL2 *l2 = m->l2;

	return (struct way_announcement){
		.vip = m->vip,
		.address = m->address,
		.state = m->state,
		.reason = m->reason,
		.culprit = m->culprit,
		.since = m->since,
		.drained = m->drained,
		.drain_reason = m->drain_reason,
		.attracts = m->attracts,
		.summary = m->summary,
		.peers = m->bgp ? (const char *const *)m->bgp->peers : NULL,
		.n_peers = m->bgp ? m->bgp->n_peers : 0,
		.standby = l2 && strcmp(l2->state, "backup") == 0,
		.owner = l2 ? l2->owner : "",
	};
}

struct way_session wire_way_session(const Maglev__SessionInfo *m)
{
	return (struct way_session){ m->peer, m->up, m->state, m->last_error, m->since };
}

/* ---- router ---- */

static struct way_traffic traffic_of(const Maglev__RouterTraffic *m)
{
	if (!m)
		return (struct way_traffic){ 0 };
	return (struct way_traffic){ true, m->rate, m->rate * m->error_share };
}

void wire_way_router(const Maglev__RouterInfo *m, struct way_router *to)
{
	to->problem = m->problem;
	to->draining = m->draining;
	to->traffic = traffic_of(m->traffic);
}

struct way_listener wire_way_listener(const Maglev__RouterListener *m)
{
	bool http = strcmp(m->protocol, "http") == 0;

	return (struct way_listener){ m->name, m->address, m->protocol,
				      http ? m->routes : m->streams };
}

static const struct way_target *targets_of(Maglev__RouterBackend *const *backends, size_t n,
					   struct arena *arena)
{
	struct way_target *targets = arena_array_of(arena, n, struct way_target);

	for (size_t i = 0; i < n; i++)
		targets[i] = (struct way_target){ backends[i]->pool, backends[i]->share };
	return targets;
}

/* "prefix /a or exact /b" */
static const char *matches_of(const Maglev__RouterRule *m, struct arena *arena)
{
	const char *text = m->n_matches ? m->matches[0] : "";

	for (size_t i = 1; i < m->n_matches; i++)
		text = arena_printf(arena, "%s or %s", text, m->matches[i]);
	return text;
}

struct way_route wire_way_route(const Maglev__RouterRoute *m, struct arena *arena)
{
	struct way_rule *rules = arena_array_of(arena, m->n_rules, struct way_rule);

	for (size_t i = 0; i < m->n_rules; i++) {
		const Maglev__RouterRule *r = m->rules[i];

		rules[i] = (struct way_rule){ matches_of(r, arena), r->redirect,
					      targets_of(r->backends, r->n_backends, arena),
					      r->n_backends };
	}
	return (struct way_route){ .name = m->name,
				   .listeners = (const char *const *)m->listeners,
				   .n_listeners = m->n_listeners,
				   .rules = rules,
				   .n_rules = m->n_rules,
				   .traffic = traffic_of(m->traffic) };
}

struct way_router_pool wire_way_pool(const Maglev__RouterPool *m, struct arena *arena)
{
	struct way_server *servers = arena_array_of(arena, m->n_servers, struct way_server);

	for (size_t i = 0; i < m->n_servers; i++) {
		const Maglev__RouterServer *s = m->servers[i];

		servers[i] = (struct way_server){ .host = s->host,
						  .port = (uint16_t)s->port,
						  .state = s->state,
						  .since = s->since,
						  .reason = s->reason,
						  .share = s->share,
						  .traffic = traffic_of(s->traffic) };
	}
	return (struct way_router_pool){ m->name, m->usable, servers, m->n_servers,
					 traffic_of(m->traffic) };
}

struct way_explanation wire_way_explanation(const Maglev__RequestExplanation *m,
					    struct arena *arena)
{
	struct way_target *targets = arena_array_of(arena, m->n_backends, struct way_target);

	for (size_t i = 0; i < m->n_backends; i++)
		targets[i] = (struct way_target){ m->backends[i]->pool, m->backends[i]->share };
	return (struct way_explanation){ .outcome = m->outcome,
					 .status = m->status,
					 .summary = m->summary,
					 .listener = m->listener,
					 .route = m->route,
					 .match = m->match,
					 .targets = targets,
					 .n_targets = m->n_backends };
}

void wire_way_fill_explain(const struct way_query *q, const struct wire_way_request *more,
			   struct arena *arena, Maglev__ExplainRequestRequest *to)
{
	assert(q->kind == WAY_REQUEST);
	to->host = borrow(q->host);
	to->path = borrow(q->path);
	to->method = borrow(more->method ? more->method : "");
	to->listener = borrow(more->listener ? more->listener : "");
	if (!more->header || !*more->header)
		return;
	to->n_headers = 1;
	to->headers = arena_array_of(arena, 1, char *);
	to->headers[0] = borrow(more->header);
}

/* ---- figures ---- */

/* The lines of a series that are packets, and those of them that were dropped. */
static const char *const lines[] = { "next", "first", "untracked", "no-server", "packets" };

static bool has_name(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The names of the steps of a kind, each once. */
static char **names_of(const struct way *way, enum way_kind kind, const char *maglevd,
		       struct arena *arena, size_t *ret_n)
{
	char **names = arena_array_of(arena, way->n, char *);
	size_t n = 0;

	for (size_t i = 0; i < way->n; i++) {
		const struct way_step *s = &way->steps[i];

		if (s->kind == kind && strcmp(s->place, maglevd) == 0 &&
		    !has_name(names, n, s->name))
			names[n++] = borrow(s->name);
	}
	*ret_n = n;
	return names;
}

bool wire_way_fill_history(const struct way *way, const char *maglevd, struct arena *arena,
			   Maglev__GetHistoryRequest *to)
{
	to->frontends = names_of(way, WAY_FRONTEND, maglevd, arena, &to->n_frontends);
	to->backends = names_of(way, WAY_BACKEND, maglevd, arena, &to->n_backends);
	to->points = 1;
	to->n_lines = sizeof(lines) / sizeof(lines[0]);
	to->lines = arena_copy(arena, lines, sizeof(lines));
	return to->n_frontends > 0;
}

/* The sum of the last values; NaN stands for one that is not known. */
static struct way_traffic figures_of(const Maglev__HistorySeries *m)
{
	struct way_traffic t = { 0 };

	for (size_t i = 0; i < m->n_lines; i++) {
		const Maglev__HistoryLine *l = m->lines[i];
		double value = l->n_values ? (double)l->values[l->n_values - 1] : NAN;

		if (isnan(value))
			continue;
		t.known = true;
		t.rate += value;
		t.errors += strcmp(l->name, "no-server") == 0 ? value : 0;
	}
	return t;
}

static struct way_traffic find_figures(Maglev__HistorySeries *const *all, size_t n,
				       const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i]->name, name) == 0)
			return figures_of(all[i]);
	return (struct way_traffic){ 0 };
}

void wire_way_take_history(const Maglev__HistoryResponse *m, struct arena *arena,
			   struct way_maglevd *to)
{
	struct way_frontend *frontends =
		arena_copy(arena, to->frontends, to->n_frontends * sizeof(*frontends));
	struct way_backend *backends =
		arena_copy(arena, to->backends, to->n_backends * sizeof(*backends));

	for (size_t i = 0; i < to->n_frontends; i++)
		frontends[i].traffic =
			find_figures(m->frontends, m->n_frontends, frontends[i].name);
	for (size_t i = 0; i < to->n_backends; i++)
		backends[i].traffic = find_figures(m->backends, m->n_backends, backends[i].name);
	to->frontends = frontends;
	to->backends = backends;
}

/* ---- the way ---- */

#define NEW(arena, type, init)                                                                     \
	({                                                                                         \
		type *message_ = arena_new_of(arena, type);                                        \
                                                                                                   \
		init(message_);                                                                    \
		message_;                                                                          \
	})

static bool is_of_router(enum way_kind kind)
{
	return kind == WAY_ROUTER || kind == WAY_ROUTE || kind == WAY_ROUTER_POOL ||
	       kind == WAY_SERVER;
}

static void add_figures(const struct way_step *s, struct arena *arena, Maglev__WayStep *m)
{
	if (s->share >= 0) {
		m->share = NEW(arena, Maglev__WayShare, maglev__way_share__init);
		m->share->of_step = s->share;
	}
	if (!s->traffic.known)
		return;
	m->traffic = NEW(arena, Maglev__WayTraffic, maglev__way_traffic__init);
	m->traffic->unit = borrow(is_of_router(s->kind) ? "requests" : "packets");
	m->traffic->rate = s->traffic.rate;
	m->traffic->errors = s->traffic.errors;
}

static Maglev__WayStep *step_of(const struct way_step *s, struct arena *arena)
{
	Maglev__WayStep *m = NEW(arena, Maglev__WayStep, maglev__way_step__init);

	m->kind = borrow(way_kind_name(s->kind));
	m->depth = s->depth;
	m->place = borrow(s->place);
	m->name = borrow(s->name);
	m->detail = borrow(s->detail);
	m->state = borrow(way_state_name(s->state));
	m->word = borrow(s->word);
	m->reason = borrow(s->reason);
	m->since = s->since;
	add_figures(s, arena, m);
	return m;
}

Maglev__Way *wire_way(const struct way *way, const struct way_query *q, int64_t at,
		      struct arena *arena)
{
	Maglev__Way *m = NEW(arena, Maglev__Way, maglev__way__init);

	m->query = borrow(q->text);
	m->state = borrow(way_state_name(way->state));
	m->whole = way_is_whole(way);
	m->why = borrow(way->why);
	m->broken = way->broken == SIZE_MAX ? -1 : (int32_t)way->broken;
	m->left_out = (uint32_t)way->left_out;
	m->at = at;
	m->n_steps = way->n;
	m->steps = arena_array_of(arena, way->n, Maglev__WayStep *);
	for (size_t i = 0; i < way->n; i++)
		m->steps[i] = step_of(&way->steps[i], arena);
	m->n_notes = way->n_notes;
	m->notes = arena_array_of(arena, way->n_notes, char *);
	for (size_t i = 0; i < way->n_notes; i++)
		m->notes[i] = borrow(way->notes[i]);
	return m;
}
