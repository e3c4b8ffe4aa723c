/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagrams: what a data thread does with batches.
 *
 * Towards servers: a batch is received from a socket of a port, each message is given to its
 * session, and each session sends its messages in one call. Towards clients: the answers of many
 * sessions are collected in one batch, which is sent in one call.
 *
 * Both are tasks, so a flood shares the time of a turn with everything else on the thread, and a
 * session with many answers takes turns with the others (SHARE).
 */
#include "src/router/datagrams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"

#define SHARE 8			 /* messages of a session in one turn */
#define BUSY_BYTES (1024 * 1024) /* that wait at the socket of such a session */
#define LAST_BATCHES 64
#define JOIN 4 /* so many at once: further ones may come several in one message */

void datagrams__drop(struct datagrams *d, enum drop why, uint64_t n)
{
	stats__grow(&d->worker->counters.dropped[why], n);
}

/* ---- towards servers ---- */

/* The session of a message; NULL: it is dropped. */
static struct flow *find(struct datagram_socket *s, const struct udp_message *m)
{
	struct flows *flows = &s->port->flows;
	uint64_t hash = flows_hash(flows, &m->path);
	struct flow_node *node = flows_find(flows, &m->path, hash);
	const struct server *tried;
	struct flow *f;

	if (!node)
		return flow_begin(s, &m->path, hash, NULL);
	f = flow_of(node);
	if (flow_touch(f, s) || f->first != DATAGRAMS_NONE)
		return f;
	tried = f->server;
	flow_end(f, "server-down");
	return flow_begin(s, &m->path, hash, tried);
}

/* Adds a message to those of its session. */
static void chain(struct datagrams *d, struct flow *f, uint8_t i)
{
	if (f->first == DATAGRAMS_NONE)
		f->first = i;
	else
		d->next[f->last] = i;
	f->last = i;
	d->next[i] = DATAGRAMS_NONE;
}

struct parcel {
	struct udp_outgoing list[UDP_BATCH];
	size_t n, sent;
};

static size_t datagrams_in(const struct udp_outgoing *o)
{
	return o->segment ? (o->n + o->segment - 1) / o->segment : 1;
}

static void take_chain(struct datagrams *d, struct flow *f, struct parcel *ret)
{
	ret->n = ret->sent = 0;
	for (uint8_t i = f->first; i != DATAGRAMS_NONE; i = d->next[i]) {
		const struct udp_message *m = udp_message(d->in, i);

		ret->list[ret->n++] = (struct udp_outgoing){ .bytes = m->bytes,
							     .n = m->n,
							     .segment = m->segment };
	}
	f->first = DATAGRAMS_NONE;
}

static void drop_rest(struct datagrams *d, struct parcel *p, enum drop why)
{
	for (; p->sent < p->n; p->sent++)
		datagrams__drop(d, why, datagrams_in(&p->list[p->sent]));
}

static void note_sent(struct flow *f, const struct parcel *p, size_t from)
{
	uint64_t bytes = 0, n = 0;

	for (size_t i = from; i < p->sent; i++) {
		bytes += p->list[i].n;
		n += datagrams_in(&p->list[i]);
	}
	flow_received(f, n, bytes);
}

/* What is wrong with this one datagram, and not with the server. */
static bool is_passing(int error)
{
	return error == -EMSGSIZE || error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

/*
 * Returns false if the server cannot be reached. A first EMSGSIZE may be about an earlier datagram:
 * the path has a smaller MTU. The same datagram is cut into fragments then.
 */
static bool send_parcel(struct flow *f, struct parcel *p)
{
	bool again = true;

	while (p->sent < p->n) {
		size_t before = p->sent;
		int error = 0;

		p->sent += udp_send(f->readable.fd, p->list + p->sent, p->n - p->sent, &error);
		note_sent(f, p, before);
		if (p->sent == p->n)
			break;
		if (!is_passing(error))
			return false;
		if (error == -EMSGSIZE && again) {
			again = false;
			continue;
		}
		datagrams__drop(f->of, DROP_SERVER, datagrams_in(&p->list[p->sent++]));
		again = true;
	}
	return true;
}

/*
 * Sends what a session has got. If its server has refused what was sent before, another one gets
 * the rest: nothing is known of the session there.
 */
static void push(struct datagrams *d, struct flow *f)
{
	struct datagram_socket *s = f->socket;
	struct udp_path path = f->node.path;
	uint64_t hash = f->node.hash;
	const struct server *tried = f->server;
	struct parcel p;

	take_chain(d, f, &p);
	if (send_parcel(f, &p))
		return;
	flow_fail(f);
	f = flow_begin(s, &path, hash, tried);
	if (f && !send_parcel(f, &p))
		flow_fail(f);
	drop_rest(d, &p, DROP_SERVER);
}

/* A session that has messages in the batch is neither ended nor evicted before they are sent. */
static void take_batch(struct datagram_socket *s, size_t n)
{
	struct datagrams *d = s->port->of;
	struct flow *list[UDP_BATCH];
	size_t flows = 0;

	for (size_t i = 0; i < n; i++) {
		const struct udp_message *m = udp_message(d->in, i);
		struct flow *f = m->truncated ? NULL : find(s, m);

		if (m->truncated)
			datagrams__drop(d, DROP_TRUNCATED, 1);
		if (f && f->first == DATAGRAMS_NONE)
			list[flows++] = f;
		if (f)
			chain(d, f, (uint8_t)i);
	}
	for (size_t i = 0; i < flows; i++)
		push(d, list[i]);
}

static bool on_received(struct task *t)
{
	struct datagram_socket *s = container_of(t, struct datagram_socket, task);
	struct datagrams *d = s->port->of;
	ssize_t n;

	do {
		n = udp_receive(d->in, s->fd, 0, UDP_BATCH);
		if (n > 0)
			take_batch(s, (size_t)n);
	} while (n == UDP_BATCH && task_has_time(d->worker->loop));
	return n == UDP_BATCH;
}

/* Bounded, because datagrams may come as fast as they are received. */
static void receive_rest(struct datagram_socket *s)
{
	ssize_t n = UDP_BATCH;

	for (int i = 0; i < LAST_BATCHES && n == UDP_BATCH; i++) {
		n = udp_receive(s->port->of->in, s->fd, 0, UDP_BATCH);
		if (n > 0)
			take_batch(s, (size_t)n);
	}
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct datagram_socket *s = container_of(w, struct datagram_socket, readable);

	task_wake(&s->task);
}

/* ---- towards clients ---- */

/* Sessions that are complete end after the last of their answers was sent. */
static void end_done(struct datagrams *d, size_t n)
{
	struct flow *whose[UDP_BATCH];
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		struct flow *f = d->whose[i];

		if (--f->queued == 0 && f->done)
			whose[done++] = f;
	}
	for (size_t i = 0; i < done; i++)
		flow_end(whose[i], NULL);
}

void datagrams__flush(struct datagrams *d)
{
	size_t n = d->n_out, sent = 0;
	int error = 0;

	while (sent < n) {
		sent += udp_send(d->through->fd, d->outgoing + sent, n - sent, &error);
		if (sent < n)
			datagrams__drop(d, DROP_CLIENT, datagrams_in(&d->outgoing[sent++]));
	}
	d->n_out = 0;
	end_done(d, n);
}

/* Queues the messages that were received for a session. */
static void queue(struct datagrams *d, struct flow *f, size_t n)
{
	uint64_t bytes = 0, datagrams = 0;

	d->through = f->socket;
	for (size_t i = 0; i < n; i++) {
		const struct udp_message *m = udp_message(d->out, d->n_out);

		d->outgoing[d->n_out] = (struct udp_outgoing){
			.to = &f->node.path, .bytes = m->bytes, .n = m->n, .segment = m->segment
		};
		d->whose[d->n_out++] = f;
		bytes += m->n;
		datagrams += udp_count(m);
	}
	f->queued = (uint8_t)(f->queued + n);
	flow_answered(f, datagrams, bytes);
}

static void unready(struct flow *f)
{
	TAILQ_REMOVE(&f->of->ready, f, ready);
	f->is_ready = false;
}

static void ready(struct flow *f)
{
	if (f->is_ready)
		return;
	TAILQ_INSERT_TAIL(&f->of->ready, f, ready);
	f->is_ready = true;
}

/* What the server had sent before it refused is passed on. */
static void lose(struct datagrams *d, struct flow *f)
{
	ssize_t n = udp_receive(d->out, f->readable.fd, d->n_out, UDP_BATCH - d->n_out);

	if (n > 0)
		queue(d, f, (size_t)n);
	flow_fail(f);
}

/*
 * The first answer after a datagram of the client is mostly the only one, and one alone is received
 * with less work. *ret_more: others may wait.
 */
static ssize_t receive_answers(struct datagrams *d, struct flow *f, bool *ret_more)
{
	size_t room = UDP_BATCH - d->n_out, most = room < SHARE ? room : SHARE;
	ssize_t n;

	*ret_more = false;
	if (f->unanswered && !f->joined) /* the loop tells if there are more */
		return udp_receive_one(d->out, f->readable.fd, d->n_out);
	n = udp_receive(d->out, f->readable.fd, d->n_out, most);
	*ret_more = n == (ssize_t)most;
	return n;
}

static void take_answers(struct datagrams *d, struct flow *f)
{
	bool more;
	ssize_t n;

	if (d->n_out == UDP_BATCH || (d->n_out && d->through != f->socket)) {
		datagrams__flush(d); /* may end the session */
		return;
	}
	unready(f);
	n = receive_answers(d, f, &more);
	if (n > 0)
		queue(d, f, (size_t)n);
	else if (n != -EAGAIN && n != -EINTR && n != -EMSGSIZE)
		lose(d, f);
	if (n >= JOIN && !f->joined) {
		udp_join(f->readable.fd, BUSY_BYTES);
		f->joined = true;
	}
	if (more)
		ready(f);
}

static bool on_answers(struct task *t)
{
	struct datagrams *d = container_of(t, struct datagrams, answers);
	struct flow *f;

	do {
		for (int i = 0; i < SHARE && (f = TAILQ_FIRST(&d->ready)); i++)
			take_answers(d, f);
	} while (!TAILQ_EMPTY(&d->ready) && task_has_time(d->worker->loop));
	datagrams__flush(d);
	return !TAILQ_EMPTY(&d->ready);
}

void datagrams__answered(struct flow *f)
{
	ready(f);
	task_wake(&f->of->answers);
}

/* ---- silence ---- */

static bool on_expiry(struct task *t)
{
	struct datagrams *d = container_of(t, struct datagrams, expiry);
	int64_t now = task_began(d->worker->loop);
	struct flow_node *n = NULL;

	while (task_has_time(d->worker->loop) && (n = flow_wheel_take(&d->wheel)))
		flow_look(flow_of(n), now);
	return n;
}

/* ---- ports ---- */

static void close_socket(struct datagram_socket *s)
{
	struct datagrams *d = s->port->of;

	if (d->n_out && d->through == s)
		datagrams__flush(d);
	ev_io_stop(d->worker->loop, &s->readable);
	task_cancel(&s->task);
	SLIST_REMOVE(&s->port->sockets, s, datagram_socket, next);
	close(s->fd);
	free(s);
}

static void free_port(struct datagram_port *p)
{
	while (!SLIST_EMPTY(&p->sockets))
		close_socket(SLIST_FIRST(&p->sockets));
	TAILQ_REMOVE(&p->of->ports, p, all);
	flows_free(&p->flows);
	socket_group_release(p->group);
	free(p);
}

static void end_all(struct datagram_port *p)
{
	struct flow_node *n = flows_next(&p->flows, NULL), *next;

	for (; n; n = next) {
		next = flows_next(&p->flows, n);
		flow_end(flow_of(n), "stopped");
	}
}

static void find_rules(struct datagram_port *p)
{
	const struct worker *w = p->of->worker;

	p->rules = w->era ? generation_udp_port(w->era->generation, &p->at) : NULL;
	p->trial = w->trial ? generation_udp_port(w->trial->generation, &p->at) : NULL;
}

struct datagram_port *datagrams__port(struct datagrams *d, const struct endpoint *at)
{
	struct datagram_port *p;

	TAILQ_FOREACH(p, &d->ports, all)
	{
		if (endpoint_cmp(&p->at, at) == 0)
			return p;
	}
	p = mem_zalloc(sizeof(*p));
	p->of = d;
	p->at = *at;
	flows_init(&p->flows, random_next(&d->worker->random));
	find_rules(p);
	TAILQ_INSERT_TAIL(&d->ports, p, all);
	return p;
}

/* Those of a session that was passed, and had no socket yet, are received from now on. */
static void move_flows(struct datagram_port *p, const struct datagram_socket *from,
		       struct datagram_socket *to)
{
	for (struct flow_node *n = flows_next(&p->flows, NULL); n; n = flows_next(&p->flows, n)) {
		struct flow *f = flow_of(n);

		if (f->socket != from)
			continue;
		f->socket = to;
		ev_io_start(p->of->worker->loop, &f->readable);
	}
}

/*
 * The address had gone and has come back while sessions used its socket: they go on with the new
 * one. What waits at the old one is received first.
 */
static void replace_older(struct datagram_port *p, struct datagram_socket *by)
{
	struct datagram_socket *s = SLIST_FIRST(&p->sockets), *next;

	for (; s; s = next) {
		next = SLIST_NEXT(s, next);
		if (s == by || s->generation >= by->generation)
			continue;
		receive_rest(s);
		move_flows(p, s, by);
		close_socket(s);
	}
}

/* The group counts the sessions of the port, also those that were passed before the sockets. */
static void use_group(struct datagram_port *p, struct socket_group *group)
{
	unsigned n = (unsigned)p->flows.n;

	if (p->group == group) {
		socket_group_release(group);
		return;
	}
	if (p->group)
		socket_group_leave(p->group, n);
	socket_group_release(p->group);
	p->group = group;
	if (socket_group_enter(group, n))
		return;
	socket_group_release(group); /* the address has gone again */
	p->group = NULL;
}

void datagrams_open(struct datagrams *d, const struct worker_socket *gift)
{
	struct datagram_socket *s = mem_zalloc(sizeof(*s));

	s->port = datagrams__port(d, &gift->at);
	s->fd = gift->fd;
	s->turn = gift->turn;
	s->generation = gift->generation;
	s->dropped = udp_dropped(s->fd);
	SLIST_INSERT_HEAD(&s->port->sockets, s, next);
	task_init(&s->task, d->worker->loop, TASK_ORDINARY, on_received);
	ev_io_init(&s->readable, on_readable, s->fd, EV_READ);
	ev_io_start(d->worker->loop, &s->readable);
	replace_older(s->port, s);
	move_flows(s->port, NULL, s);
	use_group(s->port, gift->group);
}

/* A port that the generation does not have stays open for its sessions. */
static void forget_ports(struct datagrams *d)
{
	struct datagram_port *p = TAILQ_FIRST(&d->ports), *next;

	for (; p; p = next) {
		next = TAILQ_NEXT(p, all);
		if (!p->rules && !p->flows.n && (!p->group || socket_group_close(p->group)))
			free_port(p);
	}
}

void datagrams__leave(struct datagrams *d)
{
	struct datagram_port *p = TAILQ_FIRST(&d->ports), *next;

	for (; p; p = next) {
		next = TAILQ_NEXT(p, all);
		if (!p->rules)
			continue;
		end_all(p);
		free_port(p);
	}
}

bool datagrams_is_used(const struct datagrams *d)
{
	const struct datagram_port *p;

	if (!d)
		return false;
	TAILQ_FOREACH(p, &d->ports, all)
	{
		if (p->flows.n || (p->group && socket_group_is_used(p->group)))
			return true;
	}
	return false;
}

void datagrams_match(struct datagrams *d)
{
	struct datagram_port *p;

	TAILQ_FOREACH(p, &d->ports, all)
	{
		find_rules(p);
	}
	forget_ports(d);
}

/* ---- the door ---- */

struct datagrams *datagrams_new(struct worker *w)
{
	struct datagrams *d = mem_zalloc(sizeof(*d));

	d->worker = w;
	TAILQ_INIT(&d->ports);
	TAILQ_INIT(&d->flows);
	TAILQ_INIT(&d->young);
	TAILQ_INIT(&d->ready);
	flow_wheel_init(&d->wheel, loop_monotonic() / NSEC_PER_SEC);
	task_init(&d->answers, w->loop, TASK_ORDINARY, on_answers);
	task_init(&d->expiry, w->loop, TASK_ORDINARY, on_expiry);
	d->in = udp_batch_new();
	d->out = udp_batch_new();
	return d;
}

void datagrams_free(struct datagrams *d)
{
	struct datagram_port *p;

	if (!d)
		return;
	datagrams__stop_passing(d);
	datagrams__flush(d);
	TAILQ_FOREACH(p, &d->ports, all)
	{
		end_all(p);
	}
	while (!TAILQ_EMPTY(&d->ports))
		free_port(TAILQ_FIRST(&d->ports));
	task_cancel(&d->answers);
	task_cancel(&d->expiry);
	udp_batch_free(d->in);
	udp_batch_free(d->out);
	free(d);
}

static void count_dropped(struct datagrams *d, const struct datagram_port *p)
{
	struct datagram_socket *s;

	SLIST_FOREACH(s, &p->sockets, next)
	{
		uint32_t now = udp_dropped(s->fd);

		datagrams__drop(d, DROP_QUEUE, now - s->dropped);
		s->dropped = now;
	}
}

void datagrams_sweep(struct datagrams *d)
{
	struct datagram_port *p;

	flow_wheel_turn(&d->wheel, loop_monotonic() / NSEC_PER_SEC);
	if (d->worker->phase == WORKER_DRAIN)
		flow_wheel_hurry(&d->wheel);
	task_wake(&d->expiry);
	TAILQ_FOREACH(p, &d->ports, all)
	{
		count_dropped(d, p);
	}
	forget_ports(d);
	worker_look(d->worker); /* the last session may have been that of another thread */
}
