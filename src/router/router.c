/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/router.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/log/log.h"
#include "src/router/arrivals.h"
#include "src/router/care.h"
#include "src/router/flow_pass.h"

struct router {
	struct ev_loop *loop;
	struct router_config config;
	struct worker **workers;
	struct generation_shared shared;
	struct stats *stats;
	struct care *care;
	struct gate *gate, *sessions;
	struct vault *vault;
	ev_timer rotation;	    /* of the keys of session tickets */
	struct generation *current; /* with a reference of its own */
	struct worker_trial trial;  /* its generation has one, too */
	uint64_t number;
	struct sockets sockets;
	VEC(struct generation *) live; /* all that exist */
	struct history *history;
	ev_async said;			      /* a thread has something to say */
	_Atomic(struct generation *) retired; /* list: to be freed */
	_Atomic(struct inquiry *) answered;   /* list */
	_Atomic(struct server *) suspects;    /* list: servers that fail requests */
	atomic_uint drained;		      /* threads that have ended */
	bool draining;			      /* until all threads have ended */
	bool stopping;			      /* from the beginning of the drain on */
	bool frozen;			      /* a new process is taking over */
	bool waiting;			      /* for router_accept() */
	int channel;		   /* that sessions of another process come from; -1: none */
	struct arrivals *arrivals; /* they are coming: datagrams are not received yet */
};

/* ---- what data threads say ---- */

static void on_suspect(struct server *s, void *user)
{
	struct router *r = user;

	if (atomic_exchange(&s->suspected, true))
		return;
	s->next = atomic_load(&r->suspects);
	while (!atomic_compare_exchange_weak(&r->suspects, &s->next, s))
		;
	ev_async_send(r->loop, &r->said);
}

static void judge_suspects(struct router *r)
{
	struct server *s = atomic_exchange(&r->suspects, NULL);

	while (s) {
		struct server *next = s->next;

		atomic_store(&s->suspected, false);
		care_suspect(s);
		s = next;
	}
}

static void free_generation(struct router *r, struct generation *g)
{
	for (size_t i = r->live.n; i--;)
		if (r->live.items[i] == g)
			vec_remove_at(&r->live, i);
	generation_free(g);
}

/*
 * A thread reports a server before it releases the generation that holds it. So after the retired
 * ones were taken, all suspects that they hold are in the list.
 */
static void free_retired(struct router *r)
{
	struct generation *g = atomic_exchange(&r->retired, NULL);

	judge_suspects(r);
	while (g) {
		struct generation *next = g->next;

		free_generation(r, g);
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

static void take_answers(struct router *r)
{
	struct inquiry *q = atomic_exchange(&r->answered, NULL);

	while (q) {
		struct inquiry *next = q->next;

		q->done(q, q->user);
		q = next;
	}
}

static void on_answered(struct inquiry *q, void *user)
{
	struct router *r = user;

	q->next = atomic_load(&r->answered);
	while (!atomic_compare_exchange_weak(&r->answered, &q->next, q))
		;
	ev_async_send(r->loop, &r->said);
}

/* Said by one data thread to another. */
static void on_call(unsigned thread, struct quota_side *side, void *user)
{
	struct router *r = user;

	worker_call(r->workers[thread], side);
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
	take_answers(r);
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
		error = sockets_open(&r->sockets, &g->ports[i].at, false, r->config.threads, why);
	for (size_t i = 0; i < g->n_udp_ports && error == 0; i++)
		error = sockets_open(&r->sockets, &g->udp_ports[i].at, true, r->config.threads,
				     why);
	return error;
}

/* Each thread of an address gets one, and more if there are more sockets than threads. */
static void give_sockets(struct router *r)
{
	for (size_t i = 0; i < r->sockets.n; i++) {
		struct router_socket *s = &r->sockets.items[i];
		const struct worker_socket gift = { .at = s->at,
						    .fd = s->fd,
						    .udp = s->udp,
						    .group = s->group,
						    .turn = s->turn,
						    .generation = r->number };

		s->returned = false;
		if (s->given || (s->udp && r->arrivals))
			continue;
		if (s->group)
			socket_group_hold(s->group);
		worker_give_socket(r->workers[s->turn % r->config.threads], &gift);
		s->given = true;
	}
}

/* ---- generations ---- */

static void retire(struct router *r, struct generation *g)
{
	if (!generation_release(g))
		return;
	judge_suspects(r);
	free_generation(r, g);
}

static const char *listener_name(const struct generation *g, const struct generation_port *p)
{
	return g->config.listeners[p->listeners[0]].name;
}

static const struct generation_port *port_of(const struct generation *g, bool udp,
					     const struct endpoint *at)
{
	return udp ? generation_udp_port(g, at) : generation_port(g, at);
}

/* The addresses that the one before had and g has not. */
static void log_closed(const struct generation *old, const struct generation *g, bool udp)
{
	const struct generation_port *ports = udp ? old->udp_ports : old->ports;
	size_t n = udp ? old->n_udp_ports : old->n_ports;
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; i < n; i++)
		if (!port_of(g, udp, &ports[i].at))
			log_info("listener-closed", LOG_S("for", listener_name(old, &ports[i])),
				 LOG_S("addr", endpoint_format(&ports[i].at, text)));
}

/* Says which addresses are new in g, and which the one before had and g has not. */
static void log_ports(const struct router *r, const struct generation *g,
		      const struct generation *old)
{
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; i < r->sockets.n; i++) {
		const struct router_socket *s = &r->sockets.items[i];

		if ((!s->given || s->returned) && !s->turn && !s->leaving)
			log_info("listening",
				 LOG_S("for", listener_name(g, port_of(g, s->udp, &s->at))),
				 LOG_S("addr", endpoint_format(&s->bound, text)));
	}
	if (!old)
		return;
	log_closed(old, g, false);
	log_closed(old, g, true);
}

/* Passes what is in force, and the trial if there is one, to all threads. */
static void announce(struct router *r)
{
	const struct generation *const both[] = { r->current, r->trial.generation };

	for (unsigned i = 0; i < r->config.threads; i++) {
		generation_hold(r->current);
		if (r->trial.generation)
			generation_hold(r->trial.generation);
		worker_publish(r->workers[i], r->current, &r->trial);
	}
	care_follow(r->care, both, r->trial.generation ? 2 : 1);
}

static void publish(struct router *r, struct generation *g)
{
	struct generation *old = r->current;

	sockets_match(&r->sockets, g);
	log_ports(r, g, old);
	if (!r->waiting)
		give_sockets(r);
	r->current = g;
	announce(r);
	if (old)
		retire(r, old);
	vault_sweep(r->vault);
}

/* Counts it among those that exist. Tallies are shared by those with the same routes. */
static struct generation *enter(struct router *r, struct generation *g,
				const struct generation *from)
{
	vec_push(&r->live, g);
	generation_tally(g, r->config.threads, from);
	return g;
}

static struct history_record *record(struct router *r, const struct generation *g,
				     const struct history_origin *origin)
{
	struct history_record *record = history_add(r->history, g->number, g->plan, origin);

	record->before = r->current ? r->current->number : 0;
	r->number = g->number;
	return record;
}

/* Takes g. NULL after a failure, which is *ret_error; else its record. */
static struct history_record *replace(struct router *r, struct generation *g,
				      const struct history_origin *origin, struct buf *why,
				      int *ret_error)
{
	size_t before = r->sockets.n;
	struct history_record *made = NULL;
	int error = open_ports(r, g, why);

	if (error < 0) {
		sockets_cut(&r->sockets, before);
		retire(r, g);
		*ret_error = error;
	} else {
		made = record(r, g, origin);
		publish(r, g);
	}
	return made;
}

/* Without threads nobody would serve new addresses. */
static int refuse(const struct router *r, bool alone, struct buf *why)
{
	if (r->frozen) {
		buf_adds(why, "a new process is taking over: try again");
		return -EAGAIN;
	}
	if (r->stopping) {
		buf_adds(why, "the router is stopping");
		return -ESHUTDOWN;
	}
	if (alone && r->trial.generation) {
		buf_adds(why, "a rollout is under way: promote or abort it first");
		return -EBUSY;
	}
	return 0;
}

/* Takes the plan. NULL if certificates cannot be used, with *ret_error and why. */
static struct generation *make(struct router *r, struct plan *plan, struct buf *why, int *ret_error)
{
	struct generation *g = enter(r, generation_new(plan, &r->shared, r->number + 1), NULL);

	*ret_error = generation_secure(g, r->vault, why);
	if (*ret_error == 0)
		return g;
	retire(r, g);
	return NULL;
}

int router_check(struct router *r, const struct l7_config *config, struct buf *why)
{
	int error = secures_check(config, why);

	return error < 0 ? error : vault_check(r->vault, config, why);
}

int router_apply(struct router *r, struct settings *settings, const struct history_origin *origin,
		 struct buf *why)
{
	int error = refuse(r, true, why);
	struct generation *g;

	if (error < 0) {
		settings_release(settings);
		return error;
	}
	g = make(r, plan_new(settings), why, &error);
	if (g)
		replace(r, g, origin, why, &error);
	return error;
}

int router_rollback(struct router *r, uint64_t number, const struct history_origin *origin,
		    struct buf *why)
{
	const struct history_record *now =
		r->current ? history_find(r->history, r->current->number) : NULL;
	const struct history_record *to =
		history_find(r->history, number || !now ? number : now->before);
	int error = refuse(r, true, why);
	struct history_record *made;
	struct generation *g;
	uint64_t of;

	if (error < 0)
		return error;
	if (!to) {
		buf_adds(why, number ? "that generation is not kept any more, or never was"
				     : "no earlier generation is kept");
		return -ENOENT;
	}
	of = to->number;
	g = make(r, plan_hold(to->plan), why, &error);
	made = g ? replace(r, g, origin, why, &error) : NULL;
	if (made)
		made->of = of;
	return error;
}

/* ---- the servers of one pool ---- */

static size_t find_pool(const struct generation *g, const char *name)
{
	for (size_t i = 0; i < g->config.n_pools; i++)
		if (strcmp(g->config.pools[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

/* Replaces *g by one with other servers, if it has the pool. The old one is to be retired. */
static struct generation *change_servers(struct router *r, struct generation **g,
					 struct settings *settings,
					 const struct history_origin *origin)
{
	struct generation *old = *g;
	size_t pool = old ? find_pool(old, settings->config.pools[0].name) : SIZE_MAX;
	struct history_record *made;
	struct plan *plan;

	if (!old || pool == SIZE_MAX)
		return NULL;
	plan = plan_with_servers(old->plan, pool, settings_hold(settings));
	*g = generation_with_servers(old, plan, pool, &r->shared, r->number + 1);
	enter(r, *g, old);
	made = record(r, *g, origin);
	made->pool = pool;
	made->before = old->number;
	return old;
}

int router_set_servers(struct router *r, struct settings *settings,
		       const struct history_origin *origin, struct buf *why)
{
	struct generation *old[2] = { 0 };
	int error = refuse(r, false, why);

	if (error == 0) {
		old[0] = change_servers(r, &r->trial.generation, settings, origin);
		old[1] = change_servers(r, &r->current, settings, origin);
	}
	if (error == 0 && !old[0] && !old[1]) {
		buf_printf(why, "there is no pool '%s'", settings->config.pools[0].name);
		error = -ENOENT;
	}
	settings_release(settings);
	if (error < 0)
		return error;
	announce(r);
	for (size_t i = 0; i < 2; i++)
		if (old[i])
			retire(r, old[i]);
	return 0;
}

/* ---- trials ---- */

static bool same_ports(const struct generation *a, const struct generation *b)
{
	for (size_t i = 0; i < a->n_ports; i++)
		if (!generation_port(b, &a->ports[i].at))
			return false;
	for (size_t i = 0; i < a->n_udp_ports; i++)
		if (!generation_udp_port(b, &a->udp_ports[i].at))
			return false;
	return a->n_ports == b->n_ports && a->n_udp_ports == b->n_udp_ports;
}

int router_try(struct router *r, struct settings *settings, const struct history_origin *origin,
	       const struct worker_trial *trial, struct buf *why)
{
	int error = refuse(r, true, why);
	struct generation *g;

	if (error == 0 && !r->current) {
		buf_adds(why, "there is no configuration yet that a rollout could replace");
		error = -ENOENT;
	}
	if (error < 0) {
		settings_release(settings);
		return error;
	}
	g = make(r, plan_new(settings), why, &error);
	if (!g)
		return error;
	if (!same_ports(g, r->current)) {
		buf_adds(why, "a rollout cannot open or close addresses of listeners");
		retire(r, g);
		return -EXDEV;
	}
	record(r, g, origin);
	r->trial = *trial;
	r->trial.generation = g;
	announce(r);
	return 0;
}

const struct generation *router_trial(const struct router *r)
{
	return r->trial.generation;
}

void router_set_share(struct router *r, unsigned share)
{
	r->trial.share = share;
	announce(r);
}

void router_end_trial(struct router *r, bool replace)
{
	struct generation *old = replace ? r->current : r->trial.generation;
	struct history_record *tried = history_find(r->history, r->trial.generation->number);

	if (replace)
		r->current = r->trial.generation;
	else if (tried)
		tried->returned = true;
	r->trial = (struct worker_trial){ 0 };
	announce(r);
	retire(r, old);
}

/* ---- what is shown ---- */

struct inquiry *router_inquiry(const struct router *r, size_t limit)
{
	return r->stopping ? NULL : inquiry_new(r->config.threads, limit);
}

void router_inquire(struct router *r, struct inquiry *q)
{
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_ask(r->workers[i], &q->parts[i]);
}

struct history *router_history(const struct router *r)
{
	return r->history;
}

bool router_holds(const struct router *r, uint64_t number)
{
	for (size_t i = 0; i < r->live.n; i++)
		if (r->live.items[i]->number == number)
			return true;
	return false;
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
	return r->live.n;
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

struct lookups_counts router_lookups(const struct router *r)
{
	return care_lookups(r->care);
}

/* ---- the door ---- */

static int start_workers(struct router *r)
{
	for (unsigned i = 0; i < r->config.threads; i++) {
		const struct worker_config config = { .number = i,
						      .limits = r->config.limits,
						      .stats = stats_thread(r->stats, i),
						      .gate = r->gate,
						      .sessions = r->sessions,
						      .door = vault_door(r->vault),
						      .retired = on_retired,
						      .answered = on_answered,
						      .suspect = on_suspect,
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

static void on_rotation(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct router *r = container_of(timer, struct router, rotation);

	tls_tickets_rotate(vault_tickets(r->vault));
}

static int start_vault(struct router *r)
{
	const double period = loop_seconds(r->config.ticket_rotation);

	r->vault = vault_new(worker_choose);
	ev_timer_init(&r->rotation, on_rotation, period, period);
	ev_timer_start(r->loop, &r->rotation);
	ev_unref(r->loop);
	return r->vault ? 0 : -EINVAL;
}

static void end_vault(struct router *r)
{
	ev_ref(r->loop);
	ev_timer_stop(r->loop, &r->rotation);
	vault_free(r->vault);
}

struct tls_tickets *router_tickets(const struct router *r)
{
	return vault_tickets(r->vault);
}

int router_new(struct ev_loop *loop, const struct router_config *config, struct router **ret)
{
	struct router *r = mem_zalloc(sizeof(*r));
	int error;

	r->loop = loop;
	r->config = *config;
	r->channel = -1;
	r->shared = (struct generation_shared){ .servers = servers_new(),
						.routes = names_new(),
						.pools = names_new(),
						.streams = names_new(),
						.tables = tables_new(),
						.secures = secures_new(),
						.threads = config->threads,
						.call = on_call,
						.user = r };
	r->stats = stats_new(config->threads);
	r->care = care_new(loop, r->shared.servers, &config->care);
	r->history = history_new();
	r->gate = gate_new();
	r->sessions = gate_new();
	r->workers = mem_zalloc(config->threads * sizeof(struct worker *));
	ev_async_init(&r->said, on_said);
	ev_async_start(loop, &r->said);
	error = start_vault(r);
	if (error == 0)
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
		worker_join(r->workers[i]); /* until all have ended they may call each other */
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_stop(r->workers[i]);
	arrivals_free(r->arrivals);
	cleanup_fd(&r->channel);
	care_free(r->care);
	take_answers(r);
	free_retired(r);
	if (r->trial.generation)
		retire(r, r->trial.generation);
	if (r->current)
		retire(r, r->current);
	ev_async_stop(r->loop, &r->said);
	sockets_free(&r->sockets);
	vec_free(&r->live);
	history_free(r->history);
	servers_free(r->shared.servers);
	names_free(r->shared.routes);
	names_free(r->shared.streams);
	names_free(r->shared.pools);
	tables_free(r->shared.tables);
	secures_free(r->shared.secures);
	stats_free(r->stats);
	gate_free(r->gate);
	gate_free(r->sessions);
	end_vault(r);
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
	sockets_leave(&r->sockets);
	r->draining = r->stopping = true;
	drain(r, WORKER_DRAIN);
}

/* ---- another process ---- */

int router_inherit(struct router *r, const struct endpoint *at, bool udp, int fd)
{
	r->waiting = true;
	return sockets_adopt(&r->sockets, at, udp, fd);
}

int router_resume(struct router *r, struct settings *settings, uint64_t number, uint64_t last,
		  struct buf *why)
{
	const struct history_origin origin = { HISTORY_UPGRADE, "", NULL };
	int error;

	r->number = number - 1;
	error = router_apply(r, settings, &origin, why);
	if (error == 0 && last > r->number)
		r->number = last;
	return error;
}

uint64_t router_last(const struct router *r)
{
	return r->number;
}

static void accept_all(struct router *r)
{
	give_sockets(r);
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_wake(r->workers[i]);
}

/* A session goes to the thread that gets the socket of its datagrams. */
static void on_session(const struct router_session *s, int fd, void *user)
{
	struct router *r = user;

	worker_give_session(r->workers[s->turn % r->config.threads], session_gift_new(s, fd));
}

static void on_sessions(void *user)
{
	struct router *r = user;

	r->arrivals = NULL;
	accept_all(r);
}

void router_expect(struct router *r, int channel)
{
	cleanup_fd(&r->channel);
	r->channel = channel;
}

void router_accept(struct router *r)
{
	const struct arrivals_calls calls = { on_session, on_sessions, r };

	r->waiting = false;
	if (r->channel >= 0)
		r->arrivals = arrivals_new(r->loop, TAKE_FD(r->channel), &calls);
	accept_all(r);
}

const struct sockets *router_sockets(const struct router *r)
{
	return &r->sockets;
}

void router_freeze(struct router *r, bool frozen)
{
	r->frozen = frozen;
}

/* Each thread has the channel, so that its end is that of the last one. */
void router_hand_over(struct router *r, int channel)
{
	sockets_leave(&r->sockets);
	r->draining = r->stopping = true;
	for (unsigned i = 0; i < r->config.threads && channel >= 0; i++)
		worker_give_channel(r->workers[i], fcntl(channel, F_DUPFD_CLOEXEC, 0));
	drain(r, WORKER_HAND_OVER);
}

bool router_is_stopping(const struct router *r)
{
	return r->stopping;
}

unsigned router_threads(const struct router *r)
{
	return r->config.threads;
}
