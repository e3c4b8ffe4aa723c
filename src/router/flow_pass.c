/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/flow_pass.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "lib/net/pass.h"
#include "src/router/datagrams.h"

#define TOGETHER 32 /* sessions in one message */

/* ---- gifts ---- */

static struct str copy_name(char **to, struct str name)
{
	struct str copy = { *to, name.n };

	memcpy(*to, name.p, name.n);
	*to += name.n;
	return copy;
}

struct session_gift *session_gift_new(const struct router_session *s, int fd)
{
	struct session_gift *g = mem_alloc(sizeof(*g) + s->stream.n + s->pool.n + s->server.n);
	char *names = g->names;

	*g = (struct session_gift){ .session = *s, .fd = fd };
	g->session.stream = copy_name(&names, s->stream);
	g->session.pool = copy_name(&names, s->pool);
	g->session.server = copy_name(&names, s->server);
	return g;
}

void session_gift_free(struct session_gift *g)
{
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

/* ---- the old process ---- */

/* What is under way to the other process. */
struct flow_pass {
	struct datagrams *of;
	ev_io writable;
	struct task task;
	int channel;
};

static uint64_t ms_since(int64_t then, int64_t now)
{
	return now > then ? (uint64_t)((now - then) / NSEC_PER_MSEC) : 0;
}

static bool write_flow(const struct flow *f, int64_t now, struct buf *out)
{
	const struct endpoint client = udp_peer(&f->node.path);
	const struct router_session s = {
		.at = f->port->at,
		.client = client,
		.local = udp_local(&f->node.path),
		.family = (uint8_t)f->node.path.peer.any.sa_family,
		.iface = f->node.path.iface,
		.turn = f->socket->turn,
		.in = f->in,
		.out = f->out,
		.received = f->received,
		.sent = f->sent,
		.age = ms_since(f->began, now),
		.silent = ms_since(f->seen, now),
		.confirmed = !f->unconfirmed,
		.unanswered = f->unanswered,
		.stream = str_of(f->stream),
		.pool = str_of(f->pool),
		.server = str_of(f->server_name),
	};

	return router_session_write(&s, out);
}

static void leave_sockets(struct datagram_port *p)
{
	struct datagram_socket *s;

	SLIST_FOREACH(s, &p->sockets, next)
	{
		ev_io_stop(p->of->worker->loop, &s->readable);
		task_cancel(&s->task);
	}
}

/* Some sessions of a port, in one message. 0, or a negative errno: then they stay here. */
static int pass_some(struct flow_pass *pass, struct datagram_port *p)
{
	int64_t now = loop_monotonic();
	struct flow *list[TOGETHER];
	struct flow_node *at = NULL;
	struct buf text = { 0 };
	int fds[TOGETHER], r;
	size_t n = 0;

	while (n < TOGETHER && (at = flows_next(&p->flows, at))) {
		bool written = write_flow(flow_of(at), now, &text);

		assert(written); /* names are shorter than what is possible */
		list[n] = flow_of(at);
		fds[n] = list[n]->readable.fd;
		n++;
	}
	r = net_pass(pass->channel, (struct str){ text.p, text.n }, fds, n);
	for (size_t i = 0; i < n && r == 0; i++)
		flow_forget(list[i]);
	buf_free(&text);
	return r;
}

void datagrams__stop_passing(struct datagrams *d)
{
	if (!d->pass)
		return;
	ev_io_stop(d->worker->loop, &d->pass->writable);
	task_cancel(&d->pass->task);
	close(d->pass->channel);
	free(d->pass);
	d->pass = NULL;
}

/*
 * The sockets are still in the set of epoll, because the other process has them open: the set is
 * made again.
 */
static void finish(struct datagrams *d)
{
	datagrams__stop_passing(d);
	datagrams__leave(d);
	ev_loop_fork(d->worker->loop);
	worker_look(d->worker);
}

static struct datagram_port *next_port(struct datagrams *d)
{
	struct datagram_port *p;

	TAILQ_FOREACH(p, &d->ports, all)
	{
		if (p->rules && p->flows.n)
			break;
	}
	return p;
}

/* If the other process has gone, the rest ends here. */
static bool on_step(struct task *t)
{
	struct flow_pass *pass = container_of(t, struct flow_pass, task);
	struct datagrams *d = pass->of;
	struct datagram_port *p;
	int r = 0;

	while ((p = next_port(d)) && r == 0 && task_has_time(d->worker->loop))
		r = pass_some(pass, p);
	if (r == -EAGAIN) {
		ev_io_start(d->worker->loop, &pass->writable);
		return false;
	}
	if (!p || r < 0)
		finish(d);
	return p && r == 0;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow_pass *pass = container_of(w, struct flow_pass, writable);

	ev_io_stop(loop, w);
	task_wake(&pass->task);
}

void datagrams_hand_over(struct datagrams *d, int channel)
{
	struct flow_pass *pass = mem_zalloc(sizeof(*pass));
	struct datagram_port *p;

	datagrams__flush(d);
	TAILQ_FOREACH(p, &d->ports, all)
	{
		if (p->rules)
			leave_sockets(p);
	}
	pass->of = d;
	pass->channel = channel;
	d->pass = pass;
	task_init(&pass->task, d->worker->loop, TASK_URGENT, on_step);
	ev_io_init(&pass->writable, on_writable, channel, EV_WRITE);
	task_wake(&pass->task);
}

/* ---- the new process ---- */

void datagrams_adopt(struct datagrams *d, struct session_gift *g)
{
	if (flow_adopt(d, &g->session, g->fd))
		g->fd = -1;
	session_gift_free(g);
}
