/* SPDX-License-Identifier: Apache-2.0 */
/* The views of maglev-router: itself, its routes, pools and generations, the way of a request. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/router.pb-c.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

#define LISTED 3 /* names in a cell; further ones are counted */

/* ---- figures ---- */

#define LATENCY_LEN 32

/* Three digits are enough: "0.42ms", "12ms", "1.2s". */
static const char *latency_text(int64_t ns, char buf[static LATENCY_LEN])
{
	double ms = (double)ns / 1e6;

	if (!ns)
		return "-";
	snprintf(buf, LATENCY_LEN, ms < 1000 ? "%.3gms" : "%.3gs", ms < 1000 ? ms : ms / 1000);
	return buf;
}

static void latency_cell(struct columns *c, int64_t ns)
{
	char text[LATENCY_LEN];

	columns_cell(c, TINT_NONE, "%s", latency_text(ns, text));
}

static void share_cell(struct columns *c, enum tint tint, double share)
{
	columns_cell(c, share > 0 ? tint : TINT_NONE, "%.3g%%", share * 100);
}

/* RATE/S,ERRORS,P50,P99,REQUESTS */
static void traffic_cells(struct columns *c, const Maglev__RouterTraffic *t)
{
	if (!t) { /* not known */
		for (size_t i = 0; i < 5; i++)
			columns_cell(c, TINT_NONE, "-");
		return;
	}
	columns_cell(c, TINT_NONE, "%.1f", t->rate);
	share_cell(c, TINT_BAD, t->error_share);
	latency_cell(c, t->p50);
	latency_cell(c, t->p99);
	columns_cell(c, TINT_NONE, "%" PRIu64, t->requests);
}

#define TRAFFIC "RATE/S,ERRORS,P50,P99,REQUESTS"

static void pair_traffic(struct columns *c, const Maglev__RouterTraffic *t)
{
	char p50[LATENCY_LEN], p99[LATENCY_LEN];

	if (!t)
		return;
	render__pair(c, "requests", "%" PRIu64, t->requests);
	render__pair(c, "rate", "%.1f/s", t->rate);
	render__pair(c, "errors", "%" PRIu64 " (%.3g%% now)", t->errors, t->error_share * 100);
	render__pair(c, "retries", "%" PRIu64, t->retries);
	render__pair(c, "aborts", "%" PRIu64, t->aborts);
	if (t->n_answers == 5)
		render__pair(c, "answers",
			     "1xx %" PRIu64 ", 2xx %" PRIu64 ", 3xx %" PRIu64 ", 4xx %" PRIu64
			     ", 5xx %" PRIu64,
			     t->answers[0], t->answers[1], t->answers[2], t->answers[3],
			     t->answers[4]);
	if (t->p99)
		render__pair(c, "latency", "p50 %s, p99 %s", latency_text(t->p50, p50),
			     latency_text(t->p99, p99));
}

/* "a, b, c +2"; all stands for an empty list. */
static void names_cell(struct columns *c, char *const *names, size_t n, const char *all)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	if (!n)
		buf_adds(&text, all);
	for (size_t i = 0; i < n && i < LISTED; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", names[i]);
	if (n > LISTED)
		buf_printf(&text, " +%zu", n - LISTED);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&text));
}

/* ---- the router ---- */

void render_router(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RouterInfo *m = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "name", "%s", m->name);
	render__pair(c, "version", "%s", m->version);
	render__pair_if(c, "problem", m->problem);
	render__pair_time(c, r, "started", m->started);
	render__pair(c, "threads", "%u", m->threads);
	render__pair(c, "generation", "%" PRIu64, m->generation);
	render__pair_if(c, "source", m->source);
	render__pair_time(c, r, "loaded", m->loaded);
	render__pair_if(c, "config-error", m->config_error);
	render__pair_if(c, "rollout", m->rollout);
	render__pair(c, "draining", "%s", m->draining ? "yes" : "no");
	render__pair(c, "listeners", "%u", m->listeners);
	render__pair(c, "routes", "%u", m->routes);
	render__pair(c, "pools", "%u", m->pools);
	render__pair(c, "held", "%u generation%s", m->generations_held,
		     m->generations_held == 1 ? "" : "s");
	render__pair(c, "clients", "%" PRIu64 " connections", m->clients);
	render__pair(c, "servers", "%" PRIu64 " connections", m->server_connections);
	pair_traffic(c, m->traffic);
	columns_write(c, 0, r->out);
}

void render_rollback(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RouterInfo *m = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_line(c, TINT_NONE, "router %s: generation %" PRIu64 " is in force", m->name,
		     m->generation);
	columns_write(c, 0, r->out);
}

void render_listeners(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListListenersResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,ADDRESS,PROTOCOL,HOST,ROUTES,STREAMS");
	for (size_t i = 0; i < list->n_listeners; i++) {
		const Maglev__RouterListener *l = list->listeners[i];

		columns_cell(c, TINT_NONE, "%s", l->name);
		columns_cell(c, TINT_NONE, "%s", l->address);
		columns_cell(c, TINT_NONE, "%s", l->protocol);
		columns_cell(c, TINT_NONE, "%s", *l->host ? l->host : "*");
		columns_cell(c, TINT_NONE, "%u", l->routes);
		columns_cell(c, TINT_NONE, "%u", l->streams);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

/* ---- routes ---- */

static void backend_text(const Maglev__RouterBackend *b, bool only, struct buf *out)
{
	buf_adds(out, *b->pool ? b->pool : "(invalid)");
	if (!only)
		buf_printf(out, " %.3g%%", b->share * 100);
}

static void backends_text(Maglev__RouterBackend *const *list, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n && i < LISTED; i++) {
		buf_adds(out, i ? ", " : "");
		backend_text(list[i], n == 1, out);
	}
	if (n > LISTED)
		buf_printf(out, " +%zu", n - LISTED);
}

static void targets_text(const Maglev__RouterRule *rule, struct buf *out)
{
	if (*rule->redirect)
		buf_adds(out, rule->redirect);
	else if (!rule->n_backends)
		buf_adds(out, "(500)");
	backends_text(rule->backends, rule->n_backends, out);
}

/* Where the rules lead; the same target is named once. */
static void targets_cell(struct columns *c, const Maglev__RouterRoute *route)
{
	_cleanup_(buf_free) struct buf text = { 0 }, last = { 0 };

	for (size_t i = 0; i < route->n_rules && i < LISTED; i++) {
		_cleanup_(buf_free) struct buf one = { 0 };

		targets_text(route->rules[i], &one);
		if (last.n && strcmp(buf_cstr(&one), buf_cstr(&last)) == 0)
			continue;
		buf_printf(&text, "%s%s", text.n ? "; " : "", buf_cstr(&one));
		last.n = 0;
		buf_adds(&last, buf_cstr(&one));
	}
	if (route->n_rules > LISTED)
		buf_printf(&text, "; +%zu", route->n_rules - LISTED);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&text));
}

void render_routes(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListRoutesResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,HOSTS,RULES,TO," TRAFFIC);
	for (size_t i = 0; i < list->n_routes; i++) {
		const Maglev__RouterRoute *m = list->routes[i];

		columns_cell(c, TINT_NONE, "%s", m->name);
		names_cell(c, m->hosts, m->n_hosts, "*");
		columns_cell(c, TINT_NONE, "%zu", m->n_rules);
		targets_cell(c, m);
		traffic_cells(c, m->traffic);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static void write_backends(const Maglev__RouterRule *rule, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!rule->n_backends)
		return;
	columns_head(c, "backends,WEIGHT,SHARE,SERVERS");
	for (size_t i = 0; i < rule->n_backends; i++) {
		const Maglev__RouterBackend *b = rule->backends[i];

		columns_cell(c, TINT_NONE, "  %s", *b->pool ? b->pool : "(invalid: 500)");
		columns_cell(c, TINT_NONE, "%u", b->weight);
		share_cell(c, TINT_NONE, b->share);
		columns_cell(c, b->usable || !*b->pool ? TINT_NONE : TINT_BAD, "%u of %u",
			     b->usable, b->servers);
		columns_end_row(c);
	}
	columns_write(c, 2, r->out);
}

static void write_rule(const Maglev__RouterRule *rule, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf filters = { 0 };

	columns_line(c, TINT_LABEL, "rule %s", rule->name);
	for (size_t i = 0; i < rule->n_matches; i++)
		render__pair(c, i ? "    or" : "  match", "%s", rule->matches[i]);
	render__pair_if(c, "  redirect", rule->redirect);
	if (rule->n_filters) {
		render__add_list(rule->filters, rule->n_filters, &filters);
		render__pair(c, "  does", "%s", buf_cstr(&filters));
	}
	columns_write(c, 0, r->out);
	write_backends(rule, r);
}

void render_route(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RouterRoute *m = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf hosts = { 0 }, listeners = { 0 };

	render__add_list(m->hosts, m->n_hosts, &hosts);
	render__add_list(m->listeners, m->n_listeners, &listeners);
	render__pair(c, "name", "%s", m->name);
	if (m->fallback)
		render__pair(c, "position", "after all others");
	else
		render__pair(c, "position", "%u", m->position);
	render__pair(c, "hosts", "%s", m->n_hosts ? buf_cstr(&hosts) : "every host");
	render__pair(c, "listeners", "%s", m->n_listeners ? buf_cstr(&listeners) : "all");
	pair_traffic(c, m->traffic);
	columns_write(c, 0, r->out);
	for (size_t i = 0; i < m->n_rules; i++)
		write_rule(m->rules[i], r);
}

/* ---- streams ---- */

void render_streams(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListStreamsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,LISTENERS,HOSTS,TO,OPEN,CONNECTIONS,ABORTS,RECEIVED,SENT");
	for (size_t i = 0; i < list->n_streams; i++) {
		const Maglev__RouterStream *m = list->streams[i];
		_cleanup_(buf_free) struct buf to = { 0 };

		backends_text(m->backends, m->n_backends, &to);
		columns_cell(c, TINT_NONE, "%s", m->name);
		names_cell(c, m->listeners, m->n_listeners, "-");
		names_cell(c, m->hosts, m->n_hosts, "*");
		columns_cell(c, TINT_NONE, "%s", to.n ? buf_cstr(&to) : "-");
		columns_cell(c, TINT_NONE, "%" PRIu64, m->active);
		columns_cell(c, TINT_NONE, "%" PRIu64, m->connections);
		columns_cell(c, TINT_NONE, "%" PRIu64, m->aborts);
		columns_cell(c, TINT_NONE, "%" PRIu64, m->received);
		columns_cell(c, TINT_NONE, "%" PRIu64, m->sent);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

/* ---- pools ---- */

void render_pools(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListPoolsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,BALANCE,SERVERS," TRAFFIC ",ROUTES");
	for (size_t i = 0; i < list->n_pools; i++) {
		const Maglev__RouterPool *p = list->pools[i];

		columns_cell(c, TINT_NONE, "%s", p->name);
		columns_cell(c, TINT_NONE, "%s", p->balance);
		columns_cell(c, p->usable ? TINT_NONE : TINT_BAD, "%u of %zu", p->usable,
			     p->n_servers);
		traffic_cells(c, p->traffic);
		names_cell(c, p->routes, p->n_routes, "-");
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static void load_cells(struct columns *c, const Maglev__RouterLoad *l)
{
	if (l) {
		columns_cell(c, TINT_NONE, "%u", l->active);
		columns_cell(c, TINT_NONE, "%u", l->connections);
	} else {
		columns_cell(c, TINT_NONE, "-");
		columns_cell(c, TINT_NONE, "-");
	}
}

static void write_servers(Maglev__RouterServer *const *servers, size_t n, size_t indent,
			  const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!n)
		return;
	columns_head(c, "servers,STATE,AGE,WEIGHT,SHARE,ACTIVE,OPEN," TRAFFIC ",REASON");
	for (size_t i = 0; i < n; i++) {
		const Maglev__RouterServer *s = servers[i];

		columns_cell(c, TINT_NONE, strchr(s->host, ':') ? "  [%s]:%u" : "  %s:%u", s->host,
			     s->port);
		columns_cell(c, render__tint(s->state), "%s", s->state);
		render__age_cell(c, r, s->since);
		columns_cell(c, TINT_NONE, "%u", s->weight);
		share_cell(c, TINT_NONE, s->share);
		load_cells(c, s->load);
		traffic_cells(c, s->traffic);
		columns_cell(c, TINT_NONE, "%s", s->reason);
		columns_end_row(c);
	}
	columns_write(c, indent, r->out);
}

void render_pool(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RouterPool *p = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf routes = { 0 };

	render__add_list(p->routes, p->n_routes, &routes);
	render__pair(c, "name", "%s", p->name);
	render__pair(c, "position", "%u", p->position);
	render__pair(c, "balance", "%s", p->balance);
	render__pair(c, "probed", "%s", p->probed ? "yes" : "no");
	render__pair(c, "usable", "%u of %zu", p->usable, p->n_servers);
	render__pair(c, "routes", "%s", buf_cstr(&routes));
	pair_traffic(c, p->traffic);
	columns_write(c, 0, r->out);
	write_servers(p->servers, p->n_servers, 0, r);
}

/* ---- generations ---- */

static void note_cell(struct columns *c, const Maglev__RouterGeneration *g)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	if (g->in_force)
		buf_adds(&text, "in force");
	else if (g->held)
		buf_adds(&text, "still used");
	if (g->of)
		buf_printf(&text, "%srepeats %" PRIu64, text.n ? ", " : "", g->of);
	columns_cell(c, g->in_force ? TINT_GOOD : TINT_NONE, "%s", buf_cstr(&text));
}

/* What was not compared is not known. */
static void change_cell(struct columns *c, const Maglev__RouterGeneration *g, uint32_t n)
{
	if (g->compared)
		columns_cell(c, TINT_NONE, "%u", n);
	else
		columns_cell(c, TINT_NONE, "-");
}

void render_generations(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListGenerationsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NUMBER,AGE,SOURCE,FROM,LISTENERS,ROUTES,POOLS,ADDED,REMOVED,CHANGED,NOTE");
	for (size_t i = 0; i < list->n_generations; i++) {
		const Maglev__RouterGeneration *g = list->generations[i];

		columns_cell(c, TINT_NONE, "%" PRIu64, g->number);
		render__age_cell(c, r, g->at);
		columns_cell(c, TINT_NONE, "%s", g->source);
		columns_cell(c, TINT_NONE, "%s", render__or_dash(g->peer));
		columns_cell(c, TINT_NONE, "%u", g->listeners);
		columns_cell(c, TINT_NONE, "%u", g->routes);
		columns_cell(c, TINT_NONE, "%u", g->pools);
		change_cell(c, g, g->added);
		change_cell(c, g, g->removed);
		change_cell(c, g, g->changed);
		note_cell(c, g);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static void write_change(struct columns *c, const Maglev__GenerationChange *change)
{
	static const struct {
		const char *word, *sign;
		enum tint tint;
	} signs[] = {
		{ "added", "+", TINT_GOOD },
		{ "removed", "-", TINT_BAD },
		{ "changed", "~", TINT_DOUBT },
	};
	const char *sign = "?";
	enum tint tint = TINT_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (strcmp(signs[i].word, change->change) != 0)
			continue;
		sign = signs[i].sign;
		tint = signs[i].tint;
	}
	columns_line(c, tint, "%s %s %s", sign, change->kind, change->name);
	if (*change->before)
		columns_line(c, TINT_NONE, "    - %s", change->before);
	if (*change->after)
		columns_line(c, TINT_NONE, "    + %s", change->after);
}

void render_generation(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__GenerationDiff *d = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (d->from)
		columns_line(c, TINT_LABEL, "generation %" PRIu64 ", compared with %" PRIu64,
			     d->number, d->from);
	else
		columns_line(c, TINT_LABEL, "generation %" PRIu64 ", the first one", d->number);
	for (size_t i = 0; i < d->n_changes; i++)
		write_change(c, d->changes[i]);
	if (!d->n_changes)
		columns_line(c, TINT_NONE, "nothing has changed");
	if (d->left_out)
		columns_line(c, TINT_NONE, "and %u further changes", d->left_out);
	columns_write(c, 0, r->out);
}

/* ---- the way of a request ---- */

static void write_candidates(const Maglev__RequestExplanation *e, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!e->n_candidates)
		return;
	columns_head(c, "considered,RULE,HOST,MATCH,RESULT");
	for (size_t i = 0; i < e->n_candidates; i++) {
		const Maglev__RequestCandidate *one = e->candidates[i];

		columns_cell(c, TINT_NONE, "  %s", one->route);
		columns_cell(c, TINT_NONE, "%s", one->rule);
		columns_cell(c, TINT_NONE, "%s", *one->host ? one->host : "*");
		columns_cell(c, TINT_NONE, "%s", one->match);
		columns_cell(c, one->applies ? TINT_GOOD : TINT_NONE, "%s",
			     one->applies ? "gets the request" : one->reason);
		columns_end_row(c);
	}
	if (e->left_out)
		columns_line(c, TINT_NONE, "  and %u others", e->left_out);
	columns_write(c, 0, r->out);
}

void render_route_for(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RequestExplanation *e = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "summary", "%s", e->summary);
	render__pair(c, "listener", "%s", render__or_dash(e->listener));
	if (*e->route) {
		render__pair(c, "host", "%s", *e->host ? e->host : "every host");
		render__pair(c, "route", "%s", e->route);
		render__pair(c, "rule", "%s", e->rule);
		render__pair(c, "match", "%s", e->match);
	}
	columns_write(c, 0, r->out);
	for (size_t i = 0; i < e->n_backends; i++) {
		const Maglev__ExplainedBackend *b = e->backends[i];
		_cleanup_(columns_freep) struct columns *line = columns_new(r->color);

		columns_line(line, TINT_LABEL, "pool %s: weight %u, %.3g%%",
			     *b->pool ? b->pool : "(invalid: 500)", b->weight, b->share * 100);
		columns_write(line, 0, r->out);
		write_servers(b->servers, b->n_servers, 2, r);
	}
	write_candidates(e, r);
}
