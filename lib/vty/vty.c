/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vty: a queue of commands over one stream.
 *
 * The queue holds commands in the order of their answers. The first `sent` of them are on their
 * way; the others follow as answers arrive, so that neither side buffers much. The deadline of the
 * stream belongs to the oldest command on its way.
 */
#include "lib/vty/vty.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/stream/stream.h"

#define DEFAULT_TIMEOUT (10 * NSEC_PER_SEC)
#define INPUT ((size_t)64 * 1024)

struct command {
	STAILQ_ENTRY(command) next;
	vty_answer_fn done;
	void *user;
	size_t n;
	char text[]; /* with the NUL that ends it on the wire */
};

STAILQ_HEAD(commands, command);

struct vty {
	struct stream stream;
	char *path;
	int64_t timeout;
	struct commands unsent, sent; /* sent: wait for their answer */
	size_t n_sent, n_waiting;
	uint64_t connections;
	struct vty_reader reader;
	bool *gone; /* set to true if a callback frees the client; NULL: none runs */
	char input[INPUT];
};

/* ---- the queue ---- */

static struct command *command_new(struct str text, vty_answer_fn done, void *user)
{
	struct command *c = mem_zalloc(sizeof(*c) + text.n + 1);

	c->done = done;
	c->user = user;
	c->n = text.n + 1;
	memcpy(c->text, text.p, text.n);
	return c;
}

static void drop_all(struct commands *list)
{
	struct command *c;

	while ((c = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, next);
		free(c);
	}
}

static void drop_commands(struct vty *v)
{
	drop_all(&v->sent);
	drop_all(&v->unsent);
	v->n_sent = v->n_waiting = 0;
}

/* Calls back and frees the command. False if the callback has freed the client. */
static bool answer(struct vty *v, struct command *c, const struct vty_answer *a)
{
	bool gone = false;

	v->gone = &gone;
	if (c->done)
		c->done(a, c->user);
	free(c);
	if (!gone)
		v->gone = NULL;
	return !gone;
}

static struct command *take_oldest(struct vty *v)
{
	struct commands *from = STAILQ_EMPTY(&v->sent) ? &v->unsent : &v->sent;
	struct command *c = STAILQ_FIRST(from);

	if (!c)
		return NULL;
	STAILQ_REMOVE_HEAD(from, next);
	v->n_sent -= from == &v->sent;
	v->n_waiting--;
	return c;
}

/*
 * All commands that wait now get the error. Those that callbacks add are for the next connection.
 */
static void fail(struct vty *v, int error, const char *why)
{
	_cleanup_(cleanup_free) char *reason = NULL;
	size_t n = v->n_waiting;

	if (asprintf(&reason, "%s: %s", v->path, why) < 0)
		abort();
	stream_close(&v->stream);
	stream_set_deadline(&v->stream, 0);
	vty_reader_next(&v->reader);
	STAILQ_CONCAT(&v->sent, &v->unsent);
	v->n_sent = n;
	while (n--) {
		struct command *c = take_oldest(v);

		if (!c || !answer(v, c, &(struct vty_answer){ .error = error, .reason = reason }))
			return;
	}
}

/* ---- the wire ---- */

static bool is_ready(const struct vty *v)
{
	return v->stream.state == STREAM_OPEN;
}

/*
 * Sends as many commands as may be on their way. The deadline of a command begins when it becomes
 * the oldest of them; bytes of an answer do not move it, because they may never end.
 */
static void send_commands(struct vty *v)
{
	bool idle = v->n_sent == 0;
	struct buf *out;
	int r;

	if (!is_ready(v))
		return;
	out = stream_out(&v->stream);
	while (v->n_sent < VTY_IN_FLIGHT && !STAILQ_EMPTY(&v->unsent)) {
		struct command *c = STAILQ_FIRST(&v->unsent);

		STAILQ_REMOVE_HEAD(&v->unsent, next);
		STAILQ_INSERT_TAIL(&v->sent, c, next);
		v->n_sent++;
		buf_add(out, c->text, c->n);
	}
	if (idle)
		stream_set_deadline(&v->stream, v->n_sent ? v->timeout : 0);
	r = stream_flush(&v->stream);
	if (r < 0 && r != -EAGAIN)
		stream_fail(&v->stream, r);
	stream_want(&v->stream, STREAM_READ);
}

static bool deliver(struct vty *v)
{
	struct command *c = STAILQ_EMPTY(&v->sent) ? NULL : take_oldest(v);
	struct vty_answer a = { .status = v->reader.status,
				.text = { v->reader.text.p, v->reader.text.n },
				.reason = "" };

	if (!c) {
		fail(v, -EPROTO, "an answer without a command");
		return false;
	}
	stream_set_deadline(&v->stream, v->n_sent ? v->timeout : 0);
	if (!answer(v, c, &a))
		return false;
	vty_reader_next(&v->reader);
	return true;
}

/* False if the client is gone or its connection is. */
static bool take_input(struct vty *v, const char *p, size_t n)
{
	while (n) {
		uint64_t connection = v->connections;
		long used = vty_reader_feed(&v->reader, p, n);

		if (used < 0) {
			fail(v, (int)used, "the answer is too long");
			return false;
		}
		p += used;
		n -= (size_t)used;
		if (v->reader.done && (!deliver(v) || !is_ready(v) || v->connections != connection))
			return false;
	}
	return true;
}

static void on_opened(struct stream *s)
{
	send_commands(container_of(s, struct vty, stream));
}

static void on_ready(struct stream *s, unsigned what)
{
	struct vty *v = container_of(s, struct vty, stream);
	ssize_t n;

	if (what & STREAM_WAKE)
		send_commands(v);
	if (!(what & STREAM_READ))
		return;
	n = stream_read(s, v->input, sizeof(v->input));
	if (n == -EAGAIN)
		return;
	if (n < 0)
		fail(v, (int)n, stream_reason(s, (int)n));
	else if (n == 0)
		fail(v, -ECONNRESET, "the daemon closed the connection");
	else if (take_input(v, v->input, (size_t)n))
		send_commands(v);
}

static void on_closed(struct stream *s, int error)
{
	fail(container_of(s, struct vty, stream), error, stream_reason(s, error));
}

static void on_expired(struct stream *s)
{
	fail(container_of(s, struct vty, stream), -ETIMEDOUT, "no answer in time");
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

static void connect_if_needed(struct vty *v)
{
	struct command *enable;

	if (v->stream.state != STREAM_CLOSED)
		return;
	v->connections++;
	stream_connect_unix(&v->stream, v->path);
	stream_set_deadline(&v->stream, v->timeout);
	enable = command_new(STR("enable"), NULL, NULL);
	STAILQ_INSERT_HEAD(&v->unsent, enable, next);
	v->n_waiting++;
}

/* ---- the interface ---- */

struct vty *vty_new(struct ev_loop *loop, const struct vty_config *config)
{
	struct vty *v = mem_zalloc(sizeof(*v));

	assert(loop && config->path && config->timeout >= 0);
	v->path = mem_strdup(config->path);
	v->timeout = config->timeout ? config->timeout : DEFAULT_TIMEOUT;
	STAILQ_INIT(&v->unsent);
	STAILQ_INIT(&v->sent);
	stream_init(&v->stream, loop, TASK_ORDINARY, &events);
	return v;
}

void vty_free(struct vty *v)
{
	if (!v)
		return;
	if (v->gone)
		*v->gone = true;
	stream_end(&v->stream);
	drop_commands(v);
	vty_reader_free(&v->reader);
	free(v->path);
	free(v);
}

static bool is_command(struct str s)
{
	return s.n && s.n <= VTY_COMMAND_MAX && !memchr(s.p, '\0', s.n) &&
	       !memchr(s.p, '\n', s.n) && !memchr(s.p, '\r', s.n);
}

int vty_ask(struct vty *v, struct str command, vty_answer_fn done, void *user)
{
	struct command *c;

	if (!is_command(command))
		return -EINVAL;
	if (v->n_waiting >= VTY_WAITING_MAX)
		return -EBUSY;
	c = command_new(command, done, user);
	STAILQ_INSERT_TAIL(&v->unsent, c, next);
	v->n_waiting++;
	connect_if_needed(v);
	/* commands that are asked together are sent together, in the next step */
	stream_wake(&v->stream);
	return 0;
}

void vty_close(struct vty *v)
{
	stream_close(&v->stream);
	stream_set_deadline(&v->stream, 0);
	drop_commands(v);
	vty_reader_next(&v->reader);
}

size_t vty_waiting(const struct vty *v)
{
	return v->n_waiting;
}

uint64_t vty_connections(const struct vty *v)
{
	return v->connections;
}
