/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/net/pass.h"

#define MESSAGES 16 /* in one turn of the loop */

struct arrivals {
	struct ev_loop *loop;
	struct arrivals_calls calls;
	ev_io readable;
	ev_timer limit;
	char text[NET_PASS_MAX * ROUTER_SESSION_MAX];
};

void arrivals_free(struct arrivals *a)
{
	if (!a)
		return;
	ev_io_stop(a->loop, &a->readable);
	ev_timer_stop(a->loop, &a->limit);
	close(a->readable.fd);
	free(a);
}

static void finish(struct arrivals *a)
{
	const struct arrivals_calls calls = a->calls;

	arrivals_free(a);
	calls.done(calls.user);
}

/* Sockets without a session, and sessions without a socket, are dropped. */
static void take(struct arrivals *a, struct str text, const int *fds, size_t n)
{
	struct router_session s;

	for (size_t i = 0; i < n; i++)
		if (router_session_parse(&text, &s) == 0)
			a->calls.session(&s, fds[i], a->calls.user);
		else
			close(fds[i]);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct arrivals *a = container_of(w, struct arrivals, readable);

	for (int i = 0; i < MESSAGES; i++) {
		int fds[NET_PASS_MAX];
		size_t n = NET_PASS_MAX;
		ssize_t r = net_take(w->fd, a->text, sizeof(a->text), fds, &n);

		if (r == -EAGAIN || r == -EINTR)
			return;
		if (r == 0 || (r < 0 && r != -EMSGSIZE)) {
			finish(a);
			return;
		}
		if (r > 0)
			take(a, (struct str){ a->text, (size_t)r }, fds, n);
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int revents)
{
	finish(container_of(w, struct arrivals, limit));
}

struct arrivals *arrivals_new(struct ev_loop *loop, int channel, const struct arrivals_calls *calls)
{
	struct arrivals *a = mem_alloc(sizeof(*a));

	a->loop = loop;
	a->calls = *calls;
	ev_io_init(&a->readable, on_readable, channel, EV_READ);
	ev_io_start(loop, &a->readable);
	ev_now_update(loop);
	ev_timer_init(&a->limit, on_limit, ARRIVALS_LIMIT, 0.);
	ev_timer_start(loop, &a->limit);
	return a;
}
