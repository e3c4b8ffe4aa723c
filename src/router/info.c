/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/cli/cli.h"
#include "src/router/care.h"
#include "src/router/words.h"

#define NAMED 3	    /* pools that a sentence names */
#define ADDRESSES 8 /* of a name that are shown */

static char *text_of(const struct info *i, struct str s)
{
	return arena_strndup(i->arena, s.p, s.n);
}

double info_share(uint64_t weight, uint64_t sum)
{
	return sum ? (double)weight / (double)sum : 0;
}

/* ---- figures ---- */

static Maglev__RouterTraffic *traffic_of(const struct info *i, const struct recent_figures *f)
{
	Maglev__RouterTraffic *t =
		INFO_NEW(i->arena, Maglev__RouterTraffic, maglev__router_traffic__init);

	t->rate = f->rate;
	t->error_share = f->error_share;
	t->p50 = f->p50;
	t->p99 = f->p99;
	return t;
}

static void set_answers(const struct info *i, Maglev__RouterTraffic *t, const uint64_t *answers)
{
	t->n_answers = WORKER_CLASSES;
	t->answers = arena_copy(i->arena, answers, WORKER_CLASSES * sizeof(*answers));
}

static Maglev__RouterTraffic *traffic(const struct info *i, const struct rates_key *key,
				      const struct stats_values *v)
{
	struct recent_figures f = rates_of(i->from->rates, key);
	Maglev__RouterTraffic *t = traffic_of(i, &f);

	t->requests = v->counters[STATS_REQUESTS];
	t->aborts = v->counters[STATS_ABORTS];
	t->errors = rates_errors(key->kind, v);
	t->retries = v->counters[STATS_RETRIES];
	set_answers(i, t, &v->counters[STATS_1XX]);
	return t;
}

static Maglev__RouterTraffic *traffic_of_name(const struct info *i, enum stats_kind kind,
					      const struct name *name)
{
	const struct rates_key key = { kind, name->number, name->id };
	struct stats_values v;

	if (!i->figures)
		return NULL;
	stats_sum(router_stats(i->from->router), kind, name->number, name->id, &v);
	return traffic(i, &key, &v);
}

static Maglev__RouterTraffic *traffic_of_all(const struct info *i, const struct worker_totals *w)
{
	struct recent_figures f = rates_of_all(i->from->rates);
	Maglev__RouterTraffic *t = traffic_of(i, &f);

	t->requests = w->requests;
	t->aborts = w->aborts;
	t->errors = w->answers[WORKER_CLASSES - 1] + w->aborts;
	t->retries = w->retries;
	set_answers(i, t, w->answers);
	return t;
}

/* ---- servers ---- */

static uint32_t weight_of(const struct l7_server *c)
{
	return c->drain ? 0 : c->weight;
}

static bool gets_requests(const struct l7_server *c, const struct server *s)
{
	return weight_of(c) && server_is_usable(s);
}

/* A drain is the operator's: it is shown whatever the probes say, which are the reason then. */
static void set_state(const struct info *i, const struct l7_server *c, const struct server *s,
		      Maglev__RouterServer *one)
{
	struct care_state state;

	care_look(s, &state);
	one->state = info_text(c->drain ? "draining" : state.word);
	one->since = c->drain ? 0 : state.since;
	one->reason = arena_strdup(i->arena, state.reason);
}

static void set_figures(const struct info *i, const struct server *s, Maglev__RouterServer *one)
{
	const struct rates_key key = { STATS_SERVER, s->number, s->id };
	struct stats_values v;

	stats_sum(router_stats(i->from->router), STATS_SERVER, s->number, s->id, &v);
	one->traffic = traffic(i, &key, &v);
	one->load = INFO_NEW(i->arena, Maglev__RouterLoad, maglev__router_load__init);
	one->load->active = (uint32_t)v.counters[STATS_ACTIVE];
	one->load->connections = (uint32_t)v.counters[STATS_OPEN];
	one->load->kept = (uint32_t)v.counters[STATS_KEPT];
}

static void set_addresses(const struct info *i, struct server *s, Maglev__RouterServer *one)
{
	struct addr list[SERVER_ADDRESSES];
	char words[ADDR_STRLEN];
	unsigned version;
	size_t n = server_get_addresses(s, list, &version);

	one->addresses = arena_array_of(i->arena, ADDRESSES, char *);
	while (one->n_addresses < n && one->n_addresses < ADDRESSES) {
		const struct addr *at = &list[one->n_addresses];

		one->addresses[one->n_addresses++] = arena_strdup(i->arena, addr_format(at, words));
	}
}

static Maglev__RouterServer *server(const struct info *i, const struct l7_server *c,
				    struct server *s, uint64_t sum)
{
	Maglev__RouterServer *one =
		INFO_NEW(i->arena, Maglev__RouterServer, maglev__router_server__init);
	one->host = info_text(c->host);
	one->port = c->port;
	set_state(i, c, s, one);
	one->weight = c->weight;
	one->share = gets_requests(c, s) ? info_share(weight_of(c), sum) : 0;
	if (server_has_name(s) && atomic_load(&s->version))
		set_addresses(i, s, one);
	if (i->figures)
		set_figures(i, s, one);
	return one;
}

/* The weights of those that get requests. */
static uint64_t sum_weights(const struct generation_pool *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->config->n_servers; i++)
		if (gets_requests(&p->config->servers[i], p->servers[i]))
			sum += p->config->servers[i].weight;
	return sum;
}

static uint32_t count_usable(const struct generation_pool *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->config->n_servers; i++)
		n += gets_requests(&p->config->servers[i], p->servers[i]);
	return n;
}

Maglev__RouterServer **info_servers(const struct info *i, size_t pool, size_t *ret_n)
{
	const struct generation_pool *p = &i->view->g->pools[pool];
	Maglev__RouterServer **list =
		arena_array_of(i->arena, p->config->n_servers, Maglev__RouterServer *);
	uint64_t sum = sum_weights(p);

	for (size_t k = 0; k < p->config->n_servers; k++)
		list[k] = server(i, &p->config->servers[k], p->servers[k], sum);
	*ret_n = p->config->n_servers;
	return list;
}

/* ---- pools ---- */

static void add_users(const struct info *i, size_t pool, Maglev__RouterPool *info)
{
	const struct view_users *users = &i->view->users[pool];

	info->n_routes = users->n + users->n_streams;
	info->routes = arena_array_of(i->arena, info->n_routes, char *);
	for (size_t k = 0; k < users->n; k++)
		info->routes[k] = info_text(view_route_name(i->view, users->routes[k]));
	for (size_t k = 0; k < users->n_streams; k++)
		info->routes[users->n + k] =
			info_text(i->view->g->config.streams[users->streams[k]].name);
}

Maglev__RouterPool *info_pool(const struct info *i, size_t place)
{
	size_t index = i->view->pools[place];
	const struct generation_pool *p = &i->view->g->pools[index];
	Maglev__RouterPool *info =
		INFO_NEW(i->arena, Maglev__RouterPool, maglev__router_pool__init);

	info->name = info_text(p->config->name);
	info->position = (uint32_t)index;
	info->balance = info_text(words_balance(p->config->balance));
	info->probed = p->config->probe.enabled;
	info->servers = info_servers(i, index, &info->n_servers);
	info->usable = count_usable(p);
	add_users(i, index, info);
	info->traffic = traffic_of_name(i, STATS_POOL, p->name);
	return info;
}

/* ---- routes ---- */

static Maglev__RouterBackend *backend(const struct info *i, const struct l7_backend *b,
				      uint64_t sum)
{
	Maglev__RouterBackend *info =
		INFO_NEW(i->arena, Maglev__RouterBackend, maglev__router_backend__init);

	info->weight = b->weight;
	info->share = info_share(b->weight, sum);
	if (b->pool != L7_NO_POOL) {
		const struct generation_pool *p = &i->view->g->pools[b->pool];

		info->pool = info_text(p->config->name);
		info->servers = (uint32_t)p->config->n_servers;
		info->usable = count_usable(p);
	}
	return info;
}

static Maglev__RouterBackend **backends(const struct info *i, const struct l7_backend *b, size_t n)
{
	Maglev__RouterBackend **list = arena_array_of(i->arena, n, Maglev__RouterBackend *);
	uint64_t sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += b[k].weight;
	for (size_t k = 0; k < n; k++)
		list[k] = backend(i, &b[k], sum);
	return list;
}

static Maglev__RouterRule *rule(const struct info *i, const struct l7_rule *r)
{
	Maglev__RouterRule *info =
		INFO_NEW(i->arena, Maglev__RouterRule, maglev__router_rule__init);

	info->name = info_text(r->name);
	info->n_matches = r->n_matches;
	info->matches = arena_array_of(i->arena, r->n_matches, char *);
	for (size_t k = 0; k < r->n_matches; k++)
		info->matches[k] = words_match(&r->matches[k], i->arena);
	info->n_backends = r->n_backends;
	info->backends = backends(i, r->backends, r->n_backends);
	info->redirect = words_redirect(r->filters.redirect, i->arena);
	info->filters = arena_array_of(i->arena, WORDS_FILTERS, char *);
	info->n_filters = words_filters(r, info->filters, i->arena);
	return info;
}

static void add_rules(const struct info *i, size_t route, Maglev__RouterRoute *info)
{
	const struct l7_rule *rules = view_rules(i->view, route, &info->n_rules);

	info->rules = arena_array_of(i->arena, info->n_rules, Maglev__RouterRule *);
	for (size_t k = 0; k < info->n_rules; k++)
		info->rules[k] = rule(i, &rules[k]);
}

static char **hosts(const struct info *i, const struct str *names, size_t n)
{
	char **list = arena_array_of(i->arena, n, char *);

	for (size_t k = 0; k < n; k++)
		list[k] = text_of(i, names[k]);
	return list;
}

static char **listeners(const struct info *i, const size_t *indices, size_t n)
{
	const struct l7_config *c = &i->view->g->config;
	char **list = arena_array_of(i->arena, n, char *);

	for (size_t k = 0; k < n; k++)
		list[k] = info_text(c->listeners[indices[k]].name);
	return list;
}

static void add_places(const struct info *i, const struct l7_route *r, Maglev__RouterRoute *info)
{
	info->n_hosts = r->n_hosts;
	info->hosts = hosts(i, r->hosts, r->n_hosts);
	info->n_listeners = r->n_listeners;
	info->listeners = listeners(i, r->listeners, r->n_listeners);
}

Maglev__RouterRoute *info_route(const struct info *i, size_t place)
{
	const struct generation *g = i->view->g;
	size_t index = i->view->routes[place];
	Maglev__RouterRoute *info =
		INFO_NEW(i->arena, Maglev__RouterRoute, maglev__router_route__init);

	info->name = info_text(view_route_name(i->view, index));
	info->position = (uint32_t)index + 1;
	info->fallback = index == g->config.n_routes;
	if (!info->fallback)
		add_places(i, &g->config.routes[index], info);
	add_rules(i, index, info);
	info->traffic = traffic_of_name(i, STATS_ROUTE,
					info->fallback ? g->fallback_name : g->routes[index]);
	return info;
}

/* ---- streams ---- */

static void add_flow(const struct info *i, const struct name *name, Maglev__RouterStream *info)
{
	struct stats_values v;

	if (!i->figures)
		return;
	stats_sum(router_stats(i->from->router), STATS_STREAM, name->number, name->id, &v);
	info->connections = v.counters[STATS_REQUESTS];
	info->active = v.counters[STATS_ACTIVE];
	info->aborts = v.counters[STATS_ABORTS];
	info->retries = v.counters[STATS_RETRIES];
	info->received = v.counters[STATS_IN];
	info->sent = v.counters[STATS_OUT];
}

Maglev__RouterStream *info_stream(const struct info *i, size_t place)
{
	const struct generation *g = i->view->g;
	size_t index = i->view->streams[place];
	const struct l7_stream *s = &g->config.streams[index];
	Maglev__RouterStream *info =
		INFO_NEW(i->arena, Maglev__RouterStream, maglev__router_stream__init);

	info->name = info_text(s->name);
	info->n_hosts = s->n_hosts;
	info->hosts = hosts(i, s->hosts, s->n_hosts);
	info->n_listeners = s->n_listeners;
	info->listeners = listeners(i, s->listeners, s->n_listeners);
	info->n_backends = s->n_backends;
	info->backends = backends(i, s->backends, s->n_backends);
	info->idle_timeout = s->idle_timeout;
	add_flow(i, g->streams[index], info);
	return info;
}

/* ---- listeners ---- */

static uint32_t count_streams(const struct l7_config *c, size_t listener)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->n_streams; i++)
		for (size_t k = 0; k < c->streams[i].n_listeners; k++)
			n += c->streams[i].listeners[k] == listener;
	return n;
}

static uint32_t count_routes(const struct l7_config *c, size_t listener)
{
	uint32_t n = 0;

	if (c->listeners[listener].protocol != L7_HTTP)
		return 0;

	for (size_t i = 0; i < c->n_routes; i++) {
		bool belongs = !c->routes[i].n_listeners;

		for (size_t k = 0; k < c->routes[i].n_listeners; k++)
			belongs |= c->routes[i].listeners[k] == listener;
		n += belongs;
	}
	return n;
}

Maglev__RouterListener *info_listener(const struct info *i, size_t place)
{
	const struct l7_config *c = &i->view->g->config;
	size_t index = i->view->listeners[place];
	const struct l7_listener *l = &c->listeners[index];
	Maglev__RouterListener *info =
		INFO_NEW(i->arena, Maglev__RouterListener, maglev__router_listener__init);
	static const char *const protocols[] = {
		[L7_HTTP] = "http", [L7_TCP] = "tcp", [L7_UDP] = "udp"
	};
	char words[ENDPOINT_STRLEN];

	info->name = info_text(l->name);
	info->protocol = info_text(protocols[l->protocol]);
	info->address = arena_strdup(i->arena, endpoint_format(&l->at, words));
	info->host = text_of(i, l->host);
	info->routes = count_routes(c, index);
	info->streams = count_streams(c, index);
	return info;
}

/* ---- the router ---- */

/* Pools that routes or streams use and that no server can answer for, the first of them by name. */
static char *empty_pools(const struct info *i)
{
	_cleanup_(buf_free) struct buf names = { 0 };
	size_t n = 0;

	for (size_t k = 0; k < i->view->n_pools; k++) {
		size_t index = i->view->pools[k];
		const struct generation_pool *p = &i->view->g->pools[index];

		if (!(i->view->users[index].n + i->view->users[index].n_streams) || count_usable(p))
			continue;
		if (n++ < NAMED)
			buf_printf(&names, "%s%s", n > 1 ? ", " : "", p->config->name);
	}
	if (!n)
		return info_text("");
	if (n == 1)
		return arena_printf(i->arena, "pool %s has no server that gets requests",
				    buf_cstr(&names));
	return arena_printf(i->arena, "%zu pools have no server that gets requests: %s%s", n,
			    buf_cstr(&names), n > NAMED ? ", ..." : "");
}

static char *problem(const struct info *i)
{
	if (router_is_stopping(i->from->router))
		return info_text("it is stopping");
	return i->view->g ? empty_pools(i) : info_text("there is no configuration yet");
}

static void set_configuration(const struct info *i, Maglev__RouterInfo *info)
{
	const struct generation *g = i->view->g;
	const struct history_record *r;

	info->config_error = info_text(i->from->refusal);
	if (!g)
		return;
	info->generation = g->number;
	info->routes = (uint32_t)g->config.n_routes;
	info->pools = (uint32_t)g->config.n_pools;
	info->listeners = (uint32_t)g->config.n_listeners;
	r = history_find(router_history(i->from->router), g->number);
	if (!r)
		return;
	info->source = info_text(history_source_name(r->source));
	info->loaded = r->at;
}

/* One that has ended is said only if it ended badly. */
static char *rollout(const struct info *i)
{
	const struct rollout_status s =
		i->from->rollout ? rollout_status(i->from->rollout) : (struct rollout_status){ 0 };

	if (s.state == ROLLOUT_RUNNING)
		return arena_printf(i->arena, "generation %" PRIu64 " gets %u %% of the requests",
				    s.generation, s.share);
	if (s.state == ROLLOUT_RETURNED)
		return arena_printf(i->arena,
				    "generation %" PRIu64
				    " was given up: too many of its requests failed",
				    s.generation);
	return info_text("");
}

Maglev__RouterInfo *info_router(const struct info *i)
{
	struct router *r = i->from->router;
	struct worker_totals totals = router_totals(r);
	Maglev__RouterInfo *info =
		INFO_NEW(i->arena, Maglev__RouterInfo, maglev__router_info__init);

	info->name = info_text(i->from->name);
	info->version = info_text(cli_version.version);
	info->started = i->from->started;
	info->threads = router_threads(r);
	set_configuration(i, info);
	info->draining = router_is_stopping(r);
	info->problem = problem(i);
	info->rollout = rollout(i);
	if (!i->figures)
		return info;
	info->generations_held = (uint32_t)router_generations(r);
	info->clients = totals.clients;
	info->server_connections = totals.links;
	info->traffic = traffic_of_all(i, &totals);
	return info;
}
