/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/sockets.h"

#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "lib/stream/listener.h"

/* The number of sockets of the address; *ret_bound is set if there are any. */
static unsigned count_at(const struct sockets *s, const struct endpoint *at,
			 struct endpoint *ret_bound)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (endpoint_cmp(&s->items[i].at, at) != 0)
			continue;
		*ret_bound = s->items[i].bound;
		n++;
	}
	return n;
}

int sockets_open(struct sockets *s, const struct endpoint *at, unsigned wanted, struct buf *why)
{
	struct stream_listener_config config = { .at = *at, .reuse_port = true };
	struct endpoint bound = *at;
	unsigned n = count_at(s, at, &bound);
	char text[ENDPOINT_STRLEN];

	for (; n < wanted; n++) {
		int fd;

		config.at.port = bound.port;
		fd = stream_listen(&config, &bound);
		if (fd < 0) {
			buf_printf(why, "cannot listen on %s: %s", endpoint_format(at, text),
				   strerror(-fd));
			return fd;
		}
		bound.addr = at->addr;
		vec_push(s, ((struct router_socket){ *at, bound, fd, n, false }));
	}
	return 0;
}

int sockets_adopt(struct sockets *s, const struct endpoint *at, int fd)
{
	struct endpoint bound = { 0 }, first;
	int r = stream_listener_inspect(fd, &bound);
	unsigned n = count_at(s, at, &first);

	if (r == 0)
		vec_push(s, ((struct router_socket){ *at, bound, fd, n, false }));
	return r;
}

static void forget(const struct router_socket *s)
{
	if (!s->given)
		close(s->fd);
}

void sockets_match(struct sockets *s, const struct generation *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (generation_port(g, &s->items[i].at))
			s->items[kept++] = s->items[i];
		else
			forget(&s->items[i]);
	s->n = kept;
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
