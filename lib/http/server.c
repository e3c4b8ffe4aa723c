/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the listening socket, who is let in, and how it ends.
 *
 * The server owns its connections; they live in a list, and those that were answered and may be
 * closed without harm also in a second one, oldest first, from which room is made. Over the limit a
 * few more are let in to be told 503; beyond those, closing is all that is left. When descriptors
 * run out, accepting pauses: the listening socket stays readable, and asking again at once would
 * only spin.
 */
#include "lib/http/server.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server_private.h"

#define BACKLOG 1024
#define ACCEPTS_PER_TURN 64
#define ACCEPT_PAUSE 0.1 /* s */
#define REFUSED_MAX 64	 /* connections over the limit that are open to be told so */

static const struct http_server_config defaults = {
	.max_connections = 1000,
	.max_body = (size_t)64 * 1024,
	.request_timeout = 10 * NSEC_PER_SEC,
	.idle_timeout = 60 * NSEC_PER_SEC,
	.write_timeout = 30 * NSEC_PER_SEC,
};

static void apply_defaults(struct http_server_config *c)
{
	if (!c->max_connections)
		c->max_connections = defaults.max_connections;
	if (!c->max_body)
		c->max_body = defaults.max_body;
	if (!c->request_timeout)
		c->request_timeout = defaults.request_timeout;
	if (!c->idle_timeout)
		c->idle_timeout = defaults.idle_timeout;
	if (!c->write_timeout)
		c->write_timeout = defaults.write_timeout;
}

/* A client of a dual-stack socket, as the client sees itself. */
static struct endpoint unmap(struct endpoint e)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct endpoint v4 = { .addr.family = AF_INET, .port = e.port };

	if (e.addr.family != AF_INET6 || memcmp(e.addr.bytes, mapped, sizeof(mapped)) != 0)
		return e;
	memcpy(v4.addr.bytes, e.addr.bytes + 12, 4);
	return v4;
}

static int bind_and_listen(int fd, const struct endpoint *e, struct endpoint *ret_bound)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(e, &sa);

	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	len = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	return endpoint_from_sockaddr((struct sockaddr *)&sa, ret_bound);
}

/* Options that accepted sockets inherit are set here, once. */
static int open_socket(const struct endpoint *e)
{
	int family = e->addr.family == AF_INET ? AF_INET : AF_INET6;
	int v6only = addr_is_set(&e->addr);
	int on = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	return fd;
}

/* Any address is both families, or IPv4 on a machine that has no IPv6. */
static int open_listener(struct endpoint e, struct endpoint *ret_bound, int *ret_fd)
{
	_cleanup_(cleanup_fd) int fd = open_socket(&e);
	int r;

	if (fd == -EAFNOSUPPORT && !addr_is_set(&e.addr)) {
		e.addr = (struct addr){ .family = AF_INET };
		fd = open_socket(&e);
	}
	if (fd < 0)
		return fd;
	r = bind_and_listen(fd, &e, ret_bound);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static bool evict_oldest(struct http_server *s)
{
	struct http__conn *c = TAILQ_FIRST(&s->spare);

	if (!c)
		return false;
	s->stats.evicted++;
	http__conn_close(c);
	return true;
}

static void admit(struct http_server *s, int fd, struct endpoint peer)
{
	bool over = s->stats.connections - s->n_refused >= s->config.max_connections;
	struct http__conn *c;

	s->stats.accepted++;
	if (!over || evict_oldest(s)) {
		http__conn_new(s, fd, peer);
		return;
	}
	s->stats.refused++;
	if (s->n_refused >= REFUSED_MAX) {
		close(fd);
		return;
	}
	c = http__conn_new(s, fd, peer);
	c->refused = true;
	s->n_refused++;
	http__conn_refuse(c, 503);
}

/* Errors of a connection that died in the queue, as opposed to ours. */
static bool is_of_the_peer(int error)
{
	static const int errors[] = { EINTR,	   ECONNABORTED, EPROTO, ENETDOWN,
				      ENOPROTOOPT, EHOSTDOWN,	 ENONET, EHOSTUNREACH,
				      EOPNOTSUPP,  ENETUNREACH,	 EPERM };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

static void pause_accepting(struct http_server *s)
{
	s->stats.accept_errors++;
	evict_oldest(s);
	ev_io_stop(s->loop, &s->acceptable);
	ev_timer_set(&s->accept_pause, ACCEPT_PAUSE, 0);
	ev_timer_start(s->loop, &s->accept_pause);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, accept_pause);

	ev_io_start(loop, &s->acceptable);
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct http_server *s)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	int fd = accept4(s->fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct endpoint peer = { 0 };

	if (fd >= 0) {
		endpoint_from_sockaddr((struct sockaddr *)&sa, &peer);
		admit(s, fd, unmap(peer));
		return true;
	}
	if (is_of_the_peer(errno))
		return true;
	if (errno != EAGAIN)
		pause_accepting(s);
	return false;
}

static void on_acceptable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, acceptable);

	for (int i = 0; i < ACCEPTS_PER_TURN && accept_one(s); i++)
		;
}

static void on_drained(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, drained);

	s->done(s->done_user); /* may free s */
}

/* When the last connection of a draining server has gone, the loop tells so. */
static void tell_if_drained(struct http_server *s)
{
	if (s->draining && !s->stats.connections)
		ev_timer_start(s->loop, &s->drained);
}

void http__server_forget(struct http_server *s, struct http__conn *c)
{
	TAILQ_REMOVE(&s->conns, c, all);
	s->stats.connections--;
	s->n_refused -= c->refused;
	tell_if_drained(s);
}

static void stop_listening(struct http_server *s)
{
	ev_io_stop(s->loop, &s->acceptable);
	ev_timer_stop(s->loop, &s->accept_pause);
	if (s->fd >= 0)
		close(TAKE_FD(s->fd));
}

int http_server_new(struct ev_loop *loop, const struct http_server_config *config,
		    struct http_server **ret)
{
	struct endpoint bound;
	struct http_server *s;
	int fd, r;

	assert(loop && config && ret && (config->routes || !config->n_routes));
	r = open_listener(config->listen, &bound, &fd);
	if (r < 0)
		return r;

	s = mem_zalloc(sizeof(*s));
	s->loop = loop;
	s->config = *config;
	apply_defaults(&s->config);
	s->bound = (struct endpoint){ config->listen.addr, bound.port };
	s->fd = fd;
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->spare);
	ev_timer_init(&s->accept_pause, on_pause_over, ACCEPT_PAUSE, 0);
	ev_timer_init(&s->drained, on_drained, 0, 0);
	ev_io_init(&s->acceptable, on_acceptable, fd, EV_READ);
	ev_io_start(loop, &s->acceptable);
	*ret = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	struct http__conn *c;

	if (!s)
		return;
	s->draining = false; /* whom it concerns is calling */
	stop_listening(s);
	while ((c = TAILQ_FIRST(&s->conns)))
		http__conn_close(c);
	ev_timer_stop(s->loop, &s->drained);
	free(s);
}

struct endpoint http_server_endpoint(const struct http_server *s)
{
	return s->bound;
}

const struct http_server_stats *http_server_stats(const struct http_server *s)
{
	return &s->stats;
}

void http_server_drain(struct http_server *s, void (*done)(void *user), void *user)
{
	struct http__conn *c, *next;

	assert(s && done && !s->draining);
	s->draining = true;
	s->done = done;
	s->done_user = user;
	for (int i = 0; i < BACKLOG && accept_one(s); i++)
		; /* whose handshake is done would be reset with the socket */
	stop_listening(s);
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, all);
		http__conn_drain(c);
	}
	tell_if_drained(s);
}
