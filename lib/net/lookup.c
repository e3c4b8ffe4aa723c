/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child writes one struct answer, far below what a pipe takes at once, and exits. What is
 * shorter than that at the end of the pipe means that it died; the deadline makes it die.
 */
#include "lib/net/lookup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/child.h"

struct answer {
	size_t n;
	struct endpoint found[NET_LOOKUP_MAX];
	char why[128];
};

static_assert(sizeof(struct answer) <= PIPE_BUF, "written in one piece");

struct net_lookup {
	struct ev_loop *loop;
	net_lookup_fn done;
	void *user;
	int child;
	int fd;
	ev_io readable;
	ev_timer deadline;
};

/* ---- in the child ---- */

static bool is_known(const struct answer *a, const struct endpoint *e)
{
	for (size_t i = 0; i < a->n; i++)
		if (addr_cmp(&a->found[i].addr, &e->addr) == 0)
			return true;
	return false;
}

static void look_up(const char *host, uint16_t port, struct answer *a)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int r = getaddrinfo(host, NULL, &hints, &found);

	for (const struct addrinfo *i = found; i && a->n < NET_LOOKUP_MAX; i = i->ai_next) {
		struct endpoint e;

		if (endpoint_from_sockaddr(i->ai_addr, &e) < 0 || is_known(a, &e))
			continue;
		e.port = port;
		a->found[a->n++] = e;
	}
	snprintf(a->why, sizeof(a->why), "%s: %s", host, r ? gai_strerror(r) : "no address");
}

/* Sockets that the parent closes have to end then: nothing is kept open here. */
static _Noreturn void run(const char *host, uint16_t port, int fd)
{
	struct answer answer;

	memset(&answer, 0, sizeof(answer));
	if (fd > 3)
		close_range(3, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, UINT_MAX, 0);
	look_up(host, port, &answer);
	_exit(write(fd, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
}

/* ---- in the parent ---- */

void net_lookup_cancel(struct net_lookup *l)
{
	if (!l)
		return;
	ev_io_stop(l->loop, &l->readable);
	ev_timer_stop(l->loop, &l->deadline);
	close(l->fd);
	child_end(l->child);
	free(l);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct net_lookup *l = container_of(w, struct net_lookup, readable);
	net_lookup_fn done = l->done;
	void *user = l->user;
	struct answer answer;
	ssize_t n = read(l->fd, &answer, sizeof(answer));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	net_lookup_cancel(l);
	if (n == sizeof(answer))
		done(answer.found, answer.n, answer.n ? "" : answer.why, user);
	else
		done(NULL, 0, "the name lookup did not end in time", user);
}

/* The end of the pipe that follows is told by on_readable(). */
static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	child_kill(container_of(w, struct net_lookup, deadline)->child);
}

int net_lookup_start(struct ev_loop *loop, const struct net_lookup_query *query,
		     struct net_lookup **ret)
{
	_cleanup_(cleanup_fd) int in = -1, out = -1;
	struct net_lookup *l;
	int fds[2], child, r;

	assert(loop && query->host && query->timeout > 0 && query->done && ret);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	in = fds[0];
	out = fds[1];
	r = child_fork(&child);
	if (r < 0)
		return r;
	if (r == 0)
		run(query->host, query->port, out);
	l = mem_zalloc(sizeof(*l));
	l->loop = loop;
	l->done = query->done;
	l->user = query->user;
	l->child = child;
	l->fd = TAKE_FD(in);
	ev_io_init(&l->readable, on_readable, l->fd, EV_READ);
	ev_io_start(loop, &l->readable);
	ev_timer_init(&l->deadline, on_deadline, loop_seconds(query->timeout), 0);
	ev_timer_start(loop, &l->deadline);
	*ret = l;
	return 0;
}
