/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_items: the families of routes, pools and servers, one row each in the table below.
 *
 * The items of each kind are listed once. Those past the limit are added up first, a few per step;
 * then the families follow, item by item.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/grpc/grpc.h"
#include "lib/metrics/metrics.h"
#include "src/router/care.h"
#include "src/router/metrics_private.h"

#define STEP 64 /* items: less than 0.1 ms */
#define OTHER "other"

struct item {
	const struct name *name;	    /* of a route or stream */
	const struct generation_pool *pool; /* of a pool, and of a server */
	const struct server *server;
};

struct figures {
	struct stats_values v;
	uint64_t servers, usable; /* of a pool; of a server, usable is 0 or 1 */
	struct care_counts care;  /* of a server */
};

struct metrics_items {
	const struct stats *stats;
	size_t limit;
	VEC(struct item) lists[STATS_KINDS];
	struct figures others[STATS_KINDS];
	size_t n_others[STATS_KINDS];
	size_t summed; /* kinds whose others are complete */
	size_t family, at;
};

/* ---- which items there are ---- */

static bool is_route(const struct generation *g, const struct name *name)
{
	for (size_t i = 0; i < g->config.n_routes; i++)
		if (g->routes[i] == name)
			return true;
	return false;
}

static void list_routes(struct metrics_items *m, const struct generation *g)
{
	if (!is_route(g, g->unrouted))
		vec_push(&m->lists[STATS_ROUTE], (struct item){ .name = g->unrouted });
	if (g->fallback_name != g->unrouted && !is_route(g, g->fallback_name))
		vec_push(&m->lists[STATS_ROUTE], (struct item){ .name = g->fallback_name });
	for (size_t i = 0; i < g->config.n_routes; i++)
		vec_push(&m->lists[STATS_ROUTE], (struct item){ .name = g->routes[i] });
}

static void list_streams(struct metrics_items *m, const struct generation *g)
{
	for (size_t i = 0; i < g->config.n_streams; i++)
		vec_push(&m->lists[STATS_STREAM], (struct item){ .name = g->streams[i] });
}

/* A pool may name a server twice; it has its samples once. */
static void list_servers(struct metrics_items *m, const struct generation_pool *p, bool *seen)
{
	for (size_t k = 0; k < p->config->n_servers; k++) {
		const struct server *server = p->servers[k];

		if (!seen[server->number])
			vec_push(&m->lists[STATS_SERVER],
				 ((struct item){ .pool = p, .server = server }));
		seen[server->number] = true;
	}
}

static void list_pools(struct metrics_items *m, const struct generation *g)
{
	_cleanup_(cleanup_free) bool *seen = mem_zalloc(g->n_serving);

	for (size_t i = 0; i < g->config.n_pools; i++) {
		vec_push(&m->lists[STATS_POOL], (struct item){ .pool = &g->pools[i] });
		list_servers(m, &g->pools[i], seen);
	}
}

struct metrics_items *metrics__items_new(const struct stats *stats, const struct generation *g,
					 size_t limit)
{
	struct metrics_items *m = mem_zalloc(sizeof(*m));

	m->stats = stats;
	m->limit = limit;
	if (g) {
		list_routes(m, g);
		list_streams(m, g);
		list_pools(m, g);
	}
	return m;
}

void metrics__items_free(struct metrics_items *m)
{
	if (!m)
		return;
	for (size_t kind = 0; kind < STATS_KINDS; kind++)
		vec_free(&m->lists[kind]);
	free(m);
}

/* ---- figures ---- */

static const char *name_of(const struct item *item)
{
	return item->name ? item->name->text : item->pool->config->name;
}

/* An item whose name is that of the rest belongs to it. */
static bool is_own(const struct metrics_items *m, const struct item *item, size_t i)
{
	return i < m->limit && strcmp(name_of(item), OTHER) != 0;
}

static void read_figures(const struct stats *stats, enum stats_kind kind, const struct item *item,
			 struct figures *ret)
{
	*ret = (struct figures){ 0 };
	if (item->server) {
		stats_sum(stats, kind, item->server->number, item->server->id, &ret->v);
		ret->usable = server_is_usable(item->server);
		ret->care = care_counts(item->server);
		return;
	}
	if (item->name) {
		stats_sum(stats, kind, item->name->number, item->name->id, &ret->v);
		return;
	}
	stats_sum(stats, kind, item->pool->name->number, item->pool->name->id, &ret->v);
	ret->servers = item->pool->config->n_servers;
	for (size_t i = 0; i < ret->servers; i++)
		ret->usable += server_is_usable(item->pool->servers[i]);
}

/* The next few items of a kind into its others. True at the end of the list. */
static bool sum_others(struct metrics_items *m, enum stats_kind kind)
{
	size_t end = m->at + STEP < m->lists[kind].n ? m->at + STEP : m->lists[kind].n;

	for (; m->at < end; m->at++) {
		const struct item *item = &m->lists[kind].items[m->at];
		struct figures f;

		if (is_own(m, item, m->at))
			continue;
		read_figures(m->stats, kind, item, &f);
		m->n_others[kind]++;
		stats_add_values(&m->others[kind].v, &f.v);
		m->others[kind].servers += f.servers;
		m->others[kind].usable += f.usable;
		m->others[kind].care.passes += f.care.passes;
		m->others[kind].care.failures += f.care.failures;
		m->others[kind].care.ejections += f.care.ejections;
	}
	return m->at == m->lists[kind].n;
}

/* ---- samples ---- */

struct sample {
	struct buf *out;
	const char *name;
	struct metrics_label labels[3];
	size_t n;
	const struct figures *f;
};

struct row {
	const char *name;
	enum metrics_type type;
	const char *help;
	enum stats_kind kind;
	void (*write)(struct sample *s, unsigned what);
	unsigned what;
};

static void labelled(struct sample *s, const char *label, const char *value, uint64_t number)
{
	s->labels[s->n] = (struct metrics_label){ label, str_of(value) };
	metrics_u64(s->out, s->name, s->labels, s->n + 1, number);
}

static void counter(struct sample *s, unsigned what)
{
	metrics_u64(s->out, s->name, s->labels, s->n, s->f->v.counters[what]);
}

static void seconds(struct sample *s, unsigned what)
{
	metrics_double(s->out, s->name, s->labels, s->n, (double)s->f->v.counters[what] / 1e9);
}

static void classes(struct sample *s, unsigned what)
{
	for (unsigned i = 0; i < STATS_CLASSES; i++)
		labelled(s, "class", metrics__classes[i], s->f->v.counters[STATS_1XX + i]);
}

/* Most routes have no calls, and most calls few codes. */
static void codes(struct sample *s, unsigned what)
{
	for (unsigned i = 0; i < L7_GRPC_CODES; i++)
		if (s->f->v.counters[STATS_CODE + i])
			labelled(s, "grpc_status", grpc_status_name((enum grpc_status)i),
				 s->f->v.counters[STATS_CODE + i]);
}

static void failures(struct sample *s, unsigned what)
{
	labelled(s, "kind", "connect", s->f->v.counters[STATS_CONNECT]);
	labelled(s, "kind", "broken", s->f->v.counters[STATS_BROKEN]);
	labelled(s, "kind", "timeout", s->f->v.counters[STATS_TIMEOUT]);
}

static void connections(struct sample *s, unsigned what)
{
	uint64_t open = s->f->v.counters[STATS_OPEN], kept = s->f->v.counters[STATS_KEPT];

	labelled(s, "state", "used", open > kept ? open - kept : 0);
	labelled(s, "state", "kept", kept);
}

static void histogram(struct sample *s, const uint64_t *counts, uint64_t ns)
{
	static const struct metrics_bounds bounds = { buckets_seconds, BUCKETS_BOUNDS };
	struct metrics_histogram h = { .bounds = &bounds, .sum = (double)ns / 1e9 };

	_Static_assert(sizeof(h.buckets) == BUCKETS_N * sizeof(*counts), "same buckets");
	memcpy(h.buckets, counts, sizeof(h.buckets));
	metrics_histogram(s->out, s->name, s->labels, s->n, &h);
}

static void latency(struct sample *s, unsigned what)
{
	histogram(s, s->f->v.latency, s->f->v.counters[STATS_LATENCY]);
}

static void first_byte(struct sample *s, unsigned what)
{
	histogram(s, s->f->v.first, s->f->v.counters[STATS_FIRST]);
}

static void servers(struct sample *s, unsigned what)
{
	labelled(s, "state", "usable", s->f->usable);
	labelled(s, "state", "unusable", s->f->servers - s->f->usable);
}

static void usable(struct sample *s, unsigned what)
{
	metrics_u64(s->out, s->name, s->labels, s->n, s->f->usable);
}

static void probes(struct sample *s, unsigned what)
{
	labelled(s, "result", "success", s->f->care.passes);
	labelled(s, "result", "failure", s->f->care.failures);
}

static void ejections(struct sample *s, unsigned what)
{
	metrics_u64(s->out, s->name, s->labels, s->n, s->f->care.ejections);
}

static const struct row rows[] = {
	{ "maglev_router_route_requests_total", METRICS_COUNTER, "Requests of a route.",
	  STATS_ROUTE, counter, STATS_REQUESTS },
	{ "maglev_router_route_requests_active", METRICS_GAUGE,
	  "Requests of a route that are under way.", STATS_ROUTE, counter, STATS_ACTIVE },
	{ "maglev_router_route_answers_total", METRICS_COUNTER,
	  "Answers of a route, by the class of their status.", STATS_ROUTE, classes, 0 },
	{ "maglev_router_route_grpc_total", METRICS_COUNTER,
	  "Calls of gRPC of a route, by their code.", STATS_ROUTE, codes, 0 },
	{ "maglev_router_route_aborts_total", METRICS_COUNTER,
	  "Requests of a route that ended without a complete answer.", STATS_ROUTE, counter,
	  STATS_ABORTS },
	{ "maglev_router_route_retries_total", METRICS_COUNTER,
	  "Further tries of requests of a route.", STATS_ROUTE, counter, STATS_RETRIES },
	{ "maglev_router_route_request_bytes_total", METRICS_COUNTER,
	  "Bytes of the requests of a route.", STATS_ROUTE, counter, STATS_IN },
	{ "maglev_router_route_answer_bytes_total", METRICS_COUNTER,
	  "Bytes of the answers of a route.", STATS_ROUTE, counter, STATS_OUT },
	{ "maglev_router_route_latency_seconds", METRICS_HISTOGRAM,
	  "Time from the head of a request to the end of its answer.", STATS_ROUTE, latency, 0 },
	{ "maglev_router_route_first_byte_seconds", METRICS_HISTOGRAM,
	  "Time from the head of a request to the head of the server's answer.", STATS_ROUTE,
	  first_byte, 0 },
	{ "maglev_router_stream_connections_total", METRICS_COUNTER, "Connections of a stream.",
	  STATS_STREAM, counter, STATS_REQUESTS },
	{ "maglev_router_stream_connections_active", METRICS_GAUGE,
	  "Connections of a stream that are open.", STATS_STREAM, counter, STATS_ACTIVE },
	{ "maglev_router_stream_aborts_total", METRICS_COUNTER,
	  "Connections of a stream that found no server, or did not end on both sides.",
	  STATS_STREAM, counter, STATS_ABORTS },
	{ "maglev_router_stream_retries_total", METRICS_COUNTER,
	  "Further tries to connect to a server.", STATS_STREAM, counter, STATS_RETRIES },
	{ "maglev_router_stream_received_bytes_total", METRICS_COUNTER,
	  "Bytes from the clients of a stream.", STATS_STREAM, counter, STATS_IN },
	{ "maglev_router_stream_sent_bytes_total", METRICS_COUNTER,
	  "Bytes to the clients of a stream.", STATS_STREAM, counter, STATS_OUT },
	{ "maglev_router_stream_connect_seconds", METRICS_HISTOGRAM,
	  "Time until a connection of a stream had a server.", STATS_STREAM, first_byte, 0 },
	{ "maglev_router_pool_requests_total", METRICS_COUNTER, "Requests for a pool.", STATS_POOL,
	  counter, STATS_REQUESTS },
	{ "maglev_router_pool_requests_active", METRICS_GAUGE,
	  "Requests for a pool that are under way.", STATS_POOL, counter, STATS_ACTIVE },
	{ "maglev_router_pool_answers_total", METRICS_COUNTER,
	  "Answers to requests for a pool, by the class of their status.", STATS_POOL, classes, 0 },
	{ "maglev_router_pool_grpc_total", METRICS_COUNTER,
	  "Calls of gRPC for a pool, by their code.", STATS_POOL, codes, 0 },
	{ "maglev_router_pool_aborts_total", METRICS_COUNTER,
	  "Requests for a pool that ended without a complete answer.", STATS_POOL, counter,
	  STATS_ABORTS },
	{ "maglev_router_pool_retries_total", METRICS_COUNTER,
	  "Further tries of requests for a pool.", STATS_POOL, counter, STATS_RETRIES },
	{ "maglev_router_pool_latency_seconds", METRICS_HISTOGRAM,
	  "Time from the head of a request to the end of its answer.", STATS_POOL, latency, 0 },
	{ "maglev_router_pool_waiting", METRICS_GAUGE, "Requests that wait for a server of a pool.",
	  STATS_POOL, counter, STATS_WAITING },
	{ "maglev_router_pool_waited_total", METRICS_COUNTER,
	  "Requests that had to wait for a server of a pool.", STATS_POOL, counter, STATS_WAITED },
	{ "maglev_router_pool_overflows_total", METRICS_COUNTER,
	  "Requests that were refused because too many waited.", STATS_POOL, counter,
	  STATS_OVERFLOW },
	{ "maglev_router_pool_servers", METRICS_GAUGE, "Servers of a pool.", STATS_POOL, servers,
	  0 },
	{ "maglev_router_server_tries_total", METRICS_COUNTER,
	  "Requests that a server got and that have ended.", STATS_SERVER, counter,
	  STATS_REQUESTS },
	{ "maglev_router_server_tries_active", METRICS_GAUGE,
	  "Requests that are under way at a server.", STATS_SERVER, counter, STATS_ACTIVE },
	{ "maglev_router_server_answers_total", METRICS_COUNTER,
	  "Answers of a server, by the class of their status.", STATS_SERVER, classes, 0 },
	{ "maglev_router_server_failures_total", METRICS_COUNTER,
	  "Requests that a server did not answer.", STATS_SERVER, failures, 0 },
	{ "maglev_router_server_aborts_total", METRICS_COUNTER,
	  "Requests at a server that ended for another reason.", STATS_SERVER, counter,
	  STATS_ABORTS },
	{ "maglev_router_server_seconds_total", METRICS_COUNTER,
	  "Time that a server took for its answers.", STATS_SERVER, seconds, STATS_LATENCY },
	{ "maglev_router_server_usable", METRICS_GAUGE, "Whether a server can get requests.",
	  STATS_SERVER, usable, 0 },
	{ "maglev_router_server_probes_total", METRICS_COUNTER, "Probes of a server.", STATS_SERVER,
	  probes, 0 },
	{ "maglev_router_server_ejections_total", METRICS_COUNTER,
	  "How often a server was left out because requests failed.", STATS_SERVER, ejections, 0 },
	{ "maglev_router_server_links", METRICS_GAUGE, "Open connections to a server.",
	  STATS_SERVER, connections, 0 },
	{ "maglev_router_server_shared_links", METRICS_GAUGE,
	  "Open connections to a server that requests share, by HTTP/2.", STATS_SERVER, counter,
	  STATS_SHARED },
};

/* ---- the walk ---- */

static void write_sample(const struct row *row, const struct figures *f, struct str name,
			 struct str server, struct buf *out)
{
	static const char *const labels[STATS_KINDS] = { [STATS_ROUTE] = "route",
							 [STATS_STREAM] = "stream",
							 [STATS_POOL] = "pool",
							 [STATS_SERVER] = "pool" };
	struct sample s = { .out = out, .name = row->name, .n = 1, .f = f };

	s.labels[0] = (struct metrics_label){ labels[row->kind], name };
	if (row->kind == STATS_SERVER)
		s.labels[s.n++] = (struct metrics_label){ "server", server };
	row->write(&s, row->what);
}

static void write_item(const struct metrics_items *m, const struct row *row,
		       const struct item *item, struct buf *out)
{
	struct str server = item->server ? str_of(item->server->authority) : (struct str){ 0 };
	struct figures f;

	read_figures(m->stats, row->kind, item, &f);
	write_sample(row, &f, str_of(name_of(item)), server, out);
}

/* The next few items of a family. True at its end. */
static bool write_family(struct metrics_items *m, const struct row *row, struct buf *out)
{
	size_t n = m->lists[row->kind].n, end = m->at + STEP < n ? m->at + STEP : n;

	if (!m->at)
		metrics_family(out, row->name, row->type, row->help);
	for (; m->at < end; m->at++)
		if (is_own(m, &m->lists[row->kind].items[m->at], m->at))
			write_item(m, row, &m->lists[row->kind].items[m->at], out);
	if (m->at < n)
		return false;
	if (m->n_others[row->kind])
		write_sample(row, &m->others[row->kind], STR(OTHER), STR(OTHER), out);
	return true;
}

bool metrics__items_write(struct metrics_items *m, struct buf *out)
{
	if (m->summed < STATS_KINDS) {
		if (sum_others(m, (enum stats_kind)m->summed))
			m->summed++, m->at = 0;
		return true;
	}
	if (m->family == ARRAY_SIZE(rows))
		return false;
	if (write_family(m, &rows[m->family], out))
		m->family++, m->at = 0;
	return true;
}
