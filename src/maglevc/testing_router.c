/* SPDX-License-Identifier: Apache-2.0 */
/* Example answers of a maglev-router. */
#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/testing.h"

/* protobuf-c declares strings without const; the answers are only read. */
#define S(text) ((char *)(uintptr_t)(text))

#define AGO(seconds) (TESTING_NOW - (seconds)*NSEC_PER_SEC)

static Maglev__RouterTraffic *traffic(void)
{
	static uint64_t answers[] = { 0, 900, 50, 40, 10 };
	static Maglev__RouterTraffic t;

	maglev__router_traffic__init(&t);
	t.requests = 1001;
	t.errors = 11;
	t.rate = 12.34;
	t.error_share = .025;
	t.p50 = INT64_C(420000);
	t.p99 = INT64_C(1234000000);
	t.retries = 3;
	t.aborts = 1;
	t.answers = answers;
	t.n_answers = ARRAY_SIZE(answers);
	return &t;
}

Maglev__RouterInfo *testing_router(void)
{
	static Maglev__RouterInfo r;

	maglev__router_info__init(&r);
	r.name = S("rt1");
	r.version = S("0.1.0");
	r.started = AGO(3600);
	r.threads = 2;
	r.generation = 7;
	r.source = S("rollback");
	r.loaded = AGO(60);
	r.config_error = S("router.yaml:3:5: pool: unknown");
	r.problem = S("pool blue has no server that gets requests");
	r.routes = 1;
	r.pools = 2;
	r.listeners = 1;
	r.generations_held = 2;
	r.clients = 10;
	r.server_connections = 4;
	r.traffic = traffic();
	return &r;
}

Maglev__ListListenersResponse *testing_listeners(void)
{
	static Maglev__RouterListener http, *listeners[] = { &http };
	static Maglev__ListListenersResponse list;

	maglev__list_listeners_response__init(&list);
	maglev__router_listener__init(&http);
	http.name = S("http");
	http.address = S(":80");
	http.protocol = S("http");
	http.routes = 1;
	list.listeners = listeners;
	list.n_listeners = ARRAY_SIZE(listeners);
	return &list;
}

static Maglev__RouterBackend *backend(Maglev__RouterBackend *b, const char *pool, uint32_t weight)
{
	maglev__router_backend__init(b);
	b->pool = S(pool);
	b->weight = weight;
	b->share = weight / 4.;
	b->servers = 2;
	b->usable = 1;
	return b;
}

Maglev__ListStreamsResponse *testing_streams(void)
{
	static char *listeners[1], *hosts[1];
	static Maglev__RouterBackend blue, green, *backends[2];
	static Maglev__RouterStream one, *streams[] = { &one };
	static Maglev__ListStreamsResponse list;

	maglev__list_streams_response__init(&list);
	maglev__router_stream__init(&one);
	listeners[0] = S("db");
	hosts[0] = S("db.example");
	backends[0] = backend(&blue, "blue", 3);
	backends[1] = backend(&green, "", 1);
	one.name = S("postgres");
	one.listeners = listeners;
	one.n_listeners = ARRAY_SIZE(listeners);
	one.hosts = hosts;
	one.n_hosts = ARRAY_SIZE(hosts);
	one.backends = backends;
	one.n_backends = ARRAY_SIZE(backends);
	one.idle_timeout = INT64_C(3600000000000);
	one.connections = 12;
	one.active = 3;
	one.aborts = 1;
	one.received = 4096;
	one.sent = 1048576;
	list.streams = streams;
	list.n_streams = ARRAY_SIZE(streams);
	return &list;
}

Maglev__RouterRoute *testing_route(void)
{
	static char *hosts[4], *matches[2], *moved_matches[1], *filters[2];
	static Maglev__RouterBackend blue, green, *backends[2];
	static Maglev__RouterRule shared, moved, *rules[] = { &shared, &moved };
	static Maglev__RouterRoute r;

	maglev__router_route__init(&r);
	maglev__router_rule__init(&shared);
	maglev__router_rule__init(&moved);
	hosts[0] = S("a.example");
	hosts[1] = S("b.example");
	hosts[2] = S("c.example");
	hosts[3] = S("*.d.example");
	matches[0] = S("prefix /v1");
	matches[1] = S("GET exact /status");
	moved_matches[0] = S("prefix /old");
	filters[0] = S("strips the prefix");
	filters[1] = S("cors");
	backends[0] = backend(&blue, "blue", 3);
	backends[1] = backend(&green, "green", 1);
	shared.name = S("api/0");
	shared.matches = matches;
	shared.n_matches = ARRAY_SIZE(matches);
	shared.backends = backends;
	shared.n_backends = ARRAY_SIZE(backends);
	shared.filters = filters;
	shared.n_filters = ARRAY_SIZE(filters);
	moved.name = S("api/1");
	moved.matches = moved_matches;
	moved.n_matches = ARRAY_SIZE(moved_matches);
	moved.redirect = S("301 to https");
	r.name = S("api");
	r.position = 1;
	r.hosts = hosts;
	r.n_hosts = ARRAY_SIZE(hosts);
	r.rules = rules;
	r.n_rules = ARRAY_SIZE(rules);
	r.traffic = traffic();
	return &r;
}

Maglev__ListRoutesResponse *testing_routes(void)
{
	static Maglev__RouterBackend green, *backends[1];
	static Maglev__RouterRule rule, *rules[] = { &rule };
	static Maglev__RouterRoute fallback, *routes[2];
	static Maglev__ListRoutesResponse list;

	maglev__list_routes_response__init(&list);
	maglev__router_route__init(&fallback);
	maglev__router_rule__init(&rule);
	backends[0] = backend(&green, "green", 1);
	rule.name = S("default");
	rule.backends = backends;
	rule.n_backends = ARRAY_SIZE(backends);
	fallback.name = S("(default)");
	fallback.fallback = true;
	fallback.rules = rules;
	fallback.n_rules = ARRAY_SIZE(rules);
	routes[0] = &fallback;
	routes[1] = testing_route();
	list.routes = routes;
	list.n_routes = ARRAY_SIZE(routes);
	return &list;
}

static Maglev__RouterServer **servers(void)
{
	static Maglev__RouterServer up, down, *list[] = { &up, &down };
	static Maglev__RouterLoad load;

	maglev__router_server__init(&up);
	maglev__router_server__init(&down);
	maglev__router_load__init(&load);
	load.active = 2;
	load.connections = 3;
	load.kept = 1;
	up.host = S("10.0.0.1");
	up.port = 8080;
	up.state = S("up");
	up.since = AGO(192);
	up.weight = 2;
	up.share = 1;
	up.load = &load;
	up.traffic = traffic();
	down.host = S("2001:db8::1");
	down.port = 8080;
	down.state = S("down");
	down.since = AGO(5);
	down.reason = S("L4CON: connection refused");
	down.weight = 1;
	return list;
}

Maglev__RouterPool *testing_pool(void)
{
	static char *routes[1];
	static Maglev__RouterPool p;

	maglev__router_pool__init(&p);
	routes[0] = S("api");
	p.name = S("blue");
	p.balance = S("least_request");
	p.probed = true;
	p.servers = servers();
	p.n_servers = 2;
	p.usable = 1;
	p.routes = routes;
	p.n_routes = ARRAY_SIZE(routes);
	p.traffic = traffic();
	return &p;
}

Maglev__ListPoolsResponse *testing_pools(void)
{
	static Maglev__RouterPool green, *pools[2];
	static Maglev__ListPoolsResponse list;

	maglev__list_pools_response__init(&list);
	maglev__router_pool__init(&green);
	green.name = S("green");
	green.position = 1;
	green.balance = S("round_robin");
	pools[0] = testing_pool();
	pools[1] = &green;
	list.pools = pools;
	list.n_pools = ARRAY_SIZE(pools);
	return &list;
}

Maglev__ListGenerationsResponse *testing_generations(void)
{
	static Maglev__RouterGeneration seven, six, *generations[] = { &seven, &six };
	static Maglev__ListGenerationsResponse list;

	maglev__list_generations_response__init(&list);
	maglev__router_generation__init(&seven);
	maglev__router_generation__init(&six);
	seven.number = 7;
	seven.at = AGO(60);
	seven.source = S("rollback");
	seven.listeners = seven.routes = 1;
	seven.pools = 2;
	seven.in_force = seven.held = seven.compared = true;
	seven.added = 1;
	seven.removed = 1;
	seven.changed = 1;
	seven.of = 5;
	seven.peer = S("127.0.0.1");
	six.number = 6;
	six.at = AGO(3600);
	six.source = S("file");
	six.held = true;
	list.generations = generations;
	list.n_generations = ARRAY_SIZE(generations);
	return &list;
}

Maglev__GenerationDiff *testing_generation(void)
{
	static Maglev__GenerationChange added, removed, changed,
		*changes[] = { &added, &removed, &changed };
	static Maglev__GenerationDiff d;

	maglev__generation_diff__init(&d);
	maglev__generation_change__init(&added);
	maglev__generation_change__init(&removed);
	maglev__generation_change__init(&changed);
	added.kind = removed.kind = S("route");
	added.name = S("api");
	added.change = S("added");
	added.after = S("{\"name\":\"api\"}");
	removed.name = S("old");
	removed.change = S("removed");
	changed.kind = S("pool");
	changed.name = S("blue");
	changed.change = S("changed");
	changed.before = S("{\"name\":\"blue\",\"servers\":[]}");
	changed.after = S("{\"name\":\"blue\",\"servers\":[\"10.0.0.1:8080\"]}");
	d.number = 7;
	d.from = 6;
	d.changes = changes;
	d.n_changes = ARRAY_SIZE(changes);
	d.left_out = 2;
	return &d;
}

Maglev__RequestExplanation *testing_route_for(void)
{
	static Maglev__RequestCandidate canary, api, *candidates[] = { &canary, &api };
	static Maglev__ExplainedBackend blue, *backends[] = { &blue };
	static Maglev__RequestExplanation e;

	maglev__request_explanation__init(&e);
	maglev__request_candidate__init(&canary);
	maglev__request_candidate__init(&api);
	maglev__explained_backend__init(&blue);
	canary.route = S("canary");
	canary.rule = S("canary");
	canary.host = S("a.example");
	canary.match = S("prefix /v1, header x-canary: 1");
	canary.reason = S("there is no header x-canary");
	api.route = S("api");
	api.rule = S("api/0");
	api.host = S("a.example");
	api.match = S("prefix /v1");
	api.applies = true;
	blue.pool = S("blue");
	blue.weight = 3;
	blue.share = .75;
	blue.servers = servers();
	blue.n_servers = 2;
	e.outcome = S("forward");
	e.summary = S("75 % to pool blue, 25 % to pool green");
	e.listener = S("http");
	e.host = S("a.example");
	e.route = S("api");
	e.rule = S("api/0");
	e.match = S("prefix /v1");
	e.candidates = candidates;
	e.n_candidates = ARRAY_SIZE(candidates);
	e.left_out = 4;
	e.backends = backends;
	e.n_backends = ARRAY_SIZE(backends);
	e.generation = 7;
	return &e;
}
