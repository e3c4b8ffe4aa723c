/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/router.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "src/router/care.h"

struct router {
	struct ev_loop *loop;
	struct router_config config;
	struct worker **workers;
	struct generation_shared shared;
	struct stats *stats;
	struct care *care;
	struct generation *current; /* with a reference of its own */
	uint64_t number;
	struct sockets sockets;
	size_t generations;
	ev_async said;			      /* a thread has something to say */
	_Atomic(struct generation *) retired; /* list: to be freed */
	atomic_uint drained;		      /* threads that have ended */
	bool draining;			      /* until all threads have ended */
	bool stopping;			      /* from the beginning of the drain on */
	bool frozen;			      /* a new process is taking over */
	bool waiting;			      /* for router_accept() */
};

/* ---- what data threads say ---- */

static void free_retired(struct router *r)
{
	struct generation *g = atomic_exchange(&r->retired, NULL);

	while (g) {
		struct generation *next = g->next;

		generation_free(g);
		r->generations--;
		g = next;
	}
}

static void on_retired(struct generation *g, void *user)
{
	struct router *r = user;

	g->next = atomic_load(&r->retired);
	while (!atomic_compare_exchange_weak(&r->retired, &g->next, g))
		;
	ev_async_send(r->loop, &r->said);
}

static void on_drained(void *user)
{
	struct router *r = user;

	atomic_fetch_add(&r->drained, 1);
	ev_async_send(r->loop, &r->said);
}

static void on_said(struct ev_loop *loop, ev_async *async, int revents)
{
	struct router *r = container_of(async, struct router, said);

	free_retired(r);
	if (r->draining && atomic_load(&r->drained) == r->config.threads) {
		r->draining = false;
		r->config.drained(r->config.user);
	}
}

/* ---- sockets ---- */

static int open_ports(struct router *r, const struct generation *g, struct buf *why)
{
	int error = 0;

	for (size_t i = 0; i < g->n_ports && error == 0; i++)
		error = sockets_open(&r->sockets, &g->ports[i].at, r->config.threads, why);
	return error;
}

/* Each thread of an address gets one, and more if there are more sockets than threads. */
static void give_sockets(struct router *r)
{
	for (size_t i = 0; i < r->sockets.n; i++) {
		struct router_socket *s = &r->sockets.items[i];

		if (!s->given)
			worker_give_socket(r->workers[s->turn % r->config.threads], &s->at, s->fd,
					   r->number);
		s->given = true;
	}
}

/* ---- generations ---- */

static void retire(struct router *r, struct generation *g)
{
	if (!generation_release(g))
		return;
	generation_free(g);
	r->generations--;
}

static const char *listener_name(const struct generation *g, const struct endpoint *at)
{
	return g->config.listeners[generation_port(g, at)->listeners[0]].name;
}

/* Says which addresses are new in g, and which the one before had and g has not. */
static void log_ports(const struct router *r, const struct generation *g,
		      const struct generation *old)
{
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; i < r->sockets.n; i++) {
		const struct router_socket *s = &r->sockets.items[i];

		if (!s->given && !s->turn)
			log_info("listening", LOG_S("for", listener_name(g, &s->at)),
				 LOG_S("addr", endpoint_format(&s->bound, text)));
	}
	for (size_t i = 0; old && i < old->n_ports; i++)
		if (!generation_port(g, &old->ports[i].at))
			log_info("listener-closed",
				 LOG_S("for", listener_name(old, &old->ports[i].at)),
				 LOG_S("addr", endpoint_format(&old->ports[i].at, text)));
}

static void publish(struct router *r, struct generation *g)
{
	struct generation *old = r->current;

	sockets_match(&r->sockets, g);
	log_ports(r, g, old);
	if (!r->waiting)
		give_sockets(r);
	r->current = g;
	care_follow(r->care, (const struct generation *const *)&r->current, 1);
	for (unsigned i = 0; i < r->config.threads; i++) {
		generation_hold(g);
		worker_publish(r->workers[i], g);
	}
	if (old)
		retire(r, old);
}

/* Why no configuration can be applied now; 0: it can. */
static int check_state(const struct router *r, struct buf *why)
{
	if (r->frozen) {
		buf_adds(why, "a new process is taking over: try again");
		return -EAGAIN;
	}
	if (r->stopping) { /* no thread would serve new addresses */
		buf_adds(why, "the router is stopping");
		return -ESHUTDOWN;
	}
	return 0;
}

int router_apply(struct router *r, struct settings *settings, struct buf *why)
{
	size_t before = r->sockets.n;
	struct generation *g;
	int error = check_state(r, why);

	if (error < 0) {
		settings_free(settings);
		return error;
	}
	g = generation_new(settings, &r->shared, r->number + 1);
	error = open_ports(r, g, why);
	r->generations++;
	if (error < 0) {
		sockets_cut(&r->sockets, before);
		retire(r, g);
	} else {
		r->number++;
		publish(r, g);
	}
	return error;
}

const struct generation *router_current(const struct router *r)
{
	return r->current;
}

struct generation *router_hold(struct router *r)
{
	if (r->current)
		generation_hold(r->current);
	return r->current;
}

void router_release(struct router *r, struct generation *g)
{
	if (g)
		retire(r, g);
}

size_t router_generations(const struct router *r)
{
	return r->generations;
}

struct worker_totals router_totals(const struct router *r)
{
	struct worker_totals totals = { 0 };

	for (unsigned i = 0; i < r->config.threads; i++)
		worker_add_totals(r->workers[i], &totals);
	return totals;
}

const struct stats *router_stats(const struct router *r)
{
	return r->stats;
}

/* ---- the door ---- */

static int start_workers(struct router *r)
{
	for (unsigned i = 0; i < r->config.threads; i++) {
		const struct worker_config config = { .number = i,
						      .limits = r->config.limits,
						      .stats = stats_thread(r->stats, i),
						      .retired = on_retired,
						      .drained = on_drained,
						      .user = r };
		int error;

		r->workers[i] = worker_new(&config);
		error = worker_start(r->workers[i]);
		if (error < 0)
			return error;
	}
	return 0;
}

int router_new(struct ev_loop *loop, const struct router_config *config, struct router **ret)
{
	struct router *r = mem_zalloc(sizeof(*r));
	int error;

	r->loop = loop;
	r->config = *config;
	r->shared = (struct generation_shared){ servers_new(), names_new(), names_new() };
	r->stats = stats_new(config->threads);
	r->care = care_new(loop, r->shared.servers, config->user_agent);
	r->workers = mem_zalloc(config->threads * sizeof(struct worker *));
	ev_async_init(&r->said, on_said);
	ev_async_start(loop, &r->said);
	error = start_workers(r);
	if (error < 0) {
		router_free(r);
		return error;
	}
	*ret = r;
	return 0;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_stop(r->workers[i]);
	care_free(r->care);
	free_retired(r);
	if (r->current)
		retire(r, r->current);
	ev_async_stop(r->loop, &r->said);
	sockets_free(&r->sockets);
	servers_free(r->shared.servers);
	names_free(r->shared.routes);
	names_free(r->shared.pools);
	stats_free(r->stats);
	free(r->workers);
	free(r);
}

static void drain(struct router *r, enum worker_drain how)
{
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_drain(r->workers[i], how);
}

void router_announce(struct router *r)
{
	drain(r, WORKER_ANNOUNCE);
}

void router_drain(struct router *r)
{
	r->draining = r->stopping = true;
	drain(r, WORKER_DRAIN);
}

/* ---- another process ---- */

int router_inherit(struct router *r, const struct endpoint *at, int fd)
{
	r->waiting = true;
	return sockets_adopt(&r->sockets, at, fd);
}

void router_resume(struct router *r, uint64_t number)
{
	r->number = number - 1;
}

void router_accept(struct router *r)
{
	r->waiting = false;
	give_sockets(r);
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_wake(r->workers[i]);
}

const struct sockets *router_sockets(const struct router *r)
{
	return &r->sockets;
}

void router_freeze(struct router *r, bool frozen)
{
	r->frozen = frozen;
}

void router_hand_over(struct router *r)
{
	r->draining = r->stopping = true;
	drain(r, WORKER_HAND_OVER);
}
