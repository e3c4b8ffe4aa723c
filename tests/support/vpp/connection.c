/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to the API socket: bytes in, messages through the machine, bytes out, with the
 * faults that a test has injected. A connection belongs to its server; it ends when the peer
 * closes it or the server goes down.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/vpp/frame.h"
#include "tests/support/vpp/server.h"

#define NAME_AT 6
#define NAME_LEN 64
#define READ_SIZE 65536
/* Set in the client index of socket clients, to tell them from shared-memory clients. */
#define INDEX_BIT 0x80000000

struct connection {
	struct server *s;
	uint32_t number; /* from 1 */
	ev_io readable, writable;
	ev_timer slow;
	struct buf in, out;
	bool last; /* close once everything is written */
	char name[NAME_LEN + 1];
};

const char *server__client_name(const struct connection *c)
{
	return c->name;
}

void server__close(struct connection *c)
{
	ev_io_stop(c->s->loop, &c->readable);
	ev_io_stop(c->s->loop, &c->writable);
	ev_timer_stop(c->s->loop, &c->slow);
	close(c->readable.fd);
	c->s->connections.items[c->number] = NULL;
	buf_free(&c->in);
	buf_free(&c->out);
	free(c);
}

void server__hang_connection(struct connection *c, bool hang)
{
	if (hang)
		ev_io_stop(c->s->loop, &c->readable);
	else
		ev_io_start(c->s->loop, &c->readable);
}

/* ---- out ---- */

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
	struct connection *c = w->data;
	size_t n = c->s->split && c->s->split < c->out.n ? c->s->split : c->out.n;
	ssize_t done = send(w->fd, c->out.p, n, MSG_NOSIGNAL);

	if (done < 0 && errno == EAGAIN)
		return;
	if (done < 0) {
		server__close(c);
		return;
	}
	buf_consume(&c->out, (size_t)done);
	if (c->out.n)
		return;
	ev_io_stop(loop, w);
	if (c->last)
		server__close(c);
}

/*
 * A reply goes to the client index in the request, which may be wrong or of a closed connection.
 * VPP does not check that it is the index of the sender.
 */
static struct connection *find(struct server *s, uint32_t index)
{
	uint32_t number = index & ~INDEX_BIT;

	return index & INDEX_BIT && number < s->connections.n ? s->connections.items[number] : NULL;
}

/* One message that is being handled, with the faults for its kind. */
struct turn {
	struct server *s;
	struct manners *manners;
};

/* Uses up one of the injected faults, if there is one. */
static bool spend(unsigned *n)
{
	if (!*n)
		return false;
	--*n;
	return true;
}

static void on_reply(void *user, uint32_t to, struct str message)
{
	struct turn *turn = user;
	struct connection *c = find(turn->s, to);
	size_t before;

	if (!c || c->last || spend(&turn->manners->drop))
		return;
	before = c->out.n;
	frame_add(&c->out, message);
	if (spend(&turn->manners->cut)) {
		c->out.n -= (c->out.n - before) / 2;
		c->last = true;
	}
	if (spend(&turn->manners->garbage))
		memset(c->out.p + before + FRAME_LENGTH_AT, 0xff, 4);
	ev_io_start(turn->s->loop, &c->writable);
}

/* ---- in ---- */

static enum msg kind_of(const struct server *s, struct str message)
{
	if (message.n < 2)
		return MSG_KNOWN;
	return table_find(&s->machine.table,
			  (uint16_t)((uint8_t)message.p[0] << 8 | (uint8_t)message.p[1]));
}

/* Keeps the message for tests. Bounded by SERVER_LOG_MAX; later messages are not kept. */
static void write_down(struct connection *c, enum msg kind, struct str message)
{
	struct log_line line = { .connection = c->number, .kind = kind };

	if (c->s->log.n >= SERVER_LOG_MAX)
		return;
	line.bytes = (struct str){ mem_copy(message.p, message.n), message.n };
	vec_push(&c->s->log, line);
}

/* The reply to a request is the next kind in the table. Most replies are id, context, retval. */
static void refuse(struct connection *c, enum msg kind, struct str message)
{
	struct manners none = { 0 };
	struct turn turn = { .s = c->s, .manners = &none };
	uint16_t id = c->s->machine.table.ids[kind + 1];
	uint32_t retval = (uint32_t)c->s->manners[kind].retval;
	uint8_t reply[10] = { (uint8_t)(id >> 8), (uint8_t)id };

	memcpy(reply + 2, message.p + 6, 4);
	for (unsigned i = 0; i < 4; i++)
		reply[6 + i] = (uint8_t)(retval >> (24 - 8 * i));
	on_reply(&turn, c->number | INDEX_BIT, (struct str){ (char *)reply, sizeof(reply) });
}

static void handle(struct connection *c, struct str message)
{
	struct server *s = c->s;
	enum msg kind = kind_of(s, message);
	struct manners none = { 0 };
	struct turn turn = { .s = s, .manners = kind == MSG_KNOWN ? &none : &s->manners[kind] };
	struct machine_request request = { .bytes = message,
					   .own_index = c->number | INDEX_BIT,
					   .reply = on_reply,
					   .user = &turn };

	write_down(c, kind, message);
	if (message.n >= 10 && spend(&turn.manners->fail)) {
		refuse(c, kind, message);
		return;
	}
	machine_advance(&s->machine, server__now(s));
	kind = machine_handle(&s->machine, &request);
	if (kind == MSG_SOCKCLNT_CREATE)
		memcpy(c->name, message.p + NAME_AT, NAME_LEN);
	if (kind == MSG_SOCKCLNT_DELETE)
		c->last = true;
}

/* Handles all complete messages in the buffer; an incomplete one stays for the next read. */
static void handle_all(struct connection *c)
{
	struct str message;
	size_t used = 0, n;

	while (!c->last &&
	       frame_next((struct str){ c->in.p + used, c->in.n - used }, &message, &n)) {
		handle(c, message);
		used += n;
	}
	buf_consume(&c->in, used);
	server_changed(c->s);
}

static void on_slow(struct ev_loop *loop, ev_timer *w, int events)
{
	handle_all(w->data);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	struct connection *c = w->data;
	ssize_t n;

	buf_reserve(&c->in, READ_SIZE);
	n = read(w->fd, c->in.p + c->in.n, READ_SIZE);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		server__close(c);
		return;
	}
	c->in.n += (size_t)n;
	if (c->s->delay <= 0) {
		handle_all(c);
	} else if (!ev_is_active(&c->slow)) {
		ev_timer_set(&c->slow, c->s->delay, 0);
		ev_timer_start(loop, &c->slow);
	}
}

/* The lowest free number, so that indexes are reused as in a pool. */
static uint32_t free_number(struct server *s)
{
	uint32_t i = 1;

	while (s->connections.n < 1)
		vec_push(&s->connections, NULL); /* there is no number 0 */
	while (i < s->connections.n && s->connections.items[i])
		i++;
	if (i == s->connections.n)
		vec_push(&s->connections, NULL);
	return i;
}

void server__accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct server *s = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	if (fd < 0)
		return;
	c = mem_zalloc(sizeof(*c));
	c->s = s;
	c->number = free_number(s);
	s->connections.items[c->number] = c;
	ev_io_init(&c->readable, on_readable, fd, EV_READ);
	ev_io_init(&c->writable, on_writable, fd, EV_WRITE);
	ev_init(&c->slow, on_slow);
	c->readable.data = c->writable.data = c->slow.data = c;
	ev_io_start(loop, &c->readable);
}
