/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: a session of datagrams: how it begins, what is counted about it, how it ends.
 *
 * A session is confirmed when its client has sent a datagram after an answer: then its source is
 * not forged. If there are too many sessions, the oldest one that is not confirmed gives way to a
 * new one; confirmed ones stay, and without others new sources are dropped. So a flood of forged
 * sources takes no session away that is in use.
 *
 * The backend of a session is picked by the hash of its two ends, and not by a random number: a
 * source whose share is dropped has no state here, and all its datagrams must meet the same fate.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "core/l7/config.h"
#include "lib/log/log.h"
#include "src/router/datagrams.h"
#include "wire/router_session.h"

#define DRAIN_IDLE (2 * NSEC_PER_SEC) /* of a session, when the router stops */

/* ---- the choice ---- */

/* What a new session needs. */
struct plan_of_flow {
	struct era *era;
	const struct l7_stream *stream;
	const struct generation_pool *pool;
	struct endpoint client;
};

static enum drop find_stream(const struct datagram_port *port, struct plan_of_flow *p)
{
	const struct worker *w = port->of->worker;
	const struct generation_port *rules;
	size_t i;

	if (w->phase >= WORKER_DRAIN || !w->era || !port->rules)
		return DROP_NO_STREAM;
	p->era = w->trial ? worker_trial_era(w, &p->client) : w->era;
	rules = p->era == w->trial ? port->trial : port->rules;
	if (!rules)
		return DROP_NO_STREAM;
	i = generation_stream(&p->era->generation->listeners[rules->listeners[0]], STR(""));
	if (i == L7_NONE)
		return DROP_NO_STREAM;
	p->stream = &p->era->generation->config.streams[i];
	return DROPS;
}

static enum drop find_pool(struct plan_of_flow *p, uint64_t hash)
{
	size_t i = l7_pick_backend(p->stream->backends, p->stream->n_backends, random_next(&hash));

	if (i == L7_NONE || p->stream->backends[i].pool == L7_NO_POOL)
		return DROP_NO_BACKEND;
	p->pool = &p->era->generation->pools[p->stream->backends[i].pool];
	return DROPS;
}

/* ---- room ---- */

/* False: this thread is later than others, which are closing the sockets. */
static bool join(struct datagram_port *port)
{
	return !port->group || socket_group_enter(port->group, 1);
}

static void part(struct datagram_port *port)
{
	if (port->group)
		socket_group_leave(port->group, 1);
}

/* The oldest one that is not confirmed, and has no messages in the present batch. */
static bool evict(struct datagrams *d)
{
	struct flow *f;

	TAILQ_FOREACH(f, &d->young, young)
	{
		if (f->first == DATAGRAMS_NONE)
			break;
	}
	if (!f)
		return false;
	count(&d->worker->counters.evictions, 1);
	flow_end(f, "evicted");
	return true;
}

/* The client's own limit goes first: nobody else gives way to one that has too many. */
static enum drop enter(struct datagrams *d, const struct addr *client)
{
	const struct l7_clients *limits = worker_clients(d->worker);
	struct gate *gate = d->worker->config.sessions;
	enum gate_verdict v = gate_enter(gate, client, limits->sessions, limits->sessions_each);

	if (v == GATE_FULL)
		v = gate_enter(gate, client, UINT32_MAX, limits->sessions_each);
	else if (v == GATE_OPEN)
		return DROPS;
	if (v == GATE_CROWDED)
		return DROP_SESSIONS_EACH;
	if (evict(d))
		return DROPS;
	gate_leave(gate, client);
	return DROP_SESSIONS;
}

/* ---- health ---- */

/* A server that a generation has is the same object in all of them. */
struct server *flow_server(const struct flow *f)
{
	const struct worker *w = f->of->worker;

	if (!f->server)
		return NULL;
	if (generation_serves(w->era->generation, f->server_number, f->id) ||
	    (w->trial && generation_serves(w->trial->generation, f->server_number, f->id)))
		return f->server;
	return NULL;
}

static void judge(struct flow *f, bool failed)
{
	struct server *server = flow_server(f);

	if (server)
		worker_judge(f->of->worker, server, &f->ejection, failed);
}

/* ---- what is counted ---- */

static void add(const struct flow_cell *c, enum stats_counter what, uint64_t by)
{
	if (c->cell && atomic_load_explicit(&c->cell->id, memory_order_relaxed) == c->id)
		stats_count(c->cell, what, by);
}

static struct flow_cell open_cell(const struct flow *f, enum stats_kind kind,
				  const struct name *name)
{
	struct stats_thread *stats = f->of->worker->config.stats;
	struct flow_cell c = { stats_cell(stats, kind, name->number, name->id), name->id };

	add(&c, STATS_REQUESTS, 1);
	add(&c, STATS_ACTIVE, 1);
	return c;
}

static void close_cell(const struct flow_cell *c, bool well)
{
	add(c, STATS_ACTIVE, (uint64_t)-1);
	add(c, well ? STATS_1XX : STATS_ABORTS, 1);
}

/* What the thread knows about the server; not if that has gone, and the slot is another's. */
static void count_slot(const struct flow *f, int by)
{
	struct slot *slot = f->slot;

	if (!slot || slot->id != f->id)
		return;
	slot->active += (unsigned)by;
	slot->n_open += (unsigned)by;
	stats_set(slot->stats, STATS_ACTIVE, slot->active);
	stats_set(slot->stats, STATS_OPEN, slot->n_open);
}

static void account_begin_flow(struct flow *f, const struct plan_of_flow *p)
{
	const struct generation *g = p->era->generation;

	count(&f->of->worker->counters.flows, 1);
	count(&f->of->worker->counters.flows_begun, 1);
	f->stats = open_cell(f, STATS_STREAM, g->streams[p->stream - g->config.streams]);
	if (p->pool)
		f->pool_stats = open_cell(f, STATS_POOL, p->pool->name);
	count_slot(f, 1);
}

static void account_end_flow(struct flow *f, bool well, enum stats_counter how)
{
	count(&f->of->worker->counters.flows, -1);
	close_cell(&f->stats, well);
	close_cell(&f->pool_stats, well);
	count_slot(f, -1);
	if (!f->slot || f->slot->id != f->id)
		return;
	stats_count(f->slot->stats, STATS_REQUESTS, 1);
	stats_count(f->slot->stats, how, 1);
}

/* ---- the beginning ---- */

static void on_answer(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow *f = container_of(w, struct flow, readable);

	datagrams__answered(f);
}

/* The names of stream, pool and server. */
struct names_of_flow {
	struct str stream, pool, server;
};

static const char *copy_name(char **to, struct str name)
{
	char *copy = *to;

	memcpy(copy, name.p, name.n);
	copy[name.n] = '\0';
	*to += name.n + 1;
	return copy;
}

static struct flow *make(struct datagram_port *port, const struct udp_path *path, uint64_t hash,
			 const struct names_of_flow *names)
{
	struct datagrams *d = port->of;
	struct flow *f =
		mem_zalloc(sizeof(*f) + names->stream.n + names->pool.n + names->server.n + 3);
	char *to = f->names;

	f->stream = copy_name(&to, names->stream);
	f->pool = copy_name(&to, names->pool);
	f->server_name = copy_name(&to, names->server);
	f->of = d;
	f->port = port;
	f->number = ++d->last;
	f->began = f->seen = task_began(d->worker->loop);
	f->opened = ev_now(d->worker->loop);
	f->first = f->last = DATAGRAMS_NONE;
	f->unconfirmed = f->unanswered = true;
	d->n++;
	flows_add(&port->flows, &f->node, path, hash);
	TAILQ_INSERT_TAIL(&d->flows, f, all);
	TAILQ_INSERT_TAIL(&d->young, f, young);
	return f;
}

static void wait_for_silence(struct flow *f)
{
	int64_t due = f->seen + f->idle + NSEC_PER_SEC - 1;

	flow_wheel_add(&f->of->wheel, &f->node, due / NSEC_PER_SEC);
}

/* The client and the seat are counted. */
static void settle(struct flow *f, const struct plan_of_flow *p, struct server *server)
{
	f->idle = p->stream->idle_timeout;
	f->answers = p->stream->answers;
	if (p->pool)
		f->ejection = p->pool->config->ejection;
	if (server) {
		f->server = server;
		f->id = server->id;
		f->server_number = server->number;
		f->slot = worker_slot(f->of->worker, server);
		f->seats = f->slot->seats;
		seats_hold(f->seats);
	}
	f->counted = p->client.addr;
	account_begin_flow(f, p);
}

/* No port of this machine or no descriptor is left; anything else speaks against the server. */
static bool is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS ||
	       error == -EAGAIN || error == -EADDRINUSE;
}

/* A socket that is connected to the server; -1: the datagram was dropped. */
static int connect_to(struct datagrams *d, const struct plan_of_flow *p, struct server *server)
{
	struct worker *w = d->worker;
	struct slot *slot = worker_slot(w, server);
	struct endpoint to = link_address(w, slot, server);
	int fd;

	if (!seats_open(slot->seats, p->pool->config->limits.connections)) {
		datagrams__drop(d, DROP_NO_SERVER, 1);
		return -1;
	}
	fd = udp_connect(&to);
	if (fd >= 0)
		return fd;
	seats_close(slot->seats);
	if (!is_shortage(fd))
		worker_judge(w, server, &p->pool->config->ejection, true);
	datagrams__drop(d, is_shortage(fd) ? DROP_NO_SOCKET : DROP_SERVER, 1);
	return -1;
}

/* The server is chosen, and the client is counted. */
static struct flow *open_flow(struct datagram_socket *s, const struct udp_path *path, uint64_t hash,
			      const struct plan_of_flow *p, struct server *server)
{
	const struct names_of_flow names = { str_of(p->stream->name), str_of(p->pool->config->name),
					     str_of(server->authority) };
	int fd = connect_to(s->port->of, p, server);
	struct flow *f;

	if (fd < 0)
		return NULL;
	f = make(s->port, path, hash, &names);
	f->socket = s;
	ev_io_init(&f->readable, on_answer, fd, EV_READ);
	ev_io_start(f->of->worker->loop, &f->readable);
	settle(f, p, server);
	wait_for_silence(f);
	return f;
}

/* For the comparison of two generations: a session that found a server is not a failure. */
static void tally(const struct plan_of_flow *p, bool failed)
{
	count(&p->era->tally->answers, 1);
	if (failed)
		count(&p->era->tally->errors, 1);
}

struct flow *flow_begin(struct datagram_socket *s, const struct udp_path *path, uint64_t hash,
			const struct server *tried)
{
	struct datagrams *d = s->port->of;
	struct plan_of_flow p = { .client = udp_peer(path) };
	struct server *server = NULL;
	enum drop why = find_stream(s->port, &p);
	struct flow *f;

	if (why == DROPS)
		why = find_pool(&p, hash);
	if (why == DROPS) {
		server = choose_for(d->worker, p.era, p.pool, &p.client.addr, tried);
		why = server ? DROPS : DROP_NO_SERVER;
		tally(&p, !server);
	}
	if (why == DROPS)
		why = enter(d, &p.client.addr);
	if (why == DROPS && !join(s->port)) {
		gate_leave(d->worker->config.sessions, &p.client.addr);
		why = DROP_NO_STREAM;
	}
	if (why != DROPS) {
		datagrams__drop(d, why, 1);
		return NULL;
	}
	f = open_flow(s, path, hash, &p, server);
	if (!f) {
		part(s->port);
		gate_leave(d->worker->config.sessions, &p.client.addr);
	}
	return f;
}

/* ---- after a takeover ---- */

static void confirm(struct flow *f)
{
	TAILQ_REMOVE(&f->of->young, f, young);
	f->unconfirmed = false;
}

static void find_named_stream(const struct router_session *s, struct plan_of_flow *p)
{
	const struct l7_config *c = &p->era->generation->config;

	for (size_t i = 0; i < c->n_streams; i++)
		if (str_eq(str_of(c->streams[i].name), s->stream))
			p->stream = &c->streams[i];
}

static void find_named_pool(const struct router_session *s, struct plan_of_flow *p)
{
	const struct generation *g = p->era->generation;

	for (size_t i = 0; i < g->config.n_pools; i++)
		if (str_eq(str_of(g->pools[i].config->name), s->pool))
			p->pool = &g->pools[i];
}

/* NULL: it has left the pool, and the session has its socket still. */
static struct server *find_server(const struct router_session *s, const struct plan_of_flow *p)
{
	for (size_t i = 0; p->pool && i < p->pool->config->n_servers; i++)
		if (str_eq(str_of(p->pool->servers[i]->authority), s->server))
			return p->pool->servers[i];
	return NULL;
}

static void restore(struct flow *f, const struct router_session *s)
{
	f->in = s->in;
	f->out = s->out;
	f->received = s->received;
	f->sent = s->sent;
	f->began -= (int64_t)s->age * NSEC_PER_MSEC;
	f->seen -= (int64_t)s->silent * NSEC_PER_MSEC;
	f->opened -= (double)s->age / 1e3;
	f->unanswered = s->unanswered;
	if (s->confirmed)
		confirm(f);
}

bool flow_adopt(struct datagrams *d, const struct router_session *s, int fd)
{
	struct datagram_port *port = datagrams__port(d, &s->at);
	struct plan_of_flow p = { .client = s->client };
	struct server *server;
	struct udp_path path;
	struct flow *f;
	uint64_t hash;

	if (udp_path_make(s->family, &s->client, &s->local, s->iface, &path) < 0 ||
	    find_stream(port, &p) != DROPS)
		return false;
	hash = flows_hash(&port->flows, &path);
	if (flows_find(&port->flows, &path, hash) || !join(port))
		return false;
	find_named_stream(s, &p);
	find_named_pool(s, &p);
	server = find_server(s, &p);
	gate_enter(d->worker->config.sessions, &p.client.addr, UINT32_MAX, UINT32_MAX);
	f = make(port, &path, hash, &(struct names_of_flow){ s->stream, s->pool, s->server });
	ev_io_init(&f->readable, on_answer, fd, EV_READ);
	settle(f, &p, server);
	if (f->seats)
		seats_open(f->seats, 0);
	restore(f, s);
	f->socket = SLIST_FIRST(&port->sockets);
	if (f->socket)
		ev_io_start(d->worker->loop, &f->readable);
	wait_for_silence(f);
	return true;
}

/* ---- the middle ---- */

static bool is_down(const struct server *s)
{
	return s && (atomic_load_explicit(&s->flags, memory_order_relaxed) & SERVER_DOWN);
}

bool flow_touch(struct flow *f, struct datagram_socket *s)
{
	bool silent = f->unanswered;

	f->seen = task_began(f->of->worker->loop);
	f->socket = s;
	if (f->unconfirmed && f->sent)
		confirm(f);
	f->unanswered = true;
	return !silent || !is_down(flow_server(f));
}

/* Sessions may be long, so what they move is counted at once. */
static void count_moved(struct flow *f, enum stats_counter direction, uint64_t bytes)
{
	add(&f->stats, direction, bytes);
	add(&f->pool_stats, direction, bytes);
}

void flow_received(struct flow *f, uint64_t n, uint64_t bytes)
{
	f->received += n;
	f->in += bytes;
	stats__grow(&f->of->worker->counters.received, n);
	count_moved(f, STATS_IN, bytes);
}

void flow_answered(struct flow *f, uint64_t n, uint64_t bytes)
{
	f->seen = task_began(f->of->worker->loop);
	f->unanswered = false;
	f->sent += n;
	f->out += bytes;
	stats__grow(&f->of->worker->counters.sent, n);
	count_moved(f, STATS_OUT, bytes);
	judge(f, false);
	if (f->answers && f->sent >= f->received * f->answers)
		f->done = true;
}

void flow_look(struct flow *f, int64_t now)
{
	int64_t idle = f->idle;
	bool late;

	if (f->of->worker->phase == WORKER_DRAIN && idle > DRAIN_IDLE)
		idle = DRAIN_IDLE;
	if (now - f->seen < idle) {
		wait_for_silence(f);
		return;
	}
	wait_for_silence(f); /* flow_end() takes it out of the wheel */
	late = f->answers && !f->sent;
	if (late)
		judge(f, true);
	flow_end(f, late ? "no-answer" : NULL);
}

/* ---- the end ---- */

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static bool is_logged(const struct flow *f, const char *why)
{
	const struct l7_access_log *log = &f->of->worker->era->generation->config.log;

	if (!log->enabled || !log_wants(LOG_INFO))
		return false;
	if ((log->failed && why) || log->numerator == log->denominator)
		return true;
	return random_next(&f->of->worker->random) % log->denominator < log->numerator;
}

static void write_line(const struct flow *f, const char *why)
{
	char client[ADDR_STRLEN];
	const struct log_field fields[] = {
		LOG_S("client", addr_format(&f->counted, client)),
		LOG_S("stream", f->stream),
		LOG_S("pool", f->pool),
		LOG_S("server", f->server_name),
		LOG_S("why", why),
		LOG_B("complete", !why),
		LOG_U("bytes_in", f->in),
		LOG_U("bytes_out", f->out),
		LOG_U("datagrams_in", f->received),
		LOG_U("datagrams_out", f->sent),
		LOG_D("duration_ms", ms(f->seen - f->began)),
		{ .kind = LOG_KIND_END },
	};

	log_write(LOG_INFO, "access", fields);
}

static void free_flow(struct flow *f)
{
	struct datagrams *d = f->of;
	struct worker *w = d->worker;

	if (f->is_ready)
		TAILQ_REMOVE(&d->ready, f, ready);
	if (f->unconfirmed)
		confirm(f);
	TAILQ_REMOVE(&d->flows, f, all);
	flow_wheel_remove(&d->wheel, &f->node);
	flows_remove(&f->port->flows, &f->node);
	part(f->port);
	ev_io_stop(w->loop, &f->readable);
	close(f->readable.fd);
	gate_leave(w->config.sessions, &f->counted);
	if (f->seats) {
		seats_close(f->seats);
		seats_release(f->seats);
	}
	free(f);
	d->n--;
	worker_look(w);
}

static void end(struct flow *f, const char *why, enum stats_counter how)
{
	if (f->queued) {
		f->done = false;
		datagrams__flush(f->of);
	}
	account_end_flow(f, !why, how);
	if (f->joined) /* others have not had enough for that */
		datagrams__drop(f->of, DROP_QUEUE, udp_dropped(f->readable.fd));
	if (is_logged(f, why))
		write_line(f, why);
	free_flow(f);
}

void flow_end(struct flow *f, const char *why)
{
	end(f, why, !why ? STATS_1XX : f->unanswered && !f->sent ? STATS_TIMEOUT : STATS_ABORTS);
}

void flow_fail(struct flow *f)
{
	judge(f, true);
	end(f, "server-refused", STATS_BROKEN);
}

void flow_forget(struct flow *f)
{
	account_end_flow(f, true, STATS_1XX);
	free_flow(f);
}
