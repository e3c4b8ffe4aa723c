/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/sockets.h"

#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "lib/net/udp.h"
#include "lib/stream/listener.h"

#define RECEIVED (4 * 1024 * 1024) /* bytes of datagrams that wait; the kernel may allow less */

/* The number of sockets of the address; *ret_bound is set if there are any. */
static unsigned count_at(const struct sockets *s, const struct endpoint *at, bool udp,
			 struct endpoint *ret_bound)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].udp != udp || endpoint_cmp(&s->items[i].at, at) != 0)
			continue;
		*ret_bound = s->items[i].bound;
		n++;
	}
	return n;
}

static int open_one(const struct endpoint *at, bool udp, struct endpoint *ret_bound)
{
	const struct stream_listener_config tcp = { .at = *at, .reuse_port = true };
	const struct udp_config datagrams = { .at = *at, .reuse_port = true, .received = RECEIVED };

	return udp ? udp_open(&datagrams, ret_bound) : stream_listen(&tcp, ret_bound);
}

/* The first socket of an address of datagrams; NULL: it has none. */
static struct router_socket *first_at(const struct sockets *s, const struct endpoint *at)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].udp && endpoint_cmp(&s->items[i].at, at) == 0)
			return &s->items[i];
	return NULL;
}

static void add(struct sockets *s, const struct router_socket *item)
{
	const struct router_socket *first = item->udp ? first_at(s, &item->at) : NULL;
	struct router_socket new = *item;

	if (item->udp)
		new.group = first ? socket_group_hold(first->group) : socket_group_new();
	vec_push(s, new);
}

static void forget(const struct router_socket *s)
{
	if (!s->given)
		close(s->fd);
	socket_group_release(s->group);
}

/* Keeps those for which keep() is true, in their order. */
static void filter(struct sockets *s, bool (*keep)(struct router_socket *item, const void *user),
		   const void *user)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (keep(&s->items[i], user))
			s->items[kept++] = s->items[i];
		else
			forget(&s->items[i]);
	s->n = kept;
}

static bool is_another(struct router_socket *item, const void *group)
{
	return item->group != group;
}

/*
 * Whether an address of datagrams has its sockets, or still has them and returns. If the threads
 * are closing them, they are forgotten.
 */
static bool is_open(struct sockets *s, const struct endpoint *at)
{
	struct router_socket *first = first_at(s, at);

	if (!first || !first->leaving)
		return first;
	if (!socket_group_enter(first->group, 1)) {
		filter(s, is_another, first->group);
		return false;
	}
	first->returned = true;
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].group == first->group)
			s->items[i].leaving = false;
	return true;
}

int sockets_open(struct sockets *s, const struct endpoint *at, bool udp, unsigned wanted,
		 struct buf *why)
{
	struct endpoint bound = *at;
	unsigned n = count_at(s, at, udp, &bound);
	char text[ENDPOINT_STRLEN];

	if (udp && is_open(s, at))
		return 0;
	for (n = udp ? 0 : n; n < wanted; n++) {
		const struct endpoint next = { at->addr, bound.port };
		int fd = open_one(&next, udp, &bound);

		if (fd < 0) {
			buf_printf(why, "cannot listen on %s: %s", endpoint_format(at, text),
				   strerror(-fd));
			return fd;
		}
		bound.addr = at->addr;
		add(s, &(struct router_socket){ *at, bound, .fd = fd, .turn = n, .udp = udp });
	}
	return 0;
}

int sockets_adopt(struct sockets *s, const struct endpoint *at, bool udp, int fd)
{
	struct endpoint bound = { 0 }, first;
	int r = udp ? udp_inspect(fd, &bound) : stream_listener_inspect(fd, &bound);
	unsigned n = count_at(s, at, udp, &first);

	if (r == 0)
		add(s, &(struct router_socket){ *at, bound, .fd = fd, .turn = n, .udp = udp });
	return r;
}

/* The configuration does not use it any more. */
static void leave(struct router_socket *s)
{
	if (s->group && !s->leaving && !s->turn)
		socket_group_leave(s->group, 1);
	s->leaving = s->udp;
}

static bool is_served(const struct generation *g, const struct router_socket *s)
{
	return s->udp ? generation_udp_port(g, &s->at) : generation_port(g, &s->at);
}

/* All sockets of an address stay, or none. */
static bool stays(struct router_socket *item, const void *user)
{
	if (is_served(user, item))
		return true;
	leave(item);
	return item->udp && !socket_group_close(item->group);
}

void sockets_match(struct sockets *s, const struct generation *g)
{
	filter(s, stays, g);
}

void sockets_leave(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		leave(&s->items[i]);
}

void sockets_cut(struct sockets *s, size_t n)
{
	for (size_t i = n; i < s->n; i++)
		forget(&s->items[i]);
	s->n = n;
}

void sockets_free(struct sockets *s)
{
	sockets_cut(s, 0);
	vec_free(s);
}
