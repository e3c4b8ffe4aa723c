/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder: the list of claims, and when they are announced.
 *
 * Claims are sorted by address, so that a question is answered by binary search and announcements
 * have an order. A task makes the announcements that are due, in steps, and sets a timer to the
 * next one. The hardware address is read again before each round, since it can change (bonding);
 * answers use the last one.
 */
#include "lib/l2/responder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/l2/internal.h"

/* Where vip is in the list, or would be. */
static size_t place_of(const struct l2_responder *r, const struct addr *vip)
{
	size_t low = 0, high = r->claims.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addr_cmp(&r->claims.items[middle].vip, vip) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct l2_claim *l2__find(const struct l2_responder *r, const struct addr *vip)
{
	size_t i = place_of(r, vip);

	if (i == r->claims.n || addr_cmp(&r->claims.items[i].vip, vip) != 0)
		return NULL;
	return &r->claims.items[i];
}

const struct l2_claim *l2_responder_find(const struct l2_responder *r, const struct addr *vip)
{
	return l2__find(r, vip);
}

/* ---- announcements ---- */

static void announce(struct l2_responder *r, struct l2_claim *c, int64_t now)
{
	if (c->vip.family == AF_INET)
		l2__arp_announce(r, c);
	else
		l2__ndp_announce(r, c);
	c->left--;
	c->announce_at = now + L2_ANNOUNCE_EVERY;
}

static void arm(struct l2_responder *r)
{
	int64_t next = INT64_MAX, wait;

	for (size_t i = 0; i < r->claims.n; i++) {
		const struct l2_claim *c = &r->claims.items[i];

		if (c->left && c->announce_at < next)
			next = c->announce_at;
	}
	ev_timer_stop(r->loop, &r->timer);
	if (next == INT64_MAX)
		return;
	wait = next - loop_monotonic();
	ev_now_update(r->loop);
	ev_timer_set(&r->timer, wait > 0 ? loop_seconds(wait) : 0, 0);
	ev_timer_start(r->loop, &r->timer);
}

static void refresh_port(struct l2_responder *r)
{
	struct l2_port port;

	if (l2_port_read(r->arp.io.fd, r->interface, &port) == 0 && port.index == r->port.index)
		r->port = port;
}

/* One round over all claims. */
static bool on_announce(struct task *t)
{
	struct l2_responder *r = container_of(t, struct l2_responder, announcer);
	int64_t now = loop_monotonic();

	if (r->cursor == 0)
		refresh_port(r);
	while (r->cursor < r->claims.n) {
		struct l2_claim *c = &r->claims.items[r->cursor++];

		if (!c->left || c->announce_at > now)
			continue;
		announce(r, c, now);
		if (!task_has_time(r->loop))
			return true;
	}
	r->cursor = 0;
	arm(r);
	return false;
}

/* The list has changed, or the time has come: a new round. */
static void begin_round(struct l2_responder *r)
{
	r->cursor = 0;
	task_wake(&r->announcer);
}

static void on_time(struct ev_loop *loop, ev_timer *w, int events)
{
	begin_round(container_of(w, struct l2_responder, timer));
}

/* ---- the sockets ---- */

static bool on_arp(struct task *t)
{
	return l2__arp_receive(container_of(t, struct l2_responder_socket, task)->responder);
}

static bool on_ndp(struct task *t)
{
	return l2__ndp_receive(container_of(t, struct l2_responder_socket, task)->responder);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	task_wake(&container_of(w, struct l2_responder_socket, io)->task);
}

static void prepare(struct l2_responder *r, struct l2_responder_socket *s, task_step_fn step)
{
	s->responder = r;
	ev_io_init(&s->io, on_readable, -1, EV_READ);
	task_init(&s->task, r->loop, TASK_URGENT, step);
}

static void start(struct l2_responder_socket *s, int fd)
{
	ev_io_set(&s->io, fd, EV_READ);
	ev_io_start(s->responder->loop, &s->io);
}

static void stop(struct l2_responder_socket *s)
{
	if (s->io.fd < 0)
		return;
	ev_io_stop(s->responder->loop, &s->io);
	task_cancel(&s->task);
	close(s->io.fd);
	ev_io_set(&s->io, -1, EV_READ);
}

int l2_responder_open(struct l2_responder *r, struct ev_loop *loop, struct net_ns *ns,
		      const char *interface)
{
	int fd;

	*r = (struct l2_responder){ .ns = ns, .interface = mem_strdup(interface), .loop = loop };
	ev_timer_init(&r->timer, on_time, 0, 0);
	task_init(&r->announcer, loop, TASK_URGENT, on_announce);
	prepare(r, &r->arp, on_arp);
	prepare(r, &r->ndp, on_ndp);
	fd = l2__arp_open(r);
	if (fd < 0) {
		l2_responder_close(r);
		return fd;
	}
	start(&r->arp, fd);
	fd = l2__ndp_open(r);
	if (fd >= 0) {
		start(&r->ndp, fd);
	} else if (fd != -EAFNOSUPPORT) {
		l2_responder_close(r);
		return fd;
	}
	return 0;
}

void l2_responder_close(struct l2_responder *r)
{
	ev_timer_stop(r->loop, &r->timer);
	task_cancel(&r->announcer);
	stop(&r->arp);
	stop(&r->ndp);
	vec_free(&r->claims);
	free(TAKE_PTR(r->interface));
}

/* ---- claims ---- */

static int add(struct l2_responder *r, const struct addr *vip)
{
	size_t i = place_of(r, vip);
	int error;

	if (r->claims.n == L2_CLAIMS_MAX)
		return -ENOSPC;
	if (vip->family == AF_INET6) {
		if (r->ndp.io.fd < 0)
			return -EAFNOSUPPORT;
		error = l2__ndp_join(r, vip);
		if (error < 0)
			return error;
	}
	vec_insert_at(&r->claims, i);
	r->claims.items[i] = (struct l2_claim){ .vip = *vip };
	return 0;
}

int l2_responder_claim(struct l2_responder *r, const struct addr *vip)
{
	struct l2_claim *c;
	int error;

	assert(addr_is_set(vip) && r->arp.io.fd >= 0);
	if (!l2__find(r, vip)) {
		error = add(r, vip);
		if (error < 0)
			return error;
	}
	c = l2__find(r, vip);
	c->left = L2_ANNOUNCEMENTS;
	c->announce_at = loop_monotonic();
	begin_round(r);
	return 0;
}

void l2_responder_release(struct l2_responder *r, const struct addr *vip)
{
	struct l2_claim *c = l2__find(r, vip);

	if (!c)
		return;
	if (vip->family == AF_INET6)
		l2__ndp_leave(r, vip);
	vec_remove_at(&r->claims, place_of(r, vip));
	begin_round(r);
}

int l2_responder_check(const struct l2_responder *r)
{
	struct l2_port port;
	int error = l2_port_read(r->arp.io.fd, r->interface, &port);

	if (error < 0)
		return error;
	if (port.index != r->port.index)
		return -ENODEV;
	return port.is_up ? 0 : -ENETDOWN;
}
