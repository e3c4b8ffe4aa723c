/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass over the names of one generation begins every second, unless the one before is still under
 * way. It holds its generation, because the configuration may change between two slices. What is
 * known of a name is at its number and belongs to its id, as the cells of stats.c.
 */
#include "src/router/rates.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/task.h"

#define PERIOD 1.  /* s */
#define AT_ONCE 16 /* names between two looks at the time */

struct figure {
	uint64_t id; /* 0: none */
	struct recent recent;
};

struct figures {
	struct figure *items; /* by number */
	uint32_t n;
};

struct rates {
	struct ev_loop *loop;
	struct router *router;
	struct figures kinds[STATS_KINDS];
	struct recent all;
	float latency[BUCKETS_N];   /* of all routes of the pass under way */
	struct generation *g;	    /* of that pass; NULL: there is none */
	size_t route, pool, server; /* where it is */
	struct task work;
	ev_timer tick;
};

/* ---- one name ---- */

/* Calls whose code is a failure; their status is 200. */
static uint64_t failed_calls(const struct stats_values *v)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < L7_GRPC_CODES; i++)
		if (l7_grpc_failed((enum l7_grpc_code)i))
			n += v->counters[STATS_CODE + i];
	return n;
}

uint64_t rates_errors(enum stats_kind kind, const struct stats_values *v)
{
	uint64_t n = v->counters[STATS_5XX] + v->counters[STATS_ABORTS] + failed_calls(v);

	if (kind == STATS_SERVER)
		n += v->counters[STATS_CONNECT] + v->counters[STATS_BROKEN] +
		     v->counters[STATS_TIMEOUT];
	return n;
}

static struct figure *place(struct figures *f, uint32_t number)
{
	uint32_t n = f->n ? f->n : 64;

	if (number < f->n)
		return &f->items[number];
	while (n <= number)
		n *= 2;
	f->items = mem_resize(f->items, n, sizeof(*f->items));
	for (uint32_t i = f->n; i < n; i++)
		f->items[i] = (struct figure){ 0 };
	f->n = n;
	return &f->items[number];
}

static struct recent_reading read_values(const struct rates *s, const struct rates_key *key)
{
	struct recent_reading reading;
	struct stats_values v;

	stats_sum(router_stats(s->router), key->kind, key->number, key->id, &v);
	reading.requests = v.counters[STATS_REQUESTS];
	reading.errors = rates_errors(key->kind, &v);
	for (size_t i = 0; i < BUCKETS_N; i++)
		reading.latency[i] = v.latency[i];
	return reading;
}

static void read_one(struct rates *s, const struct rates_key *key)
{
	struct figure *f = place(&s->kinds[key->kind], key->number);
	struct recent_reading reading = read_values(s, key);

	if (f->id != key->id)
		*f = (struct figure){ .id = key->id };
	recent_add(&f->recent, &reading, loop_monotonic());
	for (size_t i = 0; key->kind == STATS_ROUTE && i < BUCKETS_N; i++)
		s->latency[i] += f->recent.latency[i];
}

static void read_name(struct rates *s, enum stats_kind kind, const struct name *name)
{
	read_one(s, &(struct rates_key){ kind, name->number, name->id });
}

/* ---- a pass ---- */

/* Reads the next name. False: that was the last one. */
static bool step(struct rates *s)
{
	const struct l7_config *c = &s->g->config;

	if (s->route < c->n_routes) {
		read_name(s, STATS_ROUTE, s->g->routes[s->route++]);
		return true;
	}
	if (s->pool == c->n_pools)
		return false;
	if (s->server < c->pools[s->pool].n_servers) {
		const struct server *server = s->g->pools[s->pool].servers[s->server++];

		read_one(s, &(struct rates_key){ STATS_SERVER, server->number, server->id });
		return true;
	}
	read_name(s, STATS_POOL, s->g->pools[s->pool++].name);
	s->server = 0;
	return true;
}

static void end(struct rates *s)
{
	router_release(s->router, TAKE_PTR(s->g));
}

/* The totals of the threads only grow; a sum over routes would not, when one of them goes. */
static void read_all(struct rates *s)
{
	struct worker_totals t = router_totals(s->router);
	const struct recent_reading reading = { .requests = t.requests,
						.errors =
							t.answers[WORKER_CLASSES - 1] + t.aborts };

	recent_add(&s->all, &reading, loop_monotonic());
	memcpy(s->all.latency, s->latency, sizeof(s->all.latency));
}

static void finish(struct rates *s)
{
	read_name(s, STATS_ROUTE, s->g->fallback_name);
	if (s->g->unrouted != s->g->fallback_name)
		read_name(s, STATS_ROUTE, s->g->unrouted);
	read_all(s);
	end(s);
}

static bool on_work(struct task *t)
{
	struct rates *s = container_of(t, struct rates, work);

	while (s->g && task_has_time(s->loop))
		for (unsigned i = 0; s->g && i < AT_ONCE; i++)
			if (!step(s))
				finish(s);
	return s->g;
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct rates *s = container_of(timer, struct rates, tick);

	if (s->g)
		return;
	s->g = router_hold(s->router);
	s->route = s->pool = s->server = 0;
	memset(s->latency, 0, sizeof(s->latency));
	if (s->g)
		task_wake(&s->work);
}

/* ---- the door ---- */

struct rates *rates_new(struct ev_loop *loop, struct router *r)
{
	struct rates *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->router = r;
	task_init(&s->work, loop, TASK_ORDINARY, on_work);
	ev_timer_init(&s->tick, on_tick, PERIOD, PERIOD);
	ev_timer_start(loop, &s->tick);
	return s;
}

void rates_free(struct rates *s)
{
	if (!s)
		return;
	task_cancel(&s->work);
	ev_timer_stop(s->loop, &s->tick);
	if (s->g)
		end(s);
	for (size_t i = 0; i < STATS_KINDS; i++)
		free(s->kinds[i].items);
	free(s);
}

struct recent_figures rates_of(const struct rates *s, const struct rates_key *key)
{
	const struct figures *f = &s->kinds[key->kind];

	if (key->number >= f->n || f->items[key->number].id != key->id)
		return (struct recent_figures){ 0 };
	return recent_figures(&f->items[key->number].recent);
}

struct recent_figures rates_of_all(const struct rates *s)
{
	return recent_figures(&s->all);
}
