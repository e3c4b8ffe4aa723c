/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: socket, bind, listen, accept.
 *
 * The owner embeds the struct; the loop holds its two watchers. One turn accepts a bounded number,
 * so that a flood of connections leaves time for those that are open.
 */
#include "lib/net/listener.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG 1024
#define ACCEPTS_PER_TURN 64
#define ACCEPT_PAUSE 0.1 /* s */

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

static int open_listening(struct endpoint e, struct endpoint *ret_bound, int *ret_fd)
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

static void pause_accepting(struct net_listener *l, int error)
{
	ev_io_stop(l->loop, &l->acceptable);
	ev_timer_set(&l->pause, ACCEPT_PAUSE, 0);
	ev_timer_start(l->loop, &l->pause);
	l->events.starved(error, l->events.user);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct net_listener *l = container_of(w, struct net_listener, pause);

	ev_io_start(loop, &l->acceptable);
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct net_listener *l)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	int fd = accept4(l->fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct endpoint peer = { 0 };

	if (fd >= 0) {
		endpoint_from_sockaddr((struct sockaddr *)&sa, &peer);
		l->events.accepted(fd, peer, l->events.user);
		return true;
	}
	if (is_of_the_peer(errno))
		return true;
	if (errno != EAGAIN)
		pause_accepting(l, errno);
	return false;
}

static void on_acceptable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct net_listener *l = container_of(w, struct net_listener, acceptable);

	for (int i = 0; i < ACCEPTS_PER_TURN && accept_one(l); i++)
		;
}

int net_listener_open(struct net_listener *l, struct ev_loop *loop, struct endpoint at,
		      const struct net_listener_events *events)
{
	struct endpoint bound;
	int fd, r;

	assert(l && loop && events && events->accepted && events->starved);
	r = open_listening(at, &bound, &fd);
	if (r < 0)
		return r;

	*l = (struct net_listener){ .loop = loop, .events = *events, .fd = fd };
	l->bound = (struct endpoint){ at.addr, bound.port };
	ev_timer_init(&l->pause, on_pause_over, ACCEPT_PAUSE, 0);
	ev_io_init(&l->acceptable, on_acceptable, fd, EV_READ);
	ev_io_start(loop, &l->acceptable);
	return 0;
}

void net_listener_drain(struct net_listener *l)
{
	assert(l->fd >= 0);
	for (int i = 0; i < BACKLOG && accept_one(l); i++)
		;
	net_listener_close(l);
}

void net_listener_close(struct net_listener *l)
{
	if (l->fd < 0)
		return;
	ev_io_stop(l->loop, &l->acceptable);
	ev_timer_stop(l->loop, &l->pause);
	close(TAKE_FD(l->fd));
}
