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
#include "core/l7/rollout.h"
#include "lib/log/log.h"
#include "lib/tls/tls.h"
#include "src/router/datagrams.h"
#include "src/router/flow_pass.h"
#include "src/router/internal.h"
#include "src/router/trunk.h"

#define SWEEP 1. /* s */

/* A listening socket on its way to the thread. */
struct socket_gift {
	struct socket_gift *next;
	struct worker_socket socket;
};

/* What the control thread has published last. */
struct edition {
	struct generation *generation;
	struct worker_trial trial;
};

/* ---- servers ---- */

static void detach(struct slot *slot)
{
	link_end_kept(slot);
	trunk_detach(slot);
	tls_session_free(TAKE_PTR(slot->session));
	free(TAKE_PTR(slot->addresses));
	if (!slot->seats)
		return;
	TAILQ_REMOVE(&slot->side->slots, slot, of_side);
	seats_release(slot->seats);
}

/*
 * The server that the slot belonged to is one that no generation has any more. Relays may still use
 * it; they do not count here any more.
 */
static void attach(struct worker *w, struct slot *slot, const struct server *server)
{
	detach(slot);
	slot->n_open = slot->active = 0;
	slot->id = server->id;
	slot->stats = stats_cell(w->config.stats, STATS_SERVER, server->number, server->id);
	slot->seats = server->seats;
	seats_hold(slot->seats);
	slot->side = &slot->seats->quota->sides[w->config.number];
	TAILQ_INSERT_TAIL(&slot->side->slots, slot, of_side);
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
		TAILQ_INIT(&w->slots[i]->trunks);
		w->slots[i]->speaks = L7_AUTO;
	}
	if (w->slots[i]->id != server->id)
		attach(w, w->slots[i], server);
	return w->slots[i];
}

void worker_judge(struct worker *w, struct server *server, const struct l7_ejection *rule,
		  bool failed)
{
	atomic_uint *failures = &server->failures;

	if (!rule->failures)
		return;
	if (failed) {
		unsigned n = atomic_fetch_add_explicit(failures, 1, memory_order_relaxed) + 1;

		if (n % rule->failures == 0)
			w->config.suspect(server, w->config.user);
	} else if (atomic_load_explicit(failures, memory_order_relaxed)) {
		atomic_store_explicit(failures, 0, memory_order_relaxed);
	}
}

static void free_slots(struct worker *w)
{
	while (!TAILQ_EMPTY(&w->leaving))
		link_free(TAILQ_FIRST(&w->leaving));
	for (uint32_t i = 0; i < w->n_slots; i++) {
		if (w->slots[i])
			detach(w->slots[i]);
		free(w->slots[i]);
	}
	free(w->slots);
}

/* ---- eras ---- */

static struct era *era_new(struct worker *w, struct generation *g)
{
	struct era *e = mem_zalloc(sizeof(*e));

	e->generation = g;
	e->tally = &g->tallies->threads[w->config.number];
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

/* The era of a generation, whose reference it takes; NULL without one. */
static struct era *era_of(struct worker *w, struct generation *g)
{
	struct era *present[] = { w->era, w->trial };

	for (size_t i = 0; i < ARRAY_SIZE(present); i++)
		if (present[i] && present[i]->generation == g) {
			present[i]->users++;
			generation_release(g); /* the era has one already */
			return present[i];
		}
	return g ? era_new(w, g) : NULL;
}

/* IPv6 clients change the lower half of their address. */
struct era *worker_trial_era(const struct worker *w, const struct endpoint *peer)
{
	char key[sizeof(peer->addr.bytes) + sizeof(peer->port)];
	size_t n = peer->addr.family == AF_INET6 ? 8 : 4;

	memcpy(key, peer->addr.bytes, n);
	if (w->split.by_connection) {
		memcpy(key + n, &peer->port, sizeof(peer->port));
		n += sizeof(peer->port);
	}
	return l7_rollout_has((struct str){ key, n }, w->split.seed, w->split.share) ? w->trial
										     : w->era;
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
static void close_same(struct worker *w, const struct worker_socket *gift)
{
	struct port *p;

	TAILQ_FOREACH(p, &w->ports, all)
	{
		if (p->generation < gift->generation && endpoint_cmp(&p->at, &gift->at) == 0)
			close_port(p);
	}
}

static void find_rules(const struct worker *w, struct port *p)
{
	const struct generation *g = w->era ? w->era->generation : NULL;

	p->rules = g ? generation_port(g, &p->at) : NULL;
	if (p->rules)
		p->opening = p->rules->opening;
	p->trial = w->trial ? generation_port(w->trial->generation, &p->at) : NULL;
}

static void open_port(struct worker *w, const struct worker_socket *gift)
{
	const struct stream_listener_config config = { 0 }; /* the gate has the limits */
	struct port *p = mem_zalloc(sizeof(*p));
	const struct stream_listener_events events = { .accepted = on_accepted,
						       .starved = on_starved,
						       .user = p };

	close_same(w, gift);
	p->worker = w;
	p->at = gift->at;
	p->listener.fd = -1;
	p->generation = gift->generation;
	find_rules(w, p);
	TAILQ_INSERT_TAIL(&w->ports, p, all);
	p->open = stream_listener_adopt(&p->listener, w->loop, gift->fd, &config, &events) == 0;
	if (!p->open)
		close(gift->fd);
}

static struct datagrams *datagrams_of(struct worker *w)
{
	if (!w->datagrams)
		w->datagrams = datagrams_new(w);
	return w->datagrams;
}

static void open_socket(struct worker *w, const struct worker_socket *s)
{
	if (!s->udp) {
		open_port(w, s);
		return;
	}
	datagrams_open(datagrams_of(w), s);
}

static void put_gift(struct worker *w, struct socket_gift *gift)
{
	gift->next = atomic_load(&w->gifts);
	while (!atomic_compare_exchange_weak(&w->gifts, &gift->next, gift))
		;
}

/* All gifts, the oldest first. */
static struct socket_gift *all_gifts(struct worker *w)
{
	struct socket_gift *gift = atomic_exchange(&w->gifts, NULL), *oldest = NULL;

	while (gift) {
		struct socket_gift *next = gift->next;

		gift->next = oldest;
		oldest = gift;
		gift = next;
	}
	return oldest;
}

/*
 * Sockets of a later generation wait for it: this one would close them. Of several for one address,
 * the latest stays.
 */
static void take_gifts(struct worker *w, uint64_t generation)
{
	struct socket_gift *gift = all_gifts(w);

	while (gift) {
		struct socket_gift *next = gift->next;

		if (gift->socket.generation > generation) {
			put_gift(w, gift);
		} else {
			open_socket(w, &gift->socket);
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

/*
 * Ports that the generation does not have are closed; those without clients are forgotten. Returns
 * whether a port with clients was closed.
 */
static bool match_ports(struct worker *w)
{
	struct port *p = TAILQ_FIRST(&w->ports), *next;
	bool lost = false;

	for (; p; p = next) {
		next = TAILQ_NEXT(p, all);
		find_rules(w, p);
		if (!p->rules || w->phase >= WORKER_DRAIN)
			close_port(p);
		lost |= !p->rules && p->clients;
		if (!p->open && !p->clients && p->listener.fd < 0)
			free_port(w, p);
	}
	return lost;
}

/* ---- what other threads say ---- */

static void take_sessions(struct worker *w)
{
	struct session_gift *g = atomic_exchange(&w->sessions, NULL);

	while (g) {
		struct session_gift *next = g->next;

		datagrams_adopt(datagrams_of(w), g);
		g = next;
	}
}

void worker_give_session(struct worker *w, struct session_gift *g)
{
	g->next = atomic_load(&w->sessions);
	while (!atomic_compare_exchange_weak(&w->sessions, &g->next, g))
		;
	ev_async_send(w->loop, &w->wake);
}

void worker_give_channel(struct worker *w, int channel)
{
	atomic_store(&w->channel, channel);
}

static void take_generation(struct worker *w)
{
	struct edition *new = atomic_exchange(&w->pending, NULL);
	struct era *old = w->era, *old_trial = w->trial, *era, *trial;
	struct client *c, *next;
	bool lost;

	if (!new)
		return;
	era = era_of(w, new->generation);
	trial = era_of(w, new->trial.generation);
	w->era = era;
	w->trial = trial;
	w->split = new->trial;
	free(new);
	take_gifts(w, era->generation->number);
	lost = match_ports(w);
	if (w->datagrams)
		datagrams_match(w->datagrams);
	for (c = TAILQ_FIRST(&w->clients); lost && c; c = next) {
		next = TAILQ_NEXT(c, all);
		if (!c->port->rules)
			client_drain(c);
	}
	if (old)
		worker_release_era(w, old);
	if (old_trial)
		worker_release_era(w, old_trial);
}

/* ---- silence ---- */

/* Whether a server gets requests of the current generation, or of the second one. */
static bool serves(const struct worker *w, uint32_t number, uint64_t id)
{
	return generation_serves(w->era->generation, number, id) ||
	       (w->trial && generation_serves(w->trial->generation, number, id));
}

/* Servers that get no more requests lose the connections that were kept for them. */
static void sweep_slot(struct worker *w, uint32_t i, ev_tstamp now)
{
	struct slot *slot = w->slots[i];

	if (w->era && !serves(w, i, slot->id))
		link_end_kept(slot);
	else
		link_sweep(slot, now);
}

static void on_sweep(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct worker *w = container_of(timer, struct worker, sweep);
	ev_tstamp now = ev_now(loop);
	struct client *c, *next;

	for (c = TAILQ_FIRST(&w->clients); c; c = next) {
		next = TAILQ_NEXT(c, all);
		client_sweep(c, now);
	}
	mirror_sweep(w, now);
	if (w->datagrams)
		datagrams_sweep(w->datagrams);
	strand_sweep(w, now);
	for (uint32_t i = 0; i < w->n_slots; i++)
		if (w->slots[i])
			sweep_slot(w, i, now);
}

static void on_drain_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

void worker_look(struct worker *w)
{
	if (w->phase >= WORKER_DRAIN && !w->n_clients && !datagrams_is_used(w->datagrams)) {
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
}

/* Without a channel they end here. */
static void pass_sessions(struct worker *w)
{
	int channel = atomic_exchange(&w->channel, -1);

	if (w->datagrams && channel >= 0)
		datagrams_hand_over(w->datagrams, channel);
	else
		cleanup_fd(&channel);
	if (w->datagrams && channel < 0)
		datagrams__leave(w->datagrams);
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
		if (c->session)
			session_drain(c);
	}
	if (phase < WORKER_DRAIN)
		return;
	w->drain_began = ev_now(w->loop);
	match_ports(w);
	if (phase == WORKER_HAND_OVER)
		pass_sessions(w);
	limit_drain(w);
	worker_look(w);
}

/* ---- inquiries ---- */

static void take_asked(struct worker *w)
{
	struct inquiry_part *p = atomic_exchange(&w->asked, NULL);

	while (p) {
		struct inquiry_part *next = p->next;

		p->next = w->answering;
		w->answering = p;
		p = next;
	}
}

static void finish_part(struct worker *w)
{
	struct inquiry_part *p = w->answering;

	w->answering = p->next;
	if (inquiry_finish(p))
		w->config.answered(p->of, w->config.user);
}

/* One slice; the next one follows after what else there is to do in this turn of the loop. */
static void answer_asked(struct worker *w)
{
	take_asked(w);
	if (w->answering && inquiry_look(w, w->answering))
		finish_part(w);
	if (w->answering)
		ev_async_send(w->loop, &w->wake);
}

void worker_ask(struct worker *w, struct inquiry_part *p)
{
	p->next = atomic_load(&w->asked);
	while (!atomic_compare_exchange_weak(&w->asked, &p->next, p))
		;
	ev_async_send(w->loop, &w->wake);
}

/* ---- turns ---- */

static void for_calls(struct worker *w, void (*take)(struct quota_side *side))
{
	struct quota_side *side = atomic_exchange(&w->calls, NULL);

	while (side) {
		struct quota_side *next = side->next;
		struct quota *quota = side->quota;

		take(side);
		quota_release(quota);
		side = next;
	}
}

static void drop_call(struct quota_side *side)
{
}

static void drop_calls(struct worker *w)
{
	for_calls(w, drop_call);
}

/* A side is called once until it takes its turn, so it is in one list only. */
void worker_call(struct worker *w, struct quota_side *side)
{
	quota_hold(side->quota);
	side->next = atomic_load(&w->calls);
	while (!atomic_compare_exchange_weak(&w->calls, &side->next, side))
		;
	ev_async_send(w->loop, &w->wake);
}

static void on_wake(struct ev_loop *loop, ev_async *async, int revents)
{
	struct worker *w = container_of(async, struct worker, wake);

	take_generation(w);
	if (w->era)
		take_sessions(w);
	if (w->era)
		take_gifts(w, w->era->generation->number);
	answer_asked(w);
	for_calls(w, exchange_turn);
	take_drain(w);
	if (atomic_load(&w->stop))
		ev_break(loop, EVBREAK_ALL);
}

void worker_wake(struct worker *w)
{
	ev_async_send(w->loop, &w->wake);
}

static void drop(struct worker *w, struct generation *g)
{
	if (g && generation_release(g))
		w->config.retired(g, w->config.user);
}

void worker_publish(struct worker *w, struct generation *g, const struct worker_trial *trial)
{
	struct edition *new = mem_alloc(sizeof(*new)), *late;

	*new = (struct edition){ g, *trial };
	late = atomic_exchange(&w->pending, new);
	if (late) {
		drop(w, late->generation);
		drop(w, late->trial.generation);
		free(late);
	}
	ev_async_send(w->loop, &w->wake);
}

void worker_give_socket(struct worker *w, const struct worker_socket *s)
{
	struct socket_gift *gift = mem_zalloc(sizeof(*gift));

	gift->socket = *s;
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
	t->streams += read_counter(&c->streams);
	t->sessions += read_counter(&c->sessions);
	t->flows += read_counter(&c->flows);
	t->flows_begun += read_counter(&c->flows_begun);
	t->evictions += read_counter(&c->evictions);
	t->received += read_counter(&c->received);
	t->sent += read_counter(&c->sent);
	for (size_t i = 0; i < DROPS; i++)
		t->dropped[i] += read_counter(&c->dropped[i]);
	for (size_t i = 0; i < REFUSALS; i++)
		t->refusals[i] += read_counter(&c->refusals[i]);
	for (size_t i = 0; i < WORKER_CLASSES; i++)
		t->answers[i] += read_counter(&c->answers[i]);
	for (size_t i = 0; i < WORKER_LIMITS; i++)
		t->overflows[i] += read_counter(&c->overflows[i]);
	for (size_t i = 0; i < WORKER_COPIES; i++)
		t->copies[i] += read_counter(&c->copies[i]);
	for (size_t i = 0; i < ARRAY_SIZE(t->handshakes); i++)
		t->handshakes[i] += read_counter(&c->handshakes[i]);
	for (size_t i = 0; i < WORKER_HANDSHAKES; i++)
		t->server_handshakes[i] += read_counter(&c->server_handshakes[i]);
	t->trunks += read_counter(&c->trunks);
}

void worker_drain(struct worker *w, enum worker_drain how)
{
	atomic_store(&w->drain, how);
	worker_wake(w);
}

/* ---- the thread ---- */

static void drop_sessions(struct worker *w)
{
	struct session_gift *g = atomic_exchange(&w->sessions, NULL);
	int channel = atomic_exchange(&w->channel, -1);

	cleanup_fd(&channel);
	while (g) {
		struct session_gift *next = g->next;

		session_gift_free(g);
		g = next;
	}
}

static void clean_up(struct worker *w)
{
	struct client *c, *next;
	struct port *p;

	TAILQ_FOREACH(p, &w->ports, all)
	{
		stream_listener_close(&p->listener); /* nothing is accepted any more */
		p->open = false;
	}
	take_asked(w);
	while (w->answering)
		finish_part(w);
	h2_host_free(TAKE_PTR(w->h2));
	for (c = TAILQ_FIRST(&w->clients); c; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->x)
			exchange_drop(c->x);
		else if (c->relay)
			relay_drop(c->relay, "drained");
		else
			client_free(c);
	}
	mirror_clean_up(w);
	datagrams_free(TAKE_PTR(w->datagrams));
	drop_sessions(w);
	while (!TAILQ_EMPTY(&w->ports))
		free_port(w, TAILQ_FIRST(&w->ports));
	free_slots(w);
	trunk_clean_up(w);
	w->slots = NULL;
	w->n_slots = 0;
	if (w->era)
		worker_release_era(w, TAKE_PTR(w->era));
	if (w->trial)
		worker_release_era(w, TAKE_PTR(w->trial));
}

static void *run(void *user)
{
	struct worker *w = user;

	log_thread_start();
	ev_run(w->loop, 0);
	clean_up(w);
	log_thread_end();
	if (w->phase >= WORKER_DRAIN)
		w->config.drained(w->config.user);
	return NULL;
}

static void set_defaults(struct worker_limits *l)
{
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
	atomic_init(&w->channel, -1);
	set_defaults(&w->config.limits);
	w->loop = ev_loop_new(EVFLAG_AUTO);
	assert(w->loop);
	w->h2 = session_host_new(w);
	TAILQ_INIT(&w->ports);
	TAILQ_INIT(&w->clients);
	TAILQ_INIT(&w->leaving);
	TAILQ_INIT(&w->mirrors);
	TAILQ_INIT(&w->left_behind);
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

void worker_join(struct worker *w)
{
	if (!w || !w->running)
		return;
	atomic_store(&w->stop, true);
	ev_async_send(w->loop, &w->wake);
	pthread_join(w->thread, NULL);
	w->running = false;
}

void worker_stop(struct worker *w)
{
	if (!w)
		return;
	assert(!w->running);
	take_generation(w);
	take_gifts(w, UINT64_MAX);
	clean_up(w);
	drop_calls(w);
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
	pipes_free(&w->pipes);
	buf_free(&w->out);
	buf_free(&w->path);
	buf_free(&w->straight);
	free(w);
}
