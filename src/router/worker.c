/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/worker.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "src/router/internal.h"

#define CLIENTS 10000
#define SWEEP 1.       /* s */
#define DRAIN_SWEEP .1 /* s, while draining */

/* A listening socket on its way to the thread. */
struct socket_gift {
	struct socket_gift *next;
	struct endpoint at;
	int fd;
	uint64_t generation; /* that it is for */
};

/* ---- servers ---- */

static void end_kept(struct slot *slot)
{
	struct link *l;

	while ((l = TAILQ_FIRST(&slot->kept)))
		link_free(l);
}

struct slot *worker_slot(struct worker *w, const struct server *server)
{
	uint32_t i = server->number;

	if (i >= w->n_slots) {
		uint32_t n = (i + 1) * 2;

		w->slots = mem_resize(w->slots, n, sizeof(*w->slots));
		memset(w->slots + w->n_slots, 0, (n - w->n_slots) * sizeof(*w->slots));
		w->n_slots = n;
	}
	if (!w->slots[i]) {
		w->slots[i] = mem_zalloc(sizeof(*w->slots[i]));
		TAILQ_INIT(&w->slots[i]->kept);
	}
	if (w->slots[i]->id != server->id) {
		end_kept(w->slots[i]); /* of a server that no generation has any more */
		w->slots[i]->id = server->id;
		w->slots[i]->stats = stats_cell(w->config.stats, STATS_SERVER, i, server->id);
	}
	return w->slots[i];
}

static void free_slots(struct worker *w)
{
	while (!TAILQ_EMPTY(&w->leaving))
		link_free(TAILQ_FIRST(&w->leaving));
	for (uint32_t i = 0; i < w->n_slots; i++) {
		if (w->slots[i])
			end_kept(w->slots[i]);
		free(w->slots[i]);
	}
	free(w->slots);
}

/* ---- eras ---- */

static struct era *era_new(struct generation *g)
{
	struct era *e = mem_zalloc(sizeof(*e));

	e->generation = g;
	e->turns = mem_zalloc((g->config.n_pools + 1) * sizeof(*e->turns));
	e->users = 1;
	return e;
}

void worker_release_era(struct worker *w, struct era *e)
{
	if (--e->users)
		return;
	if (generation_release(e->generation))
		w->config.retired(e->generation, w->config.user);
	free(e->turns);
	free(e);
}

/* ---- ports ---- */

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	client_new(user, fd, peer);
}

static void on_starved(int error, void *user)
{
}

/* Connections that wait are accepted first, unless another process has the socket. */
static void close_port(struct port *p)
{
	if (!p->open)
		return;
	if (p->worker->phase == WORKER_HAND_OVER)
		stream_listener_leave(&p->listener);
	else
		stream_listener_drain(&p->listener);
	p->open = false;
}

/*
 * The thread may have missed the generation that closed the address. Then the old socket is closed
 * now, and connections that wait at it are accepted first.
 */
static void close_same(struct worker *w, const struct socket_gift *gift)
{
	struct port *p;

	TAILQ_FOREACH(p, &w->ports, all)
	{
		if (p->generation < gift->generation && endpoint_cmp(&p->at, &gift->at) == 0)
			close_port(p);
	}
}

static void open_port(struct worker *w, const struct socket_gift *gift)
{
	const struct stream_listener_config config = { .max_open = w->config.limits.clients };
	struct port *p = mem_zalloc(sizeof(*p));
	const struct stream_listener_events events = { .accepted = on_accepted,
						       .starved = on_starved,
						       .user = p };

	close_same(w, gift);
	p->worker = w;
	p->at = gift->at;
	p->listener.fd = -1;
	p->generation = gift->generation;
	p->rules = w->era ? generation_port(w->era->generation, &p->at) : NULL;
	TAILQ_INSERT_TAIL(&w->ports, p, all);
	p->open = stream_listener_adopt(&p->listener, w->loop, gift->fd, &config, &events) == 0;
	if (!p->open)
		close(gift->fd);
}

static void put_gift(struct worker *w, struct socket_gift *gift)
{
	gift->next = atomic_load(&w->gifts);
	while (!atomic_compare_exchange_weak(&w->gifts, &gift->next, gift))
		;
}

/* Sockets of a later generation wait for it: this one would close them. */
static void take_gifts(struct worker *w, uint64_t generation)
{
	struct socket_gift *gift = atomic_exchange(&w->gifts, NULL);

	while (gift) {
		struct socket_gift *next = gift->next;

		if (gift->generation > generation) {
			put_gift(w, gift);
		} else {
			open_port(w, gift);
			free(gift);
		}
		gift = next;
	}
}

static void free_port(struct worker *w, struct port *p)
{
	close_port(p);
	TAILQ_REMOVE(&w->ports, p, all);
	free(p);
}

/* Ports that the generation does not have are closed; those without clients are forgotten. */
static void match_ports(struct worker *w)
{
	struct port *p = TAILQ_FIRST(&w->ports), *next;

	for (; p; p = next) {
		next = TAILQ_NEXT(p, all);
		p->rules = w->era ? generation_port(w->era->generation, &p->at) : NULL;
		if (!p->rules || w->phase >= WORKER_DRAIN)
			close_port(p);
		if (!p->open && !p->clients && p->listener.fd < 0)
			free_port(w, p);
	}
}

/* ---- what other threads say ---- */

static void take_generation(struct worker *w)
{
	struct generation *g = atomic_exchange(&w->pending, NULL);
	struct era *old = w->era;
	struct client *c, *next;

	if (!g)
		return;
	w->era = era_new(g);
	take_gifts(w, g->number);
	match_ports(w);
	for (c = TAILQ_FIRST(&w->clients); c; c = next) {
		next = TAILQ_NEXT(c, all);
		if (!c->port->rules)
			client_drain(c);
	}
	if (old)
		worker_release_era(w, old);
}

/* ---- silence ---- */

static void on_sweep(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct worker *w = container_of(timer, struct worker, sweep);
	ev_tstamp now = ev_now(loop);
	struct client *c, *next;

	for (c = TAILQ_FIRST(&w->clients); c; c = next) {
		next = TAILQ_NEXT(c, all);
		client_sweep(c, now);
	}
	for (uint32_t i = 0; i < w->n_slots; i++)
		if (w->slots[i])
			link_sweep(w->slots[i], now);
}

static void on_drain_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

void worker_look(struct worker *w)
{
	if (w->phase >= WORKER_DRAIN && !w->n_clients) {
		ev_timer_stop(w->loop, &w->drain_limit);
		ev_break(w->loop, EVBREAK_ALL);
	}
}

static void limit_drain(struct worker *w)
{
	const struct worker_limits *l = &w->config.limits;
	int64_t limit = w->phase == WORKER_HAND_OVER ? l->leave_time : l->drain_time;

	ev_timer_set(&w->drain_limit, loop_seconds(limit), 0.);
	ev_timer_start(w->loop, &w->drain_limit);
	ev_timer_set(&w->sweep, DRAIN_SWEEP, DRAIN_SWEEP);
	ev_timer_again(w->loop, &w->sweep);
}

static void take_drain(struct worker *w)
{
	unsigned phase = atomic_load(&w->drain);
	struct client *c;

	if (w->phase >= phase)
		return;
	w->phase = phase;
	TAILQ_FOREACH(c, &w->clients, all)
	{
		c->last = true;
	}
	if (phase < WORKER_DRAIN)
		return;
	w->drain_began = ev_now(w->loop);
	match_ports(w);
	limit_drain(w);
	worker_look(w);
}

static void on_wake(struct ev_loop *loop, ev_async *async, int revents)
{
	struct worker *w = container_of(async, struct worker, wake);

	take_generation(w);
	if (w->era)
		take_gifts(w, w->era->generation->number);
	take_drain(w);
	if (atomic_load(&w->stop))
		ev_break(loop, EVBREAK_ALL);
}

void worker_wake(struct worker *w)
{
	ev_async_send(w->loop, &w->wake);
}

void worker_publish(struct worker *w, struct generation *g)
{
	struct generation *late = atomic_exchange(&w->pending, g);

	if (late && generation_release(late))
		w->config.retired(late, w->config.user);
	ev_async_send(w->loop, &w->wake);
}

void worker_give_socket(struct worker *w, const struct endpoint *at, int fd, uint64_t generation)
{
	struct socket_gift *gift = mem_zalloc(sizeof(*gift));

	gift->at = *at;
	gift->fd = fd;
	gift->generation = generation;
	put_gift(w, gift);
}

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void worker_add_totals(const struct worker *w, struct worker_totals *t)
{
	const struct counters *c = &w->counters;

	t->requests += read_counter(&c->requests);
	t->retries += read_counter(&c->retries);
	t->aborts += read_counter(&c->aborts);
	t->clients += read_counter(&c->clients);
	t->links += read_counter(&c->links);
	for (size_t i = 0; i < WORKER_CLASSES; i++)
		t->answers[i] += read_counter(&c->answers[i]);
}

void worker_drain(struct worker *w, enum worker_drain how)
{
	atomic_store(&w->drain, how);
	worker_wake(w);
}

/* ---- the thread ---- */

static void clean_up(struct worker *w)
{
	struct client *c, *next;
	struct port *p;

	TAILQ_FOREACH(p, &w->ports, all)
	{
		stream_listener_close(&p->listener); /* nothing is accepted any more */
		p->open = false;
	}
	for (c = TAILQ_FIRST(&w->clients); c; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->x)
			exchange_drop(c->x);
		else
			client_free(c);
	}
	while (!TAILQ_EMPTY(&w->ports))
		free_port(w, TAILQ_FIRST(&w->ports));
	free_slots(w);
	w->slots = NULL;
	w->n_slots = 0;
	if (w->era)
		worker_release_era(w, TAKE_PTR(w->era));
}

static void *run(void *user)
{
	struct worker *w = user;

	ev_run(w->loop, 0);
	clean_up(w);
	if (w->phase >= WORKER_DRAIN)
		w->config.drained(w->config.user);
	return NULL;
}

static void set_defaults(struct worker_limits *l)
{
	l->clients = l->clients ?: CLIENTS;
	l->head_time = l->head_time ?: 10 * NSEC_PER_SEC;
	l->idle_time = l->idle_time ?: 60 * NSEC_PER_SEC;
	l->stall_time = l->stall_time ?: 60 * NSEC_PER_SEC;
	l->tunnel_time = l->tunnel_time ?: 3600 * NSEC_PER_SEC;
	l->drain_time = l->drain_time ?: 30 * NSEC_PER_SEC;
	l->leave_time = l->leave_time ?: 600 * NSEC_PER_SEC;
}

struct worker *worker_new(const struct worker_config *config)
{
	struct worker *w = mem_zalloc(sizeof(*w));

	w->config = *config;
	set_defaults(&w->config.limits);
	w->loop = ev_loop_new(EVFLAG_AUTO);
	assert(w->loop);
	TAILQ_INIT(&w->ports);
	TAILQ_INIT(&w->clients);
	TAILQ_INIT(&w->leaving);
	if (getrandom(&w->random, sizeof(w->random), 0) < 0)
		w->random = (uint64_t)loop_realtime();
	ev_async_init(&w->wake, on_wake);
	ev_async_start(w->loop, &w->wake);
	ev_timer_init(&w->sweep, on_sweep, SWEEP, SWEEP);
	ev_timer_start(w->loop, &w->sweep);
	ev_init(&w->drain_limit, on_drain_limit);
	return w;
}

/* Signals are for the control thread. */
int worker_start(struct worker *w)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->running = r == 0;
	return r;
}

void worker_stop(struct worker *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, true);
	if (w->running) {
		ev_async_send(w->loop, &w->wake);
		pthread_join(w->thread, NULL);
	} else {
		clean_up(w);
	}
	take_generation(w);
	take_gifts(w, UINT64_MAX);
	clean_up(w);
	ev_async_stop(w->loop, &w->wake);
	ev_timer_stop(w->loop, &w->sweep);
	ev_timer_stop(w->loop, &w->drain_limit);
	ev_loop_destroy(w->loop);
	while (w->spare) {
		struct exchange *x = w->spare;

		w->spare = x->next;
		free(x);
	}
	buffers_free(&w->buffers);
	buf_free(&w->out);
	buf_free(&w->path);
	free(w);
}
